"""What does it move? The logit (or the fit) as a sum of parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.task import Task
from kav.views.predictions import Prediction
from kav.views.scene import Scene
from kav.views.words import Label, Reading


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


@dataclass(frozen=True)
class Result:
    """All parts, largest first, unrounded: the panel collapses the smallest to fit, and the shown rows add up."""

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


def collapse(result: Result, n_rows: int) -> tuple[Part, ...]:
    """Return at most `n_rows` rows of the waterfall with starts filled in: big parts, the rest as one, the total."""
    raise NotImplementedError


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the parts of the target's logit at the query (or of the fit), and the predictions there."""
    raise NotImplementedError
