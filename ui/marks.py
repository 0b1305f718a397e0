"""Marks: one thing, one shape, one colour, everywhere. Painted, never glyphs, so that no font can change them.

`paint_mark` serves strip, header, plots, matrices and tooltips. (x, y) is the centre of the mark in the painter's
coordinates and r half its height; on rotated text, rotate the painter back first, or the diamond becomes a square.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPen, QPolygonF

from .painting import saved
from .theme import Theme, current

# kind -> (name of its colour in the theme, width for r = 1)
_KINDS = {
    "query": ("query", 2.2),
    "key": ("key", 2.0),
    "target": ("target", 2.3),
    "direct": ("direct", 3.2),
    "rerun": ("ink", 4.0),
    "tangent": ("muted", 4.0),
    "response": ("ctrl", 1.4),
    "weight": ("ctrl", 3.0),
    "curve": ("query", 3.2),
    "kernel": ("query", 3.2),
    "edited": ("edited", 3.2),
}


def mark_width(kind: str, r: float = 4.5) -> float:
    """Return the width of a mark of half height `r`; 0 for no mark."""
    return _KINDS[kind][1] * r if kind in _KINDS else 0.0


def mark_color(kind: str, theme: Theme | None = None) -> QColor:
    """Return the colour of a kind of mark."""
    return QColor(getattr(theme or current(), _KINDS[kind][0] if kind in _KINDS else "ink"))


def paint_mark(
    painter: QPainter,
    kind: str,
    x: float,
    y: float,
    r: float = 4.5,
    color: QColor | None = None,
) -> None:
    """Paint a mark centred at (x, y); `color` overrides its own, and an unknown or empty kind paints nothing."""
    if kind not in _KINDS:
        return
    with saved(painter):
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        _SHAPES[kind](
            painter,
            QPointF(x, y),
            r,
            QColor(color) if color is not None else mark_color(kind),
        )


def outline_mark(kind: str, x: float, y: float, r: float) -> QPainterPath:
    """Return the outline of a filled mark (query, key, target) as a path, for hollow and dashed versions."""
    path = QPainterPath()
    if kind == "key":
        path.addEllipse(QPointF(x, y), r, r)
        return path
    if kind == "target":
        points = [(0, -1.15), (1.15, 0), (0, 1.15), (-1.15, 0)]
    else:
        points = [(-1.1, -0.95), (1.1, -0.95), (0, 0.95)]
    path.addPolygon(QPolygonF([QPointF(x + dx * r, y + dy * r) for dx, dy in points]))
    path.closeSubpath()
    return path


def _fill(kind: str) -> Callable[[QPainter, QPointF, float, QColor], None]:
    def paint(painter: QPainter, at: QPointF, r: float, color: QColor) -> None:
        painter.fillPath(outline_mark(kind, at.x(), at.y(), r), QBrush(color))

    return paint


def _line(
    width: float, half: float, dashes: list[float] | None = None
) -> Callable[[QPainter, QPointF, float, QColor], None]:
    def paint(painter: QPainter, at: QPointF, r: float, color: QColor) -> None:
        pen = QPen(color, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
        if dashes:
            pen.setDashPattern([dash / width for dash in dashes])
        painter.setPen(pen)
        reach = QPointF(half * r, 0)
        painter.drawLine(at - reach, at + reach)

    return paint


def _response(painter: QPainter, at: QPointF, r: float, color: QColor) -> None:
    painter.setPen(QPen(color, 1.3, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
    top = QPointF(at.x(), at.y() - 1.3 * r)
    painter.drawLine(QPointF(at.x(), at.y() + 1.3 * r), top)
    painter.drawPolyline([top + QPointF(-0.65 * r, 0.7 * r), top, top + QPointF(0.65 * r, 0.7 * r)])


def _weight(painter: QPainter, at: QPointF, r: float, color: QColor) -> None:
    painter.setPen(QPen(color, 1.3))
    painter.setBrush(QBrush(current().panel))
    painter.drawEllipse(at + QPointF(-0.85 * r, 0.3 * r), 0.5 * r, 0.5 * r)
    painter.drawEllipse(at + QPointF(0.6 * r, 0.0), 0.95 * r, 0.95 * r)


def _curve(painter: QPainter, at: QPointF, r: float, color: QColor) -> None:
    path = QPainterPath(at + QPointF(-1.6 * r, -0.9 * r))
    path.cubicTo(
        at + QPointF(0.1 * r, -0.9 * r),
        at + QPointF(-0.1 * r, 0.9 * r),
        at + QPointF(1.6 * r, 0.9 * r),
    )
    painter.strokePath(path, QPen(color, 2.0, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))


def _kernel(painter: QPainter, at: QPointF, r: float, color: QColor) -> None:
    path = QPainterPath(at + QPointF(-1.6 * r, r))
    path.cubicTo(
        at + QPointF(-0.6 * r, r),
        at + QPointF(-0.6 * r, -1.15 * r),
        at + QPointF(0, -1.15 * r),
    )
    path.cubicTo(
        at + QPointF(0.6 * r, -1.15 * r),
        at + QPointF(0.6 * r, r),
        at + QPointF(1.6 * r, r),
    )
    painter.fillPath(path, QBrush(current().qtint))
    painter.strokePath(path, QPen(color, 1.3))


def _edited(painter: QPainter, at: QPointF, r: float, color: QColor) -> None:
    path = QPainterPath()
    path.addRoundedRect(QRectF(at.x() - 1.6 * r, at.y() - 1.15 * r, 3.2 * r, 2.3 * r), 3, 3)
    painter.fillPath(path, QBrush(color))


_SHAPES: dict[str, Callable[[QPainter, QPointF, float, QColor], None]] = {
    "query": _fill("query"),
    "key": _fill("key"),
    "target": _fill("target"),
    "direct": _line(2.0, 1.6),
    "rerun": _line(2.6, 2.0),
    "tangent": _line(1.8, 2.0, [5.0, 4.0]),
    "response": _response,
    "weight": _weight,
    "curve": _curve,
    "kernel": _kernel,
    "edited": _edited,
}
