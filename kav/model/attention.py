"""Attention as what it is: a kernel smoother whose kernel is learned.

For one head the log-kernel of query i and key j is ``q_i . k_j * scale`` (-inf where j is not visible to i), the
weights are `kav.smoother.weights` of it, and the output is their average of the values v. Queries and keys come
rotated where positions are rotary, so positions need no further care here. Everything is computed in blocks of
queries, each against all keys it sees: memory grows with n_tokens, never with its square.

Shapes: ``q (..., n_heads, n_queries, d_head)``, ``k v (..., n_kv_heads, n_tokens, d_head)``. A group of neighbouring
query heads shares one key/value head. Edits are those of this layer, resolved (`kav.model.edits.resolve`).
"""

from __future__ import annotations

import math

import numpy as np
from array_api_compat import is_numpy_array

from kav import smoother
from kav.arrays import Array, indices, like, namespace
from kav.model.config import Block, Config
from kav.model.edits import Edit, MaskKeys, MoveQuery, ScaleEdge, SetScore, SetTemperature
from kav.model.layers import Rotary, cap, normalise_heads, rotate
from kav.model.mask import sees, visible
from kav.model.products import by_group, by_head
from kav.threads import blocks, each, worth

Pieces = tuple[Array, ...]
"""Keys or values of consecutive positions, for example those of an earlier run and the new ones."""

BLOCK_ROWS = 64
"""Queries of a block: few, so that it fits the cache and little of it is above the diagonal."""

BLOCK_CELLS = 1 << 22
"""Most cells of the score matrix (batch and heads together) that one block holds, if one row of it fits."""


def project(x: Array, W: Array, b: Array | None) -> Array:
    """Return queries, keys or values of a normalised stream, ``x @ W + b`` head by head.

    Parameters
    ----------
    x : array, shape (..., n_tokens, d_model)
    W : array, shape (n_heads, d_model, d_head)
    b : array, shape (n_heads, d_head), or None

    Returns
    -------
    array, shape (..., n_heads, n_tokens, d_head)
    """
    out = by_head(x, W)
    if b is not None:
        out += b[:, None, :]
    return out


def log_kernel(
    config: Config,
    q: Array,
    k: Array | Pieces,
    *,
    layer: int,
    edits: tuple[Edit, ...] = (),
    masked: bool = True,
    corner: tuple[int, int, int] = (0, 0, 0),
) -> Array:
    """Return a block of the log-kernel, ``q_i . k_j * scale`` with this layer's edits; masked cells are -inf.

    Where the family caps scores, they are capped before anything else happens to them.

    Parameters
    ----------
    q, k : array, shapes (..., n_heads, n_queries, d_head) and (..., n_kv_heads, n_keys, d_head)
        The queries and keys of the block; n_kv_heads divides n_heads. Keys may come in pieces.
    masked : bool
        False leaves out the causal mask and `MaskKeys`.
    corner : tuple of int
        Head, query and key that stand first in the block.

    Returns
    -------
    array, shape (..., n_heads, n_queries, n_keys)
    """
    scores = cap(_products(q * config.score_scale(layer), k if isinstance(k, tuple) else (k,)), config.score_cap)
    n_heads = scores.shape[-3]
    here = tuple(edit for edit in edits if 0 <= getattr(edit, "head", -1) - corner[0] < n_heads)
    edit_scores(scores, here, corner)
    if not masked:
        return scores
    _hide(config, layer, scores, corner)
    _mask_keys(scores, here, corner)
    return scores


def _products(q: Array, keys: Pieces) -> Array:
    """``q_i . k_j`` of a block, (..., n_heads, n_queries, n_keys)."""
    xp = namespace(q, *keys)
    parts = [by_group(q, xp.matrix_transpose(k)) for k in keys]
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=-1)


def edit_scores(scores: Array, edits: tuple[Edit, ...], corner: tuple[int, int, int]) -> None:
    """Write temperatures, then set scores, into a block that nobody else holds yet."""
    for edit in edits:
        if isinstance(edit, SetTemperature):
            head = edit.head - corner[0]
            scores[..., head, :, :] = scores[..., head, :, :] * edit.beta
    for edit in edits:
        if isinstance(edit, SetScore):
            cell = (edit.head - corner[0], edit.query - corner[1], edit.key - corner[2])
            if 0 <= cell[1] < scores.shape[-2] and 0 <= cell[2] < scores.shape[-1]:
                scores[..., cell[0], cell[1], cell[2]] = edit.value


def _hide(config: Config, layer: int, scores: Array, corner: tuple[int, int, int]) -> None:
    """Write -inf where a key is not visible, into a block that nobody else holds yet.

    Without a window, keys up to the block's first query are visible to all of them: only the columns after those are
    looked at.
    """
    n_queries, n_keys = scores.shape[-2:]
    first = max(0, corner[1] + 1 - corner[2]) if config.causal and not config.window(layer) else 0
    if first >= n_keys:
        return
    xp = namespace(scores)
    rows, columns = (corner[1], corner[1] + n_queries), (corner[2] + first, corner[2] + n_keys)
    part = scores[..., first:]
    seen = visible(config, layer, rows, columns, like_=scores)
    if is_numpy_array(scores):
        np.copyto(part, -np.inf, where=~seen)  # three times as fast: nothing is written but what is hidden
    else:
        scores[..., first:] = xp.where(seen, part, xp.full_like(part, -xp.inf))


def _mask_keys(scores: Array, edits: tuple[Edit, ...], corner: tuple[int, int, int]) -> None:
    n_queries, n_keys = scores.shape[-2:]
    for edit in edits:
        if not isinstance(edit, MaskKeys):
            continue
        head = edit.head - corner[0]
        columns = [key - corner[2] for key in edit.keys if 0 <= key - corner[2] < n_keys]
        rows = None if edit.queries is None else [row - corner[1] for row in edit.queries]
        for column in columns:
            if rows is None:
                scores[..., head, :, column] = -float("inf")
            for row in rows or ():
                if 0 <= row < n_queries:
                    scores[..., head, row, column] = -float("inf")


def pattern(
    config: Config,
    q: Array,
    k: Array,
    *,
    layer: int,
    edits: tuple[Edit, ...] = (),
    corner: tuple[int, int, int] = (0, 0, 0),
) -> Array:
    """Return the weights of whole rows: the smoother's weights of `log_kernel`, then scaled edges.

    k must start at key 0 and reach at least to the last visible key, since a row is normalised over all its keys.
    Rows sum to 1 unless nothing is visible (all 0) or a `ScaleEdge` changed them.

    Returns
    -------
    array, shape (..., n_heads, n_queries, n_keys)
    """
    weights = smoother.weights(log_kernel(config, q, k, layer=layer, edits=edits, corner=corner))
    scale_edges(weights, edits, corner)
    return weights


def chosen_rows(config: Config, q: Array, k: Array, queries: np.ndarray, *, layer: int) -> Array:
    """Return the rows of the pattern, as it is without edits, at increasing queries that need not be neighbours.

    Returns
    -------
    array, shape (n_heads, n_chosen, n_tokens)
    """
    xp = namespace(q, k)
    chosen = like(q, queries, dtype=xp.int64)
    scores = cap(_products(xp.take(q, chosen, axis=-2) * config.score_scale(layer), (k,)), config.score_cap)
    seen = sees(config, layer, chosen[:, None], indices(0, k.shape[-2], like=q)[None, :])
    return smoother.weights(xp.where(seen, scores, xp.full_like(scores, -xp.inf)))


def scale_edges(weights: Array, edits: tuple[Edit, ...], corner: tuple[int, int, int]) -> None:
    """Scale the columns or cells of `ScaleEdge`, in a block of weights that nobody else holds yet."""
    n_heads, n_queries, n_keys = weights.shape[-3:]
    for edit in edits:
        if not isinstance(edit, ScaleEdge):
            continue
        head, key = edit.head - corner[0], edit.key - corner[2]
        row = None if edit.query is None else edit.query - corner[1]
        if not (0 <= head < n_heads and 0 <= key < n_keys):
            continue
        if row is None:
            weights[..., head, :, key] = weights[..., head, :, key] * edit.scale
        elif 0 <= row < n_queries:
            weights[..., head, row, key] = weights[..., head, row, key] * edit.scale


def attend(
    config: Config,
    q: Array,
    k: Array | Pieces,
    v: Array | Pieces,
    *,
    layer: int,
    edits: tuple[Edit, ...] = (),
    corner: tuple[int, int] = (0, 0),
) -> Array:
    """Return z, the weighted averages of the values, block by block; `ScaleHead` is not applied yet.

    Parameters
    ----------
    q : array, shape (..., n_heads, n_queries, d_head)
    k, v : array, shape (..., n_kv_heads, n_tokens, d_head)
        All positions from 0 on; either may come in pieces, which are never copied together.
    corner : tuple of int
        Head and query that stand first in q.

    Returns
    -------
    array, shape (..., n_heads, n_queries, d_head)
    """
    xp = namespace(q)
    keys, values = k if isinstance(k, tuple) else (k,), v if isinstance(v, tuple) else (v,)
    n_queries, n_tokens = q.shape[-2], sum(piece.shape[-2] for piece in keys)
    n_rows = max(1, min(BLOCK_ROWS, BLOCK_CELLS // (n_tokens * math.prod(q.shape[:-2]))))

    def block(rows: tuple[int, int]) -> Array:
        n_seen = min(n_tokens, corner[1] + rows[1]) if config.causal else n_tokens
        chosen, here = q[..., rows[0] : rows[1], :], (corner[0], corner[1] + rows[0], 0)
        mass, total = smoother.masses(
            log_kernel(config, chosen, first_rows(keys, n_seen), layer=layer, edits=edits, corner=here)
        )
        scale_edges(mass, edits, here)
        out = _sums(mass, first_rows(values, n_seen))
        out /= total  # normalised after the product instead of before
        return out

    shared = is_numpy_array(q) and worth(n_rows * n_tokens * math.prod(q.shape[:-2]))
    parts = each(block, blocks(n_queries, n_rows), shared=shared)
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=-2)


def first_rows(pieces: Pieces, n: int) -> Pieces:
    """Return the first n rows (axis -2) of what comes in pieces."""
    found, start = [], 0
    for piece in pieces:
        if start < n:
            found.append(piece if start + piece.shape[-2] <= n else piece[..., : n - start, :])
        start += piece.shape[-2]
    return tuple(found)


def _sums(mass: Array, values: Pieces) -> Array:
    """``mass @ v`` where groups of heads share values that come in pieces, (..., n_heads, n_queries, d_head)."""
    start, out = 0, None
    for v in values:
        stop = start + v.shape[-2]
        part = by_group(mass[..., start:stop], v)
        out, start = part if out is None else out + part, stop
    return out


def asked_from(config: Config, block: Block, x_towards: Array, head: int, *, table: Rotary | None, query: int) -> Array:
    """Return what another token's query would be at position `query`: its own query, unrotated, then rotated there.

    Parameters
    ----------
    x_towards : array, shape (..., 1, d_model)
        What attention reads of the other token: its normalised stream.

    Returns
    -------
    array, shape (..., 1, d_head)
    """
    q = normalise_heads(config, block.norm_Q, project(x_towards, block.W_Q, block.b_Q))  # (..., n_heads, 1, d_head)
    return rotate(q[..., head, :, :], table, query)


def move_queries(q: Array, edits: tuple[Edit, ...], targets: dict[MoveQuery, Array], first: int = 0) -> Array:
    """Return q after this layer's `MoveQuery` edits; `targets` holds `asked_from` of each, (..., 1, d_head)."""
    chosen = [edit for edit in edits if isinstance(edit, MoveQuery) and 0 <= edit.query - first < q.shape[-2]]
    if not chosen:
        return q
    q = namespace(q).asarray(q, copy=True)
    for edit in chosen:
        here = (edit.head, edit.query - first)
        old = q[..., here[0], here[1], :]
        q[..., here[0], here[1], :] = old + edit.t * (targets[edit][..., 0, :] - old)
    return q
