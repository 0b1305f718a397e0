"""Fits on a regular grid by fast Fourier transform, and what they say at the samples between the grid's places.

The sum over moment cells (`kav.regression.cells`) at all cell centres is a convolution. With ``F_j`` the transform of
the moments ``M_j`` and omega the frequency per cell, the Gaussian sum is the inverse transform of

    sum_j (-i omega)^j / j! F_j(omega)  sqrt(2 pi) / rho  exp(-(omega / rho)^2 / 2),   rho = w / h.

Leave-one-out error and degrees of freedom then need no sum over samples either. They are sums of ``v(x_i) y_i^k`` with
v smooth on the scale of h: in each cell v is the polynomial through seven neighbouring centres, and the sums of
``s^j y^k`` are the moments. Where a sample has nearly all the weight at its own x the closed form loses digits
(0/0 in the limit); those samples are left to the caller, pair by pair.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np

from kav.regression.cells import Cells

N_TERMS = 6
FINEST = 1 / 8
"""Largest ``rho``: cells per bandwidth are at least 8."""
FINE_GRID = 1 / 32
"""The same where values between the places are wanted to nine digits."""
FAINT = 1e-5
"""Share of the largest mass below which the rounding of a transform would show."""
MARGIN = 3
"""Grid places beyond the outermost cells, for the polynomials there."""
_REACH = 8.0
_KEPT = 12
_SMOOTH = (1, 3, 5, 9, 15, 25, 27, 45, 75, 81, 125, 135)
_FAST = tuple(sorted(factor << power for factor in _SMOOTH for power in range(40)))


@dataclass
class Spectra:
    """What one sample set's cells give to every bandwidth, kept while it is asked at many."""

    cells: Cells
    transforms: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    sums: dict[int, np.ndarray] = field(default_factory=dict)

    def transform(self, level: int, n: int) -> np.ndarray:
        """Return ``sum_j (-i omega)^j / j! F_j`` for 1 and y, which no bandwidth changes; (2, n // 2 + 1)."""
        found = self.transforms.get((level, n))
        if found is None:
            if len(self.transforms) >= _KEPT:
                self.transforms.clear()
            F = np.fft.rfft(self.cells.levels[level][:2, :N_TERMS], n, axis=-1)
            step = -2j * math.pi / n * np.arange(n // 2 + 1)
            found = F[:, -1]
            for j in range(F.shape[1] - 1, 0, -1):  # Horner
                found = F[:, j - 1] + found * (step / j)
            self.transforms[level, n] = found
        return found

    def sample_sums(self, level: int, held: np.ndarray) -> np.ndarray:
        """Return weights of the grid's places in sums over samples, for y^0, y^1, y^2; (3, n_cells + 2 MARGIN).

        ``sum_i v(x_i) y_i^k`` over the samples of the cells that are `held` is ``weights[k] @ v``, with v at `centres`.
        """
        if np.all(held):
            if level not in self.sums:
                self.sums[level] = _sample_sums(self.cells.levels[level])
            return self.sums[level]
        return _sample_sums(np.where(held, self.cells.levels[level], 0.0))


def _sample_sums(M: np.ndarray) -> np.ndarray:
    """Per cell v is a polynomial through seven places: the sum over samples is linear in v at all places."""
    weights = np.zeros((3, M.shape[-1] + 2 * MARGIN))
    parts = np.matmul(_TAYLOR.T, M[:, : 2 * MARGIN + 1])  # (3, 7 places, n_cells)
    for place in range(2 * MARGIN + 1):
        weights[:, place : place + M.shape[-1]] += parts[:, place]
    return weights


def level_for(cells: Cells, width: float) -> int:
    """Return the coarsest level whose cells are at most that wide, -1 if none is."""
    level = math.floor(math.log2(max(width / cells.width, 2.0**-10)))
    return min(max(level, -1), len(cells.levels) - 1)


def centres(cells: Cells, level: int) -> np.ndarray:
    """Return the grid's places: all cell centres and `MARGIN` more on either side."""
    n_cells = cells.levels[level].shape[-1]
    return (np.arange(-MARGIN, n_cells + MARGIN) + 0.5) * cells.width_of(level)


def gaussian_on_grid(spectra: Spectra, level: int, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Return ``sum K`` and ``sum K y`` at `centres`, exact to about 1e-9 of the largest ``sum K``.

    K(0) = 1.
    """
    mass, moment = gaussians_on_grid(spectra, level, np.asarray([h]))[:, 0]
    return mass, moment


def gaussians_on_grid(spectra: Spectra, level: int, h: np.ndarray) -> np.ndarray:
    """Return the same for several bandwidths (n_h,), one transform for all; (2, n_h, n_cells + 2 MARGIN)."""
    rho = spectra.cells.width_of(level) / h[:, None]
    n_cells = spectra.cells.levels[level].shape[-1]
    n = fast_length(n_cells + MARGIN + math.ceil(_REACH / float(rho.min())))
    omega = 2 * math.pi / n * np.arange(n // 2 + 1)
    kernel = omega / rho
    kernel *= kernel
    kernel *= -0.5
    np.exp(kernel, out=kernel)
    kernel *= math.sqrt(2 * math.pi) / rho
    values = np.fft.irfft(spectra.transform(level, n)[:, None] * kernel, n, axis=-1)
    return np.concatenate([values[..., -MARGIN:], values[..., : n_cells + MARGIN]], axis=-1)


def between_places(values: np.ndarray, x_query: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Return values at any place from those at `centres`, and which places the grid covers.

    Parameters
    ----------
    values : array, shape (k, n_cells + 2 MARGIN)
        Smooth on the scale of many cells: between cells 1/32 of a bandwidth wide the polynomial through seven of them
        is exact to 1e-9 of a Gaussian sum up to five bandwidths from its samples.
    x_query : array, shape (n_query,)
    width : float
        Of a cell.

    Returns
    -------
    at_query : array, shape (k, n_query)
        0 where the grid does not reach.
    covered : array of bool, shape (n_query,)
    """
    n_cells = values.shape[-1] - 2 * MARGIN
    position = x_query / width
    cell = np.floor(position)
    covered = (cell >= 0) & (cell < n_cells)
    cell = np.where(covered, cell, 0.0)
    s = np.where(covered, position - cell - 0.5, 0.0)
    powers = np.ones((2 * MARGIN + 1, s.size))
    for j in range(1, 2 * MARGIN + 1):
        np.multiply(powers[j - 1], s, out=powers[j])
    weights = np.where(covered[:, None], powers.T @ _TAYLOR, 0.0)  # (n_query, 7)
    windows = np.lib.stride_tricks.sliding_window_view(values, 2 * MARGIN + 1, axis=-1)
    return np.einsum("kqm,qm->kq", windows[:, cell.astype(np.intp)], weights), covered


def fast_length(n: int) -> int:
    """Return the smallest power of two, times one of a few products of 3 and 5, that is at least n; at most 1.13 n."""
    return _FAST[bisect_left(_FAST, n)]


def _taylor() -> np.ndarray:
    """Rows: weights of seven neighbours in the coefficients of s^0 to s^6 of the polynomial through them."""
    offsets = np.arange(-MARGIN, MARGIN + 1.0)
    return np.asarray(np.linalg.inv(np.vander(offsets, increasing=True)))


_TAYLOR = _taylor()
