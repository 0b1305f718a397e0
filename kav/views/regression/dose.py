"""Dose response, regression scene: scale one sample's kernel weight, or its response, and watch f at the query.

With the dose d on the kernel weight of sample i, all others as they are:

    response (refit, renormalised)   f(d) = (sum_j d_j K_j y_j) / (sum_j d_j K_j)
    direct   (not renormalised)      f(1) + (d - 1) w_i y_i
    tangent at 1                     f(1) + (d - 1) w_i (y_i - f(1))

with w the weights at d = 1. Scaling the response y_i instead moves f along the direct line, exactly.
"""

from __future__ import annotations

import math

import numpy as np

from kav.regression.fit import dosed_weights
from kav.task import Task
from kav.views.dose import Component, Curve, Result, Spec
from kav.views.regression.at_query import AtQuery, at_query, sample_name
from kav.views.regression.ranges import multiple, nice_step
from kav.views.words import Piece, Reading, was

DOSES = np.linspace(-1, 3, 81)
N_CHOICES = 12


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the curves of one sample; they are reused while only its own dose moves."""
    now = at_query(spec.scene)
    sample = _sample(spec, now)
    of = spec.scope if spec.scope == "response" else "weight"
    curve_spec = _key(now, sample, of)
    reused = last is not None and last.curve_spec == curve_spec
    curve = last.curve if last is not None and reused else _curve(now, sample, of)
    dose = float(now.doses[sample])
    value = float(_response(now, sample, of, np.asarray([dose]))[0])
    as_it_runs = float(_response(now, sample, of, np.ones(1))[0])
    name = sample_name(sample)
    return Result(
        kind="regression",
        reading=_reading(now, sample, of),
        component=Component(sample=sample),
        component_text=f"{of} of {name}",
        curve=curve,
        curve_spec=curve_spec,
        dose=dose,
        value=value,
        before=None if dose == 1.0 else as_it_runs,
        y_range=_y_range(curve),
        y_title=(Piece("↑ f(x)"),),
        x_title=f"dose: scale on the {of} of {name} →",
        names=("refit (renormalised)" if of == "weight" else "response scaled", "not renormalised", "tangent at 1"),
        choices=_choices(now, sample, of),
    )


def _sample(spec: Spec, now: AtQuery) -> int:
    """The component asked for, else the last sample scaled, else the selected one."""
    n = now.observed.n
    if spec.component is not None and spec.component.sample is not None and 0 <= spec.component.sample < n:
        return spec.component.sample
    edited = [index for index, _ in now.scene.doses if 0 <= index < n]
    return edited[-1] if edited else now.selected


def _key(now: AtQuery, sample: int, of: str) -> object:
    """What the curves depend on: everything but the dose of the sample itself. Samples compare by identity."""
    scene = now.scene
    others = tuple((index, scale) for index, scale in scene.doses if index != sample)
    return scene.samples, scene.kernel, scene.h, scene.x_query, sample, of, others


def _others(now: AtQuery, sample: int) -> np.ndarray:
    """Doses of all samples with this one as it is."""
    doses = now.doses.copy()
    doses[sample] = 1.0
    return doses


def _response(now: AtQuery, sample: int, of: str, at: np.ndarray) -> np.ndarray:
    """f at the query for each dose of the sample, NaN where it is undefined; (n_doses,)."""
    y = now.observed.y
    if of == "response":
        w = dosed_weights(now.log_kernel, _others(now, sample))
        f = float(w @ y) if np.any(w != 0) else math.nan
        return np.asarray(f + (at - 1) * w[sample] * y[sample])
    doses = np.repeat(_others(now, sample)[None, :], at.size, axis=0)
    doses[:, sample] = at
    w = dosed_weights(np.broadcast_to(now.log_kernel, doses.shape), doses)  # (n_doses, n)
    return np.where(np.any(w != 0, axis=-1), w @ y, np.nan)


def _curve(now: AtQuery, sample: int, of: str) -> Curve:
    response = _response(now, sample, of, DOSES)
    y = float(now.observed.y[sample])
    w = dosed_weights(now.log_kernel, _others(now, sample))
    f = float(w @ now.observed.y) if np.any(w != 0) else math.nan
    direct = f + (DOSES - 1) * w[sample] * y
    tangent = direct if of == "response" else f + (DOSES - 1) * w[sample] * (y - f)
    return Curve(DOSES, response, direct, tangent)


def _y_range(curve: Curve) -> tuple[float, float]:
    """Room for the direct line and for the refit at doses from 0 on; below 0 its denominator may vanish."""
    shown = np.concatenate([curve.response[curve.doses >= 0], curve.direct])
    shown = shown[np.isfinite(shown)]
    if not shown.size:
        return 0.0, 1.0
    low, high = float(shown.min()), float(shown.max())
    if high - low <= 1e-9 * max(1.0, abs(low)):
        margin = 0.1 * abs(low) if low else 0.5
        low, high = low - margin, high + margin
    step = nice_step(high - low, 20)
    return multiple(math.floor(low / step) - 1, step), multiple(math.ceil(high / step) + 1, step)


def _choices(now: AtQuery, sample: int, of: str) -> tuple[tuple[str, Component], ...]:
    """The heaviest samples, the one shown first among them."""
    order = [int(index) for index in np.argsort(-np.abs(now.weights), kind="stable")[:N_CHOICES]]
    chosen = order if sample in order else [sample, *order[:-1]]
    return tuple((f"{of} of {sample_name(index)}", Component(sample=index)) for index in chosen)


def _reading(now: AtQuery, sample: int, of: str) -> Reading:
    """What removing the sample does, and what the fit would be without renormalising."""
    who = Piece(sample_name(sample), strong=True)
    without, with_it = _response(now, sample, of, np.asarray([0.0, 1.0]))
    w = dosed_weights(now.log_kernel, _others(now, sample))
    if w[sample] == 0:
        return (Piece("Not at all: "), who, Piece(" has no weight at "), now.query_piece())
    if math.isnan(without):
        return (Piece("Yes: without "), who, Piece(" f is "), Piece("undefined", strong=True))
    hardly = abs(with_it - without) < 0.05 * abs(with_it)
    dropped = with_it - w[sample] * float(now.observed.y[sample])
    end: Reading = () if now.doses[sample] == 1 else (was(now.y_text(with_it)),)
    removed: Reading = (Piece(f"{'Hardly' if hardly else 'Yes'}: without "), *_whose(who, of), Piece(" f is "))
    if of == "response":
        return (*removed, Piece(now.y_text(without), strong=True), *end)
    return (
        *removed,
        Piece(now.y_text(without), strong=True),
        Piece("; not renormalised "),
        Piece(now.y_text(dropped), "direct", strong=True),
        *end,
    )


def _whose(who: Piece, of: str) -> Reading:
    return (who,) if of == "weight" else (Piece("the response of "), who)
