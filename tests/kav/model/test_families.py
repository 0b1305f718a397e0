"""Every family against transformers, its own switches, and what is refused by name.

The references under tests/data/tiny are those of an independent program; see the README there.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import kav
from kav.errors import KavError, ModelError, NoOutputMatrixError
from kav.model.edits import ScaleHead
from kav.model.families import FAMILIES
from kav.model.layers import normalise, raw_logits

TINY = Path(__file__).resolve().parents[2] / "data" / "tiny"
FOLDERS = sorted(path.parent.name for path in TINY.glob("*/reference.npz"))
STEP = 1e-5


def opened(name, dtype="float32"):
    model = kav.open_model(TINY / name, device="cpu", dtype=dtype)
    reference = np.load(TINY / name / "reference.npz")
    return model, model.tokens(reference["ids"]), reference


def with_config(name, tmp_path, **changes):
    """A copy of a folder with another config.json; ... removes a key."""
    folder = tmp_path / name
    shutil.copytree(TINY / name, folder)
    raw = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps({key: value for key, value in raw.items() if value is not ...}))
    return folder


def with_tensors(folder, change):
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file({name: np.ascontiguousarray(array) for name, array in tensors.items()}, folder / "model.safetensors")


@pytest.mark.parametrize("name", FOLDERS)
def test_runs_agree_with_transformers(name):
    model, tokens, reference = opened(name)
    trace = kav.run(model, tokens)
    np.testing.assert_allclose(trace.logits(), reference["logits"], atol=1e-4)
    for layer in range(model.config.n_layers):
        np.testing.assert_allclose(trace.resid(layer), reference["hidden_states"][layer], atol=1e-4)
        for head in range(model.config.n_heads):
            np.testing.assert_allclose(trace.pattern(layer, head), reference["attentions"][layer, head], atol=1e-5)
    final = trace.resid_final
    last = final if model.config.family == "bert" else normalise(model.config, model.weights.norm_final, final)
    np.testing.assert_allclose(last, reference["hidden_states"][-1], atol=1e-4)


@pytest.mark.parametrize("name", FOLDERS)
def test_weights_in_float64_give_the_same_logits(name):
    model, tokens, reference = opened(name, "float64")
    np.testing.assert_allclose(kav.run(model, tokens).logits(), reference["logits"], atol=1e-4)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("gpt_neo", {"windows": ()}),
        ("gpt_neo", {"windows": (6, 6)}),
        ("gpt_neo", {"scales": ()}),
        ("gpt_neox", {"parallel": False}),
        ("gpt_neox", {"activation": "gelu_tanh"}),
        ("gpt_neox", {"rotary_dims": 8}),
        ("gpt_neox_sequential", {"parallel": True}),
        ("mistral", {"windows": ()}),
        ("qwen2_sliding", {"windows": (5, 5)}),
        ("qwen2_sliding", {"windows": (0, 6)}),
        ("gemma", {"embed_scale": 1.0}),
        ("gemma2", {"score_cap": 0.0}),
        ("gemma2", {"logit_cap": 0.0}),
        ("gemma2", {"scales": ()}),
        ("gpt2_scaled", {"scales": ()}),
        ("gpt2_scaled", {"scales": (1.0,) * 3}),
        ("gemma2", {"windows": (0, 8)}),
        ("llama_linear", {"rotary_divisors": ()}),
        ("llama_dynamic", {"rotary_growth": 0.0}),
        ("llama_yarn", {"rotary_divisors": ()}),
        ("llama_yarn", {"rotary_divisors": (4.0,) * 8}),
        ("llama_yarn", {"rotary_gain": 1.0}),
        ("llama3_rope", {"rotary_divisors": ()}),
        ("phi3", {"windows": ()}),
        ("bert", {"activation": "gelu_tanh"}),
        ("bert", {"causal": True}),
    ],
    ids=str,
)
def test_references_can_tell_every_switch(name, changes):
    model, tokens, reference = opened(name, "float64")
    other = replace(model, config=replace(model.config, **changes))
    assert np.abs(kav.run(other, tokens).logits() - reference["logits"]).max() > 2e-4


@pytest.mark.parametrize("name", FOLDERS)
def test_attribution_sums_to_the_logit(name):
    model, tokens, _ = opened(name, "float64")
    trace = kav.run(model, tokens)
    found = kav.attribution(trace, position=-1, target=5, foil=9)
    raw = raw_logits(model.config, model.weights, trace.resid_final[-1:, :])[0, :]
    assert found.values.sum() == pytest.approx(raw[5] - raw[9], abs=1e-9)
    assert found.capped == (model.config.logit_cap > 0)


@pytest.mark.parametrize("component", [(0, 1), (1, 3), ("mlp", 0)], ids=str)
@pytest.mark.parametrize("name", FOLDERS)
def test_dose_one_is_the_run_and_the_tangent_its_slope(name, component):
    model, tokens, _ = opened(name, "float64")
    trace = kav.run(model, tokens)
    found = kav.dose_response(model, tokens, component, [1 - STEP, 1, 1 + STEP], target=5)
    assert found.response[1] == pytest.approx(trace.logits(-1)[5], abs=1e-9)
    slope = (found.response[2] - found.response[0]) / (2 * STEP)
    assert found.slope == pytest.approx(slope, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("name", FOLDERS)
def test_one_more_token_on_top_of_an_earlier_run_is_the_whole_run(name):
    model, tokens, reference = opened(name, "float64")
    shorter = kav.run(model, model.tokens(tokens.ids[:-1]))
    longer = kav.run(model, tokens, base=shorter)
    np.testing.assert_allclose(longer.logits(), reference["logits"], atol=1e-4)
    edited = kav.run(model, tokens, (ScaleHead(1, 0, 0.0),), base=longer)
    whole = kav.run(model, tokens, (ScaleHead(1, 0, 0.0),))
    np.testing.assert_allclose(edited.logits(), whole.logits(), atol=1e-9)


def test_prompts_of_dynamically_rotated_models_may_be_longer_than_in_training(tmp_path):
    model, tokens, _ = opened("llama_dynamic")
    assert (model.config.rotary_n_ctx, model.config.n_ctx) == (12, 48)
    short = model.tokens(tokens.ids[:12])
    plain = kav.open_model(
        with_config("llama_dynamic", tmp_path, rope_parameters=None, rope_theta=10000.0), device="cpu"
    )
    np.testing.assert_allclose(kav.run(model, short).logits(), kav.run(plain, short).logits(), atol=1e-6)


def test_old_spellings_of_rotary_settings_say_the_same(tmp_path):
    model, _, _ = opened("llama_linear")
    old = {"rope_parameters": ..., "rope_theta": 10000.0, "rope_scaling": {"type": "linear", "factor": 4.0}}
    again = kav.open_model(with_config("llama_linear", tmp_path, **old), device="cpu")
    assert again.config == model.config
    old = {"rope_parameters": ..., "rotary_pct": 0.5, "rotary_emb_base": 10000}
    neox = kav.open_model(with_config("gpt_neox", tmp_path, **old), device="cpu")
    assert neox.config == kav.open_model(TINY / "gpt_neox", device="cpu").config


def test_encoder_without_head_has_states_but_no_predictions(tmp_path):
    folder = with_config("bert", tmp_path)
    with_tensors(folder, lambda tensors: [tensors.pop(name) for name in list(tensors) if name.startswith("cls.")])
    with_tensors(
        folder,
        lambda tensors: [tensors.update({name.removeprefix("bert."): tensors.pop(name)}) for name in list(tensors)],
    )
    whole, tokens, reference = opened("bert")
    model = kav.open_model(folder, device="cpu")
    trace = kav.run(model, tokens)
    assert not model.config.has_logits
    np.testing.assert_allclose(trace.resid(2), reference["hidden_states"][2], atol=1e-5)
    np.testing.assert_array_equal(trace.pattern(1, 1), kav.run(whole, tokens).pattern(1, 1))
    with pytest.raises(
        KavError, match="a prediction must come from a model with an output matrix, got bert without one"
    ):
        trace.logits(-1)


def test_norms_may_be_called_gamma_and_beta(tmp_path):
    folder = with_config("bert", tmp_path)

    def rename(tensors):
        for name in [name for name in tensors if "LayerNorm" in name]:
            tensors[name.replace(".weight", ".gamma").replace(".bias", ".beta")] = tensors.pop(name)

    with_tensors(folder, rename)
    _, tokens, reference = opened("bert")
    logits = kav.run(kav.open_model(folder, device="cpu"), tokens).logits()
    np.testing.assert_allclose(logits, reference["logits"], atol=1e-4)


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize(
    "change",
    [
        {"residual_multiplier": 0.22},
        {"attention_multiplier": 0.5},
        {"logit_scale": 0.0625},
        {"embedding_multiplier": 12.0},
        {"logits_scaling": 8.0},
        {"clip_qkv": 8.0},
        {"alibi": True},
        {"num_local_experts": 8},
        {"position_embedding_type": "relative_key"},
        {"quantization_config": {"quant_method": "gptq", "bits": 4}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_setting_that_changes_the_arithmetic_is_refused_and_not_skipped(name, change, tmp_path):
    # A multiplier between a sublayer and the stream was left out, so that all later numbers were wrong
    # (TransformerLens#1648).
    word = "gptq" if "quantization_config" in change else next(iter(change))
    with pytest.raises(ModelError, match=word):
        kav.open_model(with_config(name, tmp_path, **change), device="cpu")


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        (
            "llama_gqa",
            {"model_type": "granite"},
            f"model_type must be one of {', '.join(sorted(FAMILIES))}, got 'granite'",
        ),
        ("llama_gqa", {"hidden_act": "mish"}, "hidden_act must be one of gelu, .*, silu, swish, got 'mish'"),
        (
            "llama_gqa",
            {"rope_parameters": {"rope_type": "longrope"}},
            "default, dynamic, linear, llama3, yarn, got 'longrope'",
        ),
        ("llama_linear", {"rope_parameters": {"rope_type": "linear"}}, "factor must be a number > 0, got None"),
        ("llama_linear", {"rope_parameters": {"full_attention": {}}}, "one object for all layers"),
        ("llama_gqa", {"sliding_window": 4}, "sliding_window must not be set for family llama, got 4"),
        ("llama_gqa", {"final_logit_softcapping": 30.0}, "final_logit_softcapping must not be set for family llama"),
        (
            "gpt2",
            {"scale_attn_by_inverse_layer_idx": 1},
            "scale_attn_by_inverse_layer_idx must be true or false, got 1",
        ),
        ("phi", {"qk_layernorm": True}, "qk_layernorm must not be True for family phi"),
        ("bert", {"is_decoder": True}, "is_decoder must not be True for family bert"),
        ("gemma2", {"layer_types": ["chunked_attention"] * 2}, "attention must be one of .*, got 'chunked_attention'"),
        ("gemma2", {"layer_types": ["full_attention"]}, "layer_types must name the attention of 2 layers"),
        ("gemma2", {"query_pre_attn_scalar": -1}, "query_pre_attn_scalar must be a number > 0, got -1"),
        ("gemma2", {"attn_logit_softcapping": 0}, "attn_logit_softcapping must be a number > 0, got 0"),
        ("gpt_neo", {"attention_types": [[["global"], 1]]}, "must name the attention of 2 layers"),
        ("gpt_neo", {"attention_types": 7}, "attention_types must list kinds"),
        ("gpt_neox", {"use_parallel_residual": "yes"}, "use_parallel_residual must be true or false, got yes"),
        ("mistral", {"sliding_window": 2.5}, "sliding_window must be a whole number"),
        ("qwen2_sliding", {"max_window_layers": None}, "max_window_layers must be a whole number, got None"),
        ("bert", {"type_vocab_size": "two"}, "type_vocab_size must be a whole number"),
    ],
    ids=str,
)
def test_what_is_not_known_is_refused_by_its_name(name, changes, said, tmp_path):
    with pytest.raises(ModelError, match=said):
        kav.open_model(with_config(name, tmp_path, **changes), device="cpu")


@pytest.mark.parametrize("name", ["gpt_neox", "mistral", "phi", "phi3", "olmo2", "qwen3"])
def test_settings_at_their_neutral_values_change_nothing(name, tmp_path):
    neutral = {"residual_multiplier": 1.0, "clip_qkv": None, "alibi": False, "logit_scale": None, "num_experts": 0}
    model, tokens, _ = opened(name)
    again = kav.open_model(with_config(name, tmp_path, **neutral), device="cpu")
    np.testing.assert_array_equal(kav.run(again, tokens).logits(), kav.run(model, tokens).logits())


def test_missing_output_matrix_leaves_the_choice_to_the_user(tmp_path):
    # A config that says "untied" over a file without output matrix gave random logits (Qwen3-VL-Embedding#89).
    folder = with_config("llama_gqa", tmp_path)
    with_tensors(folder, lambda tensors: tensors.pop("lm_head.weight"))
    with pytest.raises(NoOutputMatrixError, match=r"output matrix lm_head.weight must be in the file, got none"):
        kav.open_model(folder, device="cpu")
    model = kav.open_model(folder, device="cpu", tied=True)
    np.testing.assert_array_equal(model.weights.W_U, model.weights.W_E.T)
    assert model.name == "llama_gqa (output matrix: the embedding)"
    assert model.config.tied
    assert kav.open_model(TINY / "gpt2", device="cpu", tied=True).name == "gpt2"
