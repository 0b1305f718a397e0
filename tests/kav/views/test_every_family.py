"""All panels of the head scene on what families do differently, and on models that predict nothing."""

from __future__ import annotations

import numpy as np
import pytest

import kav
from kav.errors import KavError
from kav.task import Task
from kav.views import attention, attribution, circuits, dose, fit, prompt
from kav.views.scene import HeadScene, Selection
from kav.views.words import plain
from tests.kav.model_factory import FAMILY_FEATURES, some_ids, tiny_model


def scene_of(**features):
    model = tiny_model(**features)
    trace = kav.run(model, model.tokens(some_ids(8)))
    return HeadScene(trace, Selection(layer=1, head=2, query=6, target=7 if model.config.has_logits else None))


def shown(panel, scene, **controls):
    return panel.compute(panel.Spec(scene, **controls), Task())


@pytest.mark.parametrize("name", FAMILY_FEATURES)
def test_panels_agree_on_what_the_head_contributes(name):
    scene = scene_of(**FAMILY_FEATURES[name])
    expected = kav.attribution(scene.trace, 6, 7)
    assert shown(fit, scene).f == pytest.approx(expected.heads[1, 2], abs=1e-4)
    cells = shown(attention, scene, weighting="logits").values
    np.testing.assert_allclose(cells[6], expected.sources[1, 2], atol=1e-4)
    waterfall = shown(attribution, scene)
    assert waterfall.total == pytest.approx(expected.total, abs=1e-3)
    assert ("before softcap" in waterfall.total_name) == (scene.trace.model.config.logit_cap > 0)


def test_formula_cards_say_how_the_family_scales_its_scores():
    for name, said in (("llama", "/ √d_head"), ("gpt_neo", "× 1"), ("gemma2", "× 0.15, capped at ±1.5")):
        scene = scene_of(**FAMILY_FEATURES[name])
        for panel in (fit, attention):
            rows = panel.formula(shown(panel, scene))
            assert any(plain(row.formula).endswith(f" {said}") for row in rows)


@pytest.mark.parametrize("name", FAMILY_FEATURES)
def test_scripts_find_what_the_panels_show(name, monkeypatch, capsys):
    scene = scene_of(**FAMILY_FEATURES[name])
    monkeypatch.setattr(kav, "open_model", lambda source: scene.trace.model, raising=False)

    def ran(panel, **controls):
        names = {}
        exec(panel.python(panel.Spec(scene, **controls)), names)  # noqa: S102 - the script is what is tested
        assert capsys.readouterr().out.strip()
        return names, shown(panel, scene, **controls)

    names, result = ran(fit)
    assert names["f"] == pytest.approx(result.f, abs=1e-4)
    for weighting in ("weight", "message", "logits"):
        names, result = ran(attention, weighting=weighting)
        np.testing.assert_allclose(names["values"], result.values, atol=1e-4)
    names, result = ran(attribution)
    assert names["total"] == pytest.approx(result.total, abs=1e-4)
    names, result = ran(circuits, circuit="qk")
    np.testing.assert_allclose(names["values"], result.values, rtol=1e-3, atol=1e-4)
    names, result = ran(dose)
    drawn = np.interp(names["doses"], result.curve.doses, result.curve.response)
    np.testing.assert_allclose(names["curve"].response, drawn, atol=(result.y_range[1] - result.y_range[0]) / 100)


@pytest.mark.parametrize("name", FAMILY_FEATURES)
def test_hero_curve_passes_through_its_own_row_and_the_other_question(name):
    scene = scene_of(**FAMILY_FEATURES[name])
    result = shown(fit, scene)
    at_zero = np.interp(0.0, result.curve_at, result.curve_f)
    assert at_zero == pytest.approx(result.f, abs=2e-3)


@pytest.mark.parametrize("name", FAMILY_FEATURES)
def test_message_lengths_are_those_of_what_reaches_the_stream(name):
    scene = scene_of(**FAMILY_FEATURES[name])
    trace = scene.trace
    config, block = trace.model.config, trace.model.weights.blocks[1]
    found = shown(attention, scene, weighting="message").values
    weights = trace.pattern(1, 2)
    v = trace.layers[1].v[config.kv_head(2)]
    from kav.model.head import attention_output
    from kav.model.layers import added_by

    out = attention_output(trace, 1)
    for query in (3, 7):
        for key in range(8):
            message = added_by(config, block.norm1_out, out[query : query + 1], (v[key] @ block.W_O[2])[None, :])
            assert found[query, key] == pytest.approx(weights[query, key] * np.linalg.norm(message), rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("name", FAMILY_FEATURES)
@pytest.mark.parametrize("circuit", ["qk", "ov"])
def test_circuits_can_be_looked_at_over_d_model(name, circuit):
    result = shown(circuits, scene_of(**FAMILY_FEATURES[name]), circuit=circuit, space="d_model")
    assert result.values.shape == (16, 16)
    assert np.isfinite(result.singular_values).all()
    assert (result.note != "") == (
        name in {"qk": ("qwen3", "olmo2", "gemma2")}.get(circuit, ())
        or (circuit == "ov" and name in ("gemma2", "olmo2", "bert", "layer norms around"))
    )


def test_model_that_predicts_nothing_shows_attention_and_says_why_not_the_rest():
    features = {**FAMILY_FEATURES["bert"], "dense": False, "has_logits": False}
    scene = scene_of(**features)
    np.testing.assert_allclose(shown(attention, scene).values, scene.trace.pattern(1, 2), atol=1e-6)
    assert shown(circuits, scene, circuit="qk").values is not None
    bar = shown(prompt, scene)
    assert bar.predictions == ()
    assert bar.target_label.text == "no predictions"
    for panel in (fit, attribution, dose):
        with pytest.raises(
            KavError, match="a prediction must come from a model with an output matrix, got tiny without"
        ):
            shown(panel, scene)
    with pytest.raises(KavError, match="a prediction must come from a model with an output matrix"):
        shown(circuits, scene, circuit="ov")


def test_circuit_of_a_model_with_a_layer_before_the_logits_says_what_it_cannot_say():
    scene = scene_of(**FAMILY_FEATURES["bert"])
    result = shown(circuits, scene, circuit="ov", space="d_model")
    assert result.copying is None
    assert "not read from the stream by W_U alone" in plain(result.reading)
    with pytest.raises(KavError, match="read by W_U alone"):
        shown(circuits, scene, circuit="ov", space="tokens")


def test_circuits_of_a_model_without_logits_are_drawn_whatever_the_target():
    model = tiny_model(has_logits=False)
    trace = kav.run(model, model.tokens(some_ids(8)))
    scene = HeadScene(trace, Selection(layer=1, head=2, query=6, target=5))
    assert shown(circuits, scene, circuit="ov", space="model").values.shape == (16, 16)
