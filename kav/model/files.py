"""Reading files of a model that may be broken, hostile or changed under the reader.

Every file is a regular one inside the chosen folder, is read by position with an exact length and never mapped (a
mapped file that shrinks kills the process), and is compared before each read with what it was when it was opened.
"""

from __future__ import annotations

import io
import json
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kav.errors import ModelError

MAX_DEPTH = 32
"""Deepest nesting of JSON that is read."""
MAX_CONTAINERS = 700_000
MAX_VALUES = 5_000_000
"""Each list takes fifty times the memory of the two letters that it is written with."""
CHANGED = "open the model again"


def read_json(raw: bytes, what: str) -> Any:
    """Return parsed JSON, refusing duplicate keys, numbers that are not finite or beyond 64 bits, and deep nesting.

    Raises
    ------
    ModelError
        If it is not such JSON.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key appears twice")
        return found

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is not a number")

    def whole(text: str) -> int:
        if len(text) > 21 or not -(1 << 63) <= int(text) < 1 << 64:
            raise ValueError(f"a whole number must fit in 64 bits, not {text[:40]}")
        return int(text)

    def real(text: str) -> float:
        if not math.isfinite(float(text)):
            raise ValueError(f"{text[:40]} is not a number that can be computed with")
        return float(text)

    if raw.count(b"[") + raw.count(b"{") > MAX_CONTAINERS or raw.count(b",") > MAX_VALUES:
        raise ModelError(f"{what} must have at most {MAX_CONTAINERS:,} lists and {MAX_VALUES:,} values, got more")
    try:
        found = json.loads(raw, object_pairs_hook=once, parse_constant=refuse, parse_int=whole, parse_float=real)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{what} must be JSON without duplicate keys, got: {str(error)[:200]}") from error
    level = [found]
    for _ in range(MAX_DEPTH):
        level = [item for outer in level for item in _items(outer) if isinstance(item, dict | list)]
        if not level:
            return found
    raise ModelError(f"{what} must be nested at most {MAX_DEPTH} deep, got more")


def _items(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


class WatchedFile:
    """A regular file that is refused as soon as it is not what it was when this object was made.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ModelError
        If it is no regular file or unreadable.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None
        file = self._open()
        os.close(file)

    @property
    def name(self) -> str:
        """The file's name without its folder, short enough to be shown."""
        return self.path.name[:80]

    @property
    def size(self) -> int:
        """Bytes it had when it was opened."""
        return 0 if self._stamp is None else self._stamp[0]

    def _open(self) -> int:
        # Without O_NONBLOCK a pipe put in the file's place would wait for a writer for ever.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        try:
            file = os.open(self.path, flags)
        except OSError as error:
            rule = "be readable" if self._stamp is None else "stay on disk"
            raise ModelError(f"{self.name} must {rule}, got: {error.strerror}", *self._hint()) from error
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                raise ModelError(f"{self.name} must be a file, got something else")
            stamp = (found.st_size, found.st_mtime_ns, found.st_ino)
            if self._stamp is not None and stamp != self._stamp:
                raise ModelError(f"{self.name} must stay as it was, got a file changed on disk", CHANGED)
            self._stamp = stamp
        except ModelError:
            os.close(file)
            raise
        return file

    def _hint(self) -> tuple[str, ...]:
        return () if self._stamp is None else (CHANGED,)

    def read(self, start: int, n_bytes: int) -> bytearray:
        """Return exactly n_bytes from start on.

        Raises
        ------
        ModelError
            If the file ends before, or is not what it was.
        """
        self._check_range(start, n_bytes)
        out = bytearray(n_bytes)
        for _ in self._fill(start, n_bytes, memoryview(out)):
            pass
        return out

    def pieces(self, start: int, n_bytes: int, most: int) -> Iterator[memoryview]:
        """Yield exactly n_bytes from start on, at most so many at a time, each piece in the place of the one before.

        What is taken from a piece while it is in the cache costs no memory of its own: a large tensor is read twice as
        fast so.

        Raises
        ------
        ModelError
            If the file ends before, or is not what it was.
        """
        self._check_range(start, n_bytes)
        return self._fill(start, n_bytes, memoryview(bytearray(min(most, n_bytes))))

    def _check_range(self, start: int, n_bytes: int) -> None:
        if start < 0 or n_bytes < 0 or start + n_bytes > self.size:
            raise ModelError(f"{self.name} must have {start + n_bytes:,} bytes, got {self.size:,}")

    def _fill(self, start: int, n_bytes: int, room: memoryview) -> Iterator[memoryview]:
        """Fill `room` again and again, until n_bytes are read."""
        try:
            with os.fdopen(self._open(), "rb", buffering=0) as stream:
                stream.seek(start)
                left = n_bytes
                while left:
                    wanted = room[: min(left, len(room))]
                    self._read_whole(stream, wanted)
                    left -= len(wanted)
                    yield wanted
        except OSError as error:
            raise ModelError(f"{self.name} must be readable, got: {error.strerror}") from error

    def _read_whole(self, stream: io.FileIO, wanted: memoryview) -> None:
        done = 0
        while done < len(wanted):
            got = stream.readinto(wanted[done:])
            if not got:
                raise ModelError(f"{self.name} must stay as it was, got a shorter file", CHANGED)
            done += got


def read_file(path: Path, limit: int) -> bytes:
    """Return a regular file's bytes.

    Raises
    ------
    ModelError
        If it is no regular file, larger than `limit` bytes, or unreadable.
    """
    file = WatchedFile(path)
    if file.size > limit:
        raise ModelError(f"{file.name} must be a file of at most {limit:,} bytes, got {file.size:,}")
    return bytes(file.read(0, file.size))


def contained(folder: Path, name: str) -> Path:
    """Return the file called `name` in a folder, refusing names and links that lead out of it.

    In the local Hugging Face cache a snapshot's files are links to the blobs of the same model; those are followed.

    Raises
    ------
    ModelError
        If it is not a plain name, or the file lies elsewhere.
    """
    plain = name == os.path.basename(name) and not any(sign in name for sign in "\\:\0")
    if not plain or name in ("", ".", ".."):
        raise ModelError(f"a file of a model must be named without a path, got {name[:120]!r}")
    path = folder / name
    try:
        inside, allowed = path.resolve().parent, [folder.resolve()]
        if allowed[0].parent.name == "snapshots" and allowed[0].parent.parent.name.startswith("models--"):
            allowed.append(allowed[0].parent.parent / "blobs")
    except (OSError, RuntimeError, ValueError) as error:  # a link that leads to itself, a name that is too long
        raise ModelError(f"{name[:80]!r} must be readable, got: {str(error)[:80]}") from error
    if inside not in allowed:
        what = f"{name[:80]} must lie inside the model's folder"
        raise ModelError(f"{what}, got a link that leads out", "copy the file there")
    return path
