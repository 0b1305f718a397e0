"""The forward pass, one layer at a time, for one prompt or a batch of altered residual streams.

``resid_pre -> norm -> q k v -> z -> resid_mid -> norm -> MLP -> resid_post``: `attention_half` and `mlp_half` are a
layer's two steps; `kav.model.trace.run` and `suffix` repeat them. Streams are ``(..., n_tokens, d_model)``.
"""

from __future__ import annotations

from dataclasses import dataclass

from kav.arrays import Array, namespace
from kav.model.attention import Pieces, asked_from, attend, move_queries, project
from kav.model.config import Block, Config, Norm
from kav.model.edits import Edit, MoveQuery, ScaleMlp, needs_whole_prompt
from kav.model.layers import Rotary, add, mlp, normalise, normalise_heads, rotate
from kav.model.outputs import merge_heads, scale_heads, scale_output
from kav.threads import along_tokens, by_rows


@dataclass(frozen=True, eq=False)
class LayerTrace:
    """What one layer did on one prompt, on the model's device, with the layer's edits applied."""

    resid_pre: Array  # (n_tokens, d_model), entering the layer
    q: Array  # (n_heads, n_tokens, d_head), rotated, after MoveQuery
    k: Array  # (n_kv_heads, n_tokens, d_head), rotated
    v: Array  # (n_kv_heads, n_tokens, d_head)
    z: Array  # (n_heads, n_tokens, d_head), pattern @ v, after ScaleHead
    resid_mid: Array  # (n_tokens, d_model), after attention, before the MLP

    def pieces(self, name: str, n: int) -> Pieces:
        """Return the first n rows of the field called `name`, in as many pieces as they are kept in."""
        return (getattr(self, name)[..., :n, :],)


def attention_half(
    config: Config,
    block: Block,
    resid: Array,
    *,
    layer: int,
    table: Rotary | None,
    edits: tuple[Edit, ...] = (),
    start: int = 0,
    first: int | None = None,
    past: LayerTrace | None = None,
) -> LayerTrace:
    """Return a layer's attention step for positions `start`, start + 1, ...

    Parameters
    ----------
    resid : array, shape (..., n_tokens - start, d_model)
        The stream entering the layer.
    layer : int
    table : Rotary or None
        Rotations of all positions.
    edits : tuple of Edit
        Resolved edits of this layer.
    start : int
        Position of the first row.
    first : int or None
        First position whose output is wanted: q, z and resid_mid begin there; None = start.
    past : LayerTrace or None
        The layer in a run that has the same positions before `start`; needed if there are any.
    """
    namespace(resid, block.W_Q)
    first = start if first is None else first
    x = by_rows(lambda rows: normalise(config, block.norm1, rows), resid)
    rotated, plain = _Projection(config, table), _Projection(config, None)
    q = rotated(x[..., first - start :, :], block.W_Q, block.b_Q, norm=block.norm_Q, first=first)
    k = rotated(x, block.W_K, block.b_K, norm=block.norm_K, first=start)
    v = plain(x, block.W_V, block.b_V, norm=None, first=start)
    towards = {edit: _row(edit.towards, resid, start, past) for edit in edits if isinstance(edit, MoveQuery)}
    q = move_queries(q, edits, _targets(config, block, towards, table=table), first)
    keys, values = ((k,), (v,)) if past is None else ((*past.pieces("k", start), k), (*past.pieces("v", start), v))
    z = attend(config, q, keys, values, layer=layer, edits=edits, corner=(0, first))
    z = scale_heads(z, edits, first)
    resid_mid = add(config, block.norm1_out, resid[..., first - start :, :], merge_heads(z, block))
    return LayerTrace(resid, q, k, v, z, resid_mid)


def _row(position: int, resid: Array, start: int, past: LayerTrace | None) -> Array:
    """The stream entering a layer at one position, (..., 1, d_model)."""
    if past is not None and position < start:
        return past.resid_pre[position : position + 1, :]
    return resid[..., position - start : position - start + 1, :]


@dataclass(frozen=True, eq=False)
class _Projection:
    """Makes queries, keys or values of what attention reads: projected, normalised by head, rotated."""

    config: Config
    table: Rotary | None

    def __call__(self, x: Array, W: Array, b: Array | None, *, norm: Norm | None, first: int) -> Array:
        """Those of a stream (..., n, d_model) whose first row is position `first`: (..., n_heads, n, d_head)."""

        def part(rows: tuple[int, int]) -> Array:
            out = normalise_heads(self.config, norm, project(x[..., rows[0] : rows[1], :], W, b))
            return rotate(out, self.table, first + rows[0])

        return along_tokens(part, x)


def _targets(
    config: Config, block: Block, towards: dict[MoveQuery, Array], *, table: Rotary | None
) -> dict[MoveQuery, Array]:
    """The other tokens' questions that `MoveQuery` edits move to, from the stream at those tokens."""
    return {
        edit: asked_from(config, block, normalise(config, block.norm1, row), edit.head, table=table, query=edit.query)
        for edit, row in towards.items()
    }


def mlp_half(
    config: Config,
    block: Block,
    resid_pre: Array,
    resid_mid: Array,
    *,
    edits: tuple[Edit, ...] = (),
    first: int = 0,
) -> Array:
    """Return the stream leaving a layer: resid_mid with what the MLP makes of it, or of resid_pre, beside attention.

    Parameters
    ----------
    resid_pre, resid_mid : array, shape (..., n, d_model)
        The stream before and after attention at positions first, first + 1, ...; resid_pre is read only where
        attention and MLP are parallel.
    """
    if block.mlp is None:
        return resid_mid
    weights = block.mlp
    read = resid_pre if config.parallel else resid_mid
    out = by_rows(lambda rows: mlp(config, weights, normalise(config, block.norm2, rows)), read)
    return add(config, block.norm2_out, resid_mid, scale_mlp(out, edits, first))


def mlp_output(
    config: Config,
    block: Block,
    done: LayerTrace,
    edits: tuple[Edit, ...],
    rows: tuple[int, int] | None = None,
) -> Array:
    """Return what a layer's MLP computed in a run, edits included, before a norm after it; zeros without an MLP.

    Parameters
    ----------
    rows : tuple of int or None
        First position and the one after the last; None = all.
    """
    read = done.resid_pre if config.parallel else done.resid_mid
    first, stop = (0, read.shape[-2]) if rows is None else rows
    if block.mlp is None:
        return namespace(read).zeros_like(read[first:stop, :])
    if needs_whole_prompt(edits):
        return scale_mlp(mlp(config, block.mlp, normalise(config, block.norm2, read)), edits)[first:stop, :]
    read = normalise(config, block.norm2, read[first:stop, :])
    return scale_mlp(mlp(config, block.mlp, read), edits, first)


def scale_mlp(out: Array, edits: tuple[Edit, ...], first: int = 0) -> Array:
    """Return an MLP's output (..., n, d_model) after this layer's `ScaleMlp` edits, in their order."""
    for edit in edits:
        if isinstance(edit, ScaleMlp):
            out = scale_output(out, edit, first)
    return out
