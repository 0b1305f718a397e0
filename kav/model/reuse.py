"""What an earlier run of the same model already knows about this one, layer by layer.

An edit changes nothing in the layers below it, and in a causal model nothing at the positions before it. A run that
is given an earlier trace therefore computes only rows that can differ and takes the others over, as the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kav.arrays import Array, namespace
from kav.model.config import Block, Config
from kav.model.edits import Edit, MoveQuery, first_row, needs_whole_prompt
from kav.model.forward import LayerTrace, attention_half, mlp_half
from kav.model.layers import Rotary


@dataclass(frozen=True, eq=False)
class Past:
    """One layer of an earlier run: its trace, the stream that left it, and the resolved edits that acted in it."""

    layer: LayerTrace
    after: Array  # (n_tokens of that run, d_model)
    edits: tuple[Edit, ...]


def unchanged(config: Config, same: int, edits: tuple[Edit, ...], past: Past, *, n_tokens: int) -> int:
    """Return how many leading rows leave a layer as in the earlier run, if `same` of them entered it so."""
    if same == n_tokens == past.after.shape[-2] and edits == past.edits:
        return same
    if not config.causal or needs_whole_prompt(edits + past.edits):
        return 0
    if edits != past.edits:
        different = edits + past.edits
    else:
        different = tuple(edit for edit in edits if isinstance(edit, MoveQuery) and edit.towards >= same)
    return min([same, *(first_row(edit) for edit in different)])


def one_layer(
    config: Config,
    block: Block,
    resid: Array,
    *,
    layer: int,
    table: Rotary | None,
    edits: tuple[Edit, ...],
    same: int,
    past: Past | None,
) -> tuple[LayerTrace, Array]:
    """Return one layer's trace and the stream that leaves it, the first `same` rows taken over from the past.

    Parameters
    ----------
    resid : array, shape (n_tokens, d_model)
        The stream entering the layer, all rows.
    layer : int
    table : Rotary or None
    edits : tuple of Edit
        Resolved edits of this layer.
    same : int
        As `unchanged` says; 0 computes everything.
    past : Past or None
        None computes everything.
    """
    n_tokens = resid.shape[-2]
    if past is not None and same == n_tokens:
        return _cut(past.layer, n_tokens), past.after[:n_tokens, :]
    old = None if past is None or same == 0 else past.layer
    new = attention_half(config, block, resid, layer=layer, table=table, edits=edits, first=same, past=old)
    out = mlp_half(config, block, resid[same:, :], new.resid_mid, edits=edits, first=same)
    if past is None or old is None:
        return new, out
    xp, kept = namespace(resid), _cut(old, same)
    whole = replace(
        new,
        q=xp.concat([kept.q, new.q], axis=-2),
        z=xp.concat([kept.z, new.z], axis=-2),
        resid_mid=xp.concat([kept.resid_mid, new.resid_mid], axis=-2),
    )
    return whole, xp.concat([past.after[:same, :], out], axis=-2)


def _cut(layer: LayerTrace, n: int) -> LayerTrace:
    """The first n rows of a layer's trace; the trace itself if that is all of them."""
    if layer.resid_pre.shape[-2] == n:
        return layer
    return LayerTrace(
        layer.resid_pre[:n, :],
        layer.q[:, :n, :],
        layer.k[:, :n, :],
        layer.v[:, :n, :],
        layer.z[:, :n, :],
        layer.resid_mid[:n, :],
    )
