"""The kernels of the regression half: one table, one row per kernel.

A kernel says how much an observation at ``x`` counts for a query at ``x_query``. All but one depend only on
``u = (x_query - x) / h`` and integrate to 1 over u; the exp-dot-product kernel, ``exp(x_query x / h^2)``, is the one
an attention head has, and no function of u. Both kinds answer `Kernel.log_kernel`, which is all the smoother asks.

Logarithms throughout: -inf is "no weight at all", and a Gaussian forty bandwidths away is still a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from kav.arrays import Array, namespace
from kav.errors import KavError

_DIFFERENCES_OVERFLOW = 2.0**1022
"""Size of x from which a difference, or the sum of two sizes, may be no float."""


@dataclass(frozen=True)
class Kernel:
    """One kernel: what it is called, its logarithm, and the numbers that make bandwidths comparable.

    Parameters
    ----------
    name : str
        Key in `KERNELS`.
    title : str
        As it is shown, short enough for the gallery.
    log_K : callable or None
        ``log_K(u)`` -> log K(u), same shape, -inf outside the support. None if K is no function of u.
    support : float
        Radius in u beyond which K is 0; inf if it never is.
    variance, roughness : float
        ``int u^2 K(u) du`` and ``int K(u)^2 du``; nan if K is no function of u.
    formula : str
        K up to a constant, as it is printed.
    long_title : str
        As it is shown in a sentence.
    aliases : tuple of str
        Other names under which it is found.
    bump : (int, int) or None
        (inner, outer) if ``K(u)`` is proportional to ``(1 - |u|^inner)^outer``; outer 0 is the closed interval.
    """

    name: str
    title: str
    log_K: Callable[[Array], Array] | None
    support: float
    variance: float
    roughness: float
    formula: str
    long_title: str = ""
    aliases: tuple[str, ...] = ()
    bump: tuple[int, int] | None = None

    @property
    def compact(self) -> bool:
        """True if K is exactly 0 beyond `support` bandwidths."""
        return self.support < math.inf

    @property
    def in_words(self) -> str:
        """The kernel's name in a sentence."""
        return self.long_title or self.title

    @property
    def canonical(self) -> float:
        """Factor from a Gaussian bandwidth to the one that smooths as much, ``delta(K) / delta(Gaussian)``.

        References
        ----------
        Marron and Nolan 1988, "Canonical kernels for density estimation": ``delta = (int K^2 / (int u^2 K)^2)^(1/5)``.
        """
        if math.isnan(self.variance):
            return 1.0
        gaussian = 1 / (2 * math.sqrt(math.pi))
        return float((self.roughness / self.variance**2 / gaussian) ** 0.2)

    def log_kernel(self, x_query: Array, x: Array, h: float) -> Array:
        """Return the log-kernel between every query and every observation.

        Parameters
        ----------
        x_query : array, shape (n_query,)
        x : array, shape (n,)
        h : float
            Bandwidth in units of x, > 0. Below 1e-150 of the largest |x| it counts as that: the nearest observation
            has all the weight long before, and u^2 stays finite.

        Returns
        -------
        array, shape (n_query, n)
        """
        xp = namespace(x_query, x)
        if x.shape[0] == 0 or x_query.shape[0] == 0:
            return x_query[:, None] + x[None, :]
        largest = max(float(xp.max(xp.abs(x))), float(xp.max(xp.abs(x_query))))
        if largest > _DIFFERENCES_OVERFLOW:
            x_query, x, h, largest = x_query / 4, x / 4, h / 4, largest / 4
        h = max(h, 2e-150 * largest)
        if self.log_K is None:
            return (x_query / h)[:, None] * (x / h)[None, :]
        return self.log_K((x_query[:, None] - x[None, :]) / h)


def _log_gaussian(u: Array) -> Array:
    return -0.5 * (u * u) - 0.5 * math.log(2 * math.pi)


def _log_laplace(u: Array) -> Array:
    xp = namespace(u)
    return -xp.abs(u) - math.log(2)


def _log_uniform(u: Array) -> Array:
    """K = 1/2 on the closed interval: an observation at exactly one bandwidth still counts."""
    xp = namespace(u)
    half = xp.full_like(u, math.log(0.5))
    return xp.where(xp.abs(u) <= 1, half, xp.full_like(u, -xp.inf))


def _log_bump(u: Array, *, inner: int, outer: int, constant: float) -> Array:
    """``K(u) = constant (1 - |u|^inner)^outer`` for |u| < 1, else 0."""
    xp = namespace(u)
    size = xp.abs(u)
    inside = size < 1
    size = xp.where(inside, size, xp.zeros_like(size))
    power = size  # |u|^inner by multiplication: ** with an integer is many times slower
    for _ in range(inner - 1):
        power = power * size
    return xp.where(inside, outer * xp.log(1 - power) + math.log(constant), xp.full_like(u, -xp.inf))


def _bump(inner: int, outer: int, constant: float) -> Callable[[Array], Array]:
    return partial(_log_bump, inner=inner, outer=outer, constant=constant)


_ROWS = (
    Kernel("gaussian", "Gaussian", _log_gaussian, math.inf, 1.0, 1 / (2 * math.sqrt(math.pi)), "exp(−u²/2)"),
    Kernel("epanechnikov", "Epanechn.", _bump(2, 1, 3 / 4), 1.0, 1 / 5, 3 / 5, "1 − u²", "Epanechnikov", bump=(2, 1)),
    Kernel("uniform", "uniform", _log_uniform, 1.0, 1 / 3, 1 / 2, "1", aliases=("boxcar",), bump=(1, 0)),
    Kernel("triangular", "triangular", _bump(1, 1, 1.0), 1.0, 1 / 6, 2 / 3, "1 − |u|", bump=(1, 1)),
    Kernel("biweight", "biweight", _bump(2, 2, 15 / 16), 1.0, 1 / 7, 5 / 7, "(1 − u²)²", bump=(2, 2)),
    Kernel("triweight", "triweight", _bump(2, 3, 35 / 32), 1.0, 1 / 9, 350 / 429, "(1 − u²)³", bump=(2, 3)),
    Kernel("tricube", "tricube", _bump(3, 3, 70 / 81), 1.0, 35 / 243, 175 / 247, "(1 − |u|³)³", bump=(3, 3)),
    Kernel("laplace", "Laplace", _log_laplace, math.inf, 2.0, 1 / 4, "exp(−|u|)", aliases=("exponential",)),
    Kernel(
        "exp-dot-product",
        "exp-dot-product",
        None,
        math.inf,
        math.nan,
        math.nan,
        "exp(x·xᵢ/h²)",
        aliases=("exp_dot_product", "exp_dot"),
    ),
)

KERNELS: Mapping[str, Kernel] = MappingProxyType({row.name: row for row in _ROWS})
"""All kernels by name, in the order in which they are offered."""

_ALIASES: Mapping[str, Kernel] = MappingProxyType({alias: row for row in _ROWS for alias in row.aliases})


def kernel_named(name: object) -> Kernel:
    """Return the kernel of that name.

    Raises
    ------
    KavError
        If there is none.
    """
    found = (KERNELS.get(name) or _ALIASES.get(name)) if isinstance(name, str) else None
    if found is None:
        raise KavError(f"kernel must be one of {', '.join(KERNELS)}, got {name!r}")
    return found
