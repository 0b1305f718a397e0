"""The local objective: what the fit at one query minimises.

    L_x(c) = sum_i K(u_i) (y_i - c)^2 = L_min + M (c - f)^2,   M = sum_i K(u_i),   L'' = 2 M

a parabola in c, so three numbers draw it: where its minimum is (the fit), how deep, and how bent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from kav.regression.extras import with_extras
from kav.regression.kernels import Kernel
from kav.regression.prepared import Prepared
from kav.regression.window import Asked, Sums, direct_sums

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
    asked = prepared.asked(h, kernel)
    q = prepared.coordinate(np.asarray([x_query]))
    once = _pairs(prepared, q, asked, 1)
    if not once.mass[0] > 0:
        return Objective(math.nan, math.nan, 0.0, -math.inf, math.nan)
    ordered = prepared.ordered
    mean = float(once.moment[0] / once.mass[0])
    square = float(_pairs(prepared, q, asked, 2).moment[0] / once.mass[0])
    spread = ordered.scale * math.sqrt(max(square - mean * mean, 0.0))
    log_mass = float(np.log(once.mass[0]) + once.log_scale[0]) + _log_peak(asked.kernel)
    mass = math.exp(min(log_mass, 700.0))
    return Objective(float(ordered.shown(np.asarray(mean))), mass * spread * spread, mass, log_mass, spread)


def _pairs(prepared: Prepared, q: np.ndarray, asked: Asked, power: int) -> Sums:
    """Mass and ``sum K y^power``: one query, every sample within reach."""
    ordered, extras = prepared.ordered, prepared.extras
    ordered = ordered if power == 1 else replace(ordered, y=ordered.y**2)
    extras = extras if power == 1 else replace(extras, y=extras.y**2)
    return with_extras(direct_sums(ordered, q, asked), extras, q, asked)


def _log_peak(kernel: Kernel) -> float:
    """log K(0); 0 for a kernel that is no function of u."""
    return 0.0 if kernel.log_K is None else float(kernel.log_K(np.zeros(1))[0])
