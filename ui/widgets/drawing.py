"""What the painted widgets share: crisp boxes, the focus ring, runs of text with marks, glyphs that fonts lack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen, QTextLayout

from kav.views.words import Label, Piece

from ..marks import mark_width, paint_mark
from ..theme import current, font, role_color
from .painted import text_width as advance

MARK_R = 4.2  # half height of a mark in a line of text
MARK_GAP = 6.0  # between a mark and the text after it


@dataclass(frozen=True)
class Run:
    """A run of text in one font and colour, with a mark before it if there is one."""

    text: str
    font: QFont
    color: QColor
    mark: str = ""


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


def runs_of(pieces: Iterable[Piece], px: int = 12) -> list[Run]:
    """Return a reading line as runs. A mark carries the colour of its role, so the text after a mark stays ink."""
    runs = []
    for piece in pieces:
        role = "" if piece.mark else piece.role
        color = role_color(role, piece.strong)
        runs.append(Run(shown(piece.text), font(px, 600 if piece.strong else 400), color, piece.mark))
    return runs


def label_runs(label: Label, *, px: int, weight: int, small: int) -> list[Run]:
    """Return a token as runs: its position in small muted figures, then its text; `…` continues a word."""
    theme = current()
    runs = []
    if label.position is not None:
        gap = "\u2002" if small >= 12 else " "  # an en space where figures are as high as the text
        ink = QColor(theme.text2 if small >= 12 else theme.muted)
        runs.append(Run(f"{label.position}{gap}", font(small), ink))
    text = ("…" if label.joined else "") + label.text
    runs.append(Run(shown(text), font(px, weight), QColor(theme.ink)))
    return runs


def runs_width(runs: Sequence[Run]) -> float:
    """Return the width of runs in a row."""
    marks = sum(mark_width(run.mark, MARK_R) + MARK_GAP for run in runs if run.mark)
    return marks + sum(text_width(run.text, run.font) for run in runs)


def paint_runs(painter: QPainter, runs: Sequence[Run], x: float, base: float, limit: float = float("inf")) -> float:
    """Paint runs from x on and return where they end; what would pass `limit` is elided at the right."""
    fits = x + runs_width(runs) <= limit + 0.5
    for run in runs:
        if run.mark:
            width = mark_width(run.mark, MARK_R)
            if not fits and x + width + MARK_GAP > limit:
                return draw_text(painter, x, base, "…", run.font, run.color)
            middle = base - QFontMetricsF(run.font).capHeight() / 2
            paint_mark(painter, run.mark, x + width / 2, middle, MARK_R)
            x += width + MARK_GAP
        width = text_width(run.text, run.font)
        room = limit - x - text_width("…", run.font)
        if not fits and width > room:
            text = QFontMetricsF(run.font).elidedText(run.text + "…", Qt.TextElideMode.ElideRight, max(limit - x, 0.0))
            return draw_text(painter, x, base, text, run.font, run.color)
        x = draw_text(painter, x, base, run.text, run.font, run.color)
    return x


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
