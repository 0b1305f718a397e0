"""What lies over a picture: one thing at a time, and how long a wait will be."""

import pytest
from PySide6.QtWidgets import QWidget

from ui import stage as stage_module
from ui.stage import Stage


@pytest.fixture
def stage(qtbot, monkeypatch):
    monkeypatch.setattr(stage_module, "BUSY_AFTER", 0)
    outer = QWidget()
    qtbot.addWidget(outer)
    stage = Stage(QWidget(), outer, name="x")
    stage.resize(400, 300)
    stage.outer = outer  # or it would be gone before the test
    outer.show()
    return stage


def test_what_is_awaited_is_not_called_missing(stage, qtbot):
    stage.show_empty("Nothing to show yet", "Open a model")
    assert stage.empty.isVisible()
    stage.set_busy(True)
    qtbot.waitUntil(stage.busy.isVisible)
    assert not stage.empty.isVisible()
    stage.set_busy(False)  # given up: there is nothing again
    assert stage.empty.isVisible()
    stage.set_busy(True)
    qtbot.waitUntil(stage.busy.isVisible)
    stage.set_busy(False)
    stage.show_picture()
    assert not stage.empty.isVisible()
    stage.set_busy(True)
    stage.set_busy(False)
    assert not stage.empty.isVisible()


def test_a_long_wait_says_how_long_it_will_be(stage, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(stage_module.time, "monotonic", lambda: clock[0])
    stage.set_busy(True)
    clock[0] += 1.0
    stage.set_progress(0.1, "")
    assert stage.busy.accessibleName() == "Computing"
    clock[0] += 9.0
    stage.set_progress(0.25, "")
    assert stage.busy.accessibleName() == "Computing, about 30 s left"
    stage.set_progress(0.0, "doses")
    assert stage.busy.accessibleName() == "doses"
    stage.set_busy(False)


def test_picture_so_far_is_not_dimmed_and_says_what_is_still_done(stage, qtbot):
    waits = []
    stage.waited.connect(waits.append)
    stage.set_busy(True)
    qtbot.waitUntil(stage.busy.isVisible)
    veil = stage.busy.parentWidget()
    assert veil.size() == stage.size()
    stage.show_picture()
    stage.show_glance()
    stage.set_progress(0.2, "5 doses measured")
    assert stage.busy.isVisible()
    assert stage.busy.accessibleName() == "5 doses measured"
    assert waits == [True, False]  # the reading is that of the picture
    assert veil.geometry().bottomRight() == stage.rect().bottomRight()
    assert veil.width() < 0.8 * stage.width()
    assert veil.height() < 60
    assert veil.rect().contains(stage.busy.geometry())
    stage.resize(500, 320)
    assert veil.geometry().bottomRight() == stage.rect().bottomRight()
    stage.show_glance(left=True)
    assert veil.geometry().bottomLeft() == stage.rect().bottomLeft()
    assert veil.width() < 0.8 * stage.width()
    stage.set_busy(False)
    assert not stage.busy.isVisible()
    stage.set_busy(True)  # the next computation begins as usual
    qtbot.waitUntil(stage.busy.isVisible)
    assert veil.size() == stage.size()
    stage.set_busy(False)


def test_picture_so_far_that_comes_before_the_wait_is_worth_a_word_is_never_dimmed(stage, qtbot):
    waits = []
    stage.waited.connect(waits.append)
    stage.set_busy(True)
    stage.show_picture()
    stage.show_glance()
    qtbot.waitUntil(stage.busy.isVisible)
    assert stage.busy.parentWidget().height() < 60
    assert not any(waits)
    stage.set_busy(False)
