"""Reading safetensors files that may be broken or hostile: everything is checked before anything is allocated.

A file is 8 bytes of length N, N bytes of JSON that name dtype, shape and byte range of each tensor, then the bytes.
Tensors are read by position with their exact length, never mapped: a file that shrinks under the reader gives an
error, not a bus error. Whatever is stored, float32 comes out.

References
----------
The safetensors format description, huggingface.co/docs/safetensors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from kav.errors import ModelError
from kav.model.files import WatchedFile, read_json
from kav.model.room import Room

MAX_HEADER = 100_000_000
MAX_TENSORS = 200_000
MAX_NAME = 512
MAX_DIMS = 8
READ = MappingProxyType({"F32": "<f4", "F16": "<f2", "BF16": "<u2"})
"""dtypes that are read, and what their bytes are read as; NumPy has no BF16, the upper half of a float32."""

PIECE = 1 << 20
"""Bytes that are read at a time: they are still in the cache when they become float32."""

SIZES = dict.fromkeys(("F32", "I32", "U32"), 4) | dict.fromkeys(("F16", "BF16", "I16", "U16"), 2)
SIZES |= dict.fromkeys(("F64", "I64", "U64"), 8) | dict.fromkeys(("BOOL", "U8", "I8"), 1)
"""Bytes per number of the dtypes that a file may hold; some files hold tables of masks or positions beside weights."""


@dataclass(frozen=True)
class Place:
    """Where one tensor lies: dtype name, shape, first byte in the file and number of bytes."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    n_bytes: int


class SafeFile:
    """One open safetensors file.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ModelError
        If the file breaks a rule of the format or a limit of this module.
    """

    def __init__(self, path: Path) -> None:
        self._file = WatchedFile(path)
        self.places: Mapping[str, Place] = self._read_header(self._file.size)

    def _read_header(self, size: int) -> dict[str, Place]:
        name = self._file.name
        if size < 10:
            raise ModelError(f"{name} must be a safetensors file, got {size} bytes")
        n_header = int.from_bytes(self._file.read(0, 8), "little")
        if n_header > min(MAX_HEADER, size - 8):
            limit = min(MAX_HEADER, size - 8)
            raise ModelError(f"header of {name} must have at most {limit:,} bytes, got {n_header:,}")
        raw = bytes(self._file.read(8, n_header))
        if raw[:1] != b"{":
            raise ModelError(f'header of {name} must begin with "{{", got {raw[:1]!r}', "is it a safetensors file?")
        header = read_json(raw, f"header of {name}")
        header.pop("__metadata__", None)
        if len(header) > MAX_TENSORS:
            raise ModelError(f"{name} must have at most {MAX_TENSORS:,} tensors, got {len(header):,}")
        found = {key: self._place(key, entry, 8 + n_header) for key, entry in header.items()}
        self._check_cover(found, 8 + n_header, size)
        return found

    def _place(self, name: str, entry: Any, offset: int) -> Place:
        what = f"tensor {name[:80]!r} of {self._file.name}"
        if len(name.encode("utf-8", "replace")) > MAX_NAME:
            raise ModelError(f"a tensor's name must have at most {MAX_NAME} bytes, got {len(name)} characters")
        if not isinstance(entry, dict):
            raise ModelError(f"{what} must be described by an object, got {type(entry).__name__}")
        dtype: Any = entry.get("dtype")
        shape: Any = entry.get("shape")
        span: Any = entry.get("data_offsets")
        if not isinstance(dtype, str) or dtype not in SIZES:
            raise ModelError(f"dtype of {what} must be one of {', '.join(READ)}, got {str(dtype)[:40]!r}")
        if not _whole(shape) or len(shape) > MAX_DIMS:
            raise ModelError(f"shape of {what} must be at most {MAX_DIMS} whole numbers, got {str(shape)[:80]}")
        if not _whole(span) or len(span) != 2:
            raise ModelError(f"data_offsets of {what} must be two whole numbers, got {str(span)[:80]}")
        n_bytes = math.prod(shape) * SIZES[dtype]
        if span[1] - span[0] != n_bytes:
            raise ModelError(f"{what} must have {n_bytes:,} bytes for its shape, got {span[1] - span[0]:,}")
        return Place(dtype, tuple(shape), offset + span[0], n_bytes)

    def _check_cover(self, places: dict[str, Place], start: int, size: int) -> None:
        """Tensors must lie side by side and fill the file."""
        at = start
        for place in sorted(places.values(), key=lambda place: (place.start, place.n_bytes)):
            if place.start != at:
                raise ModelError(
                    f"tensors of {self._file.name} must lie side by side, got a gap or overlap at byte {at:,}"
                )
            at += place.n_bytes
        if at != size:
            raise ModelError(f"tensors of {self._file.name} must fill its {size:,} bytes, got an end at {at:,}")

    def read(self, name: str, room: Room | None = None) -> np.ndarray:
        """Return one tensor as float32.

        Parameters
        ----------
        room : Room or None
            Where it goes; None = it stands alone.

        Raises
        ------
        ModelError
            If the file changed since it was opened.
        """
        place = self.places[name]
        if place.dtype not in READ:
            raise ModelError(f"dtype of tensor {name[:80]!r} must be one of {', '.join(READ)}, got {place.dtype!r}")
        found = np.empty(place.shape, np.float32) if room is None else room.empty(place.shape)
        flat, done = found.reshape(-1), 0
        for piece in self._file.pieces(place.start, place.n_bytes, PIECE):
            stored = np.frombuffer(piece, READ[place.dtype])
            part = flat[done : done + len(stored)]
            if place.dtype == "BF16":
                np.left_shift(stored, 16, out=part.view(np.uint32), dtype=np.uint32)
            else:
                part[...] = stored
            done += len(stored)
        return found


def _whole(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


class Folder:
    """All tensors of a model folder, from one file or from the shards that an index lists.

    Parameters
    ----------
    paths : sequence of Path
        The files to read.

    Raises
    ------
    ModelError
        If a file is broken, or two of them hold the same tensor.
    """

    def __init__(self, paths: list[Path]) -> None:
        self._files: dict[str, SafeFile] = {}
        for path in paths:
            file = SafeFile(path)
            for name in file.places:
                if name in self._files:
                    raise ModelError(f"a tensor must be in one file only, got {name[:80]!r} in two")
                self._files[name] = file
        places = (file.places[name] for name, file in self._files.items())
        self._room = Room(sum(math.prod(place.shape) for place in places if place.dtype in READ))

    @property
    def names(self) -> frozenset[str]:
        """Names of all tensors."""
        return frozenset(self._files)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor, without reading it."""
        return self._files[name].places[name].shape

    def read(self, name: str, *, kept: bool = True) -> np.ndarray:
        """Return a tensor as float32; see `SafeFile.read` and `kav.model.expected.Tensors`."""
        return self._files[name].read(name, self._room if kept else None)


def n_not_finite(array: np.ndarray) -> int:
    """Return how many numbers are NaN or infinite; a sum of squares tells five times as fast that there are none."""
    flat = array.ravel(order="K")
    with np.errstate(all="ignore"):
        if np.isfinite(flat @ flat):
            return 0
    return array.size - int(np.count_nonzero(np.isfinite(array)))
