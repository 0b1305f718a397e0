import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from kav.views.attention import Thumb
from ui import theme
from ui.widgets.mosaic import Mosaic
from ui.widgets.mosaic_layout import arrange


def thumbs(n_layers: int, n_heads: int, edited: tuple[int, int] | None = None) -> tuple[tuple[Thumb, ...], ...]:
    cells = np.tril(np.random.default_rng(0).uniform(size=(14, 14)))
    return tuple(
        tuple(Thumb(layer, head, "mixed", 0.4, cells, (layer, head) == edited) for head in range(n_heads))
        for layer in range(n_layers)
    )


@pytest.fixture
def mosaic(qtbot):
    widget = Mosaic()
    qtbot.addWidget(widget)
    widget.resize(184, 340)
    widget.set_thumbs(thumbs(2, 4, edited=(0, 0)), 1, 1)
    widget.show()
    return widget


def click(qtbot, mosaic, layer, head):
    place = mosaic.head_rect(layer, head).center().toPoint()
    with qtbot.waitSignal(mosaic.headRequested) as signal:
        qtbot.mouseClick(mosaic, Qt.MouseButton.LeftButton, pos=place)
    return tuple(signal.args)


@pytest.mark.parametrize("compact", [False, True])
def test_a_click_asks_for_the_head_under_the_pointer(mosaic, qtbot, compact):
    mosaic.resize(222, 210) if compact else None
    mosaic.set_compact(compact)
    for layer in range(2):
        for head in range(4):
            assert click(qtbot, mosaic, layer, head) == (layer, head)


def test_arrow_keys_follow_the_arrangement(mosaic, qtbot):
    wanted = {Qt.Key.Key_Left: (0, 1), Qt.Key.Key_Down: (1, 2)}
    for key, head in wanted.items():
        with qtbot.waitSignal(mosaic.headRequested) as signal:
            qtbot.keyClick(mosaic, key)
        assert tuple(signal.args) == head
    mosaic.set_compact(True)
    with qtbot.waitSignal(mosaic.headRequested) as signal:
        qtbot.keyClick(mosaic, Qt.Key.Key_Up)
    assert tuple(signal.args) == (0, 1)


def test_the_chosen_head_is_framed_in_ink_and_the_edited_one_in_amber(mosaic):
    image, colours = mosaic.grab().toImage(), theme.current()
    for (layer, head), wanted in (((1, 1), colours.ink), ((0, 0), colours.edited)):
        place = mosaic.head_rect(layer, head)
        left = QColor(image.pixelColor(round(place.left()) - 1, round(place.center().y())))
        assert left.name() == QColor(wanted).name()


@pytest.mark.parametrize(("n_layers", "n_heads"), [(1, 1), (2, 4), (12, 12), (9, 30), (30, 9), (48, 25)])
@pytest.mark.parametrize("compact", [False, True])
def test_every_head_can_be_reached_however_many_there_are(qtbot, n_layers, n_heads, compact):
    mosaic = Mosaic()
    qtbot.addWidget(mosaic)
    mosaic.resize(222, 210) if compact else mosaic.resize(290, 340)
    mosaic.set_compact(compact)
    mosaic.show()
    data = thumbs(n_layers, n_heads)
    for layer, head in ((0, 0), (n_layers - 1, n_heads - 1), (n_layers // 2, n_heads // 2)):
        mosaic.set_thumbs(data, layer, head)
        mosaic.grab()
        place = mosaic.head_rect(layer, head)
        assert mosaic.rect().contains(place.toRect())
        assert click(qtbot, mosaic, layer, head) == (layer, head)


@pytest.mark.parametrize("compact", [False, True])
def test_thumbs_grow_with_the_room_up_to_84(compact):
    sides = [arrange(2, 4, width, width, compact=compact).side for width in (200, 340, 500, 2000)]
    assert sides == sorted(sides)
    assert sides[-1] == 84


def test_many_layers_of_few_heads_are_broken_into_banks_that_need_no_scrolling():
    tiles = arrange(30, 9, 250, 320, compact=False)
    end = tiles.end(30, 9)
    assert [len(bank) for bank in tiles.banks(30)] == [15, 15]
    assert tiles.step_x >= 13
    assert (end.x() <= 250, end.y() <= 320) == (True, True)
    places = [tiles.rect(layer, head) for layer in range(30) for head in range(9)]
    assert not any(a.intersects(b) for i, a in enumerate(places) for b in places[i + 1 :])


def test_a_thumb_shows_its_own_head(qtbot):
    """The pictures of all heads are made on one sheet: none may be another's."""
    n = 8
    cells = [np.zeros((n, n)) for _ in range(6)]
    for i in range(6):
        cells[i][i, :] = 1.0
    data = tuple(tuple(Thumb(la, h, "", 0.0, cells[3 * la + h], False) for h in range(3)) for la in range(2))
    mosaic = Mosaic()
    qtbot.addWidget(mosaic)
    mosaic.resize(250, 340)
    mosaic.set_thumbs(data, 0, 0)
    image = mosaic.grab().toImage()
    for layer in range(2):
        for head in range(3):
            place = mosaic.head_rect(layer, head)
            dark = [
                QColor(
                    image.pixelColor(round(place.center().x()), round(place.top() + (row + 0.5) * place.height() / n))
                )
                for row in range(n)
            ]
            assert int(np.argmin([color.lightness() for color in dark])) == 3 * layer + head


def test_small_thumbs_say_below_what_the_chosen_head_does(qtbot):
    mosaic = Mosaic()
    qtbot.addWidget(mosaic)
    mosaic.resize(250, 320)
    mosaic.set_thumbs(thumbs(30, 9), 17, 5)
    without = mosaic.grab().toImage()
    mosaic.set_caption("induction", "prefix matching 0.965 on this prompt")
    shown = mosaic.grab().toImage()
    end = round(mosaic.tiles().end(30, 9).y())
    assert shown.copy(0, 0, 250, end) == without.copy(0, 0, 250, end)
    assert shown.copy(0, end, 250, 320 - end) != without.copy(0, end, 250, 320 - end)
