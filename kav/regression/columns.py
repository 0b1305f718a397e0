"""One column of a table: its numbers, and what else is in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kav.regression.dialect import Dialect, number

_MOST_TEXT = 0.5


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str
    kind : str
        "number", "text" (more than half of its cells are) or "empty".
    reason : str
        Why it cannot be an axis, in words; "" for numbers.
    values : array, shape (n_rows,)
        NaN where a cell is missing or text.
    n_missing, n_text : int
        Cells without a value, and cells that hold text.
    example : str
        The first text in it, with its row, or "".
    """

    name: str
    kind: str
    reason: str
    values: np.ndarray
    n_missing: int
    n_text: int
    example: str


def distinct(names: list[str]) -> list[str]:
    """Return names for all columns, no two alike."""
    found: list[str] = []
    for at, name in enumerate(names):
        wanted = name or f"column {at + 1}"
        count = 2
        while wanted in found:
            wanted = f"{name or f'column {at + 1}'} ({count})"
            count += 1
        found.append(wanted)
    return found


def column_of(name: str, cells: list[str], dialect: Dialect) -> Column:
    """Return a column from its cells."""
    values = np.full(len(cells), math.nan)
    n_missing, texts = 0, []
    for at, cell in enumerate(cells):
        value = number(cell, dialect.decimal)
        if value is None:
            texts.append(at)
        elif math.isnan(value):
            n_missing += 1
        else:
            values[at] = value
    n_filled = len(cells) - n_missing
    example = f"{cells[texts[0]].strip()[:40]!r} in row {texts[0] + 1}" if texts else ""
    if n_filled == 0:
        return Column(name, "empty", "it has no values", values, n_missing, 0, "")
    if len(texts) > _MOST_TEXT * n_filled:
        return Column(name, "text", f"it holds text: {example}", values, n_missing, len(texts), example)
    return Column(name, "number", "", values, n_missing, len(texts), example)
