"""How a checkpoint's config says that positions rotate, and how it stretches that for long contexts.

Every stretch but the dynamic one divides the angle of each rotated pair by a number of its own, so that a list of
divisors describes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from kav.errors import ModelError

Spec = Mapping[str, Any]


def rotary_fields(raw: Mapping[str, Any], *, d_head: int, n_ctx: int, share: float) -> dict[str, Any]:
    """Return the rotary fields of `kav.model.config.Config` (and its n_ctx) from a config.json.

    Parameters
    ----------
    raw : mapping
        config.json.
    d_head, n_ctx : int
    share : float
        Part of d_head that is rotated if config.json does not say.

    Raises
    ------
    ModelError
        If a number is out of range, or the way of stretching is not known.
    """
    spec = raw.get("rope_scaling") or raw.get("rope_parameters") or {}
    if not isinstance(spec, Mapping) or any(isinstance(value, Mapping) for value in spec.values()):
        raise ModelError("rope_parameters must be one object for all layers, got something else")
    kind = spec.get("rope_type", spec.get("type", "default"))
    if not isinstance(kind, str) or kind not in STRETCHES or spec.get("mrope_section"):
        raise ModelError(f"rope_type must be one of {', '.join(sorted(STRETCHES))}, got {str(kind)[:60]!r}")
    base = _number(_first("rope_theta", spec, raw, raw.get("rotary_emb_base"), 10000.0), "rope_theta")
    part = _number(_first("partial_rotary_factor", spec, raw, raw.get("rotary_pct"), share), "partial_rotary_factor")
    dims = int(d_head * part) if part <= 1 else 0
    if dims % 2 or not 2 <= dims <= d_head:
        raise ModelError(f"the number of rotated dimensions must be even and in 2..{d_head}, got {part} of {d_head}")
    old = raw.get("original_max_position_embeddings") or spec.get("original_max_position_embeddings") or n_ctx
    theta = base ** (-np.arange(0, dims, 2, dtype=np.float64) / dims)
    found = {"rotary_base": base, "rotary_dims": dims}
    return found | STRETCHES[kind](spec, theta, n_ctx, _number(old, "original_max_position_embeddings"))


def _default(spec: Spec, theta: np.ndarray, n_ctx: int, old: float) -> dict[str, Any]:
    return {}


def _linear(spec: Spec, theta: np.ndarray, n_ctx: int, old: float) -> dict[str, Any]:
    """Positions are divided by the factor (Chen et al. 2023)."""
    return {"rotary_divisors": (_number(spec.get("factor"), "factor"),) * len(theta)}


def _dynamic(spec: Spec, theta: np.ndarray, n_ctx: int, old: float) -> dict[str, Any]:
    """The base grows with the prompt beyond the context of training."""
    factor = _number(spec.get("factor"), "factor")
    if factor < 1 or len(theta) < 2:
        raise ModelError(f"factor must be >= 1 with more than 2 rotated dimensions, got {factor} and {2 * len(theta)}")
    return {"rotary_growth": factor, "rotary_n_ctx": n_ctx, "n_ctx": int(n_ctx * min(factor, 1024.0))}


def _llama3(spec: Spec, theta: np.ndarray, n_ctx: int, old: float) -> dict[str, Any]:
    """Slow pairs are slowed down, fast ones left alone (Llama Team 2024, section 3.4.2, and its code)."""
    factor, low, high = (_number(spec.get(key), key) for key in ("factor", "low_freq_factor", "high_freq_factor"))
    if low >= high:
        raise ModelError(f"low_freq_factor must be < high_freq_factor, got {low} and {high}")
    turns = old * theta / (2 * math.pi)  # how often the pair turns within the old context
    alone = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return {"rotary_divisors": tuple(1 / (alone + (1 - alone) / factor))}


def _yarn(spec: Spec, theta: np.ndarray, n_ctx: int, old: float) -> dict[str, Any]:
    """As `_llama3`, on a ramp over pairs, and with longer vectors (Peng et al. 2023, eqs. 17, 20 to 22)."""
    factor = _number(spec.get("factor") or n_ctx / old, "factor")
    base = theta[1] ** -len(theta) if len(theta) > 1 else math.e
    if not base > 1:  # all pairs turn alike, and there is no ramp between the fast and the slow ones
        raise ModelError(f"rope_theta must be > 1 with rope_type yarn, got {base:.3g}")

    def pair(turns: float) -> float:
        """Which pair, not rounded, turns so often within the old context."""
        return len(theta) * math.log(old / (turns * 2 * math.pi)) / math.log(base)

    low = pair(_number(spec.get("beta_fast") or 32, "beta_fast"))
    high = pair(_number(spec.get("beta_slow") or 1, "beta_slow"))
    if spec.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, 2 * len(theta) - 1)
    ramp = np.clip((np.arange(len(theta)) - low) / ((high - low) or 0.001), 0.0, 1.0)
    return {"rotary_divisors": tuple(1 / (1 - ramp + ramp / factor)), "rotary_gain": _yarn_gain(spec, factor)}


def _yarn_gain(spec: Spec, factor: float) -> float:
    if spec.get("attention_factor") is not None:
        return _number(spec["attention_factor"], "attention_factor")

    def gain(scale: float) -> float:
        return 0.1 * scale * math.log(factor) + 1 if factor > 1 else 1.0

    scale, whole = spec.get("mscale"), spec.get("mscale_all_dim")
    if scale and whole:
        return gain(_number(scale, "mscale")) / gain(_number(whole, "mscale_all_dim"))
    return gain(1.0)


STRETCHES: Mapping[str, Callable[[Spec, np.ndarray, int, float], dict[str, Any]]] = MappingProxyType(
    {"default": _default, "linear": _linear, "dynamic": _dynamic, "llama3": _llama3, "yarn": _yarn}
)
"""rope_type -> the fields it sets."""


def _first(key: str, spec: Spec, raw: Mapping[str, Any], *others: Any) -> Any:
    """The first that is given of two objects' entries and other values."""
    found = (spec.get(key), raw.get(key), *others)
    return next(value for value in found if value is not None)


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (0 < value <= 1e12):
        raise ModelError(f"{what} must be a number > 0, got {str(value)[:60]}")
    return float(value)
