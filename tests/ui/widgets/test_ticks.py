from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.widgets.ticks import nice_ticks, tick_text


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_lie_inside_and_are_few_and_evenly_spaced(low, length):
    ticks = nice_ticks(low, low + length)
    assert 2 <= len(ticks) <= 12
    assert all(low - 1e-6 * length <= tick <= low + length * (1 + 1e-6) for tick in ticks)
    steps = [b - a for a, b in pairwise(ticks)]
    assert max(steps) - min(steps) < 1e-6 * length


TEXTS = (
    (2.0, 2.0, "2"),
    (-2.5, 2.5, "−2.5"),
    (0.0, 0.05, "0.00"),
    (-0.0, 1.0, "0"),
    (-1e-9, 0.5, "0.0"),
    (2e-8, 1e-8, "2·10⁻⁸"),
    (0.0, 1e-8, "0"),
    (2.5e-8, 2.5e-8, "2.5·10⁻⁸"),
    (-0.7060175, 5e-7, "−0.7060175"),
    (2e9, 5e8, "2.0·10⁹"),
    (125000.0, 2.5e4, "125000"),
)


@pytest.mark.parametrize(("value", "step", "text"), TEXTS)
def test_tick_texts_have_the_decimals_their_step_needs(value, step, text):
    assert tick_text(value, step) == text


@given(st.integers(-40, 40), st.sampled_from([1, 2, 2.5, 5]), st.integers(-12, 12))
def test_neighbouring_ticks_read_differently_and_stay_short(first, factor, power):
    """Story: a curve that changes in the seventh digit had four ticks with one text; nanometres were all 0.000000."""
    step = factor * 10.0**power
    texts = [tick_text((first + i) * step, step) for i in range(6)]
    assert len(set(texts)) == 6, texts
    assert max(map(len, texts)) <= 11, texts
