"""The leave-one-out error as a curve over bandwidths, its minimum, and the rules of thumb beside it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from kav.regression.fit import observe
from kav.regression.grid import FINEST
from kav.regression.kernels import kernel_named
from kav.regression.ladder import gaussian_sweep
from kav.regression.loo_sweep import accounts_at, loo_errors
from kav.regression.prepared import Prepared
from kav.regression.rules import RULES, rule_of_thumb, search_range
from kav.regression.search import golden_section, vertex
from kav.task import Task

_FEW = 300
"""Samples up to which the Gaussian curve comes from the whole matrix."""
_SAMPLES_PER_CELL_SEARCH = 2_500
"""Samples from which bandwidths finer than the moment cells are not searched."""

RATIO, _RATIO_OF_FEW = 1.05, 1.02
"""Of neighbouring bandwidths where a kernel with an edge is searched: its error has many minima, and those of few
samples are deep."""
_MANY = 100_000
"""Samples from which the minimum is looked for less closely: the error has fewer minima, and each costs more."""
_N_H, N_REFINE = 50, 24

_INNER_CELLS = 1_600
"""Width of a cell in the range of the middle four fifths, at least: about that of an even spread's cells."""

_HUGE = 1e100
"""Scale of the responses from which squares might be no floats."""


@dataclass(frozen=True, eq=False)
class LooCurve:
    """Leave-one-out error against bandwidth.

    Parameters
    ----------
    kernel : str
    h : array, shape (n_h,)
        Ascending.
    error : array, shape (n_h,)
        Mean squared leave-one-out error; NaN where fewer than half of the samples have one (that part is not a curve).
    n_left_out : array of int, shape (n_h,)
        How many samples have a leave-one-out estimate; isolated ones of a compact kernel have none.
    n : int
        Number of samples.
    best, best_error : float
        Bandwidth > 0 at the minimum, between grid points too, and the error there. The rule of thumb, and NaN, if
        nothing has an error.
    rules : tuple of (str, float)
        The bandwidths of the rules of thumb, for this kernel.
    exact : bool
        Whether every error is exact to 3e-6; else as exact as `accounts` says.
    searched : bool
        Whether `best` was looked for as closely as `best_curve` does; else it is the vertex of a parabola through the
        lowest bandwidths of the curve.
    """

    kernel: str
    h: np.ndarray
    error: np.ndarray
    n_left_out: np.ndarray
    n: int
    best: float
    best_error: float
    rules: tuple[tuple[str, float], ...]
    exact: bool = True
    searched: bool = False


def best_curve(prepared: Prepared, kernel: str = "gaussian", *, task: Task | None = None) -> LooCurve:
    """Return the leave-one-out error over bandwidths, with its minimum looked for closely.

    Parameters
    ----------
    task : Task or None
        Asked between bandwidths whether to go on; what was summed is kept, so that a search that was given up is
        resumed.

    Raises
    ------
    KavError
        If there is no such kernel.
    """
    n_h, n_bottoms, n_refine = _N_H, 1, N_REFINE if prepared.n <= _MANY else N_REFINE // 2
    if kernel_named(kernel).compact and prepared.n <= _MANY:
        low, high = search_range(prepared.points()[0], kernel)
        ratio = _RATIO_OF_FEW if prepared.n <= _FEW else RATIO
        n_h, n_bottoms = max(n_h, 2 + math.ceil(math.log(high / low, ratio))), 3
    return loo_curve(prepared, kernel, n_h=n_h, n_refine=n_refine, n_bottoms=n_bottoms, task=task)


def loo_curve(
    prepared: Prepared,
    kernel: str = "gaussian",
    *,
    n_h: int = 50,
    n_refine: int = 0,
    n_bottoms: int = 1,
    quick: int = 0,
    task: Task | None = None,
) -> LooCurve:
    """Return the leave-one-out error over bandwidths from well inside a gap between samples to twice their range.

    From 2,500 samples on the smallest is what the moment cells resolve, about range / 4,000 for the largest sets, or an
    eighth of 1 / 1,600 of the range that the middle four fifths of the samples have.

    Parameters
    ----------
    n_h : int
        Number of bandwidths.
    n_refine : int
        Golden-section steps around each of the `n_bottoms` lowest points; 0 = the parabola through the three best
        bandwidths answers.
    quick : int
        As in `accounts.accounts`; what is not is kept, so that a curve that was given up is resumed.
    task : Task or None
        Asked between bandwidths whether to go on.

    Raises
    ------
    KavError
        If there is no such kernel.
    """

    def before_each(at: int) -> None:
        if task is not None:
            task.report(at / n_all, "leave-one-out error")

    name, n_all = kernel_named(kernel).name, n_h + (n_bottoms * (n_refine + 2) if n_refine else 0)
    scale = prepared.ordered.scale
    if scale > _HUGE:
        x, y = prepared.points()
        unit = Prepared.of(x, y / scale)
        one = loo_curve(unit, kernel, n_h=n_h, n_refine=n_refine, n_bottoms=n_bottoms, quick=quick, task=task)
        with np.errstate(over="ignore"):  # inf where the error is no float
            return replace(one, error=scale * (scale * one.error), best_error=scale * (scale * one.best_error))
    x, y = prepared.points()
    low, high = search_range(x, name)
    if prepared.n > _SAMPLES_PER_CELL_SEARCH:
        cells, ordered = prepared.core.cells(), prepared.ordered
        tenth = ordered.n // 10
        inner = float(ordered.x[-1 - tenth] - ordered.x[tenth]) if ordered.n else 0.0
        width = min(cells.width, inner / _INNER_CELLS) if inner > 0 else cells.width  # without the few far out
        low = min(max(low, 1.01 * width / FINEST), high / 20)
    spectra = prepared.core.spectra() if prepared.n > _FEW and prepared.ordered.n else None
    if name == "gaussian" and prepared.n <= _FEW:
        (h, error, counts), exact = gaussian_sweep(observe(x, y, 1.0, name), low, high), True
    else:
        h = np.geomspace(low, high, n_h)
        error, counts, exact = loo_errors(
            prepared, h, name, quick=quick, spectra=spectra, before_each=before_each, task=task
        )
    error = np.where((2 * counts >= prepared.n) & (counts > 0), error, math.nan)
    steps = count(n_h)

    def score(one: float) -> float:
        before_each(min(next(steps), n_all))
        found = accounts_at(prepared, one, name, quick=quick, spectra=spectra, task=task)
        return found.loo if found.n_left_out and 2 * found.n_left_out >= prepared.n else math.inf

    best, at_best = _minimum(x, name, h, error, score, n_refine=n_refine, n_bottoms=n_bottoms)
    rules = tuple((rule, rule_of_thumb(x, name, rule)) for rule in RULES)
    return LooCurve(name, h, error, counts, prepared.n, best, at_best, rules, exact, n_refine > 0)


def _minimum(
    x: np.ndarray,
    kernel: str,
    h: np.ndarray,
    error: np.ndarray,
    score: Callable[[float], float],
    *,
    n_refine: int,
    n_bottoms: int,
) -> tuple[float, float]:
    """The bottom of the curve and the error there, looked for around so many of its lowest points."""
    if np.all(np.isnan(error)):
        return rule_of_thumb(x, kernel), math.nan
    filled = np.where(np.isnan(error), math.inf, error)
    lowest = int(np.argmin(filled))
    if n_refine == 0:
        return vertex(h, filled, lowest), float(filled[lowest])
    padded = np.pad(filled, 1, constant_values=math.inf)
    bottoms = np.flatnonzero((filled <= padded[:-2]) & (filled <= padded[2:]) & (filled < math.inf))
    met = [(float(filled[lowest]), float(h[lowest]))]
    for bottom in bottoms[np.argsort(filled[bottoms], kind="stable")][:n_bottoms]:
        around = float(h[max(bottom - 1, 0)]), float(h[min(bottom + 1, h.size - 1)])
        met.append(golden_section(score, *around, n_refine)[::-1])
    at_best, best = min(met)
    return best, at_best
