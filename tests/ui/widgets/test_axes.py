import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.widgets.axes import Frame, Span, column_intervals, row_intervals, span, thinned, tick_step, ticks
from ui.widgets.handles import Handle, hit

lows = st.floats(-1e4, 1e4)
lengths = st.floats(1e-3, 1e4)
most = st.floats(2, 12)


@given(lows, lengths, most)
def test_ticks_lie_in_the_span_and_are_not_too_many(low, length, most):
    places = [value for value, _ in ticks(Span(low, low + length), most)]
    slack = 1e-6 * (length + abs(low))
    assert all(low - slack <= value <= low + length + slack for value in places)
    assert len(places) <= most + 1 + 1e-9


@given(lengths, most)
def test_the_step_is_one_two_two_and_a_half_or_five_times_a_power_of_ten(length, most):
    step = tick_step(length, most)
    mantissa = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(mantissa - nice) for nice in (1, 2, 2.5, 5, 10)) < 1e-6


@given(lows, lengths, most)
def test_tick_texts_read_back_as_their_places(low, length, most):
    for value, text in ticks(Span(low, low + length), most):
        assert "-" not in text
        assert float(text.replace("−", "-")) == pytest.approx(value, rel=1e-5, abs=1e-6)


def test_zero_has_no_sign():
    assert dict(ticks(Span(-1, 1), 4))[0.0] in ("0", "0.0")


@given(lows, lengths, st.floats(0, 1), st.floats(0, 1))
def test_pixels_and_data_agree_both_ways(low, length, across, up):
    frame = Frame(51, 49, 526, 248, Span(low, low + length), Span(-2, 5), Span(-0.25, 1.25))
    x = low + across * length
    assert frame.x_at(frame.x_px(x)) == pytest.approx(x, abs=1e-6 * length + 1e-9 * abs(low))
    assert frame.y_at(frame.y_px(-2 + 7 * up)) == pytest.approx(-2 + 7 * up, abs=1e-9)
    assert frame.query_at(frame.query_px(1.5 * across - 0.25)) == pytest.approx(1.5 * across - 0.25, abs=1e-9)
    assert 51 - 1e-6 <= frame.x_px(x) <= 577 + 1e-6


def test_a_span_is_never_empty():
    for low, high in ((3.0, 3.0), (0.0, 0.0), (math.nan, 1.0), (2.0, math.inf), (5.0, 1.0)):
        assert span(low, high).length > 0


def test_a_taller_axis_has_room_for_more_numbers():
    assert np.all(np.diff([row_intervals(height) for height in (20, 60, 90, 164, 248, 500)]) >= 0)
    assert column_intervals(526) > column_intervals(300)


def test_a_press_inside_a_handle_beats_one_near_another():
    handles = [Handle("query", 100, 100, 9), Handle("dot3", 112, 100, 4, rank=2)]
    assert hit(handles, 112, 101) == "dot3"
    assert hit(handles, 101, 100) == "query"
    assert hit(handles, 160, 100) == ""


def test_every_handle_can_be_hit_within_twelve_pixels():
    assert hit([Handle("small", 50, 50, 1)], 50 + 11.5, 50) == "small"
    assert hit([Handle("small", 50, 50, 1)], 50 + 13, 50) == ""


@pytest.mark.parametrize("wave", [0.0, 1.0, 6.0, 60.0])
def test_a_thinned_line_lies_where_all_its_points_do(wave):
    x = np.linspace(50, 590, 401)
    y = 200 + 0.3 * x + (100 * np.sin(wave * x / 590) if wave else 0)
    kept_x, kept_y = thinned(x, y)
    assert np.abs(np.interp(x, kept_x, kept_y) - y).max() <= 0.15
    assert (kept_x[0], kept_x[-1]) == (x[0], x[-1])
    assert (len(kept_x) == 2) == (wave == 0)
    assert len(kept_x) <= (401 if wave == 60 else 101)


def test_a_step_is_not_thinned_away():
    x = np.linspace(0, 500, 401)
    y = np.where(x > 250, 100.0, 0.0)
    np.testing.assert_array_equal(thinned(x, y)[1], y)
    assert len(thinned(x[:1], y[:1])[0]) == 1
