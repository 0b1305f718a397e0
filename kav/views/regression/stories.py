"""The sentences over the hero's further pictures: what leave-one-out prefers, and what each method costs."""

from __future__ import annotations

import math

from kav.regression.cost import CostStory
from kav.views.fit import Result
from kav.views.regression.exact import APPROXIMATE
from kav.views.words import Piece, Reading, growth, number


def bandwidth_reading(result: Result) -> Reading:
    """`Leave-one-out prefers h = 0.28; now 0.45`, or why there is no such curve."""
    if result.loo is None or result.loo_h is None:
        return (Piece("Leave-one-out needs at least two samples"),)
    if math.isnan(result.loo.best_error):
        return (
            Piece("No bandwidth leaves half of the samples a neighbour: Silverman's "),
            Piece(f"h = {number(result.loo_h)}", strong=True),
            _now(result),
        )
    return (Piece("Leave-one-out prefers "), Piece(f"h {best_text(result)}", strong=True), _now(result))


def best_text(result: Result) -> str:
    """Return how the best bandwidth is written behind "h": `= 0.28`, or `≈ 0.28` while it is approximate."""
    return f"{'=' if result.loo_exact else APPROXIMATE} {number(result.loo_h or math.nan)}"


def _now(result: Result) -> Piece:
    return Piece("" if result.h is None else f"; now {number(result.h)}")


def cost_reading(story: CostStory | None) -> Reading:
    """`Kernel ridge grows like n²·⁷, the smoother like n¹·⁰; from moments it is about constant`."""
    if story is None:
        return (Piece("What a fit costs as the samples grow, measured on this machine"),)
    ridge, smoother, moments = (
        growth(next(line.slope for line in story.lines if line.name == name))
        for name in ("ridge", "smoother", "moments")
    )
    return (
        Piece("Kernel ridge"),
        *_grows(ridge),
        Piece(", the smoother"),
        *_grows(smoother),
        Piece("; from moments it"),
        *_grows(moments),
    )


def _grows(words: str) -> Reading:
    verb = " grows like " if words.startswith("n") else " is "
    return Piece(verb), Piece(words, strong=True)
