import pytest
from PySide6.QtCore import Qt

from kav.views.predictions import Prediction
from kav.views.words import Label
from ui.widgets.prediction_table import PredictionTable, tip


def predictions(target: int, n: int = 20) -> tuple[Prediction, ...]:
    return tuple(Prediction(100 + i, Label(f"t{i}"), 0.5 / 2**i, 5.0 - i, 0.1, i == target) for i in range(n))


@pytest.fixture
def table(qtbot):
    widget = PredictionTable()
    qtbot.addWidget(widget)
    widget.resize(444, 228)
    widget.set_predictions(predictions(1), ("by layer",))
    widget.show()
    return widget


def test_a_click_asks_for_the_token_of_the_row(table, qtbot):
    with qtbot.waitSignal(table.targetRequested) as signal:
        qtbot.mouseClick(table, Qt.MouseButton.LeftButton, pos=table.row_rect(2).center().toPoint())
    assert signal.args == [102]


def test_return_asks_for_the_token_of_the_keyboards_row(table, qtbot):
    with qtbot.waitSignal(table.targetRequested) as signal:
        qtbot.keyClick(table, Qt.Key.Key_Down)
        qtbot.keyClick(table, Qt.Key.Key_Return)
    assert signal.args == [100]


@pytest.mark.parametrize("height", [80, 228, 600])
def test_the_target_is_always_shown_and_rows_fit(table, height):
    table.resize(444, height)
    table.set_predictions(predictions(19))
    assert any(p.is_target for p in table.rows())
    assert table.row_rect(len(table.rows()) - 1).bottom() <= height
    assert not table.grab().isNull()


def test_the_tooltip_says_what_the_probability_was():
    assert tip(predictions(0)[0]) == "t0: probability 0.5, logit 5; probability was 0.1"


def test_the_note_is_the_longest_that_fits_and_keeps_its_end(qtbot, table):
    """Story: the log-probability through 31 layers was cut before the last, which is the one that counts."""
    notes = tuple("through the layers: " + " → ".join(["−124.5"] * n + ["−0.08"]) for n in (8, 4, 2, 1))
    table.set_predictions(table.rows(), notes)
    shown = []
    for width in (900, 430, 330, 260, 230):
        table.resize(width, 230)
        shown.append(table.note())
    assert shown[0] == notes[0]
    assert all(note in notes and note.endswith("−0.08") for note in shown)
    assert len({*shown}) >= 3
    table.resize(100, 230)
    assert table.note().endswith("…")
    table.set_predictions(table.rows())
    assert table.note() == ""
