"""Short text on a plot: runs with a halo under them, painted once and kept."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from PySide6.QtCore import QPointF, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPaintEngine, QPainter, QPainterPath, QPen

from ..theme import current, font
from .runs import Run, Runs, paint_line, width_of

HALO = 3.5
AROUND = tuple(
    QPointF(HALO / 2 * math.cos(turn * math.pi / 5), HALO / 2 * math.sin(turn * math.pi / 5)) for turn in range(10)
)
EDGE = 4.0  # around kept text, for halo, marks and what leans out


def height_of(runs: Runs) -> float:
    """Return the height a row of runs takes in the label rule: its largest letters, not the line spacing."""
    return max((run.px for run in runs), default=12) + 2.0


def paint_runs(painter: QPainter, runs: Runs, x: float, y: float, *, halo: bool = True) -> None:
    """Paint runs from x rightwards, centred on the row y.

    On a screen they are painted once and kept as a picture, which stands on whole pixels: laying text out, eleven
    times over where it has a halo, is most of what painting a plot costs. A file gets the text.
    """
    turn = painter.deviceTransform()
    if painter.paintEngine().type() != QPaintEngine.Type.Raster or turn.isRotating():
        _paint(painter, runs, x, y, halo=halo)
        return
    ratio = round(turn.m11(), 3)
    image, ascent = _kept(runs, halo, current().name, ratio)
    base = round((y + _half_capitals(runs)) * ratio) / ratio
    painter.drawImage(QPointF(round((x - EDGE) * ratio) / ratio, base - ascent), image)


def _half_capitals(runs: Runs) -> float:
    """How far below its middle row the text stands."""
    return max((capitals(run.px, run.weight) for run in runs), default=8.0) / 2


@lru_cache(maxsize=256)
def capitals(px: int, weight: int) -> float:
    """Return the height of a capital letter."""
    return QFontMetricsF(font(px, weight)).capHeight()


@lru_cache(maxsize=512)
def _kept(runs: Runs, halo: bool, theme: str, ratio: float) -> tuple[QImage, float]:
    """A picture of the runs in the theme of that name, and how far below its top the text stands."""
    ascent = max((run.px for run in runs), default=12) + EDGE
    size = QSizeF(width_of(runs) + 2 * EDGE, 1.5 * ascent) * ratio
    image = QImage(math.ceil(size.width()), math.ceil(size.height()), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(ratio)
    image.fill(0)
    with QPainter(image) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        _paint(painter, runs, EDGE, ascent - _half_capitals(runs), halo=halo)
    return image, ascent


def _paint(painter: QPainter, runs: Runs, x: float, y: float, *, halo: bool) -> None:
    base = y + _half_capitals(runs)
    if halo:
        for i, run in enumerate(runs):
            _paint_halo(painter, run, QPointF(x + width_of((*runs[:i], replace(run, text=""))), base))
    paint_line(painter, runs, x, base)


def _paint_halo(painter: QPainter, run: Run, at: QPointF) -> None:
    """Clear the ground under a text by the halo's half width.

    On a screen the text itself is painted around its place in the panel colour, a tenth of the cost of a stroked
    outline; in a file, where each copy would be an element, the outline is stroked.
    """
    theme = current()
    if painter.paintEngine().type() == QPaintEngine.Type.Raster:
        painter.setFont(font(run.px, run.weight))
        painter.setPen(QColor(theme.panel))
        for way in AROUND:
            painter.drawText(at + way, run.text)
        return
    path = QPainterPath()
    path.addText(at, font(run.px, run.weight), run.text)
    outline = QPen(QColor(theme.panel), HALO)
    outline.setCapStyle(Qt.PenCapStyle.RoundCap)
    outline.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    painter.strokePath(path, outline)
