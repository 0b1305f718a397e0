from dataclasses import replace

import numpy as np
import pytest

from kav.circuits.copying import copying_score, copying_scores
from kav.circuits.qk_ov import ov, ov_table, qk, qk_table
from kav.errors import KavError
from kav.model.config import Norm
from kav.model.trace import run
from tests.kav.model_factory import some_ids, tiny_model


def normalised(model, x):
    """Rows without gain or bias, in plain NumPy."""
    if model.config.norm == "layer":
        x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + model.config.norm_eps)


@pytest.mark.parametrize("layer", [0, 1])
def test_scores_from_the_qk_matrix_equal_the_live_scores_at_every_offset(xp, layer):
    model = tiny_model(xp, biases=False, dtype="float64")
    trace = run(model, model.tokens(some_ids(7)))
    x = normalised(model, trace.resid(layer))
    for head in range(model.config.n_heads):
        live = trace.scores(layer, head)
        for query in range(7):
            for key in range(query + 1):
                score = x[query] @ qk(model, layer, head, query - key).matrix() @ x[key]
                assert score * model.config.score_scale(layer) == pytest.approx(live[query, key], abs=1e-9)


def test_eight_query_heads_with_two_key_heads_share_them_in_neighbouring_fours(xp):
    model = tiny_model(xp, n_heads=8, n_kv_heads=2, biases=False, dtype="float64")
    trace = run(model, model.tokens(some_ids(5)))
    x = normalised(model, trace.resid(0))
    W_K = [xp.get(model.weights.blocks[0].W_K)[shared] for shared in (0, 0, 0, 0, 1, 1, 1, 1)]
    gain = xp.get(model.weights.blocks[0].norm1.gain)
    for head in range(8):
        np.testing.assert_allclose(qk(model, 0, head).right, (gain[:, None] * W_K[head]).T, atol=1e-12)
        here = np.diag(x @ qk(model, 0, head).matrix() @ x.T) * model.config.score_scale(0)
        np.testing.assert_allclose(here, np.diag(trace.scores(0, head)), atol=1e-9)


def test_head_output_is_the_pattern_times_the_ov_circuit(xp):
    model = tiny_model(xp, biases=False, dtype="float64")
    trace = run(model, model.tokens(some_ids(6)))
    for layer in range(2):
        x = normalised(model, trace.resid(layer))
        for head in range(model.config.n_heads):
            expected = trace.pattern(layer, head) @ x @ ov(model, layer, head).matrix()
            np.testing.assert_allclose(trace.head_output(layer, head), expected, atol=1e-9)


def test_gain_of_a_root_mean_square_norm_is_folded_without_centring():
    # x = [1, 2, 2], gain [2, 1, 0.5], weights of ones: 5 / sqrt(3) = 2.886751
    model = tiny_model(d_model=3, d_head=2, n_heads=1, n_kv_heads=1, position="learned", biases=False)
    block = replace(
        model.weights.blocks[0],
        norm1=Norm(np.array([2.0, 1.0, 0.5], dtype="float32")),
        W_V=np.ones((1, 3, 2), dtype="float32"),
    )
    model = replace(model, weights=replace(model.weights, blocks=(block,)))
    x = np.array([1.0, 2.0, 2.0]) / np.sqrt(3)
    np.testing.assert_allclose(x @ ov(model, 0, 0).left, 2.886751, atol=1e-5)


@pytest.mark.parametrize("circuit", [qk, ov])
def test_folding_the_gain_or_applying_it_to_the_stream_is_the_same(xp, circuit):
    model = tiny_model(xp, norm="layer")
    gain = xp.get(model.weights.blocks[1].norm1.gain)
    x = np.random.default_rng(0).normal(size=(3, model.config.d_model)).astype("float32")
    folded, plain = circuit(model, 1, 2).matrix(), circuit(model, 1, 2, fold_norm=False).matrix()
    right = np.diag(gain) if circuit is qk else np.eye(len(gain))
    np.testing.assert_allclose(x @ folded, x * gain @ plain @ right, atol=1e-4)


def test_offset_turns_nothing_where_positions_are_learned(xp):
    model = tiny_model(xp, position="learned")
    np.testing.assert_array_equal(qk(model, 0, 1, 5).matrix(), qk(model, 0, 1).matrix())


@pytest.mark.parametrize("norm", ["rms", "layer"])
def test_qk_table_is_the_live_score_of_layer_0_at_that_distance_biases_and_all(xp, norm):
    model = tiny_model(xp, norm=norm, dtype="float64")
    ids = some_ids(6)
    live = run(model, model.tokens(ids)).scores(0, 3)
    for offset in range(6):
        table = qk_table(model, 0, 3, ids, offset)
        np.testing.assert_allclose(np.diag(table, -offset), np.diag(live, -offset), atol=1e-9)


def test_ov_table_is_the_dense_product_through_the_vocabulary(xp):
    model = tiny_model(xp, norm="layer", dtype="float64")
    ids = [3, 30, 0, 3]
    W_E, W_U = xp.get(model.weights.W_E), xp.get(model.weights.W_U)
    final = xp.get(model.weights.norm_final.gain)
    dense = normalised(model, W_E) @ ov(model, 1, 1).matrix() @ (final[:, None] * W_U)
    np.testing.assert_allclose(ov_table(model, 1, 1, ids), dense[np.ix_(ids, ids)], atol=1e-10)


@pytest.mark.parametrize("norm", ["rms", "layer"])
def test_copying_score_is_that_of_the_full_vocabulary_matrix(xp, norm):
    model = tiny_model(xp, norm=norm, dtype="float64")
    W_E, W_U = xp.get(model.weights.W_E), xp.get(model.weights.W_U)
    final = xp.get(model.weights.norm_final.gain)
    together = copying_scores(model)
    for layer in range(2):
        for head in range(model.config.n_heads):
            dense = normalised(model, W_E) @ ov(model, layer, head).matrix() @ (final[:, None] * W_U)
            values = np.linalg.eigvals(dense)
            expected = values.real.sum() / np.abs(values).sum()
            assert copying_score(model, layer, head) == pytest.approx(expected, abs=1e-6)
            assert together[layer, head] == pytest.approx(expected, abs=1e-6)


def test_a_head_that_writes_what_it_reads_copies_and_its_opposite_anticopies(xp):
    model = tiny_model(xp, n_heads=2, n_kv_heads=2, d_vocab=16, d_head=16, dtype="float64")
    eye = np.eye(16)
    norm = Norm(xp.put(np.ones(16)))
    block = replace(
        model.weights.blocks[0],
        norm1=norm,
        W_V=xp.put(np.stack([eye, eye])),
        W_O=xp.put(np.stack([eye, -eye])),
    )
    weights = replace(model.weights, W_E=xp.put(eye), W_U=xp.put(eye), norm_final=norm, blocks=(block,))
    model = replace(model, weights=weights)
    assert copying_score(model, 0, 0) == pytest.approx(1.0)
    assert copying_score(model, 0, 1) == pytest.approx(-1.0)


def test_a_head_or_token_that_does_not_exist_is_refused():
    model = tiny_model()
    with pytest.raises(KavError, match=r"head must be in 0\.0\.\.1\.3, got 0\.4"):
        qk(model, 0, 4)
    with pytest.raises(KavError, match=r"head must be in 0\.0\.\.1\.3, got -1\.0"):
        ov(model, -1, 0)
    with pytest.raises(KavError, match=r"token id must be in 0\.\.30, got 31"):
        ov_table(model, 0, 0, [0, 31])


def test_circuits_cannot_be_written_to_through_what_they_return():
    model = tiny_model()
    for product in (qk(model, 0, 0), ov(model, 0, 0), ov(model, 0, 0, fold_norm=False)):
        for factor in (product.left, product.right):
            with pytest.raises(ValueError, match="read-only"):
                factor[:] = 0
