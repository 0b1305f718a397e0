"""How the rows of a waterfall are painted: names left, bars on one axis, numbers right."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen

from kav.views.attribution import Part

from ..marks import paint_mark
from ..theme import Theme, current, font
from .drawing import baseline
from .painted import text_width, write
from .runs import Run, Runs, fitted, label_runs, paint_line, width_of

TEXT, MARK, INDENT = 15.0, 16.0, 14.0  # where names start, room of a mark, indent of the sources
RIGHT = 20.0  # from the numbers to the edge
BAR, THIN = 12.0, 6.0
SUB = ("source", "other-sources")
LONGEST = 0.42  # share of the width that names may take


@dataclass(frozen=True)
class Columns:
    """Where names end, where the axis lies, and where numbers start."""

    names: float
    left: float  # of the axis, in px
    right: float
    low: float  # of the axis, in the unit of the parts
    high: float
    width: float

    def x(self, value: float) -> float:
        """Return where a value is on the axis."""
        return self.left + (value - self.low) / (self.high - self.low) * (self.right - self.left)

    def span(self, start: float, end: float, middle: float, height: float) -> QRectF:
        """Return the bar from one value to another, never thinner than a hairline."""
        left, right = sorted((self.x(start), self.x(end)))
        return QRectF(left, middle - height / 2, max(right - left, 1.0), height)

    def bar(self, part: Part, middle: float) -> QRectF:
        """Return the bar of a part in the row around `middle`."""
        return self.span(part.start, part.start + part.value, middle, THIN if part.kind in SUB else BAR)


def columns(rows: tuple[Part, ...], width: float) -> Columns:
    """Return the columns of these rows; the axis holds every bar, those before an edit too, and zero."""
    ends = [0.0]
    for part in rows:
        ends += [part.start, part.start + part.value]
        if part.before is not None:
            ends.append(part.start + part.before)
    low, high = min(ends), max(ends)
    if not low < high:
        high = low + 1.0
    names = min(max((_name_end(part) for part in rows), default=TEXT), width * LONGEST)
    numbers = max((text_width(part.text, 12, 600) for part in rows), default=0.0)
    left = round(names + 12)
    return Columns(names, left, max(left + 20.0, width - RIGHT - numbers - 19), low, high, width)


def _name(part: Part) -> Runs:
    """The name of a part."""
    theme, strong = current(), 600 if _strong(part) else 400
    if part.kind == "source" and part.label is not None:
        return (Run("from "), *label_runs(part.label, color=theme.ink))
    if part.kind == "sample" and " " in part.name:
        word, _, figures = part.name.rpartition(" ")
        color = theme.ink if part.selected else ""
        return (Run(f"{word} ", color, weight=strong), Run(figures, theme.ink, weight=strong))
    return (Run(part.name, "" if part.kind in (*SUB, "rest") else theme.ink, weight=strong),)


def _name_start(part: Part) -> float:
    indent = INDENT if part.kind in SUB else 0.0
    return TEXT + indent + (MARK if _mark(part) else 0.0)


def _name_end(part: Part) -> float:
    return _name_start(part) + width_of(_name(part))


def _mark(part: Part) -> str:
    if part.kind == "total":
        return "direct" if part.label is None else "target"
    return "key" if part.is_key else ""


def _strong(part: Part) -> bool:
    return part.kind == "total" or (part.selected and part.kind not in SUB)


def paint_rules(painter: QPainter, layout: Columns, rows: tuple[Part, ...], places: list[QRectF]) -> None:
    """Paint the zero line, and the rule above the sum."""
    theme = current()
    painter.setPen(QPen(QColor(theme.border), 1))
    zero = round(layout.x(0.0)) - 0.5
    painter.drawLine(QPointF(zero, places[0].top()), QPointF(zero, places[-1].bottom()))
    if rows[-1].kind == "total":
        y = round(places[-1].top()) + 0.5
        painter.drawLine(QPointF(TEXT, y), QPointF(layout.width - RIGHT + 3, y))


def paint_links(painter: QPainter, layout: Columns, rows: tuple[Part, ...], places: list[QRectF]) -> None:
    """Connect the end of each bar with the start of the next; the sources of a head are inside its bar."""
    painter.setPen(QPen(QColor(current().ctrl), 1))
    last: tuple[Part, QRectF] | None = None
    for part, place in zip(rows, places, strict=True):
        if part.kind in SUB or part.kind == "total":
            continue
        if last is not None:
            end, start = last[0].start + last[0].value, part.start
            if abs(layout.x(end) - layout.x(start)) < 1.5:
                x = layout.x(end)
                painter.drawLine(QPointF(x, last[1].center().y() + BAR / 2), QPointF(x, place.center().y() - BAR / 2))
        last = (part, place)


def paint_row(painter: QPainter, layout: Columns, part: Part, place: QRectF, *, hovered: bool) -> None:
    """Paint one row: its tint, name, bar, outline of before, and number."""
    theme, middle = current(), place.center().y()
    tint = _tint(theme, part)
    if tint or hovered:
        height = min(place.height(), 24.0)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QBrush(QColor(tint or theme.hover)))
        painter.drawRoundedRect(QRectF(place.left(), middle - height / 2, place.width(), height), 5, 5)
    _paint_name(painter, layout, part, middle)
    bar = layout.bar(part, middle)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QBrush(_bar_color(theme, part)))
    radius = 1.5 if bar.width() > 4 else 0
    painter.drawRoundedRect(bar, radius, radius)
    if part.before is not None and abs(part.before - part.value) > 1e-12:
        _paint_before(painter, layout, part, middle)
    weight = 600 if _strong(part) else 400 if part.kind in SUB else 500
    color = "text2" if part.kind in SUB else "ink"
    right = QRectF(0, middle - 8, layout.width - RIGHT, 16)
    write(painter, right, part.text, px=12, weight=weight, color=color, side="right")


def _tint(theme: Theme, part: Part) -> str:
    if part.kind == "sample" and (part.is_key or part.selected):
        return theme.ktint
    return theme.band if part.selected and part.kind not in SUB else ""


def _bar_color(theme: Theme, part: Part) -> QColor:
    if part.kind == "sample" and (part.is_key or part.selected):
        return QColor(theme.key)
    if part.kind == "total" and part.label is None:
        return QColor(theme.direct)
    if part.kind in SUB or (part.selected and part.kind == "head"):
        return QColor(theme.direct)
    return QColor(theme.positive if part.value >= 0 else theme.negative)


def _paint_before(painter: QPainter, layout: Columns, part: Part, middle: float) -> None:
    height = THIN if part.kind in SUB else BAR
    painter.setPen(QPen(QColor(current().editedink), 1.2, Qt.PenStyle.DotLine))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    outline = layout.span(part.start, part.start + (part.before or 0.0), middle, height)
    painter.drawRoundedRect(outline.adjusted(-0.5, -1, 0.5, 1), 2, 2)


def _paint_name(painter: QPainter, layout: Columns, part: Part, middle: float) -> None:
    mark, x = _mark(part), _name_start(part)
    if mark:
        paint_mark(painter, mark, x - 10, middle, 4.2)
    paint_line(painter, fitted(_name(part), layout.names - x + 1), x, baseline(middle, font(12)))
