"""Samples of the regression scene: frozen pairs (x, y), and the sets that come with the program.

A drag, an added or a removed sample makes a new value; the old one is what undo returns to. Indices are places in the
given order and stay with their sample while it is dragged past others.

Shapes: ``x, y (n,)``, float64, read-only.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kav.errors import KavError
from kav.regression.prepared import Prepared

_MOST_APART = 16
"""Samples held apart before everything is made ready anew."""


class _Ready:
    """The prepared form of one sample set, made when first asked for; a moved set starts from that of its origin."""

    def __init__(self, origin: _Ready | None = None, moves: dict[int, _Move] | None = None) -> None:
        self.made: Prepared | None = None
        self._origin = origin
        self._moves = moves or {}
        self._lock = threading.Lock()

    def moved(self, index: int, was: tuple[float, float], to: tuple[float, float]) -> _Ready:
        """What a set with one sample elsewhere starts from; moves not yet carried out are collected."""
        if self.made is not None or self._origin is None:
            return _Ready(self, {index: (was, to)})
        was = self._moves[index][0] if index in self._moves else was
        return _Ready(self._origin, {**self._moves, index: (was, to)})

    def get(self, x: np.ndarray, y: np.ndarray) -> Prepared:
        """Return the prepared samples."""
        with self._lock:
            if self.made is None:
                self.made = self._from_origin() or Prepared.of(x, y)
                self._origin, self._moves = None, {}
            return self.made

    def apart(self, x: np.ndarray, y: np.ndarray, places: Mapping[int, tuple[float, float]]) -> Prepared:
        """Return the prepared samples with some held apart, and keep them so."""
        made = self.get(x, y)
        with self._lock:
            for index, at in places.items():
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


_Move = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Samples:
    """Observed pairs; two values are equal only if they are the same object.

    Parameters
    ----------
    x, y : array, shape (n,)
        Copied to read-only float64. Pairs with a number that is missing or infinite are set aside.
    name : str
        As it is shown.
    skipped : tuple of int
        Rows set aside, counted from 0 in what was given; filled in here, on top of those passed in.

    Raises
    ------
    KavError
        If x and y are not two equally long lists of numbers.
    """

    x: np.ndarray
    y: np.ndarray
    name: str = "samples"
    skipped: tuple[int, ...] = field(default=())
    _ready: _Ready = field(default_factory=_Ready, init=False, repr=False)

    def __post_init__(self) -> None:
        x, y = _numbers(self.x, "x"), _numbers(self.y, "y")
        if x.shape != y.shape:
            raise KavError(f"x and y must be equally long, got {x.size} and {y.size}")
        kept = np.isfinite(x) & np.isfinite(y)
        skipped = (*self.skipped, *(int(row) for row in np.flatnonzero(~kept)))
        for name, value in (("x", x[kept]), ("y", y[kept])):
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "skipped", skipped)

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.x.size)

    @property
    def title(self) -> str:
        """Name and number of samples, with the rows that were set aside."""
        count = f"{self.n} sample" if self.n == 1 else f"{self.n:,} samples"
        rows = self.n + len(self.skipped)
        return f"{self.name} · {count}" + (f", {len(self.skipped):,} of {rows:,} rows skipped" if self.skipped else "")

    @property
    def prepared(self) -> Prepared:
        """The samples made ready for many queries and bandwidths; kept, and shared with sets moved from this one."""
        return self._ready.get(self.x, self.y)

    def dosed(self, doses: Mapping[int, float]) -> Prepared:
        """Return the prepared samples with the kernels of some scaled; those stay held apart from then on."""
        places = {index: (float(self.x[index]), float(self.y[index])) for index in doses}
        return self._ready.apart(self.x, self.y, places).dosed(doses, places)

    def moved(self, index: int, x: float, y: float) -> Samples:
        """Return the samples with one of them elsewhere.

        Raises
        ------
        KavError
            If there is no such sample, or a number is not finite.
        """
        self._check(index)
        was, to = (float(self.x[index]), float(self.y[index])), _finite(x, y)
        new_x, new_y = self.x.copy(), self.y.copy()
        new_x[index], new_y[index] = to
        new = object.__new__(Samples)  # checked already: only two numbers are new
        for name, value in (("x", new_x), ("y", new_y)):
            value.setflags(write=False)
            object.__setattr__(new, name, value)
        for name, kept in (("name", self.name), ("skipped", self.skipped)):
            object.__setattr__(new, name, kept)
        object.__setattr__(new, "_ready", self._ready.moved(index, was, to))
        return new

    def added(self, x: float, y: float) -> Samples:
        """Return the samples with one more at the end.

        Raises
        ------
        KavError
            If a number is not finite.
        """
        x, y = _finite(x, y)
        return Samples(np.append(self.x, x), np.append(self.y, y), self.name, self.skipped)

    def removed(self, index: int) -> Samples:
        """Return the samples without one of them; those after it move up by one.

        Raises
        ------
        KavError
            If there is no such sample.
        """
        self._check(index)
        return Samples(np.delete(self.x, index), np.delete(self.y, index), self.name, self.skipped)

    def _check(self, index: int) -> None:
        if not 0 <= index < self.n:
            raise KavError(f"sample must be one of 0 to {self.n - 1}, got {index}")


def _numbers(values: Any, name: str) -> np.ndarray:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise KavError(f"{name} must hold numbers, got {type(values).__name__}") from error
    if array.ndim != 1:
        raise KavError(f"{name} must be one-dimensional, got shape {array.shape}")
    return array


def _finite(x: float, y: float) -> tuple[float, float]:
    if not (math.isfinite(x) and math.isfinite(y)):
        raise KavError(f"a sample must have finite x and y, got ({x:g}, {y:g})")
    return float(x), float(y)


def sine(n: int = 48, seed: int = 4) -> Samples:
    """Return ``y = sin x`` with noise of standard deviation 0.3, x uniform on [0, 10]."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, n))
    return Samples(x, np.sin(x) + 0.3 * rng.standard_normal(n), "sine + noise")


def step(n: int = 60, seed: int = 1) -> Samples:
    """Return a step from -1 to 1 at x = 5 with noise 0.2: what every smoother rounds off."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, n))
    return Samples(x, np.where(x < 5, -1.0, 1.0) + 0.2 * rng.standard_normal(n), "step")


def shock(n: int = 90, seed: int = 2) -> Samples:
    """Return quiet, then a blow that rings and dies out, with noise that grows with it: one bandwidth does not fit."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, n))
    after = np.clip(x - 3, 0, None)
    size = np.where(x < 3, 0.05, 0.05 + 0.6 * np.exp(-after / 4))
    return Samples(x, -2 * after * np.exp(-after) * np.cos(1.6 * after) + size * rng.standard_normal(n), "shock")


def two_clusters(n: int = 40, seed: int = 3) -> Samples:
    """Return two clusters with nothing between x = 3 and x = 7: a compact kernel has no answer there."""
    rng = np.random.default_rng(seed)
    x = np.sort(np.concatenate([rng.uniform(0, 3, n // 2), rng.uniform(7, 10, n - n // 2)]))
    return Samples(x, 0.4 * x - 2 + 0.3 * rng.standard_normal(n), "two clusters")


def outlier(n: int = 40, seed: int = 4) -> Samples:
    """Return a straight line with one sample far off it."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, n))
    y = 0.3 * x - 1.5 + 0.15 * rng.standard_normal(n)
    y[n // 2] += 4
    return Samples(x, y, "outlier")


BUILT_IN: tuple[Samples, ...] = (sine(), step(), shock(), two_clusters(), outlier())
"""The sets that come with the program; the first is shown at the start."""
