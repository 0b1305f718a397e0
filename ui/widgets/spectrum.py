"""The spectrum of a circuit: its singular values as bars, and its eigenvalues in the complex plane."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from kav.views.words import number

from ..painting import guarded
from ..theme import current
from .painted import elided, text_width, write
from .ticks import nice_ticks, tick_text

EDGE, LARGEST = 14, 44.0  # right edge, largest radius of the disc


class Spectrum(QWidget):
    """Singular values above, eigenvalues divided by the largest modulus below; either may be missing."""

    def __init__(self, parent: QWidget | None = None, *, name: str = "") -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAccessibleName("spectrum")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self._singular: np.ndarray | None = None
        self._eigen: np.ndarray | None = None
        self._titles = ("", "")
        self._caption = ""

    @property
    def singular_values(self) -> np.ndarray | None:
        """What the bars show, descending."""
        return self._singular

    @property
    def eigenvalues(self) -> np.ndarray | None:
        """What the disc shows, divided by the largest modulus."""
        return self._eigen

    def set_values(
        self,
        singular: np.ndarray | None,
        eigen: np.ndarray | None,
        *,
        titles: tuple[str, str] = ("singular values", "eigenvalues λ / |λ|max"),
        caption: str = "Re λ > 0 copies",
    ) -> None:
        """Show singular values, shape (d_head,), and complex eigenvalues, shape (d_head,)."""
        self._singular = singular
        largest = 0.0 if eigen is None or not eigen.size else float(np.max(np.abs(eigen)))
        self._eigen = eigen / largest if eigen is not None and largest > 0 else eigen
        self._titles, self._caption = titles, caption
        words = []
        if singular is not None and singular.size:
            words.append(
                f"{titles[0]}: {singular.size} from {number(float(singular[0]))} to {number(float(singular[-1]))}"
            )
        if eigen is not None and eigen.size:
            words.append(f"{np.count_nonzero(eigen.real > 0)} of {eigen.size} eigenvalues have Re λ > 0")
        self.setAccessibleDescription("; ".join(words))
        self.setToolTip("; ".join(words))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(164, 224)

    def minimumSizeHint(self) -> QSize:
        return QSize(110, 80)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        beside = self.height() < 190 and self.width() > 200
        width = self.width() - EDGE
        if beside:  # low and wide: bars left, disc right
            half = (width - 12) / 2
            self._paint_bars(painter, QRectF(0, 4, half, self.height() - 8), self.height() - 60)
            self._paint_disc(painter, QRectF(half + 12, 4, half, self.height() - 8))
        else:
            bars = min(max(0.24 * self.height() - 12, 24.0), 90.0)
            self._paint_bars(painter, QRectF(0, 6, width, bars + 40), bars)
            self._paint_disc(painter, QRectF(0, bars + 58, width, self.height() - bars - 62))

    def _paint_bars(self, painter: QPainter, place: QRectF, height: float) -> None:
        values = self._singular
        if values is None or not values.size or height < 12:
            return
        theme, top = current(), place.top() + 20
        high = float(values[0]) or 1.0
        ticks = nice_ticks(0.0, high, 2 if height < 60 else 4)
        step = ticks[1] - ticks[0] if len(ticks) > 1 else high
        left = place.left() + max(text_width(tick_text(t, step), 11) for t in ticks) + 9
        right = place.right()
        title = elided(self._titles[0], place.width(), 11)
        write(painter, QRectF(place.left(), place.top(), place.width(), 16), title, px=11, color="text2", side="centre")
        base = round(top + height)
        for tick in ticks:
            y = round(base - tick / high * height)
            painter.fillRect(QRectF(left, y, right - left, 1), QColor(theme.border if tick == 0 else theme.grid))
            if tick == 0 or tick / high * height > 11:
                beside = QRectF(place.left(), y - 8, left - 9 - place.left(), 16)
                write(painter, beside, tick_text(tick, step), px=11, color="muted", side="right")
        pitch = (right - left) / values.size
        thick = max(1.0, round(pitch * 0.7)) if pitch >= 2 else pitch
        for index, value in enumerate(values):
            bar = float(value) / high * height
            painter.fillRect(QRectF(left + index * pitch, base - bar, thick, bar), QColor(theme.weight_ink))
        for count in sorted({1, max(1, values.size // 2), values.size}):
            x = min(left + (count - 0.5) * pitch, right - text_width(str(count), 11) / 2)
            write(painter, QRectF(x - 20, base + 4, 40, 16), str(count), px=11, color="muted", side="centre")

    def _paint_disc(self, painter: QPainter, place: QRectF) -> None:
        eigen = self._eigen
        radius = min(LARGEST if self.height() < 320 else 84.0, place.width() / 2 - 8, (place.height() - 40) / 2)
        if eigen is None or not eigen.size or radius < 10:
            return
        theme = current()
        write(
            painter,
            QRectF(place.left(), place.top(), place.width(), 16),
            self._titles[1],
            px=11,
            color="text2",
            side="centre",
        )
        centre = QPointF(place.center().x(), place.top() + 21 + radius)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(theme.border), 1))
        painter.drawEllipse(centre, radius, radius)
        painter.drawLine(centre + QPointF(-radius, 0), centre + QPointF(radius, 0))
        painter.drawLine(centre + QPointF(0, -radius), centre + QPointF(0, radius))
        for value in eigen:
            color = QColor(theme.positive if value.real >= 0 else theme.negative)
            edge = QColor(color)
            color.setAlphaF(0.45)
            painter.setPen(QPen(edge, 0.8))
            painter.setBrush(QBrush(color))
            painter.drawEllipse(centre + QPointF(value.real * radius, -value.imag * radius), 3.0, 3.0)
        caption = QRectF(place.left(), centre.y() + radius + 3, place.width(), 16)
        write(painter, caption, self._caption, px=11, color="muted", side="centre")
