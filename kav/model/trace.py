"""One run of a model on one prompt, kept as a frozen value from which everything else is read.

A `Trace` keeps, layer by layer, the residual stream and q, k, v, z on the model's device: memory grows with n_tokens.
Scores, patterns and logits are computed when asked, and come back as NumPy arrays on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kav.arrays import Array, like, namespace, read_only, to_host
from kav.errors import KavError
from kav.model import attention, outputs
from kav.model.edits import Edit, of_layer, resolve
from kav.model.fallback import with_fallback
from kav.model.forward import LayerTrace
from kav.model.layers import added_by, embed, rotary
from kav.model.model import Model
from kav.model.prompts import check_memory, check_tokens, common
from kav.model.reuse import Past, one_layer, stream_from, unchanged
from kav.model.rows import bounds, by_rows
from kav.model.tokenizer import Tokens
from kav.task import Task


@dataclass(frozen=True, eq=False)
class Trace:
    """One forward pass; compares by identity.

    Parameters
    ----------
    model : Model
    tokens : Tokens
    edits : tuple of Edit
        As given to `run`.
    resolved : tuple of Edit
        The same with all positions counted from the start.
    layers : tuple of LayerTrace
        Device arrays.
    resid_final : array, shape (n_tokens, d_model)
        The stream after the last block, before the final norm, on the device.
    notice : str
        What the user should know: that the model's device failed and this is a run on the CPU. Told once.
    """

    model: Model
    tokens: Tokens
    edits: tuple[Edit, ...]
    resolved: tuple[Edit, ...]
    layers: tuple[LayerTrace, ...]
    resid_final: Array
    notice: str = ""

    @property
    def n_tokens(self) -> int:
        """Length of the prompt."""
        return len(self.tokens.ids)

    def position(self, position: int) -> int:
        """Return a position counted from the start.

        Raises
        ------
        KavError
            If the prompt has no such position.
        """
        if not -self.n_tokens <= position < self.n_tokens:
            raise KavError(f"position must be in {-self.n_tokens}..{self.n_tokens - 1}, got {position}")
        return position % self.n_tokens

    def edits_of(self, layer: int) -> tuple[Edit, ...]:
        """Return the resolved edits that acted in `layer`."""
        return of_layer(self.resolved, layer)

    def resid_pre(self, layer: int) -> Array:
        """Return the stream entering `layer` on the device, (n_tokens, d_model); n_layers = after the last block."""
        n_layers = self.model.config.n_layers
        if not 0 <= layer <= n_layers:
            raise KavError(f"layer must be in 0..{n_layers}, got {layer}")
        return self.resid_final if layer == n_layers else self.layers[layer].resid_pre

    def resid(self, layer: int) -> np.ndarray:
        """Return the residual stream entering `layer`; ``resid(n_layers)`` = after the last block, before the norm.

        Returns
        -------
        ndarray, shape (n_tokens, d_model)

        Raises
        ------
        KavError
            If the model has no such layer.
        """
        return read_only(to_host(self.resid_pre(layer)))

    def logits(self, positions: int | slice | Sequence[int] | None = None) -> np.ndarray:
        """Return the logits, computed only where asked.

        Parameters
        ----------
        positions : int, slice, sequence of int or None
            None = every position.

        Returns
        -------
        ndarray, shape (d_vocab,) for an int, else (n_positions, d_vocab)

        Raises
        ------
        KavError
            If a position does not exist.
        """
        if isinstance(positions, int | np.integer):
            row = self.position(int(positions))
            return to_host(self.model.unembed(self.resid_final[row : row + 1, :])[0, :])
        if positions is None or isinstance(positions, slice):
            rows = list(range(self.n_tokens))[slice(None) if positions is None else positions]
        else:
            rows = [self.position(int(place)) for place in positions]
        xp = namespace(self.resid_final)
        chosen = xp.take(self.resid_final, like(self.resid_final, np.asarray(rows, int), dtype=xp.int64), axis=0)
        return to_host(self.model.unembed(chosen))

    def log_probs(self, position: int = -1) -> np.ndarray:
        """Return the log-probabilities of the next token at one position, float64, shape (d_vocab,)."""
        logits = self.logits(position).astype(np.float64)
        shifted = logits - logits.max()
        return np.asarray(shifted - np.log(np.exp(shifted).sum()))

    def scores(
        self, layer: int, head: int, queries: slice | None = None, keys: slice | None = None, *, masked: bool = True
    ) -> np.ndarray:
        """Return a tile of one head's scores, ``q_i . k_j * scale`` with the layer's edits, masked cells -inf.

        Parameters
        ----------
        layer, head : int
        queries, keys : slice or None
            Ranges of positions, step 1; None = all.
        masked : bool
            False shows what the masked cells would score.

        Returns
        -------
        ndarray, shape (n_queries, n_keys)

        Raises
        ------
        KavError
            If layer, head or a slice does not fit.
        """
        q, k, corner = self._tile(layer, head, queries, keys)
        return by_rows(
            q,
            lambda rows, at: attention.log_kernel(
                self.model.config,
                rows,
                k,
                layer=layer,
                edits=self.edits_of(layer),
                masked=masked,
                corner=(head, at, corner[1]),
            ),
            corner[0],
        )

    def pattern(self, layer: int, head: int, queries: slice | None = None, keys: slice | None = None) -> np.ndarray:
        """Return a tile of one head's pattern: the weights after the softmax, with the layer's edits.

        Rows (over all keys) sum to 1, or are all 0 where nothing is visible; `ScaleEdge` changes them afterwards.

        Returns
        -------
        ndarray, shape (n_queries, n_keys)

        Raises
        ------
        KavError
            If layer, head or a slice does not fit.
        """
        q, k, (first, _) = self._tile(layer, head, queries, None)
        columns = bounds(keys, self.n_tokens, "keys")
        return by_rows(
            q,
            lambda rows, at: attention.pattern(
                self.model.config, rows, k, layer=layer, edits=self.edits_of(layer), corner=(head, at, 0)
            )[..., columns[0] : columns[1]],
            first,
        )

    def head_output(self, layer: int, head: int) -> np.ndarray:
        """Return what one head adds to the stream, ``z W_O`` with the layer's edits, before any bias.

        Where a norm stands between attention's output and the stream, its gain is in it, and its scale as it ran.

        Returns
        -------
        ndarray, shape (n_tokens, d_model)
        """
        self.model.config.check_head(layer, head)
        block, z = self.model.weights.blocks[layer], self.layers[layer].z
        wrote = z[head, :, :] @ block.W_O[head, :, :]
        if block.norm1_out is not None:
            wrote = added_by(self.model.config, block.norm1_out, outputs.merge_heads(z, block), wrote)
        return to_host(wrote)

    def _tile(
        self, layer: int, head: int, queries: slice | None, keys: slice | None
    ) -> tuple[Array, Array, tuple[int, int]]:
        """Queries and keys of a tile, (1, n, d_head) each, and the positions that stand first."""
        self.model.config.check_head(layer, head)
        rows, columns = bounds(queries, self.n_tokens, "queries"), bounds(keys, self.n_tokens, "keys")
        kv_head = self.model.config.kv_head(head)
        q = self.layers[layer].q[head : head + 1, rows[0] : rows[1], :]
        k = self.layers[layer].k[kv_head : kv_head + 1, columns[0] : columns[1], :]
        return q, k, (rows[0], columns[0])


def run(
    model: Model,
    tokens: Tokens,
    edits: Iterable[Edit] = (),
    *,
    base: Trace | None = None,
    task: Task | None = None,
    so_far: Callable[[Trace], None] | None = None,
) -> Trace:
    """Return the trace of one forward pass of the model, as edited, on a prompt.

    Parameters
    ----------
    model : Model
    tokens : Tokens
        At least one, at most n_ctx.
    edits : iterable of Edit
        Together they say how the run differs from the model as it is.
    base : Trace or None
        An earlier trace of this model, or of its first layers alone (`Model.starts_with`). What cannot differ from it
        is taken over: layers below the first edit that differs, and the positions before the first token (or edited
        row) that differs.
    task : Task or None
        Reports after every layer.
    so_far : callable or None
        Called after every layer but the last with a trace that has only the layers so far, and the stream after them.

    Returns
    -------
    Trace
        If the model's device fails, a run of the same model on the CPU (`Trace.model`), with a notice.

    Raises
    ------
    ModelError
        If the prompt does not fit the model or its run the memory, or an edit does not fit both.
    """
    edits = tuple(edits)
    check_tokens(tokens, model.config)
    trace, notice = with_fallback(model, lambda model: _run(model, tokens, edits, base=base, task=task, so_far=so_far))
    return replace(trace, notice=notice) if notice else trace


def _run(
    model: Model,
    tokens: Tokens,
    edits: tuple[Edit, ...],
    *,
    base: Trace | None,
    task: Task | None,
    so_far: Callable[[Trace], None] | None,
) -> Trace:
    config = model.config
    check_memory(model, len(tokens.ids))
    resolved = resolve(edits, config, len(tokens.ids))
    if base is not None and not model.starts_with(base.model):
        base = None
    same = 0 if base is None else common(config, tokens.ids, base.tokens.ids)
    rows = embed(config, model.weights, tokens.ids, same)  # (n_tokens - same, d_model)
    table = rotary(config, len(tokens.ids), like_=rows)
    layers = []
    for layer, block in enumerate(model.weights.blocks):
        here, past = of_layer(resolved, layer), None
        if base is not None and layer == len(base.layers):  # the base goes no further
            rows = rows if same == 0 else stream_from(base.resid_final, 0, same, rows)
            base, same = None, 0
        if base is not None:
            past = Past(base.layers[layer], base.edits_of(layer), base.n_tokens)
            kept = unchanged(config, same, here, past, n_tokens=len(tokens.ids))
            rows, same = rows if kept == same else stream_from(base.resid_pre(layer), kept, same, rows), kept
        step, rows = one_layer(config, block, rows, layer=layer, table=table, edits=here, same=same, past=past)
        layers.append(step)
        if task is not None:
            task.report((layer + 1) / config.n_layers)
        if so_far is not None and layer + 1 < config.n_layers:
            stream = rows if base is None or same == 0 else stream_from(base.resid_pre(layer + 1), 0, same, rows)
            so_far(Trace(model, tokens, edits, resolved, tuple(layers), stream))
    resid_final = rows if base is None or same == 0 else stream_from(base.resid_final, 0, same, rows)
    return Trace(model, tokens, edits, resolved, tuple(layers), resid_final)
