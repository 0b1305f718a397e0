"""What a fixed set of samples was asked before: the panels of one scene ask for the same few numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

_MOST_KEPT = 32
_Made = TypeVar("_Made")


class Keeping:
    """Keeps a few answers by key; for values that never change. Two threads may make the same answer twice."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._kept: dict[Hashable, object] = {}
        self._most = most

    def known(self, key: Hashable) -> object | None:
        """Return what was made for the key before, None if nothing was."""
        return self._kept.get(key)

    def kept(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return what was made for the key before, else make it; for None always."""
        if key is None:
            return make()
        kept = self._kept
        if key not in kept:
            made = make()
            self._kept = {key: made} if len(kept) >= self._most else {**kept, key: made}
            return made
        found: _Made = kept[key]  # type: ignore[assignment]
        return found
