"""The outline of a start token that the prompt could have but does not."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from ..painting import guarded
from ..theme import current, font
from .control import Control
from .drawing import baseline, draw_text, focus_ring, text_width
from .token_strip import CHIP, HEIGHT, PADDING, TOP

TEXT = "+ ‹bos›"


class StartChip(Control):
    """A dashed chip before the first token; a click, Enter or Space asks for a start token."""

    clicked = Signal()

    def __init__(self, parent: QWidget | None = None, *, name: str = "prompt.start") -> None:
        tip = "This prompt has no start token: click to put one first (Model > Start token)"
        super().__init__(parent, name=name, label="add a start token", tip=tip)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        return QSize(round(text_width(TEXT, font(12)) + 2 * PADDING), HEIGHT)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.clicked.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.clicked.emit()
        else:
            super().keyPressEvent(event)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        place = QRectF(0, TOP, self.width(), CHIP)
        pen = QPen(QColor(theme.ink if self.hovered else theme.ctrl), 1)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        painter.drawRoundedRect(place.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        draw_text(painter, PADDING, baseline(place.center().y() - 0.5, font(12)), TEXT, font(12), theme.text2)
        if self.ringed:
            focus_ring(painter, place)
