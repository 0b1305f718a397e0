"""Data from files, drops and the clipboard: looked at, chosen, shown, and taken back."""

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from kav.regression.rules import rule_of_thumb
from kav.regression.samples import BUILT_IN
from kav.regression.tables import read_text
from tests.ui.dragging import enter_event
from ui.engine import Engine
from ui.importing import is_table, only_way

pytestmark = pytest.mark.window

MESSY = "datum;grp;zeit;wert\n1.1.;a;0,5;1,25\n2.1.;b;1,5;2,75\n3.1.;a;2,5;\n4.1.;b;3,5;4,5\n5.1.;b;inf;4,5\n"


@pytest.fixture
def window(regression_window):
    return regression_window


def file(tmp_path, content, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def look(window, path):
    """Open a file and return the dialog."""
    window.importing.open(path)
    return window.importing.dialog


def press(button):
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def pairs(window):
    samples = window.session.document.samples
    return list(zip(samples.x.tolist(), samples.y.tolist(), strict=True))


def test_a_file_is_looked_at_then_shown_under_its_name_in_one_undo_step(window, tmp_path):
    before = window.session.document
    dialog = look(window, file(tmp_path, "t,v\n0,3.75\n1,4.25\n2,5\n"))
    assert [dialog.preview.horizontalHeaderItem(at).text() for at in range(2)] == ["t", "v"]
    assert dialog.preview.item(0, 1).text() == "3.75"
    assert not dialog.isModal()
    assert window.session.document is before, "nothing is shown before it is accepted"
    press(dialog.accept_button)
    assert pairs(window) == [(0, 3.75), (1, 4.25), (2, 5)]
    assert window.prompt_bar.regression.samples.currentText() == "data.csv · 3 samples"
    assert window.result("fit").n == 3
    assert window.session.undo_stack.count() == 1
    window.session.undo_stack.undo()
    assert window.session.document == before
    window.prompt_bar.regression.samples.changed.emit("data.csv")
    assert len(pairs(window)) == 3, "the set is still in the list"


def test_decimal_commas_text_columns_and_missing_cells_are_handled_and_reported(window, tmp_path):
    """Cases 33, 37 and 39: two rows skipped and named, text columns grey with the reason, no crash."""
    dialog = look(window, file(tmp_path, MESSY))
    assert (dialog.delimiter.current(), dialog.decimal.current(), dialog.header.isChecked()) == (";", ",", True)
    said = dialog.said.text()
    assert "3 samples; 2 of 5 rows skipped: rows 3 and 5" in said
    assert "grp is no axis: it holds text: 'a' in row 1" in said
    offered = [dialog.x.itemText(at) for at in range(dialog.x.count())]
    assert offered == ["row number", "zeit", "wert"]
    cell, number = dialog.preview.item(0, 1), dialog.preview.item(0, 2)
    assert cell.foreground().color() != number.foreground().color()
    assert "text" in cell.toolTip()
    press(dialog.accept_button)
    assert pairs(window) == [(0.5, 1.25), (1.5, 2.75), (3.5, 4.5)]
    assert "2 of 5 rows skipped" in window.prompt_bar.regression.samples.currentText()


def test_the_guess_can_be_changed_and_is_then_read_again(window, tmp_path):
    dialog = look(window, file(tmp_path, "a,b\n1,2\n3,4\n"))
    dialog.header.click()
    assert "3 samples" not in dialog.said.text()
    assert dialog.dialect().header is False
    assert "guessed: comma, decimal point, names in the first row" in dialog.said.text()
    dialog.delimiter.set_current(";")
    dialog.delimiter.changed.emit(";")
    assert not dialog.accept_button.isEnabled()
    assert "must have a column of numbers" in dialog.said.text()
    dialog.delimiter.set_current(",")
    dialog.delimiter.changed.emit(",")
    dialog.header.click()
    press(dialog.accept_button)
    assert pairs(window) == [(1, 2), (3, 4)]


def test_columns_can_be_chosen_also_the_row_number(window, tmp_path):
    dialog = look(window, file(tmp_path, "a,b,c\n1,2,30\n4,5,60\n"))
    dialog.x.set_current(-1)
    dialog.x.changed.emit(-1)
    dialog.y.set_current(2)
    dialog.y.changed.emit(2)
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert pairs(window) == [(1, 30), (2, 60)]


def test_the_encoding_is_shown_and_can_be_changed(window, tmp_path):
    dialog = look(window, file(tmp_path, "größe;y\n1;2\n3;4\n".encode("cp1252")))
    assert dialog.encoding.current() == "cp1252"
    assert dialog.preview.horizontalHeaderItem(0).text() == "größe"
    dialog.encoding.set_current("utf-8")
    dialog.encoding.changed.emit("utf-8")
    assert "encoding chosen, utf-8" in dialog.said.text()
    assert not dialog.accept_button.isEnabled()
    press(dialog.cancel_button)
    assert window.importing.dialog is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "at least one row"),
        (b"x,y\n", "at least one row of values"),
        (b"PK\x03\x04\x00\x00", "NUL character"),
        (b"name,what\nab,cd\nef,gh\n", "column of numbers"),
        (b"x" * 200_000, "line"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence_and_the_samples_stay(window, tmp_path, content, words):
    before = window.session.document
    dialog = look(window, file(tmp_path, content))
    assert words in dialog.said.text()
    assert not dialog.accept_button.isEnabled()
    press(dialog.accept_button)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert window.session.document is before
    assert window.importing.dialog is None


def test_a_file_that_is_gone_is_refused(window, tmp_path):
    dialog = look(window, str(tmp_path / "gone.csv"))
    assert "cannot read" in dialog.said.text()


def test_a_plain_paste_is_shown_at_once_and_a_doubtful_one_is_looked_at(window):
    QGuiApplication.clipboard().setText("0\t3\n1\t4\n2\t6\n")
    window.panels["fit"].plot.setFocus()
    QTest.keyClick(window, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert pairs(window) == [(0, 3), (1, 4), (2, 6)]
    assert window.importing.dialog is None
    QGuiApplication.clipboard().setText(MESSY)
    window.actions_by_name["data.paste"].trigger()
    assert window.importing.dialog is not None
    assert not window.importing.dialog.encoding.isVisible(), "a text has no encoding"
    press(window.importing.dialog.accept_button)
    assert len(pairs(window)) == 3
    window.session.undo_stack.undo()
    assert len(pairs(window)) == 3
    assert pairs(window)[0] == (0, 3)


def test_pasting_nothing_is_refused_in_words(window, qtbot):
    QGuiApplication.clipboard().setText("   ")
    with qtbot.waitSignal(window.session.problemRaised) as raised:
        window.actions_by_name["data.paste"].trigger()
    assert "clipboard must hold a table" in str(raised.args[0])


def test_pasting_belongs_to_the_regression_scene(window):
    assert window.actions_by_name["data.paste"].isEnabled()
    window.session.set_scene("head")
    assert not window.actions_by_name["data.paste"].isEnabled()


def test_only_two_columns_of_numbers_without_gaps_need_no_look():
    assert only_way(read_text("1;2\n3;4")).n == 2
    assert only_way(read_text("1;2\n;4")) is None
    assert only_way(read_text("1;2;3\n4;5;6")) is None
    assert only_way(read_text("a;2\nb;4")) is None


def test_data_far_from_the_last_gets_a_query_and_a_bandwidth_that_suit_it(window, tmp_path):
    x = np.linspace(1000, 9000, 41)
    press(look(window, file(tmp_path, "\n".join(f"{a},{a % 7}" for a in x))).accept_button)
    document = window.session.document
    assert document.x_query == 5000
    assert document.h == pytest.approx(rule_of_thumb(x))
    assert np.isfinite(window.result("fit").f)
    window.prompt_bar.regression.samples.changed.emit(BUILT_IN[0].name)
    assert 0 <= window.session.document.x_query <= 10
    assert window.session.document.h < 2.5


def drop(window, path):
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(path)])
    action, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = enter_event(200, 200, mime)
    QApplication.sendEvent(window, enter)
    said = window.opening_view.drop.text()
    event = QDropEvent(QPointF(200, 200), action, mime, left, none)
    QApplication.sendEvent(window, event)
    return said


def test_a_dropped_table_is_looked_at_in_either_scene(window, tmp_path):
    window.session.set_scene("head")
    path = file(tmp_path, "x\ty\n1\t2\n3\t4\n", "points.tsv")
    assert is_table(path)
    assert drop(window, path) == "Drop to import points.tsv"
    assert not window.opening_view.drop.isVisible()
    press(window.importing.dialog.accept_button)
    assert window.session.kind == "regression"
    assert pairs(window) == [(1, 2), (3, 4)]


def test_a_table_that_is_being_read_can_be_given_up(make_window, qtbot, tmp_path):
    engine = Engine()
    window = make_window(engine=engine, scene="regression")
    session, before = window.session, window.session.document
    path = file(tmp_path, "x,y\n" + "\n".join(f"{i},{i % 13}" for i in range(200_000)))
    window.importing.open(path)
    assert window.importing.dialog.isVisible()
    assert not window.importing.dialog.accept_button.isEnabled()
    press(window.importing.dialog.cancel_button)
    qtbot.waitUntil(lambda: not engine.busy("import"))
    assert window.importing.dialog is None
    assert session.document is before
    window.importing.open(path)
    qtbot.waitUntil(lambda: window.importing.dialog.accept_button.isEnabled(), timeout=20_000)
    press(window.importing.dialog.accept_button)
    assert session.document.samples.n == 200_000
