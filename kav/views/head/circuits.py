"""Circuits, head scene: W_OV and W_QK of the head, their spectrum, and their tables over the prompt's tokens (C1, C2).

Weights and tokens only: no edit changes anything here, and the panel shows that by staying as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kav.circuits.copying import copying_eigenvalues
from kav.circuits.factored import Factored, positive_share
from kav.circuits.qk_ov import ov, ov_table, predicts_directly, qk, qk_table
from kav.model.model import Model
from kav.task import Task
from kav.views.circuits import Result, Spec
from kav.views.predictions import token_label, vocabulary_label
from kav.views.scene import Focus, HeadScene, as_head, resolve
from kav.views.words import Label, Piece, Reading, fixed, share, signed, token_pieces

MOST_TOKENS = 24
"""Most rows and columns of a token table."""

COPIES, COPIES_IN_PART = 0.5, 0.2
"""Copying scores from which a head is said to copy; independent matrices score near 0."""
BY_SCORE = (
    (COPIES, "promotes what it reads", "seems to promote what it reads"),
    (COPIES_IN_PART, "promotes some of what it reads", "seems to promote some of what it reads"),
    (-COPIES_IN_PART, "does not copy what it reads", "shows no sign of copying"),
    (-COPIES, "suppresses some of what it reads", "seems to suppress some of what it reads"),
    (-np.inf, "suppresses what it reads", "seems to suppress what it reads"),
)
"""From the least copying score on: what OV does, and what it seems to do where it reads more than embeddings."""


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return one circuit of the selected head; the last result itself if nothing it depends on has changed."""
    scene = as_head(spec.scene)
    focus = resolve(scene)
    ids, n_distinct = table_tokens(scene, focus), len(_distinct(scene, focus))
    model = scene.base.model
    offset = spec.offset if spec.circuit == "qk" and model.config.position == "rotary" else 0
    query_token = scene.base.tokens.ids[focus.query]
    row, column = _framed(scene, focus, ids, circuit=spec.circuit)
    source = (
        model,
        focus.layer,
        focus.head,
        spec.circuit,
        spec.space,
        offset,
        ids,
        row,
        column,
        query_token,
        n_distinct,
    )
    if last is not None and last.kind == "head" and last.source == source:
        return last
    place = (focus.layer, focus.head)
    circuit = qk(model, *place, offset) if spec.circuit == "qk" else ov(model, *place)
    task.report(0.3)
    by_tokens = spec.space == "tokens"
    values = _table(model, place, ids, circuit=spec.circuit, offset=offset) if by_tokens else circuit.matrix()
    task.report(0.6)
    copying = copying_eigenvalues(model, *place) if spec.circuit == "ov" and predicts_directly(model) else None
    labels = tuple(_label(scene, token) for token in ids)
    spectral = _spectral(spec.circuit, circuit, copying)
    titles = _titles(spec)
    return Result(
        kind="head",
        reading=_reading(spec, labels, values, row=row, copying=copying, circuit=circuit, layer=focus.layer),
        circuit=spec.circuit,
        space=spec.space,
        row_labels=labels if by_tokens else (),
        column_labels=labels if by_tokens else (),
        values=values,
        level=float(np.abs(values).max()) or 1.0,
        row=row if by_tokens else None,
        column=column if by_tokens else None,
        row_title=titles[0],
        column_title=titles[1],
        offset=offset,
        d_head=model.config.d_head,
        d_model=model.config.d_model,
        source=source,
        tokens=ids if by_tokens else (),
        n_distinct=n_distinct if by_tokens else 0,
        note=_note(model, spec.circuit),
        **spectral,
    )


def _note(model: Model, circuit: str) -> str:
    """What the matrix leaves out, if the family has it."""
    config = model.config
    if circuit == "qk" and config.qk_norm:
        return "queries and keys are normalised: divide by the root mean square of both"
    if circuit == "qk" and config.score_cap:
        return f"scores are capped softly at ±{config.score_cap:.3g} afterwards"
    if circuit == "ov" and config.norm_place != "before":
        return "a norm follows attention: divide by its scale"
    return ""


def _spectral(kind: str, circuit: Factored, copying: np.ndarray | None) -> dict[str, Any]:
    """The fields of the result about singular values and eigenvalues; `copying` are those of the OV circuit."""
    return {
        "singular_values": circuit.svd()[1],
        "eigenvalues": circuit.eigenvalues() if copying is None else copying,
        "eigen_title": "eigenvalues λ / |λ|max",
        "eigen_note": {"qk": "Re λ > 0 looks at its like"}.get(kind, "" if copying is None else "Re λ > 0 copies"),
        "spectrum_title": "singular values of " + ("W_QK" if kind == "qk" else "W_OV"),
        "symmetric_share": circuit.symmetric_share(),
        "copying": None if copying is None else float(positive_share(copying)),
    }


def table_tokens(scene: HeadScene, focus: Focus) -> tuple[int, ...]:
    """Return the ids of the tables: distinct tokens of the prompt in order; query, key and target are never cut off."""
    tokens, distinct = scene.base.tokens.ids, _distinct(scene, focus)
    needed = dict.fromkeys((tokens[focus.query], tokens[focus.key], *_target(scene, focus)))
    free = MOST_TOKENS - len(needed)
    kept = set([token for token in distinct if token not in needed][:free]) | set(needed)
    return tuple(token for token in distinct if token in kept)


def _distinct(scene: HeadScene, focus: Focus) -> tuple[int, ...]:
    """Every token of the prompt once, in order, then the target."""
    return tuple(dict.fromkeys((*scene.base.tokens.ids, *_target(scene, focus))))


def _target(scene: HeadScene, focus: Focus) -> tuple[int, ...]:
    return (focus.target,) if scene.base.model.config.has_logits else ()


def _framed(scene: HeadScene, focus: Focus, ids: tuple[int, ...], *, circuit: str) -> tuple[int, int]:
    """The framed row and column: the key's token and the target (OV), or the query's token and the key's (QK)."""
    tokens = scene.base.tokens.ids
    has_target = scene.base.model.config.has_logits
    promoted = focus.target if has_target else tokens[focus.key]
    pair = (tokens[focus.query], tokens[focus.key]) if circuit == "qk" else (tokens[focus.key], promoted)
    return ids.index(pair[0]), ids.index(pair[1])


def _table(model: Model, place: tuple[int, int], ids: tuple[int, ...], *, circuit: str, offset: int) -> np.ndarray:
    return qk_table(model, *place, ids, offset) if circuit == "qk" else ov_table(model, *place, ids)


def _titles(spec: Spec) -> tuple[str, str]:
    if spec.space != "tokens":
        return ("query side ↓", "key side →") if spec.circuit == "qk" else ("reads ↓", "writes →")
    return ("query ↓", "key →") if spec.circuit == "qk" else ("reads ↓", "promotes →")


def _label(scene: HeadScene, token: int) -> Label:
    """The token as the prompt writes it where it first stands, without its position."""
    ids = scene.base.tokens.ids
    if token not in ids:
        return vocabulary_label(scene.base.model, token)
    found = token_label(scene.base, ids.index(token))
    return Label(found.text, None, found.joined, found.exact)


def _reading(
    spec: Spec,
    labels: tuple[Label, ...],
    values: np.ndarray,
    *,
    row: int,
    copying: np.ndarray | None,
    circuit: Factored,
    layer: int,
) -> Reading:
    if copying is not None:
        return _copying_reading(float(positive_share(copying)), layer)
    if spec.circuit == "ov":
        return (Piece("OV moves what the head reads; what that promotes is not read from the stream by W_U alone"),)
    if spec.space != "tokens":
        return (
            Piece("QK compares two spaces: "),
            Piece(share(circuit.symmetric_share()), strong=True),
            Piece(" of W_QK is symmetric, where 0.500 is no preference and 1.000 a kernel on one space"),
        )
    best = int(np.argmax(values[row]))
    return (
        Piece("QK, by embeddings alone: "),
        *token_pieces(labels[row], "query"),
        Piece(" scores highest with "),
        *token_pieces(labels[best]),
        Piece(" ("),
        Piece(signed(float(values[row, best])), strong=True),
        Piece(")"),
    )


def _copying_reading(score: float, layer: int) -> Reading:
    """The score and what it says; beyond layer 0 a head reads what other layers wrote, so that it only seems so."""
    words = next(found[1 if layer == 0 else 2] for found in BY_SCORE if score >= found[0])
    text = f"+{fixed(score)}" if score > 0 else fixed(score)
    return Piece("Copying score "), Piece(text, strong=True), Piece(f": by embeddings alone, OV {words}")
