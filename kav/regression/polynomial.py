"""Compact kernels as polynomials: what makes sums over many observations as cheap as sums over a few moments.

Inside its support every compact kernel of the table is a polynomial in ``|u|``, ``K(u) = sum_d a_d |u|^d`` with
K(0) = 1. For observations around a centre c, all on one side of the query, ``u = t - z`` with ``t = (x_query - c) / h``
and ``z = (x - c) / h``, so that

    sum_i K(u_i) y_i = sum_j B_j(t) m_j,   m_j = sum_i z_i^j y_i,   B_j(t) = (-1)^j sum_d a_d C(d, j) t^(d - j).

Inside the support ``|t| + |z|`` hardly exceeds 1: nothing large is ever subtracted.
"""

from __future__ import annotations

from math import comb

import numpy as np

from kav.regression.kernels import Kernel


def bump(u: np.ndarray, kernel: Kernel) -> np.ndarray:
    """Return a compact kernel with peak 1 at u, same shape; u is overwritten."""
    inner, outer = kernel.bump or (1, 0)
    size = np.abs(u, out=u)
    if outer == 0:
        return np.asarray(size <= 1, dtype=np.float64)
    power = size if inner == 1 else size * size
    with np.errstate(over="ignore"):  # inf is as far outside as any number
        for _ in range(inner - 2):
            power *= size
    base = np.subtract(1, power, out=power)
    np.maximum(base, 0, out=base)
    if outer == 1:
        return np.asarray(base)
    result = base * base
    for _ in range(outer - 2):
        result *= base
    return np.asarray(result)


def coefficients(kernel: Kernel, power: int = 1) -> np.ndarray:
    """Return ``a_d`` of ``K(u)^power = sum_d a_d |u|^d``, shape (degree + 1,), peak 1."""
    inner, outer = kernel.bump or (1, 0)
    n = outer * power
    a = np.zeros(inner * n + 1)
    for k in range(n + 1):
        a[inner * k] = comb(n, k) * (-1) ** k
    return a


def is_even(a: np.ndarray) -> bool:
    """Return whether the polynomial has only even powers: then both sides of the query are one."""
    return not np.any(a[1::2])


def mirrored(a: np.ndarray) -> np.ndarray:
    """Return the polynomial in u, rather than -u, for observations right of the query, where |u| = -u."""
    flipped = a.copy()
    flipped[1::2] *= -1
    return flipped


def moment_sum(a: np.ndarray, t: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """Return ``sum_j B_j(t) m_j``.

    Parameters
    ----------
    a : array, shape (degree + 1,)
        Polynomial in u.
    t : array, shape (k,)
    moments : array, shape (degree + 1 or more, k)

    Returns
    -------
    numpy.ndarray, shape (k,)
    """
    total = np.zeros(t.shape)
    degree = a.size - 1
    for j in range(degree + 1):
        B = np.zeros(t.shape)
        for d in range(degree, j - 1, -1):  # Horner in t
            B *= t
            if a[d]:
                B += a[d] * comb(d, j) * (-1) ** j
        B *= moments[j]
        total += B
    return total
