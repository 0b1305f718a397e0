"""One consumer of the session: what it asked last is what it shows in the end."""

import threading
from dataclasses import dataclass

import pytest

import kav
from kav.views.scene import Scene
from ui.engine import Engine
from ui.feed import Feed
from ui.session import Session


@dataclass(frozen=True)
class Spec:
    scene: Scene


class SlowView:
    """A view that waits until it is let go, reporting all the time."""

    def __init__(self):
        self.go = threading.Event()
        self.n_started = 0

    def compute(self, spec, task, last=None):
        self.n_started += 1
        while not self.go.wait(0.005):
            task.report(0.5)
        return spec.scene.selection.head


@pytest.fixture
def session(qtbot):
    engine = Engine()
    session = Session(engine)
    engine.setParent(session)
    session.set_model(kav.open_model("bundled"))
    qtbot.waitUntil(lambda: session.trace is not None)
    yield session
    engine.close()


@pytest.fixture
def slow(session):
    view = SlowView()
    feed = Feed("slow", view, session, spec=lambda: Spec(session.scene()), lane="long", parent=session)
    yield view, feed
    view.go.set()


def test_a_sweep_that_replaces_a_running_one_is_shown(session, slow, qtbot):
    """Story: the stop of the replaced sweep made the feed forget the new one, and its result was thrown away."""
    view, feed = slow
    feed.request()
    qtbot.waitUntil(lambda: view.n_started == 1)
    session.select_head(1, 2)
    qtbot.waitUntil(lambda: view.n_started == 2)
    view.go.set()
    qtbot.waitUntil(lambda: not session.engine.busy())
    assert feed.result == 2


def test_a_sweep_about_another_prompt_is_given_up_at_once(session, slow, qtbot):
    view, feed = slow
    stopped = []
    session.engine.stopped.connect(stopped.append)
    feed.request()
    qtbot.waitUntil(lambda: view.n_started == 1)
    session.set_prompt("The old dog")
    qtbot.waitUntil(lambda: "slow" in stopped)
    qtbot.waitUntil(lambda: view.n_started == 2)
    view.go.set()
    qtbot.waitUntil(lambda: feed.result is not None)
    assert feed.drawn_spec.scene.trace is session.trace
