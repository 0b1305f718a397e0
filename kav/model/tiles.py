"""The pattern of one head on a prompt too long to hold it: a small overview, and exact tiles on demand.

A row of a pattern is ``exp(score - lse)`` with lse the logarithm of the row's total mass. One pass over the head in
blocks of rows gives every row's lse and, from the same numbers, an overview in which each cell is the largest and the
mean weight of a square of the pattern. With lse at hand any tile is one small product, exact and in no need of the
rest of its rows. Nothing of size n_tokens squared is ever held.

References
----------
Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"; Dao et al. 2022, "FlashAttention".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from array_api_compat import is_numpy_array

from kav import smoother
from kav.arrays import Array, like, namespace, to_host
from kav.model import attention
from kav.model.trace import Trace
from kav.task import Task
from kav.threads import each

OVERVIEW = 512
"""Most rows and columns of an overview."""

BLOCK_CELLS = 1 << 20
"""Most cells of the pattern that are held at once by one thread."""


@dataclass(frozen=True)
class Overview:
    """A pattern in squares of `size` x `size` cells, those at the lower and right edge cut.

    Parameters
    ----------
    largest, mean : array, shape (n, n)
        Of the weights in each square; masked cells weigh 0.
    size : int
    """

    largest: np.ndarray
    mean: np.ndarray
    size: int


@dataclass(frozen=True, eq=False)
class TiledHead:
    """One head of one run; its overview and row sums are computed when first asked for, once.

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

    def __post_init__(self) -> None:
        """Refuse a head that does not exist."""
        self.trace.check_head(self.layer, self.head)

    def overview(self, task: Task | None = None) -> Overview:
        """Return the overview; `task` is told as rows are done, and may cancel."""
        return self._pass(task)[1]

    @cached_property
    def lse(self) -> np.ndarray:
        """Logarithm of every row's mass, float64, shape (n_tokens,); -inf for a row without a visible key."""
        return self._pass(None)[0]

    def tile(self, rows: slice, columns: slice) -> np.ndarray:
        """Return exact weights, ``exp(q_i . k_j scale - lse_i)`` with the layer's edits; 0 where masked.

        Parameters
        ----------
        rows, columns : slice
            Ranges of positions, step 1.

        Returns
        -------
        ndarray, shape (n_rows, n_columns)
        """
        first, stop = _range(rows, self.trace.n_tokens)
        lse = self.lse[first:stop] if "lse" in vars(self) else None
        return _tile(self, (first, stop), _range(columns, self.trace.n_tokens), lse)

    def scores(self, rows: tuple[int, int], columns: tuple[int, int]) -> Array:
        """Return masked scores of a block on the device, (1, n_rows, n_columns)."""
        step, config = self.trace.layers[self.layer], self.trace.model.config
        group = config.kv_head(self.head)
        return attention.log_kernel(
            config,
            step.q[self.head : self.head + 1, rows[0] : rows[1], :],
            step.k[group : group + 1, columns[0] : columns[1], :],
            layer=self.layer,
            edits=self.trace.edits_of(self.layer),
            corner=(self.head, rows[0], columns[0]),
        )

    def weights(self, scores: Array, lse: Array, corner: tuple[int, int]) -> Array:
        """Return ``exp(scores - lse)`` of a block, scaled edges included, (1, n_rows, n_columns)."""
        xp = namespace(scores)
        out = xp.exp(scores - xp.where(lse > -xp.inf, lse, xp.zeros_like(lse))[..., None])
        attention.scale_edges(out, self.trace.edits_of(self.layer), (self.head, *corner))
        return out

    def _pass(self, task: Task | None) -> tuple[np.ndarray, Overview]:
        if "passed" not in vars(self):
            passed = _one_pass(self, task)
            vars(self)["passed"] = passed
            vars(self)["lse"] = passed[0]
        found: tuple[np.ndarray, Overview] = vars(self)["passed"]
        return found


def tile(trace: Trace, layer: int, head: int, rows: slice, columns: slice) -> np.ndarray:
    """Return an exact tile of one head's pattern without a pass over the head: the sums of its own rows suffice.

    Parameters
    ----------
    rows, columns : slice
        Ranges of positions, step 1.

    Returns
    -------
    ndarray, shape (n_rows, n_columns)

    Raises
    ------
    KavError
        If the model has no such head.
    """
    return TiledHead(trace, layer, head).tile(rows, columns)


def _range(chosen: slice, n: int) -> tuple[int, int]:
    start, stop, _ = chosen.indices(n)
    return start, max(start, stop)


def _tile(head: TiledHead, rows: tuple[int, int], columns: tuple[int, int], lse: np.ndarray | None) -> np.ndarray:
    """A tile in blocks of rows; without `lse` each block sums its rows over all keys first."""
    n = head.trace.n_tokens
    n_seen = min(n, rows[1]) if head.trace.model.config.causal else n
    size = max(1, BLOCK_CELLS // max(1, n_seen if lse is None else columns[1] - columns[0]))
    parts = []
    for start in range(rows[0], max(rows[1], rows[0] + 1), size):
        block = (start, min(start + size, rows[1]))
        scores = head.scores(block, columns if lse is not None else (0, n_seen))
        if lse is None:
            mass, scores = smoother.log_mass(scores), _columns(head, scores, block, columns, n_seen)
        else:
            mass = like(scores, lse[block[0] - rows[0] : block[1] - rows[0]])[None, :]
        parts.append(to_host(head.weights(scores, mass, (block[0], columns[0])))[0, :, :])
    return np.concatenate(parts, axis=0)


def _columns(head: TiledHead, scores: Array, rows: tuple[int, int], columns: tuple[int, int], n_seen: int) -> Array:
    """The columns of a tile out of scores that reach from key 0 to n_seen."""
    return scores[..., columns[0] : columns[1]] if columns[1] <= n_seen else head.scores(rows, columns)


def _one_pass(head: TiledHead, task: Task | None) -> tuple[np.ndarray, Overview]:
    """Row sums and overview, a row of squares at a time."""
    n, config = head.trace.n_tokens, head.trace.model.config
    size = -(-n // OVERVIEW)
    n_squares = -(-n // size)
    shared = is_numpy_array(head.trace.layers[head.layer].q)
    found = []
    for at in range(0, n_squares, 16):
        bands = range(at, min(at + 16, n_squares))
        found += each(lambda band: _band(head, band * size, min(n, (band + 1) * size), size), bands, shared=shared)
        if task is not None:
            task.report(((at + len(bands)) / n_squares) ** (2 if config.causal else 1))  # later rows are longer
    largest, mean = np.zeros((n_squares, n_squares), np.float32), np.zeros((n_squares, n_squares), np.float32)
    widths = np.minimum(size, n - size * np.arange(n_squares))  # cells per square along one axis
    for row, (_, top, total) in enumerate(found):
        largest[row, : len(top)] = top
        mean[row, : len(total)] = total / (widths[row] * widths[: len(total)])
    return np.concatenate([lse for lse, _, _ in found]), Overview(largest, mean, size)


def _band(head: TiledHead, start: int, stop: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows start to stop: their lse, and the largest and the summed weight of each of their squares."""
    n = head.trace.n_tokens
    n_seen = stop if head.trace.model.config.causal else n
    step = max(1, BLOCK_CELLS // n_seen)
    sums, top, total = [], np.zeros(n_seen, np.float32), np.zeros(n_seen, np.float32)
    for at in range(start, stop, step):
        rows = (at, min(at + step, stop))
        scores = head.scores(rows, (0, n_seen))
        xp = namespace(scores)
        lse = smoother.log_mass(scores)
        weights = head.weights(scores, lse, (at, 0))[0, :, :]
        sums.append(to_host(lse)[0, :].astype(np.float64))
        here = to_host(xp.max(weights, axis=0))
        top, total = here if at == start else np.maximum(top, here), total + to_host(xp.sum(weights, axis=0))
    edges = np.arange(0, n_seen, size)
    return np.concatenate(sums), np.maximum.reduceat(top, edges), np.add.reduceat(total, edges)
