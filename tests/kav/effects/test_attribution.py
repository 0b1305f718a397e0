from dataclasses import replace

import numpy as np
import pytest

from kav.effects.attribution import attribution
from kav.errors import KavError
from kav.model.config import Norm
from kav.model.edits import (
    MaskKeys,
    MoveQuery,
    ScaleEdge,
    ScaleHead,
    ScaleMlp,
    SetScore,
    SetTemperature,
)
from kav.model.layers import raw_logits
from kav.model.trace import run
from tests.kav.model_factory import FAMILY_FEATURES, some_ids, tiny_model

EDITS = {
    "none": (),
    "head": (ScaleHead(0, 1, 0.0), ScaleHead(1, 2, -1.5, positions=(-1, 2))),
    "head, mean": (ScaleHead(0, 1, 0.25, "mean"), ScaleHead(1, 2, 0.0, "mean")),
    "head, resample": (ScaleHead(1, 0, 0.0, "resample"), ScaleHead(1, 0, 2.0, "mean", (-1,))),
    "pattern": (MaskKeys(0, 0, (0,)), SetScore(1, 1, 7, 6, 3.0), SetTemperature(1, 3, 0.0), MoveQuery(1, 0, 7, 3, 0.5)),
    "edge": (ScaleEdge(1, 1, 2, 0.0), ScaleEdge(0, 3, 4, 3.0, query=-1), ScaleHead(1, 1, 0.5, "mean")),
    "mlp": (ScaleMlp(0, 0.0), ScaleMlp(1, 0.5, "mean"), ScaleMlp(1, 2.0, "zero", (-1,))),
}


@pytest.mark.parametrize("edits", EDITS)
@pytest.mark.parametrize("name", FAMILY_FEATURES)
def test_values_sum_to_the_logit_of_the_run_as_edited(name, edits):
    if edits == "mlp" and name == "attention only":
        pytest.skip("no MLP to scale")
    model = tiny_model(dtype="float64", **FAMILY_FEATURES[name])
    trace = run(model, model.tokens(some_ids(8)), EDITS[edits])
    for position, foil in [(-1, None), (3, 5)]:
        found = attribution(trace, position, 7, foil)
        row = trace.resid_final[position : position + 1 or None, :]
        logits = raw_logits(model.config, model.weights, row)[0, :]  # before a soft cap
        assert found.total == pytest.approx(logits[7] - (0 if foil is None else logits[foil]), abs=1e-9)
        assert found.values.sum() == pytest.approx(found.total, abs=1e-9)
        assert len(found.components) == len(found.values) == len(set(found.components))


@pytest.mark.parametrize("edits", EDITS)
def test_each_head_counts_with_what_it_really_wrote(edits):
    model = tiny_model(dtype="float64", norm="layer")
    trace = run(model, model.tokens(some_ids(8)), EDITS[edits])
    found = attribution(trace, 5, 7)
    w = model.weights.norm_final.gain * model.weights.W_U[:, 7]
    w = (w - w.mean()) / found.scale
    for layer in range(2):
        for head in range(4):
            wrote = trace.head_output(layer, head)[5] @ w
            assert found.heads[layer, head] == pytest.approx(wrote, abs=1e-10)
            assert found.values[found.components.index(f"head {layer}.{head}")] == pytest.approx(wrote, abs=1e-10)


def test_sources_agree_with_a_plain_loop_over_tokens(xp):
    model = tiny_model(xp, dtype="float64")
    trace = run(model, model.tokens(some_ids(6)), [ScaleEdge(0, 2, 1, 3.0), ScaleHead(1, 3, 0.5)])
    found = attribution(trace, 4, 2, 9)
    final = xp.get(trace.resid_final)[4]
    sigma = np.sqrt((final**2).mean() + model.config.norm_eps)
    W_U, gain = xp.get(model.weights.W_U), xp.get(model.weights.norm_final.gain)
    for layer in range(2):
        v, W_O = xp.get(trace.layers[layer].v), xp.get(model.weights.blocks[layer].W_O)
        for head in range(4):
            weights = trace.pattern(layer, head)[4] * (0.5 if (layer, head) == (1, 3) else 1.0)
            for source in range(6):
                message = weights[source] * v[head // 2, source] @ W_O[head]
                expected = (message / sigma * gain) @ (W_U[:, 2] - W_U[:, 9])
                assert found.sources[layer, head, source] == pytest.approx(expected, abs=1e-10)


def test_float32_values_sum_to_the_logit(xp):
    model = tiny_model(xp, norm="layer", position="learned")
    found = attribution(run(model, model.tokens(some_ids(9)), [ScaleHead(0, 0, 0.0, "mean")]))
    assert abs(found.values.sum() - found.total) < 1e-3


def test_stacked_parts_of_a_layer_norm_model_add_up_with_the_bias_shown():
    # Parts [3, 1, 0] and [1, -1, 2], final layer norm with eps 0, gain [1, 2, 1], bias [0.5, 0, 0], unembedding
    # [1, 1, 0]; by hand: +0.612372 - 1.837117 + 0.5 = -0.724745.
    model = tiny_model(
        d_model=3, d_vocab=2, n_layers=1, norm="layer", position="learned", biases=False, attention_only=True
    )
    weights = model.weights
    block = replace(weights.blocks[0], W_O=np.zeros_like(weights.blocks[0].W_O))
    weights = replace(
        weights,
        W_E=np.array([[3.0, 1, 0], [0, 0, 0]]),
        W_pos=np.array([[1.0, -1, 2]]),
        blocks=(block,),
        norm_final=Norm(np.array([1.0, 2, 1]), np.array([0.5, 0, 0])),
        W_U=np.array([[1.0, 0], [1, 0], [0, 0]]),
    )
    model = replace(model, config=replace(model.config, norm_eps=0.0, n_ctx=1), weights=weights)
    found = attribution(run(model, model.tokens([0])), target=0)
    by_name = dict(zip(found.components, found.values, strict=True))
    assert by_name["embedding"] == pytest.approx(0.612372, abs=1e-5)
    assert by_name["position"] == pytest.approx(-1.837117, abs=1e-5)
    assert by_name["norm bias"] == pytest.approx(0.5, abs=1e-5)
    assert found.values.sum() == pytest.approx(-0.724745, abs=1e-5)
    assert found.total == pytest.approx(-0.724745, abs=1e-5)


def test_components_come_in_residual_stream_order_with_every_bias():
    model = tiny_model(n_layers=1, n_heads=2, norm="layer", position="learned")
    found = attribution(run(model, model.tokens(some_ids(3))))
    assert found.components == (
        "embedding",
        "position",
        "head 0.0",
        "head 0.1",
        "attention 0 bias",
        "mlp 0",
        "mlp 0 bias",
        "norm bias",
        "unembedding bias",
    )


def test_target_none_is_the_top_prediction():
    model = tiny_model()
    trace = run(model, model.tokens(some_ids(5)))
    assert attribution(trace, 2).target == trace.logits(2).argmax()
    assert attribution(trace, 2).total == pytest.approx(trace.logits(2).max())


def test_a_query_that_sees_nothing_moves_nothing():
    model = tiny_model()
    trace = run(model, model.tokens(some_ids(4)), [MaskKeys(0, 1, (0, 1, 2, 3), (-1,))])
    found = attribution(trace)
    assert not found.sources[0, 1].any()
    assert np.isfinite(found.values).all()
    assert abs(found.values.sum() - found.total) < 1e-4


def test_a_mean_baseline_is_shared_by_the_tokens_that_other_positions_read():
    model = tiny_model(dtype="float64")
    trace = run(model, model.tokens(some_ids(6)), [ScaleHead(1, 2, 0.0, "mean")])
    sources = attribution(trace, 2, 7).sources[1, 2]
    assert np.abs(sources[3:]).max() > 0  # later than the query, which reads positions 0 to 2


def test_a_scaled_away_mlp_leaves_neither_output_nor_bias():
    model = tiny_model()
    found = attribution(run(model, model.tokens(some_ids(5)), [ScaleMlp(1, 0.0)]))
    by_name = dict(zip(found.components, found.values, strict=True))
    assert by_name["mlp 1"] == pytest.approx(0.0, abs=1e-6)
    assert by_name["mlp 1 bias"] == 0.0
    assert by_name["mlp 0 bias"] != 0.0


def test_a_token_or_position_that_does_not_exist_is_refused():
    model = tiny_model()
    trace = run(model, model.tokens(some_ids(5)))
    with pytest.raises(KavError, match=r"target must be a token id in 0\.\.30, got 31"):
        attribution(trace, target=31)
    with pytest.raises(KavError, match=r"foil must be a token id in 0\.\.30, got -1"):
        attribution(trace, foil=-1)
    with pytest.raises(KavError, match="position"):
        attribution(trace, 5)
