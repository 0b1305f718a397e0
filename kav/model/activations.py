"""Activation functions of MLPs and their derivatives, in the array API standard, which has no error function.

References
----------
Hendrycks & Gimpel 2016 (GELU, exact and with tanh); Press et al. 2007, section 6.2.2 (the form of the error function
used here; the coefficients were fitted anew, in 40 digits).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kav.arrays import Array, exponential, namespace

Function = Callable[[Array, Any], Array]

_ERFC = (
    -0.6513268598908547,
    0.6419697923564902,
    0.019476473204185836,
    -0.009561514786808632,
    -0.0009465953444820369,
    0.00036683949785276145,
    4.252332480690777e-05,
    -2.0278578112534242e-05,
    -1.6242900046470256e-06,
    1.3036558355805232e-06,
    1.5626441722066142e-08,
    -8.523809591492654e-08,
    6.5290544390988515e-09,
    5.059343495551469e-09,
    -9.91364156493033e-10,
    -2.273651222931836e-10,
    9.646791102015527e-11,
    2.3940380830391146e-12,
    -6.886027526497553e-12,
    8.944879273090725e-13,
    3.130921399342958e-13,
    -1.1270822361367252e-13,
)
"""Chebyshev coefficients of ``log(erfc(z) exp(z^2) / t)`` in ``2 t - 1``, t = 2 / (2 + z)."""


def erf(x: Array) -> Array:
    """Return the error function, to 1e-14 absolute in float64 and to rounding in float32.

    For z = |x|, ``erfc(z) = t exp(-z^2 + P(2 t - 1))`` with t = 2 / (2 + z) and P a Chebyshev series (Clenshaw's sum).
    """
    xp = namespace(x)
    z = xp.abs(x)
    t = 2 / (2 + z)
    s = 2 * t - 1
    later, sum_ = xp.zeros_like(x), xp.zeros_like(x) + _ERFC[-1]
    for coefficient in reversed(_ERFC[1:-1]):
        later, sum_ = sum_, 2 * s * sum_ - later + coefficient
    tail = t * xp.exp(-z * z + s * sum_ - later + _ERFC[0])  # erfc(z)
    return xp.where(x < 0, tail - 1, 1 - tail)


def gate(x: Array) -> Array:
    """Return the normal distribution function Phi(x): ``gelu(x) = x Phi(x)``."""
    return 0.5 * (1 + erf(x * math.sqrt(0.5)))


def _silu(x: Array, xp: Any) -> Array:
    below = exponential(-x)
    below += 1
    return x / below


def _silu_slope(x: Array, xp: Any) -> Array:
    sigmoid = 0.5 * (1 + xp.tanh(0.5 * x))
    return sigmoid * (1 + x * (1 - sigmoid))


def _gelu(x: Array, xp: Any) -> Array:
    return x * gate(x)


def _gelu_slope(x: Array, xp: Any) -> Array:
    return gate(x) + x * xp.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def _gelu_tanh(x: Array, xp: Any) -> Array:
    return 0.5 * x * (1 + xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def _gelu_tanh_slope(x: Array, xp: Any) -> Array:
    root = math.sqrt(2 / math.pi)
    bend = xp.tanh(root * (x + 0.044715 * x * x * x))
    return 0.5 * (1 + bend) + 0.5 * x * (1 - bend * bend) * root * (1 + 3 * 0.044715 * x * x)


def _relu(x: Array, xp: Any) -> Array:
    return xp.where(x > 0, x, xp.zeros_like(x))


def _relu_slope(x: Array, xp: Any) -> Array:
    return xp.where(x > 0, xp.ones_like(x), xp.zeros_like(x))


ACTIVATIONS: Mapping[str, Function] = MappingProxyType(
    {"silu": _silu, "gelu": _gelu, "gelu_tanh": _gelu_tanh, "relu": _relu}
)
"""Activation functions by the name used in `Config.activation`."""

SLOPES: Mapping[str, Function] = MappingProxyType(
    {"silu": _silu_slope, "gelu": _gelu_slope, "gelu_tanh": _gelu_tanh_slope, "relu": _relu_slope}
)
"""Derivatives of `ACTIVATIONS`, by the same names."""


def opening(name: str, x: Array) -> Array:
    """Return how far an activation lets x through, ``act(x) / x``, also where x is 0."""
    xp = namespace(x)
    safe = xp.where(x == 0, xp.full_like(x, 1e-6), x)
    return ACTIVATIONS[name](safe, xp) / safe
