"""The prompt as a row of tokens, with the head's weights as bars under the words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QKeyEvent,
    QLinearGradient,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPainterPathStroker,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from kav.views.words import Label, share

from ..marks import paint_mark
from ..painting import guarded
from ..theme import current, font
from .control import Control
from .drawing import baseline, box, draw_text, focus_ring, shown
from .icon_button import paint_icon
from .painted import text_width

HEIGHT, TOP, CHIP = 42, 8, 30
GAP, PADDING, JOINED = 3, 6.5, 5
ARROW = 22  # width of the arrow that scrolls a strip too wide for its place


class TokenStrip(Control):
    """Tokens as chips. A click asks for the query, a shift-click or the right button for the key.

    Arrows move the query, Shift and arrows the key. When the strip is too wide it scrolls by wheel and by the arrows
    at its ends, and the query is kept in sight.
    """

    queryRequested = Signal(int)
    keyRequested = Signal(int)

    def __init__(self, parent: QWidget | None = None, *, name: str = "prompt.strip") -> None:
        tip = "click a token to make it the query, shift-click to make it the key"
        super().__init__(parent, name=name, label="tokens of the prompt", tip=tip)
        self._labels: tuple[Label, ...] = ()
        self._weights = np.zeros(0)
        self._before: np.ndarray | None = None
        self._query = self._key = -1
        self._offset = 0.0
        self._gaps = self._plain = self._lefts = self._widths = np.zeros(0)
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_tokens(self, labels: Sequence[Label]) -> None:
        """Show these tokens; the weights of others are gone until `set_weights`."""
        if labels is self._labels:
            return
        self._labels = tuple(labels)
        self._weights = np.zeros(len(self._labels))
        self._before = None
        self._gaps = np.asarray([0 if label.joined or i == 0 else GAP for i, label in enumerate(self._labels)], float)
        self._plain = np.asarray([self._width(label, 400) for label in self._labels], float)
        self._layout()

    def set_weights(self, weights: np.ndarray, before: np.ndarray | None = None) -> None:
        """Show one weight per token, and as outlines those before the edit."""
        self._weights = np.asarray(weights, dtype=float)
        self._before = None if before is None else np.asarray(before, dtype=float)
        self.update()

    def set_selection(self, query: int, key: int) -> None:
        """Mark the query and the key, and scroll the query into sight."""
        if (query, key) == (self._query, self._key):
            return
        self._query, self._key = query, key
        if 0 <= query < len(self._labels):
            self.setAccessibleDescription(f"query {self._labels[query].text}")
        self._layout()

    def _layout(self) -> None:
        """Place the chips; the selected ones are wider because their text is heavier."""
        self._widths = self._plain.copy()
        for index in {self._query, self._key}:
            if 0 <= index < len(self._labels):
                self._widths[index] = self._width(self._labels[index], 600)
        self._lefts = np.cumsum(self._gaps + np.concatenate([[0.0], self._widths])[: len(self._labels)])
        self._scroll_to(self._query)
        self.updateGeometry()
        self.update()

    def _width(self, label: Label, weight: int) -> int:
        """The width of a chip whose text has that weight; figures are all as wide as a zero."""
        text = text_width("0" * len(self._number(label)), 10) + 4 + text_width(shown(label.text), 13, weight)
        return round(text + 2 * (JOINED if label.joined else PADDING))

    def _number(self, label: Label) -> str:
        return "" if label.position is None else str(label.position)

    def _font(self, index: int) -> QFont:
        return font(13, 600 if index in (self._query, self._key) else 400)

    def _overflow(self) -> float:
        return max(self._end() - self.width() + 2, 0.0)

    def _end(self) -> float:
        """Where the last token ends."""
        return float(self._lefts[-1] + self._widths[-1]) if len(self._lefts) else 0.0

    def _scroll(self, offset: float) -> None:
        self._offset = float(round(min(max(offset, 0.0), self._overflow())))
        self.update()

    def _scroll_to(self, index: int) -> None:
        """Keep a token in sight, clear of the arrows."""
        if not 0 <= index < len(self._lefts) or not self._overflow():
            return self._scroll(self._offset)
        rect = self.rect_of(index).translated(self._offset, 0)
        offset = min(self._offset, rect.left() - ARROW - GAP)
        return self._scroll(max(offset, rect.right() + 2 + ARROW - self.width(), 0.0))

    def rect_of(self, index: int) -> QRectF:
        """Return where a token is drawn, in pixels."""
        return QRectF(float(self._lefts[index]) - self._offset, TOP, float(self._widths[index]), CHIP)

    def index_at(self, x: float) -> int:
        """Return the token at x, -1 if there is none."""
        place = x + self._offset
        index = int(np.searchsorted(self._lefts, place, side="right")) - 1
        inside = index >= 0 and place < self._lefts[index] + self._widths[index] + GAP
        return index if inside else -1

    def sizeHint(self) -> QSize:
        return QSize(int(self._end()) + 2 if self._labels else 120, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, HEIGHT)

    def resizeEvent(self, event: object) -> None:
        self._scroll_to(self._query)

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta = event.angleDelta()
        if self._overflow():
            self._scroll(self._offset - (delta.x() or delta.y()) / 2)
        else:
            event.ignore()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        x = event.position().x()
        if self._offset > 0 and x < ARROW:
            return self._scroll(self._offset - self.width() / 2)
        if self._offset < self._overflow() and x > self.width() - ARROW:
            return self._scroll(self._offset + self.width() / 2)
        index = self.index_at(x)
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if index < 0:
            return None
        if event.button() == Qt.MouseButton.RightButton or shift:
            return self.keyRequested.emit(index)
        return self.queryRequested.emit(index)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        index = self.index_at(event.position().x())
        if index >= 0:
            exact = self._labels[index].exact or self._labels[index].text
            text = f"{exact}, weight {share(float(self._weights[index]))}\nclick: query, shift-click: key"
            QToolTip.showText(event.globalPosition().toPoint(), text, self)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, last = Qt.Key, len(self._labels) - 1
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        at = self._key if shift else self._query
        places = {key.Key_Left: at - 1, key.Key_Right: at + 1, key.Key_Home: 0, key.Key_End: last}
        if event.key() not in places:
            return super().keyPressEvent(event)
        index = min(max(places[Qt.Key(event.key())], 0), last)
        if index != at and last >= 0:
            (self.keyRequested if shift else self.queryRequested).emit(index)
        return None

    @guarded
    def paintEvent(self, event: QPaintEvent, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        seen = np.flatnonzero((self._lefts + self._widths > self._offset) & (self._lefts < self._offset + self.width()))
        for index in sorted(seen.tolist(), key=lambda i: i in (self._query, self._key)):
            self._paint_chip(painter, index, self.rect_of(index))
        self._paint_ends(painter)
        if self.ringed:
            focus_ring(painter, QRectF(self.rect()), 6)

    def _paint_chip(self, painter: QPainter, index: int, rect: QRectF) -> None:
        theme = current()
        label = self._labels[index]
        query, key = index == self._query, index == self._key
        if query or key:
            fill, edge = (theme.qtint, theme.query) if query else (theme.ktint, theme.key)
            box(painter, rect, fill=fill, border=edge, width=1.6)
        else:
            self._paint_plain(painter, index, rect)
        f = self._font(index)
        base = baseline(rect.center().y() - 0.5, f)
        x = rect.left() + (JOINED if label.joined else PADDING)
        x = draw_text(painter, x, base, self._number(label), font(10), theme.muted) + 4
        special = label.text.startswith("‹") and not (query or key)
        draw_text(painter, x, base, shown(label.text), f, theme.text2 if special else theme.ink)
        self._paint_weight(painter, index, rect)
        at = rect.center().x()
        both = 6 if query and key else 0
        if query:
            paint_mark(painter, "query", at - both, TOP + 0.3, 4.4)
        if key:
            paint_mark(painter, "key", at + both, TOP, 4.2)

    def _paint_plain(self, painter: QPainter, index: int, rect: QRectF) -> None:
        """Paint the paper of a token that is not selected; pieces of one word share it."""
        theme = current()
        last = index + 1 >= len(self._labels)
        before = self._labels[index].joined
        after = not last and self._labels[index + 1].joined
        hot = self.hovered and self.index_at(self.mapFromGlobal(self.cursor().pos()).x()) == index
        fill = theme.hover if hot else theme.panel
        if not before and not after:
            box(painter, rect, fill=fill, border=theme.border)
            return
        # Cut rather than clipped: a vector file has no clips.
        inside, paper = QPainterPath(), QPainterPath()
        inside.addRect(rect)
        wide = rect.adjusted(-8 if before else 0, 0, 8 if after else 0, 0).adjusted(0.5, 0.5, -0.5, -0.5)
        paper.addRoundedRect(wide, 5.5, 5.5)
        edge = QPainterPathStroker(QPen(QColor(theme.border), 1)).createStroke(paper)
        painter.fillPath(paper.intersected(inside), QColor(fill))
        painter.fillPath(edge.intersected(inside), QColor(theme.border))
        if before:
            painter.setPen(QPen(QColor(theme.border), 1))
            painter.drawLine(int(rect.left()), TOP, int(rect.left()), TOP + CHIP - 1)

    def _paint_weight(self, painter: QPainter, index: int, rect: QRectF) -> None:
        """Paint the weight as a bar under the token, and the one before the edit as its hollow outline."""
        theme = current()
        track = QRectF(rect.left() + 5, rect.bottom() - 5, rect.width() - 10, 3)
        box(painter, track, fill=theme.grid, radius=1.5)
        weight = float(self._weights[index]) if index < len(self._weights) else 0.0
        if weight >= 0.005:
            bar = QRectF(track.left(), track.top(), max(track.width() * min(weight, 1.0), 2.5), 3)
            box(painter, bar, fill=theme.weight_ink, radius=1.5)
        if self._before is not None and index < len(self._before) and self._before[index] >= 0.005:
            width = max(track.width() * min(float(self._before[index]), 1.0), 3.0)
            outline = QRectF(track.left() - 1, track.top() - 1, width + 2, 5)
            box(painter, outline, fill="transparent", border=theme.editedink, radius=2.5, width=1.2)

    def _paint_ends(self, painter: QPainter) -> None:
        """Paint the arrows over the ends that hide tokens, on a fading page."""
        theme = current()
        ends = ((self._offset > 0, 0, "back"), (self._offset < self._overflow(), self.width() - ARROW, "forward"))
        for hides, left, name in ends:
            if not hides:
                continue
            place = QRectF(left, 0, ARROW, HEIGHT)
            solid, clear = QColor(theme.window), QColor(theme.window)
            clear.setAlpha(0)
            fade = QLinearGradient(place.topLeft(), place.topRight())
            fade.setStops(
                [(0, solid), (0.6, solid), (1, clear)] if not left else [(0, clear), (0.4, solid), (1, solid)]
            )
            painter.fillRect(place, fade)
            paint_icon(painter, name, QRectF(left + 3, TOP + 7, 16, 16), theme.text2)
