"""Kernel fit, regression scene: samples, the fit as the query moves, its band, the weights there (K1, K2, K4).

Axes: one x for samples and query; the range is that of the data, rounded to nice steps (`ranges`).
"""

from __future__ import annotations

import math

import numpy as np

from kav.regression.bandwidth import minimise_loo
from kav.regression.baselines import BASELINES, baseline_matrix
from kav.regression.samples import Samples
from kav.task import Task
from kav.views.fit import Observations, Result, Row, Spec
from kav.views.regression.at_query import AtQuery, Z, at_query, before, sample_name
from kav.views.regression.ranges import nice_range
from kav.views.words import Piece, Reading, fixed, number, share, was

N_CURVE = 401
N_SHAPE = 121
MOST_FOR_LOO = 500
"""Samples up to which the leave-one-out minimum follows every drag."""


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the picture of the query; the leave-one-out minimum is reused while samples and kernel stay the same."""
    now, was_ = at_query(spec.scene), before(spec.scene)
    samples = now.scene.samples
    x_range = nice_range(np.append(samples.x, now.scene.x_query))
    places = np.linspace(*x_range, N_CURVE)
    f, norm = now.curve(places)
    task.report(0.5)
    spread = now.spread()
    margin = Z * spread.sigma * norm
    known = bool(np.any(np.isfinite(margin)))
    shape_x, shape_y = kernel_shape(now, x_range)
    query = now.x_text(now.scene.x_query)
    return Result(
        kind="regression",
        reading=_reading(now, was_),
        points=_observations(now, spec.weights),
        labels=tuple(now.label(index) for index in range(samples.n)),
        selected=now.selected,
        curve_at=places,
        curve_f=f,
        query_at=now.scene.x_query,
        f=now.f,
        query_range=x_range,
        query_ticks=((now.scene.x_query, "", f"x = {query}"),),
        x_range=x_range,
        y_range=nice_range(samples.y),
        band=(float(samples.y.min()), float(samples.y.max())),
        band_holds=bool(np.all(now.doses >= 0)),
        x_title="x →",
        y_title=(Piece("↑ response y"),),
        f_text="f is undefined" if math.isnan(now.f) else f"f = {now.y_text(now.f)}",
        rows=_rows(now, spread.dof, weights=spec.weights),
        before=None if was_ is None else _observations(was_, spec.weights),
        before_f=None if was_ is None else was_.f,
        kernel=now.kernel.name,
        h=now.scene.h,
        ci_low=f - margin if known else None,
        ci_high=f + margin if known else None,
        kernel_x=shape_x,
        kernel_y=shape_y,
        baseline=_baseline(spec.baseline, now, places),
        loo_h=_loo_minimum(samples, now.kernel.name, last),
        notice="no data within bandwidth" if math.isnan(now.f) else "",
    )


def _observations(now: AtQuery, weights: str) -> Observations:
    """The samples as dots: weights that sum to 1, or the kernel itself relative to its peak."""
    samples = now.scene.samples
    weight = raw_weights(now) if weights == "raw" else now.weights
    return Observations(samples.x, samples.y, weight, np.ones(samples.n, dtype=bool))


def raw_weights(now: AtQuery) -> np.ndarray:
    """Return K(u) of each sample with its scale, K(0) = 1; for a kernel without u relative to the largest."""
    finite = now.log_kernel[np.isfinite(now.log_kernel)]
    largest = float(finite.max()) if finite.size else 0.0
    peak = largest if now.kernel.log_K is None else float(now.kernel.log_K(np.zeros(1))[0])
    return np.asarray(now.doses * np.exp(now.log_kernel - peak))


def kernel_shape(now: AtQuery, x_range: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the kernel at the query over x, peak scaled to 1: four bandwidths to either side, or its support."""
    kernel, h, query = now.kernel, now.scene.h, now.scene.x_query
    if kernel.log_K is None:
        x = np.linspace(*x_range, N_SHAPE)
    else:
        reach = h * min(4.0, kernel.support)
        x = np.linspace(query - reach, query + reach, N_SHAPE)
    log_K = kernel.log_kernel(np.asarray([query]), x, h)[0]
    finite = log_K[np.isfinite(log_K)]
    return x, np.exp(log_K - (finite.max() if finite.size else 0.0))


def _loo_minimum(samples: Samples, kernel: str, last: Result | None) -> float | None:
    """Bandwidth with the smallest leave-one-out error; None without two samples, or with too many to follow a drag."""
    if last is not None and last.kernel == kernel and last.points.x is samples.x and last.points.y is samples.y:
        return last.loo_h
    if not 2 <= samples.n <= MOST_FOR_LOO:
        return None
    return minimise_loo(samples.x, samples.y, kernel, n_refine=12 if samples.n <= 100 else 0, ratio=1.5)


def _baseline(name: str, now: AtQuery, places: np.ndarray) -> tuple[str, np.ndarray, np.ndarray] | None:
    """The chosen baseline's curve, with the words for it."""
    if name == "none":
        return None
    matrix = baseline_matrix(name, now.observed.x, places, now.scene.h, now.kernel.name)
    return BASELINES[name][0], places, matrix @ now.observed.y


def _reading(now: AtQuery, was_: AtQuery | None) -> Reading:
    if math.isnan(now.f):
        return (Piece("Undefined at "), now.query_piece(), Piece(": no observation has positive weight"))
    near = np.abs(now.observed.x - now.scene.x_query) <= now.scene.h
    n_near = int(near.sum())
    end: Reading = () if was_ is None else (was(was_.y_text(was_.f)),)
    return (
        Piece("A weighted average: "),
        Piece(fixed(float(now.weights[near].sum())), strong=True),
        Piece(" of the weight is on the "),
        Piece("1 sample" if n_near == 1 else f"{n_near} samples", strong=True),
        Piece(" within h of "),
        now.query_piece(""),
        Piece(", so f = "),
        Piece(now.y_text(now.f), "direct", strong=True),
        *end,
    )


def _rows(now: AtQuery, dof: float, *, weights: str) -> tuple[Row, ...]:
    """The correspondence table: it is the picture's legend."""
    kernel = now.kernel
    top = (
        Row("query", "query", "query", f"x = {now.x_text(now.scene.x_query)}", "where we ask", "query"),
        Row("kernel", "kernel", "kernel", f"h = {number(now.scene.h)}", f"{kernel.in_words}, units of x"),
        Row("curve", "curve", "f as it moves", "", f"grey: ± {Z} s.e."),
    )
    f = Row("prediction", "direct", "prediction f", now.y_text(now.f), "Σ weight × response", "direct")
    effective = 0.0 if math.isnan(now.f) else 1 / float(now.weights @ now.weights)
    last = Row("effective", "", "effective samples", f"{effective:.1f}", f"degrees of freedom {dof:.1f}")
    i = now.selected
    raw = weights == "raw"
    weight = float(raw_weights(now)[i] if raw else now.weights[i])
    return (
        *top,
        Row("key", "key", "observed key", f"x = {now.x_text(float(now.observed.x[i]))}", sample_name(i), "key"),
        Row("response", "response", "response", now.y_text(float(now.observed.y[i])), "its y"),
        Row("weight", "weight", "weight", share(weight), "K(u)" if raw else "K(u) / Σ K(u)"),
        f,
        last,
    )
