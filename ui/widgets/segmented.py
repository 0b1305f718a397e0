"""A switch between a few named choices, all in sight."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from ..painting import guarded
from ..theme import current, font
from .control import Control
from .drawing import baseline, box, draw_text, focus_ring, text_width
from .offered import add_choices

HEIGHT, INSET = 26, 2
PADDING = {False: 14, True: 9}  # beside each text, by dense


class Segmented(Control):
    """One of `options`, pairs of key and text. Left and right arrows, or a click, choose."""

    changed = Signal(str)

    def __init__(
        self,
        options: Sequence[tuple[str, str]],
        parent: QWidget | None = None,
        *,
        name: str = "",
        label: str = "",
        tip: str = "",
    ) -> None:
        super().__init__(parent, name=name, label=label, tip=tip)
        self._options: tuple[tuple[str, str], ...] = ()
        self._current = ""
        self._over = -1
        self._dense = False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.set_options(options)

    def set_options(self, options: Sequence[tuple[str, str]]) -> None:
        """Set the choices; the current one stays if it is still among them."""
        self._options = tuple(options)
        keys = [key for key, _ in self._options]
        if self._current not in keys:
            self._current = keys[0] if keys else ""
        self.updateGeometry()
        self.update()

    def set_current(self, key: str) -> None:
        """Choose an option without a signal; an unknown key is ignored."""
        if key in [known for known, _ in self._options]:
            self._current = key
            self.update()

    def set_dense(self, dense: bool) -> None:
        """Leave less room beside the texts, where the row has little."""
        if dense != self._dense:
            self._dense = dense
            self.updateGeometry()
            self.update()

    def current(self) -> str:
        """Return the key of the chosen option."""
        return self._current

    def _rects(self) -> list[QRectF]:
        """Return the place of each option."""
        rects, x = [], float(INSET)
        for _, text in self._options:
            width = math.ceil(text_width(text, font(12, 500))) + 2 * PADDING[self._dense] + 1
            rects.append(QRectF(x, INSET, width, HEIGHT - 2 * INSET))
            x += width
        return rects

    def sizeHint(self) -> QSize:
        rects = self._rects()
        return QSize(int(rects[-1].right()) + INSET if rects else 2 * INSET, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def choose(self, key: str) -> None:
        """Choose an option as the user does."""
        if key != self._current:
            self.set_current(key)
            self.changed.emit(key)

    def add_to(self, menu: QMenu) -> None:
        """Offer the choices in a menu."""
        add_choices(menu, self, self._options, self._current, self.choose)

    def _choose_at(self, index: int) -> None:
        if 0 <= index < len(self._options):
            self.choose(self._options[index][0])

    def _index_at(self, x: float) -> int:
        return next((i for i, rect in enumerate(self._rects()) if rect.left() <= x < rect.right()), -1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._choose_at(self._index_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._over = self._index_at(event.position().x())
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1}
        if event.key() not in steps:
            return super().keyPressEvent(event)
        at = [key for key, _ in self._options].index(self._current) if self._options else 0
        return self._choose_at(at + steps[Qt.Key(event.key())])

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        outer = QRectF(0, 0, self.sizeHint().width(), HEIGHT)
        box(painter, outer, fill=theme.hover if self.isEnabled() else theme.sunk, border=theme.border)
        f = font(12, 500)
        for index, ((key, text), rect) in enumerate(zip(self._options, self._rects(), strict=True)):
            chosen = key == self._current
            if chosen:
                edge = theme.ctrl if self.isEnabled() else theme.border
                box(painter, rect, fill=theme.panel, border=edge, radius=5)
            elif self.hovered and index == self._over:
                box(painter, rect, fill=theme.pressed, radius=5)
            ink = theme.disabled if not self.isEnabled() else theme.ink if chosen else theme.text2
            draw_text(painter, rect.left() + PADDING[self._dense], baseline(rect.center().y(), f), text, f, ink)
        if self.ringed:
            focus_ring(painter, outer)
