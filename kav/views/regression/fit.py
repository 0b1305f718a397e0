"""Kernel fit, regression scene: samples, the fit as the query moves, its band, the weights there (K1, K2, K4).

Axes: one x for samples and query; the range is that of the data, rounded to nice steps (`ranges`).
"""

from __future__ import annotations

import math

import numpy as np

from kav.regression.band import Spread
from kav.regression.baseline_fits import baseline_fit, influences
from kav.regression.baselines import BASELINES
from kav.regression.loo_curve import LooCurve, loo_curve
from kav.regression.objective import objective
from kav.regression.rules import bandwidth_limits
from kav.task import Task
from kav.views.density import Density, density
from kav.views.fit import Observations, Result, Row, Spec
from kav.views.regression.at_query import AtQuery, Z, at_query, before, sample_name, sample_piece
from kav.views.regression.exact import APPROXIMATE, known_curve, why
from kav.views.regression.ranges import nice_range
from kav.views.words import Piece, Reading, Role, number, share, was

LONGEST_NAME = 40  # characters
N_CURVE = 401
N_SHAPE = 121
N_LOO = 40
QUICK = 5
"""The leave-one-out curve, twenty fits and more, is exact at once for a fifth of the samples for which one fit is."""
MOST_FOR_LOO = 1_000
"""Samples up to which the leave-one-out curve follows every step of a drag."""


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the picture of the query; what samples and kernel alone decide is reused while they stay the same."""
    now = at_query(spec.scene)
    was_ = before(now)
    low, high, y_low, y_high = now.prepared.bounds()
    x_range = nice_range(np.asarray([low, high, now.scene.x_query]))
    y_range = nice_range(np.asarray([y_low, y_high]))
    places = np.linspace(*x_range, N_CURVE)
    f, norm = now.curve(np.append(places, now.scene.x_query))
    f, norm, norm_there = f[:-1], norm[:-1], float(norm[-1])
    task.report(0.5)
    spread = now.spread()
    margin = Z * spread.sigma * norm
    known = bool(np.any(np.isfinite(margin)))
    shape_x, shape_y = kernel_shape(now, x_range)
    names = now.scene.samples.axes
    query = now.x_text(now.scene.x_query)
    loo, loo_samples = _loo(now, task, last)
    searched = loo.searched and loo_samples is now.scene.samples
    loo_exact = loo.exact and searched
    baselines = _baselines(spec.baseline, now, places)
    return Result(
        kind="regression",
        reading=_reading(now, was_),
        points=_observations(now, spec.weights),
        labels=now.labels(),
        selected=now.place,
        curve_at=places,
        curve_f=f,
        query_at=now.scene.x_query,
        f=now.f,
        query_range=x_range,
        query_ticks=((now.scene.x_query, "", f"x = {query}"),),
        x_range=x_range,
        y_range=y_range,
        band=(y_low, y_high),
        band_holds=bool(np.all(now.doses >= 0)),
        x_title=f"{_short(names[0])} →",
        axes=names,
        y_title=(Piece("↑ response y" if names[1] == "y" else f"↑ {_short(names[1])}"),),
        f_text="f is undefined" if math.isnan(now.f) else f"f = {now.y_text(now.f)}",
        rows=_rows(now, spread, norm_there, weights=spec.weights),
        before=None if was_ is None else _observations(was_, spec.weights),
        before_f=None if was_ is None else was_.f,
        kernel=now.kernel.name,
        h=now.scene.h,
        h_limits=bandwidth_limits(np.asarray([low, high])),
        ci_low=f - margin if known else None,
        ci_high=f + margin if known else None,
        kernel_x=shape_x,
        kernel_y=shape_y,
        baseline=baselines[0] if baselines else None,
        baselines=baselines,
        influences=_influences(spec.baseline, now),
        loo_h=None if now.n < 2 else loo.best,
        notice="no data within bandwidth" if math.isnan(now.f) else "",
        samples=None if now.whole else now.held,
        density=None if now.whole else _density(now, x_range, y_range, last),
        loo=loo,
        loo_of=_loo_key(now),
        loo_samples=loo_samples,
        loo_exact=loo_exact,
        exact=spread.exact,
        approximate="" if spread.exact and loo_exact else why(now.kernel, summed=spread.exact and loo.exact),
        refinable=now.n > 1 and not (searched and (spread.exact or now.kernel.log_K is None)),
        objective=objective(now.prepared, now.scene.x_query, now.scene.h, now.kernel.name) if spec.objective else None,
        decimals=(now.x_decimals, now.y_decimals),
        dof=spread.dof,
        sigma=spread.sigma,
        n=now.n,
        skipped=now.scene.samples.skipped,
    )


def _density(now: AtQuery, x_range: tuple[float, float], y_range: tuple[float, float], last: Result | None) -> Density:
    """The cloud behind the dots, counted again only if samples or axes are others."""
    return density(now.scene.samples.prepared.core, x_range, y_range, last=None if last is None else last.density)


def _observations(now: AtQuery, weights: str) -> Observations:
    """The samples held as dots: weights that sum to 1 over all samples, or the kernel itself relative to its peak."""
    weight = raw_weights(now) if weights == "raw" else now.weights
    return Observations(now.x, now.y, weight, np.ones(now.held.size, dtype=bool))


def raw_weights(now: AtQuery) -> np.ndarray:
    """Return K(u) of each held sample with its scale, K(0) = 1; for a kernel without u relative to the largest."""
    finite = now.log_kernel[np.isfinite(now.log_kernel)]
    peak = float(finite.max()) if finite.size and now.kernel.log_K is None else 0.0
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


def _loo_key(now: AtQuery) -> tuple[object, ...]:
    """What the leave-one-out curve belongs to: of many samples, the set before anything was dragged."""
    samples = now.scene.samples
    return now.kernel.name, samples if now.n <= MOST_FOR_LOO else samples.root


def _loo(now: AtQuery, task: Task, last: Result | None) -> tuple[LooCurve, object]:
    """Leave-one-out error over bandwidths, of the samples without doses; and the samples it is of.

    Of more than `MOST_FOR_LOO` samples one that is dragged changes it by less than its share: while it moves, the curve
    stays that of the set as it was before.
    """
    samples, kernel = now.scene.samples, now.kernel
    known = known_curve(samples.prepared, kernel.name)
    if known is not None:
        return known, samples
    if last is not None and last.loo is not None and last.loo_of == _loo_key(now):
        return last.loo, last.loo_samples
    smooth = kernel.log_K is not None and not kernel.compact
    n_h = N_LOO if smooth else N_LOO // 2
    return loo_curve(samples.prepared, kernel.name, n_h=n_h, quick=QUICK, task=task), samples


def _chosen(baseline: str) -> tuple[str, ...]:
    """Names of the baselines drawn."""
    return () if baseline == "none" else tuple(BASELINES) if baseline == "all" else (baseline,)


def _baselines(name: str, now: AtQuery, places: np.ndarray) -> tuple[tuple[str, np.ndarray, np.ndarray], ...]:
    """The curves of the chosen baselines, each with the words for it."""
    prepared, h, kernel = now.scene.samples.prepared, now.scene.h, now.kernel.name
    found = (baseline_fit(one, prepared, places, h, kernel) for one in _chosen(name))
    return tuple((one.words, places, one.f) for one in found)


def _influences(name: str, now: AtQuery) -> tuple[tuple[str, float], ...]:
    """How much the right end of the fit, and of the baselines drawn, moves with the left-most response."""
    chosen = _chosen(name)
    if not chosen:
        return ()
    found = influences(now.scene.samples.prepared, now.scene.h, now.kernel.name, names=chosen)
    return tuple((one.words, one.value) for one in found)


def _reading(now: AtQuery, was_: AtQuery | None) -> Reading:
    if math.isnan(now.f):
        return (Piece("Undefined at "), now.query_piece(), Piece(": no observation has positive weight"))
    end: Reading = () if was_ is None else was(was_.y_text(was_.f), now.y_text(now.f))
    so: Reading = (Piece(", so f = "), Piece(now.y_text(now.f), "direct", strong=True), *end)
    if now.kernel.log_K is None:  # not local: what is near the query says nothing
        heaviest = int(np.argmax(np.abs(now.weights)))
        sample = int(now.held[heaviest])
        return (
            Piece("A weighted average: "),
            Piece(share(float(now.weights[heaviest])), strong=True),
            Piece(" of the weight is on "),
            sample_piece(sample, now),
            *so,
        )
    n_near, share_near = now.prepared.within(now.scene.x_query, now.scene.h, now.kernel.name)
    return (
        Piece("A weighted average: "),
        Piece(share(share_near), strong=True),
        Piece(" of the weight is on the "),
        Piece("1 sample" if n_near == 1 else f"{n_near:,} samples", strong=True),
        Piece(" within h of "),
        now.query_piece(""),
        *so,
    )


def _short(name: str) -> str:
    """A column's name as far as an axis has room for it."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def effective_text(effective: float) -> str:
    """How many samples a fit rests on: `10.5`, `159,109`."""
    return number(effective) if effective < 1000 else f"{effective:,.0f}"


def _rows(now: AtQuery, spread: Spread, norm: float, *, weights: str) -> tuple[Row, ...]:
    """The correspondence table: it is the picture's legend."""
    kernel, names = now.kernel, now.scene.samples.axes
    asked = "where we ask" if names[0] == "x" else f"{_short(names[0])} where we ask"
    top = (
        Row("query", "query", "query", f"x = {now.x_text(now.scene.x_query)}", asked, "query"),
        Row("kernel", "kernel", "kernel", f"h = {number(now.scene.h)}", f"{kernel.in_words}, units of x"),
        Row("curve", "curve", "f as it moves", "", f"grey: ± {Z} s.e."),
    )
    f = Row("prediction", "direct", "prediction f", now.y_text(now.f), "Σ weight × response", "direct")
    effective = 0.0 if math.isnan(now.f) else 1 / norm**2
    last = Row("effective", "", "effective samples", effective_text(effective), *_freedom(now, spread))
    i = now.place
    raw = weights == "raw"
    weight = float(raw_weights(now)[i] if raw else now.weights[i])
    return (
        *top,
        Row("key", "key", "observed key", f"x = {now.x_text(float(now.x[i]))}", sample_name(now.selected), "key"),
        Row("response", "response", "response", now.y_text(float(now.y[i])), f"its {_short(names[1])}"),
        Row("weight", "weight", "weight", share(weight), "K(u)" if raw else "K(u) / Σ K(u)"),
        f,
        last,
    )


def _freedom(now: AtQuery, spread: Spread) -> tuple[str, Role, str]:
    """Note, role and tip of the row that says what the fit spends."""
    if spread.exact:
        return f"degrees of freedom {number(spread.dof)}", "", ""
    return f"degrees of freedom {APPROXIMATE} {number(spread.dof)}", "", why(now.kernel)
