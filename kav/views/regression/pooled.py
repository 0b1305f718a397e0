"""The smoother matrix of many samples: neighbours in x share a column, and rows are thinned out.

With windows of few samples every weight is taken and added to its column. With many, each column is up to eight bins of
neighbours: a bin's weight is that of its mean x times its count, whose relative error is a 24th of (bin width / h)^2.
There are as many bins as make that about 2e-4 where samples are evenly spread. Rows are scaled to sum to 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kav.regression.window import windows
from kav.views.regression.at_query import AtQuery

MOST = 400
"""Columns, and rows besides the query's."""
_MOST_BINS = 8
_BINS_WITHIN_H = 16
_PAIRS = 3_000_000


@dataclass(frozen=True, eq=False)
class Columns:
    """Samples in x order, and where each column begins among them.

    Parameters
    ----------
    x, y : array, shape (n,)
        In x order.
    order : array of int, shape (n,)
        Which sample each is.
    starts : array of int, shape (n_columns,)
    """

    x: np.ndarray
    y: np.ndarray
    order: np.ndarray
    starts: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Number of samples in each column."""
        return np.diff(np.append(self.starts, self.x.size))

    def query_places(self, x_query: float) -> tuple[np.ndarray, int]:
        """Return x of each row, x_query inserted in order, and the row where it is."""
        x = self.x[self.starts]
        row = int(np.searchsorted(x, x_query))
        return np.insert(x, row, x_query), row

    def keys(self, now: AtQuery) -> tuple[np.ndarray, int]:
        """Return the sample each column stands for, the one nearest to the query, and the selected one's column."""
        ends = np.append(self.starts[1:], self.x.size) - 1
        at = np.clip(np.full(ends.size, np.searchsorted(self.x, now.scene.x_query)), self.starts, ends)
        nearer = np.maximum(at - 1, self.starts)
        at = np.where(np.abs(self.x[nearer] - now.scene.x_query) < np.abs(self.x[at] - now.scene.x_query), nearer, at)
        keys = self.order[at].astype(np.int64)
        x, _ = now.scene.samples.pair(now.selected)
        if not now.whole:  # as it was rounded on the way
            x = (x - now.prepared.ordered.low) + now.prepared.ordered.low
        first, last = int(np.searchsorted(self.x, x, side="left")), int(np.searchsorted(self.x, x, side="right"))
        place = first + int(np.flatnonzero(self.order[first:last] == now.selected)[0])
        column = int(np.searchsorted(self.starts, place, side="right")) - 1
        keys[column] = now.selected
        return keys, column


def columns_of(now: AtQuery) -> Columns:
    """Return the samples in x order with one column each, or `MOST` groups of neighbours."""
    samples, n = now.scene.samples, now.n
    ordered, extras = now.prepared.ordered, now.prepared.extras
    if now.whole:
        order = np.argsort(samples.x, kind="stable")
        x, y = samples.x[order], samples.y[order]
    else:
        order = np.arange(ordered.n) if ordered.order is None else ordered.order
        rank = np.argsort(extras.x)
        at = np.searchsorted(ordered.x, extras.x[rank])
        x, y = ordered.x, ordered.y
        if extras.n:
            order = np.insert(order, at, extras.sample[rank])
            x, y = np.insert(x, at, extras.x[rank]), np.insert(y, at, extras.y[rank])
        x, y = x + ordered.low, ordered.shown(y)
    starts = np.arange(n) if n <= MOST else np.arange(MOST) * n // MOST
    return Columns(x, y, order, starts)


def pooled_rows(now: AtQuery, places: np.ndarray, columns: Columns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return log-kernel, weights and weights x response of groups of neighbours, all (n_rows, n_columns)."""
    asked = now.prepared.asked(now.scene.h, now.kernel)
    lo, hi = windows(now.prepared.ordered, now.prepared.coordinate(places), asked)
    few = int(np.sum(hi - lo)) <= _PAIRS
    log_K, K, K_y, top = _every_pair(now, places, columns) if few else _binned(now, places, columns)
    _scale_doses(now, places, columns, (K, K_y), top)
    total = K.sum(axis=1, keepdims=True)
    held = total > 0
    safe = np.where(held, total, 1.0)
    return log_K, np.where(held, K / safe, 0.0), np.where(held, K_y / safe, 0.0)


_Sums = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Largest log-kernel, sums of K and of K y (n_rows, n_columns), and the log of each row's scale (n_rows,)."""


def _binned(now: AtQuery, places: np.ndarray, columns: Columns) -> _Sums:
    per_column = int(
        np.clip(math.ceil(_BINS_WITHIN_H * (columns.x[-1] - columns.x[0]) / now.scene.h / MOST), 1, _MOST_BINS)
    )
    n_bins = columns.starts.size * per_column
    starts = np.arange(n_bins) * columns.x.size // n_bins
    count = np.diff(np.append(starts, columns.x.size))
    x, y = (np.add.reduceat(values, starts) / count for values in (columns.x, columns.y))
    log_K = now.prepared.log_kernel(places, x, now.scene.h, now.kernel.name)  # (n_rows, n_bins)
    top = log_K.max(axis=1)
    top = np.where(top > -np.inf, top, 0.0)
    by_column = np.arange(0, n_bins, per_column)
    K = np.exp(log_K - top[:, None]) * count
    sums = np.add.reduceat(K, by_column, axis=1), np.add.reduceat(K * y, by_column, axis=1)
    return np.maximum.reduceat(log_K, by_column, axis=1), *sums, top


def _every_pair(now: AtQuery, places: np.ndarray, columns: Columns) -> _Sums:
    n_columns = columns.starts.size
    scores = np.full((places.size, n_columns), -np.inf)
    K, K_y, tops = np.zeros((places.size, n_columns)), np.zeros((places.size, n_columns)), np.zeros(places.size)
    asked = now.prepared.asked(now.scene.h, now.kernel)
    lo, hi = windows(now.prepared.ordered, now.prepared.coordinate(places), asked)
    slack = now.prepared.extras.n  # places here count the extras as well
    for row in range(places.size):
        first, last = max(0, int(lo[row]) - slack), min(columns.x.size, int(hi[row]) + slack)
        if first >= last:
            continue
        log_K = now.prepared.log_kernel(places[row : row + 1], columns.x[first:last], now.scene.h, now.kernel.name)[0]
        column = np.searchsorted(columns.starts, np.arange(first, last), side="right") - 1
        begins = np.flatnonzero(np.diff(column, prepend=-1))
        at = column[begins]
        scores[row, at] = np.maximum.reduceat(log_K, begins)
        tops[row] = log_K.max() if log_K.max() > -np.inf else 0.0
        weight = np.exp(log_K - tops[row])
        K[row, at] = np.add.reduceat(weight, begins)
        K_y[row, at] = np.add.reduceat(weight * columns.y[first:last], begins)
    return scores, K, K_y, tops


def _scale_doses(
    now: AtQuery, places: np.ndarray, columns: Columns, sums: tuple[np.ndarray, np.ndarray], top: np.ndarray
) -> None:
    """Add what the scene's doses change, sample by sample."""
    for sample, dose in now.scene.doses:
        if not 0 <= sample < now.n:
            continue
        x, y = now.scene.samples.pair(sample)
        column = max(int(np.searchsorted(columns.x[columns.starts], x, side="right")) - 1, 0)
        log_K = now.prepared.log_kernel(places, np.asarray([x]), now.scene.h, now.kernel.name)[:, 0]
        change = (dose - 1) * np.exp(np.minimum(log_K - top, 700.0))
        sums[0][:, column] += change
        sums[1][:, column] += change * y
