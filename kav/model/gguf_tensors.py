"""The tensors of a GGUF file under the names, in the shapes and in the order of the Hugging Face layout."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kav.errors import ModelError
from kav.model.config import Config
from kav.model.gguf import GgufFile
from kav.model.gguf_families import UNUSED, Architecture, architecture_of

_NAME = re.compile(r"(?:blk\.(0|[1-9][0-9]{0,4})\.)?([a-z0-9_]+)\.(weight|bias)")
_PARTS = {"attn_qkv": ("attn_q", "attn_k", "attn_v")}


@dataclass(frozen=True)
class _Source:
    """Where a tensor comes from: the file's name for it, its shape, and what is done with what is read."""

    name: str
    shape: tuple[int, ...]
    turn: Callable[[np.ndarray], np.ndarray] | None = None
    rows: Callable[[np.ndarray], np.ndarray] | None = None  # the same for what only moves whole rows


class GgufTensors:
    """The tensors of one file, read one by one; see `kav.model.expected.Tensors`.

    Parameters
    ----------
    file : GgufFile
    config : Config
        Of the same model; says how rows are cut by head.

    Raises
    ------
    ModelError
        If two tensors of the file are the same one of the model.
    """

    def __init__(self, file: GgufFile, config: Config) -> None:
        self._file, self._config = file, config
        self._row = architecture_of(file)
        self._sources: dict[str, _Source] = {}
        for name in file.places:
            if name in UNUSED:
                continue
            for theirs, source in self._translated(name):
                if theirs in self._sources:
                    raise ModelError(f"a tensor must be stored once, got {name!r} and {self._sources[theirs].name!r}")
                self._sources[theirs] = source

    @property
    def names(self) -> frozenset[str]:
        """Names of all tensors; what the architecture does not know keeps the file's name."""
        return frozenset(self._sources)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor, without reading it."""
        return self._sources[name].shape

    def read(self, name: str, *, kept: bool = True) -> np.ndarray:
        """Return a tensor as float32; see `kav.model.expected.Tensors`. All are kept: none is copied again.

        Raises
        ------
        ModelError
            If the file changed since it was opened.
        """
        source = self._sources[name]
        array = self._file.read(source.name, source.rows)
        return array if source.turn is None else source.turn(array)

    def _translated(self, name: str) -> list[tuple[str, _Source]]:
        """The model's tensors that one tensor of the file holds."""
        found, shape, names = _NAME.fullmatch(name), self._file.places[name].shape, self._row.names
        kept = [(name, _Source(name, shape))]
        if found is None:
            return kept
        stem, in_layer = found[2], found[1] is not None
        parts = () if stem in names else _PARTS.get(stem, ())
        wanted = parts or (stem,)
        if not all(part in names and ("{}" in names[part]) == in_layer for part in wanted):
            return kept
        if parts:  # one tensor of the file holds three of the model
            cuts = self._cuts()
            if cuts[-1].stop != shape[0]:
                return kept
            shapes = [(len(rows), *shape[1:]) for rows in cuts]
            return [
                (self._theirs(part, found), _Source(name, its, rows=_rows(rows)))
                for part, its, rows in zip(parts, shapes, cuts, strict=True)
            ]
        rows = _moved(self._row, self._config, stem, shape)
        turn = None if rows else _turn(self._row, stem, is_bias=found[3] == "bias", shape=shape)
        turned = shape[::-1] if turn is np.transpose else shape
        return [(self._theirs(stem, found), _Source(name, turned, turn, rows))]

    def _theirs(self, stem: str, found: re.Match[str]) -> str:
        return f"{self._row.names[stem].format(found[1])}.{found[3]}"

    def _cuts(self) -> list[range]:
        """Rows of queries, keys and values where they are fused."""
        c = self._config
        d_q, d_kv = c.n_heads * c.d_head, c.n_kv_heads * c.d_head
        return [range(d_q), range(d_q, d_q + d_kv), range(d_q + d_kv, d_q + 2 * d_kv)]


def _moved(
    row: Architecture, config: Config, stem: str, shape: tuple[int, ...]
) -> Callable[[np.ndarray], np.ndarray] | None:
    """What puts rows that were moved when the file was written back in their places; None if there were none."""
    n_heads = {"attn_q": config.n_heads, "attn_k": config.n_kv_heads}.get(stem, 0)
    if row.neighbours and n_heads and shape[0] == n_heads * config.d_head:
        return lambda array: half_split(array, n_heads, config.rotary_dims or config.d_head)
    if row.by_head and stem == "attn_qkv" and shape[0] == 3 * config.n_heads * config.d_head:
        return lambda array: by_head(array, config.n_heads)
    return None


def _turn(row: Architecture, stem: str, *, is_bias: bool, shape: tuple[int, ...]) -> Callable[[np.ndarray], Any] | None:
    """What else undoes what a tensor went through when the file was written; None if that is nothing."""
    if row.gain_plus_one and stem.endswith("norm") and not is_bias:
        return lambda array: array - np.float32(1)
    if row.in_out and not is_bias and len(shape) == 2 and stem not in ("token_embd", "position_embd", "output"):
        return np.transpose
    return None


def _rows(rows: range) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: array[rows.start : rows.stop]


def half_split(array: np.ndarray, n_heads: int, n_rotated: int) -> np.ndarray:
    """Return query or key rows in the half-split order of rotary pairs.

    Row (r, s) of a head, pair r and side s, stands at ``2 r + s`` in the file and at ``s n_rotated / 2 + r`` here;
    rows that are not rotated stay.

    Parameters
    ----------
    array : ndarray, shape (n_heads * d_head, ...)
        Weights or biases.
    n_heads : int
        Query heads, or key/value heads.
    n_rotated : int
        Rotated rows of each head; even.
    """
    heads = array.reshape(n_heads, -1, *array.shape[1:])  # (n_heads, d_head, ...)
    pairs = heads[:, :n_rotated].reshape(n_heads, n_rotated // 2, 2, *array.shape[1:])
    halves = pairs.swapaxes(1, 2).reshape(n_heads, n_rotated, *array.shape[1:])
    return np.concatenate([halves, heads[:, n_rotated:]], axis=1).reshape(array.shape)


def by_head(array: np.ndarray, n_heads: int) -> np.ndarray:
    """Return fused query, key and value rows head by head, ``q_0 k_0 v_0 q_1 ...``, from ``q_0 q_1 ... k_0 ...``."""
    parts = array.reshape(3, n_heads, -1, *array.shape[1:])  # (3, n_heads, d_head, ...)
    return parts.swapaxes(0, 1).reshape(array.shape)
