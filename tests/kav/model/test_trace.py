"""Runs and what is read from them: against a plain float64 loop, against themselves, and at the edges."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kav.errors import Cancelled, KavError, ModelError
from kav.model import attention
from kav.model.edits import MaskKeys, MoveQuery, ScaleEdge, ScaleHead, ScaleMlp, SetScore, SetTemperature
from kav.model.trace import run
from kav.task import Task
from tests.kav.model import plain
from tests.kav.model_factory import FAMILY_FEATURES, some_ids, tiny_model

SHAPES = dict(FAMILY_FEATURES) | {
    "relu, partly grouped": {"activation": "relu", "n_heads": 6, "n_kv_heads": 3, "biases": False},
    "attention only, three layers": {"attention_only": True, "n_layers": 3},
    "bidirectional, learned": {"causal": False, "norm": "layer", "position": "learned"},
}
EDITS = (
    ScaleHead(0, 1, 0.3),
    ScaleHead(0, 1, 2.0, "mean", (3, -1)),
    ScaleHead(1, 0, -0.5, "resample"),
    ScaleMlp(0, 0.4, "mean"),
    ScaleMlp(1, 1.7, "zero", (2, 5)),
    ScaleEdge(0, 0, 2, 3.0),
    ScaleEdge(1, 2, 1, -1.0, query=4),
    MaskKeys(0, 2, (0, 3)),
    MaskKeys(1, 1, (1,), (4, -1)),
    SetScore(0, 3, 5, 4, 1.5),
    SetScore(1, 0, -1, 5, -2.0),
    SetTemperature(0, 0, 2.5),
    SetTemperature(1, 3, 0.0),
    MoveQuery(0, 0, 4, 1, 0.6),
    MoveQuery(1, 0, 3, -1, 1.3),
)


def edits_for(model):
    return tuple(edit for edit in EDITS if not (model.config.attention_only and isinstance(edit, ScaleMlp)))


@pytest.mark.parametrize("edited", [False, True], ids=["as it is", "edited"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_run_agrees_with_a_plain_loop(xp, shape, edited):
    model = tiny_model(xp, dtype="float64", **shape)
    ids = some_ids(8)
    edits = edits_for(model) if edited else ()
    trace, slow = run(model, model.tokens(ids), edits), plain.run(model, ids, edits)
    np.testing.assert_allclose(trace.logits(), slow.logits, atol=1e-10)
    for layer in range(model.config.n_layers):
        np.testing.assert_allclose(trace.resid(layer), slow.resid[layer], atol=1e-10)
        for head in range(model.config.n_heads):
            np.testing.assert_allclose(trace.scores(layer, head), slow.scores[layer][head], atol=1e-10)
            np.testing.assert_allclose(trace.pattern(layer, head), slow.pattern[layer][head], atol=1e-10)
            np.testing.assert_allclose(trace.head_output(layer, head), slow.outputs[layer][head], atol=1e-10)
    np.testing.assert_allclose(trace.resid(model.config.n_layers), slow.resid[-1], atol=1e-10)


def test_float32_run_is_close_to_the_float64_loop(xp):
    model = tiny_model(xp)
    np.testing.assert_allclose(
        run(model, model.tokens(some_ids(12))).logits(), plain.run(model, some_ids(12)).logits, atol=1e-4
    )


def test_attention_in_small_blocks_equals_attention_in_one(xp, monkeypatch):
    model, ids = tiny_model(xp, dtype="float64", n_ctx=128), some_ids(100)
    whole = run(model, model.tokens(ids)).logits()
    monkeypatch.setattr(attention, "BLOCK_CELLS", 1)  # blocks of 32 queries
    np.testing.assert_allclose(run(model, model.tokens(ids)).logits(), whole, atol=1e-12)


edit_choice = st.lists(st.sampled_from(EDITS), max_size=4).map(tuple)


@pytest.mark.parametrize("name", ["llama", "gpt_neox", "qwen3", "gemma2", "olmo2", "bert"])
@settings(max_examples=15, deadline=None)
@given(before=edit_choice, after=edit_choice, n_same=st.integers(0, 9), n=st.integers(6, 9), n_base=st.integers(6, 9))
def test_run_on_a_base_equals_run_from_scratch(name, before, after, n_same, n, n_base):
    model = tiny_model(dtype="float64", **FAMILY_FEATURES[name])
    ids, others = some_ids(n, seed=1), some_ids(n_base, seed=2)
    base = run(model, model.tokens((*ids[:n_same], *others)[:n_base]), before)
    fresh, reused = run(model, model.tokens(ids), after), run(model, model.tokens(ids), after, base=base)
    np.testing.assert_allclose(reused.logits(), fresh.logits(), atol=1e-10)
    for a, b in zip(reused.layers, fresh.layers, strict=True):
        for field in dataclasses.fields(a):
            np.testing.assert_allclose(getattr(a, field.name), getattr(b, field.name), atol=1e-10)


def test_run_on_a_base_works_on_every_device(xp):
    model = tiny_model(xp, dtype="float64")
    base = run(model, model.tokens(some_ids(9)), (ScaleHead(1, 0, 0.0),))
    ids = (*some_ids(9)[:6], 3, 4)
    edits = (ScaleEdge(0, 0, 3, 0.0), SetTemperature(1, 1, 2.0))
    reused = run(model, model.tokens(ids), edits, base=base)
    np.testing.assert_allclose(reused.logits(), run(model, model.tokens(ids), edits).logits(), atol=1e-10)


def test_layers_below_the_first_edit_are_the_base_itself():
    model = tiny_model(n_layers=3)
    base = run(model, model.tokens(some_ids(9)))
    edited = run(model, base.tokens, (ScaleHead(1, 0, 0.5),), base=base)
    assert edited.layers[0] is base.layers[0]
    assert edited.layers[1] is not base.layers[1]


def test_rows_before_the_first_new_token_are_the_same_numbers_as_in_the_base():
    model = tiny_model()
    base = run(model, model.tokens(some_ids(9)))
    longer = run(model, model.tokens((*some_ids(9), 3, 7)), base=base)
    for layer in (0, 1, 2):
        assert (longer.resid(layer)[:9] == base.resid(layer)).all()


def test_base_of_another_model_is_not_used():
    model, other = tiny_model(seed=0), tiny_model(seed=5)
    base = run(other, other.tokens(some_ids(6)))
    again = run(model, model.tokens(some_ids(6)), base=base)
    assert (again.logits() == run(model, model.tokens(some_ids(6))).logits()).all()


def test_earlier_rows_do_not_depend_on_later_tokens_in_a_causal_model():
    model = tiny_model(dtype="float64")
    short = run(model, model.tokens(some_ids(5))).logits()
    np.testing.assert_allclose(run(model, model.tokens(some_ids(9))).logits(slice(5)), short, atol=1e-12)


def test_pattern_rows_sum_to_one_and_see_no_later_key(xp):
    model = tiny_model(xp, dtype="float64")
    pattern = run(model, model.tokens(some_ids(9))).pattern(1, 2)
    np.testing.assert_allclose(pattern.sum(axis=1), 1, atol=1e-12)
    assert (np.triu(pattern, 1) == 0).all()


def test_row_without_visible_keys_is_zero_and_adds_nothing(xp):
    # A query whose every key was masked gave NaN, which spread through the model (pytorch#109517).
    model = tiny_model(xp)
    trace = run(model, model.tokens(some_ids(3)), (MaskKeys(0, 1, (0, 1), (1,)),))
    assert (trace.pattern(0, 1)[1] == 0).all()
    assert (trace.head_output(0, 1)[1] == 0).all()
    assert np.isfinite(trace.logits()).all()
    assert np.isneginf(trace.scores(0, 1)[1]).all()


def test_temperature_zero_is_the_mean_over_visible_tokens(xp):
    model = tiny_model(xp, dtype="float64")
    trace = run(model, model.tokens(some_ids(5)), (SetTemperature(0, 1, 0.0),))
    np.testing.assert_allclose(trace.pattern(0, 1), np.tril(np.ones((5, 5))) / np.arange(1, 6)[:, None], atol=1e-12)


def test_large_temperature_finds_the_nearest_neighbour():
    model = tiny_model(dtype="float64")
    trace = run(model, model.tokens(some_ids(7)), (SetTemperature(0, 1, 1e6),))
    assert trace.pattern(0, 1)[-1].argmax() == trace.scores(0, 1)[-1].argmax()
    assert trace.pattern(0, 1)[-1].max() == pytest.approx(1)


def test_scaled_edge_is_not_renormalised():
    model = tiny_model(dtype="float64")
    tokens = model.tokens(some_ids(6))
    before, after = run(model, tokens).pattern(0, 2), run(model, tokens, (ScaleEdge(0, 2, 1, 0.0),)).pattern(0, 2)
    np.testing.assert_allclose(after.sum(axis=1), 1 - before[:, 1], atol=1e-12)


@pytest.mark.parametrize("edit", [ScaleHead(1, 1, 1.0), ScaleMlp(0, 1.0, "mean"), ScaleEdge(0, 1, 2, 1.0)])
def test_dose_one_changes_nothing(edit):
    model = tiny_model(dtype="float64")
    tokens = model.tokens(some_ids(6))
    np.testing.assert_allclose(run(model, tokens, (edit,)).logits(), run(model, tokens).logits(), atol=1e-12)


def test_order_of_score_edits_does_not_matter():
    model = tiny_model(dtype="float64")
    tokens = model.tokens(some_ids(6))
    edits = (SetTemperature(0, 1, 2.0), SetScore(0, 1, 5, 2, 1.0), MaskKeys(0, 1, (3,)))
    forth, back = run(model, tokens, edits), run(model, tokens, edits[::-1])
    assert (forth.scores(0, 1) == back.scores(0, 1)).all()
    assert forth.scores(0, 1)[5, 2] == 1.0


def test_tiles_are_cut_from_the_whole(xp):
    model = tiny_model(xp, dtype="float64")
    trace = run(model, model.tokens(some_ids(9)), (MaskKeys(0, 1, (4,)), SetScore(0, 1, 7, 5, 2.0)))
    queries, keys = slice(5, 8), slice(3, -1)
    np.testing.assert_allclose(trace.scores(0, 1, queries, keys), trace.scores(0, 1)[queries, keys], atol=1e-12)
    np.testing.assert_allclose(trace.pattern(0, 1, queries, keys), trace.pattern(0, 1)[queries, keys], atol=1e-12)
    assert trace.pattern(0, 1, slice(3, 3)).shape == (0, 9)


def test_unmasked_scores_show_what_masked_cells_would_score(xp):
    model = tiny_model(xp, dtype="float64")
    trace = run(model, model.tokens(some_ids(6)), (MaskKeys(0, 1, (1,)),))
    free, masked = trace.scores(0, 1, masked=False), trace.scores(0, 1)
    assert np.isfinite(free).all()
    seen = np.isfinite(masked)
    assert (free[seen] == masked[seen]).all()
    assert not seen[3, 1]
    assert not seen[1, 3]


def test_logits_are_read_where_asked(xp):
    model = tiny_model(xp, dtype="float64")
    trace = run(model, model.tokens(some_ids(6)))
    whole = trace.logits()
    assert whole.shape == (6, 31)
    np.testing.assert_allclose(trace.logits(-1), whole[-1], atol=1e-12)
    np.testing.assert_allclose(trace.logits(slice(1, 4)), whole[1:4], atol=1e-12)
    np.testing.assert_allclose(trace.logits([-1, 0]), whole[[-1, 0]], atol=1e-12)
    np.testing.assert_allclose(np.exp(trace.log_probs(2)).sum(), 1, atol=1e-12)


def test_one_token_gives_a_one_by_one_pattern(xp):
    model = tiny_model(xp)
    trace = run(model, model.tokens((5,)))
    assert trace.pattern(0, 0).tolist() == [[1.0]]
    assert trace.logits().shape == (1, 31)


def test_too_long_or_empty_prompts_and_unknown_ids_are_refused():
    model = tiny_model(n_ctx=8)
    with pytest.raises(ModelError, match="9 tokens, model limit 8"):
        run(model, model.tokens(some_ids(9)))
    with pytest.raises(ModelError, match="at least one token, got 0"):
        run(model, model.tokens(()))
    with pytest.raises(ModelError, match=r"token id must be in 0..30, got 31"):
        model.tokens((31,))


def test_places_that_do_not_exist_are_refused():
    model = tiny_model()
    trace = run(model, model.tokens(some_ids(4)))
    for ask in (
        lambda: trace.logits(4),
        lambda: trace.logits([-5]),
        lambda: trace.resid(3),
        lambda: trace.scores(2, 0),
        lambda: trace.pattern(0, 4),
        lambda: trace.head_output(0, -1),
        lambda: trace.scores(0, 0, slice(None, None, 2)),
    ):
        with pytest.raises(KavError, match="must be"):
            ask()


def test_run_reports_progress_and_can_be_cancelled():
    model, seen = tiny_model(), []
    run(model, model.tokens(some_ids(4)), task=Task(lambda fraction, text: seen.append(fraction)))
    assert seen == [0.5, 1.0]
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled):
        run(model, model.tokens(some_ids(4)), task=task)


@pytest.mark.parametrize("edits", [(), (ScaleHead(1, 0, 0.5),)])
def test_layers_so_far_are_those_of_the_whole_run(edits):
    model = tiny_model(n_layers=4)
    base = run(model, model.tokens(some_ids(6)))
    for earlier in (None, base):
        seen = []
        trace = run(model, model.tokens((*some_ids(6), 7)), edits, base=earlier, so_far=seen.append)
        assert [len(one.layers) for one in seen] == [1, 2, 3]
        for one in seen:
            assert all(layer is trace.layers[i] for i, layer in enumerate(one.layers))
            np.testing.assert_allclose(one.resid_final, trace.resid(len(one.layers)), atol=1e-6)
            np.testing.assert_array_equal(one.pattern(0, 1), trace.pattern(0, 1))


def test_what_a_run_holds_cannot_be_written_to():
    model = tiny_model()
    trace = run(model, model.tokens(some_ids(3)))
    with pytest.raises(ValueError, match="read-only"):
        trace.resid(1)[:] = 0


@pytest.mark.parametrize("wrong", ["the cat", [1, 2, 3], None])
def test_what_is_no_tokens_is_refused_in_a_sentence(wrong):
    with pytest.raises(ModelError, match=r"^tokens must come from model\.encode or model\.tokens, got "):
        run(tiny_model(), wrong)
