"""Attention, regression scene: the smoother matrix of the samples, and the gallery of kernels.

Columns are the samples in x order. Rows are queries in x order: every sample's x, and x_query itself, inserted where
it belongs; that row, computed at x_query and nowhere else, is the framed one. Beyond `MOST` samples, neighbours in x
share a column (their weights add up) and rows are thinned out, x_query's kept.
"""

from __future__ import annotations

import numpy as np

from kav.regression.kernels import KERNELS
from kav.task import Task
from kav.views.attention import KernelShape, Result, Spec
from kav.views.regression.at_query import AtQuery, at_query, before, sample_name
from kav.views.shading import level, shade
from kav.views.words import Label, Piece, Reading, share, was

MOST = 400
SHAPE_U = np.linspace(-3, 3, 121)


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the smoother matrix; the gallery never changes."""
    now, was_ = at_query(spec.scene), before(spec.scene)
    order = np.argsort(now.observed.x, kind="stable")  # sample of each place in x order
    starts = _starts(order.size)
    places, query = _query_places(now, order[starts])
    scores, weights, shares = _rows(now, places, order=order, starts=starts)
    values, visible, diverging = _values(spec, scores, weights, shares=shares)
    top = level(values, visible, diverging=diverging)
    shading = spec.shading if spec.stage == "pattern" else "linear"
    keys, column = _columns(now, order, starts)
    return Result(
        kind="regression",
        reading=_reading(now, was_),
        query_labels=tuple(Label(f"x = {now.x_text(float(x))}") for x in places),
        key_labels=_key_labels(now, order, starts=starts),
        values=np.where(visible, values, 0.0),
        shade=shade(values, visible, shading=shading, top=top),
        visible=visible,
        levels=(-top, top) if diverging else (0.0, top),
        diverging=diverging,
        scores=scores,
        weights=weights,
        query=query,
        key=column,
        gallery=last.gallery if last is not None and last.gallery else gallery(),
        kernel=now.kernel.name,
        query_axis=places,
        key_axis=now.observed.x[keys],
        sample_of_key=keys,
    )


def gallery() -> tuple[KernelShape, ...]:
    """Return every kernel that has a shape over u, peak scaled to 1, in the order of `KERNELS`."""
    zero = np.zeros(1)
    return tuple(
        KernelShape(kernel.name, kernel.title, SHAPE_U, np.exp(kernel.log_K(SHAPE_U) - kernel.log_K(zero)[0]))
        for kernel in KERNELS.values()
        if kernel.log_K is not None
    )


def _starts(n: int) -> np.ndarray:
    """Where the columns begin in x order: one each, or `MOST` groups of neighbours."""
    return np.arange(n) if n <= MOST else np.arange(MOST) * n // MOST


def _grouped(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums over the columns' groups, along the last axis."""
    return values if starts.size == values.shape[-1] else np.add.reduceat(values, starts, axis=-1)


def _query_places(now: AtQuery, row_samples: np.ndarray) -> tuple[np.ndarray, int]:
    """x of each row, x_query inserted in order, and the row where it is."""
    x = now.observed.x[row_samples]
    row = int(np.searchsorted(x, now.scene.x_query))
    return np.insert(x, row, now.scene.x_query), row


def _rows(
    now: AtQuery, places: np.ndarray, *, order: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log-kernel (the largest of a group), weights and weights x response (sums), all (n_rows, n_columns)."""
    scores, weights, shares = (np.empty((places.size, starts.size)) for _ in range(3))
    for rows in now.observed.row_blocks(places.size):
        block = now.observed.log_kernel(places[rows])
        w = now.weigh(block)
        weights[rows] = _grouped(w[:, order], starts)
        shares[rows] = _grouped((w * now.observed.y)[:, order], starts)
        block = block[:, order]
        scores[rows] = block if starts.size == order.size else np.maximum.reduceat(block, starts, axis=-1)
    return scores, weights, shares


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


def _columns(now: AtQuery, order: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, int]:
    """The sample each column stands for (a group's heaviest at the query), and the column of the selected one."""
    keys = order[starts].copy()
    ends = [*starts[1:], order.size]
    if starts.size < order.size:
        for column, (start, end) in enumerate(zip(starts, ends, strict=True)):
            keys[column] = order[start + int(np.argmax(now.weights[order[start:end]]))]
    place = int(np.flatnonzero(order == now.selected)[0])
    column = int(np.searchsorted(starts, place, side="right")) - 1
    keys[column] = now.selected
    return keys, column


def _key_labels(now: AtQuery, order: np.ndarray, *, starts: np.ndarray) -> tuple[Label, ...]:
    """Names of the columns: a sample, or how many share it."""
    if starts.size == order.size:
        return tuple(now.label(int(index)) for index in order)
    sizes = np.diff([*starts, order.size])
    return tuple(
        Label(f"{size} samples from x = {now.x_text(float(now.observed.x[order[start]]))}")
        for start, size in zip(starts, sizes, strict=True)
    )


def _reading(now: AtQuery, was_: AtQuery | None) -> Reading:
    here: Reading = (Piece("The row at "), now.query_piece())
    if not np.any(now.weights != 0):
        return (*here, Piece(" is empty: no observation has positive weight"))
    best = int(np.argmax(now.weights))
    chosen = now.selected
    weight = float(now.weights[chosen])
    end: Reading = () if was_ is None else (was(share(float(was_.weights[chosen]))),)
    key = Piece(sample_name(chosen), "key", strong=True, mark="key")
    if best == chosen:
        return (*here, Piece(" looks hardest at "), key, Piece(f" ({share(weight)})"), *end)
    rest = f", hardest at {sample_name(best)} ({share(float(now.weights[best]))})"
    return (*here, Piece(" looks at "), key, Piece(f" ({share(weight)})"), *end, Piece(rest))
