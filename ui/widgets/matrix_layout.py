"""Where everything in a matrix is: one function from the data and the room to a frozen layout.

Nothing here is kept between paints, so a matrix that grows gets larger type as soon as it has the room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QFontMetricsF

from kav.views.words import Label, Piece

from ..theme import font
from .painted import text_width
from .runs import label_runs, width_of
from .ticks import nice_ticks, tick_text

CROWDED = 13.5  # pitch below which names are small and columns become numbers
NAMED = 9.0  # pitch below which only the selected and the hovered name are written
GAPPED = 7.0  # pitch from which cells have a gap
LARGEST = 30.0
MANY = 64  # cells beyond which names are not written
NOTE = 24.0  # room of the line below a matrix that can be zoomed
SHORTEST, NAMES = 44.0, 0.2  # room of the names of a matrix too large for all of them: least, share of the width
LONGEST = 112.0  # width of the longest name
EDGE = 14.0  # text starts here
MARK = 13.0  # room of a mark beside a name
SLANT = math.sqrt(0.5)
QUERIES = Piece("query ↓", "query")
KEYS = Piece("key →", "key")


@dataclass(frozen=True)
class MatrixData:
    """What a matrix shows; rows and columns have names, or numeric axes, or neither.

    Parameters
    ----------
    shade : array
        In [0, 1], or in [-1, 1] if diverging; of every cell, or of squares of `size` x `size` cells.
    visible : array of bool, same shape, or None
        False = excluded, hatched.
    size : int
        Cells of a square along one side.
    corner : tuple of int
        Row and column of the first square's first cell.
    shape : tuple of int or None
        Rows and columns of the matrix, of which the squares may be a part; None = as the shade has.
    cells : two arrays of int, same shape as shade, or None
        Row and column of the cell that each square shows; None = every square is one cell.
    row, column : int or None
        The framed ones, in the roles row_role and column_role, which are also their marks.
    """

    shade: np.ndarray
    diverging: bool = False
    visible: np.ndarray | None = None
    row_labels: Sequence[Label] = ()
    column_labels: Sequence[Label] = ()
    row_axis: np.ndarray | None = None
    column_axis: np.ndarray | None = None
    row: int | None = None
    column: int | None = None
    row_role: str = "query"
    column_role: str = "key"
    row_title: Piece = QUERIES
    column_title: Piece = KEYS
    size: int = 1
    corner: tuple[int, int] = (0, 0)
    shape: tuple[int, int] | None = None
    cells: tuple[np.ndarray, np.ndarray] | None = None
    first: tuple[int, int] = (0, 0)  # numbers of the first row and column, where they have no names with positions
    noted: bool = False  # a line below says what a point shows

    @property
    def n_rows(self) -> int:
        return int((self.shape or self.shade.shape)[0])

    @property
    def n_columns(self) -> int:
        return int((self.shape or self.shade.shape)[1])

    @property
    def numeric(self) -> bool:
        """Whether rows and columns lie on axes of numbers."""
        return self.row_axis is not None or self.column_axis is not None


@dataclass(frozen=True)
class Grid:
    """The cells: pitch in pixels, the corner of the first, and how names are written.

    names : "all" (columns slanted), "rows" (columns are numbers), "few" (numbers only), "axes". Names that have no
        position, those of a vocabulary, get no number: it would be taken for one.
    """

    x: float
    y: float
    pitch: float
    n_rows: int
    n_columns: int
    names: str
    px: int

    @property
    def gapped(self) -> bool:
        return self.pitch >= GAPPED

    @property
    def rect(self) -> QRectF:
        return QRectF(self.x, self.y, self.pitch * self.n_columns, self.pitch * self.n_rows)

    def cell(self, row: int, column: int) -> QRectF:
        """Return the square of a cell, without its gap."""
        side = self.pitch - 1 if self.gapped else self.pitch
        return QRectF(self.x + column * self.pitch, self.y + row * self.pitch, side, side)

    def row_rect(self, row: int) -> QRectF:
        return self.cell(row, 0).united(self.cell(row, self.n_columns - 1))

    def column_rect(self, column: int) -> QRectF:
        return self.cell(0, column).united(self.cell(self.n_rows - 1, column))

    def at(self, point: QPointF) -> tuple[int, int] | None:
        """Return the (row, column) under a point, None outside."""
        if not self.rect.contains(point):
            return None
        row, column = int((point.y() - self.y) // self.pitch), int((point.x() - self.x) // self.pitch)
        return min(row, self.n_rows - 1), min(column, self.n_columns - 1)


def unplaced(labels: Sequence[Label]) -> bool:
    """Whether names are those of vocabulary entries, which have no position."""
    return bool(labels) and labels[0].position is None


def layout(data: MatrixData, size: QSizeF) -> Grid:
    """Return the largest square cells that leave room for the names, and how the names are written then."""
    if data.numeric:
        return _fitted(data, size, _axes_margins(data, size), "axes", 11)
    few = max(data.n_rows, data.n_columns) > MANY or not (data.row_labels and data.column_labels)
    if not few:
        grid = _fitted(data, size, _slanted_margins(data), "all", 11)
        if grid.pitch >= CROWDED:
            return grid
        grid = _fitted(data, size, _numbered_margins(data), "rows", 10)
        if grid.pitch >= NAMED:
            return grid
    return _fitted(data, size, _few_margins(data, size), "few", 10)


@dataclass(frozen=True)
class _Margins:
    left: float
    top: float
    right: float
    bottom: float


def _fitted(data: MatrixData, size: QSizeF, margins: _Margins, names: str, px: int) -> Grid:
    width = size.width() - margins.left - margins.right
    height = size.height() - margins.top - margins.bottom
    pitch = max(0.01, min(width / max(1, data.n_columns), height / max(1, data.n_rows), LARGEST))
    if pitch >= GAPPED:
        pitch = math.floor(pitch)
    return Grid(round(margins.left), round(margins.top), pitch, data.n_rows, data.n_columns, names, px)


def _corner(data: MatrixData) -> float:
    return EDGE + max(text_width(piece.text, 11, 600) for piece in (data.row_title, data.column_title)) + 8


def _widest(labels: Sequence[Label], px: int) -> float:
    return min(LONGEST, max((width_of(label_runs(label, px=px)) for label in labels), default=0.0))


def _left(data: MatrixData, px: int) -> float:
    return max(EDGE + MARK + _widest(data.row_labels, px) + 7, _corner(data))


def _slanted_margins(data: MatrixData) -> _Margins:
    widest = _widest(data.column_labels, 11)
    ascent = QFontMetricsF(font(11)).ascent()
    top = max((widest + ascent) * SLANT + 15, 42)
    last = width_of(label_runs(data.column_labels[-1], px=11)) if data.column_labels else 0
    return _Margins(_left(data, 11), top, max(EDGE, last * SLANT), 13)


def _numbered_margins(data: MatrixData) -> _Margins:
    return _Margins(_left(data, 10), 36, EDGE, 10)


def _few_margins(data: MatrixData, size: QSizeF) -> _Margins:
    if data.n_rows > MANY:  # which names will be written is not known, and the cells must not move with them
        widest = min(LONGEST, max(SHORTEST, NAMES * size.width()))
    else:
        widest = _widest(data.row_labels, 10) + 14
    named = EDGE + MARK + widest + 7 if data.row_labels else EDGE + 30
    return _Margins(max(named, _corner(data)), 36, EDGE, NOTE if data.noted else 10)


def _axes_margins(data: MatrixData, size: QSizeF) -> _Margins:
    widest = max((text_width(text, 11) for text, _ in axis_ticks(data.row_axis)), default=0.0)
    last = max((text_width(text, 11) for text, _ in axis_ticks(data.column_axis)[-1:]), default=0.0)
    # The same top as a matrix with slanted names, where there is room: switching the scene does not move the page.
    top = 66 if size.height() >= 300 else 40
    return _Margins(max(_corner(data), EDGE + widest + 8), top, max(EDGE + 10, last / 2), 12)


def axis_ticks(axis: np.ndarray | None) -> list[tuple[str, float]]:
    """Return the numbers along an ascending axis, each with its place in cells."""
    if axis is None or len(axis) < 2:
        return []
    low, high = float(axis[0]), float(axis[-1])
    slack = 0.03 * (high - low)
    ticks = nice_ticks(low - slack, high + slack, 5)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    return [(tick_text(tick, step), _place(axis, tick)) for tick in ticks]


def _place(axis: np.ndarray, value: float) -> float:
    """Return where on the cells (in cells) a value of an ascending axis lies."""
    n = len(axis)
    if value <= axis[0]:
        return 0.5
    if value >= axis[-1]:
        return n - 0.5
    return float(np.interp(value, axis, np.arange(n) + 0.5))
