"""Several baselines at once are named at their right ends, beside the plot: on the curves six names would cover it.

Each name stands at the height of its curve's end, or as near as the others allow, tied to it by a line; before it a
piece of the curve shows its dashes, under it how far the right end moves with the left-most response.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QPainter, QPen

from kav.views.words import number

from ..theme import current
from .labels import Box
from .plot_items import Curve
from .runs import Run, fitted, width_of

if TYPE_CHECKING:
    from .fit_labels import Labels
    from .fit_picture import FitPicture

TIE, SAMPLE, GAP = 12.0, 22.0, 6.0  # the line from the curve, the piece of it, and the gap before the name
WIDEST = 136.0
LEAST = 1e-6  # of a far-end influence that is worth its digits
ROW, TWO_ROWS = 15.0, 29.0


@dataclass(frozen=True)
class End:
    """The row in which a curve ends, that of its name, and the curve."""

    curve_row: float
    row: float
    curve: Curve


def room_for(plot: FitPicture) -> float:
    """Return the room that names beside the plot take, 0 where there are none."""
    if plot.result is None or len(plot.result.baselines) < 2:
        return 0.0
    widest = max(max(width_of(name), width_of(note)) for name, note in _words(plot))
    return TIE + SAMPLE + GAP + widest


def _words(plot: FitPicture) -> list[tuple[tuple[Run, ...], tuple[Run, ...]]]:
    """Name and note of the fit and of each baseline."""
    theme, result = current(), plot.result
    influence = dict(result.influences)
    own = next(iter(result.influences), ("", None))[1]  # the fit's comes first
    named = [("f as the query moves", "", own, theme.query)]
    for words, _, _ in result.baselines:
        name, _, how = words.partition(" (")
        named.append((name, how.removesuffix(")"), influence.get(words), theme.text2))
    found = []
    for name, how, value, color in named:
        notes = [how] if how else []
        notes += [] if value is None else [f"far end {far_end(value)}"]
        note = fitted((Run(", ".join(notes), theme.muted, 10),), WIDEST)
        found.append((fitted((Run(name, color, 11, 500),), WIDEST), note))
    return found


def put_ends(labels: Labels, plot: FitPicture) -> list[End]:
    """Place the names, and return where they stand; the notes are left out where there is no height for them."""
    frame, words, result = plot.frame_px, _words(plot), plot.result
    pitch = TWO_ROWS if len(words) * TWO_ROWS <= frame.height else ROW
    lines = [(result.curve_at, result.curve_f), *((at, y) for _, at, y in result.baselines)]
    ends = [_end_row(plot, np.asarray(at), np.asarray(y)) for at, y in lines]
    rows = spread(np.asarray(ends), pitch, frame.top + pitch / 2, frame.bottom - pitch / 2)
    left, two = frame.right + TIE + SAMPLE + GAP, pitch == TWO_ROWS
    for row, (name, note) in zip(rows.tolist(), words, strict=True):
        labels.fix(name, Box(left, row - (13 if two else 6.5), width_of(name), 13))
        if two and note[0].text:
            labels.fix(note, Box(left, row, width_of(note), 12))
    curves = [plot.curve, *plot.baselines]
    up = 6.5 if two else 0.0
    return [End(end, row - up, curve) for end, row, curve in zip(ends, rows.tolist(), curves, strict=False)]


def with_influence(words: str, value: float | None) -> str:
    """Return a curve's name with how much its right end moves per unit of the left-most response."""
    return words if value is None else f"{words}, far end {far_end(value)}"


def far_end(value: float) -> str:
    """Return a far-end influence with its sign: `−0.0411`; exactly nothing is 0, and less than a millionth `≈ 0`."""
    if abs(value) < LEAST:
        return "0" if value == 0 else "≈ 0"
    return f"+{number(value)}" if value > 0 else number(value)


def _end_row(plot: FitPicture, at: np.ndarray, y: np.ndarray) -> float:
    """The row in which a curve leaves the drawing area at the right; its lower edge without a value there."""
    frame = plot.frame_px
    held = np.isfinite(y) & (at <= frame.query.high)
    return min(max(float(frame.y_px(y[held][-1])), frame.top), frame.bottom) if held.any() else frame.bottom


def spread(wanted: np.ndarray, pitch: float, low: float, high: float) -> np.ndarray:
    """Return rows as near to the wanted ones as a distance of `pitch` between them allows, all from low to high.

    Order stays. Where there is not room for all they stand evenly.
    """
    n = wanted.size
    order = np.argsort(wanted, kind="stable")
    steps = min(pitch, (high - low) / max(n - 1, 1)) * np.arange(n)
    # without the steps the rows only have to ascend: the nearest such rows are means of runs (pool adjacent violators)
    runs: list[list[float]] = []
    for value in (wanted[order] - steps).tolist():
        runs.append([value, 1.0])
        while len(runs) > 1 and runs[-2][0] > runs[-1][0]:
            value, count = runs.pop()
            total = runs[-1][1] + count
            runs[-1] = [(runs[-1][0] * runs[-1][1] + value * count) / total, total]
    rows = np.concatenate([np.full(int(count), value) for value, count in runs]) if runs else np.zeros(0)
    found = np.empty(n)
    found[order] = np.clip(rows, low, high - (steps[-1] if n else 0.0)) + steps
    return found


def paint_ends(painter: QPainter, plot: FitPicture, ends: list[End]) -> None:
    """Tie each name to its curve and show a piece of it."""
    right = plot.frame_px.right
    for end in ends:
        painter.setPen(QPen(QColor(current().ctrl), 1))
        painter.drawLine(QPointF(right + 1, end.curve_row), QPointF(right + TIE - 1, end.row))
        painter.setPen(end.curve.pen())
        painter.drawLine(QPointF(right + TIE, end.row), QPointF(right + TIE + SAMPLE, end.row))
