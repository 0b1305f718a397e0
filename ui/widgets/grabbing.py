"""Grabbing: turns mouse and keyboard over a plot into signals about named handles, and changes nothing by itself.

Everything that can be dragged can be moved by arrow keys too; Tab chooses which. The drawing area, curves and text are
in `plot`.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QWidget

from .axes import Frame, Span
from .handles import Handle, hit

_BY_KEYBOARD = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason)
_ARROWS = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, 1), Qt.Key.Key_Down: (0, -1)}
_ANSWER_MS = 25
_DRAG_PX = 3.0  # a press that moves less is a click


class Grabbing(pg.GraphicsView):
    """A view whose handles can be dragged, clicked, stepped and removed.

    pyqtgraph's own drags are not used: they drop moves beyond a rate, and the last place of a drag must never be lost.

    Signals
    -------
    handleMoved(name, x_px, y_px) : a handle is dragged to these pixels. handleReleased(name) : the drag is over.
    handleStepped(name, across, up) : an arrow key; Shift counts ten. stepsEnded() : the arrow key was let go.
    handleClicked(name), removeRequested(name), emptyDoubleClicked(x_px, y_px), hovered(name) : "" = nothing.
    """

    handleMoved = Signal(str, float, float)
    handleReleased = Signal(str)
    handleStepped = Signal(str, float, float)
    stepsEnded = Signal()
    handleClicked = Signal(str)
    removeRequested = Signal(str)
    emptyDoubleClicked = Signal(float, float)
    hovered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, background=None)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.viewport().setMouseTracking(True)
        self.frame_px = Frame(0, 0, 1, 1, Span(0, 1), Span(0, 1), Span(0, 1))
        self.active = ""  # the handle that the arrow keys move
        self.hover = ""  # the handle under the mouse
        self.dragged = ""  # the handle that is being dragged
        # The answer to a move is usually there by then and paints the handle too: one picture instead of two.
        self._moved = QTimer(self, singleShot=True, interval=_ANSWER_MS)
        self._moved.timeout.connect(self.viewport().update)
        self._press: QPointF | None = None
        self._under = ""
        self._ring = False

    def handles(self) -> Sequence[Handle]:
        """Return what can be grabbed now, in pixels; those with `stop` are reached by Tab, in this order."""
        return ()

    def grab_at(self, x: float, y: float) -> str:
        """Return the name of what a press at this pixel grabs, "" for nothing."""
        return hit(self.handles(), x, y)

    def fit(self) -> None:
        """Show everything."""

    # --- mouse ---------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()
        self._ring = False
        if event.button() != Qt.MouseButton.LeftButton:
            return
        at = event.position()
        self._press = at
        self._under = self.grab_at(at.x(), at.y())
        if self._under:
            self.active = self._under
            self.hover = ""  # what was said about it is about to be wrong; the next hover says it again
            self.hovered.emit("")
        self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        event.accept()
        at = event.position()
        if self._press is not None and self._under:
            far = abs(at.x() - self._press.x()) + abs(at.y() - self._press.y()) >= _DRAG_PX
            if self.dragged or far:
                self.dragged = self._under
                self.handleMoved.emit(self._under, at.x(), at.y())
                if not self._moved.isActive():
                    self._moved.start()
            return
        self._set_hover(self.grab_at(at.x(), at.y()))

    def _set_hover(self, name: str) -> None:
        if name != self.hover:
            self.hover = name
            self.setCursor(Qt.CursorShape.PointingHandCursor if name else Qt.CursorShape.ArrowCursor)
            self.hovered.emit(name)
            self.viewport().update()

    def repaint_now(self) -> None:
        """Paint what was set, and with it the handle of a drag."""
        self._moved.stop()
        self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()
        self._moved.stop()
        if event.button() != Qt.MouseButton.LeftButton or self._press is None:
            return
        name, dragged = self._under, self.dragged
        self._press, self._under, self.dragged = None, "", ""
        if dragged:
            self.handleReleased.emit(dragged)
        elif name:
            self.handleClicked.emit(name)
        self.viewport().update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        event.accept()
        at, frame = event.position(), self.frame_px
        inside = frame.left <= at.x() <= frame.right and frame.top <= at.y() <= frame.bottom
        if inside and not self.grab_at(at.x(), at.y()):
            self.emptyDoubleClicked.emit(at.x(), at.y())

    def leaveEvent(self, event: QEvent) -> None:
        self._set_hover("")
        super().leaveEvent(event)

    # --- keyboard ------------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        names = self._stops()
        name = self.active if self.active in names else names[0] if names else ""
        if name and key in _ARROWS:
            times = 10.0 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1.0
            across, up = _ARROWS[key]
            self._ring, self.active = True, name
            self.handleStepped.emit(name, across * times, up * times)
        elif name and key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removeRequested.emit(name)
        elif key == Qt.Key.Key_Home:
            self.fit()
        else:
            event.ignore()
            return
        event.accept()
        self.viewport().update()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() in _ARROWS and not event.isAutoRepeat():
            self.stepsEnded.emit()
        event.accept()

    def focusNextPrevChild(self, forward: bool) -> bool:
        names = self._stops()
        place = names.index(self.active) if self.active in names else -1
        place += 1 if forward else -1
        if not self.hasFocus() or not 0 <= place < len(names):
            return super().focusNextPrevChild(forward)
        self.active, self._ring = names[place], True
        self.viewport().update()
        return True

    def _stops(self) -> list[str]:
        """The handles that Tab visits, in order."""
        return [handle.name for handle in self.handles() if handle.stop]

    def focusInEvent(self, event: QFocusEvent) -> None:
        if event.reason() in _BY_KEYBOARD:
            names = self._stops()
            self._ring = True
            self.active = (
                (names[-1] if event.reason() == Qt.FocusReason.BacktabFocusReason else names[0]) if names else ""
            )
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()
