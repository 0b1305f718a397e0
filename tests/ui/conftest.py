"""What every test of the window gets: the theme, real drags, whole windows, and a check that nothing is left behind."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pyqtgraph as pg
import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QSettings, QThreadPool, QTimer
from PySide6.QtWidgets import QApplication, QToolTip, QWidget

import kav
from ui import theme
from ui.engine import Engine
from ui.session import Session
from ui.window import Window

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.qt_log_level_fail("WARNING"))
            # Said by the offscreen platform about itself, and by QTest when a disabled widget ignores a click.
            noise = ("This plugin does not support", "not accepted by receiving widget")
            item.add_marker(pytest.mark.qt_log_ignore(*noise, extend=True))


@pytest.fixture(scope="session", autouse=True)
def application(qapp: QApplication) -> QApplication:
    """The application with its fonts, theme and pyqtgraph options; no mouse move of a test is dropped."""
    theme.apply(qapp, "light")
    theme.configure_pyqtgraph()
    pg.setConfigOptions(mouseRateLimit=0)
    gc.collect()
    gc.disable()  # as the program does: a collection in the middle of a paint would end widgets under Qt's feet
    return qapp


def _finish_deletions() -> None:
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()


def _widgets() -> dict[int, QWidget]:
    """Return the living widgets by address; tips belong to the application, which ends them by a timer."""
    return {
        shiboken6.getCppPointer(widget)[0]: widget
        for widget in QApplication.allWidgets()
        if widget.metaObject().className() != "QTipLabel"
    }


@pytest.fixture(autouse=True)
def nothing_leaks(application: QApplication, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that leaves a widget, a running timer, a thread or a busy pool behind."""
    started: list[weakref.ref[QTimer]] = []
    start = QTimer.start

    def recorded(timer: QTimer, *args: object) -> None:
        started.append(weakref.ref(timer))
        start(timer, *args)

    monkeypatch.setattr(QTimer, "start", recorded)
    widgets = set(_widgets())
    threads = set(threading.enumerate())
    yield
    QToolTip.hideText()
    if theme.current() is not theme.LIGHT:
        theme.apply(application, "light")
    _finish_deletions()
    gc.collect(1)
    if set(_widgets()) - widgets:
        gc.collect()  # a widget in a reference cycle is not a leak
        _finish_deletions()
    left = [f"{type(w).__name__} {w.objectName()!r}" for at, w in _widgets().items() if at not in widgets]
    assert not left, f"widgets left behind: {left}"
    timers = [timer for ref in started if (timer := ref()) is not None and shiboken6.isValid(timer)]
    running = [timer.objectName() or repr(timer.parent()) for timer in timers if timer.isActive()]
    assert not running, f"timers still running: {running}"
    # The threads that share rows of one product stay for the life of the process.
    started_threads = {t for t in threading.enumerate() if not t.name.startswith("kav-rows")} - threads
    for thread in started_threads:
        thread.join(2.0)  # a worker told to stop still has to reach its next check
    alive = [thread.name for thread in started_threads if thread.is_alive()]
    assert not alive, f"threads still alive: {alive}"
    assert QThreadPool.globalInstance().activeThreadCount() == 0, "the global thread pool is busy"


@pytest.fixture(scope="module")
def bundled():
    return kav.open_model("bundled")


@pytest.fixture
def settings(tmp_path):
    return QSettings(str(tmp_path / "kav.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def make_window(bundled, qtbot, settings):
    windows = []  # qtbot holds weak references only, and a collection in the middle of a paint would end the window

    def make(size=(1440, 900), engine=None, *, scene="head"):
        engine = engine or Engine.inline()
        session = Session(engine)
        engine.setParent(session)
        session.set_scene(scene)
        if scene == "head":
            session.set_model(bundled)
        window = Window(session, engine, settings=settings)
        session.setParent(window)
        windows.append(window)
        qtbot.addWidget(window)
        window.resize(*size)
        window.show()
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        qtbot.waitUntil(lambda: all(window.result(name) for name, dock in window.docks.items() if dock.isVisible()))
        return window

    yield make
    for window in windows:
        window.close()


@pytest.fixture
def regression_window(make_window):
    """A window without a model, in the regression scene."""
    return make_window(scene="regression")
