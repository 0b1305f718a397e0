"""What a head moves, read along one direction: the responses of the kernel picture, and weights that go with them.

Key j's *message* to query i is ``v_j W_O``; read along the target's logit direction u with the final norm frozen at
i it is ``y_ij = (v_j W_O) . u / sigma_i``, a number of logits, and ``sum_j alpha_ij y_ij`` is the head's direct
contribution. Values come with their bias, which every key carries because weights sum to 1.

References
----------
Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits" (the path through W_OV to the logits).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.arrays import Array, namespace, to_host
from kav.effects import attribution
from kav.model.config import Config
from kav.model.edits import ScaleHead
from kav.model.layers import norm_scale
from kav.model.trace import Trace


def final_scale(trace: Trace, first: int, stop: int) -> np.ndarray:
    """Return sigma of the final norm at a range of positions, shape (n,), float64."""
    scale = norm_scale(trace.model.config, trace.resid_final[first:stop, :])
    return to_host(scale)[:, 0].astype(np.float64)


@dataclass(frozen=True)
class Messages:
    """Messages of all keys to a range of queries, in logits: ``y_ij = gain_i * message_j + shift_i``.

    Parameters
    ----------
    message : array, shape (n_keys,)
        ``v_j W_O . u``, before the final norm's scale.
    gain, shift : array, shape (n_queries,)
        1 / sigma_i, times the head's dose there; and the share of a dose's baseline, the same for all keys.
    """

    message: np.ndarray
    gain: np.ndarray
    shift: np.ndarray

    def block(self) -> np.ndarray:
        """Return y, shape (n_queries, n_keys)."""
        return np.asarray(self.gain[:, None] * self.message[None, :] + self.shift[:, None])


def messages(trace: Trace, layer: int, head: int, *, direction: Array, queries: slice, weights: np.ndarray) -> Messages:
    """Return the messages of one head along a direction.

    Parameters
    ----------
    trace : Trace
    layer, head : int
    direction : array, shape (d_model,)
        `kav.effects.attribution.logit_direction`.
    queries : slice
        Range of positions, start and stop given.
    weights : array, shape (n_queries, n_tokens)
        The head's pattern at those queries.

    Returns
    -------
    Messages
        ``sum_j weights_ij y_ij`` is the head's direct contribution at i, doses of the head included.
    """
    message = to_host(attribution.messages(trace, layer, direction)[head, :]).astype(np.float64)
    sigma = final_scale(trace, queries.start, queries.stop)
    dose = dose_at(trace, layer, head, queries=queries)
    shift = np.zeros_like(sigma)
    if _has_baseline(trace, layer, head):
        z = trace.layers[layer].z[head, queries.start : queries.stop, :]
        wrote = z @ (trace.model.weights.blocks[layer].W_O[head, :, :] @ direction)  # (n_queries,)
        lacking = to_host(wrote).astype(np.float64) - dose * (weights @ message)
        total = weights.sum(axis=-1)
        shift = np.where(total > 0, lacking / np.where(total > 0, total, 1.0), 0.0) / sigma
    return Messages(message, dose / sigma, shift)


def dose_at(trace: Trace, layer: int, head: int, *, queries: slice) -> np.ndarray:
    """Return what a head's own contribution is scaled by at each query of a range, 1 where it runs as it is."""
    dose = np.ones(queries.stop - queries.start)
    for edit in _doses(trace, layer, head):
        if edit.positions is None:
            dose *= edit.scale
        for position in edit.positions or ():
            if queries.start <= position < queries.stop:
                dose[position - queries.start] *= edit.scale
    return dose


def _doses(trace: Trace, layer: int, head: int) -> list[ScaleHead]:
    return [edit for edit in trace.edits_of(layer) if isinstance(edit, ScaleHead) and edit.head == head]


def _has_baseline(trace: Trace, layer: int, head: int) -> bool:
    return any(edit.baseline != "zero" for edit in _doses(trace, layer, head))


def message_norms(trace: Trace, layer: int, head: int) -> np.ndarray:
    """Return the length of each key's message, ``|v_j W_O|``, shape (n_tokens,), by the d_head x d_head Gram matrix."""
    W_O = trace.model.weights.blocks[layer].W_O[head, :, :]
    xp = namespace(W_O)
    v = trace.layers[layer].v[trace.model.config.kv_head(head), :, :]
    square = xp.sum((v @ (W_O @ xp.matrix_transpose(W_O))) * v, axis=-1)
    return np.sqrt(np.maximum(to_host(square).astype(np.float64), 0.0))


def score_title(config: Config) -> str:
    """Return the words for a score: ``q·k/√d_head``, or the family's own scale."""
    return f"q·k × {config.scale:.3g}" if config.scale else "q·k/√d_head"
