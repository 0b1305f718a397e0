"""Lets the head's pill find heads by what they do: roles are computed off the GUI thread when the list opens."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import QObject

from kav.model.trace import Trace
from kav.task import Task
from kav.views.head_list import Row, plain_rows, rows_with_roles

from .session import Session
from .widgets.pill import Pill

CHANNEL = "search.head"


class HeadSearch(QObject):
    """Fills the list of a pill with all heads; their roles on the present run follow as soon as they are known."""

    def __init__(self, pill: Pill, session: Session) -> None:
        super().__init__(pill)
        self._pill, self._session = pill, session
        self._known: Trace | None = None  # whose roles the list shows
        session.modelChanged.connect(self._on_session_model_changed)
        pill.opening.connect(self._on_pill_opening)
        session.engine.finished.connect(self._on_engine_finished)

    def _on_session_model_changed(self) -> None:
        self._known = None
        self._pill.set_options(plain_rows(self._session.model.config))

    def _on_pill_opening(self) -> None:
        trace = self._session.trace
        if trace is not None and trace is not self._known:
            self._session.engine.submit(CHANNEL, partial(_find, trace), lane="open")

    def _on_engine_finished(self, channel: str, found: Any) -> None:
        if channel == CHANNEL and found[0] is self._session.trace:
            self._known = found[0]
            self._pill.set_options(found[1])


def _find(trace: Trace, task: Task) -> tuple[Trace, tuple[Row, ...]]:
    return trace, rows_with_roles(trace)
