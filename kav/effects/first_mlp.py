"""The MLP behind an altered stream, for streams on a straight line: its first matrices once, not once per dose.

A stream ``s + t d`` is linear in t until a norm divides it, and the norm divides each row by one number. What the
MLP's first matrices make of it is therefore ``(A + t B) / sigma(t) + c``, with A, B and c computed once for all doses.
`kav.effects.rerun` takes it from there with the next layer, and takes the general way where this does not apply.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from array_api_compat import is_numpy_array

from kav.arrays import Array, namespace
from kav.effects.component import Injection
from kav.errors import KavError
from kav.model.config import Mlp, Norm
from kav.model.forward import scale_mlp
from kav.model.layers import affine, centre, mlp_from, norm_scale
from kav.model.trace import Trace
from kav.threads import ROWS, blocks, each


def meets_mlp(trace: Trace, place: Injection) -> bool:
    """Return whether the altered stream is on a line and the MLP's norm is the next thing that reads it."""
    return place.from_mid and trace.model.config.norm_place == "before"


@dataclass(frozen=True, eq=False)
class FirstMlp:
    """The rest of the layer in which a stream is altered.

    Parameters
    ----------
    trace : Trace
    place : Injection
        One for which `meets_mlp` holds; its rows may be cut.
    doses : array, shape (n_doses,)
    first : int
        Position of the place's first row.
    """

    trace: Trace
    place: Injection
    doses: Array
    first: int

    def streams(self, start: int, stop: int) -> Array:
        """Return the streams entering the next layer at a range of the doses, (stop - start, n_rows, d_model)."""
        on_host = is_numpy_array(self.place.stream)
        size = max(1, ROWS // self.place.stream.shape[0]) if on_host else stop - start
        ranges = [(start + at[0], start + at[1]) for at in blocks(stop - start, size)]
        _ = self._inside, self._gate  # before they are shared
        parts = each(self._some, ranges, shared=on_host)
        return parts[0] if len(parts) == 1 else namespace(*parts).concat(parts, axis=0)

    def _some(self, at: tuple[int, int]) -> Array:
        config = self.trace.model.config
        t = (self.doses[at[0] : at[1]] - 1)[:, None, None]
        resid = self.place.moved(t * self.place.direction[None, :, :])
        sigma = norm_scale(config, resid)
        gate = None if self._gate is None else self._gate.at(t, sigma)
        out = mlp_from(config, self._weights, self._inside.at(t, sigma), gate)
        resid += scale_mlp(out, self.trace.edits_of(self.place.layer), self.first)
        return resid

    @property
    def _weights(self) -> Mlp:
        weights = self.trace.model.weights.blocks[self.place.layer].mlp
        if weights is None:
            raise KavError("an MLP must be there for a stream to stand before it, got none")
        return weights

    @cached_property
    def _inside(self) -> _Line:
        return self._line(self._weights.W_in, self._weights.b_in)

    @cached_property
    def _gate(self) -> _Line | None:
        weights = self._weights
        return None if weights.W_gate is None else self._line(weights.W_gate, weights.b_gate)

    def _line(self, W: Array, b: Array | None) -> _Line:
        config, norm = self.trace.model.config, self.trace.model.weights.blocks[self.place.layer].norm2
        if norm is None:
            raise KavError("a norm must stand before an MLP, got none")
        fixed, moving = (
            affine(centre(config, x) * norm.gain, W, None) for x in (self.place.stream, self.place.direction)
        )
        return _Line(fixed, moving, _constant(norm, W, b))


@dataclass(frozen=True, eq=False)
class _Line:
    """``(fixed + t moving) / sigma(t) + constant``, each (n_rows, d_mlp); no constant is None."""

    fixed: Array
    moving: Array
    constant: Array | None

    def at(self, t: Array, sigma: Array) -> Array:
        """Its values (n_doses, n_rows, d_mlp) for t (n_doses, 1, 1) and sigma (n_doses, n_rows, 1)."""
        out = t * self.moving[None, :, :]
        out += self.fixed
        out /= sigma
        if self.constant is not None:
            out += self.constant
        return out


def _constant(norm: Norm, W: Array, b: Array | None) -> Array | None:
    """What a norm's bias and a matrix's own add, (1, d_mlp)."""
    if norm.bias is not None:
        return affine(norm.bias[None, :], W, b)
    return None if b is None else b[None, :]
