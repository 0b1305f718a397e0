"""The prompt bar, regression scene: the rug of the samples with weights as bars, and what the fit predicts."""

from __future__ import annotations

import math

import numpy as np

from kav.regression.band import Spread
from kav.task import Task
from kav.views.prompt import Result, Spec
from kav.views.regression.at_query import AtQuery, Z, at_query, before, sample_name
from kav.views.regression.exact import APPROXIMATE, why
from kav.views.regression.ranges import nice_range
from kav.views.regression.rug import rug_columns
from kav.views.words import Label, MadeLabels, Piece, Reading, fixed, number


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the rug and the prediction at the query."""
    now = at_query(spec.scene)
    was = before(now)
    low, high, *_ = now.prepared.bounds()
    x_range = nice_range(np.asarray([low, high, now.scene.x_query]))
    spread = now.spread()
    return Result(
        kind="regression",
        labels=MadeLabels(now.held.size, lambda at: Label(f"x = {now.x_text(float(now.x[at]))}", int(now.held[at]))),
        weights=now.weights,
        weights_before=None if was is None else was.weights,
        key=now.place,
        edits_text=(
            *(f"{sample_name(index)} × {fixed(scale)}" for index, scale in now.scene.doses),
            *(f"response of {sample_name(index)} × {fixed(scale)}" for index, scale in now.scene.responses),
        ),
        x=now.x,
        x_range=x_range,
        x_query=now.scene.x_query,
        query_text=f"x = {now.x_text(now.scene.x_query)}",
        predicts=_predicts(now, spread),
        approximate="" if spread.exact else why(now.kernel),
        samples=None if now.whole else now.held,
        columns=None if now.whole else rug_columns(now, x_range),
    )


def _predicts(now: AtQuery, spread: Spread) -> Reading:
    """`Predicts f(4.20) = −0.70 ± 0.22`."""
    start = Piece(f"Predicts f({now.x_text(now.scene.x_query)}) ")
    if math.isnan(now.f):
        return (start, Piece("is undefined", strong=True))
    error, about = Z * spread.sigma * now.norm(), "" if spread.exact else f"{APPROXIMATE} "
    sure: Reading = () if math.isnan(error) else (Piece(f" ± {about}{number(error)}", "muted"),)
    return (start, Piece("= "), Piece(now.y_text(now.f), "direct", strong=True), *sure)
