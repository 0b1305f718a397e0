"""Products of a stream with weights, whichever way round the weights lie in memory.

Files store a matrix by its outputs: the weights that make one output number stand side by side. KAV does not turn
them over: that takes half of the time in which a model opens. Products of 250 tokens are 4 % slower for it, those of a
dozen a third.

One row alone, as for a letter typed at the end of a prompt, is limited by how fast the weights are read, and a BLAS
library's matrix-vector product is not at its best on rows of a few hundred numbers. One dot product for each output
reads them twice as fast. Measured for 106 MB of float32, one thread: matrix-vector product 7.7 ms, dot products 3.5
ms, and 4.4 ms for the matrix-vector product of a matrix that was turned over. For two rows dot products are still the
fastest.

Few rows are packed sooner than the weights: weights times rows, turned over, is the faster way round. A short prompt
has too few rows to share among threads (`kav.threads`), so each takes some of the outputs. Measured for 202 MB of
float32 in matrices of SmolLM2's shapes, ms:

    rows   rows times weights   weights times rows   on two threads
    4      36                   27                   22
    13     46                   43                   29
    24     54                   48                   29
    48     77                   69                   41

and for matrices of 2,048 x 2,048 one thread gains a quarter at 32 rows, a tenth at 128 and nothing at 256. Logits are
shared by outputs too, however many rows there are: shared by rows, every thread would pack the whole matrix (512 rows
of SmolLM2's: 314 ms on one thread, 200 by rows, 163 by outputs).
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from array_api_compat import is_numpy_array

from kav.arrays import Array, namespace
from kav.threads import blocks, each, n_workers

BY_DOTS = 2
"""Most rows that are multiplied by dot products."""

FEW = 128
"""Most rows that are multiplied from the right."""

WIDE = 1 << 13
"""Outputs from which they are shared, however many rows there are."""

WORTH = 1 << 18
"""Numbers that a matrix must hold for its outputs to be shared among threads."""


def product(x: Array, W: Array) -> Array:
    """Return ``x @ W``, in memory of its own.

    Parameters
    ----------
    x : array, shape (..., n, d_in)
    W : array, shape (d_in, d_out)

    Returns
    -------
    array, shape (..., n, d_out)
    """
    xp = namespace(x, W)
    n_rows = math.prod(x.shape[:-1])
    if not by_output(W) or n_rows == 0 or (n_rows > FEW and W.shape[-1] < WIDE):
        return x @ W
    rows = xp.reshape(x, (n_rows, x.shape[-1]))
    if n_rows <= BY_DOTS:
        out = xp.vecdot(xp.matrix_transpose(W)[None, :, :], rows[:, None, :])
    else:
        out = np.empty((n_rows, W.shape[-1]), dtype=np.result_type(x, W))
        shared = W.size >= WORTH
        size = -(-W.shape[-1] // n_workers()) if shared else W.shape[-1]
        each(partial(_some_outputs, rows, W, out), blocks(W.shape[-1], size), shared=shared)
    return xp.reshape(out, (*x.shape[:-1], W.shape[-1]))


def _some_outputs(rows: np.ndarray, W: np.ndarray, out: np.ndarray, at: tuple[int, int]) -> None:
    """Fill in some columns of ``rows @ W``."""
    some = slice(*at)
    if rows.shape[0] > FEW:
        np.matmul(rows, W[:, some], out=out[:, some])
    else:
        out[:, some] = (W[:, some].T @ rows.T).T


def by_head(x: Array, W: Array) -> Array:
    """Return the products of rows with the matrix of every head, in memory of their own, head by head.

    A batch is one matrix. Where the weights of an output are together, those of all heads are one matrix too, and one
    product reads x once.

    Parameters
    ----------
    x : array, shape (..., n, d_in)
    W : array, shape (n_heads, d_in, d_out)

    Returns
    -------
    array, shape (..., n_heads, n, d_out)
    """
    xp = namespace(x, W)
    *batch, n, d_in = x.shape
    n_heads, _, d_out = W.shape
    flat = xp.reshape(x, (-1, d_in))
    if not (by_output(W) and W.strides[0] == d_out * W.strides[2]):
        out = xp.reshape(flat[None, :, :] @ W, (n_heads, *batch, n, d_out))
        return xp.permute_dims(out, (*range(1, len(batch) + 1), 0, len(batch) + 1, len(batch) + 2))
    rows = xp.reshape(xp.matrix_transpose(W), (n_heads * d_out, d_in))  # a view
    out = xp.reshape(product(flat, xp.matrix_transpose(rows)), (*batch, n, n_heads, d_out))
    return np.ascontiguousarray(np.swapaxes(out, -3, -2))


def by_group(x: Array, y: Array) -> Array:
    """Return ``x_h @ y_g`` for every head h of a group g of neighbours that share y.

    Many rows of a group's heads are one product, a tenth faster than one for each head; single rows are matrix-vector
    products, twice as fast as one of a few rows.

    Parameters
    ----------
    x : array, shape (..., n_heads, n, m)
    y : array, shape (..., n_groups, m, l)
        n_groups divides n_heads.

    Returns
    -------
    array, shape (..., n_heads, n, l)
    """
    xp = namespace(x, y)
    *batch, n_heads, n, m = x.shape
    n_groups = y.shape[-3]
    if n == 1:
        out = xp.reshape(x, (*batch, n_groups, n_heads // n_groups, n, m)) @ y[..., None, :, :]
    else:
        out = xp.reshape(x, (*batch, n_groups, n_heads // n_groups * n, m)) @ y
    return xp.reshape(out, (*batch, n_heads, n, y.shape[-1]))


def by_output(W: Array) -> bool:
    """Return whether the weights of one output stand side by side in the host's memory."""
    return is_numpy_array(W) and W.strides[-2] == W.itemsize and W.strides[-1] != W.itemsize


def laid(matrix: np.ndarray) -> np.ndarray:
    """Return a host's matrix as `product` wants it: as it is if the weights of an output or an input are together."""
    return matrix if by_output(matrix) else np.ascontiguousarray(matrix)
