"""The Gaussian's leave-one-out error at many bandwidths at once: what `accounts.accounts` gives one by one.

Bandwidths whose grid has the same level share one transform and one pass of sums. Where some sample is to be taken
pair by pair, and for the other kernels, a bandwidth is left to `accounts.accounts`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kav.regression.accounts import THIN, Accounts, accounts, affordable, lasting_accounts
from kav.regression.grid import FAINT, FINEST, MARGIN, Spectra, gaussians_on_grid, level_for
from kav.regression.kernels import kernel_named
from kav.regression.prepared import Prepared
from kav.task import Task

_FEW = 300
"""Samples up to which `accounts.accounts` takes every pair."""
_MOST_S = 0.9
_CELLS_AT_ONCE = 1 << 16
"""Grid places of all bandwidths of one pass: more would leave the cache."""


def loo_errors(
    prepared: Prepared,
    h: np.ndarray,
    kernel: str,
    *,
    quick: int = 0,
    spectra: Spectra | None = None,
    before_each: Callable[[int], None] | None = None,
    task: Task | None = None,
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the mean squared leave-one-out error at each bandwidth and how many samples have one, both (n_h,).

    And whether all of it is exact to 3e-6.

    Parameters
    ----------
    h : array, shape (n_h,)
    quick, spectra
        As in `accounts.accounts`; what is not quick is kept.
    before_each : callable or None
        Told which bandwidth comes next, where they are taken one by one.
    task : Task or None
        Asked within a bandwidth whether to go on.
    """
    error, count, exact = np.full(h.size, np.nan), np.full(h.size, prepared.n), True
    if kernel == "gaussian" and prepared.n > _FEW and not prepared.extras.n:
        _on_one_grid(prepared, h, spectra or prepared.core.spectra(), error)
    for at in np.flatnonzero(np.isnan(error)):
        if before_each is not None:
            before_each(int(at))
        found = accounts_at(prepared, float(h[at]), kernel, quick=quick, spectra=spectra, task=task)
        error[at], count[at] = found.loo, found.n_left_out
        exact = exact and found.exact
    return error, count, exact


def accounts_at(
    prepared: Prepared, h: float, kernel: str, *, quick: int, spectra: Spectra | None, task: Task | None
) -> Accounts:
    """Return the accounts of one of many bandwidths: what takes long is kept, so that a sweep may be resumed."""
    row = kernel_named(kernel)
    if quick or row.log_K is None or row.name == "gaussian" or affordable(row, prepared.n):
        return accounts(prepared, h, kernel, quick=quick, spectra=spectra)
    return lasting_accounts(prepared, h, kernel, task)


def _on_one_grid(prepared: Prepared, h: np.ndarray, spectra: Spectra, error: np.ndarray) -> None:
    """Fill in the errors of the bandwidths at which every sample has a closed form."""
    usable = np.asarray([prepared.asked(float(one), "gaussian").effective_h for one in h])
    levels = np.asarray([level_for(spectra.cells, FINEST * one) for one in usable])
    for level in np.unique(levels[levels >= 0]):
        members = np.flatnonzero(levels == level)
        n_at_once = max(1, _CELLS_AT_ONCE // spectra.cells.levels[level].shape[-1])
        for first in range(0, members.size, n_at_once):
            some = members[first : first + n_at_once]
            relative, scale = _left_out_mean(spectra, int(level), usable[some]), prepared.ordered.scale
            with np.errstate(over="ignore"):  # inf where the error is no float
                error[some] = scale * (scale * relative)


def _left_out_mean(spectra: Spectra, level: int, h: np.ndarray) -> np.ndarray:
    """Mean squared leave-one-out residual at bandwidths of one level, NaN where a sample needs its pairs; (n_h,)."""
    mass, moment = gaussians_on_grid(spectra, level, h)
    n_filled = spectra.cells.levels[level][0, 0]
    faint = np.maximum(1 / THIN, FAINT * mass.max(axis=1))  # S > THIN is mass < 1 / THIN
    closed = np.all((mass[:, MARGIN:-MARGIN] >= faint[:, None]) | (n_filled < 0.5), axis=1)
    held = mass > 0
    mass = np.where(held, mass, 1.0)
    f = np.where(held, moment / mass, 0.0)
    rest = 1 - np.where(held, np.minimum(1 / mass, _MOST_S), 0.0)
    everywhere = np.ones(n_filled.shape, dtype=bool)
    ones, y, y_y = spectra.sample_sums(level, everywhere)
    square = np.sum((y_y - f * (2 * y - ones * f)) / (rest * rest), axis=1)
    return np.where(closed, square / spectra.cells.ordered.n, np.nan)
