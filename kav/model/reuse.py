"""What an earlier run of the same model already knows about this one, layer by layer.

An edit changes nothing in the layers below it, and in a causal model nothing at the positions before it. A run that
is given an earlier trace therefore computes only rows that can differ and takes the others over, as the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from kav.arrays import Array, namespace
from kav.model.attention import Pieces
from kav.model.config import Block, Config
from kav.model.edits import Edit, MoveQuery, first_row, needs_whole_prompt
from kav.model.forward import LayerTrace, attention_half, mlp_half
from kav.model.layers import Rotary

JOINED = ("resid_pre", "q", "k", "v", "z", "resid_mid")

DEEPEST = 8
"""How many runs in a row may stand on each other before rows are joined."""


@dataclass(frozen=True, eq=False)
class Past:
    """One layer of an earlier run: its trace, the resolved edits that acted in it, and the length of the prompt."""

    layer: LayerTrace
    edits: tuple[Edit, ...]
    n_tokens: int


class Grown(LayerTrace):
    """The first rows of an earlier layer's trace, then new ones; joined, field by field, when they are first read.

    A letter typed at the end of a long prompt adds one row to every layer. Joining all of them would cost more than
    computing the row; attention reads keys and values in pieces, and a panel reads one layer.
    """

    def __init__(self, old: LayerTrace, n: int, new: LayerTrace | None) -> None:
        """Stand on the first `n` rows of `old`, followed by all rows of `new`."""
        object.__setattr__(self, "_sources", (old, n, new))
        object.__setattr__(self, "depth", 1 + getattr(old, "depth", 0))

    def __getattr__(self, name: str) -> Array:
        """Join a field; Python asks here only for what is not there yet."""
        sources = self.__dict__.get("_sources")
        if name not in JOINED:
            raise AttributeError(name)
        if sources is None:  # another thread has just joined the last field
            return self.__dict__[name]
        old, n, new = sources
        parts = old.pieces(name, n) if new is None else (*old.pieces(name, n), getattr(new, name))
        whole = parts[0] if len(parts) == 1 else namespace(*parts).concat(parts, axis=-2)
        object.__setattr__(self, name, whole)
        if all(field in self.__dict__ for field in JOINED):
            object.__setattr__(self, "_sources", None)  # lets go of the earlier run
            object.__setattr__(self, "depth", 0)
        return whole

    def pieces(self, name: str, n: int) -> Pieces:
        """Return the first n rows of a field, in as many pieces as they are kept in."""
        sources = self.__dict__.get("_sources")
        if name in self.__dict__ or sources is None:
            return super().pieces(name, n)
        old, n_old, new = sources
        first = old.pieces(name, min(n, n_old))
        return first if new is None or n <= n_old else (*first, *new.pieces(name, n - n_old))

    def settle(self) -> None:
        """Join all fields."""
        for name in JOINED:
            getattr(self, name)


def grown(old: LayerTrace, n: int, new: LayerTrace | None, *, n_old: int) -> LayerTrace:
    """Return a layer's trace that is `old` up to row n and then `new`.

    Joined at once where keeping the earlier run (`n_old` rows) alive would cost more memory than it saves time.

    Parameters
    ----------
    new : LayerTrace or None
        None adds no rows.
    """
    if new is None and n == n_old:
        return old
    whole = Grown(old, n, new)
    n_new = 0 if new is None else new.resid_pre.shape[-2]
    if whole.depth > DEEPEST or 4 * n_new > n or n_old > 2 * n:
        whole.settle()
    return whole


def unchanged(config: Config, same: int, edits: tuple[Edit, ...], past: Past, *, n_tokens: int) -> int:
    """Return how many leading rows leave a layer as in the earlier run, if `same` of them entered it so."""
    if same == n_tokens == past.n_tokens and edits == past.edits:
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
    rows: Array,
    *,
    layer: int,
    table: Rotary | None,
    edits: tuple[Edit, ...],
    same: int,
    past: Past | None,
) -> tuple[LayerTrace, Array]:
    """Return one layer's trace and the rows of the stream that leave it from position `same` on.

    Parameters
    ----------
    rows : array, shape (n_tokens - same, d_model)
        The stream entering the layer from position `same` on.
    layer : int
    table : Rotary or None
    edits : tuple of Edit
        Resolved edits of this layer.
    same : int
        How many rows are taken over from the past, as `unchanged` says; 0 computes everything.
    past : Past or None
        None computes everything.
    """
    if past is not None and same and rows.shape[-2] == 0:
        return grown(past.layer, same, None, n_old=past.n_tokens), rows
    old = None if past is None or same == 0 else past
    new = attention_half(
        config,
        block,
        rows,
        layer=layer,
        table=table,
        edits=edits,
        start=same,
        past=None if old is None else old.layer,
    )
    out = mlp_half(config, block, rows, new.resid_mid, edits=edits, first=same)
    return (new if old is None else grown(old.layer, same, new, n_old=old.n_tokens)), out


def stream_from(before: Array, start: int, same: int, rows: Array) -> Array:
    """Return a stream from position `start` on: `rows` begin at position `same`, `before` has the earlier ones."""
    return namespace(before, rows).concat([before[start:same, :], rows], axis=-2)
