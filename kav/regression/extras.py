"""Samples kept apart from the rest: the one that is being dragged, and those whose kernel is scaled.

They are added to every sum pair by pair, so that moving one costs the same at any n and nothing is ever subtracted.

Shapes: ``x, y, weight (n_extras,)`` in the coordinates of `Ordered`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.regression.polynomial import bump
from kav.regression.window import Asked, Sums, log_shape

CANCELLED = 1e-12
"""Share of the weight below which a sum of positive and negative kernels is rounding: no fit there."""


@dataclass(frozen=True, eq=False)
class Extras:
    """Samples apart: place, response, scale of the kernel (1 = as it is), and which sample each is."""

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    sample: np.ndarray

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.x.size)

    def put(self, sample: int, x: float, y: float, weight: float) -> Extras:
        """Return them with one sample there, new or instead of its former self."""
        others = self.sample != sample
        return Extras(
            np.append(self.x[others], x),
            np.append(self.y[others], y),
            np.append(self.weight[others], weight),
            np.append(self.sample[others], sample),
        )


NONE = Extras(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))


def log_kernel(extras: Extras, x_query: np.ndarray, asked: Asked) -> np.ndarray:
    """Return the log-kernel between queries and extras, K(0) = 1, (n_query, n_extras)."""
    if not asked.kernel.compact:
        return log_shape(asked, x_query, extras.x)
    K = bump((x_query[:, None] - extras.x[None, :]) / asked.h, asked.kernel) ** asked.power
    return np.log(np.where(K > 0, K, 1.0)) + np.where(K > 0, 0.0, -np.inf)


def with_extras(
    sums: Sums,
    extras: Extras,
    x_query: np.ndarray,
    asked: Asked,
    *,
    origin: np.ndarray | None = None,
    own: np.ndarray | None = None,
) -> Sums:
    """Return the sums with the extras added.

    Parameters
    ----------
    sums : Sums
        Of all other samples at the queries.
    origin : array, shape (n_query,), or None
        As in `window.direct_sums`.
    own : array of int, shape (n_query,), or None
        An extra to leave out for each query.
    """
    if not extras.n:
        return sums
    log_weight = log_kernel(extras, x_query, asked)
    if own is not None:
        log_weight[np.arange(own.size), own] = -np.inf
    weight = extras.weight**asked.power
    log_weight[:, weight == 0] = -np.inf
    held = sums.mass > 0
    if asked.order:
        held = sums.log_scale > -np.inf  # odd moments have any sign
    shift = np.maximum(np.where(held, sums.log_scale, -np.inf), log_weight.max(axis=1))
    shift = np.where(shift > -np.inf, shift, 0.0)
    K = np.exp(log_weight - shift[:, None]) * weight
    former = np.where(held, np.exp(np.where(held, sums.log_scale - shift, 0.0)), 0.0)
    total = np.sum(np.abs(K), axis=1) + former * sums.mass
    if asked.order and origin is not None:
        K *= ((extras.x[None, :] - origin[:, None]) / asked.effective_h) ** asked.order
    mass, moment = former * sums.mass + np.sum(K, axis=1), former * sums.moment + K @ extras.y
    if not asked.order:
        gone = mass <= CANCELLED * total
        mass, moment = np.where(gone, 0.0, mass), np.where(gone, 0.0, moment)
    return Sums(shift, mass, moment)
