"""The formula card: what the panel computes, with shapes and the numbers on screen, in place of its plot."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from kav.views.formulas import FormulaRow
from kav.views.words import plain

from ..painting import guarded
from ..theme import current, font
from .button import Button
from .control import describe
from .drawing import baseline, draw_text, text_width
from .runs import fitted, paint_line, runs_of

ROW = 25
PADDING = 14


class _Rows(QWidget):
    """The rows, painted: formula left, shape and value right."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows: tuple[FormulaRow, ...] = ()

    def set_rows(self, rows: Sequence[FormulaRow]) -> None:
        self._rows = tuple(rows)
        self.setAccessibleDescription("; ".join(f"{plain(row.formula)} {row.shape} {row.value}" for row in rows))
        self.setMinimumHeight(ROW * len(self._rows))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, ROW * len(self._rows))

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        right = self.width() - PADDING
        for i, row in enumerate(self._rows):
            middle = i * ROW + ROW / 2
            if row.rule_above:
                painter.fillRect(QRectF(PADDING, i * ROW, right - PADDING, 1), QColor(theme.border))
            value_font, shape_font = font(13, 600), font(12)
            edge = right - text_width(row.value, value_font)
            draw_text(painter, round(edge), baseline(middle, value_font), row.value, value_font, theme.ink)
            if row.shape:
                edge -= text_width(row.shape, shape_font) + (12 if row.value else 0)
                draw_text(painter, round(edge), baseline(middle, shape_font), row.shape, shape_font, theme.muted)
            formula = fitted(runs_of(row.formula, 13), edge - 8 - PADDING)
            paint_line(painter, formula, PADDING, baseline(middle, font(13)))


class FormulaCard(QWidget):
    """Rows of formulas over the panel's plot, and "Copy as Python"."""

    copyRequested = Signal()

    def __init__(self, parent: QWidget, *, name: str) -> None:
        super().__init__(parent)
        describe(self, name, "formula card", "indices, shapes and the numbers on screen")
        self.rows = _Rows(self)
        area = QScrollArea(self)
        area.setWidget(self.rows)
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.viewport().setAutoFillBackground(False)
        self.rows.setAutoFillBackground(False)
        copy = Button("Copy as Python", self, name=f"{name}.copy", tip="a script that reproduces these numbers")
        copy.clicked.connect(self.copyRequested)
        foot = QHBoxLayout()
        foot.setContentsMargins(0, 0, PADDING, 6)
        foot.addStretch(1)
        foot.addWidget(copy)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 2, 0, 0)
        column.setSpacing(2)
        column.addWidget(area, 1)
        column.addLayout(foot)
        self.hide()

    def set_rows(self, rows: Sequence[FormulaRow]) -> None:
        """Show these rows."""
        self.rows.set_rows(rows)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        """Cover the plot."""
        painter.fillRect(self.rect(), QColor(current().panel))
