"""An error in painting is told and survived: in PySide one that leaves a paintEvent ends the program."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QRectF
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLabel, QWidget

import ui
from ui.export import export
from ui.notice import Notice
from ui.painting import guarded, saved

UI = Path(ui.__file__).parent


def painted_classes():
    """Return the classes of the window that paint themselves."""
    modules = [importlib.import_module(m.name) for m in pkgutil.walk_packages(ui.__path__, "ui.")]
    classes = {kind for module in modules for _, kind in inspect.getmembers(module, inspect.isclass)}
    return sorted(
        (kind for kind in classes if kind.__module__.startswith("ui.") and "paintEvent" in vars(kind)),
        key=lambda kind: kind.__qualname__,
    )


@pytest.mark.parametrize("kind", painted_classes(), ids=lambda kind: kind.__name__)
def test_every_widget_that_paints_itself_is_guarded(kind):
    paint = vars(kind)["paintEvent"]
    label = issubclass(kind, QLabel) and "reported(self)" in inspect.getsource(paint)  # it has its own painter
    assert hasattr(paint, "__wrapped__") or label


def test_every_painter_is_ended_and_every_saved_state_given_back():
    # Only a `with` does that when an error comes between.
    for file in sorted(UI.rglob("*.py")):
        for line in file.read_text(encoding="utf-8").splitlines():
            assert "QPainter(" not in line or re.match(r"\s*with .*QPainter\([\w.]+\) as painter:", line), (file, line)
            if file.name != "painting.py":
                assert "painter.save()" not in line, file


class Broken(QWidget):
    """Paints half of itself, with a state saved, and fails."""

    def __init__(self, parent):
        super().__init__(parent)
        self.broken, self.n_paints = True, 0
        self.resize(60, 60)

    @guarded
    def paintEvent(self, event, painter):
        self.n_paints += 1
        with saved(painter):
            painter.translate(20, 20)
            painter.fillRect(QRectF(0, 0, 10, 10), QColor("#1F74C9"))
            if self.broken:
                raise RuntimeError("broken")


class Whole(QWidget):
    """A neighbour, painted after the broken one by the same painter when a picture of both is taken."""

    @guarded
    def paintEvent(self, event, painter):
        painter.fillRect(self.rect(), QColor("#C2410C"))


@pytest.fixture
def page(qtbot):
    page = QWidget()
    qtbot.addWidget(page)
    page.resize(200, 100)
    page.broken = Broken(page)
    whole = Whole(page)
    whole.setGeometry(100, 50, 100, 50)
    return page


def test_an_error_is_told_once_and_what_stands_beside_is_painted(qtbot, page):
    with qtbot.captureExceptions() as raised:
        page.show()
        qtbot.waitExposed(page)
        image = page.grab().toImage()
        page.grab()
    assert [kind for kind, *_ in raised] == [RuntimeError]
    assert page.broken.n_paints >= 2
    assert image.pixelColor(150, 75).name() == "#c2410c"
    assert image.pixelColor(101, 51).name() == "#c2410c"  # not shifted by the state left behind
    page.broken.broken = False
    assert page.grab().toImage().pixelColor(25, 25).name() == "#1f74c9"


def test_the_traceback_may_be_kept_without_keeping_the_painter(qtbot, page):
    # A notice keeps the error, the error its traceback, the traceback the frames with their painter: Qt said
    # "Cannot destroy paint device that is being painted" and aborted.
    with qtbot.captureExceptions() as raised:
        page.grab()
        error = raised[0][1]
        page.broken.setParent(None)
        del page.broken
    assert error.__traceback__ is not None
    assert not page.grab().isNull()


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_picture_can_be_written_though_a_part_fails(qtbot, page, tmp_path, suffix):
    with qtbot.captureExceptions() as raised:
        export(page, str(tmp_path / f"page.{suffix}"), scale=1.0)
    assert len(raised) == 1
    assert (tmp_path / f"page.{suffix}").stat().st_size > 200


def test_a_notice_over_what_cannot_be_painted_does_not_paint_for_ever(qtbot, page, monkeypatch):
    notice = Notice(page)
    monkeypatch.setattr("sys.excepthook", lambda kind, error, trace: notice.ask(str(error), ()))
    page.broken.resize(page.size())
    page.show()
    qtbot.waitUntil(notice.isVisible)
    for _ in range(50):
        QCoreApplication.processEvents()
    assert page.broken.n_paints < 10
    notice.hide()
