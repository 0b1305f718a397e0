import numpy as np
import pytest

import kav
from kav.effects.attribution import attribution
from kav.effects.dose import dose_response
from kav.errors import Cancelled, KavError
from kav.model.edits import ScaleEdge, ScaleHead, ScaleMlp, SetScore, SetTemperature
from kav.model.trace import run
from kav.task import Task
from tests.kav.model_factory import some_ids, tiny_model

DOSES = [-1.0, 0.0, 0.4, 1.0, 3.0]

MODELS = {
    "llama": {"n_layers": 3},
    "gpt2": {"norm": "layer", "position": "learned", "gated": False, "activation": "gelu_tanh"},
    "attention only": {"attention_only": True, "biases": False},
    "bidirectional": {"causal": False, "norm": "layer", "attention_only": True},
}

COMPONENTS = [
    ScaleHead(0, 1, 1.0),
    ScaleHead(1, 2, 1.0, "mean"),
    ScaleHead(0, 3, 1.0, "resample", (2, -1)),
    ScaleMlp(0, 1.0),
    ScaleMlp(1, 1.0, "mean", (-1,)),
    ScaleEdge(0, 1, 2, 1.0),
    ScaleEdge(1, 0, 3, 1.0, query=-1),
]


def one_by_one(model, tokens, component, edits=(), position=-1):
    """Logits of a separate run per dose, from the first layer on; (n_doses, d_vocab)."""
    scaled = [type(component)(**{**component.__dict__, "scale": dose}) for dose in DOSES]
    return np.stack([run(model, tokens, (*edits, edit)).logits(position) for edit in scaled])


@pytest.mark.parametrize("component", COMPONENTS, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_batched_curve_is_that_of_one_run_per_dose(name, component):
    if isinstance(component, ScaleMlp) and MODELS[name].get("attention_only"):
        pytest.skip("no MLP to scale")
    model = tiny_model(dtype="float64", **MODELS[name])
    tokens = model.tokens(some_ids(7))
    for position in (-1, 3):
        found = dose_response(model, tokens, component, DOSES, target=5, foil=6, position=position)
        logits = one_by_one(model, tokens, component, position=position)
        np.testing.assert_allclose(found.response, logits[:, 5] - logits[:, 6], atol=1e-10)


def test_other_edits_stay_active_and_the_components_own_gives_way(xp):
    model = tiny_model(xp)
    tokens = model.tokens(some_ids(7))
    others = (ScaleHead(0, 0, 0.0), SetTemperature(1, 3, 2.0), SetScore(1, 1, 6, 2, 2.0), ScaleEdge(0, 1, 3, 0.0))
    logits = one_by_one(model, tokens, ScaleHead(0, 1, 1.0), others)
    found = dose_response(model, tokens, (0, 1), DOSES, target=5, edits=(*others, ScaleHead(0, 1, 0.25, "mean")))
    np.testing.assert_allclose(found.response, logits[:, 5], atol=2e-5)


def test_dose_1_is_the_unedited_run_on_all_three_curves(xp):
    model = tiny_model(xp, n_layers=3)
    tokens = model.tokens(some_ids(9))
    logits = run(model, tokens).logits(-1)
    for component in [(0, 1), (2, 3), ("mlp", 0), ("mlp", 2), ScaleEdge(1, 1, 4, 0.0)]:
        found = dose_response(model, tokens, component, [1.0])
        for curve in (found.response, found.direct, found.tangent):
            assert curve[0] == pytest.approx(logits.max(), abs=1e-5)


@pytest.mark.parametrize("metric", ["logit", "log_prob", "prob", "kl"])
def test_metrics_agree_with_their_definitions(xp, metric):
    model = tiny_model(xp)
    tokens = model.tokens(some_ids(7))
    logits = one_by_one(model, tokens, ScaleHead(0, 1, 1.0)).astype(np.float64)
    log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    intact = run(model, tokens).log_probs(-1)
    expected = {
        "logit": logits[:, 3],
        "log_prob": log_probs[:, 3],
        "prob": np.exp(log_probs[:, 3]),
        "kl": (np.exp(intact) * (intact - log_probs)).sum(axis=-1),
    }
    found = dose_response(model, tokens, (0, 1), DOSES, metric=metric, target=3)
    np.testing.assert_allclose(found.response, expected[metric], atol=2e-5)


def test_kl_is_from_the_model_without_any_edit():
    model = tiny_model(dtype="float64")
    tokens = model.tokens(some_ids(7))
    found = dose_response(model, tokens, (0, 1), [1.0], metric="kl", edits=(ScaleHead(1, 0, 0.0),))
    intact, edited = run(model, tokens).log_probs(-1), run(model, tokens, [ScaleHead(1, 0, 0.0)]).log_probs(-1)
    assert found.value == pytest.approx((np.exp(intact) * (intact - edited)).sum())


@pytest.mark.parametrize("norm", ["rms", "layer"])
def test_direct_line_rises_by_the_heads_attribution_per_unit_of_dose(norm):
    model = tiny_model(dtype="float64", norm=norm)
    tokens = model.tokens(some_ids(7))
    share = attribution(run(model, tokens), -1, 5, 6).heads[0, 1]
    found = dose_response(model, tokens, (0, 1), DOSES, target=5, foil=6)
    np.testing.assert_allclose(found.direct - found.value, (np.array(DOSES) - 1) * share, atol=1e-10)


def test_direct_line_is_flat_where_the_component_is_scaled_elsewhere_only():
    model = tiny_model(dtype="float64")
    found = dose_response(model, model.tokens(some_ids(7)), (0, 1), DOSES, positions=(2, 3))
    assert np.ptp(found.direct) == 0
    assert np.ptp(found.response) > 0


def test_tangent_touches_the_response_at_dose_1():
    model = tiny_model(dtype="float64")
    found = dose_response(model, model.tokens(some_ids(7)), (0, 1), [1 - 1e-4, 1 + 1e-4], metric="log_prob")
    np.testing.assert_allclose(found.tangent, found.response, atol=1e-7)
    assert abs(found.response[1] - found.response[0]) > 1e-6


def test_mean_baseline_can_come_from_another_text(xp):
    model = tiny_model(xp)
    tokens, reference = model.tokens(some_ids(7)), model.tokens(some_ids(11, seed=9))
    own = dose_response(model, tokens, (0, 1), DOSES, baseline="mean", target=5)
    same = dose_response(model, tokens, (0, 1), DOSES, baseline="mean", target=5, reference=tokens)
    other = dose_response(model, tokens, (0, 1), DOSES, baseline="mean", target=5, reference=reference)
    np.testing.assert_allclose(same.response, own.response, atol=1e-5)
    assert np.abs(other.response - own.response).max() > 1e-3
    mlp = dose_response(model, tokens, ("mlp", 0), DOSES, baseline="mean", target=5, reference=tokens)
    plain = dose_response(model, tokens, ("mlp", 0), DOSES, baseline="mean", target=5)
    np.testing.assert_allclose(mlp.response, plain.response, atol=1e-5)


def test_many_doses_in_parts_are_the_same_curve(monkeypatch):
    model = tiny_model(dtype="float64", n_layers=3)
    tokens, doses = model.tokens(some_ids(7)), np.linspace(-1, 3, 23)
    whole = dose_response(model, tokens, (0, 1), doses)
    monkeypatch.setattr("kav.effects.rerun.CHUNK_NUMBERS", 5 * 7 * model.config.d_model)
    seen = []
    parts = dose_response(model, tokens, (0, 1), doses, task=Task(lambda fraction, text: seen.append(fraction)))
    np.testing.assert_allclose(parts.response, whole.response, atol=1e-12)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(seen) > 5


def test_a_cancelled_curve_stops():
    model, task = tiny_model(n_layers=3), Task()
    task.cancel()
    with pytest.raises(Cancelled):
        dose_response(model, model.tokens(some_ids(7)), (0, 1), DOSES, task=task)


def test_a_trace_given_as_base_is_used_as_it_is():
    model = tiny_model()
    tokens = model.tokens(some_ids(7))
    others = (ScaleHead(0, 0, 0.0),)
    base = run(model, tokens, (*others, ScaleHead(0, 1, 0.3)))
    with_base = dose_response(model, tokens, (0, 1), DOSES, edits=base.edits, base=base, target=5)
    without = dose_response(model, tokens, (0, 1), DOSES, edits=others, target=5)
    np.testing.assert_allclose(with_base.response, without.response, atol=1e-5)


def test_removing_the_previous_token_head_of_the_bundled_model_hurts_the_right_next_token():
    model = kav.open_model("bundled")
    tokens = model.encode("When the red fox met the grey owl, the red fox met the grey")
    found = dose_response(model, tokens, (0, 0), [0.0, 1.0], metric="prob")
    assert found.response[0] < found.response[1] / 2


@pytest.mark.parametrize(
    ("component", "options", "message"),
    [
        ((0, 9), {}, "head of ScaleHead must be in"),
        (("mlp", 7), {}, "layer of ScaleMlp must be in"),
        (("attention", 0), {}, "a component must be one whose contribution can be scaled"),
        (SetTemperature(0, 0, 1.0), {}, "a component must be one whose contribution can be scaled"),
        ((0, 0), {"metric": "loss"}, "metric must be one of logit, log_prob, prob, kl, got 'loss'"),
        ((0, 0), {"baseline": "median"}, "baseline of ScaleHead must be one of"),
        ((0, 0), {"positions": (99,)}, "positions of ScaleHead must be in"),
        ((0, 0), {"metric": "prob", "foil": 1}, 'metric must be "logit" where a foil is given'),
        ((0, 0), {"position": 7}, "position must be in"),
    ],
)
def test_what_does_not_exist_is_refused(component, options, message):
    model = tiny_model()
    with pytest.raises(KavError, match=message):
        dose_response(model, model.tokens(some_ids(7)), component, DOSES, **options)


@pytest.mark.parametrize("doses", [[], [[1.0]], [np.nan], [np.inf]])
def test_doses_that_are_no_numbers_are_refused(doses):
    model = tiny_model()
    with pytest.raises(KavError, match="doses must"):
        dose_response(model, model.tokens(some_ids(7)), (0, 0), doses)
    with pytest.raises(KavError, match="reference text must go with"):
        dose_response(model, model.tokens(some_ids(7)), (0, 0), DOSES, reference=model.tokens([1]))
