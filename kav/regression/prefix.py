"""Sums at every sample at once: exact, in time that grows with n and not with the window.

Compact kernels: the line is cut into strips one bandwidth wide, so that the window of a sample is its own strip, an end
of the strip before and a beginning of the one after. Running sums of the powers of ``z = (x - centre of the strip) /
h``, never larger than 1/2, give the moments of all three, which `_SHIFT` carries to the sample's own strip;
``B_j(t)`` of `polynomial` turns them into kernel sums. The Laplace kernel is two running sums by itself, one from
either end.

K(0) = 1 here, so that ``S_ii = 1 / mass_i``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb

import numpy as np

from kav.regression.ordered import Ordered
from kav.regression.polynomial import coefficients, is_even, mirrored
from kav.regression.tree import inside_of_samples
from kav.regression.window import Asked, Sums

_BLOCK = 1 << 16
"""Samples whose strips are taken at once."""
_ROWS = 1 << 13
"""Samples at a time: what is made of them stays in the cache."""
_DECAYS = 500.0
"""Decay lengths of a strip of the Laplace kernel, whose exponentials must be floats."""


def sums_at_samples(ordered: Ordered, asked: Asked, go_on: Callable[[], None] = lambda: None) -> Sums:
    """Return the sums at every sample's own x, itself included; compact kernels and Laplace.

    Each sum is exact to about 1e-16 times the number of samples in a block and its window. `go_on` is called every few
    milliseconds and may raise.
    """
    sums = _laplace_sums if asked.kernel.name == "laplace" else _compact_sums
    return sums(ordered, asked, go_on)


@dataclass(frozen=True)
class _Ends:
    """Places at which the parts of each sample's window begin and end, all (n,).

    The window is ``before:begin`` of the strip before, ``first:last`` of its own and ``end:after`` of the one after.
    """

    before: np.ndarray
    begin: np.ndarray
    first: np.ndarray
    last: np.ndarray
    end: np.ndarray
    after: np.ndarray


def _compact_sums(ordered: Ordered, asked: Asked, go_on: Callable[[], None]) -> Sums:
    x, kernel = ordered.x, asked.kernel
    position = x / asked.h
    strip = np.floor(position)
    bounds = np.concatenate([[0], np.flatnonzero(strip[1:] != strip[:-1]) + 1, [x.size]])
    ends = _ends(x, asked, strip, bounds)
    position -= strip + 0.5  # z
    del strip
    sums = np.empty((2, x.size))
    for block in _blocks(bounds):  # what one needs is gone before the next
        _sum_block(sums, position, ordered.y, ends, block, coefficients(kernel), go_on)
    return Sums(np.zeros(x.size), np.maximum(sums[0], 1.0), sums[1])


def _sum_block(
    sums: np.ndarray,
    z: np.ndarray,
    y: np.ndarray,
    ends: _Ends,
    block: slice,
    a: np.ndarray,
    go_on: Callable[[], None],
) -> None:
    """Fill in mass and moment of the samples of whole strips."""
    left, right = _in_powers(a), None if is_even(a) else _in_powers(mirrored(a))
    near = slice(int(ends.before[block.start]), int(ends.after[block.stop - 1]))
    running = _running(z[near], y[near], a.size)
    for start in range(block.start, block.stop, _ROWS):
        go_on()
        rows = slice(start, min(start + _ROWS, block.stop))
        on_left, on_right = _moments(running, ends, rows, near.start, split=right is not None)
        powers = _powers(z[rows], a.size)
        sums[:, rows] = np.sum((left @ powers) * on_left, axis=1)
        if right is not None and on_right is not None:
            sums[:, rows] += np.sum((right @ powers) * on_right, axis=1)


def _ends(x: np.ndarray, asked: Asked, strip: np.ndarray, bounds: np.ndarray) -> _Ends:
    lo, hi = inside_of_samples(x, asked)
    starts, counts = bounds[:-1], np.diff(bounds)
    meets = strip[starts[1:]] == strip[starts[:-1]] + 1
    least = starts.copy()  # where the strip before begins, if there is one
    least[1:] = np.where(meets, starts[:-1], starts[1:])
    most = bounds[1:].copy()
    most[:-1] = np.where(meets, bounds[2:], bounds[1:-1])
    begin, end = np.repeat(starts, counts), np.repeat(bounds[1:], counts)
    return _Ends(
        before=np.clip(lo, np.repeat(least, counts), begin),
        begin=begin,
        first=np.maximum(lo, begin),
        last=np.minimum(hi, end),
        end=end,
        after=np.clip(hi, end, np.repeat(most, counts)),
    )


def _blocks(bounds: np.ndarray) -> Iterator[slice]:
    """Whole strips, `_BLOCK` samples or more."""
    start, n = 0, int(bounds[-1])
    while start < n:
        stop = int(bounds[min(int(np.searchsorted(bounds, start + _BLOCK)), bounds.size - 1)])
        yield slice(start, stop)
        start = stop


def _running(z: np.ndarray, y: np.ndarray, n_powers: int) -> np.ndarray:
    """Sums of ``z^j`` and ``z^j y`` over all samples before each place, (2, n_powers, n + 1)."""
    running = np.zeros((2, n_powers, z.size + 1))
    power = np.ones(z.size)
    for j in range(n_powers):
        np.cumsum(power, out=running[0, j, 1:])
        np.cumsum(power * y, out=running[1, j, 1:])
        power *= z
    return running


def _moments(
    running: np.ndarray, ends: _Ends, rows: slice, start: int, *, split: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """Moments of the windows about the centres of the samples' own strips, (2, n_powers, n_rows).

    If `split`, those of the samples up to the row's own and those of the samples after it; else all, and None.
    """

    def at(places: np.ndarray) -> np.ndarray:
        return np.take(running, places[rows] - start, axis=-1)

    n_powers = running.shape[1]
    before = _SHIFT[-1][:n_powers, :n_powers] @ (at(ends.begin) - at(ends.before))
    after = _SHIFT[1][:n_powers, :n_powers] @ (at(ends.after) - at(ends.end))
    first, last = at(ends.first), at(ends.last)
    if not split:
        before += after
        before += last
        before -= first
        return before, None
    own = running[:, :, rows.start - start + 1 : rows.stop - start + 1]
    before += own - first
    after += last - own
    return before, after


def _in_powers(a: np.ndarray) -> np.ndarray:
    """Coefficients of ``t^p`` in ``B_j(t)``, (j, p)."""
    n = a.size
    result = np.zeros((n, n))
    for j in range(n):
        for p in range(n - j):
            result[j, p] = a[j + p] * comb(j + p, j) * (-1) ** j
    return result


def _powers(t: np.ndarray, n: int) -> np.ndarray:
    """``t^0`` to ``t^(n - 1)``, (n, t.size)."""
    powers = np.ones((n, t.size))
    for p in range(1, n):
        np.multiply(powers[p - 1], t, out=powers[p])
    return powers


_MOST_POWERS = 19
_SHIFT = {
    by: np.asarray(
        [
            [comb(j, i) * float(by) ** (j - i) if i <= j else 0.0 for i in range(_MOST_POWERS)]
            for j in range(_MOST_POWERS)
        ]
    )
    for by in (-1, 1)
}
"""From moments of z to those of ``z - 1`` and ``z + 1``."""


def _laplace_sums(ordered: Ordered, asked: Asked, go_on: Callable[[], None]) -> Sums:
    x, y = ordered.x / asked.effective_h, ordered.y
    left, right = _to_the_left(x, y, go_on), _to_the_left(-x[::-1], y[::-1], go_on)[:, ::-1]
    return Sums(np.zeros(x.size), np.maximum(left[0] + right[0] - 1, 1.0), left[1] + right[1] - y)


def _to_the_left(x: np.ndarray, y: np.ndarray, go_on: Callable[[], None]) -> np.ndarray:
    """``sum_{j <= i} exp(x_j - x_i)`` times 1 and y_j, for ascending x, (2, n)."""
    out = np.empty((2, x.size))
    start, carried, n = 0, np.zeros((2, 1)), x.size
    while start < n:
        go_on()
        stop = start + _BLOCK
        stop = min(stop, int(np.searchsorted(x[start:stop], x[start] + _DECAYS, side="right")) + start)
        grown = np.exp(x[start:stop] - x[start])
        part = out[:, start:stop]
        np.cumsum(grown, out=part[0])
        np.cumsum(grown * y[start:stop], out=part[1])
        part += carried
        part /= grown
        if stop < n:
            carried = part[:, -1:] * np.exp(x[stop - 1] - x[stop])
        start = stop
    return out
