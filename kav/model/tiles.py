"""The matrix of one head on a prompt too long to hold it: exact tiles on demand, and squares that keep their peaks.

A row of a pattern is ``exp(score - lse)`` with lse the logarithm of the row's total mass. With lse at hand any tile is
one small product, exact and in no need of the rest of its rows; a row's lse is computed when the row is first asked
for, and kept. A part of the matrix that has more cells than a screen has pixels is gone through in blocks and cut into
squares, each shown by one real cell of it: the one farthest from zero, so that one sharp peak stays visible. Nothing
of size n_tokens squared is ever held.

References
----------
Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"; Dao et al. 2022, "FlashAttention".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from array_api_compat import is_numpy_array

from kav import smoother
from kav.arrays import Array, exponential, like, namespace, to_host
from kav.model import attention
from kav.model.trace import Trace
from kav.task import Task
from kav.threads import each

MOST = 512
"""Most rows and columns of a matrix that are told apart at once: about the pixels it is drawn with."""

BLOCK_CELLS = 1 << 18
"""Cells of the matrix that one thread holds at once, if one row of squares has no more: few enough for the cache."""

BLOCKS_AT_ONCE = 16
"""Blocks between two reports."""

Range = tuple[int, int]
Read = Callable[[np.ndarray, np.ndarray, Range, Range], np.ndarray]
"""``read(scores, weights, rows, columns)`` -> the values of a block; masked scores are -inf."""


@dataclass(frozen=True)
class Part:
    """A part of a matrix: half-open ranges of its rows (queries) and columns (keys)."""

    rows: Range
    columns: Range

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns it has."""
        return self.rows[1] - self.rows[0], self.columns[1] - self.columns[0]


@dataclass(frozen=True)
class Squares:
    """A part of a matrix in squares of `size` x `size` cells, those at the lower and right edge cut.

    Every square is shown by one of its cells, the visible one whose value is farthest from zero.

    Parameters
    ----------
    part : Part
    size : int
        1 = every cell is shown.
    rows, columns : array of int, shape (n_rows, n_columns)
        Position of the cell that is shown.
    values, scores, weights : array, same shape
        Of that cell; 0, -inf and 0 where nothing is visible.
    visible : array of bool, same shape
        Whether any cell of the square is visible.
    """

    part: Part
    size: int
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    visible: np.ndarray


@dataclass(frozen=True, eq=False)
class TiledHead:
    """One head of one run; the sums of its rows are computed when first asked for, once.

    Parameters
    ----------
    trace : Trace
    layer, head : int

    Raises
    ------
    KavError
        If the model has no such head.
    """

    trace: Trace
    layer: int
    head: int
    _lse: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse a head that does not exist."""
        self.trace.model.config.check_head(self.layer, self.head)
        object.__setattr__(self, "_lse", np.full(self.trace.n_tokens, np.nan))

    def block(self, rows: Range, columns: Range) -> tuple[np.ndarray, np.ndarray]:
        """Return masked scores and exact weights, ``exp(q_i . k_j scale - lse_i)`` with the layer's edits.

        Parameters
        ----------
        rows, columns : tuple of int
            Half-open ranges of positions.

        Returns
        -------
        scores, weights : ndarray, shape (n_rows, n_columns)
            -inf and 0 where masked.
        """
        lse = self._lse[rows[0] : rows[1]]
        if np.isnan(lse).any():
            return self._first_block(rows, columns)
        scores = self.scores(rows, columns)
        mass = like(scores, np.where(lse > -np.inf, lse, 0.0))
        return self._edited(scores, exponential(scores - mass[None, :, None]), (rows[0], columns[0]))

    def _first_block(self, rows: Range, columns: Range) -> tuple[np.ndarray, np.ndarray]:
        """`block` by way of whole rows, whose lse is kept."""
        n_seen = min(self.trace.n_tokens, rows[1]) if self.trace.model.config.causal else self.trace.n_tokens
        scores = self.scores(rows, (0, n_seen))
        xp, (mass, total) = namespace(scores), smoother.masses(scores)
        lse = xp.log(total[..., 0]) + xp.max(scores, axis=-1)
        self._lse[rows[0] : rows[1]] = to_host(lse)[0, :]
        inside = slice(min(columns[0], n_seen), min(columns[1], n_seen))
        found = self._edited(scores[..., inside], mass[..., inside] / total, (rows[0], columns[0]))
        missing = columns[1] - max(columns[0], n_seen)
        if missing <= 0:
            return found
        unseen = [np.full((rows[1] - rows[0], missing), fill, found[0].dtype) for fill in (-np.inf, 0.0)]
        return np.hstack([found[0], unseen[0]]), np.hstack([found[1], unseen[1]])

    def _edited(self, scores: Array, weights: Array, corner: Range) -> tuple[np.ndarray, np.ndarray]:
        """Scores and weights of a block on the host, with scaled edges."""
        attention.scale_edges(weights, self.trace.edits_of(self.layer), (self.head, *corner))
        return to_host(scores)[0, :, :], to_host(weights)[0, :, :]

    def tile(self, rows: slice, columns: slice) -> np.ndarray:
        """Return exact weights of a range of queries and of keys, step 1, shape (n_rows, n_columns)."""
        (first, stop), across = _range(rows, self.trace.n_tokens), _range(columns, self.trace.n_tokens)
        n_cells = self.trace.n_tokens if np.isnan(self._lse[first:stop]).any() else across[1] - across[0]  # of a row
        size = max(1, BLOCK_CELLS // max(1, n_cells))
        blocks = [(start, min(start + size, stop)) for start in range(first, max(stop, first + 1), size)]
        return np.concatenate([self.block(block, across)[1] for block in blocks])

    def scores(self, rows: Range, columns: Range, *, masked: bool = True) -> Array:
        """Return scores of a block on the device, (1, n_rows, n_columns); masked cells are -inf if `masked`."""
        step, config = self.trace.layers[self.layer], self.trace.model.config
        group = config.kv_head(self.head)
        return attention.log_kernel(
            config,
            step.q[self.head : self.head + 1, rows[0] : rows[1], :],
            step.k[group : group + 1, columns[0] : columns[1], :],
            layer=self.layer,
            edits=self.trace.edits_of(self.layer),
            masked=masked,
            corner=(self.head, rows[0], columns[0]),
        )

    def squares(
        self, part: Part, size: int, read: Read, *, masked: bool = True, signed: bool = False, task: Task | None = None
    ) -> Squares:
        """Return a part of the head's matrix in squares, what `read` makes of its scores and weights.

        Parameters
        ----------
        part : Part
        size : int
            Cells of a square along one side.
        read : callable
        masked : bool
            False shows masked cells as well: their scores, and weights of 0.
        signed : bool
            Whether values may be below zero: then the cell farthest from zero is shown, else the largest.
        task : Task or None
            Told as rows are done, and may cancel.
        """
        height = size * max(1, BLOCK_CELLS // max(1, size * part.shape[1]))
        starts = range(part.rows[0], part.rows[1], height)
        shared = is_numpy_array(self.trace.layers[self.layer].q)

        def band(start: int) -> tuple[np.ndarray, ...]:
            rows = (start, min(start + height, part.rows[1]))
            return _band(self, rows, part.columns, size, read, masked=masked, signed=signed)

        found: list[tuple[np.ndarray, ...]] = []
        for at in range(0, len(starts), BLOCKS_AT_ONCE):
            found += each(band, starts[at : at + BLOCKS_AT_ONCE], shared=shared)
            if task is not None:
                task.report(len(found) / len(starts))
        return Squares(part, size, *(np.concatenate(arrays) for arrays in zip(*found, strict=True)))


def _range(chosen: slice, n: int) -> Range:
    start, stop, _ = chosen.indices(n)
    return start, max(start, stop)


def _band(
    head: TiledHead, rows: Range, columns: Range, size: int, read: Read, *, masked: bool, signed: bool
) -> tuple[np.ndarray, ...]:
    """A few rows of squares: which cells are shown, their values, scores and weights, and whether they are visible."""
    first, stop = columns
    if masked and head.trace.model.config.causal:  # squares beyond the last visible key have nothing to show
        stop = min(stop, first + size * -(-max(0, rows[1] - first) // size))
    scores, weights = head.block(rows, (first, stop))
    if not masked:
        scores = to_host(head.scores(rows, columns, masked=False))[0, :, :]
    values = read(scores, weights, rows, (first, stop))
    row, column = _peaks(np.where(scores > -np.inf, np.abs(values) if signed else values, -np.inf), size)
    seen = scores[row, column]
    shown = (np.where(seen > -np.inf, values[row, column], 0.0), seen, weights[row, column], seen > -np.inf)
    shape = (row.shape[0], -(-(columns[1] - first) // size))
    corners = np.broadcast_arrays(size * np.arange(shape[0])[:, None], size * np.arange(shape[1]))
    empty = (
        *corners,
        *(np.full(shape, fill, cells.dtype) for fill, cells in zip((0, -np.inf, 0, 0), shown, strict=True)),
    )
    whole = [np.array(cells) for cells in empty]
    for cells, found in zip(whole, (row, column, *shown), strict=True):
        cells[:, : row.shape[1]] = found
    return whole[0] + rows[0], whole[1] + first, *whole[2:]


def _peaks(sizes: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of the largest cell of each square, the first cell where all are -inf, (n_down, n_across) each.

    The largest of each column of a square is found first, row by row of it, which is fast; then the row, in the
    columns that won.
    """
    n_down, n_across = (-(-n // size) for n in sizes.shape)
    missing = (n_down * size - sizes.shape[0], n_across * size - sizes.shape[1])
    if any(missing):
        sizes = np.pad(sizes, ((0, missing[0]), (0, missing[1])), constant_values=-np.inf)
    stacked = sizes.reshape(n_down, size, n_across * size)
    column = stacked.max(axis=1).reshape(n_down, n_across, size).argmax(axis=-1)
    column += size * np.arange(n_across)
    won = stacked[np.arange(n_down)[:, None, None], np.arange(size), column[..., None]]  # (n_down, n_across, size)
    return won.argmax(axis=-1) + size * np.arange(n_down)[:, None], column
