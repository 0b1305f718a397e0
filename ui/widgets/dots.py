"""Observations as dots: area = weight, filled from one per cent on, light under heavy, the selected on top."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QImage, QPaintEngine, QPainter, QPen

from ..theme import current

LARGEST, SMALLEST = 15.0, 3.2
HEAVY = 0.01  # weight from which a dot is filled and always named
RING = 3.5  # distance of the selected dot's second ring
CELL = 7.0  # of dots in one cell of a crowd only one is drawn
CROWD = 1500  # tokens from which light dots that lie over each other are drawn once
_FEW = 50  # up to that, each light dot is drawn as a circle of its own


def radii(weight: np.ndarray, kind: str) -> np.ndarray:
    """Return the radius of each dot in pixels; in the regression scene relative to the largest weight."""
    size = np.clip(np.nan_to_num(weight), 0.0, None)
    if kind == "regression":
        largest = float(size.max(initial=0.0))
        size = 0.45 * size / largest if largest > 0 else size
    return np.maximum(LARGEST * np.sqrt(np.minimum(size, 1.0)), SMALLEST)


def named(weight: np.ndarray, visible: np.ndarray, selected: int, most: int) -> list[int]:
    """Return which dots ask for a label, the selected first, then by weight: the heavy ones, otherwise up to four."""
    order = [int(i) for i in np.argsort(-weight, kind="stable") if visible[i] and i != selected]
    heavy = sum(1 for i in order if weight[i] >= HEAVY)
    chosen = order[: min(max(heavy, 3), most - 1)]
    return [selected, *chosen] if 0 <= selected < len(weight) and visible[selected] else chosen


def apart(places: np.ndarray) -> np.ndarray:
    """Return which of many dots (n, 3) to draw, (n,) bool: one of those that would lie over each other."""
    cells = np.floor(places[:, :2] / CELL).astype(np.int64)
    _, first = np.unique(cells, axis=0, return_index=True)
    chosen = np.zeros(len(places), dtype=bool)
    chosen[first] = True
    return chosen


def paint_dots(painter: QPainter, places: np.ndarray, weight: np.ndarray, shown: np.ndarray) -> None:
    """Paint dots (n, 3) of x, y, radius in pixels, light to heavy; `shown` says which."""
    theme = current()
    ink, panel = QColor(theme.weight_ink), QColor(theme.panel)
    order = np.flatnonzero(shown)
    order = order[np.argsort(weight[order], kind="stable")]
    light = order[weight[order] < HEAVY]
    heavy = order[weight[order] >= HEAVY]
    if len(light) > _FEW and painter.paintEngine().type() == QPaintEngine.Type.Raster:
        _stamp(painter, places[light])
    else:
        painter.setPen(QPen(ink, 1.3))
        painter.setBrush(panel)
        for x, y, r in places[light]:
            painter.drawEllipse(QPointF(x, y), r, r)
    fill = QColor(ink)
    fill.setAlphaF(0.92)
    painter.setPen(QPen(panel, 1.2))
    painter.setBrush(fill)
    for x, y, r in places[heavy]:
        painter.drawEllipse(QPointF(x, y), r, r)


def _stamp(painter: QPainter, places: np.ndarray) -> None:
    """Paint light dots, which are all alike if they have one radius, as copies of pictures made once.

    A circle is drawn in an eighth of a millisecond, a copy in a fiftieth of that. Copies stand on whole pixels.
    """
    theme, scale = current(), painter.deviceTransform().m11()
    for radius in np.unique(places[:, 2]).tolist():
        picture = _dot(radius, scale, theme.weight_ink, theme.panel)
        side = picture.width() / scale
        there = places[places[:, 2] == radius]
        corners = np.round((there[:, :2] - side / 2) * scale) / scale
        for x, y in corners.tolist():
            painter.drawImage(QPointF(x, y), picture)


@lru_cache(maxsize=64)
def _dot(radius: float, scale: float, ink: str, panel: str) -> QImage:
    side = math.ceil((2 * radius + 1.3) * scale) + 2
    picture = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
    picture.fill(Qt.GlobalColor.transparent)
    middle = side / scale / 2
    with QPainter(picture) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(scale, scale)
        painter.setPen(QPen(QColor(ink), 1.3))
        painter.setBrush(QColor(panel))
        painter.drawEllipse(QPointF(middle, middle), radius, radius)
    picture.setDevicePixelRatio(scale)
    return picture


def paint_selected(painter: QPainter, x: float, y: float, r: float, filled: bool) -> None:
    """Paint the selected dot with its second ring."""
    key, panel = QColor(current().key), QColor(current().panel)
    painter.setPen(QPen(key, 1.6))
    painter.setBrush(panel)
    painter.drawEllipse(QPointF(x, y), r + RING, r + RING)
    painter.setPen(QPen(panel, 0.8) if filled else QPen(key, 1.3))
    painter.setBrush(key if filled else panel)
    painter.drawEllipse(QPointF(x, y), r, r)


def moved_away(before: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Return which dots are no longer where they were, (n,) bool."""
    return np.asarray(np.abs(before - now).max(axis=1, initial=0.0) > 1.0)


def paint_before(painter: QPainter, before: np.ndarray, now: np.ndarray, shown: np.ndarray) -> None:
    """Paint dotted outlines where dots (n, 3) were, if they moved or changed size by more than a pixel."""
    moved = shown & moved_away(before, now)
    painter.setPen(_dotted(1.4))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for x, y, r in before[moved]:
        painter.drawEllipse(QPointF(x, y), r, r)


def paint_way(painter: QPainter, before: np.ndarray, now: np.ndarray) -> None:
    """Paint a dotted arrow from the old place of the selected dot (x, y, radius) to its new one."""
    step = now[:2] - before[:2]
    length = float(np.hypot(*step))
    room = before[2] + now[2] + RING + 12
    if length <= room:
        return
    unit = step / length
    start, tip = before[:2] + unit * before[2], now[:2] - unit * (now[2] + RING + 4)
    side = np.asarray([-unit[1], unit[0]])
    painter.setPen(_dotted(1.4))
    painter.drawLine(QPointF(*start), QPointF(*tip))
    painter.setPen(QPen(QColor(current().editedink), 1.6))
    painter.drawPolyline([QPointF(*(tip - 7 * unit + 4 * side)), QPointF(*tip), QPointF(*(tip - 7 * unit - 4 * side))])


def _dotted(width: float) -> QPen:
    pen = QPen(QColor(current().editedink), width)
    pen.setDashPattern([1.8, 1.6])
    return pen
