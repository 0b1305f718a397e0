"""The two small dialogs: all shortcuts, and what this program is."""

from __future__ import annotations

import platform

import numpy as np
import pyqtgraph as pg
import PySide6
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QIcon, QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QLabel, QVBoxLayout, QWidget

import kav

from . import theme
from .actions import COMMANDS, PANEL_KEYS
from .session import Session


class _Dialog(QDialog):
    """A dialog that frees itself when closed."""

    def __init__(self, name: str, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName(name)
        self.setWindowTitle(title)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(20, 16, 20, 16)
        self.column.setSpacing(12)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        self.buttons.rejected.connect(self.close)
        for button in self.buttons.buttons():
            button.setIcon(QIcon())  # a stock picture of the desktop's, in a window whose icons are lines


def _label(text: str, px: int = 12, weight: int = 400, role: str = "ink") -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setFont(theme.font(px, weight))
    label.setStyleSheet(f"color: {getattr(theme.current(), role)}")
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


class ShortcutsDialog(_Dialog):
    """Every key of the window, by menu, then the keys inside panels; two columns."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__("dialog.shortcuts", "Keyboard shortcuts", parent)
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(6)
        rows = [(_shown(command.keys), command.text) for command in COMMANDS if command.keys]
        half = (len(rows) + 1) // 2
        for i, (keys, text) in enumerate(rows):
            column = 0 if i < half else 2
            grid.addWidget(_label(keys, 12, 600), i % half, column, Qt.AlignmentFlag.AlignRight)
            grid.addWidget(_label(text, 12, 400, "text2"), i % half, column + 1)
        self.column.addLayout(grid)
        self.column.addWidget(_label("Inside a panel", 13, 600))
        inside = QGridLayout()
        inside.setHorizontalSpacing(16)
        inside.setVerticalSpacing(6)
        inside.setColumnStretch(1, 1)
        for i, (keys, text) in enumerate(PANEL_KEYS):
            inside.addWidget(_label(keys, 12, 600), i, 0, Qt.AlignmentFlag.AlignRight)
            inside.addWidget(_label(text, 12, 400, "text2"), i, 1)
        self.column.addLayout(inside)
        self.column.addWidget(self.buttons)


class AboutDialog(_Dialog):
    """Versions, device and model, to be copied into a report."""

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__("dialog.about", "About KAV", parent)
        self._text = about(session)
        self.column.addWidget(_label("KAV, the kernel-attention viewer", 15, 600))
        self.column.addWidget(_label("An attention head is a kernel smoother. MIT licence.", 12, 400, "text2"))
        self.column.addWidget(_label(self._text, 12, 400, "text2"))
        copy = self.buttons.addButton("Copy", QDialogButtonBox.ButtonRole.ActionRole)
        copy.setObjectName("about.copy")
        copy.clicked.connect(self._on_copy_clicked)
        self.column.addWidget(self.buttons)

    def _on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText(self._text)


def about(session: Session) -> str:
    """Return versions, device and open model, one per line."""
    model = session.model
    lines = [
        f"KAV {kav.__version__}",
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}",
        f"PySide6 {PySide6.__version__}, pyqtgraph {pg.__version__}, NumPy {np.__version__}",
        f"device: {model.device if model is not None else 'no model open'}",
    ]
    if model is not None:
        config = model.config
        lines.append(f"model: {model.name}, {config.family}, {config.n_layers} layers of {config.n_heads} heads")
    return "\n".join(lines)


def _shown(keys: str) -> str:
    sequences = QKeySequence.listFromString(keys)
    return " or ".join(sequence.toString(QKeySequence.SequenceFormat.NativeText) for sequence in sequences)
