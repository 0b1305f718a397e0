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

from dataclasses import dataclass, replace

from array_api_compat import device

from kav.arrays import Array, namespace
from kav.model.activations import ACTIVATIONS, SLOPES
from kav.model.attention import edit_scores, log_kernel, move_queries, pattern, project
from kav.model.config import Block, Config, Mlp, Norm, Weights
from kav.model.edits import Edit, MoveQuery, ScaleEdge, SetScore, needs_whole_prompt
from kav.model.forward import LayerTrace, scale_mlp
from kav.model.head import attention_output, mlp_output
from kav.model.layers import (
    Rotary,
    affine,
    cap_slope,
    centre,
    heads_gain,
    heads_scale,
    norm_scale,
    normalise,
    rotary,
    rotate,
    unembed,
)
from kav.model.outputs import merge_heads, scale_heads
from kav.model.products import by_group
from kav.model.trace import Trace
from kav.task import Task

BLOCK_CELLS = 1 << 22
"""Most cells of the score matrix, all heads together, that are held at once."""


def final_rate(
    trace: Trace,
    rate: Array,
    layer: int,
    *,
    from_mid: bool,
    position: int,
    lead: int = 0,
    task: Task | None = None,
) -> Array:
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
    lead : int
        Rows before it, and before `position`, do not change in any layer: see `kav.effects.rerun.first_altered`.
    task : Task or None
        Reports after every layer, and cancels there.
    """
    rate = rate[lead:, :]
    config = trace.model.config
    table = rotary(config, trace.n_tokens, like_=rate)
    rows = (lead, trace.n_tokens)
    for step in range(layer, config.n_layers):
        place = Place(trace, step, table)
        whole = step < config.n_layers - 1 or needs_whole_prompt(place.edits)
        rows = (lead, trace.n_tokens) if whole else (position, position + 1)
        before = rate[rows[0] - lead : rows[1] - lead, :]
        mid = attention_rate(place, rate, rows, lead) if step > layer or not from_mid else before
        rate = mlp_half_rate(place, before, mid, rows)
        if task is not None:
            task.report((step + 1 - layer) / (config.n_layers - layer))
    return rate[position - rows[0] : position - rows[0] + 1, :]


@dataclass(frozen=True, eq=False)
class Place:
    """One layer of the run that is differentiated, with the rotations of its positions."""

    trace: Trace
    layer: int
    table: Rotary | None

    @property
    def config(self) -> Config:
        """The model's description."""
        return self.trace.model.config

    @property
    def block(self) -> Block:
        """The layer's weights."""
        return self.trace.model.weights.blocks[self.layer]

    @property
    def done(self) -> LayerTrace:
        """What the layer did in the run."""
        return self.trace.layers[self.layer]

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits that acted in the layer."""
        return self.trace.edits_of(self.layer)


def logits_rate(trace: Trace, final: Array, position: int, *, weights: Weights) -> Array:
    """Return how fast the logits at one position change with its final stream, (1, d_model) -> (1, d_vocab)."""
    config, x = trace.model.config, trace.resid_final[position : position + 1, :]
    capped = unembed(config, weights, x)
    if weights.dense is not None:
        inside, xp = affine(x, weights.dense.W, weights.dense.b), namespace(x)
        x, final = ACTIVATIONS[config.activation](inside, xp), final @ weights.dense.W
        final = SLOPES[config.activation](inside, xp) * final
    raw = normalise_rate(config, weights.norm_final, x, final) @ weights.W_U
    return raw * cap_slope(capped, config.logit_cap)


def normalise_rate(config: Config, norm: Norm | None, x: Array, dx: Array) -> Array:
    """Return the rate of the normalised stream, ``(dc - n mean(n dc)) / sigma * gain``, n = c / sigma."""
    if norm is None:
        return dx
    xp = namespace(x, dx)
    sigma = norm_scale(config, x)
    unit, change = centre(config, x) / sigma, centre(config, dx)
    return (change - unit * xp.mean(unit * change, axis=-1, keepdims=True)) / sigma * norm.gain


def normalise_heads_rate(config: Config, norm: Norm | None, x: Array, dx: Array) -> Array:
    """Return the rate of normalised queries or keys (..., n_heads, n, d_head), as `normalise_rate` does."""
    if norm is None:
        return dx
    xp = namespace(x, dx)
    sigma = heads_scale(config, x)
    unit = x / sigma
    axes: int | tuple[int, int] = -1 if config.qk_norm == "head" else (-3, -1)
    along = xp.mean(unit * dx, axis=axes, keepdims=True)
    return (dx - unit * along) / sigma * heads_gain(config, norm)


def add_rate(config: Config, norm: Norm | None, values: tuple[Array, Array], rates: tuple[Array, Array]) -> Array:
    """Return the rate of `kav.model.layers.add` from values and rates of the stream and of what is written to it."""
    if config.norm_place == "stream":
        return normalise_rate(config, norm, values[0] + values[1], rates[0] + rates[1])
    return rates[0] + normalise_rate(config, norm, values[1], rates[1])


def attention_rate(place: Place, rate: Array, rows: tuple[int, int], lead: int = 0) -> Array:
    """Return the rate of resid_mid at positions rows[0]..rows[1]-1, from that of resid_pre from `lead` on."""
    config, block, done, edits = place.config, place.block, place.done, place.edits
    first, stop = rows
    x = normalise(config, block.norm1, done.resid_pre[lead:, :])
    dx = normalise_rate(config, block.norm1, done.resid_pre[lead:, :], rate)  # (n_tokens - lead, d_model)
    asked = slice(first - lead, stop - lead)
    dq = rotate(_heads_rate(config, block, x[asked, :], dx[asked, :], letter="Q"), place.table, first)
    dk = _after_zeros(rotate(_heads_rate(config, block, x, dx, letter="K"), place.table, lead), lead)
    dv = _after_zeros(project(dx, block.W_V, None), lead)
    dq = move_queries(dq, edits, _targets(place, x, dx, lead), first)
    dz = scale_heads(attend_rate(place, (dq, dk, dv), rows), edits, first)
    d_out = merge_heads(dz, replace(block, b_O=None))
    values = (done.resid_pre[first:stop, :], attention_output(place.trace, place.layer, rows))
    return add_rate(config, block.norm1_out, values, (rate[asked, :], d_out))


def _after_zeros(rate: Array, n: int) -> Array:
    """The rates (n_heads, n_rows, d_head) after n rows that do not change."""
    xp = namespace(rate)
    if n == 0:
        return rate
    zeros = xp.zeros((rate.shape[0], n, rate.shape[2]), dtype=rate.dtype, device=device(rate))
    return xp.concat([zeros, rate], axis=-2)


def _heads_rate(config: Config, block: Block, x: Array, dx: Array, *, letter: str) -> Array:
    """Rate of queries ("Q") or keys ("K") before rotation, from values and rates of what attention reads."""
    W, b, norm = (block.W_Q, block.b_Q, block.norm_Q) if letter == "Q" else (block.W_K, block.b_K, block.norm_K)
    change = project(dx, W, None)
    return change if norm is None else normalise_heads_rate(config, norm, project(x, W, b), change)


def _targets(place: Place, x: Array, dx: Array, lead: int) -> dict[MoveQuery, Array]:
    """Rates of the other tokens' questions that `MoveQuery` edits move to."""
    found = {}
    for edit in place.edits:
        if isinstance(edit, MoveQuery):
            row = slice(max(0, edit.towards - lead), max(0, edit.towards - lead) + 1)
            asked = _heads_rate(place.config, place.block, x[row, :], dx[row, :], letter="Q")
            target = rotate(asked[edit.head, :, :], place.table, edit.query)
            found[edit] = target if edit.towards >= lead else namespace(target).zeros_like(target)
    return found


def attend_rate(place: Place, rates: tuple[Array, Array, Array], rows: tuple[int, int]) -> Array:
    """Return the rate of z before `ScaleHead`, ``sum_j p_j (ds_j - sum p ds) v_j + p_j dv_j``, in blocks of queries.

    Parameters
    ----------
    rates : tuple of array
        dq of the chosen rows (n_heads, n_rows, d_head); dk and dv of all tokens (n_kv_heads, n_tokens, d_head).
    """
    dq, dk, dv = rates
    config, done = place.config, place.done
    xp = namespace(dq, done.q)
    n_heads, n_tokens = dq.shape[0], done.k.shape[-2]
    size = max(1, BLOCK_CELLS // (n_tokens * n_heads))
    parts = []
    for start in range(rows[0], rows[1], size):
        stop = min(start + size, rows[1])
        n_seen = stop if config.causal else n_tokens
        corner = (0, start, 0)
        q, k, v = done.q[:, start:stop, :], done.k[:, :n_seen, :], done.v[:, :n_seen, :]
        changes = _score_rate(place, q, k, (dq[:, start - rows[0] : stop - rows[0], :], dk[:, :n_seen, :]), corner)
        p, kept = _patterns(place, q, k, corner)
        dp = kept * (changes - xp.sum(p * changes, axis=-1, keepdims=True))  # (n_heads, n_rows, n_seen)
        parts.append(by_group(dp, v) + by_group(kept, dv[:, :n_seen, :]))
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=-2)


def _score_rate(place: Place, q: Array, k: Array, rates: tuple[Array, Array], corner: tuple[int, int, int]) -> Array:
    """Rate of the scores, bilinear in q and k before a cap; a score that was set stays where it is."""

    def scores(config: Config, q: Array, k: Array) -> Array:
        return log_kernel(config, q, k, layer=place.layer, masked=False, corner=corner)

    limit, raw = place.config.score_cap, replace(place.config, score_cap=0.0)
    change = scores(raw, rates[0], k) + scores(raw, q, rates[1])
    if limit:
        change = change * cap_slope(scores(place.config, q, k), limit)
    constant = tuple(replace(edit, value=0.0) if isinstance(edit, SetScore) else edit for edit in place.edits)
    edit_scores(change, constant, corner)
    return change


def _patterns(place: Place, q: Array, k: Array, corner: tuple[int, int, int]) -> tuple[Array, Array]:
    """The softmax's own weights, and those after scaled edges."""
    before = tuple(edit for edit in place.edits if not isinstance(edit, ScaleEdge))
    p = pattern(place.config, q, k, layer=place.layer, edits=before, corner=corner)
    if len(before) == len(place.edits):
        return p, p
    return p, pattern(place.config, q, k, layer=place.layer, edits=place.edits, corner=corner)


def mlp_half_rate(place: Place, before: Array, mid: Array, rows: tuple[int, int]) -> Array:
    """Return the rate of the stream leaving a layer from those of resid_pre and resid_mid, all at the chosen rows."""
    config, block, done = place.config, place.block, place.done
    if block.mlp is None:
        return mid
    read, change = (done.resid_pre, before) if config.parallel else (done.resid_mid, mid)
    read = read[rows[0] : rows[1], :]
    x = normalise(config, block.norm2, read)
    d_out = mlp_rate(config, block.mlp, x, normalise_rate(config, block.norm2, read, change))
    d_out = scale_mlp(d_out, place.edits, rows[0])
    if block.norm2_out is None:
        return mid + d_out
    values = (done.resid_mid[rows[0] : rows[1], :], mlp_output(place.trace, place.layer, rows))
    return add_rate(config, block.norm2_out, values, (mid, d_out))


def mlp_rate(config: Config, weights: Mlp, x: Array, dx: Array) -> Array:
    """Return the rate of the MLP's output for a normalised stream x that changes at dx, same shape."""
    xp = namespace(x, dx)
    act, slope = ACTIVATIONS[config.activation], SLOPES[config.activation]
    inside, d_inside = affine(x, weights.W_in, weights.b_in), dx @ weights.W_in
    if weights.W_gate is None:
        return slope(inside, xp) * d_inside @ weights.W_out
    gate, d_gate = affine(x, weights.W_gate, weights.b_gate), dx @ weights.W_gate
    return (slope(gate, xp) * d_gate * inside + act(gate, xp) * d_inside) @ weights.W_out
