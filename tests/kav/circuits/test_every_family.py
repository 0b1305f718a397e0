"""The circuits of a head against its live scores and outputs, whatever the family does between them."""

import numpy as np
import pytest

from kav.arrays import to_host
from kav.circuits.composition import composition
from kav.circuits.copying import copying_score, copying_scores
from kav.circuits.head_scores import head_scores
from kav.circuits.qk_ov import ov, ov_table, qk, qk_table
from kav.errors import KavError
from kav.model.attention import project
from kav.model.head import attention_output
from kav.model.layers import centre, embed, norm_scale
from kav.model.trace import run
from tests.kav.model_factory import FAMILY_FEATURES, some_ids, tiny_model

N = 7


def made(name):
    model = tiny_model(dtype="float64", **{**FAMILY_FEATURES[name], "biases": False})
    return model, run(model, model.tokens(some_ids(N)))


def as_read(model, layer, resid):
    """The stream as attention reads it, before the gain of its norm and without its bias."""
    config = model.config
    if model.weights.blocks[layer].norm1 is None:
        return resid
    return centre(config, resid) / norm_scale(config, resid)


def lengths(model, layer, resid, letter, head):
    """Root mean square of one head's queries or keys (or of all heads', where those are normalised together)."""
    block, config = model.weights.blocks[layer], model.config
    x = as_read(model, layer, resid)
    x = x if block.norm1 is None else x * block.norm1.gain
    found = project(x, block.W_Q if letter == "Q" else block.W_K, None)  # (n_heads, N, d_head)
    chosen = found[head : head + 1] if config.qk_norm == "head" else found
    return np.sqrt((chosen**2).mean(axis=(0, 2)) + config.norm_eps)


@pytest.mark.parametrize("name", sorted(set(FAMILY_FEATURES) - {"bidirectional", "layer norms around"}))
def test_scores_from_the_qk_matrix_are_the_live_scores(name):
    # The live scores of layer 0 or 1, undone: cap, lengths of queries and keys, biases of the norms (here none act).
    model, trace = made(name)
    config, bias = model.config, [b.norm1.bias is not None for b in model.weights.blocks if b.norm1 is not None]
    if any(bias):
        model = without_norm_bias(model)
        trace = run(model, model.tokens(some_ids(N)))
    for layer, head in ((0, 1), (1, 2)):
        x = as_read(model, layer, trace.resid(layer))
        live = trace.scores(layer, head, masked=False)
        for query in range(N):
            for key in range(N):
                raw = x[query] @ qk(model, layer, head, query - key).matrix() @ x[key] / np.sqrt(config.d_head)
                if config.qk_norm:
                    raw /= lengths(model, layer, trace.resid(layer), "Q", head)[query]
                    raw /= lengths(model, layer, trace.resid(layer), "K", config.kv_head(head))[key]
                capped = config.score_cap * np.tanh(raw / config.score_cap) if config.score_cap else raw
                assert capped == pytest.approx(live[query, key], abs=1e-9)


def without_norm_bias(model):
    from dataclasses import replace

    def bare(norm):
        return None if norm is None else replace(norm, bias=norm.bias * 0)

    blocks = tuple(replace(block, norm1=bare(block.norm1)) for block in model.weights.blocks)
    return replace(model, weights=replace(model.weights, blocks=blocks))


@pytest.mark.parametrize("name", FAMILY_FEATURES)
def test_head_output_is_the_pattern_times_the_ov_circuit(name):
    model, trace = made(name)
    model = without_norm_bias(model) if model.config.norm == "layer" else model
    trace = run(model, model.tokens(some_ids(N)))
    for layer, head in ((0, 1), (1, 2)):
        x = as_read(model, layer, trace.resid(layer))
        expected = trace.pattern(layer, head) @ x @ ov(model, layer, head).matrix()
        if model.config.norm_place in ("around", "output"):
            expected = expected / norm_scale(model.config, attention_output(trace, layer))
        np.testing.assert_allclose(trace.head_output(layer, head), expected, atol=1e-9)


@pytest.mark.parametrize("name", FAMILY_FEATURES)
def test_what_heads_output_is_what_the_stream_gains(name):
    # A sublayer's output was shown before the norm that reaches the stream (TransformerLens#1648).
    model, trace = made(name)
    if model.config.norm_place == "stream" or model.config.parallel:
        pytest.skip("the stream is normalised as a whole, or the MLP writes beside")
    for layer, block in enumerate(model.weights.blocks):
        gained = to_host(trace.layers[layer].resid_mid) - trace.resid(layer)
        wrote = sum(trace.head_output(layer, head) for head in range(4))
        bias = 0 if block.norm1_out is None or block.norm1_out.bias is None else block.norm1_out.bias
        np.testing.assert_allclose(wrote + bias, gained, atol=1e-9)


@pytest.mark.parametrize("name", FAMILY_FEATURES)
def test_table_of_tokens_has_the_live_scores_of_layer_0(name):
    model = tiny_model(dtype="float64", **FAMILY_FEATURES[name])
    if model.config.position == "learned":
        pytest.skip("the table leaves positions out")
    ids = some_ids(N)
    trace = run(model, model.tokens(ids))
    np.testing.assert_allclose(embed(model.config, model.weights, ids), trace.resid(0), atol=1e-12)
    live = trace.scores(0, 1, masked=False)
    for offset in (-2, 0, 3):
        table = qk_table(model, 0, 1, ids, offset)
        for query in range(max(0, offset), min(N, N + offset)):
            assert table[query, query - offset] == pytest.approx(live[query, query - offset], abs=1e-9)


@pytest.mark.parametrize("name", sorted(set(FAMILY_FEATURES) - {"bert"}))
def test_copying_scores_of_all_heads_are_those_of_each_and_of_the_whole_matrix(name):
    model, _ = made(name)
    scores = copying_scores(model)
    for layer, head in ((0, 1), (1, 2)):
        assert scores[layer, head] == pytest.approx(copying_score(model, layer, head), abs=1e-9)
        table = ov_table(model, layer, head, tuple(range(model.config.d_vocab)))
        values = np.linalg.eigvals(table)
        assert scores[layer, head] == pytest.approx(values.real.sum() / np.abs(values).sum(), abs=1e-6)


def test_heads_that_do_not_write_to_the_logits_have_no_copying_score():
    model, _ = made("bert")
    for refused in (lambda: copying_score(model, 0, 0), lambda: ov_table(model, 0, 0, (1, 2))):
        with pytest.raises(KavError, match="read by W_U alone, got tiny with a layer in between"):
            refused()
    scores = head_scores(model, 2, n_samples=1)
    assert np.isnan(scores.copying).all()
    assert np.isfinite(scores.previous_token).all()


@pytest.mark.parametrize("name", FAMILY_FEATURES)
def test_composition_is_that_of_the_products(name):
    model, _ = made(name)
    found = composition(model, "V").values[0, 1, 1, 2]
    first, second = ov(model, 0, 1).matrix(), ov(model, 1, 2).matrix()
    expected = np.linalg.norm(first @ second) / (np.linalg.norm(first) * np.linalg.norm(second))
    assert found == pytest.approx(expected, abs=1e-9)
