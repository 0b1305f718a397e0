import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor

from kav.views.regression.rug import Columns
from ui import theme
from ui.widgets.rug import Rug

X = np.array([1.0, 9.0, 4.0, 5.0])


@pytest.fixture
def rug(qtbot):
    widget = Rug()
    qtbot.addWidget(widget)
    widget.resize(572, 42)
    widget.set_samples(X, np.array([0.0, 0.0, 0.5, 0.25]), x_range=(0.0, 10.0))
    widget.set_selection(4.5, 2)
    widget.show()
    return widget


def test_drag_moves_the_query_and_ends_once_where_the_mouse_is(qtbot, rug):
    moved, ends = [], []
    rug.queryMoved.connect(moved.append)
    rug.queryMoved.connect(lambda x: rug.set_selection(x, 2))
    rug.queryReleased.connect(lambda: ends.append(moved[-1]))
    start = QPoint(round(rug.place_of(4.5)), 20)
    qtbot.mousePress(rug, Qt.MouseButton.LeftButton, pos=start)
    assert moved == []
    for step in range(1, 6):
        qtbot.mouseMove(rug, start + QPoint(20 * step, 0))
    qtbot.mouseRelease(rug, Qt.MouseButton.LeftButton, pos=start + QPoint(100, 0))
    assert moved == sorted(moved)
    assert len(moved) == 5
    assert ends == [pytest.approx(6.5, abs=0.02)]


def test_click_beside_the_handle_moves_the_query_there(qtbot, rug):
    with qtbot.waitSignal(rug.queryMoved) as caught:
        qtbot.mouseClick(rug, Qt.MouseButton.LeftButton, pos=QPoint(round(rug.place_of(8.0)), 20))
    assert caught.args[0] == pytest.approx(8.0, abs=0.02)


def test_query_cannot_leave_the_range(qtbot, rug):
    with qtbot.waitSignal(rug.queryMoved) as caught:
        qtbot.mouseClick(rug, Qt.MouseButton.LeftButton, pos=QPoint(1, 20))
    assert caught.args == [0.0]


def test_shift_click_asks_for_the_nearest_sample(qtbot, rug):
    with qtbot.waitSignal(rug.keyRequested) as caught:
        at = QPoint(round(rug.place_of(8.6)), 20)
        qtbot.mouseClick(rug, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier, pos=at)
    assert caught.args == [1]


def test_arrows_move_the_query_and_shift_arrows_walk_the_samples_in_order_of_x(qtbot, rug):
    moved, keys = [], []
    rug.queryMoved.connect(moved.append)
    rug.keyRequested.connect(keys.append)
    qtbot.keyClick(rug, Qt.Key.Key_Right)
    qtbot.keyClick(rug, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(rug, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert moved == [pytest.approx(4.6)]
    assert keys == [3, 0]  # at 5.0 and at 1.0


def test_bars_grow_with_the_weights_and_the_selected_sample_is_in_the_colour_of_keys(rug):
    rug.set_selection(4.5, 1)
    image = rug.grab().toImage()
    heights = []
    for x in X[[2, 3, 0]]:
        column = [image.pixelColor(round(rug.place_of(x)), y) for y in range(10, 38)]
        heights.append(sum(color == QColor(theme.LIGHT.weight_ink) for color in column))
    assert heights[0] == pytest.approx(2 * heights[1], abs=1)
    assert heights[2] == 0
    assert image.pixelColor(round(rug.place_of(9.0)), 25) == QColor(theme.LIGHT.key)


def test_no_samples_is_an_empty_rug(qtbot, rug):
    rug.set_samples(np.zeros(0), np.zeros(0), x_range=(0.0, 0.0))
    rug.grab()
    rug.keyRequested.connect(lambda index: pytest.fail("there is no sample"))
    qtbot.keyClick(rug, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    qtbot.mouseClick(rug, Qt.MouseButton.RightButton, pos=QPoint(50, 20))


def test_a_crowd_is_one_image_as_dark_as_it_is_dense_and_as_high_as_its_weight(qtbot, rug):
    x = np.linspace(0.005, 9.995, 1000)
    counts = np.where(x < 5, 100, 4)
    weights = np.exp(-0.5 * ((x - 3) / 0.3) ** 2)
    rug.set_samples(np.asarray([3.0]), np.ones(1), x_range=(0.0, 10.0), columns=Columns(x, counts, weights))
    rug.set_selection(9.5, -1)
    image = rug.grab().toImage()
    ink = QColor(theme.LIGHT.weight_ink)

    def column(at):
        return [image.pixelColor(round(rug.place_of(at)), y) for y in range(15, 34)]

    dense, sparse = column(4.6)[0].lightness(), column(7.0)[0].lightness()
    assert dense < sparse < QColor(theme.LIGHT.panel).lightness()
    heights = {at: sum(color == ink for color in column(at)) for at in (3.0, 3.3, 7.0)}
    assert heights[3.0] > heights[3.3] > heights[7.0] == 0
    places = []
    rug.placeRequested.connect(places.append)
    rug.keyRequested.connect(lambda index: pytest.fail("the samples of a crowd have no entry of their own"))
    at = QPoint(round(rug.place_of(7.0)), 20)
    qtbot.mouseClick(rug, Qt.MouseButton.RightButton, pos=at)
    assert places == [pytest.approx(7.0, abs=0.02)]


def test_more_ticks_than_pixels_are_pooled_and_none_is_lost(rug):
    x = np.linspace(0, 10, 4000)
    rug.set_samples(x, np.full(4000, 1 / 4000), x_range=(0.0, 10.0))
    image = rug.grab().toImage()
    panel = QColor(theme.LIGHT.panel)
    row = [image.pixelColor(px, 16) for px in range(round(rug.place_of(0)) + 1, round(rug.place_of(10)) - 1)]
    assert all(color != panel for color in row)
