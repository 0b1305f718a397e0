from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PySide6.QtCore import QBuffer, QRect, QRectF
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgGenerator, QSvgRenderer

from ui import theme
from ui.widgets.shading import draw_pixels, levels_of, picture, pooled


def test_zero_is_the_colour_of_the_page_on_both_scales(qapp):
    panel = theme.current().panel.lower()
    for diverging in (False, True):
        image = picture(levels_of(np.zeros((2, 3)), diverging), diverging=diverging)
        assert image.pixelColor(1, 1).name() == panel


def test_what_is_not_finite_gets_the_colour_of_zero_or_of_the_end(qapp):
    shade = np.asarray([[np.nan, np.inf, -np.inf]])
    assert levels_of(shade, False).tolist() == [[0, 255, 0]]
    assert levels_of(shade, True).tolist() == [[128, 255, 0]]


def test_excluded_cells_are_transparent(qapp):
    image = picture(levels_of(np.ones((1, 2)), False), visible=np.asarray([[True, False]]))
    assert image.pixelColor(0, 0).alpha() == 255
    assert image.pixelColor(1, 0).alpha() == 0


SIGNED = st.floats(-1, 1, allow_subnormal=False, width=32)


@given(
    arrays(np.float32, st.tuples(st.integers(1, 40), st.integers(1, 40)), elements=SIGNED),
    st.integers(1, 12),
    st.integers(1, 12),
)
def test_every_pooled_cell_is_the_largest_of_its_block(cells, n_rows, n_columns):
    small = pooled(cells, n_rows, n_columns)
    assert small.shape == (min(n_rows, cells.shape[0]), min(n_columns, cells.shape[1]))
    for i, strip in enumerate(blocks(cells, small.shape[0])):
        for j, block in enumerate(blocks(strip.T, small.shape[1])):
            assert small[i, j] == block.max()


def blocks(cells: np.ndarray, n: int) -> list[np.ndarray]:
    """Plain slices: block i holds the rows from i n_rows // n up to the next."""
    edges = [i * len(cells) // n for i in range(n + 1)]
    return [cells[a:b] for a, b in pairwise(edges)]


@given(arrays(np.float32, (9, 9), elements=SIGNED), st.integers(1, 8))
def test_signed_pooling_keeps_what_is_farthest_from_zero(cells, n):
    small = pooled(cells, n, n, True)
    assert np.abs(small).max() == np.abs(cells).max()
    assert set(small.ravel()) <= set(cells.ravel())


def test_one_sharp_peak_of_a_large_matrix_stays_visible(qapp):
    shade = np.zeros((1000, 1000))
    shade[777, 123] = 1.0
    image = picture(levels_of(pooled(shade, 100, 100), False))
    darkest = theme.sequential_lut()[255].tolist()
    assert list(image.pixelColor(12, 77).getRgb()) == darkest


def test_a_part_of_an_image_comes_out_alone_and_sharp_in_a_vector_file():
    image = QImage(2, 4, QImage.Format.Format_RGBA8888)
    image.fill(QColor("#ff0000"))
    image.setPixelColor(1, 3, QColor("#0000ff"))
    image.setPixelColor(0, 3, QColor("#ffffff"))
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setViewBox(QRect(0, 0, 40, 40))
    painter = QPainter(generator)
    draw_pixels(painter, QRectF(0, 0, 40, 40), image, QRectF(0, 2, 2, 2))
    painter.end()
    drawn = QImage(40, 40, QImage.Format.Format_RGB32)
    painter = QPainter(drawn)
    QSvgRenderer(buffer.data()).render(painter)
    painter.end()
    assert [drawn.pixelColor(x, y).name() for x, y in ((17, 17), (17, 23), (23, 23))] == [
        "#ff0000",
        "#ffffff",
        "#0000ff",
    ]
