"""Moment cells: what n samples leave behind for kernels without an edge, at every scale.

The line is cut into equal cells; each keeps moments ``M_j = sum s^j {1, y, y^2}`` of the samples in it, with
``s = (x - c) / w`` between -1/2 and 1/2. Coarser levels, half as many cells each, follow exactly by the binomial
theorem. `kav.regression.series` adds cells up instead of samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from kav.regression.ordered import Ordered

N_MOMENTS = 8
_AT_ONCE = 15_000
"""Samples at a time: arrays of so many stay in the cache and on the heap."""


@dataclass(frozen=True)
class Cells:
    """All levels, finest first: ``levels[l] (3, N_MOMENTS, n_cells / 2^l)`` for 1, y and y^2.

    ``starts (n_cells + 1,)`` are the places at which the finest cells, `width` wide, begin.
    """

    ordered: Ordered
    width: float
    starts: np.ndarray
    levels: tuple[np.ndarray, ...]

    def width_of(self, level: int) -> float:
        """Width of a cell of some level."""
        return float(self.width * 2**level)


def n_cells_for(n: int) -> int:
    """Return the number of finest cells, a power of two: about 32 samples each, within limits."""
    return int(np.clip(1 << max(n // 32, 1).bit_length(), 2048, 32_768))


def build_cells(ordered: Ordered, n_cells: int | None = None) -> Cells:
    """Return the cells of the samples."""
    n_cells = n_cells_for(ordered.n) if n_cells is None else n_cells
    width = ordered.span / n_cells * (1 + 1e-12)
    starts = cell_starts(ordered, n_cells, width)
    return Cells(ordered, width, starts, _levels(bottom_level(ordered, starts, width)))


def cell_starts(ordered: Ordered, n_cells: int, width: float) -> np.ndarray:
    """Return the places at which cells begin, (n_cells + 1,)."""
    edges = np.searchsorted(ordered.x, np.arange(1, n_cells) * width)
    return np.concatenate([[0], edges, [ordered.n]])


def bottom_level(ordered: Ordered, starts: np.ndarray, width: float, *, n_moments: int = N_MOMENTS) -> np.ndarray:
    """Return the moments of the finest cells, (3, n_moments, n_cells)."""
    filled = np.flatnonzero(np.diff(starts))
    M = np.zeros((3, n_moments, starts.size - 1))
    begins, centre = np.append(starts[filled], ordered.n), (filled + 0.5) * width
    M[:, :, filled] = cell_moments(ordered, begins, centre, width, n_moments=n_moments)
    return M


def cell_moments(
    ordered: Ordered, starts: np.ndarray, centre: np.ndarray, width: float, *, n_moments: int = N_MOMENTS
) -> np.ndarray:
    """Return the moments of cells that all hold samples, (3, n_moments, n_cells).

    Parameters
    ----------
    starts : array, shape (n_cells + 1,)
        Places at which they begin.
    centre : array, shape (n_cells,)
    """
    M, first = np.empty((3, n_moments, centre.size)), 0
    while first < centre.size:  # some cells at a time, for small arrays
        begin = int(starts[first])
        last = max(first + 1, int(np.searchsorted(starts, begin + _AT_ONCE, side="right")) - 1)
        end, at, some = int(starts[last]), starts[first:last] - begin, slice(first, last)
        s = (ordered.x[begin:end] - np.repeat(centre[some], np.diff(starts[first : last + 1]))) / width
        power, part = np.ones(end - begin), ordered.y[begin:end]
        for j in range(n_moments):
            M[0, j, some] = np.add.reduceat(power, at)
            weighted = power * part
            M[1, j, some] = np.add.reduceat(weighted, at)
            weighted *= part
            M[2, j, some] = np.add.reduceat(weighted, at)
            power *= s
        first = last
    return M


def _levels(bottom: np.ndarray) -> tuple[np.ndarray, ...]:
    levels = [bottom]
    while levels[-1].shape[-1] > 1:
        levels.append(_parents(levels[-1]))
    return tuple(levels)


def _parents(M: np.ndarray) -> np.ndarray:
    """Moments of cells twice as wide: ``s' = (s + d) / 2`` with d = -1/2 for a left child, 1/2 for a right one."""
    n = M.shape[1]
    left, right = _SHIFTS[0, :n, :n], _SHIFTS[1, :n, :n]
    return np.asarray(np.matmul(left, M[..., ::2]) + np.matmul(right, M[..., 1::2]))


def _shifts(n: int) -> np.ndarray:
    """Binomial matrices that carry the moments of a left and a right child over to their parent, (2, n, n)."""
    result = np.zeros((2, n, n))
    for side, d in enumerate((-0.5, 0.5)):
        for j in range(n):
            result[side, j, : j + 1] = [comb(j, i) * 2.0**-j * d ** (j - i) for i in range(j + 1)]
    return result


_SHIFTS = _shifts(N_MOMENTS)


def places_of(starts: np.ndarray, level: int, chosen: np.ndarray) -> np.ndarray:
    """Return the places of the samples in some cells of a level, ascending; `starts` are those of the finest."""
    if not chosen.size:
        return chosen
    first, last = starts[chosen << level], starts[np.minimum((chosen + 1) << level, starts.size - 1)]
    counts = last - first
    within = np.arange(int(counts.sum()))
    return np.asarray(np.repeat(first - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + within)


def lifted(cells: Cells, ordered: Ordered, place: int) -> Cells:
    """Return the cells without the sample at a place; `ordered` is what is left of the samples.

    Its powers are taken out of its one cell per level; a cell that holds nothing any more is exactly 0.
    """
    x, y = float(cells.ordered.x[place]), float(cells.ordered.y[place])
    finest = int(np.searchsorted(cells.starts, place, side="right")) - 1
    levels = []
    for level, moments in enumerate(cells.levels):
        M, cell = moments.copy(), finest >> level
        width = cells.width_of(level)
        s = (x - (cell + 0.5) * width) / width
        M[:, :, cell] -= np.outer([1.0, y, y * y], s ** np.arange(M.shape[1]))
        if M[0, 0, cell] < 0.5:
            M[:, :, cell] = 0
        levels.append(M)
    starts = cells.starts - (np.arange(cells.starts.size) > finest)
    return Cells(ordered, cells.width, starts, tuple(levels))
