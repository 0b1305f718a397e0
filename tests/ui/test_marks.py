import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage, QPainter

from ui import marks, theme

SIDE = 61


def painted(kind, *, color=None, r=12.0, scale=1):
    """Where a mark puts ink, (SIDE, SIDE) bool, and its image."""
    image = QImage(SIDE * scale, SIDE * scale, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(QColor("#FFFFFF"))
    painter = QPainter(image)
    marks.paint_mark(painter, kind, SIDE / 2, SIDE / 2, r, color)
    painter.end()
    pixels = np.array(image.constBits()).reshape(image.height(), image.width(), 4)[..., :3]
    return np.any(pixels != 255, axis=-1), image


@pytest.mark.parametrize("kind", ["query", "key", "target", "direct", "rerun", "curve", "kernel", "edited", "response"])
def test_mark_has_its_own_colour_and_stays_in_its_box(kind):
    ink, image = painted(kind)
    rows, columns = np.nonzero(ink)
    assert len(rows) > 20
    width = columns.max() - columns.min() + 1
    assert width <= marks.mark_width(kind, 12.0) + 3
    colors = {image.pixelColor(int(c), int(r)).name() for r, c in zip(rows, columns, strict=True)}
    assert marks.mark_color(kind).name() in colors


def test_query_points_down_key_is_round_and_target_stands_on_its_tip():
    query, key, target = (painted(kind)[0].sum(axis=1) for kind in ("query", "key", "target"))
    rows = np.nonzero(query)[0]
    assert query[rows[0] + 1] > query[rows[-1] - 1] + 10
    for widths in (key, target):
        rows = np.nonzero(widths)[0]
        assert np.average(rows, weights=widths[rows]) == pytest.approx(SIDE / 2 - 0.5, abs=0.6)
    assert target[np.nonzero(target)[0][0] + 3] < key[np.nonzero(key)[0][0] + 3]


def test_shapes_differ_without_colour():
    grey = QColor("#808080")
    shapes = [painted(kind, color=grey)[0] for kind in ("query", "key", "target", "direct", "rerun", "tangent")]
    for i, first in enumerate(shapes):
        for second in shapes[:i]:
            assert np.sum(first ^ second) > 15


def test_given_colour_wins():
    _, image = painted("key", color=QColor("#123456"))
    assert image.pixelColor(SIDE // 2, SIDE // 2) == QColor("#123456")


def test_unknown_mark_paints_nothing_and_takes_no_room():
    assert not painted("")[0].any()
    assert marks.mark_width("") == 0


def test_marks_follow_the_theme(qapp):
    theme.apply(qapp, "dark")
    assert marks.mark_color("query") == QColor(theme.DARK.query)


def test_mark_leaves_the_painter_as_it_was():
    image = QImage(20, 20, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    pen, brush = painter.pen(), painter.brush()
    marks.paint_mark(painter, "target", 10, 10)
    assert painter.pen() == pen
    assert painter.brush() == brush
    painter.end()
