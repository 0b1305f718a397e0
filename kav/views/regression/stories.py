"""The sentences over the hero's further pictures: what leave-one-out prefers, and what each method costs."""

from __future__ import annotations

import math

from kav.regression.cost import CostStory
from kav.views.fit import Result
from kav.views.words import Piece, Reading, growth, number


def bandwidth_reading(result: Result) -> Reading:
    """`Leave-one-out prefers h = 0.28; now 0.45`, or why there is no such curve."""
    if result.loo is None or result.loo_h is None:
        return (Piece("Leave-one-out needs at least two samples"),)
    if math.isnan(result.loo.best_error):
        return (
            Piece("No bandwidth leaves half of the samples a neighbour: Silverman's "),
            _h(result.loo_h),
            _now(result),
        )
    return (Piece("Leave-one-out prefers "), _h(result.loo_h), _now(result))


def _h(h: float) -> Piece:
    return Piece(f"h = {number(h)}", strong=True)


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
