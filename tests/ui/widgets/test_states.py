import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QWidget

from ui import theme
from ui.stage import Stage
from ui.widgets.states import BusyPill, EmptyState, ErrorCard, ProgressLine, Veil


class Picture(QWidget):
    def paintEvent(self, event):
        QPainter(self).fillRect(self.rect(), QColor("#000000"))


def test_veil_leaves_a_third_of_the_picture_and_follows_its_size(qtbot):
    picture = Picture()
    qtbot.addWidget(picture)
    veil = Veil(picture)
    picture.resize(200, 100)
    picture.show()
    veil.set_shown(True)
    picture.resize(300, 150)
    assert veil.size() == picture.size()
    assert picture.grab().toImage().pixelColor(290, 140).red() == pytest.approx(0.65 * 255, abs=2)
    veil.set_shown(False)
    assert picture.grab().toImage().pixelColor(290, 140) == QColor("#000000")


def test_busy_pill_cancels_by_button_and_by_escape(qtbot):
    pill = BusyPill(name="dose.busy")
    qtbot.addWidget(pill)
    pill.set_text("Rerunning the model, dose 24 of 81")
    pill.show()
    with qtbot.waitSignal(pill.cancelRequested):
        qtbot.mouseClick(pill.cancel, Qt.MouseButton.LeftButton)
    with qtbot.waitSignal(pill.cancelRequested):
        qtbot.keyClick(pill, Qt.Key.Key_Escape)
    assert pill.accessibleName() == "Rerunning the model, dose 24 of 81"


def test_progress_line_is_as_long_as_the_fraction(qtbot):
    line = ProgressLine()
    qtbot.addWidget(line)
    line.resize(200, 3)
    line.set_fraction(0.25)
    image = line.grab().toImage()
    blue = QColor(theme.LIGHT.query)
    assert sum(image.pixelColor(x, 1) == blue for x in range(200)) == 50
    line.set_fraction(None)
    assert line.grab().toImage().pixelColor(10, 1) != blue


def test_error_card_offers_the_way_out_and_folds_the_details(qtbot):
    card = ErrorCard(name="fit.error")
    qtbot.addWidget(card)
    message = "bandwidth h must be > 0, got −0.2"
    card.set_error(message, "The picture behind is the last good one.", way_out="Use 0.28", details="ValueError: …")
    card.show()
    assert card.message() == message
    with qtbot.waitSignal(card.wayOutRequested):
        qtbot.mouseClick(card.way_out, Qt.MouseButton.LeftButton)
    folded = card.sizeHint().height()
    qtbot.mouseClick(card.details, Qt.MouseButton.LeftButton)
    assert card.sizeHint().height() > folded
    card.set_error("the model is gone")
    assert card.way_out.isHidden()
    assert card.details.isHidden()


def test_long_error_wraps_inside_the_card(qtbot):
    card = ErrorCard(name="fit.error")
    qtbot.addWidget(card)
    card.set_error("a rule that takes a great many words to say, " * 6, "and what it means")
    assert card.heightForWidth(300) > card.heightForWidth(900)


def test_empty_state_says_what_and_how(qtbot):
    empty = EmptyState(name="attribution.empty")
    qtbot.addWidget(empty)
    empty.resize(400, 200)
    blank = empty.grab().toImage()
    empty.set_text("Choose a target token", "Click a prediction above, or press T and type one.", "target")
    assert empty.grab().toImage() != blank
    assert empty.accessibleName() == "Choose a target token. Click a prediction above, or press T and type one."


def test_while_a_long_wait_is_shown_neither_an_old_answer_nor_emptiness_is(qtbot):
    parent = QWidget()
    qtbot.addWidget(parent)
    stage = Stage(QWidget(), parent, name="some")
    stage.resize(400, 200)
    parent.show()
    stage.show_empty("Nothing to show yet", "open a model")
    with qtbot.waitSignal(stage.waited) as waited:
        stage.set_busy(True)
    assert waited.args == [True]
    assert stage.busy.isVisible()
    assert not stage.empty.isVisible()
    with qtbot.waitSignal(stage.waited) as waited:
        stage.set_busy(False)
    assert waited.args == [False]
    assert stage.empty.isVisible()
