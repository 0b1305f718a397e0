"""The tooltip of a cell or a dot: rows of mark, name and value on ink."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from ..marks import mark_color, paint_mark
from ..painting import guarded
from ..theme import DARK, LIGHT, current, font
from .drawing import baseline, box, draw_text, shown, text_width

ROW, PADDING, INDENT, GAP, DELAY = 16, 12, 15, 24, 300


class Inspector(QWidget):
    """Appears after 300 ms beside what it explains, never over it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.ToolTip | Qt.WindowType.FramelessWindowHint)
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._rows: tuple[tuple[str, str, str], ...] = ()
        self._beside = QRect()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY)
        self._timer.timeout.connect(self.appear)

    def explain(self, beside: QRect, rows: Sequence[tuple[str, str, str]]) -> None:
        """Show rows of (mark, name, value) beside a place in global pixels; at once if it is already up."""
        self._rows, self._beside = tuple(rows), beside
        self.resize(self.sizeHint())
        if self.isVisible():
            self.appear()
        else:
            self._timer.start()

    def dismiss(self) -> None:
        """Hide, and forget what was about to appear."""
        self._timer.stop()
        self.hide()

    def rows(self) -> tuple[tuple[str, str, str], ...]:
        """Return what is shown."""
        return self._rows

    def appear(self) -> None:
        """Show now, right below the place; left of or above it where the screen ends."""
        self._timer.stop()
        screen = QGuiApplication.screenAt(self._beside.center()) or QGuiApplication.primaryScreen()
        room = screen.availableGeometry()
        place = self._beside.bottomRight() + QPoint(8, 8)
        if place.x() + self.width() > room.right():
            place.setX(self._beside.left() - 8 - self.width())
        if place.y() + self.height() > room.bottom():
            place.setY(self._beside.top() - 8 - self.height())
        self.move(place)
        self.show()
        self.update()

    def sizeHint(self) -> QSize:
        widths = [
            text_width(shown(name), font(11)) + (text_width(value, font(11, 600)) + GAP if value else 0)
            for _, name, value in self._rows
        ]
        width = 2 * PADDING + INDENT + max(widths, default=0.0)
        return QSize(max(round(width), 120), ROW * len(self._rows) + 16)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        on_ink = LIGHT if theme.dark else DARK  # marks and text that read on this theme's ink
        box(painter, QRectF(self.rect()), fill=theme.ink)
        for index, (mark, name, value) in enumerate(self._rows):
            middle = 8 + ROW * (index + 0.5)
            base = baseline(middle, font(11))
            if mark:
                paint_mark(painter, mark, PADDING + 4, middle, 3.8, mark_color(mark, on_ink))
            draw_text(painter, PADDING + INDENT, base, shown(name), font(11), on_ink.text2)
            right = self.width() - PADDING - text_width(value, font(11, 600))
            draw_text(painter, right, base, value, font(11, 600), theme.panel)
