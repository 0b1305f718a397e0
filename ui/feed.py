"""Keeps one consumer of the session up to date: spec -> engine -> draw, and nothing computed twice.

A panel and the prompt bar both own a `Feed`. It re-reads the spec whenever the session says something changed, skips
it if it equals the one asked last, submits it on its own channel, and hands the result over in the GUI thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from PySide6.QtCore import QObject, Signal

from kav.task import Task

from .session import Session


class Feed(QObject):
    """One channel of the engine, wired to the session.

    Signals
    -------
    drawn(result), glanced(result) : what there is of the answer while the rest is computed, emptied() : there is
    nothing to show, failed(error), busied(bool), progressed(fraction, text).
    """

    drawn = Signal(object)
    glanced = Signal(object)
    emptied = Signal()
    failed = Signal(object)
    busied = Signal(bool)
    progressed = Signal(float, str)

    def __init__(
        self,
        channel: str,
        view: ModuleType,
        session: Session,
        *,
        spec: Callable[[], Any],
        lane: str = "live",
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self.channel = channel
        self.result: Any = None
        self.drawn_spec: Any = None
        self.seconds = 0.0
        self._view = view
        self._session = session
        self._spec = spec
        self._lane = lane
        self._asked: Any = None
        self._active = True
        for signal in (
            session.sceneChanged,
            session.traceChanged,
            session.selectionChanged,
            session.samplesChanged,
        ):
            signal.connect(self.request)
        session.refined.connect(self._on_session_refined)
        if lane != "live":  # what takes long is given up at once when it answers about another prompt
            session.promptChanged.connect(self.cancel)
            session.modelChanged.connect(self.cancel)
        engine = session.engine
        engine.started.connect(self._on_engine_started)
        engine.progressed.connect(self._on_engine_progressed)
        engine.showed.connect(self._on_engine_showed)
        engine.finished.connect(self._on_engine_finished)
        engine.failed.connect(self._on_engine_failed)
        engine.stopped.connect(self._on_engine_stopped)

    def set_active(self, active: bool) -> None:
        """Compute only while somebody looks; catch up when they do again."""
        if active != self._active:
            self._active = active
            self.request()

    def request(self) -> None:
        """Ask for the current spec unless it was asked already."""
        if not self._active:
            return
        spec = self._spec()
        if spec is None:
            self._asked = self.drawn_spec = self.result = None
            self._session.engine.cancel(self.channel)
            self.emptied.emit()
        elif spec != self._asked:
            self._asked = spec
            work = partial(_compute, self._view, spec, self.result)
            self._session.engine.submit(self.channel, work, lane=self._lane)

    def retry(self) -> None:
        """Ask again, though nothing changed."""
        self._asked = None
        self.request()

    def cancel(self) -> None:
        """Give up what runs; the last picture stays."""
        self._session.engine.cancel(self.channel)

    def _on_session_refined(self) -> None:
        if getattr(self.result, "approximate", ""):
            self.retry()

    def _on_engine_started(self, channel: str) -> None:
        if channel == self.channel:
            self.busied.emit(True)

    def _on_engine_progressed(self, channel: str, fraction: float, text: str) -> None:
        if channel == self.channel:
            self.progressed.emit(fraction, text)

    def _on_engine_showed(self, channel: str, answer: Any) -> None:
        if channel == self.channel and self._take(answer):
            self.glanced.emit(self.result)

    def _on_engine_finished(self, channel: str, answer: Any) -> None:
        if channel != self.channel:
            return
        self.busied.emit(False)
        if self._take(answer):
            self.drawn.emit(self.result)

    def _take(self, answer: Any) -> bool:
        """Keep an answer; one to the other scene or about a run that was closed is not wanted any more.

        A live lane shows what is a step behind.
        """
        spec, result, seconds = answer
        if self._asked is None or type(spec.scene) is not type(self._asked.scene):
            return False
        self.result, self.drawn_spec, self.seconds = result, spec, seconds
        return True

    def _on_engine_failed(self, channel: str, error: BaseException) -> None:
        if channel == self.channel:
            self.busied.emit(False)
            self.failed.emit(error)

    def _on_engine_stopped(self, channel: str) -> None:
        # What was stopped may have been replaced: then the newer request is the one asked.
        if channel == self.channel and not self._session.engine.busy(channel):
            self._asked = None
            self.busied.emit(False)


def _compute(view: ModuleType, spec: Any, last: Any, task: Task) -> tuple[Any, Any, float]:
    start = time.perf_counter()

    def answer(result: Any) -> tuple[Any, Any, float]:
        return spec, result, time.perf_counter() - start

    return answer(view.compute(spec, Task(task.report, lambda result: task.show(answer(result))), last))
