"""Does a head's OV circuit map tokens to themselves? One number per head, from weights alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from kav.arrays import Array, namespace
from kav.circuits.factored import positive_share, small_eigenvalues
from kav.circuits.qk_ov import check_direct, folded, normalised_embedding, ov_factors, written
from kav.model.config import Block, Config
from kav.model.model import Model


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
        If the model has no such head, or heads do not write to the logits directly.

    References
    ----------
    Elhage et al. 2021, "Copying / eigenvalue analysis".
    """
    model.config.check_head(layer, head)
    return float(positive_share(copying_eigenvalues(model, layer, head)))


def copying_eigenvalues(model: Model, layer: int, head: int) -> np.ndarray:
    """Return the eigenvalues behind `copying_score`, largest modulus first, shape (d_head,), complex."""
    check_direct(model)
    circuit = ov_factors(model, layer, head)
    outputs = circuit.right @ folded(model.weights.W_U, model.weights.norm_final)  # (d_head, d_vocab)
    sources = normalised_embedding(model) @ circuit.left  # (d_vocab, d_head)
    return small_eigenvalues(outputs @ sources)


def copying_scores(model: Model) -> np.ndarray:
    """Return `copying_score` of every head, shape (n_layers, n_heads).

    All heads share the d_model x d_model product ``diag(gain_final) W_U E`` with the vocabulary summed out.

    Raises
    ------
    KavError
        If heads do not write to the logits directly.
    """
    check_direct(model)
    weights = model.weights
    shared = folded(weights.W_U @ normalised_embedding(model), weights.norm_final)  # (d_model, d_model)
    return np.stack([positive_share(small_eigenvalues(_cores(model.config, b, shared))) for b in weights.blocks])


def _cores(config: Config, block: Block, shared: Array) -> Array:
    """``W_O shared diag(gain) W_V`` of each head, shape (n_heads, d_head, d_head)."""
    xp: Any = namespace(shared, block.W_O)
    values = (
        block.W_V if block.norm1 is None else block.norm1.gain[:, None] * block.W_V
    )  # (n_kv_heads, d_model, d_head)
    per_query_head = xp.repeat(values, config.n_heads // config.n_kv_heads, axis=0)  # (n_heads, d_model, d_head)
    return (written(config, block, block.W_O) @ shared) @ per_query_head
