"""Many light dots are copies of one picture, and stand where each would have been drawn."""

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage, QPainter

from ui import theme
from ui.widgets import dots


def _painted(places, weight, few, monkeypatch, scale):
    monkeypatch.setattr(dots, "_FEW", few)
    image = QImage(round(200 * scale), round(160 * scale), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(scale)
    image.fill(QColor(theme.current().panel))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    dots.paint_dots(painter, places, weight, np.ones(len(places), bool))
    painter.end()
    pixels = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return pixels[:, : 4 * image.width()].reshape(image.height(), image.width(), 4).astype(int)


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_copies_look_like_circles(qapp, monkeypatch, scale):
    x, y = np.meshgrid(np.arange(12, 190, 16.0), np.arange(12, 150, 16.0))
    places = np.stack([x.ravel(), y.ravel(), np.full(x.size, dots.SMALLEST)], axis=1)
    weight = np.full(len(places), 0.001)
    one, many = (_painted(places, weight, few, monkeypatch, scale) for few in (1000, 5))
    assert np.abs(one - one[0, 0]).max() > 60
    for at_x, at_y, _ in places:
        box = np.s_[
            round(scale * (at_y - 6)) : round(scale * (at_y + 6)), round(scale * (at_x - 6)) : round(scale * (at_x + 6))
        ]
        assert abs(one[box].mean() - many[box].mean()) < 6  # as much ink
        assert np.abs(one[box].mean(axis=(0, 2)) - many[box].mean(axis=(0, 2))).max() < 40  # at the same place
