"""The matrix: attention patterns, smoother matrices, token tables and d_model heat maps, all by the same rules."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from ..theme import Theme, current
from .control import fill
from .matrix_layout import Grid, MatrixData, layout
from .matrix_paint import paint_cells, paint_corner, paint_frames, paint_names
from .painted import STEPS, Painted
from .shading import levels_of, picture, pooled


class MatrixView(Painted):
    """Square cells with names or axes, a framed row and column, hover, and the arrow keys.

    Signals
    -------
    cellActivated(row, column) : a click, or Return on the cell of the selection.
    cursorMoved(row, column) : an arrow key asks for the next row or column.
    cellHovered(row, column) : the pointer is on another cell; (-1, -1) when it left.
    """

    cellActivated = Signal(int, int)
    cursorMoved = Signal(int, int)
    cellHovered = Signal(int, int)

    def __init__(self, parent: QWidget | None = None, *, name: str = "", label: str = "matrix") -> None:
        super().__init__(parent, name=name, label=label)
        fill(self)
        self._data: MatrixData | None = None
        self._image: QImage | None = None
        self._image_key: tuple[object, ...] | None = None
        self._hovered: tuple[int, int] | None = None

    # --- data ----------------------------------------------------------------------------------------------------

    @property
    def data(self) -> MatrixData | None:
        """What is shown."""
        return self._data

    def set_data(self, data: MatrixData | None) -> None:
        """Show a matrix; None shows nothing. A new selection on the same shade costs no new image."""
        old = self._data
        if old is None or data is None or data.shade is not old.shade or data.visible is not old.visible:
            self._image_key = None
        self._data = data
        if self._hovered and (data is None or not self._inside(*self._hovered)):
            self._set_hovered(None)
        self._describe()
        self.update()

    def _inside(self, row: int, column: int) -> bool:
        return self._data is not None and 0 <= row < self._data.n_rows and 0 <= column < self._data.n_columns

    def _describe(self) -> None:
        data = self._data
        if data is None:
            self.setAccessibleDescription("")
            return
        parts = [f"{data.n_rows} × {data.n_columns} cells"]
        for role, labels, index in (
            (data.row_role, data.row_labels, data.row),
            (data.column_role, data.column_labels, data.column),
        ):
            if index is not None:
                parts.append(f"{role} {labels[index] if index < len(labels) else index}")
        self.setAccessibleDescription(", ".join(parts))

    # --- geometry ------------------------------------------------------------------------------------------------

    def grid(self) -> Grid | None:
        """Return where the cells are now, None without data."""
        return None if self._data is None else layout(self._data, QSizeF(self.size()))

    def cell_center(self, row: int, column: int) -> QPointF:
        """Return the middle of a cell in the widget's coordinates."""
        grid = self.grid()
        return QPointF() if grid is None else grid.cell(row, column).center()

    def sizeHint(self) -> QSize:
        return QSize(400, 320)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 100)

    # --- painting ------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        data, grid = self._data, self.grid()
        if data is None or grid is None or not data.shade.size:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
        paint_cells(painter, grid, self._picture(grid), data.visible is not None)
        paint_corner(painter, data, grid)
        paint_names(painter, data, grid, self._hovered)
        paint_frames(painter, data, grid, self._hovered)
        self.paint_ring(painter, grid.rect.adjusted(-5, -5, 4, 4))
        painter.end()

    def _picture(self, grid: Grid) -> QImage:
        """Return the cells as an image of at most one pixel of the screen per cell, kept until something changes."""
        data, ratio = self._data, self.devicePixelRatioF()
        n_rows = int(min(grid.n_rows, max(1, round(grid.rect.height() * ratio))))
        n_columns = int(min(grid.n_columns, max(1, round(grid.rect.width() * ratio))))
        theme: Theme = current()
        key = (n_rows, n_columns, theme.name)
        if self._image is None or key != self._image_key:
            visible = data.visible
            shade = pooled(data.shade, n_rows, n_columns, data.diverging)
            if visible is not None:
                visible = pooled(visible, n_rows, n_columns)
            levels = levels_of(shade, data.diverging)
            self._image = picture(levels, diverging=data.diverging, visible=visible)
            self._image_key = key
        return self._image

    # --- pointer and keys ----------------------------------------------------------------------------------------

    def _cell_at(self, point: QPointF) -> tuple[int, int] | None:
        grid = self.grid()
        return None if grid is None else grid.at(point)

    def _set_hovered(self, cell: tuple[int, int] | None) -> None:
        if cell == self._hovered:
            return
        self._hovered = cell
        self.update()
        self.cellHovered.emit(*(cell or (-1, -1)))

    def cell_rect(self, row: int, column: int) -> QRectF:
        """Return the square of a cell in the widget's coordinates."""
        grid = self.grid()
        return QRectF() if grid is None else grid.cell(row, column)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._set_hovered(self._cell_at(event.position()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        cell = self._cell_at(event.position())
        if cell is not None and event.button() == Qt.MouseButton.LeftButton:
            self.cellActivated.emit(*cell)

    def leaveEvent(self, event: QEvent) -> None:
        self._set_hovered(None)
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        data = self._data
        if data is None:
            super().keyPressEvent(event)
            return
        row, column = data.row or 0, data.column or 0
        if event.key() in STEPS and event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        ):
            self.ringed = True
            down, right = STEPS[event.key()]
            moved = min(max(row + down, 0), data.n_rows - 1), min(max(column + right, 0), data.n_columns - 1)
            if moved != (row, column):
                self.cursorMoved.emit(*moved)
            event.accept()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.cellActivated.emit(row, column)
        else:
            super().keyPressEvent(event)
