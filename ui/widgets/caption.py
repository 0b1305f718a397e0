"""A few words beside a control."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from ..painting import guarded
from ..theme import current, font
from .drawing import baseline, draw_text, text_width


class Caption(QWidget):
    """A few words beside a control, in second text."""

    def __init__(self, text: str, parent: QWidget | None = None, *, weight: int = 400, color: str = "text2") -> None:
        super().__init__(parent)
        self._text = text
        self._weight = weight
        self._color = color
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Set the words."""
        self._text = text
        self.setAccessibleName(text)
        self.updateGeometry()
        self.update()

    def text(self) -> str:
        """Return the words."""
        return self._text

    def sizeHint(self) -> QSize:
        return QSize(round(text_width(self._text, font(12, self._weight))) + 1, 26)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        f = font(12, self._weight)
        color = getattr(current(), self._color)
        draw_text(painter, 0, baseline(self.height() / 2, f), self._text, f, color)
