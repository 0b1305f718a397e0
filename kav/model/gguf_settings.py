"""What the config.json of a GGUF file's model would say: sizes, constants of the architecture, rotary positions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kav.errors import ModelError
from kav.model.gguf import GgufFile
from kav.model.gguf_families import architecture_of

OLD_WINDOWS = tuple(1 << power for power in range(4, 21))
"""Context lengths that models were trained with before theirs was extended."""

YARN = (
    ("attn_factor", (1.0,)),
    ("yarn_attn_factor", (1.0,)),
    ("yarn_ext_factor", (1.0, -1.0)),
    ("yarn_log_mul", (0.0,)),
)
"""Refinements of yarn that kav does not compute, with the values that change nothing."""


def settings(file: GgufFile) -> dict[str, Any]:
    """Return what the config.json of the same model would say.

    Raises
    ------
    ModelError
        See `architecture_of`; also if sizes differ between layers.
    """
    row, name = architecture_of(file), str(file.values["general.architecture"])
    found: dict[str, Any] = {"model_type": row.family, **row.constants}
    for key, theirs in row.keys.items():
        if f"{name}.{key}" in file.values:
            found[theirs] = _one(file.values[f"{name}.{key}"], f"{name}.{key}")
    embedding = file.places.get("token_embd.weight")
    if embedding is not None:
        found["vocab_size"] = embedding.shape[0]
    found["tie_word_embeddings"] = "output.weight" not in file.places
    if row.family in ("llama", "qwen3", "gemma", "gemma2", "olmo2"):
        found["attention_bias"] = "blk.0.attn_q.bias" in file.places
        found["mlp_bias"] = "blk.0.ffn_up.bias" in file.places
    if row.family == "gpt_neox":
        found["attention_bias"] = "blk.0.attn_qkv.bias" in file.places
    if row.family == "gemma2":
        found["query_pre_attn_scalar"] = _query_scale(found)
    if row.family not in ("gpt2", "bert"):
        found["rope_parameters"] = _rope(file, name, found)
    for key in ("bos_token_id", "eos_token_id"):
        value = file.values.get(f"tokenizer.ggml.{key}")
        if type(value) is int:
            found[key] = value
    return found


def _one(value: Any, key: str) -> Any:
    """A number that may be given once per layer, if it is the same for all of them."""
    if not isinstance(value, np.ndarray):
        return value
    numbers = set(value.tolist())
    if len(numbers) != 1:
        raise ModelError(f"{key} must be the same for all layers, got {sorted(numbers)[:8]}")
    return numbers.pop()


def _query_scale(found: Mapping[str, Any]) -> Any:
    """Gemma 2 scales scores by its head's width, but for the largest one (46 layers), by d_model / n_heads."""
    d_model, n_heads = found.get("hidden_size"), found.get("num_attention_heads")
    if found.get("num_hidden_layers") == 46 and type(d_model) is int and type(n_heads) is int and n_heads:
        return d_model / n_heads
    return found.get("head_dim")


def _rope(file: GgufFile, name: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """rope_parameters: base, share of rotated numbers, and the rule for long contexts."""

    def get(key: str, default: Any = None) -> Any:
        return file.values.get(f"{name}.rope.{key}", default)

    rope: dict[str, Any] = {"rope_type": "default", "rope_theta": get("freq_base", 10000.0)}
    d_model, n_heads, n_rotated = found.get("hidden_size"), found.get("num_attention_heads"), get("dimension_count")
    d_head = found.get("head_dim")
    if d_head is None and type(d_model) is int and type(n_heads) is int and n_heads > 0:
        d_head = d_model // n_heads
    if type(n_rotated) is int and type(d_head) is int and 0 < n_rotated < d_head:
        share = n_rotated / d_head
        rope["partial_rotary_factor"] = share if int(d_head * share) == n_rotated else math.nextafter(share, 2)
    elif n_rotated is not None and n_rotated != d_head:
        raise ModelError(f"{name}.rope.dimension_count must be in 1..{d_head}, got {str(n_rotated)[:40]}")
    kind, factor = get("scaling.type", "none"), get("scaling.factor", get("scale_linear", 1.0))
    if get("scaling.type") is None and get("scale_linear") is not None:
        kind = "linear"
    if "rope_factors_long.weight" in file.places or kind == "longrope":
        rope["rope_type"] = "longrope"
    elif kind != "none" and not (kind == "linear" and factor == 1.0):
        rope |= {"rope_type": kind, "factor": factor}
        if get("scaling.original_context_length") is not None:
            rope["original_max_position_embeddings"] = get("scaling.original_context_length")
        for key in ("beta_fast", "beta_slow"):
            if get(f"scaling.yarn_{key}") is not None:
                rope[key] = get(f"scaling.yarn_{key}")
        for key, usual in YARN:
            value = get(f"scaling.{key}", usual[0])
            if value not in usual:
                raise ModelError(f"{name}.rope.scaling.{key} must be {usual[0]}, got {str(value)[:40]}")
    elif "rope_freqs.weight" in file.places:
        rope |= _llama3(file, rope["rope_theta"])
    return rope


def _llama3(file: GgufFile, base: Any) -> dict[str, Any]:
    """The parameters of Llama 3.1's rule, which GGUF stores as the divisor of each frequency."""
    place = file.places["rope_freqs.weight"]
    if len(place.shape) != 1 or place.shape[0] > 65_536 or not isinstance(base, float) or not 1 < base < 1e30:
        raise ModelError(f"rope_freqs must be a row of divisors, got shape {place.shape} with base {str(base)[:40]}")
    divisors = file.read("rope_freqs.weight").astype(np.float64)
    if (divisors == 1).all():
        return {}
    factor, low, high = float(divisors.max()), 1.0, 4.0
    if not math.isfinite(factor) or divisors.min() < 1 or factor <= 1:
        raise ModelError(f"rope_freqs must be finite and >= 1, got {divisors.min()}..{divisors.max()}")
    theta = base ** (-np.arange(len(divisors)) / len(divisors))
    share = (1 / divisors - 1 / factor) / (1 - 1 / factor)  # 1 = left alone, 0 = slowed down by factor
    between = np.flatnonzero((share > 0.01) & (share < 0.99))
    guesses = [round(2 * math.pi * (low + (high - low) * share[i]) / theta[i]) for i in between[:1]]
    for n_old in (*guesses, *OLD_WINDOWS):
        kept = np.clip((n_old * theta / (2 * math.pi) - low) / (high - low), 0, 1)
        if np.allclose(1 / divisors, kept + (1 - kept) / factor, rtol=1e-4):
            return {
                "rope_type": "llama3",
                "factor": factor,
                "low_freq_factor": low,
                "high_freq_factor": high,
                "original_max_position_embeddings": n_old,
            }
    raise ModelError("rope_freqs must follow the rule of Llama 3.1, got other divisors", "kav does not compute that")
