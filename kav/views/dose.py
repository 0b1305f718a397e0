"""Does it matter? Scale one component, rerun the model, and watch the prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.task import Task
from kav.views.scene import RegressionScene, Scene
from kav.views.words import Reading


@dataclass(frozen=True)
class Component:
    """What is scaled: a head, an MLP (head None), or a sample of the regression scene."""

    layer: int = 0
    head: int | None = None
    sample: int | None = None


@dataclass(frozen=True)
class Spec:
    """One scene and the panel's own controls. component None = the edited head if there is one, else the selected."""

    scene: Scene
    component: Component | None = None
    response: str = "logit"  # "logit", "log_prob", "prob", "kl"; with a foil "logit" is the difference
    baseline: str = "zero"  # "zero", "mean", "resample"
    scope: str = "all"  # "all" positions or "query"; regression: "weight" or "response" of the sample


@dataclass(frozen=True)
class Curve:
    """The part that does not depend on the dose chosen now; reused while only the handle moves."""

    doses: np.ndarray  # (n_doses,) from -1 to 3
    response: np.ndarray  # (n_doses,) true rerun (regression: renormalised)
    direct: np.ndarray  # (n_doses,) frozen norm (regression: not renormalised)
    tangent: np.ndarray  # (n_doses,)
    control: tuple[np.ndarray, np.ndarray] | None = None  # band of random heads, low and high (n_doses,)


@dataclass(frozen=True)
class Result:
    """The curves, and where the handle is on them."""

    kind: str  # "head" or "regression"
    reading: Reading
    component: Component
    component_text: str  # "head 1.1"
    curve: Curve
    curve_spec: object  # what `curve` was computed from: equal -> reuse
    dose: float  # where the handle is: 1 as it runs
    value: float  # response there
    before: float | None  # response at dose 1 when the dose is another
    y_range: tuple[float, float]
    y_title: Reading
    x_title: str
    names: tuple[str, str, str]  # of response, direct, tangent: "rerun", "direct line (norm frozen)", "tangent at 1"
    choices: tuple[tuple[str, Component], ...]  # components to choose from, with the words to show
    baseline: str = "zero"  # in use: an edit of the component keeps its own, whatever the spec says
    positions: tuple[int, ...] | None = None  # head scene: in use, None = all


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the dose-response curves; with `last` of the same component and run only the handle's values change."""
    if isinstance(spec.scene, RegressionScene):
        from kav.views.regression import dose as regression

        return regression.compute(spec, task, last)
    from kav.views.head import dose as head

    return head.compute(spec, task, last)
