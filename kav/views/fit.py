"""What is attention? The kernel fit of one query: observations, their weights, their average, and the curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.task import Task
from kav.views.scene import RegressionScene, Scene
from kav.views.words import Label, Mark, Reading, Role


@dataclass(frozen=True)
class Spec:
    """One scene and the panel's own controls."""

    scene: Scene
    baseline: str = "none"  # regression scene: none, mean, ols, ridge, krr, local-linear, knn (only those in BASELINES)
    weights: str = "normalised"  # regression scene: "normalised" or "raw"


@dataclass(frozen=True)
class Row:
    """One row of the correspondence table: mark, name, value, and a muted line on what it is."""

    key: str  # "query", "curve", "key", "response", "weight", "prediction", "effective", "kernel"
    mark: Mark
    name: str
    value: str
    note: str
    role: Role = ""


@dataclass(frozen=True)
class Observations:
    """Observations as dots: place, response, weight (all (n,)); visible False = masked out, not drawn."""

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    visible: np.ndarray


@dataclass(frozen=True)
class Result:
    """Everything the hero draws. Head scene: x = score, curve over t. Regression scene: x = x, curve over x.

    curve_at and query_at are in units of the query axis (top), observations in units of the bottom axis; in the
    regression scene the two axes are one.
    """

    kind: str  # "head" or "regression"
    reading: Reading
    points: Observations
    labels: tuple[Label, ...]  # of the observations
    selected: int
    curve_at: np.ndarray  # (n_curve,)
    curve_f: np.ndarray  # (n_curve,), NaN = gap (no support)
    query_at: float  # t, or x_query
    f: float  # value at the query; NaN when undefined
    query_range: tuple[float, float]
    query_ticks: tuple[tuple[float, str, str], ...]  # (place, small figures, text), e.g. (0.0, "13", "Pharaoh")
    x_range: tuple[float, float]
    y_range: tuple[float, float]  # of the data and the band, before headroom
    band: tuple[float, float]
    band_holds: bool  # False for kernels that can be negative: the fit may leave the band
    x_title: str
    y_title: Reading
    f_text: str  # "f = +13.89 logits"
    rows: tuple[Row, ...]
    before: Observations | None = None
    before_f: float | None = None
    towards: int | None = None  # head scene: the other query's position
    beta: float = 1.0
    kernel: str = "softmax"
    h: float | None = None
    ci_low: np.ndarray | None = None  # (n_curve,), fit -+ 1.96 s.e.
    ci_high: np.ndarray | None = None
    kernel_x: np.ndarray | None = None  # shape of the kernel at the query, peak scaled to 1
    kernel_y: np.ndarray | None = None
    baseline: tuple[str, np.ndarray, np.ndarray] | None = None  # (name, x, y)
    loo_h: float | None = None  # bandwidth that minimises the leave-one-out error
    notice: str = ""  # "no data within bandwidth" and the like


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the picture of one query; `last` is the panel's previous result, of which unchanged parts are reused."""
    if isinstance(spec.scene, RegressionScene):
        from kav.views.regression import fit as regression

        return regression.compute(spec, task, last)
    from kav.views.head import fit as head

    return head.compute(spec, task, last)
