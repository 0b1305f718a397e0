"""The gallery of kernel shapes: what can be swapped in, drawn over the same u from −3 to 3."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from kav.views.attention import KernelShape

from ..painting import guarded
from ..theme import current
from .painted import STEPS, elided, write
from .places import Places

LARGEST, STEP = 84, 92
EDGE = 14


class Gallery(Places):
    """Kernel shapes, down and then across.

    Signals
    -------
    kernelRequested(kernel) : a click on a shape, or the arrow keys.
    """

    kernelRequested = Signal(str)

    def __init__(self, parent: QWidget | None = None, *, name: str = "") -> None:
        super().__init__(parent, name=name, label="kernels")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self._shapes: tuple[KernelShape, ...] = ()
        self._kernel = ""
        self._paths: dict[tuple[object, ...], tuple[QPainterPath, QPainterPath]] = {}

    @property
    def kernel(self) -> str:
        """The framed kernel."""
        return self._kernel

    def set_shapes(self, shapes: tuple[KernelShape, ...], kernel: str) -> None:
        """Show the kernels and frame one."""
        if shapes is self._shapes and kernel == self._kernel:
            return  # it costs a repaint on every step of a drag
        if shapes is not self._shapes:
            self._paths.clear()
        self._shapes, self._kernel = shapes, kernel
        self.setAccessibleDescription(next((shape.title for shape in shapes if shape.kernel == kernel), ""))
        self.updateGeometry()
        self.update()

    def _grid(self) -> tuple[int, int, float, float, float]:
        """Return n_rows, n_columns, side, step_x, step_y: the arrangement with the largest shapes."""
        n, best = max(1, len(self._shapes)), None
        for n_columns in range(1, n + 1):
            n_rows = math.ceil(n / n_columns)
            step_x = min(LARGEST + 32, self.width() / n_columns)
            side = min(LARGEST, step_x - 12, math.floor((self.height() - 16) / n_rows) - 20)
            if best is None or side > best[2] + 0.5:
                best = (n_rows, n_columns, max(8.0, side), step_x, max(8.0, side) + 20)
        return best

    def shape_rect(self, index: int) -> QRectF:
        """Return the square of a shape."""
        n_rows, _, side, step_x, step_y = self._grid()
        column, row = divmod(index, n_rows)
        return QRectF(1 + column * step_x, 24 + row * step_y, side, side)

    def sizeHint(self) -> QSize:
        return QSize(2 * STEP + EDGE, 320)

    def wanted_width(self, height: int) -> int:
        """Return the width of two columns of shapes as large as `height` allows; lower ones take three."""
        if height < 260:
            return 3 * 70 + EDGE
        n_rows = math.ceil(max(1, len(self._shapes)) / 2)
        return 2 * max(STEP, min(LARGEST, math.floor((height - 16) / n_rows) - 20) + 32)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, 80)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for index, shape in enumerate(self._shapes):
            self._paint_shape(painter, self.shape_rect(index), shape, index == self.hovered_place)
        self.paint_ring(painter, QRectF(self.rect()).adjusted(1, 1, -1, -1))

    def _paint_shape(self, painter: QPainter, rect: QRectF, shape: KernelShape, hovered: bool) -> None:
        theme, chosen = current(), shape.kernel == self._kernel
        title = QRectF(rect.left() + 1, rect.top() - 16, rect.width() + 24, 16)
        weight = 600 if chosen else 500
        write(painter, title, elided(shape.title, title.width(), 11, weight), px=11, weight=weight, color="ink")
        line = QColor(theme.query if chosen else theme.ctrl)
        inner = rect.adjusted(1, 9, -1, -5)
        key = (shape.kernel, inner.width(), inner.height())
        if key not in self._paths:
            self._paths[key] = _curve(shape, QRectF(0, 0, inner.width(), inner.height()))
        curve, area = (path.translated(inner.topLeft()) for path in self._paths[key])
        painter.fillPath(area, QColor(theme.qtint if chosen else theme.hover))
        painter.strokePath(curve, QPen(line, 1.4))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        frame = QPen(QColor(theme.ink), 2) if chosen else QPen(QColor(theme.ctrl if hovered else theme.border), 1)
        painter.setPen(frame)
        painter.drawRoundedRect(rect, 3, 3)

    # --- pointer and keys ----------------------------------------------------------------------------------------

    def n_places(self) -> int:
        return len(self._shapes)

    def hit_rect(self, index: int) -> QRectF:
        return self.shape_rect(index).adjusted(-2, -16, 2, 2)

    def tip_of(self, index: int) -> str:
        return f"use the {self._shapes[index].title} kernel"

    def act_on(self, index: int) -> None:
        self.kernelRequested.emit(self._shapes[index].kernel)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() not in STEPS or not self._shapes:
            super().keyPressEvent(event)
            return
        self.ringed = True
        n_rows = self._grid()[0]
        index = next((i for i, shape in enumerate(self._shapes) if shape.kernel == self._kernel), 0)
        down, right = STEPS[event.key()]
        moved = index + down + right * n_rows
        if 0 <= moved < len(self._shapes) and moved != index:
            self.kernelRequested.emit(self._shapes[moved].kernel)
        event.accept()


def _curve(shape: KernelShape, rect: QRectF) -> tuple[QPainterPath, QPainterPath]:
    """Return the curve and the area under it; K = 0 on the lower edge, K = 1 on the upper."""
    u, height = np.asarray(shape.u, dtype=float), np.asarray(shape.K, dtype=float)
    span = float(u[-1] - u[0]) or 1.0
    points = [
        QPointF(rect.left() + (x - u[0]) / span * rect.width(), rect.bottom() - k * rect.height())
        for x, k in zip(u, height, strict=True)
    ]
    curve = QPainterPath(points[0])
    for point in points[1:]:
        curve.lineTo(point)
    area = QPainterPath(curve)
    area.lineTo(rect.bottomRight())
    area.lineTo(rect.bottomLeft())
    area.closeSubpath()
    return curve, area
