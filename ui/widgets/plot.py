"""The plot of KAV's look: axes and curves, and everything else in pixels (dots, labels, handles) painted over them.

A `Plot` knows three spans (bottom axis, value axis, query axis on top) and a zoom; subclasses put curves into it and
paint the rest in `paint_over`, in widget pixels, so that text and marks keep their size. It hands mouse and keyboard
on as signals about named handles and changes nothing by itself.
"""

from __future__ import annotations

import math
import time

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QImage, QPaintEngine, QPainter, QPen, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QGraphicsView, QWidget

from ..painting import reported, saved
from ..theme import current
from .axes import Frame, Span, column_intervals, row_intervals, ticks
from .grabbing import Grabbing
from .lettering import paint_runs
from .plot_items import Area, Cloud, Curve, Item, paint_items
from .runs import Run, width_of

_DEEPEST_ZOOM = 0.02
_CARRIED_MS = 120  # while something is dragged labels are placed anew this often


class Plot(Grabbing):
    """One plot; what can be grabbed on it and how it is said is in `Grabbing`."""

    top_room, right_room, bottom_room, least_left = 12.0, 16.0, 37.0, 43.0
    column_pitch = 50.0
    title_room = 0.0  # no number this near to the top, where the axis title stands
    still_below = -math.inf  # items under this z seldom change: a picture of them is kept

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setCacheMode(QGraphicsView.CacheModeFlag.CacheNone)  # pyqtgraph caches backgrounds; ours changes
        # Whoever changes what is shown asks for a paint.
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.NoViewportUpdate)
        self._spans = (Span(0.0, 1.0), Span(0.0, 1.0), Span(0.0, 1.0))
        self._zoom = (0.0, 1.0, 0.0, 1.0)  # shares of the spans: left, right, bottom, top
        self._items: list[Item] = []
        self._ground: QImage | None = None  # what lies under all that moves, and what it was painted for
        self._ground_of: object = None
        self.frame_px = Frame(0, 0, 1, 1, *self._spans)
        self.hurried = False  # something is dragged, here or in another panel
        self._placed_at = -math.inf
        self._late = QTimer(self, singleShot=True, interval=_CARRIED_MS)
        self._late.timeout.connect(self.viewport().update)
        self.restyle()

    # --- what subclasses say -------------------------------------------------------------------------------------

    def paint_under(self, painter: QPainter) -> None:
        """Paint what lies under the curves, in widget pixels."""

    def paint_over(self, painter: QPainter) -> None:
        """Paint dots, labels, axes and handles, in widget pixels."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.accept()
        at = event.position()
        self.zoom(0.85 ** (event.angleDelta().y() / 120), at.x(), at.y())

    # --- labels --------------------------------------------------------------------------------------------------

    def may_carry(self) -> bool:
        """Return whether labels placed a moment ago may go along with what moves; else they are to be placed now."""
        if (self.hurried or self.dragged) and time.monotonic() - self._placed_at < _CARRIED_MS / 1000:
            self._late.start()
            return True
        self.place_again()
        return False

    def place_again(self) -> None:
        """Labels are placed now."""
        self._late.stop()
        self._placed_at = time.monotonic()

    def settle(self) -> None:
        """Nothing is dragged any more: place the labels where they belong."""
        self.hurried, self._placed_at = False, -math.inf
        self.viewport().update()

    # --- curves --------------------------------------------------------------------------------------------------

    def add_curve(
        self, color: str, width: float, *, dash: tuple[float, ...] = (), z: float = 0.0, level: bool = False
    ) -> Curve:
        """Return a new curve in a colour of the theme; give it points with `set_data`."""
        curve = Curve(color, width, dash, z, level=level)
        self._items.append(curve)
        return curve

    def add_area(self, color: str, z: float, *, alpha: float = 1.0) -> Area:
        """Return a new filled area; give it x, low and high with `set_data`."""
        area = Area(color, alpha, z)
        self._items.append(area)
        return area

    def add_cloud(self, z: float) -> Cloud:
        """Return a new place for an image."""
        cloud = Cloud(z)
        self._items.append(cloud)
        return cloud

    @property
    def items_shown(self) -> list[Item]:
        """All curves, areas and clouds, in the order they were added."""
        return list(self._items)

    def restyle(self) -> None:
        """Take colours from the theme."""
        self.setBackgroundBrush(QColor(current().panel))
        self.viewport().update()

    # --- spans and zoom ------------------------------------------------------------------------------------------

    def set_spans(self, x: Span, y: Span, query: Span) -> None:
        """Show these parts of the bottom, value and query axis (times the zoom)."""
        if (x, y, query) != self._spans:
            self._spans = (x, y, query)
            self.relayout()

    def fit(self) -> None:
        """Leave the zoom."""
        self._zoom = (0.0, 1.0, 0.0, 1.0)
        self.relayout()

    @property
    def zoomed(self) -> bool:
        """Whether less than everything is shown."""
        return self._zoom != (0.0, 1.0, 0.0, 1.0)

    def zoom(self, factor: float, x_px: float, y_px: float) -> None:
        """Scale what is visible by `factor` around a pixel, never beyond the whole and never deeper than 1/50."""
        frame = self.frame_px
        x_share, y_share = (x_px - frame.left) / frame.width, (frame.bottom - y_px) / frame.height
        left, right, bottom, top = self._zoom
        self._zoom = (*_zoomed(left, right, x_share, factor), *_zoomed(bottom, top, y_share, factor))
        self.relayout()

    def relayout(self) -> None:
        """Fit drawing area, grid and curves to the widget, the spans and the zoom."""
        x, y, query = self._spans
        left, right, bottom, top = self._zoom
        x, y, query = x.part(left, right), y.part(bottom, top), query.part(left, right)
        height = max(self.viewport().height() - self.top_room - self.bottom_room, 10.0)
        self.y_ticks = self._row_ticks(y, height)
        widest = max((width_of((Run(text, px=11),)) for _, text in self.y_ticks), default=0.0)
        room = max(self.least_left, 4.0 * np.ceil((13 + widest + 7) / 4) - 1)
        width = max(self.viewport().width() - room - self.right_room, 10.0)
        self.frame_px = Frame(room, self.top_room, width, height, x, y, query)
        self.x_ticks = ticks(x, column_intervals(width, self.column_pitch))
        self.viewport().update()

    def _row_ticks(self, y: Span, height: float) -> tuple[tuple[float, str], ...]:
        """A low axis prints only its lowest and highest number."""
        places = ticks(y, row_intervals(height))
        return places if height >= 60 or len(places) < 3 else (places[0], places[-1])

    # --- painting ------------------------------------------------------------------------------------------------

    def drawBackground(self, painter: QPainter, rect: QRectF) -> None:
        with reported(self), saved(painter):
            self._in_pixels(painter)
            turn = painter.deviceTransform()
            if self.still_below > -math.inf and painter.paintEngine().type() == QPaintEngine.Type.Raster:
                painter.drawImage(QPointF(0, 0), self._kept_ground(round(turn.m11(), 3)))
            else:
                self._paint_ground(painter)
            paint_items(painter, self.frame_px, [item for item in self._items if item.z >= self.still_below])

    def _paint_ground(self, painter: QPainter) -> None:
        """Page, grid, axes, and the items that seldom change."""
        # Exactly the widget: the exposed part of the scene reaches beyond it, and a vector file may not clip.
        painter.fillRect(self.viewport().rect(), self.backgroundBrush())
        self._paint_grid(painter)
        self.paint_under(painter)
        self.paint_axes(painter)
        paint_items(painter, self.frame_px, [item for item in self._items if item.z < self.still_below])

    def _kept_ground(self, ratio: float) -> QImage:
        """The ground as a picture, painted again only when something in it is another."""
        size = self.viewport().size()
        versions = tuple((item.version, item.shown) for item in self._items if item.z < self.still_below)
        key = (size.width(), size.height(), ratio, current().name, self.frame_px, self.x_ticks, self.y_ticks, versions)
        if self._ground is None or key != self._ground_of:
            if self._ground is None or self._ground.size() != size * ratio:
                self._ground = QImage(size * ratio, QImage.Format.Format_RGB32)
                self._ground.setDevicePixelRatio(ratio)
            self._ground_of = None
            with QPainter(self._ground) as painter:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                self._paint_ground(painter)
            self._ground_of = key
        return self._ground

    def _in_pixels(self, painter: QPainter) -> None:
        """Back to widget pixels, on whatever the view is being drawn: the screen, a picture, an SVG."""
        inverse, _ = self.viewportTransform().inverted()
        painter.setWorldTransform(inverse * painter.worldTransform())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:
        with reported(self), saved(painter):
            self._in_pixels(painter)
            self.paint_over(painter)
            if self._ring and self.hasFocus():
                frame = self.frame_px
                painter.setPen(QPen(QColor(current().query), 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(QRectF(frame.left - 3, frame.top - 3, frame.width + 6, frame.height + 6), 4, 4)

    def grid_rows(self) -> list[float]:
        """Return the rows of the grid lines: the pixel in which the number of each stands."""
        frame = self.frame_px
        rows = (math.floor(float(frame.y_px(value))) + 0.5 for value, _ in self.y_ticks)
        return [row for row in rows if frame.top <= row <= frame.bottom + 1]

    def _paint_grid(self, painter: QPainter) -> None:
        """Level lines behind the data."""
        frame = self.frame_px
        painter.setPen(QPen(QColor(current().grid), 1, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
        for row in self.grid_rows():
            painter.drawLine(QPointF(frame.left, row), QPointF(frame.right, row))

    def paint_axes(self, painter: QPainter) -> None:
        """Paint the bottom axis line and the numbers of both axes."""
        frame, theme = self.frame_px, current()
        row = round(frame.bottom) + 0.5
        painter.setPen(QPen(QColor(theme.border), 1))
        painter.drawLine(QPointF(frame.left - 1, row), QPointF(frame.right + 1, row))
        for value, text in self.y_ticks:
            if frame.y_px(value) < frame.top + self.title_room:
                continue
            runs = (Run(text, theme.muted, 11),)
            paint_runs(painter, runs, frame.left - 7 - width_of(runs), frame.y_px(value), halo=False)
        for value, text in self.x_ticks:
            self.paint_x_tick(painter, frame.x_px(value), text)

    def paint_x_tick(self, painter: QPainter, x: float, text: str) -> None:
        """Paint a number under the bottom axis, kept inside the widget."""
        runs = (Run(text, current().muted, 11),)
        width = width_of(runs)
        left = min(max(x - width / 2, 2.0), self.viewport().width() - width - 2)
        paint_runs(painter, runs, left, self.frame_px.bottom + 12, halo=False)

    def paint_x_title(self, painter: QPainter, title: str) -> None:
        """Paint the title of the bottom axis, right aligned under its numbers."""
        runs = (Run(title, current().muted, 11),)
        paint_runs(painter, runs, self.frame_px.right - width_of(runs), self.frame_px.bottom + 30, halo=False)

    # --- Qt ------------------------------------------------------------------------------------------------------

    def close(self) -> bool:
        # pyqtgraph takes scene and viewport away here, from under what Python still holds; the parent cleans up.
        return QWidget.close(self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # pyqtgraph calls this while it is being constructed.
        if hasattr(self, "_zoom"):
            self.relayout()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_ring"):
            self.restyle()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DevicePixelRatioChange and hasattr(self, "_ring"):
            self.restyle()
        return super().event(event)


def _zoomed(low: float, high: float, share: float, factor: float) -> tuple[float, float]:
    """Return the part of the whole (0, 1) that is visible after scaling it around a share of the visible part."""
    length = min(max((high - low) * factor, _DEEPEST_ZOOM), 1.0)
    start = low + share * (high - low) - share * length
    start = min(max(start, 0.0), 1.0 - length)
    return start, start + length
