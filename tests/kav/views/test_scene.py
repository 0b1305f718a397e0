"""What is selected when nothing is, and that the window opens on a prompt that makes its point."""

from __future__ import annotations

import numpy as np
import pytest

import kav
from kav.errors import KavError
from kav.model.edits import MaskKeys, MoveQuery, ScaleHead
from kav.views.scene import DEFAULT, RegressionScene, as_head, resolve, towards_of


def test_open_choices_are_last_token_heaviest_key_and_top_prediction(any_scene):
    scene = any_scene(query=None, target=None)
    focus = resolve(scene)
    row = scene.trace.pattern(1, 2)[-1]
    assert (focus.query, focus.key, focus.foil) == (7, int(row.argmax()), None)
    assert focus.target == int(scene.trace.logits(-1).argmax())


def test_selection_is_clamped_to_model_and_prompt(any_scene):
    focus = resolve(any_scene(layer=9, head=-3, query=99, key=99, target=10**6, foil=-1))
    assert (focus.layer, focus.head, focus.query, focus.key, focus.target, focus.foil) == (1, 0, 7, 7, 30, 0)


def test_negative_positions_count_from_the_end(any_scene):
    assert resolve(any_scene(query=-2, key=-8)).query == 6
    assert resolve(any_scene(query=-2, key=-8)).key == 0


def test_key_is_never_one_that_a_causal_query_cannot_see(scene):
    assert resolve(scene(query=3, key=9)).key == 3


def test_key_and_target_stay_those_of_the_unedited_run(scene):
    plain, edited = scene(), scene(ScaleHead(0, 0, 0.0))
    assert resolve(plain) == resolve(edited)
    assert edited.trace.pattern(1, 0)[-1].argmax() != resolve(edited).key


def test_foil_equal_to_the_target_is_no_foil(any_scene):
    assert resolve(any_scene(target=4, foil=4)).foil is None


def test_curve_goes_towards_the_token_before_unless_told_otherwise(scene):
    plain = scene()
    assert towards_of(plain, resolve(plain)) == resolve(plain).query - 1
    told = scene(towards=2)
    assert towards_of(told, resolve(told)) == 2
    edited = scene(MoveQuery(1, 0, -1, 5, 0.3), towards=2)
    assert towards_of(edited, resolve(edited)) == 5
    first = scene(query=0)
    assert towards_of(first, resolve(first)) == 1
    alone = scene(prompt="")
    assert towards_of(alone, resolve(alone)) is None


def test_regression_scene_is_refused_as_a_head_scene():
    from kav.regression.samples import sine

    with pytest.raises(KavError, match="head scene"):
        as_head(RegressionScene(sine()))


def test_default_prompt_shows_previous_token_head_and_induction_head_plainly(scene):
    plain = scene()
    trace, focus = plain.trace, resolve(plain)
    source = max(j for j in range(1, focus.query) if trace.tokens.ids[j - 1] == trace.tokens.ids[focus.query])
    expected = trace.tokens.ids[source]
    diagonal = [trace.pattern(0, 0)[i, i - 1] for i in range(1, trace.n_tokens)]
    assert 12 <= trace.n_tokens <= 17
    assert (focus.layer, focus.head) == (DEFAULT.layer, DEFAULT.head)
    assert (focus.key, focus.target) == (source, expected)
    assert trace.pattern(DEFAULT.layer, DEFAULT.head)[focus.query, source] >= 0.7
    assert np.exp(trace.log_probs(focus.query)[expected]) >= 0.7
    assert np.mean(diagonal) >= 0.9


def test_removing_the_previous_token_head_lowers_peak_and_prediction_of_the_default_prompt(scene):
    edited = scene(ScaleHead(0, 0, 0.0))
    focus = resolve(edited)
    peak = edited.trace.pattern(focus.layer, focus.head)[focus.query, focus.key]
    p = float(np.exp(edited.trace.log_probs(focus.query)[focus.target]))
    assert peak < 0.3
    assert p < 0.1


def test_masked_keys_are_not_in_the_picture(scene):
    plain = scene()
    edited = scene(MaskKeys(1, 0, (resolve(plain).key,)))
    assert kav.attribution(edited.trace, -1, resolve(plain).target).sources[1, 0, resolve(plain).key] == 0
