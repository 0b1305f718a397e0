"""One query of the samples: weights, fit, and what is selected. Every panel of the regression scene starts here.

Up to `MOST_DOTS` samples all are held one by one. Of more, those around the query are (with the selected one, those
scaled, and the one being dragged); sums over all come from the prepared samples, so that the held ones and "n others"
always add up to the whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kav import smoother
from kav.errors import KavError
from kav.regression.band import Spread, Weigh, spread, spread_of
from kav.regression.fit import Observed, dosed_weights, observe
from kav.regression.kernels import Kernel
from kav.regression.prepared import Prepared
from kav.views.density import MOST_DOTS, N_NEAR
from kav.views.regression.ranges import decimals
from kav.views.scene import RegressionScene, Scene
from kav.views.words import Label, MadeLabels, Piece, number, signed

Z = 1.96
"""Half width of the confidence band in standard errors: 95 % of a normal distribution."""


@dataclass(frozen=True)
class AtQuery:
    """The scene at its query; arrays are over the samples that are held, (n_held,).

    `held` says which they are, ascending; `log_kernel` has K(0) = 1; `weights` are shares of the whole weight and f the
    weighted average of all; `selected` is a sample, `place` where it is held.
    """

    scene: RegressionScene
    kernel: Kernel
    prepared: Prepared  # with the scene's doses
    held: np.ndarray
    x: np.ndarray
    y: np.ndarray
    doses: np.ndarray
    log_kernel: np.ndarray
    weights: np.ndarray
    f: float
    selected: int
    x_decimals: int
    y_decimals: int

    @property
    def n(self) -> int:
        """Number of all samples."""
        return self.scene.samples.n

    @property
    def whole(self) -> bool:
        """Whether every sample is held."""
        return self.held.size == self.n

    @property
    def place(self) -> int:
        """Where the selected sample is held."""
        return self.place_of(self.selected)

    def place_of(self, sample: int) -> int:
        """Where a sample is held; it must be."""
        return int(np.searchsorted(self.held, sample))

    @property
    def defined(self) -> bool:
        """Whether any sample has weight at the query."""
        return not math.isnan(self.f)

    @property
    def observed(self) -> Observed:
        """The samples as the plain functions want them: every pair of what follows."""
        samples = self.scene.samples
        return observe(samples.x, samples.y, self.scene.h, self.kernel.name)

    @property
    def weigh(self) -> Weigh:
        """From log-kernel rows over all samples to weights, the samples' scales included."""
        if not self.scene.doses:
            return smoother.weights
        doses = np.ones(self.n)
        for index, scale in _valid_doses(self.scene).items():
            doses[index] = scale
        return partial(dosed_weights, doses=doses)

    def curve(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the fit at many places, NaN without support, and the norm of its weights, both (n_x,)."""
        return self.prepared.curve(x, self.scene.h, self.kernel.name)

    def norm(self) -> float:
        """Return the norm of all weights at the query."""
        return float(self.curve(np.asarray([self.scene.x_query]))[1][0])

    def spread(self) -> Spread:
        """Return degrees of freedom and residual standard deviation of the fit; on a grid while time allows no more."""
        if self.whole and self.n <= _FEW:
            return spread(self.observed, self.weigh)
        return spread_of(self.prepared, (self.scene.h, self.kernel.name), quick=True)

    def x_text(self, value: float) -> str:
        """A place on the x axis: `4.20`."""
        return number(value, self.x_decimals)

    def y_text(self, value: float) -> str:
        """A response or fit, always signed: `−0.70`."""
        return signed(value, self.y_decimals)

    def query_piece(self, text: str = "x = ") -> Piece:
        """The query in a reading line: ▼ x = 4.20."""
        return Piece(f"{text}{self.x_text(self.scene.x_query)}", "query", strong=True, mark="query")

    def labels(self) -> Sequence[Label]:
        """Return the labels of the held samples."""
        held, x, y = self.held, self.x, self.y
        return MadeLabels(held.size, lambda at: self._label(int(held[at]), float(x[at]), float(y[at])))

    def label(self, sample: int) -> Label:
        """A sample on a plot: `sample 14`, with its numbers for tooltips."""
        samples = self.scene.samples
        return self._label(sample, *samples.pair(sample))

    def _label(self, sample: int, x: float, y: float) -> Label:
        return Label(sample_name(sample), exact=f"x = {self.x_text(x)}, y = {self.y_text(y)}")


_FEW = 300
"""Samples up to which dof and residuals come from the whole matrix."""


def sample_name(index: int) -> str:
    """Return what a sample is called everywhere."""
    return f"sample {index}"


def sample_piece(sample: int, now: AtQuery) -> Piece:
    """A sample in a reading line; only the selected one has the mark of the key."""
    if sample == now.selected:
        return Piece(sample_name(sample), "key", strong=True, mark="key")
    return Piece(sample_name(sample), strong=True)


def as_regression(scene: Scene) -> RegressionScene:
    """Return the scene as a regression scene.

    Raises
    ------
    KavError
        If it is a head scene: the dispatching `compute` of the panel picks the right module.
    """
    if not isinstance(scene, RegressionScene):
        raise KavError(f"scene must be a regression scene, got {type(scene).__name__}")
    return scene


def at_query(scene: Scene, held: np.ndarray | None = None) -> AtQuery:
    """Return weights, fit and selection at the scene's query; `held` says which samples to hold, None = the usual ones.

    Raises
    ------
    KavError
        If it is no regression scene, it has no samples, its h is not > 0, its query not finite, or its kernel unknown.
    """
    scene = as_regression(scene)
    if not math.isfinite(scene.x_query):
        raise KavError(f"the query must be a finite x, got {scene.x_query:g}")
    samples = scene.samples
    if samples.n == 0:
        raise KavError("a fit must have at least one sample, got none", "add one with a double click")
    first = np.zeros(1, dtype=np.int64)
    observed = observe(*samples.take(first), scene.h, scene.kernel)  # checks h and kernel
    kernel, scales = observed.kernel, _valid_doses(scene)
    prepared = samples.dosed(scales) if scales else samples.prepared
    # Every panel of a scene starts here. What is kept names no scene: it would hold on to what holds it.
    key = ("at query", kernel.name, observed.h, scene.x_query, scene.selected, scene.doses) if held is None else None
    parts = samples.prepared.kept(key, lambda: _parts(scene, prepared, kernel, scales, held))
    x_low, x_high, y_low, y_high = prepared.bounds()
    return AtQuery(scene, kernel, prepared, *parts, decimals(x_high - x_low), decimals(y_high - y_low))


_Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, float, int]
"""From `AtQuery.held` to `AtQuery.selected`."""


def _parts(
    scene: RegressionScene, prepared: Prepared, kernel: Kernel, scales: dict[int, float], held: np.ndarray | None
) -> _Parts:
    samples = scene.samples
    held = _held(scene, prepared, kernel, scales) if held is None else held
    doses = np.asarray([scales.get(int(index), 1.0) for index in held]) if scales else np.ones(held.size)
    x, y = samples.take(held)
    log_kernel = prepared.log_kernel(np.asarray([scene.x_query]), x, scene.h, kernel.name)[0]
    if held.size == samples.n:
        weights = dosed_weights(log_kernel, doses) if scales else smoother.weights(log_kernel)
        f = float(weights @ y) if np.any(weights != 0) else math.nan
    else:
        weights, f = _shares(prepared, scene, kernel, log_kernel, doses)
    return held, x, y, doses, log_kernel, weights, f, _selected(scene, held, x, log_kernel)


def _shares(
    prepared: Prepared, scene: RegressionScene, kernel: Kernel, log_kernel: np.ndarray, doses: np.ndarray
) -> tuple[np.ndarray, float]:
    """Weights of the held samples as shares of all, and f."""
    at = np.asarray([scene.x_query])
    log_mass = float(prepared.log_mass(at, scene.h, kernel.name)[0])
    if log_mass == -math.inf:
        return np.zeros(log_kernel.size), math.nan
    share = np.exp(np.where(doses != 0, log_kernel - log_mass, -np.inf))  # at dose 0 one may exceed all others
    return doses * share, float(prepared.fit(at, scene.h, kernel.name)[0])


def _valid_doses(scene: RegressionScene) -> dict[int, float]:
    """Scale of each scaled sample that exists."""
    return {index: scale for index, scale in scene.doses if 0 <= index < scene.samples.n}


def _held(scene: RegressionScene, prepared: Prepared, kernel: Kernel, scales: dict[int, float]) -> np.ndarray:
    """Which samples are held one by one, ascending."""
    n = scene.samples.n
    if n <= MOST_DOTS:
        return np.arange(n)
    chosen = [prepared.near(scene.x_query, N_NEAR), np.asarray(list(scales), dtype=np.int64)]
    if kernel.log_K is None:  # the weight is at an end, not around the query
        low, high, *_ = prepared.bounds()
        chosen.append(prepared.near(high if scene.x_query > 0 else low, N_NEAR))
    if scene.selected is not None and 0 <= scene.selected < n:
        chosen.append(np.asarray([scene.selected], dtype=np.int64))
    return np.unique(np.concatenate(chosen))


def before(now: AtQuery) -> AtQuery | None:
    """Return the same query without the scene's doses, over the same samples; None while there are none."""
    return None if now.scene.before is None else at_query(now.scene.before, now.held)


def _selected(scene: RegressionScene, held: np.ndarray, x: np.ndarray, log_kernel: np.ndarray) -> int:
    """The sample chosen, else the heaviest without doses, else (no support) the nearest."""
    if scene.selected is not None and 0 <= scene.selected < scene.samples.n:
        return scene.selected
    if np.any(log_kernel > -np.inf):
        return int(held[np.argmax(log_kernel)])
    return int(held[np.argmin(np.abs(x - scene.x_query))])
