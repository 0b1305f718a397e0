"""What callers hand in as numbers: masked entries are missing, complex and overlong numbers are refused.

The same rule for lists, host arrays and arrays of a device, before any of them becomes float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from kav.arrays import namespace
from kav.errors import KavError

_LARGEST = "1.8e308"


def real(values: Any, name: str) -> Any:
    """Return what was given as it is, a masked array as float64 with NaN where it is masked.

    Raises
    ------
    KavError
        If it is an array of complex numbers: their real part would be another number.
    """
    if is_array_api_obj(values) and namespace(values).isdtype(values.dtype, "complex floating"):
        raise KavError(f"{name} must hold real numbers, got {values.dtype}")
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(np.float64), np.nan)
    return values


def not_numbers(values: Any, name: str, error: Exception) -> KavError:
    """Return the error to raise where values cannot become float64."""
    if isinstance(error, OverflowError):
        return KavError(f"{name} must hold numbers up to {_LARGEST}, got a larger one")
    return KavError(f"{name} must hold numbers, got {type(values).__name__}")
