"""What moved the answer: the logit at one position as a sum over everything that wrote to the residual stream.

The final stream is a sum of contributions c: embedding, position, heads (source token by source token), MLPs and
biases. With the final norm's scale sigma frozen at its value in this run, the logit is linear in them::

    logit = sum_c (c . w) / sigma + norm bias . W_U[:, target] + b_U[target]

with ``w = gain * W_U[:, target]``, minus its own mean for a layer norm (whose centring is thereby moved from c to w).
With a foil, ``W_U[:, target] - W_U[:, foil]`` stands for the target's column.

References
----------
Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", section on direct paths;
nostalgebraist 2020, "Interpreting GPT: the logit lens".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kav.arrays import Array, namespace, to_host
from kav.effects.metric import choose_target
from kav.model.attention import pattern, scale_heads
from kav.model.config import Norm
from kav.model.edits import ScaleMlp, needs_whole_prompt
from kav.model.layers import norm_scale
from kav.model.model import Model
from kav.model.trace import Trace


@dataclass(frozen=True)
class Component:
    """Something that writes to the residual stream.

    Parameters
    ----------
    kind : str
        "embedding", "position", "head", "attention bias", "mlp", "mlp bias", "norm bias" or "unembedding bias".
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


@dataclass(frozen=True)
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
    """

    parts: tuple[Component, ...]
    values: np.ndarray
    sources: np.ndarray
    total: float
    target: int
    foil: int | None
    position: int
    scale: float

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
        If the position or a token does not exist.
    """
    row = trace.position(position)
    logits = trace.model.unembed(trace.resid_final[row : row + 1, :])[0, :]
    target = choose_target(logits, target, foil)
    total = float(logits[target]) - (0.0 if foil is None else float(logits[foil]))
    sigma = float(norm_scale(trace.model.config, trace.resid_final[row : row + 1, :])[0, 0])
    direction = logit_direction(trace.model, target, foil) / sigma
    sources = np.stack([_sources(trace, layer, row, direction) for layer in range(trace.model.config.n_layers)])
    parts, values = [], []
    for part, value in _stream(trace, row, direction, sources) + _biases(trace.model, target, foil):
        parts.append(part)
        values.append(value)
    return Attribution(tuple(parts), np.asarray(values), sources, total, target, foil, row, sigma)


def logit_direction(model: Model, target: int, foil: int | None = None) -> Array:
    """Return w with ``logit = resid_final . w / sigma`` plus biases, shape (d_model,), on the device."""
    column = _unembedding(model, target, foil) * model.weights.norm_final.gain
    xp = namespace(column)
    return column - xp.mean(column) if model.config.norm == "layer" else column


def messages(trace: Trace, layer: int, direction: Array) -> Array:
    """Return every source token's message read along a direction, ``(v_j W_O) . direction``, (n_heads, n_tokens)."""
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
    if needs_whole_prompt(edits):
        whole = pattern(config, step.q, step.k, layer=layer, edits=edits)  # (n_heads, n_tokens, n_tokens)
        return scale_heads(whole, edits)[:, row, :]
    rows = pattern(config, step.q[:, row : row + 1, :], step.k, layer=layer, edits=edits, corner=(0, row, 0))
    return scale_heads(rows, edits, row)[:, 0, :]


def _sources(trace: Trace, layer: int, row: int, direction: Array) -> np.ndarray:
    return to_host(applied_rows(trace, layer, row) * messages(trace, layer, direction)).astype(np.float64)


def _stream(trace: Trace, row: int, direction: Array, sources: np.ndarray) -> list[tuple[Component, float]]:
    """Everything that wrote to the stream at one position, in order."""
    weights, config = trace.model.weights, trace.model.config

    def read(vector: Array) -> float:
        return float(namespace(vector, direction).vecdot(vector, direction))

    found = [(Component("embedding"), read(weights.W_E[trace.tokens.ids[row], :]))]
    if weights.W_pos is not None:
        found.append((Component("position"), read(weights.W_pos[row, :])))
    for layer, block in enumerate(weights.blocks):
        for head in range(config.n_heads):
            found.append((Component("head", layer, head), float(sources[layer, head, :].sum())))
        if block.b_O is not None:
            found.append((Component("attention bias", layer), read(block.b_O)))
        if block.mlp is None:
            continue
        wrote = read(trace.resid_pre(layer + 1)[row, :] - trace.layers[layer].resid_mid[row, :])
        bias = 0.0 if block.mlp.b_out is None else read(block.mlp.b_out) * _kept(trace, layer, row)
        found.append((Component("mlp", layer), wrote - bias))
        if block.mlp.b_out is not None:
            found.append((Component("mlp bias", layer), bias))
    return found


def _kept(trace: Trace, layer: int, row: int) -> float:
    """Which multiple of the MLP's output bias the (edited) run added: means and shuffles keep it, zero does not."""
    kept = 1.0
    for edit in trace.edits_of(layer):
        if isinstance(edit, ScaleMlp) and edit.baseline == "zero" and _acts(edit, row):
            kept *= edit.scale
    return kept


def _acts(edit: ScaleMlp, row: int) -> bool:
    return edit.positions is None or row in edit.positions


def _biases(model: Model, target: int, foil: int | None) -> list[tuple[Component, float]]:
    """The two biases behind the last layer."""
    found = []
    norm: Norm = model.weights.norm_final
    if norm.bias is not None:
        xp: Any = namespace(norm.bias)
        found.append((Component("norm bias"), float(xp.vecdot(norm.bias, _unembedding(model, target, foil)))))
    b_U = model.weights.b_U
    if b_U is not None:
        found.append((Component("unembedding bias"), float(b_U[target]) - (0.0 if foil is None else float(b_U[foil]))))
    return found


def _unembedding(model: Model, target: int, foil: int | None) -> Array:
    W_U = model.weights.W_U
    return W_U[:, target] if foil is None else W_U[:, target] - W_U[:, foil]
