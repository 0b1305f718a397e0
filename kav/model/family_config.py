"""From a checkpoint's config.json and its family's row to a `Config`.

What is not understood is refused by its name, with what is known: a setting that changes the arithmetic is never
skipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kav.errors import ModelError
from kav.model.config import Config
from kav.model.families import FAMILIES
from kav.model.family import Family
from kav.model.rope import rotary_fields

Raw = Mapping[str, Any]

ACTIVATION_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "silu": "silu",
        "swish": "silu",
        "gelu": "gelu",
        "gelu_python": "gelu",
        "gelu_new": "gelu_tanh",
        "gelu_fast": "gelu_tanh",
        "gelu_pytorch_tanh": "gelu_tanh",
        "relu": "relu",
    }
)
"""Names of config.json -> names of `kav.model.activations.ACTIVATIONS`."""

NEUTRAL: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "alibi": (False,),
        "attention_chunk_size": (),
        "attention_multiplier": (1.0,),
        "attn_logit_softcapping": (),
        "clip_qkv": (),
        "embedding_multiplier": (1.0,),
        "embedding_size": (),
        "final_logit_softcapping": (),
        "interleaved_sliding_window": (),
        "lm_head_multiplier": (1.0,),
        "logit_scale": (1.0,),
        "logits_scaling": (1.0,),
        "mup_width_multiplier": (1.0,),
        "no_rope_layers": (),
        "num_experts": (0, 1),
        "num_local_experts": (0, 1),
        "qk_layernorm": (False,),
        "query_pre_attn_scalar": (),
        "residual_multiplier": (1.0,),
        "rope_interleaved": (False,),
        "scale_depth": (),
        "scale_emb": (1.0,),
        "sliding_window": (),
        "use_alibi": (False,),
        "use_bidirectional_attention": (False,),
        "use_qk_norm": (False,),
    }
)
"""Settings that change the arithmetic -> values (besides null) with which they do not."""

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
    for key, accepted in NEUTRAL.items():
        value = raw.get(key)
        if value is not None and value not in accepted and key not in family.reads:
            raise ModelError(f"{key} must not be set for family {name}, got {str(value)[:60]}", _NOT_COMPUTED)
    if raw.get("position_embedding_type", "absolute") != "absolute":
        kind = str(raw["position_embedding_type"])[:60]
        raise ModelError(f'position_embedding_type must be "absolute", got {kind!r}', _NOT_COMPUTED)
    if raw.get("quantization_config"):
        raise ModelError(f"weights must not be quantised, got {_method(raw)}", "open the original checkpoint or a GGUF")
    return family


_NOT_COMPUTED = "it changes what the model computes, and kav does not compute that"


def _method(raw: Raw) -> str:
    spec = raw["quantization_config"]
    method = spec.get("quant_method") if isinstance(spec, Mapping) else None
    return f"{str(method)[:60]!r}" if method else "a quantization_config"


def config_of(raw: Raw, family: Family) -> Config:
    """Return the description of a model from its config.json.

    Raises
    ------
    ModelError
        If a number is missing, out of range or inconsistent, or a choice is not known.
    """
    raw = {**family.defaults, **raw}
    sizes: dict[str, Any] = dict(_sizes(raw, family))
    if sizes["n_heads"] % sizes["n_kv_heads"]:
        raise ModelError(f"n_heads must be a multiple of n_kv_heads, got {sizes['n_heads']} and {sizes['n_kv_heads']}")
    if family.position == "rotary":
        rotation = {"d_head": sizes["d_head"], "n_ctx": sizes["n_ctx"], "share": family.rotary_share}
        sizes |= rotary_fields(raw, **rotation)
    return Config(
        family=str(raw["model_type"]),
        **sizes,
        norm=family.norm,
        norm_place=family.norm_place,
        norm_eps=_positive(raw.get(family.norm_eps), family.norm_eps),
        position=family.position,
        activation=_activation(raw, family),
        gated=bool(family.names.mlp_gate),
        parallel=holds(raw, family.parallel),
        causal=family.causal,
        windows=_windows(raw, family, sizes["n_layers"]),
        qk_norm=family.qk_norm,
        score_cap=_cap(raw, family, "attn_logit_softcapping"),
        logit_cap=_cap(raw, family, "final_logit_softcapping"),
        embed_scale=math.sqrt(sizes["d_model"]) if family.embed_scaled else 1.0,
        tied=holds({"tied": family.tied, **raw}, "tie_word_embeddings" if "tie_word_embeddings" in raw else "tied"),
        scales=_scales(raw, family, sizes),
    )


def holds(raw: Raw, rule: bool | str) -> bool:
    """Return whether a family's rule, read with a config.json, is true.

    Raises
    ------
    ModelError
        If the key of config.json that decides holds no truth value.
    """
    if isinstance(rule, bool):
        return rule
    value = raw.get(rule)
    if value is not None and not isinstance(value, bool):
        raise ModelError(f"{rule} must be true or false, got {str(value)[:60]}")
    return bool(value)


def _activation(raw: Raw, family: Family) -> str:
    key = next((key for key in family.activation if raw.get(key) is not None), family.activation[-1])
    if str(raw.get(key)) not in ACTIVATION_NAMES:
        raise ModelError(f"{key} must be one of {', '.join(sorted(ACTIVATION_NAMES))}, got {str(raw.get(key))[:60]!r}")
    return ACTIVATION_NAMES[str(raw[key])]


def _scales(raw: Raw, family: Family, sizes: Mapping[str, int]) -> tuple[float, ...]:
    """What q.k is multiplied by, layer by layer; () if by 1/sqrt(d_head) in all layers."""
    scale = family.scale
    if family.scale_key:
        scale = _positive(raw.get(family.scale_key), family.scale_key) ** -0.5
    if not holds(raw, family.scale_rule):
        scale = 1.0
    if not holds(raw, family.flattened):
        return (scale,) * sizes["n_layers"] if scale else ()
    return tuple((scale or sizes["d_head"] ** -0.5) / (layer + 1) for layer in range(sizes["n_layers"]))


def _cap(raw: Raw, family: Family, key: str) -> float:
    if key not in family.reads or raw.get(key) is None:
        return 0.0
    return _positive(raw[key], key)


_KINDS = MappingProxyType(
    {"sliding_attention": True, "full_attention": False, "local": True, "global": False, "attention": False}
)


def _windows(raw: Raw, family: Family, n_layers: int) -> tuple[int, ...]:
    """How many keys a query sees, layer by layer; () if all layers see all."""
    given, late = raw.get(family.window), family.windows == "late"
    if not family.windows or given is None or (late and not holds(raw, "use_sliding_window")):
        return ()
    window = _range(given, family.window, LIMITS["n_ctx"])
    first = raw.get("max_window_layers", 28)
    rules: dict[str, Callable[[], list[Any]]] = {
        "all": lambda: ["sliding_attention"] * n_layers,
        "late": lambda: ["sliding_attention" if layer >= first else "full_attention" for layer in range(n_layers)],
        "even": lambda: ["full_attention" if layer % 2 else "sliding_attention" for layer in range(n_layers)],
        "types": lambda: _expanded(raw.get("attention_types"), n_layers),
    }
    if type(first) is not int:
        raise ModelError(f"max_window_layers must be a whole number, got {str(first)[:60]}")
    kinds = raw.get("layer_types") if family.windows in ("late", "even") else None
    kinds = rules[family.windows]() if kinds is None else kinds
    if not isinstance(kinds, list) or len(kinds) != n_layers:
        raise ModelError(f"layer_types must name the attention of {n_layers} layers, got {str(kinds)[:60]}")
    for kind in kinds:
        if not isinstance(kind, str) or kind not in _KINDS:
            raise ModelError(f"attention must be one of {', '.join(sorted(_KINDS))}, got {str(kind)[:60]!r}")
    return tuple(window if _KINDS[kind] else 0 for kind in kinds)


def _expanded(types: Any, n_layers: int) -> list[Any]:
    """``[[["global", "local"], 12]]`` written out."""
    try:
        found: list[Any] = []
        for kinds, times in types:
            found += list(kinds) * min(int(times), n_layers)
        return found
    except (TypeError, ValueError) as error:
        raise ModelError(f"attention_types must list kinds and how often, got {str(types)[:60]}") from error


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
    return _range(value, key or name, LIMITS[name])


def _range(value: Any, what: str, largest: int) -> int:
    if type(value) is not int or not 1 <= value <= largest:
        raise ModelError(f"{what} must be a whole number in 1..{largest}, got {str(value)[:60]}")
    return value


def _positive(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (math.isfinite(value) and value > 0):
        raise ModelError(f"{what} must be a number > 0, got {str(value)[:60]}")
    return float(value)
