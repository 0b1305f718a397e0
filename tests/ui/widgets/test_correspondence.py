from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, Qt

from kav.views.fit import Row
from ui.widgets import correspondence
from ui.widgets.correspondence import Correspondence
from ui.widgets.drawing import text_width

ROWS = (
    Row("query", "query", "query", "t = 0.00", "13 Pharaoh → 12 carriage"),
    Row("curve", "curve", "f as it moves", "", ""),
    Row("key", "key", "observed key", "s = 10.11", "7 music"),
    Row("weight", "weight", "weight", "0.996", "exp(s) / Σ exp(s)"),
    Row("prediction", "direct", "prediction f", "+13.89", "Σ weight × response"),
)


@pytest.fixture
def table(qtbot):
    widget = Correspondence()
    qtbot.addWidget(widget)
    widget.set_rows(ROWS)
    widget.resize(widget.sizeHint())
    widget.show()
    return widget


def test_rows_follow_each_other_and_groups_are_apart(table):
    rects = table.row_rects()
    gaps = [b.top() - a.bottom() for a, b in pairwise(rects)]
    assert gaps == [0, 12, 0, 12]
    assert rects[1].height() < rects[0].height()  # a row without a note is one line
    assert table.width() == 196


def test_hovering_a_row_says_its_key_once_and_leaving_says_none(qtbot, table):
    said = []
    table.rowHovered.connect(said.append)
    for index in (0, 2):
        at = table.row_rects()[index].center().toPoint()
        qtbot.mouseMove(table, at)
        qtbot.mouseMove(table, at + QPoint(2, 1))
    qtbot.mouseMove(table, QPoint(5, int(table.row_rects()[1].bottom()) + 6))
    assert said == ["query", "key", ""]


def test_keyboard_walks_the_rows_and_escape_leaves_them(qtbot, table):
    said = []
    table.rowHovered.connect(said.append)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_Escape):
        qtbot.keyClick(table, key)
    assert said == ["query", "curve", "query", ""]


def test_values_are_read_by_screen_readers(table):
    assert "observed key s = 10.11" in table.accessibleDescription()


def test_a_note_too_long_for_the_card_is_elided_and_told_in_full(table, monkeypatch, qtbot):
    """`its message to “John minus Mary”` ran out of the card."""
    drawn = []
    draw = correspondence.draw_text
    monkeypatch.setattr(correspondence, "draw_text", lambda *at: drawn.append((at[3], at[4], at[1])) or draw(*at))
    note = "its message to “the Alexandrian minus the Constantinopolitan”"
    table.set_rows(
        (*ROWS[:2], Row("response", "response", "response", "+5.89", note, tip="Logits per unit of weight."))
    )
    table.grab()
    assert any(text.startswith("its message to “the Alex") and text.endswith("…") for text, _, _ in drawn)
    assert all(x + text_width(text, f) <= table.width() for text, f, x in drawn)
    qtbot.mouseMove(table, table.row_rects()[2].center().toPoint())
    assert table.toolTip() == f"{note}\nLogits per unit of weight."
    qtbot.mouseMove(table, table.row_rects()[0].center().toPoint())
    assert table.toolTip() == ""
