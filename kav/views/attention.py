"""Where does the head look? The smoother matrix of one head (or of the samples), and all heads as thumbnails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kav.model.tiles import Part, Squares
from kav.task import Task
from kav.views.formulas import FormulaRow, shape
from kav.views.recover import on_any_device
from kav.views.scene import RegressionScene, Scene, as_head, resolve
from kav.views.scripts import head_setup, regression_setup
from kav.views.words import Label, Piece, Reading, number, share

MOST_WRITTEN = 1024
"""Tokens up to which "Copy as Python" takes the whole matrix."""


@dataclass(frozen=True)
class Spec:
    """One scene and the panel's own controls."""

    scene: Scene
    weighting: str = "weight"  # "weight", "message" (weight x |message|), "logits" (weight x message, signed)
    shading: str = "linear"  # "linear", "log", "rank"
    stage: str = "pattern"  # "scores", "masked", "pattern"
    part: Part | None = None  # head scene: the part of a long prompt's matrix that is looked at; None = all of it


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
class Cell:
    """The selected cell: its score (-inf = masked), its weight, and the weights of the row's other keys together."""

    score: float
    weight: float
    others: float


@dataclass(frozen=True)
class Result:
    """The matrix: rows are queries, columns keys. Excluded cells have visible False and are hatched, never zero.

    A long prompt's matrix is cut into squares (`squares`); every array then holds one real cell of each square.
    """

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
    cell: Cell
    squares: Squares | None = None  # head scene: which cells the arrays hold; None = all
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
    shading: str = "linear"  # that `shade` came by
    changed: bool = False  # whether edits changed the selected head's matrix, or the samples'
    unit: str = ""  # of values: "", "logits", ...
    thumbs_of: object = None  # the run that `thumbs` belong to: the same run -> they are reused
    tiled: object = None  # the head with what is known of its row sums: the same head -> they are reused
    scaling: str = "/ √d_head"  # head scene: what q · k goes through to become a score
    d_head: int = 0  # head scene: size for the formula card

    @property
    def n_pooled(self) -> int:
        """How many cells a square has along one side; 1 = every cell is shown."""
        return 1 if self.squares is None else self.squares.size

    def place(self, query: int, key: int) -> tuple[int, int] | None:
        """Return where a cell (or the square that it is in) stands in the arrays, None if it is not in them."""
        (row, column), size = (query, key), self.n_pooled
        if self.squares is not None:
            row, column = row - self.squares.part.rows[0], column - self.squares.part.columns[0]
        inside = 0 <= row // size < self.shade.shape[0] and 0 <= column // size < self.shade.shape[1]
        return (row // size, column // size) if inside else None


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the matrix and the mosaic (or gallery) of the scene."""
    task.report(0.0)  # a request that is no longer wanted ends here
    if isinstance(spec.scene, RegressionScene):
        from kav.views.regression import attention as regression

        return regression.compute(spec, task, last)
    from kav.views.head import attention as head

    return on_any_device(head.compute, spec, task, last)


def table(result: Result) -> dict[str, Any]:
    """Return the matrix cell by cell for export: score, weight, and what is shown.

    Of a long prompt these are the cells that are drawn, one of each square, with the number of cells they stand for.
    """
    values = {
        "score": result.scores,
        "weight": result.weights,
        "value": result.values,
        "visible": result.visible,
    }
    squares = result.squares
    if squares is not None and squares.size > 1:
        of = np.full(result.shade.size, squares.size**2)
        names = [str(label) for label in result.query_labels]
        return {
            "query": tuple(names[i] for i in squares.rows.ravel().tolist()),
            "key": tuple(names[j] for j in squares.columns.ravel().tolist()),
            **{name: array.ravel() for name, array in values.items()},
            "farthest_from_zero_of_cells": of,
            "unit": result.unit,
        }
    everything = (None, None)
    rows, columns = (everything, everything) if squares is None else (squares.part.rows, squares.part.columns)
    return {
        "axes": ("query", "key"),
        "query": tuple(str(label) for label in result.query_labels[slice(*rows)]),
        "key": tuple(str(label) for label in result.key_labels[slice(*columns)]),
        **values,
        "unit": result.unit,
    }


def python(spec: Spec) -> str:
    """Return a script that computes the matrix and prints where the selected row looks."""
    if isinstance(spec.scene, RegressionScene):
        return regression_setup(spec.scene) + _REGRESSION_SCRIPT
    scene = as_head(spec.scene)
    setup, n = head_setup(scene, resolve(scene)), scene.trace.n_tokens
    rows = f"slice(0, {n})" if n <= MOST_WRITTEN else "slice(query, query + 1)  # all rows would be very many"
    script = _HEAD_SCRIPTS[spec.weighting if spec.stage == "pattern" else "scores"]
    return f"{setup}rows = {rows}\n{script}{_PRINT}"


_PRINT = """
row = weights[query - rows.start]
print(f"head {layer}.{head} at token {query} looks at token {row.argmax()} ({row.max():.3f})")
"""

_HEAD_SCRIPTS = {
    "weight": """
scores = trace.scores(layer, head, rows)  # q . k, scaled as the model does; -inf where masked
weights = trace.pattern(layer, head, rows)
values = weights
""",
    "message": """
weights = trace.pattern(layer, head, rows)
from kav.views.head.messages import dose_at, message_norms  # |v_j @ W_O|, through a norm after attention if any

norms, scale = message_norms(trace, layer, head, queries=rows)
values = weights * norms / scale[:, None] * np.abs(dose_at(trace, layer, head, queries=rows))[:, None]
""",
    "logits": """
weights = trace.pattern(layer, head, rows)
from kav.views.head.messages import messages  # each key's message to the target, the final norm frozen

values = weights * messages(trace, layer, head, to=(target, foil), queries=rows).block()
""",
    "scores": """
values = trace.scores(layer, head, rows)  # q . k, scaled as the model does; -inf where masked
weights = trace.pattern(layer, head, rows)
""",
}

_REGRESSION_SCRIPT = """
S = kav.smoother_matrix(x, x, h, kernel) * scale  # rows are queries
total = S.sum(axis=-1, keepdims=True)
S = np.divide(S, total, out=np.zeros_like(S), where=total != 0)
print(f"degrees of freedom, trace(S) = {np.trace(S):.3f}; largest weight at the query {weights.max():.3f}")
"""


def formula(result: Result) -> tuple[FormulaRow, ...]:
    """Return the rows of the formula card, with the numbers of the selected cell."""
    n_queries, n_keys, cell = len(result.query_labels), len(result.key_labels), result.cell
    if result.kind != "head":
        return (
            FormulaRow((Piece("S", strong=True), Piece(" = K((x − xᵢ)/h) / Σ K")), shape(n_queries, n_keys)),
            FormulaRow((Piece("f = S y   ", strong=True), Piece("rows sum to 1", "muted")), shape(n_keys)),
            FormulaRow((Piece("at the selected cell"),), value=share(cell.weight), rule_above=True),
        )
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
            value=number(cell.score) if np.isfinite(cell.score) else "masked",
            rule_above=True,
        ),
        FormulaRow((Piece("its weight"),), value=share(cell.weight)),
        FormulaRow((Piece("the row's other weights together"),), value=number(cell.others)),
    )
