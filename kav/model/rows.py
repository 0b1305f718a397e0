"""A tile of a score matrix in blocks of rows, so that no more than a block is on the device at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kav.arrays import Array, to_host
from kav.errors import KavError

ROWS = 128
"""Rows of a head's score matrix that are computed at once."""


def by_rows(q: Array, block: Callable[[Array, int], Array], first: int) -> np.ndarray:
    """Return a tile computed in blocks of rows, each brought to the host before the next.

    Parameters
    ----------
    q : array, shape (1, n_queries, d_head)
    block : callable
        From some of the queries and the position of the first of them to their rows, shape (1, n_rows, n_keys).
    first : int
        Position of the first query.

    Returns
    -------
    ndarray, shape (n_queries, n_keys)
    """
    n = q.shape[-2]
    parts = [to_host(block(q[:, at : min(n, at + ROWS), :], first + at))[0, :, :] for at in range(0, max(n, 1), ROWS)]
    return np.concatenate(parts, axis=0)


def bounds(chosen: slice | None, n: int, what: str) -> tuple[int, int]:
    """Return first and last + 1 of a slice of positions; None = all.

    Raises
    ------
    KavError
        If the slice leaves positions out.
    """
    start, stop, step = (slice(None) if chosen is None else chosen).indices(n)
    if step != 1:
        raise KavError(f"{what} must be a slice of step 1, got step {step}", "take every n-th row of the answer")
    return start, max(start, stop)
