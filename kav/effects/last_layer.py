"""The last layer for streams on a straight line, without running it once per dose.

A stream ``s + t d`` is linear in t until a norm divides it, and the norm divides each row by one number. Keys, values
and queries are therefore ``(A + t B) / sigma(t) + c``, with A, B and c projected once for all doses, and the scores of
the one row that is read are sums of three small products. This is what makes a dose curve of a two-layer model as
cheap as a few forward passes; `kav.effects.rerun` takes the general way wherever it does not apply.

Shapes: ``t (n_doses,)``; pieces ``(n_kv_heads, n_keys, d_head)``; scores ``(n_heads, n_doses, n_keys)``.
"""

from __future__ import annotations

from dataclasses import dataclass

from kav import smoother
from kav.arrays import Array, namespace
from kav.effects.component import Injection
from kav.errors import KavError
from kav.model.attention import project
from kav.model.config import Config, Norm
from kav.model.forward import mlp_half
from kav.model.layers import Rotary, centre, rotary, rotate
from kav.model.outputs import merge_heads
from kav.model.products import by_group
from kav.model.trace import Trace


def meets_last_layer(trace: Trace, place: Injection) -> bool:
    """Return whether the altered stream enters the last layer on a line, and that layer is plain and runs as it is."""
    config = trace.model.config
    last = config.n_layers - 1
    plain = config.norm_place == "before" and not (config.qk_norm or config.score_cap or config.window(last))
    return plain and place.layer == last and not place.from_mid and not trace.edits_of(last)


def through_last_layer(trace: Trace, place: Injection, doses: Array, *, position: int) -> Array:
    """Return the final streams at one position of the runs ``stream + (dose - 1) * direction``, (n_doses, d_model).

    Parameters
    ----------
    trace : Trace
    place : Injection
        One for which `meets_last_layer` holds.
    doses : array, shape (n_doses,)
    position : int
        Counted from the start.
    """
    config, block = trace.model.config, trace.model.weights.blocks[place.layer]
    n_seen = position + 1 if config.causal else trace.n_tokens
    if block.norm1 is None:
        raise KavError("norm1 must be there in a plain layer, got None")
    line = _Line(config, block.norm1, place.stream[:n_seen, :], place.direction[:n_seen, :], doses - 1)
    table = rotary(config, trace.n_tokens, like_=place.stream)
    q = line.at_row(block.W_Q, block.b_Q, table, position)  # (n_heads, n_doses, d_head)
    scores = line.scores(q, line.pieces(block.W_K, block.b_K, table)) * config.score_scale(place.layer)
    weights = smoother.weights(scores)
    z = line.averages(weights, line.pieces(block.W_V, block.b_V, None))  # (n_heads, n_doses, d_head)
    t = (doses - 1)[:, None]
    resid_pre = place.stream[position, :][None, :] + t * place.direction[position, :][None, :]  # (n_doses, d_model)
    resid_mid = resid_pre + merge_heads(z, block)
    return mlp_half(config, block, resid_pre[:, None, :], resid_mid[:, None, :], first=position)[:, 0, :]


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Projections ``(fixed + t moving) / sigma + constant``, each (n_heads, n_tokens, d_head)."""

    fixed: Array
    moving: Array
    constant: Array


@dataclass(frozen=True, eq=False)
class _Line:
    """Normalised streams ``centre(s + t d) / sigma(t) * gain + bias`` of all doses at once."""

    config: Config
    norm: Norm
    stream: Array  # (n_keys, d_model)
    direction: Array  # (n_keys, d_model)
    t: Array  # (n_doses,)

    def sigma(self) -> Array:
        """The norm's divisor, a quadratic in t under a root, (n_doses, n_keys)."""
        xp = namespace(self.stream)
        s, d = centre(self.config, self.stream), centre(self.config, self.direction)
        t = self.t[:, None]
        square = xp.mean(s * s, axis=-1) + 2 * t * xp.mean(s * d, axis=-1) + t * t * xp.mean(d * d, axis=-1)
        return xp.sqrt(xp.where(square > 0, square, xp.zeros_like(square)) + self.config.norm_eps)

    def pieces(self, W: Array, b: Array | None, table: Rotary | None) -> _Pieces:
        """Projections of all tokens through W (n_heads, d_model, d_head), rotated."""
        return self._project(self.stream, self.direction, W, b=b, table=table, first=0)

    def at_row(self, W: Array, b: Array | None, table: Rotary | None, row: int) -> Array:
        """The projection of one token at every dose, (n_heads, n_doses, d_head)."""
        s, d = self.stream[row : row + 1, :], self.direction[row : row + 1, :]
        pieces = self._project(s, d, W, b=b, table=table, first=row)
        sigma = self.sigma()[:, row][:, None]  # (n_doses, 1)
        return (pieces.fixed + self.t[:, None] * pieces.moving) / sigma + pieces.constant

    def _project(
        self, stream: Array, direction: Array, W: Array, *, b: Array | None, table: Rotary | None, first: int
    ) -> _Pieces:
        xp = namespace(stream, W)
        bias = xp.zeros_like(stream) if self.norm.bias is None else xp.zeros_like(stream) + self.norm.bias
        fixed, moving, constant = (
            rotate(project(x, W, shift), table, first)
            for x, shift in (
                (centre(self.config, stream) * self.norm.gain, None),
                (centre(self.config, direction) * self.norm.gain, None),
                (bias, b),
            )
        )
        return _Pieces(fixed, moving, constant)

    def scores(self, q: Array, keys: _Pieces) -> Array:
        """``q . k`` of the row's query with every key, both moving with the dose, (n_heads, n_doses, n_keys)."""
        xp = namespace(q)
        fixed, moving, constant = (
            by_group(q, xp.matrix_transpose(piece)) for piece in (keys.fixed, keys.moving, keys.constant)
        )
        return (fixed + self.t[:, None] * moving) / self.sigma() + constant

    def averages(self, weights: Array, values: _Pieces) -> Array:
        """``sum_j weights_j v_j``, the values moving with the dose, (n_heads, n_doses, d_head)."""
        scaled = weights / self.sigma()
        moving = by_group(scaled, values.moving)
        return by_group(scaled, values.fixed) + self.t[:, None] * moving + by_group(weights, values.constant)
