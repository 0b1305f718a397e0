"""The local objective: what the fit at one query minimises.

    L_x(c) = sum_i K(u_i) (y_i - c)^2 = L_min + M (c - f)^2,   M = sum_i K(u_i),   L'' = 2 M

a parabola in c, so three numbers draw it: where its minimum is (the fit), how deep, and how bent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kav.regression.extras import CANCELLED
from kav.regression.kernels import Kernel
from kav.regression.prepared import Prepared
from kav.regression.window import windows

UNDEFINED = "undefined: no observation has positive weight"


@dataclass(frozen=True)
class Objective:
    """The parabola of one query.

    Parameters
    ----------
    f : float
        Where L is least: the kernel fit. NaN without support.
    least : float
        L at f, ``sum K (y - f)^2``.
    mass : float
        ``sum K``; may underflow to 0 far from all samples, where `log_mass` still is a number.
    log_mass : float
        -inf without support.
    spread : float
        Weighted standard deviation of the responses around f: at c = f + spread, L is twice its least value.
    """

    f: float
    least: float
    mass: float
    log_mass: float
    spread: float

    @property
    def defined(self) -> bool:
        """Whether any observation has positive weight."""
        return self.log_mass > -math.inf

    @property
    def curvature(self) -> float:
        """Second derivative, ``2 sum K``: > 0 wherever the objective is defined, so that f is its only minimum."""
        return 2 * self.mass

    @property
    def notice(self) -> str:
        """What is said without support, else ""."""
        return "" if self.defined else UNDEFINED

    def values(self, c: np.ndarray) -> np.ndarray:
        """Return L at each c, same shape; NaN without support."""
        return np.asarray(self.least + self.mass * (c - self.f) ** 2)


def objective(prepared: Prepared, x_query: float, h: float, kernel: str = "gaussian") -> Objective:
    """Return the local objective at a query.

    References
    ----------
    Wand and Jones 1995, Kernel Smoothing, section 5.2, with a polynomial of degree 0.
    """
    asked, ordered = prepared.asked(h, kernel), prepared.ordered
    at = np.asarray([x_query])
    first, last = (int(end[0]) for end in windows(ordered, prepared.coordinate(at), asked))
    x = np.concatenate([ordered.x[first:last], prepared.extras.x]) + ordered.low
    y = np.concatenate([ordered.y[first:last], prepared.extras.y])
    scale = np.concatenate([np.ones(last - first), prepared.extras.weight])
    log_K = np.where(scale != 0, prepared.log_kernel(at, x, h, kernel)[0], -math.inf)  # one at dose 0 is not there
    top = float(np.max(log_K, initial=-math.inf))
    weight = scale * np.exp(log_K - top) if top > -math.inf else np.zeros(0)
    total = float(weight.sum())
    if not total > CANCELLED * float(np.abs(weight).sum()):
        return Objective(math.nan, math.nan, 0.0, -math.inf, math.nan)
    mean = float(weight @ y) / total
    away = y - mean
    spread = ordered.scale * math.sqrt(max(float(weight @ (away * away)) / total, 0.0))
    log_mass = math.log(total) + top + _log_peak(asked.kernel)
    mass = math.exp(min(log_mass, 700.0))
    return Objective(float(ordered.shown(np.asarray(mean))), mass * spread * spread, mass, log_mass, spread)


def _log_peak(kernel: Kernel) -> float:
    """log K(0); 0 for a kernel that is no function of u."""
    return 0.0 if kernel.log_K is None else float(kernel.log_K(np.zeros(1))[0])
