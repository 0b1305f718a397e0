import threading

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

import kav
from kav.model.edits import ScaleHead
from kav.views.dose import Component
from ui.engine import Engine
from ui.panels.dose import DosePanel
from ui.session import Session


@pytest.fixture
def session(qtbot):
    engine = Engine.inline()
    yield Session(engine)
    engine.close()


@pytest.fixture
def panel(qtbot, session, bundled):
    """The panel in the head scene, drawn."""
    widget = DosePanel(session)
    qtbot.addWidget(widget)
    qtbot.addWidget(widget.header)
    widget.resize(481, 270)
    widget.show()
    session.set_model(bundled)
    qtbot.waitUntil(lambda: widget.result is not None)
    return widget


def drag_to(panel, *doses):
    plot = panel.plot
    view, handle = plot.viewport(), plot.handles()[0]
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=QPoint(round(handle.x), round(handle.y)))
    for dose in doses:
        at = QPoint(round(plot.frame_px.x_px(dose)), round(handle.y))
        QTest.mouseMove(view, at)
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=at)


def test_dragging_the_handle_edits_the_model_in_one_undo_step(panel, session):
    before = panel.result.value
    drag_to(panel, 0.8, 0.5, 0.0)
    layer, head = session.selection.layer, session.selection.head
    assert session.edits == (ScaleHead(layer, head, 0.0),)
    assert session.undo_stack.count() == 1
    assert panel.result.dose == 0.0
    assert panel.result.before == pytest.approx(before)
    session.undo_stack.undo()
    assert panel.result.dose == 1.0
    assert panel.result.value == pytest.approx(before)


def test_the_value_at_a_dose_is_that_of_the_edited_run(panel, session):
    drag_to(panel, 0.4)
    trace = session.trace
    target = int(np.argmax(session.before.logits(-1)))
    assert panel.result.value == pytest.approx(float(trace.logits(-1)[target]), abs=1e-3)
    curve = panel.result.curve
    assert np.interp(panel.result.dose, curve.doses, curve.response) == pytest.approx(panel.result.value, abs=0.1)


def test_the_curve_is_kept_while_the_handle_moves(panel):
    curve = panel.result.curve
    drag_to(panel, 0.5)
    assert panel.result.curve is curve


def test_reset_shows_only_while_edited_and_takes_the_edit_away(panel, session):
    assert not panel.reset.isVisible()
    drag_to(panel, 0.5)
    assert panel.reset.isVisible()
    QTest.mouseClick(panel.reset, Qt.MouseButton.LeftButton)
    assert session.edits == ()
    assert not panel.reset.isVisible()


def test_arrow_keys_and_a_typed_value_do_what_the_drag_does(panel, session):
    panel.plot.active = "dose"
    QTest.keyClick(panel.plot, Qt.Key.Key_Left)
    assert session.edits[0].scale == pytest.approx(0.99)
    panel.value.setText("-0.5")
    QTest.keyClick(panel.value, Qt.Key.Key_Return)
    assert session.edits[0].scale == -0.5
    assert panel.result.dose == -0.5


def test_another_component_can_be_chosen_and_a_new_selection_takes_over(panel, session):
    other = Component(0, 1)
    panel.component.changed.emit(other)
    assert panel.result.component == other
    drag_to(panel, 0.0)
    assert session.edits == (ScaleHead(0, 1, 0.0),)
    session.clear_edits()
    session.select_head(0, 3)
    assert panel.result.component == Component(0, 3)


def test_another_response_is_another_curve(panel):
    assert panel.result.curve.response.max() > 1  # a logit
    panel.response.set_current("prob")
    panel.response.changed.emit("prob")
    probability = panel.plot.rerun.data[1]
    assert probability.min() >= 0
    assert probability.max() <= 1


def test_the_dose_of_a_sample_is_its_kernel_weight(panel, session):
    session.set_scene("regression")
    assert panel.result.kind == "regression"
    sample = panel.result.component.sample
    drag_to(panel, 0.5, 0.0)
    assert session.document.doses == ((sample, 0.0),)
    assert panel.result.dose == 0.0


def test_the_handle_scales_the_response_where_that_is_what_is_shown(panel, session, tmp_path):
    """Story: the line of the response was shown, and the handle scaled the weight."""
    session.set_scene("regression")
    panel.scope.set_current("response")
    panel.scope.changed.emit("response")
    sample, before = panel.result.component.sample, panel.result.value
    samples = session.document.samples
    x, y = samples.pair(sample)
    drag_to(panel, 0.5, 2.0)
    assert (session.document.doses, session.document.responses) == ((), ((sample, 2.0),))
    assert session.undo_stack.count() == 1
    assert session.edited
    assert session.scene().samples.pair(sample) == (x, 2 * y)
    assert session.scene() == session.scene(), "nothing is computed twice"
    moved = samples.moved(sample, x, 2 * y)
    doc = session.document
    assert panel.result.value == pytest.approx(float(kav.fit(moved.x, moved.y, doc.x_query, doc.h)), abs=1e-9)
    assert panel.result.before == pytest.approx(before)
    panel.export_to(str(tmp_path / "dose.csv"))
    assert f"response of sample {sample}" in (tmp_path / "dose.csv").read_text(encoding="utf-8")
    panel.reset.click()
    assert session.document.responses == ()
    assert panel.result.value == pytest.approx(before)
    session.undo()
    assert session.document.responses == ((sample, 2.0),)
    assert panel.result.dose == 2.0
    session.clear_edits()
    assert not session.edited


def test_a_sample_put_elsewhere_has_the_response_it_was_put_at(panel, session):
    session.set_scene("regression")
    session.set_sample_response(4, 3.0)
    session.set_sample_response(9, 0.0)
    session.move_sample(4, 2.0, 0.7)
    assert session.document.responses == ((9, 0.0),)
    assert session.scene().samples.pair(4) == (2.0, 0.7)
    session.remove_sample(4)
    assert session.document.responses == ((8, 0.0),)


def test_a_wide_panel_offers_baseline_and_scope(panel):
    assert not panel.baseline.isVisible()
    panel.resize(800, 300)
    assert panel.baseline.isVisible()
    assert panel.scope.isVisible()


def test_the_scale_is_on_every_position_after_a_visit_to_the_other_scene(panel, session):
    # A redraw before the head's own result put the samples' scopes back, and every dose then held at the query alone.
    session.set_scene("regression")
    before = panel.result
    session.set_scene("head")
    panel.draw(before)
    panel.request()
    drag_to(panel, 0.5)
    assert session.edits[-1].positions is None


def test_the_panel_follows_what_was_touched_last(panel, session):
    session.put_edit(ScaleHead(0, 0, 0.0))
    assert panel.result.component == Component(0, 0)
    session.select(layer=1, head=2)
    assert panel.result.component == Component(1, 2)
    session.put_edit(ScaleHead(0, 0, 0.5))
    assert panel.result.component == Component(1, 2), "the same edit with another dose is no other component"
    session.put_edit(ScaleHead(1, 0, 0.5))
    assert panel.result.component == Component(1, 0)
    session.undo_stack.undo()
    assert panel.result.component == Component(0, 0)


def test_what_a_narrow_footer_leaves_out_is_behind_its_dots(panel, session, menu_of):
    assert not panel.baseline.isVisible()
    inner = menu_of(panel.footer_bar.more)
    assert [action.text() for action in inner["Baseline"].actions() if action.isChecked()] == ["zero"]
    next(action for action in inner["Baseline"].actions() if action.text() == "mean").trigger()
    assert panel.result.baseline == "mean"
    assert panel.baseline.current() == "mean"
    next(action for action in inner["Scope"].actions() if action.text() == "this position").trigger()
    assert panel.result.positions == (session.trace.n_tokens - 1,)


def test_a_handle_moved_after_its_run_is_gone_changes_nothing(panel, session):
    session.runs = None
    panel._on_dose_moved(0.5)
    assert session.edits == ()


def test_handle_stays_where_it_was_let_go_until_the_answer_is_there(panel, session, monkeypatch):
    """Story: while a large model ran again, the handle jumped back to dose 1."""
    waiting = []
    monkeypatch.setattr(session, "_request_runs", lambda: waiting.append(True))
    before = panel.result
    drag_to(panel, 0.6, 0.4)
    assert panel.result is before
    assert waiting
    assert panel.plot.dose_shown == pytest.approx(0.4)
    at = np.interp(0.4, before.curve.doses, before.curve.response)
    assert panel.plot.value_shown == pytest.approx(at)
    QTest.keyClick(panel.plot, Qt.Key.Key_Right)  # a step from where it stands
    assert panel.plot.dose_shown == pytest.approx(0.41)
    session.undo_stack.undo()
    session.undo_stack.undo()
    assert session.edits == ()
    assert panel.plot.dose_shown == 1.0


def test_dose_asked_of_one_thing_is_not_shown_of_another(panel, session, monkeypatch):
    monkeypatch.setattr(session, "_request_runs", lambda: None)
    drag_to(panel, 0.4)
    session.set_scene("regression")
    assert panel.result.kind == "regression"
    assert panel.plot.dose_shown == 1.0


def test_handle_shows_the_answer_once_it_is_there(panel, session):
    drag_to(panel, 0.6, 0.4)
    assert panel.plot.dose_shown == panel.result.dose == pytest.approx(0.4)
    assert panel.plot.value_shown == panel.result.value
    session.undo_stack.undo()
    assert panel.plot.dose_shown == panel.result.dose == 1.0
    session.put_edit(ScaleHead(session.selection.layer, session.selection.head, 0.25))
    assert panel.plot.dose_shown == panel.result.dose == 0.25


def test_a_curve_that_was_not_asked_for_says_so_when_the_one_asked_is_cancelled(qtbot, bundled, monkeypatch):
    """Story: Esc left the curve of another prompt standing as if it were of this one."""
    engine = Engine()
    session = Session(engine)
    panel = DosePanel(session)
    for widget in (panel, panel.header):
        qtbot.addWidget(widget)
    panel.show()
    session.set_model(bundled)
    qtbot.waitUntil(lambda: panel.result is not None and not engine.busy())
    compute, go = panel.view.compute, threading.Event()

    def slow(spec, task, last=None):
        while not go.wait(0.005):
            task.report(0.5)
        return compute(spec, task, last)

    monkeypatch.setattr(panel.view, "compute", slow)
    before = panel.result
    session.set_prompt("The cat sat on the mat. The cat")
    qtbot.waitUntil(lambda: engine.busy("dose") and not engine.busy("trace"))
    panel.stage.cancelRequested.emit()
    assert panel.result is before
    assert panel.stage.error.isVisible()
    assert "not of what is asked now" in panel.stage.error.message()
    go.set()
    panel.stage.error.way_out.click()
    qtbot.waitUntil(lambda: panel.result is not before)
    assert not panel.stage.error.isVisible()
    engine.close()
