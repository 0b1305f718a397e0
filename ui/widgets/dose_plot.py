"""The dose plot: the true rerun as a thick line with a handle on it, the direct line and the tangent beside it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QWidget

from kav.views.dose import AT_ZERO, Result

from ..theme import current
from .axes import span
from .handles import Handle
from .labels import Box, Obstacles, Remembered, along, belongs
from .lettering import height_of, paint_runs
from .plot import Plot
from .runs import Run, title_runs, width_of

DISC, EDITED_DISC = 6.6, 9.0
STEP = 0.01  # of an arrow key
DOT, DOTS_APART = 2.3, 7.0  # px: radius of a measured dose, and where neighbours are closer the line is all measured
GUESSED = (3.0, 2.5)  # dashes of a line between doses of which more are on their way
APART = 12.0  # px between names of curves on one line, which would read as one
SNAP = 0.02  # a dose this near to 0 or 1 becomes 0 or 1 while dragging


class DosePlot(Plot):
    """Plot of one dose-response curve.

    Signals
    -------
    doseMoved(dose) : by mouse or arrow keys. dragEnded() : mouse or arrow key was let go.
    """

    doseMoved = Signal(float)
    dragEnded = Signal()

    top_room, right_room, bottom_room, least_left = 23.0, 16.0, 37.0, 43.0
    title_room = 7.0

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("dose.plot")
        self.setAccessibleName("Dose response: the prediction as one component is scaled")
        self.result: Result | None = None
        self._live: float | None = None  # under the mouse
        self._asked: float | None = None  # what the next answer will be about
        self.control = self.add_area("grid", -80)
        self.tangent = self.add_curve("muted", 1.8, dash=(5.0, 4.0), z=-30)
        self.direct = self.add_curve("direct", 1.8, z=-20)
        self.rerun = self.add_curve("ink", 2.6, z=-10)
        self.handleMoved.connect(self._on_handle_moved)
        self.handleReleased.connect(self._on_handle_released)
        self.handleStepped.connect(self._on_handle_stepped)
        self.stepsEnded.connect(self.dragEnded)
        self.emptyDoubleClicked.connect(self._on_empty_double_clicked)
        self.restyle()
        self._named_for: tuple[object, ...] = (
            None,
        )  # frame, theme and words; curve and disc: what `_named` stands for
        self._named: list[tuple[Run, Box]] = []
        self._remembered = Remembered()

    def show_result(self, result: Result) -> None:
        """Draw a result; while the handle is dragged the axes hold and it stays under the mouse."""
        same = self.result is not None and self.result.curve is result.curve
        if self.result is not None and self.result.component != result.component:
            self._zoom, self._asked = (0.0, 1.0, 0.0, 1.0), None
        self.result = result
        if not self.dragged:
            self._respan()
        if self._asked == result.dose:
            self._asked = None
        if not same:
            self._set_curves()
        self.repaint_now()

    def ask(self, dose: float) -> None:
        """Let the handle stand at a dose whose answer may still be to come: large models take seconds."""
        self._asked = None if self.result is None or self.result.dose == dose else dose
        self.repaint_now()

    @property
    def dose_shown(self) -> float:
        """The dose that the handle shows: the one under the mouse while it is dragged, the one asked for after that."""
        for dose in (self._live, self._asked):
            if dose is not None:
                return dose
        return self.result.dose if self.result is not None else 1.0

    @property
    def value_shown(self) -> float:
        """The response there; between two answers of the model it is read off the curve."""
        result = self.result
        if self.dose_shown != result.dose or not np.isfinite(result.value):
            return float(np.interp(self.dose_shown, result.curve.doses, result.curve.response))
        return result.value

    @property
    def edited(self) -> bool:
        """Whether the dose shown is not the one the model runs at."""
        return self.dose_shown != 1.0

    def relayout(self) -> None:
        """Every whole dose has its number, 0 and 1 above all, where they are not too close."""
        room = self.viewport().width() - self.least_left - self.right_room
        doses = self._spans[0].length * (self._zoom[1] - self._zoom[0])
        self.column_pitch = min(max(0.97 * room / doses, 36.0), 90.0)
        super().relayout()

    def _respan(self) -> None:
        doses = self.result.curve.doses
        x = span(float(doses[0]), float(doses[-1]))
        self.set_spans(x, span(*self.result.y_range), x)

    def _set_curves(self) -> None:
        curve = self.result.curve
        self.rerun.set_data(curve.doses, curve.response)
        self.rerun.dash = GUESSED if self.result.so_far else ()
        self.direct.set_data(curve.doses, curve.direct)
        self.tangent.set_data(curve.doses, curve.tangent)
        self.control.shown = curve.control is not None
        if curve.control is not None:
            self.control.set_data(curve.doses, *curve.control)

    # --- painting ------------------------------------------------------------------------------------------------

    def paint_under(self, painter: QPainter) -> None:
        frame, border = self.frame_px, QColor(current().border)
        dashed = QPen(border, 1)
        dashed.setDashPattern([3, 3])
        for dose, pen in ((0.0, dashed), (1.0, QPen(border, 1))):
            x = round(float(frame.x_px(dose))) + 0.5
            if frame.left < x < frame.right:
                painter.setPen(pen)
                painter.drawLine(QPointF(x, frame.top), QPointF(x, frame.bottom))

    def paint_x_tick(self, painter: QPainter, x: float, text: str) -> None:
        dose = self.frame_px.x_at(x)
        pitch = self.frame_px.width / max(self.frame_px.x.length, 1e-9)
        word = self._words().get(round(dose), text) if abs(dose - round(dose)) < 1e-6 and pitch > 72 else text
        super().paint_x_tick(painter, x, word)

    def _words(self) -> dict[int, str]:
        """What doses 0 and 1 are called."""
        baseline = "zero" if self.result is None else self.result.baseline  # axes are drawn before the first curve
        return {0: f"0 {AT_ZERO[baseline]}", 1: "1 as it runs"}

    def paint_over(self, painter: QPainter) -> None:
        if self.result is None:
            return
        paint_runs(painter, title_runs(self.result.y_title), 13, self.frame_px.top - 9, halo=False)
        self.paint_x_title(painter, self.result.x_title)
        if self.result.measured:
            self._paint_dots(painter)
        if self.edited:
            self._paint_edit(painter)
        self._paint_names(painter)
        self._paint_disc(painter)

    def _disc(self) -> tuple[float, float, float]:
        """The handle: x, y, radius in pixels, held inside the drawing area."""
        frame = self.frame_px
        x, y = float(frame.x_px(self.dose_shown)), float(frame.y_px(self.value_shown))
        x, y = min(max(x, frame.left), frame.right), min(max(y, frame.top), frame.bottom)
        return x, y, EDITED_DISC if self.edited else DISC

    def _paint_edit(self, painter: QPainter) -> None:
        """An amber line at the dose, and a hollow dot where the model itself is."""
        frame, theme, x = self.frame_px, current(), self._disc()[0]
        painter.setPen(QPen(QColor(theme.edited), 2))
        painter.drawLine(QPointF(x, frame.top), QPointF(x, frame.bottom))
        curve = self.result.curve
        value = self.result.before
        value = float(np.interp(1.0, curve.doses, curve.response)) if value is None else value
        at = QPointF(float(frame.x_px(1.0)), float(frame.y_px(value)))
        if frame.left <= at.x() <= frame.right and frame.top <= at.y() <= frame.bottom:
            painter.setPen(QPen(QColor(theme.ctrl), 1.2))
            painter.setBrush(QColor(theme.panel))
            painter.drawEllipse(at, 4.4, 4.4)

    def _paint_dots(self, painter: QPainter) -> None:
        """A dot at every dose that was measured, where the line between two of them can be seen."""
        frame, curve = self.frame_px, self.result.curve
        x, y = np.asarray(frame.x_px(curve.doses)), np.asarray(frame.y_px(curve.response))
        gaps = np.concatenate([[np.inf], np.hypot(np.diff(x), np.diff(y)), [np.inf]])
        alone = np.minimum(gaps[:-1], gaps[1:]) >= DOTS_APART
        inside = (x >= frame.left) & (x <= frame.right) & (y >= frame.top) & (y <= frame.bottom)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(current().ink))
        for at in np.flatnonzero(alone & inside):
            painter.drawEllipse(QPointF(float(x[at]), float(y[at])), DOT, DOT)

    def _paint_disc(self, painter: QPainter) -> None:
        theme, (x, y, r) = current(), self._disc()
        if not np.isfinite(y):
            return  # without support there is no value to stand on
        focused = self.hasFocus() and self._ring
        painter.setPen(QPen(QColor(theme.query if focused else theme.panel), 2.0 if focused else 1.4))
        painter.setBrush(QColor(theme.edited if self.edited else theme.ink))
        painter.drawEllipse(QPointF(x, y), r + 0.7, r + 0.7)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.onedit if self.edited else theme.panel))
        tall, wide = 0.95 * r, 1.6 if self.edited else 1.4
        for side in (-1, 1):
            painter.drawRect(QRectF(x + side * 1.9 - wide / 2, y - tall / 2, wide, tall))

    def _paint_names(self, painter: QPainter) -> None:
        """Name each curve on the curve."""
        result, frame, disc = self.result, self.frame_px, self._disc()
        key = (frame.left, frame.top, frame.width, frame.height, current().name, result.names)
        old, self._named_for = self._named_for, (key, result.curve, disc)
        if old is None or old[0] != key:
            self.place_again()
            self._named = self._placed_names()
        elif (old[1] is not result.curve or old[2] != disc) and not self.may_carry():
            self._named = self._placed_names()
        for run, box in self._named:
            paint_runs(painter, (run,), box.left, box.top + box.height / 2)

    def _placed_names(self) -> list[tuple[Run, Box]]:
        """Find each curve's name a place where it does not meet another."""
        frame, theme, curve = self.frame_px, current(), self.result.curve
        bounds = Box(frame.left + 4, frame.top, frame.width - 8, frame.height - 2)
        self._remembered.begin((frame.width, frame.height, self.result.kind))
        lines = {
            name: self._polyline(curve.doses, values)
            for name, values in (("response", curve.response), ("direct", curve.direct), ("tangent", curve.tangent))
        }
        taken = Obstacles.of(np.asarray([self._disc()]), lines.values())
        response, direct, tangent = self.result.names
        placed = []
        for name, run, prefer in (
            ("response", Run(response, theme.ink, 11, 600), 0.08),
            ("direct", Run(direct, theme.direct, 11, 500), 0.45),
            ("tangent", Run(tangent, theme.muted, 11, 500), 0.92),
        ):
            places = along(lines[name], width_of((run,)), height_of((run,)), prefer=prefer)
            rivals = [line for other, line in lines.items() if other != name]
            box = self._remembered.place(places, bounds, taken, wanted=belongs(lines[name], rivals))
            if box is not None:
                placed.append((run, box))
                taken = taken.with_box(Box(box.left - APART, box.top, box.width + 2 * APART, box.height))
        return placed

    def _polyline(self, doses: np.ndarray, values: np.ndarray) -> np.ndarray:
        """A curve in pixels, (n, 2), closely spaced; outside the drawing area it is NaN."""
        frame = self.frame_px
        at = np.linspace(frame.x.low, frame.x.high, 101)
        y = np.asarray(frame.y_px(np.interp(at, doses, values)), dtype=float)
        y[(y < frame.top) | (y > frame.bottom)] = np.nan
        return np.stack([np.asarray(frame.x_px(at), dtype=float), y], axis=1)

    # --- grabbing ------------------------------------------------------------------------------------------------

    def handles(self) -> Sequence[Handle]:
        return () if self.result is None else (Handle("dose", *self._disc()),)

    def _on_handle_moved(self, name: str, x_px: float, y_px: float) -> None:
        x = self._spans[0]
        dose = min(max(self.frame_px.x_at(x_px), x.low), x.high)
        near = round(dose)
        self._live = float(near) if abs(dose - near) < SNAP else round(dose, 3)
        self.doseMoved.emit(self._live)

    def _on_handle_released(self, name: str) -> None:
        self._live = None
        self._respan()
        self.dragEnded.emit()

    def _on_handle_stepped(self, name: str, across: float, up: float) -> None:
        x = self._spans[0]
        dose = round(self.dose_shown + STEP * (across or up), 4)
        self.doseMoved.emit(min(max(dose, x.low), x.high))

    def _on_empty_double_clicked(self, x_px: float, y_px: float) -> None:
        self.fit()
