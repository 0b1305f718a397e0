"""The two circuits of a head, from weights alone: W_QK, the kernel (where it looks), and W_OV, the response.

Rows convention: ``score = x_query @ W_QK @ x_key * scale`` and ``message = x_key @ W_OV``. With `fold_norm` the gain of
the layer's norm is part of the circuit, so that x is the normalised residual stream; the norm's bias and the
projections' biases are not part of a bilinear form and enter only in the token tables.

A rotary model has no single QK circuit: the rotations of query and key leave one rotation by their distance between
W_Q and W_K^T, so every function that needs it takes ``offset = query position - key position``.

References
----------
Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; Su et al. 2021, RoFormer, eq. 16; Ainslie et
al. 2023, GQA.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kav.arrays import Array, like, namespace, to_host
from kav.circuits.factored import Factored, positive_share, small_eigenvalues
from kav.errors import KavError
from kav.model.config import Block, Config, Norm
from kav.model.layers import Rotary, centre, frequencies, norm_scale, rotate
from kav.model.model import Model


def check_head(config: Config, layer: int, head: int) -> None:
    """Raise a KavError unless the model has this head."""
    if not 0 <= layer < config.n_layers:
        raise KavError(f"layer must be in 0..{config.n_layers - 1}, got {layer}")
    if not 0 <= head < config.n_heads:
        raise KavError(f"head must be in 0..{config.n_heads - 1}, got {head}")


def folded(weight: Array, norm: Norm, fold_norm: bool = True) -> Array:
    """Return ``diag(gain) @ weight`` (or `weight` as it is), shape (d_model, ...)."""
    return norm.gain[:, None] * weight if fold_norm else weight


def turned(config: Config, rows: Array, offset: int) -> Array:
    """Return queries (or rows of W_Q) rotated `offset` positions ahead, ``rows @ R_offset``, shape (..., d_head)."""
    if config.position != "rotary":
        return rows
    angles = offset * frequencies(config)[None, :]
    table = Rotary(cos=like(rows, np.cos(angles)), sin=like(rows, np.sin(angles)))
    return rotate(rows[..., None, :], table)[..., 0, :]


def qk_factors(model: Model, layer: int, head: int, offset: int = 0, *, fold_norm: bool = True) -> Factored:
    """Return `qk` on the model's device."""
    check_head(model.config, layer, head)
    block = model.weights.blocks[layer]
    left = turned(model.config, folded(block.W_Q[head, ...], block.norm1, fold_norm), offset)
    key = folded(block.W_K[model.config.kv_head(head), ...], block.norm1, fold_norm)  # (d_model, d_head)
    return Factored(left, namespace(key).matrix_transpose(key))


def ov_factors(model: Model, layer: int, head: int, *, fold_norm: bool = True) -> Factored:
    """Return `ov` on the model's device."""
    check_head(model.config, layer, head)
    block = model.weights.blocks[layer]
    left = folded(block.W_V[model.config.kv_head(head), ...], block.norm1, fold_norm)
    return Factored(left, block.W_O[head, ...])


def qk(model: Model, layer: int, head: int, offset: int = 0, fold_norm: bool = True) -> Factored:
    """Return the QK circuit ``W_Q R_offset W_K^T`` of a head: the kernel's bilinear form.

    ``x_query @ qk(...).matrix() @ x_key / sqrt(d_head)`` is the score without biases.

    Parameters
    ----------
    model : Model
    layer, head : int
        Query head; with grouped queries its key head is ``head // (n_heads / n_kv_heads)``.
    offset : int
        Query position minus key position; matters to rotary models only.
    fold_norm : bool
        True: x is the normalised residual stream before the norm's gain. False: x is the norm's output.

    Returns
    -------
    Factored
        ``left (d_model, d_head)``, ``right (d_head, d_model)``, on the host.

    Raises
    ------
    KavError
        If the model has no such head.

    References
    ----------
    Elhage et al. 2021, "QK circuit"; Su et al. 2021, eq. 16 for the rotation between the factors.
    """
    product = qk_factors(model, layer, head, offset, fold_norm=fold_norm)
    return Factored(to_host(product.left), to_host(product.right))


def ov(model: Model, layer: int, head: int, fold_norm: bool = True) -> Factored:
    """Return the OV circuit ``W_V W_O`` of a head: what a source token's residual stream becomes when attended to.

    Parameters
    ----------
    model : Model
    layer, head : int
        Query head; with grouped queries its value head is ``head // (n_heads / n_kv_heads)``.
    fold_norm : bool
        True: x is the normalised residual stream before the norm's gain. False: x is the norm's output.

    Returns
    -------
    Factored
        ``left (d_model, d_head)``, ``right (d_head, d_model)``, on the host.

    Raises
    ------
    KavError
        If the model has no such head.

    References
    ----------
    Elhage et al. 2021, "OV circuit".
    """
    product = ov_factors(model, layer, head, fold_norm=fold_norm)
    return Factored(to_host(product.left), to_host(product.right))


def normalised_embedding(model: Model, ids: Sequence[int] | None = None) -> Array:
    """Return rows of W_E normalised as the model's norms do, without gain or bias, (n_ids, d_model), on the device."""
    rows = model.weights.W_E
    if ids is not None:
        _check_ids(model.config, ids)
        xp = namespace(rows)
        rows = xp.take(rows, like(rows, list(ids), dtype=xp.int64), axis=0)
    return centre(model.config, rows) / norm_scale(model.config, rows)


def ov_table(model: Model, layer: int, head: int, ids: Sequence[int]) -> np.ndarray:
    """Return what attending to each token promotes, ``x W_OV diag(gain_final) W_U`` over the chosen tokens.

    This is the *direct* path only: x is the token's embedding alone, normalised and with the layer's gain (what
    earlier layers and learned positions add to the stream is left out), and the head's output goes straight to the
    final norm, whose scale and centring are left out too. Divide by the norm's scale to read a row in logits.

    Parameters
    ----------
    model : Model
    layer, head : int
    ids : sequence of int, (n_ids,)
        Token ids, of sources (rows) and outputs (columns) alike; no vocabulary x vocabulary array is formed.

    Returns
    -------
    array, shape (n_ids, n_ids)
        Row = token attended to, column = token promoted.

    Raises
    ------
    KavError
        If the model has no such head or an id is outside its vocabulary.
    """
    circuit = ov_factors(model, layer, head)
    rows = normalised_embedding(model, ids) @ circuit.left  # (n_ids, d_head)
    W_U, xp = model.weights.W_U, namespace(model.weights.W_U)
    chosen = xp.take(W_U, like(W_U, list(ids), dtype=xp.int64), axis=1)  # (d_model, n_ids)
    return to_host(rows @ (circuit.right @ folded(chosen, model.weights.norm_final)))


def qk_table(
    model: Model, layer: int, head: int, ids: Sequence[int], offset: int = 0, *, biases: bool = True
) -> np.ndarray:
    """Return the score of each token looking at each token from `offset` positions ahead.

    As in `ov_table` each token is its embedding alone, normalised; in layer 0 of a rotary model this is the model's
    own score at that distance, in later layers the embedding's share of it.

    Parameters
    ----------
    model : Model
    layer, head : int
    ids : sequence of int, (n_ids,)
    offset : int
        Query position minus key position; matters to rotary models only.
    biases : bool
        Whether the biases of norm, queries and keys take part. Query-side biases move whole columns and matter after
        the softmax; without rotary positions key-side ones cancel there.

    Returns
    -------
    array, shape (n_ids, n_ids)
        Row = token of the query, column = token of the key; scaled as before the softmax.

    Raises
    ------
    KavError
        If the model has no such head or an id is outside its vocabulary.
    """
    check_head(model.config, layer, head)
    config, block = model.config, model.weights.blocks[layer]
    x = normalised_embedding(model, ids) * block.norm1.gain
    if biases and block.norm1.bias is not None:
        x = x + block.norm1.bias
    shared = config.kv_head(head)
    q, k = x @ block.W_Q[head, ...], x @ block.W_K[shared, ...]  # (n_ids, d_head)
    if biases:
        q = q if block.b_Q is None else q + block.b_Q[head, ...]
        k = k if block.b_K is None else k + block.b_K[shared, ...]
    return to_host(turned(config, q, offset) @ namespace(k).matrix_transpose(k) * config.score_scale)


def copying_score(model: Model, layer: int, head: int) -> float:
    """Return how far a head's OV circuit maps tokens to themselves, ``sum Re(lambda) / sum |lambda|``, in [-1, 1].

    lambda are the eigenvalues of the vocabulary x vocabulary matrix ``E W_OV diag(gain_final) W_U``, E the normalised
    embeddings with the layer's gain; they are those of a d_head x d_head product. Near 1: copies; near 0: neither.

    Parameters
    ----------
    model : Model
    layer, head : int

    Returns
    -------
    float

    Raises
    ------
    KavError
        If the model has no such head.

    References
    ----------
    Elhage et al. 2021, "Copying / eigenvalue analysis".
    """
    check_head(model.config, layer, head)
    return float(positive_share(copying_eigenvalues(model, layer, head)))


def copying_eigenvalues(model: Model, layer: int, head: int) -> np.ndarray:
    """Return the eigenvalues behind `copying_score`, largest modulus first, shape (d_head,), complex."""
    circuit = ov_factors(model, layer, head)
    outputs = circuit.right @ folded(model.weights.W_U, model.weights.norm_final)  # (d_head, d_vocab)
    sources = normalised_embedding(model) @ circuit.left  # (d_vocab, d_head)
    return small_eigenvalues(outputs @ sources)


def copying_scores(model: Model) -> np.ndarray:
    """Return `copying_score` of every head, shape (n_layers, n_heads).

    All heads share the d_model x d_model product ``diag(gain_final) W_U E`` with the vocabulary summed out.
    """
    weights = model.weights
    shared = folded(weights.W_U, weights.norm_final) @ normalised_embedding(model)  # (d_model, d_model)
    return np.stack([positive_share(small_eigenvalues(_cores(model.config, b, shared))) for b in weights.blocks])


def _cores(config: Config, block: Block, shared: Array) -> Array:
    """``W_O shared diag(gain) W_V`` of each head, shape (n_heads, d_head, d_head)."""
    xp: Any = namespace(shared, block.W_O)
    values = block.norm1.gain[:, None] * block.W_V  # (n_kv_heads, d_model, d_head)
    per_query_head = xp.repeat(values, config.n_heads // config.n_kv_heads, axis=0)  # (n_heads, d_model, d_head)
    return (block.W_O @ shared) @ per_query_head


def _check_ids(config: Config, ids: Sequence[int]) -> None:
    for i in ids:
        if not 0 <= i < config.d_vocab:
            raise KavError(f"token id must be in 0..{config.d_vocab - 1}, got {i}")
