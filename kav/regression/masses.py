"""Samples that are asked once, spread over the cells of a grid as point masses.

What `kav.regression.cells` does for any number of questions, with fewer moments. Those of a cell, of order 0 to 3 in
units of the cell, become seven masses at its own centre and the three on either side. Of the orders that are not taken
the masses have what Chebyshev's economised powers say on |s| <= 1/2: ``s^4 ~ s^2 / 4 - 1 / 128``, which is wrong by
1/128 at most, ``s^5 ~ 5 s^3 / 16 - 5 s / 256`` and ``s^6 ~ 15 s^2 / 256 - 5 / 2048``.

Where samples are dense, 16 neighbours that are closer together than any answer could tell are one sample first, at
their mean place, with their first moment of y about it.
"""

from __future__ import annotations

from itertools import pairwise, starmap

import numpy as np

N_MOMENTS = 4
REACH = 3
"""Cells on either side over which one is spread."""
_BLOCK = 200_000
"""Samples at a time."""
_FAR_CELLS = 4096
"""Cells from one centre: the third power of what is farther loses digits that a bandwidth would show."""
_GROUPS_AT_A_TIME = 8_000
_PER_CELL = 4
"""Samples per cell from which the cells' places are looked up instead of each sample's cell."""
_GROUP = 16
_NARROW = 1 / 700
_MANY = 1 << 17
"""Samples from which it is asked whether groups pay."""
_LOOKED_AT = 64
_DIGITS = 1e5
"""Size of ``x / h``, and of the mean of y in its deviations, up to which the groups' ``sum x y`` has nine digits."""
_HUGE = 1e60
_FAR = 1e6


def cell_moments(x: np.ndarray, y: np.ndarray, *, low: float, width: float, n_cells: int, h: float = 0.0) -> np.ndarray:
    """Return sums of ``s^j`` and ``s^j y``, j = 0 to 3, in each cell, with s from its centre in units of its width.

    Parameters
    ----------
    x, y : array, shape (n,)
        x ascending, from `low`, the centre of the first cell.
    h : float
        16 neighbours no wider than 1/700 of it may count as one sample at their mean place.

    Returns
    -------
    numpy.ndarray, shape (2, 4, n_cells)
    """
    if not 1 / _HUGE < width < _HUGE or abs(low) > _FAR * width:  # a power might be no float, a centre be rounded
        x, low, width, h = (x - low) / width, 0.0, 1.0, h / width
    if x.size < _PER_CELL * n_cells:
        return _few(x, y, low, width, n_cells)
    if x.size < _MANY or not _groups_pay(x, y, h):
        return _many(x, y, low, width, n_cells)
    place, total, first, wide = _groups(x, y, h * _NARROW)
    M = _many(place, total, low, width, n_cells, groups=(first, wide))
    loose = np.append(_GROUP * wide[:, None] + np.arange(_GROUP), np.arange(_GROUP * place.size, x.size))
    return M + cell_moments(x[loose], y[loose], low=low, width=width, n_cells=n_cells) if loose.size else M


def spread(M: np.ndarray) -> np.ndarray:
    """Return the masses of all cells, from `REACH` cells before the first to as many beyond the last, (2, n)."""
    n, n_masses = M.shape[-1] + 2 * REACH, 2 * REACH + 1
    rows = np.zeros((2, n_masses, n + 1))
    np.matmul(MASSES, M, out=rows[:, :, : M.shape[-1]])
    skew = rows.reshape(2, -1)[:, : n_masses * n].reshape(2, n_masses, n)  # each row stands one place further on
    return np.asarray(np.add.reduce(skew, axis=1))


def _masses() -> np.ndarray:
    """From moments of order 0 to 3 to masses at -3 to 3."""
    economised = np.zeros((2 * REACH + 1, N_MOMENTS))
    economised[:N_MOMENTS] = np.eye(N_MOMENTS)
    economised[4, [0, 2]] = -1 / 128, 1 / 4
    economised[5, [1, 3]] = -5 / 256, 5 / 16
    economised[6, [0, 2]] = -5 / 2048, 15 / 256
    powers = np.vander(np.arange(-REACH, REACH + 1.0), increasing=True).T
    return np.asarray(np.linalg.solve(powers, economised))


MASSES = _masses()


def _few(x: np.ndarray, y: np.ndarray, low: float, width: float, n_cells: int) -> np.ndarray:
    """The moments where cells have few samples."""
    s = (x - low) * (1 / width)
    nearest = np.rint(s)
    s -= nearest
    with np.errstate(invalid="ignore"):
        cell = nearest.astype(np.intp)
    np.clip(cell, 0, n_cells - 1, out=cell)  # what is no number has some place too: its moments are none
    M = np.empty((2, N_MOMENTS, n_cells))
    M[0, 0], power = np.bincount(cell, minlength=n_cells), s
    M[1, 0], weighted = np.bincount(cell, y, n_cells), s * y
    for j in range(1, N_MOMENTS):
        M[0, j], M[1, j] = np.bincount(cell, power, n_cells), np.bincount(cell, weighted, n_cells)
        power, weighted = power * s, weighted * s
    return M


def _many(
    x: np.ndarray,
    y: np.ndarray,
    low: float,
    width: float,
    n_cells: int,
    groups: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """The moments of samples, or of groups with sums y, their first moments of y and the places of those left out."""
    starts = np.empty(n_cells + 1, dtype=np.intp)
    starts[0], starts[-1] = 0, x.size
    starts[1:-1] = np.searchsorted(x, low + width * (np.arange(1, n_cells) - 0.5))
    counts = starts[1:] - starts[:-1]
    filled = np.flatnonzero(counts)
    begins, centre, sums = starts[filled], filled.astype(np.float64), np.empty((2, N_MOMENTS, filled.size))
    sums[0, 0] = counts[filled]
    bounds = _bounds(begins, filled)
    edges = [*begins[bounds[:-1]].tolist(), x.size]
    scratch = np.empty((4, max(end - begin for begin, end in pairwise(edges))))
    for (a, b), near in zip(pairwise(bounds), starmap(slice, pairwise(edges)), strict=True):
        middle = float(centre[a])
        centre[a:b] -= middle  # few cells: little is lost when the centres are taken off the sums
        t = np.subtract(x[near], low + width * middle, out=scratch[0, : near.stop - near.start])
        if groups is not None:
            t[_within(groups[1], near)] = 0.0
        first = None if groups is None else groups[0][near]
        _add_up(t, y[near], first, begins[a:b] - near.start, scratch[1:, : t.size], sums[:, :, a:b])
    if groups is not None:
        sums[0, 0] -= np.bincount(np.searchsorted(begins, groups[1], side="right") - 1, minlength=filled.size)
        sums[0] *= _GROUP
    sums *= (1 / width) ** np.arange(float(N_MOMENTS))[:, None]
    _to_own_centres(sums, centre)
    if filled.size == n_cells:
        return sums
    M = np.zeros((2, N_MOMENTS, n_cells))
    M[:, :, filled] = sums
    return M


def _bounds(begins: np.ndarray, filled: np.ndarray) -> list[int]:
    """Parts of the filled cells, some samples and not too many cells each: where they begin, and the end."""
    if begins[-1] < _BLOCK and filled[-1] - filled[0] < _FAR_CELLS:
        return [0, begins.size]
    by_samples = np.searchsorted(begins, np.arange(_BLOCK, begins[-1], _BLOCK))
    by_cells = np.flatnonzero(np.diff(filled // _FAR_CELLS)) + 1
    return sorted({0, *by_samples.tolist(), *by_cells.tolist(), begins.size})


def _within(places: np.ndarray, near: slice) -> np.ndarray:
    first, last = np.searchsorted(places, [near.start, near.stop])
    return np.asarray(places[first:last] - near.start)


def _to_own_centres(sums: np.ndarray, c: np.ndarray) -> None:
    """Moments about 0 become those about c."""
    for first in range(N_MOMENTS - 1):  # each step takes every higher one down by the one before it
        sums[:, first + 1 :] -= c * sums[:, first:-1]


def _add_up(
    t: np.ndarray,
    y: np.ndarray,
    first: np.ndarray | None,
    begins: np.ndarray,
    scratch: np.ndarray,
    out: np.ndarray,
) -> None:
    """Sums of t^j and t^j y from each of `begins` to the next; groups have a first moment of y about their t."""
    np.add.reduceat(y, begins, out=out[1, 0])
    np.add.reduceat(t, begins, out=out[0, 1])
    weighted, power = np.multiply(t, y, out=scratch[0]), t
    if first is not None:
        weighted += first
    np.add.reduceat(weighted, begins, out=out[1, 1])
    for j in range(2, N_MOMENTS):
        weighted *= t
        if first is not None:  # sum (t + d)^j y = t sum (t + d)^(j - 1) y + t^(j - 1) sum d y, but for d^2
            weighted += np.multiply(first, power, out=scratch[2])
        np.add.reduceat(weighted, begins, out=out[1, j])
        power = np.multiply(power, t, out=scratch[1])
        np.add.reduceat(power, begins, out=out[0, j])


def _groups_pay(x: np.ndarray, y: np.ndarray, h: float) -> bool:
    """Whether most of some groups are narrow and their sums of ``x y`` keep their digits."""
    begins = np.arange(0, x.size - _GROUP, x.size // _LOOKED_AT)
    some = y[begins]
    common = float(np.mean(some))
    away = float(np.max(np.abs(some - common)))
    largest = max(abs(float(x[0])), abs(float(x[-1])))
    digits = largest * (away + abs(common)) <= _DIGITS * h * away
    return digits and bool(2 * np.sum(x[begins + _GROUP - 1] - x[begins] <= h * _NARROW) > begins.size)


def _groups(x: np.ndarray, y: np.ndarray, narrow: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean place, sum of y and first moment of y about that place of each group; which are too wide and left empty."""
    n_groups = x.size // _GROUP
    X, Y = (v[: n_groups * _GROUP].reshape(n_groups, _GROUP) for v in (x, y))
    sums, wide = np.empty((3, n_groups)), np.empty(n_groups, dtype=bool)
    ones, step = np.ones(_GROUP), _GROUPS_AT_A_TIME
    for begin in range(0, n_groups, step):
        rows = slice(begin, min(begin + step, n_groups))
        np.matmul(X[rows], ones, out=sums[0, rows])
        np.matmul(Y[rows], ones, out=sums[1, rows])
        np.vecdot(X[rows], Y[rows], out=sums[2, rows])
        np.greater(X[rows, -1] - X[rows, 0], narrow, out=wide[rows])
    place, total, first = sums
    place *= 1 / _GROUP
    first -= place * total
    left_out = np.flatnonzero(wide)
    total[left_out] = first[left_out] = 0.0
    return place, total, first, left_out
