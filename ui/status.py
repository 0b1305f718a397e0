"""The line at the bottom: what one can do here, and on the right tokens, time and device."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QStatusBar, QWidget

from kav.views.words import number

from . import theme
from .session import Session

HINTS = {
    "head": "Drag a dot to change its score · arrow keys move the selection · <b>Ctrl+Z</b> undoes",
    "regression": "Drag samples, the query ▼ or the bandwidth · double click adds a sample · <b>Ctrl+Z</b> undoes",
}

LONG = 2.0  # s from which times are given in seconds
MARGIN = 10  # so that the words start below those of the cards


class StatusLine(QStatusBar):
    """The status line of one window."""

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("status")
        self.setSizeGripEnabled(False)
        self.setFixedHeight(26)
        self._session = session
        self._timed: dict[str, tuple[str, float]] = {}
        self._said: tuple[str, str, str] | None = None  # prompt, scene, sentence
        self._hint = QLabel(self)
        self._hint.setObjectName("status.hint")
        self._facts = QLabel(self)
        self._facts.setObjectName("status.facts")
        self._facts.setTextFormat(Qt.TextFormat.PlainText)
        for label in (self._hint, self._facts):
            label.setFont(theme.font(12))
        self.setContentsMargins(MARGIN, 0, MARGIN, 0)
        self.addWidget(self._hint, 1)
        self.addPermanentWidget(self._facts)
        session.engine.finished.connect(self._on_engine_finished)
        for signal in (session.sceneChanged, session.traceChanged, session.samplesChanged, session.modelChanged):
            signal.connect(self.update_facts)
        self.update_facts()

    def _on_engine_finished(self, channel: str, value: object) -> None:
        if channel == "trace":
            word = "rerun" if "head" in self._timed else "first run"  # the first one also loads libraries
            self._timed["head"] = (word, value.seconds)  # type: ignore[attr-defined]
        elif channel == "fit" and self._session.kind == "regression":
            self._timed["regression"] = ("fit", value[2])  # type: ignore[index]
        self.update_facts()

    def say(self, sentence: str) -> None:
        """Show a sentence in the place of the hint, until the prompt or the scene is another one."""
        self._said = (self._session.prompt, self._session.kind, sentence)
        self.update_facts()

    def update_facts(self) -> None:
        """Show the present size, time and device."""
        session = self._session
        said = self._said is not None and self._said[:2] == (session.prompt, session.kind)
        self._hint.setText(escape(self._said[2]) if said else HINTS[session.kind])
        facts = []
        if session.kind == "regression":
            facts.append(f"{session.document.samples.n:,} samples")
        elif session.trace is not None:
            n_tokens = len(session.trace.tokens.ids)
            facts.append(f"{n_tokens:,} token" + "s" * (n_tokens != 1))
        if session.kind in self._timed:
            word, seconds = self._timed[session.kind]
            facts.append(f"{word} {number(seconds)} s" if seconds >= LONG else f"{word} {number(1000 * seconds)} ms")
        model = session.model if session.trace is None else session.trace.model  # on the CPU if the GPU failed
        device = model.device if model is not None else "cpu"
        facts.append("NumPy · CPU" if device == "cpu" else f"CuPy · {device}")
        self._facts.setText("   ·   ".join(facts))
