"""A run that takes long: the window says how long, shows its first layers, gives it up, and keeps the last good one."""

import threading

import pytest
from PySide6.QtCore import Qt

import kav
from kav.model.edits import ScaleHead
from kav.views.so_far import teller
from ui import running as running_module
from ui import session as session_module
from ui.engine import Engine
from ui.runs import run_prompt
from ui.session import Session
from ui.window import Window

pytestmark = pytest.mark.window
NEXT = "The cat sat on the mat and the cat"


@pytest.fixture(scope="module")
def bundled():
    return kav.open_model("bundled")


class Gate:
    """Holds runs up after their first layer, as a large model would."""

    def __init__(self):
        self.open = threading.Event()
        self.open.set()

    def run_prompt(self, wanted, last, task):
        tokens = wanted.model.encode(wanted.prompt)
        task.report(0.0, f"{len(tokens.ids):,} tokens through 2 layers")
        if not self.open.is_set():
            kav.run(wanted.model, tokens, so_far=teller(task.show, clock=iter(range(0, 100, 10)).__next__))
            while not self.open.wait(0.01):
                task.report(0.5)
        return run_prompt(wanted, last, task)


@pytest.fixture
def gate(monkeypatch):
    gate = Gate()
    monkeypatch.setattr(session_module, "run_prompt", gate.run_prompt)
    monkeypatch.setattr(running_module, "BUSY_AFTER", 0)
    yield gate
    gate.open.set()


@pytest.fixture
def window(bundled, gate, qtbot):
    engine = Engine()
    session = Session(engine)
    engine.setParent(session)
    session.set_model(bundled)
    window = Window(session, engine)
    session.setParent(window)
    qtbot.addWidget(window)
    window.resize(1440, 900)
    window.show()
    qtbot.waitUntil(lambda: window.settled() and window.result("dose") is not None, timeout=10_000)
    yield window
    gate.open.set()
    window.close()


@pytest.fixture
def slow_run(window, gate, qtbot):
    gate.open.clear()
    before = window.session.trace
    window.session.set_prompt(NEXT)
    qtbot.waitUntil(lambda: "so far" in window.running.card.text(), timeout=10_000)
    return before


def test_card_says_how_long_and_the_last_run_stays(window, slow_run, gate, qtbot):
    card = window.running.card
    assert card.isVisible()
    assert card.text() == "10 tokens: layer 0 of 2 so far, about 10 s left"
    assert window.session.trace is slow_run
    assert window.geometry().height() > card.geometry().bottom()
    gate.open.set()
    qtbot.waitUntil(lambda: window.session.trace is not slow_run, timeout=10_000)
    qtbot.waitUntil(lambda: not card.isVisible())
    assert window.session.runs.prompt == NEXT


def test_heads_of_the_first_layers_can_be_looked_at(window, slow_run, qtbot):
    card = window.running.card
    assert not card.mosaic.isVisible()
    qtbot.mouseClick(card.heads_button, Qt.MouseButton.LeftButton)
    assert card.mosaic.isVisible()
    assert card.mosaic.n_layers == 2
    qtbot.mouseClick(card.mosaic, Qt.MouseButton.LeftButton, pos=card.mosaic.head_rect(0, 3).center().toPoint())
    assert card.mosaic.chosen == (0, 3)
    assert card.head.accessibleName().startswith("head 0.3, ")
    assert not card.grab().isNull()
    qtbot.mouseClick(card.mosaic, Qt.MouseButton.LeftButton, pos=card.mosaic.head_rect(1, 0).center().toPoint())
    assert card.mosaic.chosen == (0, 3)  # layer 1 is not there yet
    assert window.rect().contains(card.geometry())
    qtbot.mouseClick(card.heads_button, Qt.MouseButton.LeftButton)
    assert not card.mosaic.isVisible()


def test_panels_answer_while_it_runs(window, slow_run, qtbot):
    window.session.select_head(0, 2)
    qtbot.waitUntil(lambda: window.result("attention").head == 2, timeout=10_000)
    assert window.result("attention").layer == 0


@pytest.mark.parametrize("way", ["button", "escape"])
def test_cancelled_run_leaves_prompt_and_panels_as_they_were(window, slow_run, qtbot, way):
    before = window.session.runs
    if way == "button":
        qtbot.mouseClick(window.running.card.cancel, Qt.MouseButton.LeftButton)
    else:
        qtbot.keyClick(window, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not window.running.card.isVisible())
    assert window.session.prompt == before.prompt
    assert window.session.runs is before
    qtbot.waitUntil(lambda: window.settled() and window.result("dose") is not None, timeout=10_000)


def test_cancelled_edit_is_taken_back(window, gate, qtbot):
    gate.open.clear()
    window.session.put_edit(ScaleHead(0, 0, 0.0))
    qtbot.waitUntil(window.running.card.isVisible, timeout=10_000)
    window.session.cancel_run()
    gate.open.set()
    assert window.session.edits == ()
    qtbot.waitUntil(window.settled, timeout=10_000)
    assert window.session.trace.edits == ()


def test_prompt_of_more_than_half_of_the_memory_is_run_only_if_somebody_says_so(window, monkeypatch, qtbot):
    from kav.model.prompt_size import run_bytes

    before, n = window.session.trace, len(window.session.model.encode(NEXT).ids)
    free = round(1.5 * run_bytes(window.session.model.config, n))
    monkeypatch.setattr("kav.model.prompt_size.free_memory", lambda: free)
    window.session.set_prompt(NEXT)
    qtbot.waitUntil(window.notice.isVisible, timeout=10_000)
    assert "half of the free memory" in window.notice.text()
    assert window.session.trace is before
    assert [button.text() for button in window.notice.buttons][1] == "Run it all the same"
    qtbot.mouseClick(window.notice.buttons[1], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.session.runs.prompt == NEXT, timeout=10_000)


def test_prompt_beyond_all_memory_can_only_be_cut(window, monkeypatch, qtbot):
    monkeypatch.setattr("kav.model.prompt_size.free_memory", lambda: 30_000)
    window.session.set_prompt(NEXT)
    qtbot.waitUntil(window.notice.isVisible, timeout=10_000)
    assert all(button.text().startswith(("Cut", "The first")) for button in window.notice.buttons)
