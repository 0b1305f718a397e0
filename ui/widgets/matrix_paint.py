"""How a matrix is painted: hatching, cells as one image, names, numbers, and the frames of what is selected."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from kav.views.words import Label, Piece

from ..marks import paint_mark
from ..painting import saved
from ..theme import current
from .matrix_layout import EDGE, LONGEST, MARK, SLANT, Grid, MatrixData, axis_ticks, unplaced
from .painted import elided, text_width, write
from .runs import Runs, fitted, label_runs, paint_line, width_of
from .shading import draw_pixels

HATCH = 7  # period in px


def paint_cells(painter: QPainter, grid: Grid, image: QImage, place: QRectF, *, hatched: bool) -> None:
    """Paint the cells; excluded ones are transparent in the image and show the hatching below.

    Parameters
    ----------
    place : QRectF
        Where the whole image lies; what is outside the grid is not painted.
    """
    theme, rect = current(), grid.rect
    seen = place.intersected(rect)
    across, down = image.width() / place.width(), image.height() / place.height()
    part = QRectF(seen.translated(-place.topLeft()))
    part = QRectF(part.x() * across, part.y() * down, part.width() * across, part.height() * down)
    with saved(painter):
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if hatched:
            paint_hatching(painter, seen)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        draw_pixels(painter, seen, image, part)
        if grid.gapped:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.grid))
            for column in range(grid.n_columns + 1):
                painter.drawRect(QRectF(grid.x + column * grid.pitch - 1, grid.y - 1, 1, rect.height() + 1))
            for row in range(grid.n_rows + 1):
                painter.drawRect(QRectF(grid.x - 1, grid.y + row * grid.pitch - 1, rect.width() + 1, 1))


def paint_hatching(painter: QPainter, rect: QRectF) -> None:
    """Fill a rectangle as excluded: sunk, with lines at 45 degrees."""
    theme = current()
    with saved(painter):
        painter.fillRect(rect, QColor(theme.sunk))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.hatch), 1, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
        start = rect.left()
        while start < rect.right() + rect.height():
            # Each line is cut at the sides rather than clipped: a vector file has no clips.
            over, under = max(0.0, start - rect.right()), max(0.0, rect.left() - (start - rect.height()))
            upper = QPointF(start - over, rect.top() + over)
            painter.drawLine(upper, QPointF(start - rect.height() + under, rect.bottom() - under))
            start += HATCH


def paint_note(painter: QPainter, grid: Grid, text: str, width: float) -> None:
    """Write the line below the cells."""
    room = width - EDGE - 8
    shown = elided(text, room, 10)
    left = max(EDGE, min(grid.x, width - 8 - text_width(shown, 10)))
    write(painter, QRectF(left, grid.rect.bottom() + 5, room, 14), shown, px=10, color="muted")


def paint_corner(painter: QPainter, data: MatrixData, grid: Grid) -> None:
    """Write what columns and rows are, in the corner between their names."""
    for piece, dy in ((data.column_title, 23), (data.row_title, 9)):
        rect = QRectF(0, grid.y - dy - 8, grid.x - 8, 16)
        color = title_color(piece)
        write(painter, rect, piece.text, px=11, weight=600 if piece.role else 400, color=color, side="right")


def paint_names(painter: QPainter, data: MatrixData, grid: Grid, hovered: tuple[int, int] | None) -> None:
    """Write the names of rows and columns as the layout says."""
    if grid.names == "axes":
        _paint_axes(painter, data, grid)
        return
    rows = {data.row} | ({hovered[0]} if hovered else set())
    if grid.names != "few":
        rows = set(range(grid.n_rows))
    _paint_row_numbers(painter, data, grid, rows)
    for row in sorted(row for row in rows if row is not None):
        _paint_row_name(painter, data, grid, row)
    if grid.names == "all":
        for column, label in enumerate(data.column_labels):
            _paint_slanted(painter, data, grid, column, label)
    else:
        _paint_column_numbers(painter, data, grid, hovered)


def _name(label: Label, px: int, chosen: bool) -> Runs:
    return label_runs(label, px=px, weight=600 if chosen else 400, color=current().ink if chosen else "")


def _paint_row_name(painter: QPainter, data: MatrixData, grid: Grid, row: int) -> None:
    chosen, right, y = row == data.row, grid.x - 7, grid.cell(row, 0).center().y()
    if data.row_labels:
        label = data.row_labels[row]
        room = min(LONGEST, right - MARK - 2) if grid.names == "few" else LONGEST
        name = fitted(_name(label, grid.px, chosen), room)
        width = width_of(name)
        paint_line(painter, name, right - width, y + 0.36 * grid.px)
    else:
        number = str(row + data.first[0])
        width = text_width(number, grid.px, 600 if chosen else 400)
        rect = QRectF(right - width, y - 8, width, 16)
        write(painter, rect, number, px=grid.px, weight=600 if chosen else 400, color="ink" if chosen else "text2")
    if chosen and data.row_role:
        paint_mark(painter, data.row_role, right - width - 9, y, 4.5 if grid.px > 10 else 4)


def _paint_row_numbers(painter: QPainter, data: MatrixData, grid: Grid, named: set[int | None]) -> None:
    """Number the rows between those that are named; names without a position stand there themselves."""
    if grid.names != "few":
        return
    stride, first = _stride(grid, 14), data.first[0]
    for row in range(-first % stride, grid.n_rows, stride):
        if any(abs(row - other) * grid.pitch < 13 for other in named if other is not None):
            continue
        if unplaced(data.row_labels):
            _paint_row_name(painter, data, grid, row)
            continue
        y = grid.cell(row, 0).center().y()
        write(painter, QRectF(0, y - 8, grid.x - 7, 16), str(row + first), px=10, color="muted", side="right")


def _stride(grid: Grid, room: float) -> int:
    """Return every how many cells a number fits: 1, 2, 5, 10, 20, 50, ..."""
    for stride in (step * 10**power for power in range(6) for step in (1, 2, 5)):
        if stride * grid.pitch >= room:
            return stride
    return grid.n_columns


def _paint_slanted(painter: QPainter, data: MatrixData, grid: Grid, column: int, label: Label) -> None:
    chosen = column == data.column
    start = QPointF(grid.cell(0, column).center().x() + 2, grid.y - 5)
    with saved(painter):
        painter.translate(start)
        painter.rotate(-45)
        width = paint_line(painter, fitted(_name(label, grid.px, chosen), LONGEST), 0.0, 0.0)
    if chosen and data.column_role:
        # Painted upright: a rotated diamond would be a square.
        along = (width + 9) * SLANT
        paint_mark(painter, data.column_role, start.x() + along - 3, start.y() - along - 3, 4.5)


def _paint_column_numbers(painter: QPainter, data: MatrixData, grid: Grid, hovered: tuple[int, int] | None) -> None:
    labels, y = data.column_labels, grid.y - 8
    taken: list[tuple[float, float]] = []
    stride = _stride(grid, 20)
    first = [data.column, hovered[1] if hovered else None]
    spread = range(-data.first[1] % stride, grid.n_columns, stride)
    for column in [] if unplaced(labels) else [*first, *spread]:
        if column is None:
            continue
        chosen, x = column == data.column, grid.cell(0, column).center().x()
        position = labels[column].position if labels else None
        text = str(column + data.first[1] if position is None else position)
        half = text_width(text, 10, 600) / 2 + 3
        if any(x - half < right and left < x + half for left, right in taken):
            continue
        taken.append((x - half, x + half))
        color = "ink" if chosen else "muted"
        write(
            painter,
            QRectF(x - 20, y - 8, 40, 16),
            text,
            px=10,
            weight=600 if chosen else 400,
            color=color,
            side="centre",
        )
    named = hovered[1] if hovered else data.column
    if named is not None and labels:
        _paint_name_above(painter, data, grid, named)


def _paint_name_above(painter: QPainter, data: MatrixData, grid: Grid, column: int) -> None:
    chosen, label = column == data.column, Label(data.column_labels[column].shown)
    name = _name(label, 11, chosen)
    width = width_of(name)
    mark = MARK if chosen and data.column_role else 0
    middle = grid.cell(0, column).center().x()
    left = min(max(middle - (width + mark) / 2, grid.x), max(grid.x, painter.device().width() - width - mark - EDGE))
    y = grid.y - 23
    paint_line(painter, name, left + mark, y + 4)
    if mark:
        paint_mark(painter, data.column_role, left + 4, y, 4)


def _paint_axes(painter: QPainter, data: MatrixData, grid: Grid) -> None:
    for axis, n, vertical in ((data.column_axis, grid.n_columns, False), (data.row_axis, grid.n_rows, True)):
        if axis is None or n < 2:
            continue
        taken: list[tuple[float, float]] = []
        for text, cell in axis_ticks(axis):
            place = cell * grid.pitch
            half = 7.0 if vertical else text_width(text, 11) / 2 + 3
            if any(place - half < end and start < place + half for start, end in taken):
                continue  # numbers of samples that lie close together would stand on each other
            taken.append((place - half, place + half))
            if vertical:
                rect = QRectF(0, grid.y + place - 8, grid.x - 8, 16)
                write(painter, rect, text, px=11, color="muted", side="right")
            else:
                rect = QRectF(grid.x + place - 40, grid.y - 19, 80, 16)
                write(painter, rect, text, px=11, color="muted", side="centre")


def paint_frames(painter: QPainter, data: MatrixData, grid: Grid, hovered: tuple[int, int] | None) -> None:
    """Frame the selected row and column in the colours of their roles, and the cell under the pointer."""
    with saved(painter):
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        theme = current()
        if hovered is not None and grid.pitch >= 3:
            painter.setPen(QPen(QColor(theme.ctrl), 1))
            painter.drawRect(grid.cell(*hovered).adjusted(-0.5, -0.5, 0.5, 0.5))
        frames = []
        if data.row is not None and 0 <= data.row < grid.n_rows:
            frames.append((grid.row_rect(data.row), data.row_role))
        if data.column is not None and 0 <= data.column < grid.n_columns:
            frames.append((grid.column_rect(data.column), data.column_role))
        for rect, role in frames:
            painter.setPen(QPen(QColor(getattr(theme, role, theme.ink)), 1.6))
            painter.drawRoundedRect(rect.adjusted(-1.8, -1.8, 1.8, 1.8), 2, 2)


def title_color(piece: Piece) -> str:
    """Return the theme's name of a corner text's colour."""
    return piece.role if piece.role else "text2"
