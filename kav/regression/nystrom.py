"""Kernel ridge regression for more samples than a solve can take: on a few nodes instead of on every sample.

The exact solution needs ``(K + penalty I)^-1``, n^3 work. Restricted to functions ``sum_j a_j k(., z_j)`` of m nodes
spread over the samples, the same penalised least squares is an m x m problem. Samples enter through the means of bins
between them, at most 4,096, each counting as often as it has samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.regression.baselines import RIDGE, ridge_kernel
from kav.regression.kernels import Kernel
from kav.regression.prepared import Prepared

EXACT = 400
"""Samples up to which kernel ridge regression is solved exactly."""
_BINS = 4_096
_NODES = 128
_KEPT = 1e-10


@dataclass(frozen=True, eq=False)
class NystromRidge:
    """A fitted kernel ridge regression on nodes; `f` answers any query.

    Parameters
    ----------
    nodes : array, shape (m,)
    to_features : array, shape (m, r)
        From kernel values at the nodes to r orthonormal features.
    solver : array, shape (r, r)
        ``(Phi^T Phi + penalty I)^-1``.
    coefficients : array, shape (r,)
    """

    kernel: Kernel
    h: float
    nodes: np.ndarray
    to_features: np.ndarray
    solver: np.ndarray
    coefficients: np.ndarray
    low: float

    def features(self, x: np.ndarray) -> np.ndarray:
        """Return the features of places in the data's own x, (n, r)."""
        return np.asarray(_gram(self.kernel, np.asarray(x) - self.low, self.nodes, self.h) @ self.to_features)

    def f(self, x_query: np.ndarray) -> np.ndarray:
        """Return the fit."""
        return np.asarray(self.features(x_query) @ self.coefficients)

    def influence(self, x_query: float, x: float) -> float:
        """Return the change of the fit at a query per unit change of the response of a sample at x."""
        return float((self.features(np.asarray([x_query])) @ self.solver @ self.features(np.asarray([x])).T)[0, 0])


def _gram(kernel: Kernel, a: np.ndarray, b: np.ndarray, h: float) -> np.ndarray:
    """Kernel between places, K(0) = 1."""
    zero = np.zeros(1)
    return np.asarray(np.exp(kernel.log_kernel(a, b, h) - kernel.log_kernel(zero, zero, 1.0)[0, 0]))


def nystrom_ridge(
    prepared: Prepared, h: float, kernel: str | Kernel, *, penalty: float = RIDGE, n_nodes: int = _NODES
) -> NystromRidge:
    """Return kernel ridge regression on nodes, ``min sum (y - f)^2 + penalty ||f||^2``.

    It is the exact solution where the nodes span the kernel functions of all samples; at bandwidths below the distance
    of two nodes it falls to 0 between them.

    References
    ----------
    Williams and Seeger 2001, Using the Nystroem method to speed up kernel machines, section 3; Rudi, Camoriano and
    Rosasco 2015, eq. 5.
    """
    asked = prepared.asked(h, kernel)
    chosen = ridge_kernel(asked.kernel)
    x, y, count = _binned(prepared)
    nodes = _nodes(x, n_nodes)
    size, vectors = np.linalg.eigh(_gram(chosen, nodes, nodes, asked.h))
    kept = size > _KEPT * size[-1]
    to_features = vectors[:, kept] / np.sqrt(size[kept])
    Phi = _gram(chosen, x, nodes, asked.h) @ to_features  # (n_bins, r)
    solver = np.linalg.inv(Phi.T @ (count[:, None] * Phi) + penalty * np.eye(Phi.shape[1]))
    coefficients = solver @ (Phi.T @ (count * y))
    return NystromRidge(chosen, asked.h, nodes, to_features, solver, coefficients, prepared.ordered.low)


def _nodes(x: np.ndarray, n_nodes: int) -> np.ndarray:
    """Half of them evenly spaced, half evenly in rank: gaps and clusters both get some."""
    even = np.linspace(x.min(), x.max(), n_nodes - n_nodes // 2)
    ranked = np.quantile(x, np.linspace(0, 1, n_nodes // 2))
    return np.unique(np.concatenate([even, ranked]))


def _binned(prepared: Prepared) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean x (counted from `Ordered.low`), mean response and number of the samples of each bin; extras last."""
    ordered, extras = prepared.ordered, prepared.extras
    n_bins = min(_BINS, ordered.n)
    starts = np.arange(n_bins) * ordered.n // max(n_bins, 1)
    count = np.diff(np.append(starts, ordered.n)).astype(np.float64)
    x, y = (np.add.reduceat(values, starts) / count for values in (ordered.x, ordered.y))
    every_y = ordered.shown(np.concatenate([y, extras.y]))
    return np.concatenate([x, extras.x]), every_y, np.concatenate([count, np.ones(extras.n)])
