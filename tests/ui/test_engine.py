"""The engine's promises: drags stay alive and end on the last value, sweeps delay nobody, nothing outlives close."""

import gc
import subprocess
import sys
import threading
import time
import weakref

import pytest

from kav.task import Task
from ui.engine import Engine


@pytest.fixture
def engine(qtbot):
    engine = Engine()
    yield engine
    engine.close()


class Recorder:
    """Keeps every result by channel."""

    def __init__(self, engine):
        self.results = []
        self.errors = []
        self.stopped = []
        engine.finished.connect(self._on_engine_finished)
        engine.failed.connect(self._on_engine_failed)
        engine.stopped.connect(self._on_engine_stopped)

    def _on_engine_finished(self, channel, value):
        self.results.append((channel, value, threading.current_thread()))

    def _on_engine_failed(self, channel, error):
        self.errors.append((channel, error))

    def _on_engine_stopped(self, channel):
        self.stopped.append(channel)

    def values(self, channel):
        return [value for name, value, _ in self.results if name == channel]


def slow(value, steps=4):
    """A job of about 40 ms that reports between its steps."""

    def work(task: Task):
        for step in range(steps):
            task.report(step / steps)
            time.sleep(0.01)
        return value

    return work


def test_a_drag_keeps_showing_frames_and_ends_on_the_last_value(engine, qtbot):
    recorder = Recorder(engine)
    for value in range(60):  # asks every 10 ms, four times as fast as it can be answered
        engine.submit("drag", slow(value))
        qtbot.wait(10)
    qtbot.waitUntil(lambda: not engine.busy() and recorder.values("drag")[-1:] == [59], timeout=5000)
    shown = recorder.values("drag")
    assert len(shown) >= 5, "a drag must show pictures on the way"
    assert shown == sorted(shown)


def test_a_request_that_is_replaced_costs_no_turn(engine, qtbot):
    """Story: each step of a drag queued a turn of its own, and every further step looked through all of them."""
    recorder, started = Recorder(engine), threading.Event()

    def first(task: Task):
        started.set()
        return slow(-1)(task)

    engine.submit("panel", first)
    assert started.wait(2)
    for at in range(500):
        engine.submit("panel", slow(at, steps=1))
        engine.submit("other", slow(at, steps=1))
    assert len(engine._futures) <= 3
    engine.cancel("other")
    engine.submit("other", slow("again", steps=1))
    qtbot.waitUntil(lambda: not engine.busy())
    assert recorder.values("panel") == [-1, 499]
    assert recorder.values("other") == ["again"]


def test_results_arrive_in_the_gui_thread(engine, qtbot):
    recorder = Recorder(engine)
    engine.submit("a", lambda task: threading.current_thread())
    qtbot.waitUntil(lambda: len(recorder.results) == 1)
    _, worker, here = recorder.results[0]
    assert here is threading.main_thread()
    assert worker is not here


def test_a_long_job_never_delays_a_live_one(engine, qtbot):
    recorder = Recorder(engine)
    gate = threading.Event()
    engine.submit("map", lambda task: gate.wait(10), lane="long")
    engine.submit("fit", lambda task: "live")
    qtbot.waitUntil(lambda: recorder.values("fit") == ["live"])
    assert recorder.values("map") == []
    gate.set()
    qtbot.waitUntil(lambda: recorder.values("map") == [True])


def test_a_newer_long_request_cancels_the_running_one(engine, qtbot):
    recorder = Recorder(engine)
    engine.submit("map", slow("old", steps=500), lane="long")
    with qtbot.waitSignal(engine.started):
        pass
    engine.submit("map", slow("new"), lane="long")
    qtbot.waitUntil(lambda: recorder.values("map") == ["new"], timeout=3000)
    assert recorder.stopped == ["map"]


def test_what_a_job_holds_is_freed_without_the_garbage_collector(engine, qtbot):
    """Results are megabytes: those of a drag must not pile up until cycles are collected."""
    recorder = Recorder(engine)

    class Large:
        def __call__(self, task):
            task.report(0.5)
            return "done"

    enabled = gc.isenabled()
    gc.disable()
    try:
        works = [Large() for _ in range(5)]
        held = [weakref.ref(work) for work in works]
        while works:  # most are replaced before they run
            engine.submit("drag", works.pop())
        qtbot.waitUntil(lambda: not engine.busy() and bool(recorder.values("drag")))
        qtbot.waitUntil(lambda: all(work() is None for work in held))
    finally:
        if enabled:  # the other tests here run without: a collection at any moment frees widgets under Qt's feet
            gc.enable()


def test_channels_take_turns(engine, qtbot):
    recorder = Recorder(engine)
    for channel in "abc":
        engine.submit(channel, slow(channel))
        engine.submit(channel, slow(channel.upper()))
    qtbot.waitUntil(lambda: not engine.busy() and len(recorder.results) >= 3, timeout=3000)
    assert {channel for channel, _, _ in recorder.results} == set("abc")
    assert recorder.values("b")[-1] == "B"
    assert recorder.values("c") == ["C"]


def test_cancel_stops_at_the_next_report_and_drops_the_result(engine, qtbot):
    recorder = Recorder(engine)
    engine.submit("fit", slow("never", steps=500))
    with qtbot.waitSignal(engine.started):
        pass
    engine.cancel("fit")
    qtbot.waitUntil(lambda: recorder.stopped == ["fit"], timeout=1000)
    assert recorder.values("fit") == []
    assert not engine.busy("fit")


def test_an_error_is_handed_over_and_the_engine_goes_on(engine, qtbot):
    recorder = Recorder(engine)

    def broken(task):
        raise ZeroDivisionError("one")

    engine.submit("fit", broken)
    engine.submit("dose", lambda task: 2)
    qtbot.waitUntil(lambda: recorder.values("dose") == [2])
    assert [(channel, type(error)) for channel, error in recorder.errors] == [("fit", ZeroDivisionError)]


def test_nothing_is_announced_after_close(qtbot):
    engine = Engine()
    recorder = Recorder(engine)
    engine.submit("fit", slow("late", steps=20))
    engine.close()
    qtbot.wait(50)
    assert (recorder.results, recorder.errors) == ([], [])
    engine.submit("fit", slow("ignored"))
    assert not engine.busy()


def test_an_inline_engine_answers_before_submit_returns(qtbot):
    engine = Engine.inline()
    recorder = Recorder(engine)
    engine.submit("fit", lambda task: 7)
    assert recorder.values("fit") == [7]


PROGRAM = """
import sys, time
from PySide6.QtCore import QCoreApplication, QTimer
from ui.engine import Engine
app = QCoreApplication(sys.argv)
engine = Engine(app)
def sweep(task):
    for step in range(1000):
        task.report(step / 1000)
        time.sleep(0.01)
engine.submit("map", sweep, lane="long")
engine.submit("fit", sweep)
def leave():
    engine.close()
    app.quit()
QTimer.singleShot(int(sys.argv[1]), leave)
sys.exit(app.exec())
"""


@pytest.mark.parametrize("after", [0, 15, 50])
def test_closing_while_busy_leaves_quietly(after):
    """Story: quitting while a worker thread ran aborted with "Destroyed while thread is still running"."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(after)], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_preferred_channel_has_every_second_turn_and_starves_nobody():
    engine = Engine()
    order, go = [], threading.Event()

    def job(channel):
        def work(task):
            order.append(channel)

        return work

    engine.submit("first", lambda task: go.wait(2.0))
    while not engine._running["live"]:
        time.sleep(0.001)
    engine.prefer("hero")
    for channel in ("a", "b", "hero", "c"):
        engine.submit(channel, job(channel))

    def hero(task):
        order.append("hero")
        if len(order) < 8:
            engine.submit("hero", hero)

    engine.submit("hero", hero)
    go.set()
    deadline = time.monotonic() + 3
    while engine._waiting["live"] and time.monotonic() < deadline:
        time.sleep(0.002)
    engine.close()
    assert order[:6] == ["hero", "a", "hero", "b", "hero", "c"]


def test_a_long_run_gives_way_to_a_newer_one_and_a_short_one_is_waited_for(engine, qtbot, monkeypatch):
    """A run of a minute held up the next letter of the prompt for a minute."""
    recorder = Recorder(engine)
    engine.submit("trace", slow("short"), lane="runs")
    qtbot.waitUntil(lambda: engine._running["runs"] is not None)
    engine.submit("trace", slow("next"), lane="runs")
    qtbot.waitUntil(lambda: recorder.values("trace") == ["short", "next"])
    monkeypatch.setattr("ui.engine.PATIENCE", 0.0)
    engine.submit("trace", slow("long", steps=500), lane="runs")
    qtbot.waitUntil(lambda: engine._running["runs"] is not None)
    time.sleep(0.01)
    engine.submit("trace", slow("newer"), lane="runs")
    qtbot.waitUntil(lambda: recorder.values("trace")[-1] == "newer", timeout=2000)
    assert recorder.values("trace") == ["short", "next", "newer"]
    assert recorder.stopped == ["trace"]


def test_a_run_delays_no_panel(engine, qtbot):
    recorder, gate = Recorder(engine), threading.Event()
    engine.submit("trace", lambda task: gate.wait(10), lane="runs")
    engine.submit("fit", lambda task: "live")
    qtbot.waitUntil(lambda: recorder.values("fit") == ["live"])
    gate.set()


def test_what_is_there_so_far_arrives_in_the_gui_thread_unless_it_was_dropped(engine, qtbot):
    seen, gate = [], threading.Event()
    engine.showed.connect(lambda channel, value: seen.append((channel, value, threading.current_thread())))

    def work(task):
        task.show("half")
        gate.wait(5)
        task.show("late")

    engine.submit("trace", work, lane="runs")
    qtbot.waitUntil(lambda: bool(seen))
    assert seen == [("trace", "half", threading.main_thread())]
    engine.cancel("trace")
    gate.set()
    qtbot.waitUntil(lambda: not engine.busy())
    assert len(seen) == 1
