"""The forward pass, one layer at a time, for one prompt or a batch of altered residual streams.

``resid_pre -> norm -> q k v -> z -> resid_mid -> norm -> MLP -> resid_post``: `attention_half` and `mlp_half` are a
layer's two steps; `kav.model.trace.run` and `suffix` repeat them. Streams are ``(..., n_tokens, d_model)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kav.arrays import Array, like, namespace
from kav.errors import KavError
from kav.model.attention import (
    Pieces,
    asked_from,
    attend,
    merge_heads,
    move_queries,
    project,
    scale_heads,
    scale_output,
)
from kav.model.config import Block, Config, Norm
from kav.model.edits import Edit, MoveQuery, ScaleMlp, needs_whole_prompt, of_layer, resolve
from kav.model.layers import Rotary, add, mlp, normalise, normalise_heads, rotary, rotate
from kav.model.model import Model
from kav.task import Task
from kav.threads import along_tokens, by_rows

CHUNK_NUMBERS = 1 << 25
"""Most numbers of one layer's widest activation that `suffix` holds at once (128 MiB in float32)."""

CHUNK_WORK = 1 << 33
"""Most multiplications of one layer of one chunk: some 0.2 s on one core, so that cancelling is never waited for."""


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


def suffix(
    model: Model,
    resid: Array,
    layer: int,
    *,
    edits: tuple[Edit, ...] = (),
    positions: tuple[int, ...] | None = None,
    from_mid: bool = False,
    first: int = 0,
    past: Sequence[LayerTrace] = (),
    task: Task | None = None,
) -> Array:
    """Return the final residual streams of a batch that enters the model at `layer`: the rest of the run, batched.

    A dose curve builds one stream per dose, ``resid_mid + (dose - 1) * contribution``, and reads all of them here.

    Parameters
    ----------
    model : Model
    resid : array, shape (n_batch, n_tokens - first, d_model)
        Streams on the model's device: entering `layer`, or with `from_mid` between its attention and its MLP.
    layer : int
        0..n_layers; n_layers only selects positions.
    edits : tuple of Edit
        Edits of `layer` and later layers act (of `layer` itself only the MLP's when `from_mid`); earlier ones are
        taken to be in `resid` already.
    positions : tuple of int or None
        Positions to return, negative ones from the end; None = all. The last layer computes only what is needed.
    from_mid : bool
        Whether `resid` is a resid_mid; there is none to start from where attention and MLP are parallel.
    first, past : int, sequence of LayerTrace
        The positions before `first` are as in an earlier run, all of whose layers are `past`, in every layer of every
        stream of the batch: they are not run again. In a causal model that is so before the first altered row.
    task : Task or None
        Reports after every layer of every chunk of the batch, and cancels there.

    Returns
    -------
    array, shape (n_batch, n_read, d_model)
        Before the final norm; `Model.unembed` turns it into logits.

    Raises
    ------
    ModelError
        If an edit does not fit the model.
    KavError
        If a shape, layer or position does not.
    """
    config = model.config
    xp = namespace(resid, model.weights.W_E)
    if len(resid.shape) != 3 or resid.shape[-1] != config.d_model:
        raise KavError(f"resid must have shape (n_batch, n_tokens, {config.d_model}), got {tuple(resid.shape)}")
    if from_mid and config.parallel:
        raise KavError("from_mid must be False where attention and MLP are parallel, got True", "enter the next layer")
    if not 0 <= layer <= config.n_layers - from_mid:
        raise KavError(f"layer must be in 0..{config.n_layers - from_mid}, got {layer}")
    n_batch, n_tokens = resid.shape[0], first + resid.shape[1]
    if first and (len(past) != config.n_layers or not config.causal):
        raise KavError(f"first must be 0 without an earlier run of a causal model, got {first}")
    edits, rows = resolve(edits, config, n_tokens), _rows(positions, n_tokens)
    if min(rows) < first:
        raise KavError(f"positions must be among those that are run again, {first}..{n_tokens - 1}, got {min(rows)}")
    rest = _Rest(model, edits, rotary(config, n_tokens, like_=resid), layer, from_mid, first, tuple(past), rows, task)
    size = _chunk(config, resid.shape[1])
    parts = []
    for start in range(0, n_batch, size):
        stop = min(n_batch, start + size)
        parts.append(rest.run(resid[start:stop, :, :], done=start / n_batch, share=(stop - start) / n_batch))
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)


def _chunk(config: Config, n_rows: int) -> int:
    """How many streams of `n_rows` rows are taken at once."""
    d_heads = (config.n_heads + config.n_kv_heads) * config.d_head
    work = config.d_model * (2 * d_heads + (3 if config.gated else 2) * config.d_mlp)
    widest = max(config.d_mlp, config.d_model, config.n_heads * config.d_head)
    return max(1, min(CHUNK_NUMBERS // widest, CHUNK_WORK // work) // n_rows)


@dataclass(frozen=True, eq=False)
class _Rest:
    """What `suffix` does to every chunk of its batch."""

    model: Model
    edits: tuple[Edit, ...]
    table: Rotary | None
    layer: int
    from_mid: bool
    first: int
    past: tuple[LayerTrace, ...]
    rows: tuple[int, ...]
    task: Task | None

    def run(self, chunk: Array, *, done: float, share: float) -> Array:
        """Final streams of a chunk at the rows that are read; reports its share of the whole."""
        config, start = self.model.config, self.first
        before = chunk
        for layer in range(self.layer, config.n_layers):
            edits, block = of_layer(self.edits, layer), self.model.weights.blocks[layer]
            if layer > self.layer or not self.from_mid:
                last = layer == config.n_layers - 1 and not needs_whole_prompt(edits)
                wanted = min(self.rows) if last else start
                past = self.past[layer] if start else None
                step = attention_half(
                    config,
                    block,
                    chunk,
                    layer=layer,
                    table=self.table,
                    edits=edits,
                    start=start,
                    first=wanted,
                    past=past,
                )
                before, chunk, start = chunk[:, wanted - start :, :], step.resid_mid, wanted
            chunk = mlp_half(config, block, before, chunk, edits=edits, first=start)
            if self.task is not None:
                steps = config.n_layers - self.layer
                self.task.report(done + share * (layer + 1 - self.layer) / steps)
        xp = namespace(chunk)
        return xp.take(chunk, like(chunk, [row - start for row in self.rows], dtype=xp.int64), axis=-2)


def _rows(positions: tuple[int, ...] | None, n_tokens: int) -> tuple[int, ...]:
    """Positions to read, counted from the start."""
    if positions is None:
        return tuple(range(n_tokens))
    if not positions or not all(-n_tokens <= place < n_tokens for place in positions):
        raise KavError(f"positions must be in {-n_tokens}..{n_tokens - 1}, at least one, got {positions}")
    return tuple(place % n_tokens for place in positions)
