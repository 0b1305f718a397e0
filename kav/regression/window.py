"""Sums over the observations near each query, pair by pair: the exact path, and the ends of all others.

Samples stand in x order, so those that count for a query are one slice of it. A block of neighbouring queries shares a
slice and is one small matrix, in the log domain where the kernel has no edge: a query far from all data still has its
nearest neighbour.

Shapes: ``x_query (n_query,)`` in the coordinate of `Ordered.x`; sums (n_query,).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kav.regression.kernels import Kernel
from kav.regression.ordered import Ordered
from kav.regression.polynomial import bump

DROPPED = 1e-17
"""Share of a query's weight that a window may leave out: below rounding."""
_DROPPED_OF_MOMENTS = 1e-26
"""The same for moments of x: where one place has nearly all the weight, the others make their variance, to 1e-14."""
_CELLS = 15_000
"""Cells of a matrix: below 128 kB an array is reused from the heap, above it is mapped and cleared anew."""


@dataclass(frozen=True)
class Sums:
    """What a fit needs at each query: ``mass = sum K exp(-log_scale)`` and ``moment`` likewise with the responses.

    Parameters
    ----------
    log_scale : array, shape (n_query,)
        Log of the factor taken out, 0 for compact kernels.
    mass, moment : array, shape (n_query,)
        ``sum_i K_i`` and ``sum_i K_i y_i``, divided by that factor; mass is 0 where no sample has weight.
    """

    log_scale: np.ndarray
    mass: np.ndarray
    moment: np.ndarray

    def mean(self) -> np.ndarray:
        """Return the weighted averages, NaN where there is no weight."""
        held = self.mass > 0
        return np.where(held, self.moment / np.where(held, self.mass, 1.0), np.nan)


@dataclass(frozen=True)
class Asked:
    """Which sums: kernel and bandwidth, the power of K, and moments of x around an origin.

    Parameters
    ----------
    kernel : Kernel
    h : float
    power : int
        K to this power, 1 or 2.
    order : int
        Each observation counts ``((x - origin) / h)^order`` times, 0 to 2.
    low : float
        What was subtracted from x; the exp-dot-product kernel depends on where 0 is.
    """

    kernel: Kernel
    h: float
    power: int = 1
    order: int = 0
    low: float = 0.0

    @property
    def effective_h(self) -> float:
        """Bandwidth at which K has the values of K^power, for kernels that are exponentials."""
        return self.h if self.kernel.compact or self.power == 1 else self.h / (2 if self._laplace else math.sqrt(2))

    @property
    def _laplace(self) -> bool:
        return self.kernel.name == "laplace"


def nearest_distance(x: np.ndarray, x_query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance of each query to the nearest sample (inf without one), and its place from the left."""
    right = np.searchsorted(x, x_query)
    if not x.size:
        return np.full(x_query.shape, np.inf), right
    to_left = np.where(right > 0, x_query - x[np.maximum(right - 1, 0)], np.inf)
    to_right = np.where(right < x.size, x[np.minimum(right, x.size - 1)] - x_query, np.inf)
    return np.minimum(to_left, to_right), right


def radius(kernel: Kernel, distance: np.ndarray, n: int, *, dropped: float = DROPPED) -> np.ndarray:
    """Return how many bandwidths from a query the samples still count.

    Beyond it all n together have at most `dropped` of the weight of the nearest, which is `distance` bandwidths away.
    """
    tail = math.log(max(n, 1) / dropped)
    if kernel.compact:
        return np.ones(distance.shape)
    if kernel.name == "gaussian":
        return np.asarray(np.sqrt(np.minimum(distance, 1e150) ** 2 + 2 * tail))
    return np.asarray(distance + tail)


def windows(ordered: Ordered, x_query: np.ndarray, asked: Asked) -> tuple[np.ndarray, np.ndarray]:
    """Return for each query the slice of samples that count, as two arrays of places."""
    x, h = ordered.x, asked.effective_h
    if asked.kernel.log_K is None:
        return _windows_at_an_end(ordered, x_query, asked)
    reach: float | np.ndarray = h
    if not asked.kernel.compact:
        distance, _ = nearest_distance(x, x_query)
        dropped = _DROPPED_OF_MOMENTS if asked.order else DROPPED
        reach = radius(asked.kernel, distance / h, x.size, dropped=dropped) * h
    slack = 1e-12 * (reach + np.abs(x_query))
    lo = np.searchsorted(x, x_query - reach - slack, side="left")
    hi = np.searchsorted(x, x_query + reach + slack, side="right")
    return lo, np.maximum(lo, hi)


def _windows_at_an_end(
    ordered: Ordered, x_query: np.ndarray, asked: Asked, *, n_passed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Slices for the exp-dot-product kernel, ``exp(a x)``: from the end towards which a points.

    `n_passed` outermost samples do not count for where the end is.
    """
    x, a = ordered.x, (x_query + asked.low) / asked.effective_h / asked.effective_h
    reach = math.log(max(x.size, 1) / DROPPED) / np.maximum(np.abs(a), 1e-300)
    if not x.size:
        return np.zeros(a.shape, dtype=np.intp), np.zeros(a.shape, dtype=np.intp)
    n_passed = min(n_passed, x.size - 1)
    lo = np.where(a > 0, np.searchsorted(x, x[-1 - n_passed] - reach), 0)
    hi = np.where(a > 0, x.size, np.searchsorted(x, x[n_passed] + reach, side="right"))
    return lo, hi


def direct_sums(
    ordered: Ordered,
    x_query: np.ndarray,
    asked: Asked,
    *,
    origin: np.ndarray | None = None,
    own: np.ndarray | None = None,
) -> Sums:
    """Return the sums at each query over its window, pair by pair.

    Parameters
    ----------
    x_query : array, shape (n_query,)
        Ascending, or the blocks get large.
    origin : array, shape (n_query,), or None
        Where x is counted from if `asked.order` > 0.
    own : array of int, shape (n_query,), or None
        A place to leave out for each query: that of the sample itself.
    """
    lo, hi = windows(ordered, x_query, asked) if own is None else _windows_without(ordered, x_query, asked)
    out = np.zeros((3, x_query.size))
    starts, stops = lo.tolist(), hi.tolist()
    top = None if own is not None or asked.kernel.compact or not ordered.n else _largest(ordered, x_query, asked)
    first = 0
    while first < x_query.size:
        last, a, b = _block(starts, stops, first)
        rows = slice(first, last)
        if b > a:
            out[:, rows] = _matrix_sums(
                ordered,
                x_query[rows],
                asked,
                places=slice(a, b),
                top=None if top is None else top[rows],
                origin=None if origin is None else origin[rows],
                own=None if own is None else own[rows] - a,
            )
        first = last
    return Sums(*out)


def _windows_without(ordered: Ordered, x_query: np.ndarray, asked: Asked) -> tuple[np.ndarray, np.ndarray]:
    """Windows of samples as queries, wide enough for the nearest other sample; x_query holds their own x."""
    if asked.kernel.compact:
        return windows(ordered, x_query, asked)
    if asked.kernel.log_K is None:
        return _windows_at_an_end(ordered, x_query, asked, n_passed=1)
    x, h = ordered.x, asked.effective_h
    left, right = np.searchsorted(x, x_query, side="left"), np.searchsorted(x, x_query, side="right")
    before = np.where(left > 0, x_query - x[np.maximum(left - 1, 0)], np.inf)
    after = np.where(right < x.size, x[np.minimum(right, x.size - 1)] - x_query, np.inf)
    distance = np.where(right - left > 1, 0.0, np.minimum(before, after))
    distance = np.where(np.isfinite(distance), distance, 0.0)
    reach = radius(asked.kernel, distance / h, x.size) * h
    slack = 1e-12 * (reach + np.abs(x_query))
    return np.searchsorted(x, x_query - reach - slack), np.searchsorted(x, x_query + reach + slack, side="right")


def _block(lo: list[int], hi: list[int], first: int) -> tuple[int, int, int]:
    """Queries from `first` on that share a matrix without much waste: the next one after them, and their slice."""
    a, b = lo[first], hi[first]
    widest = b - a
    last = first + 1
    while last < len(lo):
        low, high = lo[last], hi[last]
        widest = high - low if high - low > widest else widest
        lower, upper = low if low < a else a, high if high > b else b
        if upper - lower > 2 * widest + 64 or (upper - lower) * (last + 1 - first) > _CELLS:
            break
        a, b, last = lower, upper, last + 1
    return last, a, b


def log_shape(asked: Asked, x_query: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the logarithm of a kernel without edge between all queries and samples, peak 0 (n_query, n)."""
    h = asked.effective_h
    if asked.kernel.log_K is None:
        return np.asarray(((x_query + asked.low) / h)[:, None] * (x / h)[None, :])
    u = x_query[:, None] - x[None, :]
    if asked.kernel.name == "laplace":
        u *= 1 / h
        return np.asarray(np.negative(np.abs(u, out=u), out=u))
    u *= math.sqrt(0.5) / h
    np.multiply(u, u, out=u)
    return np.asarray(np.negative(u, out=u))


def _largest(ordered: Ordered, x_query: np.ndarray, asked: Asked) -> np.ndarray:
    """Largest log-kernel of each query: that of the nearest sample, or of the end towards which exp(a x) grows."""
    h = asked.effective_h
    if asked.kernel.log_K is None:
        a = (x_query + asked.low) / h
        return np.asarray(np.maximum(a * (ordered.x[0] / h), a * (ordered.x[-1] / h)))
    distance = nearest_distance(ordered.x, x_query)[0] / h
    return np.asarray(-distance if asked.kernel.name == "laplace" else -0.5 * distance**2)


def _matrix_sums(
    ordered: Ordered,
    x_query: np.ndarray,
    asked: Asked,
    *,
    places: slice,
    top: np.ndarray | None,
    origin: np.ndarray | None,
    own: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sums of one block, a matrix (n_rows, n_places); `top` is the largest log-kernel of each row, if known."""
    x, y = ordered.x[places], ordered.y[places]
    if asked.kernel.compact:
        K = bump((x_query[:, None] - x[None, :]) / asked.h, asked.kernel)
        shift = np.zeros(x_query.size)
        if asked.power == 2:
            K *= K
        if own is not None:
            K[np.arange(own.size), own] = 0
    else:
        K = log_shape(asked, x_query, x)
        if own is not None:
            K[np.arange(own.size), own] = -np.inf
        shift = K.max(axis=1) if top is None else top
        shift[shift == -np.inf] = 0
        K -= shift[:, None]
        np.exp(K, out=K)
    for _ in range(asked.order if origin is not None else 0):
        K *= (x[None, :] - (0 if origin is None else origin[:, None])) / asked.effective_h
    sums = K @ np.stack([np.ones(y.size), y], axis=1)  # one pass for both
    return shift, sums[:, 0], sums[:, 1]
