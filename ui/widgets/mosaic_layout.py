"""Where the thumbnails of the mosaic are, from two heads to hundreds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF

LARGEST, NAMED, SMALLEST = 84, 30, 10  # thumb sides: largest, smallest with its name above, smallest
MOST_UNNAMED = 48
EDGE = 14
CAPTION = 44  # height of the two lines below in the compact form
LINE = 22  # height of the one line below thumbs without names
HEADING, NUMBERS = 22, 20  # room above a bank for its column numbers, and beside it for its row numbers
MOST_BANKS = 6
LEAST = 180  # width that the line below thumbs without names needs


@dataclass(frozen=True)
class Tiles:
    """Where the thumbs are. `across` is the index of what runs along x: "layer", or "head" in the compact form.

    A model of many layers and few heads is broken into banks of `per` layers, below each other (compact: side by side).
    """

    x: float
    y: float
    side: float
    step_x: float
    step_y: float
    across: str
    roles: bool  # whether the name of the role fits beside the head's number
    named: bool  # whether there is a name above each thumb
    per: int = 1 << 30  # layers in a bank
    bank: float = 0.0  # from one bank to the next

    def rect(self, layer: int, head: int) -> QRectF:
        """Return the square of a head."""
        bank, place = divmod(layer, self.per)
        if self.across == "layer":
            x, y = self.x + place * self.step_x, self.y + head * self.step_y + bank * self.bank
        else:
            x, y = self.x + head * self.step_x + bank * self.bank, self.y + place * self.step_y
        return QRectF(x, y, self.side, self.side)

    def end(self, n_layers: int, n_heads: int) -> QPointF:
        """Return the lower right corner of all thumbs."""
        last, full = self.rect(n_layers - 1, n_heads - 1), self.rect(min(self.per, n_layers) - 1, n_heads - 1)
        return QPointF(max(last.right(), full.right()), max(last.bottom(), full.bottom()))

    def banks(self, n_layers: int) -> list[range]:
        """Return the layers of each bank."""
        return [range(first, min(first + self.per, n_layers)) for first in range(0, n_layers, self.per)]


def arrange(n_layers: int, n_heads: int, width: float, height: float, *, compact: bool) -> Tiles:
    """Return the largest thumbs that fit, with names above them if those fit too; beyond that the mosaic scrolls.

    Parameters
    ----------
    width, height : float
        The room, without the caption of the compact form; thumbs without names leave `LINE` of the height free.
    """
    n_layers, n_heads = max(1, n_layers), max(1, n_heads)
    n_columns, n_rows = (n_heads, n_layers) if compact else (n_layers, n_heads)
    across = "head" if compact else "layer"
    if compact:
        side = min(LARGEST, math.floor(width / n_columns) - 8, math.floor((height - 4) / n_rows) - 20)
        if side >= NAMED:
            return Tiles(1, 24, side, side + 8, side + 20, across, False, True)
    else:
        side = min(LARGEST, math.floor((height - 31) / n_rows) - 21, math.floor(width / n_columns) - 6)
        if side >= NAMED:
            step = min(max(side + 36, 92), max(side + 6, (width + 12) / n_columns))
            return Tiles(1, 41, side, step, side + 21, across, step >= side + 26, True)
    room = height if compact else height - LINE
    steps = {n: _step(n, n_layers, n_heads, width, room, compact=compact) for n in range(1, MOST_BANKS + 1)}
    n_banks = max(steps, key=lambda n: (max(steps[n], SMALLEST + 2), -n))
    step = max(SMALLEST + 2, steps[n_banks])
    bank = n_heads * step + (NUMBERS + 4 if compact else HEADING)
    return Tiles(NUMBERS, HEADING, step - 2, step, step, across, False, False, math.ceil(n_layers / n_banks), bank)


def wanted_width(n_layers: int, n_heads: int, height: float, most: float, *, compact: bool) -> int:
    """Return the width, at most `most`, at which the thumbs are as large as `height` allows."""
    tiles = arrange(n_layers, n_heads, 1e6, height, compact=compact)
    if not tiles.named and n_layers:
        tiles = arrange(n_layers, n_heads, most - EDGE, height, compact=compact)
        return math.ceil(min(most, max(tiles.end(n_layers, n_heads).x() + EDGE, LEAST)))
    n_columns = max(1, n_heads if compact else n_layers)
    return math.ceil(min(most, tiles.x + n_columns * tiles.step_x + (EDGE if compact else 0)))


def _step(n_banks: int, n_layers: int, n_heads: int, width: float, height: float, *, compact: bool) -> int:
    """The side, gap included, at which thumbs in so many banks fit."""
    per = math.ceil(n_layers / n_banks)
    if compact:
        side = min((height - HEADING - 4) / per, (width - n_banks * (NUMBERS + 4)) / (n_banks * n_heads))
    else:
        side = min((height - n_banks * HEADING - 4) / (n_banks * n_heads), (width - NUMBERS) / per)
    return math.floor(min(side, MOST_UNNAMED))
