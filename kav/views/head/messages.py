"""What a head moves, read along one direction: the responses of the kernel picture, and weights that go with them.

Key j's *message* to query i is ``v_j W_O``; read along the target's logit direction w_i with every norm behind it
frozen at i (`kav.effects.readout`) it is ``y_ij = (v_j W_O) . w_i``, a number of logits, and ``sum_j alpha_ij y_ij`` is
the head's direct contribution. Values come with their bias, which every key carries because weights sum to 1.

References
----------
Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits" (the path through W_OV to the logits).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kav.arrays import namespace, to_host
from kav.effects.readout import Readout
from kav.model.edits import ScaleHead, SetTemperature
from kav.model.head import attention_output
from kav.model.layers import centre, norm_scale
from kav.model.rows import ROWS
from kav.model.trace import Trace
from kav.views.words import number


@dataclass(frozen=True)
class Messages:
    """Messages of all keys to a range of queries, in logits: ``y_ij = dose_i * read_i . v_j + shift_i``.

    Parameters
    ----------
    reads : array, shape (n_queries, d_head)
        Along which direction of the values the target's logit is read at each query, every norm's scale frozen.
    values : array, shape (n_keys, d_head)
    dose : array, shape (n_queries,)
        What the head's own contribution is scaled by.
    shift : array, shape (n_queries,)
        The share of a dose's baseline, the same for all keys.
    """

    reads: np.ndarray
    values: np.ndarray
    dose: np.ndarray
    shift: np.ndarray

    def block(self, queries: slice = slice(None), keys: slice = slice(None)) -> np.ndarray:
        """Return y of a part of the queries, counted from the first of the range, and of the keys."""
        y = self.reads[queries] @ self.values[keys].T
        return np.asarray(self.dose[queries, None] * y + self.shift[queries, None])


def messages(trace: Trace, layer: int, head: int, *, to: tuple[int, int | None], queries: slice) -> Messages:
    """Return the messages of one head to a target's logit, less that of a foil.

    Parameters
    ----------
    trace : Trace
    layer, head : int
    to : tuple of int and int or None
        Target and foil.
    queries : slice
        Range of positions, start and stop given.

    Returns
    -------
    Messages
        ``sum_j alpha_ij y_ij`` is the head's direct contribution at i, doses of the head included.
    """
    block, step = trace.model.weights.blocks[layer], trace.layers[layer]
    direction = Readout(trace, (queries.start, queries.stop), *to).attention(layer)  # (n_rows, d_model)
    W_O = block.W_O[head, :, :]
    reads = to_host(direction @ namespace(W_O).matrix_transpose(W_O)).astype(np.float64)  # (n_rows, d_head)
    n_queries = queries.stop - queries.start
    reads = np.broadcast_to(reads, (n_queries, reads.shape[-1]))
    values = to_host(step.v[trace.model.config.kv_head(head), :, :]).astype(np.float64)
    dose = dose_at(trace, layer, head, queries=queries)
    shift = np.zeros(n_queries)
    if _has_baseline(trace, layer, head):
        z = to_host(step.z[head, queries.start : queries.stop, :]).astype(np.float64)
        wrote = (z * reads).sum(axis=-1)  # (n_queries,)
        total, moved = _averages(trace, layer, head, queries=queries, reads=reads, values=values)
        lacking = wrote - dose * moved
        shift = np.where(total != 0, lacking / np.where(total != 0, total, 1.0), 0.0)  # an edge may weigh less than 0
    return Messages(reads, values, dose, shift)


def _averages(
    trace: Trace, layer: int, head: int, *, queries: slice, reads: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Each query's sum of weights and of weight x message before any dose, (n_queries,), a block of rows at a time."""
    total, moved = (np.zeros(queries.stop - queries.start) for _ in range(2))
    for at in range(0, len(total), ROWS):
        here = slice(at, min(at + ROWS, len(total)))
        weights = trace.pattern(layer, head, slice(queries.start + here.start, queries.start + here.stop))
        total[here] = weights.sum(axis=-1)
        moved[here] = ((weights @ values) * reads[here]).sum(axis=-1)
    return total, moved


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


def message_norms(trace: Trace, layer: int, head: int, *, queries: slice) -> tuple[np.ndarray, np.ndarray]:
    """Return the length of each key's message, ``|v_j W_O|``, and what divides all of them at each query.

    By the d_head x d_head Gram matrix. A norm after attention stretches messages by its gain and divides them by its
    scale at the query; without one, nothing divides them.

    Returns
    -------
    norms : array, shape (n_tokens,)
    scale : array, shape (n_queries,)
    """
    config, block = trace.model.config, trace.model.weights.blocks[layer]
    W_O, scale = block.W_O[head, :, :], np.ones(queries.stop - queries.start)
    if block.norm1_out is not None and config.norm_place != "stream":
        W_O = centre(config, W_O) * block.norm1_out.gain
        out = attention_output(trace, layer, (queries.start, queries.stop))
        scale = to_host(norm_scale(config, out))[:, 0].astype(np.float64)
    xp = namespace(W_O)
    v = trace.layers[layer].v[config.kv_head(head), :, :]
    square = xp.sum((v @ (W_O @ xp.matrix_transpose(W_O))) * v, axis=-1)
    return np.sqrt(np.maximum(to_host(square).astype(np.float64), 0.0)), scale


def score_title(trace: Trace, layer: int, head: int) -> str:
    """Return the words for a score: ``q·k/√d_head``, or the layer's own scale."""
    return f"q·k{scaling(trace, layer, head)}".replace(" / ", "/")


def scaling(trace: Trace, layer: int, head: int) -> str:
    """Return what q·k goes through to become a score: " / √d_head" or the layer's own scale, soft cap, sharpness β."""
    config, beta = trace.model.config, sharpness(trace, layer, head)
    scale = f" × {config.score_scale(layer):.3g}" if config.scales else " / √d_head"
    cap = f", capped at ±{config.score_cap:.3g}," if config.score_cap else ""
    return f"{scale}{cap} × β ({number(beta)})" if beta != 1 else f"{scale}{cap}".rstrip(",")


def sharpness(trace: Trace, layer: int, head: int) -> float:
    """Return β, the head's inverse temperature: the product of its edits, 1 without any."""
    edits = trace.edits_of(layer)
    return math.prod(edit.beta for edit in edits if isinstance(edit, SetTemperature) and edit.head == head)
