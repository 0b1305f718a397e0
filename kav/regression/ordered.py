"""Samples in x order, counted from the smallest x, responses centred and scaled: the form all fast paths share.

Subtracting first what is common keeps the last digits: with x around 1e12 the differences are as exact as the data.

Shapes: ``x, y (n,)`` on the host.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

_MOST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class Ordered:
    """Finite samples in x order.

    Parameters
    ----------
    x : array, shape (n,)
        Ascending, counted from `low`.
    y : array, shape (n,)
        ``(response - mean) / scale``; between -1 and 1 when it was made.
    order : array of int, shape (n,), or None
        Which sample stands at each place; None if they were given in order.
    low, mean, scale : float
        Back to the data's own numbers.
    """

    x: np.ndarray
    y: np.ndarray
    order: np.ndarray | None
    low: float
    mean: float
    scale: float

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.x.size)

    @property
    def span(self) -> float:
        """Length from the smallest to the largest x; 1 where that is 0."""
        length = float(self.x[-1] - self.x[0]) if self.n else 0.0
        return length if length > 0 else 1.0

    def shown(self, y: np.ndarray) -> np.ndarray:
        """Return averages of `y` as responses."""
        return self.mean + self.scale * y

    def samples(self, places: np.ndarray) -> np.ndarray:
        """Return which samples stand at some places, int64."""
        return places.astype(np.int64) if self.order is None else self.order[places].astype(np.int64)

    def place_of(self, sample: int, x: float) -> int:
        """Return the place of a sample whose x (the data's own) is known, -1 if it is not among them."""
        if self.order is None:
            return sample
        at = x - self.low
        first, last = np.searchsorted(self.x, [at, at], side="left")[0], np.searchsorted(self.x, at, side="right")
        found = np.flatnonzero(self.order[first:last] == sample)
        return int(first + found[0]) if found.size else -1

    def without(self, place: int) -> Ordered:
        """Return all samples but one; those that stay keep their numbers."""
        order = np.arange(self.n, dtype=np.int32) if self.order is None else self.order
        x, y = np.delete(self.x, place), np.delete(self.y, place)
        return replace(self, x=x, y=y, order=np.delete(order, place))


def put_in_order(x: np.ndarray, y: np.ndarray) -> Ordered:
    """Return finite samples in x order."""
    if not x.size:
        return Ordered(np.zeros(0), np.zeros(0), None, 0.0, 0.0, 1.0)
    order = None
    if np.any(x[1:] < x[:-1]):
        order = np.argsort(x).astype(np.int32 if x.size < 2**31 else np.int64)
        x, y = x[order], y[order]
    low = float(x[0])
    largest = float(max(y.max(), -y.min())) or 1.0
    mean = float(np.mean(y)) if largest < 1e290 else float(np.mean(y / largest)) * largest
    if (
        largest > _MOST / 4 and float(y.max()) / 2 - float(y.min()) / 2 > _MOST / 4
    ):  # a difference from the mean may be no float
        mean = 0.0
    centred = y - mean
    scale = float(max(centred.max(), -centred.min()))
    scale = scale if 0 < scale < np.inf else 1.0
    centred /= scale
    return Ordered(x - low, centred, order, low, mean, scale)
