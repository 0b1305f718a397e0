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


@pytest.mark.parametrize(
    ("value", "step", "text"), [(2.0, 2.0, "2"), (-2.5, 2.5, "−2.5"), (0.0, 0.05, "0.00"), (-0.0, 1.0, "0")]
)
def test_tick_texts_have_the_decimals_their_step_needs(value, step, text):
    assert tick_text(value, step) == text
