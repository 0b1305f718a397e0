"""The hero's plot: what can be grabbed on the picture, said in units of the data. It changes nothing itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from .axes import Span
from .dots import RING
from .fit_picture import AXIS_GAP, KERNEL_HEIGHT, FitPicture, dot_sample
from .handles import Handle, hit

_STEPS = 500  # arrow key presses across the whole axis


class FitPlot(FitPicture):
    """Plot of one kernel fit.

    Signals
    -------
    queryMoved(at) : in units of the query axis. bandwidthMoved(h). dotMoved(sample, x, y) : in a head the key is the
    sample. dragEnded() : mouse or arrow key was let go. dotClicked(sample), dotRemoved(sample), sampleAdded(x, y).
    """

    queryMoved = Signal(float)
    bandwidthMoved = Signal(float)
    dotMoved = Signal(int, float, float)
    dragEnded = Signal()
    dotClicked = Signal(int)
    dotRemoved = Signal(int)
    sampleAdded = Signal(float, float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.handleMoved.connect(self._on_handle_moved)
        self.handleReleased.connect(self._on_handle_released)
        self.handleStepped.connect(self._on_handle_stepped)
        self.stepsEnded.connect(self.dragEnded)
        self.handleClicked.connect(self._on_handle_clicked)
        self.removeRequested.connect(self._on_remove_requested)
        self.emptyDoubleClicked.connect(self._on_empty_double_clicked)

    def handles(self) -> Sequence[Handle]:
        result, frame = self.result, self.frame_px
        if result is None:
            return ()
        found = [Handle("query", float(frame.query_px(self.query_shown)), frame.top - AXIS_GAP, 9.0)]
        found += [Handle("h", x, y, 4.0, rank=1, stop=first) for x, y, first in self.h_ends()]
        if 0 <= result.selected < len(result.points.x) and result.points.visible[result.selected]:
            x, y, r = self.place_dots()[result.selected]
            found.append(Handle(f"dot{result.sample(result.selected)}", float(x), float(y), float(r) + RING, rank=2))
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
            found.append(Handle(f"dot{result.sample(near)}", *(float(v) for v in places[near]), rank=2, stop=False))
        return hit(found, x, y)

    def _on_handle_moved(self, name: str, x_px: float, y_px: float) -> None:
        frame, sample = self.frame_px, dot_sample(name)
        if name == "query":
            at = _clamped(frame.query_at(x_px), self._spans[2])
            self._live = (at, 0.0)
            self._set_curves()
            self.queryMoved.emit(at)
        elif name == "h":
            h = max(abs(frame.query_at(x_px) - self.query_shown), 1e-3 * self._spans[2].length)
            self._live = (h, 0.0)
            self.bandwidthMoved.emit(h)
        elif self.observation(sample) >= 0:
            # A head's message is not free: only the score follows the mouse.
            free = self.result.kind == "regression"
            y = _clamped(frame.y_at(y_px), self._spans[1]) if free else float(self.result.points.y[sample])
            self._live = (_clamped(frame.x_at(x_px), self._spans[0]), y)
            self.dotMoved.emit(sample, *self._live)

    def _on_handle_released(self, name: str) -> None:
        self._live = None
        self._respan()
        if self.result is not None:
            self._set_curves()
        self.dragEnded.emit()

    def _on_handle_stepped(self, name: str, across: float, up: float) -> None:
        result, sample = self.result, dot_sample(name)
        index = self.observation(sample)
        if result is None:
            return
        if name == "query":
            step = 0.01 if result.kind == "head" else self._spans[2].length / _STEPS
            self.queryMoved.emit(_clamped(self.query_shown + (across or up) * step, self._spans[2]))
        elif name == "h" and result.h:
            self.bandwidthMoved.emit(result.h * 1.02 ** (across or up))
        elif index >= 0:
            x, y = (float(places[index]) for places in self.points_shown())
            x += across * self._spans[0].length / _STEPS
            y += up * self._spans[1].length / _STEPS if result.kind == "regression" else 0.0
            self.dotMoved.emit(sample, x, y)

    def _on_handle_clicked(self, name: str) -> None:
        if dot_sample(name) >= 0:
            self.dotClicked.emit(dot_sample(name))

    def _on_remove_requested(self, name: str) -> None:
        if dot_sample(name) >= 0:
            self.dotRemoved.emit(dot_sample(name))

    def _on_empty_double_clicked(self, x_px: float, y_px: float) -> None:
        if self.result is not None and self.result.kind == "regression":
            self.sampleAdded.emit(self.frame_px.x_at(x_px), self.frame_px.y_at(y_px))
        else:
            self.fit()


def _clamped(value: float, axis: Span) -> float:
    return min(max(value, axis.low), axis.high)
