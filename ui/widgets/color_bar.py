"""The colour bar of a footer: the value at either end of the scale and the colours between."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from ..painting import guarded, saved
from ..theme import current
from .painted import text_width, write
from .shading import picture

BAR, HEIGHT, GAP = 56, 7, 7
LEAST, ROOM = 28, 150  # of the bar, when its texts are long; of bar and texts


def level_text(value: float, with_sign: bool = False) -> str:
    """Return the value at an end of the bar: two significant digits, a sign if the scale is signed."""
    size = abs(value)
    if size == 0 or size >= 10:
        text = f"{size:.0f}"
    else:
        digits = max(0, 1 - math.floor(math.log10(size)))
        text = f"{size:.{digits}f}".rstrip("0").rstrip(".") if digits < 5 else f"{size:.1g}"
    sign = "" if size == 0 else "−" if value < 0 else "+" if with_sign else ""
    return sign + text


class ColorBar(QWidget):
    """`0 ▭ 1` for weights, `−24 ▭ +24` for signed values; the texts come from the one formatter."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("colour scale")
        self._low, self._high, self._diverging, self._note = "0", "1", False, ""

    @property
    def texts(self) -> tuple[str, str]:
        """What stands at both ends."""
        return self._low, self._high

    def set_range(self, low: str, high: str, *, diverging: bool = False, note: str = "") -> None:
        """Show the texts at both ends and the colours of weights or of signed values; the tooltip ends in `note`."""
        if (low, high, diverging, note) == (self._low, self._high, self._diverging, self._note):
            return
        self._low, self._high, self._diverging, self._note = low, high, diverging, note
        self.setAccessibleDescription(f"{low} to {high}")
        self.setToolTip(f"colours from {low} to {high}" + (f": {note}" if note else ""))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(round(self._written()) + self._bar() + 2 * GAP + 2, 26)

    def _written(self) -> float:
        return text_width(self._low, 11) + text_width(self._high, 11)

    def _bar(self) -> int:
        """Long texts take their room from the bar, so that the card does not grow with them."""
        return round(min(BAR, max(LEAST, ROOM - self._written())))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        width, middle = text_width(self._low, 11), self.height() / 2
        write(painter, QRectF(0, 0, width, self.height()), self._low, px=11, color="muted")
        bar = QRectF(round(width) + GAP, round(middle - HEIGHT / 2), self._bar(), HEIGHT)
        right = QRectF(bar.right() + GAP, 0, 60, self.height())
        write(painter, right, self._high, px=11, color="muted")
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        shape = QPainterPath()
        shape.addRoundedRect(bar, 2, 2)
        with saved(painter):
            painter.setClipPath(shape)
            painter.drawImage(bar, picture(np.arange(256, dtype=np.uint8)[None, :], diverging=self._diverging))
        painter.setPen(QPen(QColor(current().border), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(bar.adjusted(-0.5, -0.5, 0.5, 0.5), 2.5, 2.5)
