"""Attention, head scene: the selected head's matrix, weighted and shaded as asked, and all heads as thumbnails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from array_api_compat import is_numpy_array

from kav.arrays import Array, namespace
from kav.model.edits import ScaleHead
from kav.model.tiles import MOST, Part, Range, Read, TiledHead
from kav.model.trace import Trace
from kav.task import Task
from kav.threads import each, worth
from kav.views.attention import Cell, Result, Spec, Thumb
from kav.views.head.messages import dose_at, message_norms, messages, scaling
from kav.views.predictions import target_pieces, token_labels
from kav.views.scene import Focus, HeadScene, as_head, resolve
from kav.views.shading import level, pool, shade
from kav.views.words import Label, Piece, Reading, number, share, signed, token_pieces, was

if TYPE_CHECKING:
    from kav.circuits.roles import Judged

THUMB = 64
"""Most rows and columns of a thumbnail."""

CELLS = 1 << 22
"""Cells of judged rows that a thread holds at once, if those of one group of heads are no more."""

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
class Shown:
    """What the matrix shows of scores and weights: how it is read, whether it is signed, and its unit."""

    read: Read
    signed: bool
    unit: str = ""
    masked: bool = True


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the matrix of the selected head and the mosaic; thumbnails of an unchanged run are reused.

    More than `MOST` rows or columns are shown in squares, each by its cell that is farthest from zero.
    """
    scene = as_head(spec.scene)
    focus = resolve(scene)
    trace = scene.trace
    row = _row(trace, focus)
    tiled = _tiled(trace, focus, last)
    part = _part(spec.part, trace.n_tokens)
    shown = _shown(spec, trace, focus, part)
    size = -(-max(part.shape) // MOST)
    squares = tiled.squares(part, size, shown.read, masked=shown.masked, signed=shown.signed, task=task)
    same_run = last is not None and last.kind == "head" and last.thumbs_of is trace
    thumbs = last.thumbs if last is not None and same_run else mosaic(trace, task, last)
    role = thumbs[focus.layer][focus.head]
    labels = token_labels(trace)
    whole = 1.0 if shown.unit == "" else None
    top = level(squares.values, squares.visible, diverging=shown.signed, whole=whole)
    return Result(
        kind="head",
        reading=_reading(spec, scene, focus, row, labels=labels),
        shading=_shading(spec),
        changed=_changed(spec, scene, focus),
        query_labels=labels,
        key_labels=labels,
        values=squares.values,
        shade=shade(squares.values, squares.visible, shading=_shading(spec), top=top),
        visible=squares.visible,
        levels=(-top if shown.signed else 0.0, top),
        diverging=shown.signed,
        scores=squares.scores,
        weights=squares.weights,
        query=focus.query,
        key=focus.key,
        cell=Cell(float(row[0][focus.key]), float(row[1][focus.key]), float(row[1].sum() - row[1][focus.key])),
        squares=squares,
        thumbs=thumbs,
        layer=focus.layer,
        head=focus.head,
        role=role.role,
        role_text=_ROLE_TEXTS.get(role.role, "no single pattern on this prompt").format(share(role.score)),
        unit=shown.unit,
        thumbs_of=trace,
        tiled=tiled,
        scaling=scaling(trace, focus.layer, focus.head).strip(),
        d_head=trace.model.config.d_head,
    )


def _row(trace: Trace, focus: Focus) -> tuple[np.ndarray, np.ndarray]:
    """Scores and weights of the selected query, (n_tokens,) each."""
    row = slice(focus.query, focus.query + 1)
    scores, weights = (read(focus.layer, focus.head, row)[0, :] for read in (trace.scores, trace.pattern))
    return scores.astype(np.float64), weights.astype(np.float64)


def _tiled(trace: Trace, focus: Focus, last: Result | None) -> TiledHead:
    """The head with the row sums that are known of it."""
    known = last.tiled if last is not None else None
    same = isinstance(known, TiledHead) and known.trace is trace
    if isinstance(known, TiledHead) and same and (known.layer, known.head) == (focus.layer, focus.head):
        return known
    return TiledHead(trace, focus.layer, focus.head)


def _part(part: Part | None, n: int) -> Part:
    """The part that is asked for as far as the prompt has it, all of it if none is."""
    whole = Part((0, n), (0, n))
    return whole if part is None or max(part.rows[1], part.columns[1]) > n else part


def _shading(spec: Spec) -> str:
    return spec.shading if spec.stage == "pattern" else "linear"


def _shown(spec: Spec, trace: Trace, focus: Focus, part: Part) -> Shown:
    """The chosen stage and weighting."""
    if spec.stage != "pattern":
        return Shown(lambda scores, weights, rows, columns: scores, True, "score", masked=spec.stage == "masked")
    if spec.weighting == "weight":
        return Shown(lambda scores, weights, rows, columns: weights, False)
    first, place, chosen = part.rows[0], (focus.layer, focus.head), slice(*part.rows)

    def here(rows: Range) -> slice:
        return slice(rows[0] - first, rows[1] - first)

    if spec.weighting == "message":
        dose = np.abs(dose_at(trace, *place, queries=chosen))
        norms, scale = message_norms(trace, *place, queries=chosen)
        each_row = dose / scale
        return Shown(
            lambda scores, weights, rows, columns: weights * each_row[here(rows), None] * norms[slice(*columns)],
            False,
            "|message|",
        )
    moved = messages(trace, *place, to=(focus.target, focus.foil), queries=chosen)
    return Shown(
        lambda scores, weights, rows, columns: weights * moved.block(here(rows), slice(*columns)), True, "logits"
    )


_NOTHING = {"|message|": "carries nothing", "logits": "moves nothing of the logit of "}  # of a removed head
_VERBS = {"": "looks at", "score": "scores highest with", "|message|": "carries most from", "logits": "moves most with"}
"""What a head does with the key that the matrix shows most of, by the unit of what is shown."""


def _reading(
    spec: Spec, scene: HeadScene, focus: Focus, row: tuple[np.ndarray, np.ndarray], *, labels: tuple[Label, ...]
) -> Reading:
    here = (Piece(f"Head {focus.layer}.{focus.head} at "), *token_pieces(labels[focus.query], "query"))
    if not row[1].any():
        return *here, Piece(" looks at nothing: every key is masked")
    best, amount, unit = _most(spec, scene.trace, focus, row)
    where = () if best is None else token_pieces(labels[best], "key" if best == focus.key else "")
    of = (Piece(" logits of "), *target_pieces(scene, focus)) if unit == "logits" else ()
    said = (*here, Piece(f" {_VERBS[unit]} "), *where, Piece(f" ({amount}"), *of, Piece(")"))
    if best is None:
        said = (*here, Piece(f" {_NOTHING[unit]}"), *of[1:])
    if scene.before is None:
        return said
    most, old, _ = _most(spec, scene.before, focus, _row(scene.before, focus))
    before = "nothing" if most is None else f"{labels[most]} ({old})"
    return *said, *was(before, "nothing" if best is None else f"{labels[best]} ({amount})")


def _most(spec: Spec, trace: Trace, focus: Focus, row: tuple[np.ndarray, np.ndarray]) -> tuple[int | None, str, str]:
    """The key that the matrix shows most of in the selected row, how much that is, and its unit; None if all is 0."""
    rows, columns = (focus.query, focus.query + 1), (0, trace.n_tokens)
    shown = _shown(spec, trace, focus, Part(rows, columns))
    values = np.asarray(shown.read(row[0][None, :], row[1][None, :], rows, columns))[0]
    best = int(np.argmax(np.abs(values) if shown.unit == "logits" else values))
    if shown.unit in _NOTHING and not values.any():
        return None, "", shown.unit
    text = {"": share, "score": number, "|message|": number, "logits": signed}[shown.unit](float(values[best]))
    return best, text, shown.unit


def _changed(spec: Spec, scene: HeadScene, focus: Focus) -> bool:
    """Whether the edits changed anything of the selected head's matrix; messages depend on all that the model does."""
    if scene.before is None or (spec.stage == "pattern" and spec.weighting != "weight"):
        return scene.before is not None
    own = [edit for edit in scene.trace.edits_of(focus.layer) if getattr(edit, "head", None) == focus.head]
    if any(not isinstance(edit, ScaleHead) for edit in own):
        return True
    now, old = (trace.layers[focus.layer] for trace in (scene.trace, scene.before))
    kv = scene.trace.model.config.kv_head(focus.head)
    return not (_close(now.q[focus.head, :, :], old.q[focus.head, :, :]) and _close(now.k[kv, :, :], old.k[kv, :, :]))


def _close(a: Array, b: Array) -> bool:
    """Whether two arrays are the same but for the order of sums."""
    xp = namespace(a, b)
    return bool(xp.max(xp.abs(a - b)) <= 1e-5 * xp.max(xp.abs(b)))


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
        return layer_thumbs(trace, layer, queries)

    shared = is_numpy_array(trace.resid_final) and worth(trace.n_tokens * trace.model.config.d_model)
    for start in range(0, n_layers, LAYERS_AT_ONCE):
        rows += each(of_layer, range(start, min(start + LAYERS_AT_ONCE, n_layers)), shared=shared)
        task.report(0.3 + 0.7 * len(rows) / n_layers)
    return tuple(rows)


def _same_layer(trace: Trace, before: Trace, layer: int) -> bool:
    """Whether a layer did the same in both runs, which share what is unchanged."""
    same = trace.model is before.model and trace.tokens.ids == before.tokens.ids
    return same and trace.layers[layer] is before.layers[layer] and trace.edits_of(layer) == before.edits_of(layer)


def layer_thumbs(trace: Trace, layer: int, queries: Judged | None = None) -> tuple[Thumb, ...]:
    """Return a thumbnail of every head of a layer; `queries` are those that are judged if they are known."""
    from kav.circuits.roles import judged, layer_roles, rows_at

    config, found = trace.model.config, []
    queries = judged(trace.tokens.ids) if queries is None else queries
    edited = {getattr(edit, "head", None) for edit in trace.edits_of(layer)}
    in_group = config.n_heads // config.n_kv_heads
    at_once = in_group * max(1, CELLS // (in_group * len(queries.queries) * trace.n_tokens))
    for first in range(0, config.n_heads, at_once):
        heads = slice(first, min(first + at_once, config.n_heads))
        rows = rows_at(trace, layer, queries, heads)  # (n_at_once, n_judged, n_tokens)
        for head, role in enumerate(layer_roles(trace, queries, rows), start=first):
            cells = pool(rows[head - first][queries.even], THUMB)
            found.append(Thumb(layer, head, role.name, role.score, cells, head in edited))
    return tuple(found)
