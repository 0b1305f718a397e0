"""The prepared form of a sample set, made once and handed on: a moved set starts from that of its origin."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from kav.regression.prepared import Prepared

_MOST_APART = 16
"""Samples held apart before everything is made ready anew."""
Move = tuple[tuple[float, float], tuple[float, float]]
"""Where a sample was, and where it is."""


class Observed(Protocol):
    """Whatever holds samples: asked for its arrays only if nothing is made ready yet."""

    @property
    def x(self) -> np.ndarray:
        """Places, (n,)."""

    @property
    def y(self) -> np.ndarray:
        """Responses, (n,)."""


class Ready:
    """The prepared form of one sample set, made when first asked for; a moved set starts from that of its origin."""

    def __init__(self, origin: Ready | None = None, moves: dict[int, Move] | None = None) -> None:
        self.made: Prepared | None = None
        self._origin = origin
        self._moves = moves or {}
        self._lock = threading.Lock()

    def moved(self, index: int, was: tuple[float, float], to: tuple[float, float]) -> Ready:
        """What a set with one sample elsewhere starts from; moves not yet carried out are collected."""
        if self.made is not None or self._origin is None:
            return Ready(self, {index: (was, to)})
        was = self._moves[index][0] if index in self._moves else was
        return Ready(self._origin, {**self._moves, index: (was, to)})

    def get(self, samples: Observed) -> Prepared:
        """Return the prepared samples."""
        with self._lock:
            if self.made is None:
                self.made = self._from_origin() or Prepared.of(samples.x, samples.y)
                self._origin, self._moves = None, {}
            return self.made

    def apart(self, samples: Observed, places: Mapping[int, tuple[float, float]]) -> Prepared:
        """Return the prepared samples with some held apart, and keep them so."""
        made = self.get(samples)
        with self._lock:
            for index, at in places.items():
                if index not in made.extras.sample:  # else it is apart already, and what is kept stays
                    made = made.lifted(index, at=at)
            self.made = made
        return made

    def _from_origin(self) -> Prepared | None:
        origin = self._origin
        made = None if origin is None else origin.made
        if origin is None or made is None:
            return None
        for index, (was, _) in self._moves.items():
            made = made.lifted(index, at=was)
        if made.extras.n > _MOST_APART:
            return None
        origin.made = made  # the same samples; so the larger part is shared
        for index, (was, to) in self._moves.items():
            made = made.moved(index, *to, was=was)
        return made
