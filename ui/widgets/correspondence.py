"""The table beside the hero: what each mark is, its value now, and what it stands for. It is the legend."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from kav.views.fit import Row

from ..marks import paint_mark
from ..painting import guarded
from ..theme import current, font
from .control import Control, fill
from .drawing import baseline, box, draw_text, focus_ring, text_width
from .painted import elided

WIDTH, NAME, NOTE, BREAK, LEFT, TEXT, RIGHT = 196, 18, 16, 12, 1, 22, 182
# A rule stands between what is asked, what is observed, and what comes out.
_GROUPS = {"query": 0, "kernel": 0, "curve": 0, "key": 1, "response": 1, "weight": 1, "prediction": 2, "effective": 2}


class Correspondence(Control):
    """Rows of mark, name, value and note. `rowHovered` carries the key of the row under the mouse or the keyboard,
    "" for none, so that every panel can ring what the row stands for."""

    rowHovered = Signal(str)

    def __init__(self, parent: QWidget | None = None, *, name: str = "fit.correspondence") -> None:
        super().__init__(parent, name=name, label="correspondence table")
        self._rows: tuple[Row, ...] = ()
        self._over = ""
        self.setFixedWidth(WIDTH)
        fill(self)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Maximum)

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows; those that are as before are not painted again."""
        before, self._rows = self._rows, tuple(rows)
        if before == self._rows:
            return
        self.setAccessibleDescription("; ".join(f"{row.name} {row.value}".strip() for row in self._rows))
        if [(row.key, bool(row.note)) for row in before] != [(row.key, bool(row.note)) for row in self._rows]:
            self.updateGeometry()
            self.update()
            return
        for old, row, rect in zip(before, self._rows, self.row_rects(), strict=True):
            if old != row:
                self.update(rect.toAlignedRect())

    @property
    def noted(self) -> bool:
        """Whether there is room for a line on what each row is; else the tooltip says it."""
        return self.height() >= self.sizeHint().height()

    def row_rects(self) -> list[QRectF]:
        """Return the place of each row, in pixels."""
        return self._rects(noted=self.noted)

    def _rects(self, *, noted: bool) -> list[QRectF]:
        rects, y, group = [], 0.0, None
        for row in self._rows:
            here = _GROUPS.get(row.key, group)
            if group is not None and here != group:
                y += BREAK
            group = here
            height = NAME + (NOTE if row.note and noted else 0)
            rects.append(QRectF(0, y, WIDTH, height))
            y += height
        return rects

    def sizeHint(self) -> QSize:
        return self._size(noted=True)

    def minimumSizeHint(self) -> QSize:
        return self._size(noted=False)

    def _size(self, *, noted: bool) -> QSize:
        rects = self._rects(noted=noted)
        return QSize(WIDTH, int(rects[-1].bottom()) + 2 if rects else 0)

    def tip(self, row: Row) -> str:
        """Return what the tooltip of a row says: more on it, and its note where that is cut off."""
        cut = not self.noted or text_width(row.note, font(11)) > WIDTH - TEXT
        return "\n".join(text for text in (row.note if cut else "", row.tip) if text)

    def _hover(self, key: str) -> None:
        if key != self._over:
            self._over = key
            self.setToolTip("".join(self.tip(row) for row in self._rows if row.key == key))
            self.update()
            self.rowHovered.emit(key)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        found = [row.key for row, rect in zip(self._rows, self.row_rects(), strict=True) if rect.contains(at)]
        self._hover(found[0] if found else "")

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hover("")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()), 0)
        if event.key() == Qt.Key.Key_Escape and self._over:
            return self._hover("")
        if not step or not self._rows:
            return super().keyPressEvent(event)
        keys = [row.key for row in self._rows]
        at = keys.index(self._over) + step if self._over in keys else 0
        return self._hover(keys[min(max(at, 0), len(keys) - 1)])

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        theme = current()
        previous = None
        for row, rect in zip(self._rows, self.row_rects(), strict=True):
            if previous is not None and rect.top() > previous:
                painter.fillRect(QRectF(0, round(previous + BREAK / 2) - 1, RIGHT + 1, 1), QColor(theme.grid))
            previous = rect.bottom()
            if row.key == self._over:
                box(painter, rect.adjusted(0, 0, RIGHT + 4 - WIDTH, 0), fill=theme.hover, radius=4)
            if event.region().intersects(rect.toAlignedRect()):
                self._paint_row(painter, row, rect)
        if self.ringed:
            focus_ring(painter, QRectF(self.rect()))

    def _paint_row(self, painter: QPainter, row: Row, rect: QRectF) -> None:
        theme = current()
        middle = rect.top() + NAME / 2
        f, strong = font(12), font(12, 600)
        paint_mark(painter, row.mark, LEFT + 6, middle, 4.5)
        draw_text(painter, TEXT, baseline(middle, f), row.name, f, theme.text2)
        ink = getattr(theme, row.role) if row.role in ("error", "muted") else theme.ink
        draw_text(painter, RIGHT - text_width(row.value, strong), baseline(middle, f), row.value, strong, ink)
        if row.note and self.noted:
            base = baseline(rect.top() + NAME + NOTE / 2 - 1, font(11))
            draw_text(painter, TEXT, base, elided(row.note, WIDTH - TEXT, 11), font(11), theme.muted)
