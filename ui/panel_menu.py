"""The menu behind the three dots of a panel: files and copies of what it shows, and what the panel itself adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu

from kav.views.words import plain

from .export import with_suffix

if TYPE_CHECKING:
    from .panel import Panel

KINDS = "PNG, SVG, PDF, CSV, NPZ, JSON (*.png *.svg *.pdf *.csv *.npz *.json)"


class PanelMenu(QObject):
    """Opens the menu and does what its entries say."""

    def __init__(self, panel: Panel) -> None:
        super().__init__(panel)
        self._panel = panel

    def open(self, place: QPoint) -> None:
        """Show the menu at a place on the screen."""
        panel = self._panel
        menu = QMenu(panel)
        menu.setObjectName(f"{panel.name}.menu_list")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for text, slot in (
            ("Export…", self._ask_export),
            ("Copy picture", self._copy_picture),
            ("Copy as Python", panel.copy_as_python),
            ("Copy the sentence", self._copy_reading),
        ):
            action = menu.addAction(text)
            action.setEnabled(panel.result is not None)
            action.triggered.connect(slot)
        if panel.result is not None:
            panel.fill_menu(menu)
        menu.popup(place)

    def _ask_export(self) -> None:
        panel = self._panel
        path, _ = QFileDialog.getSaveFileName(panel, f"Export {panel.subtitle()}", f"{panel.name}.png", KINDS)
        if path:
            panel.export_to(with_suffix(path))

    def _copy_picture(self) -> None:
        with self._panel.header.without_buttons():
            QGuiApplication.clipboard().setPixmap(self._panel.card_picture().grab())

    def _copy_reading(self) -> None:
        QGuiApplication.clipboard().setText(plain(self._panel.reading(self._panel.result)))
