"""Samples of the regression scene: frozen pairs (x, y), and the sets that come with the program.

A drag, an added or a removed sample makes a new value; the old one is what undo returns to. Indices are places in the
given order and stay with their sample while it is dragged past others.

Shapes: ``x, y (n,)``, float64, read-only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from kav.errors import KavError
from kav.regression.numbers import not_numbers, real
from kav.regression.prepared import Prepared
from kav.regression.ready import Ready

_MANY = 1_000
"""Samples from which a moved set shares the arrays of its root."""
_MOST_MOVES = 64
"""Samples elsewhere before the arrays are written anew."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Observed pairs; two values are equal only if they are the same object.

    Parameters
    ----------
    x, y : array, shape (n,)
        Copied to read-only float64. Pairs with a number that is missing, masked or infinite are set aside.
    name : str
        As it is shown.
    skipped : tuple of int
        Rows set aside, counted from 0 in what was given; filled in here, on top of those passed in.
    axes : tuple of str
        What x and y are called, as the columns of a table are.

    Raises
    ------
    KavError
        If x and y are not two equally long lists of numbers.
    """

    x: np.ndarray
    y: np.ndarray
    name: str = "samples"
    skipped: tuple[int, ...] = field(default=())
    axes: tuple[str, str] = ("x", "y")
    _ready: Ready = field(default_factory=Ready, init=False, repr=False)

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
    def root(self) -> Samples:
        """The set that this one was moved from, itself if from none: what a drag of one among many hardly changes."""
        return self

    def pair(self, index: int) -> tuple[float, float]:
        """Return x and y of one sample."""
        return float(self.x[index]), float(self.y[index])

    def take(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y of some samples, both (n_indices,)."""
        return self.x[indices], self.y[indices]

    @property
    def title(self) -> str:
        """Name and number of samples, with the rows that were set aside."""
        return self.titled(self.name)

    def titled(self, name: str) -> str:
        """Return the title under another name."""
        count = f"{self.n} sample" if self.n == 1 else f"{self.n:,} samples"
        rows = self.n + len(self.skipped)
        return f"{name} · {count}" + (f", {len(self.skipped):,} of {rows:,} rows skipped" if self.skipped else "")

    @property
    def prepared(self) -> Prepared:
        """The samples made ready for many queries and bandwidths; kept, and shared with sets moved from this one."""
        return self._ready.get(self)

    def dosed(self, doses: Mapping[int, float]) -> Prepared:
        """Return the prepared samples with the kernels of some scaled; those stay held apart from then on."""
        places = {index: self.pair(index) for index in doses}
        apart = self._ready.apart(self, places)
        return apart.kept(("dosed", tuple(doses.items())), lambda: apart.dosed(doses, places))

    def moved(self, index: int, x: float, y: float) -> Samples:
        """Return the samples with one of them elsewhere.

        Raises
        ------
        KavError
            If there is no such sample, or a number is not finite.
        """
        self._check(index)
        to = _finite(x, y)
        ready = self._ready.moved(index, self.pair(index), to)
        if self.n > _MANY and len(self._moves()) < _MOST_MOVES:
            return _Moved.of(self.root, {**self._moves(), index: to}, ready)
        new_x, new_y = np.array(self.x), np.array(self.y)
        new_x[index], new_y[index] = to
        return _bare(Samples, {"x": _frozen(new_x), "y": _frozen(new_y), **self._names(), "_ready": ready})

    def _moves(self) -> dict[int, tuple[float, float]]:
        """Where samples of the root are now."""
        return {}

    def _names(self) -> dict[str, Any]:
        return {"name": self.name, "skipped": self.skipped, "axes": self.axes}

    def added(self, x: float, y: float) -> Samples:
        """Return the samples with one more at the end.

        Raises
        ------
        KavError
            If a number is not finite.
        """
        x, y = _finite(x, y)
        return Samples(np.append(self.x, x), np.append(self.y, y), **self._names())

    def removed(self, index: int) -> Samples:
        """Return the samples without one of them; those after it move up by one.

        Raises
        ------
        KavError
            If there is no such sample.
        """
        self._check(index)
        return Samples(np.delete(self.x, index), np.delete(self.y, index), **self._names())

    def _check(self, index: int) -> None:
        if not 0 <= index < self.n:
            raise KavError(f"sample must be one of 0 to {self.n - 1}, got {index}")


class _Moved(Samples):
    """Many samples of which a few are elsewhere: the arrays stay those of the root, so a step of a drag copies nothing.

    ``x`` and ``y`` are made when asked for, and not kept.
    """

    @classmethod
    def of(cls, root: Samples, moves: dict[int, tuple[float, float]], ready: Ready) -> _Moved:
        """Return the root's samples with some at other places."""
        return _bare(cls, {"_root": root, "_moved": moves, **root._names(), "_ready": ready})

    @property
    def root(self) -> Samples:
        root: Samples = self._root  # type: ignore[attr-defined]
        return root

    def _moves(self) -> dict[int, tuple[float, float]]:
        moves: dict[int, tuple[float, float]] = self._moved  # type: ignore[attr-defined]
        return moves

    @property
    def n(self) -> int:
        return self.root.n

    def _all(self, axis: int) -> np.ndarray:
        values = np.array((self.root.x, self.root.y)[axis])
        for index, place in self._moves().items():
            values[index] = place[axis]
        return _frozen(values)

    @property
    def x(self) -> np.ndarray:
        return self._all(0)

    @property
    def y(self) -> np.ndarray:
        return self._all(1)

    def pair(self, index: int) -> tuple[float, float]:
        return self._moves()[index] if index in self._moves() else self.root.pair(index)

    def take(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y = self.root.take(indices)
        for index, (x_new, y_new) in self._moves().items():
            here = indices == index
            x, y = np.where(here, x_new, x), np.where(here, y_new, y)
        return x, y


_S = TypeVar("_S", bound=Samples)


def _bare(cls: type[_S], values: dict[str, Any]) -> _S:
    """A set of samples without the checks of one that is made from outside: what is new in it was checked."""
    new = object.__new__(cls)
    for name, value in values.items():
        object.__setattr__(new, name, value)
    return new


def _frozen(values: np.ndarray) -> np.ndarray:
    values.setflags(write=False)
    return values


def _numbers(values: Any, name: str) -> np.ndarray:
    try:
        array = np.array(real(values, name), dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise not_numbers(values, name, error) from error
    if array.ndim != 1:
        raise KavError(f"{name} must be one-dimensional, got shape {array.shape}")
    return array


def _finite(x: float, y: float) -> tuple[float, float]:
    try:
        x, y = float(x), float(y)
    except OverflowError as error:
        raise KavError("a sample must have finite x and y, got a number beyond 1.8e308") from error
    if not (math.isfinite(x) and math.isfinite(y)):
        raise KavError(f"a sample must have finite x and y, got ({x:g}, {y:g})")
    return x, y


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
