"""Reading the head of a GGUF file: keys with values, then names and places of tensors, all checked.

Nothing is believed: every count, length and offset is compared with the limits below and with the bytes that are
left before anything is allocated. All arithmetic is Python's, which cannot wrap. Tensors are read one by one, by
position and exact length; see `kav.model.files.WatchedFile`.

References
----------
The GGUF format description, github.com/ggml-org/ggml, docs/gguf.md.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kav.errors import ModelError
from kav.model.files import WatchedFile
from kav.model.quant import Layout, decode, layout_of
from kav.model.room import Room

MAX_HEADER = 100_000_000
MAX_KEYS = 65_536
MAX_TENSORS = 200_000
MAX_KEY = 65_535
MAX_STRING = 64 << 20
MAX_ITEMS = 1 << 20
MAX_ALL_ITEMS = 1 << 21
"""Most array entries of a whole file: a vocabulary of 256,000 with its scores, types and merges has 1.3 million."""
MAX_ARRAYS = 4096
"""Most arrays in an array."""
MAX_NESTING = 4
MAX_NAME = 63
MAX_DIMS = 4
FIRST_READ = 1 << 18

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True)
class Place:
    """Where one tensor lies: its layout, its shape (rows last), first byte in the file and number of bytes."""

    layout: Layout
    shape: tuple[int, ...]
    start: int
    n_bytes: int


class _Cursor:
    """Reads a file's head front to back, never beyond its end, holding what was read so far."""

    def __init__(self, file: WatchedFile) -> None:
        self.file = file
        self.at = 0
        self.n_items = 0
        self._limit = min(file.size, MAX_HEADER)
        self._seen = file.read(0, min(FIRST_READ, self._limit))

    def need(self, n_bytes: int, what: str) -> bytearray:
        """The bytes read so far, with at least n_bytes after `at`."""
        if n_bytes > self._limit - self.at:
            room = "the file" if self._limit == self.file.size else f"its {MAX_HEADER:,} bytes of header"
            raise ModelError(f"{what} of {self.file.name} must end within {room}, got {n_bytes:,} bytes more")
        missing = self.at + n_bytes - len(self._seen)
        if missing > 0:
            more = min(max(missing, len(self._seen)), self._limit - len(self._seen))
            self._seen += self.file.read(len(self._seen), more)
        return self._seen

    def number(self, sign: str, what: str) -> Any:
        """One number in the given format of the struct module."""
        size = struct.calcsize("<" + sign)
        if sign == "?":
            found = self.need(1, what)[self.at]
            if found > 1:
                raise ModelError(f"{what} of {self.file.name} must be 0 or 1, got {found}")
            value: Any = bool(found)
        else:
            (value,) = struct.unpack_from("<" + sign, self.need(size, what), self.at)
        self.at += size
        return value

    def raw(self, limit: int, what: str) -> bytes:
        """A length and that many bytes."""
        size = self.number("Q", what)
        if size > limit:
            raise ModelError(f"{what} of {self.file.name} must have at most {limit:,} bytes, got {size:,}")
        seen = self.need(size, what)
        self.at += size
        return bytes(seen[self.at - size : self.at])

    def name(self, limit: int, what: str) -> str:
        """A string that is used as a name."""
        raw = self.raw(limit, what)
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise ModelError(f"{what} of {self.file.name} must be UTF-8, got {raw[:60]!r}") from error
        if not text:
            raise ModelError(f"{what} of {self.file.name} must not be empty, got none")
        return text

    def value(self, kind: int, what: str, depth: int = 0) -> Any:
        """One value of a type given by its number."""
        if kind == _STRING:
            return self.raw(MAX_STRING, what).decode("utf-8", "replace")
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind], what)
        if kind != _ARRAY:
            raise ModelError(f"type of {what} of {self.file.name} must be one of 0..12, got {kind}")
        if depth == MAX_NESTING:
            raise ModelError(f"{what} of {self.file.name} must be nested at most {MAX_NESTING} deep, got more")
        return self._array(what, depth)

    def _array(self, what: str, depth: int) -> Any:
        kind, n_items = self.number("I", what), self.number("Q", what)
        sign = _NUMBERS.get(kind)
        if sign is None and kind not in (_STRING, _ARRAY):
            raise ModelError(f"type of {what} of {self.file.name} must be one of 0..12, got {kind}")
        size = struct.calcsize("<" + sign) if sign else 8 if kind == _STRING else 12
        most = MAX_ARRAYS if kind == _ARRAY else MAX_ITEMS
        if n_items > most or self.n_items + n_items > MAX_ALL_ITEMS:
            raise ModelError(f"{what} of {self.file.name} must have at most {most:,} entries, got {n_items:,}")
        self.n_items += n_items
        seen = self.need(n_items * size, what)
        if sign:
            start, self.at = self.at, self.at + n_items * size
            return np.frombuffer(
                bytes(seen[start : self.at]), "<u1" if sign == "?" else np.dtype(sign).newbyteorder("<")
            )
        if kind == _STRING:
            return self._strings(n_items, what)
        return [self.value(kind, what, depth + 1) for _ in range(n_items)]

    def _strings(self, n_items: int, what: str) -> list[str]:
        """What `value` does for each of many strings, written out: vocabularies have 10^5 of them."""
        found, unpack, at = [], struct.Struct("<Q").unpack_from, self.at
        seen = self.need(0, what)
        n_seen = len(seen)
        for _ in range(n_items):
            start = at + 8
            if start > n_seen:
                self.at = at
                seen = self.need(8, what)
                n_seen = len(seen)
            (size,) = unpack(seen, at)
            if size > MAX_STRING:
                raise ModelError(f"{what} of {self.file.name} must have at most {MAX_STRING:,} bytes, got {size:,}")
            end = start + size
            if end > n_seen:
                self.at = at
                seen = self.need(8 + size, what)
                n_seen = len(seen)
            found.append(seen[start:end].decode("utf-8", "replace"))
            at = end
        self.at = at
        return found


class GgufFile:
    """One GGUF file: `values` by key, and `places` of tensors by name.

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
        self.name = path.name
        cursor = _Cursor(self._file)
        n_tensors, n_keys = self._counts(cursor)
        self.values: Mapping[str, Any] = self._read_values(cursor, n_keys)
        self.places: Mapping[str, Place] = self._read_places(cursor, n_tensors)
        self._room = Room(sum(math.prod(place.shape) for place in self.places.values()))

    def _counts(self, cursor: _Cursor) -> tuple[int, int]:
        if self._file.size < 24 or bytes(cursor.need(24, "header")[:4]) != b"GGUF":
            raise ModelError(f'{self.name} must begin with "GGUF", got another file', "is the download complete?")
        cursor.at = 4
        version = cursor.number("I", "version")
        if version not in (2, 3):
            hint = "it was written for machines with the other byte order" if version in (2 << 24, 3 << 24) else ""
            raise ModelError(f"version of {self.name} must be 2 or 3, got {version}", hint)
        n_tensors, n_keys = cursor.number("Q", "tensor count"), cursor.number("Q", "key count")
        if n_tensors > MAX_TENSORS:
            raise ModelError(f"{self.name} must have at most {MAX_TENSORS:,} tensors, got {n_tensors:,}")
        if n_keys > MAX_KEYS:
            raise ModelError(f"{self.name} must have at most {MAX_KEYS:,} keys, got {n_keys:,}")
        return n_tensors, n_keys

    def _read_values(self, cursor: _Cursor, n_keys: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for _ in range(n_keys):
            key = cursor.name(MAX_KEY, "a key")
            if key in found:
                raise ModelError(f"a key of {self.name} must appear once, got {key[:80]!r} twice")
            found[key] = cursor.value(cursor.number("I", "a type"), f"value of {key[:80]!r}")
        return found

    def _alignment(self) -> int:
        found = self.values.get("general.alignment", 32)
        if type(found) is not int or not 1 <= found <= 65_536 or found & (found - 1):
            raise ModelError(f"alignment of {self.name} must be a power of two in 1..65536, got {str(found)[:40]}")
        return found

    def _read_places(self, cursor: _Cursor, n_tensors: int) -> dict[str, Place]:
        alignment = self._alignment()
        found = dict[str, Place]()
        for _ in range(n_tensors):
            name = cursor.name(MAX_NAME, "a tensor's name")
            if name in found:
                raise ModelError(f"a tensor of {self.name} must appear once, got {name!r} twice")
            found[name] = self._place(cursor, name, alignment)
        start = -(-cursor.at // alignment) * alignment
        at, moved = start, dict[str, Place]()
        for name, place in sorted(found.items(), key=lambda item: item[1].start):
            first = start + place.start
            if first < at:
                raise ModelError(f"tensors of {self.name} must not overlap, got {name!r} inside another")
            at = first + place.n_bytes
            if at > self._file.size:
                raise ModelError(
                    f"tensor {name!r} must end within {self.name}, got an end at byte {at:,}",
                    "is the download complete?",
                )
            moved[name] = Place(place.layout, place.shape, first, place.n_bytes)
        return moved

    def _place(self, cursor: _Cursor, name: str, alignment: int) -> Place:
        what = f"tensor {name!r}"
        n_dims = cursor.number("I", what)
        if not 1 <= n_dims <= MAX_DIMS:
            raise ModelError(f"{what} of {self.name} must have 1..{MAX_DIMS} dimensions, got {n_dims:,}")
        sizes = [cursor.number("Q", what) for _ in range(n_dims)]
        if not all(sizes):
            raise ModelError(f"dimensions of {what} of {self.name} must be > 0, got {sizes}")
        layout = layout_of(cursor.number("I", what), f"{what} of {self.name}")
        offset = cursor.number("Q", what)
        if sizes[0] % layout.n_numbers:
            raise ModelError(f"rows of {what} must be whole blocks of {layout.n_numbers}, got {sizes[0]:,} numbers")
        if offset % alignment:
            raise ModelError(f"offset of {what} must be a multiple of {alignment}, got {offset:,}")
        n_bytes = math.prod(sizes) // layout.n_numbers * layout.n_bytes
        return Place(layout, tuple(reversed(sizes)), offset, n_bytes)

    def read(self, name: str, turn: Callable[[np.ndarray], np.ndarray] | None = None) -> np.ndarray:
        """Return one tensor as float32.

        Parameters
        ----------
        name : str
        turn : callable or None
            Takes and returns the rows of a matrix, any of them in any order; rows are whole blocks, so that it is
            given the bytes of each, (n_rows, n_bytes). None = in the shape of its place.

        Raises
        ------
        ModelError
            If the file changed since it was opened.
        """
        place = self.places[name]
        raw: bytearray | np.ndarray = self._file.read(place.start, place.n_bytes)
        shape = place.shape
        if turn is not None and len(shape) > 1:
            rows = turn(np.frombuffer(raw, np.uint8).reshape(shape[0], -1))
            raw, shape = np.ascontiguousarray(rows), (len(rows), *shape[1:])
        out = self._room.empty(shape)
        decode(raw, place.layout, out)
        return out if turn is None or len(shape) > 1 else turn(out)  # numbers of a vector may share a block
