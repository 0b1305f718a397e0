"""Drags from outside the window, as the desktop sends them."""

from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QDragEnterEvent


def enter_event(x: int, y: int, what: QMimeData, *, buttons=Qt.MouseButton.LeftButton) -> QDragEnterEvent:
    """Return the event of a drag that enters; Qt 6.12 takes a place with fractions and warns of whole ones."""
    rest = (Qt.DropAction.CopyAction, what, buttons, Qt.KeyboardModifier.NoModifier)
    try:
        return QDragEnterEvent(QPointF(x, y), *rest)
    except TypeError:  # before Qt 6.12
        return QDragEnterEvent(QPoint(x, y), *rest)
