import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtWidgets import QWidget

from ui import theme
from ui.widgets.inspector import Inspector

ROWS = [("query", "13 Pharaoh", ""), ("key", "7 music", ""), ("", "score", "10.11"), ("", "weight", "0.996")]


@pytest.fixture
def owner(qtbot):
    widget = QWidget()
    qtbot.addWidget(widget)
    return widget


@pytest.fixture
def inspector(owner):
    return Inspector(owner)


def test_inspector_waits_then_follows_without_waiting(qtbot, inspector):
    inspector.explain(QRect(100, 100, 20, 20), ROWS)
    assert not inspector.isVisible()
    qtbot.waitUntil(inspector.isVisible)
    inspector.explain(QRect(140, 100, 20, 20), ROWS[:2])
    assert inspector.isVisible()
    assert inspector.rows() == tuple(ROWS[:2])
    inspector.dismiss()
    assert not inspector.isVisible()


def test_dismiss_also_forgets_what_was_about_to_appear(qtbot, inspector):
    inspector.explain(QRect(100, 100, 20, 20), ROWS)
    inspector.dismiss()
    qtbot.wait(350)
    assert not inspector.isVisible()


@pytest.mark.parametrize("corner", ["topLeft", "topRight", "bottomLeft", "bottomRight"])
def test_inspector_never_covers_its_cell_nor_leaves_the_screen(inspector, corner):
    screen = QGuiApplication.primaryScreen().availableGeometry()
    cell = QRect(getattr(screen, corner)(), QPoint(1, 1) + getattr(screen, corner)()).adjusted(-10, -10, 10, 10)
    inspector.explain(cell.intersected(screen), ROWS)
    inspector.appear()
    assert not inspector.geometry().intersects(cell.intersected(screen))
    assert screen.contains(inspector.geometry())


def test_marks_on_ink_are_those_that_read_on_ink(inspector):
    inspector.explain(QRect(100, 100, 20, 20), ROWS)
    inspector.appear()
    image = inspector.grab().toImage()
    assert image.pixelColor(60, 4) == QColor(theme.LIGHT.ink)
    assert image.pixelColor(16, 15) == QColor(theme.DARK.query)
