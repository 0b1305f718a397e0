"""One sentence that slides over the window's bottom when a request was refused; never a modal dialog."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton, QWidget

from kav.errors import KavError

from . import theme

SHOWN_FOR = 12_000  # ms
MARGIN = 16


class Notice(QFrame):
    """The message of the last refusal, with its way out; closes by itself, by its button, or by Esc."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.setAccessibleName("Notice")
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 8, 8, 8)
        self._text = QLabel(self)
        self._text.setObjectName("notice.text")
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setWordWrap(True)
        self._text.setFont(theme.font(13, 500))
        close = QToolButton(self)
        close.setObjectName("notice.close")
        close.setText("×")
        close.setToolTip("Close this notice")
        close.setAutoRaise(True)
        close.clicked.connect(self.hide)
        row.addWidget(self._text, 1)
        row.addWidget(close)
        self._timer = QTimer(self, singleShot=True, interval=SHOWN_FOR)
        self._timer.timeout.connect(self.hide)
        self.hide()

    def show_error(self, error: KavError) -> None:
        """Show the rule, the value and the way out."""
        hint = error.hint[:1].upper() + error.hint[1:]
        self._text.setText(error.message + (f". {hint}." if hint else ""))
        self.place()
        self.show()
        self.raise_()
        self._timer.start()

    def text(self) -> str:
        """Return the sentence shown."""
        return self._text.text()

    def place(self) -> None:
        """Sit at the bottom of the window, above the status line."""
        window = self.parentWidget()
        width = min(720, window.width() - 2 * MARGIN)
        self.setFixedWidth(width)
        height = self.sizeHint().height()
        self.setGeometry((window.width() - width) // 2, window.height() - height - 26 - MARGIN, width, height)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the card."""
        colours = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(colours.error))
        painter.setBrush(QColor(colours.errtint))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)
