"""One query of the samples: weights, fit, and what is selected. Every panel of the regression scene starts here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from kav import smoother
from kav.errors import KavError
from kav.regression.band import Spread, Weigh, spread, standard_error
from kav.regression.fit import Observed, dosed_weights, observe
from kav.regression.kernels import Kernel
from kav.views.regression.ranges import decimals, signed_fixed
from kav.views.scene import RegressionScene, Scene
from kav.views.words import Label, Piece, fixed

Z = 1.96
"""Half width of the confidence band in standard errors: 95 % of a normal distribution."""


@dataclass(frozen=True)
class AtQuery:
    """The scene at its query: log-kernel and weights (n,), their average f, and the selected sample."""

    scene: RegressionScene
    observed: Observed
    doses: np.ndarray
    log_kernel: np.ndarray
    weights: np.ndarray
    f: float
    selected: int
    x_decimals: int
    y_decimals: int

    @property
    def kernel(self) -> Kernel:
        """The scene's kernel."""
        return self.observed.kernel

    @property
    def weigh(self) -> Weigh:
        """From log-kernel rows to weights, the samples' scales included."""
        plain = bool(np.all(self.doses == 1))
        return smoother.weights if plain else partial(dosed_weights, doses=self.doses)

    def curve(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the fit at many places, NaN without support, and the norm of its weights, both (n_x,)."""
        f, norm = np.full(x.size, np.nan), np.full(x.size, np.nan)
        for rows in self.observed.row_blocks(x.size):
            w = self.weigh(self.observed.log_kernel(x[rows]))
            held = np.any(w != 0, axis=-1)
            f[rows] = np.where(held, smoother.smooth(w, self.observed.y), np.nan)
            norm[rows] = np.where(held, standard_error(w, 1.0), np.nan)
        return f, norm

    def spread(self) -> Spread:
        """Return degrees of freedom and residual standard deviation of the fit."""
        return spread(self.observed, self.weigh)

    def x_text(self, value: float) -> str:
        """A place on the x axis: `4.20`."""
        return fixed(value, self.x_decimals)

    def y_text(self, value: float) -> str:
        """A response or fit, always signed: `−0.70`."""
        return signed_fixed(value, self.y_decimals)

    def query_piece(self, text: str = "x = ") -> Piece:
        """The query in a reading line: ▼ x = 4.20."""
        return Piece(f"{text}{self.x_text(self.scene.x_query)}", "query", strong=True, mark="query")

    def label(self, index: int) -> Label:
        """A sample on a plot: `sample 14`, with its numbers for tooltips."""
        x, y = float(self.observed.x[index]), float(self.observed.y[index])
        return Label(sample_name(index), exact=f"x = {self.x_text(x)}, y = {self.y_text(y)}")


def sample_name(index: int) -> str:
    """Return what a sample is called everywhere."""
    return f"sample {index}"


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


def at_query(scene: Scene) -> AtQuery:
    """Return weights, fit and selection at the scene's query.

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
    observed = observe(samples.x, samples.y, scene.h, scene.kernel)
    doses = np.ones(samples.n)
    for index, scale in scene.doses:
        if 0 <= index < samples.n:
            doses[index] = scale
    log_kernel = observed.log_kernel(np.asarray([scene.x_query]))[0]
    plain = smoother.weights(log_kernel)
    weights = dosed_weights(log_kernel, doses) if scene.doses else plain
    f = float(weights @ samples.y) if np.any(weights != 0) else math.nan
    return AtQuery(
        scene,
        observed,
        doses,
        log_kernel,
        weights,
        f,
        _selected(scene, plain),
        decimals(float(np.ptp(samples.x))),
        decimals(float(np.ptp(samples.y))),
    )


def before(scene: Scene) -> AtQuery | None:
    """Return the same query without the scene's doses, None while there are none."""
    scene = as_regression(scene)
    return None if scene.before is None else at_query(scene.before)


def _selected(scene: RegressionScene, weights: np.ndarray) -> int:
    """The sample chosen, else the heaviest without doses, else (no support) the nearest."""
    if scene.selected is not None and 0 <= scene.selected < weights.size:
        return scene.selected
    if np.any(weights > 0):
        return int(np.argmax(weights))
    return int(np.argmin(np.abs(scene.samples.x - scene.x_query)))
