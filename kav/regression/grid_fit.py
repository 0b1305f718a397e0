"""A Gaussian fit of samples that are asked once: one pass over them and two Fourier transforms.

What `kav.regression.prepared` does for any number of questions, without what only pays at the second: moments of cells
of one width, four terms of the Hermite series, a convolution (`kav.regression.grid`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kav.errors import KavError
from kav.regression.cells import Cells
from kav.regression.grid import FAINT, FINE_GRID, MARGIN, Spectra, between_places, gaussian_on_grid
from kav.regression.kernels import kernel_named
from kav.regression.ordered import Ordered
from kav.regression.window import Asked, direct_sums

_TERMS = 4
_FINEST = 1 / 12
_BLOCK = 15_000
"""Samples at a time: below 128 kB an array is reused from the heap, above it is mapped and cleared anew."""
_MOST_CELLS = 1 << 20
_MOST_ONCE = 1 << 16


def fit_on_grid(x: Any, y: Any, h: float, n_grid: int = 401) -> tuple[np.ndarray, np.ndarray]:
    """Return equally spaced places from the smallest to the largest x, and the Gaussian fit there.

    Parameters
    ----------
    x, y : array, shape (n,)
        Finite; quickest if x is ascending.
    h : float
        Bandwidth, > 0.
    n_grid : int
        Number of places, at least 2.

    Returns
    -------
    places, f : numpy.ndarray, shape (n_grid,)
        f is exact to 1e-6 of the largest ``|y - mean y|``; places that hold less than 1e-5 of the largest mass are
        summed pair by pair. It is the fit at the exact place, of which `places` holds the nearest float.

    Raises
    ------
    KavError
        If h is not > 0, n_grid is below 2, or x and y are not two equally long lists of finite numbers, at least one.

    References
    ----------
    Fan and Marron 1994, Fast implementations of nonparametric curve estimators, for binning and convolution;
    Greengard and Strain 1991, eq. 8, for the series.
    """
    if not (math.isfinite(h) and h > 0):
        raise KavError(f"bandwidth h must be > 0 and finite, got {h:g}")
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or not x.size or n_grid < 2:
        raise KavError(f"x and y must be equally long lists and n_grid at least 2, got {x.shape}, {y.shape}, {n_grid}")
    if np.any(x[1:] < x[:-1]):
        order = np.argsort(x)
        x, y = x[order], y[order]
    low, mean = float(x[0]), float(np.mean(y))
    spacing = (float(x[-1]) - low) / (n_grid - 1)
    if not (math.isfinite(spacing) and math.isfinite(mean)):
        raise KavError("x and y must hold finite numbers, got others")
    if spacing == 0:
        return np.full(n_grid, low), np.full(n_grid, mean)
    every = max(1, math.ceil(spacing / (h * _FINEST)))  # cells from one place to the next
    places = low + spacing * np.arange(n_grid)
    if every * n_grid > _MOST_CELLS:
        mass, moment = np.zeros(n_grid), np.zeros(n_grid)
    else:
        mass, moment = _convolved(x, y, h, low=low, mean=mean, width=spacing / every, n_cells=every * (n_grid - 1) + 1)
        mass, moment = mass[MARGIN:-MARGIN:every], moment[MARGIN:-MARGIN:every]
    faint = np.flatnonzero(~(mass > FAINT * mass.max(initial=0.0)))
    f = moment / np.where(mass > 0, mass, 1.0)
    if faint.size:
        exact = direct_sums(_ordered(x, y, low, mean), places[faint] - low, Asked(kernel_named("gaussian"), h))
        f[faint] = exact.mean()
    return places, mean + f


def fit_once(x: np.ndarray, y: np.ndarray, x_query: np.ndarray, h: float) -> np.ndarray | None:
    """Return the Gaussian fit at any places, (n_query,); None if the bandwidth is too fine for one grid.

    Parameters
    ----------
    x, y : array, shape (n,)
        Finite, at least one.
    x_query : array, shape (n_query,)
        Finite.

    Returns
    -------
    numpy.ndarray or None
        Exact to 1e-6 of the largest ``|y - mean y|``.
    """
    if np.any(x[1:] < x[:-1]):
        order = np.argsort(x)
        x, y = x[order], y[order]
    low, mean = float(x[0]), float(np.mean(y))
    width = h * FINE_GRID
    n_cells = (float(x[-1]) - low) / width + 1
    if not n_cells < _MOST_ONCE or not math.isfinite(mean):
        return None
    values = np.stack(_convolved(x, y, h, low=low, mean=mean, width=width, n_cells=int(n_cells) + 1))
    (mass, moment), covered = between_places(values, x_query - low + width / 2, width)
    faint = np.flatnonzero(~covered | (mass < FAINT * values[0].max()))
    f = moment / np.where(mass > 0, mass, 1.0)
    if faint.size:
        faint = faint[np.argsort(x_query[faint])]
        asked = Asked(kernel_named("gaussian"), h)
        f[faint] = direct_sums(_ordered(x, y, low, mean), x_query[faint] - low, asked).mean()
    return np.asarray(mean + f)


def _ordered(x: np.ndarray, y: np.ndarray, low: float, mean: float) -> Ordered:
    return Ordered(x - low, y - mean, None, low, mean, 1.0)


def _convolved(
    x: np.ndarray, y: np.ndarray, h: float, *, low: float, mean: float, width: float, n_cells: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mass and moment at the centres of cells, the first of them around `low`, with `MARGIN` more on either side."""
    starts = np.concatenate([[0], np.searchsorted(x, low + width * (np.arange(1, n_cells) - 0.5)), [x.size]])
    M = _moments(x, y, starts, low=low, mean=mean, width=width)
    cells = Cells(_ordered(x[:0], y[:0], low, mean), width, starts, (M,))
    return gaussian_on_grid(Spectra(cells), 0, h)


def _moments(x: np.ndarray, y: np.ndarray, starts: np.ndarray, *, low: float, mean: float, width: float) -> np.ndarray:
    """Sums of ``s^j`` and ``s^j (y - mean)`` in each cell, (2, _TERMS, n_cells), with s from the cell's centre."""
    filled = np.flatnonzero(np.diff(starts))
    begins = starts[filled]
    M = np.zeros((2, _TERMS, starts.size - 1))
    M[0, 0] = np.diff(starts)
    first = 0
    while first < filled.size:  # some cells at a time: their samples stay in the cache
        begin = int(begins[first])
        last = max(first + 1, int(np.searchsorted(begins, begin + _BLOCK)))
        cells = filled[first:last]
        end = int(starts[cells[-1] + 1])
        at = begins[first:last] - begin
        s = x[begin:end] - np.repeat(low + width * cells, np.diff(np.append(at, end - begin)))
        s *= 1 / width
        weighted = y[begin:end] - mean
        power = s
        M[1, 0, cells] = np.add.reduceat(weighted, at)
        for j in range(1, _TERMS):
            weighted *= s
            M[1, j, cells] = np.add.reduceat(weighted, at)
            M[0, j, cells] = np.add.reduceat(power, at)
            power = power * s if j < _TERMS - 1 else power
        first = last
    return M
