"""The base of the painted controls: names, hover, pressed, keyboard focus, and being disabled for a stated reason.

Signals of controls fire for what the user does; setters are silent, so that state can flow one way.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QEnterEvent, QFocusEvent, QKeyEvent, QPalette
from PySide6.QtWidgets import QWidget

_KEYBOARD = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)


def describe(widget: QWidget, name: str, label: str, tip: str = "") -> None:
    """Give a widget its object name, accessible name and tooltip."""
    if name:
        widget.setObjectName(name)
    widget.setAccessibleName(label)
    if tip:
        widget.setToolTip(tip)
        widget.setAccessibleDescription(tip)


def fill(widget: QWidget) -> None:
    """Let a widget of a card paint its own ground: a change in it then leaves the card and its other parts alone."""
    widget.setBackgroundRole(QPalette.ColorRole.Base)
    widget.setAutoFillBackground(True)


def set_available(widget: QWidget, reason: str = "") -> None:
    """Enable a widget, or disable it and say why in its tooltip; an empty reason enables it."""
    if widget.isEnabled() and reason:
        widget.setProperty("tipWhenEnabled", widget.toolTip())
    elif not widget.isEnabled() and not reason:
        widget.setToolTip(widget.property("tipWhenEnabled") or "")
    if reason:
        widget.setToolTip(reason)
    widget.setEnabled(not reason)


class Control(QWidget):
    """A painted control. Subclasses read `hovered`, `pressed` and `ringed` when they paint."""

    def __init__(self, parent: QWidget | None = None, *, name: str = "", label: str = "", tip: str = "") -> None:
        super().__init__(parent)
        describe(self, name, label, tip)
        self.hovered = False
        self.pressed = False
        self.ringed = False  # focus came by the keyboard
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def set_available(self, reason: str = "") -> None:
        """Enable the control, or disable it and say why in its tooltip."""
        set_available(self, reason)

    def enterEvent(self, event: QEnterEvent) -> None:
        self.hovered = True
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self.hovered = False
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.ringed = event.reason() in _KEYBOARD
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.ringed = self.pressed = False
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        event.ignore()

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.EnabledChange:
            self.hovered = self.pressed = False
        super().changeEvent(event)
        self.update()
