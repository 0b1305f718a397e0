"""What the hero paints in pixels: query axis, drop line, dots, before-outlines, and every label by the label rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from kav.views.words import number

from ..marks import paint_mark
from ..theme import current
from .dots import CROWD, HEAVY, RING, apart, paint_before, paint_dots, paint_selected, paint_way
from .fit_labels import LONGEST, paint_labels, pen, row_of
from .labels import Box, Obstacles
from .lettering import paint_runs
from .runs import Run, fitted, width_of

if TYPE_CHECKING:
    from .fit_picture import FitPicture

AXIS_GAP = 8.0


def paint_fit(painter: QPainter, plot: FitPicture) -> None:
    """Paint everything over the curves."""
    _paint_drop_line(painter, plot)
    _paint_dots(painter, plot)
    _paint_query_dot(painter, plot)
    _paint_bandwidth(painter, plot)
    plot.paint_x_title(painter, plot.result.x_title)
    paint_labels(painter, plot)
    _paint_query_axis(painter, plot)
    _paint_focus(painter, plot)


def _paint_drop_line(painter: QPainter, plot: FitPicture) -> None:
    frame = plot.frame_px
    x = float(frame.query_px(plot.query_shown))
    foot = frame.bottom if plot.result.kind == "regression" else row_of(plot, plot.f_shown)
    if frame.left <= x <= frame.right:
        painter.setPen(pen(current().query, 1.0, (3.5, 3.0)))
        painter.drawLine(QPointF(x, frame.top - AXIS_GAP), QPointF(x, foot))


def _inside(plot: FitPicture, places: np.ndarray) -> np.ndarray:
    frame = plot.frame_px
    across = (places[:, 0] > frame.left - 4) & (places[:, 0] < frame.right + 4)
    return across & (places[:, 1] > frame.top - 4) & (places[:, 1] < frame.bottom + 4)


def _paint_dots(painter: QPainter, plot: FitPicture) -> None:
    result, places, before = plot.result, plot.places, plot.before_px()
    shown = np.asarray(result.points.visible, dtype=bool) & _inside(plot, places)
    selected = result.selected if 0 <= result.selected < len(places) and shown[result.selected] else -1
    weight, crowded = np.asarray(result.points.weight), len(places) > CROWD
    if before is not None and result.before is not None:
        was = np.asarray(result.before.visible, dtype=bool) & _inside(plot, before)
        paint_before(painter, before, places, was & apart(before) if crowded else was)
        if selected >= 0 and was[selected]:
            paint_way(painter, before[selected], places[selected])
    if selected >= 0:
        shown[selected] = False
    if result.density is not None:
        shown &= apart(places)
    elif crowded:
        shown &= apart(places) | (weight >= HEAVY)
    plot.drawn = shown.copy()
    if selected >= 0:
        plot.drawn[selected] = True
    paint_dots(painter, places, weight, shown)
    if selected >= 0:
        x, y, r = places[selected]
        paint_selected(painter, x, y, r, weight[selected] >= HEAVY)


def _paint_query_dot(painter: QPainter, plot: FitPicture) -> None:
    frame, f = plot.frame_px, plot.f_shown
    x, y = float(frame.query_px(plot.query_shown)), float(frame.y_px(f)) if np.isfinite(f) else -1.0
    if not (frame.left <= x <= frame.right and frame.top <= y <= frame.bottom):
        return
    size = 6.0 if plot.ring in ("prediction", "curve") else 4.2
    painter.setPen(pen(current().panel, 1.4))
    painter.setBrush(QColor(current().query))
    painter.drawEllipse(QPointF(x, y), size, size)


def _paint_bandwidth(painter: QPainter, plot: FitPicture) -> None:
    """The two edges of the kernel show when they are near the hand or have the keyboard."""
    if "h" not in (plot.hover, plot.dragged, plot.active if plot.hasFocus() else "") and plot.ring != "kernel":
        return
    painter.setPen(pen(current().query, 1.6))
    painter.setBrush(QColor(current().panel))
    for x, y, _ in plot.h_ends():
        painter.drawEllipse(QPointF(x, y), 4.5, 4.5)


def _paint_query_axis(painter: QPainter, plot: FitPicture) -> None:
    frame, theme, result = plot.frame_px, current(), plot.result
    row = frame.top - AXIS_GAP
    line = QColor(theme.query)
    line.setAlphaF(0.65)
    painter.setPen(QPen(line, 1.6))
    painter.drawLine(QPointF(frame.left, row), QPointF(frame.right, row))
    x = min(max(float(frame.query_px(plot.query_shown)), frame.left), frame.right)
    title = (Run("query", theme.query, 12, 600),)
    paint_runs(painter, title, frame.left, row - 17, halo=False)
    taken = Obstacles.of(boxes=[Box(frame.left, row - 24, width_of(title), 14)])
    painter.setPen(QPen(QColor(theme.query), 1.4))
    for at, _ in [] if result.kind == "head" else plot.x_ticks:
        column = float(frame.query_px(at))
        painter.drawLine(QPointF(column, row - 3.5), QPointF(column, row))
    for column, runs in _axis_labels(plot, x):
        painter.setPen(QPen(QColor(theme.query), 1.4))
        painter.drawLine(QPointF(column, row - 3.5), QPointF(column, row))
        width = width_of(runs)
        left = min(max(column - width / 2, frame.left), frame.right - width)
        box = Box(left, row - 24, width, 14)
        if taken.free(box, 4):
            paint_runs(painter, runs, left, row - 17, halo=False)
            taken = taken.with_box(box)
    if plot.ring == "query" or (plot.active == "query" and plot.hasFocus() and plot._ring):
        painter.setPen(QPen(QColor(theme.query), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(QPointF(x, row), 11, 11)
    paint_mark(painter, "query", x, row + 0.5, 6.6)


def _axis_labels(plot: FitPicture, x: float) -> list[tuple[float, tuple[Run, ...]]]:
    """The labels of the query axis and their columns: the tokens of a head, the place of a regression query."""
    frame, theme, result = plot.frame_px, current(), plot.result
    if result.kind == "regression":
        return [(x, (Run(f"x = {number(plot.query_shown, result.decimals[0])}", theme.ink, 12, 500),))]
    labels = []
    for at, figures, text in result.query_ticks:
        column = float(frame.query_px(at))
        if not frame.left <= column <= frame.right:
            continue
        word = Run(text, theme.ink, 12, 500) if figures else Run(text, theme.text2, 12)
        labels.append((column, fitted((Run(f"{figures} ", theme.muted, 11), word) if figures else (word,), LONGEST)))
    return labels


def _paint_focus(painter: QPainter, plot: FitPicture) -> None:
    """Ring the dot that the keyboard moves, or that the correspondence table is about."""
    index = plot.result.selected
    keyboard = plot.hasFocus() and plot._ring and plot.active == f"dot{plot.result.sample(index)}"
    if not (keyboard or plot.ring in ("key", "response", "weight")) or not 0 <= index < len(plot.places):
        return
    x, y, r = plot.places[index]
    painter.setPen(QPen(QColor(current().query if keyboard else current().key), 2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawEllipse(QPointF(x, y), r + RING + 4, r + RING + 4)
