"""Attention, regression scene: the smoother matrix of the samples, and the gallery of kernels.

Columns are the samples in x order. Rows are queries in x order: every sample's x, and x_query itself, inserted where
it belongs; that row, computed at x_query and nowhere else, is the framed one. Beyond 400 samples, neighbours in x share
a column (their weights add up) and rows are thinned out, x_query's kept (`kav.views.regression.pooled`).
"""

from __future__ import annotations

import numpy as np

from kav.regression.kernels import KERNELS, Kernel
from kav.task import Task
from kav.views.attention import Cell, KernelShape, Result, Spec
from kav.views.regression.at_query import AtQuery, at_query, before, sample_piece
from kav.views.regression.pooled import Columns, columns_of, pooled_rows
from kav.views.shading import level, shade
from kav.views.words import Label, MadeLabels, Piece, Reading, share, was

MOST_PAIRED = 1_000
"""Samples up to which the whole matrix is taken and its columns added up."""
DOT_PRODUCT = "exp(x·xᵢ)"
"""Name of the exp-dot-product kernel where a tile of the gallery has no room for more."""
SHAPE_U = np.linspace(-3, 3, 121)


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the smoother matrix; the gallery never changes."""
    now = at_query(spec.scene)
    was_ = before(now)
    columns = columns_of(now)
    places, query = columns.query_places(now.scene.x_query)
    scores, weights, shares = _rows(now, places, columns)
    values, visible, diverging = _values(spec, scores, weights, shares=shares)
    top = level(values, visible, diverging=diverging)
    shading = spec.shading if spec.stage == "pattern" else "linear"
    keys, column = columns.keys(now)
    cell = (query, column)
    return Result(
        kind="regression",
        reading=_reading(now, was_),
        shading=shading,
        changed=was_ is not None,
        query_labels=MadeLabels(places.size, lambda at: Label(f"x = {now.x_text(float(places[at]))}")),
        key_labels=_key_labels(now, columns, keys),
        values=np.where(visible, values, 0.0),
        shade=shade(values, visible, shading=shading, top=top),
        visible=visible,
        levels=(-top, top) if diverging else (0.0, top),
        diverging=diverging,
        scores=scores,
        weights=weights,
        query=query,
        key=column,
        cell=Cell(float(scores[cell]), float(weights[cell]), float(weights[query].sum() - weights[cell])),
        gallery=last.gallery if last is not None and last.gallery else gallery(),
        kernel=now.kernel.name,
        query_axis=places,
        key_axis=now.scene.samples.take(keys)[0],
        sample_of_key=keys,
    )


def gallery() -> tuple[KernelShape, ...]:
    """Return every kernel's shape over u, peak scaled to 1, in the order of `KERNELS`.

    The exp-dot-product kernel is no function of u: its shape is over the product x xᵢ/h² in the place of u.
    """
    return tuple(_shape(kernel) for kernel in KERNELS.values())


def _shape(kernel: Kernel) -> KernelShape:
    if kernel.log_K is None:
        log_K, title = kernel.log_kernel(np.ones(1), SHAPE_U, 1.0)[0], DOT_PRODUCT
    else:
        log_K, title = kernel.log_K(SHAPE_U), kernel.title
    return KernelShape(kernel.name, title, SHAPE_U, np.exp(log_K - log_K.max()))


def _rows(now: AtQuery, places: np.ndarray, columns: Columns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log-kernel (the largest of a group), weights and weights x response (sums), all (n_rows, n_columns)."""
    if now.n > MOST_PAIRED:
        return pooled_rows(now, places, columns)
    order, starts = columns.ordered.samples(np.arange(now.n)), columns.starts
    scores, weights, shares = (np.empty((places.size, starts.size)) for _ in range(3))
    observed, weigh = now.observed, now.weigh
    for rows in observed.row_blocks(places.size):
        block = observed.log_kernel(places[rows])
        w = weigh(block)
        weights[rows] = _grouped(w[:, order], starts)
        shares[rows] = _grouped((w * observed.y)[:, order], starts)
        block = block[:, order]
        scores[rows] = block if starts.size == order.size else np.maximum.reduceat(block, starts, axis=-1)
    return scores, weights, shares


def _grouped(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums over the columns' groups, along the last axis."""
    return values if starts.size == values.shape[-1] else np.add.reduceat(values, starts, axis=-1)


def _values(
    spec: Spec, scores: np.ndarray, weights: np.ndarray, *, shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray, bool]:
    """What the matrix shows, which cells exist, and whether it is signed.

    A compact kernel's zeros are weights like any other. Only a row without any weight is undefined: it is hatched.
    """
    if spec.stage != "pattern":
        visible = scores > -np.inf
        return np.where(visible, scores, 0.0), visible, True
    visible = np.broadcast_to(np.any(weights != 0, axis=-1, keepdims=True), weights.shape)
    if spec.weighting == "weight":
        return weights, visible, bool(np.any(weights < 0))
    return (np.abs(shares), visible, False) if spec.weighting == "message" else (shares, visible, True)


def _key_labels(now: AtQuery, columns: Columns, keys: np.ndarray) -> MadeLabels:
    """Names of the columns: a sample, or how many share it."""
    if columns.starts.size == now.n:
        return MadeLabels(keys.size, lambda at: now.label(int(keys[at])))
    sizes, x = columns.sizes, columns.x
    return MadeLabels(keys.size, lambda at: Label(f"{sizes[at]:,} samples from x = {now.x_text(float(x[at]))}"))


def _reading(now: AtQuery, was_: AtQuery | None) -> Reading:
    here: Reading = (Piece("The row at "), now.query_piece())
    if not now.defined:
        return (*here, Piece(" is empty: no observation has positive weight"))
    best = int(now.held[np.argmax(now.weights)])
    weight = float(now.weights[now.place])
    end: Reading = () if was_ is None else was(share(float(was_.weights[was_.place])), share(weight))
    hardest: Reading = (Piece(" looks hardest at "), sample_piece(best, now), Piece(f" ({share(now.weights.max())})"))
    if best == now.selected:
        return (*here, *hardest, *end)
    also = ", hardly at " if abs(weight) < 0.001 else ", also at "
    return (*here, *hardest, Piece(also), sample_piece(now.selected, now), Piece(f" ({share(weight)})"), *end)
