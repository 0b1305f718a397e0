"""Samples made ready for many questions: sorted once, moments taken once, then any query and bandwidth at once.

Which way a sum is taken is decided here and nowhere else:

======================  ===============================  ================================================
kernel                  few pairs of query and sample    many
======================  ===============================  ================================================
Gaussian                `window.direct_sums`             `grid`, one transform for all queries; `series` where
                                                         little weight is, and for few queries; `sparse` where
                                                         the samples are very uneven: error below 1e-6 of the
                                                         largest \\|y - mean y\\|
Laplace,                `window.direct_sums`             `series.cell_sums`: the same error
exp-dot-product
compact                 `window.direct_sums`             `tree.tree_sums`: rounding
======================  ===============================  ================================================

A sample that is dragged is taken out once (`Prepared.moved`) and from then on added to every sum where it is now: each
step of a drag costs the same at any n, and nothing drifts.

Host arrays only: on another device `kav.regression.fit` takes every pair.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kav.regression.core import Core
from kav.regression.extras import NONE, Extras, log_kernel, with_extras
from kav.regression.grid import FAINT, FINE_GRID, between_places, gaussian_on_grid, level_for
from kav.regression.keeping import Keeping
from kav.regression.kernels import Kernel, kernel_named
from kav.regression.ordered import Ordered, put_in_order
from kav.regression.series import cell_sums
from kav.regression.sparse import build_sparse, sparse_sums, width_for
from kav.regression.tree import tree_sums
from kav.regression.window import Asked, Sums, direct_sums, nearest_distance, windows

_PAIRS_PER_QUERY = 1_500
_PAIRS_PER_SAMPLE = 16
"""What building cells or a tree costs, in pairs."""
_MOST_LASTING = 512
_MANY_NEIGHBOURS = 500
"""Samples in the reach of a query from which cells amid them cost less."""
_MANY_QUERIES = 64
"""Queries from which one grid for all of them pays."""
_FEW, _FEW_FOR_A_GRID = 2_500, 500
"""Samples up to which every pair is taken; the Gaussian at many queries goes to a grid earlier."""


class Prepared(Keeping):
    """Samples ready for any kernel, bandwidth and query.

    Parameters
    ----------
    core : Core
        All samples but the extras.
    extras : Extras
        Samples that are dragged or scaled.
    """

    def __init__(self, core: Core, extras: Extras = NONE) -> None:
        super().__init__()
        self.core = core
        self.extras = extras
        self.lasting = Keeping(_MOST_LASTING)  # sums at every sample: seconds of work, for many bandwidths

    @classmethod
    def of(cls, x: Any, y: Any) -> Prepared:
        """Return finite samples, made ready."""
        return cls(Core(put_in_order(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))))

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.core.ordered.n + self.extras.n

    @property
    def ordered(self) -> Ordered:
        """The samples other than the extras, in x order."""
        return self.core.ordered

    def asked(self, h: float, kernel: str | Kernel, *, power: int = 1) -> Asked:
        """Return which sums are wanted, with h kept where its square is a number."""
        row = kernel_named(kernel) if isinstance(kernel, str) else kernel
        ordered = self.core.ordered
        largest = abs(ordered.low) + ordered.span if row.log_K is None else ordered.span
        return Asked(row, max(float(h), 1e-150 * largest), power=power, low=ordered.low)

    def coordinate(self, x: np.ndarray) -> np.ndarray:
        """Return places of the data's own x as places in `Ordered.x`."""
        return np.asarray(x, dtype=np.float64) - self.core.ordered.low

    # --- changed samples ------------------------------------------------------------------------------------------

    def moved(self, sample: int, x: float, y: float, *, was: tuple[float, float]) -> Prepared:
        """Return the samples with one of them at (x, y); `was` is where it has been.

        Taking a sample out for the first time costs a copy of the samples; every further move costs nothing.
        """
        return self._put(sample, (x, y), was, None)

    def lifted(self, sample: int, *, at: tuple[float, float]) -> Prepared:
        """Return the same samples with one of them, which is at `at`, held apart."""
        same = self._put(sample, at, at, None)
        same.lasting = self.lasting
        return same

    def dosed(self, doses: Mapping[int, float], places: Mapping[int, tuple[float, float]]) -> Prepared:
        """Return the samples with the kernels of some scaled; `places` are their (x, y)."""
        result = self
        for sample, dose in doses.items():
            result = result._put(sample, places[sample], places[sample], dose)
        return result

    def _put(self, sample: int, to: tuple[float, float], was: tuple[float, float], dose: float | None) -> Prepared:
        ordered, core = self.core.ordered, self.core
        known = self.extras.sample == sample
        if not np.any(known):
            core = self.core.without(ordered.place_of(sample, was[0]))
        weight = dose if dose is not None else (float(self.extras.weight[known][0]) if np.any(known) else 1.0)
        x, y = to[0] - ordered.low, (to[1] - ordered.mean) / ordered.scale
        return Prepared(core, self.extras.put(sample, x, y, weight))

    # --- sums -----------------------------------------------------------------------------------------------------

    def sums(self, x_query: np.ndarray, asked: Asked) -> Sums:
        """Return mass and moment at queries in the coordinate of `Ordered.x`."""
        key = (float(x_query[0]), asked) if x_query.size == 1 else None
        return self.kept(key, lambda: with_extras(self.core_sums(x_query, asked), self.extras, x_query, asked))

    def core_sums(self, x_query: np.ndarray, asked: Asked) -> Sums:
        """Return the same without the extras."""
        ordered = self.core.ordered
        if not ordered.n:
            return Sums(*np.zeros((3, x_query.size)))
        if self.takes_every_pair(x_query, asked):
            order = np.argsort(x_query, kind="stable")
            found = direct_sums(ordered, x_query[order], asked)
            back = np.argsort(order)
            return Sums(found.log_scale[back], found.mass[back], found.moment[back])
        if asked.kernel.compact:
            return tree_sums(self.core.tree(asked.kernel), x_query, asked)
        if asked.kernel.name == "gaussian" and x_query.size >= _MANY_QUERIES:
            return self._grid_sums(x_query, asked)
        return cell_sums(self.core.cells(), x_query, asked)

    def _grid_sums(self, x_query: np.ndarray, asked: Asked) -> Sums:
        """Gaussian sums from a regular grid; from the cells where the grid's rounding would show."""
        cells, h = self.core.cells(), asked.effective_h
        level = level_for(cells, h * FINE_GRID)
        if level < 0:
            return self._uneven_sums(x_query, asked)
        values = np.stack(gaussian_on_grid(self.core.spectra(), level, h))
        (mass, moment), covered = between_places(values, x_query, cells.width_of(level))
        faint = np.flatnonzero(~covered | (mass < FAINT * values[0].max()))
        log_scale = np.zeros(x_query.size)
        if faint.size:
            exact = cell_sums(cells, x_query[faint], asked)
            log_scale[faint], mass[faint], moment[faint] = exact.log_scale, exact.mass, exact.moment
        return Sums(log_scale, mass, moment)

    def _uneven_sums(self, x_query: np.ndarray, asked: Asked) -> Sums:
        """Gaussian sums where even cells are too wide, as one sample far out makes them: from cells amid the samples.

        Pair by pair where that is less work, and for queries in the gaps.
        """
        ordered, h = self.core.ordered, asked.effective_h
        width = width_for(ordered, h)
        lo, hi = windows(ordered, x_query, asked)
        distance, _ = nearest_distance(ordered.x, x_query)
        amid = np.flatnonzero((distance <= h) & (hi - lo > _MANY_NEIGHBOURS))
        if width is None or int(np.sum((hi - lo)[amid])) < _PAIRS_PER_SAMPLE * ordered.n:
            return cell_sums(self.core.cells(), x_query, asked)
        width = 2.0 ** math.floor(math.log2(width))  # the same for some bandwidths
        sparse = self.core.kept(("sparse", width), lambda: build_sparse(ordered, width))
        amid = amid[np.argsort(x_query[amid])]
        others = np.setdiff1d(np.arange(x_query.size), amid)
        out = np.empty((3, x_query.size))
        for rows, sums in (
            (amid, sparse_sums(sparse, x_query[amid], asked)),
            (others, cell_sums(self.core.cells(), x_query[others], asked)),
        ):
            out[:, rows] = sums.log_scale, sums.mass, sums.moment
        return Sums(*out)

    def takes_every_pair(self, x_query: np.ndarray, asked: Asked) -> bool:
        """Return whether the pairs within reach are few enough to take each."""
        ordered = self.core.ordered
        if ordered.n <= _FEW_FOR_A_GRID or not np.isfinite(ordered.span):
            return True
        grid = asked.kernel.name == "gaussian" and x_query.size >= _MANY_QUERIES and not asked.order
        if grid or ordered.n <= _FEW:
            return not grid
        allowed = _PAIRS_PER_QUERY * x_query.size + (0 if self.core.ready else _PAIRS_PER_SAMPLE * ordered.n)
        lo, hi = windows(ordered, x_query, asked)
        return int(np.sum(hi - lo)) <= allowed

    # --- what is shown --------------------------------------------------------------------------------------------

    def fit(self, x_query: Any, h: float, kernel: str = "gaussian") -> np.ndarray:
        """Return the kernel fit at each query, NaN where no sample has weight; the same shape as x_query."""
        query = np.asarray(x_query, dtype=np.float64)
        finite = np.isfinite(query).reshape(-1)
        f = np.full(finite.shape, np.nan)
        f[finite] = self.core.ordered.shown(
            self.sums(self.coordinate(query.reshape(-1)[finite]), self.asked(h, kernel)).mean()
        )
        return f.reshape(query.shape)

    def curve(self, x_query: np.ndarray, h: float, kernel: str = "gaussian") -> tuple[np.ndarray, np.ndarray]:
        """Return the fit at each query and the norm of its weights, ``sqrt(sum w^2)``; NaN without weight.

        For a Gaussian, ``sum K_h^2`` is ``sum K`` at h / sqrt 2; the square of a compact kernel is a polynomial again.
        """
        q = self.coordinate(x_query)
        once, twice = self.asked(h, kernel), self.asked(h, kernel, power=2)
        sums, squares = self.sums(q, once), self.sums(q, twice)
        held = sums.mass > 0
        log_ratio = np.where(held, squares.log_scale - 2 * sums.log_scale, 0.0)
        ratio = np.exp(np.minimum(log_ratio, 0.0)) * squares.mass / np.where(held, sums.mass, 1.0) ** 2
        return self.core.ordered.shown(sums.mean()), np.where(held, np.sqrt(np.maximum(ratio, 0.0)), np.nan)

    def log_mass(self, x_query: np.ndarray, h: float, kernel: str = "gaussian") -> np.ndarray:
        """Return ``log sum K`` at each query with K(0) = 1, -inf without weight."""
        sums = self.sums(self.coordinate(x_query), self.asked(h, kernel))
        held = sums.mass > 0
        return np.where(held, np.log(np.where(held, sums.mass, 1.0)) + sums.log_scale, -np.inf)

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all samples, the extras last, in the data's own numbers; in no particular order."""
        ordered, extras = self.core.ordered, self.extras
        x = np.concatenate([ordered.x, extras.x]) + ordered.low
        return x, ordered.shown(np.concatenate([ordered.y, extras.y]))

    def bounds(self) -> tuple[float, float, float, float]:
        """Return smallest and largest x, smallest and largest response; NaN without samples."""
        ordered, extras = self.core.ordered, self.extras
        if not self.n:
            return (np.nan,) * 4
        x = np.concatenate([ordered.x[:1], ordered.x[-1:], extras.x])
        y = np.concatenate([self.core.y_bounds(), extras.y])
        low, high = ordered.shown(np.asarray([y.min(), y.max()]))
        return float(x.min()) + ordered.low, float(x.max()) + ordered.low, float(low), float(high)

    def log_kernel(self, x_query: np.ndarray, x: np.ndarray, h: float, kernel: str = "gaussian") -> np.ndarray:
        """Return the log-kernel between places, K(0) = 1, in the scale of `log_mass`; (n_query, n).

        For exp-dot-product, which has no peak, x counts from the smallest x: a factor that no weight depends on.
        """
        places = Extras(self.coordinate(x), np.zeros(x.size), np.ones(x.size), np.zeros(x.size, dtype=np.int64))
        return log_kernel(places, self.coordinate(x_query), self.asked(h, kernel))

    def within(self, x_query: float, h: float, kernel: str = "gaussian") -> tuple[int, float]:
        """Return how many samples lie within h of a query, and their share of the weight (0 without weight)."""
        ordered, extras = self.core.ordered, self.extras
        q = x_query - ordered.low
        first, last = np.searchsorted(ordered.x, q - h), np.searchsorted(ordered.x, q + h, side="right")
        close = np.abs(extras.x - q) <= h
        count = int(last - first) + int(close.sum())
        log_mass = float(self.log_mass(np.asarray([x_query]), h, kernel)[0])
        if log_mass == -np.inf:
            return count, 0.0
        x = np.concatenate([ordered.x[first:last], extras.x[close]]) + ordered.low
        scale = np.concatenate([np.ones(int(last - first)), extras.weight[close]])
        log_K = self.log_kernel(np.asarray([x_query]), x, h, kernel)[0]
        share = np.exp(np.where(scale != 0, log_K - log_mass, -np.inf))  # at dose 0 one may exceed all others
        return count, float(scale @ share)

    def near(self, x_query: float, n: int) -> np.ndarray:
        """Return the samples nearest in place around a query, at most n of the core and all extras, int64."""
        ordered = self.core.ordered
        first = max(0, min(int(np.searchsorted(ordered.x, x_query - ordered.low)) - n // 2, ordered.n - n))
        places = np.arange(first, min(first + n, ordered.n))
        return np.concatenate([ordered.samples(places), self.extras.sample.astype(np.int64)])
