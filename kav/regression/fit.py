"""The Nadaraya-Watson fit and its smoother matrix.

    f(x_query) = sum_i K(x_query, x_i) y_i / sum_i K(x_query, x_i) = sum_i S[x_query, i] y_i

Every pair of query and observation goes through `kav.smoother` in the log domain, a block of queries at a time, so that
memory grows with the data and not with its square; from some ten thousand pairs on the host `kav.regression.prepared`
takes over, which gives the same numbers sooner. Pairs with a missing or infinite number are set aside: their weight is
0. A query beyond the support of every observation has no fit (NaN), and its row of the smoother matrix is 0.

Shapes: ``x, y (n,)``, ``x_query (n_query,)``, ``S (n_query, n)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj, is_numpy_array

from kav import smoother
from kav.arrays import Array, like, namespace, to_host
from kav.errors import KavError
from kav.regression.grid_fit import fit_once
from kav.regression.kernels import Kernel, kernel_named
from kav.regression.numbers import not_numbers, real
from kav.regression.prepared import Prepared
from kav.smoother import Smoother

_BLOCK_HOST = 8_000
"""Cells worked on at once by NumPy: below 128 kB an array is reused from the heap, above it is mapped and cleared anew
each time, which costs several times the exponentials."""
_FEW_PAIRS = 65_536
"""Pairs up to which sorting would not pay."""
_FEW_FOR_A_GRID = 500
"""Samples from which one grid for all queries beats their pairs; its error, about 1e-8, is far below 1e-6."""
_BLOCK_DEVICE = 1 << 23
"""Cells worked on at once elsewhere, where launches are what costs."""


@dataclass(frozen=True)
class Observed:
    """Samples, kernel and bandwidth, checked, on one device; what was set aside has `seen` False and reads 0."""

    x: Array
    y: Array
    seen: Array
    kernel: Kernel
    h: float
    all_seen: bool  # nothing is set aside: the common case, and one pass over the matrix less

    @property
    def n(self) -> int:
        """Number of samples, those set aside included."""
        return int(self.x.shape[0])

    def log_kernel(self, x_query: Array) -> Array:
        """Return the log-kernel from some queries to all samples, (n_query, n); -inf where a pair is set aside."""
        xp = namespace(x_query, self.x)
        asked = xp.isfinite(x_query)
        if self.all_seen and bool(xp.all(asked)):
            return self.kernel.log_kernel(x_query, self.x, self.h)
        block = self.kernel.log_kernel(xp.where(asked, x_query, xp.zeros_like(x_query)), self.x, self.h)
        return xp.where(self.seen[None, :] & asked[:, None], block, xp.full_like(block, -xp.inf))

    def row_blocks(self, n_query: int) -> Iterator[slice]:
        """Yield slices of queries, each small enough to hold its rows in memory."""
        n_cells = _BLOCK_HOST if is_numpy_array(self.x) else _BLOCK_DEVICE
        n_rows = max(1, n_cells // max(1, self.n))
        for start in range(0, n_query, n_rows):
            yield slice(start, min(start + n_rows, n_query))


def float64_arrays(**values: Any) -> list[Array]:
    """Return the values as float64 arrays of one device: that of the arrays among them, else NumPy.

    Raises
    ------
    KavError
        If one does not hold real numbers. Masked ones are NaN.
    """
    on_device = [value for value in values.values() if is_array_api_obj(value)]
    arrays = []
    for name, value in values.items():
        try:
            given = real(value, name)
            array = given if is_array_api_obj(given) else _beside(on_device, given)
            xp = namespace(array)
            arrays.append(xp.astype(array, xp.float64, copy=False))
        except (TypeError, ValueError, OverflowError) as error:
            raise not_numbers(value, name, error) from error
    namespace(*arrays)
    return arrays


def _beside(on_device: Sequence[Array], value: Any) -> Array:
    host = np.asarray(value, dtype=np.float64)
    return like(on_device[0], host, dtype=namespace(on_device[0]).float64) if on_device else host


def checked_bandwidth(h: Any) -> float:
    """Return the bandwidth as a float.

    Raises
    ------
    KavError
        If it is not a finite number above 0.
    """
    try:
        value = float(real(h, "bandwidth h"))
    except (TypeError, ValueError) as error:
        raise KavError(f"bandwidth h must be a number > 0, got {h!r}") from error
    except OverflowError as error:
        raise KavError("bandwidth h must be > 0 and finite, got a number beyond 1.8e308") from error
    if not (math.isfinite(value) and value > 0):
        raise KavError(f"bandwidth h must be > 0 and finite, got {value:g}")
    return value


def observe(x: Any, y: Any, h: Any, kernel: str) -> Observed:
    """Return samples, kernel and bandwidth, checked.

    Raises
    ------
    KavError
        If x and y are not two equally long lists of numbers, h is not > 0 and finite, or the kernel has no such name.
    """
    x, y = float64_arrays(x=x, y=y)
    if x.ndim != 1 or x.shape != y.shape:
        raise KavError(f"x and y must be one-dimensional and equally long, got shapes {x.shape} and {y.shape}")
    xp = namespace(x, y)
    row, h = kernel_named(kernel), checked_bandwidth(h)
    with np.errstate(all="ignore"):
        finite = is_numpy_array(x) and np.isfinite(np.sum(x) + np.sum(y))
    if finite:  # so is each of them: the quickest way to tell
        return Observed(x, y, np.ones(x.shape, dtype=bool), row, h, True)
    seen = xp.isfinite(x) & xp.isfinite(y)
    zero = xp.zeros_like(x)
    return Observed(xp.where(seen, x, zero), xp.where(seen, y, zero), seen, row, h, bool(xp.all(seen)))


def fit(x: Any, y: Any, x_query: Any, h: float, kernel: str = "gaussian") -> np.ndarray:
    """Return the kernel fit at each query, ``f = sum_i K y_i / sum_i K``.

    Parameters
    ----------
    x, y : array, shape (n,)
        Samples; pairs with a number that is not finite, or masked, are set aside.
    x_query : array, shape (n_query,)
    h : float
        Bandwidth, > 0, units of x.
    kernel : str
        Name in `KERNELS`.

    Returns
    -------
    numpy.ndarray, shape (n_query,), float64
        NaN where no observation has weight. One float64 for one number.

    Raises
    ------
    KavError
        If the samples are not equally long lists of numbers, h is not > 0, or the kernel is unknown.

    References
    ----------
    Nadaraya 1964, eq. 2; Watson 1964, eq. 2.6.
    """
    (query,) = float64_arrays(x_query=x_query)
    shape = query.shape
    if is_array_api_obj(x) and not is_array_api_obj(x_query):
        (_, query) = float64_arrays(x=x, x_query=x_query)
    observed = observe(x, y, h, kernel)
    xp = namespace(query, observed.x)
    query = xp.reshape(query, (-1,))
    if is_numpy_array(query) and observed.n * query.shape[0] > _FEW_PAIRS:
        return _fit_prepared(observed, query).reshape(shape)[()]
    return to_host(xp.reshape(fit_every_pair(observed, query), shape))[()]


def _fit_prepared(observed: Observed, query: np.ndarray) -> np.ndarray:
    """The fit by the quickest way that gives the same numbers."""
    x, y = observed.x, observed.y
    if not observed.all_seen:
        x, y = x[observed.seen], y[observed.seen]
    if observed.kernel.name == "gaussian" and x.size > _FEW_FOR_A_GRID and np.all(np.isfinite(query)):
        found = fit_once(x, y, query, observed.h)
        if found is not None:
            return found
    with np.errstate(over="ignore"):
        prepared = Prepared.of(x, y)
        far = prepared.coordinate(query[np.isfinite(query)])
    if not (np.isfinite(prepared.ordered.span) and np.all(np.isfinite(far))):
        return np.asarray(fit_every_pair(observed, query))  # the fast ways count from the smallest x
    return prepared.fit(query, observed.h, observed.kernel.name)


def fit_every_pair(observed: Observed, query: Array) -> Array:
    """Return the fit at each query from every pair: the plain twin of all faster ways.

    Parameters
    ----------
    query : array, shape (n_query,)
        On the device of the samples.
    """
    xp = namespace(query, observed.x)
    parts = [_fit_rows(observed, query[rows]) for rows in observed.row_blocks(query.shape[0])]
    return xp.concat(parts) if parts else query


def _fit_rows(observed: Observed, x_query: Array) -> Array:
    """The fit at a block of queries, NaN without support."""
    xp = namespace(x_query, observed.x)
    if observed.n == 0:
        return xp.full_like(x_query, xp.nan)
    log_kernel = observed.log_kernel(x_query)
    f = smoother.smooth(smoother.weights(log_kernel), observed.y)
    return xp.where(smoother.has_support(log_kernel), f, xp.full_like(f, xp.nan))


def smoother_matrix(x: Any, x_query: Any, h: float, kernel: str = "gaussian") -> np.ndarray:
    """Return the smoother matrix: the weight of each sample in the fit at each query.

    Parameters
    ----------
    x : array, shape (n,)
    x_query : array, shape (n_query,)
    h, kernel
        As in `fit`.

    Returns
    -------
    numpy.ndarray, shape (n_query, n)
        Rows sum to 1, or are all 0 where no sample has weight; columns of samples set aside are 0.

    Raises
    ------
    KavError
        As in `fit`.
    """
    x, query = float64_arrays(x=x, x_query=x_query)
    xp = namespace(x, query)
    if query.ndim != 1:
        raise KavError(f"x_query must be one-dimensional, got shape {query.shape}")
    observed = observe(x, xp.zeros_like(x), h, kernel)
    if observed.n == 0 or query.shape[0] == 0:
        return np.zeros((query.shape[0], observed.n))
    blocks = [smoother.weights(observed.log_kernel(query[rows])) for rows in observed.row_blocks(query.shape[0])]
    return to_host(xp.concat(blocks))


def smoother_of(x: Any, y: Any, x_query: Any, h: float, kernel: str = "gaussian") -> Smoother:
    """Return the samples as a `Smoother`: the value that the panels draw in both scenes.

    Raises
    ------
    KavError
        As in `fit`.
    """
    x, y, query = float64_arrays(x=x, y=y, x_query=x_query)
    observed = observe(x, y, h, kernel)

    def log_kernel(queries: slice, keys: slice) -> Array:
        return observed.log_kernel(query[queries])[:, keys]

    names = tuple(f"sample {index}" for index in range(observed.n))
    asked = tuple(f"x = {float(value):.4g}" for value in to_host(query))
    return Smoother(log_kernel, observed.y, asked, names)


def dosed_weights(log_kernel: Array, doses: Array) -> Array:
    """Return the weights after each sample's kernel was scaled, ``w_ij = d_j K_ij / sum_k d_k K_ik``.

    Parameters
    ----------
    log_kernel : array, shape (..., n)
    doses : array, shape (n,) or broadcastable to log_kernel
        1 = as it is, 0 = removed; negative doses are allowed as long as the row's total stays positive.

    Returns
    -------
    array, shape of both broadcast
        Rows sum to 1, or are all 0 where the scaled kernel has no positive total: the fit is undefined there.
    """
    xp = namespace(log_kernel, doses)
    size = xp.abs(doses)
    log_size = xp.where(size > 0, xp.log(xp.where(size > 0, size, xp.ones_like(size))), xp.full_like(size, -xp.inf))
    signed = smoother.weights(log_kernel + log_size) * xp.sign(doses)
    total = xp.sum(signed, axis=-1, keepdims=True)
    positive = total > 1e-12  # less is rounding: positive and negative kernel cancel
    return xp.where(positive, signed / xp.where(positive, total, xp.ones_like(total)), xp.zeros_like(signed))
