"""Attribution, head scene: the target's logit at the query as a sum of heads, embedding, MLPs and biases (T1, T3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.arrays import namespace, to_host
from kav.effects.attribution import Attribution, attribution
from kav.model.trace import Trace
from kav.task import Task
from kav.views.attribution import Part, Result, Spec
from kav.views.predictions import predictions, target_pieces, token_label, vocabulary_label
from kav.views.scene import Focus, HeadScene, as_head, resolve
from kav.views.words import Piece, Reading, signed, was

_KINDS = {"head": "head", "mlp": "mlp", "embedding": "embedding", "position": "embedding", "norm bias": "norm"}

KEPT = 1 << 26
"""Bytes up to which a sum with all its source tokens is kept for the next result."""


@dataclass(frozen=True, eq=False)
class Known:
    """The sum of one run at one place, whatever head is looked at, and the logit lens there."""

    trace: Trace
    at: tuple[int, int, int | None]  # query, target, foil
    attribution: Attribution
    lens: np.ndarray

    def is_of(self, trace: Trace, focus: Focus) -> bool:
        """Return whether it answers what is asked now."""
        return self.trace is trace and self.at == (focus.query, focus.target, focus.foil)


def compute(spec: Spec, task: Task, last: Result | None = None) -> Result:
    """Return the parts of the target's logit (or logit difference) at the query, and the predictions there."""
    scene = as_head(spec.scene)
    focus = resolve(scene)
    known = last.known if last is not None and last.kind == "head" else ()
    now = _of(scene.trace, focus, known)
    task.report(0.5)
    earlier = None if scene.before is None else _of(scene.before, focus, known)
    return _result(scene, focus, now, earlier)


def _result(scene: HeadScene, focus: Focus, own: Known, earlier: Known | None) -> Result:
    now, before = own.attribution, None if earlier is None else earlier.attribution
    return Result(
        kind="head",
        reading=_reading(scene, focus, now, before=before),
        parts=_parts(scene, focus, now, before=before),
        total=float(now.values.sum()),
        total_before=None if before is None else float(before.values.sum()),
        target=vocabulary_label(scene.base.model, focus.target),
        read_at=token_label(scene.trace, focus.query),
        unit="logits",
        predictions=predictions(scene, focus),
        lens=own.lens,
        total_name=("logit" if focus.foil is None else "logit difference") + (", before softcap" if now.capped else ""),
        known=tuple(one for one in (own, earlier) if one is not None and one.attribution.sources.nbytes <= KEPT),
    )


def _of(trace: Trace, focus: Focus, known: tuple[object, ...]) -> Known:
    """The sum of one run, taken from what is known of it: another head asks for the same one."""
    for found in known:
        if isinstance(found, Known) and found.is_of(trace, focus):
            return found
    at = (focus.query, focus.target, focus.foil)
    return Known(trace, at, attribution(trace, *at), lens(trace, focus.query, focus.target))


def _parts(scene: HeadScene, focus: Focus, now: Attribution, *, before: Attribution | None) -> tuple[Part, ...]:
    """All parts by size, the sources of the selected head right after it; places of the bars filled in."""
    old = {} if before is None else dict(zip(before.components, before.values.tolist(), strict=True))
    rows, at = [], 0.0
    for index in np.argsort(-np.abs(now.values), kind="stable"):
        component, value = now.parts[index], float(now.values[index])
        selected = component.kind == "head" and (component.layer, component.head) == (focus.layer, focus.head)
        rows.append(
            Part(
                _KINDS.get(component.kind, "bias"),
                component.name,
                value,
                at,
                selected,
                layer=component.layer,
                head=component.head,
                before=old.get(component.name),
            )
        )
        if selected:
            rows.extend(_sources(scene, focus, now, before=before, at=at))
        at += value
    return tuple(rows)


def _sources(scene: HeadScene, focus: Focus, now: Attribution, *, before: Attribution | None, at: float) -> list[Part]:
    """The selected head's value as the selected key's message and all others together."""
    config = scene.trace.model.config
    n_others = (focus.query if config.causal else scene.trace.n_tokens - 1) or 0
    here = now.sources[focus.layer, focus.head]
    old = None if before is None else before.sources[focus.layer, focus.head]
    value = float(here[focus.key])
    label = token_label(scene.trace, focus.key)
    rows = [
        Part(
            "source",
            f"from {label}",
            value,
            at,
            label=label,
            is_key=True,
            index=focus.key,
            before=None if old is None else float(old[focus.key]),
            layer=focus.layer,
            head=focus.head,
        )
    ]
    if n_others:
        rest = None if old is None else float(old.sum() - old[focus.key])
        name = f"from {n_others} other key{'s' if n_others > 1 else ''}"
        amount = float(here.sum()) - value
        place = (focus.layer, focus.head)
        rows.append(Part("other-sources", name, amount, at + value, layer=place[0], head=place[1], before=rest))
    return rows


def lens(trace: Trace, position: int, target: int) -> np.ndarray:
    """Return the target's log-probability read from every layer's stream, (n_layers + 1,).

    References
    ----------
    nostalgebraist 2020, "interpreting GPT: the logit lens".
    """
    streams = [trace.resid_pre(layer)[position : position + 1, :] for layer in range(trace.model.config.n_layers + 1)]
    logits = to_host(trace.model.unembed(namespace(streams[0]).concat(streams, axis=0))).astype(np.float64)
    largest = logits.max(axis=-1)
    total = largest + np.log(np.exp(logits - largest[:, None]).sum(axis=-1))
    return np.asarray(logits[:, target] - total)


def _reading(scene: HeadScene, focus: Focus, now: Attribution, *, before: Attribution | None) -> Reading:
    """What the head moves and of how much, each with what it was before the edits."""
    place = (focus.layer, focus.head)
    moved, total = signed(float(now.heads[place])), signed(now.total)
    old = (moved, total) if before is None else (signed(float(before.heads[place])), signed(before.total))
    return (
        Piece(f"Head {focus.layer}.{focus.head} moves "),
        Piece(moved, "direct", strong=True),
        *was(old[0], moved, within=True),
        Piece(" of "),
        Piece(total, strong=True),
        *was(old[1], total, within=True),
        Piece(" logits of "),
        *target_pieces(scene, focus),
    )
