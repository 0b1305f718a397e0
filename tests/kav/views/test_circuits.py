"""Circuits depend on weights and tokens only, and say honestly what a head's OV does."""

from __future__ import annotations

import numpy as np
import pytest

import kav
from kav.circuits.qk_ov import ov_table, qk_table
from kav.model.edits import ScaleHead
from kav.task import Task
from kav.views import circuits
from kav.views.head.circuits import MOST_TOKENS, _copying_reading, table_tokens
from kav.views.scene import resolve
from kav.views.words import plain


def _compute(scene, last=None, **controls):
    return circuits.compute(circuits.Spec(scene, **controls), Task(), last)


def test_ov_table_is_over_the_distinct_tokens_of_the_prompt_in_order(scene):
    made = scene()
    ids = tuple(dict.fromkeys(made.base.tokens.ids))
    result = _compute(made)
    np.testing.assert_allclose(result.values, ov_table(made.base.model, 1, 0, ids))
    assert [label.shown for label in result.row_labels[:4]] == ["‹bos›", "A", "dark", "green"]
    assert all(label.position is None for label in result.row_labels)
    assert result.row_labels[result.row].text == result.column_labels[result.column].text == "carriage"


def test_d_model_matrix_is_the_public_circuit(any_scene):
    made = any_scene()
    np.testing.assert_allclose(
        _compute(made, space="d_model").values, kav.ov(made.base.model, 1, 2).matrix(), rtol=1e-5, atol=1e-6
    )
    result = _compute(made, circuit="qk", space="d_model")
    np.testing.assert_allclose(result.values, kav.qk(made.base.model, 1, 2).matrix(), rtol=1e-5, atol=1e-6)
    assert result.level == np.abs(result.values).max()


def test_spectrum_is_that_of_the_full_matrix(any_scene):
    made = any_scene()
    result = _compute(made, circuit="qk")
    full = np.linalg.svd(kav.qk(made.base.model, 1, 2).matrix(), compute_uv=False)
    np.testing.assert_allclose(result.singular_values, full[: len(result.singular_values)], rtol=1e-4)
    assert result.copying is None
    assert 0 <= result.symmetric_share <= 1


def test_copying_score_is_the_public_one(scene):
    made = scene()
    result = _compute(made)
    assert result.copying == pytest.approx(kav.copying_score(made.base.model, 1, 0), abs=1e-6)
    share = result.eigenvalues.real.sum() / np.abs(result.eigenvalues).sum()
    assert share == pytest.approx(result.copying, abs=1e-6)


def test_qk_table_at_an_offset_frames_query_and_key(scene):
    made = scene()
    result = _compute(made, circuit="qk", offset=1)
    ids = table_tokens(made, resolve(made))
    np.testing.assert_allclose(result.values, qk_table(made.base.model, 1, 0, ids, 1), rtol=1e-5, atol=1e-5)
    assert (result.row_labels[result.row].text, result.column_labels[result.column].text) == ("green", "carriage")
    assert (result.row_title, result.column_title, result.offset) == ("query ↓", "key →", 1)


def test_edits_change_nothing_and_the_last_result_is_returned(scene):
    one = _compute(scene())
    assert _compute(scene(ScaleHead(0, 0, 0.0)), one) is one
    assert _compute(scene(head=1), one) is not one
    assert _compute(scene(), one, circuit="qk") is not one


def test_long_prompts_are_cut_but_never_query_key_or_target(any_scene):
    made = any_scene(ids=tuple(range(30)), query=29, key=28, target=30)
    ids = table_tokens(made, resolve(made))
    assert len(ids) == MOST_TOKENS == len(set(ids))
    assert {29, 28, 30} <= set(ids)
    assert list(ids) == sorted(ids)


@pytest.mark.parametrize(
    ("score", "layer", "words"),
    [
        (1.0, 0, "+1.00: by embeddings alone, OV promotes what it reads"),
        (1.0, 3, "+1.00: by embeddings alone, OV seems to promote what it reads"),
        (0.3, 0, "+0.30: by embeddings alone, OV promotes some of what it reads"),
        (-0.1, 0, "−0.10: by embeddings alone, OV does not copy what it reads"),
        (-0.1, 3, "−0.10: by embeddings alone, OV shows no sign of copying"),
        (-0.3, 0, "−0.30: by embeddings alone, OV suppresses some of what it reads"),
        (-0.9, 3, "−0.90: by embeddings alone, OV seems to suppress what it reads"),
    ],
)
def test_reading_line_gives_the_score_first_and_a_verdict_no_stronger_than_it_carries(score, layer, words):
    """Of head 17.5 of a real model it said "OV does not copy …" and was cut before the number."""
    assert plain(_copying_reading(score, layer)) == f"Copying score {words}"


def test_induction_heads_of_the_bundled_model_copy(scene):
    said = plain(_compute(scene()).reading)
    assert said.startswith("Copying score +1.0")
    assert said.endswith("seems to promote what it reads")


def test_a_longer_prompt_behind_the_cut_counts_its_tokens(any_scene):
    made, longer = (any_scene(ids=tuple(range(n)), query=20, key=3, target=30) for n in (25, 29))
    one = _compute(made)
    assert (len(one.tokens), one.n_distinct) == (MOST_TOKENS, 26)
    assert _compute(longer, one).n_distinct == 30
    assert _compute(made, space="d_model").n_distinct == 0


def test_reading_line_of_qk_names_the_best_key(scene):
    text = plain(_compute(scene(), circuit="qk").reading)
    assert text.startswith("QK, by embeddings alone: ▼ green scores highest with ")
    assert plain(_compute(scene(), circuit="qk", space="d_model").reading).startswith("QK compares two spaces: 0.")
