import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtWidgets import QApplication

from kav.views.words import Label
from ui import theme
from ui.widgets.token_strip import TokenStrip

WORDS = "‹bos› Jerusalem Willoughby shepher d carriage Pharaoh music Jerusalem Willoughby shepher d carriage Pharaoh"
LABELS = tuple(Label(text, i, joined=text == "d") for i, text in enumerate(WORDS.split()))


@pytest.fixture
def strip(qtbot):
    widget = TokenStrip()
    qtbot.addWidget(widget)
    widget.set_tokens(LABELS)
    widget.set_selection(13, 7)
    widget.resize(widget.sizeHint())
    widget.show()
    return widget


def middle(strip, index):
    return strip.rect_of(index).center().toPoint()


def test_click_asks_for_the_query_and_shift_or_right_click_for_the_key(qtbot, strip):
    queries, keys = [], []
    strip.queryRequested.connect(queries.append)
    strip.keyRequested.connect(keys.append)
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=middle(strip, 4))
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier, pos=middle(strip, 5))
    qtbot.mouseClick(strip, Qt.MouseButton.RightButton, pos=middle(strip, 6))
    assert queries == [4]
    assert keys == [5, 6]


def test_arrows_move_the_query_and_shift_arrows_the_key(qtbot, strip):
    queries, keys = [], []
    strip.queryRequested.connect(queries.append)
    strip.keyRequested.connect(keys.append)
    qtbot.keyClick(strip, Qt.Key.Key_Right)  # the query is the last token
    qtbot.keyClick(strip, Qt.Key.Key_Left)
    qtbot.keyClick(strip, Qt.Key.Key_Home)
    qtbot.keyClick(strip, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert queries == [12, 0]
    assert keys == [8]


def test_asking_changes_nothing_until_the_selection_is_set(qtbot, strip):
    before = strip.grab().toImage()
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=middle(strip, 2))
    strip.clearFocus()
    assert strip.grab().toImage() == before
    strip.set_selection(2, 7)
    assert strip.grab().toImage() != before


def test_pieces_of_a_word_touch_and_words_do_not(strip):
    assert strip.rect_of(4).left() == strip.rect_of(3).right()
    assert strip.rect_of(5).left() == strip.rect_of(4).right() + 3


def ink_length(strip, index, color):
    image = strip.grab().toImage()
    rect = strip.rect_of(index)
    y = int(rect.bottom()) - 4
    return sum(image.pixelColor(x, y) == QColor(color) for x in range(int(rect.left()), int(rect.right())))


def test_bar_under_a_token_is_as_long_as_its_weight(strip):
    weights = np.zeros(14)
    weights[1], weights[2] = 1.0, 0.5
    strip.set_weights(weights)
    ink = theme.current().weight_ink
    full, half = ink_length(strip, 1, ink), ink_length(strip, 2, ink)
    assert full == pytest.approx(strip.rect_of(1).width() - 10, abs=3)
    assert half == pytest.approx((strip.rect_of(2).width() - 10) / 2, abs=3)
    assert ink_length(strip, 3, ink) == 0


def test_weights_before_an_edit_are_hollow_outlines(strip):
    before = np.zeros(14)
    before[1] = 1.0
    plain = strip.grab().toImage()
    strip.set_weights(np.zeros(14), before)
    edited = strip.grab().toImage()
    rect = strip.rect_of(1)
    x, y = int(rect.center().x()), int(rect.bottom()) - 4
    assert edited.pixelColor(x, y) == plain.pixelColor(x, y)  # hollow
    edge = [edited.pixelColor(x, int(rect.bottom()) - offset) for offset in range(2, 8)]
    assert any(color.hue() == QColor(theme.LIGHT.editedink).hue() for color in edge)


def test_marks_stand_on_the_top_edge_of_query_and_key(strip):
    image = strip.grab().toImage()
    for index, color in ((13, theme.LIGHT.query), (7, theme.LIGHT.key)):
        at = middle(strip, index)
        assert image.pixelColor(at.x(), 6) == QColor(color)


def test_strip_too_wide_keeps_the_query_in_sight(strip):
    strip.resize(400, 42)
    for query in (13, 0, 7):
        strip.set_selection(query, 7)
        rect = strip.rect_of(query)
        assert rect.left() >= 0
        assert rect.right() <= 400


def test_wheel_and_arrows_scroll_a_strip_too_wide(qtbot, strip):
    strip.resize(400, 42)
    strip.set_selection(0, 1)
    strip.queryRequested.connect(lambda index: pytest.fail("an arrow is no token"))
    start = strip.rect_of(0).left()
    event = QWheelEvent(
        QPointF(9, 20), QPointF(9, 20), QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(strip, event)
    scrolled = strip.rect_of(0).left()
    assert scrolled < start
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=QPoint(395, 20))
    assert strip.rect_of(0).left() < scrolled
    while strip.rect_of(13).right() > 399:
        before = strip.rect_of(0).left()
        qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=QPoint(395, 20))
        assert strip.rect_of(0).left() < before
    assert strip.rect_of(13).right() == pytest.approx(398, abs=2)


def test_empty_prompt_is_an_empty_strip(qtbot):
    strip = TokenStrip()
    qtbot.addWidget(strip)
    strip.set_tokens(())
    strip.set_weights(np.zeros(0))
    strip.set_selection(0, 0)
    strip.show()
    qtbot.keyClick(strip, Qt.Key.Key_Right)
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton)
    assert strip.index_at(10) == -1
