"""What the window shows of a run of the model that takes long: how long, what is there so far, and Cancel or Esc.

The last run that is whole stays in all panels meanwhile, and they answer as usual.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QMainWindow

from kav.views.so_far import SoFar

from .notice import Notice
from .session import Session
from .widgets.run_card import RunCard

CHANNEL = "trace"
BUSY_AFTER = 400  # ms; shorter waits are seen in the panels soon enough


class Running(QObject):
    """Watches the runs of the session; owns the card that tells of them."""

    def __init__(self, window: QMainWindow, session: Session, notice: Notice) -> None:
        super().__init__(window)
        self._window, self._session, self._notice = window, session, notice
        self._text = ""
        self._so_far: SoFar | None = None
        self.card = RunCard(window, name="running", what="give this run up")
        self.card.hide()
        self._timer = QTimer(self, singleShot=True, interval=BUSY_AFTER)
        self._timer.timeout.connect(self._on_timer_timeout)
        engine = session.engine
        engine.started.connect(self._on_engine_started)
        engine.progressed.connect(self._on_engine_progressed)
        engine.showed.connect(self._on_engine_showed)
        for signal in (engine.finished, engine.failed):
            signal.connect(self._on_engine_ended)
        engine.stopped.connect(self._on_engine_ended)
        self.card.cancelRequested.connect(session.cancel_run)
        self.card.resized.connect(self._place)
        window.installEventFilter(self)

    def _on_engine_started(self, channel: str) -> None:
        if channel == CHANNEL:
            self._text, self._so_far = "Running the model", None
            self._timer.start()

    def _on_engine_progressed(self, channel: str, fraction: float, text: str) -> None:
        if channel == CHANNEL and text:
            self._text = f"Running {text}"
            if self.card.isVisible():
                self.card.begin(self._text)

    def _on_timer_timeout(self) -> None:
        self.card.begin(self._text, heads=self._session.runs is None)
        self.card.show()
        self._show_layers()
        self._place()

    def _on_engine_showed(self, channel: str, so_far: SoFar) -> None:
        if channel == CHANNEL:
            self._so_far = so_far
            self._show_layers()

    def _show_layers(self) -> None:
        if self._so_far is not None and self.card.isVisible():
            self.card.say(self._so_far.text(), self._so_far.fraction)
            self.card.show_heads(self._so_far.thumbs, self._so_far.n_layers)

    def _on_engine_ended(self, channel: str, *_: object) -> None:
        if channel == CHANNEL:
            self._timer.stop()
            self.card.hide()

    def _place(self) -> None:
        """At the bottom of the window, above a notice if there is one."""
        self.card.stand_on(self._notice.floor())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the window's size, and let Esc give the run up."""
        if not self.card.isVisible():
            return False
        if event.type() == QEvent.Type.Resize:
            self._place()
        pressed = event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent)
        if pressed and event.key() == Qt.Key.Key_Escape and not self._notice.isVisible():
            self._session.cancel_run()
            return True
        return False
