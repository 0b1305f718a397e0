import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QMenu

from ui import theme
from ui.widgets.chip import EditedChip


@pytest.fixture
def chip(qtbot):
    widget = EditedChip()
    qtbot.addWidget(widget)
    return widget


def test_chip_is_hidden_until_there_is_an_edit(chip):
    chip.set_edits([])
    assert chip.isHidden()
    chip.set_edits(["head 0.0 × 0.00"])
    assert not chip.isHidden()
    assert chip.text() == "head 0.0 × 0.00"
    chip.set_edits(["a", "b", "c"])
    assert chip.text() == "3 edits"


def test_cross_resets_and_body_lists(qtbot, chip):
    chip.set_edits(["head 0.0 × 0.00", "head 1.1 × 0.50"])
    chip.resize(chip.sizeHint())
    with qtbot.waitSignal(chip.resetRequested):
        qtbot.mouseClick(chip, Qt.MouseButton.LeftButton, pos=chip.close_rect().center().toPoint())
    qtbot.mouseClick(chip, Qt.MouseButton.LeftButton, pos=QPoint(40, 14))
    menu = chip.findChild(QMenu, "edited.menu")
    assert [action.text() for action in menu.actions() if action.text()] == [
        "Take back head 0.0 × 0.00",
        "Take back head 1.1 × 0.50",
        "Reset all",
    ]
    with qtbot.waitSignal(chip.removeRequested) as caught:
        menu.actions()[1].trigger()
    assert caught.args == [1]
    menu.close()


def test_delete_key_resets(qtbot, chip):
    chip.set_edits(["head 0.0 × 0.00"])
    with qtbot.waitSignal(chip.resetRequested):
        qtbot.keyClick(chip, Qt.Key.Key_Delete)


def test_chip_is_amber_with_a_hatched_end(chip):
    chip.set_edits(["head 0.0 × 0.00"])
    chip.resize(chip.sizeHint())
    image = chip.grab().toImage()
    amber = QColor(theme.LIGHT.edited)
    assert image.pixelColor(chip.width() - 40, 3) == amber
    row = [image.pixelColor(x, 14) for x in range(1, 13)]
    assert any(color != amber for color in row)
    assert any(color == amber for color in row)


def test_a_chip_without_room_keeps_its_word_and_its_cross_apart(chip):
    # The edit's words ran into the cross on a narrow window.
    chip.set_edits(["head 0.0 × 0.00"])
    chip.set_short(True)
    chip.resize(chip.sizeHint())
    chip.show()
    narrow = chip.grab().toImage()
    chip.set_edits(["head 9.9 × 9.99"])
    assert chip.grab().toImage() == narrow
    assert "head 9.9 × 9.99" in chip.toolTip()
    chip.set_short(False)
    chip.resize(chip.sizeHint())
    wide = chip.grab().toImage()
    chip.set_edits(["head 0.0 × 0.00"])
    assert chip.grab().toImage() != wide
