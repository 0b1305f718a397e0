"""Kernel fit, head scene: one row of attention as a Nadaraya-Watson picture (B1, B3, B5).

Observations are the visible tokens: x the score ``s_j``, y the message in logits, area the weight. The line
``f = sum_j alpha_j y_j`` is the head's direct contribution. The curve is f as the query moves from this token's to
another's, ``f(t) = sum_j softmax_j(s_j + t a_j) y_j``: a one-dimensional kernel smoother in t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav import smoother
from kav.arrays import like, to_host
from kav.effects.readout import Readout
from kav.model.edits import ScaleHead
from kav.model.head import curve as head_curve
from kav.model.head import query_direction
from kav.model.trace import Trace
from kav.task import Task
from kav.views.fit import Observations, Result, Row, Spec
from kav.views.head.messages import messages, scaling, score_title, sharpness
from kav.views.predictions import target_pieces, token_labels
from kav.views.scene import Focus, HeadScene, as_head, moved_query, resolve, towards_of
from kav.views.words import Label, Piece, Reading, fixed, number, share, signed, token_pieces, was

QUERY_RANGE = (-0.25, 1.25)
N_CURVE = 181


@dataclass(frozen=True)
class Picture:
    """One row of one run: scores, weights, responses and their average."""

    scores: np.ndarray  # (n_tokens,), -inf where not visible
    weights: np.ndarray  # (n_tokens,)
    responses: np.ndarray  # (n_tokens,)
    f: float
    sigma: float  # what the final norm divides by

    def observations(self) -> Observations:
        """The row as dots; what is not visible keeps place 0."""
        visible = self.scores > -np.inf
        return Observations(np.where(visible, self.scores, 0.0), self.responses, self.weights, visible)


def picture(trace: Trace, focus: Focus) -> Picture:
    """Return one head's row at the query as a kernel picture; f is its direct contribution to the target's logit."""
    row = slice(focus.query, focus.query + 1)
    scores = trace.scores(focus.layer, focus.head, row)[0, :].astype(np.float64)
    weights = trace.pattern(focus.layer, focus.head, row).astype(np.float64)
    place, to = (focus.layer, focus.head), (focus.target, focus.foil)
    y = messages(trace, *place, to=to, queries=row).block()[0, :]
    sigma = float(to_host(Readout(trace, (row.start, row.stop), *to).sigma)[0, 0])
    return Picture(scores, weights[0, :], y, float(weights[0, :] @ y), sigma)


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the picture of the selected row."""
    scene = as_head(spec.scene)
    focus = resolve(scene)
    now = picture(scene.trace, focus)
    before = None if scene.before is None else picture(scene.before, focus)
    return _result(scene, focus, now, before=before)


def _result(scene: HeadScene, focus: Focus, now: Picture, *, before: Picture | None) -> Result:
    labels = token_labels(scene.trace)
    target = target_pieces(scene, focus)
    place = (focus.layer, focus.head)
    beta = sharpness(scene.trace, *place)
    moved, towards = moved_query(scene.trace, focus), towards_of(scene, focus)
    query_at = 0.0 if moved is None else moved.t
    query_range = (min(QUERY_RANGE[0], query_at - 0.1), max(QUERY_RANGE[1], query_at + 0.1))
    t = np.linspace(*query_range, N_CURVE)
    shown = [now.observations(), *([] if before is None else [before.observations()])]
    return Result(
        kind="head",
        axes=("score", "message"),
        reading=_reading(now, before, labels, target=target, scale=_scale(scene, focus)),
        points=shown[0],
        labels=labels,
        selected=focus.key,
        curve_at=t,
        curve_f=curve(scene.trace, focus, now, towards=towards, query_at=query_at, t=t),
        query_at=query_at,
        f=now.f,
        query_range=query_range,
        query_ticks=_query_ticks(labels, focus, towards),
        x_range=_range([seen.x[seen.visible] for seen in shown], margin=0.07),
        y_range=_range([seen.y[seen.visible] for seen in shown], margin=0.0),
        band=_band(shown[0]),
        band_holds=bool(now.weights.min() >= 0 and abs(now.weights.sum() - 1) < 1e-3),
        x_title=f"score {score_title(scene.trace, *place)} of the keys →",
        y_title=(Piece("↑ message: logits of "), *target),
        f_text=f"f = {signed(now.f)} logits",
        rows=_rows(now, labels, focus, towards=towards, query_at=query_at, target=target, beta=beta, before=before),
        before=None if before is None else shown[1],
        before_f=None if before is None else before.f,
        towards=towards,
        beta=beta,
        sigma=now.sigma,
        sigma_before=None if before is None else before.sigma,
        scaling=scaling(scene.trace, *place).strip(),
        d_head=scene.trace.model.config.d_head,
        d_model=scene.trace.model.config.d_model,
    )


def curve(
    trace: Trace, focus: Focus, now: Picture, *, towards: int | None, query_at: float, t: np.ndarray
) -> np.ndarray:
    """Return f along the query's way from its own place (t = 0) to the other token's question (t = 1), (n_t,).

    The run's own row stands at t = `query_at`, where an edit may have moved it.
    """
    place = (focus.layer, focus.head)
    responses = like(trace.resid_final, now.responses * _edges(now))
    direction = query_direction(trace, *place, focus.query, focus.query if towards is None else towards)
    steps = like(responses, t - query_at)
    moved = head_curve(trace, *place, direction, query=focus.query, responses=responses, t=steps)
    return to_host(moved).astype(np.float64)


def _edges(now: Picture) -> np.ndarray:
    """What the weights were scaled by after the softmax: 1 unless an edge is edited."""
    raw = smoother.weights(now.scores[None, :])[0, :]
    return np.where(raw > 1e-12, now.weights / np.where(raw > 1e-12, raw, 1.0), 1.0)


def _band(points: Observations) -> tuple[float, float]:
    seen = points.y[points.visible]
    return (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 0.0)


def _range(parts: list[np.ndarray], *, margin: float) -> tuple[float, float]:
    """Smallest range that holds all values, widened by a share of itself; one value alone gets a unit around it."""
    values = np.concatenate(parts)
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    if high - low < 1e-9:
        return low - 0.5, high + 0.5
    return low - margin * (high - low), high + margin * (high - low)


def _query_ticks(labels: tuple[Label, ...], focus: Focus, towards: int | None) -> tuple[tuple[float, str, str], ...]:
    here = (0.0, str(focus.query), labels[focus.query].shown)
    if towards is None:
        return (here,)
    return here, (0.5, "", "t = 0.5"), (1.0, str(towards), labels[towards].shown)


def _scale(scene: HeadScene, focus: Focus) -> float | None:
    """The scale that an edit gives the head's output, None without such an edit."""
    scales = [
        edit.scale
        for edit in scene.edits
        if isinstance(edit, ScaleHead) and (edit.layer, edit.head) == (focus.layer, focus.head)
    ]
    return scales[-1] if scales else None


def _reading(
    now: Picture,
    before: Picture | None,
    labels: tuple[Label, ...],
    *,
    target: Reading,
    scale: float | None = None,
) -> Reading:
    if not now.weights.any():
        return (Piece("undefined: no observation has positive weight, so the head adds nothing"),)
    best = int(np.argmax(now.weights))
    return (
        Piece("A weighted average: "),
        Piece(share(float(now.weights[best])), strong=True),
        Piece(" of the weight is on "),
        *token_pieces(labels[best]),
        Piece(", so the head adds " if scale is None else f", so the head, scaled × {fixed(scale)}, adds "),
        Piece(signed(now.f), "direct", strong=True),
        Piece(" to the logit of "),
        *target,
        *([] if before is None else was(signed(before.f), signed(now.f))),
    )


def _rows(
    now: Picture,
    labels: tuple[Label, ...],
    focus: Focus,
    *,
    towards: int | None,
    query_at: float,
    target: Reading,
    beta: float,
    before: Picture | None,
) -> tuple[Row, ...]:
    """The correspondence table: query, observed key, response, weight, prediction (B5)."""
    key, seen = focus.key, now.scores[focus.key] > -np.inf
    weights = now.weights[None, :]
    n_effective = float(smoother.effective_number(weights)[0])
    nats = float(smoother.entropy(np.maximum(weights, 0.0))[0])
    way = str(labels[focus.query]) if towards is None else f"{labels[focus.query]} → {labels[towards]}"
    words = "".join(piece.text for piece in target)
    score = f"s = {number(now.scores[key])}"
    sharp = "" if beta == 1 else f", β {number(beta)} in s"
    return (
        Row("query", "query", "query", f"t = {fixed(query_at)}", way, "query"),
        Row("curve", "curve", "f as it moves", "", "", "query"),
        Row("key", "key", "observed key", score if seen else "masked", str(labels[key]), "key"),
        Row(
            "response",
            "response",
            "response",
            signed(now.responses[key]),
            f"its message to “{words}”",
            tip=_tip(now, before),
        ),
        Row("weight", "weight", "weight", share(float(now.weights[key])), f"exp(s) / Σ exp(s){sharp}"),
        Row("prediction", "direct", "prediction f", signed(now.f), "Σ weight × response", "direct"),
        Row("effective", "", "effective keys", number(n_effective), f"entropy {number(nats)} nats"),
    )


def _tip(now: Picture, before: Picture | None) -> str:
    """What a message is divided by, which an edit of another head changes too."""
    moved = "" if before is None else f": {number(now.sigma)}, was {number(before.sigma)}"
    return (
        "Logits that this message adds per unit of weight. The final norm divides it by its scale σ of the whole "
        f"stream, which an edit of any head or MLP changes{moved}"
    )
