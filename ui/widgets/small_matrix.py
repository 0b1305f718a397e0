"""A matrix small enough to read: a number in every cell, in ink that contrasts with the cell's colour."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from kav.views.words import number

from ..painting import guarded
from ..theme import current, diverging_lut, ink_on
from .painted import text_width, write
from .shading import levels_of

CELL_WIDTH, CELL_HEIGHT, LOW, GAP, TITLE, NAMES = 60, 32, 19, 2, 22, 18


class SmallMatrix(QWidget):
    """Numbers in cells coloured by the signed scale, names of rows left and of columns on top."""

    def __init__(self, parent: QWidget | None = None, *, name: str = "") -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._values = np.zeros((0, 0))
        self._level = 1.0
        self._cell_height, self._top = CELL_HEIGHT, TITLE
        self._title = ""
        self._rows: tuple[str, ...] = ()
        self._columns: tuple[str, ...] = ()
        self._roles = ("query", "key")

    @property
    def values(self) -> np.ndarray:
        """The numbers, shape (n_rows, n_columns)."""
        return self._values

    def set_values(
        self,
        values: np.ndarray,
        rows: tuple[str, ...],
        columns: tuple[str, ...],
        *,
        title: str = "",
        level: float = 1.0,
        roles: tuple[str, str] = ("query", "key"),
    ) -> None:
        """Show numbers with names; colours run from -level to level, names are in the colours of the roles."""
        self._values, self._level, self._title = np.asarray(values), level, title
        self._rows, self._columns, self._roles = rows, columns, roles
        self.setAccessibleName(title)
        lines = (" ".join(number(float(value)) for value in row) for row in self._values)
        self.setAccessibleDescription("; ".join(lines))
        self.updateGeometry()
        self.update()

    def set_low(self, low: bool, *, titled: bool = True) -> None:
        """Make the cells low, or as high as usual; without a title where even that is too high."""
        self._cell_height = LOW if low else CELL_HEIGHT
        self._top = TITLE if titled else 0
        self.updateGeometry()
        self.update()

    @staticmethod
    def height_of(n_rows: int, *, low: bool, titled: bool = True) -> int:
        """Return the height of a matrix of so many rows."""
        return (TITLE if titled else 0) + NAMES + n_rows * ((LOW if low else CELL_HEIGHT) + GAP)

    def _left(self) -> float:
        return max((text_width(name, 11, 500) for name in self._rows), default=0.0) + 14

    def cell_rect(self, row: int, column: int) -> QRectF:
        """Return where a cell is."""
        x = round(self._left()) + column * (CELL_WIDTH + GAP)
        return QRectF(x, self._top + NAMES + row * (self._cell_height + GAP), CELL_WIDTH, self._cell_height)

    def sizeHint(self) -> QSize:
        n_rows, n_columns = self._values.shape
        if not n_rows:
            return QSize(0, 0)
        last = self.cell_rect(n_rows - 1, n_columns - 1)
        return QSize(
            max(round(last.right()) + 2, round(text_width(self._title, 12, 600)) + 4), round(last.bottom()) + 2
        )

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._top:
            write(painter, QRectF(2, 0, self.width(), TITLE - 2), self._title, px=12, weight=600, color="ink")
        levels = levels_of(self._values / (self._level or 1.0), True)
        for row, name in enumerate(self._rows):
            place = self.cell_rect(row, 0)
            left = QRectF(0, place.top(), place.left() - 8, place.height())
            write(painter, left, name, px=11, weight=500, color=self._roles[0] or "text2", side="right")
        for column, name in enumerate(self._columns):
            place = self.cell_rect(0, column)
            above = QRectF(place.left(), self._top, place.width(), NAMES - 2)
            write(painter, above, name, px=11, weight=500, color=self._roles[1] or "text2", side="centre")
        table = diverging_lut()
        for (row, column), value in np.ndenumerate(self._values):
            self._paint_cell(
                painter, self.cell_rect(row, column), float(value), QColor(*table[levels[row, column]].tolist())
            )

    def _paint_cell(self, painter: QPainter, place: QRectF, value: float, fill: QColor) -> None:
        theme = current()
        painter.setPen(QPen(QColor(theme.border), 1) if value == 0 else Qt.PenStyle.NoPen)
        painter.setBrush(QBrush(fill))
        painter.drawRoundedRect(place.adjusted(0.5, 0.5, -0.5, -0.5) if value == 0 else place, 3, 3)
        color = "text2" if value == 0 else ink_on(fill).name()
        write(painter, place, number(value), px=12, weight=400 if value == 0 else 600, color=color, side="centre")
