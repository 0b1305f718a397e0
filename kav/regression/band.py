"""How sure a fit is: effective degrees of freedom, residual standard deviation, standard errors.

Shapes: ``S (n, n)`` with the samples themselves as queries, ``y (n,)``, ``weights (..., n)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from array_api_compat import device, is_numpy_array

from kav import smoother
from kav.arrays import Array, namespace
from kav.regression.accounts import accounts, known_accounts, lasting_accounts
from kav.regression.fit import Observed, float64_arrays, observe
from kav.regression.prepared import Prepared

Weigh = Callable[[Array], Array]
FEW = 500
"""Samples up to which the whole matrix is no trouble."""


@dataclass(frozen=True)
class Spread:
    """What a fit spends, ``dof = trace(S)``, and what it leaves: residual s.d. ``sigma``, NaN if nothing is left.

    Both exact to 3e-6 if `exact`.
    """

    dof: float
    sigma: float
    exact: bool = True


def spread(observed: Observed, weigh: Weigh = smoother.weights) -> Spread:
    """Return degrees of freedom and residual standard deviation of a fit at its own samples.

    Parameters
    ----------
    observed : Observed
    weigh : callable
        From log-kernel rows to weights, both (n_rows, n); another than the smoother's own where samples are scaled.

    Returns
    -------
    Spread
        ``sigma^2 = sum (y - S y)^2 / (n - trace S)``, over the samples that have a fit.

    References
    ----------
    Hastie and Tibshirani 1990, Generalized Additive Models, sections 3.5 and 3.8.
    """
    if is_numpy_array(observed.x) and weigh is smoother.weights and observed.n > FEW:
        return spread_of(Prepared.of(observed.x[observed.seen], observed.y[observed.seen]), observed)
    return spread_every_pair(observed, weigh)


def spread_of(prepared: Prepared, asked: Observed | tuple[float, str], *, quick: bool = False) -> Spread:
    """Return the same for samples made ready, whatever their number; `accounts` says how exact it is.

    `asked` is bandwidth and kernel, or samples observed with them. If `quick`, what takes long is taken on a grid
    unless it was summed before.
    """
    h, kernel = (asked.h, asked.kernel.name) if isinstance(asked, Observed) else asked
    found = known_accounts(prepared, h, kernel)
    if found is None and quick:
        found = prepared.kept(("accounts", float(h), kernel), lambda: accounts(prepared, h, kernel, quick=1))
        if found.exact:
            prepared.lasting.kept((float(h), kernel), lambda: found)
    elif found is None:
        found = lasting_accounts(prepared, h, kernel)
    return Spread(found.dof, _deviation(found.square, found.n_fitted, found.dof), found.exact)


def _deviation(square: float, n_fitted: int, dof: float) -> float:
    left = n_fitted - dof
    return math.sqrt(square / left) if left > 1e-9 * max(n_fitted, 1) else math.nan


def spread_every_pair(observed: Observed, weigh: Weigh = smoother.weights) -> Spread:
    """Return the same from the whole matrix: the plain twin."""
    xp = namespace(observed.x)
    dof, square, n_fitted = 0.0, 0.0, 0
    for rows in observed.row_blocks(observed.n):
        S = weigh(observed.log_kernel(observed.x[rows]))  # (n_rows, n)
        fitted = xp.astype(xp.any(S != 0, axis=-1) & observed.seen[rows], S.dtype)
        own = xp.eye(S.shape[0], observed.n, k=rows.start, dtype=S.dtype, device=device(S))
        dof += float(xp.sum(S * own))
        square += float(xp.sum(fitted * (observed.y[rows] - S @ observed.y) ** 2))
        n_fitted += int(xp.sum(fitted))
    return Spread(dof, _deviation(square, n_fitted, dof))


def standard_error(weights: Array, sigma: float) -> Array:
    """Return the standard error of weighted averages, ``sigma ||w||``, shape ``weights.shape[:-1]``.

    References
    ----------
    Wasserman 2006, All of Nonparametric Statistics, eq. 5.100: variance of a linear smoother.
    """
    xp = namespace(weights)
    return sigma * xp.sqrt(xp.sum(weights * weights, axis=-1))


def degrees_of_freedom(x: Any, h: float, kernel: str = "gaussian") -> float:
    """Return the effective degrees of freedom ``trace(S)`` of a fit.

    Exact but for a relative 2e-6 (Gaussian, from 500 samples on) and 1e-3 (exp-dot-product, from 3,000 on).

    Raises
    ------
    KavError
        As in `fit`.
    """
    (x,) = float64_arrays(x=x)
    return spread(observe(x, namespace(x).zeros_like(x), h, kernel)).dof
