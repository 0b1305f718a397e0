"""Does it matter? Scale one component, rerun the model, and watch the prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kav.task import Task
from kav.views.formulas import FormulaRow
from kav.views.recover import on_any_device
from kav.views.scene import RegressionScene, Scene, as_head, resolve
from kav.views.scripts import edits_source, head_setup, regression_setup
from kav.views.words import Piece, Reading, fixed, number

AT_ZERO = {"zero": "removed", "mean": "at its mean", "resample": "shuffled"}
"""What a component is at dose 0, by baseline."""
SHORTEST = 0.005  # length of the response's axis, as a share of its numbers


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
    measured: bool = False  # each dose was run: dots belong there
    so_far: bool = False  # more doses are on their way: between those measured the line is a first guess


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the dose-response curves; with `last` of the same component and run only the handle's values change."""
    task.report(0.0)  # a request that is no longer wanted ends here
    if isinstance(spec.scene, RegressionScene):
        from kav.views.regression import dose as regression

        return regression.compute(spec, task, last)
    from kav.views.head import dose as head

    return on_any_device(head.compute, spec, task, last)


def at_least(low: float, high: float) -> tuple[float, float]:
    """Return a range of the response no shorter than 1/200 of its size: what hardly changes is drawn nearly flat."""
    size = max(abs(low), abs(high))
    short = SHORTEST * size - (high - low)
    if size < 1e-300:
        return -0.5, 0.5
    return (low - short / 2, high + short / 2) if short > 0 else (low, high)


def table(result: Result) -> dict[str, Any]:
    """Return the curves and the handle for export."""
    return {
        "dose": result.curve.doses,
        "response": result.curve.response,
        "direct": result.curve.direct,
        "tangent": result.curve.tangent,
        "dose_now": np.array([result.dose]),
        "response_now": np.array([result.value]),
        "component": (result.component_text,),
    }


def python(spec: Spec) -> str:
    """Return a script that computes the three curves and prints what removing the component does."""
    if isinstance(spec.scene, RegressionScene):
        from kav.views.regression.dose import compute as regression

        sample = regression(spec, Task()).component.sample
        setup = regression_setup(spec.scene) + f"sample = {sample}\n"
        if spec.scope != "response":
            return setup + _WEIGHT_SCRIPT
        y = spec.scene.base.samples.pair(int(sample or 0))[1]
        return setup + f"y[sample] = {y!r}  # at dose 1\n" + _RESPONSE_SCRIPT
    from kav.views.head.dose import scaled

    scene = as_head(spec.scene)
    focus = resolve(scene)
    found = scaled(spec, scene, focus)
    foil = focus.foil if spec.response == "logit" else None
    return (
        head_setup(scene, focus)
        + f"component = kav.{found.edit()!r}\n"
        + f"others = {edits_source(found.others)}  # edits that stay at every dose\n"
        + _HEAD_SCRIPT.format(foil=foil, metric=spec.response)
    )


_HEAD_SCRIPT = """
doses = np.linspace(-1, 3, 81)
curve = kav.dose_response(
    model, tokens, component, doses, target=target, foil={foil}, metric={metric!r}, position=query, edits=others
)
removed, as_it_runs = np.interp([0, 1], doses, curve.response)
direct = np.interp(0, doses, curve.direct)
print(f"{{curve.metric}} {{as_it_runs:.3f}}, removed {{removed:.3f}}, direct line says {{direct:.3f}}")
"""

_WEIGHT_SCRIPT = """
doses = np.linspace(-1, 3, 81)
scale[sample] = 1.0
raw = kav.smoother_matrix(x, [x_query], h, kernel)[0] * scale
more = (doses - 1) * raw[sample]
response = (raw @ y + more * y[sample]) / (raw.sum() + more)  # renormalised
removed, as_it_runs = np.interp([0, 1], doses, response)
print(f"f({x_query:g}) {as_it_runs:.3f}, without sample {sample} {removed:.3f}")
"""

_RESPONSE_SCRIPT = """
doses = np.linspace(-1, 3, 81)
response = weights @ y + (doses - 1) * weights[sample] * y[sample]
removed, as_it_runs = np.interp([0, 1], doses, response)
print(f"f({x_query:g}) {as_it_runs:.3f}, response of sample {sample} at 0: {removed:.3f}")
"""


def formula(result: Result) -> tuple[FormulaRow, ...]:
    """Return the rows of the formula card, with the numbers at the handle."""
    at_zero = int(np.argmin(np.abs(result.curve.doses)))
    at_one = int(np.argmin(np.abs(result.curve.doses - 1)))
    name = result.component_text
    head = result.kind == "head"
    return (
        FormulaRow((Piece("out", strong=True), Piece(f"(dose) = b + dose (out − b)   of {name}"))),
        FormulaRow(
            (
                Piece("rerun", strong=True),
                Piece("   " + ("all that follows runs again, at each dot" if head else "refitted")),
            )
        ),
        FormulaRow((Piece("direct", "direct", strong=True), Piece("   only its own share changes"))),
        FormulaRow((Piece("tangent", "muted", strong=True), Piece("   derivative of the rerun at dose 1"))),
        FormulaRow(
            (Piece("as it runs, dose 1.00"),), value=number(float(result.curve.response[at_one])), rule_above=True
        ),
        FormulaRow(
            (Piece(f"{AT_ZERO[result.baseline]}, dose 0.00"),), value=number(float(result.curve.response[at_zero]))
        ),
        FormulaRow((Piece(f"now, dose {fixed(result.dose)}"),), value=number(result.value)),
    )
