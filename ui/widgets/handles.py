"""Handles: what can be grabbed on a plot, and which one a press means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

REACH = 12.0  # half of the smallest area that a hand hits


@dataclass(frozen=True)
class Handle:
    """One thing to grab: a name, its place and radius in pixels; `stop` says that Tab visits it.

    Handles of a lower `rank` win where several are in reach.
    """

    name: str
    x: float
    y: float
    r: float = 0.0
    rank: int = 0
    stop: bool = True


def hit(handles: Sequence[Handle], x: float, y: float) -> str:
    """Return the name of the handle under a pixel, "" if there is none: inside beats near, then rank, then distance."""
    best, found = (2, 0, 0.0), ""
    for handle in handles:
        distance = ((handle.x - x) ** 2 + (handle.y - y) ** 2) ** 0.5
        if distance > max(handle.r + 2, REACH):
            continue
        order = (int(distance > handle.r + 2), handle.rank, distance)
        if order < best:
            best, found = order, handle.name
    return found
