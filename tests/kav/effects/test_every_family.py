"""What is said about a component agrees with running the model without it, whatever the family does differently."""

import numpy as np
import pytest

from kav.effects.ablation import ablation_map
from kav.effects.attribution import attribution
from kav.effects.dose import dose_response
from kav.errors import KavError
from kav.model.edits import ScaleEdge, ScaleHead, ScaleMlp
from kav.model.trace import run
from tests.kav.model_factory import FAMILY_FEATURES, some_ids, tiny_model

COMPONENTS = (
    ScaleHead(0, 1, 1.0),
    ScaleHead(1, 2, 1.0, "mean"),
    ScaleHead(1, 0, 1.0, "zero", (-1, 3)),
    ScaleMlp(0, 1.0, "resample"),
    ScaleMlp(1, 1.0),
    ScaleEdge(0, 2, 5, 1.0),
)


def made(name, **more):
    model = tiny_model(dtype="float64", **FAMILY_FEATURES[name], **more)
    return model, model.tokens(some_ids(8))


def exists(name, component):
    if name == "attention only" and isinstance(component, ScaleMlp):
        pytest.skip("no MLP to scale")


@pytest.mark.parametrize("component", COMPONENTS, ids=str)
@pytest.mark.parametrize("name", FAMILY_FEATURES)
def test_response_at_every_dose_is_that_of_the_edited_run(name, component):
    from dataclasses import replace

    exists(name, component)
    model, tokens = made(name)
    doses = [-1.0, 0.0, 1.0, 2.5]
    found = dose_response(model, tokens, component, doses, target=4).response
    edited = [run(model, tokens, (replace(component, scale=dose),)).logits(-1)[4] for dose in doses]
    np.testing.assert_allclose(found, edited, atol=1e-9)
    assert found[2] == pytest.approx(run(model, tokens).logits(-1)[4], abs=1e-9)


@pytest.mark.parametrize("name", FAMILY_FEATURES)
def test_ablation_map_is_the_drop_at_dose_zero(name):
    model, tokens = made(name)
    found = ablation_map(model, tokens, target=4)
    for layer in range(2):
        for head in range(4):
            curve = dose_response(model, tokens, (layer, head), [0.0, 1.0], target=4).response
            assert found.heads[layer, head] == pytest.approx(curve[1] - curve[0], abs=1e-9)
        if not model.config.attention_only:
            curve = dose_response(model, tokens, ("mlp", layer), [0.0, 1.0], target=4).response
            assert found.mlps[layer] == pytest.approx(curve[1] - curve[0], abs=1e-9)


@pytest.mark.parametrize("name", sorted(set(FAMILY_FEATURES) - {"gemma2"}))
def test_direct_line_falls_by_the_attribution(name):
    model, tokens = made(name)
    parts = attribution(run(model, tokens), target=4)
    by_name = dict(zip(parts.components, parts.values, strict=True))
    for layer in range(2):
        direct = dose_response(model, tokens, (layer, 3), [0.0, 1.0], target=4).direct
        assert direct[1] - direct[0] == pytest.approx(by_name[f"head {layer}.3"], abs=1e-9)
        if not model.config.attention_only:
            direct = dose_response(model, tokens, ("mlp", layer), [0.0, 1.0], target=4).direct
            whole = by_name[f"mlp {layer}"] + by_name.get(f"mlp {layer} bias", 0.0)
            assert direct[1] - direct[0] == pytest.approx(whole, abs=1e-9)


def test_direct_line_of_capped_logits_is_capped_after_it_was_added():
    # Attribution that went through a soft cap differed from the run's logits (TransformerLens#828).
    model, tokens = made("gemma2")
    trace, limit = run(model, tokens), model.config.logit_cap
    parts = attribution(trace, target=4)
    assert parts.capped
    assert limit * np.tanh(parts.total / limit) == pytest.approx(trace.logits(-1)[4], abs=1e-9)
    direct = dose_response(model, tokens, (1, 3), [0.0, 1.0], target=4).direct
    without = parts.total - parts.heads[1, 3]
    np.testing.assert_allclose(direct, limit * np.tanh(np.array([without, parts.total]) / limit), atol=1e-9)


@pytest.mark.parametrize("name", FAMILY_FEATURES)
def test_every_device_says_the_same(xp, name):
    found = []
    for model in (tiny_model(**FAMILY_FEATURES[name]), tiny_model(xp, **FAMILY_FEATURES[name])):
        tokens = model.tokens(some_ids(7))
        curve = dose_response(model, tokens, (0, 1), [0.0, 2.0], target=3)
        values = attribution(run(model, tokens), target=3).values
        found.append(np.concatenate([curve.response, curve.direct, curve.tangent, values]))
    np.testing.assert_allclose(found[1], found[0], atol=2e-4)


def test_model_without_output_matrix_says_so_in_one_sentence():
    model, tokens = made("bert", has_logits=False)
    trace = run(model, tokens)
    np.testing.assert_allclose(trace.pattern(1, 2).sum(axis=-1), 1, atol=1e-9)
    for refused in (
        lambda: trace.logits(-1),
        lambda: attribution(trace),
        lambda: attribution(trace, target=3),
        lambda: dose_response(model, tokens, (0, 1), [0.0]),
        lambda: ablation_map(model, tokens),
    ):
        with pytest.raises(KavError, match="prediction must come from a model with an output matrix"):
            refused()
