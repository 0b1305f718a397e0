"""The strongest entries of a head's whole vocabulary x vocabulary OV table, found without computing most of it.

An entry is ``a . b`` with b near the mean output m, so that it is at most ``a . m + |a| |b - m|`` (Cauchy-Schwarz).
With outputs sorted by ``|b - m|``, whatever lies beyond the bound of the entries found so far is never computed: of the
2.4 billion entries of a head of SmolLM2, 97 of 100 and more. The bound is tight in the balanced factors ``U S^1/2`` and
``S^1/2 V^T`` of the table. What is found is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.arrays import to_host
from kav.circuits.qk_ov import check_direct, normalised_embedding, ov_factors
from kav.errors import KavError
from kav.model.model import Model

BLOCK = 256
"""Rows of the table that are looked at together."""

MOST = 10_000
"""Most entries that can be asked for."""

ROUNDING = 1e-5
"""Share of the longest source times the longest output within which bounds are not trusted."""


@dataclass(frozen=True)
class Pairs:
    """Entries of a table, the largest first.

    Parameters
    ----------
    sources, promoted : array, shape (n,)
        Token ids: attending to the source promotes the other.
    values : array, shape (n,)
    """

    sources: np.ndarray
    promoted: np.ndarray
    values: np.ndarray


def strongest_pairs(model: Model, layer: int, head: int, n: int = 20) -> Pairs:
    """Return the n largest entries of `kav.circuits.qk_ov.ov_table` over the whole vocabulary.

    Parameters
    ----------
    model : Model
    layer, head : int
    n : int
        1 to 10,000; fewer are returned where the table has fewer.

    Returns
    -------
    Pairs

    Raises
    ------
    KavError
        If the model has no such head, n is out of range, or heads do not write to the logits directly.
    """
    check_direct(model)
    circuit = ov_factors(model, layer, head)
    if not 1 <= n <= MOST:
        raise KavError(f"n must be in 1..{MOST}, got {n}")
    norm = model.weights.norm_final
    outputs = circuit.right if norm is None else circuit.right * norm.gain  # (d_head, d_model)
    sources = to_host(normalised_embedding(model) @ circuit.left)  # (d_vocab, d_head)
    return largest(sources, to_host(outputs @ model.weights.W_U), n)


def largest(left: np.ndarray, right: np.ndarray, n: int) -> Pairs:
    """Return the n largest entries of ``left @ right``, shapes (n_rows, d) and (d, n_columns)."""
    rows, columns = balanced(left, right)
    mean = columns.mean(axis=1)
    spread = np.linalg.norm(columns - mean[:, None], axis=0)
    by_column = np.argsort(-spread)
    columns, spread = np.ascontiguousarray(columns[:, by_column]), spread[by_column]
    level, length = rows @ mean, np.linalg.norm(rows, axis=1)
    bound = _Bound(level, length, spread)
    by_row = np.argsort(-(level + length * spread[0]))
    corner = np.sort(rows[by_row[:BLOCK], :] @ columns[:, :BLOCK], axis=None)
    slack = ROUNDING * float(np.linalg.norm(left, axis=1).max() * np.linalg.norm(right, axis=0).max())
    found = _Found(n, slack, float(corner[-n]) - slack if corner.size >= n else -np.inf)
    by_row = np.argsort(-bound.reach(slice(None), found.bar))
    for start in range(0, len(by_row), BLOCK):
        some = by_row[start : start + BLOCK]
        stop = int(bound.reach(some, found.bar).max())
        if stop:
            found.add(rows[some, :] @ columns[:, :stop], some)
    return found.pairs(left, right, by_column)


def balanced(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the factors ``U S^1/2`` and ``S^1/2 V^T`` of ``left @ right`` without the orthogonal parts on the way.

    With ``left^T left = P P^T`` and ``right right^T = Q Q^T`` from eigenvectors, the core ``P^T Q`` is d x d and has
    the table's singular values: ``left P^-T`` and ``Q^-1 right`` have orthonormal columns and rows.
    """
    wide_left, wide_right = left.astype(np.float64), right.astype(np.float64)
    root_left, back_left = _roots(wide_left.T @ wide_left)
    root_right, back_right = _roots(wide_right @ wide_right.T)
    u, s, vt = np.linalg.svd(root_left.T @ root_right, full_matrices=False)
    rows = wide_left @ (back_left @ u * np.sqrt(s))
    columns = (np.sqrt(s)[:, None] * vt @ back_right.T) @ wide_right
    return rows.astype(left.dtype), columns.astype(left.dtype)


def _roots(square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P and its inverse transposed, with ``square = P P^T``; directions without length are left out."""
    values, vectors = np.linalg.eigh(square)
    kept = values > 1e-13 * values.max()
    vectors, roots = vectors[:, kept], np.sqrt(values[kept])
    return vectors * roots, vectors / roots


@dataclass(frozen=True, eq=False)
class _Bound:
    """An entry of row i and column j is at most ``level_i + length_i * spread_j``; columns come by falling spread."""

    level: np.ndarray
    length: np.ndarray
    spread: np.ndarray

    def reach(self, some: np.ndarray | slice, bar: float) -> np.ndarray:
        """How many columns can hold an entry at or above the bar, for some of the rows."""
        level, length = self.level[some], self.length[some]
        needed = np.full(len(level), np.inf)
        np.divide(bar - level, length, out=needed, where=length > 0)
        needed[level >= bar] = 0
        return np.searchsorted(-self.spread, -needed, side="right")


class _Found:
    """The largest entries seen so far: n, and those that rounding may have put behind them."""

    def __init__(self, n: int, slack: float, bar: float) -> None:
        self.bar = bar
        self._n, self._slack = n, slack
        self._values, self._rows, self._columns = np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64)

    def add(self, block: np.ndarray, some: np.ndarray) -> None:
        """Look at a block: some rows, and the first columns."""
        good = np.flatnonzero(block >= self.bar)
        values = np.concatenate([self._values, block.reshape(-1)[good]])
        rows = np.concatenate([self._rows, some[good // block.shape[1]]])
        columns = np.concatenate([self._columns, good % block.shape[1]])
        if len(values) > self._n:
            self.bar = max(self.bar, float(np.partition(values, -self._n)[-self._n]) - self._slack)
        kept = values >= self.bar
        self._values, self._rows, self._columns = values[kept], rows[kept], columns[kept]

    def pairs(self, left: np.ndarray, right: np.ndarray, by_column: np.ndarray) -> Pairs:
        """The n largest, computed from the factors as they were given."""
        columns = by_column[self._columns]
        values = np.vecdot(left[self._rows, :], right[:, columns].T)
        best = np.lexsort((columns, self._rows, -values))[: self._n]
        return Pairs(self._rows[best], columns[best], values[best])
