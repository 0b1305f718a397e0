"""The fit written as a head: the formula line by line, and its small matrices with their numbers."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from kav.views.circuits import Formula

from .reading_line import ReadingLine
from .small_matrix import SmallMatrix

EDGE = 16
LINE = {False: 24, True: 18}  # height of a line above the matrices, by whether there is little height
BELOW, GAP = 28, 3
ABOVE = 2  # lines above the matrices; the next one explains W_OV, the others are below


class FormulaView(QWidget):
    """Features, q, k and the score in words; W_QK and W_OV in numbers."""

    def __init__(self, parent: QWidget | None = None, *, name: str = "") -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAccessibleName("the fit as an attention head")
        self._lines = [ReadingLine(self, name=f"{name}.line{i}", height=LINE[False]) for i in range(ABOVE)]
        self._moved = ReadingLine(self, name=f"{name}.moved", px=11)
        self._below = ReadingLine(self, name=f"{name}.below", px=11, height=BELOW)
        self.W_QK = SmallMatrix(self, name=f"{name}.W_QK")
        self.W_OV = SmallMatrix(self, name=f"{name}.W_OV")
        column = QVBoxLayout(self)
        column.setContentsMargins(EDGE, 3, EDGE, 2)
        column.setSpacing(0)
        for line in self._lines:
            column.addWidget(line)
        column.addSpacing(GAP)
        grid = QGridLayout()
        grid.setHorizontalSpacing(26)
        grid.setVerticalSpacing(0)
        corner = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
        grid.addWidget(self.W_QK, 0, 0, 2, 1, corner)
        grid.addWidget(self.W_OV, 0, 1, corner)
        grid.addWidget(self._moved, 1, 1, Qt.AlignmentFlag.AlignTop)
        grid.setColumnStretch(1, 1)
        grid.setRowStretch(1, 1)
        column.addLayout(grid)
        column.addWidget(self._below)
        column.addStretch(1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """By the height there is: all; low cells and no last line; or the matrices alone, which the header explains."""
        super().resizeEvent(event)
        level = next((level for level in ("all", "low") if self.height() >= self._height(level)), "least")
        self._below.setVisible(level == "all")
        for line in (*self._lines, self._moved):
            line.setVisible(level != "least")
        for line in self._lines:
            line.setFixedHeight(LINE[level != "all"])
        for matrix in (self.W_QK, self.W_OV):
            matrix.set_low(level != "all", titled=level != "least")
        self.layout().activate()

    def _height(self, level: str) -> int:
        margins = self.layout().contentsMargins()
        around = margins.top() + margins.bottom() + (0 if level == "least" else GAP)
        lines = {"all": ABOVE * LINE[False] + BELOW, "low": ABOVE * LINE[True], "least": 0}[level]
        return around + lines + SmallMatrix.height_of(3, low=level != "all", titled=level != "least")

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), self._height("least"))

    def set_formula(self, formula: Formula | None) -> None:
        """Show a formula; without W_QK (the kernel is not exp(bilinear)) only the lines and W_OV."""
        lines = () if formula is None else formula.lines
        for line, reading in zip(self._lines, (*lines[:ABOVE], (), ()), strict=False):
            line.set_reading(reading)
        self._moved.set_reading(lines[ABOVE] if len(lines) > ABOVE else ())
        self._below.set_reading(lines[ABOVE + 1] if len(lines) > ABOVE + 1 else ())
        if formula is None:
            return
        known = bool(np.all(np.isfinite(formula.W_QK)))
        self.W_QK.setVisible(known)
        if known:
            keys = tuple(name.replace("x", "xᵢ") for name in formula.names)
            level = 1.2 * float(np.max(np.abs(formula.W_QK))) or 1.0
            title = "W_QK = W_Q W_Kᵀ  (3 × 3)"
            self.W_QK.set_values(formula.W_QK, formula.names, keys, title=title, level=level)
        self.W_OV.set_values(formula.W_OV, ("y",), ("out",), title="W_OV", level=1.2, roles=("key", "direct"))
