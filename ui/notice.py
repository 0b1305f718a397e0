"""One sentence over the window's bottom: a refusal with its way out, or a question; never a modal dialog."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton, QWidget

from kav.errors import KavError

from . import theme
from .painting import guarded
from .widgets.button import Button

SHOWN_FOR = 12_000  # ms
MARGIN, STATUS = 16, 26  # px: around it, and the height of the status line below
MOST_ACTIONS = 2


class Notice(QFrame):
    """The message of the last refusal, with its way out; closes by itself, by its button, or by Esc.

    A question, and a refusal with buttons, stay until they are answered or closed.

    Signals
    -------
    actionRequested(value) : a button was pressed; the value is the one that came with it.
    """

    actionRequested = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.setAccessibleName("Notice")
        self._question = False
        self._values: list[object] = []
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 8, 8, 8)
        row.setSpacing(8)
        self._text = QLabel(self)
        self._text.setObjectName("notice.text")
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setWordWrap(True)
        self._text.setFont(theme.font(13, 500))
        row.addWidget(self._text, 1)
        self.buttons = [Button("", self, name=f"notice.action{i}", primary=i == 0) for i in range(MOST_ACTIONS)]
        for button, slot in zip(self.buttons, (self._on_first_clicked, self._on_second_clicked), strict=True):
            button.clicked.connect(slot)
            row.addWidget(button)
        close = QToolButton(self)
        close.setObjectName("notice.close")
        close.setText("×")
        close.setToolTip("Close this notice (Esc)")
        close.setAutoRaise(True)
        close.clicked.connect(self.hide)
        row.addWidget(close)
        self._timer = QTimer(self, singleShot=True, interval=SHOWN_FOR)
        self._timer.timeout.connect(self.hide)
        self.hide()

    def show_error(self, error: KavError, actions: Sequence[tuple[str, object]] = ()) -> None:
        """Show the rule, the value and the way out, which may be at most two buttons: pairs of text and value."""
        hint = error.hint[:1].upper() + error.hint[1:]
        self._show(error.message + (f". {hint}." if hint and not actions else ""), actions, question=False)

    def ask(self, text: str, actions: Sequence[tuple[str, object]]) -> None:
        """Ask something; the answers are pairs of text and value, closing means none of them."""
        self._show(text, actions, question=True)

    def _show(self, text: str, actions: Sequence[tuple[str, object]], *, question: bool) -> None:
        self._question = question
        self._text.setText(text)
        self._values = [value for _, value in actions]
        for i, button in enumerate(self.buttons):
            button.setVisible(i < len(actions))
            if i < len(actions):
                button.setText(actions[i][0])
                button.setAccessibleName(actions[i][0])
        self.place()
        self.show()
        self.raise_()
        self.update()
        if actions:
            self._timer.stop()
        else:
            self._timer.start()

    def text(self) -> str:
        """Return the sentence shown."""
        return self._text.text()

    def place(self) -> None:
        """Sit at the bottom of the window, above the status line."""
        window = self.parentWidget()
        width = min(720, window.width() - 2 * MARGIN)
        self.setFixedWidth(width)
        self.layout().activate()
        height = max(self.layout().heightForWidth(width), self.sizeHint().height())
        self.setGeometry((window.width() - width) // 2, window.height() - height - STATUS - MARGIN, width, height)

    def floor(self) -> int:
        """Return the height at which whatever lies above the notice, or the status line, ends."""
        return self.y() - 8 if self.isVisible() else self.parentWidget().height() - STATUS - MARGIN

    def _on_first_clicked(self) -> None:
        self._act(0)

    def _on_second_clicked(self) -> None:
        self._act(1)

    def _act(self, index: int) -> None:
        self.hide()
        self.actionRequested.emit(self._values[index])

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        """Paint the card."""
        colours = theme.current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(colours.ctrl if self._question else colours.error))
        painter.setBrush(QColor(colours.panel if self._question else colours.errtint))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)
