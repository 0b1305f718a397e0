"""The sentences over the hero's further pictures: what leave-one-out prefers, and what each method costs."""

from __future__ import annotations

import math

from kav.regression.cost import CostStory
from kav.views.fit import Result
from kav.views.words import Piece, Reading, fixed, number


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
    """`Kernel ridge grows like n^2.7, the smoother like n^1.0; from moments like n^0.1`."""
    if story is None:
        return (Piece("What a fit costs as the samples grow, measured on this machine"),)
    slopes = {line.name: fixed(line.slope) for line in story.lines}
    return (
        Piece("Kernel ridge grows like "),
        Piece(f"n^{slopes['ridge']}", strong=True),
        Piece(", the smoother like "),
        Piece(f"n^{slopes['smoother']}", strong=True),
        Piece("; from moments like "),
        Piece(f"n^{slopes['moments']}", strong=True),
    )
