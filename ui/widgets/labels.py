"""Where a label may stand on a plot: pure geometry in pixels, so that the rule can be tested without a screen.

A label tries right, left, above and below its dot, then the diagonals, and takes the first place that stays in the
plot and meets no dot, curve or earlier label; if there is none it is not drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from .axes import thinned

MARGIN = 2.0
BATCH = 12  # places looked at together
SLACK = 6.0  # a name may be this much nearer to another curve than to its own
# Right, left, above, below, then the diagonals (y grows downwards).
DIRECTIONS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1))


class Box(NamedTuple):
    """An upright rectangle; a tuple, because hundreds are tried for a label."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.top + self.height

    def grown(self, by: float) -> Box:
        """Return the box with `by` more on every side."""
        return Box(self.left - by, self.top - by, self.width + 2 * by, self.height + 2 * by)

    def meets(self, other: Box) -> bool:
        """Return whether the two boxes share any area."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def holds(self, other: Box) -> bool:
        """Return whether `other` lies wholly inside."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom


@dataclass(frozen=True)
class Obstacles:
    """What labels must not meet: dots (n, 3) as x, y, radius; segments (m, 4) as x0, y0, x1, y1; and boxes."""

    dots: np.ndarray
    segments: np.ndarray
    boxes: tuple[Box, ...] = ()

    @classmethod
    def of(
        cls, dots: np.ndarray | None = None, lines: Iterable[np.ndarray] = (), boxes: Iterable[Box] = ()
    ) -> Obstacles:
        """Return the obstacles of dots (n, 3) and polylines (k, 2); a NaN point interrupts its line."""
        lines = [_few_points(line) for line in lines]
        parts = [np.hstack([line[:-1], line[1:]]) for line in lines if len(line) > 1]
        segments = np.concatenate(parts) if parts else np.empty((0, 4))
        segments = segments[np.isfinite(segments).all(axis=1)]
        return cls(np.empty((0, 3)) if dots is None else np.asarray(dots, dtype=float), segments, tuple(boxes))

    def with_box(self, box: Box) -> Obstacles:
        """Return the obstacles with one more box."""
        return replace(self, boxes=(*self.boxes, box))

    def free(self, box: Box, margin: float = MARGIN) -> bool:
        """Return whether a box keeps `margin` from every obstacle."""
        wide = box.grown(margin)
        return not any(wide.meets(other) for other in self.boxes) and bool(self.free_of_ink([box], margin)[0])

    def free_of_ink(self, boxes: Sequence[Box], margin: float = MARGIN) -> np.ndarray:
        """Return which boxes keep `margin` from every dot and line, shape (n_boxes,), bool."""
        edges = _edges([box.grown(margin) for box in boxes])
        return ~(_dots_meet(self.dots, edges).any(axis=1) | _lines_meet(self.segments, edges).any(axis=1))


def _few_points(line: np.ndarray) -> np.ndarray:
    """The line with fewer points where those do not matter; each is looked at for every label."""
    if len(line) < 8 or not np.isfinite(line).all() or np.any(np.diff(line[:, 0]) <= 0):
        return line
    return np.stack(thinned(line[:, 0], line[:, 1], 0.3), axis=1)


def _edges(boxes: Sequence[Box]) -> np.ndarray:
    """Left, top, right and bottom of the boxes, shape (4, n_boxes, 1)."""
    return np.asarray([(box.left, box.top, box.right, box.bottom) for box in boxes]).T[:, :, None]


def _dots_meet(dots: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Which dots reach into which box, shape (n_boxes, n_dots)."""
    left, top, right, bottom = edges
    x, y, radius = dots.T
    across, down = x - np.minimum(np.maximum(x, left), right), y - np.minimum(np.maximum(y, top), bottom)
    return across**2 + down**2 < radius**2


def _lines_meet(segments: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Which segments enter which box, shape (n_boxes, n_segments).

    The part of a segment that lies between both pairs of the box's edges is not empty.
    """
    shape = (edges.shape[1], len(segments))
    first, last = np.zeros(shape), np.ones(shape)
    for axis in (0, 1):
        low, high = edges[axis], edges[axis + 2]
        start, step = segments[:, axis], segments[:, axis + 2] - segments[:, axis]
        still = np.abs(step) < 1e-6  # of a pixel
        safe = np.where(still, 1.0, step)
        enter, leave = (low - start) / safe, (high - start) / safe
        outside = np.where((low < start) & (start < high), 0.0, np.inf)
        first = np.maximum(first, np.where(still, outside, np.minimum(enter, leave)))
        last = np.minimum(last, np.where(still, 1.0, np.maximum(enter, leave)))
    return first < last


def candidates(x: float, y: float, radius: float, width: float, height: float, *, gap: float = 5.0) -> tuple[Box, ...]:
    """Return the eight places of a label around a dot, best first."""
    boxes = []
    for across, down in DIRECTIONS:
        diagonal = 0.7 if across and down else 1.0
        out = radius * diagonal + gap * diagonal
        left = x + out if across > 0 else x - out - width if across < 0 else x - width / 2
        top = y + out if down > 0 else y - out - height if down < 0 else y - height / 2
        boxes.append(Box(left, top, width, height))
    return tuple(boxes)


def place(
    places: Iterable[Box], bounds: Box, obstacles: Obstacles, *, wanted: Callable[[Box], bool] | None = None
) -> Box | None:
    """Return the first of `places` that lies in `bounds`, is free, and (if asked) `wanted`; or None."""
    taken = [box.grown(MARGIN) for box in obstacles.boxes]
    near = (box for box in places if bounds.holds(box) and not _meets_any(box, taken))
    while batch := list(islice(near, BATCH)):
        for box, free in zip(batch, obstacles.free_of_ink(batch), strict=True):
            if free and (wanted is None or wanted(box)):
                return box
    return None


def _meets_any(box: Box, others: Sequence[Box]) -> bool:
    """Whether a box shares area with any of the others; the loop that is run most often here."""
    left, top, width, height = box
    right, bottom = left + width, top + height
    return any(left < x + across and x < right and top < y + down and y < bottom for x, y, across, down in others)


class Remembered:
    """Places labels like `place`, but tries first where the same label stood before.

    A label then stays where it is while its surroundings move a little, and most of the looking is saved: during a
    drag all labels are placed again twenty times a second. `begin` starts a round; labels are told apart by their turn.
    """

    def __init__(self) -> None:
        self._frame: object = None
        self._before: list[int | None] = []
        self._now: list[int | None] = []

    def begin(self, frame: object) -> None:
        """Start a round; on another `frame` (size, scene) nothing is remembered."""
        self._before = self._now if frame == self._frame else []
        self._frame, self._now = frame, []

    def place(
        self,
        places: Iterable[Box],
        bounds: Box,
        obstacles: Obstacles,
        *,
        wanted: Callable[[Box], bool] | None = None,
    ) -> Box | None:
        """Return where the next label of the round stands, or None."""
        turn, rest = len(self._now), iter(places)
        last = self._before[turn] if turn < len(self._before) else None
        seen = [] if last is None else list(islice(rest, last + 1))  # no more than is needed: making them costs too
        if last is not None and last < len(seen):
            box = place(seen[last:], bounds, obstacles, wanted=wanted)
            if box is not None:
                self._now.append(last)
                return box

        def each() -> Iterator[Box]:
            yield from tuple(seen)
            for box in rest:
                seen.append(box)
                yield box

        box = place(each(), bounds, obstacles, wanted=wanted)
        self._now.append(None if box is None else next(i for i, other in enumerate(seen) if other is box))
        return box


def belongs(line: np.ndarray, others: Iterable[np.ndarray]) -> Callable[[Box], bool]:
    """Return a test whether a box is nearer to `line` than to any of `others` (all (n, 2) in pixels)."""
    rivals = list(others)

    def nearer(box: Box) -> bool:
        own = _distance(line, box)
        return all(own < _distance(rival, box) + SLACK for rival in rivals)

    return nearer


def _distance(line: np.ndarray, box: Box) -> float:
    seen = line[np.isfinite(line).all(axis=1)]
    if len(seen) == 0:
        return np.inf
    across = seen[:, 0] - np.clip(seen[:, 0], box.left, box.right)
    down = seen[:, 1] - np.clip(seen[:, 1], box.top, box.bottom)
    return float(np.hypot(across, down).min())


def along(line: np.ndarray, width: float, height: float, *, gap: float = 4.0, prefer: float = 0.5) -> Iterator[Box]:
    """Yield places for the name of a curve: beside its points, nearest to the preferred part of its length first.

    Parameters
    ----------
    line : array, shape (n, 2)
        The curve in pixels.
    prefer : float
        0 = at its start, 1 = at its end.
    """
    seen = line[np.isfinite(line).all(axis=1)].tolist()
    if not seen:
        return
    for out, share in _ways(gap, prefer):
        x, y = seen[round(share * (len(seen) - 1))]
        yield Box(x + 2 * out, y - height / 2, width, height)
        yield Box(x - width / 2, y - out - height, width, height)
        yield Box(x - width / 2, y + out, width, height)
        yield Box(x - 2 * out - width, y - height / 2, width, height)


@lru_cache(maxsize=32)
def _ways(gap: float, prefer: float) -> tuple[tuple[float, float], ...]:
    """How far from the curve, and where along it, the best first."""
    ways = [(out, share) for out in (gap, gap + 8, gap + 20) for share in np.linspace(0.02, 0.98, 17).tolist()]
    return tuple(sorted(ways, key=lambda way: 3 * (way[0] - gap) + 200 * abs(way[1] - prefer)))
