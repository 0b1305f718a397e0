"""The labels of the hero, each placed by the label rule: axis title, line f, curves, selected dot, heaviest dots."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from kav.views.words import signed

from ..theme import current
from .dots import RING, moved_away, named
from .fit_ends import End, paint_ends, put_ends, with_influence
from .labels import Box, Obstacles, along, candidates, place
from .lettering import height_of, paint_runs
from .runs import Run, fitted, label_runs, title_runs, width_of

if TYPE_CHECKING:
    from .fit_picture import FitPicture

LONGEST = 130.0  # of a dot's label
COARSE = 100  # points of a curve that the label rule looks at: one every few pixels


def pen(color: str, width: float, dash: tuple[float, ...] = ()) -> QPen:
    """Return a pen; dashes in pixels."""
    found = QPen(QColor(color), width)
    if dash:
        found.setDashPattern([length / width for length in dash])
        found.setCapStyle(Qt.PenCapStyle.FlatCap)
    return found


def row_of(plot: FitPicture, y: float) -> float:
    """The row of a value, held inside the drawing area."""
    frame = plot.frame_px
    return float(min(max(frame.y_px(y), frame.top), frame.bottom)) if np.isfinite(y) else frame.bottom


class Labels:
    """Places labels one after the other; each one placed is in the way of the next."""

    def __init__(self, plot: FitPicture) -> None:
        frame, result = plot.frame_px, plot.result
        self.plot = plot
        self.placed: list[tuple[tuple[Run, ...], Box]] = []
        self.ties: list[tuple[QPointF, QPointF]] = []  # lines from a dot to a label that stands further off
        self.ends: list[End] = []  # of several baselines, named beside the plot
        self.moving: dict[str, tuple[int, tuple[float, float]]] = {}  # which of `placed` follows what, and where it was
        self.bounds = Box(frame.left + 2, frame.top, frame.width - 4, frame.height)
        dots = plot.places[plot.drawn]
        if 0 <= result.selected < len(plot.places):
            dots = np.vstack([dots, plot.places[result.selected] + np.asarray([0.0, 0.0, RING + 1])])
        before = plot.before_px()
        if before is not None and result.before is not None:
            outlined = (plot.drawn | ~result.points.visible) & result.before.visible
            dots = np.vstack([dots, before[outlined & moved_away(before, plot.places)]])
        self.curve = _polyline(plot, result.curve_at, result.curve_f)
        row = row_of(plot, plot.f_shown)
        self.kernel = np.empty((0, 2))
        lines = [self.curve]
        if np.isfinite(plot.f_shown):
            lines.append(np.asarray([[frame.left, row], [frame.right, row]]))
        if result.kernel_x is not None and not plot.compact:
            self.kernel = _polyline(plot, *plot.kernel_line.data)
            lines.append(self.kernel)
        drop = float(frame.query_px(plot.query_shown))
        lines.append(np.asarray([[drop, frame.top], [drop, frame.bottom if result.kind == "regression" else row]]))
        way = plot.way_px()
        self.taken = Obstacles.of(dots, lines if way is None else [*lines, way])

    def put(
        self, runs: tuple[Run, ...], places: Iterable[Box], *, wanted: Callable[[Box], bool] | None = None
    ) -> Box | None:
        """Place runs at the first free place (that is `wanted`)."""
        box = self.plot.remembered.place(places, self.bounds, self.taken, wanted=wanted)
        if box is not None:
            self.fix(runs, box)
        return box

    def put_over(self, runs: tuple[Run, ...], places: Iterable[Box]) -> Box | None:
        """Place runs where no other label is, over curves and dots if need be: the halo keeps them legible."""
        box = place(places, self.bounds, Obstacles.of(boxes=self.taken.boxes))
        if box is not None:
            self.fix(runs, box)
        return box

    def fix(self, runs: tuple[Run, ...], box: Box) -> None:
        """Place runs in a box, free or not."""
        self.placed.append((runs, box))
        self.taken = self.taken.with_box(box)

    def follow(self, what: str, at: tuple[float, float]) -> None:
        """Let the label placed last follow something that is at these pixels now."""
        self.moving[what] = len(self.placed) - 1, at

    def carry(self, now: dict[str, tuple[tuple[Run, ...], tuple[float, float]]]) -> bool:
        """Take labels along with what they follow, in its present words; False if that cannot be done."""
        if not self.moving.keys() <= now.keys():
            return False
        for what, (index, was) in self.moving.items():
            runs, at = now[what]
            across, down = at[0] - was[0], at[1] - was[1]
            _, box = self.placed[index]
            box = Box(box.left + across, box.top + down, width_of(runs), box.height)
            if not self.bounds.holds(box):
                return False
            self.placed[index], self.moving[what] = (runs, box), (index, at)
            if what == "dot":
                way = QPointF(across, down)
                self.ties = [(start + way, end + way) for start, end in self.ties]
        return True


def _polyline(plot: FitPicture, at: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A curve over the query axis in pixels, (n, 2); outside the drawing area it is NaN."""
    frame = plot.frame_px
    thin = slice(None, None, max(1, len(at) // COARSE))
    at, y = np.asarray(at, dtype=float)[thin], np.asarray(y, dtype=float)[thin]
    line = np.stack([frame.query_px(at), frame.y_px(y)], axis=1)
    x, y = line.T
    out = (x < frame.left) | (x > frame.right) | (y < frame.top) | (y > frame.bottom)
    return np.where(out[:, None], np.nan, line)


def paint_labels(painter: QPainter, plot: FitPicture) -> None:
    """Paint every label where the rule puts it.

    Placing them costs more than painting them: while something is dragged they are placed anew a few times a second,
    and in between go along with what they belong to.
    """
    key = (plot.frame_px, current().name, plot.compact, plot.result.kind, plot.dragged)
    labels, result = plot.labels, plot.labels_for[1] if plot.labels_for[0] == key else None
    if labels is None or result is None:
        plot.place_again()
        labels = placed_labels(plot)
    elif (plot.dragged or result is not plot.result) and not (plot.may_carry() and labels.carry(_moving(plot))):
        labels = placed_labels(plot)
    plot.labels, plot.labels_for = labels, (key, plot.result)
    painter.setPen(pen(current().key, 1.2))
    for start, end in labels.ties:
        painter.drawLine(start, end)
    paint_ends(painter, plot, labels.ends)
    for runs, box in labels.placed:
        paint_runs(painter, runs, box.left, box.top + box.height / 2)


def _moving(plot: FitPicture) -> dict[str, tuple[tuple[Run, ...], tuple[float, float]]]:
    """What labels may follow: the words to say, and where it is."""
    result = plot.result
    found = {"kernel": (_kernel_runs(), (float(plot.frame_px.query_px(plot.query_shown)), 0.0))}
    if np.isfinite(plot.f_shown):
        found["f"] = _f_runs(plot), (0.0, row_of(plot, plot.f_shown))
    if 0 <= result.selected < len(plot.places) and result.points.visible[result.selected]:
        x, y, _ = plot.places[result.selected].tolist()
        found["dot"] = _dot_runs(plot, result.selected), (x, y)
    return found


def _kernel_runs() -> tuple[Run, ...]:
    return (Run("kernel at the query", current().query, 11, 500),)


def placed_labels(plot: FitPicture) -> Labels:
    """Place every label, the most needed first."""
    labels, result, theme = Labels(plot), plot.result, current()
    plot.remembered.begin((plot.frame_px.width, plot.frame_px.height, result.kind, plot.compact))
    _put_axis_title(labels, plot)
    _put_band_note(labels, plot)
    _put_f(labels, plot)
    _put_selected(labels, plot)
    if len(result.curve_at) and len(result.baselines) < 2:
        own = next(iter(result.influences), ("", None))[1]  # the fit's comes first
        name = (Run(with_influence("f as the query moves", own), theme.query, 11, 500),)
        labels.put(name, along(labels.curve, width_of(name), height_of(name), prefer=0.5))
    if len(labels.kernel):
        name = _kernel_runs()
        if labels.put(name, along(labels.kernel, width_of(name), height_of(name), prefer=0.66)) is not None:
            labels.follow("kernel", (float(plot.frame_px.query_px(plot.query_shown)), 0.0))
    _put_baselines(labels, plot)
    if result.kind == "head":
        most = 4 if plot.compact else 7
        for index in named(np.asarray(result.points.weight), result.points.visible, result.selected, most):
            if index != result.selected:
                _put_dot(labels, plot, index)
    return labels


def _put_baselines(labels: Labels, plot: FitPicture) -> None:
    """One baseline's name on its curve; those of several beside the plot."""
    result = plot.result
    if len(result.baselines) > 1:
        labels.ends = put_ends(labels, plot)
        return
    for words, at, y in result.baselines:
        line = _polyline(plot, at, y)
        name = (Run(with_influence(words, dict(result.influences).get(words)), current().text2, 11, 500),)
        if labels.put(name, along(line, width_of(name), height_of(name), prefer=0.8)) is None:
            # rather across a curve or a dot than without a name
            labels.put_over(name, along(line, width_of(name), height_of(name), prefer=0.9))


def _put_axis_title(labels: Labels, plot: FitPicture) -> None:
    """The value axis' title at the top left, beside the drop line rather than across it."""
    frame = plot.frame_px
    runs = title_runs(plot.result.y_title)
    width, left = width_of(runs), frame.left + 8
    line = float(frame.query_px(plot.query_shown))
    if left - 6 < line < left + width + 6:
        left = line + 11
    if left + width > frame.right:
        left = frame.left + 8
    labels.fix(runs, Box(left, frame.top + 2, width, 14))


def _put_band_note(labels: Labels, plot: FitPicture) -> None:
    """At the lower edge of the band, right or left; where dots or curves leave no place it is not said."""
    frame, result = plot.frame_px, plot.result
    held = "f cannot leave the band" if result.kind == "head" else "f cannot leave the range of the data"
    text = held if result.band_holds else "f may leave the range of the data"
    runs = (Run(text, current().muted, 11),)
    width, edge = width_of(runs), float(frame.y_px(result.band[0]))
    columns = (frame.right - 4 - width, frame.left + 8)
    labels.put(runs, tuple(Box(left, top, width, 13) for top in (edge + 3, edge - 16) for left in columns))


def _put_f(labels: Labels, plot: FitPicture) -> None:
    """The name of the line f, or why there is none."""
    frame, result, theme = plot.frame_px, plot.result, current()
    if not np.isfinite(plot.f_shown):
        if result.notice:
            runs = fitted((Run(result.notice, theme.error, 12, 600),), frame.width - 16)
            line = float(frame.query_px(plot.query_shown))
            left = min(max(line + 10, frame.left + 6), frame.right - width_of(runs) - 6)
            labels.fix(runs, Box(left, frame.top + frame.height / 2 - 7, width_of(runs), 14))
        return
    runs = _f_runs(plot)
    width, row = width_of(runs), row_of(plot, plot.f_shown)
    left, right = frame.left + 6, frame.right - width - 6
    spots = [(x, y) for y in (row + 9, row - 23, row + 20, row - 34) for x in (left, right)]
    spots.sort(key=lambda spot: spot[0])
    if labels.put(runs, tuple(Box(x, y, width, 14) for x, y in spots)) is not None:
        labels.follow("f", (0.0, row))


def _f_runs(plot: FitPicture) -> tuple[Run, ...]:
    """The value of the line f, read off the curve while the query is dragged."""
    result, color = plot.result, current().direct
    if plot.dragged != "query":
        return (Run(result.f_text, color, 12, 600),)
    word = result.f_text.rsplit(" ", 1)[-1] if result.kind == "head" else ""
    return (Run(f"f = {signed(plot.f_shown, result.decimals[1])} {word}".strip(), color, 12, 600),)


def _put_selected(labels: Labels, plot: FitPicture) -> None:
    """The selected dot's label may stand further off, tied to its dot by a line."""
    result = plot.result
    index = result.selected
    if not (0 <= index < len(plot.places) and result.points.visible[index]):
        return
    x, y, r = plot.places[index].tolist()
    if _put_dot(labels, plot, index) is not None:
        labels.follow("dot", (x, y))
        return
    runs = _dot_runs(plot, index)
    width = width_of(runs)
    out = r + RING
    spots = tuple(
        Box(x - width / 2 + shift, y - out - away - 14 if up else y + out + away, width, 14)
        for away in (12, 20, 30, 42)
        for up in (True, False)
        for shift in (0, 0.3 * width, -0.3 * width)
    )
    box = labels.put(runs, spots)
    if box is not None:
        above = box.bottom < y
        start = QPointF(x, y - out - 1 if above else y + out + 1)
        labels.ties.append((start, QPointF(x, box.bottom if above else box.top)))
        labels.follow("dot", (x, y))


def _put_dot(labels: Labels, plot: FitPicture, index: int) -> Box | None:
    result = plot.result
    x, y, r = (float(v) for v in plot.places[index])
    if not labels.bounds.holds(Box(x, y, 0, 0)):
        return None
    runs = _dot_runs(plot, index)
    out = r + RING if index == result.selected else r
    return labels.put(runs, candidates(x, y, out, width_of(runs), height_of(runs)))


def _dot_runs(plot: FitPicture, index: int) -> tuple[Run, ...]:
    result = plot.result
    heavy = bool(result.points.weight[index] >= 0.01)
    chosen = index == result.selected
    color = current().ink if chosen or heavy else ""
    return fitted(label_runs(result.labels[index], weight=600 if chosen else 400, color=color), LONGEST)
