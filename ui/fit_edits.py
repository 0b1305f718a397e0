"""What grabbing the hero does: drags, clicks and controls become changes of the session, in either scene."""

from __future__ import annotations

from typing import Any, Protocol

from PySide6.QtCore import QObject

from kav.model.edits import MaskKeys, MoveQuery, SetScore, SetTemperature

from .session import Session


class Shown(Protocol):
    """Whatever shows the hero: its last result, None before the first."""

    result: Any


class FitEdits(QObject):
    """The slots of the hero's plots and controls; a late signal of the other scene is ignored."""

    def __init__(self, session: Session, shown: Shown, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._shown = shown

    def is_shown(self, kind: str) -> bool:
        """Return whether what is on screen is that scene's picture."""
        result = self._shown.result
        return self._session.kind == kind and result is not None and result.kind == kind

    def _has_sample(self, index: int) -> bool:
        """Return whether a sample on screen is still there; the picture may be one of samples that were replaced."""
        n = self._session.document.samples.n
        return self.is_shown("regression") and self._shown.result.n == n and 0 <= index < n

    def query(self) -> int:
        """Return the position of the query in the prompt on screen, whose run may be gone already."""
        return self._session.query_among(len(self._shown.result.labels))

    def _place(self) -> tuple[int, int]:
        """Layer and head."""
        return self._session.selection.layer, self._session.selection.head

    def asked(self) -> dict[str, float]:
        """Return where edits of the head on screen have its handles, "query" and "dot7"; the answer may be to come."""
        if not self.is_shown("head"):
            return {}
        here, found = (*self._place(), self.query()), {"query": 0.0}
        for edit in self._session.edits:
            if isinstance(edit, MoveQuery | SetScore) and (edit.layer, edit.head, edit.query) == here:
                if isinstance(edit, SetScore):
                    found[f"dot{edit.key}"] = edit.value
                elif edit.towards == self._shown.result.towards:
                    found["query"] = edit.t
        return found

    def move_query(self, at: float) -> None:
        """Move the query: along x, or in a head towards another token's."""
        if self.is_shown("regression"):
            self._session.set_x_query(at, merge="query")
        elif self.is_shown("head") and self._shown.result.towards is not None:
            self._move_towards(self._shown.result.towards, round(at, 3))

    def _move_towards(self, towards: int, t: float) -> None:
        layer, head = self._place()
        edit = MoveQuery(layer, head=head, query=self.query(), towards=towards, t=t)
        self._session.put_edit(edit, merge="query")

    def choose_towards(self, position: int) -> None:
        """Let the query of a head move towards another token; how far stays."""
        if self.is_shown("head"):
            self._session.set_towards(position)
            if self._shown.result.query_at != 0.0:
                self._move_towards(position, self._shown.result.query_at)
                self._session.end_drag()

    def set_sharpness(self, beta: float) -> None:
        """Sharpen the head."""
        if self.is_shown("head"):
            layer, head = self._place()
            self._session.put_edit(SetTemperature(layer, head=head, beta=beta), merge="sharpness")

    def move_dot(self, index: int, x: float, y: float) -> None:
        """Move a sample; in a head, change the key's score."""
        if self._has_sample(index):
            self._session.select_sample(index)
            self._session.move_sample(index, x, y, merge=("sample", index))
        elif self.is_shown("head"):
            layer, head = self._place()
            edit = SetScore(layer, head=head, query=self.query(), key=index, value=round(x, 3))
            self._session.select(key=index)
            self._session.put_edit(edit, merge=("score", index))

    def select_dot(self, index: int) -> None:
        """Select a sample or a key."""
        if self._has_sample(index):
            self._session.select_sample(index)
        elif self.is_shown("head"):
            self._session.select(key=index)

    def remove_dot(self, index: int) -> None:
        """Delete a sample; in a head, mask the key for this query, which is the same thing."""
        if self._has_sample(index):
            self._session.remove_sample(index)
        elif self.is_shown("head"):
            layer, head = self._place()
            self._session.put_edit(MaskKeys(layer, head=head, keys=(index,), queries=(self.query(),)))
