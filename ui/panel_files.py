"""What a panel can be taken away as: a picture, its numbers, a script that computes them."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from .export import announced, export

if TYPE_CHECKING:
    from .feed import Feed
    from .session import Session
    from .widgets.card import CardHeader


class PanelFiles:
    """The part of `Panel` about files and the clipboard."""

    view: ClassVar[ModuleType]
    session: Session
    header: CardHeader
    result: Any
    _feed: Feed

    def table(self) -> dict[str, Any] | None:
        """Return the panel's numbers for export, None before the first result."""
        return None if self.result is None else self.view.table(self.result)

    def write(self, path: str, scale: float) -> None:
        """Write the panel's picture, without the buttons of its header, or its numbers, as `export` does."""
        with self.header.without_buttons():
            export(self.card_picture(), path, table=self.table(), scale=scale)

    def export_to(self, path: str) -> None:
        """Write the panel's picture or numbers and say so; a refusal is announced through the session."""
        announced(self.session, path, partial(self.write, path, max(2.0, self.devicePixelRatioF())))

    def card_picture(self) -> QWidget:
        """Return the widget that pictures of the panel are made of: the dock, header included."""
        return self.parentWidget() or self

    def copy_as_python(self) -> None:
        """Put a script that reproduces the panel's numbers on the clipboard."""
        if self._feed.drawn_spec is not None:
            QGuiApplication.clipboard().setText(self.view.python(self._feed.drawn_spec))
