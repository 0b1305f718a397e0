"""The waterfall: the logit (or the fit) as a sum of parts, each bar starting where the one before ended."""

from __future__ import annotations

import math

from PySide6.QtCore import QRectF, QSize, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from kav.views.attribution import Part, Result, collapse
from kav.views.words import signed

from ..painting import guarded
from .control import fill
from .places import Lines
from .waterfall_paint import Columns, columns, paint_links, paint_row, paint_rules

EDGE, TOP, BOTTOM = 4, 5, 5
TALLEST, USUAL, SHORTEST = 26.0, 24.0, 16.0
FEWEST = 9  # rows that are shown even where they get short


class Waterfall(Lines):
    """Rows of parts with bars on one axis, connected; the sum under a rule.

    Signals
    -------
    partActivated(part) : a click on a row, or Return on the row of the keyboard.
    """

    partActivated = Signal(object)

    def __init__(self, parent: QWidget | None = None, *, name: str = "", label: str = "parts of the sum") -> None:
        super().__init__(parent, name=name, label=label)
        fill(self)
        self._result: Result | None = None
        self._rows: tuple[Part, ...] = ()

    # --- data ----------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> tuple[Part, ...]:
        """The rows as they are drawn."""
        return self._rows

    def set_result(self, result: Result | None) -> None:
        """Show the parts of a result; None shows nothing."""
        self._result = result
        self._collapse()

    def _collapse(self) -> None:
        result = self._result
        undefined = result is None or not math.isfinite(result.total)
        self._rows = () if undefined else tuple(collapse(result, self.n_rows_that_fit()))
        self.reset_places()
        self.setAccessibleDescription(", ".join(f"{part.name} {part.text}" for part in self._rows))
        self.update()

    def n_rows_that_fit(self) -> int:
        """Return how many rows there is room for: 24 px each, or 16 px where that would be very few."""
        room = self.height() - TOP - BOTTOM
        return max(3, int(room // USUAL), min(FEWEST, int(room // SHORTEST)))

    # --- geometry ------------------------------------------------------------------------------------------------

    def pitch(self) -> float:
        """Return the height of a row."""
        room = self.height() - TOP - BOTTOM
        return min(TALLEST, room / max(1, len(self._rows)))

    def row_rect(self, index: int) -> QRectF:
        """Return where a row is."""
        pitch = self.pitch()
        return QRectF(EDGE + 4, TOP + index * pitch, self.width() - 2 * EDGE - 8, pitch)

    def _columns(self) -> Columns:
        return columns(self._rows, self.width())

    def bar_rect(self, index: int) -> QRectF:
        """Return where the bar of a row is."""
        return self._columns().bar(self._rows[index], self.row_rect(index).center().y())

    def sizeHint(self) -> QSize:
        return QSize(430, 230)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 80)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._result is not None:
            self._collapse()

    # --- painting ------------------------------------------------------------------------------------------------

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        if not self._rows:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        places = [self.row_rect(index) for index in range(len(self._rows))]
        layout = self._columns()
        paint_rules(painter, layout, self._rows, places)
        paint_links(painter, layout, self._rows, places)
        for index, (part, place) in enumerate(zip(self._rows, places, strict=True)):
            paint_row(painter, layout, part, place, hovered=index == self.hovered_place)
        self.paint_cursor(painter)

    # --- pointer and keys ----------------------------------------------------------------------------------------

    def n_places(self) -> int:
        return len(self._rows)

    def hit_rect(self, index: int) -> QRectF:
        return self.row_rect(index)

    def tip_of(self, index: int) -> str:
        return tip(self._rows[index], self._result) if self._result else ""

    def act_on(self, index: int) -> None:
        self.partActivated.emit(self._rows[index])


def tip(part: Part, result: Result) -> str:
    """Return what a row says in full."""
    exact = f" {part.label.exact}" if part.label is not None and part.label.exact else ""
    text = f"{part.name}{exact}: {part.text} {result.unit}".rstrip()
    if result.total and part.kind != "total":
        text += f", {100 * part.value / result.total:.3g} % of the sum".replace("-", "−")
    return text if part.before is None else f"{text}, was {signed(part.before, part.decimals)}"
