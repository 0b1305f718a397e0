"""A slider over real numbers, linear or logarithmic."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from ..painting import guarded
from ..theme import current
from .control import Control

HANDLE, GROOVE = 14, 4


class Slider(Control):
    """A value in [low, high]: drag, click, arrow keys (Page keys in larger steps); a double click restores `default`.

    `valueChanged` fires all through a drag and `released` at its end, so that undo can merge a drag into one step.
    """

    valueChanged = Signal(float)
    released = Signal()

    def __init__(
        self,
        low: float,
        high: float,
        parent: QWidget | None = None,
        *,
        default: float | None = None,
        log: bool = False,
        neutral: bool = False,
        name: str = "",
        label: str = "",
        tip: str = "",
    ) -> None:
        super().__init__(parent, name=name, label=label, tip=tip)
        self._log = log
        self._neutral = neutral
        self._low, self._high = low, high
        self._default = low if default is None else default
        self._value = self._default
        self.setFixedHeight(26)
        self.setMinimumWidth(60)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def set_range(self, low: float, high: float, default: float | None = None) -> None:
        """Set the range, and what a double click restores; the value is clamped without a signal."""
        self._low, self._high = low, high
        self._default = self._default if default is None else default
        self.set_value(self._value)

    def set_value(self, value: float) -> None:
        """Move the handle without a signal; values beyond the range show at its end."""
        self._value = min(max(value, self._low), self._high)
        self.setAccessibleDescription(f"{self._value:.3g}")
        self.update()

    def value(self) -> float:
        """Return the value."""
        return self._value

    def fraction(self) -> float:
        """Return the place of the value along the groove, 0 to 1."""
        if self._high <= self._low:
            return 0.0
        if self._log:
            return math.log(self._value / self._low) / math.log(self._high / self._low)
        return (self._value - self._low) / (self._high - self._low)

    def _value_at(self, fraction: float) -> float:
        fraction = min(max(fraction, 0.0), 1.0)
        if self._log:
            return float(self._low * (self._high / self._low) ** fraction)
        return self._low + fraction * (self._high - self._low)

    def handle_center(self) -> QPointF:
        """Return where the handle is, in pixels."""
        return QPointF(HANDLE / 2 + self.fraction() * (self.width() - HANDLE), self.height() / 2)

    def _move(self, value: float) -> None:
        before = self._value
        self.set_value(value)
        if self._value != before:
            self.valueChanged.emit(self._value)

    def _move_to(self, x: float) -> None:
        self._move(self._value_at((x - HANDLE / 2) / max(self.width() - HANDLE, 1)))

    def sizeHint(self) -> QSize:
        return QSize(110, 26)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.pressed = True
            # A press on the handle must not move the value by a pixel or two.
            if abs(event.position().x() - self.handle_center().x()) > HANDLE / 2:
                self._move_to(event.position().x())
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.pressed:
            self._move_to(event.position().x())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self.pressed and event.button() == Qt.MouseButton.LeftButton:
            self.pressed = False
            self.update()
            self.released.emit()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._move(self._default)
        self.released.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key
        steps = {key.Key_Left: -0.01, key.Key_Down: -0.01, key.Key_Right: 0.01, key.Key_Up: 0.01}
        steps |= {key.Key_PageDown: -0.1, key.Key_PageUp: 0.1, key.Key_Home: -1.0, key.Key_End: 1.0}
        if event.key() not in steps:
            return super().keyPressEvent(event)
        return self._move(self._value_at(self.fraction() + steps[Qt.Key(event.key())]))

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        keys = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)
        keys += (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Home, Qt.Key.Key_End)
        if event.key() in keys and not event.isAutoRepeat():
            self.released.emit()

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        at = self.handle_center()
        groove = QRectF(0, at.y() - GROOVE / 2, self.width(), GROOVE)
        painter.setBrush(QBrush(QColor(theme.border)))
        painter.drawRoundedRect(groove, GROOVE / 2, GROOVE / 2)
        accent = theme.text2 if self._neutral else theme.query
        if self.isEnabled():
            groove.setRight(at.x())
            painter.setBrush(QBrush(QColor(theme.ctrl if self._neutral else theme.query)))
            painter.drawRoundedRect(groove, GROOVE / 2, GROOVE / 2)
        width = 2.0 if not self.ringed else 4.0
        painter.setPen(QPen(QColor(accent if self.isEnabled() else theme.border), width))
        tint = theme.hover if self._neutral else theme.qtint
        painter.setBrush(QBrush(QColor(tint if self.hovered or self.pressed else theme.panel)))
        # The focused handle is wider and its border thicker: a shape, not only a colour.
        half = QPointF(HANDLE / 2 + 1 if not self.ringed else HANDLE / 2 + 3, HANDLE / 2 + 1)
        handle = QRectF(at - half, at + half).adjusted(width / 2, width / 2, -width / 2, -width / 2)
        painter.drawRoundedRect(handle, handle.height() / 2, handle.height() / 2)
