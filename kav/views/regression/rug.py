"""The rug of many samples: how many stand in each column of pixels, and how much weight they have there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.regression.prepared import Prepared
from kav.views.regression.at_query import AtQuery

N_COLUMNS = 1_200
"""Columns over the whole axis: about one a pixel."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Samples pooled along x.

    Parameters
    ----------
    x : array, shape (n_columns,)
        Middle of each column.
    counts : array of int64, shape (n_columns,)
        Samples in it.
    weights : array, shape (n_columns,)
        Their share of the weight at the query, with the kernel taken at the middle of the column.
    """

    x: np.ndarray
    counts: np.ndarray
    weights: np.ndarray


def rug_columns(now: AtQuery, x_range: tuple[float, float], n_columns: int = N_COLUMNS) -> Columns:
    """Return all samples pooled into columns over `x_range`; all zero weights where the fit is undefined."""
    prepared: Prepared = now.prepared
    edges = np.linspace(*x_range, n_columns + 1)
    middle = 0.5 * (edges[1:] + edges[:-1])
    ordered, extras = prepared.ordered, prepared.extras
    places = np.searchsorted(ordered.x, edges - ordered.low)
    places[-1] = np.searchsorted(ordered.x, edges[-1] - ordered.low, side="right")
    counts = np.diff(places).astype(np.int64)
    at = np.searchsorted(edges, extras.x + ordered.low, side="right") - 1
    inside = (at >= 0) & (at < n_columns)
    np.add.at(counts, at[inside], 1)
    log_K = prepared.log_kernel(np.asarray([now.scene.x_query]), middle, now.scene.h, now.kernel.name)[0]
    held = (counts > 0) & (log_K > -np.inf)
    top = float(np.max(log_K[held], initial=-np.inf))
    if top == -np.inf:
        return Columns(middle, counts, np.zeros(n_columns))
    weights = np.where(held, counts * np.exp(np.where(held, log_K - top, 0.0)), 0.0)
    return Columns(middle, counts, weights / weights.sum())
