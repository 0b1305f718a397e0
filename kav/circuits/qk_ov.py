"""The two circuits of a head, from weights alone: W_QK, the kernel (where it looks), and W_OV, the response.

Rows convention: ``score = x_query @ W_QK @ x_key * scale`` and ``message = x_key @ W_OV``. With `fold_norm` the gain of
the layer's norm is part of the circuit, so that x is the normalised residual stream; the norm's bias and the
projections' biases are not part of a bilinear form and enter only in the token tables.

A rotary model has no single QK circuit: the rotations of query and key leave one rotation by their distance between
W_Q and W_K^T, so every function that needs it takes ``offset = query position - key position``. Where queries and keys
are normalised, the form is bilinear only with their root mean squares frozen: the circuit holds the gains of those
norms, and a score is its value divided by both root mean squares. A soft cap acts on the score afterwards. Where a norm
follows attention, W_OV holds its gain, and a message is divided by its frozen scale.

References
----------
Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; Su et al. 2021, RoFormer, eq. 16; Ainslie et
al. 2023, GQA.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kav.arrays import Array, like, namespace, read_only, to_host
from kav.circuits.factored import Factored
from kav.errors import KavError
from kav.model.attention import project
from kav.model.config import Block, Config, Norm
from kav.model.layers import (
    Rotary,
    cap,
    centre,
    check_logits,
    columns,
    frequencies,
    norm_scale,
    normalise,
    normalise_heads,
    rotate,
    token_rows,
)
from kav.model.model import Model


def folded(weight: Array, norm: Norm | None, fold_norm: bool = True) -> Array:
    """Return ``diag(gain) @ weight`` (or `weight` as it is), shape (d_model, ...)."""
    return norm.gain[:, None] * weight if fold_norm and norm is not None else weight


def turned(config: Config, rows: Array, offset: int) -> Array:
    """Return queries (or rows of W_Q) rotated `offset` positions ahead, ``rows @ R_offset``, shape (..., d_head).

    Queries and keys are both longer by `Config.rotary_gain`: R_offset holds its square.
    """
    if config.position != "rotary":
        return rows
    angles, gain = offset * frequencies(config)[None, :], config.rotary_gain**2
    table = Rotary(cos=like(rows, gain * np.cos(angles)), sin=like(rows, gain * np.sin(angles)))
    return rotate(rows[..., None, :], table)[..., 0, :]


def qk_factors(model: Model, layer: int, head: int, offset: int = 0, *, fold_norm: bool = True) -> Factored:
    """Return `qk` on the model's device."""
    config = model.config
    config.check_head(layer, head)
    block, shared = model.weights.blocks[layer], config.kv_head(head)
    query = folded(block.W_Q[head, ...], block.norm1, fold_norm) * _head_gain(config, block.norm_Q, head)
    key = folded(block.W_K[shared, ...], block.norm1, fold_norm) * _head_gain(config, block.norm_K, shared)
    scale = config.score_scale(layer) * config.d_head**0.5  # 1 unless the model scales scores in its own way
    return Factored(scale * turned(config, query, offset), namespace(key).matrix_transpose(key))


def _head_gain(config: Config, norm: Norm | None, head: int) -> Array | float:
    """Gain of one head's queries or keys, (d_head,), or 1."""
    if norm is None:
        return 1.0
    return norm.gain if config.qk_norm == "head" else norm.gain[head, :]


def ov_factors(model: Model, layer: int, head: int, *, fold_norm: bool = True) -> Factored:
    """Return `ov` on the model's device."""
    model.config.check_head(layer, head)
    block = model.weights.blocks[layer]
    left = folded(block.W_V[model.config.kv_head(head), ...], block.norm1, fold_norm)
    return Factored(left, written(model.config, block, block.W_O[head, ...], fold_norm))


def written(config: Config, block: Block, W_O: Array, fold_norm: bool = True) -> Array:
    """Return W_O with the gain and the centring of a norm between attention's output and the stream folded in."""
    if block.norm1_out is None or config.norm_place == "stream" or not fold_norm:
        return W_O
    return centre(config, W_O) * block.norm1_out.gain


def qk(model: Model, layer: int, head: int, offset: int = 0, fold_norm: bool = True) -> Factored:
    """Return the QK circuit ``W_Q R_offset W_K^T`` of a head: the kernel's bilinear form.

    ``x_query @ qk(...).matrix() @ x_key / sqrt(d_head)`` is the score without biases, before a soft cap; where queries
    and keys are normalised, that divided by the root mean squares of both before their norms.

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
    return Factored(read_only(to_host(product.left)), read_only(to_host(product.right)))


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
    return Factored(read_only(to_host(product.left)), read_only(to_host(product.right)))


def normalised_embedding(model: Model, ids: Sequence[int] | None = None) -> Array:
    """Return rows of W_E as layer 0 reads them, before the gain of its norm, (n_ids, d_model), on the device.

    Normalised without gain or bias where attention reads a norm; as they are where it reads the stream; through the
    norm of the embedding, gain and bias too, where there is one.
    """
    config, weights = model.config, model.weights
    if ids is None:
        rows = weights.W_E * config.embed_scale
    else:
        _check_ids(config, ids)
        rows = token_rows(config, weights, tuple(ids))
    if weights.norm_embed is not None:
        return normalise(config, weights.norm_embed, rows)
    return rows if config.norm_place == "output" else centre(config, rows) / norm_scale(config, rows)


def predicts_directly(model: Model) -> bool:
    """Return whether what a head writes reaches the logits through the final norm and W_U alone."""
    return model.config.has_logits and model.weights.dense is None


def check_direct(model: Model) -> None:
    """Raise KavError unless heads write to the logits directly; see `predicts_directly`."""
    check_logits(model.config)
    if model.weights.dense is not None:
        raise KavError(
            f"what a head promotes must be read by W_U alone, got {model.config.family} with a layer in between",
            "the QK circuit, and W_OV over d_model, can be looked at",
        )


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
        If the model has no such head, an id is outside its vocabulary, or heads do not write to the logits directly.
    """
    check_direct(model)
    circuit = ov_factors(model, layer, head)
    rows = normalised_embedding(model, ids) @ circuit.left  # (n_ids, d_head)
    chosen = columns(model.weights.W_U, ids)  # (d_model, n_ids)
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
    model.config.check_head(layer, head)
    config, block = model.config, model.weights.blocks[layer]
    x = normalised_embedding(model, ids)
    if block.norm1 is not None:
        x = x * block.norm1.gain
        x = x + block.norm1.bias if biases and block.norm1.bias is not None else x
    q = normalise_heads(config, block.norm_Q, project(x, block.W_Q, block.b_Q if biases else None))
    k = normalise_heads(config, block.norm_K, project(x, block.W_K, block.b_K if biases else None))
    asked, found = turned(config, q[head, :, :], offset), k[config.kv_head(head), :, :]  # (n_ids, d_head)
    scores = asked @ namespace(found).matrix_transpose(found) * config.score_scale(layer)
    return to_host(cap(scores, config.score_cap))


def _check_ids(config: Config, ids: Sequence[int]) -> None:
    for i in ids:
        if not 0 <= i < config.d_vocab:
            raise KavError(f"token id must be in 0..{config.d_vocab - 1}, got {i}")
