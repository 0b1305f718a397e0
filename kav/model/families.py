"""What differs between model families: one row per family, and the code that reads a row.

A `Family` says how a checkpoint's config.json names the sizes, what its tensors are called and how they are stored,
and which of the few switches of `kav.model.config.Config` it sets. A new family with the same arithmetic is one more
row of `FAMILIES`; nothing else knows families by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kav.errors import ModelError
from kav.model.config import Config

Raw = Mapping[str, Any]


@dataclass(frozen=True)
class Names:
    """Tensor names without ".weight" or ".bias"; "{}" stands for the layer."""

    embed: str
    norm_final: str
    unembed: str
    norm1: str
    norm2: str
    attn_in: tuple[str, ...]  # three of q, k, v, or one of them fused
    attn_out: str
    mlp_in: str
    mlp_out: str
    mlp_gate: str = ""  # "" = not gated
    positions: str = ""  # "" = not learned
    prefix: str = ""  # may be missing from a file's names


@dataclass(frozen=True)
class Family:
    """One row: how to read a family's checkpoints."""

    names: Names
    keys: Mapping[str, str]  # our word -> key of config.json
    norm: str
    position: str
    norm_eps: str  # key of config.json
    activation: str  # key of config.json
    transposed: bool = True  # matrices are stored (out, in), as torch.nn.Linear does
    qkv_bias: bool | str = False  # a key of config.json, or always, or never
    out_bias: bool | str = False
    mlp_bias: bool | str = False
    tied: bool = False  # if config.json does not say
    refused: tuple[tuple[str, Any], ...] = ()  # config.json settings that change the arithmetic


_LLAMA_NAMES = Names(
    embed="model.embed_tokens",
    norm_final="model.norm",
    unembed="lm_head",
    norm1="model.layers.{}.input_layernorm",
    norm2="model.layers.{}.post_attention_layernorm",
    attn_in=(
        "model.layers.{}.self_attn.q_proj",
        "model.layers.{}.self_attn.k_proj",
        "model.layers.{}.self_attn.v_proj",
    ),
    attn_out="model.layers.{}.self_attn.o_proj",
    mlp_in="model.layers.{}.mlp.up_proj",
    mlp_out="model.layers.{}.mlp.down_proj",
    mlp_gate="model.layers.{}.mlp.gate_proj",
)
_LLAMA_KEYS = MappingProxyType(
    {
        "n_layers": "num_hidden_layers",
        "n_heads": "num_attention_heads",
        "n_kv_heads": "num_key_value_heads",
        "d_model": "hidden_size",
        "d_head": "head_dim",
        "d_mlp": "intermediate_size",
        "d_vocab": "vocab_size",
        "n_ctx": "max_position_embeddings",
    }
)
_GPT2_NAMES = Names(
    embed="transformer.wte",
    norm_final="transformer.ln_f",
    unembed="lm_head",
    norm1="transformer.h.{}.ln_1",
    norm2="transformer.h.{}.ln_2",
    attn_in=("transformer.h.{}.attn.c_attn",),
    attn_out="transformer.h.{}.attn.c_proj",
    mlp_in="transformer.h.{}.mlp.c_fc",
    mlp_out="transformer.h.{}.mlp.c_proj",
    positions="transformer.wpe",
    prefix="transformer.",
)
_GPT2_KEYS = MappingProxyType(
    {
        "n_layers": "n_layer",
        "n_heads": "n_head",
        "d_model": "n_embd",
        "d_mlp": "n_inner",
        "d_vocab": "vocab_size",
        "n_ctx": "n_positions",
    }
)

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "llama": Family(
            names=_LLAMA_NAMES,
            keys=_LLAMA_KEYS,
            norm="rms",
            position="rotary",
            norm_eps="rms_norm_eps",
            activation="hidden_act",
            qkv_bias="attention_bias",
            out_bias="attention_bias",
            mlp_bias="mlp_bias",
        ),
        "qwen2": Family(
            names=_LLAMA_NAMES,
            keys=_LLAMA_KEYS,
            norm="rms",
            position="rotary",
            norm_eps="rms_norm_eps",
            activation="hidden_act",
            qkv_bias=True,
            refused=(("use_sliding_window", True),),
        ),
        "gpt2": Family(
            names=_GPT2_NAMES,
            keys=_GPT2_KEYS,
            norm="layer",
            position="learned",
            norm_eps="layer_norm_epsilon",
            activation="activation_function",
            transposed=False,
            qkv_bias=True,
            out_bias=True,
            mlp_bias=True,
            tied=True,
            refused=(("scale_attn_by_inverse_layer_idx", True), ("scale_attn_weights", False)),
        ),
    }
)
"""Families by the model_type of config.json."""

ACTIVATION_NAMES: Mapping[str, str] = MappingProxyType(
    {"silu": "silu", "swish": "silu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}
)
"""Names of config.json -> names of `kav.model.layers.ACTIVATIONS`."""

LIMITS: Mapping[str, int] = MappingProxyType(
    {
        "n_layers": 1024,
        "n_heads": 1024,
        "n_kv_heads": 1024,
        "d_model": 65_536,
        "d_head": 65_536,
        "d_mlp": 1 << 20,
        "d_vocab": 1 << 20,
        "n_ctx": 1 << 24,
    }
)
"""Largest sizes that are believed."""


def family_of(raw: Raw) -> Family:
    """Return the row for a config.json.

    Raises
    ------
    ModelError
        If the family is not known, or a setting changes its arithmetic.
    """
    name = raw.get("model_type")
    family = FAMILIES.get(name) if isinstance(name, str) else None
    if family is None:
        raise ModelError(f"model_type must be one of {', '.join(sorted(FAMILIES))}, got {str(name)[:60]!r}")
    for key, value in family.refused:
        if raw.get(key) == value:
            raise ModelError(f"{key} must not be {value} for family {name}, got {value}", "kav does not compute that")
    if raw.get("quantization_config"):
        raise ModelError("weights must not be quantised, got a quantization_config", "open the original checkpoint")
    return family


def config_of(raw: Raw, family: Family) -> Config:
    """Return the description of a model from its config.json.

    Raises
    ------
    ModelError
        If a number is missing, out of range or inconsistent, or a choice is not known.
    """
    sizes: dict[str, Any] = dict(_sizes(raw, family))
    if sizes["n_heads"] % sizes["n_kv_heads"]:
        raise ModelError(f"n_heads must be a multiple of n_kv_heads, got {sizes['n_heads']} and {sizes['n_kv_heads']}")
    act = str(raw.get(family.activation))
    if act not in ACTIVATION_NAMES:
        known = ", ".join(sorted(ACTIVATION_NAMES))
        raise ModelError(f"{family.activation} must be one of {known}, got {act[:60]!r}")
    base, scaling, dims = _rotary(raw, sizes["d_head"]) if family.position == "rotary" else (10000.0, None, 0)
    return Config(
        family=str(raw["model_type"]),
        **sizes,
        norm=family.norm,
        norm_eps=_positive(raw.get(family.norm_eps), family.norm_eps),
        position=family.position,
        rotary_base=base,
        rotary_dims=dims,
        rotary_scaling=scaling,
        activation=ACTIVATION_NAMES[act],
        gated=bool(family.names.mlp_gate),
        tied=bool(raw.get("tie_word_embeddings", family.tied)),
    )


def has_bias(raw: Raw, rule: bool | str) -> bool:
    """Return whether a family's rule, read with a config.json, says that a bias exists."""
    return bool(raw.get(rule, False)) if isinstance(rule, str) else rule


def _sizes(raw: Raw, family: Family) -> dict[str, int]:
    n_heads = _whole(raw, family, "n_heads")
    d_model = _whole(raw, family, "d_model")
    rules: dict[str, Callable[[], int]] = {  # what a missing or null entry means
        "n_kv_heads": lambda: n_heads,
        "d_head": lambda: _share(d_model, n_heads),
        "d_mlp": lambda: 4 * d_model,
    }
    return {name: _whole(raw, family, name, rules.get(name)) for name in LIMITS}


def _share(d_model: int, n_heads: int) -> int:
    if d_model % n_heads:
        raise ModelError(f"d_model must be a multiple of n_heads, got {d_model} and {n_heads}")
    return d_model // n_heads


def _whole(raw: Raw, family: Family, name: str, default: Callable[[], int] | None = None) -> int:
    key = family.keys.get(name, "")
    value = raw.get(key)
    if value is None and default is not None:
        value = default()
    if type(value) is not int or not 1 <= value <= LIMITS[name]:
        raise ModelError(f"{key or name} must be a whole number in 1..{LIMITS[name]}, got {str(value)[:60]}")
    return value


def _positive(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (math.isfinite(value) and value > 0):
        raise ModelError(f"{what} must be a number > 0, got {str(value)[:60]}")
    return float(value)


def _rotary(raw: Raw, d_head: int) -> tuple[float, tuple[float, float, float, float] | None, int]:
    """Base, long-context scaling and number of rotated dimensions."""
    spec = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    if not isinstance(spec, Mapping):
        raise ModelError(f"rope_parameters must be an object, got {type(spec).__name__}")
    kind = spec.get("rope_type", spec.get("type", "default"))
    if kind not in ("default", "llama3"):
        raise ModelError(f"rope_type must be one of default, llama3, got {str(kind)[:60]!r}")
    base = _positive(spec.get("rope_theta", raw.get("rope_theta", 10000.0)), "rope_theta")
    share = _positive(spec.get("partial_rotary_factor", raw.get("partial_rotary_factor", 1.0)), "partial_rotary_factor")
    dims = int(d_head * share)
    if dims % 2 or not 2 <= dims <= d_head:
        raise ModelError(f"the number of rotated dimensions must be even and in 2..{d_head}, got {dims}")
    if kind == "default":
        return base, None, dims
    keys = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    factor, low, high, n_old = (_positive(spec.get(key), f"{key} of rope_parameters") for key in keys)
    if low >= high:
        raise ModelError(f"low_freq_factor must be < high_freq_factor, got {low} and {high}")
    return base, (factor, low, high, n_old), dims
