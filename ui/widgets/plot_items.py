"""Curves and areas that come out the same in a vector file.

On a screen they are drawn with cosmetic pens, which keep their width although the plot stretches x and y differently,
and clipped to the drawing area. A file has neither, or its readers ignore them: there the same lines are drawn in
widget pixels with plain pens, and what leaves the drawing area is cut off beforehand.
"""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtGui import QBrush, QPaintEngine, QPainter, QPainterPath, QPainterPathStroker, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsPathItem

_VECTOR = (QPaintEngine.Type.SVG, QPaintEngine.Type.Pdf)


def _in_file(painter: QPainter) -> bool:
    return painter.paintEngine().type() in _VECTOR


def _stroke(painter: QPainter, item: QGraphicsItem, path: QPainterPath, pen: QPen) -> None:
    """Stroke a path of an item in widget pixels."""
    plain = QPen(pen)
    plain.setCosmetic(False)
    plain.setWidthF(pen.widthF() / item.scene().views()[0].pen_ratio)
    _paint_in_pixels(painter, item, path, plain)


def _paint_in_pixels(
    painter: QPainter, item: QGraphicsItem, path: QPainterPath, pen: QPen | None = None, brush: QBrush | None = None
) -> None:
    """Stroke or fill a path of an item in widget pixels, inside the drawing area."""
    view = item.scene().views()[0]
    to_pixels = item.sceneTransform() * view.viewportTransform()
    to_item, possible = to_pixels.inverted()
    if not possible:
        return
    frame = view.frame_px
    room, shown = QRectF(frame.left, frame.top, frame.width, frame.height), to_pixels.map(path)
    leaves = not room.adjusted(-1, -1, 1, 1).contains(shown.boundingRect())
    if pen is not None and leaves:  # only the outline of a line can be cut: an open path would be closed
        shown, brush, pen = QPainterPathStroker(pen).createStroke(shown), pen.brush(), None
    if leaves:
        inside = QPainterPath()
        inside.addRect(room)
        shown = shown.intersected(inside)
    painter.save()
    painter.setWorldTransform(to_item * painter.worldTransform())
    if pen is not None:
        painter.strokePath(shown, pen)
    elif brush is not None:
        painter.fillPath(shown, brush)
    painter.restore()


class Area(QGraphicsPathItem):
    """A filled area without an outline."""

    def paint(self, painter: QPainter, option: Any, widget: Any = None) -> None:
        if _in_file(painter):
            _paint_in_pixels(painter, self, self.path(), brush=self.brush())
        else:
            super().paint(painter, option, widget)


class Curve(pg.PlotCurveItem):
    """A curve."""

    def paint(self, painter: QPainter, option: Any, widget: Any = None) -> None:
        if not _in_file(painter):
            super().paint(painter, option, widget)
        elif self.xData is not None and len(self.xData):
            _stroke(painter, self, self.getPath(), self.opts["pen"])
