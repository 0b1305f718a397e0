"""Edits: frozen values that say how a run differs from the model as it is.

An edit never touches weights. `kav.model.forward` asks, layer by layer, which edits apply there; a tuple of edits is
therefore a complete, hashable description of the edited model, and undo is a matter of keeping the previous tuple.
Positions and keys may be negative (from the end), as in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Baseline = Literal["zero", "mean", "resample"]


@dataclass(frozen=True)
class Edit:
    """Base of all edits: something that happens in one layer."""

    layer: int


@dataclass(frozen=True)
class ScaleHead(Edit):
    """Replace a head's output z by ``b + scale * (z - b)``, b the baseline; 1 = as the model runs, 0 = removed.

    baseline "zero": b = 0; "mean": b = mean of z over all positions of this prompt; "resample": b = z of the same
    head on this prompt with its positions shuffled (seeded, the same at every call). positions None = every position.
    """

    head: int
    scale: float
    baseline: Baseline = "zero"
    positions: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ScaleMlp(Edit):
    """Replace an MLP's output m by ``b + scale * (m - b)``, with the baselines of `ScaleHead`."""

    scale: float
    baseline: Baseline = "zero"
    positions: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ScaleEdge(Edit):
    """Scale the message of one source token, after the softmax: nothing is renormalised. query None = every query."""

    head: int
    key: int
    scale: float
    query: int | None = None


@dataclass(frozen=True)
class MaskKeys(Edit):
    """Remove keys before the softmax: the other weights are renormalised. queries None = every query."""

    head: int
    keys: tuple[int, ...]
    queries: tuple[int, ...] | None = None


@dataclass(frozen=True)
class SetScore(Edit):
    """Set one score (scaled, before the softmax) to `value`. The cell must be visible."""

    head: int
    query: int
    key: int
    value: float


@dataclass(frozen=True)
class SetTemperature(Edit):
    """Multiply all scores of a head by the inverse temperature `beta` >= 0; 1 = as the model runs."""

    head: int
    beta: float


@dataclass(frozen=True)
class MoveQuery(Edit):
    """Move one token's query towards another's: ``q_query + t * (q_towards, rotated to position query, - q_query)``.

    t = 0 leaves the head alone, t = 1 asks the other token's question from this token's place.
    """

    head: int
    query: int
    towards: int
    t: float
