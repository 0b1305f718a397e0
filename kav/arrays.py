"""Where arrays live: the only file of kav that names CuPy.

A public function of kav starts with ``xp = namespace(a, b)``: the data says on which device the work is done, and
mixed inputs fail at that line. `to_host` is called once, at the end; `to_device` once, when weights are loaded.
Everything between is written for the array API standard, so that NumPy, CuPy and the strict stand-in device of the
tests run the same lines.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_cupy_array, is_numpy_array

from kav.errors import KavError

Array = Any
"""An array of the array API standard; NumPy has no static type that covers CuPy as well."""


def namespace(*arrays: Array) -> Any:
    """Return the array API namespace that the given arrays share.

    Raises
    ------
    TypeError
        If the arrays come from different libraries or one is not an array.
    """
    for array in arrays:
        if type(array) is not np.ndarray:
            return array_namespace(*arrays)
    if arrays:
        return _host()  # ten times as fast as `array_namespace`: a row costs 800 of these
    return array_namespace(*arrays)


@cache
def _host() -> Any:
    """NumPy itself where it follows the standard in what KAV uses; importing its stand-in takes as long as NumPy."""
    return np if hasattr(np, "astype") else array_namespace(np.empty(0))  # NumPy 2.0 has no `astype`


def like(array: Array, values: Any, *, dtype: Any = None) -> Array:
    """Return host values as an array on the device of `array`, in its dtype unless `dtype` is given."""
    xp = namespace(array)
    return xp.asarray(np.asarray(values), dtype=array.dtype if dtype is None else dtype, device=device(array))


def exponential(x: Array) -> Array:
    """Return exp(x) of an array that nobody else holds, infinite where it overflows: on the host in x's own place.

    New memory would cost as much again. What else is done in place needs no function: ``x += y`` is in the standard.
    """
    with np.errstate(over="ignore"):
        return np.exp(x, out=x) if type(x) is np.ndarray and x.dtype.kind == "f" else namespace(x).exp(x)


def indices(start: int, stop: int, *, like: Array) -> Array:
    """Return ``start, start + 1, ..., stop - 1`` as int64 on the device of `like`."""
    xp = namespace(like)
    return xp.arange(start, stop, dtype=xp.int64, device=device(like))


def to_host(array: Array) -> np.ndarray:
    """Return `array` as a NumPy array on the host, copying only if it lives elsewhere."""
    if is_numpy_array(array) or not is_array_api_obj(array):
        return np.asarray(array)
    if is_cupy_array(array):
        import cupy

        return np.asarray(cupy.asnumpy(array))
    return _strict_to_host(array)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to: what a model or a run holds is handed out so."""
    view = array.view()
    view.flags.writeable = False
    return view


def _strict_to_host(array: Array) -> np.ndarray:
    # array_api_strict refuses np.asarray on its stand-in device, as CuPy does: go over its CPU device.
    xp = namespace(array)
    moved = array.to_device(xp.Device("CPU_DEVICE")) if hasattr(xp, "Device") else array
    return np.asarray(moved)


def to_device(array: np.ndarray, where: str) -> Array:
    """Return a host array on the device called `where` ("cpu" or "cuda:N").

    Raises
    ------
    KavError
        If the device is not one of those.
    """
    if where == "cpu":
        return np.asarray(array)
    if where.startswith("cuda:"):
        import cupy

        with cupy.cuda.Device(int(where.partition(":")[2])):
            return cupy.asarray(array)
    raise KavError(f'device must be "cpu" or "cuda:N", got {where!r}')


PROBE_SECONDS = 10.0
"""How long a GPU may take to answer at first: compiling a kernel takes seconds, a hung driver for ever."""


def probe(seconds: float = PROBE_SECONDS) -> tuple[str | None, str]:
    """Look for a GPU that really computes, in a thread of its own that may hang for ever.

    Returns
    -------
    device : str or None
        "cuda:0", or None without a usable GPU.
    reason : str
        Name of the GPU, or why there is none, in words for the About box.
    """
    found: list[tuple[str | None, str]] = []
    thread = threading.Thread(target=lambda: found.append(_probe()), name="kav-probe", daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else (None, f"the GPU did not answer within {seconds:g} seconds")


def _probe() -> tuple[str | None, str]:
    try:
        import cupy
    except Exception as error:  # ImportError, or a CUDA library that fails while loading
        return None, f"CuPy is not usable: {error}"
    try:
        if not cupy.cuda.is_available():
            return None, "CuPy is installed, but there is no CUDA driver or device"
        (cupy.ones(8) @ cupy.ones(8)).item()  # proves that the compiler and cuBLAS load, not just the driver
        return "cuda:0", str(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
    except Exception as error:
        return None, f"a GPU is present but unusable: {error}"


@dataclass(frozen=True)
class DeviceFailure:
    """Why a device could not go on: the reason in words, and whether it is gone for good."""

    reason: str
    lost: bool


def device_failure(error: BaseException) -> DeviceFailure | None:
    """Return how an exception says that the GPU failed; None if it says something else.

    Recognised by where its class comes from, so that nothing has to be imported: everything that CuPy raises is a
    fault of the device or its libraries, since KAV's own mistakes are ValueErrors and TypeErrors of Python.
    """
    for kind in type(error).__mro__:
        if kind.__module__.partition(".")[0] in ("cupy", "cupy_backends"):
            full = kind.__name__ == "OutOfMemoryError"
            words = "the GPU ran out of memory" if full else f"the GPU failed ({' '.join(str(error).split())[:120]})"
            return DeviceFailure(words, lost=not full)
    return None


def release_device_memory() -> None:
    """Give blocks that CuPy keeps for later back to the GPU; a device that cannot do even that is left alone."""
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return
    try:
        cupy.get_default_memory_pool().free_all_blocks()
    except Exception:  # the driver is gone, and its memory with it
        return


def device_memory(where: str) -> int | None:
    """Return how many bytes of a GPU's memory are free; None if that cannot be told.

    Parameters
    ----------
    where : str
        "cuda:N".
    """
    try:
        import cupy

        with cupy.cuda.Device(int(where.partition(":")[2])):
            return int(cupy.cuda.runtime.memGetInfo()[0])
    except Exception:  # whatever a driver can say: then it is not known
        return None
