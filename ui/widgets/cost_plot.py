"""The hero's third picture: measured seconds against the number of samples, log-log, the slopes on the lines."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QWidget

from kav.regression.cost import CostLine, CostStory
from kav.views.words import growth

from ..theme import current
from .axes import Span
from .fit_labels import pen
from .labels import Box, Obstacles, along, place
from .lettering import height_of, paint_runs
from .plot import Plot
from .runs import Run, width_of

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
COLORS = {"ridge": "direct", "smoother": "ink", "moments": "query"}


class CostPlot(Plot):
    """Plot of one cost story; its axes are powers of ten."""

    top_room, right_room, bottom_room, least_left = 22.0, 16.0, 41.0, 57.0
    title_room = 7.0

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("fit.cost_plot")
        self.setAccessibleName("Measured time against the number of samples")
        self.story: CostStory | None = None
        self.lines = {name: self.add_curve(color, 2.0, z=-10) for name, color in COLORS.items()}
        self.emptyDoubleClicked.connect(self._on_empty_double_clicked)

    def show_story(self, story: CostStory | None) -> None:
        """Draw a measurement; None = an empty page."""
        self.story = story
        for name, curve in self.lines.items():
            line = self._line(name)
            curve.shown = line is not None
            if line is not None:
                curve.set_data(np.log10(line.n), np.log10(line.seconds))
        if story is not None:
            self.set_spans(*_axes(story))
            self.setAccessibleDescription("; ".join(words_of(line) for line in story.lines))
        self.viewport().update()

    def _line(self, name: str) -> CostLine | None:
        lines = () if self.story is None else self.story.lines
        return next((line for line in lines if line.name == name), None)

    # --- axes ----------------------------------------------------------------------------------------------------

    def relayout(self) -> None:
        super().relayout()
        x = self.frame_px.x
        powers = range(math.ceil(x.low - 1e-9), math.floor(x.high + 1e-9) + 1)
        self.x_ticks = tuple((float(power), f"{10**power:,}") for power in powers if power >= 0)

    def _row_ticks(self, y: Span, height: float) -> tuple[tuple[float, str], ...]:
        powers = range(math.ceil(y.low - 1e-9), math.floor(y.high + 1e-9) + 1)
        every = max(1, math.ceil(len(powers) * 18 / height))
        return tuple((float(power), seconds_text(power)) for power in powers if power % every == 0)

    # --- painting ------------------------------------------------------------------------------------------------

    def paint_over(self, painter: QPainter) -> None:
        if self.story is None:
            return
        frame, theme = self.frame_px, current()
        self.paint_x_title(painter, "number of samples n →")
        title = (Run("↑ time", theme.text2, 11),)
        title_box = Box(frame.left + 8, frame.top + 2, width_of(title), 14)
        paint_runs(painter, title, title_box.left, title_box.top + 7)
        places = {line.name: self.points_px(line) for line in self.story.lines}
        for line in self.story.lines:
            painter.setPen(pen(theme.panel, 1.2))
            painter.setBrush(QColor(getattr(theme, COLORS[line.name])))
            for x, y in places[line.name]:
                if frame.left - 1 <= x <= frame.right + 1 and frame.top - 1 <= y <= frame.bottom + 1:
                    painter.drawEllipse(QPointF(x, y), 3.6, 3.6)
        bounds = Box(frame.left + 4, frame.top, frame.width - 8, frame.height - 2)
        taken = Obstacles.of(lines=[_dense(line) for line in places.values()], boxes=[title_box])
        for line in self.story.lines:
            runs = (Run(words_of(line), getattr(theme, COLORS[line.name]), 11, 600 if line.name == "ridge" else 500),)
            prefer = {"ridge": 0.7, "smoother": 0.75, "moments": 0.6}[line.name]
            spots = along(_dense(places[line.name]), width_of(runs), height_of(runs), gap=7, prefer=prefer)
            box = place(spots, bounds, taken) or place(
                along(_dense(places[line.name]), width_of(runs), height_of(runs), prefer=prefer),
                bounds,
                Obstacles.of(boxes=taken.boxes),
            )
            if box is not None:
                paint_runs(painter, runs, box.left, box.top + box.height / 2)
                taken = taken.with_box(box)

    def points_px(self, line: CostLine) -> np.ndarray:
        """Return the measured points of a line in pixels, (k, 2)."""
        frame = self.frame_px
        return np.stack([frame.x_px(np.log10(line.n)), frame.y_px(np.log10(line.seconds))], axis=1)

    def _on_empty_double_clicked(self, x_px: float, y_px: float) -> None:
        self.fit()


def words_of(line: CostLine) -> str:
    """Return the name of a line with its slope: `kernel ridge: solve n equations, n²·⁹`."""
    return f"{line.words}, {growth(line.slope)}"


def seconds_text(power: int) -> str:
    """Return 10^power seconds in words: `100 µs`."""
    for size, unit in UNITS:
        if power >= round(math.log10(size)):
            return f"{10 ** (power - round(math.log10(size))):,} {unit}"
    return f"1e{power} s"


def _axes(story: CostStory) -> tuple[Span, Span, Span]:
    n = np.log10(np.concatenate([line.n for line in story.lines]))
    seconds = np.log10(np.concatenate([line.seconds for line in story.lines]))
    x = Span(math.floor(float(n.min()) + 0.3) + 0.0, float(n.max()) + 0.15)
    x = Span(min(x.low, float(n.min()) - 0.05), x.high)
    return x, Span(math.floor(float(seconds.min()) - 0.1), math.ceil(float(seconds.max()) + 0.6)), x


def _dense(line: np.ndarray) -> np.ndarray:
    """A polyline with points every few pixels, for the label rule."""
    at = np.linspace(0, len(line) - 1, 60)
    index = np.arange(len(line))
    return np.stack([np.interp(at, index, line[:, 0]), np.interp(at, index, line[:, 1])], axis=1)
