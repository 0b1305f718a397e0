"""Push buttons and check boxes; the style sheet draws the former, the latter paint themselves."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QMenu, QPushButton, QSizePolicy, QWidget

from ..painting import guarded
from ..theme import current, font, ink_on
from .control import describe, set_available
from .drawing import baseline, box, draw_text, focus_ring, text_width
from .icon_button import paint_icon
from .offered import add_check


class Button(QPushButton):
    """A button 26 px high whose text is a verb; `primary` is the way out of an error, `flat` has no frame."""

    def __init__(
        self,
        text: str,
        parent: QWidget | None = None,
        *,
        name: str = "",
        tip: str = "",
        primary: bool = False,
        flat: bool = False,
    ) -> None:
        super().__init__(text, parent)
        describe(self, name, text, tip)
        self.setProperty("primary", primary)
        self.setFlat(flat)
        self.setFont(font(12, 600 if flat else 500))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAutoDefault(False)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_available(self, reason: str = "") -> None:
        """Enable the button, or disable it and say why in its tooltip."""
        set_available(self, reason)


class Check(QCheckBox):
    """A check box with its text; `toggled` is its signal."""

    SIDE = 15

    def __init__(self, text: str, parent: QWidget | None = None, *, name: str = "", tip: str = "") -> None:
        super().__init__(text, parent)
        describe(self, name, text, tip)
        self.setFont(font(12))

    def set_available(self, reason: str = "") -> None:
        """Enable the box, or disable it and say why in its tooltip."""
        set_available(self, reason)

    def add_to(self, menu: QMenu) -> None:
        """Offer it in a menu."""
        add_check(menu, self, self.isChecked(), self.click)

    def sizeHint(self) -> QSize:
        return QSize(round(text_width(self.text(), self.font())) + self.SIDE + 9, 26)

    def hitButton(self, pos: object) -> bool:
        return True

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        middle = self.height() / 2
        square = QRectF(0.0, round(middle - self.SIDE / 2), self.SIDE, self.SIDE)
        if not self.isEnabled():
            box(painter, square, fill=theme.sunk, border=theme.border, radius=3)
        elif self.isChecked():
            box(painter, square, fill=theme.query, radius=3)
        else:
            box(painter, square, fill=theme.hover if self.underMouse() else theme.panel, border=theme.ctrl, radius=3)
        if self.isChecked():
            paint_icon(painter, "check", square, ink_on(theme.query) if self.isEnabled() else theme.disabled)
        if self.hasFocus():
            focus_ring(painter, square, 3)
        ink = theme.text2 if self.isEnabled() else theme.disabled
        draw_text(painter, self.SIDE + 7, baseline(middle, self.font()), self.text(), self.font(), ink)
