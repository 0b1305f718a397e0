import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ui import theme
from ui.widgets.shading import levels_of, picture, pooled


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


@given(arrays(np.uint8, st.tuples(st.integers(1, 40), st.integers(1, 40))), st.integers(1, 12), st.integers(1, 12))
def test_pooling_keeps_the_highest_peak_of_every_block(levels, n_rows, n_columns):
    small = pooled(levels, n_rows, n_columns)
    assert small.shape == (min(n_rows, levels.shape[0]), min(n_columns, levels.shape[1]))
    assert small.max() == levels.max()
    assert set(small.ravel()) <= set(levels.ravel())


@given(arrays(np.uint8, (9, 9)), st.integers(1, 8))
def test_signed_pooling_keeps_what_is_farthest_from_zero(levels, n):
    small = pooled(levels, n, n, True)
    assert np.abs(small.astype(int) - 128).max() == np.abs(levels.astype(int) - 128).max()


def test_one_sharp_peak_of_a_large_matrix_stays_visible(qapp):
    shade = np.zeros((1000, 1000))
    shade[777, 123] = 1.0
    image = picture(pooled(levels_of(shade, False), 100, 100))
    darkest = theme.sequential_lut()[255].tolist()
    assert list(image.pixelColor(12, 77).getRgb()) == darkest
