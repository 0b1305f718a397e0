"""What the painted widgets share: crisp boxes, the focus ring, a line of text, glyphs that fonts lack."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen, QTextLayout

from ..theme import current, font
from .painted import text_width as advance


def box(painter: QPainter, rect: QRectF, *, fill: str, border: str = "", radius: float = 6, width: float = 1) -> None:
    """Paint a rounded box whose border lies inside `rect`, sharp at every scale."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    half = width / 2 if border else 0.0
    painter.setPen(QPen(QColor(border), width) if border else Qt.PenStyle.NoPen)
    painter.setBrush(QBrush(QColor(fill)))
    inner = max(radius - half, 0.0)
    painter.drawRoundedRect(rect.adjusted(half, half, -half, -half), inner, inner)


def focus_ring(painter: QPainter, rect: QRectF, radius: float = 6) -> None:
    """Paint the ring of keyboard focus: 2 px inside `rect`, so that nothing moves."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(current().query), 2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), radius - 1, radius - 1)


def baseline(center: float, f: QFont) -> float:
    """Return where text in `f` stands so that its capitals are centred at `center`, on a whole pixel."""
    return float(round(center + QFontMetricsF(f).capHeight() / 2))


def text_width(text: str, f: QFont) -> float:
    """Return the advance of `text` in `f`; remembered for the fonts of `theme.font`."""
    made_of = getattr(f, "made_of", None)
    return QFontMetricsF(f).horizontalAdvance(text) if made_of is None else advance(text, *made_of)


def draw_text(painter: QPainter, x: float, base: float, text: str, f: QFont, color: QColor | str) -> float:
    """Paint `text` with its baseline at (x, base) and return where it ends."""
    painter.setFont(f)
    painter.setPen(QColor(color))
    painter.drawText(QPointF(x, base), text)
    return x + text_width(text, f)


@lru_cache(maxsize=4096)
def shown(text: str) -> str:
    r"""Return `text` as the fonts of this machine can show it: characters that no font has become `\u5546`."""
    if text.isascii() or _has_glyphs(text):
        return text
    return "".join(c if c.isascii() or _has_glyphs(c) else _escape(c) for c in text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _has_glyphs(text: str) -> bool:
    layout = QTextLayout(text, font(13))
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()
    return all(index != 0 for run in layout.glyphRuns() for index in run.glyphIndexes())
