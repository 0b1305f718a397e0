"""A Gaussian fit of samples that are asked once: one pass over them and two Fourier transforms.

What `kav.regression.prepared` does for any number of questions, without what only pays at the second. Samples are
spread over a fine grid as point masses (`kav.regression.masses`). Mass and moment are the real and the imaginary part
of one transform, of which a Gaussian leaves only the lowest frequencies: the transform back has the places that are
asked for, whatever the cells.

A cell's masses are exact to third order, and miss up to ``rho^4 / 3072`` of the fourth derivative of K, with rho the
cell's width in bandwidths: ``rho^4 |T^4 - 6 T^2 + 3| / 3072`` of the weight of a sample T bandwidths away. Cells of
1/10 serve places that hold a quarter of the largest mass, where samples on either side are at most T = 2.04 away: 2e-7
at worst, and up to 8e-7 from neighbours taken together, ``|T^2 - 1| / 8`` of their squared width. Places that hold
less, T up to 4.9, take cells of 1/24, 5e-7, or are summed pair by pair; so do all where samples are spread unevenly.
Where they are spread over their cells, and not in one heap, all but some 1e-8 averages out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kav.errors import KavError
from kav.regression.grid import FAINT, MARGIN, between_places, fast_length
from kav.regression.kernels import kernel_named
from kav.regression.masses import REACH, cell_moments, spread
from kav.regression.ordered import Ordered
from kav.regression.window import Asked, direct_sums

_COARSE, _FINE = 1 / 10, 1 / 24
"""Largest width of a cell in bandwidths, where much mass is and where little is."""
_MUCH = 1 / 4
"""Share of the largest mass from which it is much."""
_BETWEEN = 1 / 32
"""Distance of places in bandwidths between which `between_places` is exact to nine digits."""
_BAND = 0.45
"""Largest distance of two places in bandwidths at which a transform back holds a Gaussian to 1e-10."""
_REACH = 8.0
_MOST_CELLS = 1 << 20
_MOST_ONCE = 1 << 16
_FEW_PAIRS = 1 << 16
_UNEVEN = 3.0
"""Ratio of the lengths of 32 equal parts of the samples from which fine cells are taken at once."""
_LEAST_TO_TELL = 500
_DIGITS = 1e4
"""Size of the mean of y in its deviations up to which it is taken off the sums and not each response."""


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
        f is exact to 1e-6 of the largest ``|y - mean y|``. It is the fit at the exact place, of which `places` holds
        the nearest float.

    Raises
    ------
    KavError
        If h is not > 0, n_grid is below 2, or x and y are not two equally long lists of finite numbers, at least one.

    References
    ----------
    Fan and Marron 1994, Fast implementations of nonparametric curve estimators, for binning and convolution;
    Lanczos 1938, Trigonometric interpolation of empirical and analytical functions, for economised powers.
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
        known = bool(np.all(np.isfinite(f)))
        if not known:  # sums of large responses are no floats, or the samples are none
            size = float(np.max(np.abs(y)))
            f = size * _fit_on_grid(x, y / size, h, n_grid)[1]
            known = bool(np.all(np.isfinite(f)))
    if not (math.isfinite(places[-1]) and known):
        raise KavError("x and y must hold finite numbers, got others")
    return places, f


def _fit_on_grid(x: np.ndarray, y: np.ndarray, h: float, n_grid: int) -> tuple[np.ndarray, np.ndarray]:
    """Not finite where sums of the responses are no floats, or x or y are not."""
    low = float(x[0])
    spacing = (float(x[-1]) - low) / (n_grid - 1)
    if not math.isfinite(spacing):
        return np.full(n_grid, spacing), np.full(n_grid, np.nan)
    if spacing == 0:
        return np.full(n_grid, low), np.full(n_grid, float(np.mean(y)))
    y, common = _without_common(y)
    away = spacing * np.arange(n_grid)
    step = math.ceil(min(spacing / (_BAND * h), _MOST_CELLS))  # places of the transform from one to the next
    length = step * n_grid + min(_REACH * h / spacing * step, _MOST_CELLS)

    def at(finest: float) -> _Found:
        if h > spacing * n_grid:
            return _from_masses(x, y, h, low=low, width=h * finest, away=away)
        if length * spacing > _MOST_CELLS * finest * h * step:
            return None
        n_places = fast_length(math.ceil(length))
        n = fast_length(math.ceil(n_places * spacing / (step * finest * h)))
        sums, mean = _convolved(x, y, h, low=low, width=n_places * spacing / (step * n), n=n, n_places=n_places)
        mass, moment = (part[: step * n_grid : step] for part in sums)
        return (mass, moment), float(sums[0].max()), mean

    return low + away, common + _fit(x, y, h, low, away, at)


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
    low = float(x[0])
    away = x_query - low
    if not (float(x[-1]) - low < _MOST_ONCE * _BETWEEN * h) or not np.all(np.isfinite(away)):
        return None
    y, common = _without_common(y)

    def at(finest: float) -> _Found:
        width = h * _BETWEEN
        n_places = int((float(x[-1]) - low) / width) + 2
        n_all = fast_length(n_places + math.ceil(_REACH / _BETWEEN))
        n = fast_length(math.ceil(1.6 * n_all * _BETWEEN / finest))  # narrower: this fit is shown as it is
        sums, mean = _convolved(x, y, h, low=low, width=n_all * width / n, n=n, n_places=n_all)
        values = np.asarray([np.append(part[-MARGIN:], part[: n_places + MARGIN]) for part in sums])
        mass, moment = between_places(values, away + width / 2, width)[0]
        return (mass, moment), float(sums[0].max()), mean

    f = _fit(x, y, h, low, away, at)
    return common + f if np.all(np.isfinite(f)) else None


_Parts = tuple[np.ndarray, np.ndarray]
_Found = tuple[_Parts, float, float] | None
"""Mass and moment of ``y - mean`` where asked, (n_places,) each, largest mass anywhere, mean; None: no grid."""


def _fit(
    x: np.ndarray, y: np.ndarray, h: float, low: float, away: np.ndarray, at: Callable[[float], _Found]
) -> np.ndarray:
    """The fit at places that far `away` from the first sample: on coarse cells, on fine ones, pair by pair."""
    enough, found = FAINT, None if _evenly_spread(x) else at(_FINE)
    if found is None:
        enough, found = _MUCH, at(_COARSE)
    if found is None:
        mean = float(np.mean(y))
        return _pair_by_pair(x, y, h, low, mean if math.isfinite(np.sum(x - low)) else math.nan, away)
    (mass, moment), most, mean = found
    if not math.isfinite(most):
        return np.full(away.shape, np.nan)
    if float(mass.min(initial=math.inf)) >= enough * most:  # the usual case
        f = moment / mass
        f += mean
        return np.asarray(f)
    f = mean + moment / np.where(mass > 0, mass, 1.0)
    left = np.flatnonzero(~(mass >= enough * most))
    again = enough == _MUCH and left.size and not _few_pairs(x, h, low + away[left])
    if again and (found := at(_FINE)) is not None:
        (mass, moment), most, mean = found
        f[left] = mean + moment[left] / np.where(mass[left] > 0, mass[left], 1.0)
        left = np.flatnonzero(~(mass >= FAINT * most))
    if left.size:
        f[left] = _pair_by_pair(x, y, h, low, mean, away[left])
    return np.asarray(f)


def _evenly_spread(x: np.ndarray) -> bool:
    """Whether few places will hold less than `_MUCH`, as far as some of the samples can tell."""
    if x.size < _LEAST_TO_TELL:
        return True
    lengths = np.diff(x[:: x.size // 32])
    return float(lengths.max()) <= _UNEVEN * float(lengths.min())


def _few_pairs(x: np.ndarray, h: float, places: np.ndarray) -> bool:
    """Whether the pairs of some places and the samples near them cost less than all samples do once more."""
    n_pairs = np.searchsorted(x, places + _REACH * h) - np.searchsorted(x, places - _REACH * h)
    return int(n_pairs.sum()) < _FEW_PAIRS + 2 * x.size


def _pair_by_pair(x: np.ndarray, y: np.ndarray, h: float, low: float, mean: float, away: np.ndarray) -> np.ndarray:
    ordered, order = Ordered(x - low, y - mean, None, low, mean, 1.0), np.argsort(away)
    f = np.empty(away.size)
    f[order] = mean + direct_sums(ordered, away[order], Asked(kernel_named("gaussian"), h)).mean()
    return f


def _without_common(y: np.ndarray) -> tuple[np.ndarray, float]:
    """The responses without what nearly all of their size is, and that; as they are where digits suffice."""
    some = y[:: max(1, y.size // 64)]
    least, most = float(some.min()), float(some.max())
    if not max(-least, most) > _DIGITS * (most - least):
        return y, 0.0
    common = least + (most - least) / 2
    return y - common, common


def _centred_masses(
    x: np.ndarray, y: np.ndarray, h: float, *, low: float, width: float
) -> tuple[np.ndarray, float, float]:
    """Masses of 1 and ``(y - mean) / size``, (2, n_cells + 2 REACH), the mean and the size.

    The size is the power of two by which sums of responses exceed counts of samples: one transform rounds both parts by
    the digits of the larger.
    """
    n_cells = int((float(x[-1]) - low) / width) + 2
    M = cell_moments(x, y, low=low, width=width, n_cells=n_cells, h=h * (width > h * _FINE))
    mean = float(M[1, 0].sum()) / x.size
    M[1] -= mean * M[0]
    largest = float(max(M[1].max(), -M[1].min()) / M[0].max())
    size = 2.0 ** (math.frexp(largest)[1] - 1) if 0 < largest < math.inf else 1.0
    M[1] /= size
    return spread(M), mean, size


def _from_masses(x: np.ndarray, y: np.ndarray, h: float, *, low: float, width: float, away: np.ndarray) -> _Found:
    """Each mass at each place: where a bandwidth is most of the range there are few."""
    masses, mean, size = _centred_masses(x, y, h, low=low, width=width)
    u = away[:, None] / h - (width / h) * np.arange(-REACH, masses.shape[1] - REACH)
    sums = np.exp(-0.5 * u * u) @ masses.T  # (n_places, 2)
    return (sums[:, 0], size * sums[:, 1]), float(sums[:, 0].max()), mean


def _convolved(
    x: np.ndarray, y: np.ndarray, h: float, *, low: float, width: float, n: int, n_places: int
) -> tuple[_Parts, float]:
    """Mass and moment of ``y - mean`` at places that divide the length of n cells, the first at `low`; the mean.

    Places before the first are at the end, (n_places,) each.
    """
    masses, mean, size = _centred_masses(x, y, h, low=low, width=width)
    grid = np.zeros(n, dtype=np.complex128)
    for part, mass in zip((grid.real, grid.imag), masses, strict=True):
        part[: mass.size - REACH] = mass[REACH:]
        part[-REACH:] = mass[:REACH]  # before the first cell is the end of the grid
    F = np.fft.fft(grid)
    band = 2 * math.pi * h / (n * width)
    most = min((min(n, n_places) - 1) // 2, math.ceil(9 / band))  # a Gaussian leaves nothing of higher frequencies
    kernel = np.exp(-0.5 * (band * np.arange(most + 1)) ** 2)
    kernel *= math.sqrt(2 * math.pi) * h / width * n_places / n
    low_pass = np.zeros(n_places, dtype=np.complex128)
    np.multiply(F[: most + 1], kernel, out=low_pass[: most + 1])
    np.multiply(F[n - most :], kernel[:0:-1], out=low_pass[n_places - most :])
    found = np.fft.ifft(low_pass)
    return (found.real, size * found.imag), mean
