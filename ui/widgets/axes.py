"""Axes: where the ticks are, what they say, and how a place in the data becomes a place on the screen."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .ticks import tick_text

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Span:
    """The visible part of an axis, low < high."""

    low: float
    high: float

    @property
    def length(self) -> float:
        """high - low."""
        return self.high - self.low

    def part(self, start: float, stop: float) -> Span:
        """Return the part between two shares of the span, 0 = low and 1 = high."""
        return Span(self.low + start * self.length, self.low + stop * self.length)


def span(low: float, high: float) -> Span:
    """Return a span that is never empty: a single value gets room around it."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return Span(0.0, 1.0)
    if high > low:
        return Span(low, high)
    room = 0.5 * abs(low) or 1.0
    return Span(low - room, low + room)


@dataclass(frozen=True)
class Frame:
    """The drawing area in pixels and the spans of its axes; `query` is the axis on top."""

    left: float
    top: float
    width: float
    height: float
    x: Span
    y: Span
    query: Span

    @property
    def right(self) -> float:
        """The right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.top + self.height

    def x_px(self, x: float | np.ndarray) -> float | np.ndarray:
        """Return the column of a place on the bottom axis."""
        return self.left + (x - self.x.low) / self.x.length * self.width

    def y_px(self, y: float | np.ndarray) -> float | np.ndarray:
        """Return the row of a value."""
        return self.bottom - (y - self.y.low) / self.y.length * self.height

    def query_px(self, at: float | np.ndarray) -> float | np.ndarray:
        """Return the column of a place on the query axis."""
        return self.left + (at - self.query.low) / self.query.length * self.width

    def x_at(self, px: float) -> float:
        """Return the place on the bottom axis under a column."""
        return self.x.low + (px - self.left) / self.width * self.x.length

    def y_at(self, px: float) -> float:
        """Return the value at a row."""
        return self.y.low + (self.bottom - px) / self.height * self.y.length

    def query_at(self, px: float) -> float:
        """Return the place on the query axis under a column."""
        return self.query.low + (px - self.left) / self.width * self.query.length


def thinned(x: np.ndarray, y: np.ndarray, tolerance: float = 0.15) -> tuple[np.ndarray, np.ndarray]:
    """Return a line of finite points in pixels with as few of them, evenly taken, as leave it where it is.

    Parameters
    ----------
    x : array, shape (n,)
        Ascending.
    tolerance : float
        How far a point that is left out may lie from the line, in pixels.
    """
    n = x.size
    for every in (n, 32, 16, 8, 4, 2):
        if every < n or every == n > 2:
            kept = np.arange(0, n, every)
            kept = kept if kept[-1] == n - 1 else np.append(kept, n - 1)
            if np.max(np.abs(np.interp(x, x[kept], y[kept]) - y)) <= tolerance:
                return x[kept], y[kept]
    return x, y


def tick_step(length: float, most: float) -> float:
    """Return the smallest step of 1, 2, 2.5, 5 x 10^k that cuts `length` into at most `most` intervals."""
    least = length / max(most, 1.0)
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in STEPS if step * power >= least * (1 - 1e-9))


def ticks(axis: Span, most: float) -> tuple[tuple[float, str], ...]:
    """Return the ticks of an axis as (place, text), at most `most` + 1 of them."""
    step = tick_step(axis.length, most)
    first, last = math.ceil(axis.low / step - 1e-9), math.floor(axis.high / step + 1e-9)
    return tuple((index * step, tick_text(index * step, step)) for index in range(first, last + 1))


def row_intervals(height: float) -> float:
    """Return how many intervals an upright axis of this height has room for: about five, more when it is tall."""
    return max(height / 45, min(5.5, height / 18))


def column_intervals(width: float, pitch: float = 50.0) -> float:
    """Return how many intervals a level axis of this width has room for, at least `pitch` pixels each."""
    return max(width / pitch, 2.0)
