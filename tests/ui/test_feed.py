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


class GlancingView(SlowView):
    """Shows the first half of its answer at once, and the whole when it is let go."""

    def compute(self, spec, task, last=None):
        task.show((spec.scene.selection.head, "half"))
        return super().compute(spec, task, last), "whole"


def test_what_there_is_of_an_answer_is_handed_over_until_the_whole_is_there(session, qtbot):
    view, glances, drawn = GlancingView(), [], []
    feed = Feed("glancing", view, session, spec=lambda: Spec(session.scene()), lane="long", parent=session)
    feed.glanced.connect(glances.append)
    feed.drawn.connect(drawn.append)
    feed.request()
    qtbot.waitUntil(lambda: len(glances) == 1)
    head = session.selection.head
    assert (feed.result, drawn) == ((head, "half"), [])
    assert session.engine.busy("glancing")
    other = (head + 1) % session.trace.model.config.n_heads
    session.select_head(0, other)
    qtbot.waitUntil(lambda: glances[-1] == (other, "half"))
    view.go.set()
    qtbot.waitUntil(lambda: drawn == [(other, "whole")])
    assert feed.result == (other, "whole")


def test_glance_of_a_request_that_was_replaced_is_not_shown(session, qtbot):
    view, glances = GlancingView(), []
    feed = Feed("glancing", view, session, spec=lambda: Spec(session.scene()), lane="long", parent=session)
    feed.glanced.connect(glances.append)
    feed.request()
    deadline = 400
    while not view.n_started and deadline:  # no event loop: what was shown is on its way to this thread
        threading.Event().wait(0.005)
        deadline -= 1
    other = (session.selection.head + 1) % session.trace.model.config.n_heads
    session.select_head(0, other)
    view.go.set()
    qtbot.waitUntil(lambda: feed.result == (other, "whole"))
    assert glances == [(other, "half")]
