import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor

from ui import theme
from ui.widgets.segmented import Segmented


@pytest.fixture
def switch(qtbot):
    widget = Segmented([("w", "weight"), ("m", "× message"), ("l", "in logits")], name="attention.measure")
    qtbot.addWidget(widget)
    widget.resize(widget.sizeHint())
    widget.show()
    return widget


def test_click_chooses_and_says_so_once(qtbot, switch):
    said = []
    switch.changed.connect(said.append)
    at = QPoint(switch.width() - 12, 13)
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton, pos=at)
    assert said == ["l"]
    assert switch.current() == "l"


def test_arrows_move_and_stop_at_the_ends(qtbot, switch):
    said = []
    switch.changed.connect(said.append)
    for _ in range(4):
        qtbot.keyClick(switch, Qt.Key.Key_Right)
    for _ in range(3):
        qtbot.keyClick(switch, Qt.Key.Key_Left)
    assert said == ["m", "l", "m", "w"]


def test_setters_are_silent_and_unknown_keys_are_ignored(switch):
    said = []
    switch.changed.connect(said.append)
    switch.set_current("m")
    switch.set_current("nothing")
    assert switch.current() == "m"
    switch.set_options([("x", "linear"), ("y", "log")])
    assert switch.current() == "x"
    assert said == []


def test_disabled_switch_says_why_and_does_not_change(qtbot, switch):
    switch.set_available("choose a target first")
    assert switch.toolTip() == "choose a target first"
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton, pos=QPoint(switch.width() - 12, 13))
    assert switch.current() == "w"
    switch.set_available()
    assert switch.isEnabled()
    assert switch.toolTip() != "choose a target first"


def test_focus_by_keyboard_shows_a_ring_focus_by_mouse_does_not(qtbot, switch):
    ring = QColor(theme.LIGHT.query)
    switch.setFocus(Qt.FocusReason.MouseFocusReason)
    assert switch.grab().toImage().pixelColor(switch.width() // 2, 1) != ring
    switch.clearFocus()
    switch.setFocus(Qt.FocusReason.TabFocusReason)
    assert switch.grab().toImage().pixelColor(switch.width() // 2, 1) == ring
