"""The handle stands on a curve of true reruns, and the sentence says what the curve shows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kav
from kav.effects.dose import dose_response
from kav.model.edits import ScaleHead, ScaleMlp, SetTemperature
from kav.task import Task
from kav.views import dose
from kav.views.dose import Component
from kav.views.head.dose import PIXELS
from kav.views.words import numbers, plain


def _compute(scene, last=None, **controls):
    return dose.compute(dose.Spec(scene, **controls), Task(), last)


def _pixel(result):
    return (result.y_range[1] - result.y_range[0]) / PIXELS


@pytest.mark.parametrize("response", ["logit", "log_prob", "prob", "kl"])
@pytest.mark.parametrize("scope", ["all", "query"])
def test_handle_is_on_the_curve_of_reruns(any_scene, response, scope):
    positions = None if scope == "all" else (5,)
    made = any_scene(ScaleHead(0, 1, 0.35, positions=positions))
    result = _compute(made, response=response)
    assert (result.component, result.dose) == (Component(0, 1), 0.35)
    assert np.interp(0.35, result.curve.doses, result.curve.response) == pytest.approx(
        result.value, abs=1.5 * _pixel(result)
    )


def test_value_is_the_runs_own_logit(any_scene):
    made = any_scene(ScaleMlp(0, 0.2), foil=3)
    result = _compute(made)
    logits = made.trace.logits(5)
    assert result.component == Component(0)
    assert result.value == pytest.approx(logits[7] - logits[3], abs=1e-5)
    before = made.before.logits(5)
    assert result.before == pytest.approx(before[7] - before[3], abs=1e-4)


def test_curve_agrees_with_one_run_per_dose(scene):
    made = scene()
    result = _compute(made, component=Component(0, 0))
    for at in (-1.0, 0.0, 0.5, 2.0):
        run = kav.run(made.trace.model, made.trace.tokens, [ScaleHead(0, 0, at)])
        i = int(np.argmin(np.abs(result.curve.doses - at)))
        assert result.curve.doses[i] == pytest.approx(at)
        assert result.curve.response[i] == pytest.approx(run.logits(-1)[_target(made)], abs=1e-3)


def _target(made):
    return int(made.base.logits(-1).argmax())


def test_dose_one_is_the_unedited_run_and_all_curves_meet_there(any_scene):
    made = any_scene()
    curve = _compute(made).curve
    i = int(np.argmin(np.abs(curve.doses - 1)))
    expected = made.trace.logits(5)[7]
    for values in (curve.response, curve.direct, curve.tangent):
        assert values[i] == pytest.approx(expected, abs=1e-4)


def test_direct_line_is_the_attribution(any_scene):
    made = any_scene()
    result = _compute(made)
    parts = kav.attribution(made.trace, 5, 7)
    slope = np.polyfit(result.curve.doses, result.curve.direct, 1)[0]
    assert slope == pytest.approx(parts.heads[1, 2], abs=1e-4)


def test_curve_is_reused_while_only_its_own_dose_moves(scene):
    first = _compute(scene(ScaleHead(0, 0, 0.0)))
    base = scene(ScaleHead(0, 0, 0.0))
    one = _compute(base)
    trace = kav.run(base.base.model, base.base.tokens, (ScaleHead(0, 0, 0.7),), base=base.base)
    moved = type(base)(trace, base.selection, (ScaleHead(0, 0, 0.7),), base.base)
    two = _compute(moved, one)
    assert two.curve is one.curve
    assert (one.dose, two.dose) == (0.0, 0.7)
    assert two.value != one.value
    assert first.curve is not one.curve


def test_curve_is_computed_again_when_another_edit_changes(scene):
    one = _compute(scene(ScaleHead(0, 0, 0.0)))
    base = scene(SetTemperature(1, 1, 0.3), ScaleHead(0, 0, 0.0))
    assert _compute(base, one).curve is not one.curve


def test_component_is_the_one_edited_last_and_else_the_selected(scene):
    assert _compute(scene()).component == Component(1, 0)
    assert _compute(scene(ScaleHead(0, 3, 0.5), ScaleHead(0, 0, 0.0))).component == Component(0, 0)
    asked = _compute(scene(ScaleHead(0, 0, 0.0)), component=Component(1, 3))
    assert (asked.component, asked.dose, asked.before) == (Component(1, 3), 1.0, None)


def test_an_edit_keeps_its_baseline_and_places_whatever_the_controls_say(scene):
    result = _compute(scene(ScaleHead(0, 0, 0.0, "mean", (-1,))), baseline="zero", scope="all")
    assert (result.baseline, result.positions) == ("mean", (-1,))


def test_line_through_the_measured_doses_is_the_curve_to_a_pixel(scene):
    found = _compute(scene(), component=Component(0, 0))
    curve = found.curve
    assert {-1.0, 0.0, 1.0, 3.0} <= set(curve.doses)
    assert (np.diff(curve.doses) > 0).all()
    between = (curve.doses[1:] + curve.doses[:-1]) / 2
    trace = scene().trace
    target = dose_response(trace.model, trace.tokens, (0, 0), [1.0], base=trace).target
    exact = dose_response(trace.model, trace.tokens, (0, 0), between, target=target, base=trace)
    line = np.interp(between, curve.doses, curve.response)
    assert np.abs(line - exact.response).max() < 1.5 * _pixel(found)


def test_plot_holds_the_rerun_and_at_most_70_percent_more(any_scene):
    result = _compute(any_scene())
    low, high = result.curve.response.min(), result.curve.response.max()
    whole = high - low
    assert low - 0.76 * whole <= result.y_range[0] < low
    assert high < result.y_range[1] <= high + 0.76 * whole


def test_reading_line_of_a_head_that_matters_directly(scene):
    made = scene()
    logit, adds = made.trace.logits(-1)[_target(made)], kav.attribution(made.trace).heads[1, 0]
    removed = kav.run(made.trace.model, made.trace.tokens, [ScaleHead(1, 0, 0.0)]).logits(-1)[_target(made)]
    before, after, direct = numbers((logit, removed, logit - adds))
    assert plain(_compute(made).reading) == (
        f"Yes: removing head 1.0 takes the logit from {before} to {after}; direct line says {direct}"
    )


def test_reading_line_of_a_head_that_works_through_later_heads(scene):
    made = scene(ScaleHead(0, 0, 0.0))
    logit, adds = made.base.logits(-1)[_target(made)], kav.attribution(made.base).heads[0, 0]
    rerun, direct, _ = numbers((made.trace.logits(-1)[_target(made)], logit - adds, logit))
    assert plain(_compute(made).reading) == (
        f"Yes, head 0.0 through later heads: direct line {direct}, rerun {rerun} at dose 0"
    )


def test_reading_line_of_a_head_that_hardly_matters(scene):
    heads = kav.ablation_map(scene().base.model, scene().base.tokens).heads
    layer, head = np.unravel_index(np.argmin(np.abs(heads)), heads.shape)
    text = plain(_compute(scene(), component=Component(int(layer), int(head))).reading)
    assert text.startswith(f"Hardly: removing head {layer}.{head} takes the logit from ")


def test_whether_a_head_matters_does_not_depend_on_reading_probability_or_its_logarithm(scene):
    # A twentieth of the value was the rule: a logit of 11 then had to change by more than one of 1 did.
    verdicts = {
        response: [
            plain(_compute(scene(), component=part, response=response).reading)[:3]
            for _, part in _compute(scene()).choices
        ]
        for response in ("prob", "log_prob")
    }
    assert verdicts["prob"] == verdicts["log_prob"]
    assert set(verdicts["prob"]) == {"Yes", "Har"}


def test_reading_line_names_baseline_place_and_response(scene):
    text = plain(_compute(scene(), baseline="mean", scope="query", response="prob").reading)
    assert text.startswith("Yes: holding head 1.0 at 15 green at its mean takes the probability from 0.")


def test_axis_says_what_is_read(scene):
    assert plain(_compute(scene()).y_title) == "↑ logit of ◆ carriage"
    assert plain(_compute(scene(foil=0)).y_title) == "↑ logit difference ◆ carriage minus ‹bos›"
    assert plain(_compute(scene(), response="prob").y_title) == "↑ probability of ◆ carriage"
    assert _compute(scene()).x_title == "dose: scale on head 1.0 →"


def test_choices_are_all_components_with_the_selected_first(scene, any_scene):
    named = _compute(scene()).choices
    assert named[0] == ("head 1.0 (selected)", Component(1, 0))
    assert len(named) == 8
    assert ("mlp 1", Component(1)) in _compute(any_scene()).choices


def test_the_handle_stands_on_its_curve_when_a_head_is_scaled_in_two_places(scene):
    # The curve left both edits out and the handle only one, so that it stood beside its curve.
    there, everywhere = ScaleHead(1, 0, 0.0, "zero", (6,)), ScaleHead(1, 0, 0.5)
    for edits in ((there, everywhere), (everywhere, there)):
        result = _compute(scene(*edits), component=Component(1, 0))
        on_curve = np.interp(result.dose, result.curve.doses, result.curve.response)
        assert result.dose == edits[-1].scale
        assert result.value == pytest.approx(on_curve, abs=0.01)


def test_curve_so_far_says_so_and_is_gone_on_with(any_scene, monkeypatch):
    from kav.views.head import dose as head

    glances, known = [], []
    asked = head.dose_response
    monkeypatch.setattr(head, "dose_response", lambda *a, **k: (known.append(k["known"]), asked(*a, **k))[1])
    spec = dose.Spec(any_scene())
    whole = dose.compute(spec, Task(on_show=glances.append))
    first = glances[0]
    assert first.so_far
    assert first.names[0] == "rerun, 5 doses so far"
    assert first.curve.doses.tolist() == [-1, 0, 1, 2, 3]
    assert first.reading == whole.reading  # doses 0 and 1 are measured first
    assert (whole.so_far, whole.names[0]) == (False, "rerun")
    again = dose.compute(spec, Task(), first)
    assert known[-1][0].tolist() == [-1, 0, 1, 2, 3]
    np.testing.assert_array_equal(again.curve.doses, whole.curve.doses)
    assert dose.compute(spec, Task(), whole).curve is whole.curve


@given(st.floats(-1e6, 1e6, allow_subnormal=False), st.floats(0, 1e3, allow_subnormal=False))
def test_an_axis_is_never_shorter_than_its_numbers_deserve(low, length):
    high = low + length
    shown = dose.at_least(low, high)
    assert shown[0] <= low <= high <= shown[1]
    size = max(abs(low), abs(high))
    assert shown[1] - shown[0] >= 0.00499 * size
    assert shown[1] > shown[0]
    if length > 0.006 * size > 1e-200:
        assert shown == (low, high)
