"""What every head does on one prompt, cheaply enough to be said while the prompt is typed.

The masses are those of `kav.circuits.head_scores`, taken on the prompt at hand and at a fixed number of its queries, so
that no whole pattern is formed: the work grows with n_tokens, not with its square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kav.arrays import to_host
from kav.circuits.head_scores import wanted_keys
from kav.model.attention import chosen_rows, pattern
from kav.model.edits import SCORE_EDITS, ScaleEdge
from kav.model.trace import Trace

MOST_ROWS = 64
"""Queries by which heads are judged on a prompt that somebody is typing."""

REPEATING = ("prefix_matching", "duplicate_token")
"""Scores of queries whose token occurred before."""

_ROLES = {
    "induction": "prefix_matching",
    "duplicate": "duplicate_token",
    "previous": "previous_token",
    "itself": "itself",
    "first token": "first_token",
}

NAMED = 0.5
"""Mass from which a role names a head; below it the head is "mixed"."""


class Role(NamedTuple):
    """A head's role on one prompt: its name, and the mass that the name is based on."""

    name: str  # "previous", "induction", "duplicate", "first token", "itself" or "mixed"
    score: float


def prompt_roles(trace: Trace) -> tuple[tuple[Role, ...], ...]:
    """Return what every head does on this prompt, ``[layer][head]``.

    A head is named by its largest mean mass if that is at least one half, and "mixed" otherwise. "induction" (what
    followed an earlier occurrence of the query's token) and "duplicate" (that occurrence) are means over the queries
    whose token occurred before, the others over all queries but the first.

    The first token collects what a head has no use for: an induction head rests on it at all queries whose token is
    new. So "first token" names a head only if nothing else holds at least one half where it can, and mass on the first
    token names a head otherwise only if that mass is not there at every query.

    A prompt of more than `MOST_ROWS` tokens is judged by that many evenly spaced queries, and for the first two by
    half as many of those whose token occurred before.

    Parameters
    ----------
    trace : Trace
        Edits count: an edited head is named by what it does now.
    """
    queries = judged(trace.tokens.ids)
    return tuple(
        layer_roles(trace, queries, rows_at(trace, layer, queries)) for layer in range(trace.model.config.n_layers)
    )


@dataclass(frozen=True)
class Judged:
    """Queries by which heads are judged, increasing; `even` and `repeated` say which of them serve for what.

    Parameters
    ----------
    queries : array, shape (n_judged,)
    even, repeated : array, shape (n_judged,), bool
        Evenly spaced over the prompt; and among those whose token occurred before.
    """

    queries: np.ndarray
    even: np.ndarray
    repeated: np.ndarray


def judged(ids: Sequence[int], most: int = MOST_ROWS) -> Judged:
    """Return the queries by which heads are judged on a prompt: all of them if there are no more than `most`."""
    n = len(ids)
    if n <= most:
        every = np.ones(n, dtype=bool)
        return Judged(np.arange(n), every, every)
    even = np.linspace(0, n - 1, most).astype(int)
    again = np.setdiff1d(np.arange(n), np.unique(np.asarray(ids), return_index=True)[1])
    repeated = again[np.linspace(0, len(again) - 1, min(len(again), most // 2)).astype(int)]
    queries = np.union1d(even, repeated)
    return Judged(queries, np.isin(queries, even), np.isin(queries, repeated))


def rows_at(trace: Trace, layer: int, queries: Judged, heads: slice | None = None) -> np.ndarray:
    """Return the judged rows of the heads of a layer, edits included, shape (n_heads, n_judged, n_tokens).

    Parameters
    ----------
    heads : slice or None
        Whole groups of heads that share keys, start and stop given; None = all heads.
    """
    step, config, edits = trace.layers[layer], trace.model.config, trace.edits_of(layer)
    first, stop = (0, config.n_heads) if heads is None else (heads.start, heads.stop)
    q, k = step.q[first:stop, :, :], step.k[config.kv_head(first) : config.kv_head(stop - 1) + 1, :, :]
    if not any(isinstance(edit, (ScaleEdge, *SCORE_EDITS)) for edit in edits):
        return to_host(chosen_rows(config, q, k, queries.queries, layer=layer))
    rows = [
        to_host(pattern(config, q[:, at : at + 1, :], k, layer=layer, edits=edits, corner=(first, at, 0)))
        for at in queries.queries.tolist()
    ]
    return np.concatenate(rows, axis=1)


def layer_roles(trace: Trace, queries: Judged, rows: np.ndarray) -> tuple[Role, ...]:
    """Return the roles of the heads whose judged rows are given, as `prompt_roles` does."""
    keys = wanted_keys(trace.tokens.ids, queries.queries)
    masses, apart = {}, {}
    for name, key in _ROLES.items():
        serving, wanted = queries.repeated if key in REPEATING else queries.even, keys[key]
        masses[name] = _mean_masses(rows, wanted, serving)
        apart[name] = _mean_masses(rows, wanted & (np.arange(wanted.shape[-1]) > 0), serving)
    return tuple(_role(_of_head(masses, head), _of_head(apart, head)) for head in range(rows.shape[0]))


def _mean_masses(rows: np.ndarray, wanted: np.ndarray, serving: np.ndarray) -> np.ndarray:
    """Mean mass of every head on the wanted keys, over the queries that serve and want any, shape (n_heads,)."""
    chosen = np.flatnonzero(serving & wanted.any(axis=-1))
    if not len(chosen):
        return np.zeros(rows.shape[0])
    at, key = np.nonzero(wanted[chosen])  # few keys of each row: gather them
    return np.asarray(rows[:, chosen[at], key].sum(axis=-1, dtype=np.float64) / len(chosen))


def _of_head(masses: dict[str, np.ndarray], head: int) -> dict[str, float]:
    return {name: float(found[head]) for name, found in masses.items()}


def _role(masses: dict[str, float], apart: dict[str, float]) -> Role:
    """The role of one head by its masses, and by those without the first token's share."""
    name = max(apart, key=apart.__getitem__)
    if apart[name] < NAMED:
        name = "first token" if masses["first token"] >= NAMED else max(masses, key=masses.__getitem__)
    return Role(name if masses[name] >= NAMED else "mixed", masses[name])
