"""Adaptive doses: against curves whose values between the doses are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kav.effects.dose import dose_response
from kav.effects.refine import Span, line_errors, refined
from kav.errors import Cancelled, KavError
from kav.task import Task
from tests.kav.model_factory import some_ids, tiny_model


def measured(curve, span=None):
    return refined(lambda doses, task: curve(doses), span or Span())


@settings(max_examples=60, deadline=None)
@given(
    steepness=st.floats(0.1, 4),  # steeper bends fall between the first doses, where no rule can see them
    centre=st.floats(-1, 3),
    bend=st.floats(-2, 2),
    wave=st.floats(0, 3),
    up=st.floats(-9, 9),
)
def test_line_is_off_by_less_than_three_pixels_where_bends_are_wider_than_the_first_doses(
    steepness, centre, bend, wave, up
):
    def curve(x):
        return up + np.tanh(steepness * (x - centre)) + bend * x**2 + 0.5 * np.sin(wave * x)

    doses, values = measured(curve)
    fine = np.linspace(-1, 3, 4001)
    off = np.abs(np.interp(fine, doses, values) - curve(fine)).max()
    assert off < 3 * (values.max() - values.min()) / 300
    assert len(doses) < 129


def test_straight_line_needs_no_more_than_the_first_doses():
    doses, values = measured(lambda x: 3 * x - 7)
    assert doses.tolist() == np.linspace(-1, 3, 17).tolist()
    assert values.tolist() == (3 * doses - 7).tolist()


def test_rounding_is_not_taken_for_a_bend():
    rng = np.random.default_rng(0)
    doses, _ = measured(lambda x: 20 + 1e-5 * rng.normal(size=len(x)))
    assert len(doses) == 17


def test_step_is_narrowed_down_to_a_column_of_pixels_and_no_further():
    doses, _ = measured(lambda x: (x > 0.42).astype(float))
    around = doses[np.abs(doses - 0.42) < 0.1]
    assert 0.001 < np.diff(around).min() < 4 / 300
    assert (np.diff(doses[doses <= -0.25]) == 0.25).all()  # two intervals beside the step's are refined with it


def test_more_doses_than_allowed_are_never_measured():
    doses, _ = measured(lambda x: np.sin(40 * x), Span(most=40))
    assert len(doses) == 40


def test_error_of_a_line_through_a_parabola_is_exact():
    doses = np.array([0.0, 1.0, 3.0, 4.0])
    np.testing.assert_allclose(line_errors(doses, doses**2), [0.25, 1.0, 0.25])


def test_curve_of_a_span_has_the_values_of_the_same_doses_given():
    model = tiny_model(dtype="float64", n_layers=3)
    tokens = model.tokens(some_ids(7))
    found = dose_response(model, tokens, (0, 1), Span(n_first=9), target=5)
    again = dose_response(model, tokens, (0, 1), found.doses, target=5)
    assert len(found.doses) >= 9
    for name in ("response", "direct", "tangent"):
        np.testing.assert_allclose(getattr(found, name), getattr(again, name), atol=1e-10)


def test_refinement_reports_rising_progress_and_can_be_cancelled():
    model, seen = tiny_model(n_layers=3), []
    tokens = model.tokens(some_ids(7))
    dose_response(model, tokens, (0, 1), Span(), task=Task(lambda fraction, text: seen.append(fraction)))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled):
        dose_response(model, tokens, (0, 1), Span(), task=task)


@pytest.mark.parametrize("wrong", [{"lowest": 3.0}, {"highest": np.inf}, {"n_first": 2}])
def test_spans_without_a_curve_are_refused(wrong):
    with pytest.raises(KavError, match="must"):
        Span(**wrong)


def test_what_is_measured_so_far_is_told_before_each_round():
    told = []

    def curve(x):
        return np.tanh(3 * x)

    doses, values = refined(lambda x, task: curve(x), Span(), so_far=lambda *both: told.append(both))
    assert told[0][0].tolist() == [-1, 0, 1, 2, 3]
    assert told[1][0].tolist() == np.linspace(-1, 3, 17).tolist()
    assert len(told[1][0]) < len(told[-1][0]) < len(doses)
    for some, found in (*told, (doses, values)):
        assert (np.diff(some) > 0).all()
        np.testing.assert_array_equal(found, curve(some))


@pytest.mark.parametrize("n_first", range(3, 12))
def test_even_doses_come_out_whatever_their_number(n_first):
    doses, _ = refined(lambda x, task: x, Span(n_first=n_first))
    assert doses.tolist() == np.linspace(-1, 3, n_first).tolist()


def test_curve_so_far_is_shown_and_its_doses_are_not_run_again(monkeypatch):
    from kav.effects import dose

    model, glances, n_run = tiny_model(dtype="float64", n_layers=3), [], []
    tokens, along = model.tokens(some_ids(7)), dose.along
    monkeypatch.setattr(dose, "along", lambda *of, **named: (n_run.append(of[2].shape[0]), along(*of, **named))[1])
    whole = dose_response(model, tokens, (0, 1), Span(), target=5, task=Task(on_show=glances.append))
    assert [len(glance.doses) for glance in glances[:2]] == [5, 17]
    assert sum(n_run) == len(whole.doses)
    at = np.searchsorted(whole.doses, glances[1].doses)
    for name in ("response", "direct", "tangent"):
        np.testing.assert_allclose(getattr(glances[1], name), getattr(whole, name)[at], atol=1e-12)
    n_run.clear()
    known = glances[1].doses, glances[1].response
    n_shown = len(glances)
    again = dose_response(model, tokens, (0, 1), Span(), target=5, known=known, task=Task(on_show=glances.append))
    assert all(len(glance.doses) > 17 for glance in glances[n_shown:])
    assert sum(n_run) == len(whole.doses) - 17
    np.testing.assert_array_equal(again.doses, whole.doses)
    np.testing.assert_allclose(again.response, whole.response, atol=1e-12)
