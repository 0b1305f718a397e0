import numpy as np
import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter

from ui.widgets.button import Button, Check
from ui.widgets.icon_button import ICONS, IconButton, paint_icon


@pytest.mark.parametrize("name", ICONS)
def test_icon_is_drawn_in_one_colour_inside_its_square(name):
    image = QImage(40, 40, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    paint_icon(painter, name, QRectF(4, 4, 32, 32), "#1F74C9")
    painter.end()
    pixels = np.array(image.constBits()).reshape(40, 40, 4)
    solid = pixels[pixels[..., 3] == 255]
    assert len(solid) >= 12
    assert np.all(solid[:, :3] == (0xC9, 0x74, 0x1F))
    assert not pixels[:4, :, 3].any()
    assert not pixels[:, 36:, 3].any()


def test_button_clicks_by_mouse_and_space_and_says_why_it_cannot(qtbot):
    button = IconButton("undo", "undo (Ctrl+Z)", name="undo")
    qtbot.addWidget(button)
    button.show()
    said = []
    button.clicked.connect(lambda: said.append(1))
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert len(said) == 2
    button.set_available("nothing to undo")
    assert button.toolTip() == "nothing to undo"
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert len(said) == 2
    button.set_available()
    assert button.toolTip() == "undo (Ctrl+Z)"


def test_check_box_toggles_anywhere_on_it_and_shows_its_mark(qtbot):
    check = Check("hide first token")
    qtbot.addWidget(check)
    check.resize(check.sizeHint())
    check.show()
    with qtbot.waitSignal(check.toggled) as caught:
        qtbot.mouseClick(check, Qt.MouseButton.LeftButton, pos=check.rect().center())
    assert caught.args == [True]
    assert check.grab().toImage().pixelColor(3, 8) == QColor("#1F74C9")


def test_buttons_are_twenty_six_high_whatever_their_state(qtbot):
    for options in ({}, {"primary": True}, {"flat": True}):
        button = Button("Reset", **options)
        qtbot.addWidget(button)
        button.show()
        assert button.height() == 26
        button.setFocus(Qt.FocusReason.TabFocusReason)
        assert button.sizeHint().height() == 26
