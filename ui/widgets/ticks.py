"""Numbers along an axis: a few round ones."""

from __future__ import annotations

import math
from decimal import Decimal

from kav.views.words import SUPERSCRIPTS

LONGEST = 8  # letters of a number that is written out


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
    """Return a tick's number with as many decimals as its step needs, and a real minus sign; a long one as a power."""
    exponent = int(Decimal(f"{step:.6g}").normalize().as_tuple().exponent)  # of the step's last digit
    plain = f"{value:.{max(0, -exponent)}f}"
    if float(plain) == 0:
        plain = plain.replace("-", "")
    if len(plain) > LONGEST:
        plain = min(plain, _power(value, exponent), key=len)
    return plain.replace("-", "−")


def _power(value: float, exponent: int) -> str:
    """The number as a power of ten, down to the digit that the step changes."""
    if abs(value) < 0.5 * 10.0**exponent:
        return "0"
    size = math.floor(math.log10(abs(value)) + 1e-9)
    mantissa, _, power = f"{value:.{max(0, size - exponent)}e}".partition("e")
    return f"{mantissa}·10{str(int(power)).translate(SUPERSCRIPTS)}"
