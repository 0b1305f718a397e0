"""The pills of the head scene: head, query, key, target, and the foil whose logit is subtracted."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from kav.errors import KavError
from kav.views.prompt import Result
from kav.views.words import Label

from .head_search import HeadSearch
from .session import Session
from .token_search import TokenSearch
from .widgets.pill import Pill

NO_FOIL = -1
LEAST = 84  # of a pill with a token


class HeadBar(QObject):
    """Owns the pills and asks the session to change; the prompt bar gives them their places."""

    def __init__(self, session: Session, bar: QWidget) -> None:
        super().__init__(bar)
        self._session = session
        self._listed: tuple[Label, ...] = ()  # the tokens that the lists of queries and keys hold
        head, query = (
            "layer.head; type a role, such as induction, to find heads",
            "the token that asks (click in the strip)",
        )
        key, target = "the token that is read (shift-click in the strip)", "the token whose logit is explained"
        foil = "a token whose logit is subtracted"
        self.head = Pill("Head", bar, name="prompt.head", tip=head)
        self.query = Pill("Query", bar, role="query", name="prompt.query", tip=query, least=LEAST)
        self.key = Pill("Key", bar, role="key", name="prompt.key", tip=key, least=LEAST)
        self.target = Pill("Target", bar, role="target", name="prompt.target", tip=target, least=LEAST)
        self.foil = Pill("minus", bar, name="prompt.foil", tip=foil, least=LEAST)
        self.pills = (self.head, self.query, self.key, self.target, self.foil)
        self._wire()

    def _wire(self) -> None:
        session = self._session
        self._head_search = HeadSearch(self.head, session)
        self._target_search = TokenSearch(self.target, session, "search.target")
        self._foil_search = TokenSearch(self.foil, session, "search.foil")
        self.head.activated.connect(self._on_head_activated)
        self.query.activated.connect(session.select_query)
        self.key.activated.connect(self.select_key)
        self.target.activated.connect(self.select_target)
        self.target.typed.connect(self._on_target_typed)
        self.foil.activated.connect(self._on_foil_activated)
        self.foil.typed.connect(self._on_foil_typed)
        session.modelChanged.connect(self._on_session_model_changed)

    def show_result(self, result: Result) -> None:
        """Show what is selected."""
        if result.labels is not self._listed:
            self._listed = result.labels
            tokens = [(i, _row_text(label)) for i, label in enumerate(result.labels)]
            for pill in (self.query, self.key):
                pill.set_options(tokens)
        self.head.set_value(f"{result.layer}.{result.head}", (result.layer, result.head))
        for pill, index in ((self.query, result.query), (self.key, result.key)):
            pill.set_value(result.labels[index], index)
        candidates = [(p.token, p.label.text) for p in result.predictions]
        self._target_search.set_candidates(candidates)
        self.target.set_value(result.target_label or "", result.target)
        self._foil_search.set_candidates([(NO_FOIL, "none"), *candidates])
        self.foil.set_value(result.foil_label or "none", NO_FOIL if result.foil is None else result.foil)

    def clear(self) -> None:
        """Show nothing as selected."""
        self._listed = ()
        for pill in (self.head, self.query, self.key, self.target, self.foil):
            pill.set_value("")

    def _on_session_model_changed(self) -> None:
        model = self._session.model
        why = "" if model.config.has_logits else f"{model.name} predicts no tokens: it has no output head"
        for pill in (self.target, self.foil):
            pill.set_available(why)

    # --- what the user does --------------------------------------------------------------------------------------

    def select_key(self, key: Any) -> None:
        """Select the token that is read."""
        self._session.select(key=key)

    def select_target(self, token: Any) -> None:
        """Select the token whose logit is explained."""
        self._session.select(target=token)

    def _on_head_activated(self, place: Any) -> None:
        self._session.select_head(*place)

    def _on_target_typed(self, text: str) -> None:
        self._select_typed("target", text)

    def _on_foil_activated(self, token: Any) -> None:
        self._session.select(foil=None if token == NO_FOIL else token)

    def _on_foil_typed(self, text: str) -> None:
        self._select_typed("foil", text)

    def _select_typed(self, what: str, text: str) -> None:
        try:
            self._session.select(**{what: self._session.model.find_token(text)})
        except KavError as error:
            self._session.problemRaised.emit(error)


def _row_text(label: Label) -> str:
    return f"{label.position}  {'…' if label.joined else ''}{label.text}"
