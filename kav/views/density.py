"""The cloud of many samples as counts on a grid of pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kav.regression.core import Core

MOST_DOTS = 5_000
"""Samples up to which each is a dot; of more only those near the query are, over the density of all."""
N_NEAR = 600
"""Samples around the query that are dots when there are more than `MOST_DOTS`."""
SHAPE = (180, 320)


@dataclass(frozen=True, eq=False)
class Density:
    """How many samples fall on each pixel.

    Parameters
    ----------
    counts : array of int32, shape (n_rows, n_columns)
        Row 0 is the lowest y.
    extent : (x_low, x_high, y_low, y_high)
        Outer edges of the grid.
    of : tuple
        What it was made of: the same core and extent give the same counts, and are not counted again.
    """

    counts: np.ndarray
    extent: tuple[float, float, float, float]
    of: tuple[object, ...]

    @property
    def shade(self) -> np.ndarray:
        """Counts on a scale that shows single samples beside crowds, uint8 from 0 to 255: log(1 + count)."""
        top = int(self.counts.max(initial=0))
        scaled = np.log1p(self.counts) / np.log1p(max(top, 1)) * 255
        return np.where(self.counts > 0, np.maximum(scaled, 1), 0).astype(np.uint8)


def density(
    core: Core,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    *,
    last: Density | None = None,
    shape: tuple[int, int] = SHAPE,
) -> Density:
    """Return the counts of a core's samples; one that is dragged is not among them, it is drawn as a dot."""
    extent = (*x_range, *y_range)
    key = (core, extent, shape)
    if last is not None and last.of == key:
        return last
    n_rows, n_columns = shape
    ordered = core.ordered
    edges = np.linspace(*x_range, n_columns + 1) - ordered.low
    starts = np.searchsorted(ordered.x, edges)  # in x order: a column is a slice
    starts[-1] = np.searchsorted(ordered.x, edges[-1], side="right")
    column = np.repeat(np.arange(n_columns), np.diff(starts))
    y = ordered.shown(ordered.y[starts[0] : starts[-1]])
    row = ((y - y_range[0]) * (n_rows / (y_range[1] - y_range[0]))).astype(np.int64)
    row[y == y_range[1]] = n_rows - 1
    inside = (y >= y_range[0]) & (y <= y_range[1])
    counts = np.bincount((np.clip(row, 0, n_rows - 1) * n_columns + column)[inside], minlength=n_rows * n_columns)
    return Density(counts.reshape(shape).astype(np.int32), extent, key)
