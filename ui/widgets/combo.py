"""A list of choices behind one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFontMetricsF, QKeyEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QMenu, QSizePolicy, QStyledItemDelegate, QWidget

from ..painting import guarded
from ..theme import current, font
from .choices import Choices
from .control import describe, set_available
from .drawing import baseline, box, draw_text, focus_ring, shown, text_width
from .icon_button import paint_icon
from .offered import add_choices

HEIGHT, PADDING, ARROW = 26, 10, 13
LEAST, ENOUGH = 72, 128  # width down to which it gives way, by its text
MEASURED = 64  # options whose width counts
SEARCHED_FROM = 24  # so many options are opened as a list that typing narrows


class Combo(QComboBox):
    """One of `options`, pairs of key and text; `changed` carries the key the user chose.

    `opening` comes before anything can be chosen by mouse or keyboard: time to fill a list that is costly to keep.
    """

    opening = Signal()
    changed = Signal(object)

    def __init__(
        self,
        options: Sequence[tuple[object, str]] = (),
        parent: QWidget | None = None,
        *,
        name: str = "",
        label: str = "",
        tip: str = "",
        width: int = 0,
        most: int = 220,
    ) -> None:
        super().__init__(parent)
        describe(self, name, label, tip)
        self._width, self._most, self._widest = width, most, 20.0
        self._options: tuple[tuple[object, str], ...] = ()
        self._others: Callable[[], Sequence[tuple[object, str]]] | None = None
        self._rows: dict[object, int] = {}  # key -> its first row
        self.setFont(font(12, 500))
        self.setFixedHeight(HEIGHT)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        # AdjustToContents resizes the box behind the layout's back 20 ms later, over its neighbours.
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setItemDelegate(QStyledItemDelegate(self))  # the default one ignores the style sheet
        self.activated.connect(self._on_self_activated)
        self._choices = Choices(self, label=label)
        self._choices.chosen.connect(self.choose)
        self.set_options(options)

    def set_options(self, options: Sequence[tuple[object, str]]) -> None:
        """Set the choices without a signal; the current one stays if it is still among them."""
        options = tuple(options)
        if options == self._options:
            return
        key, self._options = self.current(), options
        self._rows = {key: i for i, (key, _) in reversed(list(enumerate(options)))}
        with QSignalBlocker(self):
            self._fill(options)
        self.set_current(key)
        self.updateGeometry()

    def set_long(self, current: tuple[object, str], options: Callable[[], Sequence[tuple[object, str]]]) -> None:
        """Show one of many choices; the others are asked for when the list is opened or gets the keyboard."""
        self.set_options((current,))
        self.set_current(current[0])
        self._others = options

    def _open(self) -> None:
        """Before anything can be chosen."""
        self.opening.emit()
        others, self._others = self._others, None
        if others is not None:
            self.set_options(others())

    def _fill(self, options: Sequence[tuple[object, str]]) -> None:
        self.clear()
        for value, text in options:
            self.addItem(text, value)
        texts = (shown(text) for _, text in options[:MEASURED])
        self._widest = max((text_width(text, font(12, 500)) for text in texts), default=20.0)

    def set_current(self, key: object) -> None:
        """Choose an option without a signal; an unknown key is ignored."""
        index = self._rows.get(key, -1)
        if index >= 0 and index != self.currentIndex():
            with QSignalBlocker(self):
                self.setCurrentIndex(index)
            self.update()

    def current(self) -> object:
        """Return the key of the chosen option; None if there is none."""
        return self.currentData()

    def set_available(self, reason: str = "") -> None:
        """Enable the control, or disable it and say why in its tooltip."""
        set_available(self, reason)

    def _on_self_activated(self, index: int) -> None:
        self.changed.emit(self.itemData(index))

    def choose(self, key: object) -> None:
        """Choose an option as the user does."""
        self.set_current(key)
        self.changed.emit(key)

    def add_to(self, menu: QMenu) -> None:
        """Offer the choices in a menu."""
        self._open()
        add_choices(menu, self, self._options, self.current(), self.choose)

    def showPopup(self) -> None:
        """Open the list; a long one can be searched."""
        self._open()
        if self.count() < SEARCHED_FROM:
            super().showPopup()
            return
        self._choices.set_options(self._options)
        self._choices.open_at(self.mapToGlobal(QPoint(0, self.height() + 2)), self.width(), self.current())

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._open()
        super().focusInEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._open()  # what was asked for with the keyboard here
        super().keyPressEvent(event)

    def hidePopup(self) -> None:
        """Close the list."""
        self._choices.hide()
        super().hidePopup()

    def sizeHint(self) -> QSize:
        return QSize(self._width or min(round(self._widest) + 2 * PADDING + ARROW + 8, self._most), HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """As wide as the chosen text without what is in brackets, within limits."""
        needed = round(text_width(_without_note(shown(self.currentText())), font(12, 500))) + 2 * PADDING + ARROW + 8
        return QSize(min(self.sizeHint().width(), max(LEAST, min(needed, ENOUGH))), HEIGHT)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()  # the wheel belongs to what the eye is on, not to what it passes over

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        rect = QRectF(self.rect())
        on = self.isEnabled()
        fill = theme.sunk if not on else theme.hover if self.underMouse() else theme.panel
        box(painter, rect, fill=fill, border=theme.ctrl if on else theme.border)
        ink = theme.ink if on else theme.disabled
        text, room = shown(self.currentText()), rect.width() - 2 * PADDING - ARROW
        if text_width(text, self.font()) > room:  # what is in brackets goes first
            text = QFontMetricsF(self.font()).elidedText(_without_note(text), Qt.TextElideMode.ElideRight, room)
        draw_text(painter, PADDING, baseline(rect.center().y(), self.font()), text, self.font(), ink)
        arrow = QRectF(rect.right() - ARROW - 4, rect.center().y() - ARROW / 2, ARROW, ARROW)
        paint_icon(painter, "chevron", arrow, theme.text2 if on else theme.disabled)
        if self.hasFocus():
            focus_ring(painter, rect)


def _without_note(text: str) -> str:
    return text[: text.rindex(" (")] if text.endswith(")") and " (" in text else text
