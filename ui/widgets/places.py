"""Painted widgets with things in places: one is under the mouse and tells what it is, a click acts on it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter

from .painted import STEPS, Painted


class Places(Painted):
    """Subclasses say how many places there are, where they are, and what they do."""

    hovered_place = -1  # -1 = none

    def n_places(self) -> int:
        """Return how many there are now."""
        raise NotImplementedError

    def hit_rect(self, index: int) -> QRectF:
        """Return where the mouse finds a place."""
        raise NotImplementedError

    def tip_of(self, index: int) -> str:
        """Return what a place says under the mouse."""
        raise NotImplementedError

    def act_on(self, index: int) -> None:
        """Do what a click on a place asks for."""
        raise NotImplementedError

    def place_at(self, point: QPointF) -> int:
        """Return the place under a point, -1 for none."""
        return next((i for i in range(self.n_places()) if self.hit_rect(i).contains(point)), -1)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.hover(self.place_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hover(-1)

    def hover(self, index: int) -> None:
        """The mouse is over a place, or over none: -1."""
        if index != self.hovered_place:
            self.hovered_place = index
            self.setToolTip(self.tip_of(index) if index >= 0 else "")
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        index = self.place_at(event.position())
        if index >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.act_on(index)


class Lines(Places):
    """Places below each other: the arrows move a ring from one to the next, Return acts on the one that has it."""

    cursor_place = -1

    def reset_places(self) -> None:
        """Others are shown: none is under the mouse until it moves, and the ring stays on one that is there."""
        self.hovered_place = -1
        self.cursor_place = min(self.cursor_place, self.n_places() - 1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.place_at(event.position())
        if index >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.cursor_place = index
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        n = self.n_places()
        if event.key() in STEPS and n:
            self.ringed = True
            self.cursor_place = min(max(self.cursor_place + STEPS[Qt.Key(event.key())][0], 0), n - 1)
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and 0 <= self.cursor_place < n:
            self.act_on(self.cursor_place)
        else:
            super().keyPressEvent(event)

    def paint_cursor(self, painter: QPainter) -> None:
        """Paint the ring around the place that has it, else around all."""
        at = self.cursor_place
        held = 0 <= at < self.n_places()
        ring = self.hit_rect(at).adjusted(1, 0, -1, 0) if held else QRectF(self.rect()).adjusted(2, 2, -2, -2)
        self.paint_ring(painter, ring)
