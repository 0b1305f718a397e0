"""Axes: round ends that hold the data, and numbers with the decimals the axis can tell apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kav.views.regression.ranges import TINY, decimals, nice_range, nice_step


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=8))
def test_range_holds_all_values_and_is_not_much_wider(values):
    low, high = nice_range(np.asarray(values))
    span = max(values) - min(values)
    slack = 1e-6 * max(1e-300, abs(low), abs(high))
    assert low <= min(values) + slack
    assert high >= max(values) - slack
    assert low < high
    if span > max(1e-6 * max(map(abs, values)), TINY):  # below it the range is that of a single value
        assert high - low <= 2.01 * span + slack


def test_range_of_nothing_or_of_one_value_is_still_an_axis():
    assert nice_range(np.asarray([])) == (0.0, 1.0)
    assert nice_range(np.asarray([np.nan])) == (0.0, 1.0)
    low, high = nice_range(np.asarray([3.0]))
    assert low < 3 < high


@pytest.mark.parametrize(("span", "step"), [(9, 2), (2.87, 1), (0.9, 0.2), (11, 2.5), (100, 20)])
def test_step_is_one_two_two_and_a_half_or_five(span, step):
    assert nice_step(span, 5) == pytest.approx(step)


def test_decimals_follow_the_length_of_the_axis():
    assert [decimals(span) for span in (10, 1, 0.01, 1000, 0)] == [2, 3, 5, 0, 2]
