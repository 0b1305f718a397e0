"""Attention, head scene: the selected head's matrix, weighted and shaded as asked, and all heads as thumbnails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from array_api_compat import is_numpy_array

from kav.model.trace import Trace
from kav.task import Task
from kav.threads import each, worth
from kav.views.attention import Result, Spec, Thumb
from kav.views.head.messages import dose_at, message_norms, messages, scaling
from kav.views.predictions import token_labels
from kav.views.scene import Focus, HeadScene, as_head, resolve
from kav.views.shading import level, pool, shade
from kav.views.words import Label, Piece, Reading, share, token_pieces, was

if TYPE_CHECKING:
    from kav.circuits.roles import Judged

THUMB = 64
"""Most rows and columns of a thumbnail."""

LAYERS_AT_ONCE = 6
"""Layers whose thumbnails are made between two reports."""

_ROLE_TEXTS = {
    "previous": "previous-token score {} on this prompt",
    "induction": "prefix matching {} on this prompt",
    "duplicate": "duplicate-token score {} on this prompt",
    "first token": "{} of the weight is on the first token",
    "itself": "{} of the weight is on the token itself",
}


@dataclass(frozen=True)
class Cells:
    """What the matrix shows: values in a unit, the two ends of their colour bar, and which cells exist."""

    values: np.ndarray
    visible: np.ndarray
    levels: tuple[float, float]
    diverging: bool
    unit: str = ""


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the matrix of the selected head and the mosaic; thumbnails of an unchanged run are reused."""
    scene = as_head(spec.scene)
    focus = resolve(scene)
    trace = scene.trace
    scores = trace.scores(focus.layer, focus.head).astype(np.float64)
    weights = trace.pattern(focus.layer, focus.head).astype(np.float64)
    task.report(0.3)
    cells = _cells(spec, trace, focus, scores=scores, weights=weights)
    same_run = last is not None and last.kind == "head" and last.thumbs_of is trace
    thumbs = last.thumbs if last is not None and same_run else mosaic(trace, task, last)
    role = thumbs[focus.layer][focus.head]
    labels = token_labels(trace)
    shading = spec.shading if spec.stage == "pattern" else "linear"
    return Result(
        kind="head",
        reading=_reading(scene, focus, weights[focus.query], labels=labels),
        query_labels=labels,
        key_labels=labels,
        values=np.where(cells.visible, cells.values, 0.0),
        shade=shade(cells.values, cells.visible, shading=shading, top=cells.levels[1]),
        visible=cells.visible,
        levels=cells.levels,
        diverging=cells.diverging,
        scores=scores,
        weights=weights,
        query=focus.query,
        key=focus.key,
        thumbs=thumbs,
        layer=focus.layer,
        head=focus.head,
        role=role.role,
        role_text=_ROLE_TEXTS.get(role.role, "no single pattern on this prompt").format(share(role.score)),
        unit=cells.unit,
        thumbs_of=trace,
        scaling=scaling(trace.model.config, focus.layer).strip(),
        d_head=trace.model.config.d_head,
    )


def _cells(spec: Spec, trace: Trace, focus: Focus, *, scores: np.ndarray, weights: np.ndarray) -> Cells:
    """The values of the chosen stage and weighting."""
    visible = scores > -np.inf
    if spec.stage != "pattern":
        if spec.stage == "scores":
            scores = trace.scores(focus.layer, focus.head, masked=False).astype(np.float64)
            visible = np.ones_like(visible)
        return _signed(scores, visible, "score")
    if spec.weighting == "weight":
        return Cells(weights, visible, (0.0, level(weights, visible, diverging=False, whole=1.0)), False)
    rows = slice(0, trace.n_tokens)
    if spec.weighting == "message":
        dose = np.abs(dose_at(trace, focus.layer, focus.head, queries=rows))
        values = weights * message_norms(trace, focus.layer, focus.head, queries=rows) * dose[:, None]
        return Cells(values, visible, (0.0, level(values, visible, diverging=False)), False, "|message|")
    place, to = (focus.layer, focus.head), (focus.target, focus.foil)
    moved = messages(trace, *place, to=to, queries=rows, weights=weights)
    return _signed(weights * moved.block(), visible, "logits")


def _signed(values: np.ndarray, visible: np.ndarray, unit: str) -> Cells:
    top = level(values, visible, diverging=True)
    return Cells(values, visible, (-top, top), True, unit)


def _reading(scene: HeadScene, focus: Focus, row: np.ndarray, *, labels: tuple[Label, ...]) -> Reading:
    here = (
        Piece(f"Head {focus.layer}.{focus.head} at "),
        *token_pieces(labels[focus.query], "query"),
    )
    if not row.any():
        return *here, Piece(" looks at nothing: every key is masked")
    best = int(np.argmax(row))
    looks = (*token_pieces(labels[best], "key" if best == focus.key else ""), Piece(f" ({share(float(row[best]))})"))
    if scene.before is None:
        return *here, Piece(" looks at "), *looks
    old = scene.before.pattern(focus.layer, focus.head, slice(focus.query, focus.query + 1))[0, :]
    most = int(np.argmax(old))
    return *here, Piece(" looks at "), *looks, was(f"{labels[most]} ({share(float(old[most]))})")


def mosaic(trace: Trace, task: Task, last: Result | None = None) -> tuple[tuple[Thumb, ...], ...]:
    """Return a thumbnail of every head, [layer][head], with the role that suits it best on this prompt.

    Layers that are as in the run of the last result keep theirs. Long prompts are shown by the rows that judge roles.
    """
    from kav.circuits.roles import judged

    queries, before = judged(trace.tokens.ids), last.thumbs_of if last is not None else None
    n_layers, rows = trace.model.config.n_layers, []

    def of_layer(layer: int) -> tuple[Thumb, ...]:
        if last is not None and isinstance(before, Trace) and _same_layer(trace, before, layer):
            return last.thumbs[layer]
        return _thumbs(trace, layer, queries)

    shared = is_numpy_array(trace.resid_final) and worth(trace.n_tokens * trace.model.config.d_model)
    for start in range(0, n_layers, LAYERS_AT_ONCE):
        rows += each(of_layer, range(start, min(start + LAYERS_AT_ONCE, n_layers)), shared=shared)
        task.report(0.3 + 0.7 * len(rows) / n_layers)
    return tuple(rows)


def _same_layer(trace: Trace, before: Trace, layer: int) -> bool:
    """Whether a layer did the same in both runs, which share what is unchanged."""
    same = trace.model is before.model and trace.tokens.ids == before.tokens.ids
    return same and trace.layers[layer] is before.layers[layer] and trace.edits_of(layer) == before.edits_of(layer)


def _thumbs(trace: Trace, layer: int, queries: Judged) -> tuple[Thumb, ...]:
    from kav.circuits.roles import layer_roles, rows_at

    rows = rows_at(trace, layer, queries)  # (n_heads, n_judged, n_tokens)
    roles = layer_roles(trace, queries, rows)
    edited = {getattr(edit, "head", None) for edit in trace.edits_of(layer)}
    return tuple(
        Thumb(layer, head, role.name, role.score, pool(rows[head][queries.even], THUMB), head in edited)
        for head, role in enumerate(roles)
    )
