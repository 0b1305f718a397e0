"""Sums of the Gaussian, Laplace and exp-dot-product kernel over moment cells, in time that does not depend on n.

Around the centre c of a cell each of the three kernels is a short series in ``s = (x - c) / w``. With
``t = (x_query - c) / h`` and ``rho = w / h`` the Gaussian is the Hermite series

    exp(-(t - rho s)^2 / 2) = exp(-t^2 / 2) sum_j He_j(t) (rho s)^j / j!

(Greengard and Strain 1991, The fast Gauss transform, eq. 8), the other two are exponential series. A query takes the
coarsest level that is fine enough where it looks: with 8 terms and ``reach rho / 2 <= 1/2`` the series leaves out less
than 2e-7 of a weight at the far end of the reach and 1e-12 near the query, so that an average of y is exact to 1e-6 of
its largest value. Queries too far and bandwidths too small for the finest cells are left to `window.direct_sums`.
Exponents are relative to the nearest sample, as in `kav.smoother`: nothing underflows that counts.

Shapes: ``x_query (n_query,)`` in the coordinate of `Ordered.x`; runs of cells (n_query, n_run).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from kav.regression.cells import Cells
from kav.regression.window import Asked, Sums, direct_sums, nearest_distance, radius

DROPPED = 1e-9
"""Share of a query's weight beyond the reach."""
_FINE = 0.5
"""Largest ``reach rho / 2``, the argument of the series."""
_CELLS = 15_000


@dataclass(frozen=True)
class _Query:
    """Queries that use one level: their places, the nearest sample's distance, and what is asked."""

    cells: Cells
    level: int
    x: np.ndarray  # (n_query,)
    distance: np.ndarray  # (n_query,)
    asked: Asked
    origin: np.ndarray | None
    column: int

    @property
    def h(self) -> float:
        return self.asked.effective_h

    @property
    def width(self) -> float:
        return self.cells.width_of(self.level)

    @property
    def top(self) -> int:
        """The last cell."""
        return int(self.cells.levels[self.level].shape[-1]) - 1

    def of(self, rows: slice | np.ndarray, level: int | None = None) -> _Query:
        """Some of the queries, at this level or another."""
        origin = None if self.origin is None else self.origin[rows]
        level = self.level if level is None else level
        return replace(self, x=self.x[rows], distance=self.distance[rows], origin=origin, level=level)

    def reach(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last cell that count; the first may be top + 1, the last -1."""
        reach = radius(self.asked.kernel, self.distance / self.h, self.cells.ordered.n, dropped=DROPPED) * self.h
        first = np.clip(np.floor((self.x - reach) / self.width), 0, self.top + 1)
        last = np.clip(np.floor((self.x + reach) / self.width), -1, self.top)
        return first.astype(int), last.astype(int)


def cell_sums(
    cells: Cells, x_query: np.ndarray, asked: Asked, *, origin: np.ndarray | None = None, column: int = 1
) -> Sums:
    """Return the sums at each query from the cells; where those are too coarse, pair by pair.

    Parameters
    ----------
    x_query : array, shape (n_query,)
        In the coordinate of `Ordered.x`, in any order.
    asked : Asked
        Gaussian, Laplace or exp-dot-product; `order` > 0 only for the Gaussian.
    origin : array, shape (n_query,), or None
        As in `direct_sums`.
    column : int
        What is averaged: 1 = y, 2 = y^2 (not where the cells are too coarse).

    Returns
    -------
    Sums
        Averages of y are exact to 1e-6 of its largest value.
    """
    out = np.zeros((3, x_query.size))
    level, distance = _level_of(cells, x_query, asked)
    whole = _Query(cells, 0, x_query, distance, asked, origin, column)
    for one in np.unique(level):
        rows = np.flatnonzero(level == one)
        if one >= 0:
            out[:, rows] = _SERIES[asked.kernel.name](whole.of(rows, int(one)))
            continue
        rows = rows[np.argsort(x_query[rows])]
        exact = direct_sums(cells.ordered, x_query[rows], asked, origin=None if origin is None else origin[rows])
        out[:, rows] = exact.log_scale, exact.mass, exact.moment
    return Sums(*out)


def _level_of(cells: Cells, x_query: np.ndarray, asked: Asked) -> tuple[np.ndarray, np.ndarray]:
    """Coarsest level that is fine enough for each query, -1 if none is, and the distance to the nearest sample."""
    h, x = asked.effective_h, cells.ordered.x
    if asked.kernel.log_K is None:
        steepness = np.abs((x_query + asked.low) / h) / h
        wanted = 2 * _FINE / np.maximum(steepness, 1e-300)
        distance = np.zeros(x_query.shape)
    else:
        distance, _ = nearest_distance(x, x_query)
        fine = _FINE / 2 if asked.order else _FINE  # moments of x take two terms of the series
        reach = radius(asked.kernel, distance / h, x.size, dropped=DROPPED)
        wanted = 2 * fine * h / (reach if asked.kernel.name == "gaussian" else np.ones(x_query.shape))
    level = np.floor(np.log2(np.clip(wanted / cells.width, 2.0**-20, 2.0**60)))
    return np.clip(level, -1, len(cells.levels) - 1).astype(int), distance


def _gaussian(query: _Query) -> np.ndarray:
    """Left and right of the query apart: between them there may be a gap of many cells."""
    x = query.cells.ordered.x
    right = np.searchsorted(x, query.x)
    before = np.where(right > 0, x[np.maximum(right - 1, 0)] // query.width, -1).astype(int)
    after = np.where(right < x.size, x[np.minimum(right, x.size - 1)] // query.width, query.top + 1).astype(int)
    gap = after - before > 3  # else one run; an end may be one cell off by rounding, and empty cells do no harm
    before, after = np.where(gap, before + 1, before), np.where(gap, after - 1, before + 1)
    first, last = query.reach()
    sums = np.zeros((2, query.x.size))
    sides = ((first, np.minimum(before, last)), (np.maximum(after, first), last))
    for a, b in sides if np.any(gap) else ((first, last),):
        for rows in _row_blocks(a, b):
            sums[:, rows] += _hermite_run(query.of(rows), a[rows], b[rows])
    return np.stack([-0.5 * np.minimum(query.distance / query.h, 1e150) ** 2, *sums])


def _row_blocks(a: np.ndarray, b: np.ndarray) -> list[slice]:
    """Blocks of queries whose runs of cells fit into one small matrix."""
    longest = int((b - a).max(initial=-1)) + 1
    if longest <= 0:
        return []
    n_rows = max(1, _CELLS // longest)
    return [slice(start, start + n_rows) for start in range(0, a.size, n_rows)]


def _run(M: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start of each run, its cells (n_query, n_run), and which of them lie between a and b."""
    longest = min(max(int((b - a).max(initial=0)) + 1, 1), M.shape[-1])
    start = np.clip(a, 0, M.shape[-1] - longest)
    cell = start[:, None] + np.arange(longest)[None, :]
    return start, cell, (cell >= a[:, None]) & (cell <= b[:, None])


def _gather(moments: np.ndarray, start: np.ndarray, n_run: int) -> np.ndarray:
    """The cells of each run, (n_query, n_run); `moments` (n_cells,) is contiguous.

    Overlapping rows of one buffer, as `sliding_window_view` makes them at many times the cost of a short run.
    """
    runs = np.ndarray((moments.size - n_run + 1, n_run), moments.dtype, moments, strides=moments.strides * 2)
    return np.asarray(runs[start])


def _hermite_run(query: _Query, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Sums over the cells a to b of each query, relative to the nearest sample, (2, n_query)."""
    M, order = query.cells.levels[query.level], query.asked.order
    rho = query.width / query.h
    start, cell, held = _run(M, a, b)
    centre = (cell + 0.5) * query.width
    t = (query.x[:, None] - centre) / query.h
    d = (query.distance / query.h)[:, None]
    offset = None if query.origin is None or not order else (centre - query.origin[:, None]) / query.h
    sums = np.zeros((2, query.x.size))
    for j, T in enumerate(hermite_terms(t, d, held, rho, M.shape[1] - order, nearer=2 * _FINE + 1)):
        for at, which in enumerate((0, query.column)):
            moments = [_gather(M[which, j + i], start, cell.shape[1]) for i in range(order + 1 if order else 1)]
            sums[at] += np.einsum("qc,qc->q", T, _around(moments, offset, rho))
    return sums


def hermite_terms(
    t: np.ndarray, distance: np.ndarray, held: np.ndarray, rho: float, n: int, *, nearer: float
) -> Iterator[np.ndarray]:
    """Return the first n of ``He_j(t) rho^j / j!`` times the weight, relative to that of the nearest sample.

    Parameters
    ----------
    t : array, shape (n_query, n_run)
        From query to cell, in bandwidths.
    distance : array, shape (n_query, 1)
        To the nearest sample, in bandwidths.
    held : array of bool, shape (n_query, n_run)
        Which cells count.
    nearer : float
        Largest exponent: cells nearer than the nearest sample are empty.
    """
    exponent = np.minimum(0.5 * (distance - np.abs(t)) * (distance + np.abs(t)), nearer)
    T = np.where(held, np.exp(exponent), 0.0)
    earlier, t_rho = np.zeros_like(T), t * rho
    for j in range(n):
        yield T
        earlier, T = T, (t_rho * T - rho * rho * earlier) / (j + 1)


def _around(moments: list[np.ndarray], offset: np.ndarray | None, rho: float) -> np.ndarray:
    """``sum s^j ((x - origin) / h)^order`` from the moments j to j + order: ``(x - origin) / h = offset + rho s``."""
    if offset is None:
        return moments[0]
    order = len(moments) - 1
    terms = (comb(order, i) * rho**i * offset ** (order - i) * moments[i] for i in range(order + 1))
    return np.asarray(sum(terms))


def _laplace(query: _Query) -> np.ndarray:
    """Whole cells on either side, then finer and finer ones down to the samples of the query's own finest cell."""
    cells, n_finest = query.cells, query.cells.levels[0].shape[-1]
    finest = np.clip(np.floor(query.x / cells.width), -1, n_finest).astype(int)
    here = finest >> query.level
    first, last = query.reach()
    sums = np.zeros((2, query.x.size))
    for side, a, b in ((1.0, first, np.minimum(here - 1, last)), (-1.0, np.maximum(here + 1, first), last)):
        for rows in _row_blocks(a, b):
            sums[:, rows] += _exponential_run(query.of(rows), side, a[rows], b[rows])
    within = np.flatnonzero((finest >= 0) & (finest < n_finest))
    inner = query.of(within)
    sums[:, within] += _siblings(inner, finest[within]) + _own_cell(inner, finest[within])
    return np.stack([-query.distance / query.h, *sums])


def _siblings(query: _Query, finest: np.ndarray) -> np.ndarray:
    """Laplace sums over the query's cell at its level, all but the finest cell: the other half at each finer level."""
    cells, levels = query.cells, np.arange(query.level)
    if not levels.size or not finest.size:
        return np.zeros((2, finest.size))
    sibling = (finest[:, None] >> levels[None, :]) ^ 1  # (n_query, n_levels)
    width = cells.width * 2.0**levels
    away = np.abs(query.x[:, None] - (sibling + 0.5) * width)
    weight = np.exp(np.minimum((query.distance[:, None] - away) / query.h, 2 * _FINE + 1))
    step = np.where(sibling % 2 == 0, 1.0, -1.0) * width / query.h  # an even sibling lies left of the query
    # moments of every sibling, last axes (n_query, n_levels)
    M = np.stack([cells.levels[level][:, :, sibling[:, level]] for level in levels], axis=-1)
    sums = np.zeros((2, finest.size))
    for j in range(M.shape[1]):
        for at, which in enumerate((0, query.column)):
            sums[at] += np.einsum("ql,ql->q", weight, M[which, j])
        weight = weight * step / (j + 1)
    return sums


def _exponential_run(query: _Query, side: float, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Laplace sums over cells left (side 1) or right (-1) of each query: ``exp(-|t|) sum_j (side rho s)^j / j!``."""
    if not a.size:
        return np.zeros((2, 0))
    M = query.cells.levels[query.level]
    start, cell, held = _run(M, a, b)
    away = np.abs(query.x[:, None] - (cell + 0.5) * query.width)
    exponent = np.minimum((query.distance[:, None] - away) / query.h, 2 * _FINE + 1)
    step = np.full(query.x.size, side * query.width / query.h)
    return _exponential_series(M, np.where(held, np.exp(exponent), 0.0), start, step, query.column)


def _exponential_series(
    M: np.ndarray, weight: np.ndarray, start: np.ndarray, step: np.ndarray, column: int
) -> np.ndarray:
    """``sum over cells of weight sum_j step^j / j! M_j`` for 1 and for the column, (2, n_query)."""
    sums, factor = np.zeros((2, start.size)), np.ones(start.size)
    for j in range(M.shape[1]):
        for at, which in enumerate((0, column)):
            sums[at] += factor * np.einsum("qc,qc->q", weight, _gather(M[which, j], start, weight.shape[1]))
        factor = factor * step / (j + 1)
    return sums


def _own_cell(query: _Query, finest: np.ndarray) -> np.ndarray:
    """Sums over the samples of the finest cell in which the query lies, pair by pair."""
    starts, ordered = query.cells.starts, query.cells.ordered
    first, last = starts[finest], starts[finest + 1]
    widest = int((last - first).max(initial=0))
    if widest == 0:
        return np.zeros((2, finest.size))
    sums = np.zeros((2, finest.size))
    n_rows = max(1, _CELLS // widest)
    for start in range(0, finest.size, n_rows):
        rows = slice(start, start + n_rows)
        places = first[rows, None] + np.arange(int((last[rows] - first[rows]).max()))[None, :]
        held = places < last[rows, None]
        np.minimum(places, ordered.n - 1, out=places)
        away = np.abs(query.x[rows, None] - ordered.x[places])
        K = np.where(held, np.exp(np.minimum((query.distance[rows, None] - away) / query.h, 0.0)), 0.0)
        sums[0, rows] = K.sum(axis=1)
        sums[1, rows] = np.sum(K * ordered.y[places] ** query.column, axis=1)
    return sums


def _exp_dot_product(query: _Query) -> np.ndarray:
    """``exp(a x)`` with a = x_query / h^2: only the end counts towards which a points."""
    M, ordered = query.cells.levels[query.level], query.cells.ordered
    a = (query.x + query.asked.low) / query.h / query.h
    end = np.where(a > 0, ordered.x[-1], ordered.x[0])
    reach = np.log(ordered.n / DROPPED) / np.maximum(np.abs(a), 1e-300)
    first = np.clip(np.floor((end - np.where(a > 0, reach, 0)) / query.width) - 1, 0, query.top).astype(int)
    last = np.clip(np.floor((end + np.where(a > 0, 0, reach)) / query.width) + 1, 0, query.top).astype(int)
    sums = np.zeros((2, query.x.size))
    for rows in _row_blocks(first, last):
        start, cell, held = _run(M, first[rows], last[rows])
        exponent = a[rows, None] * ((cell + 0.5) * query.width - end[rows, None])
        weight = np.where(held, np.exp(np.minimum(exponent, 2 * _FINE + 1)), 0.0)
        sums[:, rows] += _exponential_series(M, weight, start, a[rows] * query.width, query.column)
    return np.stack([a * end, *sums])


_SERIES = {"gaussian": _gaussian, "laplace": _laplace, "exp-dot-product": _exp_dot_product}
