"""Numbers along an axis: a few round ones."""

from __future__ import annotations

import math


def nice_ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return about `n` round numbers in [low, high]: steps of 1, 2, 2.5 or 5 times a power of ten."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [low] if math.isfinite(low) else []
    raw = (high - low) / max(1, n)
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((factor * power for factor in (1, 2, 2.5, 5, 10)), key=lambda s: abs(math.log(s / raw)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def tick_text(value: float, step: float) -> str:
    """Return a tick's number with as many decimals as its step needs, and a real minus sign."""
    decimals = 0
    while decimals < 6 and abs(step * 10**decimals - round(step * 10**decimals)) > 1e-9:
        decimals += 1
    text = f"{value:.{decimals}f}"
    return text.replace("-", "−") if float(text) != 0 else text.replace("-", "")
