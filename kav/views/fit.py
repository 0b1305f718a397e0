"""What is attention? The kernel fit of one query: observations, their weights, their average, and the curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kav.regression.loo_curve import LooCurve
from kav.regression.objective import Objective
from kav.task import Task
from kav.views.density import Density
from kav.views.formulas import FormulaRow, shape
from kav.views.recover import on_any_device
from kav.views.scene import RegressionScene, Scene, as_head, resolve
from kav.views.scripts import head_setup, regression_setup
from kav.views.tables import own_names
from kav.views.words import Label, Mark, Piece, Reading, Role, number, share, signed, token_pieces


@dataclass(frozen=True)
class Spec:
    """One scene and the panel's own controls."""

    scene: Scene
    baseline: str = (
        "none"  # regression scene: none, all, mean, ols, ridge, krr, local-linear, knn (only those in BASELINES)
    )
    weights: str = "normalised"  # regression scene: "normalised" or "raw"
    objective: bool = True  # regression scene: whether the local objective is wanted


@dataclass(frozen=True)
class Row:
    """One row of the correspondence table: mark, name, value, and a muted line on what it is."""

    key: str  # "query", "curve", "key", "response", "weight", "prediction", "effective", "kernel"
    mark: Mark
    name: str
    value: str
    note: str
    role: Role = ""
    tip: str = ""  # more on it, for the tooltip


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
    labels: Sequence[Label]  # of the observations
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
    axes: tuple[str, str]  # what x and y are called in a table
    f_text: str  # "f = +13.89 logits"
    rows: tuple[Row, ...]
    before: Observations | None = None
    before_f: float | None = None
    towards: int | None = None  # head scene: the other query's position
    beta: float = 1.0
    kernel: str = "softmax"
    h: float | None = None
    h_limits: tuple[float, float] | None = None  # regression scene: between which h can be typed
    ci_low: np.ndarray | None = None  # (n_curve,), fit -+ 1.96 s.e.
    ci_high: np.ndarray | None = None
    kernel_x: np.ndarray | None = None  # shape of the kernel at the query, peak scaled to 1
    kernel_y: np.ndarray | None = None
    baseline: tuple[str, np.ndarray, np.ndarray] | None = None  # (name, x, y), the first of `baselines`
    baselines: tuple[tuple[str, np.ndarray, np.ndarray], ...] = ()
    influences: tuple[tuple[str, float], ...] = ()  # (words, far-end influence) of the fit and each baseline drawn
    loo_h: float | None = None  # bandwidth that minimises the leave-one-out error
    notice: str = ""  # "no data within bandwidth" and the like
    scaling: str = "/ √d_head"  # head scene: what q · k goes through to become a score
    d_head: int = 0  # head scene: sizes for the formula card
    d_model: int = 0
    n: int = 0  # regression scene: number of all samples
    skipped: tuple[int, ...] = ()  # rows of the data that were set aside
    samples: np.ndarray | None = None  # which sample each observation is; None = observation i is sample i
    density: Density | None = None  # counts of all samples on a pixel grid, when only those near the query are dots
    loo: LooCurve | None = None  # leave-one-out error over bandwidths, with the rules of thumb
    loo_of: object = None  # what `loo` belongs to: while it stays the same, `loo` is reused
    loo_samples: object = None  # the samples that `loo` was computed from
    loo_exact: bool = True  # whether `loo` is summed at every sample, of these very samples
    exact: bool = True  # whether dof and sigma are
    approximate: str = ""  # why something of the picture is approximate, for a tooltip; "" if nothing is
    refinable: bool = False  # whether what is not exact can be had exactly
    objective: Objective | None = None  # the parabola L_x(c) that f minimises
    decimals: tuple[int, int] = (0, 0)  # regression scene: that x and y have at least
    dof: float = 0.0  # effective degrees of freedom, trace S
    sigma: float = 0.0  # residual standard deviation, NaN if nothing is left; in the head scene the final norm's scale
    sigma_before: float | None = None  # head scene: the final norm's scale before the edits

    def sample(self, observation: int) -> int:
        """Return which sample an observation is; itself in the head scene and where every sample is a dot."""
        return observation if self.samples is None else int(self.samples[observation])


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the picture of one query; `last` is the panel's previous result, of which unchanged parts are reused."""
    task.report(0.0)  # a request that is no longer wanted ends here
    if isinstance(spec.scene, RegressionScene):
        from kav.views.regression import fit as regression

        return regression.compute(spec, task, last)
    from kav.views.head import fit as head

    return on_any_device(head.compute, spec, task, last)


def table(result: Result) -> dict[str, Any]:
    """Return the observations, the curve and f for export; columns of their own length."""
    points = result.points
    labels: dict[str, Any] = {
        "observation": tuple(str(label) for label in result.labels),
        "exact": tuple(label.exact for label in result.labels),
    }
    rest: dict[str, Any] = {
        "query_at": np.array([result.query_at]),
        "f": np.array([result.f]),
        "curve_at": result.curve_at,
        "curve_f": result.curve_f,
        **_regression_columns(result),
    }
    weights = {"weight": points.weight, "visible": points.visible}
    if result.before is not None:
        weights["weight_before"] = result.before.weight
    x, y = own_names(result.axes, (*labels, *weights, *rest))
    before = {} if result.before is None else {f"{x}_before": result.before.x, f"{y}_before": result.before.y}
    return {**labels, x: points.x, y: points.y, **weights, **before, **rest}


def _regression_columns(result: Result) -> dict[str, Any]:
    """What only the regression scene has: band, baseline, leave-one-out error over bandwidths."""
    columns: dict[str, Any] = {}
    if result.ci_low is not None and result.ci_high is not None:
        columns |= {"ci_low": result.ci_low, "ci_high": result.ci_high}
    if result.baseline is not None:
        columns |= {"baseline": result.baseline[2]}
    if result.loo is not None:
        columns |= {"loo_bandwidth": result.loo.h, "loo_error": result.loo.error}
    return columns


def python(spec: Spec) -> str:
    """Return a script that computes weights, responses and f of the picture, and prints f."""
    if isinstance(spec.scene, RegressionScene):
        return regression_setup(spec.scene) + _REGRESSION_SCRIPT
    scene = as_head(spec.scene)
    return head_setup(scene, resolve(scene)) + _HEAD_SCRIPT


_HEAD_SCRIPT = """
row = slice(query, query + 1)
scores = trace.scores(layer, head, row)[0]  # q . k, scaled as the model does; -inf where masked
weights = trace.pattern(layer, head, row)[0]  # softmax of them
moved = kav.attribution(trace, query, target, foil).sources[layer, head]  # weight x message, in logits
messages = np.divide(moved, weights, out=np.zeros_like(moved), where=weights > 0)
f = float(moved.sum())
print(f"f = {f:+.2f} logits, {weights.max():.3f} of the weight on token {weights.argmax()}")
"""

_REGRESSION_SCRIPT = """
f = float(weights @ y)
print(f"f({x_query:g}) = {f:+.3f}")
"""


def formula(result: Result) -> tuple[FormulaRow, ...]:
    """Return the rows of the formula card, with the numbers of the selected observation."""
    n = len(result.points.x)
    return _head_card(result, n) if result.kind == "head" else _regression_card(result, n)


def _head_card(result: Result, n: int) -> tuple[FormulaRow, ...]:
    key, points = result.selected, result.points
    product = float(points.weight[key] * points.y[key])
    others = int(points.visible.sum()) - int(points.visible[key])
    numbers = f"   s {number(points.x[key])}   α {share(points.weight[key])}   y {signed(points.y[key])}"
    return (
        FormulaRow((Piece("αⱼ", strong=True), Piece(" = exp(sⱼ) / Σ exp(sⱼ)")), shape(n)),
        FormulaRow(
            (
                Piece("sⱼ", strong=True),
                Piece(" = "),
                Piece("q", "query", strong=True),
                Piece(" · "),
                Piece("kⱼ", "key", strong=True),
                Piece(f" {result.scaling}"),
            ),
            f"{shape(n, result.d_head)} · {shape(result.d_head)}",
        ),
        FormulaRow(
            (Piece("yⱼ", strong=True), Piece(" = vⱼ W_O · u   "), Piece("towards ", "muted"), *_target(result)),
            f"{shape(n, result.d_head)} {shape(result.d_head, result.d_model)} {shape(result.d_model)}",
        ),
        FormulaRow(
            (Piece("u", strong=True), Piece(" = γ W_U[:, target] / σ   "), Piece("σ: final norm, frozen", "muted")),
            "" if result.sigma_before is None else f"was {number(result.sigma_before)}",
            f"σ {number(result.sigma)}",
        ),
        FormulaRow(
            (Piece("f", "direct", strong=True), Piece(" = Σ αⱼ yⱼ   "), Piece("the average of a kernel fit", "muted")),
            value=signed(result.f),
        ),
        FormulaRow(
            (Piece("at ", mark="key"), *token_pieces(result.labels[key]), Piece(numbers)),
            value=signed(product),
            rule_above=True,
        ),
        FormulaRow((Piece(f"the {others} other keys together"),), value=signed(result.f - product)),
        FormulaRow((Piece("rows: q = x W_Q, W_QK = W_Q W_Kᵀ, W_OV = W_V W_O", "muted"),), rule_above=True),
    )


def _target(result: Result) -> Reading:
    """The target's pieces, taken from the axis title."""
    return result.y_title[1:]


def _regression_card(result: Result, n: int) -> tuple[FormulaRow, ...]:
    at, points, (x_decimals, y_decimals) = result.selected, result.points, result.decimals
    total = float(points.weight.sum())
    weight = float(points.weight[at]) / total if total else 0.0
    numbers = f"   x {number(points.x[at], x_decimals)}   w {share(weight)}   y {signed(points.y[at], y_decimals)}"
    return (
        FormulaRow((Piece("wᵢ", strong=True), Piece(" = K(uᵢ) / Σ K(uᵢ)")), shape(n)),
        FormulaRow(
            (
                Piece("uᵢ", strong=True),
                Piece(" = ("),
                Piece("x", "query", strong=True),
                Piece(" − "),
                Piece("xᵢ", "key", strong=True),
                Piece(") / h"),
            ),
            shape(n),
            "" if result.h is None else f"h {number(result.h)}",
        ),
        FormulaRow((Piece("f", "direct", strong=True), Piece(" = Σ wᵢ yᵢ")), value=signed(result.f, y_decimals)),
        FormulaRow(
            (Piece("at ", mark="key"), Piece(result.labels[at].shown, strong=True), Piece(numbers)),
            value=signed(weight * float(points.y[at]), y_decimals),
            rule_above=True,
        ),
        FormulaRow((Piece(f"kernel {result.kernel}: K falls with |u|, and f is an average", "muted"),)),
    )
