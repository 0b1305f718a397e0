"""Where the thumbnails of the mosaic are, from two heads to hundreds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QRectF

LARGEST, NAMED, SMALLEST = 84, 30, 10  # thumb sides: largest, smallest with its name above, smallest
EDGE = 14
CAPTION = 44  # height of the two lines below in the compact form


@dataclass(frozen=True)
class Tiles:
    """Where the thumbs are. `across` is the index of what runs along x: "layer", or "head" in the compact form."""

    x: float
    y: float
    side: float
    step_x: float
    step_y: float
    across: str
    roles: bool  # whether the name of the role fits beside the head's number
    named: bool  # whether there is a name above each thumb

    def rect(self, layer: int, head: int) -> QRectF:
        """Return the square of a head."""
        column, row = (layer, head) if self.across == "layer" else (head, layer)
        return QRectF(self.x + column * self.step_x, self.y + row * self.step_y, self.side, self.side)


def arrange(n_layers: int, n_heads: int, width: float, height: float, *, compact: bool) -> Tiles:
    """Return the largest thumbs that fit, with names above them if those fit too; beyond that the mosaic scrolls."""
    n_columns, n_rows = (n_heads, n_layers) if compact else (n_layers, n_heads)
    n_columns, n_rows = max(1, n_columns), max(1, n_rows)
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
    step = math.floor(min((height - 26) / n_rows, (width - 20) / n_columns, NAMED))
    step = max(SMALLEST + 2, step)
    return Tiles(20, 22, step - 2, step, step, across, False, False)
