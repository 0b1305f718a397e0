"""The local objective beside the hero: L_x(c) = sum K (y_i - c)^2, with c on the hero's own value axis.

So the parabola's lowest point stands on the line f: the fit is where the objective is least. Its bend, 2 sum K, is
printed; without support there is no parabola, and it says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from kav.regression.objective import Objective
from kav.views.words import number

from ..painting import guarded
from ..theme import current, font
from .axes import Frame
from .control import describe
from .drawing import baseline, draw_text
from .fit_labels import pen

WIDTH, LEFT, RIGHT = 182, 10, 8
POINTS = 121


class ObjectiveInset(QWidget):
    """Picture of one `Objective`; `frame` returns the drawing area of the plot that it stands beside."""

    def __init__(
        self, frame: Callable[[], Frame], parent: QWidget | None = None, *, name: str = "fit.objective"
    ) -> None:
        super().__init__(parent)
        describe(self, name, "local objective L(c)", "What the fit at the query minimises, over the value axis")
        self._frame = frame
        self._objective: Objective | None = None
        self._f_text = ""
        self.setFixedWidth(WIDTH)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)

    def set_objective(self, objective: Objective | None, f_text: str) -> None:
        """Show an objective; `f_text` is the fit as the panel prints it."""
        self._objective, self._f_text = objective, f_text
        self.setAccessibleDescription("; ".join(self.words()))
        self.update()

    def words(self) -> Sequence[str]:
        """Return what is printed under the parabola."""
        objective = self._objective
        if objective is None:
            return ()
        if not objective.defined:
            return tuple(objective.notice.partition(": ")[::2])
        bend = number(objective.curvature)
        return (f"least at c = {self._f_text}", f"L″ = 2 Σ K = {bend} > 0" if objective.mass > 0 else "L″ = 2 Σ K > 0")

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return c and L(c) relative to its largest value in sight, both (n,); empty without support."""
        objective = self._objective
        if objective is None or not objective.defined:
            return np.empty(0), np.empty(0)
        y = self._frame().y
        c = np.linspace(y.low, y.high, POINTS)
        shape = (c - objective.f) ** 2 + objective.spread**2  # L / M: it is a number also where M is not
        return c, shape / (float(shape.max()) or 1.0)

    def places(self) -> np.ndarray:
        """Return the parabola in pixels, (n, 2)."""
        c, height = self.curve()
        return np.stack([LEFT + height * (WIDTH - LEFT - RIGHT), self._frame().y_px(c)], axis=1)

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, 200)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme, frame = current(), self._frame()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        strong, plain = font(12, 600), font(11)
        draw_text(painter, LEFT, baseline(16, strong), "L(c) = Σ K (yᵢ − c)²", strong, theme.ink)
        draw_text(painter, LEFT, baseline(33, plain), "c on the axis of y; L(c) →", plain, theme.muted)
        left, right = round(float(LEFT)) + 0.5, WIDTH - RIGHT
        painter.setPen(pen(theme.border, 1))
        painter.drawLine(QPointF(left, frame.top), QPointF(left, frame.bottom))
        painter.setClipRect(QRectF(0, frame.top, WIDTH, frame.height))
        self._paint_parabola(painter, right)
        painter.setClipping(False)
        defined = self._objective is not None and self._objective.defined
        row = frame.bottom + 12
        for text, weight in zip(self.words(), (600, 400), strict=False):
            ink = theme.error if not defined else theme.direct if weight == 600 else theme.text2
            draw_text(painter, LEFT, baseline(row, plain), text, font(11, weight), ink)
            row += 16

    def _paint_parabola(self, painter: QPainter, right: float) -> None:
        theme, objective, places = current(), self._objective, self.places()
        if not len(places):
            return
        row = float(self._frame().y_px(objective.f))
        least = float(np.interp(objective.f, *self.curve()))
        column = LEFT + least * (WIDTH - LEFT - RIGHT)
        painter.setPen(pen(theme.direct, 2.0))
        painter.drawLine(QPointF(0, row), QPointF(column, row))
        painter.setPen(pen(theme.ink, 1.8))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF([QPointF(x, y) for x, y in places]))
        if math.isfinite(row):
            painter.setPen(pen(theme.panel, 1.4))
            painter.setBrush(QColor(theme.direct))
            painter.drawEllipse(QPointF(column, row), 4.4, 4.4)
