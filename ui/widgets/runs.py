"""Runs: a line of text in pieces of their own size, weight and colour, with marks between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF, QPainter

from kav.views.words import Label, Mark, Piece

from ..marks import mark_width, paint_mark
from ..theme import current, font, role_color
from .drawing import draw_text, shown, text_width

MARK_R = 4.2  # half height of a mark in a line of text
MARK_GAP = 6.0  # between a mark and the text after it


@dataclass(frozen=True)
class Run:
    """Text of one size, weight and colour, after a mark if there is one."""

    text: str
    color: str = ""  # "" = second text
    px: int = 12
    weight: int = 400
    mark: Mark = ""


Runs = tuple[Run, ...]


def runs_of(pieces: Iterable[Piece], px: int = 12) -> Runs:
    """Return a reading line. A mark carries the colour of its role, so the text after a mark stays ink."""
    return tuple(_run_of(piece, px, current().name) for piece in pieces)


@lru_cache(maxsize=1024)
def _run_of(piece: Piece, px: int, theme: str) -> Run:
    color = role_color("" if piece.mark else piece.role, piece.strong).name()
    return Run(shown(piece.text), color, px, 600 if piece.strong else 400, piece.mark)


def title_runs(pieces: Iterable[Piece], px: int = 11) -> Runs:
    """Return an axis title: muted text, ink for what is strong or marked."""
    theme, runs = current(), []
    for piece in pieces:
        quiet = not (piece.strong or piece.mark or piece.role)
        color = theme.muted if quiet else theme.ink if piece.mark else role_color(piece.role, piece.strong).name()
        runs.append(Run(shown(piece.text), color, px, 500 if piece.strong or piece.mark else 400, piece.mark))
    return tuple(runs)


def label_runs(label: Label, *, px: int = 12, weight: int = 400, color: str = "") -> Runs:
    """Return a token: its position in figures one pixel smaller, then its text; `…` continues a word."""
    theme, small = current(), max(9, px - 1)
    text = Run(shown(label.shown), color, px, weight)
    if label.position is None:
        return (text,)
    large = small >= 12  # figures as high as the text: a wider gap, and no muted ones on a tint
    gap = "\u2002" if large else " "
    return (Run(f"{label.position}{gap}", theme.text2 if large else theme.muted, small), text)


def width_of(runs: Runs) -> float:
    """Return the width of runs in a row."""
    return sum(_before(run) + text_width(run.text, font(run.px, run.weight)) for run in runs)


def _before(run: Run) -> float:
    """The width of a run's mark."""
    return mark_width(run.mark, MARK_R) + MARK_GAP if run.mark else 0.0


def fitted(runs: Runs, width: float) -> Runs:
    """Return the runs, cut at the right with an ellipsis where they are wider than `width`."""
    if width_of(runs) <= width + 0.5:
        return runs
    kept: list[Run] = []
    for run in runs:
        f = font(run.px, run.weight)
        room, dots = width - _before(run), text_width("…", f)
        if run.mark and room < dots:  # a mark alone says nothing
            return (*kept, replace(run, text="…", mark=""))
        if text_width(run.text, f) > room - dots:
            text = QFontMetricsF(f).elidedText(run.text + "…", Qt.TextElideMode.ElideRight, max(room, 0.0))
            return (*kept, replace(run, text=text))
        kept.append(run)
        width = room - text_width(run.text, f)
    return tuple(kept)


def paint_line(painter: QPainter, runs: Runs, x: float, base: float) -> float:
    """Paint runs from x on, standing on `base`, and return where they end."""
    theme = current()
    for run in runs:
        f = font(run.px, run.weight)
        if run.mark:
            width = mark_width(run.mark, MARK_R)
            paint_mark(painter, run.mark, x + width / 2, base - QFontMetricsF(f).capHeight() / 2, MARK_R)
            x += width + MARK_GAP
        x = draw_text(painter, x, base, run.text, f, run.color or theme.text2)
    return x
