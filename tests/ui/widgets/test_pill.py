import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from kav.views.words import Label
from ui import theme
from ui.widgets.choices import SHOWN, Choices
from ui.widgets.pill import Pill

TOKENS = [(0, "0 ‹bos›"), (1, "1 Jerusalem"), (2, "2 Willoughby"), (13, "13 Pharaoh")]


@pytest.fixture
def pill(qtbot):
    widget = Pill("Query", role="query", name="selection.query")
    qtbot.addWidget(widget)
    widget.set_options(TOKENS)
    widget.set_value(Label("Pharaoh", 13), 13)
    widget.resize(widget.sizeHint())
    widget.show()
    return widget


def popup(pill):
    return pill.findChild(Choices)


def test_click_opens_the_list_on_the_current_row(qtbot, pill):
    qtbot.mouseClick(pill, Qt.MouseButton.LeftButton)
    assert popup(pill).isVisible()
    assert popup(pill).list.currentItem().text() == "13 Pharaoh"
    popup(pill).hide()


def test_typing_narrows_and_enter_chooses(qtbot, pill):
    said = []
    pill.activated.connect(said.append)
    qtbot.keyClick(pill, Qt.Key.Key_Down)
    qtbot.keyClicks(popup(pill).search, "will")
    assert popup(pill).list.count() == 1
    qtbot.keyClick(popup(pill).search, Qt.Key.Key_Return)
    assert said == [2]
    assert not popup(pill).isVisible()


def test_arrows_move_through_the_list_while_typing(qtbot, pill):
    said = []
    pill.activated.connect(said.append)
    pill.open()
    qtbot.keyClick(popup(pill).search, Qt.Key.Key_Up)
    qtbot.keyClick(popup(pill).search, Qt.Key.Key_Return)
    assert said == [2]


def test_text_without_a_row_is_handed_on(qtbot, pill):
    with qtbot.waitSignal(pill.typed) as caught:
        pill.open()
        qtbot.keyClicks(popup(pill).search, " 0.33 ")
        qtbot.keyClick(popup(pill).search, Qt.Key.Key_Return)
    assert caught.args == ["0.33"]


def test_escape_closes_without_a_choice(qtbot, pill):
    pill.activated.connect(lambda key: pytest.fail("nothing was chosen"))
    pill.open()
    qtbot.keyClick(popup(pill), Qt.Key.Key_Escape)
    assert not popup(pill).isVisible()


def test_long_vocabulary_shows_a_first_part_and_finds_the_rest(qtbot, pill):
    pill.set_options([(i, f"token{i}") for i in range(50_000)])
    pill.open()
    assert popup(pill).list.count() == SHOWN
    qtbot.keyClicks(popup(pill).search, "n49999")
    assert popup(pill).list.count() == 1
    popup(pill).hide()


def test_compact_pill_drops_its_caption_only_if_it_has_a_mark(qtbot, pill):
    wide = pill.sizeHint().width()
    pill.set_compact(True)
    assert pill.sizeHint().width() < wide - 30
    head = Pill("Head")
    qtbot.addWidget(head)
    head.set_value("1.1")
    wide = head.sizeHint().width()
    head.set_compact(True)
    assert head.sizeHint().width() == wide


def test_pill_is_tinted_in_its_role_and_named_for_screen_readers(pill):
    assert pill.grab().toImage().pixelColor(5, 14) == QColor(theme.LIGHT.qtint)
    assert pill.accessibleName() == "Query 13 Pharaoh"


def test_a_pill_gives_way_down_to_its_least_width_and_tells_its_value_in_full(qtbot):
    pill = Pill("Query", role="query", tip="the token that asks", least=90)
    qtbot.addWidget(pill)
    for word in ("a", "extraordinarily long token"):
        pill.set_value(Label(word, 13), 13)
        assert pill.minimumSizeHint().width() == min(90, pill.sizeHint().width())
        assert pill.toolTip() == f"13 {word}: the token that asks"


def test_a_value_that_speaks_for_itself_needs_no_caption_where_room_is_short(qtbot):
    pill = Pill("Bandwidth", plain=True)
    qtbot.addWidget(pill)
    pill.set_value("h = 0.45")
    wide = pill.sizeHint().width()
    pill.set_compact(True)
    assert pill.sizeHint().width() < wide - 50
    assert pill.accessibleName() == "Bandwidth h = 0.45"


def test_the_list_stays_on_the_screen(qtbot):
    pill = Pill("Target")
    qtbot.addWidget(pill)
    pill.set_options([(i, f"token{i}") for i in range(40)])
    screen = pill.screen().availableGeometry()
    pill.move(screen.right() - 20, screen.bottom() - 20)
    pill.show()
    pill.open()
    assert screen.contains(popup(pill).geometry())
    popup(pill).hide()


def test_rows_that_come_after_the_list_was_opened_find_it_high_enough(qtbot):
    """Story: the list of heads is made when it is wanted; it opened one row high and stayed so."""
    pill = Pill("Head")
    qtbot.addWidget(pill)
    pill.show()
    pill.open()
    assert popup(pill).search.placeholderText() == "type a number, then Enter"
    pill.set_options([(i, f"head {i}") for i in range(8)])
    high = popup(pill).height()
    assert popup(pill).list.visualItemRect(popup(pill).list.item(7)).bottom() <= popup(pill).list.viewport().height()
    assert popup(pill).search.placeholderText() == "type to search"
    qtbot.keyClicks(popup(pill).search, "7")
    pill.set_options([(7, "head 7")])
    assert popup(pill).height() == high, "typing does not make it jump"
    popup(pill).hide()
