"""A panel's numbers as a file: CSV, NPZ or JSON, written whole or not at all.

A table is a dict of name -> array, tuple of str, or number. ``"axes"``, if present, names the two entries that label
the rows and columns of every matrix in it, e.g. ``("query", "key")``; a CSV then has one line per cell.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kav.errors import KavError

DATA_SUFFIXES = (".csv", ".npz", ".json")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run a cell that begins like this


def write_table(table: Mapping[str, Any], path: str) -> None:
    """Write `table` to `path` in the format its suffix names; an existing file is replaced only by a whole new one.

    An existing file keeps its mode; a link stays, and the file it points to is written.

    Raises
    ------
    KavError
        If the file cannot be written.
    """
    encode = {".csv": _csv, ".npz": _npz, ".json": _json}[Path(path).suffix.lower()]
    _replace(path, encode(table))


def own_names(axes: tuple[str, str], others: Iterable[str]) -> tuple[str, str]:
    """Return what the columns of x and y are called in a table: as in the data, `axes`, told from all `others`."""
    taken, found = {"axes", *others}, []
    for own, axis in zip(axes, ("x", "y"), strict=True):
        name = own if own and own not in taken else f"{own} ({axis})".lstrip()
        while name in taken:
            name += "'"
        taken.add(name)
        found.append(name)
    return found[0], found[1]


def _npz(table: Mapping[str, Any]) -> bytes:
    """The archive that `np.savez_compressed` writes, which takes no column called "file"."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in table.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asarray(value), allow_pickle=False)
    return buffer.getvalue()


def _json(table: Mapping[str, Any]) -> bytes:
    plain = {name: _plain(np.asarray(value).tolist()) for name, value in table.items()}
    return json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n"


def _plain(value: Any) -> Any:
    """Lists of what JSON knows: numbers that are not finite become null, complex ones pairs."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def _csv(table: Mapping[str, Any]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    axes = table.get("axes")
    names, rows = _columns(table) if axes is None else _cells(table, tuple(axes))
    writer.writerow([_cell(name) for name in names])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue().encode("utf-8-sig")  # the mark lets spreadsheets read the tokens as UTF-8


def _columns(table: Mapping[str, Any]) -> tuple[list[str], Iterable[tuple[Any, ...]]]:
    columns = {name: np.atleast_1d(np.asarray(value, dtype=object)).ravel() for name, value in table.items()}
    return list(columns), itertools.zip_longest(*columns.values(), fillvalue="")


def _cells(table: Mapping[str, Any], axes: tuple[str, ...]) -> tuple[list[str], Iterable[tuple[Any, ...]]]:
    row_names, column_names = (list(table[axis]) for axis in axes)
    matrices = {name: np.asarray(value) for name, value in table.items() if np.ndim(value) == 2}
    rows = (
        (row, column, *(matrix[i, j] for matrix in matrices.values()))
        for i, row in enumerate(row_names)
        for j, column in enumerate(column_names)
    )
    return [*axes, *matrices], rows


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return "'" + value
    return value


def _replace(path: str, content: bytes) -> None:
    try:
        target = Path(os.path.realpath(path))
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o644)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise KavError(f"cannot write {path}: {error.strerror}", "choose another place") from error
