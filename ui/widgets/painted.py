"""Base of the widgets that paint data: focus ring around the drawing area, and text in the window's type."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from ..theme import current, font
from .control import Control

STEPS = {
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
}


class Painted(Control):
    """A control as large as its room; subclasses paint, and call `paint_ring` around what the keys move in."""

    def __init__(self, parent: QWidget | None = None, *, name: str = "", label: str = "", tip: str = "") -> None:
        super().__init__(parent, name=name, label=label, tip=tip)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def paint_ring(self, painter: QPainter, rect: QRectF) -> None:
        """Paint the focus ring around `rect` if the keyboard is here."""
        if not self.ringed:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(current().query), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(rect, 4, 4)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.ringed = False
        self.update()
        event.accept()


@lru_cache(maxsize=8192)
def text_width(text: str, px: int, weight: int = 400) -> float:
    """Return the width of a text in the window's type."""
    return QFontMetricsF(font(px, weight)).horizontalAdvance(text)


def elided(text: str, width: float, px: int, weight: int = 400) -> str:
    """Return the text, shortened at the right to `width` pixels."""
    return QFontMetricsF(font(px, weight)).elidedText(text, Qt.TextElideMode.ElideRight, width)


def write(
    painter: QPainter,
    rect: QRectF,
    text: str,
    *,
    px: int = 12,
    weight: int = 400,
    color: str = "text2",
    side: str = "left",
) -> None:
    """Write one line, centred vertically in `rect`; `color` is a name of the theme or "#RRGGBB"."""
    flag = {
        "left": Qt.AlignmentFlag.AlignLeft,
        "right": Qt.AlignmentFlag.AlignRight,
        "centre": Qt.AlignmentFlag.AlignHCenter,
    }[side]
    painter.setFont(font(px, weight))
    painter.setPen(QColor(color if color.startswith("#") else getattr(current(), color)))
    painter.drawText(rect, int(flag | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip), text)
