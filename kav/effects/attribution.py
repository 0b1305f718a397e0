"""What moved the answer: the logit at one position as a sum over everything that wrote to the residual stream.

The final stream is a sum of contributions c: embedding, position, heads (source token by source token), MLPs and
biases. With the scale sigma of every norm behind them frozen at its value in this run, the logit is linear in them;
where only the final norm is behind them,::

    logit = sum_c (c . w) / sigma + norm bias . W_U[:, target] + b_U[target]

with ``w = gain * W_U[:, target]``, minus its own mean for a layer norm (whose centring is thereby moved from c to w).
With a foil, ``W_U[:, target] - W_U[:, foil]`` stands for the target's column. `kav.effects.readout` gives w for every
place. A family that caps its logits is attributed before the soft cap, which no sum goes through.

References
----------
Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", section on direct paths;
nostalgebraist 2020, "Interpreting GPT: the logit lens".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.arrays import Array, like, namespace, to_host
from kav.effects.metric import choose_target
from kav.effects.readout import Readout
from kav.model.attention import pattern
from kav.model.config import Norm
from kav.model.edits import ScaleHead, ScaleMlp, needs_whole_prompt
from kav.model.head import mlp_output
from kav.model.layers import raw_logits, token_rows
from kav.model.outputs import scale_heads, scale_output
from kav.model.tiles import TiledHead
from kav.model.trace import Trace

COLUMNS = 256
"""Columns of a pattern that are held at once where an edit mixes all its rows."""


@dataclass(frozen=True)
class Component:
    """Something that writes to the residual stream.

    Parameters
    ----------
    kind : str
        "embedding", "position", "head", "attention bias", "mlp", "mlp bias", "norm bias" or "unembedding bias"; with
        norms after the halves also "embedding norm bias", "attention norm bias" and "mlp norm bias"; "dense bias" of a
        layer before the final norm.
    layer, head : int or None
        Where it is, if it is in a layer.
    """

    kind: str
    layer: int | None = None
    head: int | None = None

    @property
    def name(self) -> str:
        """How it is called: "head 0.3", "mlp 1", "mlp 1 bias", "norm bias"."""
        if self.head is not None:
            return f"head {self.layer}.{self.head}"
        if self.layer is None:
            return self.kind
        what, _, bias = self.kind.partition(" ")
        return f"{what} {self.layer} {bias}".rstrip()


@dataclass(frozen=True, eq=False)
class Attribution:
    """A logit (or logit difference) as a sum.

    Parameters
    ----------
    parts : tuple of Component
        In residual-stream order.
    values : array, shape (n_components,)
        Contribution of each in logits; they sum to `total`.
    sources : array, shape (n_layers, n_heads, n_tokens)
        Each head's value split over the source tokens whose values it moved.
    total : float
        The run's own logit, before any soft cap; with a foil the difference.
    target : int
    foil : int or None
    position : int
        Where it is read, counted from the start.
    scale : float
        sigma, the final norm's divisor there.
    capped : bool
        The model caps its logits softly: values and total are before the soft cap.
    """

    parts: tuple[Component, ...]
    values: np.ndarray
    sources: np.ndarray
    total: float
    target: int
    foil: int | None
    position: int
    scale: float
    capped: bool = False

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the parts."""
        return tuple(part.name for part in self.parts)

    @property
    def heads(self) -> np.ndarray:
        """Contribution of each head, shape (n_layers, n_heads)."""
        total: np.ndarray = self.sources.sum(axis=-1)
        return total


def attribution(trace: Trace, position: int = -1, target: int | None = None, foil: int | None = None) -> Attribution:
    """Return the direct contributions to a logit, with the final norm's scale frozen.

    An edited run is attributed as it ran: a scaled head counts with what it really added, and the value bias b_V is
    part of the message of each source token. A "mean" or "resample" baseline is an average of messages like the
    head's own output, so its share goes to the source tokens that the other positions read, which may come later
    than `position`.

    Parameters
    ----------
    trace : Trace
    position : int
        Where the logit is read.
    target : int or None
        Token id; None = the top prediction there.
    foil : int or None
        Token id whose logit is subtracted.

    Returns
    -------
    Attribution
        ``values`` sum to ``total``.

    Raises
    ------
    KavError
        If the position or a token does not exist, or the model has no output matrix.
    """
    config, row = trace.model.config, trace.position(position)
    logits = raw_logits(config, trace.model.weights, trace.resid_final[row : row + 1, :])[0, :]
    target = choose_target(logits, target, foil)
    total = float(logits[target]) - (0.0 if foil is None else float(logits[foil]))
    readout = Readout(trace, (row, row + 1), target, foil)
    sources = np.stack([_sources(trace, layer, readout) for layer in range(config.n_layers)])
    parts, values = [], []
    for part, value in _stream(readout, sources) + _biases(readout):
        parts.append(part)
        values.append(value)
    sigma = float(readout.sigma[0, 0])
    return Attribution(
        tuple(parts), np.asarray(values), sources, total, target, foil, row, sigma, capped=config.logit_cap > 0
    )


def messages(trace: Trace, layer: int, direction: Array) -> Array:
    """Return every source token's message read along a direction, ``(v_j W_O) . direction``, (n_heads, n_tokens).

    The direction is one of attention's output, `Readout.attention`, shape (d_model,).
    """
    block = trace.model.weights.blocks[layer]
    xp = namespace(direction, block.W_O)
    step = trace.layers[layer]
    n_heads, d_head, _ = block.W_O.shape
    n_kv_heads, n_tokens, _ = step.v.shape
    read = xp.reshape(block.W_O @ direction, (n_kv_heads, n_heads // n_kv_heads, d_head, 1))
    return xp.reshape(step.v[:, None, :, :] @ read, (n_heads, n_tokens))


def applied_rows(trace: Trace, layer: int, row: int) -> Array:
    """Return with which weight each head really added each message at one query, shape (n_heads, n_tokens).

    The pattern's row with scaled edges; then scaled heads, whose edits act on a pattern as they do on z.
    """
    config, step, edits = trace.model.config, trace.layers[layer], trace.edits_of(layer)
    averaged = {edit.head for edit in edits if isinstance(edit, ScaleHead) and needs_whole_prompt((edit,))}
    rows = pattern(config, step.q[:, row : row + 1, :], step.k, layer=layer, edits=edits, corner=(0, row, 0))
    alone = tuple(edit for edit in edits if getattr(edit, "head", None) not in averaged)
    rows = scale_heads(rows, alone, row)[:, 0, :]
    for head in sorted(averaged):
        rows[head, :] = like(rows, _averaged_row(trace, layer, head, row))
    return rows


def _averaged_row(trace: Trace, layer: int, head: int, row: int) -> np.ndarray:
    """One row of a head whose edits mix the rows of its pattern, a few columns of it at a time, (n_tokens,)."""
    tiled, n = TiledHead(trace, layer, head), trace.n_tokens
    chosen = [edit for edit in trace.edits_of(layer) if isinstance(edit, ScaleHead) and edit.head == head]
    found = []
    for start in range(0, n, COLUMNS):
        cells = tiled.tile(slice(0, n), slice(start, start + COLUMNS))
        for edit in chosen:
            cells = scale_output(cells, edit)
        found.append(np.array(cells[row, :]))  # not a view, which would hold on to all rows
    return np.concatenate(found)


def _sources(trace: Trace, layer: int, readout: Readout) -> np.ndarray:
    read = applied_rows(trace, layer, readout.rows[0]) * messages(trace, layer, readout.attention(layer)[0, :])
    return to_host(read).astype(np.float64)


def _dot(vector: Array, direction: Array) -> float:
    return float(namespace(vector, direction).vecdot(vector, direction))


def _embedded(readout: Readout) -> list[tuple[Component, float]]:
    """What stands in the stream before layer 0."""
    trace, weights = readout.trace, readout.trace.model.weights
    row = readout.rows[0]
    token = token_rows(trace.model.config, weights, (trace.tokens.ids[row],))  # (1, d_model)
    placed = token if weights.W_pos is None else token + weights.W_pos[row : row + 1, :]
    direction = readout.embedding(placed)[0, :]
    found = [(Component("embedding"), _dot(token[0, :], direction))]
    if weights.W_pos is not None:
        found.append((Component("position"), _dot(weights.W_pos[row, :], direction)))
    return found + _norm_bias("embedding norm bias", None, weights.norm_embed, readout.leaving(-1))


def _stream(readout: Readout, sources: np.ndarray) -> list[tuple[Component, float]]:
    """Everything that wrote to the stream at one position, in order."""
    trace, row, found = readout.trace, readout.rows[0], _embedded(readout)
    for layer, block in enumerate(trace.model.weights.blocks):
        for head in range(trace.model.config.n_heads):
            found.append((Component("head", layer, head), float(sources[layer, head, :].sum())))
        if block.b_O is not None:
            found.append((Component("attention bias", layer), _dot(block.b_O, readout.attention(layer)[0, :])))
        after = readout.leaving(layer) if block.norm2_out is None or not _on_stream(trace) else readout.mlp(layer)
        found += _norm_bias("attention norm bias", layer, block.norm1_out, after)
        if block.mlp is None:
            continue
        direction = readout.mlp(layer)[0, :]
        wrote = _dot(mlp_output(trace, layer, readout.rows)[0, :], direction)
        bias = 0.0 if block.mlp.b_out is None else _dot(block.mlp.b_out, direction) * _kept(trace, layer, row)
        found.append((Component("mlp", layer), wrote - bias))
        if block.mlp.b_out is not None:
            found.append((Component("mlp bias", layer), bias))
        found += _norm_bias("mlp norm bias", layer, block.norm2_out, readout.leaving(layer))
    return found


def _on_stream(trace: Trace) -> bool:
    return trace.model.config.norm_place == "stream"


def _norm_bias(kind: str, layer: int | None, norm: Norm | None, after: Array) -> list[tuple[Component, float]]:
    """The share of a norm's bias, read along the direction of what it writes to."""
    return [] if norm is None or norm.bias is None else [(Component(kind, layer), _dot(norm.bias, after[0, :]))]


def _kept(trace: Trace, layer: int, row: int) -> float:
    """Which multiple of the MLP's output bias the (edited) run added: means and shuffles keep it, zero does not."""
    kept = 1.0
    for edit in trace.edits_of(layer):
        if isinstance(edit, ScaleMlp) and edit.baseline == "zero" and _acts(edit, row):
            kept *= edit.scale
    return kept


def _acts(edit: ScaleMlp, row: int) -> bool:
    return edit.positions is None or row in edit.positions


def _biases(readout: Readout) -> list[tuple[Component, float]]:
    """The biases behind the last layer."""
    weights, found = readout.trace.model.weights, []
    if weights.dense is not None:
        found.append((Component("dense bias"), _dot(weights.dense.b, (readout.normed * readout.open)[0, :])))
    if weights.norm_final is not None and weights.norm_final.bias is not None:
        found.append((Component("norm bias"), _dot(weights.norm_final.bias, readout.column)))
    if weights.b_U is not None:
        foil = 0.0 if readout.foil is None else float(weights.b_U[readout.foil])
        found.append((Component("unembedding bias"), float(weights.b_U[readout.target]) - foil))
    return found
