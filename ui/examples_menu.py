"""The menu "Examples": prompts for the bundled model that each make one point, and where to look to see it."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QMenu, QMenuBar

from kav.errors import KavError
from kav.examples import EXAMPLES, Example

from .opening import Opening
from .session import Session

BUNDLED = "bundled"


class ExamplesMenu(QObject):
    """Shows an example: the bundled model if another is open, then its prompt, head, query and target.

    Signals
    -------
    shown(str) : an example is on screen; the sentence says what to look at.
    """

    shown = Signal(str)

    def __init__(self, session: Session, opening: Opening, bar: QMenuBar) -> None:
        super().__init__(bar)
        self._session, self._opening = session, opening
        self._waiting: Example | None = None
        self.menu = QMenu("Examples", bar)
        self.menu.setObjectName("menu.examples")
        self.menu.setToolTipsVisible(True)
        for number, example in enumerate(EXAMPLES):
            action = self.menu.addAction(example.title)
            action.setObjectName(f"example.{number}")
            action.setToolTip(example.look)
            action.setStatusTip(example.look)
            action.triggered.connect(partial(self.show_example, example))
        last = bar.actions()[-1]
        bar.insertMenu(last, self.menu)
        session.modelChanged.connect(self._on_session_model_changed)

    def show_example(self, example: Example, *_: Any) -> None:
        """Put an example on screen; the bundled model is opened first if another one is open."""
        model = self._session.model
        if model is not None and model.source == BUNDLED:
            self._show(example)
        else:
            self._waiting = example
            self._opening.open(BUNDLED)

    def _on_session_model_changed(self) -> None:
        example, self._waiting = self._waiting, None
        if example is not None and self._session.model.source == BUNDLED:
            self._show(example)

    def _show(self, example: Example) -> None:
        session = self._session
        try:
            target, foil = (session.model.find_token(text) if text else None for text in (example.target, example.foil))
        except KavError as error:
            session.problemRaised.emit(error)
            return
        session.set_scene("head")
        session.clear_edits()
        session.set_prompt(example.prompt)
        session.select(layer=example.layer, head=example.head, query=example.query, key=None, target=target, foil=foil)
        self.shown.emit(example.look)
