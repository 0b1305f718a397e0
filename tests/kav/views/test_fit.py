"""The kernel picture of a head is lossless: its average is the head's direct contribution, its curve a real rerun."""

from __future__ import annotations

import numpy as np
import pytest

import kav
from kav.model.edits import MaskKeys, MoveQuery, ScaleEdge, ScaleHead, SetScore, SetTemperature
from kav.task import Task
from kav.views import attention, fit
from kav.views.scene import resolve
from kav.views.words import number, plain, share, signed

_SOFTMAX = "exp(s) / Σ exp(s)"

EDITS = {
    "none": (),
    "earlier head removed": (ScaleHead(0, 0, 0.0),),
    "dose": (ScaleHead(1, 2, 0.4),),
    "dose here": (ScaleHead(1, 2, -0.5, positions=(5,)),),
    "dose elsewhere": (ScaleHead(1, 2, -0.5, positions=(2, 4)),),
    "mean baseline": (ScaleHead(1, 2, 0.3, "mean"),),
    "resample baseline": (ScaleHead(1, 2, 0.3, "resample"),),
    "two doses": (ScaleHead(1, 2, 0.5), ScaleHead(1, 2, 0.2, "mean")),
    "edge": (ScaleEdge(1, 2, 3, 0.2),),
    "mask": (MaskKeys(1, 2, (1, 3)),),
    "score": (SetScore(1, 2, 5, 2, 1.5),),
    "temperature": (SetTemperature(1, 2, 0.4),),
    "moved query": (MoveQuery(1, 2, 5, 1, 0.6),),
    "moved and set": (MoveQuery(1, 2, 5, 1, 0.6), SetScore(1, 2, 5, 2, 1.5), SetTemperature(1, 2, 2.0)),
}


def _compute(scene):
    return fit.compute(fit.Spec(scene), Task())


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS.keys())
def test_f_is_the_heads_direct_contribution(any_scene, edits):
    scene = any_scene(*edits, foil=11)
    focus = resolve(scene)
    parts = kav.attribution(scene.trace, focus.query, focus.target, focus.foil)
    result = _compute(scene)
    assert result.f == pytest.approx(parts.heads[focus.layer, focus.head], abs=1e-5)
    assert result.points.weight @ result.points.y == pytest.approx(result.f, abs=1e-9)


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS.keys())
def test_curve_passes_through_f_at_the_query(any_scene, edits):
    result = _compute(any_scene(*edits))
    at = np.interp(result.query_at, result.curve_at, result.curve_f)
    assert at == pytest.approx(result.f, abs=2e-3 * (1 + np.ptp(result.curve_f)))


@pytest.mark.parametrize("t", [-0.2, 0.4, 1.0])
def test_curve_is_what_the_model_gives_when_the_query_is_moved(scene, t):
    at_rest, rerun = scene(towards=3), scene(MoveQuery(1, 0, -1, 3, t))
    still, moved = _compute(at_rest), _compute(rerun)
    rescaled = kav.attribution(rerun.trace).scale / kav.attribution(at_rest.trace).scale  # the norm is frozen per run
    assert moved.query_at == t
    assert np.interp(t, still.curve_at, still.curve_f) == pytest.approx(moved.f * rescaled, abs=1e-3)
    again = np.interp(still.curve_at, moved.curve_at, moved.curve_f)
    np.testing.assert_allclose(again * rescaled, still.curve_f, atol=2e-3)


def test_messages_equal_a_naive_loop_over_the_weights(scene):
    made = scene(query=9, target=17)
    trace, result = made.trace, _compute(made)
    block, model = trace.model.weights.blocks[1], trace.model
    final = trace.resid(2)[9]
    sigma = np.sqrt(np.mean(final**2) + model.config.norm_eps)
    u = model.weights.norm_final.gain * model.weights.W_U[:, 17] / sigma
    for key in range(trace.n_tokens):
        x = trace.resid(1)[key]
        normed = x / np.sqrt(np.mean(x**2) + model.config.norm_eps) * block.norm1.gain
        assert result.points.y[key] == pytest.approx(normed @ block.W_V[0] @ block.W_O[0] @ u, abs=1e-4)


def test_band_holds_f_and_the_curve(any_scene):
    result = _compute(any_scene())
    low, high = result.band
    assert result.band_holds
    assert low - 1e-5 <= min(result.f, result.curve_f.min())
    assert max(result.f, result.curve_f.max()) <= high + 1e-5


def test_scaled_edge_gives_the_band_up(any_scene):
    assert not _compute(any_scene(ScaleEdge(1, 2, 3, 0.2))).band_holds


def test_temperature_multiplies_scores_and_is_shown(scene):
    plain_, sharp = _compute(scene()), _compute(scene(SetTemperature(1, 0, 2.0)))
    seen = plain_.points.visible
    np.testing.assert_allclose(sharp.points.x[seen], 2 * plain_.points.x[seen], rtol=1e-5)
    assert (plain_.beta, sharp.beta) == (1.0, 2.0)


def test_sharpness_stands_wherever_scores_do(scene):
    """A person set β to 0.2: the card went on saying s = q·k/√d_head beside numbers five times smaller than that."""
    plain_, sharp = scene(), scene(SetTemperature(1, 0, 0.5), SetTemperature(1, 0, 0.4), SetTemperature(1, 1, 3.0))
    for view in (fit, attention):
        said = [plain(row.formula) for row in view.formula(view.compute(view.Spec(sharp), Task()))]
        assert any("/ √d_head × β (0.20)" in line for line in said)
        assert not any("β" in plain(row.formula) for row in view.formula(view.compute(view.Spec(plain_), Task())))
    assert _compute(sharp).x_title == "score q·k/√d_head × β (0.20) of the keys →"
    assert [row.note for row in _compute(sharp).rows if row.key == "weight"] == [f"{_SOFTMAX}, β 0.20 in s"]


def test_temperature_zero_is_the_mean_of_the_visible_messages(scene):
    result = _compute(scene(SetTemperature(1, 0, 0.0), query=6))
    assert result.f == pytest.approx(result.points.y[:7].mean(), abs=1e-5)
    assert result.rows[-1].value == "7.00"


def test_future_and_masked_tokens_are_not_visible(scene):
    result = _compute(scene(MaskKeys(1, 0, (2,)), query=6))
    assert result.points.visible.tolist() == [True, True, False, True, True, True, True] + [False] * 9
    assert (result.points.weight[~result.points.visible] == 0).all()


def test_ranges_hold_before_and_after_while_edited(scene):
    result = _compute(scene(ScaleHead(0, 0, 0.0)))
    for seen in (result.points, result.before):
        assert result.x_range[0] <= seen.x[seen.visible].min()
        assert seen.x[seen.visible].max() <= result.x_range[1]
        assert result.y_range[0] <= seen.y[seen.visible].min()
        assert seen.y[seen.visible].max() <= result.y_range[1]


def test_both_ends_of_the_querys_way_are_well_inside_the_axis(scene):
    result = _compute(scene())
    low, high = result.query_range
    for t in (0.0, 1.0):
        assert 0.1 < (t - low) / (high - low) < 0.9
    assert [tick[0] for tick in result.query_ticks] == [0.0, 0.5, 1.0]
    assert _compute(scene(MoveQuery(1, 0, -1, 3, 2.5))).query_range[1] > 2.5


def test_reading_line_says_weight_key_and_logits(scene):
    made = scene()
    weight = share(float(made.trace.pattern(1, 0)[-1, 4]))
    adds = signed(float(kav.attribution(made.trace).heads[1, 0]))
    says = f"A weighted average: {weight} of the weight is on 4 carriage, so the head adds {adds}"
    assert plain(_compute(made).reading) == f"{says} to the logit of ◆ carriage"


def test_reading_line_of_an_edited_run_ends_with_what_it_was(scene):
    made = scene(ScaleHead(0, 0, 0.0))
    text = plain(_compute(made).reading)
    assert text.startswith("A weighted average: ")
    assert text.endswith(f" to the logit of ◆ carriage, was {signed(kav.attribution(made.base).heads[1, 0])}")


def test_reading_line_with_everything_masked_is_honest(scene):
    result = _compute(scene(MaskKeys(1, 0, tuple(range(16)))))
    assert plain(result.reading) == "undefined: no observation has positive weight, so the head adds nothing"
    assert result.f == 0.0
    assert np.isfinite(result.curve_f).all()


def test_correspondence_table_is_the_legend_of_the_picture(scene):
    made = scene()
    rows = {row.key: row for row in _compute(made).rows}
    assert rows["query"].value == "t = 0.00"
    assert rows["query"].note == "15 green → 14 dark"
    assert rows["key"].note == "4 carriage"
    assert rows["key"].value.startswith("s = ")
    assert rows["response"].note == "its message to “carriage”"
    assert rows["key"].value.endswith(number(float(made.trace.scores(1, 0)[-1, 4])))
    assert (rows["weight"].value, rows["weight"].note) == (share(float(made.trace.pattern(1, 0)[-1, 4])), _SOFTMAX)
    assert rows["prediction"].value == signed(float(kav.attribution(made.trace).heads[1, 0]))
    assert rows["effective"].name == "effective keys"
    assert rows["effective"].note.startswith("entropy 0.")


def test_a_single_token_has_a_picture(scene):
    result = _compute(scene(prompt=""))
    assert result.points.weight.tolist() == [1.0]
    assert result.towards is None
    assert len(result.query_ticks) == 1
    assert np.ptp(result.curve_f) == 0


def test_messages_say_what_divides_them_and_that_an_edit_changes_it(scene):
    """Another head was removed and every message of this one changed: the final norm divides by another scale."""
    before, after = (_compute(made) for made in (scene(), scene(ScaleHead(1, 1, 0.0))))
    sigma = [kav.attribution(made.trace).scale for made in (scene(), scene(ScaleHead(1, 1, 0.0)))]
    assert (before.sigma, before.sigma_before) == (pytest.approx(sigma[0], rel=1e-5), None)
    assert (after.sigma, after.sigma_before) == tuple(pytest.approx(one, rel=1e-5) for one in sigma[::-1])
    np.testing.assert_allclose(after.points.y * sigma[1], before.points.y * sigma[0], rtol=1e-4, atol=1e-4)
    tip = next(row.tip for row in after.rows if row.key == "response")
    assert tip.endswith(f"{number(sigma[1])}, was {number(sigma[0])}")
    card = [(row.shape, row.value) for row in fit.formula(after) if "σ" in plain(row.formula)]
    assert card == [(f"was {number(sigma[0])}", f"σ {number(sigma[1])}")]
