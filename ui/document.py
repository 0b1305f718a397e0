"""What undo and redo walk through: the edits of the model and the regression scene, as one frozen value."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, replace

from PySide6.QtGui import QUndoCommand

from kav.model.edits import Edit, MoveQuery, ScaleHead, ScaleMlp, SetTemperature
from kav.regression.samples import Samples

# The fields that say how much, not what: two edits that agree in all others are the same edit at another strength.
STRENGTH = frozenset({"scale", "value", "beta", "t", "towards", "baseline", "positions"})


@dataclass(frozen=True)
class Document:
    """Everything a person can change and take back."""

    samples: Samples
    edits: tuple[Edit, ...] = ()
    kernel: str = "gaussian"
    h: float = 0.45
    x_query: float = 4.2
    doses: tuple[tuple[int, float], ...] = ()  # (sample, scale of its kernel weight)
    responses: tuple[tuple[int, float], ...] = ()  # (sample, scale of its response)


def same_thing(one: Edit, other: Edit) -> bool:
    """Return whether two edits act on the same thing, whatever their strength."""
    return type(one) is type(other) and all(
        getattr(one, field.name) == getattr(other, field.name) for field in fields(one) if field.name not in STRENGTH
    )


def is_neutral(edit: Edit) -> bool:
    """Return whether the edit leaves the model as it runs."""
    match edit:
        case ScaleHead() | ScaleMlp():
            return edit.scale == 1.0
        case SetTemperature():
            return edit.beta == 1.0
        case MoveQuery():
            return edit.t == 0.0
        case _:
            return False


def with_edit(document: Document, edit: Edit) -> Document:
    """Return the document with `edit` in the place of the one on the same thing; a neutral edit only removes that."""
    kept = tuple(other for other in document.edits if not same_thing(other, edit))
    return replace(document, edits=kept if is_neutral(edit) else (*kept, edit))


def fits(edit: Edit, n_tokens: int) -> bool:
    """Return whether every position the edit names exists in a prompt of `n_tokens`."""
    places: list[int] = []
    for name in ("query", "key", "towards"):
        place = getattr(edit, name, None)
        if place is not None:
            places.append(place)
    for name in ("positions", "keys", "queries"):
        places.extend(getattr(edit, name, None) or ())
    return all(-n_tokens <= place < n_tokens for place in places)


class Change(QUndoCommand):
    """One step of undo: from one document to another. Steps with the same merge key become one (a drag)."""

    def __init__(
        self,
        apply: Callable[[Document], None],
        before: Document,
        after: Document,
        *,
        text: str,
        merge: Hashable = None,
    ) -> None:
        super().__init__(text)
        self._apply = apply
        self.before = before
        self.after = after
        self.merge = merge

    def id(self) -> int:
        """Return the same id for all: whether two merge is decided by their keys."""
        return 1

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Take over the newer change of the same drag."""
        if not isinstance(other, Change) or self.merge is None or other.merge != self.merge:
            return False
        self.after = other.after
        self.setText(other.text())
        return True

    def redo(self) -> None:
        """Put the later document in place."""
        self._apply(self.after)

    def undo(self) -> None:
        """Put the earlier document in place."""
        self._apply(self.before)
