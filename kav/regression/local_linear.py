"""Local linear regression from the same moments as the kernel fit: a weighted straight line at each query.

Shapes: ``x_query (n_query,)``. The twin that takes every pair is `baselines.local_linear_matrix`.
"""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np

from kav.regression.extras import with_extras
from kav.regression.prepared import Prepared
from kav.regression.series import cell_sums
from kav.regression.tree import tree_sums
from kav.regression.window import Asked, Sums, direct_sums

_FLAT = 1e-7
"""Variance of the weights' places, as a share of their mean square, below which a line has no slope."""


def local_linear(prepared: Prepared, x_query: np.ndarray, h: float, kernel: str = "gaussian") -> np.ndarray:
    """Return the local linear fit, NaN without weight.

    With ``v = (x - nearest sample) / h`` and weighted means and covariances, the line at the query is
    ``mean y + cov(v, y) / var(v) (v_query - mean v)``; where all the weight is on one place, the weighted average.
    Counted from the nearest sample, a query far from all of them loses no digits.

    Parameters
    ----------
    prepared : Prepared
    x_query : array, shape (n_query,)
    h : float
    kernel : str
        Not "exp-dot-product" for more than a few thousand samples: it would take every pair.

    References
    ----------
    Fan and Gijbels 1996, Local Polynomial Modelling, eq. 3.5.
    """
    q, asked = prepared.coordinate(x_query), prepared.asked(h, kernel)
    origin = _nearest(prepared.ordered.x, q)
    parts = [_moments(prepared, q, replace(asked, order=order), origin) for order in range(3)]
    held = parts[0].mass > 0
    total = np.where(held, parts[0].mass, 1.0)
    y, v, v_v = parts[0].moment / total, parts[1].mass / total, parts[2].mass / total
    variance = v_v - v * v
    tilted = variance > _FLAT * np.maximum(v_v, 1e-300)
    slope = np.where(tilted, (parts[1].moment / total - v * y) / np.where(tilted, variance, 1.0), 0.0)
    line = y + slope * ((q - origin) / asked.h - v)
    return np.where(held, prepared.ordered.shown(line), np.nan)


def _nearest(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """x nearest to each query; the query itself if there is none."""
    if not x.size:
        return q
    right = np.clip(np.searchsorted(x, q), 1, max(x.size - 1, 1))
    before, after = x[right - 1], x[np.minimum(right, x.size - 1)]
    return np.where(q - before <= after - q, before, after)


def _moments(prepared: Prepared, q: np.ndarray, asked: Asked, origin: np.ndarray) -> Sums:
    """Sums of ``((x - origin) / h)^order``, extras included."""
    ordered = prepared.ordered
    if not ordered.n:
        core = Sums(np.full(q.size, -np.inf), np.zeros(q.size), np.zeros(q.size))
    elif (asked.kernel.name not in ("gaussian",) and not asked.kernel.compact) or prepared.takes_every_pair(q, asked):
        order = np.argsort(q, kind="stable")
        back = np.argsort(order, kind="stable")
        found = direct_sums(ordered, q[order], asked, origin=origin[order])
        core = Sums(found.log_scale[back], found.mass[back], found.moment[back])
    elif asked.kernel.compact:
        core = _tree_moments(prepared, q, asked, origin)
    else:
        core = cell_sums(prepared.core.cells(), q, asked, origin=origin)
    return with_extras(core, prepared.extras, q, asked, origin=origin)


def _tree_moments(prepared: Prepared, q: np.ndarray, asked: Asked, origin: np.ndarray) -> Sums:
    """The same from the tree, which counts from the query: ``(x - origin) / h = (q - origin) / h - u``."""
    tree, away = prepared.core.tree(asked.kernel), (q - origin) / asked.h
    mass, moment = np.zeros(q.size), np.zeros(q.size)
    for i in range(asked.order + 1):
        part = tree_sums(tree, q, asked, order=i)
        factor = comb(asked.order, i) * (-1) ** i * away ** (asked.order - i)
        mass, moment = mass + factor * part.mass, moment + factor * part.moment
    return Sums(np.zeros(q.size), mass, moment)
