"""Choosing the bandwidth: leave-one-out error, its minimum, and the rules of thumb beside it.

The leave-one-out error asks each sample what the others predict for it. For a Nadaraya-Watson fit the answer has a
closed form, ``y_i - f_{-i}(x_i) = (y_i - f(x_i)) / (1 - S_ii)``. It is computed here as what it means, the same
smoother with its diagonal masked: equal where ``S_ii < 1``, and still exact where S_ii rounds to 1, because in the log
domain an isolated sample has a nearest neighbour. Only where a compact kernel reaches no other sample (S_ii = 1
exactly) is there no leave-one-out estimate; such samples are left out of the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from array_api_compat import device

from kav import smoother
from kav.arrays import Array, namespace, to_host
from kav.errors import KavError
from kav.regression.fit import Observed, float64_arrays, observe
from kav.regression.kernels import kernel_named

_GOLDEN = (math.sqrt(5) - 1) / 2


def leave_one_out(x: Any, y: Any, h: float, kernel: str = "gaussian") -> np.ndarray:
    """Return what the other samples predict for each sample, (n,); NaN where they have no weight there.

    Raises
    ------
    KavError
        As in `kav.fit`.
    """
    observed = observe(x, y, h, kernel)
    xp = namespace(observed.x)
    blocks = [_left_out(observed, rows)[0] for rows in observed.row_blocks(observed.n)]
    return to_host(xp.concat(blocks)) if blocks else np.zeros(0)


def _left_out(observed: Observed, rows: slice) -> tuple[Array, Array]:
    """Leave-one-out fit of some samples, NaN without an estimate, and which of them have one."""
    xp = namespace(observed.x)
    log_kernel = _without_own(observed, rows)
    f = smoother.smooth(smoother.weights(log_kernel), observed.y)
    known = smoother.has_support(log_kernel) & observed.seen[rows]
    return xp.where(known, f, xp.full_like(f, xp.nan)), known


def _without_own(observed: Observed, rows: slice) -> Array:
    """Log-kernel from some samples to all the others: -inf between a sample and itself."""
    xp = namespace(observed.x)
    log_kernel = observed.log_kernel(observed.x[rows])  # (n_rows, n)
    own = xp.eye(log_kernel.shape[0], observed.n, k=rows.start, dtype=xp.bool, device=device(log_kernel))
    return xp.where(own, xp.full_like(log_kernel, -xp.inf), log_kernel)


def _n_true(flags: Array) -> int:
    xp = namespace(flags)
    return int(xp.sum(xp.astype(flags, xp.int64)))


def _error_and_count(observed: Observed) -> tuple[float, int]:
    """Mean squared leave-one-out error, NaN if no sample has one, and the number of samples that do."""
    xp = namespace(observed.x)
    square, count = 0.0, 0
    for rows in observed.row_blocks(observed.n):
        f, known = _left_out(observed, rows)
        residual = xp.where(known, observed.y[rows] - f, xp.zeros_like(f))
        square += float(xp.sum(residual * residual))
        count += _n_true(known)
    return (square / count if count else math.nan), count


def loo_score(x: Any, y: Any, h: Any, kernel: str = "gaussian") -> np.ndarray:
    """Return the mean squared leave-one-out error at one bandwidth or several.

    Parameters
    ----------
    x, y : array, shape (n,)
    h : float or array, shape (n_h,)
        Bandwidths, each > 0.
    kernel : str

    Returns
    -------
    numpy.ndarray, shape of h, float64
        Mean over the samples that have a leave-one-out estimate; NaN if none has.

    Raises
    ------
    KavError
        As in `kav.fit`.

    References
    ----------
    Hastie, Tibshirani and Friedman 2009, Elements of Statistical Learning, eq. 7.52 (the closed form).
    """
    (bandwidths,) = float64_arrays(h=h)
    asked = to_host(bandwidths)
    scores = [_error_and_count(observe(x, y, float(one), kernel))[0] for one in np.reshape(asked, -1)]
    return np.reshape(np.asarray(scores, dtype=np.float64), asked.shape)[()]


def rule_of_thumb(x: Any, kernel: str = "gaussian", rule: str = "silverman") -> float:
    """Return a bandwidth from the spread of x alone, ``c A n^(-1/5)`` with ``A = min(s.d., quartile range / 1.34)``.

    A quartile range of 0 (many ties) falls back on the standard deviation, and that on the size of x, so that the
    answer is always > 0. It is derived for the Gaussian and scaled to smooth as much with another kernel.

    Parameters
    ----------
    x : array, shape (n,)
    kernel : str
    rule : str
        "silverman" (c = 0.9) or "scott" (c = 1.06).

    Raises
    ------
    KavError
        If the rule or the kernel is unknown.

    References
    ----------
    Silverman 1986, Density Estimation, eq. 3.30 and 3.31; Scott 1992, Multivariate Density Estimation, section 6.5.
    """
    factors = {"silverman": 0.9, "scott": 1.06}
    if rule not in factors:
        raise KavError(f"rule must be silverman or scott, got {rule!r}")
    (array,) = float64_arrays(x=x)
    values = to_host(array)
    values = values[np.isfinite(values)]
    per_sample = math.pow(max(values.size, 1), -0.2)
    return factors[rule] * _scale(values) * per_sample * kernel_named(kernel).canonical


def _scale(values: np.ndarray) -> float:
    """Spread of x as the rules of thumb take it, never 0."""
    deviation = float(np.std(values, ddof=1)) if values.size > 1 else 0.0
    low, high = np.percentile(values, (25, 75)) if values.size else (0.0, 0.0)
    candidates = [size for size in (deviation, float(high - low) / 1.34) if size > 0]
    return min(candidates) if candidates else 1.0


def search_range(x: np.ndarray, kernel: str) -> tuple[float, float]:
    """Return the bandwidths between which a minimum is looked for, smallest and largest, both > 0.

    From well inside the typical distance between neighbours, where the fit repeats its samples, to twice the range of
    x, where it is their mean.
    """
    values = np.sort(x[np.isfinite(x)])
    gaps = np.diff(values)
    gaps = gaps[gaps > 0]
    if not gaps.size:
        unit = rule_of_thumb(values, kernel)
        return unit / 10, unit * 10
    top = 2 * float(values[-1] - values[0])
    if kernel_named(kernel).log_K is None:  # the kernel depends on products of x, not on differences
        top = max(top, 4 * float(np.max(np.abs(values))))
    return min(float(np.median(gaps)) / 4, top / 20), top


def select_bandwidth(x: Any, y: Any, kernel: str = "gaussian") -> float:
    """Return the bandwidth that minimises the leave-one-out error.

    A minimum counts only where at least half of the samples have a leave-one-out estimate: below that the error is
    about a few pairs that happen to lie close. Without any estimate (one sample) the rule of thumb answers.

    Parameters
    ----------
    x, y : array, shape (n,)
    kernel : str

    Returns
    -------
    float
        > 0, always.

    Raises
    ------
    KavError
        As in `kav.fit`.
    """
    return minimise_loo(x, y, kernel, ratio=1.05)  # a compact kernel's error has many minima: look closely


def minimise_loo(x: Any, y: Any, kernel: str = "gaussian", *, n_refine: int = 24, ratio: float = 1.25) -> float:
    """Return the minimum of the leave-one-out error on a grid, refined by `n_refine` golden-section steps.

    `ratio` is that of neighbouring bandwidths of the grid (the Gaussian has its own, 1.19). With n_refine 0 the
    minimum of a parabola through the three best points answers: a few per cent off, for a picture that follows a drag.
    """
    observed = observe(x, y, 1.0, kernel)
    n_seen = _n_true(observed.seen)
    low, high = search_range(to_host(observed.x)[to_host(observed.seen)], kernel)
    if observed.kernel.name == "gaussian":
        grid, errors, counts = _gaussian_sweep(observed, low, high)
    else:
        grid, errors, counts = _sweep(observed, np.geomspace(low, high, 2 + math.ceil(math.log(high / low, ratio))))
    errors = np.where((2 * counts >= n_seen) & (counts > 0), errors, math.inf)
    best = int(np.argmin(errors))
    if not math.isfinite(errors[best]):
        return rule_of_thumb(to_host(observed.x)[to_host(observed.seen)], kernel)
    if n_refine == 0:
        return _vertex(grid, errors, best)

    def error(h: float) -> float:
        score, count = _error_and_count(replace(observed, h=h))
        return score if 2 * count >= n_seen and count else math.inf

    around = (float(grid[max(best - 1, 0)]), float(grid[min(best + 1, grid.size - 1)]))
    refined, at_refined = golden_section(error, *around, n_refine)
    return refined if at_refined <= errors[best] else float(grid[best])


def _sweep(observed: Observed, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bandwidths, their leave-one-out errors and counts, one matrix each."""
    found = [_error_and_count(replace(observed, h=float(h))) for h in grid]
    return grid, np.asarray([error for error, _ in found]), np.asarray([count for _, count in found])


def _gaussian_sweep(observed: Observed, low: float, high: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for the Gaussian, without new exponentials: squaring the kernel divides h by the square root of 2.

    Two ladders, a quarter octave apart. Rows are scaled so that the nearest other sample has kernel 1, which squaring
    keeps: nothing underflows that counts.
    """
    n_steps = 1 + math.ceil(2 * math.log2(high / low))
    tops = (high, high * 2**-0.25)
    grid = np.asarray([[top * 2 ** (-step / 2) for step in range(n_steps)] for top in tops])
    square = np.zeros_like(grid)
    count = 0
    for rows in observed.row_blocks(observed.n):
        for ladder, top in enumerate(tops):
            log_kernel = _without_own(replace(observed, h=top), rows)
            known = smoother.has_support(log_kernel) & observed.seen[rows]
            square[ladder] += _ladder(log_kernel, observed, observed.y[rows], known, n_steps)
        count += _n_true(known)
    order = np.argsort(grid, axis=None)
    errors = square / count if count else np.full_like(square, math.nan)
    return grid.reshape(-1)[order], errors.reshape(-1)[order], np.full(grid.size, count)


def _ladder(log_kernel: Array, observed: Observed, y: Array, known: Array, n_steps: int) -> list[float]:
    """Sums of squared leave-one-out residuals of some rows at h, h/sqrt(2), h/2, ..."""
    xp = namespace(log_kernel)
    one = xp.ones_like(observed.y)
    sums = xp.stack([one, observed.y], axis=1)  # (n, 2): total kernel and total response in one product
    K = smoother.weights(log_kernel)  # (n_rows, n)
    largest = xp.max(K, axis=-1, keepdims=True)
    K = K / xp.where(largest > 0, largest, xp.ones_like(largest))  # nearest other sample 1
    totals = []
    for step in range(n_steps):
        K = K * K if step else K
        both = K @ sums  # (n_rows, 2)
        f = both[:, 1] / xp.where(known, both[:, 0], xp.ones_like(both[:, 0]))
        residual = xp.where(known, y - f, xp.zeros_like(f))
        totals.append(float(xp.sum(residual * residual)))
    return totals


def _vertex(grid: np.ndarray, errors: np.ndarray, best: int) -> float:
    """Minimum of the parabola through the best grid point and its neighbours, over log h."""
    if best in (0, grid.size - 1) or not np.all(np.isfinite(errors[best - 1 : best + 2])):
        return float(grid[best])
    before, at, after = errors[best - 1 : best + 2]
    bend = before - 2 * at + after
    shift = 0.5 * (before - after) / bend if bend > 0 else 0.0
    return float(grid[best] * (grid[best + 1] / grid[best]) ** shift)


def golden_section(error: Callable[[float], float], low: float, high: float, n_steps: int) -> tuple[float, float]:
    """Return the best bandwidth met in a golden-section search between low and high (log scale), and its error."""
    a, b = math.log(low), math.log(high)
    left, right = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    at_left, at_right = error(math.exp(left)), error(math.exp(right))
    met = [(at_left, left), (at_right, right)]
    for _ in range(n_steps):
        if at_left <= at_right:
            b, right, at_right = right, left, at_left
            left = b - _GOLDEN * (b - a)
            at_left = error(math.exp(left))
            met.append((at_left, left))
        else:
            a, left, at_left = left, right, at_right
            right = a + _GOLDEN * (b - a)
            at_right = error(math.exp(right))
            met.append((at_right, right))
    value, place = min(met)
    return math.exp(place), value
