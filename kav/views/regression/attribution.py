"""Attribution, regression scene: each sample's share of the fit, ``w_i y_i``; the shares sum to f."""

from __future__ import annotations

import math

import numpy as np

from kav.task import Task
from kav.views.attribution import Part, Result, Spec
from kav.views.regression.at_query import AtQuery, at_query, before, sample_name
from kav.views.words import Label, Piece, Reading, was


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the samples' shares, largest first."""
    now, was_ = at_query(spec.scene), before(spec.scene)
    return Result(
        kind="regression",
        reading=_reading(now, was_),
        parts=_parts(now, was_),
        total=now.f,
        total_before=None if was_ is None else was_.f,
        target=None,
        read_at=Label(f"x = {now.x_text(now.scene.x_query)}"),
        unit="",
        total_name="f",
    )


def _parts(now: AtQuery, was_: AtQuery | None) -> tuple[Part, ...]:
    """One part per sample; none where the fit is undefined."""
    if math.isnan(now.f):
        return ()
    shares = now.weights * now.observed.y
    earlier = None if was_ is None else was_.weights * was_.observed.y
    order = np.argsort(-np.abs(shares), kind="stable")
    starts = np.concatenate([[0.0], np.cumsum(shares[order])])
    return tuple(
        Part(
            "sample",
            sample_name(int(index)),
            float(shares[index]),
            float(start),
            selected=index == now.selected,
            label=now.label(int(index)),
            is_key=index == now.selected,
            index=int(index),
            before=None if earlier is None else float(earlier[index]),
        )
        for index, start in zip(order, starts, strict=False)
    )


def _reading(now: AtQuery, was_: AtQuery | None) -> Reading:
    if math.isnan(now.f):
        return (Piece("Nothing: no sample has weight at "), now.query_piece())
    share = float(now.weights[now.selected] * now.observed.y[now.selected])
    end: Reading = () if was_ is None else (was(was_.y_text(was_.f)),)
    return (
        Piece(f"{sample_name(now.selected).capitalize()} moves "),
        Piece(now.y_text(share), "key", strong=True),
        Piece(" of "),
        Piece(now.y_text(now.f), "direct", strong=True),
        Piece("; the shares sum to f"),
        *end,
    )
