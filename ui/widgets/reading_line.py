"""The answer in words above a picture: text and marks on one line, shortened at the right when there is no room."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from kav.views.words import Piece, Reading, plain

from ..painting import guarded
from ..theme import font
from .drawing import baseline
from .runs import fitted, paint_line, runs_of, width_of
from .states import VEIL


class ReadingLine(QWidget):
    """Pieces of text in their roles, with marks. The tooltip and the accessible name are the whole line, plain."""

    def __init__(self, parent: QWidget | None = None, *, name: str = "", px: int = 12, height: int = 18) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self._reading: Reading = ()
        self._px = px
        self._lower = 0.0  # how far below the middle the text stands
        self._faded = False
        self.setFixedHeight(height)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_reading(self, reading: Reading | str) -> None:
        """Show a line; a plain string is one piece in second text."""
        pieces = (Piece(reading),) if isinstance(reading, str) else tuple(reading)
        if pieces == self._reading:
            return
        self._reading = pieces
        text = plain(self._reading)
        self.setToolTip(text)
        self.setAccessibleName(text)
        self.updateGeometry()
        self.update()

    def set_faded(self, faded: bool) -> None:
        """Dim the line like the picture below it: a new answer is being computed."""
        if faded != self._faded:
            self._faded = faded
            self.update()

    def text(self) -> str:
        """Return the line as plain text."""
        return plain(self._reading)

    def sizeHint(self) -> QSize:
        return QSize(round(width_of(runs_of(self._reading, self._px))) + 1, self.height())

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        px = self._px
        painter.setOpacity(1 - VEIL if self._faded else 1.0)
        runs, smaller = runs_of(self._reading, px), runs_of(self._reading, px - 1)
        if width_of(runs) > self.width() >= width_of(smaller):  # rather a little smaller than without its end
            runs, px = smaller, px - 1
        base = baseline(self.height() / 2 + self._lower, font(px))
        paint_line(painter, fitted(runs, float(self.width())), 0.0, base)


class PredictsLine(ReadingLine):
    """What the fit predicts at the query, where the head scene shows the next tokens."""

    def __init__(self, parent: QWidget | None = None, *, name: str = "prompt.predicts") -> None:
        super().__init__(parent, name=name, px=13, height=42)
        self._lower = 2.0  # on the row of the rug's box
        self.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
