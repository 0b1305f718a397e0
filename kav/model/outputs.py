"""Outputs of heads and MLPs: replaced by baselines and scaled where edits say so, and merged into the stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from kav.arrays import Array, like, namespace
from kav.model.config import Block
from kav.model.edits import Edit, ScaleHead
from kav.model.products import product
from kav.threads import by_rows


def shuffled(n_tokens: int) -> np.ndarray:
    """Return the fixed shuffle of positions that "resample" baselines use, shape (n_tokens,)."""
    return np.random.default_rng(n_tokens).permutation(n_tokens)


def baseline_of(x: Array, baseline: str) -> Array:
    """Return the baseline of a component's output x (..., n_tokens, d): zeros, its mean over tokens, or x shuffled."""
    xp = namespace(x)
    if baseline == "mean":
        return xp.zeros_like(x) + xp.mean(x, axis=-2, keepdims=True)
    if baseline == "resample":
        return xp.take(x, like(x, shuffled(x.shape[-2]), dtype=xp.int64), axis=-2)
    return xp.zeros_like(x)


def scale_output(x: Array, edit: Any, first: int = 0) -> Array:
    """Return ``b + scale * (x - b)`` at the edit's positions, x elsewhere.

    Parameters
    ----------
    x : array, shape (..., n, d)
        Output of a head or an MLP for positions first, first + 1, ...; all of them unless the baseline is zero.
    edit : ScaleHead or ScaleMlp
    """
    base = baseline_of(x, edit.baseline)
    scaled = base + edit.scale * (x - base)
    if edit.positions is None:
        return scaled
    xp = namespace(x)
    out = xp.asarray(x, copy=True)
    for position in edit.positions:
        if 0 <= position - first < x.shape[-2]:
            out[..., position - first, :] = scaled[..., position - first, :]
    return out


def scale_heads(z: Array, edits: tuple[Edit, ...], first: int = 0) -> Array:
    """Return z (..., n_heads, n, d_head) after this layer's `ScaleHead` edits, in their order."""
    chosen = [edit for edit in edits if isinstance(edit, ScaleHead)]
    if not chosen:
        return z
    xp = namespace(z)
    z = xp.asarray(z, copy=True)
    for edit in chosen:
        z[..., edit.head, :, :] = scale_output(z[..., edit.head, :, :], edit, first)
    return z


def merge_heads(z: Array, block: Block) -> Array:
    """Return the attention output ``sum_h z_h W_O[h] + b_O``, shape (..., n, d_model)."""
    xp = namespace(z, block.W_O)
    n_heads, n, d_head = z.shape[-3:]
    axes = (*range(z.ndim - 3), z.ndim - 2, z.ndim - 3, z.ndim - 1)
    flat = xp.reshape(xp.permute_dims(z, axes), (*z.shape[:-3], n, n_heads * d_head))
    W = xp.reshape(block.W_O, (n_heads * d_head, block.W_O.shape[-1]))
    out = by_rows(lambda rows: product(rows, W), flat)
    return out if block.b_O is None else out + block.b_O
