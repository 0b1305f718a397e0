"""The samples of the regression scene along x, with their weights as bars; stands where the tokens stand."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from kav.views.regression.rug import Columns

from ..marks import paint_mark
from ..painting import guarded
from ..theme import current
from .control import Control
from .drawing import box, focus_ring

HEIGHT, TOP, BOX, MARGIN = 42, 8, 30, 36
MOST_TICKS, N_POOLED = 2_000, 1_200  # samples up to which each is a tick; columns of more


class Rug(Control):
    """Samples as ticks. Drag or click moves the query, shift-click or the right button asks for a sample.

    Arrows move the query by a hundredth of the range, Shift and arrows the selected sample. `queryReleased` ends a
    drag; `placeRequested` carries an x and asks for the sample there, where `keyRequested` cannot name it.
    """

    queryMoved = Signal(float)
    queryReleased = Signal()
    keyRequested = Signal(int)
    placeRequested = Signal(float)

    def __init__(self, parent: QWidget | None = None, *, name: str = "prompt.rug") -> None:
        tip = "drag ▼ to move the query, shift-click a sample to select it"
        super().__init__(parent, name=name, label="samples along x", tip=tip)
        self._x = np.zeros(0)
        self._weights = np.zeros(0)
        self._before: np.ndarray | None = None
        self._columns: Columns | None = None
        self._query = 0.0
        self._key = -1
        self._range = (0.0, 1.0)
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_samples(
        self,
        x: np.ndarray,
        weights: np.ndarray,
        *,
        before: np.ndarray | None = None,
        x_range: tuple[float, float],
        columns: Columns | None = None,
    ) -> None:
        """Show samples at `x` with their weights at the query, and as outlines those before the edit.

        Parameters
        ----------
        columns : Columns or None
            Of many samples: all of them, pooled along x; they are shown instead, and `x` are those near the query.
        """
        self._columns = columns
        self._x = np.asarray(x, dtype=float)
        self._weights = np.asarray(weights, dtype=float)
        self._before = None if before is None else np.asarray(before, dtype=float)
        self._range = x_range
        self.update()

    def set_selection(self, x_query: float, key: int) -> None:
        """Place the query and mark the selected sample."""
        self._query, self._key = x_query, key
        self.setAccessibleDescription(f"query at x = {x_query:.3g}")
        self.update()

    def place_of(self, x: float) -> float:
        """Return the pixel column of a value of x."""
        low, high = self._range
        return MARGIN + (x - low) / ((high - low) or 1.0) * (self.width() - 2 * MARGIN)

    def _value_at(self, pixel: float) -> float:
        low, high = self._range
        share = (pixel - MARGIN) / max(self.width() - 2 * MARGIN, 1)
        return low + min(max(share, 0.0), 1.0) * (high - low)

    def sizeHint(self) -> QSize:
        return QSize(600, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, HEIGHT)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        x = event.position().x()
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if event.button() == Qt.MouseButton.RightButton or shift:
            if self._columns is not None:
                self.placeRequested.emit(self._value_at(x))
            elif len(self._x):
                self.keyRequested.emit(int(np.argmin(np.abs(self._x - self._value_at(x)))))
        elif event.button() == Qt.MouseButton.LeftButton:
            self.pressed = True
            if abs(x - self.place_of(self._query)) > 12:  # a press on the handle alone moves nothing
                self.queryMoved.emit(self._value_at(x))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.pressed:
            self.queryMoved.emit(self._value_at(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self.pressed:
            self.pressed = False
            self.queryReleased.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        if not step:
            return super().keyPressEvent(event)
        if not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            low, high = self._range
            self.queryMoved.emit(min(max(self._query + step * (high - low) / 100, low), high))
            return self.queryReleased.emit()
        order = list(np.argsort(self._x, kind="stable"))
        at = order.index(self._key) + step if self._key in order else 0
        if 0 <= at < len(order):
            self.keyRequested.emit(int(order[at]))
        return None

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        box(painter, QRectF(0, TOP, self.width(), BOX), fill=theme.panel, border=theme.border)
        top, bottom = TOP + 6.0, TOP + BOX - 4.0
        if self._columns is None:
            self._paint_samples(painter, top, bottom)
        else:
            self._paint_columns(painter, self._columns, top, bottom)
        if 0 <= self._key < len(self._x):
            at = round(self.place_of(float(self._x[self._key])))
            painter.fillRect(QRectF(at - 0.75, top, 2.5, bottom - top), QColor(theme.key))
            paint_mark(painter, "key", at + 0.5, TOP + 0.5, 4.2)
        paint_mark(painter, "query", self.place_of(self._query), TOP + 0.5, 5.4)
        if self.ringed:
            focus_ring(painter, QRectF(0, TOP, self.width(), BOX))

    def _paint_samples(self, painter: QPainter, top: float, bottom: float) -> None:
        """Every sample a tick, its weight a bar on it; more than the pixels there are become one image."""
        theme = current()
        peak = max(float(np.max(self._weights, initial=0.0)), 1e-300)
        if len(self._x) > MOST_TICKS:
            low, high = self._range
            edges = np.linspace(low, high, N_POOLED + 1)
            counts, _ = np.histogram(self._x, edges)
            weights, _ = np.histogram(self._x, edges, weights=self._weights)
            pooled = Columns(0.5 * (edges[1:] + edges[:-1]), counts, weights)
            return self._paint_columns(painter, pooled, top, bottom)
        dense = 1.0 if len(self._x) * 3 > self.width() else 2.5  # bars narrower than the gaps between them
        for index, x in enumerate(self._x):
            at = round(self.place_of(float(x)))
            painter.fillRect(QRectF(at, top, 1, bottom - top), QColor(theme.border))
            height = 0.6 * (bottom - top) * float(self._weights[index]) / peak if index < len(self._weights) else 0.0
            if height >= 0.5:
                bar = QRectF(at - dense / 2 + 0.5, bottom - height, dense, height)
                painter.fillRect(bar, QColor(theme.weight_ink))
            if self._before is not None and index < len(self._before):
                self._paint_before(painter, at, bottom, 0.6 * (bottom - top) * float(self._before[index]) / peak)
        return None

    def _paint_columns(self, painter: QPainter, columns: Columns, top: float, bottom: float) -> None:
        """A crowd: how many samples stand in a column is how dark it is, and weight is height; all as one image."""
        width, rows = self.width(), round(bottom - top)
        low, high = self._range
        places = MARGIN + (columns.x - low) / ((high - low) or 1.0) * (width - 2 * MARGIN)
        at = np.clip(np.rint(places).astype(np.int64), 0, width - 1)
        counts = np.bincount(at, weights=columns.counts, minlength=width)
        weights = np.bincount(at, weights=columns.weights, minlength=width)
        dark = np.where(counts > 0, 0.12 + 0.38 * np.sqrt(counts / max(float(counts.max(initial=0.0)), 1.0)), 0.0)
        tall = 0.6 * rows * weights / max(float(weights.max(initial=0.0)), 1e-300)
        ground, bar = (np.asarray(QColor(color).getRgb()[:3]) for color in (current().ctrl, current().weight_ink))
        pixels = np.empty((rows, width, 4), dtype=np.uint8)
        pixels[..., :3], pixels[..., 3] = ground, np.rint(255 * dark)
        heavy = np.arange(rows, 0, -1)[:, None] <= np.rint(tall)[None, :]
        pixels[heavy] = (*bar, 255)
        image = QImage(pixels.data, width, rows, 4 * width, QImage.Format.Format_RGBA8888)
        painter.drawImage(QRectF(0, top, width, rows), image)

    def _paint_before(self, painter: QPainter, at: int, bottom: float, height: float) -> None:
        if height >= 1:
            height = min(height, BOX - 10.0)
            rect = QRectF(at - 2, bottom - height, 5, height)
            box(painter, rect, fill="transparent", border=current().editedink, radius=1, width=1)
