"""The prompt: its tokens, and on a click of the pencil the text itself."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QStackedLayout, QVBoxLayout, QWidget

from ..theme import font
from .control import describe
from .icon_button import IconButton
from .token_strip import CHIP, HEIGHT, TOP, TokenStrip


class PromptEdit(QWidget):
    """A pencil and the token strip (`strip`); the pencil or F2 puts a line edit (`line`) in the strip's place.

    `textEdited` follows the typing, so that every panel is live; Enter keeps the text, Escape gives the old one back.
    """

    textEdited = Signal(str)
    editingChanged = Signal(bool)

    def __init__(self, parent: QWidget | None = None, *, name: str = "prompt") -> None:
        super().__init__(parent)
        describe(self, name, "prompt")
        self._text = self._kept = ""
        self.pencil = IconButton("pencil", "edit the prompt (F2)", self, name=f"{name}.edit")
        self.strip = TokenStrip(self, name=f"{name}.strip")
        self.line = QLineEdit(self)
        describe(self.line, f"{name}.line", "prompt text", "Enter keeps the text, Escape gives the old one back")
        self.line.setFont(font(13))
        self.line.installEventFilter(self)
        place = QWidget(self)
        self._stack = QStackedLayout(place)
        self._stack.addWidget(self.strip)
        self._stack.addWidget(self._box(self.line))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(9)
        self.pencil.setFixedHeight(CHIP + 8)  # its middle is that of the chips
        layout.addWidget(self.pencil, 0, Qt.AlignmentFlag.AlignBottom)
        layout.addWidget(place, 1)
        self.pencil.clicked.connect(self._on_pencil_clicked)
        self.line.textEdited.connect(self._on_line_edited)
        self.line.returnPressed.connect(self._on_line_return)

    def _box(self, line: QLineEdit) -> QWidget:
        """Return a place that holds the line where the chips are."""
        place = QWidget(self)
        layout = QVBoxLayout(place)
        layout.setContentsMargins(0, TOP, 0, HEIGHT - TOP - CHIP)
        layout.addWidget(line)
        return place

    def set_text(self, text: str) -> None:
        """Set the prompt without a signal; a line being typed in is left alone."""
        self._text = text
        if not self.is_editing() or self.line.text() == text:
            self.line.setText(text)

    def text(self) -> str:
        """Return the prompt."""
        return self._text

    def is_editing(self) -> bool:
        """Say whether the line edit is open."""
        return self._stack.currentIndex() == 1

    def set_editing(self, editing: bool) -> None:
        """Open the line edit, or show the tokens."""
        if editing == self.is_editing():
            return
        self._stack.setCurrentIndex(int(editing))
        if editing:
            self._kept = self._text
            self.line.setText(self._text)
            self.line.setFocus(Qt.FocusReason.ShortcutFocusReason)
        elif self.isVisible():
            self.strip.setFocus(Qt.FocusReason.OtherFocusReason)
        self.editingChanged.emit(editing)

    def _on_pencil_clicked(self) -> None:
        self.set_editing(not self.is_editing())

    def _on_line_edited(self, text: str) -> None:
        self._text = text
        self.textEdited.emit(text)

    def _on_line_return(self) -> None:
        self.set_editing(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_F2:
            self.set_editing(True)
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Escape in the line edit gives the old text back."""
        is_key = watched is self.line and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress
        if is_key and event.key() == Qt.Key.Key_Escape:
            if self._text != self._kept:
                self._on_line_edited(self._kept)
            self.set_editing(False)
            return True
        return super().eventFilter(watched, event)
