"""What heads do, in numbers: where their attention goes on random repeated tokens, or on one prompt.

On random tokens nothing but position and repetition can be attended to, so that a head's mass on "the token before",
"the same token earlier" or "what followed the same token earlier" is its role. Masses are means over the queries for
which the key exists. On a prompt the same masses name a head, with less certainty: `kav.circuits.roles`.

References
----------
Olsson et al. 2022, "In-context Learning and Induction Heads", appendix on head scores; Elhage et al. 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kav import smoother
from kav.arrays import to_host
from kav.circuits.copying import copying_scores
from kav.circuits.qk_ov import predicts_directly
from kav.errors import KavError
from kav.model.model import Model
from kav.model.trace import Trace, run
from kav.task import Task

BLOCK = 25
"""How many random tokens are repeated."""

MARGIN = 0.04
"""Share of the vocabulary left out at either end: the most common tokens and the rarest."""

MOST_QUERIES = 512
"""Longer prompts are judged by their last queries, so that no whole pattern of a long prompt is formed."""


@dataclass(frozen=True, eq=False)
class HeadScores:
    """Scores of all heads on repeated random tokens, each (n_layers, n_heads).

    Parameters
    ----------
    previous_token, itself, first_token : array
        Mean mass on the token before, the query's own token, the first token.
    duplicate_token : array
        Mean mass on earlier occurrences of the query's token, from the second repeat on.
    prefix_matching : array
        Mean mass on the tokens that followed those occurrences.
    entropy : array
        Mean entropy of a row in nats.
    distance : array
        Mean of query position - key position under the pattern.
    copying : array
        `kav.copying_score`, from weights; NaN where heads do not write to the logits directly.
    """

    previous_token: np.ndarray
    itself: np.ndarray
    first_token: np.ndarray
    duplicate_token: np.ndarray
    prefix_matching: np.ndarray
    entropy: np.ndarray
    distance: np.ndarray
    copying: np.ndarray


def head_scores(
    model: Model, n_repeats: int = 4, seed: int = 0, *, n_samples: int = 8, task: Task | None = None
) -> HeadScores:
    """Return where every head attends on random tokens that repeat, and how much it copies.

    A sample is a start token (if the model has one) and 25 different random tokens, `n_repeats` times over; fewer where
    vocabulary or context have no room for them.

    Parameters
    ----------
    model : Model
    n_repeats : int
        At least 2.
    seed : int
    n_samples : int
        How many such prompts are averaged.
    task : Task or None
        Told after each sample; may cancel.

    Returns
    -------
    HeadScores

    Raises
    ------
    KavError
        If there are fewer than 2 repeats or no sample, or the context has no room for one token per repeat.

    References
    ----------
    Olsson et al. 2022, appendix: prefix matching over repeated random tokens.
    """
    if n_repeats < 2 or n_samples < 1:
        raise KavError(f"n_repeats must be >= 2 and n_samples >= 1, got {n_repeats} and {n_samples}")
    rng = np.random.default_rng(seed)
    samples = []
    for sample in range(n_samples):
        samples.append(_masses(run(model, model.tokens(repeated_ids(model, n_repeats, rng)))))
        if task is not None:
            task.report((sample + 1) / n_samples)
    mean = {name: np.mean([found[name] for found in samples], axis=0) for name in samples[0]}
    copying = copying_scores(model) if predicts_directly(model) else np.full_like(mean["entropy"], np.nan)
    return HeadScores(**mean, copying=copying)


def repeated_ids(model: Model, n_repeats: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Return the ids of one sample: the start token if there is one, then the same random tokens again and again."""
    d_vocab, bos = model.config.d_vocab, None if model.tokenizer is None else model.tokenizer.bos_id
    start = () if bos is None else (bos,)
    low = int(MARGIN * d_vocab)
    n_block = min(BLOCK, d_vocab - 2 * low, (model.config.n_ctx - len(start)) // n_repeats)
    if n_block < 1:
        raise KavError(f"n_repeats must fit the context of {model.config.n_ctx} tokens, got {n_repeats}")
    block = tuple(int(i) for i in low + rng.choice(d_vocab - 2 * low, size=n_block, replace=False))
    return start + block * n_repeats


def _masses(trace: Trace) -> dict[str, np.ndarray]:
    """Mean masses of every head's pattern, each (n_layers, n_heads)."""
    config = trace.model.config
    first = max(0, trace.n_tokens - MOST_QUERIES)
    keys = wanted_keys(trace.tokens.ids, np.arange(first, trace.n_tokens))
    rows = [
        [_head_masses(trace.pattern(layer, head, slice(first, None)), keys, first) for head in range(config.n_heads)]
        for layer in range(config.n_layers)
    ]
    return {name: np.array([[masses[name] for masses in row] for row in rows]) for name in rows[0][0]}


def _head_masses(pattern: np.ndarray, keys: dict[str, np.ndarray], first: int) -> dict[str, float]:
    found = {name: _mean_mass(pattern, wanted) for name, wanted in keys.items()}
    found["entropy"] = float(to_host(smoother.entropy(pattern)).mean())
    behind = np.arange(first, first + pattern.shape[0])[:, None] - np.arange(pattern.shape[1])[None, :]
    found["distance"] = float((pattern * behind).sum(axis=-1).mean())
    return found


def _mean_mass(pattern: np.ndarray, wanted: np.ndarray) -> float:
    """Mean over the queries that have a wanted key of the mass on wanted keys; 0 if no query has one."""
    rows = wanted.any(axis=-1)
    return float((pattern * wanted).sum(axis=-1)[rows].mean()) if rows.any() else 0.0


def wanted_keys(ids: Sequence[int], queries: np.ndarray) -> dict[str, np.ndarray]:
    """Which keys each score looks for, bool (n_queries, n_tokens), at the queries given; query 0 has none."""
    token = np.asarray(ids)
    query, key = queries[:, None], np.arange(len(token))[None, :]
    same = (token[queries][:, None] == token[None, :]) & (key < query)  # an earlier occurrence of the query's token
    followed = np.zeros_like(same)
    followed[:, 1:] = same[:, :-1]
    later = query > 0
    return {
        "previous_token": (key == query - 1) & later,
        "itself": (key == query) & later,
        "first_token": (key == 0) & later,
        "duplicate_token": same,
        "prefix_matching": followed & (key < query),
    }
