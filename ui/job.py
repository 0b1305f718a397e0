"""Work that somebody asked for by a button or a file: it runs once on the engine, can be followed and stopped.

Unlike a `Feed` it never starts by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal

from kav.task import Task

from .engine import Engine


class Job(QObject):
    """One channel of the engine.

    Signals
    -------
    showed(value) : what there is of the answer so far, finished(value), failed(error), busied(bool),
    progressed(fraction, text). A new start replaces a running one.
    """

    showed = Signal(object)
    finished = Signal(object)
    failed = Signal(object)
    busied = Signal(bool)
    progressed = Signal(float, str)

    def __init__(self, channel: str, engine: Engine, parent: QObject, *, lane: str = "long") -> None:
        super().__init__(parent)
        self.channel = channel
        self._engine, self._lane = engine, lane
        engine.started.connect(self._on_engine_started)
        engine.progressed.connect(self._on_engine_progressed)
        engine.showed.connect(self._on_engine_showed)
        engine.finished.connect(self._on_engine_finished)
        engine.failed.connect(self._on_engine_failed)
        engine.stopped.connect(self._on_engine_stopped)

    @property
    def running(self) -> bool:
        """Whether the work is under way."""
        return self._engine.busy(self.channel)

    def start(self, work: Callable[[Task], Any]) -> None:
        """Do it."""
        self._engine.submit(self.channel, work, lane=self._lane)

    def cancel(self) -> None:
        """Give it up."""
        self._engine.cancel(self.channel)

    def _on_engine_started(self, channel: str) -> None:
        if channel == self.channel:
            self.busied.emit(True)

    def _on_engine_progressed(self, channel: str, fraction: float, text: str) -> None:
        if channel == self.channel:
            self.progressed.emit(fraction, text)

    def _on_engine_showed(self, channel: str, value: Any) -> None:
        if channel == self.channel:
            self.showed.emit(value)

    def _on_engine_finished(self, channel: str, value: Any) -> None:
        if channel == self.channel:
            self.busied.emit(False)
            self.finished.emit(value)

    def _on_engine_failed(self, channel: str, error: BaseException) -> None:
        if channel == self.channel:
            self.busied.emit(False)
            self.failed.emit(error)

    def _on_engine_stopped(self, channel: str) -> None:
        if channel == self.channel and not self.running:
            self.busied.emit(False)
