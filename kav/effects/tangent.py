"""The exact derivative of a run along a change of its residual stream: the forward pass, differentiated by hand.

If a stream entering a layer changes at the rate dx, every value after it changes at a rate that the chain rule gives
layer by layer (forward-mode differentiation); each function here is the derivative of the function of the same name
in `kav.model`. Edits are affine in what they act on, so the same edits, without their constants, act on the rates.
With dx the contribution of a component this is attribution patching without its backward pass: the slope of the
dose-response curve at the dose where the model runs.

References
----------
Griewank and Walther 2008, chapter 3 (forward mode); Nanda 2023, "Attribution patching"; Syed et al. 2023.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kav import smoother
from kav.arrays import Array, namespace
from kav.model.attention import (
    asked_from,
    log_kernel,
    merge_heads,
    move_queries,
    pattern,
    project,
    scale_heads,
    scale_output,
)
from kav.model.config import Block, Config, Mlp, Norm, Weights
from kav.model.edits import Edit, MoveQuery, ScaleEdge, ScaleMlp, SetScore, needs_whole_prompt
from kav.model.forward import LayerTrace
from kav.model.layers import ACTIVATIONS, Rotary, centre, norm_scale, normalise, rotary, rotate
from kav.model.trace import Trace

BLOCK_CELLS = 1 << 22
"""Most cells of the score matrix, all heads together, that are held at once."""


def final_rate(trace: Trace, rate: Array, layer: int, *, from_mid: bool, position: int) -> Array:
    """Return how fast the final stream at one position changes, shape (1, d_model).

    Parameters
    ----------
    trace : Trace
        The run that is differentiated, edits and all.
    rate : array, shape (n_tokens, d_model)
        How fast the stream changes where it enters `layer`, or with `from_mid` between its attention and its MLP.
    layer : int
        0..n_layers; n_layers only selects the position.
    position : int
        Counted from the start. The last layer computes only this row if it can.
    """
    config, weights = trace.model.config, trace.model.weights
    table = rotary(config, trace.n_tokens, like_=rate)
    rows = (0, trace.n_tokens)
    for step in range(layer, config.n_layers):
        block, edits, done = weights.blocks[step], trace.edits_of(step), trace.layers[step]
        whole = step < config.n_layers - 1 or needs_whole_prompt(edits)
        rows = (0, trace.n_tokens) if whole else (position, position + 1)
        if step > layer or not from_mid:
            rate = attention_rate(config, block, done, rate, table=table, edits=edits, rows=rows)
        elif not whole:
            rate = rate[position : position + 1, :]
        rate = mlp_half_rate(config, block, done.resid_mid[rows[0] : rows[1], :], rate, edits=edits, first=rows[0])
    return rate[position - rows[0] : position - rows[0] + 1, :]


def logits_rate(trace: Trace, final: Array, position: int, *, weights: Weights) -> Array:
    """Return how fast the logits at one position change with its final stream, (1, d_model) -> (1, d_vocab)."""
    x = trace.resid_final[position : position + 1, :]
    return normalise_rate(trace.model.config, weights.norm_final, x, final) @ weights.W_U


def normalise_rate(config: Config, norm: Norm, x: Array, dx: Array) -> Array:
    """Return the rate of the normalised stream, ``(dc - n mean(n dc)) / sigma * gain``, n = c / sigma."""
    xp = namespace(x, dx)
    sigma = norm_scale(config, x)
    unit, change = centre(config, x) / sigma, centre(config, dx)
    return (change - unit * xp.mean(unit * change, axis=-1, keepdims=True)) / sigma * norm.gain


def attention_rate(
    config: Config,
    block: Block,
    done: LayerTrace,
    rate: Array,
    *,
    table: Rotary | None,
    edits: tuple[Edit, ...],
    rows: tuple[int, int],
) -> Array:
    """Return the rate of resid_mid at positions rows[0]..rows[1]-1, from that of resid_pre at all, (n, d_model)."""
    first, stop = rows
    dx = normalise_rate(config, block.norm1, done.resid_pre, rate)  # (n_tokens, d_model)
    dq = rotate(project(dx[first:stop, :], block.W_Q, None), table, first)
    dk = rotate(project(dx, block.W_K, None), table)
    dv = project(dx, block.W_V, None)
    targets = {
        edit: asked_from(
            replace(block, b_Q=None), dx[edit.towards : edit.towards + 1, :], edit.head, table=table, query=edit.query
        )
        for edit in edits
        if isinstance(edit, MoveQuery)
    }
    dq = move_queries(dq, edits, targets, first)
    dz = scale_heads(attend_rate(config, done, (dq, dk, dv), edits=edits, rows=rows), edits, first)
    return rate[first:stop, :] + merge_heads(dz, replace(block, b_O=None))


def attend_rate(
    config: Config,
    done: LayerTrace,
    rates: tuple[Array, Array, Array],
    *,
    edits: tuple[Edit, ...],
    rows: tuple[int, int],
) -> Array:
    """Return the rate of z before `ScaleHead`, ``sum_j p_j (ds_j - sum p ds) v_j + p_j dv_j``, in blocks of queries.

    Parameters
    ----------
    rates : tuple of array
        dq of the chosen rows (n_heads, n_rows, d_head); dk and dv of all tokens (n_kv_heads, n_tokens, d_head).
    """
    dq, dk, dv = rates
    xp = namespace(dq, done.q)
    n_heads, n_tokens = dq.shape[0], done.k.shape[-2]
    size = max(1, BLOCK_CELLS // (n_tokens * n_heads))
    parts = []
    for start in range(rows[0], rows[1], size):
        stop = min(start + size, rows[1])
        n_seen = stop if config.causal else n_tokens
        corner = (0, start, 0)
        q, k, v = done.q[:, start:stop, :], done.k[:, :n_seen, :], done.v[:, :n_seen, :]
        changes = _score_rate(
            config, q, k, (dq[:, start - rows[0] : stop - rows[0], :], dk[:, :n_seen, :]), edits, corner
        )
        p, kept = _patterns(config, q, k, edits, corner)
        dp = kept * (changes - xp.sum(p * changes, axis=-1, keepdims=True))  # (n_heads, n_rows, n_seen)
        parts.append(_smooth(dp, v) + _smooth(kept, dv[:, :n_seen, :]))
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=-2)


def _score_rate(
    config: Config,
    q: Array,
    k: Array,
    rates: tuple[Array, Array],
    edits: tuple[Edit, ...],
    corner: tuple[int, int, int],
) -> Array:
    """Rate of the scores, bilinear in q and k; temperatures scale it, and a score that was set stays where it is."""
    constant = tuple(replace(edit, value=0.0) if isinstance(edit, SetScore) else edit for edit in edits)
    return log_kernel(config, rates[0], k, edits=constant, masked=False, corner=corner) + log_kernel(
        config, q, rates[1], edits=constant, masked=False, corner=corner
    )


def _patterns(
    config: Config, q: Array, k: Array, edits: tuple[Edit, ...], corner: tuple[int, int, int]
) -> tuple[Array, Array]:
    """The softmax's own weights, and those after scaled edges."""
    before = tuple(edit for edit in edits if not isinstance(edit, ScaleEdge))
    p = pattern(config, q, k, edits=before, corner=corner)
    return p, p if len(before) == len(edits) else pattern(config, q, k, edits=edits, corner=corner)


def _smooth(weights: Array, values: Array) -> Array:
    """``weights @ values`` where a group of heads shares values, shape (n_heads, n_rows, d_head)."""
    xp = namespace(weights, values)
    n_heads, n_rows, n_keys = weights.shape
    by_group = xp.reshape(weights, (values.shape[0], n_heads // values.shape[0], n_rows, n_keys))
    return xp.reshape(smoother.smooth(by_group, values[:, None, :, :]), (n_heads, n_rows, values.shape[-1]))


def mlp_half_rate(
    config: Config, block: Block, resid_mid: Array, rate: Array, *, edits: tuple[Edit, ...], first: int
) -> Array:
    """Return the rate of the stream leaving a layer from that of resid_mid, both for positions first, first + 1..."""
    if block.mlp is None or block.norm2 is None:
        return rate
    x = normalise(config, block.norm2, resid_mid)
    out = mlp_rate(config, block.mlp, x, normalise_rate(config, block.norm2, resid_mid, rate))
    for edit in edits:
        if isinstance(edit, ScaleMlp):
            out = scale_output(out, edit, first)
    return rate + out


def mlp_rate(config: Config, weights: Mlp, x: Array, dx: Array) -> Array:
    """Return the rate of the MLP's output for a normalised stream x that changes at dx, same shape."""
    xp = namespace(x, dx)
    act, slope = ACTIVATIONS[config.activation], SLOPES[config.activation]
    inside, d_inside = _affine(x, weights.W_in, weights.b_in), dx @ weights.W_in
    if weights.W_gate is None:
        return slope(inside, xp) * d_inside @ weights.W_out
    gate, d_gate = _affine(x, weights.W_gate, weights.b_gate), dx @ weights.W_gate
    return (slope(gate, xp) * d_gate * inside + act(gate, xp) * d_inside) @ weights.W_out


def _affine(x: Array, matrix: Array, bias: Array | None) -> Array:
    return x @ matrix if bias is None else x @ matrix + bias


def _silu_slope(x: Array, xp: Any) -> Array:
    sigmoid = 0.5 * (1 + xp.tanh(0.5 * x))
    return sigmoid * (1 + x * (1 - sigmoid))


def _gelu_tanh_slope(x: Array, xp: Any) -> Array:
    root = math.sqrt(2 / math.pi)
    bend = xp.tanh(root * (x + 0.044715 * x * x * x))
    return 0.5 * (1 + bend) + 0.5 * x * (1 - bend * bend) * root * (1 + 3 * 0.044715 * x * x)


def _relu_slope(x: Array, xp: Any) -> Array:
    return xp.where(x > 0, xp.ones_like(x), xp.zeros_like(x))


SLOPES: dict[str, Callable[[Array, Any], Array]] = {
    "silu": _silu_slope,
    "gelu_tanh": _gelu_tanh_slope,
    "relu": _relu_slope,
}
"""Derivatives of `kav.model.layers.ACTIVATIONS`, by the same names."""
