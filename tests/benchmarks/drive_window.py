"""Opens the real window, drags with real mouse events, and prints what was measured as one line of JSON."""

import json
import os
import subprocess
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
DRAG_SECONDS = 3.0
MOVE_EVERY = 8  # ms, a mouse of 125 Hz


def seconds_since_start() -> float:
    """Return the age of this process, interpreter start included."""
    with open("/proc/self/stat", encoding="ascii") as stat:
        ticks = int(stat.read().rpartition(")")[2].split()[19])
    with open("/proc/uptime", encoding="ascii") as uptime:
        return float(uptime.read().split()[0]) - ticks / os.sysconf("SC_CLK_TCK")


def memory():
    """Return the resident memory of this process in MB."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def build(prompt=None, kind="head", n=200):
    from PySide6.QtWidgets import QApplication

    from ui import theme
    from ui.engine import Engine
    from ui.session import Session
    from ui.window import Window

    app = QApplication(["kav"])
    theme.configure_pyqtgraph()
    theme.apply(app, "light")
    engine = Engine(app)
    session = Session(engine, app)
    if prompt is not None:
        session.set_prompt(prompt)
    if kind == "regression":
        from kav.regression.samples import sine

        session.set_samples(sine(n))
        session.set_scene("regression")
    window = Window(session, engine)
    window.resize(1440, 900)
    return app, session, window


def live(window):
    docks = window.docks.items()
    return window.settled() and all(window.result(name) is not None for name, dock in docks if dock.isVisible())


def start():
    from PySide6.QtCore import QEvent, QObject, QTimer

    app, _, window = build()
    found = {}

    class FirstPaint(QObject):
        def eventFilter(self, watched, event):
            if event.type() == QEvent.Type.Paint and "first_paint_s" not in found:
                QTimer.singleShot(0, painted)
            return False

    def painted():
        found.setdefault("first_paint_s", seconds_since_start())

    def look():
        if live(window):
            found["live_s"] = seconds_since_start()
            app.quit()

    watcher = FirstPaint()
    window.installEventFilter(watcher)
    window.show()
    QTimer.singleShot(0, lambda: window.opening.open("bundled"))
    timer = QTimer(interval=5)
    timer.timeout.connect(look)
    timer.start()
    app.exec()
    window.close()
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", ""], check=True)
    found["python_s"] = time.perf_counter() - began
    return found


def grip(window, what):
    """Return the viewport and the place on it where the handle is."""
    panel = window.panels["dose" if what == "dose" else "fit"]
    plot = panel.plot
    names = {"sample": "dot", "key": "dot", "bandwidth": "h"}
    handle = next(handle for handle in plot.handles() if handle.name.startswith(names.get(what, what)))
    return plot.viewport(), handle.x, handle.y


def drag(what, prompt, n=200):
    import numpy as np
    from PySide6.QtCore import QPointF, Qt, QTimer
    from PySide6.QtGui import QMouseEvent
    from PySide6.QtWidgets import QApplication

    from ui.app import _collect_here

    kind = "regression" if what in ("sample", "query", "bandwidth") else "head"
    app, session, window = build(prompt, kind, n)
    collector = _collect_here(app)  # as the program does
    samples_mb = 16 * n / 2**20
    window.show()
    window.opening.open("bundled")
    deadline = time.perf_counter() + 60
    while not live(window) and time.perf_counter() < deadline:
        app.processEvents()
    at_rest = memory()
    viewport, x, y = grip(window, what)
    draws, gaps, state = [], [], {"i": 0, "began": None, "last": None, "reached": False}
    follower = "attention" if kind == "head" else "fit"  # the panel that shows the recomputed state
    window.panels[follower]._feed.drawn.connect(lambda _: draws.append(time.perf_counter()))

    def send(kind_, button, buttons, dx, dy):
        place = QPointF(x + dx, y + dy)
        event = QMouseEvent(kind_, place, viewport.mapToGlobal(place), button, buttons, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(viewport, event)

    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton

    def move():
        now = time.perf_counter()
        if state["last"] is not None:
            gaps.append(now - state["last"])
        state["last"] = now
        state["i"] += 1
        sway = np.sin(state["i"] / 25)
        send(QMouseEvent.Type.MouseMove, none, left, 90 * sway, 30 * sway if what == "sample" else 0)
        state["reached"] = state["reached"] or session.document != before
        if now - state["began"] > DRAG_SECONDS:
            timer.stop()
            send(QMouseEvent.Type.MouseButtonRelease, left, none, 90 * sway, 0)
            app.quit()

    timer = QTimer(interval=MOVE_EVERY, timerType=Qt.TimerType.PreciseTimer)
    timer.timeout.connect(move)
    send(QMouseEvent.Type.MouseButtonPress, left, left, 0, 0)
    before = session.document
    state["began"] = time.perf_counter()
    cpu = time.process_time()
    timer.start()
    app.exec()
    cpu = time.process_time() - cpu
    collector.stop()
    extra = memory() - at_rest
    window.close()
    if not state["reached"]:
        raise SystemExit(f"the drag of {what} did not reach the session")
    waits = 1000 * (np.sort(gaps) - MOVE_EVERY / 1000)
    return {
        "n": len(session.document.samples.x) if kind == "regression" else len(session.trace.tokens.ids),
        "updates_per_second": len(draws) / DRAG_SECONDS,
        "cpu_ms_per_update": 1000 * cpu / max(len(draws), 1),
        "gap_p99_ms": float(np.quantile(waits, 0.99)),
        "gap_max_ms": float(waits[-1]),
        "extra_mb": extra,
        "samples_mb": samples_mb,
    }


if __name__ == "__main__":
    answer = start() if sys.argv[1] == "start" else drag(sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
    sys.stdout.write(json.dumps(answer) + "\n")
