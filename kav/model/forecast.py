"""How much memory a model will take, and how much there is, before any of it is taken."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from kav.arrays import device_memory
from kav.model.config import Config
from kav.model.expected import Tensors


@dataclass(frozen=True)
class Forecast:
    """What opening a model takes, in bytes.

    Parameters
    ----------
    n_bytes : int
        Needed where the weights will live.
    n_free : int or None
        Free there now; None if that cannot be told.
    where : str
        "cpu" or "cuda:N".
    """

    n_bytes: int
    n_free: int | None
    where: str = "cpu"

    @property
    def share(self) -> float:
        """The share of the free memory that is needed; 0 where that cannot be told."""
        return 0.0 if self.n_free is None else self.n_bytes / max(self.n_free, 1)

    @property
    def fits(self) -> bool:
        """Whether it can be held at all."""
        return self.share <= 1


def forecast_weights(tensors: Tensors, *, dtype: str, where: str) -> Forecast:
    """Return what a checkpoint's tensors take once they are opened.

    Parameters
    ----------
    tensors : Tensors
    dtype : str
        "float32" or "float64".
    where : str
        Device of the weights.
    """
    sizes = [math.prod(tensors.shape(name)) for name in tensors.names]
    size = 8 if dtype == "float64" else 4
    passing = 3 * 4 * max(sizes, default=0) if where == "cpu" else 0  # a tensor on its way: bytes, numbers, turned
    return Forecast(sum(sizes) * size + passing, free_memory() if where == "cpu" else device_memory(where), where)


def forecast_trace(config: Config, n_tokens: int, *, n_bytes: int = 4) -> Forecast:
    """Return how much memory the run of a prompt takes on the CPU, beside the weights: proportional to n_tokens.

    What is kept of every layer (stream, queries, keys, values, z), and what is on its way through one layer. Logits at
    all positions, which only some ask for, are not in it.

    Parameters
    ----------
    n_bytes : int
        Per number: 4 for float32, 8 for float64.
    """
    kept = 2 * config.d_model + 2 * (config.n_heads + config.n_kv_heads) * config.d_head
    passing = 3 * max(config.d_model, config.d_mlp) + 2 * config.n_heads * config.d_head
    n_numbers = n_tokens * (config.n_layers * kept + 2 * config.d_model + passing)
    return Forecast(n_numbers * n_bytes, free_memory())


def size_text(n_bytes: int) -> str:
    """Return a size in words: "0.3 GB", "82 MB"."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.0f} MB"


def free_memory() -> int | None:
    """Return how many bytes of main memory this process may still take; None if that cannot be told."""
    if sys.platform == "win32":
        return _windows()
    found = [_meminfo(), _control_group()]
    known = [value for value in found if value is not None]
    if known:
        return min(known)
    try:  # macOS tells how much there is, not how much is free: an upper bound
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None


def _control_group() -> int | None:
    """What a container leaves."""
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text().strip()
    except OSError:
        return None
    return max(0, int(limit) - int(used)) if limit.isdecimal() and used.isdecimal() else None


def _windows() -> int | None:
    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("all", "free", "page", "page_free", "own", "own_free", "more")),
        )

    status = Status(length=ctypes.sizeof(Status))
    reached = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined,unused-ignore]
    return int(status.free) if reached else None
