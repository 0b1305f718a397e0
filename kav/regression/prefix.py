"""Sums at every sample at once: exact, in time that grows with n and not with the window.

Compact kernels: the line is cut into strips one bandwidth wide, so that the window of a sample lies in its own strip
and the two beside it. Running sums of the powers of ``z = (x - centre of the strip) / h``, never larger than 1/2, give
the moments of any part of a strip, and `polynomial.moment_sum` turns them into kernel sums. The Laplace kernel is a
running sum by itself, in the log domain.

K(0) = 1 here, so that ``S_ii = 1 / mass_i``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kav.regression.ordered import Ordered
from kav.regression.polynomial import coefficients, is_even, mirrored, moment_sum
from kav.regression.tree import inside
from kav.regression.window import Asked, Sums

_BLOCK = 1 << 16


def sums_at_samples(ordered: Ordered, asked: Asked) -> Sums:
    """Return the sums at every sample's own x, itself included; compact kernels and Laplace.

    Each sum is exact to about 1e-16 times the number of samples in three strips.
    """
    return _laplace_sums(ordered, asked) if asked.kernel.name == "laplace" else _compact_sums(ordered, asked)


def _compact_sums(ordered: Ordered, asked: Asked) -> Sums:
    x, h = ordered.x, asked.h
    lo, hi = inside(x, x, asked)
    strip = np.floor(x / h)
    bounds = np.concatenate([[0], np.flatnonzero(np.diff(strip)) + 1, [x.size]])
    index = np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
    first, last = bounds[index], bounds[index + 1]  # the samples of each sample's own strip
    mass, moment = np.zeros(x.size), np.zeros(x.size)
    left = coefficients(asked.kernel)
    right = left if is_even(left) else mirrored(left)
    for block, near in _blocks(lo, hi):
        z = (x[near] - (strip[near] + 0.5) * h) / h
        here = np.arange(block.start, block.stop)
        t = z[block.start - near.start : block.stop - near.start]
        own = (first[block], here + 1, t, left), (here + 1, last[block], t, right)
        before = (lo[block], np.maximum(lo[block], first[block]), t + 1, left)
        after = (np.minimum(hi[block], last[block]), hi[block], t - 1, right)
        parts = [(a, np.maximum(a, b), at, p) for a, b, at, p in (_cut(own[0], lo, block), _cut_top(own[1], hi, block))]
        _add(ordered.y, near, z, [before, *parts, after], (mass[block], moment[block]))
    return Sums(np.zeros(x.size), np.maximum(mass, 1.0), moment)


_Part = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _cut(part: _Part, lo: np.ndarray, block: slice) -> _Part:
    return np.maximum(part[0], lo[block]), *part[1:]


def _cut_top(part: _Part, hi: np.ndarray, block: slice) -> _Part:
    return part[0], np.minimum(part[1], hi[block]), *part[2:]


def _blocks(lo: np.ndarray, hi: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Blocks of samples, and the slice of all samples in their windows."""
    start = 0
    while start < lo.size:
        stop = min(lo.size, start + max(_BLOCK, int(hi[start] - lo[start])))
        yield slice(start, stop), slice(int(lo[start]), int(hi[stop - 1]))
        start = stop


def _add(y: np.ndarray, near: slice, z: np.ndarray, parts: list[_Part], sums: tuple[np.ndarray, np.ndarray]) -> None:
    """Add the kernel sums of all parts of the windows to `sums`, from running sums of powers of z."""
    degree = parts[0][3].size - 1
    ends = [(a - near.start, np.maximum(a, b) - near.start) for a, b, _, _ in parts]
    moments = [np.empty((2, degree + 1, a.size)) for a, _ in ends]
    power = np.ones(z.size)
    for j in range(degree + 1):
        for column, weighted in enumerate((power, power * y[near])):
            running = np.concatenate([[0.0], np.cumsum(weighted)])
            for found, (a, b) in zip(moments, ends, strict=True):
                found[column, j] = running[b] - running[a]
        power = power * z
    for (_, _, t, polynomial), found in zip(parts, moments, strict=True):
        sums[0][...] += moment_sum(polynomial, t, found[0])
        sums[1][...] += moment_sum(polynomial, t, found[1])


def _laplace_sums(ordered: Ordered, asked: Asked) -> Sums:
    x = ordered.x / asked.effective_h
    low = float(ordered.y.min(initial=0.0)) - 1
    log_y = np.log(ordered.y - low)  # positive, as a logarithm needs
    mass = _to_the_left(x, 0.0) + _to_the_left(-x[::-1], 0.0)[::-1] - 1
    raised = _to_the_left(x, log_y) + _to_the_left(-x[::-1], log_y[::-1])[::-1] - (ordered.y - low)
    return Sums(np.zeros(x.size), np.maximum(mass, 1.0), raised + low * mass)


def _to_the_left(x: np.ndarray, log_weight: np.ndarray | float) -> np.ndarray:
    """``sum_{j <= i} exp(x_j - x_i) weight_j`` for ascending x."""
    return np.asarray(np.exp(np.logaddexp.accumulate(x + log_weight) - x))
