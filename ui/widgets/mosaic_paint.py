"""How the mosaic of heads is painted: numbers of layers and heads, names above thumbs, words below them."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QImage, QPainter

from kav.views.attention import Thumb

from .mosaic_layout import Tiles
from .painted import elided, text_width, write
from .shading import levels_of, picture, pooled


def sheet(thumbs: tuple[tuple[Thumb, ...], ...], side: int) -> QImage:
    """Return all thumbs below each other, `side` pixels high: made one by one they would take a tenth of a second."""
    cells = np.stack([thumb.cells for layer in thumbs for thumb in layer], axis=-1)  # (n, n, n_thumbs)
    small = np.moveaxis(pooled(cells, side, side), -1, 0)  # (n_thumbs, n_small, n_small)
    # Small weights stay visible in a thumb: weight ** 0.7.
    return picture(levels_of(small.reshape(-1, small.shape[-1]).clip(0) ** 0.7, False))


def paint_headings(painter: QPainter, tiles: Tiles, n: tuple[int, int], shift: QPointF, room: QSizeF) -> None:
    """Paint the numbers of `n` layers and heads around thumbs scrolled by `shift`, inside a room."""
    n_layers, n_heads = n
    if tiles.named:
        for layer in range(n_layers if tiles.across == "layer" else 0):
            place = tiles.rect(layer, 0)
            text = f"layer {layer}" if tiles.step_x >= 48 else f"{layer}"
            write(painter, QRectF(place.left(), 6, place.width(), 16), text, px=11, color="muted")
        return
    for layers in tiles.banks(n_layers):
        by_layer = tiles.across == "layer"
        across, down = (layers, range(n_heads)) if by_layer else (range(n_heads), layers)
        corner = tiles.rect(layers[0], 0).translated(-shift)
        top = max(corner.top(), tiles.y if len(layers) == n_layers else 0) - 18
        for i in range(0, len(across), math.ceil(16 / tiles.step_x)):
            x = corner.left() + i * tiles.step_x + tiles.side / 2
            if x >= tiles.x and 0 <= top < room.height():
                write(painter, QRectF(x - 15, top, 30, 16), str(across[i]), px=10, color="muted", side="centre")
        left = max(corner.left() - 20, 0)
        for i in range(0, len(down), math.ceil(12 / tiles.step_y)):
            y = corner.top() + i * tiles.step_y + tiles.side / 2
            if tiles.y <= y <= room.height() and left < room.width():
                write(painter, QRectF(left, y - 8, 15, 16), str(down[i]), px=10, color="muted", side="right")


def paint_name(painter: QPainter, tiles: Tiles, rect: QRectF, thumb: Thumb) -> None:
    """Paint a head's number above its thumb, and its role where there is room."""
    y, text, role = rect.top() - 16, f"{thumb.layer}.{thumb.head}", thumb.role
    write(painter, QRectF(rect.left(), y, 60, 16), text, px=11, weight=500, color="ink")
    if tiles.roles:
        left = rect.left() + text_width(text, 11, 500) + 6
        room = rect.left() + tiles.step_x - 6 - left
        color = "text2" if role != "mixed" else "muted"
        write(painter, QRectF(left, y, room, 16), elided(role, room, 10), px=10, color=color)


def paint_caption(painter: QPainter, name: str, words: tuple[str, str], corner: QPointF, *, two: bool) -> None:
    """Paint a head's number, its role and what its score says, on one line or on two, up to a corner at the right."""
    width, y = corner.x(), corner.y()
    write(painter, QRectF(0, y, 60, 16), name, px=12, weight=600, color="ink")
    left, (role, text) = text_width(name, 12, 600) + 8, words
    room = width - left
    if two:
        write(painter, QRectF(left, y, room, 16), elided(role, room, 12, 600), px=12, weight=600, color="ink")
        write(painter, QRectF(0, y + 18, width, 16), elided(text, width, 11), px=11, color="text2")
    else:
        line = " · ".join(word for word in words if word)
        write(painter, QRectF(left, y, room, 16), elided(line, room, 11), px=11, color="text2")
