"""A number that can be typed, beside a slider or on its own."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QLocale, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QSizePolicy, QWidget

from kav.views.words import fixed

from ..theme import font
from .control import describe, set_available
from .drawing import text_width

MINUS = "\u2212"


def parse_number(text: str, locale: QLocale | None = None) -> float | None:
    """Return the number a person typed, or None if it is not one.

    The real minus sign counts as a minus. A decimal comma counts where the locale writes commas and is refused
    elsewhere; it is never cut off. A decimal point counts everywhere, because numbers are shown with one.
    """
    plain = text.strip().replace(MINUS, "-")
    if "," in plain and "." not in plain and (locale or QLocale()).decimalPoint() == ",":
        plain = plain.replace(",", ".")
    if not plain or "_" in plain:
        return None
    try:
        value = float(plain)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


class ValueField(QLineEdit):
    """A typed number. What cannot be accepted stays on screen in the colour of errors, and the last good value counts.

    `rule` takes a value and returns what it breaks ("" if nothing), in the words of the program:
    "bandwidth h must be > 0, got −0.2". Escape restores the last good value.
    """

    valueEntered = Signal(float)
    refused = Signal(str)

    def __init__(
        self,
        parent: QWidget | None = None,
        *,
        name: str = "",
        label: str = "",
        tip: str = "",
        rule: Callable[[float], str] | None = None,
        written: Callable[[float], str] = fixed,
    ) -> None:
        super().__init__(parent)
        describe(self, name, label, tip)
        self._label = label or "value"
        self._rule = rule
        self._written = written
        self._value = 0.0
        self.setProperty("bare", True)
        self.setFont(font(12, 500))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.returnPressed.connect(self.enter)
        self.set_value(0.0)

    def set_value(self, value: float) -> None:
        """Show a value without a signal and forget a refused text."""
        self._value = value
        self.setText(self._written(value))
        self.set_wrong(False)
        self.updateGeometry()

    def follow(self, value: float) -> None:
        """Show a value that was changed elsewhere, unless somebody is typing here; focus alone is no reason to stay."""
        if self.hasFocus() and self.isModified():
            return
        self.set_value(value)
        if self.hasFocus():
            self.selectAll()

    def value(self) -> float:
        """Return the last good value."""
        return self._value

    def set_wrong(self, wrong: bool) -> None:
        """Show the text in the colour of errors, or no longer; for rules that only the computation knows."""
        if bool(self.property("wrong")) != wrong:
            self.setProperty("wrong", wrong)
            self.setFont(font(12, 600 if wrong else 500))
            self.style().unpolish(self)
            self.style().polish(self)

    def set_available(self, reason: str = "") -> None:
        """Enable the field, or disable it and say why in its tooltip."""
        set_available(self, reason)

    def enter(self) -> None:
        """Accept or refuse what is typed; the same as pressing Enter."""
        text = self.text()
        if text == self._written(self._value):
            self.setModified(False)
            return self.set_wrong(False)
        value = parse_number(text)
        if value is None:
            return self._refuse(f"{self._label} must be a number such as {self._written(self._value)}, got {text!r}")
        broken = self._rule(value) if self._rule else ""
        if broken:
            return self._refuse(broken)
        self.set_value(value)
        return self.valueEntered.emit(value)

    def _refuse(self, message: str) -> None:
        self.set_wrong(True)
        self.refused.emit(message)

    def sizeHint(self) -> QSize:
        return QSize(max(round(text_width(self.text(), self.font())) + 10, 44), 26)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.selectAll()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.enter()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.set_value(self._value)
        else:
            super().keyPressEvent(event)
