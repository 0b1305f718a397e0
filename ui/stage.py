"""What lies over a panel's picture: nothing, or one of its states (empty, busy, refused), with the picture dimmed.

The picture underneath is never taken away: a refusal says so and shows the last good one.
"""

from __future__ import annotations

import time
import traceback
from typing import Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from kav.errors import KavError
from kav.views.so_far import time_left

from .widgets.states import BusyPill, EmptyState, ErrorCard, ProgressLine, Veil

BUSY_AFTER = 150  # ms; shorter waits are not worth a change of the picture
LONG = 3.0  # s from which it is said how long the rest will take


class Stage(QWidget):
    """The picture and its states, one over the other.

    Signals
    -------
    cancelRequested(), retryRequested(), wayOutTaken(value) : the primary button of a refusal.
    waited(shown) : the wait became long enough to say so, or is over; what was said before is no longer the answer.
    """

    cancelRequested = Signal()
    waited = Signal(bool)
    retryRequested = Signal()
    wayOutTaken = Signal(object)

    def __init__(self, picture: QWidget, parent: QWidget, *, name: str) -> None:
        super().__init__(parent)
        self._picture = picture
        picture.setParent(self)
        self._cover: QWidget | None = None
        self._way_out_value: Any = None
        self._drawn = False
        self._vacant = False  # nothing to show, and the picture says so
        self._glanced = False  # what is there of the answer is drawn already
        self._began = 0.0
        self.empty = EmptyState(self, name=f"{name}.empty")
        self.empty.hide()
        self.busy = BusyPill(self, name=f"{name}.busy")
        self.error = ErrorCard(self, name=f"{name}.error")
        self._busy_veil = Veil(self, self.busy, margin=40)
        self._error_veil = Veil(self, self.error, margin=1)
        self.progress = ProgressLine(self, name=f"{name}.progress")
        self.busy.cancelRequested.connect(self.cancelRequested)
        self.error.wayOutRequested.connect(self._on_error_way_out_requested)
        self._timer = QTimer(self, singleShot=True, interval=BUSY_AFTER)
        self._timer.timeout.connect(self._on_timer_timeout)

    def set_cover(self, cover: QWidget) -> None:
        """Let a widget cover the picture whenever it is shown."""
        self._cover = cover
        cover.hide()

    def show_picture(self) -> None:
        """Show the picture alone."""
        self._drawn, self._vacant = True, False
        self._picture.show()
        self.empty.hide()
        self._error_veil.set_shown(False)

    def show_glance(self, *, left: bool = False) -> None:
        """Say that the picture is what there is of the answer so far; the rest is still being computed.

        At the lower right, or left where what is waited for stands at the right.
        """
        self._glanced = True
        self._busy_veil.set_corner(True, left=left)
        if self._busy_veil.isVisible():
            self.waited.emit(False)

    def show_empty(self, what: str, how: str) -> None:
        """Say what to do, and how; there is no picture to show."""
        self._drawn, self._vacant = False, True
        self._picture.hide()
        self._error_veil.set_shown(False)
        self.empty.set_text(what, how)
        self.empty.show()

    def show_error(self, error: BaseException, way_out: str = "", value: Any = None) -> None:
        """Show what was refused over the last good picture."""
        self._way_out_value = value
        if isinstance(error, KavError):
            message, details = error.message, error.hint
        else:
            message = f"unexpected {type(error).__name__}: {error}"
            details = "".join(traceback.format_exception(error))
            way_out = way_out or "Try again"
        behind = "The picture behind is the last good one." if self._drawn else ""
        self.error.set_error(message, behind, way_out=way_out, details=details)
        self._vacant = False
        self.empty.hide()
        self._error_veil.set_shown(True)

    def clear_error(self) -> None:
        """Take the refusal away."""
        self._error_veil.set_shown(False)

    def set_busy(self, busy: bool) -> None:
        """Dim the picture when the wait is worth it; live drags never show it."""
        if busy:
            self.busy.set_text("Computing")
            self._glanced = False
            self._busy_veil.set_corner(False)
            self._began = time.monotonic()
            self._timer.start()
            return
        self._timer.stop()
        self._show_wait(False)
        self.progress.set_fraction(None)

    def set_progress(self, fraction: float, text: str) -> None:
        """Say how far the running computation is."""
        if self._busy_veil.isVisible():
            self.progress.set_fraction(fraction)
        took = time.monotonic() - self._began
        left = f", {time_left(took * (1 - fraction) / fraction)}" if took > LONG and fraction > 0 else ""
        self.busy.set_text((text or "Computing") + left)
        self._busy_veil.settle()

    def _on_timer_timeout(self) -> None:
        self._show_wait(True)
        self.progress.set_fraction(0.0)
        self.progress.raise_()

    def _show_wait(self, shown: bool) -> None:
        self._busy_veil.set_shown(shown)
        self.empty.setVisible(self._vacant and not shown)  # two texts would lie over each other
        self.waited.emit(shown and not self._glanced)

    def _on_error_way_out_requested(self) -> None:
        self.clear_error()
        if self._way_out_value is None:
            self.retryRequested.emit()
        else:
            self.wayOutTaken.emit(self._way_out_value)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give every layer its place."""
        super().resizeEvent(event)
        for widget in (self._picture, self.empty, self._cover):
            if widget is not None:
                widget.setGeometry(self.rect())
        self.progress.setGeometry(0, 0, self.width(), self.progress.height())
