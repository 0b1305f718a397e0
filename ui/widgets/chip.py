"""The chip that says the model is edited: amber, with a hatched end, impossible to overlook."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPainterPath, QPainterPathStroker, QPaintEvent, QPen
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from ..painting import guarded
from ..theme import current, font
from .control import Control
from .drawing import baseline, box, draw_text, focus_ring, text_width
from .icon_button import paint_icon

HEIGHT, HATCH, CLOSE = 28, 14, 24


class EditedChip(Control):
    """`EDITED head 0.0 × 0.00 ×`. The body lists the edits, the cross resets them all. Hidden while there are none."""

    resetRequested = Signal()
    removeRequested = Signal(int)

    def __init__(self, parent: QWidget | None = None, *, name: str = "edited.chip") -> None:
        super().__init__(parent, name=name, label="edited", tip="click lists the edits; the cross resets them all")
        self._edits: tuple[str, ...] = ()
        self._short = False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.hide()

    def set_edits(self, edits: Sequence[str]) -> None:
        """Show the edits, each in words such as "head 0.0 × 0.00"."""
        self._edits = tuple(edits)
        self.setAccessibleName(f"edited: {', '.join(self._edits)}" if self._edits else "edited")
        self.setToolTip("\n".join((*self._edits, "click lists the edits; the cross resets them all")))
        self.setVisible(bool(self._edits))
        self.updateGeometry()
        self.update()

    def text(self) -> str:
        """Return what stands after the word EDITED."""
        return self._edits[0] if len(self._edits) == 1 else f"{len(self._edits)} edits"

    def set_short(self, short: bool) -> None:
        """Show the word EDITED alone where the row has no room for more; the tooltip and the list say which."""
        if short != self._short:
            self._short = short
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        words = text_width("EDITED", font(11, 700))
        if not self._short:
            words += 8 + text_width(self.text(), font(12, 500))
        return QSize(round(HATCH + words + 4 + CLOSE), HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def close_rect(self) -> QRectF:
        """Return the place of the cross."""
        return QRectF(self.width() - CLOSE, 0, CLOSE, HEIGHT)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if self.close_rect().contains(event.position()):
            self.resetRequested.emit()
        else:
            self.list_edits()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.resetRequested.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Down):
            self.list_edits()
        else:
            super().keyPressEvent(event)

    def list_edits(self) -> None:
        """Show the edits as a menu; choosing one takes it back."""
        menu = QMenu(self)
        menu.setObjectName("edited.menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for index, text in enumerate(self._edits):
            action = menu.addAction(f"Take back {text}")  # "remove" is what an edit does to a head
            action.setData(index)
        menu.addSeparator()
        menu.addAction("Reset all").setData(-1)
        menu.triggered.connect(self._on_menu_triggered)
        menu.popup(self.mapToGlobal(QPoint(0, HEIGHT + 2)))

    def _on_menu_triggered(self, action: object) -> None:
        index = action.data()  # type: ignore[attr-defined]
        if index < 0:
            self.resetRequested.emit()
        else:
            self.removeRequested.emit(index)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        rect = QRectF(self.rect())
        box(painter, rect, fill=theme.edited)
        self._paint_hatch(painter, rect)
        f = font(11, 700)
        middle = rect.center().y()
        x = draw_text(painter, HATCH, baseline(middle, f), "EDITED", f, theme.onedit)
        f = font(12, 500)
        if not self._short:
            draw_text(painter, x + 8, baseline(middle, f), self.text(), f, theme.onedit)
        cross = QRectF(0, 0, 14, 14)
        cross.moveCenter(self.close_rect().center() - QPointF(1, 0))
        paint_icon(painter, "close", cross, theme.onedit)
        if self.ringed:
            focus_ring(painter, rect)

    def _paint_hatch(self, painter: QPainter, rect: QRectF) -> None:
        """Paint two slanted bars at the left end: a sign that needs no colour."""
        inside, bars = QPainterPath(), QPainterPath()
        inside.addRoundedRect(rect, 6, 6)
        for x in (0.0, 8.0):
            bars.moveTo(x - 3, HEIGHT + 1)
            bars.lineTo(x + 7, -1)
        ink = QColor(current().onedit)
        ink.setAlphaF(0.28)
        # Cut rather than clipped: a vector file has no clips.
        painter.fillPath(QPainterPathStroker(QPen(ink, 3)).createStroke(bars).intersected(inside), ink)
