"""The hero's second picture: leave-one-out error against bandwidth, with its minimum and the rules of thumb.

The handle at the top is the bandwidth itself; dragging it is dragging the kernel of the fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from PySide6.QtCore import QPointF, Signal
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QWidget

from kav.regression.loo_curve import LooCurve
from kav.views.fit import Result
from kav.views.regression.ranges import nice_range
from kav.views.regression.stories import best_text
from kav.views.words import number

from ..marks import paint_mark
from ..theme import current
from .axes import Span
from .fit_labels import pen
from .handles import Handle
from .labels import Box, Obstacles, candidates, place
from .lettering import height_of, paint_runs
from .plot import Plot
from .runs import Run, width_of

STEP = 1.02  # factor of an arrow key
HEADROOM = 1.35  # of the error axis, for the title
TOO_HIGH = 5.0  # times the least error: what rises beyond leaves the plot


class BandwidthPlot(Plot):
    """Plot of one leave-one-out curve.

    Signals
    -------
    bandwidthMoved(h) : by mouse or arrow keys. dragEnded() : mouse or arrow key was let go.
    """

    bandwidthMoved = Signal(float)
    dragEnded = Signal()

    top_room, right_room, bottom_room, least_left = 22.0, 8.0, 41.0, 49.0
    column_pitch, title_room = 64.0, 7.0

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("fit.bandwidth_plot")
        self.setAccessibleName("Leave-one-out error against bandwidth")
        self.result: Result | None = None
        self._live: float | None = None
        self.curve = self.add_curve("ink", 2.0, z=-10)
        self.handleMoved.connect(self._on_handle_moved)
        self.handleReleased.connect(self._on_handle_released)
        self.handleStepped.connect(self._on_handle_stepped)
        self.stepsEnded.connect(self.dragEnded)
        self.emptyDoubleClicked.connect(self._on_empty_double_clicked)

    def show_result(self, result: Result) -> None:
        """Draw a result; while the handle is dragged the axes hold and it stays under the mouse."""
        self.result = result
        if result.loo is None or result.h is None:
            return
        if not self.dragged:
            self.set_spans(*axes_of(result.loo, result.h))
        self.curve.set_data(result.loo.h, result.loo.error)
        self.setToolTip("" if result.loo_exact else result.approximate)
        self.setAccessibleDescription("; ".join(text for _, text in self.marks()))
        self.viewport().update()

    @property
    def h_shown(self) -> float:
        """The bandwidth that the handle shows."""
        return self._live if self._live is not None else float(self.result.h)

    def marks(self) -> list[tuple[float, str]]:
        """Return the bandwidths that are marked, each with its words: the minimum, then the rules of thumb."""
        loo = self.result.loo if self.result is not None else None
        if loo is None:
            return []
        least = [] if math.isnan(loo.best_error) else [(loo.best, f"minimum at h {best_text(self.result)}")]
        return least + [(h, rule_text(name, h)) for name, h in loo.rules]

    # --- painting ------------------------------------------------------------------------------------------------

    def paint_under(self, painter: QPainter) -> None:
        """The rules of thumb: dashed lines from top to bottom."""
        frame = self.frame_px
        painter.setPen(pen(current().ctrl, 1.0, (3.0, 3.0)))
        for _, h in self.result.loo.rules if self._drawable() else ():
            x = round(float(frame.x_px(h))) + 0.5
            if frame.left <= x <= frame.right:
                painter.drawLine(QPointF(x, frame.top), QPointF(x, frame.bottom))

    def paint_over(self, painter: QPainter) -> None:
        if not self._drawable():
            return
        frame, theme, loo = self.frame_px, current(), self.result.loo
        self.paint_x_title(painter, "bandwidth h, units of x →")
        column = float(frame.x_px(self.h_shown))
        at = self.minimum_px()
        for runs, box in self._labels(column, at):
            paint_runs(painter, runs, box.left, box.top + box.height / 2)
        if frame.left - 1 <= column <= frame.right + 1:
            painter.setPen(pen(theme.query, 1.2, (3.5, 3.0)))
            painter.drawLine(QPointF(column, frame.top), QPointF(column, frame.bottom))
        if at is not None and not math.isnan(loo.best_error):
            painter.setPen(pen(theme.panel, 1.4))
            painter.setBrush(QColor(theme.ink))
            painter.drawEllipse(QPointF(*at), 4.6, 4.6)
        column = min(max(column, frame.left), frame.right)
        if self.hasFocus() and self._ring:
            painter.setPen(QPen(QColor(theme.query), 2))
            painter.setBrush(QColor(theme.panel))
            painter.drawEllipse(QPointF(column, frame.top), 11, 11)
        paint_mark(painter, "query", column, frame.top + 0.5, 6.6)

    def minimum_px(self) -> tuple[float, float] | None:
        """Return where the minimum is, None if it is not in sight."""
        frame, loo = self.frame_px, self.result.loo
        if math.isnan(loo.best_error):
            return None
        x, y = float(frame.x_px(loo.best)), float(frame.y_px(loo.best_error))
        return (x, y) if frame.left <= x <= frame.right and frame.top <= y <= frame.bottom else None

    def _drawable(self) -> bool:
        return self.result is not None and self.result.loo is not None and self.result.h is not None

    def _labels(self, column: float, at: tuple[float, float] | None) -> list[tuple[tuple[Run, ...], Box]]:
        """Each label where the label rule puts it: the handle's name, the axis title, the minimum, the rules."""
        frame, taken, placed = self.frame_px, self._obstacles(column, at), []
        bounds = Box(frame.left + 2, frame.top, frame.width - 4, frame.height)
        for runs, spots, anyway in self._wanted(column, at):
            box = place(spots, bounds, taken) or anyway
            if box is not None:
                placed.append((runs, box))
                taken = taken.with_box(box)
        return placed

    def _obstacles(self, column: float, at: tuple[float, float] | None) -> Obstacles:
        frame = self.frame_px
        upright = (np.asarray([[x, frame.top], [x, frame.bottom]]) for x in (column, *self._rule_columns()))
        dots = np.empty((0, 3)) if at is None else np.asarray([[*at, 4.6]])
        return Obstacles.of(dots, [self._polyline(), *upright])

    def _wanted(
        self, column: float, at: tuple[float, float] | None
    ) -> Iterator[tuple[tuple[Run, ...], Sequence[Box], Box | None]]:
        """Yield each label, where it may stand, and where it stands if none of that is free."""
        frame, theme = self.frame_px, current()

        def beside(x: float, runs: tuple[Run, ...], rows: Sequence[float]) -> list[Box]:
            width = width_of(runs)
            return [Box(left, frame.top + row, width, 14) for row in rows for left in (x + 7, x - 7 - width)]

        now = (Run("h now", theme.query, 12, 500),)
        yield now, [*reversed(beside(column, now, (2,))), *beside(column, now, (22, 42))], None
        title = (Run("↑ leave-one-out squared error", theme.text2, 11),)
        free = [Box(frame.left + 8, frame.top + row, width_of(title), 14) for row in (2, 20)]
        yield title, [*beside(column, title, (2,)), *free, *beside(column, title, (20,))], None
        if at is not None:
            least = (Run(self.marks()[0][1], theme.ink, 12, 600),)
            around = candidates(*at, 4.6, width_of(least), height_of(least))
            yield least, [around[3], around[6], around[7], *around], around[6]
        rows = [22 + 18 * step for step in range(max(int(frame.height / 18) - 3, 1))]
        for x, (name, h) in zip(self._rule_columns(), self.result.loo.rules, strict=True):
            text = (Run(rule_text(name, h), theme.text2, 11),)
            yield text, beside(x, text, rows), None

    def _rule_columns(self) -> list[float]:
        return [float(self.frame_px.x_px(h)) for _, h in self.result.loo.rules]

    def _polyline(self) -> np.ndarray:
        frame, loo = self.frame_px, self.result.loo
        line = np.stack([frame.x_px(loo.h), frame.y_px(loo.error)], axis=1)
        out = (line[:, 0] > frame.right) | (line[:, 1] < frame.top)
        return np.where(out[:, None], np.nan, line)

    # --- grabbing ------------------------------------------------------------------------------------------------

    def handles(self) -> Sequence[Handle]:
        if not self._drawable():
            return ()
        frame = self.frame_px
        column = min(max(float(frame.x_px(self.h_shown)), frame.left), frame.right)
        return (Handle("h", column, frame.top, 9.0),)

    def grab_at(self, x: float, y: float) -> str:
        """The whole line is the handle, not only its mark."""
        found = super().grab_at(x, y)
        if found or not self._drawable():
            return found
        frame = self.frame_px
        on_line = abs(float(frame.x_px(self.h_shown)) - x) <= 5 and frame.top <= y <= frame.bottom
        return "h" if on_line else ""

    def _on_handle_moved(self, name: str, x_px: float, y_px: float) -> None:
        x = self.frame_px.x
        least = max(x.low, 1e-3 * x.high)
        self._live = min(max(self.frame_px.x_at(x_px), least), x.high)
        self.bandwidthMoved.emit(self._live)

    def _on_handle_released(self, name: str) -> None:
        self._live = None
        self.show_result(self.result)
        self.dragEnded.emit()

    def _on_handle_stepped(self, name: str, across: float, up: float) -> None:
        self.bandwidthMoved.emit(self.h_shown * STEP ** (across or up))

    def _on_empty_double_clicked(self, x_px: float, y_px: float) -> None:
        self.fit()


def rule_text(name: str, h: float) -> str:
    """Return a rule of thumb as it is written on its line: `Silverman 1.15`."""
    return f"{name.capitalize()} {number(h)}"


def axes_of(loo: LooCurve, h: float) -> tuple[Span, Span, Span]:
    """Return the axes: from 0 to beyond everything that is marked, and from 0 to what is worth comparing."""
    marked = [h, *(rule for _, rule in loo.rules), *([] if math.isnan(loo.best_error) else [2.5 * loo.best])]
    right = nice_range(np.asarray([0.0, 1.35 * max(value for value in marked if value > 0)]))[1]
    seen = loo.error[(loo.h <= right) & np.isfinite(loo.error)]
    top = 1.0
    if seen.size:
        top = float(min(seen.max(), TOO_HIGH * float(np.nanmin(loo.error)))) or 1.0
    x = Span(0.0, right)
    return x, Span(0.0, nice_range(np.asarray([0.0, HEADROOM * top]))[1]), x
