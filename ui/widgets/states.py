"""What a panel shows when it has nothing, is working, or failed: the last picture stays, dimmed, behind the words."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from ..marks import outline_mark
from ..painting import guarded, reported
from ..theme import current, font
from .button import Button
from .control import describe
from .drawing import baseline, box, draw_text, text_width
from .icon_button import paint_icon

VEIL = 0.65  # how much of the picture is gone behind a veil: 35 % is left


class Words(QLabel):
    """Plain text that wraps, in a colour of the theme."""

    def __init__(self, parent: QWidget | None = None, *, px: int = 12, weight: int = 400, color: str = "text2") -> None:
        super().__init__(parent)
        self._color = color
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setFont(font(px, weight))

    def paintEvent(self, event: QPaintEvent) -> None:
        with reported(self):  # the label makes its own painter
            palette = self.palette()
            color = QColor(getattr(current(), self._color))
            if palette.color(self.foregroundRole()) != color:
                palette.setColor(self.foregroundRole(), color)
                self.setPalette(palette)
            super().paintEvent(event)


class ProgressLine(QWidget):
    """A line of 3 px under the header: how far a computation is."""

    def __init__(self, parent: QWidget | None = None, *, name: str = "") -> None:
        super().__init__(parent)
        describe(self, name, "progress")
        self._fraction: float | None = None
        self.setFixedHeight(3)

    def set_fraction(self, fraction: float | None) -> None:
        """Show a fraction, 0 to 1; None shows nothing, and keeps the place."""
        if fraction == self._fraction:
            return  # every step of a drag says so once more
        self._fraction = fraction
        self.setAccessibleDescription("" if fraction is None else f"{100 * fraction:.0f} %")
        self.update()

    def fraction(self) -> float | None:
        """Return what is shown."""
        return self._fraction

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        if self._fraction is None:
            return
        theme = current()
        painter.fillRect(self.rect(), QColor(theme.grid))
        width = self.width() * min(max(self._fraction, 0.0), 1.0)
        painter.fillRect(QRectF(0, 0, width, self.height()), QColor(theme.query))


class Veil(QWidget):
    """Dims its parent to 35 % and carries one widget in the middle; it follows the parent's size.

    In a corner it dims nothing and covers no more than its widget needs.
    """

    def __init__(self, parent: QWidget, content: QWidget | None = None, *, margin: int = 14) -> None:
        super().__init__(parent)
        self._corner = self._left = False
        self._margin = margin
        layout = QVBoxLayout(self)
        layout.setContentsMargins(margin, 8, margin, 8)
        if content is not None:
            layout.addWidget(content, 0, Qt.AlignmentFlag.AlignVCenter)
        parent.installEventFilter(self)
        self.hide()

    def set_shown(self, shown: bool) -> None:
        """Dim the parent, or not."""
        if shown and self.isHidden():
            self._place()
            self.raise_()
        self.setVisible(shown)

    def set_corner(self, corner: bool, *, left: bool = False) -> None:
        """Leave the picture free but for the corner at the lower right, or left, or cover all of it."""
        self._corner, self._left = corner, left
        across = 8 if corner else self._margin
        self.layout().setContentsMargins(across, 8, across, 8)
        self._place()

    def settle(self) -> None:
        """Make room for what the widget says now."""
        self.layout().activate()
        if self._corner:
            self._place()

    def _place(self) -> None:
        whole = self.parentWidget().rect()
        if self._corner:
            size = self.layout().sizeHint()
            left = whole.left() if self._left else whole.right() - size.width() + 1
            whole = QRect(QPoint(left, whole.bottom() - size.height() + 1), size)
        self.setGeometry(whole)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the size of the parent."""
        if watched is self.parent() and event.type() == QEvent.Type.Resize:
            self._place()
        return False

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        if self._corner:
            return
        color = QColor(current().panel)
        color.setAlphaF(VEIL)
        painter.fillRect(self.rect(), color)


class EmptyState(QWidget):
    """What to do when there is nothing to show: the outline of the missing mark, what, and how."""

    def __init__(self, parent: QWidget | None = None, *, name: str = "") -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self._mark, self._what, self._how = "target", "", ""

    def set_text(self, what: str, how: str, mark: str = "target") -> None:
        """Set the missing mark, what to do and how."""
        self._mark, self._what, self._how = mark, what, how
        self.setAccessibleName(f"{what}. {how}")
        self.update()

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        x, y = self.width() / 2, self.height() / 2
        pen = QPen(QColor(theme.ctrl), 1.5)
        pen.setDashPattern([3, 2])
        painter.setPen(pen)
        kind = self._mark if self._mark in ("query", "key", "target") else "key"
        painter.drawPath(outline_mark(kind, x, y - 43, 13.5))
        for text, f, color, at in (
            (self._what, font(15, 600), theme.ink, y - 10),
            (self._how, font(12), theme.text2, y + 12),
        ):
            draw_text(painter, round(x - text_width(text, f) / 2), baseline(at, f), text, f, color)


class BusyPill(QWidget):
    """What is running, and Cancel (or Escape)."""

    cancelRequested = Signal()

    def __init__(self, parent: QWidget | None = None, *, name: str = "") -> None:
        super().__init__(parent)
        describe(self, name, "busy")
        self._text = Words(self, weight=500, color="ink")
        self._text.setWordWrap(False)
        self.cancel = Button("Cancel", self, name=f"{name}.cancel", tip="stop this computation (Esc)", flat=True)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(14, 3, 6, 3)
        layout.setSpacing(20)
        layout.addWidget(self._text)
        layout.addWidget(self.cancel)
        self.setFixedHeight(32)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.cancel.clicked.connect(self.cancelRequested)

    def set_text(self, text: str) -> None:
        """Say what is running."""
        if text == self._text.text():
            return
        self._text.setText(text)
        self.setAccessibleName(text)
        self.updateGeometry()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.cancelRequested.emit()
        else:
            super().keyPressEvent(event)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        box(painter, QRectF(self.rect()), fill=theme.panel, border=theme.ctrl, radius=7)
        painter.fillRect(QRectF(self.cancel.x() - 10, 7, 1, self.height() - 14), QColor(theme.border))


class ErrorCard(QWidget):
    """The rule that was broken and the value, what it means, the way out, and the details, folded."""

    wayOutRequested = Signal()

    def __init__(self, parent: QWidget | None = None, *, name: str = "") -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self._message = Words(self, px=13, weight=600, color="ink")
        self._consequence = Words(self)
        self._details = Words(self, px=11)
        self.way_out = Button("", self, name=f"{name}.wayout", primary=True)
        self.details = Button("Details", self, name=f"{name}.details", tip="show what exactly went wrong")
        self._build()
        self.way_out.clicked.connect(self.wayOutRequested)
        self.details.clicked.connect(self._on_details_clicked)

    def _build(self) -> None:
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.way_out)
        buttons.addWidget(self.details)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(44, 15, 15, 16)
        layout.setSpacing(6)
        layout.addWidget(self._message)
        layout.addWidget(self._consequence)
        layout.addSpacing(11)
        layout.addLayout(buttons)
        layout.addWidget(self._details)
        self._details.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._details.hide()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def set_error(self, message: str, consequence: str = "", *, way_out: str = "", details: str = "") -> None:
        """Show an error; without a way out or details their buttons are hidden."""
        self._message.setText(message)
        self._consequence.setText(consequence)
        self._consequence.setVisible(bool(consequence))
        self._details.setText(details)
        self._details.hide()
        self.way_out.setText(way_out)
        self.way_out.setAccessibleName(way_out)
        self.way_out.setVisible(bool(way_out))
        self.details.setVisible(bool(details))
        self.setAccessibleName(f"error: {message}")
        self.updateGeometry()

    def message(self) -> str:
        """Return the message."""
        return self._message.text()

    def _on_details_clicked(self) -> None:
        self._details.setVisible(self._details.isHidden())
        self.updateGeometry()

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        box(painter, QRectF(self.rect()), fill=theme.errtint, border=theme.error, radius=8)
        disc = QRectF(15, 16, 18, 18)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.error))
        painter.drawEllipse(disc)
        paint_icon(painter, "error", disc.adjusted(2, 2, -2, -2), theme.panel)
