"""What every panel is asked about: one head of one run, or one query of one sample set.

A scene is frozen and compares by value (traces and sample sets by identity), so a panel can tell in one comparison
whether there is anything new to compute.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.errors import KavError
from kav.model.edits import Edit, MoveQuery
from kav.model.trace import Trace
from kav.regression.samples import Samples


@dataclass(frozen=True)
class Selection:
    """What is selected. None means "the obvious one", resolved by `resolve` on the unedited run.

    Parameters
    ----------
    layer, head, query, key : int
        query None = last token; key None = the key with the largest weight in the query's row.
    target, foil : int or None
        Token ids. target None = the top prediction at the query; foil None = no foil.
    """

    layer: int = 0
    head: int = 0
    query: int | None = None
    key: int | None = None
    target: int | None = None
    foil: int | None = None


@dataclass(frozen=True)
class Focus:
    """A selection with nothing left open: non-negative positions and token ids of the run at hand."""

    layer: int
    head: int
    query: int
    key: int
    target: int
    foil: int | None


@dataclass(frozen=True)
class HeadScene:
    """One head of one run. `before` is the unedited run while edits are active, else None; towards = other query."""

    trace: Trace
    selection: Selection
    edits: tuple[Edit, ...] = ()
    before: Trace | None = None
    towards: int | None = None  # token whose query the hero's curve moves to; None = the one before the query

    @property
    def base(self) -> Trace:
        """The run without edits."""
        return self.trace if self.before is None else self.before


@dataclass(frozen=True)
class RegressionScene:
    """One query of one sample set under one kernel."""

    samples: Samples
    kernel: str = "gaussian"
    h: float = 1.0
    x_query: float = 0.0
    selected: int | None = None  # index of a sample; None = the one with the largest weight at the query
    doses: tuple[tuple[int, float], ...] = ()  # (sample, scale of its kernel weight), edits of this scene
    responses: tuple[tuple[int, float], ...] = ()  # (sample, scale of its response): `samples` hold it scaled already
    before: RegressionScene | None = None  # the scene without doses and scales while there are any

    @property
    def base(self) -> RegressionScene:
        """The scene without edits."""
        return self if self.before is None else self.before


Scene = HeadScene | RegressionScene


@dataclass(frozen=True)
class Example:
    """A prompt for the bundled model and the head to look at first."""

    prompt: str
    layer: int
    head: int


DEFAULT = Example("A dark green carriage passed our house. My sister admired that dark green", layer=1, head=0)
"""What the window opens with: the head finds the earlier "dark green" and reads what came after it."""


def as_head(scene: Scene) -> HeadScene:
    """Return the scene as a head scene.

    Raises
    ------
    KavError
        If it is a regression scene: the dispatching `compute` of the panel picks the right module.
    """
    if not isinstance(scene, HeadScene):
        raise KavError(f"scene must be a head scene, got {type(scene).__name__}")
    return scene


def resolve(scene: HeadScene) -> Focus:
    """Return the scene's selection with every open choice made, on the unedited run, clamped to what exists.

    The key is never one that the query cannot see. Selected key and target stay those of the unedited run while edits
    are active, so that what an edit moves keeps its marks.
    """
    trace, chosen = scene.base, scene.selection
    config = trace.model.config
    layer, head = _clamp(chosen.layer, config.n_layers), _clamp(chosen.head, config.n_heads)
    query = _place(chosen.query, trace.n_tokens)
    n_seen = query + 1 if config.causal else trace.n_tokens
    key = (
        _most_seen(trace, layer, head, query=query)
        if chosen.key is None
        else min(_place(chosen.key, trace.n_tokens), n_seen - 1)
    )
    target = _target(trace, query) if chosen.target is None else _clamp(chosen.target, config.d_vocab)
    foil = None if chosen.foil is None else _clamp(chosen.foil, config.d_vocab)
    return Focus(layer, head, query, key, target, None if foil == target else foil)


def towards_of(scene: HeadScene, focus: Focus) -> int | None:
    """Return the position whose query the curve moves to: the edit's, the scene's, the one before, or None.

    None only where the prompt is a single token.
    """
    moved = moved_query(scene.trace, focus)
    if moved is not None:
        return moved.towards
    if scene.towards is not None:
        return _place(scene.towards, scene.base.n_tokens)
    if scene.base.n_tokens == 1:
        return None
    return focus.query - 1 if focus.query > 0 else 1


def moved_query(trace: Trace, focus: Focus) -> MoveQuery | None:
    """Return the edit that moves the selected query in the selected head, the last one if there are several."""
    found = [
        edit
        for edit in trace.edits_of(focus.layer)
        if isinstance(edit, MoveQuery) and edit.head == focus.head and edit.query == focus.query
    ]
    return found[-1] if found else None


def _target(trace: Trace, query: int) -> int:
    """The top prediction; the query's own token where the model predicts nothing."""
    return int(np.argmax(trace.logits(query))) if trace.model.config.has_logits else trace.tokens.ids[query]


def _clamp(index: int, n: int) -> int:
    return min(max(index, 0), n - 1)


def _place(position: int | None, n_tokens: int) -> int:
    """A position counted from the start; None = the last, negative = from the end."""
    if position is None:
        return n_tokens - 1
    return _clamp(position + n_tokens if position < 0 else position, n_tokens)


def _most_seen(trace: Trace, layer: int, head: int, *, query: int) -> int:
    return int(np.argmax(trace.pattern(layer, head, slice(query, query + 1))[0, :]))
