"""Tables from files and from the clipboard: read, looked at, and turned into samples.

`read_text` and `read_file` return a `Table`: its columns with their kinds, its first rows, the dialect with which it
was read and what was noticed on the way; nothing is lost in silence. `samples_from` takes two of its columns. A row is
named by its number among the rows of values, from 1; blank lines are no rows.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kav.errors import KavError
from kav.regression.columns import Column, column_of, distinct
from kav.regression.dialect import Dialect, body, guess, rows
from kav.regression.samples import Samples
from kav.task import Task

MOST_BYTES = 256 * 2**20
ENCODINGS = ("utf-8", "utf-16", "cp1252")
_LONGEST_LINE = 100_000
_MOST_COLUMNS = 1_000
_PREVIEW = 20


@dataclass(frozen=True, eq=False)
class Table:
    """What was read.

    Parameters
    ----------
    name : str
        File name, or "pasted".
    dialect, guessed : Dialect
        How it was read, and how it seemed to be written.
    columns : tuple of Column
    n_rows : int
        Rows of values.
    first_rows : tuple of tuple of str
        The first of them, cell by cell, for a look.
    notes : tuple of str
        What was noticed: uneven rows, another encoding.
    encoding : str
        One of `ENCODINGS`, as the bytes were read; "" for a text.
    """

    name: str
    dialect: Dialect
    guessed: Dialect
    columns: tuple[Column, ...]
    n_rows: int
    first_rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    encoding: str = ""

    def suggested(self) -> tuple[int | None, int]:
        """Return the columns to begin with: the first two of numbers; x None (the row number) if there is only one.

        Raises
        ------
        KavError
            If no column holds numbers.
        """
        found = [at for at, column in enumerate(self.columns) if column.kind == "number"]
        if not found:
            raise KavError("a table must have a column of numbers, got none", "look at delimiter and decimal mark")
        return (found[0], found[1]) if len(found) > 1 else (None, found[0])


def read_file(
    path: str | Path, dialect: Dialect | None = None, *, encoding: str | None = None, task: Task | None = None
) -> Table:
    """Return the table in a text file.

    Parameters
    ----------
    path : str or Path
    dialect : Dialect or None
        None = guessed.
    encoding : str or None
        One of `ENCODINGS`; None = guessed.
    task : Task or None
        Asked between some thousand rows whether to go on.

    Raises
    ------
    KavError
        If the file cannot be read, is larger than 256 MB, is not text, or is no table.
    """
    file = Path(path)
    try:
        size = file.stat().st_size
        if size > MOST_BYTES:
            raise KavError(f"a table must be at most {MOST_BYTES >> 20} MB, got {size / 2**20:,.0f} MB: {file.name}")
        content = file.read_bytes()
    except OSError as error:
        raise KavError(f"cannot read {file}: {error.strerror}") from error
    text, found, notes = _decoded(content) if encoding is None else _decoded_as(content, encoding)
    return replace(read_text(text, dialect, name=file.name, notes=notes, task=task), encoding=found)


def _decoded_as(content: bytes, encoding: str) -> tuple[str, str, tuple[str, ...]]:
    """Text of a file in an encoding that somebody chose."""
    if encoding not in ENCODINGS:
        raise KavError(f"encoding must be one of {', '.join(ENCODINGS)}, got {encoding!r}")
    codec = "utf-8-sig" if encoding == "utf-8" else encoding
    try:
        return content.decode(codec, errors="replace" if encoding == "cp1252" else "strict"), encoding, ()
    except UnicodeDecodeError as error:
        where = f"got a byte that is not at position {error.start:,}"
        raise KavError(f"a table must be in the encoding chosen, {encoding}, {where}", "choose another one") from error


def _decoded(content: bytes) -> tuple[str, str, tuple[str, ...]]:
    """Text of a file: UTF-8, UTF-16 with its mark, else Western European, which is noted."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if content.startswith(mark):
            try:
                return content.decode(encoding), encoding, (f"read as {encoding.upper()}",)
            except UnicodeDecodeError as error:
                raise KavError(f"a table must be text, got broken {encoding.upper()} at byte {error.start}") from error
    try:
        return content.decode("utf-8-sig"), "utf-8", ()
    except UnicodeDecodeError as error:
        if b"\0" in content:
            _refuse_nul(content.index(b"\0"))
        note = f"no UTF-8 (byte {error.start}): read as Windows-1252"
        return content.decode("cp1252", errors="replace"), "cp1252", (note,)


def _refuse_nul(position: int) -> None:
    raise KavError(f"a table must be text, got a NUL character at position {position}", "is it a spreadsheet file?")


def read_text(
    text: str,
    dialect: Dialect | None = None,
    *,
    name: str = "pasted",
    notes: tuple[str, ...] = (),
    task: Task | None = None,
) -> Table:
    """Return the table in a text, as it is pasted or was read from a file.

    Raises
    ------
    KavError
        If it is empty, is not text, has lines beyond all measure, or a quoted cell that never ends.
    """
    if "\0" in text[:MOST_BYTES]:
        _refuse_nul(text.index("\0"))
    text = body(_with_line_ends(text.removeprefix("\ufeff")))
    if not text.strip():
        raise KavError("a table must have at least one row, got none")
    longest = max(map(len, text.split("\n")))
    if longest > _LONGEST_LINE:
        raise KavError(
            f"a table must have a line per row, got a line of {longest:,} characters", "is it one row too many in one?"
        )
    guessed = guess(text)
    chosen = guessed if dialect is None else dialect
    try:
        names, cells, uneven = _cells(text, chosen, task)
    except csv.Error as error:
        raise KavError(f"quoted cells must end, got {error}", "look at the quotes") from error
    if not cells or not cells[0]:
        raise KavError("a table must have at least one row of values, got only names")
    columns = tuple(column_of(name_, column, chosen) for name_, column in zip(names, cells, strict=True))
    n_rows = len(cells[0])
    first = tuple(tuple(column[row] for column in cells) for row in range(min(_PREVIEW, n_rows)))
    return Table(name, chosen, guessed, columns, n_rows, first, (*notes, *uneven))


def _with_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _cells(text: str, dialect: Dialect, task: Task | None) -> tuple[list[str], list[list[str]], tuple[str, ...]]:
    """Names, columns of cells, and what was noticed about the number of cells."""
    names: list[str] | None = None
    cells: list[list[str]] = []
    uneven: list[int] = []
    n_rows = 0
    for row in rows(io.StringIO(text, newline=""), dialect.delimiter):
        if names is None:
            _check_width(len(row))
            names = [cell.strip() for cell in row] if dialect.header else ["" for _ in row]
            cells = [[] for _ in row]
            if dialect.header:
                continue
        n_rows += 1
        while len(row) > len(cells) and any(cell.strip() for cell in row[len(cells) :]):  # more than so far
            _check_width(len(cells) + 1)
            cells.append([""] * (n_rows - 1))
            names.append("")
            uneven.append(n_rows)
        if len(row) < len(cells):
            uneven.append(n_rows)
        for at, column in enumerate(cells):
            column.append(row[at] if at < len(row) else "")
        if task is not None and n_rows % 20_000 == 0:
            task.report(0.5, f"{n_rows:,} rows")
    named = distinct(names or [])
    different = sorted(set(uneven))
    if not different:
        return named, cells, ()
    has = "has" if len(different) == 1 else "have"
    return named, cells, (f"{row_numbers(different)} {has} another number of cells",)


def _check_width(n_columns: int) -> None:
    if n_columns > _MOST_COLUMNS:
        raise KavError(f"a table must have at most {_MOST_COLUMNS:,} columns, got {n_columns:,}")


def samples_from(table: Table, x: int | None, y: int) -> Samples:
    """Return two columns of a table as samples; rows without two finite numbers are set aside, and named.

    Parameters
    ----------
    x : int or None
        Column of x; None = the row number.
    y : int
        Column of the response.

    Raises
    ------
    KavError
        If there is no such column, it does not hold numbers, or no row has two of them.
    """
    y_column = _numbers(table, y)
    x_values = np.arange(1.0, table.n_rows + 1) if x is None else _numbers(table, x).values
    names = ("row number" if x is None else table.columns[x].name, y_column.name)
    samples = Samples(x_values, y_column.values, table.name, axes=names)
    if samples.n == 0:
        raise KavError(
            f"a row must have two numbers, got none among {table.n_rows:,} rows", "look at delimiter and decimal mark"
        )
    return samples


def _numbers(table: Table, at: int) -> Column:
    if not 0 <= at < len(table.columns):
        raise KavError(f"column must be one of 0 to {len(table.columns) - 1}, got {at}")
    column = table.columns[at]
    if column.kind != "number":
        raise KavError(f"column {column.name!r} must hold numbers: {column.reason}", "choose another column")
    return column


def row_numbers(numbers: list[int] | tuple[int, ...], most: int = 6) -> str:
    """Return rows by number, `rows 2, 3 and 5`; of many the first few and how many more."""
    if len(numbers) == 1:
        return f"row {numbers[0]:,}"
    shown = [f"{one:,}" for one in numbers[:most]]
    if len(numbers) > most:
        return f"rows {', '.join(shown)} and {len(numbers) - most:,} more"
    return f"rows {', '.join(shown[:-1])} and {shown[-1]}"


def skipped_text(samples: Samples) -> str:
    """Return which rows were set aside, `3 of 5 rows skipped: rows 2, 3 and 5`; "" if none was."""
    skipped = samples.skipped
    if not skipped:
        return ""
    total = samples.n + len(skipped)
    return f"{len(skipped):,} of {total:,} rows skipped: {row_numbers([row + 1 for row in skipped])}"


def data_table(samples: Samples) -> Mapping[str, np.ndarray]:
    """Return the samples as columns for export; what is read back from it is the same."""
    return {"x": samples.x, "y": samples.y}
