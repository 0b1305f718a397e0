"""Parts on screen add up to the number on screen, whatever is collapsed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import kav
from kav.model.edits import ScaleHead, ScaleMlp
from kav.task import Task
from kav.views import attribution
from kav.views.scene import resolve
from kav.views.words import plain, signed

INSIDE = ("source", "other-sources")


def _compute(scene):
    return attribution.compute(attribution.Spec(scene), Task())


def _logit(scene):
    return scene.base.logits(-1).max()


def _tops(parts):
    return [part for part in parts if part.kind not in (*INSIDE, "total")]


@pytest.mark.parametrize("foil", [None, 11])
@pytest.mark.parametrize("edits", [(), (ScaleHead(0, 1, 0.0), ScaleMlp(0, 0.5)), (ScaleHead(1, 2, 0.3, "mean"),)])
def test_parts_sum_to_the_logit(any_scene, edits, foil):
    scene = any_scene(*edits, foil=foil)
    result = _compute(scene)
    logits = scene.trace.logits(resolve(scene).query)
    expected = logits[7] - (0 if foil is None else logits[foil])
    assert math.fsum(part.value for part in _tops(result.parts)) == pytest.approx(result.total, abs=1e-9)
    assert result.total == pytest.approx(expected, abs=1e-3)
    assert result.total_name == ("logit" if foil is None else "logit difference")


@pytest.mark.parametrize("n_rows", range(3, 22))
def test_collapsed_rows_add_up_and_fit(any_scene, n_rows):
    result = _compute(any_scene())
    rows = attribution.collapse(result, n_rows)
    assert len(rows) <= n_rows
    assert math.fsum(part.value for part in _tops(rows)) == pytest.approx(result.total, abs=1e-9)
    assert (rows[-1].kind, rows[-1].value) == ("total", result.total)
    assert any(part.selected for part in rows)


@pytest.mark.parametrize("n_rows", [6, 9, 40])
def test_bars_begin_where_the_bar_above_ends(any_scene, n_rows):
    at = 0.0
    for part in _tops(attribution.collapse(_compute(any_scene()), n_rows)):
        assert part.start == pytest.approx(at, abs=1e-9)
        at += part.value


def test_sources_start_with_their_head_and_sum_to_it(any_scene):
    rows = attribution.collapse(_compute(any_scene()), 40)
    at = next(i for i, part in enumerate(rows) if part.selected)
    head, key, others = rows[at : at + 3]
    assert (key.kind, others.kind) == INSIDE
    assert key.start == head.start
    assert others.start == pytest.approx(key.start + key.value)
    assert key.value + others.value == pytest.approx(head.value, abs=1e-9)


def test_with_room_nothing_is_collapsed_and_small_parts_go_first(scene):
    result = _compute(scene())
    every = attribution.collapse(result, 40)
    assert not any(part.kind == "rest" for part in every)
    rows = attribution.collapse(result, 9)
    rest = next(part for part in rows if part.kind == "rest")
    shown = [abs(part.value) for part in _tops(rows) if part.kind != "rest"]
    hidden = [abs(part.value) for part in _tops(every) if part.name not in {row.name for row in rows}]
    assert rest.name == f"{len(hidden)} smaller parts"
    assert max(hidden) <= min(shown)


def test_many_small_parts_that_are_much_together_are_told_to_be_small(scene):
    """`296 smaller parts +10.9` stood under parts of 10.0 and less."""
    result = _compute(scene())
    sizes = (3.0, *(0.5,) * 9, -0.25)
    parts = tuple(attribution.Part("mlp", f"mlp {i}", value, 0.0, layer=i) for i, value in enumerate(sizes))
    many = replace(result, parts=parts, total=sum(sizes))
    names = [part.name for part in attribution.collapse(many, 4)]
    assert names[:-1] == ["mlp 0", "mlp 1", "9 parts up to 0.50"]
    few = replace(result, parts=parts[:5], total=5.0)
    assert [part.name for part in attribution.collapse(few, 4)][:-1] == ["mlp 0", "mlp 1", "3 smaller parts"]


def test_values_are_those_of_the_public_attribution(scene):
    made = scene(query=9, target=17, foil=40)
    parts = kav.attribution(made.trace, 9, 17, 40)
    found = {part.name: part.value for part in _tops(_compute(made).parts)}
    assert found == pytest.approx(dict(zip(parts.components, parts.values.tolist(), strict=True)))


def test_order_is_by_size(any_scene):
    sizes = [abs(part.value) for part in _tops(_compute(any_scene()).parts)]
    assert sizes == sorted(sizes, reverse=True)


def test_reading_line_says_share_and_total(scene):
    made = scene()
    moves, whole = (signed(float(value)) for value in (kav.attribution(made.trace).heads[1, 0], _logit(made)))
    assert plain(_compute(made).reading) == f"Head 1.0 moves {moves} of {whole} logits of ◆ carriage"
    made = scene(ScaleHead(0, 0, 0.0))
    parts = kav.attribution(made.trace, -1, resolve(made).target)
    now = [signed(float(value)) for value in (parts.heads[1, 0], parts.total)]
    assert plain(_compute(made).reading) == (
        f"Head 1.0 moves {now[0]} (was {moves}) of {now[1]} (was {whole}) logits of ◆ carriage"
    )


def test_rows_say_where_the_selected_head_reads(scene):
    names = [part.name for part in _compute(scene()).parts]
    at = names.index("head 1.0")
    assert names[at + 1 : at + 3] == ["from 4 carriage", "from 15 other keys"]


def test_lens_ends_at_the_models_own_log_probability(any_scene):
    made = any_scene()
    lens = _compute(made).lens
    assert lens.shape == (made.trace.model.config.n_layers + 1,)
    assert lens[-1] == pytest.approx(made.trace.log_probs(5)[7], abs=1e-4)


def test_before_values_are_those_of_the_unedited_run(scene):
    plain_, edited = _compute(scene()), _compute(scene(ScaleHead(0, 0, 0.0)))
    old = {part.name: part.value for part in plain_.parts}
    assert {part.name: part.before for part in edited.parts} == pytest.approx(old)
    assert edited.total_before == pytest.approx(plain_.total)
    rest = next(part for part in attribution.collapse(edited, 8) if part.kind == "rest")
    assert rest.before is not None
    assert np.isfinite(rest.before)


def test_predictions_are_sorted_probabilities_with_the_target_among_them(scene):
    result = _compute(scene(ScaleHead(0, 0, 0.0)))
    p = [prediction.probability for prediction in result.predictions[:20]]
    assert p == sorted(p, reverse=True)
    target = next(prediction for prediction in result.predictions if prediction.is_target)
    assert target.before > 0.8 > 0.1 > target.probability
    assert target.label.shown == "carriage"


def test_another_head_asks_for_the_same_sum_and_it_is_not_made_again(scene, monkeypatch):
    made = scene(ScaleHead(0, 0, 0.5))
    one = attribution.compute(attribution.Spec(made), Task())
    moved = replace(made, selection=replace(made.selection, layer=0, head=2))
    fresh = attribution.compute(attribution.Spec(moved), Task())
    monkeypatch.setattr("kav.views.head.attribution.attribution", None)  # whoever calls it now fails
    again = attribution.compute(attribution.Spec(moved), Task(), one)
    assert again.parts == fresh.parts
    assert (again.total, again.total_before) == (fresh.total, fresh.total_before)
    with pytest.raises(TypeError):
        attribution.compute(attribution.Spec(replace(moved, selection=replace(moved.selection, query=3))), Task(), one)
