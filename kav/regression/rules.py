"""Bandwidths from the spread of x alone, and the range in which a better one is looked for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kav.arrays import to_host
from kav.errors import KavError
from kav.regression.fit import float64_arrays
from kav.regression.kernels import kernel_named

RULES = ("silverman", "scott")
"""The rules of thumb."""


def rule_of_thumb(x: Any, kernel: str = "gaussian", rule: str = "silverman") -> float:
    """Return a bandwidth from the spread of x alone, ``c A n^(-1/5)`` with ``A = min(s.d., quartile range / 1.34)``.

    A quartile range of 0 (many ties) falls back on the standard deviation, and that on the size of x, so that the
    answer is always > 0. It is derived for the Gaussian and scaled to smooth as much with another kernel.

    Parameters
    ----------
    x : array, shape (n,)
    kernel : str
    rule : str
        "silverman" (c = 0.9) or "scott" (c = 1.06).

    Raises
    ------
    KavError
        If the rule or the kernel is unknown.

    References
    ----------
    Silverman 1986, Density Estimation, eq. 3.30 and 3.31; Scott 1992, Multivariate Density Estimation, section 6.5.
    """
    factors = {"silverman": 0.9, "scott": 1.06}
    if rule not in factors:
        raise KavError(f"rule must be silverman or scott, got {rule!r}")
    (array,) = float64_arrays(x=x)
    values = to_host(array)
    values = values[np.isfinite(values)]
    per_sample = math.pow(max(values.size, 1), -0.2)
    return factors[rule] * _scale(values) * per_sample * kernel_named(kernel).canonical


def _scale(values: np.ndarray) -> float:
    """Spread of x as the rules of thumb take it, never 0."""
    deviation = float(np.std(values, ddof=1)) if values.size > 1 else 0.0
    low, high = np.percentile(values, (25, 75)) if values.size else (0.0, 0.0)
    candidates = [size for size in (deviation, float(high - low) / 1.34) if size > 0]
    return min(candidates) if candidates else 1.0


def search_range(x: np.ndarray, kernel: str) -> tuple[float, float]:
    """Return the bandwidths between which a minimum is looked for, smallest and largest, both > 0.

    From well inside the typical distance between neighbours, where the fit repeats its samples, to twice the range of
    x, where it is their mean.

    Raises
    ------
    KavError
        If twice that range is no float.
    """
    values = np.sort(x[np.isfinite(x)])
    gaps = np.diff(values)
    gaps = gaps[gaps > 0]
    if not gaps.size:
        unit = rule_of_thumb(values, kernel)
        return unit / 10, unit * 10
    with np.errstate(over="ignore"):
        top = 2 * float(values[-1] - values[0])
    if kernel_named(kernel).log_K is None:  # the kernel depends on products of x, not on differences
        top = max(top, 4 * float(np.max(np.abs(values))))
    if not math.isfinite(top):
        raise KavError(
            f"x must span at most 8e307 for a bandwidth to be looked for, got {values[0]:g} to {values[-1]:g}"
        )
    return max(min(float(np.median(gaps)) / 4, top / 20), 1e-150 * top), top


def bandwidth_limits(x: np.ndarray) -> tuple[float, float]:
    """Return the smallest and largest bandwidth that are of use: 1e-9 and 1,000 ranges of x.

    Below, every fit is its nearest sample; above, their mean. Without a range its size counts, or 1.
    """
    values = x[np.isfinite(x)]
    span = float(np.ptp(values)) if values.size else 0.0
    if span == 0:
        span = float(np.max(np.abs(values), initial=0.0)) or 1.0
    return 1e-9 * span, 1e3 * span


def typed_bandwidth(h: float, limits: tuple[float, float]) -> float:
    """Return a bandwidth that someone typed, if it is of use.

    Parameters
    ----------
    limits : (float, float)
        `bandwidth_limits` of the samples.

    Raises
    ------
    KavError
        If it is not > 0, or outside the limits; the sentence says which.
    """
    low, high = limits
    if not h > 0:
        raise KavError(f"bandwidth h must be > 0, got {h:g}".replace("-", "\u2212"))
    if not low <= h <= high:
        raise KavError(f"bandwidth h must be between {low:.3g} and {high:.3g} for these samples, got {h:g}")
    return h
