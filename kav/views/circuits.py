"""By which circuit? W_QK, the kernel, and W_OV, what is moved: weights only, whatever the prompt says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.task import Task
from kav.views.scene import RegressionScene, Scene
from kav.views.words import Label, Reading


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
    source: object = None  # what the numbers were computed from: equal -> the result is reused


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the circuit of the scene's head (or the fit written as one)."""
    if isinstance(spec.scene, RegressionScene):
        from kav.views.regression import circuits as regression

        return regression.compute(spec, task, last)
    from kav.views.head import circuits as head

    return head.compute(spec, task, last)
