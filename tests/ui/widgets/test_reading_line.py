import pytest
from PySide6.QtGui import QColor

from kav.views.words import Piece, plain
from ui import theme
from ui.widgets.drawing import shown
from ui.widgets.reading_line import PredictsLine, ReadingLine
from ui.widgets.runs import runs_of, width_of

READING = (
    Piece("Head 1.1 at "),
    Piece("13 Pharaoh", "query", True, "query"),
    Piece(" looks at "),
    Piece("7 music", strong=True, mark="key"),
    Piece(" (0.996), direct "),
    Piece("+13.89", "direct", True),
)


def show(qtbot, width):
    line = ReadingLine(name="attention.reading")
    qtbot.addWidget(line)
    line.set_reading(READING)
    line.resize(width, 18)
    line.show()
    return line


def colors(widget):
    image = widget.grab().toImage()
    return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}


def last_ink(widget):
    image = widget.grab().toImage()
    page = image.pixelColor(image.width() - 1, 0)
    return max(x for x in range(image.width()) for y in range(image.height()) if image.pixelColor(x, y) != page)


def test_line_paints_marks_and_roles_in_their_colours(qtbot):
    found = colors(show(qtbot, 600))
    for token in ("query", "key", "direct"):
        assert QColor(getattr(theme.LIGHT, token)).name() in found


def test_mark_carries_the_colour_so_its_text_stays_ink():
    runs = runs_of(READING)
    assert runs[1].mark == "query"
    assert runs[1].color == QColor(theme.LIGHT.ink)
    assert runs[-1].color == QColor(theme.LIGHT.direct)


@pytest.mark.parametrize("width", [40, 80, 130, 137, 200, 260])
def test_line_too_long_ends_in_dots_inside_its_place(qtbot, width):
    line = show(qtbot, width)
    assert width - 22 <= last_ink(line) <= width - 1


def test_line_that_fits_is_painted_whole(qtbot):
    width = width_of(runs_of(READING))
    assert last_ink(show(qtbot, 600)) == pytest.approx(width, abs=2)


def test_line_that_is_a_little_too_long_is_set_smaller_and_keeps_its_end(qtbot):
    small, usual = width_of(runs_of(READING, 11)), width_of(runs_of(READING))
    assert small < usual - 6
    end = last_ink(show(qtbot, round(usual) - 3))
    assert end == pytest.approx(small, abs=2)


def test_tooltip_and_accessible_name_are_the_whole_line(qtbot):
    line = show(qtbot, 40)
    assert line.toolTip() == line.accessibleName() == plain(READING)


def test_plain_text_is_one_piece(qtbot):
    line = PredictsLine()
    qtbot.addWidget(line)
    line.set_reading("Nothing chosen to measure yet")
    assert line.text() == "Nothing chosen to measure yet"


def test_character_without_a_glyph_is_shown_as_its_code():
    assert shown("abc é 7") == "abc é 7"
    assert shown("a\U0010fffd") == "a\\U0010fffd"  # private use: no font has it
