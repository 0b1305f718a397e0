"""A token beside a plot: its position in small muted figures, then its text."""

from __future__ import annotations

from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QPainter

from kav.views.words import Label

from ..theme import current, font
from .drawing import shown as drawable
from .painted import elided, text_width

GAP = 4.0  # between figures and text


def figures_px(px: int) -> int:
    """Return the size of the position number before a text of size `px`."""
    return max(9, px - 1)


def label_width(label: Label, px: int = 11, strong: bool = False) -> float:
    """Return the width of a painted label."""
    word = text_width(drawable(label.shown), px, 600 if strong else 400)
    if label.position is None:
        return word
    return text_width(str(label.position), figures_px(px)) + GAP + word


def paint_label(
    painter: QPainter,
    at: QPointF,
    label: Label,
    *,
    px: int = 11,
    strong: bool = False,
    room: float = 4000.0,
    color: str = "",
) -> float:
    """Paint a label whose baseline starts at `at`, shortened to `room` pixels; return the width it took."""
    theme, x = current(), at.x()
    if label.position is not None:
        figures = str(label.position)
        painter.setFont(font(figures_px(px)))
        painter.setPen(QColor(theme.muted))
        painter.drawText(QPointF(x, at.y()), figures)
        x += text_width(figures, figures_px(px)) + GAP
    weight = 600 if strong else 400
    word = elided(drawable(label.shown), room - (x - at.x()), px, weight)
    painter.setFont(font(px, weight))
    painter.setPen(QColor(color or (theme.ink if strong else theme.text2)))
    painter.drawText(QPointF(x, at.y()), word)
    return x + text_width(word, px, weight) - at.x()
