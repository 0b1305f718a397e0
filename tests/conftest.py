"""What every test may ask for: an array namespace (`xp`) on which a kernel must give the same numbers.

`xp` runs a test four times: on NumPy, on the strict array API, on the strict stand-in device (which, like a GPU,
refuses implicit copies to the host and mixed devices), and on CuPy where a GPU works.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as kav.cli does, before NumPy is imported
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import hypothesis
import numpy as np
import pytest

from kav.arrays import probe, to_host

hypothesis.settings.register_profile("kav", deadline=None)  # machines are shared and noisy: no test asserts a time
hypothesis.settings.load_profile("kav")


@dataclass(frozen=True)
class Backend:
    """An array namespace with the device a test runs on; attribute access reaches the namespace's functions."""

    name: str
    module: Any
    device: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def put(self, values: Any, dtype: Any = None) -> Any:
        """Return host values as an array of this namespace on this device; dtype is a NumPy dtype or its name."""
        array = np.asarray(values, dtype=dtype)
        return self.module.asarray(array) if self.device is None else self.module.asarray(array, device=self.device)

    def get(self, array: Any) -> np.ndarray:
        """Return an array of this namespace on the host."""
        return to_host(array)


def _backend(name: str) -> Backend:
    if name == "numpy":
        import array_api_compat.numpy as module

        return Backend(name, module)
    if name == "cupy":
        if probe()[0] is None:
            pytest.skip(probe()[1])
        import array_api_compat.cupy as module  # type: ignore[no-redef]

        return Backend(name, module)
    import array_api_strict

    place = "CPU_DEVICE" if name == "strict" else "device1"
    return Backend(name, array_api_strict, array_api_strict.Device(place))


@pytest.fixture(params=["numpy", "strict", "strict-device1", pytest.param("cupy", marks=pytest.mark.gpu)])
def xp(request: pytest.FixtureRequest) -> Backend:
    """An array namespace and device; see `Backend`."""
    return _backend(request.param)
