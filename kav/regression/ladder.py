"""Leave-one-out errors of the Gaussian at many bandwidths from few exponentials, for a few hundred samples."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from array_api_compat import device

from kav import smoother
from kav.arrays import Array, namespace
from kav.regression.fit import Observed


def without_own(observed: Observed, rows: slice) -> Array:
    """Return the log-kernel from some samples to all the others: -inf between a sample and itself."""
    xp = namespace(observed.x)
    log_kernel = observed.log_kernel(observed.x[rows])  # (n_rows, n)
    own = xp.eye(log_kernel.shape[0], observed.n, k=rows.start, dtype=xp.bool, device=device(log_kernel))
    return xp.where(own, xp.full_like(log_kernel, -xp.inf), log_kernel)


def n_true(flags: Array) -> int:
    """Return how many are true."""
    xp = namespace(flags)
    return int(xp.sum(xp.astype(flags, xp.int64)))


def gaussian_sweep(observed: Observed, low: float, high: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return bandwidths, leave-one-out errors and counts of samples that have one, without new exponentials.

    Squaring the kernel divides h by the square root of 2.

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
            log_kernel = without_own(replace(observed, h=top), rows)
            known = smoother.has_support(log_kernel) & observed.seen[rows]
            square[ladder] += _ladder(log_kernel, observed, observed.y[rows], known, n_steps)
        count += n_true(known)
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
