"""The prompt bar: tokens with the head's weights, pills, and the next tokens; in the regression scene the rug."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kav.task import Task
from kav.views.predictions import Prediction
from kav.views.recover import on_any_device
from kav.views.scene import RegressionScene, Scene
from kav.views.words import Label, Reading

if TYPE_CHECKING:
    from kav.views.regression.rug import Columns


@dataclass(frozen=True)
class Spec:
    """One scene."""

    scene: Scene
    n_predictions: int = 20


@dataclass(frozen=True)
class Result:
    """What the two rows above the panels show."""

    kind: str  # "head" or "regression"
    labels: Sequence[Label]  # head scene: the prompt's tokens
    weights: np.ndarray  # (n,) of the selected row (tokens or samples)
    weights_before: np.ndarray | None
    layer: int = 0
    head: int = 0
    query: int = 0
    key: int = 0
    target: int = 0
    foil: int | None = None
    target_label: Label | None = None
    foil_label: Label | None = None
    towards: int = 0
    predictions: tuple[Prediction, ...] = ()  # at the query, most probable first
    edits_text: tuple[str, ...] = ()  # "head 0.0 × 0.00"
    x: np.ndarray | None = None  # regression scene: the samples
    x_range: tuple[float, float] = (0.0, 1.0)  # of the rug, as wide as the kernel fit
    x_query: float = 0.0
    query_text: str = ""  # "x = 4.20"
    samples: np.ndarray | None = None  # which sample each entry is; None = entry i is sample i
    columns: Columns | None = None  # of many samples: all of them, pooled along x
    predicts: Reading = ()  # "Predicts f(4.20) = −0.70 ± 0.22"
    approximate: str = ""  # why that standard error is approximate, for a tooltip; "" if it is not


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the contents of the prompt bar."""
    task.report(0.0)  # a request that is no longer wanted ends here
    if isinstance(spec.scene, RegressionScene):
        from kav.views.regression import prompt as regression

        return regression.compute(spec, task, last)
    from kav.views.head import prompt as head

    return on_any_device(head.compute, spec, task, last)
