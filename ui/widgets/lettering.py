"""Short text on a plot: runs of text in their own size, weight and colour, marks between them, a halo under them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import QPointF, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPaintEngine, QPainter, QPainterPath, QPen

from kav.views.words import Label, Mark, Reading

from ..marks import mark_width, paint_mark
from ..theme import current, font, role_color
from .drawing import text_width
from .token_label import drawable

HALO = 3.5
AROUND = tuple(
    QPointF(HALO / 2 * math.cos(turn * math.pi / 5), HALO / 2 * math.sin(turn * math.pi / 5)) for turn in range(10)
)
EDGE = 4.0  # around kept text, for halo, marks and what leans out
MARK_R = 4.0
MARK_GAP = 4.0


@dataclass(frozen=True)
class Run:
    """Text of one size, weight and colour, after a mark if there is one."""

    text: str
    color: str = ""  # "" = second text
    px: int = 12
    weight: int = 400
    mark: Mark = ""


def width_of(runs: tuple[Run, ...]) -> float:
    """Return the width of the runs in a row."""
    total = 0.0
    for run in runs:
        if run.mark:
            total += mark_width(run.mark, MARK_R) + MARK_GAP
        total += text_width(run.text, font(run.px, run.weight))
    return total


def height_of(runs: tuple[Run, ...]) -> float:
    """Return the height a row of runs takes in the label rule: its largest letters, not the line spacing."""
    return max((run.px for run in runs), default=12) + 2.0


def elided(runs: tuple[Run, ...], width: float) -> tuple[Run, ...]:
    """Return the runs with the last one cut so that they fit into `width`."""
    if not runs or width_of(runs) <= width:
        return runs
    head, last = runs[:-1], runs[-1]
    room = max(width - width_of(head), 12.0)
    text = QFontMetricsF(font(last.px, last.weight)).elidedText(last.text, Qt.TextElideMode.ElideRight, room)
    return (*head, Run(text, last.color, last.px, last.weight, last.mark))


def paint_runs(painter: QPainter, runs: tuple[Run, ...], x: float, y: float, *, halo: bool = True) -> None:
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


def _half_capitals(runs: tuple[Run, ...]) -> float:
    """How far below its middle row the text stands."""
    return max((capitals(run.px, run.weight) for run in runs), default=8.0) / 2


@lru_cache(maxsize=256)
def capitals(px: int, weight: int) -> float:
    """Return the height of a capital letter."""
    return QFontMetricsF(font(px, weight)).capHeight()


@lru_cache(maxsize=512)
def _kept(runs: tuple[Run, ...], halo: bool, theme: str, ratio: float) -> tuple[QImage, float]:
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


def _paint(painter: QPainter, runs: tuple[Run, ...], x: float, y: float, *, halo: bool) -> None:
    theme = current()
    base = y + _half_capitals(runs)
    placed = []
    for run in runs:
        if run.mark:
            half = mark_width(run.mark, MARK_R) / 2
            placed.append((run, x + half, True))
            x += 2 * half + MARK_GAP
        placed.append((run, x, False))
        x += text_width(run.text, font(run.px, run.weight))
    if halo:
        for run, at, is_mark in placed:
            if not is_mark:
                _paint_halo(painter, run, QPointF(at, base))
    for run, at, is_mark in placed:
        if is_mark:
            paint_mark(painter, run.mark, at, y, MARK_R)
            continue
        painter.setFont(font(run.px, run.weight))
        painter.setPen(QColor(run.color or theme.text2))
        painter.drawText(QPointF(at, base), run.text)


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


def label_runs(label: Label, *, strong: bool = False, ink: bool = False) -> tuple[Run, ...]:
    """Return a token's label: its position in small muted figures, then its text."""
    theme = current()
    color = theme.ink if strong or ink else theme.text2
    text = Run(drawable(label.shown), color, 12, 600 if strong else 400)
    if label.position is None:
        return (text,)
    return (Run(f"{label.position} ", theme.muted, 11), text)


def reading_runs(reading: Reading, px: int = 11) -> tuple[Run, ...]:
    """Return the pieces of an axis title: muted text, ink for what is strong or marked."""
    theme = current()
    runs = []
    for piece in reading:
        plain = not piece.strong and not piece.mark and not piece.role
        color = theme.muted if plain else theme.ink if piece.mark else role_color(piece.role, piece.strong).name()
        runs.append(Run(piece.text, color, px, 500 if piece.strong or piece.mark else 400, piece.mark))
    return tuple(runs)
