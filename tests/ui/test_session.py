"""The session: state flows one way, every change is announced once, and everything can be taken back."""

import numpy as np
import pytest

import kav
from kav.model.edits import MaskKeys, ScaleHead, SetTemperature
from kav.regression.samples import Samples
from ui.engine import Engine
from ui.session import Session


@pytest.fixture(scope="module")
def bundled():
    return kav.open_model("bundled")


@pytest.fixture
def session(qtbot):
    engine = Engine.inline()
    session = Session(engine)
    yield session
    engine.close()


class Counter:
    """Counts emissions of the session's signals."""

    def __init__(self, session):
        self.counts = {}
        for name in ("sceneChanged", "traceChanged", "selectionChanged", "editsChanged", "samplesChanged"):
            self.counts[name] = 0
            getattr(session, name).connect(lambda name=name: self._count(name))

    def _count(self, name):
        self.counts[name] += 1

    def __getitem__(self, name):
        return self.counts[name]


def test_a_change_that_changes_nothing_is_silent(session):
    seen = Counter(session)
    session.select(layer=session.selection.layer)
    session.set_h(session.document.h)
    session.set_scene("head")
    session.put_edit(ScaleHead(0, 0, 1.0))
    assert sum(seen.counts.values()) == 0
    assert session.undo_stack.count() == 0


def test_each_change_is_announced_once(session):
    seen = Counter(session)
    session.select_head(0, 3)
    session.set_x_query(1.5)
    session.put_edit(ScaleHead(0, 0, 0.0))
    assert (seen["selectionChanged"], seen["samplesChanged"], seen["editsChanged"]) == (1, 1, 1)


def test_a_drag_is_one_undo_step(session):
    before = session.document
    for i in range(20):
        session.move_sample(3, 1.0 + i / 10, 0.5, merge=("sample", 3))
    session.end_drag()
    session.move_sample(3, 9.0, 0.5, merge=("sample", 3))
    assert session.undo_stack.count() == 2
    session.undo_stack.undo()
    assert session.document.samples.x[3] == pytest.approx(2.9)
    session.undo_stack.undo()
    assert session.document == before
    session.undo_stack.redo()
    assert session.document.samples.x[3] == pytest.approx(2.9)


def test_an_edit_of_the_same_thing_replaces_it_and_a_neutral_one_removes_it(session):
    session.put_edit(ScaleHead(0, 0, 0.0))
    session.put_edit(SetTemperature(1, 1, 2.0))
    session.put_edit(ScaleHead(0, 0, 0.5, "mean"))
    assert session.edits == (SetTemperature(1, 1, 2.0), ScaleHead(0, 0, 0.5, "mean"))
    session.put_edit(ScaleHead(0, 0, 1.0))
    session.put_edit(SetTemperature(1, 1, 1.0))
    assert session.edits == ()


def test_back_and_forward_walk_through_the_selection(session):
    start = session.place
    session.select_head(0, 0)
    session.set_scene("regression")
    session.select_sample(5)
    session.back()
    assert (session.kind, session.place.sample) == ("regression", None)
    session.back()
    session.back()
    assert session.place == start
    session.forward()
    assert (session.selection.layer, session.selection.head) == (0, 0)
    session.select_head(1, 3)
    assert session.can_go() == (True, False), "a new step forgets the way forward"


def test_deleting_a_sample_moves_the_doses_of_those_after_it(session):
    session.set_sample_dose(4, 0.0)
    session.set_sample_dose(7, 2.0)
    session.remove_sample(4)
    assert session.document.doses == ((6, 2.0),)
    session.undo_stack.undo()
    assert session.document.doses == ((4, 0.0), (7, 2.0))


def test_the_last_sample_stays(session, qtbot):
    session.set_samples(Samples(np.array([1.0]), np.array([2.0]), "one"))
    with qtbot.waitSignal(session.problemRaised):
        session.remove_sample(0)
    assert len(session.document.samples.x) == 1


def test_a_prompt_and_an_edit_rerun_the_model(session, bundled):
    session.set_model(bundled)
    base = session.trace
    session.put_edit(ScaleHead(0, 0, 0.0))
    assert session.before is base
    np.testing.assert_allclose(
        session.trace.logits(-1), kav.run(bundled, base.tokens, edits=(ScaleHead(0, 0, 0.0),)).logits(-1), atol=1e-5
    )
    session.undo_stack.undo()
    assert session.trace is base
    session.set_prompt("A dark green carriage")
    assert session.trace is not base
    assert session.selection.query is None


def test_edits_of_places_that_a_shorter_prompt_lacks_wait_until_they_exist(session, bundled):
    session.set_model(bundled)
    n_tokens = len(session.trace.tokens.ids)
    session.put_edit(MaskKeys(1, 0, (n_tokens - 1,)))
    long_prompt = session.prompt
    session.set_prompt("A dark")
    assert session.before is None
    session.set_prompt(long_prompt)
    assert session.before is not None


def test_a_refused_prompt_keeps_the_last_good_run(session, bundled, qtbot):
    session.set_model(bundled)
    good = session.runs
    with qtbot.waitSignal(session.problemRaised) as raised:
        session.set_prompt("word " * 400)
    assert "256" in str(raised.args[0])
    assert session.runs is good


def test_what_would_be_undone_is_named_and_a_drag_by_its_end(session):
    session.put_edit(ScaleHead(0, 1, 0.5), merge="dose")
    session.put_edit(ScaleHead(0, 1, 0.25), merge="dose")
    session.end_drag()
    assert session.undo_stack.undoText() == "head 0.1 × 0.25"
    session.remove_edit(session.edits[0])
    assert session.undo_stack.undoText() == "take back head 0.1 × 0.25"
