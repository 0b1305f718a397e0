"""Where does the head look? The smoother matrix of one head (or of the samples), and all heads as thumbnails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kav.task import Task
from kav.views.formulas import FormulaRow, shape
from kav.views.recover import on_any_device
from kav.views.scene import RegressionScene, Scene, as_head, resolve
from kav.views.scripts import head_setup, regression_setup
from kav.views.words import Label, Piece, Reading, number, share, signed


@dataclass(frozen=True)
class Spec:
    """One scene and the panel's own controls."""

    scene: Scene
    weighting: str = "weight"  # "weight", "message" (weight x |message|), "logits" (weight x message, signed)
    shading: str = "linear"  # "linear", "log", "rank"
    stage: str = "pattern"  # "scores", "masked", "pattern"


@dataclass(frozen=True)
class Thumb:
    """One head of the mosaic, or one kernel of the gallery."""

    layer: int
    head: int
    role: str  # "previous", "induction", "duplicate", "first token", "itself", "mixed"
    score: float  # what the role's name is based on, on this prompt
    cells: np.ndarray  # (n, n) pattern, pooled to at most 64 x 64 by maximum
    edited: bool


@dataclass(frozen=True)
class KernelShape:
    """One kernel of the gallery: its name and K over u in [-3, 3], peak scaled to 1."""

    kernel: str
    title: str
    u: np.ndarray
    K: np.ndarray


@dataclass(frozen=True)
class Result:
    """The matrix: rows are queries, columns keys. Excluded cells have visible False and are hatched, never zero."""

    kind: str  # "head" or "regression"
    reading: Reading
    query_labels: Sequence[Label]
    key_labels: Sequence[Label]
    values: np.ndarray  # (n_queries, n_keys), what the weighting says, in its unit
    shade: np.ndarray  # (n_queries, n_keys) in [0, 1], or [-1, 1] if diverging: values after the shading
    visible: np.ndarray  # (n_queries, n_keys) bool
    levels: tuple[float, float]  # values at both ends of the colour bar
    diverging: bool
    scores: np.ndarray  # (n_queries, n_keys) for hover, -inf where masked
    weights: np.ndarray  # (n_queries, n_keys) for hover
    query: int  # selected row
    key: int  # selected column
    thumbs: tuple[tuple[Thumb, ...], ...] = ()  # [layer][head]
    layer: int = 0
    head: int = 0
    role: str = ""
    role_text: str = ""  # compact line under the mosaic: "prefix matching 0.965 on this prompt"
    gallery: tuple[KernelShape, ...] = ()
    kernel: str = ""
    query_axis: np.ndarray | None = None  # regression scene: x of each row
    key_axis: np.ndarray | None = None  # regression scene: x of each column
    sample_of_key: np.ndarray | None = None  # regression scene: index of the sample of each column
    unit: str = ""  # of values: "", "logits", ...
    thumbs_of: object = None  # the run that `thumbs` belong to: the same run -> they are reused
    scaling: str = "/ √d_head"  # head scene: what q · k goes through to become a score
    d_head: int = 0  # head scene: size for the formula card


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the matrix and the mosaic (or gallery) of the scene."""
    task.report(0.0)  # a request that is no longer wanted ends here
    if isinstance(spec.scene, RegressionScene):
        from kav.views.regression import attention as regression

        return regression.compute(spec, task, last)
    from kav.views.head import attention as head

    return on_any_device(head.compute, spec, task, last)


def table(result: Result) -> dict[str, Any]:
    """Return the matrix cell by cell for export: score, weight, and what is shown."""
    return {
        "axes": ("query", "key"),
        "query": tuple(str(label) for label in result.query_labels),
        "key": tuple(str(label) for label in result.key_labels),
        "score": result.scores,
        "weight": result.weights,
        "value": result.values,
        "visible": result.visible,
        "unit": result.unit,
    }


def python(spec: Spec) -> str:
    """Return a script that computes the matrix and prints where the selected row looks."""
    if isinstance(spec.scene, RegressionScene):
        return regression_setup(spec.scene) + _REGRESSION_SCRIPT
    scene = as_head(spec.scene)
    return head_setup(scene, resolve(scene)) + _HEAD_SCRIPTS[spec.weighting if spec.stage == "pattern" else "scores"]


_PRINT = """
best = int(weights[query].argmax())
print(f"head {layer}.{head} at token {query} looks at token {best} ({weights[query, best]:.3f})")
"""

_HEAD_SCRIPTS = {
    "weight": """
scores = trace.scores(layer, head)  # q . k, scaled as the model does; -inf where masked
weights = trace.pattern(layer, head)
values = weights
"""
    + _PRINT,
    "message": """
weights = trace.pattern(layer, head)
from kav.views.head.messages import message_norms  # |v_j @ W_O|, through a norm after attention if there is one

values = weights * message_norms(trace, layer, head, queries=slice(0, len(tokens.ids)))
"""
    + _PRINT,
    "logits": """
weights = trace.pattern(layer, head)
values = np.stack([kav.attribution(trace, i, target, foil).sources[layer, head] for i in range(len(tokens))])
"""
    + _PRINT,
    "scores": """
values = trace.scores(layer, head)  # q . k, scaled as the model does; -inf where masked
weights = trace.pattern(layer, head)
"""
    + _PRINT,
}

_REGRESSION_SCRIPT = """
S = kav.smoother_matrix(x, x, h, kernel) * scale  # rows are queries
total = S.sum(axis=-1, keepdims=True)
S = np.divide(S, total, out=np.zeros_like(S), where=total != 0)
print(f"degrees of freedom, trace(S) = {np.trace(S):.3f}; largest weight at the query {weights.max():.3f}")
"""


def formula(result: Result) -> tuple[FormulaRow, ...]:
    """Return the rows of the formula card, with the numbers of the selected cell."""
    n_queries, n_keys = result.weights.shape
    cell = (result.query, result.key)
    if result.kind != "head":
        return (
            FormulaRow((Piece("S", strong=True), Piece(" = K((x − xᵢ)/h) / Σ K")), shape(n_queries, n_keys)),
            FormulaRow((Piece("f = S y   ", strong=True), Piece("rows sum to 1", "muted")), shape(n_keys)),
            FormulaRow((Piece("at the selected cell"),), value=share(float(result.weights[cell])), rule_above=True),
        )
    score = float(result.scores[cell])
    return (
        FormulaRow(
            (
                Piece("scores", strong=True),
                Piece(" = "),
                Piece("Q", "query"),
                Piece(" "),
                Piece("Kᵀ", "key"),
                Piece(f" {result.scaling}"),
            ),
            f"{shape(n_queries, result.d_head)} {shape(result.d_head, n_keys)}",
        ),
        FormulaRow((Piece("masked: ", strong=True), Piece("−∞ where a key is not visible")), shape(n_queries, n_keys)),
        FormulaRow((Piece("pattern", strong=True), Piece(" = exp(scores) / Σ exp(scores)   rows sum to 1"))),
        FormulaRow(
            (Piece("score of ", mark="key"), Piece(str(result.key_labels[result.key]), strong=True)),
            value=signed(score) if np.isfinite(score) else "masked",
            rule_above=True,
        ),
        FormulaRow((Piece("its weight"),), value=share(float(result.weights[cell]))),
        FormulaRow(
            (Piece("the row's other weights together"),),
            value=number(float(result.weights[result.query].sum() - result.weights[cell])),
        ),
    )
