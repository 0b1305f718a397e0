"""Edits: frozen values that say how a run differs from the model as it is.

An edit never touches weights. `kav.model.forward` asks, layer by layer, which edits apply there; a tuple of edits is
therefore a complete, hashable description of the edited model, and undo is a matter of keeping the previous tuple.
Positions and keys may be negative (from the end), as in Python.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Literal, get_args

from kav.errors import ModelError
from kav.model.config import Config

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
    """Set one score (scaled, before the softmax) to `value`. The cell must be visible.

    The value is what enters the softmax: it is set after `SetTemperature`, and `MaskKeys` wins over it.
    """

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


LARGEST = 1e6
"""Largest number of an edit, either way: far beyond any effect, and float32 sums of squares stay finite."""

SCORE_EDITS = (SetTemperature, SetScore, MaskKeys)
"""Edits of the scores, in the order in which they act whatever their place in the tuple."""


def of_layer(edits: tuple[Edit, ...], layer: int) -> tuple[Edit, ...]:
    """Return the edits that act in `layer`, in order."""
    return tuple(edit for edit in edits if edit.layer == layer)


def resolve(edits: Iterable[Edit], config: Config, n_tokens: int) -> tuple[Edit, ...]:
    """Return the edits with non-negative positions, checked against a model and a prompt length.

    Raises
    ------
    ModelError
        If a layer, head, position, scale or baseline is not one of this model and prompt.
    """
    return tuple(_resolve_one(edit, config, n_tokens) for edit in edits)


def _resolve_one(edit: Edit, config: Config, n_tokens: int) -> Edit:
    if not isinstance(edit, Edit):
        raise ModelError(f"an edit must be one of kav's edits, got {type(edit).__name__}")
    name = type(edit).__name__
    _check_range(f"layer of {name}", edit.layer, config.n_layers)
    values = {item.name: getattr(edit, item.name) for item in fields(edit)}
    if "head" in values:
        _check_range(f"head of {name}", values["head"], config.n_heads)
    for key in ("scale", "value", "beta", "t"):
        if key in values and not abs(values[key]) <= LARGEST:  # NaN fails this too
            raise ModelError(f"{key} of {name} must be in -{LARGEST:g}..{LARGEST:g}, got {values[key]}")
    if isinstance(edit, SetTemperature) and edit.beta < 0:
        raise ModelError(f"beta of {name} must be >= 0, got {edit.beta}", "use ScaleHead to turn an output around")
    if values.get("baseline", "zero") not in get_args(Baseline):
        raise ModelError(f"baseline of {name} must be one of {get_args(Baseline)}, got {values['baseline']!r}")
    if isinstance(edit, ScaleMlp) and config.attention_only:
        raise ModelError(f"{name} must name a model with MLPs, got an attention-only one", "scale a head")
    for key in ("query", "key", "towards"):
        if values.get(key) is not None:
            values[key] = _place(f"{key} of {name}", values[key], n_tokens)
    for key in ("keys", "queries", "positions"):
        if values.get(key) is not None:
            values[key] = tuple(sorted({_place(f"{key} of {name}", place, n_tokens) for place in values[key]}))
    if isinstance(edit, SetScore) and not config.sees(edit.layer, values["query"], values["key"]):
        raise ModelError(f"SetScore must name a visible cell, got query {values['query']}, key {values['key']}")
    return replace(edit, **values)


def _check_range(what: str, index: int, n: int) -> None:
    if not 0 <= index < n:
        raise ModelError(f"{what} must be in 0..{n - 1}, got {index}")


def _place(what: str, position: int, n_tokens: int) -> int:
    """Return a position counted from the start."""
    if not -n_tokens <= position < n_tokens:
        raise ModelError(f"{what} must be in {-n_tokens}..{n_tokens - 1}, got {position}")
    return position % n_tokens


def needs_whole_prompt(edits: tuple[Edit, ...]) -> bool:
    """Return whether an edit's baseline is made from all positions, so that no row can be computed alone."""
    return any(isinstance(edit, ScaleHead | ScaleMlp) and edit.baseline != "zero" for edit in edits)


def first_row(edit: Edit) -> int:
    """Return the smallest query position whose output a resolved edit can change, in a causal model."""
    if isinstance(edit, ScaleHead | ScaleMlp):
        return 0 if edit.positions is None else min(edit.positions, default=0)
    if isinstance(edit, ScaleEdge):
        return edit.key if edit.query is None else edit.query
    if isinstance(edit, MaskKeys):
        return min(edit.keys if edit.queries is None else edit.queries, default=0)
    if isinstance(edit, SetScore | MoveQuery):
        return edit.query
    return 0
