"""Axis ranges that sit still while something is dragged, and numbers with as many decimals as the data deserve.

Both depend on the present data only: the same picture comes back when a drag returns to where it began.
"""

from __future__ import annotations

import math

import numpy as np

TINY = 1e-300  # below, numbers have too few digits to be divided into steps


def nice_step(span: float, n_steps: int) -> float:
    """Return the smallest of 1, 2, 2.5, 5 times a power of ten that covers `span` in at most `n_steps` steps."""
    raw = span / n_steps
    power = 10.0 ** math.floor(math.log10(raw))
    return next((factor * power for factor in (1, 2, 2.5, 5) if factor * power >= raw * (1 - 1e-9)), 10 * power)


def nice_range(values: np.ndarray, n_steps: int = 5) -> tuple[float, float]:
    """Return the ends of an axis that holds all finite values: multiples of a nice step, so small moves change nothing.

    Without values (0, 1); around a single value half its size to either side.
    """
    seen = values[np.isfinite(values)]
    if not seen.size:
        return 0.0, 1.0
    low, high = float(seen.min()), float(seen.max())
    if high - low <= max(1e-12 * max(abs(low), abs(high)), TINY):
        margin = 0.5 * abs(low) if abs(low) > TINY else 0.5
        low, high = low - margin, high + margin
    step = nice_step(high - low, n_steps)
    return multiple(math.floor(low / step + 1e-9), step), multiple(math.ceil(high / step - 1e-9), step)


def multiple(count: int, step: float) -> float:
    """Return count steps without the last digits of rounding: 3 steps of 0.1 are 0.3."""
    return float(f"{count * step:.12g}")


def decimals(span: float) -> int:
    """Return how many decimals tell places on an axis of that length apart: 2 for 10, none for 1000."""
    return max(0, min(9, 2 - math.floor(math.log10(span / 2)))) if span > 0 else 2
