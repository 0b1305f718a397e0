"""Finding the bottom of a curve over bandwidths."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

_GOLDEN = (math.sqrt(5) - 1) / 2


def vertex(grid: np.ndarray, errors: np.ndarray, best: int) -> float:
    """Return the minimum of the parabola through the best grid point and its neighbours, over log h."""
    if best in (0, grid.size - 1) or not np.all(np.isfinite(errors[best - 1 : best + 2])):
        return float(grid[best])
    before, at, after = errors[best - 1 : best + 2]
    bend = before - 2 * at + after
    shift = 0.5 * (before - after) / bend if bend > 0 else 0.0
    return float(grid[best] * (grid[best + 1] / grid[best]) ** shift)


def golden_section(error: Callable[[float], float], low: float, high: float, n_steps: int) -> tuple[float, float]:
    """Return the best bandwidth met in a golden-section search between low and high (log scale), and its error."""
    a, b = math.log(low), math.log(high)
    left, right = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    at_left, at_right = error(math.exp(left)), error(math.exp(right))
    met = [(at_left, left), (at_right, right)]
    for _ in range(n_steps):
        if at_left <= at_right:
            b, right, at_right = right, left, at_left
            left = b - _GOLDEN * (b - a)
            at_left = error(math.exp(left))
            met.append((at_left, left))
        else:
            a, left, at_left = left, right, at_right
            right = a + _GOLDEN * (b - a)
            at_right = error(math.exp(right))
            met.append((at_right, right))
    value, place = min(met)
    return math.exp(place), value
