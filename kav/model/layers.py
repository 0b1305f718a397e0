"""The parts of a layer that are not attention: embedding, norms, rotary positions, MLP, unembedding.

All functions take the residual stream as rows, ``(..., n_tokens, d_model)``; what stands before n_tokens is a batch.
`kav.model.attention` and `kav.model.forward` put them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kav.arrays import Array, like, namespace
from kav.errors import KavError
from kav.model.activations import ACTIVATIONS
from kav.model.config import Config, Mlp, Norm, Weights
from kav.model.products import product


def token_rows(config: Config, weights: Weights, ids: tuple[int, ...]) -> Array:
    """Return what tokens alone write to the stream, ``W_E[ids] * embed_scale``, shape (n_ids, d_model)."""
    xp = namespace(weights.W_E)
    rows = xp.take(weights.W_E, like(weights.W_E, ids, dtype=xp.int64), axis=0)
    return rows if config.embed_scale == 1.0 else rows * config.embed_scale


def embed(config: Config, weights: Weights, ids: tuple[int, ...], first: int = 0) -> Array:
    """Return the residual stream entering layer 0: token rows, plus learned positions, normalised if the family does.

    Returns
    -------
    array, shape (n_tokens - first, d_model)
        From position `first` on.
    """
    resid = token_rows(config, weights, ids[first:])
    if weights.W_pos is not None:
        resid = resid + weights.W_pos[first : len(ids), :]
    return normalise(config, weights.norm_embed, resid)


def norm_scale(config: Config, x: Array) -> Array:
    """Return sigma, what the norm divides by: the root of ``mean(x^2) + eps``, of the centred x for a layer norm.

    Returns
    -------
    array, shape (..., n_tokens, 1)

    References
    ----------
    Zhang & Sennrich 2019, eq. 4 (root mean square); Ba et al. 2016, eq. 3 (layer norm).
    """
    return _root(config, centre(config, x))


def _root(config: Config, centred: Array) -> Array:
    xp = namespace(centred)
    return xp.sqrt(xp.vecdot(centred, centred)[..., None] / centred.shape[-1] + config.norm_eps)


def centre(config: Config, x: Array) -> Array:
    """Return x minus its mean over d_model for a layer norm, x itself for a root-mean-square norm."""
    xp = namespace(x)
    return x - xp.mean(x, axis=-1, keepdims=True) if config.norm == "layer" else x


def normalise(config: Config, norm: Norm | None, x: Array) -> Array:
    """Return the normalised stream, ``centre(x) / sigma * gain + bias``, same shape as x; x itself without a norm."""
    if norm is None:
        return x
    namespace(x, norm.gain)
    centred = centre(config, x)
    out = centred / _root(config, centred)
    out *= norm.gain  # in place from here on: a pass over memory that is new costs more than the product
    if norm.bias is not None:
        out += norm.bias
    return out


def add(config: Config, norm: Norm | None, resid: Array, out: Array) -> Array:
    """Return the stream after a half of a layer wrote `out` to it, with the norm that follows, if one does.

    Before or around: ``resid + norm(out)``, norm None = as it is. On the stream: ``norm(resid + out)``.
    """
    if config.norm_place == "stream":
        return normalise(config, norm, resid + out)
    return resid + normalise(config, norm, out)


def added_by(config: Config, norm: Norm | None, out: Array, change: Array) -> Array:
    """Return what a part of a half's output adds to the stream where the half wrote `out`, the norm's scale frozen.

    Parts that sum to `out`, less the norm's bias, add up to what `add` adds. A norm on the stream comes after adding
    and is not in it.

    Parameters
    ----------
    out, change : array, shape (..., n_tokens, d_model)
        The whole output of the half, and the part.
    """
    if norm is None or config.norm_place == "stream":
        return change
    return centre(config, change) / norm_scale(config, out) * norm.gain


def cap(x: Array, limit: float) -> Array:
    """Return x capped softly, ``limit * tanh(x / limit)``; x itself for limit 0.

    References
    ----------
    Bello et al. 2016, section 4 (logit clipping); Gemma Team 2024, section 2.
    """
    return limit * namespace(x).tanh(x / limit) if limit else x


def cap_slope(capped: Array, limit: float) -> Array:
    """Return the derivative of `cap` where its value is `capped`: ``1 - (capped / limit)^2``, ones for limit 0."""
    xp = namespace(capped)
    return 1 - (capped / limit) * (capped / limit) if limit else xp.ones_like(capped)


def normalise_heads(config: Config, norm: Norm | None, x: Array) -> Array:
    """Return queries or keys (..., n_heads, n, d_head) normalised as `Config.qk_norm` says; x itself without a norm.

    References
    ----------
    Henry et al. 2020, "Query-Key Normalization for Transformers" (there by length, here by root mean square).
    """
    if norm is None:
        return x
    namespace(x, norm.gain)
    return x / heads_scale(config, x) * heads_gain(config, norm)


def heads_scale(config: Config, x: Array) -> Array:
    """Return the root mean square of queries or keys, per head (..., n_heads, n, 1) or over all (..., 1, n, 1)."""
    xp = namespace(x)
    axes: int | tuple[int, int] = -1 if config.qk_norm == "head" else (-3, -1)
    return xp.sqrt(xp.mean(x * x, axis=axes, keepdims=True) + config.norm_eps)


def heads_gain(config: Config, norm: Norm) -> Array:
    """Return the gain of a norm of queries or keys in a shape that multiplies (..., n_heads, n, d_head)."""
    return norm.gain if config.qk_norm == "head" else norm.gain[:, None, :]


@dataclass(frozen=True)
class Rotary:
    """Cosines and sines of the rotation angles, one row per position, each (n_tokens, rotary_dims / 2)."""

    cos: Array
    sin: Array


def frequencies(config: Config, n_tokens: int = 0) -> np.ndarray:
    """Return the angle per position of each rotated pair, ``theta_r = base^(-2 r / rotary_dims) / divisor_r``.

    Parameters
    ----------
    config : Config
    n_tokens : int
        Length of the prompt; matters to dynamic scaling only, whose base grows beyond the context of training.

    Returns
    -------
    ndarray, shape (rotary_dims / 2,), float64

    References
    ----------
    Su et al. 2021, eq. 15.
    """
    base, n = config.rotary_base, config.rotary_dims
    if config.rotary_growth and n_tokens > config.rotary_n_ctx:
        growth = config.rotary_growth * n_tokens / config.rotary_n_ctx - (config.rotary_growth - 1)
        base *= growth ** (n / (n - 2))
    theta = base ** (-np.arange(0, n, 2, dtype=np.float64) / n)
    return theta / np.asarray(config.rotary_divisors) if config.rotary_divisors else theta


def rotary(config: Config, n_tokens: int, *, like_: Array) -> Rotary | None:
    """Return the rotation tables of the first `n_tokens` positions on the device of `like_`; None if not rotary."""
    if config.position != "rotary":
        return None
    angles = np.arange(n_tokens, dtype=np.float64)[:, None] * frequencies(config, n_tokens)
    gain = config.rotary_gain
    return Rotary(cos=like(like_, gain * np.cos(angles)), sin=like(like_, gain * np.sin(angles)))


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
    turned = xp.concat([b, a], axis=-1)
    turned *= xp.concat([-sin, sin], axis=-1)
    turned += x[..., : 2 * half] * xp.concat([cos, cos], axis=-1)  # (a cos - b sin, b cos + a sin)
    return turned if rest.shape[-1] == 0 else xp.concat([turned, rest], axis=-1)


def mlp(config: Config, weights: Mlp, x: Array) -> Array:
    """Return the MLP's output ``act(x W_in) W_out`` (or gated, see `Mlp`) for a normalised stream x, same shape."""
    namespace(x, weights.W_in)
    gate = None if weights.W_gate is None else affine(x, weights.W_gate, weights.b_gate)
    return mlp_from(config, weights, affine(x, weights.W_in, weights.b_in), gate)


def mlp_from(config: Config, weights: Mlp, inside: Array, gate: Array | None) -> Array:
    """Return the MLP's output from what its first matrices make of the stream.

    Parameters
    ----------
    inside, gate : array, shape (..., n_tokens, d_mlp)
        ``x W_in + b_in`` and ``x W_gate + b_gate``; gate None = not gated.
    """
    act, xp = ACTIVATIONS[config.activation], namespace(inside, weights.W_out)
    hidden = act(inside if gate is None else gate, xp)
    if gate is not None:
        hidden *= inside
    return affine(hidden, weights.W_out, weights.b_out)


def affine(x: Array, matrix: Array, bias: Array | None) -> Array:
    """Return ``x @ matrix + bias``; bias None adds nothing."""
    out = product(x, matrix)
    if bias is not None:
        out += bias
    return out


def columns(matrix: Array, ids: Sequence[int]) -> Array:
    """Return a few columns of a large matrix, without the copy that `take` makes of one that is another turned over.

    Returns
    -------
    array, shape (n_rows, n_ids)
    """
    return namespace(matrix).concat([matrix[:, place : place + 1] for place in ids], axis=1)


def unembed(config: Config, weights: Weights, resid: Array) -> Array:
    """Return the logits of final residual streams, ``cap(normalise(resid) W_U + b_U)``, shape (..., d_vocab).

    Raises
    ------
    KavError
        If the model has no output matrix.
    """
    return cap(raw_logits(config, weights, resid), config.logit_cap)


def raw_logits(config: Config, weights: Weights, resid: Array) -> Array:
    """Return the logits before a soft cap, ``normalise(resid) W_U + b_U``, shape (..., d_vocab).

    Raises
    ------
    KavError
        If the model has no output matrix.
    """
    check_logits(config)
    if weights.dense is not None:
        xp = namespace(resid, weights.dense.W)
        resid = ACTIVATIONS[config.activation](affine(resid, weights.dense.W, weights.dense.b), xp)
    return affine(normalise(config, weights.norm_final, resid), weights.W_U, weights.b_U)


def check_logits(config: Config) -> None:
    """Raise KavError if the model has no output matrix: such a model has states, but predicts nothing."""
    if not config.has_logits:
        raise KavError(
            f"a prediction must come from a model with an output matrix, got {config.family} without one",
            "attention and the matrices of a head can be looked at",
        )
