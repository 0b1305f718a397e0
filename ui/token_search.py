"""Lets a pill find any token of the vocabulary: what is typed is looked for off the GUI thread, the list narrows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QObject

from kav.model.vocabulary import Vocabulary
from kav.task import Task

from .session import Session
from .widgets.pill import Pill


class TokenSearch(QObject):
    """Gives a pill its candidates, and while somebody types whatever matches in the whole vocabulary."""

    def __init__(self, pill: Pill, session: Session, channel: str) -> None:
        super().__init__(pill)
        self._pill, self._session, self._channel = pill, session, channel
        self._candidates: tuple[tuple[object, str], ...] = ()
        self._vocabulary: Vocabulary | None = None
        self._text = ""
        pill.searched.connect(self._on_pill_searched)
        pill.closed.connect(self._on_pill_closed)
        session.engine.finished.connect(self._on_engine_finished)

    def set_candidates(self, options: Sequence[tuple[object, str]]) -> None:
        """Set what the list holds before anybody types."""
        self._candidates = tuple(options)
        if not self._text:
            self._pill.set_options(self._candidates)

    def _on_pill_searched(self, text: str) -> None:
        self._text = text.strip()
        if not self._text or self._session.model is None:
            self._pill.set_options(self._candidates)
            return
        if self._vocabulary is None or self._vocabulary.model is not self._session.model:
            self._vocabulary = Vocabulary(self._session.model)
        self._session.engine.submit(self._channel, partial(_search, self._vocabulary, self._text), lane="open")

    def _on_pill_closed(self) -> None:
        self._text = ""
        self._session.engine.cancel(self._channel)
        self._pill.set_options(self._candidates)

    def _on_engine_finished(self, channel: str, found: Any) -> None:
        if channel == self._channel and found[0] == self._text:
            self._pill.set_options(found[1])


def _search(vocabulary: Vocabulary, text: str, task: Task) -> tuple[str, tuple[tuple[int, str], ...]]:
    """Rows of the tokens found: label, exact text, and the id where an id was typed."""
    model, rows = vocabulary.model, []
    for token in vocabulary.search(text, task):
        written = model.token(token)
        exact = "" if written.exact in (written.label, f'"{written.label}"') else f"   {written.exact}"
        rows.append((token, written.label + exact + (f"   #{token}" if text.startswith("#") else "")))
    return text, tuple(rows)
