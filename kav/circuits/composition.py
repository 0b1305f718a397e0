"""How strongly one head's output is read by a later head: Q-, K- and V-composition from weights.

The earlier head writes through W_OV; the later head reads its queries (Q), keys (K) or values (V). The score is the
Frobenius norm of the product over the product of norms, and two matrices that have nothing to do with each other do
not score 0 but ``1 / sqrt(d_model)``, which is returned beside the values as the baseline to subtract.

Every product is ``L_1 (R_1 L_2) R_2`` with thin L and R. Replacing L_1 by its QR factor T_1 and R_2 by T_2^T leaves
the norm alone, so a pair costs one d_head x d_model x d_head product, and a layer's pairs one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kav.arrays import Array, namespace, to_host
from kav.circuits.factored import Factored
from kav.circuits.qk_ov import ov_factors, qk_factors
from kav.errors import KavError
from kav.model.model import Model
from kav.task import Task


@dataclass(frozen=True, eq=False)
class Composition:
    """Composition of all pairs of heads.

    Parameters
    ----------
    kind : str
        "Q", "K" or "V": what of the later head reads the earlier one.
    values : array, shape (n_layers, n_heads, n_layers, n_heads)
        ``values[from_layer, from_head, to_layer, to_head]`` in [0, 1]; NaN where the first is not upstream.
    baseline : float
        Root mean square score of independent matrices with the same singular values: ``1 / sqrt(d_model)``.
    offset : int
        Query position minus key position that a rotary model's W_QK was taken at.
    """

    kind: str
    values: np.ndarray
    baseline: float
    offset: int = 0


def composition(model: Model, kind: str = "K", *, offset: int = 0, task: Task | None = None) -> Composition:
    """Return the composition scores of all pairs of heads.

    Row convention: Q ``||W_OV^1 W_QK^2||``, K ``||W_OV^1 W_QK^2^T||``, V ``||W_OV^1 W_OV^2||``, each divided by the
    norms of its factors. Norm gains are folded in.

    Parameters
    ----------
    model : Model
    kind : str
        "Q", "K" or "V".
    offset : int
        For the W_QK of rotary models; see `kav.qk`.
    task : Task or None
        Told after each layer; may cancel.

    Returns
    -------
    Composition

    Raises
    ------
    KavError
        If `kind` is none of the three.

    References
    ----------
    Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", composition scores (there for columns).
    """
    if kind not in ("Q", "K", "V"):
        raise KavError(f'composition kind must be "Q", "K" or "V", got {kind!r}')
    config = model.config
    writers = _stacked(model, "V", 0)
    readers = writers if kind == "V" else _stacked(model, kind, offset)
    values = np.full((config.n_layers, config.n_heads, config.n_layers, config.n_heads), np.nan)
    for layer in range(config.n_layers - 1):
        values[layer, :, layer + 1 :, :] = _pairs(writers, readers, layer)
        if task is not None:
            task.report((layer + 1) / (config.n_layers - 1))
    return Composition(kind, values, config.d_model**-0.5, offset)


@dataclass(frozen=True)
class _Collapsed:
    """All heads' factors with one side replaced by its QR factor; lists over layers."""

    right: list[Array]  # T_1 R_1, (n_heads, d_head, d_model)
    left: list[Array]  # L_2 T_2^T, (n_heads, d_model, d_head)
    norms: list[Array]  # (n_heads,)


def _stacked(model: Model, kind: str, offset: int) -> _Collapsed:
    result = _Collapsed([], [], [])
    for layer in range(model.config.n_layers):
        products = [_circuit(model, kind, layer, head, offset) for head in range(model.config.n_heads)]
        xp: Any = namespace(products[0].left)
        left = xp.stack([p.left for p in products])  # (n_heads, d_model, d_head)
        right = xp.stack([p.right for p in products])  # (n_heads, d_head, d_model)
        core_left = xp.linalg.qr(left)[1]
        core_right = xp.linalg.qr(xp.matrix_transpose(right))[1]
        result.right.append(core_left @ right)
        result.left.append(left @ xp.matrix_transpose(core_right))
        core = core_left @ xp.matrix_transpose(core_right)
        result.norms.append(xp.sqrt(xp.sum(core * core, axis=(-2, -1))))
    return result


def _circuit(model: Model, kind: str, layer: int, head: int, offset: int) -> Factored:
    """The matrix whose rows are read: W_QK for Q, its transpose for K, W_OV for V."""
    if kind == "V":
        return ov_factors(model, layer, head)
    product = qk_factors(model, layer, head, offset)
    if kind == "Q":
        return product
    xp: Any = namespace(product.left)
    return Factored(xp.matrix_transpose(product.right), xp.matrix_transpose(product.left))


def _pairs(writers: _Collapsed, readers: _Collapsed, layer: int) -> np.ndarray:
    """Scores of one layer's heads with all later ones, shape (n_heads, n_later_layers, n_heads)."""
    xp: Any = namespace(writers.right[layer], readers.left[0])
    n_heads, d_head, d_model = writers.right[layer].shape
    rows = xp.reshape(writers.right[layer], (n_heads * d_head, d_model))
    later = []
    for left, norms in zip(readers.left[layer + 1 :], readers.norms[layer + 1 :], strict=True):
        columns = xp.reshape(xp.permute_dims(left, (1, 0, 2)), (d_model, -1))  # (d_model, n_heads * d_head)
        blocks = xp.reshape(rows @ columns, (n_heads, d_head, n_heads, -1))
        scale = writers.norms[layer][:, None] * norms[None, :]  # (n_heads, n_heads)
        product = xp.sqrt(xp.sum(blocks * blocks, axis=(1, 3)))
        later.append(product / xp.where(scale > 0, scale, xp.ones_like(scale)))
    return to_host(xp.stack(later, axis=1))
