"""The prompt bar says which tokens the head reads and what comes next."""

from __future__ import annotations

import numpy as np

from kav.model.edits import ScaleHead, SetTemperature
from kav.task import Task
from kav.views import prompt


def _compute(scene, **controls):
    return prompt.compute(prompt.Spec(scene, **controls), Task())


def test_chips_are_the_prompts_tokens_with_the_rows_weights(scene):
    made = scene()
    result = _compute(made)
    assert " ".join(label.shown for label in result.labels[:6]) == "‹bos› A dark green carriage passed"
    assert [label.position for label in result.labels] == list(range(16))
    np.testing.assert_allclose(result.weights, made.trace.pattern(1, 0)[-1], atol=1e-7)
    assert result.weights_before is None
    assert (result.layer, result.head, result.query, result.key, result.towards) == (1, 0, 15, 4, 14)


def test_a_piece_of_a_word_is_joined_to_the_chip_before(scene):
    joined = [label.text for label in _compute(scene()).labels if label.joined]
    assert joined == ["ired"]


def test_edits_are_listed_in_words_with_the_weights_before(scene):
    made = scene(ScaleHead(0, 0, 0.0), SetTemperature(1, 0, 2.0))
    result = _compute(made)
    assert result.edits_text == ("head 0.0 × 0.00", "head 1.0 β × 2.00")
    np.testing.assert_allclose(result.weights_before, made.base.pattern(1, 0)[-1], atol=1e-7)


def test_next_tokens_are_the_most_probable_and_the_target(scene):
    result = _compute(scene(ScaleHead(0, 0, 0.0)), n_predictions=2)
    assert len(result.predictions) == 3
    assert [item.is_target for item in result.predictions] == [False, False, True]
    assert (result.target_label.shown, result.target_label.exact) == ("carriage", '" carriage"')


def test_target_and_foil_are_named(any_scene):
    result = _compute(any_scene(foil=3))
    assert (result.target_label.text, result.foil_label.text) == ("#7", "#3")
