import math

import numpy as np
import pytest

from kav.effects.dose import dose_response
from kav.effects.tangent import SLOPES, mlp_rate, normalise_rate
from kav.model.edits import (
    MaskKeys,
    MoveQuery,
    ScaleEdge,
    ScaleHead,
    ScaleMlp,
    SetScore,
    SetTemperature,
)
from kav.model.layers import ACTIVATIONS, mlp, normalise
from kav.model.trace import run
from tests.kav.model_factory import FAMILY_FEATURES, some_ids, tiny_model

STEP = 1e-5

LATER = (
    ScaleHead(1, 0, 0.3),
    ScaleHead(1, 1, 0.3, "mean"),
    ScaleHead(1, 2, -0.5, "resample", (3, -1)),
    ScaleEdge(1, 3, 2, 2.5),
    ScaleEdge(1, 3, 0, 0.5, query=-1),
    MaskKeys(1, 0, (1,)),
    SetScore(1, 1, -1, 6, 1.5),
    SetTemperature(1, 3, 2.0),
    MoveQuery(1, 2, -1, 4, 0.7),
    ScaleMlp(1, 0.6, "mean"),
    ScaleHead(0, 0, 0.5, "mean"),
)


def central_difference(model, tokens, component, **options):
    """Slope of the rerun curve at dose 1, in double precision."""
    curve = dose_response(model, tokens, component, [1 - STEP, 1 + STEP], **options)
    return (curve.response[1] - curve.response[0]) / (2 * STEP)


@pytest.mark.parametrize("component", [(0, 1), (1, 2), ("mlp", 0), ("mlp", 1), ScaleEdge(0, 1, 2, 1.0)], ids=str)
@pytest.mark.parametrize("name", FAMILY_FEATURES)
def test_tangent_is_the_central_difference_of_the_rerun(name, component):
    if isinstance(component, tuple) and component[0] == "mlp" and name == "attention only":
        pytest.skip("no MLP to scale")
    model = tiny_model(dtype="float64", **FAMILY_FEATURES[name])
    tokens = model.tokens(some_ids(8))
    slope = dose_response(model, tokens, component, [1.0], target=4).slope
    assert slope == pytest.approx(central_difference(model, tokens, component, target=4), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("metric", ["logit", "log_prob", "prob", "kl"])
@pytest.mark.parametrize("baseline", ["zero", "mean", "resample"])
def test_tangent_holds_for_every_metric_and_baseline(metric, baseline):
    model = tiny_model(dtype="float64")
    tokens = model.tokens(some_ids(8))
    options = {"metric": metric, "baseline": baseline, "target": 4, "edits": (ScaleHead(0, 3, 0.0),), "position": 6}
    slope = dose_response(model, tokens, (0, 1), [1.0], **options).slope
    assert slope == pytest.approx(central_difference(model, tokens, (0, 1), **options), rel=1e-6, abs=1e-9)
    assert metric == "logit" or slope != 0


@pytest.mark.parametrize("component", [(0, 0), (0, 2), ("mlp", 0), (1, 3), ScaleEdge(0, 0, 1, 1.0)], ids=str)
@pytest.mark.parametrize("name", sorted(set(FAMILY_FEATURES) - {"attention only"}))
def test_tangent_sees_through_every_edit_that_stays_active(name, component):
    model = tiny_model(dtype="float64", n_layers=3, **FAMILY_FEATURES[name])
    tokens = model.tokens(some_ids(8))
    for position in (-1, 4):
        options = {"target": 4, "edits": LATER, "position": position}
        slope = dose_response(model, tokens, component, [1.0], **options).slope
        assert slope == pytest.approx(central_difference(model, tokens, component, **options), rel=1e-6, abs=1e-9)


def test_tangent_agrees_on_every_device(xp):
    tokens, expected = tiny_model().tokens(some_ids(7)), []
    for model in (tiny_model(), tiny_model(xp)):
        expected.append(dose_response(model, tokens, (0, 1), [0.0, 2.0], edits=LATER, target=3).tangent)
    np.testing.assert_allclose(expected[1], expected[0], atol=1e-4)


@pytest.mark.parametrize("norm", ["rms", "layer"])
def test_rate_of_a_norm_is_its_difference_quotient(xp, norm):
    model = tiny_model(xp, norm=norm, dtype="float64")
    rng = np.random.default_rng(0)
    x, dx = rng.normal(size=(2, 3, model.config.d_model))
    weights = model.weights.blocks[0].norm1
    ends = [xp.get(normalise(model.config, weights, xp.put(x + sign * STEP * dx))) for sign in (-1, 1)]
    rate = xp.get(normalise_rate(model.config, weights, xp.put(x), xp.put(dx)))
    np.testing.assert_allclose(rate, (ends[1] - ends[0]) / (2 * STEP), atol=1e-8)


@pytest.mark.parametrize("gated", [True, False])
def test_rate_of_an_mlp_is_its_difference_quotient(xp, gated):
    model = tiny_model(xp, gated=gated, dtype="float64")
    rng = np.random.default_rng(0)
    x, dx = rng.normal(size=(2, 3, model.config.d_model))
    weights = model.weights.blocks[1].mlp
    ends = [xp.get(mlp(model.config, weights, xp.put(x + sign * STEP * dx))) for sign in (-1, 1)]
    rate = xp.get(mlp_rate(model.config, weights, xp.put(x), xp.put(dx)))
    np.testing.assert_allclose(rate, (ends[1] - ends[0]) / (2 * STEP), atol=1e-8)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_every_activation_has_its_own_slope(name):
    x = np.linspace(-6, 6, 400)  # no point at 0, where relu has a corner
    rise = (ACTIVATIONS[name](x + STEP, np) - ACTIVATIONS[name](x - STEP, np)) / (2 * STEP)
    np.testing.assert_allclose(SLOPES[name](x, np), rise, atol=1e-8)


def test_blocks_of_queries_give_the_same_slope_as_all_at_once(monkeypatch):
    model = tiny_model(dtype="float64", n_layers=3)
    tokens = model.tokens(some_ids(20))
    whole = dose_response(model, tokens, (0, 1), [1.0], edits=LATER).slope
    monkeypatch.setattr("kav.effects.tangent.BLOCK_CELLS", 4 * 20 * 3)
    assert math.isclose(dose_response(model, tokens, (0, 1), [1.0], edits=LATER).slope, whole, rel_tol=1e-10)
    assert run(model, tokens).n_tokens == 20
