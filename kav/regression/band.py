"""How sure a fit is: effective degrees of freedom, residual standard deviation, standard errors.

Shapes: ``S (n, n)`` with the samples themselves as queries, ``y (n,)``, ``weights (..., n)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from array_api_compat import device

from kav import smoother
from kav.arrays import Array, namespace
from kav.regression.fit import float64_arrays, observe


@dataclass(frozen=True)
class Spread:
    """What a fit spends, ``dof = trace(S)``, and what it leaves: residual s.d. ``sigma``, NaN if nothing is left."""

    dof: float
    sigma: float


def spread(S: Array, y: Array) -> Spread:
    """Return degrees of freedom and residual standard deviation of a fit at its own samples.

    Parameters
    ----------
    S : array, shape (n, n)
        Smoother matrix with x_query = x.
    y : array, shape (n,)

    Returns
    -------
    Spread
        ``sigma^2 = sum (y - S y)^2 / (n - trace S)``.

    References
    ----------
    Hastie and Tibshirani 1990, Generalized Additive Models, sections 3.5 and 3.8.
    """
    xp = namespace(S, y)
    n = int(y.shape[0])
    dof = float(xp.linalg.trace(S)) if n else 0.0
    left = n - dof
    square = float(xp.sum((y - S @ y) ** 2)) if n else 0.0
    return Spread(dof, math.sqrt(square / left) if left > 1e-9 * max(n, 1) else math.nan)


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

    Raises
    ------
    KavError
        As in `fit`.
    """
    (x,) = float64_arrays(x=x)
    observed = observe(x, namespace(x).zeros_like(x), h, kernel)
    total = 0.0
    xp = namespace(x)
    for rows in observed.row_blocks(observed.n):
        S = smoother.weights(observed.log_kernel(observed.x[rows]))
        own = xp.eye(S.shape[0], observed.n, k=rows.start, dtype=S.dtype, device=device(x))
        total += float(xp.sum(S * own))
    return total
