"""Reading the residual stream: along which direction a write at any place of the model counts for a logit.

Between a write and the logits stand norms, each of which divides by one number, sigma, at each position, and in masked
language models one activation. With every sigma frozen at its value in the run (and every unit of the activation held
as far open as it is), the logit is linear in all writes, exactly, and a write v counts ``v . w`` with a direction w
that depends on the place and the position. For a norm ``y = centre(x) / sigma * gain + bias`` a direction w of y
becomes ``centre(w * gain) / sigma`` of x, and the bias counts ``bias . w``.

Shapes: directions ``(n_rows, d_model)``, one per position that is read.

References
----------
Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", section on direct paths (frozen norms).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kav.arrays import Array, namespace
from kav.model.activations import ACTIVATIONS, opening
from kav.model.config import Dense, Norm, Weights
from kav.model.head import attention_output, mlp_output
from kav.model.layers import centre, check_logits, norm_scale
from kav.model.model import Model
from kav.model.trace import Trace


@dataclass(frozen=True, eq=False)
class Readout:
    """A logit (or logit difference) of a run, read at a range of positions.

    Parameters
    ----------
    trace : Trace
    rows : tuple of int
        First position and the one after the last.
    target : int
    foil : int or None
    """

    trace: Trace
    rows: tuple[int, int]
    target: int
    foil: int | None = None

    @cached_property
    def column(self) -> Array:
        """What reads the normalised stream, ``W_U[:, target]`` less that of the foil, (d_model,)."""
        return unembedding(self.trace.model, self.target, self.foil)

    @cached_property
    def sigma(self) -> Array:
        """What the final norm divides by, (n_rows, 1); ones without a final norm."""
        weights = self.trace.model.weights
        final = self._final if weights.dense is None else _opened(self.trace.model, weights.dense, self._final)
        return norm_scale(self.trace.model.config, final)

    @cached_property
    def normed(self) -> Array:
        """The direction of what the final norm divides."""
        gain = self.trace.model.weights.norm_final
        column = self.column if gain is None else self.column * gain.gain
        return centre(self.trace.model.config, column[None, :]) / self.sigma

    @cached_property
    def final(self) -> Array:
        """The direction of the final stream."""
        dense = self.trace.model.weights.dense
        if dense is None:
            return self.normed
        xp = namespace(self.normed, dense.W)
        return (self.normed * self.open) @ xp.matrix_transpose(dense.W)

    @cached_property
    def open(self) -> Array:
        """How far each unit of the layer before the final norm is open, (n_rows, d_model); ones without one."""
        model, dense = self.trace.model, self.trace.model.weights.dense
        if dense is None:
            return namespace(self._final).ones_like(self._final)
        return opening(model.config.activation, self._final @ dense.W + dense.b)

    def leaving(self, layer: int) -> Array:
        """Return the direction of the stream that leaves a layer; -1 = that enters layer 0."""
        last = self.trace.model.config.n_layers - 1
        if not self._on_stream or layer == last:
            return self.final
        if layer not in self._known:
            self._known[layer] = self._before(layer + 1, self._middle(layer + 1, self.leaving(layer + 1)))
        return self._known[layer]

    @cached_property
    def _known(self) -> dict[int, Array]:
        """Directions of `leaving` found so far."""
        return {}

    def mlp(self, layer: int) -> Array:
        """Return the direction of the output of a layer's MLP."""
        norm, leaving = self.trace.model.weights.blocks[layer].norm2_out, self.leaving(layer)
        if norm is None:
            return leaving
        if self._on_stream:
            return self._middle(layer, leaving)
        return self._pulled(norm, mlp_output(self.trace, layer, self.rows), leaving)

    def attention(self, layer: int) -> Array:
        """Return the direction of the output of a layer's attention."""
        norm, leaving = self.trace.model.weights.blocks[layer].norm1_out, self.leaving(layer)
        if norm is None:
            return leaving
        if self._on_stream:
            return self._before(layer, self._middle(layer, leaving))
        return self._pulled(norm, attention_output(self.trace, layer, self.rows), leaving)

    def embedding(self, embedded: Array) -> Array:
        """Return the direction of what enters the stream; `embedded` (n_rows, d_model) all of it, before a norm."""
        return self._pulled(self.trace.model.weights.norm_embed, embedded, self.leaving(-1))

    @property
    def _on_stream(self) -> bool:
        return self.trace.model.config.norm_place == "stream"

    @property
    def _final(self) -> Array:
        return self.trace.resid_final[self.rows[0] : self.rows[1], :]

    def _middle(self, layer: int, leaving: Array) -> Array:
        """Norms on the stream: from the direction of the stream leaving a layer to that of resid_mid + MLP's output."""
        block, mid = self.trace.model.weights.blocks[layer], self.trace.layers[layer].resid_mid
        out = mlp_output(self.trace, layer, self.rows)
        return self._pulled(block.norm2_out, mid[self.rows[0] : self.rows[1], :] + out, leaving)

    def _before(self, layer: int, middle: Array) -> Array:
        """Norms on the stream: from the direction of resid_mid to that of resid_pre + attention's output."""
        block, pre = self.trace.model.weights.blocks[layer], self.trace.layers[layer].resid_pre
        out = attention_output(self.trace, layer, self.rows)
        return self._pulled(block.norm1_out, pre[self.rows[0] : self.rows[1], :] + out, middle)

    def _pulled(self, norm: Norm | None, x: Array, direction: Array) -> Array:
        """From a direction of a norm's output to one of its input x."""
        if norm is None:
            return direction
        config = self.trace.model.config
        return centre(config, direction * norm.gain) / norm_scale(config, x)


def unembedding(model: Model, target: int, foil: int | None = None) -> Array:
    """Return ``W_U[:, target]``, less ``W_U[:, foil]``, shape (d_model,).

    Raises
    ------
    KavError
        If the model has no output matrix.
    """
    check_logits(model.config)
    W_U = model.weights.W_U
    return W_U[:, target] if foil is None else W_U[:, target] - W_U[:, foil]


def _opened(model: Model, dense: Dense, final: Array) -> Array:
    xp = namespace(final, dense.W)
    return ACTIVATIONS[model.config.activation](final @ dense.W + dense.b, xp)


def frozen_logits(readout: Readout, weights: Weights, change: Array, layer: int, *, of_mlp: bool) -> Array:
    """Return by how much logits change if a half's output changes and nothing answers, every sigma frozen.

    Parameters
    ----------
    readout : Readout
        Of one position; its target does not matter.
    weights : Weights
        With as much of W_U as is wanted.
    change : array, shape (1, d_model)
        Of the output of a layer's attention or MLP, at that position.

    Returns
    -------
    array, shape (1, d_vocab of `weights`)
    """
    config, trace, rows = readout.trace.model.config, readout.trace, readout.rows
    first, stop = rows

    def through(norm: Norm | None, x: Array, change: Array) -> Array:
        return change if norm is None else centre(config, change) / norm_scale(config, x) * norm.gain

    for step in range(layer, config.n_layers):
        block, done = weights.blocks[step], trace.layers[step]
        on_stream = config.norm_place == "stream"
        if step > layer and not on_stream:
            break
        if not (of_mlp and step == layer):
            out = attention_output(trace, step, rows) if block.norm1_out is not None else change
            x = done.resid_pre[first:stop, :] + out if on_stream else out
            change = through(block.norm1_out, x, change)
        if on_stream or of_mlp:
            out = mlp_output(trace, step, rows) if block.norm2_out is not None else change
            x = done.resid_mid[first:stop, :] + out if on_stream else out
            change = through(block.norm2_out, x, change)
    if weights.dense is not None:
        change = (change @ weights.dense.W) * readout.open
    normed = centre(config, change) / readout.sigma
    return (normed if weights.norm_final is None else normed * weights.norm_final.gain) @ weights.W_U
