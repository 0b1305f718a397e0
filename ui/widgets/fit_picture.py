"""The hero's picture: observations, their weighted average f, and the curve of f as the query moves.

It draws a `kav.views.fit.Result`. What is being dragged is drawn where the mouse is and never waits for a computation.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QWidget

from kav.views.fit import Result

from ..theme import current, sequential_lut
from .axes import span
from .dots import radii
from .fit_ends import room_for
from .fit_labels import Labels
from .fit_paint import paint_fit
from .labels import Remembered
from .plot import Plot
from .plot_items import Curve

# Room above and below, as shares of the range: the head's is that of the data, the regression's has round ends already.
HEADROOM, COMPACT_HEADROOM, FOOTROOM = 0.15, 0.27, 0.10
TITLE, MOST_HEADROOM = 22.0, 0.9  # height of the axis title with its margins, and what the headroom may become for it
ROUND_ROOM, KERNEL_FOOTROOM = 0.035, 0.17
KERNEL_HEIGHT = 0.15  # of the drawing area
HALF_DOT = 11.0  # room at the right for the half of a dot at the end of the data
AXIS_GAP = 8.0  # between the query axis and the drawing area
DASHES = ((6.0, 3.0), (2.0, 2.0), (9.0, 3.0, 2.0, 3.0), (12.0, 4.0), (4.0, 5.0), (8.0, 2.0, 2.0, 2.0, 2.0, 2.0))
ASKED_DIGITS = 2e-6  # a score of a run is what was asked for to so many of it
CROWDED = 3.2  # radius of a dot over the density of the cloud


class FitPicture(Plot):
    """Picture of one kernel fit; what can be grabbed on it is in `FitPlot`."""

    top_room, right_room, bottom_room, least_left = 49.0, 4.0, 41.0, 49.0
    still_below = -45.0
    _spanned = 0.0  # height that the spans were made for

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("fit.plot")
        self.setAccessibleName("Kernel fit: observations, their weighted average, and the query")
        self.result: Result | None = None
        self.compact = False
        self.ring = ""  # the row of the correspondence table under the mouse
        self.places = np.empty((0, 3))  # of the observations: x, y, radius in pixels
        self.drawn = np.empty(0, dtype=bool)  # which of them are dots on the picture
        self.labels: Labels | None = None
        self.remembered = Remembered()
        self.labels_for: tuple[object, object] = (None, None)  # the frame and theme, and the result they stand for
        self._cloud_of: object = None  # the density and theme that the picture was made of
        self._live: tuple[float, float] | None = None  # where the dragged thing is, in units of the data
        self._asked: dict[str, float] = {}  # handles of a head, and where along x the next answer will have them
        self.band = self.add_area("band", -90)
        self.cloud = self.add_cloud(-80)
        self.confidence = self.add_area("muted", -50, alpha=0.18)
        self.kernel_area = self.add_area("query", -40, alpha=0.16)
        self.f_line = self.add_curve("direct", 2.0, z=-20, level=True)
        self.kernel_line = self.add_curve("query", 1.6, z=-30)
        self.baselines = [self.add_curve("text2", 1.6, dash=dash, z=-15) for dash in DASHES]
        self.curve = self.add_curve("query", 2.0, z=-10)
        self.restyle()

    # --- setters -------------------------------------------------------------------------------------------------

    def show_result(self, result: Result) -> None:
        """Draw a result; while something is dragged the axes hold and the dragged thing stays under the mouse."""
        new_scene = self.result is None or self.result.kind != result.kind
        self.result = result
        if new_scene:
            self._zoom = (0.0, 1.0, 0.0, 1.0)
        self._asked = {name: at for name, at in self._asked.items() if self._is_missing(name, at)}
        room = FitPicture.right_room + room_for(self) + (HALF_DOT if result.kind == "regression" else 0.0)
        if room != self.right_room:
            self.right_room = room
            self.relayout()
        if not self.dragged or new_scene:
            self._respan()
        self._set_curves()
        self.repaint_now()

    def ask(self, places: dict[str, float]) -> None:
        """Let handles of a head stand where they were let go, though the answer may take a large model seconds."""
        if self.result is None:
            return
        self._asked = {name: at for name, at in places.items() if self._is_missing(name, at)}
        self._set_curves()
        self.repaint_now()

    def _is_missing(self, name: str, at: float) -> bool:
        """Whether the result has a handle of a head elsewhere; scores are float32."""
        index = self.observation(dot_sample(name))
        if self.result.kind != "head" or (name != "query" and index < 0):
            return False
        now = self.result.query_at if name == "query" else float(self.result.points.x[index])
        return abs(now - at) > ASKED_DIGITS * max(1.0, abs(at))

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
        """Where the query is drawn: under the mouse while it is dragged, where it was let go after that."""
        if self.dragged == "query" and self._live is not None:
            return self._live[0]
        return self._asked.get("query", 0.0 if self.result is None else self.result.query_at)

    @property
    def f_shown(self) -> float:
        """The value of f at the query drawn, read off the curve until it is answered."""
        result = self.result
        if result is None:
            return float("nan")
        if self.query_shown != result.query_at and len(result.curve_at):
            return float(np.interp(self.query_shown, result.curve_at, result.curve_f))
        return result.f

    @property
    def h_shown(self) -> float | None:
        """The bandwidth drawn."""
        if self.dragged == "h" and self._live is not None:
            return self._live[0]
        return self.result.h if self.result is not None else None

    def observation(self, sample: int) -> int:
        """Return which observation a sample is, -1 if it is none; in a head the two are the same."""
        result = self.result
        if result is None or sample < 0:
            return -1
        if result.samples is None:
            return sample if sample < len(result.points.x) else -1
        at = int(np.searchsorted(result.samples, sample))
        return at if at < len(result.samples) and result.samples[at] == sample else -1

    @property
    def baseline(self) -> Curve:
        """The curve of the first baseline."""
        return self.baselines[0]

    def points_shown(self) -> tuple[np.ndarray, np.ndarray]:
        """The places of the observations, the dragged one under the mouse, those asked for where they will be."""
        points = self.result.points
        index = self.observation(dot_sample(self.dragged))
        dragged = index >= 0 and self._live is not None
        if not (dragged or self._asked):
            return points.x, points.y
        x, y = np.array(points.x, dtype=float), np.array(points.y, dtype=float)
        for name, at in self._asked.items():
            if name != "query":
                x[self.observation(dot_sample(name))] = at
        if dragged:
            x[index], y[index] = self._live
        return x, y

    # --- drawing -------------------------------------------------------------------------------------------------

    def _respan(self) -> None:
        result = self.result
        if result is None:
            return
        low, high = result.y_range
        room = max(high - low, 1e-12)
        self._spanned = height = self.frame_px.height
        # Where the plot is low, a share of it would be less than the axis title is high.
        head = max(COMPACT_HEADROOM if self.compact else HEADROOM, min(TITLE / max(height - TITLE, 1.0), MOST_HEADROOM))
        if result.kind == "head":
            y = span(low - FOOTROOM * room, high + head * room)
        else:
            bottom, top = result.band
            inner = top - bottom
            low = min(low - ROUND_ROOM * room, bottom - KERNEL_FOOTROOM * inner)
            y = span(low, max(high + ROUND_ROOM * room, top + 0.7 * head * inner))
        query = span(*result.query_range)
        self.set_spans(span(*result.x_range) if result.kind == "head" else query, y, query)

    def relayout(self) -> None:
        super().relayout()
        if getattr(self, "result", None) is None:
            return
        if self.frame_px.height != self._spanned and not self.dragged:
            self._respan()
        self._set_kernel()

    def _set_curves(self) -> None:
        result, query = self.result, self._spans[2]
        ends = np.asarray([query.low, query.high])
        f = self.f_shown
        self.f_line.set_data(ends, np.asarray([f, f]))
        self.curve.set_data(np.asarray(result.curve_at), np.asarray(result.curve_f))
        self.band.shown = result.band_holds
        low, high = result.band
        self.band.set_data(ends, np.full(2, low), np.full(2, high))
        self.confidence.shown = result.ci_low is not None
        if result.ci_low is not None and result.ci_high is not None:
            self.confidence.set_data(result.curve_at, result.ci_low, result.ci_high)
        for at, item in enumerate(self.baselines):
            item.shown = at < len(result.baselines)
            if at < len(result.baselines):
                item.set_data(*result.baselines[at][1:])
        self._set_cloud()
        self._set_kernel()

    def _set_cloud(self) -> None:
        """The density of a large cloud, under everything; a picture is made only if the counts are new."""
        density = self.result.density
        self.cloud.shown = density is not None
        if density is None or self._cloud_of == (density, current().name):
            return
        self._cloud_of = density, current().name
        pixels = _cloud_colors()[density.shade[::-1]]  # (n_rows, n_columns, 4), the highest row first
        height, width, _ = pixels.shape
        image = QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGBA8888)
        self.cloud.set_image(image.convertToFormat(QImage.Format.Format_ARGB32_Premultiplied), density.extent)

    def _set_kernel(self) -> None:
        """The kernel's shape stands on the bottom axis, a fixed share of the drawing area high."""
        result = self.result
        shown = result.kernel_x is not None and result.kernel_y is not None and not self.compact
        self.kernel_line.shown = self.kernel_area.shown = shown
        if not shown:
            return
        y = self.frame_px.y
        x = np.asarray(result.kernel_x) + (self.query_shown - result.query_at)
        base = np.full(len(x), y.low + 0.004 * y.length)
        height = base + KERNEL_HEIGHT * y.length * np.asarray(result.kernel_y)
        self.kernel_line.set_data(x, height)
        self.kernel_area.set_data(x, base, height)

    def restyle(self) -> None:
        super().restyle()
        if getattr(self, "result", None) is not None:
            self._set_cloud()

    def place_dots(self) -> np.ndarray:
        """Return the observations as (n, 3): x, y, radius in pixels."""
        x, y = self.points_shown()
        frame = self.frame_px
        radius = radii(self.result.points.weight, self.result.kind)
        if self.result.density is not None:
            radius = np.full(len(radius), CROWDED)
        return np.stack([frame.x_px(x), frame.y_px(y), radius], axis=1)

    def before_px(self) -> np.ndarray | None:
        """Return the observations before the edit like `place_dots`, None if there is no edit."""
        old, frame = self.result.before, self.frame_px
        if old is None or len(old.x) != len(self.result.points.x):
            return None
        size = radii(old.weight, self.result.kind)
        return np.stack([frame.x_px(old.x), frame.y_px(old.y), size], axis=1)

    def way_px(self) -> np.ndarray | None:
        """Return the way of the selected dot from its old to its new place as a line (2, 2), None without an edit."""
        before, index = self.before_px(), self.result.selected
        return None if before is None or index < 0 else np.stack([before[index, :2], self.places[index, :2]])

    def paint_over(self, painter: QPainter) -> None:
        if self.result is not None:
            self.places = self.place_dots()
            paint_fit(painter, self)


def dot_sample(name: str) -> int:
    """Return the sample (in a head, the key) of a dot's handle, -1 for other handles."""
    return int(name[3:]) if name.startswith("dot") else -1


def _cloud_colors() -> np.ndarray:
    """From no sample (transparent) to the densest place, in the colours of weights; single samples can be seen."""
    table = sequential_lut().copy()
    table[1:] = table[np.linspace(64, 200, 255).astype(int)]
    table[0, 3] = 0
    return table
