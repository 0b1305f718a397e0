"""Looking at a part of a large matrix: which part, what is known of it, and the line that says so.

A part is shown as if the matrix had no other rows and columns, so that names, numbers and frames keep their rules.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from PySide6.QtCore import QRectF, QSizeF

from kav.model.tiles import Part

from .matrix_layout import MANY, Grid, MatrixData, layout

LEAST = 12  # rows and columns of the smallest part
TYPED = 8  # rows by which a matrix may grow and still be the same one
STEP = 0.7  # how much a turn of the wheel leaves of a part


def whole(data: MatrixData) -> Part:
    """Return the part that is all of a matrix."""
    return Part((0, data.n_rows), (0, data.n_columns))


def can_zoom(data: MatrixData) -> bool:
    """Return whether a matrix is too large for the names of its cells, so that looking closer says more."""
    return not data.numeric and min(data.n_rows, data.n_columns) > LEAST and max(data.n_rows, data.n_columns) > MANY


def within(data: MatrixData, part: Part) -> MatrixData:
    """Return a part of a matrix as a matrix of its own; what is selected elsewhere is not selected in it."""
    (top, bottom), (left, right) = part.rows, part.columns
    return replace(
        data,
        shape=part.shape,
        first=(data.first[0] + top, data.first[1] + left),
        corner=(data.corner[0] - top, data.corner[1] - left),
        row_labels=data.row_labels[top:bottom],
        column_labels=data.column_labels[left:right],
        row=inside(data.row, part.rows),
        column=inside(data.column, part.columns),
    )


def inside(index: int | None, ends: tuple[int, int]) -> int | None:
    """Return an index counted from the beginning of a range, None outside it."""
    return index - ends[0] if index is not None and ends[0] <= index < ends[1] else None


def zoomed(part: Part, data: MatrixData, factor: float, at: tuple[int, int]) -> Part:
    """Return the part `factor` times as large around a cell, which stays where it is as far as the ends allow."""
    ends = zip((part.rows, part.columns), (data.n_rows, data.n_columns), at, strict=True)
    return Part(*(_scaled(old, n, factor, place) for old, n, place in ends))


def _scaled(old: tuple[int, int], n: int, factor: float, place: int) -> tuple[int, int]:
    length = old[1] - old[0]
    wanted = math.ceil(length * factor) if factor > 1 else math.floor(length * factor)
    new = min(max(wanted, min(LEAST, n)), n)
    start = round(place + 0.5 - (place + 0.5 - old[0]) * new / length)
    return _clamped(start, new, n)


def _clamped(start: int, length: int, n: int) -> tuple[int, int]:
    start = min(max(start, 0), n - length)
    return start, start + length


def moved(part: Part, data: MatrixData, down: int, right: int) -> Part:
    """Return a part of the same size elsewhere, as far as the ends allow."""
    steps = zip((part.rows, part.columns), (data.n_rows, data.n_columns), (down, right), strict=True)
    return Part(*(_clamped(old[0] + step, old[1] - old[0], n) for old, n, step in steps))


def showing(part: Part, data: MatrixData) -> Part:
    """Return the part moved by as little as shows the selected cell."""
    pairs = ((data.row, part.rows), (data.column, part.columns))
    steps = [0 if at is None else min(at - ends[0], 0) + max(at + 1 - ends[1], 0) for at, ends in pairs]
    return moved(part, data, *steps)


def known(data: MatrixData, grid: Grid) -> tuple[slice, slice, QRectF]:
    """Return which squares of the shade meet the grid, as ranges of its rows and columns, and where all of them lie."""
    ranges, places = [], []
    for n, corner, n_squares in zip((grid.n_rows, grid.n_columns), data.corner, data.shade.shape, strict=True):
        first = max(0, -corner // data.size)
        stop = max(first, min(n_squares, -((corner - n) // data.size)))
        ranges.append(slice(first, stop))
        places.append((corner + first * data.size, (stop - first) * data.size))
    (top, height), (left, width) = places
    pitch = grid.pitch
    return *ranges, QRectF(grid.x + left * pitch, grid.y + top * pitch, width * pitch, height * pitch)


def cell_at(data: MatrixData, grid: Grid, row: float, column: float) -> tuple[int, int] | None:
    """Return the real cell that is drawn at a place, in cells of the grid; None where nothing is known.

    Where one point of the screen covers several squares, it shows the strongest of them.
    """
    ranges = []
    for at, corner, n in zip((row, column), data.corner, data.shade.shape, strict=True):
        first = math.floor((at - corner) / data.size)
        stop = max(first + 1, math.floor((at + 1 / grid.pitch - corner) / data.size)) if grid.pitch < 1 else first + 1
        if not 0 <= first < n:
            return None
        ranges.append(slice(first, min(stop, n)))
    there = np.abs(data.shade[ranges[0], ranges[1]])
    down, across = np.unravel_index(int(np.argmax(there)), there.shape)
    i, j = ranges[0].start + int(down), ranges[1].start + int(across)
    if data.cells is None:
        return i + data.corner[0], j + data.corner[1]
    return int(data.cells[0][i, j]), int(data.cells[1][i, j])


def note(data: MatrixData, part: Part, size: QSizeF, ratio: float) -> str:
    """Return in words what a point of a large matrix shows, which part of it is seen, and how to see more."""
    grid = layout(within(data, part), size)
    n_pooled = max(data.size, math.ceil(1 / (grid.pitch * ratio) - 0.01))
    found = []
    if n_pooled > 1:
        word = "strongest" if data.diverging else "largest"
        found.append(f"a point: {word} of {n_pooled} × {n_pooled} cells")
    if part == whole(data):
        found.append("wheel zooms in")
    else:
        found.insert(
            0, f"rows {part.rows[0]:,}–{part.rows[1] - 1:,}, columns {part.columns[0]:,}–{part.columns[1] - 1:,}"
        )
        found.append("key 0 shows all")
    return " · ".join(found)


def another(old: MatrixData | None, data: MatrixData) -> bool:
    """Return whether a matrix is about something else; a letter typed at the end of a prompt is not."""
    return old is None or abs(old.n_rows - data.n_rows) > TYPED or abs(old.n_columns - data.n_columns) > TYPED
