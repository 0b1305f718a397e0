"""A Gaussian fit of samples that are asked once: one pass over them and two Fourier transforms.

What `kav.regression.prepared` does for any number of questions, without what only pays at the second. Samples are
spread over the places of a fine grid: those of a cell become five point masses, at its own centre and those beside it,
with the same moments of order 0 to 3. Mass and moment are the real and the imaginary part of one transform, of which a
Gaussian leaves only the lowest frequencies: the transform back has no more places than are asked for.

What five masses get wrong is ``(s^4 - s^2) / 24`` of the fourth derivative, s in units of a cell, which is a small part
rho of a bandwidth: at most 0.024 rho^4 of K(0) per sample.
"""

from __future__ import annotations

import math
from math import comb
from typing import Any

import numpy as np

from kav.errors import KavError
from kav.regression.grid import FAINT, FINE_GRID, MARGIN, between_places, fast_length
from kav.regression.kernels import kernel_named
from kav.regression.ordered import Ordered
from kav.regression.window import Asked, direct_sums

_MASSES = np.asarray([[0, 1, 0, -1], [0, -8, 6, 2], [12, 0, -12, 0], [0, 8, 6, -2], [0, -1, 0, 1]]) / 12
"""From moments of order 0 to 3 to masses at -2, -1, 0, 1, 2 that have the same ones."""
_FINEST = 1 / 16
"""Largest width of a cell in bandwidths."""
_BAND = 0.45
"""Largest distance of two places in bandwidths at which a transform back holds a Gaussian to 1e-10."""
_REACH = 8.0
_BLOCK = 15_000
"""Samples at a time: below 128 kB an array is reused from the heap, above it is mapped and cleared anew."""
_PER_CELL = 4
"""Samples per cell from which the cells' places are looked up instead of each sample's cell."""
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
    with np.errstate(over="ignore", invalid="ignore"):
        places, f = _fit_on_grid(x, y, h, n_grid)
        size = 1.0 if np.all(np.isfinite(f)) else float(np.max(np.abs(y)))
    if not (math.isfinite(places[-1]) and math.isfinite(size)):
        raise KavError("x and y must hold finite numbers, got others")
    return (places, f) if size == 1 else (places, size * _fit_on_grid(x, y / size, h, n_grid)[1])


def _fit_on_grid(x: np.ndarray, y: np.ndarray, h: float, n_grid: int) -> tuple[np.ndarray, np.ndarray]:
    """Not finite where sums of the responses are no floats, or x or y are not."""
    low, mean = float(x[0]), float(np.mean(y))
    spacing = (float(x[-1]) - low) / (n_grid - 1)
    if not math.isfinite(spacing):
        return np.full(n_grid, spacing), np.full(n_grid, np.nan)
    if spacing == 0:
        return np.full(n_grid, low), np.full(n_grid, mean)
    every = max(1, math.ceil(spacing / (h * _FINEST)))  # cells from one place to the next
    places = low + spacing * np.arange(n_grid)
    if every * n_grid > _MOST_CELLS:
        mass, moment = np.zeros(n_grid), np.zeros(n_grid)
    else:
        step = next(step for step in range(every, 0, -1) if every % step == 0 and spacing / every * step <= _BAND * h)
        last = every * (n_grid - 1)
        sums = _convolved(x, y, h, low=low, mean=mean, width=spacing / every, n_cells=last + 1, step=step)
        mass, moment = sums[:, : last // step + 1 : every // step]
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
        None also where sums of the responses would be no floats. Exact to 1e-6 of the largest ``|y - mean y|``.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _fit_once(x, y, x_query, h)


def _fit_once(x: np.ndarray, y: np.ndarray, x_query: np.ndarray, h: float) -> np.ndarray | None:
    if np.any(x[1:] < x[:-1]):
        order = np.argsort(x)
        x, y = x[order], y[order]
    low, mean = float(x[0]), float(np.mean(y))
    width = h * FINE_GRID
    n_cells = (float(x[-1]) - low) / width + 1
    if not n_cells < _MOST_ONCE or not math.isfinite(mean) or not np.all(np.isfinite(x_query - low)):
        return None
    n_places = int(n_cells) + 1
    sums = _convolved(x, y, h, low=low, mean=mean, width=width, n_cells=n_places, step=1)
    values = np.concatenate([sums[:, -MARGIN:], sums[:, : n_places + MARGIN]], axis=1)
    if not np.all(np.isfinite(values)):
        return None
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
    x: np.ndarray, y: np.ndarray, h: float, *, low: float, mean: float, width: float, n_cells: int, step: int
) -> np.ndarray:
    """Mass and moment at the centre of every `step`-th cell, the first of them around `low`, (2, n_places).

    The places go on beyond the last cell and, from the end, before the first, `MARGIN` of them at least.
    """
    rho = width / h
    n_places = fast_length(math.ceil((n_cells + _REACH / rho) / step) + 2 * MARGIN)
    n = n_places * step
    grid = np.zeros(n, dtype=np.complex128)
    M = _moments(x, y, low, mean, width, n_cells)
    size = _size(M)  # one transform rounds both parts by the digits of the larger
    M[1] /= size
    masses = _MASSES @ M  # (2, 5 neighbours, n_cells)
    for part, mass in zip((grid.real, grid.imag), masses, strict=True):
        for neighbour in range(-2, 3):  # before the first cell is the end of the grid
            at = mass[neighbour + 2]
            inside = min(max(-neighbour, 0), n_cells)
            part[inside + neighbour : n_cells + neighbour] += at[inside:]
            for cell in range(inside):
                part[cell + neighbour] += at[cell]
    F = np.fft.fft(grid)
    half = n_places // 2
    kernel = np.exp(-0.5 * (2 * math.pi / (n * rho) * np.arange(half + 1)) ** 2)
    kernel *= math.sqrt(2 * math.pi) / (rho * step)
    below = n_places - half - 1  # negative frequencies
    found = np.fft.ifft(np.concatenate([F[: half + 1] * kernel, F[n - below :] * kernel[below:0:-1]]))
    return np.stack([found.real, size * found.imag])


def _size(M: np.ndarray) -> float:
    """The power of two by which sums of responses exceed counts of samples."""
    largest = float(max(M[1].max(), -M[1].min()) / M[0].max())
    return 2.0 ** (math.frexp(largest)[1] - 1) if 0 < largest < math.inf else 1.0


def _moments(x: np.ndarray, y: np.ndarray, low: float, mean: float, width: float, n_cells: int) -> np.ndarray:
    """Sums of ``s^j`` and ``s^j (y - mean)``, j = 0 to 3, in each cell, (2, 4, n_cells), with s from its centre."""
    M = np.zeros((2, 4, n_cells))
    if x.size < _PER_CELL * n_cells:
        _few(x, y, low, mean, width, M)
        return M
    starts = np.concatenate([[0], np.searchsorted(x, low + width * (np.arange(1, n_cells) - 0.5)), [x.size]])
    filled = np.flatnonzero(np.diff(starts))
    begins = starts[filled]
    sums, centre = np.empty((2, 4, filled.size)), np.empty(filled.size)
    sums[0, 0] = np.diff(starts)[filled]
    first = 0
    while first < filled.size:  # some cells at a time: their samples stay in the cache
        begin = int(begins[first])
        last = max(first + 1, int(np.searchsorted(begins, begin + _BLOCK)))
        end, at = int(starts[filled[last - 1] + 1]), begins[first:last] - begin
        t = x[begin:end] - (low + width * filled[first])  # few cells: little is lost when the centres are taken off
        t *= 1 / width
        np.subtract(filled[first:last], filled[first], out=centre[first:last])
        weighted = y[begin:end] - mean
        np.add.reduceat(weighted, at, out=sums[1, 0, first:last])
        np.add.reduceat(t, at, out=sums[0, 1, first:last])
        power = t
        for j in (1, 2, 3):
            weighted *= t
            np.add.reduceat(weighted, at, out=sums[1, j, first:last])
            if j > 1:
                power = power * t
                np.add.reduceat(power, at, out=sums[0, j, first:last])
        first = last
    for j in (3, 2, 1):  # from the centre of the block's first cell to each one's own
        sums[:, j] += sum(comb(j, i) * (-centre) ** (j - i) * sums[:, i] for i in range(j))
    M[:, :, filled] = sums
    return M


def _few(x: np.ndarray, y: np.ndarray, low: float, mean: float, width: float, M: np.ndarray) -> None:
    """Fill in the moments where cells have few samples."""
    s = (x - low) * (1 / width)
    cell = np.rint(s).astype(np.intp)
    s -= cell
    at = np.flatnonzero(np.diff(cell, prepend=-1))
    power, weighted = s, y - mean
    M[0, 0, cell[at]] = np.diff(np.append(at, x.size))
    M[1, 0, cell[at]] = np.add.reduceat(weighted, at)
    for j in (1, 2, 3):
        weighted *= s
        M[1, j, cell[at]] = np.add.reduceat(weighted, at)
        M[0, j, cell[at]] = np.add.reduceat(power, at)
        power = power * s
