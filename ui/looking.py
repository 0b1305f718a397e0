"""Where a person looks, as the session's own methods: scene, head, query, key, target; with a way back and forward."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kav.views.scene import Selection

if TYPE_CHECKING:
    from PySide6.QtCore import SignalInstance

HISTORY = 200


@dataclass(frozen=True)
class Place:
    """Where the person looks: what back and forward walk through."""

    kind: str = "head"
    selection: Selection = field(default_factory=Selection)
    sample: int | None = None


class Looking:
    """The part of `Session` about the selection; nothing here can be undone, only walked back."""

    sceneChanged: SignalInstance
    selectionChanged: SignalInstance

    def _start_looking(self, place: Place) -> None:
        """Look at a place, with no way back."""
        self.place = place
        self.towards: int | None = None  # the token towards whose query the hero's curve moves
        self._back: list[Place] = []
        self._forward: list[Place] = []

    @property
    def kind(self) -> str:
        """ "head" or "regression"."""
        return self.place.kind

    @property
    def selection(self) -> Selection:
        """The selection of the head scene, open choices left open."""
        return self.place.selection

    def set_scene(self, kind: str) -> None:
        """Show the "head" or the "regression" scene."""
        self._go(replace(self.place, kind=kind))

    def select(self, **changes: Any) -> None:
        """Change parts of the selection: layer, head, query, key, target, foil."""
        self._go(replace(self.place, selection=replace(self.selection, **changes)))

    def select_head(self, layer: int, head: int) -> None:
        """Select a head; its key is again the one it looks at most."""
        self.select(layer=layer, head=head, key=None)

    def select_query(self, query: int) -> None:
        """Select a query; key and target are again the obvious ones there."""
        self.towards = None
        self.select(query=query, key=None, target=None, foil=None)

    def query_among(self, n_tokens: int) -> int:
        """Return the position of the selected query in a prompt of so many tokens."""
        query = self.selection.query
        return n_tokens - 1 if query is None else query % n_tokens

    def select_sample(self, index: int | None) -> None:
        """Select a sample of the regression scene."""
        self._go(replace(self.place, sample=index))

    def set_towards(self, position: int | None) -> None:
        """Let the hero's curve move towards another token's query."""
        if position != self.towards:
            self.towards = position
            self.selectionChanged.emit()

    def back(self) -> None:
        """Return to the place before."""
        if self._back:
            self._forward.append(self.place)
            self._show(self._back.pop())

    def forward(self) -> None:
        """Take back a `back`."""
        if self._forward:
            self._back.append(self.place)
            self._show(self._forward.pop())

    def can_go(self) -> tuple[bool, bool]:
        """Return whether there is a place to go back to, and one to go forward to."""
        return bool(self._back), bool(self._forward)

    def _go(self, place: Place) -> None:
        if place == self.place:
            return
        self._back = [*self._back[1 - HISTORY :], self.place]
        self._forward.clear()
        self._show(place)

    def _show(self, place: Place) -> None:
        before, self.place = self.place, place
        if before.kind != place.kind:
            self.sceneChanged.emit()
        self.selectionChanged.emit()
