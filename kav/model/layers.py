"""The parts of a layer that are not attention: embedding, norms, rotary positions, MLP, unembedding.

All functions take the residual stream as rows, ``(..., n_tokens, d_model)``; what stands before n_tokens is a batch.
`kav.model.attention` and `kav.model.forward` put them together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kav.arrays import Array, indices, like, namespace
from kav.model.config import Config, Mlp, Norm, Weights


def embed(weights: Weights, ids: tuple[int, ...]) -> Array:
    """Return the residual stream entering layer 0: ``W_E[ids]``, plus ``W_pos`` where positions are learned.

    Returns
    -------
    array, shape (n_tokens, d_model)
    """
    xp = namespace(weights.W_E)
    resid = xp.take(weights.W_E, like(weights.W_E, ids, dtype=xp.int64), axis=0)
    return resid if weights.W_pos is None else resid + weights.W_pos[: len(ids), :]


def norm_scale(config: Config, x: Array) -> Array:
    """Return sigma, what the norm divides by: the root of ``mean(x^2) + eps``, of the centred x for a layer norm.

    Returns
    -------
    array, shape (..., n_tokens, 1)

    References
    ----------
    Zhang & Sennrich 2019, eq. 4 (root mean square); Ba et al. 2016, eq. 3 (layer norm).
    """
    xp = namespace(x)
    centred = centre(config, x)
    return xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + config.norm_eps)


def centre(config: Config, x: Array) -> Array:
    """Return x minus its mean over d_model for a layer norm, x itself for a root-mean-square norm."""
    xp = namespace(x)
    return x - xp.mean(x, axis=-1, keepdims=True) if config.norm == "layer" else x


def normalise(config: Config, norm: Norm, x: Array) -> Array:
    """Return the normalised stream, ``centre(x) / sigma * gain + bias``, same shape as x."""
    namespace(x, norm.gain)
    scaled = centre(config, x) / norm_scale(config, x) * norm.gain
    return scaled if norm.bias is None else scaled + norm.bias


@dataclass(frozen=True)
class Rotary:
    """Cosines and sines of the rotation angles, one row per position, each (n_tokens, rotary_dims / 2)."""

    cos: Array
    sin: Array


def frequencies(config: Config) -> np.ndarray:
    """Return the angle per position of each rotated pair, ``theta_r = base^(-2 r / rotary_dims)``.

    With `Config.rotary_scaling` slow pairs are slowed down further, as Llama 3.1 does for long contexts.

    Returns
    -------
    ndarray, shape (rotary_dims / 2,), float64

    References
    ----------
    Su et al. 2021, eq. 15.
    """
    theta = config.rotary_base ** (-np.arange(0, config.rotary_dims, 2, dtype=np.float64) / config.rotary_dims)
    if config.rotary_scaling is None:
        return theta
    factor, low, high, n_old = config.rotary_scaling
    turns = n_old * theta / (2 * math.pi)  # how often the pair turns within the old context
    share = np.clip((turns - low) / (high - low), 0.0, 1.0)  # 1 = left alone, 0 = slowed down by factor
    return theta * (share + (1 - share) / factor)


def rotary(config: Config, n_tokens: int, *, like_: Array) -> Rotary | None:
    """Return the rotation tables of the first `n_tokens` positions on the device of `like_`; None if not rotary."""
    if config.position != "rotary":
        return None
    angles = np.arange(n_tokens, dtype=np.float64)[:, None] * frequencies(config)
    return Rotary(cos=like(like_, np.cos(angles)), sin=like(like_, np.sin(angles)))


def rotate(x: Array, table: Rotary | None, first: int = 0) -> Array:
    """Return x with the vector of each position turned by that position's angles.

    The first ``rotary_dims`` numbers are rotated in pairs (r, r + rotary_dims / 2): the half-split layout.

    Parameters
    ----------
    x : array, shape (..., n, d_head)
        Queries or keys of positions first, first + 1, ...
    table : Rotary or None
        None leaves x as it is.
    first : int
        Position of the first row.

    References
    ----------
    Su et al. 2021, eq. 34.
    """
    if table is None:
        return x
    xp = namespace(x, table.cos)
    cos = table.cos[first : first + x.shape[-2], :]  # (n, rotary_dims / 2)
    sin = table.sin[first : first + x.shape[-2], :]
    half = cos.shape[-1]
    a, b, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return xp.concat([a * cos - b * sin, b * cos + a * sin, rest], axis=-1)


def _silu(x: Array, xp: Any) -> Array:
    return 0.5 * x * (1 + xp.tanh(0.5 * x))  # x * sigmoid(x), written so that nothing overflows


def _gelu_tanh(x: Array, xp: Any) -> Array:
    return 0.5 * x * (1 + xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def _relu(x: Array, xp: Any) -> Array:
    return xp.where(x > 0, x, xp.zeros_like(x))


ACTIVATIONS: dict[str, Callable[[Array, Any], Array]] = {"silu": _silu, "gelu_tanh": _gelu_tanh, "relu": _relu}
"""Activation functions by the name used in `Config.activation`."""


def mlp(config: Config, weights: Mlp, x: Array) -> Array:
    """Return the MLP's output ``act(x W_in) W_out`` (or gated, see `Mlp`) for a normalised stream x, same shape."""
    xp = namespace(x, weights.W_in)
    act = ACTIVATIONS[config.activation]
    inside = _affine(x, weights.W_in, weights.b_in)  # (..., n_tokens, d_mlp)
    if weights.W_gate is None:
        hidden = act(inside, xp)
    else:
        hidden = act(_affine(x, weights.W_gate, weights.b_gate), xp) * inside
    return _affine(hidden, weights.W_out, weights.b_out)


def _affine(x: Array, matrix: Array, bias: Array | None) -> Array:
    return x @ matrix if bias is None else x @ matrix + bias


def unembed(config: Config, weights: Weights, resid: Array) -> Array:
    """Return the logits of final residual streams, ``normalise(resid) W_U + b_U``, shape (..., d_vocab)."""
    return _affine(normalise(config, weights.norm_final, resid), weights.W_U, weights.b_U)


def visible(config: Config, queries: tuple[int, int], keys: tuple[int, int], *, like_: Array) -> Array:
    """Return which keys each query sees, bool, shape (n_queries, n_keys), for two half-open ranges of positions."""
    row = indices(*queries, like=like_)[:, None]
    column = indices(*keys, like=like_)[None, :]
    return column <= row if config.causal else (column >= 0) & (row >= 0)
