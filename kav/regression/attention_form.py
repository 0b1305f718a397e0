"""A kernel fit written as an attention head: the bridge between the two halves, in numbers.

With features ``(1, x, x^2)`` on both sides, queries ``q = (x/h, 1)`` and keys ``k = (x_i/h, -x_i^2 / 2h^2)`` give

    q . k = x x_i / h^2 - x_i^2 / 2h^2 = -(x - x_i)^2 / 2h^2 + x^2 / 2h^2,

and the last term is the same for every key: the softmax over i is the Gaussian fit exactly (Tsai et al. 2019, section
3.1). Without the second coordinate of k it is the exp-dot-product kernel. The factor 1/sqrt(d_head) of an attention
head is inside W_Q. No other kernel is the exponential of a bilinear form of these features.

x is counted from `centre`: the Gaussian fit does not change, and its scores do not become differences of huge numbers
when the data lie far from 0. What is left is rounding of about ``(range / h)^2`` times 1e-16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kav import smoother
from kav.arrays import Array, like, namespace, to_host
from kav.errors import KavError
from kav.regression.fit import checked_bandwidth, float64_arrays
from kav.regression.kernels import kernel_named

FEATURES = ("1", "x", "x²")


@dataclass(frozen=True)
class AttentionForm:
    """The weights of the head that draws a fit: ``W_Q, W_K (3, d_head)``, ``W_V, W_O (1, 1)``.

    ``W_QK = W_Q W_K^T`` (3, 3) is the kernel as a bilinear form of the features; ``W_OV = W_V W_O`` (1, 1) says that
    what is averaged is the response itself.
    """

    kernel: str
    h: float
    centre: float
    W_Q: np.ndarray
    W_K: np.ndarray
    W_V: np.ndarray
    W_O: np.ndarray
    W_QK: np.ndarray
    W_OV: np.ndarray

    def features(self, x: Array) -> Array:
        """Return ``(1, x - centre, (x - centre)^2)``, shape (n, 3)."""
        xp = namespace(x)
        away = x - self.centre
        return xp.stack([xp.ones_like(away), away, away * away], axis=1)

    def scores(self, x_query: Array, x: Array) -> Array:
        """Return the head's scores ``q . k``, (n_query, n)."""
        q = self.features(x_query) @ like(x, self.W_Q)  # (n_query, d_head)
        k = self.features(x) @ like(x, self.W_K)  # (n, d_head)
        return q @ namespace(k).permute_dims(k, (1, 0))

    def output(self, x: Any, y: Any, x_query: Any) -> np.ndarray:
        """Return what the head writes at each query: ``softmax(scores) @ (y W_V) W_O``, (n_query,)."""
        x, y, query = float64_arrays(x=x, y=y, x_query=x_query)
        z = smoother.smooth(smoother.weights(self.scores(query, x)), y[:, None] @ like(y, self.W_V))
        return to_host((z @ like(y, self.W_O))[:, 0])


def is_attention(kernel: str) -> bool:
    """Return whether the kernel is the exponential of a bilinear form of (1, x, x^2).

    Raises
    ------
    KavError
        If there is no such kernel.
    """
    return kernel_named(kernel).name in ("gaussian", "exp-dot-product")


def attention_form(kernel: str, h: float, *, centre: float = 0.0) -> AttentionForm:
    """Return the fit as an attention head.

    Parameters
    ----------
    kernel : str
        "gaussian" or "exp-dot-product".
    h : float
    centre : float
        Where x is counted from; a value among the data. It must be 0 for exp-dot-product, whose weights depend on
        where 0 is.

    Raises
    ------
    KavError
        If the kernel is not the exponential of a bilinear form, h is not > 0, or the centre is not allowed.

    References
    ----------
    Tsai et al. 2019, Transformer Dissection, section 3.1; the factorisation is checked in the tests.
    """
    row = kernel_named(kernel)
    if not is_attention(kernel):
        raise KavError(f"an attention head must have a kernel exp(bilinear), got {row.in_words}")
    h = checked_bandwidth(h)
    if not math.isfinite(centre) or (row.log_K is None and centre != 0):
        raise KavError(f"centre must be {'0 for ' + row.in_words if row.log_K is None else 'finite'}, got {centre:g}")
    gaussian = row.log_K is not None
    W_Q = np.array([[0, 1], [1 / h, 0], [0, 0]]) if gaussian else np.array([[0], [1 / h], [0]])
    W_K = np.array([[0, 0], [1 / h, 0], [0, -0.5 / h / h]]) if gaussian else np.array([[0], [1 / h], [0]])
    one = np.ones((1, 1))
    return AttentionForm(row.name, h, centre, W_Q, W_K, one, one, W_Q @ W_K.T, one @ one)
