"""The smoother matrix of many samples: neighbours in x share a column, and rows are thinned out.

With windows of few samples every weight is taken and added to its column. With many, each column is up to eight bins of
neighbours: a bin's weight is that of its mean x times its count, whose relative error is a 24th of (bin width / h)^2.
There are as many bins as make that about 2e-4 where samples are evenly spread. Rows are scaled to sum to 1.

Columns and bins belong to the samples that are not held apart and are kept with them, so that a step of a drag costs
the same at any n; a sample held apart is added to the column it lies in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kav.regression.extras import NONE, Extras
from kav.regression.ordered import Ordered
from kav.regression.window import windows
from kav.views.regression.at_query import AtQuery

MOST = 400
"""Columns, and rows besides the query's."""
_MOST_BINS = 8
_BINS_WITHIN_H = 16
_PAIRS = 3_000_000
_CELLS = 15_000
"""Pairs of one block: below 128 kB an array is reused from the heap, above it is mapped and cleared anew."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Samples in x order, where each column begins among them, and the samples held apart.

    Parameters
    ----------
    ordered : Ordered
    starts : array of int, shape (n_columns,)
    extras : Extras
        Each belongs to the column it lies in.
    """

    ordered: Ordered
    starts: np.ndarray
    extras: Extras = NONE

    @property
    def x(self) -> np.ndarray:
        """First x of each column, in the data's own numbers."""
        return np.asarray(self.ordered.x[self.starts] + self.ordered.low)

    @property
    def of_extras(self) -> np.ndarray:
        """The column of each sample held apart."""
        return self.column_at(self.extras.x)

    @property
    def sizes(self) -> np.ndarray:
        """Number of samples in each column."""
        own = np.diff(np.append(self.starts, self.ordered.n))
        return np.asarray(own + np.bincount(self.of_extras, minlength=self.starts.size))

    def column_at(self, x: np.ndarray) -> np.ndarray:
        """Return the column in which places in the coordinate of `ordered` lie."""
        return np.maximum(np.searchsorted(self.ordered.x[self.starts], x, side="right") - 1, 0)

    def query_places(self, x_query: float) -> tuple[np.ndarray, int]:
        """Return x of each row, x_query inserted in order, and the row where it is."""
        x = self.x
        row = int(np.searchsorted(x, x_query))
        return np.insert(x, row, x_query), row

    def keys(self, now: AtQuery) -> tuple[np.ndarray, int]:
        """Return the sample each column stands for, the one nearest to the query, and the selected one's column."""
        x, query = self.ordered.x, now.scene.x_query - self.ordered.low
        ends = np.append(self.starts[1:], x.size) - 1
        at = np.clip(np.full(ends.size, np.searchsorted(x, query)), self.starts, ends)
        nearer = np.maximum(at - 1, self.starts)
        at = np.where(np.abs(x[nearer] - query) < np.abs(x[at] - query), nearer, at)
        keys = self.ordered.samples(at)
        column = self._column_of(now.selected, now.scene.samples.pair(now.selected)[0])
        keys[column] = now.selected
        return keys, column

    def _column_of(self, sample: int, x: float) -> int:
        apart = np.flatnonzero(self.extras.sample == sample)
        if apart.size:
            return int(self.of_extras[apart[0]])
        return int(np.searchsorted(self.starts, self.ordered.place_of(sample, x), side="right")) - 1


def columns_of(now: AtQuery) -> Columns:
    """Return the samples in x order with one column each, or `MOST` groups of neighbours."""
    if not now.whole:
        ordered = now.prepared.ordered
        return Columns(ordered, _groups(ordered.n), now.prepared.extras)
    samples = now.scene.samples
    order = np.argsort(samples.x, kind="stable")
    return Columns(Ordered(samples.x[order], samples.y[order], order, 0.0, 0.0, 1.0), _groups(now.n))


def _groups(n: int) -> np.ndarray:
    return np.arange(n) if n <= MOST else np.arange(MOST) * n // MOST


def pooled_rows(now: AtQuery, places: np.ndarray, columns: Columns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return log-kernel, weights and weights x response of groups of neighbours, all (n_rows, n_columns)."""
    asked = now.prepared.asked(now.scene.h, now.kernel)
    lo, hi = windows(columns.ordered, places - columns.ordered.low, asked)
    if int(np.sum(hi - lo)) <= _PAIRS:
        sums = _every_pair(now, places, columns, lo, hi)
    else:
        sums = _binned(now, places, columns)
    log_K, K, K_y, top = _with_extras(now, places, columns, sums)
    _scale_doses(now, places, columns, (K, K_y), top)
    total = K.sum(axis=1, keepdims=True)
    held = total > 0
    K /= np.where(held, total, np.inf)
    K_y /= np.where(held, total, np.inf)
    return log_K, K, K_y


_Sums = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Largest log-kernel, sums of K and of K y (n_rows, n_columns), and the log of each row's scale (n_rows,)."""


def _log_kernel(now: AtQuery, places: np.ndarray, x: np.ndarray) -> np.ndarray:
    return now.prepared.log_kernel(places, x, now.scene.h, now.kernel.name)


def _binned(now: AtQuery, places: np.ndarray, columns: Columns) -> _Sums:
    ordered = columns.ordered
    length = float(ordered.x[-1] - ordered.x[0])
    per_column = int(np.clip(math.ceil(_BINS_WITHIN_H * length / now.scene.h / MOST), 1, _MOST_BINS))
    n_bins = columns.starts.size * per_column
    if now.whole:
        count, x, y = _bins(ordered, n_bins)
    else:  # the same for every query and bandwidth, and for every step of a drag
        count, x, y = now.prepared.core.kept(("bins", n_bins), lambda: _bins(ordered, n_bins))
    log_K = _log_kernel(now, places, x)  # (n_rows, n_bins)
    top = log_K.max(axis=1)
    top = np.where(top > -np.inf, top, 0.0)
    K = np.exp(log_K - top[:, None])
    K *= count
    K_y = K * y
    if per_column == 1:
        return log_K, K, K_y, top
    by_column = np.arange(0, n_bins, per_column)
    sums = np.add.reduceat(K, by_column, axis=1), np.add.reduceat(K_y, by_column, axis=1)
    return np.maximum.reduceat(log_K, by_column, axis=1), *sums, top


def _bins(ordered: Ordered, n_bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number of samples, mean x and mean response of groups of neighbours, each (n_bins,)."""
    starts = np.arange(n_bins) * ordered.n // n_bins
    count = np.diff(np.append(starts, ordered.n))
    x, y = (np.add.reduceat(values, starts) / count for values in (ordered.x, ordered.y))
    return count, x + ordered.low, ordered.shown(y)


def _every_pair(now: AtQuery, places: np.ndarray, columns: Columns, lo: np.ndarray, hi: np.ndarray) -> _Sums:
    """Neighbouring rows share a block of samples; what it holds beyond a row's window has no weight to speak of."""
    ordered, shape = columns.ordered, (places.size, columns.starts.size)
    scores, K, K_y = np.full(shape, -np.inf), np.zeros(shape), np.zeros(shape)
    tops = np.zeros(places.size)
    there = _there(now, ordered)
    row = 0
    while row < places.size:
        n_rows = max(1, min(places.size - row, _CELLS // max(1, int(hi[row] - lo[row]))))
        rows = slice(row, row + n_rows)
        row += n_rows
        first, last = int(lo[rows].min()), int(hi[rows].max())
        if first >= last:
            continue
        column = int(np.searchsorted(columns.starts, first, side="right")) - 1
        end = int(np.searchsorted(columns.starts, last))
        begins = np.maximum(columns.starts[column:end] - first, 0)
        log_K = _log_kernel(now, places[rows], ordered.x[first:last] + ordered.low)
        scores[rows, column:end] = np.maximum.reduceat(log_K, begins, axis=1)
        log_K[:, ~there[first:last]] = -np.inf
        top = log_K.max(axis=1)
        tops[rows] = np.where(top > -np.inf, top, 0.0)
        log_K -= tops[rows, None]
        weight = np.exp(log_K, out=log_K)
        K[rows, column:end] = np.add.reduceat(weight, begins, axis=1)
        weight *= ordered.shown(ordered.y[first:last])
        K_y[rows, column:end] = np.add.reduceat(weight, begins, axis=1)
    return scores, K, K_y, tops


def _there(now: AtQuery, ordered: Ordered) -> np.ndarray:
    """Which samples are not at dose 0, (n,): beside one with all the weight the others would be rounding."""
    removed = [sample for sample, dose in now.scene.doses if dose == 0]
    if not removed:
        return np.ones(ordered.n, dtype=bool)
    return ~np.isin(ordered.samples(np.arange(ordered.n)), removed)


def _with_extras(now: AtQuery, places: np.ndarray, columns: Columns, sums: _Sums) -> _Sums:
    """Add the samples held apart, each with the weight of dose 1; not those at dose 0."""
    extras, ordered = columns.extras, columns.ordered
    if not extras.n:
        return sums
    scores, K, K_y, top = sums
    own = _log_kernel(now, places, extras.x + ordered.low)  # (n_rows, n_extras)
    held = K.any(axis=1)
    there = np.where(extras.weight != 0, own, -np.inf)
    highest = np.maximum(np.where(held, top, -np.inf), there.max(axis=1))
    highest = np.where(highest > -np.inf, highest, 0.0)
    shrunk = np.where(held, np.exp(np.where(held, top - highest, 0.0)), 0.0)[:, None]
    K *= shrunk
    K_y *= shrunk
    weight, y = np.exp(there - highest[:, None]), ordered.shown(extras.y)
    for at, column in enumerate(columns.of_extras):
        K[:, column] += weight[:, at]
        K_y[:, column] += weight[:, at] * y[at]
        np.maximum(scores[:, column], own[:, at], out=scores[:, column])
    return scores, K, K_y, highest


def _scale_doses(
    now: AtQuery, places: np.ndarray, columns: Columns, sums: tuple[np.ndarray, np.ndarray], top: np.ndarray
) -> None:
    """Add what the scene's doses change, sample by sample; those at dose 0 were never added."""
    for sample, dose in now.scene.doses:
        if dose == 0 or not 0 <= sample < now.n:
            continue
        x, y = now.scene.samples.pair(sample)
        column = int(columns.column_at(np.asarray(x - columns.ordered.low)))
        change = (dose - 1) * np.exp(np.minimum(_log_kernel(now, places, np.asarray([x]))[:, 0] - top, 700.0))
        sums[0][:, column] += change
        sums[1][:, column] += change * y
