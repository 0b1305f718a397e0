"""Curves, areas and clouds of a plot: data in units of its axes, painted in widget pixels inside the drawing area.

On a screen what leaves the drawing area is clipped. A vector file has no clips, or its readers ignore them: there it is
cut off beforehand. Each item counts its changes in `version`, so that a plot can keep a picture of those that stay.
"""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPaintEngine, QPainter, QPainterPath, QPainterPathStroker, QPen

from ..painting import saved
from ..theme import current
from .axes import Frame, thinned

_VECTOR = (QPaintEngine.Type.SVG, QPaintEngine.Type.Pdf)
_FAR = 1e5  # pixels: lines to places further off are drawn to there


class Item:
    """What all have: `z` says what lies over what, `shown` whether it is painted."""

    def __init__(self, z: float) -> None:
        self.z = z
        self.version = 0
        self._shown = True
        self._arrays: tuple[np.ndarray, ...] = ()

    @property
    def shown(self) -> bool:
        """Whether it is painted."""
        return self._shown

    @shown.setter
    def shown(self, shown: bool) -> None:
        if shown != self._shown:
            self._shown = shown
            self.version += 1

    @property
    def data(self) -> tuple[np.ndarray, ...]:
        """The arrays last set, empty before."""
        return self._arrays

    def set_data(self, *arrays: np.ndarray) -> None:
        """Set the arrays; the same numbers again are no change."""
        new = tuple(np.asarray(array, dtype=float) for array in arrays)
        same = len(new) == len(self._arrays) and all(map(_equal, new, self._arrays))
        if not same:
            self._arrays = new
            self.version += 1

    def paint(self, painter: QPainter, frame: Frame) -> None:
        """Paint it in widget pixels."""
        raise NotImplementedError


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one is other or np.array_equal(one, other, equal_nan=True)


class Curve(Item):
    """A line through points x, y over the query axis; where one is NaN it is interrupted."""

    def __init__(self, color: str, width: float, dash: tuple[float, ...], z: float, *, level: bool = False) -> None:
        super().__init__(z)
        self.color, self.width, self.dash = color, width, dash
        self._level = level  # a level line is crisp without antialiasing

    def pen(self) -> QPen:
        """Return its pen in the present theme, dashes in pixels."""
        pen = QPen(QColor(getattr(current(), self.color)), self.width)
        if self.dash:
            pen.setDashPattern([length / self.width for length in self.dash])
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        return pen

    def paint(self, painter: QPainter, frame: Frame) -> None:
        if len(self._arrays) != 2 or not self._arrays[0].size:
            return
        x, y = _pixels(frame, *self._arrays)
        pen = self.pen()
        if _in_file(painter):
            _stroke_in_file(painter, frame, _path(x, y), pen)
            return
        painter.setPen(pen)
        if self._level:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for first, last in _runs(np.isfinite(x) & np.isfinite(y)):
            across, down = thinned(x[first:last], y[first:last])
            if self.dash:  # only a line in one piece keeps its dashes
                painter.drawPolyline(pg.functions.arrayToQPolygonF(across, down))
            else:  # a third of the time of a polyline, whose joints nobody sees
                ends = np.stack([across[:-1], down[:-1], across[1:], down[1:]], axis=1)
                painter.drawLines([QLineF(*line) for line in ends.tolist()])
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)


class Area(Item):
    """What lies between two curves x, low, high; where either is NaN there is a gap."""

    def __init__(self, color: str, alpha: float, z: float) -> None:
        super().__init__(z)
        self.color, self.alpha = color, alpha

    def paint(self, painter: QPainter, frame: Frame) -> None:
        if len(self._arrays) != 3:
            return
        x, low, high = self._arrays
        x_px, low_px = _pixels(frame, x, low)
        _, high_px = _pixels(frame, x, high)
        color = QColor(getattr(current(), self.color))
        color.setAlphaF(self.alpha)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QBrush(color))
        for first, last in _runs(np.isfinite(low_px) & np.isfinite(high_px)):
            around = np.concatenate([x_px[first:last], x_px[first:last][::-1]])
            rows = np.concatenate([low_px[first:last], high_px[first:last][::-1]])
            if _in_file(painter):
                painter.fillPath(_inside(frame, _path(around, rows)), painter.brush())
            else:
                painter.drawPolygon(pg.functions.arrayToQPolygonF(around, rows))


class Cloud(Item):
    """An image over a part of the plot; row 0 is the lowest."""

    def __init__(self, z: float) -> None:
        super().__init__(z)
        self.image: QImage | None = None
        self.extent = (0.0, 1.0, 0.0, 1.0)

    def set_image(self, image: QImage, extent: tuple[float, float, float, float]) -> None:
        """Set the image and its outer edges: left, right, low, high."""
        self.image, self.extent = image, extent
        self.version += 1

    def paint(self, painter: QPainter, frame: Frame) -> None:
        if self.image is None:
            return
        left, right, low, high = self.extent
        x, y = _pixels(frame, np.asarray([left, right]), np.asarray([high, low]))
        place = QRectF(x[0], y[0], x[1] - x[0], y[1] - y[0])
        shown = place.intersected(_room(frame))
        if shown.isEmpty():
            return
        across, down = self.image.width() / place.width(), self.image.height() / place.height()
        part = QRectF(
            (shown.left() - place.left()) * across,
            (shown.top() - place.top()) * down,
            shown.width() * across,
            shown.height() * down,
        )
        painter.drawImage(shown, self.image, part)


def paint_items(painter: QPainter, frame: Frame, items: list[Item]) -> None:
    """Paint items, the lowest first, inside the drawing area."""
    with saved(painter):
        if not _in_file(painter):
            painter.setClipRect(_room(frame))
        for item in sorted(items, key=lambda item: item.z):
            if item.shown:
                item.paint(painter, frame)


def _room(frame: Frame) -> QRectF:
    return QRectF(frame.left, frame.top, frame.width, frame.height)


def _in_file(painter: QPainter) -> bool:
    return painter.paintEngine().type() in _VECTOR


def _pixels(frame: Frame, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places in pixels, held within what a painter can count."""
    with np.errstate(over="ignore"):
        x, y = np.asarray(frame.query_px(x)), np.asarray(frame.y_px(y))
    return np.clip(x, -_FAR, _FAR), np.clip(y, -_FAR, _FAR)


def _runs(held: np.ndarray) -> list[tuple[int, int]]:
    """First and last + 1 of each run of two or more."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], held, [False]]).astype(np.int8)))
    return [(first, last) for first, last in edges.reshape(-1, 2).tolist() if last - first > 1]


def _path(x: np.ndarray, y: np.ndarray) -> QPainterPath:
    return pg.functions.arrayToQPath(x, y, connect="finite")


def _inside(frame: Frame, path: QPainterPath) -> QPainterPath:
    """What of a filled path lies inside the drawing area."""
    room = _room(frame)
    if room.adjusted(-1, -1, 1, 1).contains(path.boundingRect()):
        return path
    inside = QPainterPath()
    inside.addRect(room)
    return path.intersected(inside)


def _stroke_in_file(painter: QPainter, frame: Frame, path: QPainterPath, pen: QPen) -> None:
    """Stroke a path; only the outline of a line can be cut, an open path would be closed."""
    if _room(frame).adjusted(-1, -1, 1, 1).contains(path.boundingRect()):
        painter.strokePath(path, pen)
    else:
        painter.fillPath(_inside(frame, QPainterPathStroker(pen).createStroke(path)), pen.brush())
