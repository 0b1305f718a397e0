"""From values in [0, 1] or [-1, 1] to an image: 256 levels, pooling that keeps peaks, and the theme's colours.

A matrix of 4096 x 4096 is pooled once per size, so that painting it costs what its pixels cost.
"""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QImage, QPaintEngine, QPainter

from ..theme import diverging_lut, sequential_lut

_ZERO = 128  # level of 0 on the signed scale; 127 has the same colour


def levels_of(shade: np.ndarray, diverging: bool) -> np.ndarray:
    """Return the levels of a shade, shape (n_rows, n_columns), uint8; what is not finite gets the level of zero."""
    low, high = (-1.0, 1.0) if diverging else (0.0, 1.0)
    scaled = (np.asarray(shade, dtype=np.float32) - low) * (255 / (high - low))
    if diverging:
        scaled += 0.25  # 0 lands on level 127.75, which rounds to the upper of the two levels of zero
    scaled = np.nan_to_num(scaled, nan=_ZERO if diverging else 0, posinf=255, neginf=0)
    return np.clip(np.rint(scaled), 0, 255).astype(np.uint8)


def pooled(cells: np.ndarray, n_rows: int, n_columns: int, diverging: bool = False) -> np.ndarray:
    """Return at most (n_rows, n_columns) cells, each the one farthest from zero of those that fall together.

    Without `diverging` that is the largest.
    """
    if cells.shape[0] <= n_rows and cells.shape[1] <= n_columns:
        return cells
    high = _reduced(np.fmax, cells, n_rows, n_columns)
    if not diverging:
        return high
    low = _reduced(np.fmin, cells, n_rows, n_columns)
    return np.where(-low > high, low, high)


def _reduced(ufunc: np.ufunc, cells: np.ndarray, n_rows: int, n_columns: int) -> np.ndarray:
    """Reduce blocks of rows, then of columns; one pass per member of a block is faster than `reduceat`."""
    for axis, wanted in ((0, n_rows), (1, n_columns)):
        n = cells.shape[axis]
        if n > wanted:
            edges = np.arange(max(1, wanted) + 1) * n // max(1, wanted)
            block = int(np.diff(edges).max())
            places = [np.minimum(edges[:-1] + step, edges[1:] - 1) for step in range(block)]
            reduced = np.take(cells, places[0], axis=axis)
            for place in places[1:]:
                ufunc(reduced, np.take(cells, place, axis=axis), out=reduced)
            cells = reduced
    return cells


def picture(levels: np.ndarray, *, diverging: bool = False, visible: np.ndarray | None = None) -> QImage:
    """Return the levels in the colours of the current theme; cells that are not visible are transparent."""
    table = diverging_lut() if diverging else sequential_lut()
    pixels = table[levels]  # (n_rows, n_columns, 4)
    if visible is not None:
        pixels[..., 3] = np.where(visible, 255, 0)
    pixels = np.ascontiguousarray(pixels)
    height, width = levels.shape
    return QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGBA8888).copy()


def draw_pixels(painter: QPainter, rect: QRectF, image: QImage, part: QRectF | None = None) -> None:
    """Paint an image (or a part of it), one pixel a cell, with sharp edges.

    For files the part is cut out and its cells are enlarged beforehand: SVG has no parts of images, and readers of
    both SVG and PDF smooth what they enlarge.
    """
    part = QRectF(image.rect()) if part is None else part
    if painter.paintEngine().type() not in (QPaintEngine.Type.SVG, QPaintEngine.Type.Pdf):
        painter.drawImage(rect, image, part)
        return
    times = max(1, math.ceil(2 * max(rect.width() / part.width(), rect.height() / part.height())))
    around = part.toAlignedRect()
    cells = image.copy(around).scaled(around.size() * times)
    inner = part.translated(-QPointF(around.topLeft()))
    cells = cells.copy(round(inner.x() * times), round(inner.y() * times), *_rounded(inner, times))
    painter.setRenderHint(QPainter.RenderHint.LosslessImageRendering)
    painter.drawImage(rect, cells)


def _rounded(part: QRectF, times: int) -> tuple[int, int]:
    return max(1, round(part.width() * times)), max(1, round(part.height() * times))
