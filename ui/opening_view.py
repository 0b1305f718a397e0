"""What the window shows of opening models: drop target, progress, the question before a large one; and Esc."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QMimeData, QObject, Qt, QTimer
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import QMainWindow

from kav.errors import KavError, NoOutputMatrixError, PromptError
from kav.model.local import name_of
from kav.views.so_far import SoFar, time_left

from .importing import Importing, is_table
from .notice import Notice
from .opening import Opening, Question
from .session import Session
from .widgets.drop_target import DropTarget
from .widgets.run_card import RunCard
from .widgets.states import BusyPill, ProgressLine

BUSY_AFTER = 150  # ms; shorter waits are not worth a change of the picture
ALL_THE_SAME = object()  # the answer to a prompt that takes more than half of the memory


class OpeningView(QObject):
    """Watches the window's drags, size and Esc; owns what lies over its cards."""

    def __init__(
        self, window: QMainWindow, session: Session, opening: Opening, *, notice: Notice, importing: Importing
    ) -> None:
        super().__init__(window)
        self._importing = importing
        self._window, self._session, self._opening, self.notice = window, session, opening, notice
        self.drop = DropTarget(window)
        self.pill = BusyPill(window, name="opening")
        self.pill.hide()
        self.card = RunCard(window, name="opening.card", what="stop opening")
        self.card.hide()
        self.line = ProgressLine(window, name="opening.progress")
        self.line.hide()
        self._shown: SoFar | None = None
        self._timer = QTimer(self, singleShot=True, interval=BUSY_AFTER)
        self._timer.timeout.connect(self._on_timer_timeout)
        window.setAcceptDrops(True)
        window.installEventFilter(self)
        opening.changed.connect(self._on_opening_changed)
        opening.asked.connect(self._on_opening_asked)
        session.problemRaised.connect(self._on_session_problem_raised)
        for cancelled in (self.pill.cancelRequested, self.card.cancelRequested):
            cancelled.connect(opening.cancel)
        self.card.resized.connect(self._place)
        notice.actionRequested.connect(self._on_notice_action_requested)

    # --- progress ------------------------------------------------------------------------------------------------

    def _on_opening_changed(self) -> None:
        opening = self._opening
        if not opening.name:
            self._timer.stop()
            for widget in (self.pill, self.card, self.line):
                widget.hide()
            return
        how_far = opening.step or f"{100 * opening.fraction:.0f} %"
        text = f"Opening {_short(opening.name)}, {how_far}"
        self.pill.set_text(text)
        self.line.set_fraction(opening.fraction)
        if self.line.isVisible():
            self._show_heads(text)
            self._place()
        elif not self._timer.isActive():
            self._timer.start()

    def _on_timer_timeout(self) -> None:
        self.pill.show()
        self.line.show()
        self._place()

    def _show_heads(self, text: str) -> None:
        """Where there are heads of the first layers already, their card takes the place of the pill."""
        so_far = self._opening.so_far
        if so_far is None:
            return
        if self.card.isHidden():
            self.card.begin(text, heads=self._session.runs is None)
            self.card.show()
            self.pill.hide()
        if so_far is not self._shown:
            self.card.show_heads(so_far.thumbs, so_far.n_layers)
            self._shown = so_far
        self.card.say(f"{text}, {time_left(so_far.seconds_left)}", self._opening.fraction)

    def _place(self) -> None:
        """The line under the bars at the top, pill or card at the bottom, above a notice or a run if there is one."""
        window = self._window
        top = window.menuWidget().geometry().bottom() + 1
        self.line.setGeometry(0, top, window.width(), self.line.height())
        self.pill.adjustSize()
        others = [card.y() - 8 for card in window.findChildren(RunCard) if card is not self.card and card.isVisible()]
        floor = min([self.notice.floor(), *others])
        self.pill.move((window.width() - self.pill.width()) // 2, floor - self.pill.height())
        self.line.raise_()
        self.pill.raise_()
        if self.card.isVisible():
            self.card.stand_on(floor)

    # --- questions and refusals ----------------------------------------------------------------------------------

    def _on_opening_asked(self, question: Question) -> None:
        self.notice.ask(question.text(), (("Open", question), ("Cancel", None)))

    def _on_session_problem_raised(self, error: BaseException) -> None:
        shown = error if isinstance(error, KavError) else KavError(f"unexpected: {error!r}")
        actions: tuple[tuple[str, object], ...] = ()
        if isinstance(error, PromptError):
            n = f"{error.n_fit:,}"
            last, first = (f"Cut to the last {n}", (error.n_fit, "last")), (f"The first {n}", (error.n_fit, "first"))
            actions = (last, ("Run it all the same", ALL_THE_SAME)) if error.may_run else (last, first)
        elif isinstance(error, NoOutputMatrixError):
            actions = (("Use the embedding", self._opening.refused),)
        self.notice.show_error(shown, actions)

    def _on_notice_action_requested(self, value: Any) -> None:
        if isinstance(value, Question):
            self._opening.open(value.source, ask=False)
        elif value is ALL_THE_SAME:
            self._session.run_all_the_same()
        elif isinstance(value, tuple):
            self._session.cut_prompt(*value)
        elif isinstance(value, str):
            self._opening.open(value, tied=True)

    # --- drag and drop, size, Esc --------------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take drags of files, follow the size, and let Esc close the notice or cancel opening."""
        kind = event.type()
        if kind == QEvent.Type.DragEnter and isinstance(event, QDragEnterEvent):
            return self._enter(event)
        if kind == QEvent.Type.DragLeave:
            self.drop.hide()
        elif kind == QEvent.Type.Drop and isinstance(event, QDropEvent):
            return self._drop(event)
        elif kind == QEvent.Type.Resize:
            if self.line.isVisible():
                self._place()
            if self.drop.isVisible():
                self.drop.setGeometry(self._window.rect())
        elif kind == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            return self._escape()
        return False

    def _enter(self, event: QDragEnterEvent) -> bool:
        sources = dropped(event.mimeData())
        if not sources:
            return False
        self.drop.show_for(*_drop_words(sources))
        event.acceptProposedAction()
        return True

    def _drop(self, event: QDropEvent) -> bool:
        self.drop.hide()
        sources = dropped(event.mimeData())
        if not sources:
            return False
        event.acceptProposedAction()
        if len(sources) == 1 and is_table(sources[0]):
            self._importing.open(sources[0])
        elif len(sources) == 1:
            self._opening.open(sources[0])
        else:
            self._session.problemRaised.emit(
                KavError(f"what is dropped must be one folder or file, got {len(sources)}", "drop them one by one")
            )
        return True

    def _escape(self) -> bool:
        if self.notice.isVisible():
            self.notice.hide()
        elif self._opening.name:
            self._opening.cancel()
        else:
            return False
        return True


def dropped(mime: QMimeData) -> list[str]:
    """Return the local files and folders of a drag."""
    return [url.toLocalFile() for url in mime.urls() if url.isLocalFile()] if mime.hasUrls() else []


def _drop_words(sources: list[str]) -> tuple[str, str]:
    """What a drop will do, and with what."""
    kinds = "A model folder, a .safetensors or a .gguf file; nothing in it is executed"
    if len(sources) > 1:
        return "One model at a time", kinds
    if is_table(sources[0]):
        return (
            f"Drop to import {_short(Path(sources[0]).name)}",
            "A table with columns of numbers; its first rows come first",
        )
    return f"Drop to open {_short(name_of(sources[0]))}", kinds


def _short(name: str) -> str:
    return name if len(name) <= 48 else f"{name[:30]}…{name[-16:]}"
