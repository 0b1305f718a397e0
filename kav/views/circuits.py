"""By which circuit? W_QK, the kernel, and W_OV, what is moved: weights only, whatever the prompt says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kav.task import Task
from kav.views.formulas import FormulaRow, shape
from kav.views.recover import on_any_device
from kav.views.scene import RegressionScene, Scene, as_head, resolve
from kav.views.scripts import head_setup, regression_setup
from kav.views.words import Label, Piece, Reading, number, share


@dataclass(frozen=True)
class Spec:
    """One scene and the panel's own controls."""

    scene: Scene
    circuit: str = "ov"  # "ov" or "qk"
    space: str = "tokens"  # "tokens" of the prompt, or "d_model"
    offset: int = 0  # rotary models, "qk": query position - key position


@dataclass(frozen=True)
class Formula:
    """Regression scene: the fit written as a head. Features (1, x, x^2), q, k, and the small matrices."""

    exact: bool  # Gaussian and exp-dot-product are exp(bilinear); the others say so
    lines: tuple[Reading, ...]
    W_QK: np.ndarray  # (3, 3)
    W_OV: np.ndarray  # (1, 1)
    names: tuple[str, ...]  # of the features: "1", "x", "x²"
    difference: float  # largest |softmax head - Gaussian fit| over the samples


@dataclass(frozen=True)
class Result:
    """A signed matrix with names, and the spectrum of the head's W_QK or W_OV."""

    kind: str  # "head" or "regression"
    reading: Reading
    circuit: str
    space: str
    row_labels: tuple[Label, ...] = ()  # tokens; empty in d_model space
    column_labels: tuple[Label, ...] = ()
    values: np.ndarray | None = None  # (n_rows, n_columns)
    level: float = 1.0  # colour scale is -level..level
    row: int | None = None  # framed row: the key's token
    column: int | None = None  # framed column: the target
    row_title: str = "reads ↓"
    column_title: str = "promotes →"
    singular_values: np.ndarray | None = None  # (d_head,), descending
    eigenvalues: np.ndarray | None = None  # (d_head,) complex
    eigen_title: str = ""
    spectrum_title: str = ""
    symmetric_share: float | None = None
    copying: float | None = None
    offset: int = 0
    formula: Formula | None = None
    eigen_note: str = ""  # under the eigenvalues: "Re λ > 0 copies"
    d_head: int = 0  # head scene: sizes for the formula card
    d_model: int = 0
    tokens: tuple[int, ...] = ()  # ids of the rows and columns in token space
    n_distinct: int = 0  # distinct tokens there are for a table, which holds the first of many
    note: str = ""  # what the matrix leaves out, in one sentence
    source: object = None  # what the numbers were computed from: equal -> the result is reused


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the circuit of the scene's head (or the fit written as one)."""
    task.report(0.0)  # a request that is no longer wanted ends here
    if isinstance(spec.scene, RegressionScene):
        from kav.views.regression import circuits as regression

        return regression.compute(spec, task, last)
    from kav.views.head import circuits as head

    return on_any_device(head.compute, spec, task, last)


def table(result: Result) -> dict[str, Any]:
    """Return the matrix cell by cell for export, with its spectrum (the spectrum is not in a CSV)."""
    if result.values is None:
        return {"reading": ("the kernel is not exp(bilinear)",)}
    n_rows, n_columns = result.values.shape
    columns: dict[str, Any] = {
        "axes": ("row", "column"),
        "row": _names(result.row_labels, n_rows),
        "column": _names(result.column_labels, n_columns),
        "value": result.values,
    }
    if result.singular_values is not None:
        columns["singular_values"] = result.singular_values
    if result.eigenvalues is not None:
        columns["eigenvalues"] = result.eigenvalues
    if result.copying is not None:
        columns["copying_score"] = np.array([result.copying])
    return columns


def _names(labels: tuple[Label, ...], n: int) -> tuple[str, ...]:
    return tuple(label.shown for label in labels) if len(labels) == n else tuple(str(index) for index in range(n))


def python(spec: Spec) -> str:
    """Return a script that computes the circuit, its spectrum and its table, and prints what is on screen."""
    if isinstance(spec.scene, RegressionScene):
        return regression_setup(spec.scene) + _REGRESSION_SCRIPT
    from kav.views.head.circuits import table_tokens

    scene = as_head(spec.scene)
    focus = resolve(scene)
    ids = f"ids = {table_tokens(scene, focus)!r}  # rows and columns of the token table\n"
    if spec.circuit == "qk":
        return head_setup(scene, focus) + f"{ids}offset = {spec.offset}  # query position - key position\n" + _QK_SCRIPT
    return head_setup(scene, focus) + ids + _OV_SCRIPT


_OV_SCRIPT = """
from kav.circuits.qk_ov import ov_table

W_OV = kav.ov(model, layer, head)  # factored: (d_model, d_head) @ (d_head, d_model)
singular_values = W_OV.svd()[1]
values = ov_table(model, layer, head, ids)  # reads x promotes
copying = kav.copying_score(model, layer, head)
print(f"copying score {copying:+.2f}, largest singular value {singular_values[0]:.3g}")
"""

_QK_SCRIPT = """
from kav.circuits.qk_ov import qk_table

W_QK = kav.qk(model, layer, head, offset)  # factored: (d_model, d_head) @ (d_head, d_model)
singular_values = W_QK.svd()[1]
values = qk_table(model, layer, head, ids, offset)  # query x key
symmetric = W_QK.symmetric_share()
print(f"symmetric share {symmetric:.3f}, largest singular value {singular_values[0]:.3g}")
"""

_REGRESSION_SCRIPT = """
from kav.regression.attention_form import attention_form, is_attention

if is_attention(kernel):
    form = attention_form(kernel, h, centre=x.mean() if kernel == "gaussian" else 0.0)
    W_QK, W_OV = form.W_QK, form.W_OV
    difference = np.abs(form.output(x, y, x) - kav.fit(x, y, x, h, kernel)).max()
    print(W_QK, f"largest |head - fit| {difference:.1g}", sep="\\n")
else:
    print(f"log of the {kernel} kernel is no product of query and key features")
"""


def formula(result: Result) -> tuple[FormulaRow, ...]:
    """Return the rows of the formula card, with the numbers of the spectrum."""
    if result.kind != "head":
        return tuple(FormulaRow(line) for line in (result.formula.lines if result.formula is not None else ()))
    thin = f"{shape(result.d_model, result.d_head)} {shape(result.d_head, result.d_model)}"
    qk = result.circuit == "qk"
    product = (
        (Piece("W_QK", strong=True), Piece(" = W_Q W_Kᵀ")) if qk else (Piece("W_OV", strong=True), Piece(" = W_V W_O"))
    )
    use = "score = x W_QK x′ᵀ / √d_head" if qk else "message = x W_OV"
    spectrum = result.singular_values
    rows = [
        FormulaRow(product, thin),
        FormulaRow((Piece(use),)),
        FormulaRow(
            (Piece("E W_QK Eᵀ" if qk else "E W_OV γ W_U"), Piece("   over the prompt's tokens", "muted")),
            "" if result.values is None or result.space != "tokens" else shape(*result.values.shape),
        ),
    ]
    if spectrum is not None and len(spectrum):
        rows.append(FormulaRow((Piece("largest singular value"),), value=number(float(spectrum[0])), rule_above=True))
    if result.symmetric_share is not None:
        rows.append(FormulaRow((Piece("symmetric share  ‖(M + Mᵀ)/2‖² / ‖M‖²"),), value=share(result.symmetric_share)))
    if result.copying is not None:
        rows.append(FormulaRow((Piece("copying score  Σ Re λ / Σ |λ|"),), value=number(result.copying)))
    notes = [FormulaRow((Piece(result.note, "muted"),))] if result.note else []
    return *rows, FormulaRow((Piece("rows: q = x W_Q, gains folded in", "muted"),), rule_above=True), *notes
