"""What a row has no room for stays in reach: by mouse and keyboard, with its state and its reasons."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QMenu, QWidget

from ui.widgets.button import Check
from ui.widgets.combo import Combo
from ui.widgets.icon_button import IconButton
from ui.widgets.overflow import Overflow
from ui.widgets.pill import Pill
from ui.widgets.segmented import Segmented

CHOICES = (("zero", "zero"), ("mean", "mean"))


@pytest.fixture
def row(qtbot):
    row = QWidget()
    qtbot.addWidget(row)
    layout = QHBoxLayout(row)
    row.combo = Combo(CHOICES, row, name="row.baseline", label="baseline", tip="what takes its place")
    row.switch = Segmented(CHOICES, row, name="row.shading", label="shading", tip="how")
    row.check = Check("L(c)", row, name="row.objective", tip="the objective")
    row.undo = IconButton("undo", "undo the last edit", row, name="row.undo")
    row.pill = Pill("minus", row, name="row.foil", tip="subtracted")
    row.pill.set_value("none", -1)
    row.more = Overflow(row, name="row.more")
    row.controls = (row.combo, row.switch, row.check, row.undo, row.pill)
    for control in (*row.controls, row.more):
        layout.addWidget(control)
    row.show()
    row.activateWindow()
    qtbot.waitUntil(row.isActiveWindow)
    return row


def entries(row):
    row.more.open()
    menu = row.more.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly)[-1]
    return menu, {action.text(): action for action in menu.actions()}


def test_the_dots_are_there_only_while_something_is_behind_them_and_say_what(row):
    assert row.more.isHidden()
    row.more.hold((row.combo, row.switch))
    assert row.more.isVisible()
    assert row.more.accessibleName() == row.more.toolTip() == "more: baseline, shading"
    row.more.hold(())
    assert row.more.isHidden()


def test_each_kind_of_control_can_be_used_from_the_menu(row, qtbot):
    row.more.hold(row.controls)
    menu, found = entries(row)
    assert list(found) == ["Baseline", "Shading", "L(c)", "Undo the last edit", "Minus none…"]
    mean = {name: found[name].menu().actions()[1] for name in ("Baseline", "Shading")}
    for signal, act in (
        (row.combo.changed, mean["Baseline"].trigger),
        (row.switch.changed, mean["Shading"].trigger),
        (row.check.toggled, found["L(c)"].trigger),
        (row.undo.clicked, found["Undo the last edit"].trigger),
        (row.pill.opening, found["Minus none…"].trigger),
    ):
        with qtbot.waitSignal(signal):
            act()
    assert (row.combo.current(), row.switch.current(), row.check.isChecked()) == ("mean", "mean", True)
    row.pill.findChild(QWidget, "choices.list").window().hide()
    menu.close()
    menu, found = entries(row)
    assert [action.isChecked() for action in found["Baseline"].menu().actions()] == [False, True]
    assert found["L(c)"].isChecked()
    menu.close()


def test_what_cannot_be_used_now_says_why(row):
    row.switch.set_available("scores have no shading")
    row.undo.set_available("nothing to undo")
    row.more.hold((row.switch, row.undo))
    menu, found = entries(row)
    assert not found["Shading"].isEnabled()
    assert found["Shading"].toolTip() == "scores have no shading"
    assert not found["Undo the last edit"].isEnabled()
    assert found["Undo the last edit"].toolTip() == "nothing to undo"
    menu.close()


def test_the_keyboard_reaches_it_and_goes_through_the_menu(row, qtbot):
    row.more.hold((row.combo,))
    row.combo.hide()
    row.pill.setFocus()
    qtbot.keyClick(row.pill, Qt.Key.Key_Tab)
    assert row.more.hasFocus()
    qtbot.keyClick(row.more, Qt.Key.Key_Space)
    menu = row.more.findChild(QMenu)
    qtbot.keyClick(menu, Qt.Key.Key_Down)
    qtbot.keyClick(menu, Qt.Key.Key_Right)
    inner = menu.actions()[0].menu()
    qtbot.keyClick(inner, Qt.Key.Key_Down)
    qtbot.keyClick(inner, Qt.Key.Key_Return)
    assert row.combo.current() == "mean"


def test_menus_do_not_pile_up(row, qtbot):
    row.more.hold((row.combo,))
    for _ in range(3):
        entries(row)[0].close()
    qtbot.waitUntil(lambda: not row.more.findChildren(QMenu))
