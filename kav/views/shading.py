"""From values to shades: linear, logarithmic, or by rank within each row, so that a sink does not hide the rest."""

from __future__ import annotations

import numpy as np

DECADES = 4
"""How many powers of ten below the largest value the logarithmic shading still tells apart."""


def level(values: np.ndarray, visible: np.ndarray, *, diverging: bool, whole: float | None = None) -> float:
    """Return the value at the end of the colour bar: the largest size among visible cells, or `whole` (1 for weights).

    1 where everything visible is 0.
    """
    if whole is not None:
        return whole
    seen = np.abs(values[visible]) if diverging else values[visible]
    largest = float(seen.max()) if seen.size else 0.0
    return largest if largest > 0 else 1.0


def shade(values: np.ndarray, visible: np.ndarray, *, shading: str, top: float) -> np.ndarray:
    """Return shades in [0, 1], or [-1, 1] for signed values; 0 stays 0 and excluded cells are 0.

    Parameters
    ----------
    values : array, shape (n_queries, n_keys)
    visible : array of bool, same shape
    shading : str
        "linear": value / top. "log": the last `DECADES` powers of ten below top. "rank": place in the row's order of
        size, the largest at 1, equal sizes at the same place; in squares of a long prompt's matrix, among the squares.
    top : float
        `level`.

    Returns
    -------
    array, same shape
    """
    values = np.where(visible, values, 0.0)
    if shading == "rank":
        return np.asarray(np.sign(values) * _ranks(np.abs(values), visible))
    size = np.minimum(np.abs(values) / top, 1.0)
    if shading == "log":
        size = np.where(size > 0, np.maximum(0.0, 1 + np.log10(np.where(size > 0, size, 1.0)) / DECADES), 0.0)
    return np.asarray(np.sign(values) * size)


def _ranks(sizes: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """For each cell the share of its row's visible cells that are not larger."""
    ordered = np.sort(np.where(visible, sizes, np.inf), axis=1)
    rows = [np.searchsorted(ordered[i], sizes[i], side="right") for i in range(len(sizes))]
    n_visible = np.maximum(visible.sum(axis=1, keepdims=True), 1)
    return np.where(visible, np.asarray(rows).reshape(sizes.shape) / n_visible, 0.0)


def pool(cells: np.ndarray, most: int) -> np.ndarray:
    """Return the matrix with at most `most` rows and columns, blocks pooled by their maximum so that peaks stay."""
    for axis in (0, 1):
        n = cells.shape[axis]
        if n > most:
            starts = np.linspace(0, n, most, endpoint=False).astype(int)
            cells = np.maximum.reduceat(cells, starts, axis=axis)
    return cells
