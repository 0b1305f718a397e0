"""Attribution, regression scene: each sample's share of the fit, ``w_i y_i``; the shares sum to f."""

from __future__ import annotations

import numpy as np

from kav.task import Task
from kav.views.attribution import Part, Result, Spec
from kav.views.regression.at_query import AtQuery, at_query, before, sample_name
from kav.views.words import Label, Piece, Reading, was

MOST_PARTS = 500
"""Samples up to which each has a part of its own."""
N_SHARES = 40
"""Samples with a part of their own when there are more."""


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the samples' shares, largest first."""
    now = at_query(spec.scene)
    was_ = before(now)
    return Result(
        kind="regression",
        reading=_reading(now, was_),
        parts=_parts(now, was_),
        total=now.f,
        total_before=None if was_ is None else was_.f,
        target=None,
        read_at=Label(f"x = {now.x_text(now.scene.x_query)}"),
        unit="",
        decimals=now.y_decimals,
        total_name="f",
    )


def _parts(now: AtQuery, was_: AtQuery | None) -> tuple[Part, ...]:
    """One part per sample, largest share first; of many samples the largest, and one for all others together."""
    if not now.defined:
        return ()
    shown = now if now.n <= MOST_PARTS else at_query(now.scene, _largest(now))
    earlier = None if was_ is None else was_ if shown is now else at_query(was_.scene, shown.held)
    shares = shown.weights * shown.y
    befores = None if earlier is None else earlier.weights * earlier.y
    order = np.argsort(-np.abs(shares), kind="stable")
    starts = np.concatenate([[0.0], np.cumsum(shares[order])])
    parts = tuple(
        Part(
            "sample",
            sample_name(int(shown.held[at])),
            float(shares[at]),
            float(start),
            selected=int(shown.held[at]) == now.selected,
            label=now.label(int(shown.held[at])),
            is_key=int(shown.held[at]) == now.selected,
            index=int(shown.held[at]),
            before=None if befores is None else float(befores[at]),
            decimals=now.y_decimals,
        )
        for at, start in zip(order, starts, strict=False)
    )
    if shown is now:
        return parts
    before = None if earlier is None or befores is None or not earlier.defined else earlier.f - float(befores.sum())
    n_others = now.n - shown.held.size
    rest = now.f - float(shares.sum())
    return (
        *parts,
        Part(
            "rest",
            f"{n_others:,} other samples",
            rest,
            float(starts[-1]),
            before=before,
            count=n_others,
            decimals=now.y_decimals,
        ),
    )


def _largest(now: AtQuery) -> np.ndarray:
    """The samples with the largest shares, the selected one and those scaled among them, ascending.

    A share is at most K times the largest response: beyond the place where that falls below the shares found there is
    nothing to look for.
    """
    prepared, scene = now.prepared, now.scene
    ordered = prepared.ordered
    largest = float(np.max(np.abs(np.asarray(prepared.bounds()[2:]))))
    chosen = [prepared.extras.sample.astype(np.int64), np.asarray([now.selected], dtype=np.int64)]
    reach, first, last = scene.h, 0, 0
    while (first, last) != (0, ordered.n):
        around = np.asarray([scene.x_query - reach, scene.x_query + reach]) - ordered.low
        first, last = (0, ordered.n) if now.kernel.log_K is None else np.searchsorted(ordered.x, around)
        x = ordered.x[first:last] + ordered.low
        log_K = prepared.log_kernel(np.asarray([scene.x_query]), x, scene.h, now.kernel.name)[0]
        size = np.exp(log_K - (log_K.max() if now.kernel.log_K is None else 0.0)) * np.abs(
            ordered.shown(ordered.y[first:last])
        )
        n_kept = min(N_SHARES, size.size)
        if n_kept:
            kept = np.argpartition(-size, n_kept - 1)[:n_kept]
            edge = prepared.log_kernel(np.zeros(1), np.asarray([reach]), scene.h, now.kernel.name)[0, 0]
            if n_kept == N_SHARES and (now.kernel.log_K is None or np.exp(edge) * largest <= size[kept].min()):
                break
        reach *= 2
    if n_kept:
        chosen.append(ordered.samples(first + kept))
    return np.unique(np.concatenate(chosen))


def _reading(now: AtQuery, was_: AtQuery | None) -> Reading:
    if not now.defined:
        return (Piece("Nothing: no sample has weight at "), now.query_piece())
    moved, f = _share_text(now), now.y_text(now.f)
    return (
        Piece(f"{sample_name(now.selected).capitalize()} moves "),
        Piece(moved, "key", strong=True),
        *(() if was_ is None else was(_share_text(was_), moved, within=True)),
        Piece(" of "),
        Piece(f, "direct", strong=True),
        *(() if was_ is None else was(was_.y_text(was_.f), f, within=True)),
        Piece("; the shares sum to f"),
    )


def _share_text(now: AtQuery) -> str:
    """The selected sample's share of f."""
    return now.y_text(float(now.weights[now.place] * now.y[now.place]))
