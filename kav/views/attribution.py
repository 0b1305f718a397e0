"""What does it move? The logit (or the fit) as a sum of parts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kav.task import Task
from kav.views.formulas import FormulaRow
from kav.views.predictions import Prediction
from kav.views.recover import on_any_device
from kav.views.scene import RegressionScene, Scene, as_head, resolve
from kav.views.scripts import head_setup, regression_setup
from kav.views.words import Label, Piece, Reading, number, signed

_INDENTED = ("source", "other-sources")
_SMALL = 0.006
_ROWS_FOR_SOURCES = 6


@dataclass(frozen=True)
class Spec:
    """One scene; the panel has no controls that change the numbers."""

    scene: Scene


@dataclass(frozen=True)
class Part:
    """One row of the waterfall; rows come in the order of drawing, `start` + `value` is where the next begins.

    kind: "head", "source" (of the selected head, indented), "other-sources", "embedding", "mlp", "bias", "norm",
    "sample", "rest" (collapsed small parts), "total".
    """

    kind: str
    name: str
    value: float
    start: float
    selected: bool = False
    label: Label | None = None  # of a source token or sample
    is_key: bool = False  # the selected key's row
    layer: int | None = None
    head: int | None = None
    index: int | None = None  # source position or sample index
    before: float | None = None
    count: int = 1  # how many samples a part of kind "rest" stands for
    decimals: int = 0  # that its number has at least

    @property
    def text(self) -> str:
        """The value as it is written: `+4.14`."""
        return signed(self.value, self.decimals)


@dataclass(frozen=True)
class Result:
    """All parts, largest first, unrounded: the panel collapses the smallest to fit, and the shown rows add up.

    The sources of the selected head come right after it; their starts, like all, are those of `collapse` with room.
    """

    kind: str  # "head" or "regression"
    reading: Reading
    parts: tuple[Part, ...]  # without "rest": the panel makes that one from the smallest by `collapse`
    total: float
    total_before: float | None
    target: Label | None
    read_at: Label | None
    unit: str  # "logits" or ""
    predictions: tuple[Prediction, ...] = ()
    lens: np.ndarray | None = None  # (n_layers + 1,) target log-probability read from each layer's stream
    known: tuple[object, ...] = ()  # head scene: the sums of the runs, which the next result may ask for again
    decimals: int = 0  # that numbers have at least
    total_name: str = "logit"  # "logit difference" with a foil, "fit" in the regression scene


def collapse(result: Result, n_rows: int) -> tuple[Part, ...]:
    """Return at most `n_rows` rows of the waterfall with starts filled in: big parts, the rest as one, the total.

    With room for all, all are shown. Without, parts below 0.6 % of the total (or of the largest part, when that is
    bigger) and whatever does not fit go into one row of kind "rest". The selected head always stays; its sources go
    first when room is short. The values of the rows other than sources and total sum to `result.total`.
    """
    tops = [part for part in result.parts if part.kind not in _INDENTED]
    inner = [part for part in result.parts if part.kind in _INDENTED]
    if len(tops) + len(inner) + 1 > n_rows and n_rows < _ROWS_FOR_SOURCES:
        inner = []
    room = max(n_rows - len(inner) - 1, 2)
    kept, rest = (tops, []) if len(tops) <= room else _biggest(tops, room - 1, result.total)
    rows = [*kept, *([_rest(rest, kept)] if rest else [])]
    return (*_with_starts(rows, inner), _total(result))


def _biggest(tops: list[Part], room: int, total: float) -> tuple[list[Part], list[Part]]:
    """Split into what is shown and what is collapsed, both in their order."""
    floor = _SMALL * max(abs(total), max(abs(part.value) for part in tops))
    ranked = sorted(tops, key=lambda part: (not part.selected, -abs(part.value)))
    shown = {part.name for part in ranked[:room] if part.selected or abs(part.value) >= floor}
    rest = [part for part in tops if part.name not in shown]
    if len(rest) == 1:  # one small part takes as much room as the row that would hide it
        return tops, []
    return [part for part in tops if part.name in shown], rest


def _rest(parts: list[Part], kept: list[Part]) -> Part:
    """The small parts as one. Where together they are more than any part shown, the name says that each is small."""
    befores, value = [part.before for part in parts if part.before is not None], math.fsum(part.value for part in parts)
    largest = max((abs(part.value) for part in kept), default=0.0)
    each = max(abs(part.value) for part in parts)
    kind = "other samples" if parts[0].kind == "sample" else "smaller parts"
    return Part(
        "rest",
        f"{sum(part.count for part in parts):,} {kind if abs(value) <= largest else f'parts up to {number(each)}'}",
        value,
        0.0,
        before=math.fsum(befores) if len(befores) == len(parts) else None,
        count=sum(part.count for part in parts),
        decimals=parts[0].decimals,
    )


def _with_starts(rows: list[Part], inner: list[Part]) -> list[Part]:
    placed, at = [], 0.0
    for row in rows:
        placed.append(replace(row, start=at))
        if row.selected and row.kind not in _INDENTED:
            within = at
            for part in inner:
                placed.append(replace(part, start=within))
                within += part.value
        at += row.value
    return placed


def _total(result: Result) -> Part:
    name, before = result.total_name, result.total_before
    return Part("total", name, result.total, 0.0, label=result.target, before=before, decimals=result.decimals)


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the parts of the target's logit at the query (or of the fit), and the predictions there."""
    task.report(0.0)  # a request that is no longer wanted ends here
    if isinstance(spec.scene, RegressionScene):
        from kav.views.regression import attribution as regression

        return regression.compute(spec, task, last)
    from kav.views.head import attribution as head

    return on_any_device(head.compute, spec, task, last)


def table(result: Result) -> dict[str, Any]:
    """Return all parts, the total and the predictions for export; columns of their own length."""
    parts = (*result.parts, _total(result))
    columns: dict[str, Any] = {
        "kind": tuple(part.kind for part in parts),
        "part": tuple(part.name for part in parts),
        "value": np.array([part.value for part in parts]),
    }
    if result.total_before is not None:
        columns["before"] = np.array([np.nan if part.before is None else part.before for part in parts])
    if result.predictions:
        columns["prediction"] = tuple(prediction.label.exact for prediction in result.predictions)
        columns["probability"] = np.array([prediction.probability for prediction in result.predictions])
    if result.lens is not None:
        columns["lens_log_prob"] = result.lens
    return columns


def python(spec: Spec) -> str:
    """Return a script that computes the parts and prints them, largest first."""
    if isinstance(spec.scene, RegressionScene):
        return regression_setup(spec.scene) + _REGRESSION_SCRIPT
    scene = as_head(spec.scene)
    return head_setup(scene, resolve(scene)) + _HEAD_SCRIPT


_HEAD_SCRIPT = """
parts = kav.attribution(trace, query, target, foil)
for i in np.argsort(-np.abs(parts.values)):
    print(f"{parts.components[i]:<20}{parts.values[i]:+8.2f}")
from_key = float(parts.sources[layer, head, key])
total = float(parts.values.sum())
print(f"{'total':<20}{total:+8.2f}  of head {layer}.{head} from token {key}: {from_key:+.2f}")
"""

_REGRESSION_SCRIPT = """
shares = weights * y
for i in np.argsort(-np.abs(shares))[:10]:
    print(f"sample {i:<4}{shares[i]:+8.3f}")
total = float(shares.sum())
print(f"f({x_query:g}) = {total:+.3f}")
"""


def formula(result: Result) -> tuple[FormulaRow, ...]:
    """Return the rows of the formula card, with the numbers of the selected part."""
    if result.kind != "head":
        return (
            FormulaRow((Piece("f", "direct", strong=True), Piece(" = Σ wᵢ yᵢ")), value=_total(result).text),
            FormulaRow((Piece("each sample's share is its weight times its response", "muted"),)),
        )
    chosen = [part for part in result.parts if part.selected]
    return (
        FormulaRow(
            (Piece("logit", strong=True), Piece(" = Σ c · u / σ   "), Piece("c: all that wrote to the stream", "muted"))
        ),
        FormulaRow(
            (Piece("u", strong=True), Piece(" = γ W_U[:, target]   "), Piece("σ: the final norm, frozen", "muted"))
        ),
        FormulaRow((Piece("a head's c"), Piece(" = Σ αⱼ vⱼ W_O   "), Piece("source by source", "muted"))),
        *(
            FormulaRow((Piece(part.name, "direct", strong=True),), value=signed(part.value), rule_above=True)
            for part in chosen
        ),
        FormulaRow(
            (Piece("all other parts together"),), value=signed(result.total - sum(part.value for part in chosen))
        ),
        FormulaRow(
            (Piece(result.total_name, "target", strong=True, mark="target"),),
            value=signed(result.total),
            rule_above=True,
        ),
    )
