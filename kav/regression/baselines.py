"""What else could go through the same samples: mean, lines, kernel ridge, local linear, nearest neighbours.

All six are linear smoothers, ``f = B y``. Each function returns the matrix ``B (n_query, n)``, so that the fit, its
sum of parts and the influence of one sample all come from the same numbers.

Shapes: ``x, y (n,)``, ``x_query (n_query,)``. x is centred before anything is squared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from array_api_compat import device

from kav import smoother
from kav.arrays import Array, namespace, to_host
from kav.errors import KavError
from kav.regression.fit import checked_bandwidth, float64_arrays, smoother_matrix
from kav.regression.kernels import Kernel, kernel_named

RIDGE = 1.0
NEIGHBOURS = 5
FLAT = 1e-14
"""Variance of the weights' places, in bandwidths or as a share of the query's distance from their mean, up to which
all the weight counts as on one place: a local line has no slope there."""


def mean_matrix(x: Array, x_query: Array) -> Array:
    """Return the matrix of the global mean, every entry 1 / n."""
    xp = namespace(x, x_query)
    return xp.ones_like(x_query[:, None] + x[None, :]) / x.shape[0]


def line_matrix(x: Array, x_query: Array, *, penalty: float = 0.0) -> Array:
    """Return the matrix of a straight line, ``1/n + (x_query - m)(x - m) / (sum (x - m)^2 + penalty)``.

    Parameters
    ----------
    penalty : float
        lambda of ridge regression on the slope, >= 0; the intercept is not penalised. 0 = least squares.

    References
    ----------
    Hoerl and Kennard 1970, eq. 2.1, with a centred predictor.
    """
    xp = namespace(x, x_query)
    first = x[:1]
    from_first = x - first
    centre = xp.mean(from_first)  # of x itself it would be rounded in digits of the offset, and so would every slope
    centred = from_first - centre
    size = float(xp.sum(centred * centred)) + penalty
    slope = centred / (size if size > 0 else 1.0)  # all x equal: the line is the mean
    return (x_query - first - centre)[:, None] * slope[None, :] + 1.0 / x.shape[0]


def kernel_ridge_matrix(x: Array, x_query: Array, kernel: Kernel, h: float, *, penalty: float = RIDGE) -> Array:
    """Return the matrix of kernel ridge regression, ``k(x_query)^T (K + penalty I)^-1`` with K(0) scaled to 1.

    References
    ----------
    Saunders, Gammerman and Vovk 1998, eq. 8. Positive definite kernels only: Gaussian, Laplace, triangular.
    """
    kernel = ridge_kernel(kernel)
    xp = namespace(x, x_query)
    peak = _log_peak(kernel, x)
    K = xp.exp(kernel.log_kernel(x, x, h) - peak)
    to_query = xp.exp(kernel.log_kernel(x_query, x, h) - peak)
    ridge = K + penalty * xp.eye(x.shape[0], dtype=K.dtype, device=device(x))
    return xp.permute_dims(xp.linalg.solve(ridge, xp.permute_dims(to_query, (1, 0))), (1, 0))


_POSITIVE_DEFINITE = ("gaussian", "laplace", "triangular")


def ridge_kernel(kernel: Kernel) -> Kernel:
    """Return the kernel that kernel ridge regression uses: the Gaussian for one that is not positive definite."""
    return kernel if kernel.name in _POSITIVE_DEFINITE else kernel_named("gaussian")


def _log_peak(kernel: Kernel, x: Array) -> float:
    xp = namespace(x)
    zero = xp.zeros_like(x[:1])
    return float(kernel.log_kernel(zero, zero, 1.0)[0, 0])


def local_linear_matrix(x: Array, x_query: Array, kernel: Kernel, h: float) -> Array:
    """Return the matrix of local linear regression: at each query the intercept of a weighted line.

    With ``d_i = (x_i - x_0) / h`` counted from the place x_0 of the largest weight, m the weighted mean of d and v its
    variance, the row is ``w_i (1 + (d_query - m) (d_i - m) / v)``; where all the weight is on one place, which is where
    v has no digits beside the distance of the query (`FLAT`), it is the weighted average.

    References
    ----------
    Fan and Gijbels 1996, Local Polynomial Modelling, eq. 3.5.
    """
    xp = namespace(x, x_query)
    w = smoother.weights(kernel.log_kernel(x_query, x, h))  # (n_query, n)
    origin = xp.take(x, xp.argmax(w, axis=-1))  # counted from the query, a weight of 1e-10 elsewhere would be rounding
    d = (x[None, :] - origin[:, None]) / h
    mean = xp.sum(w * d, axis=-1, keepdims=True)
    around = d - mean
    variance = xp.sum(w * around * around, axis=-1, keepdims=True)
    away = ((x_query - origin) / h)[:, None] - mean
    tilted = variance > FLAT * xp.maximum(away * away, xp.ones_like(away))
    slope = xp.where(tilted, away / xp.where(tilted, variance, xp.ones_like(variance)), xp.zeros_like(away))
    return w * (1 + slope * around)


def nearest_matrix(x: Array, x_query: Array, *, n_neighbours: int = NEIGHBOURS) -> Array:
    """Return the matrix of the mean of the nearest neighbours; ties at the edge share what is left.

    References
    ----------
    Fix and Hodges 1951; Hastie, Tibshirani and Friedman 2009, eq. 2.8.
    """
    xp = namespace(x, x_query)
    k = min(n_neighbours, x.shape[0])
    distance = xp.abs(x_query[:, None] - x[None, :])
    edge = xp.sort(distance, axis=-1)[:, k - 1 : k]  # (n_query, 1)
    inside = xp.astype(distance < edge, x.dtype)
    at_edge = xp.astype(distance == edge, x.dtype)
    left = k - xp.sum(inside, axis=-1, keepdims=True)
    return (inside + at_edge * left / xp.sum(at_edge, axis=-1, keepdims=True)) / k


_Maker = Callable[[Array, Array, Kernel, float], Array]

BASELINES: Mapping[str, tuple[str, _Maker]] = MappingProxyType(
    {
        "mean": ("mean", lambda x, x_query, kernel, h: mean_matrix(x, x_query)),
        "ols": ("least squares line", lambda x, x_query, kernel, h: line_matrix(x, x_query)),
        "ridge": ("ridge line", lambda x, x_query, kernel, h: line_matrix(x, x_query, penalty=RIDGE)),
        "krr": ("kernel ridge", kernel_ridge_matrix),
        "local-linear": ("local linear", local_linear_matrix),
        "knn": ("nearest 5", lambda x, x_query, kernel, h: nearest_matrix(x, x_query)),
    }
)
"""Baselines by name: the words to show, and what makes the matrix."""


def baseline_matrix(name: str, x: Any, x_query: Any, h: float, kernel: str = "gaussian") -> Array:
    """Return the matrix ``B (n_query, n)`` of a baseline, on the device of x; samples must be finite.

    Raises
    ------
    KavError
        If there is no such baseline, h is not > 0, or there are no samples.
    """
    if name not in BASELINES:
        raise KavError(f"baseline must be one of {', '.join(BASELINES)}, got {name!r}")
    x, query = float64_arrays(x=x, x_query=x_query)
    if x.shape[0] == 0:
        raise KavError("a baseline must have at least one sample, got none")
    return BASELINES[name][1](x, query, kernel_named(kernel), checked_bandwidth(h))


def far_end_influence(x: Any, h: float, kernel: str = "gaussian", baseline: str | None = None) -> float:
    """Return how much the fit at the right-most x moves per unit change of the left-most y.

    Parameters
    ----------
    x : array, shape (n,)
    baseline : str or None
        A name in `BASELINES`, or None for the kernel fit itself. Exactly 0 for a compact kernel that does not reach
        from end to end; never 0 for a line.

    Raises
    ------
    KavError
        As in `baseline_matrix` and `kav.fit`.
    """
    (array,) = float64_arrays(x=x)
    host = to_host(array)
    if host.size == 0:
        return math.nan
    right = host.max(keepdims=True)
    if baseline is None:
        row = smoother_matrix(host, right, h, kernel)
    else:
        row = to_host(baseline_matrix(baseline, host, right, h, kernel))
    return float(row[0, host.argmin()])
