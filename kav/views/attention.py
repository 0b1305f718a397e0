"""Where does the head look? The smoother matrix of one head (or of the samples), and all heads as thumbnails."""

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
    query_labels: tuple[Label, ...]
    key_labels: tuple[Label, ...]
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


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the matrix and the mosaic (or gallery) of the scene."""
    if isinstance(spec.scene, RegressionScene):
        from kav.views.regression import attention as regression

        return regression.compute(spec, task, last)
    from kav.views.head import attention as head

    return head.compute(spec, task, last)
