"""The matrix: attention patterns, smoother matrices, token tables and d_model heat maps, all by the same rules."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget

from kav.model.tiles import Part

from ..painting import guarded
from ..theme import Theme, current
from .control import fill
from .matrix_layout import Grid, MatrixData, layout
from .matrix_paint import paint_cells, paint_corner, paint_frames, paint_names, paint_note
from .matrix_zoom import STEP, another, can_zoom, cell_at, inside, known, moved, note, showing, whole, within, zoomed
from .painted import STEPS, Painted
from .shading import levels_of, picture, pooled


class MatrixView(Painted):
    """Square cells with names or axes, a framed row and column, hover, and the arrow keys.

    A large matrix can be looked at closer: the wheel and the keys + and - zoom, dragging moves, 0 shows all again.

    Signals
    -------
    cellActivated(row, column) : a click, or Return on the cell of the selection.
    cursorMoved(row, column) : an arrow key asks for the next row or column.
    cellHovered(row, column) : the pointer is on another cell; (-1, -1) when it left.
    partChanged() : another part of the matrix is looked at.
    """

    cellActivated = Signal(int, int)
    cursorMoved = Signal(int, int)
    cellHovered = Signal(int, int)
    partChanged = Signal()

    def __init__(self, parent: QWidget | None = None, *, name: str = "", label: str = "matrix") -> None:
        super().__init__(parent, name=name, label=label)
        fill(self)
        self._data: MatrixData | None = None
        self._shown: MatrixData | None = None  # the part that is looked at, as a matrix of its own
        self._part: Part | None = None
        self._image: QImage | None = None
        self._image_key: tuple[object, ...] | None = None
        self._hovered: tuple[int, int] | None = None
        self._pressed: tuple[QPointF, Part] | None = None
        self._dragged = False

    # --- data ----------------------------------------------------------------------------------------------------

    @property
    def data(self) -> MatrixData | None:
        """What is shown."""
        return self._data

    @property
    def part(self) -> Part | None:
        """The part that is looked at, None = all of it."""
        return self._part

    def set_data(self, data: MatrixData | None) -> None:
        """Show a matrix; None shows nothing. A new selection on the same shade costs no new image."""
        old = self._data
        if old is None or data is None or data.shade is not old.shade or data.visible is not old.visible:
            self._image_key = None
        self._data = data
        part = self._part
        if part is not None and (data is None or not can_zoom(data) or another(old, data)):
            part = None
        elif part is not None and old is not None and (data.row, data.column) != (old.row, old.column):
            part = showing(part, data)
        if self._hovered and (data is None or not self._inside(*self._hovered)):
            self._set_hovered(None)
        self._look_at(part)

    def _look_at(self, part: Part | None) -> None:
        """Show a part of the data."""
        data, changed = self._data, part != self._part
        self._part = part
        self._shown = data
        if data is not None and can_zoom(data):
            self._shown = replace(within(data, part or whole(data)), noted=True)
        self._describe()
        self.update()
        if changed:
            self._image_key = None
            self.partChanged.emit()

    def zoom(self, factor: float, at: tuple[int, int] | None = None) -> None:
        """Show `factor` times as many rows and columns around a cell, by default the selected one."""
        data = self._data
        if data is None or not can_zoom(data):
            return
        part = self._part or whole(data)
        if at is None:
            middle = [(ends[0] + ends[1]) // 2 for ends in (part.rows, part.columns)]
            chosen = inside(data.row, part.rows) is not None and inside(data.column, part.columns) is not None
            at = (data.row, data.column) if chosen else (middle[0], middle[1])
        part = zoomed(part, data, factor, at)
        self._look_at(None if part == whole(data) else part)

    def show_all(self) -> None:
        """Show the whole matrix again."""
        self._look_at(None)

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
        if self._part is not None:
            parts.append(self.note())
        self.setAccessibleDescription(", ".join(parts))

    def note(self) -> str:
        """Return the line below a large matrix: what a point of it shows; "" for one that shows every cell at once."""
        data = self._data
        if data is None or not can_zoom(data):
            return ""
        return note(data, self._part or whole(data), QSizeF(self.size()), self.devicePixelRatioF())

    # --- geometry ------------------------------------------------------------------------------------------------

    def grid(self) -> Grid | None:
        """Return where the cells are now, None without data."""
        return None if self._shown is None else layout(self._shown, QSizeF(self.size()))

    def cell_center(self, row: int, column: int) -> QPointF:
        """Return the middle of a cell in the widget's coordinates."""
        return self.cell_rect(row, column).center()

    def cell_rect(self, row: int, column: int) -> QRectF:
        """Return the square of a cell in the widget's coordinates."""
        grid, (top, left) = self.grid(), self._corner()
        return QRectF() if grid is None else grid.cell(row - top, column - left)

    def _corner(self) -> tuple[int, int]:
        return (0, 0) if self._part is None else (self._part.rows[0], self._part.columns[0])

    def sizeHint(self) -> QSize:
        return QSize(400, 320)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 100)

    # --- painting ------------------------------------------------------------------------------------------------

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        data, grid = self._shown, self.grid()
        if data is None or grid is None or not data.shade.size:
            return
        painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
        rows, columns, place = known(data, grid)
        if not place.isEmpty():
            paint_cells(painter, grid, self._picture(rows, columns, place), place, hatched=data.visible is not None)
        hovered = self._hovered_here()
        paint_corner(painter, data, grid)
        paint_names(painter, data, grid, hovered)
        paint_frames(painter, data, grid, hovered)
        if data.noted:
            paint_note(painter, grid, self.note(), self.width())
        self.paint_ring(painter, grid.rect.adjusted(-5, -5, 4, 4))

    def _hovered_here(self) -> tuple[int, int] | None:
        """The cell under the pointer, counted from the corner of the part."""
        if self._hovered is None or self._part is None:
            return self._hovered
        row, column = inside(self._hovered[0], self._part.rows), inside(self._hovered[1], self._part.columns)
        return None if row is None or column is None else (row, column)

    def _picture(self, rows: slice, columns: slice, place: QRectF) -> QImage:
        """Return squares as an image of at most one pixel of the screen per square, kept until something changes."""
        data, ratio = self._data, self.devicePixelRatioF()
        most = [max(1, round(length * ratio)) for length in (place.height(), place.width())]
        n_rows, n_columns = (
            min(wanted.stop - wanted.start, n) for wanted, n in zip((rows, columns), most, strict=True)
        )
        theme: Theme = current()
        key = (n_rows, n_columns, rows.start, columns.start, theme.name)
        if self._image is None or key != self._image_key:
            visible = data.visible
            shade = pooled(data.shade[rows, columns], n_rows, n_columns, data.diverging)
            if visible is not None:
                visible = pooled(visible[rows, columns], n_rows, n_columns)
            levels = levels_of(shade, data.diverging)
            self._image = picture(levels, diverging=data.diverging, visible=visible)
            self._image_key = key
        return self._image

    # --- pointer and keys ----------------------------------------------------------------------------------------

    def _cell_at(self, point: QPointF) -> tuple[int, int] | None:
        """The cell that is drawn under a point."""
        grid, data = self.grid(), self._data
        if grid is None or data is None or grid.at(point) is None:
            return None
        top, left = self._corner()
        row, column = (point.y() - grid.y) / grid.pitch + top, (point.x() - grid.x) / grid.pitch + left
        return cell_at(data, grid, row, column)

    def _set_hovered(self, cell: tuple[int, int] | None) -> None:
        if cell == self._hovered:
            return
        self._hovered = cell
        self.update()
        self.cellHovered.emit(*(cell or (-1, -1)))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None or not event.buttons() & Qt.MouseButton.LeftButton:
            self._set_hovered(self._cell_at(event.position()))
            return
        (start, part), grid = self._pressed, self.grid()
        way = event.position() - start
        self._dragged = self._dragged or way.manhattanLength() >= QApplication.startDragDistance()
        if self._dragged:
            self._set_hovered(None)
            self._look_at(moved(part, self._data, -round(way.y() / grid.pitch), -round(way.x() / grid.pitch)))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if self._part is None:
            self._activate(event.position())
        else:  # a click selects, a drag moves: the release tells which it was
            self._pressed, self._dragged = (event.position(), self._part), False

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._pressed = self._pressed, None
        if pressed is not None and not self._dragged:
            self._activate(pressed[0])
        super().mouseReleaseEvent(event)

    def _activate(self, point: QPointF) -> None:
        cell = self._cell_at(point)
        if cell is not None:
            self.cellActivated.emit(*cell)

    def wheelEvent(self, event: QWheelEvent) -> None:
        grid, data = self.grid(), self._data
        turned = event.angleDelta().y() / 120
        at = None if grid is None else grid.at(event.position())
        if data is None or at is None or not turned or not can_zoom(data):
            event.ignore()
            return
        top, left = self._corner()
        self.zoom(STEP**turned, (at[0] + top, at[1] + left))
        self._set_hovered(self._cell_at(event.position()))

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
        elif event.key() in ZOOMS and can_zoom(data):
            factor = ZOOMS[event.key()]
            self._look_at(None) if factor is None else self.zoom(factor)
        else:
            super().keyPressEvent(event)


ZOOMS = {Qt.Key.Key_Plus: STEP, Qt.Key.Key_Equal: STEP, Qt.Key.Key_Minus: 1 / STEP, Qt.Key.Key_0: None}
