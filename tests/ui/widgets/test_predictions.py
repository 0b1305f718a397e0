from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from kav.views.predictions import Prediction
from kav.views.words import Label
from ui import theme
from ui.widgets.predictions import PredictionsBar

NEXT = tuple(
    Prediction(token, Label(text), p, 0.0, is_target=token == 7)
    for token, text, p in [(7, "music", 0.6), (3, "liveth", 0.2), (4, "um", 0.1), (9, "Churchill", 0.05)]
)


@pytest.fixture
def bar(qtbot):
    widget = PredictionsBar()
    qtbot.addWidget(widget)
    widget.resize(324, 42)
    widget.set_predictions(NEXT)
    widget.show()
    return widget


def test_click_asks_for_the_token_under_the_mouse(qtbot, bar):
    with qtbot.waitSignal(bar.targetRequested) as caught:
        qtbot.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.rect_of(3).center().toPoint())
    assert caught.args == [3]


def test_arrows_ask_for_the_neighbours_of_the_target(qtbot, bar):
    said = []
    bar.targetRequested.connect(said.append)
    qtbot.keyClick(bar, Qt.Key.Key_Left)  # the target is the first
    qtbot.keyClick(bar, Qt.Key.Key_Right)
    assert said == [3]


def test_predictions_never_overlap_or_leave_the_bar(bar):
    for width in (160, 216, 324, 500):
        bar.resize(width, 42)
        rects = [bar.rect_of(token) for token in bar.visible_tokens()]
        assert all(a.right() < b.left() for a, b in pairwise(rects))
        assert rects[-1].right() <= width + 0.5


def test_target_is_always_shown_however_improbable(bar):
    unlikely = Prediction(99, Label("music"), 1e-5, -3.0, before=0.9, is_target=True)
    others = [Prediction(i, Label(f"word{i}"), 0.05, 0.0) for i in range(19)]
    bar.set_predictions([*others, unlikely])
    assert bar.visible_tokens()[-1] == 99
    bar.set_compact(True)
    assert bar.visible_tokens() == [0, 99]


def test_bar_is_as_long_as_the_probability(bar):
    image = bar.grab().toImage()
    rect = bar.rect_of(7)
    teal = QColor(theme.LIGHT.target)
    length = sum(image.pixelColor(x, 35) == teal for x in range(int(rect.left()), int(rect.right()) + 1))
    assert length == pytest.approx(0.6 * rect.width(), abs=3)


def test_no_predictions_is_an_empty_bar(qtbot, bar):
    bar.set_predictions(())
    bar.grab()
    qtbot.keyClick(bar, Qt.Key.Key_Right)
    assert bar.visible_tokens() == []
