"""What a fit spends and leaves at its own samples: degrees of freedom, residuals, leave-one-out residuals.

With K(0) = 1 and ``mass_i = sum_j K(x_i, x_j)``, the diagonal of the smoother matrix is ``S_ii = 1 / mass_i``, and the
leave-one-out residual is ``(y_i - f_i) / (1 - S_ii)``. Four ways to sum over i, from exact to n-independent:

- every sample's own sums (`prefix`, or pair by pair);
- on a grid (`grid`): S_ii and f are smooth, a polynomial per cell meets the moments of the cell;
- the same on cells that are only where samples are (`sparse`), for the Gaussian where an even grid is too coarse;
- where S_ii is large, pair by pair without the sample itself: the closed form would be 0/0.

Relative error of the grid, measured: below 2e-6 for the Gaussian and 1e-3 for exp-dot-product. Sums of kernels with an
edge or a kink are not smooth between samples: on the grid dof and errors are within 6e-4 on data without heaps, 6e-3 on
heaps (triangular, Laplace) and 2e-2 on a tail as long as a lognormal's with sigma 2. They go there only where nobody
waits for the exact sums (`quick`) and these would take more than some 15 ms (`affordable`); `Accounts.exact` says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kav.errors import Cancelled
from kav.regression.cells import places_of
from kav.regression.extras import with_extras
from kav.regression.grid import FAINT, FINEST, MARGIN, Spectra, centres, gaussian_on_grid, level_for
from kav.regression.kernels import Kernel
from kav.regression.ordered import Ordered
from kav.regression.prefix import sums_at_samples
from kav.regression.prepared import Prepared
from kav.regression.sparse import N_NODES, build_sparse, node_sums, nodes, sparse_sums, width_for
from kav.regression.window import Asked, Sums, direct_sums, windows
from kav.task import Task

_AFFORDABLE = 800_000
"""Samples times running sums, 7 being the work besides, that take about 15 ms."""
_AFFORDABLE_LAPLACE = 400_000
_FEW = 300
"""Samples up to which every kernel is."""
_FEW_PRODUCTS = 3_000
"""The same for exp-dot-product, which is not smooth where x is near 0 or at an end."""
_FEW_NEIGHBOURS = 300
"""Samples in the reach of one, on average over `_SOME` of them, from which cells cost less than pairs."""
_SOME = 4_096
THIN = 0.25
"""S_ii from which the closed form is not trusted."""
_END = 50.0
"""Decay lengths from an end beyond which no weight is left."""


@dataclass(frozen=True)
class Accounts:
    """Sums over the samples, in units of the data.

    Parameters
    ----------
    dof : float
        ``trace S``.
    square : float
        ``sum (y_i - f_i)^2`` over the `n_fitted` samples that have a fit; inf if that is no float.
    left_out_mean : float
        The mean of the same for the fits without the sample itself, over the `n_left_out` that have one.
    exact : bool
        Whether all of it is exact to 3e-6; else the module says what it is worth.
    """

    dof: float
    square: float
    n_fitted: int
    left_out_mean: float
    n_left_out: int
    exact: bool = True

    @property
    def loo(self) -> float:
        """Mean squared leave-one-out error, NaN if no sample has one."""
        return self.left_out_mean if self.n_left_out else math.nan


def affordable(kernel: Kernel, n: int) -> bool:
    """Return whether the sums at every one of n samples take about 15 ms at most; kernels with an edge or a kink."""
    if kernel.name == "laplace":
        return n <= _AFFORDABLE_LAPLACE
    inner, outer = kernel.bump or (1, 0)
    return n * (7 + inner * outer) <= _AFFORDABLE


def accounts(
    prepared: Prepared,
    h: float,
    kernel: str,
    *,
    quick: int = 0,
    spectra: Spectra | None = None,
    go_on: Callable[[], None] = lambda: None,
) -> Accounts:
    """Return the accounts of a fit.

    Parameters
    ----------
    quick : int
        0 = sum kernels with an edge at every sample, however long it takes; k = on a grid if k times as many samples
        are not `affordable`.
    spectra : Spectra or None
        Kept from one bandwidth to the next.
    go_on : callable
        Called every few milliseconds; may raise.
    """
    asked = prepared.asked(h, kernel)
    scale = prepared.ordered.scale
    total, exact = _core_accounts(prepared, asked, quick=quick, spectra=spectra, go_on=go_on)
    total = total + _extra_accounts(prepared, asked)
    square, left_out = float(total[1]), float(total[3]) / max(float(total[4]), 1.0)  # scale^2 itself may be no float
    return Accounts(
        float(total[0]), scale * (scale * square), round(total[2]), scale * (scale * left_out), round(total[4]), exact
    )


def lasting_accounts(prepared: Prepared, h: float, kernel: str, task: Task | None = None) -> Accounts:
    """Return the accounts as exact as they can be had, and keep them: at a million samples they take a second.

    Raises
    ------
    Cancelled
        If the task is no longer wanted.
    """

    def go_on() -> None:
        if task is not None and task.cancelled:
            raise Cancelled

    return prepared.lasting.kept((float(h), kernel), lambda: accounts(prepared, h, kernel, go_on=go_on))


def known_accounts(prepared: Prepared, h: float, kernel: str) -> Accounts | None:
    """Return what `lasting_accounts` found before."""
    found = prepared.lasting.known((float(h), kernel))
    return found if isinstance(found, Accounts) else None


def _core_accounts(
    prepared: Prepared, asked: Asked, *, quick: int, spectra: Spectra | None, go_on: Callable[[], None]
) -> tuple[np.ndarray, bool]:
    """dof, square, n_fitted, left_out_square, n_left_out of the samples other than the extras, (5,); whether exact."""
    n, ordered = prepared.ordered.n, prepared.ordered
    if n == 0:
        return np.zeros(5), True
    edged = asked.kernel.compact or asked.kernel.name == "laplace"
    few = _FEW if asked.kernel.log_K is not None else _FEW_PRODUCTS
    if not affordable(asked.kernel, quick * n) if edged else n > few:
        level = level_for(prepared.core.cells(), FINEST * _smooth_scale(prepared, asked))
        level = max(level, 0) if asked.kernel.log_K is None else level
        if level >= 0:
            found = _on_grid(prepared, asked, level, spectra or prepared.core.spectra())
            return found, asked.kernel.name == "gaussian"
        if asked.kernel.name == "gaussian" and (width := _worth_cells(ordered, asked)) is not None:
            return _on_sparse_cells(prepared, asked, width, go_on), True
    sums = sums_at_samples(ordered, asked, go_on) if edged else direct_sums(ordered, ordered.x, asked)
    return _at_samples(prepared, asked, with_extras(sums, prepared.extras, ordered.x, asked), np.arange(n)), True


def _smooth_scale(prepared: Prepared, asked: Asked) -> float:
    """Length on which S_ii and f vary: h, or for exp(x_query x / h^2) what changes the exponent by 1."""
    return asked.h if asked.kernel.log_K is not None else asked.h * min(asked.h / prepared.ordered.span, 1.0)


def _log_own(asked: Asked, x: np.ndarray) -> np.ndarray:
    """Log-kernel of each place with itself."""
    return np.zeros(x.shape) if asked.kernel.log_K is not None else (x + asked.low) / asked.h * (x / asked.h)


def _at_samples(prepared: Prepared, asked: Asked, sums: Sums, places: np.ndarray) -> np.ndarray:
    """Accounts of some samples from the sums at each."""
    x, y = prepared.ordered.x[places], prepared.ordered.y[places]
    fitted = sums.mass > 0
    log_S = _log_own(asked, x) - sums.log_scale - np.log(np.where(fitted, sums.mass, 1.0))
    S = np.where(fitted, np.exp(np.minimum(log_S, 0.0)), 1.0)
    thin = S > THIN
    closed = ~thin
    residual = np.where(closed, y - sums.moment / np.where(fitted, sums.mass, 1.0), 0.0)
    left_out = residual / np.where(closed, 1 - S, 1.0)
    n_closed = float(np.sum(closed))
    total = np.asarray(
        [np.sum(S[closed]), residual @ residual, n_closed, left_out @ left_out, n_closed], dtype=np.float64
    )
    return np.asarray(total + _by_pairs(prepared, asked, places[thin]))


def _by_pairs(prepared: Prepared, asked: Asked, places: np.ndarray) -> np.ndarray:
    """Accounts of some samples, each from the sums without itself."""
    if not places.size:
        return np.zeros(5)
    ordered = prepared.ordered
    x, y = ordered.x[places], ordered.y[places]
    others = with_extras(direct_sums(ordered, x, asked, own=places), prepared.extras, x, asked)
    return _from_others(others, _log_own(asked, x), np.ones(x.size), y)


def _from_others(others: Sums, log_own: np.ndarray, weight: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Accounts of samples with a kernel weight of their own, given the sums over all others."""
    known = others.mass > 0
    shift = np.maximum(np.where(known, others.log_scale, -np.inf), np.where(weight != 0, log_own, -np.inf))
    shift = np.where(shift > -np.inf, shift, 0.0)
    factor = np.where(known, np.exp(np.where(known, others.log_scale - shift, 0.0)), 0.0)
    own = weight * np.exp(np.minimum(log_own - shift, 0.0))
    mass = factor * others.mass + own
    fitted = mass > 0
    safe = np.where(fitted, mass, 1.0)
    S = np.where(fitted, own / safe, 0.0)
    residual = np.where(fitted, y - (factor * others.moment + own * y) / safe, 0.0)
    left_out = np.where(known, y - others.moment / np.where(known, others.mass, 1.0), 0.0)
    return np.asarray([S.sum(), residual @ residual, fitted.sum(), left_out @ left_out, known.sum()], dtype=np.float64)


def _extra_accounts(prepared: Prepared, asked: Asked) -> np.ndarray:
    """Accounts of the extras."""
    extras = prepared.extras
    if not extras.n:
        return np.zeros(5)
    core = prepared.core_sums(extras.x, asked)
    others = with_extras(core, extras, extras.x, asked, own=np.arange(extras.n))
    return _from_others(others, _log_own(asked, extras.x), extras.weight, extras.y)


def _on_grid(prepared: Prepared, asked: Asked, level: int, spectra: Spectra) -> np.ndarray:
    """Accounts from S_ii and f on a grid; samples where S_ii is large are taken pair by pair."""
    cells = prepared.core.cells()
    at = centres(cells, level)
    if asked.kernel.name == "gaussian":
        mass, moment = gaussian_on_grid(spectra, level, asked.h)
        sums = Sums(np.zeros(at.size), np.maximum(mass, 0.0), moment)
    else:
        sums = prepared.core_sums(at, asked)
    sums = with_extras(sums, prepared.extras, at, asked)
    held = sums.mass > 0
    log_mass = np.where(held, sums.log_scale + np.log(np.where(held, sums.mass, 1.0)), -np.inf)
    S = np.exp(np.minimum(_log_own(asked, at) - np.where(held, log_mass, 0.0), 0.0))
    f = sums.moment / np.where(held, sums.mass, 1.0)
    inner = slice(MARGIN, at.size - MARGIN)
    faint = log_mass < np.max(log_mass) + np.log(FAINT) if asked.kernel.name == "gaussian" else ~held
    thin = ((S > THIN) | faint)[inner]
    n_filled = cells.levels[level][0, 0]
    places = places_of(cells.starts, level, np.flatnonzero(thin & (n_filled > 0.5)))
    rough, one_by_one = np.zeros(thin.shape, dtype=bool), places[:0]
    if asked.kernel.log_K is None:
        rough = _rough(prepared, asked, at[inner], cells.width_of(level)) & ~thin
        one_by_one = places_of(cells.starts, level, np.flatnonzero(rough & (n_filled > 0.5)))
    n_closed = float(prepared.ordered.n - places.size - one_by_one.size)
    S, f = np.where(held, np.minimum(S, 0.9), 0.0), np.where(held, f, 0.0)
    ones, y, y_y = spectra.sample_sums(level, ~(thin | rough) | (n_filled < 0.5))
    total = _smooth_totals(S, f, (ones, y, y_y), n_closed) + _by_pairs(prepared, asked, places)
    if not one_by_one.size:
        return np.asarray(total)
    one = prepared.sums(prepared.ordered.x[one_by_one], asked)
    return np.asarray(total + _at_samples(prepared, asked, one, one_by_one))


def _worth_cells(ordered: Ordered, asked: Asked) -> float | None:
    """Return the width of cells for samples so unevenly spread that the grid's are too wide; None: pairs are few."""
    lo, hi = windows(ordered, ordered.x[:: max(1, ordered.n // _SOME)], asked)
    return width_for(ordered, asked.effective_h) if float(np.mean(hi - lo)) > _FEW_NEIGHBOURS else None


def _on_sparse_cells(prepared: Prepared, asked: Asked, width: float, go_on: Callable[[], None]) -> np.ndarray:
    """Accounts from S_ii and f at a few places of each cell that holds samples; where S_ii is large, pair by pair."""
    cells = build_sparse(prepared.ordered, width)
    at = nodes(cells).reshape(-1)
    sums = with_extras(sparse_sums(cells, at, asked, go_on=go_on), prepared.extras, at, asked)
    held = sums.mass > 0
    safe = np.where(held, sums.mass, 1.0)
    S = np.where(held, np.exp(np.minimum(-sums.log_scale - np.log(safe), 0.0)), 1.0).reshape(-1, N_NODES)
    thin = np.any(S > THIN, axis=1)
    places = places_of(cells.starts, 0, np.flatnonzero(thin))
    n_closed = float(prepared.ordered.n - places.size)
    S, f = S[~thin], (sums.moment / safe).reshape(-1, N_NODES)[~thin]
    total = _smooth_totals(S, f, node_sums(cells)[:, ~thin], n_closed)
    return np.asarray(total + _by_pairs(prepared, asked, places))


def _smooth_totals(
    S: np.ndarray, f: np.ndarray, of_samples: np.ndarray | tuple[np.ndarray, ...], n_closed: float
) -> np.ndarray:
    """Accounts from S_ii and f at some places and how the samples' 1, y and y^2 weigh what is found there."""
    ones, y, y_y = of_samples
    total = [np.vdot(ones, S)]
    for v in (np.ones(S.shape), (1 - S) ** -2.0):
        total += [np.vdot(y_y, v) - 2 * np.vdot(y, v * f) + np.vdot(ones, v * f * f), n_closed]
    return np.asarray(total)


def _rough(prepared: Prepared, asked: Asked, at: np.ndarray, width: float) -> np.ndarray:
    """Cells on which S_ii and f are not smooth: for exp(x_query x / h^2) those near 0, where the weights turn over,
    and those at an end, which has all the weight."""
    turn = asked.h * (asked.h / np.maximum(np.abs(at + asked.low), 1e-300))
    at_an_end = np.minimum(at, prepared.ordered.span - at) < _END * turn + 2 * width  # where S_ii is not 0 yet
    smooth = np.where(at_an_end, np.minimum(turn, asked.h), 0.5 * np.abs(at + asked.low))
    return np.asarray(width > FINEST * np.maximum(smooth, _smooth_scale(prepared, asked)))
