"""Local linear regression from the same moments as the kernel fit: a weighted straight line at each query.

Shapes: ``x_query (n_query,)``. The twin that takes every pair is `baselines.local_linear_matrix`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb

import numpy as np

from kav.regression.baselines import FLAT
from kav.regression.extras import with_extras
from kav.regression.prepared import Prepared
from kav.regression.series import cell_sums
from kav.regression.tree import tree_sums
from kav.regression.window import Asked, Sums, direct_sums

_SURE = 1e-4
"""Variance of the weights' places, in bandwidths or as a share of their mean square, below which sums over cells or a
tree leave too few digits of it."""


def local_linear(prepared: Prepared, x_query: np.ndarray, h: float, kernel: str = "gaussian") -> np.ndarray:
    """Return the local linear fit, NaN without weight.

    With ``v = (x - nearest sample) / h`` and weighted means and covariances, the line at the query is
    ``mean y + cov(v, y) / var(v) (v_query - mean v)``; where all the weight is on one place, the weighted average.
    Counted from the nearest sample, a query far from all of them loses no digits, and which place has all the weight
    is decided by that query's own pairs, whatever else is asked.

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
    origin = _nearest(prepared, q)
    by_pairs = prepared.takes_every_pair(q, replace(asked, order=2))
    line = _line(prepared, q, asked, origin, by_pairs=by_pairs)
    unsure = np.flatnonzero(line.held & (line.variance < _SURE * np.maximum(line.square, 1.0)))
    f = line.at((q - origin) / asked.h)
    if unsure.size and not by_pairs:
        q, origin = q[unsure], origin[unsure]
        f[unsure] = _line(prepared, q, asked, origin, by_pairs=True).at((q - origin) / asked.h)
    return np.where(line.held, prepared.ordered.shown(f), np.nan)


@dataclass(frozen=True)
class _Line:
    """A weighted line for each query: means of y and of the places v, their mean square, variance and covariance."""

    held: np.ndarray
    y: np.ndarray
    v: np.ndarray
    square: np.ndarray
    variance: np.ndarray
    covariance: np.ndarray

    def at(self, v_query: np.ndarray) -> np.ndarray:
        """The line at a place of each query; the average where all the weight is on one place."""
        away = v_query - self.v
        tilted = self.variance > FLAT * np.maximum(away * away, 1.0)
        return self.y + np.where(tilted, self.covariance / np.where(tilted, self.variance, 1.0) * away, 0.0)


def _line(prepared: Prepared, q: np.ndarray, asked: Asked, origin: np.ndarray, *, by_pairs: bool) -> _Line:
    parts = [_moments(prepared, q, replace(asked, order=order), origin, by_pairs=by_pairs) for order in range(3)]
    held = parts[0].mass > 0
    total = np.where(held, parts[0].mass, 1.0)
    y, v, square = parts[0].moment / total, parts[1].mass / total, parts[2].mass / total
    return _Line(held, y, v, square, square - v * v, parts[1].moment / total - v * y)


def _nearest(prepared: Prepared, q: np.ndarray) -> np.ndarray:
    """x nearest to each query, of samples and extras; the query itself if there is none."""
    x, apart = prepared.ordered.x, prepared.extras.x[prepared.extras.weight != 0]
    places = [apart[None, :]] if apart.size else []
    if x.size:
        right = np.searchsorted(x, q)
        places += [x[np.maximum(right - 1, 0)][:, None], x[np.minimum(right, x.size - 1)][:, None]]
    if not places:
        return q
    each = np.concatenate([np.broadcast_to(place, (q.size, place.shape[1])) for place in places], axis=1)
    return np.asarray(each[np.arange(q.size), np.argmin(np.abs(each - q[:, None]), axis=1)])


def _moments(prepared: Prepared, q: np.ndarray, asked: Asked, origin: np.ndarray, *, by_pairs: bool) -> Sums:
    """Sums of ``((x - origin) / h)^order``, extras included."""
    ordered = prepared.ordered
    if not ordered.n:
        core = Sums(np.full(q.size, -np.inf), np.zeros(q.size), np.zeros(q.size))
    elif by_pairs or (asked.kernel.name not in ("gaussian",) and not asked.kernel.compact):
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
