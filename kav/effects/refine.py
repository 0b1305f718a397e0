"""Where to measure a curve so that the line through the measured points is as good as the curve itself on a screen.

Every point is measured; nothing is interpolated. Few even doses come first, then more of them between, then midpoints
of the intervals in which the line could be off by more than a pixel, until there is no such interval. What is measured
after each of these rounds can be looked at while the next is run. The error of a line between two points of a smooth
curve is ``|f''| w^2 / 8``; f'' is estimated from the points on either side.

References
----------
de Boor 2001, "A Practical Guide to Splines", chapter 3 (error of the broken line).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kav.effects.rerun import share_of
from kav.errors import KavError
from kav.task import Task


@dataclass(frozen=True)
class Span:
    """A range of doses of which as many are measured as a picture of the curve needs.

    Parameters
    ----------
    lowest, highest : float
        Both measured; so is 1 with the default range and number.
    n_first : int
        Even doses that are measured first, at least 3: what is narrower than their distance may be missed.
    n_pixels : int
        Height and width of the picture: the line may be off by the range of the response divided by this.
    most : int
        Doses at which refinement stops whatever is left.
    """

    lowest: float = -1.0
    highest: float = 3.0
    n_first: int = 17
    n_pixels: int = 300
    most: int = 129

    def __post_init__(self) -> None:
        """Refuse ranges that hold no curve."""
        if not (np.isfinite(self.lowest) and np.isfinite(self.highest) and self.lowest < self.highest):
            raise KavError(f"a span of doses must run from lower to higher, got {self.lowest} to {self.highest}")
        if self.n_first < 3:
            raise KavError(f"a span must begin with at least 3 doses, got {self.n_first}")


NOISE = 2e-6
"""Share of the response below which a bend is rounding, not a bend (float32 runs)."""


GLANCE = 4
"""Every so many of the even doses are measured before the rest of them."""


def refined(
    measure: Callable[[np.ndarray, Task | None], np.ndarray],
    span: Span,
    *,
    so_far: Callable[[np.ndarray, np.ndarray], None] | None = None,
    task: Task | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return increasing doses and the measured response at each, shapes (n_doses,).

    Parameters
    ----------
    measure : callable
        ``measure(doses, task)`` -> response at new doses, shape (n_new,).
    span : Span
    so_far : callable or None
        Told the increasing doses and responses measured so far, whenever more are to follow.
    task : Task or None
        Told as rounds are done, each worth half of what is left; may cancel.
    """
    even = np.linspace(span.lowest, span.highest, span.n_first)
    glanced = np.arange(len(even)) % GLANCE == 0
    glanced[-1] = True
    doses, more = even[glanced], even[~glanced]
    glance = 0.5 * len(doses) / len(even)
    values, share = measure(doses, share_of(task, 0.0, glance)), 1 - glance
    while len(more):
        if so_far is not None:
            so_far(doses, values)
        step = share - 0.5 if share > 0.5 else share / 2
        found = measure(more, share_of(task, 1 - share, step, f"{len(doses)} doses measured"))
        share -= step
        order = np.argsort(np.concatenate([doses, more]), kind="stable")
        doses, values = np.concatenate([doses, more])[order], np.concatenate([values, found])[order]
        more = _midpoints(doses, values, span)
    if task is not None:
        task.report(1.0)
    return doses, values


def line_errors(doses: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return how far the line may be off in each interval between at least 3 points, shape (n_doses - 1,).

    ``|f''| w^2 / 8`` with f'' the largest of the second differences at the two points on either side: at a single point
    bends of opposite sign may cancel.
    """
    slopes = np.diff(values) / np.diff(doses)
    bends = np.abs(np.diff(slopes) / (doses[2:] - doses[:-2]))  # f'' / 2 around every inner point
    around = np.pad(bends, 2, mode="edge")  # two points before the first interval, two after the last
    largest = np.max(np.stack([around[i : i + len(doses) - 1] for i in range(4)]), axis=0)
    return np.asarray(largest * np.diff(doses) ** 2 / 4)


def _midpoints(doses: np.ndarray, values: np.ndarray, span: Span) -> np.ndarray:
    """Doses to add, those in the worst intervals first if there is no room for all."""
    whole = float(values.max() - values.min())
    allowed = max(whole / span.n_pixels, NOISE * float(np.abs(values).max()))
    errors, widths = line_errors(doses, values), np.diff(doses)
    finest = (span.highest - span.lowest) / (2 * span.n_pixels)  # nothing is drawn between two columns of pixels
    wanted = np.flatnonzero((errors > allowed) & (widths > finest))
    room = max(0, span.most - len(doses))
    worst = np.sort(wanted[np.argsort(-errors[wanted], kind="stable")][:room])
    return np.asarray((doses[worst] + doses[worst + 1]) / 2)
