"""Moment cells where there are samples and nowhere else: for Gaussian sums over very unevenly spread ones.

The cells of `kav.regression.cells` divide the whole range evenly: one sample far out leaves all others in a few of
them. Here a cell is as narrow as a bandwidth asks for, and only those that hold samples are kept. The series is that of
`kav.regression.series` (Greengard and Strain 1991, eq. 8). With 8 terms and ``reach rho / 2 <= 1`` what it leaves out
of a weight is at most 6e-5 at the far end of the reach, where the weight is 1e-15 of the largest, and 1e-9 within two
bandwidths; measured, sums are within 2e-10.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kav.regression.cells import N_MOMENTS, cell_moments
from kav.regression.kernels import kernel_named
from kav.regression.ordered import Ordered
from kav.regression.series import DROPPED, hermite_terms
from kav.regression.window import Asked, Sums, nearest_distance, radius

_FINE = 1.0
"""Largest ``reach rho / 2``, the argument of the series, rho = width / h."""
_AT_ONCE = 15_000
"""Numbers at a time: arrays of so many stay in the cache and on the heap."""
_FINEST = 2.0**-48
"""Smallest width in units of the range: the places of narrower cells would not be whole numbers."""


@dataclass(frozen=True)
class SparseCells:
    """The cells that hold samples, ascending.

    Parameters
    ----------
    ordered : Ordered
    width : float
    starts : array, shape (n_cells + 1,)
        Places at which cells begin.
    centre : array, shape (n_cells,)
    M : array, shape (3, N_MOMENTS, n_cells)
        ``sum s^j {1, y, y^2}`` with ``s = (x - centre) / width``.
    """

    ordered: Ordered
    width: float
    starts: np.ndarray
    centre: np.ndarray
    M: np.ndarray


def width_for(ordered: Ordered, h: float) -> float | None:
    """Return the width at which the series of a query amid samples holds, None if there are no such cells."""
    reach = float(_radius(ordered.n, np.zeros(1))[0])
    width = 2 * _FINE * h / reach
    return width if width > _FINEST * ordered.span else None


def _radius(n: int, distance: np.ndarray) -> np.ndarray:
    """How many bandwidths from a query the samples still count."""
    return radius(kernel_named("gaussian"), distance, n, dropped=DROPPED)


def build_sparse(ordered: Ordered, width: float) -> SparseCells:
    """Return the cells of a width that hold samples."""
    index = np.floor(ordered.x / width)
    starts = np.concatenate([[0], np.flatnonzero(index[1:] != index[:-1]) + 1, [ordered.n]])
    centre = (index[starts[:-1]] + 0.5) * width
    return SparseCells(ordered, width, starts, centre, cell_moments(ordered, starts, centre, width))


def sparse_sums(
    cells: SparseCells, x_query: np.ndarray, asked: Asked, *, go_on: Callable[[], None] = lambda: None
) -> Sums:
    """Return the Gaussian sums at ascending queries amid the samples, each not much further than a cell from one.

    Parameters
    ----------
    x_query : array, shape (n_query,)
        In the coordinate of `Ordered.x`.
    go_on : callable
        Called every few milliseconds; may raise.
    """
    h, x = asked.effective_h, cells.ordered.x
    distance, _ = nearest_distance(x, x_query)
    reach = _radius(x.size, distance / h) * h + 0.5 * cells.width
    first = np.searchsorted(cells.centre, x_query - reach)
    last = np.searchsorted(cells.centre, x_query + reach, side="right")
    sums, row = np.zeros((2, x_query.size)), 0
    while row < x_query.size:
        longest = max(1, int(last[row] - first[row]))
        stop = min(x_query.size, row + max(1, _AT_ONCE // (2 * longest)))
        longest = max(1, int((last[row:stop] - first[row:stop]).max()))
        rows = slice(row, min(stop, row + max(1, _AT_ONCE // longest)))
        sums[:, rows] = _hermite(cells, x_query[rows], distance[rows], (first[rows], last[rows]), h)
        go_on()
        row = rows.stop
    return Sums(-0.5 * np.minimum(distance / h, 1e150) ** 2, *sums)


def _hermite(
    cells: SparseCells, x_query: np.ndarray, distance: np.ndarray, run: tuple[np.ndarray, np.ndarray], h: float
) -> np.ndarray:
    """Sums over a run of cells for each query, relative to the nearest sample, (2, n_query)."""
    first, last = run
    cell = first[:, None] + np.arange(max(1, int((last - first).max())))[None, :]
    held = cell < last[:, None]
    np.minimum(cell, cells.centre.size - 1, out=cell)
    rho = cells.width / h
    t = (x_query[:, None] - cells.centre[cell]) / h
    d = (distance / h)[:, None]
    sums = np.zeros((2, x_query.size))
    for j, T in enumerate(hermite_terms(t, d, held, rho, N_MOMENTS, nearer=2 * _FINE + 1)):
        for at in (0, 1):
            sums[at] += np.einsum("qc,qc->q", T, cells.M[at, j][cell])
    return sums


N_NODES = 5
_NODES = 0.5 * np.cos((2 * np.arange(N_NODES)[::-1] + 1) * np.pi / (2 * N_NODES))
"""Where in a cell a smooth function is asked for, s ascending: the Chebyshev nodes."""
_FROM_MOMENTS = np.linalg.inv(np.vander(_NODES, increasing=True))
"""Coefficients of the polynomials that are 1 at one node and 0 at the others, (N_NODES powers, N_NODES)."""


def nodes(cells: SparseCells) -> np.ndarray:
    """Return the places in each cell at which a smooth function is asked for, (n_cells, N_NODES), ascending."""
    return np.asarray(cells.centre[:, None] + cells.width * _NODES)


def node_sums(cells: SparseCells) -> np.ndarray:
    """Return how the samples of each cell weigh what is found at its nodes, (3, n_cells, N_NODES).

    The polynomial through the values v at the nodes, summed over the samples with 1, y or y^2, is ``sum_k v_k W_k``:
    exact to ``max |v^(5)| (width / 2)^5 / 1920`` a sample.
    """
    return np.asarray(np.einsum("cjm,jk->cmk", cells.M[:, :N_NODES], _FROM_MOMENTS))
