"""Blocks of rows on several cores: the one place that shares work out among threads.

Matrix products of a prompt are too small for the threads of a BLAS library: on cores that others use too, two of them
wait for each other and take longer than one. KAV therefore runs BLAS with one thread (`kav.cli` asks for it before
NumPy is imported) and gives each of its own threads a block of rows: no thread waits for another inside a product, a
block fits the cache, and what is not a product (norms, exponentials) is shared out as well.

Measured on two cores that other programs used as well (4 layers of SmolLM2's shapes, medians, wall / CPU in ms):

    tokens   one thread     two of ours    two of OpenBLAS
    64       132 / 35       34 / 34        795 / 330
    128      146 / 50       80 / 65        1014 / 360
    256      299 / 103      161 / 103
    512      447 / 223      342 / 217
    1024     1488 / 499     931 / 498

Rows are independent of each other, so that blocks give the same numbers whoever computes them.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from array_api_compat import is_numpy_array

from kav.arrays import Array, namespace

Item = TypeVar("Item")
Answer = TypeVar("Answer")

ROWS = 256
"""Most rows of a block: enough to keep a matrix product at full speed, few enough for the cache (6 % faster than 128
rows or 512)."""

LEAST_ROWS = 48
"""Prompts shorter than two such blocks are not cut."""

WORTH = 1 << 14
"""Numbers that a block must hold for a second thread to pay for itself."""

NAME = "kav-rows"
"""How the names of our threads begin."""

MOST_WORKERS = 16
"""More threads than this only wait for memory."""


def n_workers() -> int:
    """Return how many threads share blocks: one per usable core if BLAS itself has one, else one.

    What one of our threads computes is not cut again. Where BLAS brings threads of its own (NumPy imported before KAV
    could ask for one), ours would only be in the way.
    """
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1" or _is_ours():
        return 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, MOST_WORKERS)


def _is_ours() -> bool:
    return threading.current_thread().name.startswith(NAME)


@cache
def _pool(n: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n, thread_name_prefix=NAME)


def each(function: Callable[[Item], Answer], items: Iterable[Item], *, shared: bool = True) -> list[Answer]:
    """Return ``[function(item) for item in items]``, computed by several threads if `shared` and there are several.

    What `function` itself gives to `each` is computed in the same thread. The first error is raised once all items are
    done or given up.
    """
    found, n = list(items), n_workers()
    if not shared or n == 1 or len(found) < 2 or _is_ours():
        return [function(item) for item in found]
    futures = [_pool(n).submit(function, item) for item in found]
    try:
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()


def blocks(n: int, size: int = ROWS) -> list[tuple[int, int]]:
    """Return half-open ranges of at most `size` that cover 0..n-1 evenly; the one empty range for n = 0."""
    n_blocks = max(1, -(-n // size))
    return [(n * block // n_blocks, n * (block + 1) // n_blocks) for block in range(n_blocks)]


def by_rows(function: Callable[[Array], Array], x: Array) -> Array:
    """Return ``function(x)`` for a function that treats every row alone, block by block.

    Parameters
    ----------
    function : callable
        Takes rows (n, d), returns (n, d_out).
    x : array, shape (..., n_rows, d)
        A batch of any shape: products see all its rows as one matrix, which a batch of single rows needs most.

    Returns
    -------
    array, shape (..., n_rows, d_out)
    """
    xp = namespace(x)
    flat = x if x.ndim == 2 else xp.reshape(x, (-1, x.shape[-1]))
    out = along_tokens(lambda at: function(flat[at[0] : at[1], :]), flat)
    return out if x.ndim == 2 else xp.reshape(out, (*x.shape[:-1], out.shape[-1]))


def along_tokens(part: Callable[[tuple[int, int]], Array], x: Array) -> Array:
    """Return the parts of x's blocks of rows, joined along axis -2.

    Parameters
    ----------
    part : callable
        ``part((start, stop))`` -> array (..., stop - start, d_out).
    x : array, shape (..., n_rows, d)
        Says how many rows there are, and on which device: a GPU shares work out by itself and gets one block.
    """
    n, batch = x.shape[-2], math.prod(x.shape[:-2])
    if not is_numpy_array(x) or n * batch <= LEAST_ROWS:
        return part((0, n))
    shares = -(-n * batch // (2 * n_workers())) if n_workers() > 1 else ROWS  # two for each, since cores are not alike
    size = max(1, min(ROWS, max(LEAST_ROWS, shares)) // batch)
    parts = each(part, blocks(n, size), shared=worth(min(n, size) * batch * x.shape[-1]))
    return parts[0] if len(parts) == 1 else namespace(x).concat(parts, axis=-2)


def worth(n_numbers: int) -> bool:
    """Return whether blocks of that many numbers are worth a second thread."""
    return n_numbers >= WORTH
