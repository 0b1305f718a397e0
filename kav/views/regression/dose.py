"""Dose response, regression scene: scale one sample's kernel weight, or its response, and watch f at the query.

With the dose d on the kernel weight of sample i, all others as they are:

    response (refit, renormalised)   f(d) = (sum_j d_j K_j y_j) / (sum_j d_j K_j)
    direct   (not renormalised)      f(1) + (d - 1) w_i y_i
    tangent at 1                     f(1) + (d - 1) w_i (y_i - f(1))

with w the weights at d = 1. Scaling the response y_i instead moves f along the direct line, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from kav.regression.extras import CANCELLED
from kav.regression.fit import dosed_weights
from kav.task import Task
from kav.views.dose import Component, Curve, Result, Spec, at_least
from kav.views.regression.at_query import AtQuery, at_query, sample_name
from kav.views.regression.ranges import multiple, nice_step
from kav.views.words import Piece, Reading, fixed, numbers

DOSES = np.linspace(-1, 3, 81)
N_CHOICES = 12


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the curves of one sample; they are reused while only its own dose moves."""
    now = at_query(spec.scene)
    of = spec.scope if spec.scope == "response" else "weight"
    sample = _sample(spec, now, of)
    curve_spec = _key(now, sample, of)
    reused = last is not None and last.curve_spec == curve_spec
    apart = _apart(now, sample)
    if of == "response":  # the weight stays what it is, its own scale included
        K = apart.K * dict(now.scene.doses).get(sample, 1.0)
        apart = replace(apart, K=K, y=now.scene.base.samples.pair(sample)[1])
    curve = last.curve if last is not None and reused else _curve(apart, of)
    dose = dict(_scales(now, of)).get(sample, 1.0)
    value = float(_response(apart, of, np.asarray([dose]))[0])
    as_it_runs = float(_response(apart, of, np.ones(1))[0])
    name = sample_name(sample)
    return Result(
        kind="regression",
        reading=_reading(now, sample, of, apart),
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
        names=(_response_name(curve, of), "not renormalised", "tangent at 1"),
        choices=_choices(now, sample, of),
    )


def _scales(now: AtQuery, of: str) -> tuple[tuple[int, float], ...]:
    """The edits that the handle makes."""
    return now.scene.responses if of == "response" else now.scene.doses


def _sample(spec: Spec, now: AtQuery, of: str) -> int:
    """The component asked for, else the last sample scaled, else the selected one."""
    n = now.n
    if spec.component is not None and spec.component.sample is not None and 0 <= spec.component.sample < n:
        return spec.component.sample
    edited = [index for index, _ in _scales(now, of) if 0 <= index < n]
    return edited[-1] if edited else now.selected


def _key(now: AtQuery, sample: int, of: str) -> object:
    """What the curves depend on: everything but the handle's own scale. Samples compare by identity."""
    scene = now.scene
    others = tuple((index, scale) for index, scale in scene.doses if of == "response" or index != sample)
    responses = tuple((index, scale) for index, scale in scene.responses if of == "weight" or index != sample)
    return scene.base.samples, scene.kernel, scene.h, scene.x_query, sample, of, others, responses


@dataclass(frozen=True)
class _Apart:
    """One sample and all others, at the query: kernel of the sample and mass of the others, relative to the larger."""

    K: float
    mass: float
    mean: float  # the others' weighted average; NaN without weight
    y: float

    def f(self, doses: np.ndarray) -> np.ndarray:
        """The fit with the sample's kernel scaled, NaN where kernels cancel or nothing has weight."""
        own = doses * self.K
        total = self.mass + own
        defined = total > CANCELLED * (self.mass + np.abs(own))
        moment = (self.mass * self.mean if self.mass else 0.0) + own * self.y
        f = np.where(defined, moment / np.where(defined, total, 1.0), np.nan)
        return np.where(own == 0, self.mean, f)  # beside a sample with all the weight the others' mass may underflow

    @property
    def weight(self) -> float:
        """The sample's weight at dose 1; 0 where the fit is undefined."""
        total = self.mass + self.K
        return self.K / total if total > CANCELLED * (self.mass + abs(self.K)) else 0.0


def _apart(now: AtQuery, sample: int) -> _Apart:
    """The sample against all others, which keep their own doses."""
    if now.whole:
        return _apart_of_all(now, sample)
    scene, samples = now.scene, now.scene.samples
    x, y = samples.pair(sample)
    at, name = np.asarray([scene.x_query]), now.kernel.name
    doses = {index: scale for index, scale in scene.doses if 0 <= index < samples.n}
    log_K = float(now.prepared.log_kernel(at, np.asarray([x]), scene.h, name)[0, 0])
    log_mass = float(now.prepared.log_mass(at, scene.h, name)[0])
    if sample not in doses and log_K < log_mass - math.log(2):  # a minor part: taken off, no digits are lost
        K = math.exp(log_K - log_mass)
        return _Apart(K, 1 - K, (now.f - K * y) / (1 - K), y)
    others = samples.dosed(doses | {sample: 0.0})
    log_mass = float(others.log_mass(at, scene.h, name)[0])
    top = max(log_mass, log_K)
    if top == -math.inf:
        return _Apart(0.0, 0.0, math.nan, y)
    mean = float(others.fit(at, scene.h, name)[0]) if log_mass > -math.inf else math.nan
    return _Apart(math.exp(log_K - top), math.exp(log_mass - top), mean, y)


def _apart_of_all(now: AtQuery, sample: int) -> _Apart:
    """The same where every sample is held."""
    place, y = now.place_of(sample), float(now.y[now.place_of(sample)])
    log_K = float(now.log_kernel[place])
    others = np.where(now.doses != 0, now.log_kernel, -np.inf)  # those at dose 0 are not there, however near
    others[place] = -np.inf
    top = max(float(np.max(others)), log_K)
    if top == -math.inf:
        return _Apart(0.0, 0.0, math.nan, y)
    w = dosed_weights(others, now.doses)
    if not np.any(w):  # nothing, or kernels that cancel
        return _Apart(math.exp(log_K - top), 0.0, math.nan, y)
    return _Apart(math.exp(log_K - top), float(np.sum(now.doses * np.exp(others - top))), float(w @ now.y), y)


def _response(apart: _Apart, of: str, at: np.ndarray) -> np.ndarray:
    """f at the query for each dose of the sample, NaN where it is undefined; (n_doses,)."""
    if of == "weight":
        return apart.f(at)
    return np.asarray(apart.f(np.ones(1)) + (at - 1) * apart.weight * apart.y)


def _curve(apart: _Apart, of: str) -> Curve:
    f = float(apart.f(np.ones(1))[0])
    direct = f + (DOSES - 1) * apart.weight * apart.y
    tangent = direct if of == "response" else f + (DOSES - 1) * apart.weight * (apart.y - f)
    return Curve(DOSES, _response(apart, of, DOSES), direct, tangent)


def _y_range(curve: Curve) -> tuple[float, float]:
    """Room for the direct line and the refit; below 0, where its denominator may vanish, for as much again at most."""
    shown = np.concatenate([curve.response[curve.doses >= 0], curve.direct])
    shown = shown[np.isfinite(shown)]
    if not shown.size:
        return 0.0, 1.0
    low, high = float(shown.min()), float(shown.max())
    below = curve.response[(curve.doses < 0) & np.isfinite(curve.response)]
    if below.size:
        reach = high - low
        low, high = min(low, max(float(below.min()), low - reach)), max(high, min(float(below.max()), high + reach))
    low, high = at_least(low, high)
    step = nice_step(high - low, 20)
    return multiple(math.floor(low / step) - 1, step), multiple(math.ceil(high / step) + 1, step)


def _response_name(curve: Curve, of: str) -> str:
    """What the response is called; a refit says below which dose weights cancel."""
    if of != "weight":
        return "response scaled"
    held = curve.doses[np.isfinite(curve.response)]
    if not held.size or held[0] == curve.doses[0]:
        return "refit (renormalised)"
    return f"refit (none below {fixed(float(held[0]))})"


def _choices(now: AtQuery, sample: int, of: str) -> tuple[tuple[str, Component], ...]:
    """The heaviest samples, the one shown first among them."""
    heaviest = np.argsort(-np.abs(now.weights), kind="stable")[:N_CHOICES]
    order = [int(index) for index in now.held[heaviest]]
    chosen = order if sample in order else [sample, *order[:-1]]
    return tuple((f"{of} of {sample_name(index)}", Component(sample=index)) for index in chosen)


def _reading(now: AtQuery, sample: int, of: str, apart: _Apart) -> Reading:
    """What removing the sample does, and what the fit would be without renormalising."""
    who = Piece(sample_name(sample), strong=True)
    without, with_it = _response(apart, of, np.asarray([0.0, 1.0]))
    if apart.weight == 0:
        return (Piece("Not at all: "), who, Piece(" has no weight at "), now.query_piece())
    if math.isnan(without):
        return (Piece("Yes: without "), who, Piece(" f is "), Piece("undefined", strong=True))
    hardly = abs(with_it - without) < 0.05 * abs(with_it)
    dropped = with_it - apart.weight * apart.y
    texts = numbers((without, with_it, dropped), now.y_decimals, sign=True)
    end: Reading = () if dict(_scales(now, of)).get(sample, 1.0) == 1 else (Piece(f"; as it runs {texts[1]}", "muted"),)
    removed: Reading = (Piece(f"{'Hardly' if hardly else 'Yes'}: without "), *_whose(who, of), Piece(" f is "))
    if of == "response":
        return (*removed, Piece(texts[0], strong=True), *end)
    return (
        *removed,
        Piece(texts[0], strong=True),
        Piece("; not renormalised "),
        Piece(texts[2], "direct", strong=True),
        *end,
    )


def _whose(who: Piece, of: str) -> Reading:
    return (who,) if of == "weight" else (Piece("the response of "), who)
