"""What lies over the window while something that can be opened is dragged over it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from ..painting import guarded
from ..theme import current, font
from .control import describe
from .drawing import baseline, box, draw_text, shown, text_width

INSET = 8
CARD_HEIGHT = 76


class DropTarget(QWidget):
    """A frame around the window's cards and the words that say what a drop will do; the mouse goes through it."""

    def __init__(self, parent: QWidget, *, name: str = "drop") -> None:
        super().__init__(parent)
        describe(self, name, "drop target")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._what, self._how = "", ""
        self.hide()

    def show_for(self, what: str, how: str) -> None:
        """Cover the parent and say what a drop does."""
        self._what, self._how = what, how
        self.setAccessibleDescription(f"{what}. {how}")
        self.setGeometry(self.parentWidget().rect())
        self.show()
        self.raise_()
        self.update()

    def text(self) -> str:
        """Return what is said."""
        return self._what

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        veil = QColor(theme.window)
        veil.setAlphaF(0.65)
        painter.fillRect(self.rect(), veil)
        pen = QPen(QColor(theme.query), 2)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(INSET, INSET, -INSET, -INSET), 8, 8)
        words = ((self._what, font(15, 600), theme.ink, -11), (self._how, font(12), theme.text2, 13))
        width = max(text_width(shown(text), f) for text, f, _, _ in words) + 56
        card = QRectF(0, 0, min(width, self.width() - 4 * INSET), CARD_HEIGHT)
        card.moveCenter(QRectF(self.rect()).center())
        box(painter, card, fill=theme.panel, border=theme.query, radius=8)
        painter.setClipRect(card)
        for text, f, color, at in words:
            x = max(card.center().x() - text_width(shown(text), f) / 2, card.left() + 14)
            draw_text(painter, round(x), baseline(card.center().y() + at, f), shown(text), f, color)
