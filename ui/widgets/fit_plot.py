"""The hero's plot: observations, their weighted average f, the curve of f as the query moves, and what can be dragged.

It draws a `kav.views.fit.Result` and says what the person asks for in units of the data; it changes nothing itself but
the place of the thing under the mouse, which never waits for the computation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QWidget

from kav.views.fit import Result

from ..theme import current
from .axes import Span, span
from .dots import RING, radii
from .fit_paint import paint_fit
from .handles import Handle, hit
from .plot import Plot, area_path

HEADROOM, COMPACT_HEADROOM, FOOTROOM, KERNEL_FOOTROOM = 0.15, 0.27, 0.10, 0.28
KERNEL_HEIGHT = 0.15  # of the drawing area
AXIS_GAP = 8.0  # between the query axis and the drawing area
_STEPS = 500  # arrow key presses across the whole axis


class FitPlot(Plot):
    """Plot of one kernel fit.

    Signals
    -------
    queryMoved(at) : in units of the query axis. bandwidthMoved(h). dotMoved(index, x, y). dragEnded() : mouse or arrow
    key was let go. dotClicked(index), dotRemoved(index), sampleAdded(x, y).
    """

    queryMoved = Signal(float)
    bandwidthMoved = Signal(float)
    dotMoved = Signal(int, float, float)
    dragEnded = Signal()
    dotClicked = Signal(int)
    dotRemoved = Signal(int)
    sampleAdded = Signal(float, float)

    top_room, right_room, bottom_room, least_left = 49.0, 4.0, 41.0, 49.0

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("fit.plot")
        self.setAccessibleName("Kernel fit: observations, their weighted average, and the query")
        self.result: Result | None = None
        self.compact = False
        self.ring = ""  # the row of the correspondence table under the mouse
        self.places = np.empty((0, 3))  # of the observations: x, y, radius in pixels
        self._live: tuple[float, float] | None = None  # where the dragged thing is, in units of the data
        self.band = self.add_area(-90)
        self.confidence = self.add_area(-50)
        self.kernel_area = self.add_area(-40)
        self.f_line = self.add_curve("direct", 2.0, z=-20)
        self.kernel_line = self.add_curve("query", 1.6, z=-30)
        self.baseline = self.add_curve("text2", 1.6, dash=(6.0, 3.0), z=-15)
        self.curve = self.add_curve("query", 2.0, z=-10)
        self.handleMoved.connect(self._on_handle_moved)
        self.handleReleased.connect(self._on_handle_released)
        self.handleStepped.connect(self._on_handle_stepped)
        self.stepsEnded.connect(self.dragEnded)
        self.handleClicked.connect(self._on_handle_clicked)
        self.removeRequested.connect(self._on_remove_requested)
        self.emptyDoubleClicked.connect(self._on_empty_double_clicked)
        self.restyle()

    # --- setters -------------------------------------------------------------------------------------------------

    def show_result(self, result: Result) -> None:
        """Draw a result; while something is dragged the axes hold and the dragged thing stays under the mouse."""
        new_scene = self.result is None or self.result.kind != result.kind
        self.result = result
        if new_scene:
            self._zoom = (0.0, 1.0, 0.0, 1.0)
        if not self.dragged or new_scene:
            self._respan()
        self._set_curves()
        self.viewport().update()

    def set_compact(self, compact: bool) -> None:
        """Give the axis title more room in a low plot, and name fewer dots."""
        if compact != self.compact:
            self.compact = compact
            self._respan()

    def set_ring(self, row: str) -> None:
        """Ring what a row of the correspondence table is about; "" for nothing."""
        if row != self.ring:
            self.ring = row
            self.viewport().update()

    # --- what is shown -------------------------------------------------------------------------------------------

    @property
    def query_shown(self) -> float:
        """Where the query is drawn: under the mouse while it is dragged."""
        if self.dragged == "query" and self._live is not None:
            return self._live[0]
        return self.result.query_at if self.result is not None else 0.0

    @property
    def f_shown(self) -> float:
        """The value of f at the query drawn, read off the curve while it is dragged."""
        result = self.result
        if result is None:
            return float("nan")
        if self.dragged == "query" and len(result.curve_at):
            return float(np.interp(self.query_shown, result.curve_at, result.curve_f))
        return result.f

    @property
    def h_shown(self) -> float | None:
        """The bandwidth drawn."""
        if self.dragged == "h" and self._live is not None:
            return self._live[0]
        return self.result.h if self.result is not None else None

    def points_shown(self) -> tuple[np.ndarray, np.ndarray]:
        """The places of the observations, the dragged one under the mouse."""
        points = self.result.points
        index = _index(self.dragged)
        if index < 0 or self._live is None or index >= len(points.x):
            return points.x, points.y
        x, y = np.array(points.x, dtype=float), np.array(points.y, dtype=float)
        x[index], y[index] = self._live
        return x, y

    # --- drawing -------------------------------------------------------------------------------------------------

    def _respan(self) -> None:
        result = self.result
        if result is None:
            return
        low, high = result.y_range
        room = max(high - low, 1e-12)
        foot = KERNEL_FOOTROOM if result.kernel_x is not None and not self.compact else FOOTROOM
        head = COMPACT_HEADROOM if self.compact else HEADROOM
        y = span(low - foot * room, high + head * room)
        query = span(*result.query_range)
        self.set_spans(span(*result.x_range) if result.kind == "head" else query, y, query)

    def relayout(self) -> None:
        super().relayout()
        if getattr(self, "result", None) is not None:
            self._set_kernel()

    def _set_curves(self) -> None:
        result, query = self.result, self._spans[2]
        ends = np.asarray([query.low, query.high])
        f = self.f_shown
        self.f_line.setData(ends, np.asarray([f, f]))
        self.curve.setData(np.asarray(result.curve_at), np.asarray(result.curve_f))
        self.band.setVisible(result.band_holds)
        low, high = result.band
        self.band.setPath(area_path(ends, np.full(2, low), np.full(2, high)))
        self.confidence.setVisible(result.ci_low is not None)
        if result.ci_low is not None and result.ci_high is not None:
            self.confidence.setPath(area_path(result.curve_at, result.ci_low, result.ci_high))
        self.baseline.setVisible(result.baseline is not None)
        if result.baseline is not None:
            self.baseline.setData(result.baseline[1], result.baseline[2])
        self._set_kernel()

    def _set_kernel(self) -> None:
        """The kernel's shape stands on the bottom axis, a fixed share of the drawing area high."""
        result = self.result
        shown = result.kernel_x is not None and result.kernel_y is not None and not self.compact
        self.kernel_line.setVisible(shown)
        self.kernel_area.setVisible(shown)
        if not shown:
            return
        y = self.frame_px.y
        x = np.asarray(result.kernel_x) + (self.query_shown - result.query_at)
        base = np.full(len(x), y.low + 0.004 * y.length)
        height = base + KERNEL_HEIGHT * y.length * np.asarray(result.kernel_y)
        self.kernel_line.setData(x, height)
        self.kernel_area.setPath(area_path(x, base, height))

    def restyle(self) -> None:
        super().restyle()
        if not hasattr(self, "band"):
            return
        theme = current()
        self.band.setBrush(QColor(theme.band))
        grey = QColor(theme.muted)
        grey.setAlphaF(0.18)
        self.confidence.setBrush(grey)
        blue = QColor(theme.query)
        blue.setAlphaF(0.16)
        self.kernel_area.setBrush(blue)

    def place_dots(self) -> np.ndarray:
        """Return the observations as (n, 3): x, y, radius in pixels."""
        x, y = self.points_shown()
        frame = self.frame_px
        radius = radii(self.result.points.weight, self.result.kind)
        return np.stack([frame.x_px(x), frame.y_px(y), radius], axis=1)

    def paint_over(self, painter: QPainter) -> None:
        if self.result is not None:
            self.places = self.place_dots()
            paint_fit(painter, self)

    # --- grabbing ------------------------------------------------------------------------------------------------

    def handles(self) -> Sequence[Handle]:
        result, frame = self.result, self.frame_px
        if result is None:
            return ()
        found = [Handle("query", float(frame.query_px(self.query_shown)), frame.top - AXIS_GAP, 9.0)]
        found += [Handle("h", x, y, 4.0, rank=1, stop=first) for x, y, first in self.h_ends()]
        if 0 <= result.selected < len(result.points.x) and result.points.visible[result.selected]:
            x, y, r = self.place_dots()[result.selected]
            found.append(Handle(f"dot{result.selected}", float(x), float(y), float(r) + RING, rank=2))
        return found

    def h_ends(self) -> list[tuple[float, float, bool]]:
        """Return the places one bandwidth from the query: x, y in pixels, and whether Tab visits it."""
        result, frame, h = self.result, self.frame_px, self.h_shown
        if result is None or h is None or result.kernel_x is None or self.compact:
            return []
        shape = float(np.interp(result.query_at + (result.h or h), result.kernel_x, result.kernel_y, right=0.0))
        row = frame.bottom - KERNEL_HEIGHT * shape * frame.height - 2
        return [(float(frame.query_px(self.query_shown + side * h)), row, side > 0) for side in (1, -1)]

    def grab_at(self, x: float, y: float) -> str:
        result = self.result
        if result is None:
            return ""
        found = list(self.handles())
        places = self.place_dots()
        away = np.hypot(places[:, 0] - x, places[:, 1] - y) - places[:, 2]
        away[~np.asarray(result.points.visible, dtype=bool)] = np.inf
        if len(away) and np.isfinite(away).any():
            near = int(np.argmin(away))
            found.append(Handle(f"dot{near}", *(float(v) for v in places[near]), rank=2, stop=False))
        return hit(found, x, y)

    def _on_handle_moved(self, name: str, x_px: float, y_px: float) -> None:
        frame, index = self.frame_px, _index(name)
        if name == "query":
            at = _clamped(frame.query_at(x_px), self._spans[2])
            self._live = (at, 0.0)
            self._set_curves()
            self.queryMoved.emit(at)
        elif name == "h":
            h = max(abs(frame.query_at(x_px) - self.query_shown), 1e-3 * self._spans[2].length)
            self._live = (h, 0.0)
            self.bandwidthMoved.emit(h)
        elif index >= 0:
            # A head's message is not free: only the score follows the mouse.
            free = self.result.kind == "regression"
            y = _clamped(frame.y_at(y_px), self._spans[1]) if free else float(self.result.points.y[index])
            self._live = (_clamped(frame.x_at(x_px), self._spans[0]), y)
            self.dotMoved.emit(index, *self._live)

    def _on_handle_released(self, name: str) -> None:
        self._live = None
        self._respan()
        if self.result is not None:
            self._set_curves()
        self.dragEnded.emit()

    def _on_handle_stepped(self, name: str, across: float, up: float) -> None:
        result, index = self.result, _index(name)
        if result is None:
            return
        if name == "query":
            step = 0.01 if result.kind == "head" else self._spans[2].length / _STEPS
            self.queryMoved.emit(_clamped(result.query_at + (across or up) * step, self._spans[2]))
        elif name == "h" and result.h:
            self.bandwidthMoved.emit(result.h * 1.02 ** (across or up))
        elif index >= 0:
            x, y = float(result.points.x[index]), float(result.points.y[index])
            x += across * self._spans[0].length / _STEPS
            y += up * self._spans[1].length / _STEPS if result.kind == "regression" else 0.0
            self.dotMoved.emit(index, x, y)

    def _on_handle_clicked(self, name: str) -> None:
        if _index(name) >= 0:
            self.dotClicked.emit(_index(name))

    def _on_remove_requested(self, name: str) -> None:
        if _index(name) >= 0:
            self.dotRemoved.emit(_index(name))

    def _on_empty_double_clicked(self, x_px: float, y_px: float) -> None:
        if self.result is not None and self.result.kind == "regression":
            self.sampleAdded.emit(self.frame_px.x_at(x_px), self.frame_px.y_at(y_px))
        else:
            self.fit()


def _index(name: str) -> int:
    """The number of a dot's handle, -1 for other handles."""
    return int(name[3:]) if name.startswith("dot") else -1


def _clamped(value: float, axis: Span) -> float:
    return min(max(value, axis.low), axis.high)
