"""The next tokens as a table: probability as a bar, its number, and what it was before the edits."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from kav.views.predictions import Prediction
from kav.views.words import share

from ..marks import paint_mark
from ..painting import guarded
from ..theme import current
from .drawing import shown
from .painted import elided, text_width, write
from .places import Lines

TEXT, MARK, RIGHT, BAR = 15.0, 16.0, 20.0, 12.0
TOP, TALLEST, SHORTEST = 5.0, 26.0, 17.0


class PredictionTable(Lines):
    """Predictions, most probable first; the target is always among those shown.

    Signals
    -------
    targetRequested(token) : a click on a row, or Return on the row of the keyboard.
    """

    targetRequested = Signal(int)

    def __init__(self, parent: QWidget | None = None, *, name: str = "") -> None:
        super().__init__(parent, name=name, label="next tokens")
        self._predictions: tuple[Prediction, ...] = ()
        self._notes: tuple[str, ...] = ()

    # --- data ----------------------------------------------------------------------------------------------------

    def set_predictions(self, predictions: tuple[Prediction, ...], notes: tuple[str, ...] = ()) -> None:
        """Show predictions and, below them, one line of text: the first of `notes` for which there is room."""
        self._predictions, self._notes = predictions, notes
        self.reset_places()
        words = (f"{p.label.shown} {share(p.probability)}" for p in self.rows())
        self.setAccessibleDescription(", ".join(words))
        self.update()

    def rows(self) -> tuple[Prediction, ...]:
        """Return the predictions that are shown: as many as fit, the target in place of the last if need be."""
        n = max(1, int((self.height() - TOP - self._note_height()) // SHORTEST))
        kept = self._predictions[:n]
        target = next((p for p in self._predictions if p.is_target), None)
        return kept if target is None or target in kept else (*kept[:-1], target)

    # --- geometry ------------------------------------------------------------------------------------------------

    def _note_height(self) -> float:
        return 26.0 if self._notes else 4.0

    def note(self) -> str:
        """Return the line below the rows."""
        room = self.width() - TEXT - RIGHT
        fitting = (note for note in self._notes if text_width(note, 11) <= room)
        return next(fitting, elided(self._notes[-1], room, 11) if self._notes else "")

    def row_rect(self, index: int) -> QRectF:
        """Return where a row is."""
        room = self.height() - TOP - self._note_height()
        pitch = min(TALLEST, room / max(1, len(self.rows())))
        return QRectF(8, TOP + index * pitch, self.width() - 16, pitch)

    def sizeHint(self) -> QSize:
        return QSize(430, 230)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 80)

    # --- painting ------------------------------------------------------------------------------------------------

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        rows = self.rows()
        if not rows:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        names = min(max(text_width(shown(p.label.shown), 12, 600) for p in rows) + MARK, 0.4 * self.width())
        left = TEXT + names + 12
        right = self.width() - RIGHT - text_width("<0.001", 12, 600) - 12
        for index, prediction in enumerate(rows):
            self._paint_row(
                painter, prediction, self.row_rect(index), (left, right), hovered=index == self.hovered_place
            )
        place = QRectF(TEXT, self.height() - 22, self.width() - TEXT - RIGHT, 16)
        write(painter, place, self.note(), px=11, color="muted")
        self.paint_cursor(painter)

    def _paint_row(
        self, painter: QPainter, p: Prediction, place: QRectF, span: tuple[float, float], *, hovered: bool
    ) -> None:
        theme, middle, (left, right) = current(), place.center().y(), span
        if p.is_target or hovered:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QBrush(QColor(theme.ttint if p.is_target else theme.hover)))
            height = min(place.height() - 1, 24)
            painter.drawRoundedRect(QRectF(place.left(), middle - height / 2, place.width(), height), 5, 5)
        if p.is_target:
            paint_mark(painter, "target", TEXT + 5, middle, 4.2)
        weight = 600 if p.is_target else 400
        room = left - 12 - TEXT - MARK
        name = elided(shown(p.label.shown), room + 1, 12, weight)
        write(painter, QRectF(TEXT + MARK, middle - 8, room, 16), name, weight=weight, color="ink")
        height = min(BAR, place.height() - 5)
        bar = QRectF(left, middle - height / 2, max((right - left) * p.probability, 1.0), height)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QBrush(QColor(theme.target if p.is_target else theme.ctrl)))
        painter.drawRoundedRect(bar, 1.5, 1.5)
        if p.before is not None:
            painter.setPen(QPen(QColor(theme.editedink), 1.2, Qt.PenStyle.DotLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            outline = QRectF(left, bar.top(), max((right - left) * p.before, 1.0), height)
            painter.drawRoundedRect(outline.adjusted(-0.5, -1, 0.5, 1), 2, 2)
        number = QRectF(0, middle - 8, self.width() - RIGHT, 16)
        write(painter, number, share(p.probability), weight=weight or 500, color="ink", side="right")

    # --- pointer and keys ----------------------------------------------------------------------------------------

    def n_places(self) -> int:
        return len(self.rows())

    def hit_rect(self, index: int) -> QRectF:
        return self.row_rect(index)

    def tip_of(self, index: int) -> str:
        return tip(self.rows()[index])

    def act_on(self, index: int) -> None:
        self.targetRequested.emit(self.rows()[index].token)


def tip(p: Prediction) -> str:
    """Return what a row says in full."""
    text = f"{p.label.exact or p.label.shown}: probability {p.probability:.4g}, logit {p.logit:.4g}"
    if p.before is not None:
        text += f"; probability was {p.before:.4g}"
    return text.replace("-", "−")
