"""The baselines as curves, for any number of samples, and how far each reaches: the far-end influence.

Few samples go through the matrices of `kav.regression.baselines`, the plain twins. From some hundred on the same
numbers come from sums (mean, lines), moments (local linear), the order of the samples (nearest neighbours), and for
kernel ridge regression, n^3 otherwise, from nodes: the words then say so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.errors import KavError
from kav.regression.baselines import BASELINES, NEIGHBOURS, RIDGE, baseline_matrix, far_end_influence
from kav.regression.kernels import Kernel, kernel_named
from kav.regression.local_linear import local_linear
from kav.regression.nystrom import EXACT, nystrom_ridge
from kav.regression.prepared import Prepared


@dataclass(frozen=True, eq=False)
class BaselineFit:
    """A baseline's curve: its name, the words to show, the fit at each query, NaN where there is none."""

    name: str
    words: str
    f: np.ndarray


@dataclass(frozen=True)
class Influence:
    """How much the fit at the right-most x moves per unit change of the left-most response.

    Parameters
    ----------
    name : str
        "fit" for the kernel fit itself, or a baseline.
    words : str
    value : float
        Exactly 0 for a kernel fit, or a local line, whose compact kernel does not reach from end to end.
    """

    name: str
    words: str
    value: float


def baseline_fit(name: str, prepared: Prepared, x_query: np.ndarray, h: float, kernel: str = "gaussian") -> BaselineFit:
    """Return a baseline at each query.

    Parameters
    ----------
    name : str
        A name in `BASELINES`.
    x_query : array, shape (n_query,)

    Raises
    ------
    KavError
        If there is no such baseline or kernel, or there are no samples.
    """
    if name not in BASELINES:
        raise KavError(f"baseline must be one of {', '.join(BASELINES)}, got {name!r}")
    if prepared.n == 0:
        raise KavError("a baseline must have at least one sample, got none")
    row = kernel_named(kernel)
    words = BASELINES[name][0]
    if prepared.n <= EXACT or (name == "local-linear" and row.log_K is None):
        x, y = prepared.points()
        return BaselineFit(name, words, _by_blocks(name, x, y, x_query, h, row))
    if name in ("mean", "ols", "ridge"):
        return BaselineFit(name, words, _line(prepared, x_query, name))
    if name == "knn":
        return BaselineFit(name, words, nearest(prepared, x_query))
    if name == "local-linear":
        return BaselineFit(name, words, local_linear(prepared, x_query, h, row.name))
    ridge = nystrom_ridge(prepared, h, row)
    return BaselineFit(name, f"{words} (Nyström, {ridge.nodes.size} nodes)", ridge.f(x_query))


def _by_blocks(name: str, x: np.ndarray, y: np.ndarray, x_query: np.ndarray, h: float, kernel: Kernel) -> np.ndarray:
    """Matrix times responses, a few queries at a time; where its rows sum to 1, what all responses share is apart."""
    step = max(1, 2_000_000 // max(x.size, 1))
    shared = 0.0 if name == "krr" else float(np.mean(y))
    parts = []
    for start in range(0, x_query.size, step):
        B = baseline_matrix(name, x, x_query[start : start + step], h, kernel.name)
        parts.append(np.where(np.any(B != 0, axis=1), shared + B @ (y - shared), np.nan))
    return np.concatenate(parts) if parts else np.zeros(0)


def _line(prepared: Prepared, x_query: np.ndarray, name: str) -> np.ndarray:
    """Mean or straight line from five sums, x centred first."""
    ordered, extras = prepared.ordered, prepared.extras
    n = prepared.n
    x_mean = (ordered.x.sum() + extras.x.sum()) / n
    y_mean = (ordered.y.sum() + extras.y.sum()) / n
    if name == "mean":
        return ordered.shown(np.full(x_query.size, y_mean))
    away, away_extra = ordered.x - x_mean, extras.x - x_mean
    square = float(away @ away + away_extra @ away_extra) + (RIDGE if name == "ridge" else 0.0)
    slope = float(away @ ordered.y + away_extra @ extras.y) / (square if square > 0 else 1.0)
    return ordered.shown(y_mean + slope * (prepared.coordinate(x_query) - x_mean))


def nearest(prepared: Prepared, x_query: np.ndarray, *, n_neighbours: int = NEIGHBOURS) -> np.ndarray:
    """Return the mean of the nearest neighbours at each query; ties at the edge share what is left.

    References
    ----------
    Fix and Hodges 1951; Hastie, Tibshirani and Friedman 2009, eq. 2.8.
    """
    x, y = _with_extras_in_order(prepared)
    q, k = prepared.coordinate(x_query), min(n_neighbours, x.size)
    at = np.searchsorted(x, q)
    candidates = np.clip(at[:, None] + np.arange(-k, k)[None, :], 0, x.size - 1)
    distance = np.abs(q[:, None] - x[candidates])
    distance[:, 1:][candidates[:, 1:] == candidates[:, :-1]] = np.inf  # clipped to the same sample
    edge = np.sort(distance, axis=1)[:, k - 1]
    running = np.concatenate([[0.0], np.cumsum(y)])
    inside = distance < edge[:, None]
    n_inside = inside.sum(axis=1)
    first = np.where(inside.any(axis=1), candidates[np.arange(q.size), np.argmax(inside, axis=1)], at)
    total = running[first + n_inside] - running[first]
    tied, n_tied = np.zeros(q.size), np.zeros(q.size)
    for side in (first - 1, first + n_inside):  # all samples at the place just outside, if it is at the edge
        place = np.clip(side, 0, x.size - 1)
        here = (side == place) & (np.abs(q - x[place]) == edge)
        a, b = np.searchsorted(x, x[place], side="left"), np.searchsorted(x, x[place], side="right")
        tied += np.where(here, running[b] - running[a], 0.0)
        n_tied += np.where(here, b - a, 0)
    return prepared.ordered.shown((total + (k - n_inside) * tied / np.maximum(n_tied, 1)) / k)


def _with_extras_in_order(prepared: Prepared) -> tuple[np.ndarray, np.ndarray]:
    ordered, extras = prepared.ordered, prepared.extras
    if not extras.n:
        return ordered.x, ordered.y
    rank = np.argsort(extras.x)
    places = np.searchsorted(ordered.x, extras.x[rank])
    return np.insert(ordered.x, places, extras.x[rank]), np.insert(ordered.y, places, extras.y[rank])


def influences(
    prepared: Prepared, h: float, kernel: str = "gaussian", *, names: tuple[str, ...] = tuple(BASELINES)
) -> tuple[Influence, ...]:
    """Return the far-end influence of the kernel fit, and of the baselines named, in the order they are offered.

    Raises
    ------
    KavError
        If there is no such kernel or h is not > 0.
    """
    if prepared.n == 0:
        return ()
    x, _ = prepared.points()
    found = [Influence("fit", f"{kernel_named(kernel).in_words} fit", far_end_influence(x, h, kernel))]
    for name, (words, _maker) in BASELINES.items():
        if name not in names:
            continue
        if name == "krr" and prepared.n > EXACT:
            ridge = nystrom_ridge(prepared, h, kernel)
            value = ridge.influence(float(x.max()), float(x.min()))
            words = f"{words} (Nyström, {ridge.nodes.size} nodes)"
        else:
            value = far_end_influence(x, h, kernel, name)
        found.append(Influence(name, words, value + 0.0))  # no negative zero
    return tuple(found)
