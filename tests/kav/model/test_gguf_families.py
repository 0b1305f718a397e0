"""Each family as GGUF: what llama.cpp's converter does to a checkpoint is undone to the last bit."""

import json
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import kav
from kav.errors import ModelError
from kav.model.families import FAMILIES
from kav.model.gguf import GgufFile
from kav.model.gguf_families import ARCHITECTURES
from kav.model.gguf_settings import settings
from kav.model.gguf_tensors import by_head, half_split
from tests.kav.model import gguf_maker as made

TINY = Path(__file__).resolve().parents[2] / "data" / "tiny"
FOLDERS = (
    *("llama_gqa", "llama3_rope", "llama_linear", "llama_yarn", "qwen2", "qwen3", "gemma", "gemma2", "olmo2"),
    *("phi", "phi3", "gpt2", "gpt_neox", "gpt_neox_sequential", "bert"),
)
LOST = {
    "llama3_rope": "how slow pairs are slowed down: see the test of its own",
    "gemma2": "the scale of scores, if it is not that of the published models",
    "gpt_neox_sequential": "the activation, if it is not that of the published models",
    "bert": "the output matrix",
}
"""What a conversion does not keep; everything else gives the reference's numbers."""


def convert(folder, path, **changes):
    """A folder as one GGUF file."""
    config = json.loads((folder / "config.json").read_text())
    values = made.settings(config) | changes
    tensors = made.rearranged(config, load_file(folder / "model.safetensors"))
    path.write_bytes(made.file({key: value for key, value in values.items() if value is not None}, tensors))
    return path


def leaves(value, name=""):
    """All arrays of nested dataclasses, by name."""
    if is_dataclass(value):
        for field in fields(value):
            yield from leaves(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from leaves(item, f"{name}.{number}")
    elif value is not None:
        yield name, value


@pytest.mark.parametrize("name", FOLDERS)
def test_converted_family_is_the_same_model(tmp_path, name):
    changes = {}
    if name == "llama3_rope":
        changes = {"llama.rope.freq_base": 500000.0}
    folder = kav.open_model(TINY / name, device="cpu")
    file = kav.open_model(convert(TINY / name, tmp_path / "a.gguf", **changes), device="cpu")
    own, other = dict(leaves(file.weights)), dict(leaves(folder.weights))
    if name == "bert":  # its prediction head is not converted
        other = {key: value for key, value in other.items() if key in own}
    assert own.keys() == other.keys()
    for key, array in own.items():
        assert np.abs(array - other[key]).max() <= (2e-7 if name.startswith("gemma") else 0), key
    sizes = ("n_layers", "n_heads", "n_kv_heads", "d_model", "d_head", "d_mlp", "d_vocab", "n_ctx", "rotary_dims")
    for size in (*sizes, "family", "norm", "gated", "rotary_base", "parallel", "windows", "norm_place", "qk_norm"):
        assert getattr(file.config, size) == getattr(folder.config, size), size


@pytest.mark.parametrize("name", [name for name in FOLDERS if name not in LOST])
def test_converted_family_gives_the_numbers_of_transformers(tmp_path, name):
    model, reference = kav.open_model(convert(TINY / name, tmp_path / "a.gguf"), device="cpu"), TINY / name
    found = np.load(reference / "reference.npz")
    trace = kav.run(model, model.tokens(found["ids"]))
    np.testing.assert_allclose(trace.logits(), found["logits"], atol=1e-4)
    for layer, head in ((0, 0), (1, 3)):
        np.testing.assert_allclose(trace.pattern(layer, head), found["attentions"][layer, head], atol=1e-5)


def test_every_architecture_has_a_row_among_the_families():
    assert {row.family for row in ARCHITECTURES.values()} <= set(FAMILIES)


def test_rotated_rows_come_back_in_halves_and_the_rest_stays():
    # Two heads of 6 numbers, 4 of them rotated: pairs (0, 1) and (2, 3) are neighbours in the file.
    stored = np.arange(12)
    assert half_split(stored, 2, 4).tolist() == [0, 2, 1, 3, 4, 5, 6, 8, 7, 9, 10, 11]
    weights = np.random.default_rng(0).normal(size=(24, 5))
    np.testing.assert_array_equal(half_split(made.neighbours(weights, 3), 3, 8), weights)
    np.testing.assert_array_equal(half_split(made.neighbours(weights[:, 0], 3), 3, 8), weights[:, 0])


def test_fused_rows_are_put_head_by_head():
    assert by_head(np.array(["q0", "q1", "k0", "k1", "v0", "v1"]), 2).tolist() == ["q0", "k0", "v0", "q1", "k1", "v1"]


def test_partial_rotation_of_neighbours_gives_the_scores_of_the_published_rule():
    # q = [1, 0, 0, 0] at position 1, base 10000: half layout [0.5403, 0, 0.8415, 0], neighbours [0.5403, 0.8415, 0, 0].
    from kav.model.config import Config
    from kav.model.layers import rotary, rotate

    config = Config("llama", 1, 1, 1, 4, 4, 4, 4, 8, rotary_dims=4)
    table = rotary(config, 2, like_=np.zeros(1))
    q = np.array([[1.0, 0, 0, 0]])
    np.testing.assert_allclose(rotate(q, table, 1), [[0.5403, 0, 0.8415, 0]], atol=1e-4)
    stored = made.neighbours(np.eye(4), 1)  # rows in the file's order: neighbours rotate together there
    np.testing.assert_allclose(rotate(q, table, 1) @ stored.T, [[0.5403, 0.8415, 0, 0]], atol=1e-4)


def test_frequencies_of_llama3_are_recovered_from_their_divisors(tmp_path):
    config = json.loads((TINY / "llama3_rope" / "config.json").read_text())
    rope, d_head = config["rope_parameters"], config["head_dim"]
    theta = rope["rope_theta"] ** (-np.arange(0, d_head, 2) / d_head)
    turns = rope["original_max_position_embeddings"] * theta / (2 * np.pi)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    kept = np.clip((turns - low) / (high - low), 0, 1)
    divisors = (1 / (kept + (1 - kept) / rope["factor"])).astype(np.float32)
    tensors = made.rearranged(config, load_file(TINY / "llama3_rope" / "model.safetensors"))
    raw = made.file(made.settings(config), tensors | {"rope_freqs.weight": divisors})
    (tmp_path / "a.gguf").write_bytes(raw)
    reference = np.load(TINY / "llama3_rope" / "reference.npz")
    model = kav.open_model(tmp_path / "a.gguf", device="cpu")
    np.testing.assert_allclose(kav.run(model, model.tokens(reference["ids"])).logits(), reference["logits"], atol=1e-4)
    tensors["rope_freqs.weight"] = np.float32([1, 3, 2, 8])
    (tmp_path / "a.gguf").write_bytes(made.file(made.settings(config), tensors))
    with pytest.raises(ModelError, match=r"rope_freqs must follow the rule of Llama 3\.1"):
        kav.open_model(tmp_path / "a.gguf", device="cpu")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"general.architecture": "newarch9"}, "general.architecture must be one of bert, gemma, .*, got 'newarch9'"),
        ({"general.architecture": None}, "general.architecture must be one of .*, got 'None'"),
        ({"general.architecture": 7}, "general.architecture must be one of .*, got '7'"),
        ({"general.type": "adapter"}, "general.type of a.gguf must be model, got 'adapter'"),
        ({"split.count": 3}, "must be in one GGUF file"),
        ({"llama.expert_count": 8}, "llama.expert_count must be 0, got 8"),
        ({"llama.attention.scale": 0.5}, "llama.attention.scale must be 0, got 0.5"),
        ({"llama.block_count": None}, "num_hidden_layers must be a whole number"),
        ({"llama.block_count": 2**32 - 1}, "num_hidden_layers must be a whole number in 1..1024"),
        ({"llama.block_count": 1}, "tensors must be those of"),
        ({"llama.attention.head_count": 0}, "must be a whole number"),
        ({"llama.attention.head_count_kv": [2, 4]}, "must be the same for all layers"),
        ({"llama.embedding_length": "32"}, "must be a whole number"),
        ({"llama.rope.dimension_count": 9}, "rope.dimension_count must be in 1..8, got 9"),
        ({"llama.rope.freq_base": float("nan")}, "must be a number > 0"),
        (
            {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.yarn_attn_factor": 2.0},
            "yarn_attn_factor must be 1.0",
        ),
        ({"llama.rope.scaling.type": "spiral", "llama.rope.scaling.factor": 2.0}, "must be one of .*got 'spiral'"),
        ({"llama.attention.layer_norm_rms_epsilon": 0.0}, "rms_norm_eps must be a number > 0"),
    ],
)
def test_file_whose_settings_do_not_fit_is_refused_by_name(tmp_path, changes, said):
    with pytest.raises(ModelError, match=said):
        kav.open_model(convert(TINY / "llama_gqa", tmp_path / "a.gguf", **changes), device="cpu")


def test_kv_heads_given_per_layer_are_one_number(tmp_path):
    path = convert(TINY / "llama_gqa", tmp_path / "a.gguf", **{"llama.attention.head_count_kv": [2, 2]})
    assert kav.open_model(path, device="cpu").config.n_kv_heads == 2


def test_unknown_and_repeated_tensors_are_refused_by_name(tmp_path):
    config = json.loads((TINY / "llama_gqa" / "config.json").read_text())
    tensors = made.rearranged(config, load_file(TINY / "llama_gqa" / "model.safetensors"))
    for name in ("blk.0.attn_sinks.weight", "blk.00.attn_q.weight", "attn_q.weight", "blk.0.token_embd.weight", "odd"):
        path = tmp_path / "a.gguf"
        path.write_bytes(made.file(made.settings(config), tensors | {name: np.zeros(4, np.float32)}))
        with pytest.raises(ModelError, match=rf"tensors must be those of .*got '{name}'"):
            kav.open_model(path, device="cpu")


def test_fused_queries_keys_and_values_are_taken_apart(tmp_path):
    # Phi-2 files come with one tensor or with three.
    rng = np.random.default_rng(0)
    values = made.settings(json.loads((TINY / "qwen2" / "config.json").read_text()))
    tensors = made.rearranged({"model_type": "qwen2"}, load_file(TINY / "qwen2" / "model.safetensors"))
    apart = {name: rng.normal(size=tensors[name].shape).astype(np.float32) for name in tensors}
    fused = {
        name: array
        for name, array in apart.items()
        if not name.split(".")[-2].startswith(("attn_q", "attn_k", "attn_v"))
    }
    for layer in (0, 1):
        for kind in ("weight", "bias"):
            parts = [apart[f"blk.{layer}.attn_{letter}.{kind}"] for letter in "qkv"]
            fused[f"blk.{layer}.attn_qkv.{kind}"] = np.concatenate(parts)
    models = []
    for name, chosen in (("a.gguf", apart), ("b.gguf", fused)):
        (tmp_path / name).write_bytes(made.file(values, chosen))
        models.append(kav.open_model(tmp_path / name, device="cpu"))
    own, other = (dict(leaves(model.weights)) for model in models)
    assert all((own[key] == other[key]).all() for key in own)


def test_settings_say_what_the_config_said(tmp_path):
    config = json.loads((TINY / "qwen2" / "config.json").read_text())
    found = settings(GgufFile(convert(TINY / "qwen2", tmp_path / "a.gguf")))
    for key in ("model_type", "hidden_size", "num_hidden_layers", "vocab_size", "tie_word_embeddings", "hidden_act"):
        assert found[key] == config[key], key
