"""The rest of many runs at once: altered streams that enter the model half-way, batched through what remains.

A dose curve builds one stream per dose, ``resid_mid + (dose - 1) * contribution``, and reads all of them here. Layers
below the alteration and, in a causal model, positions before it are not run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from array_api_compat import is_numpy_array

from kav.arrays import Array, like, namespace
from kav.errors import KavError
from kav.model.config import Config
from kav.model.edits import Edit, needs_whole_prompt, of_layer, resolve
from kav.model.forward import LayerTrace, attention_half, mlp_half
from kav.model.layers import Rotary, rotary
from kav.model.model import Model
from kav.task import Task
from kav.threads import ROWS, blocks, each

CHUNK_NUMBERS = 1 << 25
"""Most numbers of one layer's widest activation that `suffix` holds at once (128 MiB in float32)."""

CHUNK_WORK = 1 << 33
"""Most multiplications of one layer of one chunk: some 0.2 s on one core, so that cancelling is never waited for."""


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
        groups = [chunk[at[0] : at[1], :, :] for at in self._groups(chunk)]
        for layer in range(self.layer, config.n_layers):
            last = layer == config.n_layers - 1 and not needs_whole_prompt(of_layer(self.edits, layer))
            wanted = min(self.rows) if last and (layer > self.layer or not self.from_mid) else start
            groups = each(partial(self._one_layer, layer, start, wanted), groups, shared=is_numpy_array(chunk))
            start = wanted
            if self.task is not None:
                steps = config.n_layers - self.layer
                self.task.report(done + share * (layer + 1 - self.layer) / steps)
        xp = namespace(chunk)
        out = groups[0] if len(groups) == 1 else xp.concat(groups, axis=0)
        return xp.take(out, like(out, [row - start for row in self.rows], dtype=xp.int64), axis=-2)

    def _groups(self, chunk: Array) -> list[tuple[int, int]]:
        """Streams that go through a layer together: on the host, so many that what they need fits the cache."""
        n_streams, n_rows, _ = chunk.shape
        return blocks(n_streams, max(1, ROWS // n_rows) if is_numpy_array(chunk) else n_streams)

    def _one_layer(self, layer: int, start: int, wanted: int, resid: Array) -> Array:
        """Streams from position `start` on, through one layer; those that leave it begin at position `wanted`."""
        config, block, edits = self.model.config, self.model.weights.blocks[layer], of_layer(self.edits, layer)
        before = resid
        if layer > self.layer or not self.from_mid:
            step = attention_half(
                config,
                block,
                resid,
                layer=layer,
                table=self.table,
                edits=edits,
                start=start,
                first=wanted,
                past=self.past[layer] if start else None,
            )
            before, resid = resid[:, wanted - start :, :], step.resid_mid
        return mlp_half(config, block, before, resid, edits=edits, first=wanted)


def _rows(positions: tuple[int, ...] | None, n_tokens: int) -> tuple[int, ...]:
    """Positions to read, counted from the start."""
    if positions is None:
        return tuple(range(n_tokens))
    if not positions or not all(-n_tokens <= place < n_tokens for place in positions):
        raise KavError(f"positions must be in {-n_tokens}..{n_tokens - 1}, at least one, got {positions}")
    return tuple(place % n_tokens for place in positions)
