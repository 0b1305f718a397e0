"""The "…" at the end of a row: a menu of the controls for which the row has no room."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu, QWidget

from .control import describe
from .icon_button import IconButton
from .offered import Offered


class Overflow(IconButton):
    """Hidden while the row has room for everything."""

    def __init__(self, parent: QWidget | None = None, *, name: str) -> None:
        super().__init__("dots", "more controls", parent, name=name)
        self._held: tuple[Offered, ...] = ()
        self.clicked.connect(self.open)
        self.hide()

    def hold(self, controls: Sequence[Offered]) -> None:
        """Offer these in the menu, those that the row does not show; none hides the button."""
        self._held = tuple(controls)
        words = f"more: {', '.join(control.accessibleName() for control in self._held)}"
        describe(self, "", words, words)
        self.setVisible(bool(self._held))

    def held(self) -> tuple[Offered, ...]:
        """Return what the menu offers."""
        return self._held

    def open(self) -> None:
        """Show the menu under the button."""
        menu = QMenu(self)
        menu.setObjectName(f"{self.objectName()}.menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        for control in self._held:
            control.add_to(menu)
        menu.popup(self.mapToGlobal(QPoint(0, self.height() + 2)))
