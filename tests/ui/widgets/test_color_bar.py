import pytest
from PySide6.QtGui import QColor

from ui import theme
from ui.widgets.color_bar import BAR, GAP, ROOM, ColorBar
from ui.widgets.painted import text_width


def test_the_middle_of_a_signed_bar_is_closest_to_the_colour_of_the_page(qtbot):
    bar = ColorBar()
    qtbot.addWidget(bar)
    bar.set_range("−24", "+24", diverging=True)
    bar.resize(bar.sizeHint())
    image = bar.grab().toImage()
    left = bar.width() // 2 - BAR // 2
    row = [image.pixelColor(left + x, bar.height() // 2).lightness() for x in range(4, BAR - 4)]
    assert row.index(max(row)) == pytest.approx(len(row) / 2, abs=4)
    assert max(row) == pytest.approx(QColor(theme.current().panel).lightness(), abs=6)
    assert bar.texts == ("−24", "+24")
    assert bar.accessibleDescription() == "−24 to +24"


def test_a_longer_text_makes_the_bar_wider(qtbot):
    bar = ColorBar()
    qtbot.addWidget(bar)
    before = bar.sizeHint().width()
    bar.set_range("0", "0.0012")
    assert bar.sizeHint().width() > before


def test_long_texts_take_their_room_from_the_bar(qtbot):
    """The card was pushed wider when the scale went from numbers to words."""
    bar = ColorBar()
    qtbot.addWidget(bar)
    bar.set_range("lowest", "highest in row")
    words = text_width("lowest", 11) + text_width("highest in row", 11)
    assert words + 28 < bar.sizeHint().width() <= ROOM + 2 * GAP + 3
    assert words + BAR > ROOM
