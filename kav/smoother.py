"""The central idea: log-kernel -> weights -> weighted average.

A *linear smoother* is anything with queries, keys, values and a log-kernel. Its weights are the normalised
exponentials of the log-kernel, row by row; its output is ``weights @ values``. A Nadaraya-Watson fit is one
(Nadaraya 1964, Watson 1964), a softmax attention head is another (Tsai et al. 2019, eq. 1), and in KAV both run
through the functions of this file.

Everything happens in the log domain: a key that is not visible has log-kernel -inf, and a bandwidth so small that
every kernel value underflows still has a nearest neighbour. A row in which nothing is visible gets zero weights and
output zero; `has_support` tells such rows apart, so that they are marked and never become NaN.

Shapes: ``log_kernel (..., n_queries, n_keys)``, ``weights`` alike, ``values (..., n_keys, d)`` or ``(n_keys,)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kav.arrays import Array, exponential, namespace


def has_support(log_kernel: Array) -> Array:
    """Return which rows have at least one key with positive weight, shape ``log_kernel.shape[:-1]``, bool."""
    xp = namespace(log_kernel)
    return xp.any(log_kernel > -xp.inf, axis=-1)


def _shift(log_kernel: Array, xp: Any) -> Array:
    """Row maximum, kept as an axis; 0 where nothing is visible, so that subtracting it is always defined."""
    largest = xp.max(log_kernel, axis=-1, keepdims=True)
    return xp.where(largest > -xp.inf, largest, xp.zeros_like(largest))


def log_mass(log_kernel: Array) -> Array:
    """Return ``log sum_j exp(log_kernel_ij)``, the log of each row's total kernel mass; -inf for an empty row."""
    xp = namespace(log_kernel)
    shift = _shift(log_kernel, xp)
    total = xp.sum(xp.exp(log_kernel - shift), axis=-1)
    safe = xp.where(total > 0, total, xp.ones_like(total))
    return xp.where(total > 0, xp.log(safe) + shift[..., 0], xp.full_like(total, -xp.inf))


def weights(log_kernel: Array) -> Array:
    """Return the smoother's weights, ``w_ij = exp(log_kernel_ij) / sum_j exp(log_kernel_ij)``.

    Parameters
    ----------
    log_kernel : array, shape (..., n_queries, n_keys)
        Logarithm of the kernel; -inf where the key is not visible or outside a compact kernel.

    Returns
    -------
    array, same shape
        Rows sum to 1; a row without a visible key is all 0.

    References
    ----------
    Nadaraya 1964, eq. 2; Vaswani et al. 2017, eq. 1.
    """
    mass, total = masses(log_kernel)
    return mass / total


def masses(log_kernel: Array) -> tuple[Array, Array]:
    """Return the weights before they are normalised, and what normalises them: ``weights = mass / total``.

    Averaging first and dividing the (n_queries, d) averages afterwards saves a pass over (n_queries, n_keys).

    Returns
    -------
    mass : array, same shape as log_kernel
        ``exp(log_kernel_ij - max_j log_kernel_ij)``; 0 in a row without a visible key.
    total : array, shape (..., n_queries, 1)
        Row sums; 1 in a row without a visible key.
    """
    xp = namespace(log_kernel)
    mass = exponential(log_kernel - _shift(log_kernel, xp))
    total = xp.sum(mass, axis=-1, keepdims=True)
    return mass, xp.where(total > 0, total, xp.ones_like(total))


def smooth(weights: Array, values: Array) -> Array:
    """Return the weighted averages ``weights @ values``; 0 for a row without weight."""
    namespace(weights, values)
    return weights @ values


def effective_number(weights: Array) -> Array:
    """Return the effective number of observations of each row, ``1 / sum_j w_ij^2``; 0 for an empty row."""
    xp = namespace(weights)
    square = xp.sum(weights * weights, axis=-1)
    return xp.where(square > 0, 1 / xp.where(square > 0, square, xp.ones_like(square)), xp.zeros_like(square))


def entropy(weights: Array) -> Array:
    """Return the entropy of each row in nats, ``-sum_j w_ij log w_ij``, with ``0 log 0 = 0``."""
    xp = namespace(weights)
    safe = xp.where(weights > 0, weights, xp.ones_like(weights))
    return -xp.sum(weights * xp.log(safe), axis=-1)


@dataclass(frozen=True)
class Smoother:
    """What the panels draw in both scenes: labelled queries and keys, responses, and a log-kernel on demand.

    Parameters
    ----------
    log_kernel : callable
        ``log_kernel(queries, keys)`` -> block of the log-kernel for two slices, -inf where masked.
    responses : array, shape (n_keys,)
        What is averaged: y of the samples, or each token's message read along the logit direction.
    query_labels, key_labels : tuple of str
        Names of the rows and columns.
    """

    log_kernel: Callable[[slice, slice], Array]
    responses: Array
    query_labels: tuple[str, ...]
    key_labels: tuple[str, ...]

    def weights(self, queries: slice = slice(None)) -> Array:
        """Return the weights of the chosen rows, shape (n_chosen, n_keys)."""
        return weights(self.log_kernel(queries, slice(None)))

    def fit(self, queries: slice = slice(None)) -> Array:
        """Return the smoother's output at the chosen queries, shape (n_chosen,)."""
        return smooth(self.weights(queries), self.responses)

    def curve(self, query: int, slopes: Array, t: Array) -> Array:
        """Return the output as one query moves: ``f(t) = sum_j softmax_j(s_j + t a_j) y_j``.

        Parameters
        ----------
        query : int
            Row whose log-kernel is ``s``.
        slopes : array, shape (n_keys,)
            ``a_j``, the change of each key's log-kernel per unit of t.
        t : array, shape (n_t,)
            How far the query has moved.

        Returns
        -------
        array, shape (n_t,)
        """
        xp = namespace(slopes, t)
        row = self.log_kernel(slice(query, query + 1), slice(None))  # (1, n_keys)
        seen = row > -xp.inf
        moved = xp.where(seen, row + t[:, None] * slopes[None, :], xp.full_like(row, -xp.inf))  # (n_t, n_keys)
        return smooth(weights(moved), self.responses)
