"""Icons in the colours of the theme, and the small square buttons that carry them."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QMenu, QWidget

from ..painting import guarded
from ..theme import RESOURCES, current
from .control import describe, set_available
from .drawing import box, focus_ring
from .offered import add_button

ICONS = (
    "back",
    "check",
    "chevron",
    "close",
    "dots",
    "error",
    "forward",
    "maximise",
    "pencil",
    "restore",
    "sigma",
    "undo",
)


@lru_cache(maxsize=64)
def _drawing(name: str) -> str:
    return (RESOURCES / "icons" / f"{name}.svg").read_text(encoding="utf-8")


def paint_icon(painter: QPainter, name: str, rect: QRectF, color: QColor | str) -> None:
    """Paint an icon into `rect` in one colour; drawn as lines, so it is sharp at every scale."""
    text = _drawing(name).replace("#000000", QColor(color).name())
    QSvgRenderer(QByteArray(text.encode())).render(painter, rect)


class IconButton(QAbstractButton):
    """A square button with an icon; `clicked` is its signal. It always has a tooltip."""

    def __init__(
        self, icon_name: str, tip: str, parent: QWidget | None = None, *, name: str = "", side: int = 24
    ) -> None:
        super().__init__(parent)
        describe(self, name, tip, tip)
        self._icon = icon_name
        self._side = side
        self.setFixedSize(side, side)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def set_icon(self, icon_name: str) -> None:
        """Show another icon."""
        self._icon = icon_name
        self.update()

    def set_available(self, reason: str = "") -> None:
        """Enable the button, or disable it and say why in its tooltip."""
        set_available(self, reason)

    def add_to(self, menu: QMenu) -> None:
        """Offer what it does in a menu."""
        add_button(menu, self, self.accessibleName(), self.click)

    def sizeHint(self) -> QSize:
        return QSize(self._side, self._side)

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        rect = QRectF(self.rect())
        if self.isEnabled() and (self.isDown() or self.underMouse()):
            box(painter, rect, fill=theme.pressed if self.isDown() else theme.hover, radius=5)
        ink = theme.disabled if not self.isEnabled() else theme.text2 if self.underMouse() else theme.muted
        square = QRectF(0, 0, 16, 16)
        square.moveCenter(rect.center())
        paint_icon(painter, self._icon, square, ink)
        if self.hasFocus():
            focus_ring(painter, rect, 5)
