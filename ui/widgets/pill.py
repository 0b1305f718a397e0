"""A pill names one part of the selection and opens the list to choose another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from kav.views.words import Label

from ..marks import mark_width, paint_mark
from ..painting import guarded
from ..theme import current, font
from .choices import Choices
from .control import Control
from .drawing import baseline, box, draw_text, focus_ring, shown, text_width
from .icon_button import paint_icon
from .offered import add_button
from .runs import Run, Runs, fitted, label_runs, paint_line, width_of

HEIGHT, PADDING, GAP, CHEVRON, MARK_R = 28, 10, 7, 14, 4.5
MOST = 240  # wide
TAIL = 25  # gap, chevron and padding after the value
_TINTS = {"query": "qtint", "key": "ktint", "target": "ttint"}


class Pill(Control):
    """Caption, mark, value and a chevron; a click, Enter, Space or Down opens the list.

    `opening` comes before the list is shown: time to fill a long one. `activated` carries the key of the chosen row;
    `typed` a text that matches no row; `searched` follows the typing; `closed` says that the list is gone.

    `least` is the width down to which a pill gives way where a row has little room; what then does not fit is fitted,
    and told in full by the tooltip. 0 = as wide as it has to be. A `plain` value needs no caption, such as h = 0.45.
    """

    opening = Signal()
    activated = Signal(object)
    typed = Signal(str)
    searched = Signal(str)
    closed = Signal()

    def __init__(
        self,
        caption: str,
        parent: QWidget | None = None,
        *,
        role: str = "",
        name: str = "",
        tip: str = "",
        least: int = 0,
        plain: bool = False,
    ) -> None:
        super().__init__(parent, name=name, label=caption, tip=tip)
        self._caption = caption
        self._role = role
        self._value: Label | str = ""
        self._key: object = None
        self._shown: object = None
        self._compact = False
        self._measured: tuple[object, QSize] | None = None
        self._least, self._plain = least, plain
        self._tip = tip
        self._choices = Choices(self, label=caption)
        self._choices.chosen.connect(self.activated)
        self._choices.typed.connect(self.typed)
        self._choices.searched.connect(self.searched)
        self._choices.closed.connect(self.closed)
        across = QSizePolicy.Policy.Maximum if least else QSizePolicy.Policy.Fixed
        self.setSizePolicy(across, QSizePolicy.Policy.Fixed)

    def set_value(self, value: Label | str, key: object = None) -> None:
        """Show a token or a text, and mark the row with this key in the list."""
        if (value, key, self._caption) == self._shown:
            return
        self._shown = value, key, self._caption
        self._value, self._key = value, key
        text = value if isinstance(value, str) else f"{value.position or ''} {value.text}".strip()
        self.setAccessibleName(f"{self._caption} {text}")
        if self._least and self.isEnabled():  # what does not fit is told here
            self.setToolTip(f"{text}: {self._tip}")
        self.updateGeometry()
        self.update()

    def set_options(self, options: Sequence[tuple[object, str]]) -> None:
        """Set the rows of the list, pairs of key and text."""
        self._choices.set_options(options)

    def set_compact(self, compact: bool) -> None:
        """Drop the caption of a pill whose mark or value says it, or show it again."""
        if compact != self._compact:
            self._compact = compact
            self.updateGeometry()
            self.update()

    def set_caption(self, caption: str) -> None:
        """Set the caption, such as Head or Kernel."""
        self._caption = caption
        self.set_value(self._value, self._key)

    def open(self, under: QWidget | None = None) -> None:
        """Show the list below the pill, or below another widget while the pill is hidden."""
        self.opening.emit()
        under = under or self
        self._choices.open_at(under.mapToGlobal(QPoint(0, under.height() + 2)), under.width(), self._key)

    def add_to(self, menu: QMenu) -> None:
        """Offer to open the list, in a menu."""
        add_button(menu, self, f"{self.accessibleName()}…", partial(self.open, menu.parentWidget()))

    def _runs(self) -> Runs:
        ink = current().ink
        if isinstance(self._value, Label):
            return label_runs(self._value, px=13, weight=600, color=ink)
        return (Run(shown(self._value), ink, 13, 600),)

    def _has_caption(self) -> bool:
        return bool(self._caption) and not (self._compact and (self._role or self._plain))

    def sizeHint(self) -> QSize:
        """Measured once for what is shown: every step of a drag asks."""
        if self._measured is None or self._measured[0] != (self._shown, self._compact):
            self._measured = (self._shown, self._compact), self._measure()
        return self._measured[1]

    def _measure(self) -> QSize:
        width = PADDING + width_of(self._runs()) + TAIL
        if self._has_caption():
            width += text_width(self._caption, font(12)) + GAP + 1
        if self._role:
            width += mark_width(self._role, MARK_R) + GAP
        return QSize(min(round(width), MOST), HEIGHT)

    def minimumSizeHint(self) -> QSize:
        wanted = self.sizeHint()
        return QSize(min(self._least or MOST, wanted.width()), HEIGHT)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.open()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Down):
            self.open()
        else:
            super().keyPressEvent(event)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        rect = QRectF(self.rect())
        on = self.isEnabled()
        tint = getattr(theme, _TINTS[self._role]) if self._role else theme.panel
        edge = getattr(theme, self._role) if self._role else theme.ctrl
        fill = theme.sunk if not on else theme.hover if self.hovered and not self._role else tint
        box(painter, rect, fill=fill, border=edge if on else theme.border)
        middle, x = rect.center().y(), float(PADDING)
        base = baseline(middle, font(13, 600))
        if self._has_caption():
            ink = theme.text2 if on else theme.disabled
            x = draw_text(painter, x, base, self._caption, font(12), ink) + GAP + (0 if self._role else 1)
        if self._role:
            width = mark_width(self._role, MARK_R)
            paint_mark(painter, self._role, x + width / 2, middle, MARK_R, QColor(edge if on else theme.disabled))
            x += width + GAP
        paint_line(painter, fitted(self._runs(), rect.right() - TAIL + 1 - x), x, base)
        arrow = QRectF(rect.right() - CHEVRON - 6, middle - CHEVRON / 2, CHEVRON, CHEVRON)
        paint_icon(painter, "chevron", arrow, theme.text2 if on else theme.disabled)
        if self.ringed or (self.hovered and self._role and on):
            self._paint_edge(painter, rect, edge)

    def _paint_edge(self, painter: QPainter, rect: QRectF, edge: str) -> None:
        """Paint the ring of focus, or the stronger edge of a tinted pill under the mouse."""
        if self.ringed:
            focus_ring(painter, rect)
        else:
            box(painter, rect, fill="transparent", border=edge, width=1.6)
