import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from ui import theme
from ui.widgets.choices import Choices
from ui.widgets.combo import Combo


@pytest.fixture
def combo(qtbot):
    widget = Combo([("logit", "logit"), ("p", "probability"), ("kl", "KL from the original")], label="response")
    qtbot.addWidget(widget)
    widget.show()
    return widget


def test_key_press_chooses_and_carries_the_key(qtbot, combo):
    with qtbot.waitSignal(combo.changed) as caught:
        qtbot.keyClick(combo, Qt.Key.Key_Down)
    assert caught.args == ["p"]
    assert combo.current() == "p"


def test_setters_are_silent_and_keep_the_choice(combo):
    said = []
    combo.changed.connect(said.append)
    combo.set_current("kl")
    combo.set_options([("kl", "KL"), ("logit", "logit")])
    assert combo.current() == "kl"
    combo.set_options([("a", "one")])
    assert combo.current() == "a"
    assert said == []


def test_wheel_over_an_unfocused_combo_changes_nothing(qtbot, combo):
    other = QLabel()
    qtbot.addWidget(other)
    combo.clearFocus()
    before = combo.current()
    from PySide6.QtCore import QPoint, QPointF
    from PySide6.QtGui import QWheelEvent
    from PySide6.QtWidgets import QApplication

    event = QWheelEvent(
        QPointF(5, 5), QPointF(5, 5), QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(combo, event)
    assert combo.current() == before


def test_combo_stays_inside_the_place_its_layout_gives_it(qtbot):
    # Qt's AdjustToContents grew the box to its hint 20 ms after the layout had made it narrow, over its neighbour.
    row = QWidget()
    qtbot.addWidget(row)
    combo = Combo([("a", "a rather long entry for this place")])
    neighbour = QLabel("0.00")
    layout = QHBoxLayout(row)
    layout.addWidget(combo)
    layout.addWidget(neighbour)
    row.setFixedWidth(150)
    row.show()
    qtbot.wait(60)  # longer than Qt's own timer
    assert combo.geometry().right() < neighbour.x()


def test_disabled_combo_is_grey_and_says_why(combo):
    combo.set_available("needs a model")
    assert combo.toolTip() == "needs a model"
    assert combo.grab().toImage().pixelColor(4, 13) == QColor(theme.LIGHT.sunk)


def test_a_long_list_is_searched_by_typing(qtbot):
    heads = [((layer, head), f"head {layer}.{head}") for layer in range(30) for head in range(9)]
    combo = Combo(heads, label="component")
    qtbot.addWidget(combo)
    combo.show()
    qtbot.mouseClick(combo, Qt.MouseButton.LeftButton)
    choices = combo.findChild(Choices)
    assert choices.isVisible()
    qtbot.keyClicks(choices.search, "17.5")
    with qtbot.waitSignal(combo.changed) as caught:
        qtbot.keyClick(choices.search, Qt.Key.Key_Return)
    assert caught.args == [(17, 5)]
    assert combo.current() == (17, 5)
    assert choices.isHidden()


def test_a_long_list_is_made_when_it_is_opened_or_gets_the_keyboard(qtbot):
    made = []

    def rows():
        made.append(True)
        return [(i, f"{i} token") for i in range(300)]

    combo = Combo()
    qtbot.addWidget(combo)
    combo.show()
    combo.set_long((7, "7 token"), rows)
    assert (combo.current(), combo.currentText(), combo.count(), made) == (7, "7 token", 1, [])
    with qtbot.waitSignal(combo.changed) as signal:
        qtbot.keyClick(combo, Qt.Key.Key_Down)
    assert signal.args == [8]
    assert (combo.count(), len(made)) == (300, 1)
    combo.set_long((9, "9 token"), rows)
    combo.showPopup()
    assert (combo.current(), combo.count(), len(made)) == (9, 300, 2)
    combo.hidePopup()
