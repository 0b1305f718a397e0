import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from kav.model.edits import MaskKeys, MoveQuery, SetScore, SetTemperature
from kav.regression.samples import Samples
from ui.engine import Engine
from ui.panels.fit import FitPanel
from ui.session import Session


@pytest.fixture
def session(qtbot):
    engine = Engine.inline()
    yield Session(engine)
    engine.close()


@pytest.fixture
def panel(qtbot, session):
    """The panel in the regression scene, drawn."""
    session.set_scene("regression")
    widget = FitPanel(session)
    qtbot.addWidget(widget)
    qtbot.addWidget(widget.header)
    widget.resize(793, 380)
    widget.show()
    widget.activateWindow()
    qtbot.waitUntil(widget.isActiveWindow)
    qtbot.waitUntil(lambda: widget.result is not None)
    return widget


@pytest.fixture
def head_panel(panel, session, bundled):
    """The panel in the head scene, drawn."""
    session.set_scene("head")
    session.set_model(bundled)
    assert panel.result.kind == "head"
    return panel


def place(panel, name):
    handle = next(handle for handle in panel.plot.handles() if handle.name == name)
    return QPoint(round(handle.x), round(handle.y))


def drag(panel, start, *stops):
    view = panel.plot.viewport()
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    for stop in stops:
        QTest.mouseMove(view, stop)
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=stops[-1])


def test_dragging_a_sample_moves_it_and_the_curve_in_one_undo_step(panel, session):
    before, curve = session.document, panel.plot.curve.data[1].copy()
    index = panel.result.selected
    start = place(panel, f"dot{index}")
    x, y = panel.plot.frame_px.x_at(start.x() + 30), panel.plot.frame_px.y_at(start.y() - 50)
    drag(panel, start, start + QPoint(10, -20), start + QPoint(20, -40), start + QPoint(30, -50))
    assert session.document.samples.x[index] == pytest.approx(x)
    assert session.document.samples.y[index] == pytest.approx(y)
    assert panel.result.points.y[index] == pytest.approx(y)
    assert not np.allclose(panel.plot.curve.data[1], curve, equal_nan=True)
    session.undo_stack.undo()
    assert session.document == before
    np.testing.assert_allclose(panel.plot.curve.data[1], curve)


def test_two_drags_are_two_undo_steps(panel, session):
    for shift in (30, 40):
        start = place(panel, "query")
        drag(panel, start, start + QPoint(10, 0), start + QPoint(shift, 0))
    assert session.undo_stack.count() == 2


def test_dragging_the_query_moves_it_and_draws_its_fit(panel, session):
    start = place(panel, "query")
    end = QPoint(round(panel.plot.frame_px.query_px(7.0)), start.y())
    drag(panel, start, start + QPoint(20, 0), end)
    assert session.document.x_query == pytest.approx(7.0, abs=0.02)
    assert panel.result.query_at == session.document.x_query
    assert panel.result.f == pytest.approx(np.interp(7.0, panel.result.curve_at, panel.result.curve_f), abs=0.02)


def test_dragging_the_kernel_changes_the_bandwidth(panel, session):
    start = place(panel, "h")
    end = QPoint(round(panel.plot.frame_px.query_px(session.document.x_query + 1.2)), start.y())
    drag(panel, start, start + QPoint(5, 0), end)
    assert session.document.h == pytest.approx(1.2, abs=0.02)
    assert panel.regression_footer.h.value() == session.document.h


def test_double_click_adds_a_sample_and_delete_removes_it(panel, session):
    n = session.document.samples.n
    at = QPoint(round(panel.plot.frame_px.x_px(5.0)), round(panel.plot.frame_px.y_px(1.7)))
    QTest.mouseDClick(panel.plot.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert session.document.samples.n == n + 1
    assert panel.result.selected == n
    dot = place(panel, f"dot{n}")
    assert (dot - at).manhattanLength() <= 2
    QTest.keyClick(panel.plot, Qt.Key.Key_Delete)
    assert session.document.samples.n == n


def test_arrow_keys_do_what_drags_do(panel, session):
    panel.plot.clearFocus()
    panel.plot.setFocus(Qt.FocusReason.TabFocusReason)
    x = session.document.x_query
    QTest.keyClick(panel.plot, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert session.document.x_query == pytest.approx(x + 0.2)
    QTest.keyClick(panel.plot, Qt.Key.Key_Tab)
    h = session.document.h
    QTest.keyClick(panel.plot, Qt.Key.Key_Up)
    assert session.document.h == pytest.approx(1.02 * h)
    QTest.keyClick(panel.plot, Qt.Key.Key_Tab)
    index = panel.result.selected
    y = session.document.samples.y[index]
    QTest.keyClick(panel.plot, Qt.Key.Key_Down)
    assert session.document.samples.y[index] < y


def test_clicking_a_dot_selects_the_sample(panel, session):
    x, y, _ = panel.plot.place_dots()[2]
    QTest.mouseClick(panel.plot.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(round(x), round(y)))
    assert panel.result.selected == 2
    assert session.place.sample == 2


def test_a_bandwidth_that_is_refused_keeps_the_last_good_picture_and_offers_a_way_out(panel, session):
    field, h = panel.regression_footer.h, session.document.h
    curve = panel.plot.curve.data[1].copy()
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "-0.2")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert panel.error.message == "bandwidth h must be > 0, got −0.2"
    assert panel.stage.error.isVisible()
    assert field.property("wrong")
    assert session.document.h == h
    np.testing.assert_array_equal(panel.plot.curve.data[1], curve)
    panel.stage.error.wayOutRequested.emit()
    assert session.document.h == pytest.approx(panel.result.loo_h)
    assert not panel.stage.error.isVisible()
    assert not field.property("wrong")


def test_one_click_adopts_the_leave_one_out_minimum(panel, session):
    best = panel.result.loo_h
    assert session.document.h != best
    QTest.mouseClick(panel.regression_footer.loo, Qt.MouseButton.LeftButton)
    assert session.document.h == best


def test_a_baseline_is_drawn_and_named(panel):
    assert not panel.plot.baseline.shown
    panel.regression_footer.baseline.set_current("ols")
    panel.regression_footer.baseline.changed.emit("ols")
    assert panel.plot.baseline.shown
    x, y = panel.plot.baseline.data
    np.testing.assert_allclose(np.diff(y, 2), 0, atol=1e-9)  # a straight line
    assert len(x) == len(y)


def test_dragging_the_query_of_a_head_is_an_edit_that_reruns_it(head_panel, session):
    start = place(head_panel, "query")
    end = QPoint(round(head_panel.plot.frame_px.query_px(0.5)), start.y())
    drag(head_panel, start, start + QPoint(40, 0), end)
    (edit,) = session.edits
    assert isinstance(edit, MoveQuery)
    assert edit.t == pytest.approx(0.5, abs=0.01)
    assert edit.towards == head_panel.result.towards
    assert head_panel.result.query_at == edit.t
    assert head_panel.result.before is not None
    assert session.undo_stack.count() == 1
    drag(head_panel, place(head_panel, "query"), QPoint(round(head_panel.plot.frame_px.query_px(0.0)), start.y()))


def test_dragging_a_key_of_a_head_sets_its_score(head_panel, session):
    index = head_panel.result.selected
    start = place(head_panel, f"dot{index}")
    score = head_panel.plot.frame_px.x_at(start.x() - 90)
    drag(head_panel, start, start + QPoint(-40, 0), start + QPoint(-90, 0))
    (edit,) = session.edits
    assert isinstance(edit, SetScore)
    assert (edit.key, edit.value) == (index, pytest.approx(score, abs=0.01))
    assert head_panel.result.points.x[index] == pytest.approx(score, abs=0.01)


def test_a_key_that_is_dragged_becomes_the_selected_one(head_panel, session):
    result = head_panel.result
    index = next(i for i in np.flatnonzero(result.points.visible) if i != result.selected)
    x, y, _ = head_panel.plot.place_dots()[index]
    start = QPoint(round(x), round(y))
    index = int(head_panel.plot.grab_at(x, y).removeprefix("dot"))
    drag(head_panel, start, start + QPoint(-20, 0), start + QPoint(-40, 0))
    assert session.selection.key == head_panel.result.selected == index
    assert session.edits[0].key == index


def test_the_tooltip_of_a_dot_goes_at_the_press_and_comes_back_by_the_next_hover(panel):
    view, start = panel.plot.viewport(), place(panel, f"dot{panel.result.selected}")
    QTest.mouseMove(view, start)
    panel.inspector.appear()
    assert panel.inspector.isVisible()
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    assert not panel.inspector.isVisible()
    end = start + QPoint(30, -30)
    QTest.mouseMove(view, end)
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=end)
    assert not panel.inspector.isVisible()
    QTest.mouseMove(view, end + QPoint(1, 0))
    panel.inspector.appear()
    sample = panel.result.points.x[panel.result.selected]
    assert float(panel.inspector.rows()[1][2]) == pytest.approx(sample, abs=0.01)
    panel.inspector.dismiss()


def test_a_field_that_only_has_the_focus_follows_a_reset(head_panel, session):
    field = head_panel.head_footer.beta
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "3")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert head_panel.result.beta == 3.0
    session.undo_stack.undo()
    assert field.hasFocus()
    assert field.text() == "1.00"
    QTest.keyClicks(field, "2")  # being typed: not overwritten
    head_panel.head_footer.show_result(head_panel.result, 0)
    assert field.text() == "2"
    QTest.keyClick(field, Qt.Key.Key_Escape)


def test_sharpness_is_a_temperature_and_its_left_end_is_zero(head_panel, session):
    slider = head_panel.head_footer.sharpness
    QTest.keyClick(slider, Qt.Key.Key_PageUp)
    (edit,) = session.edits
    assert isinstance(edit, SetTemperature)
    assert edit.beta > 1
    QTest.keyClick(slider, Qt.Key.Key_Home)
    assert session.edits[0].beta == 0.0
    weight = head_panel.result.points.weight[head_panel.result.points.visible]
    np.testing.assert_allclose(weight, 1 / len(weight), rtol=1e-5)


def test_delete_masks_a_key_of_a_head(head_panel, session):
    index = head_panel.result.selected
    QTest.mouseClick(head_panel.plot.viewport(), Qt.MouseButton.LeftButton, pos=place(head_panel, f"dot{index}"))
    QTest.keyClick(head_panel.plot, Qt.Key.Key_Delete)
    (edit,) = session.edits
    assert isinstance(edit, MaskKeys)
    assert edit.keys == (index,)
    assert not head_panel.result.points.visible[index]


def test_the_query_moves_towards_the_chosen_token(head_panel, session):
    towards = head_panel.head_footer.towards
    assert towards.current() == head_panel.result.towards
    towards.changed.emit(2)
    assert session.towards == 2
    assert head_panel.result.towards == 2
    assert session.edits == ()


def test_clicking_a_dot_selects_the_key(head_panel, session):
    x, y, _ = head_panel.plot.place_dots()[1]
    QTest.mouseClick(head_panel.plot.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(round(x), round(y)))
    assert session.selection.key == 1
    assert head_panel.result.selected == 1


def test_each_scene_has_its_own_controls(panel, session, bundled):
    assert panel.regression_footer.isVisible()
    assert not panel.head_footer.isVisible()
    session.set_scene("head")
    session.set_model(bundled)
    assert panel.head_footer.isVisible()
    assert not panel.regression_footer.isVisible()


def test_compact_drops_the_table_and_shortens_captions(panel):
    assert panel.correspondence.isVisible()
    panel.set_compact(True)
    assert not panel.correspondence.isVisible()
    assert not panel.plot.kernel_line.shown


def test_a_head_whose_run_is_gone_is_drawn_again_as_it_was(head_panel, session):
    # A late answer or a change of theme while another model opened asked the run that was gone for its length.
    before = head_panel.header.reading.text()
    session.runs = None
    head_panel.redraw()
    assert head_panel.header.reading.text() == before
    assert head_panel.error is None


@pytest.fixture
def slow_panel(head_panel, session, monkeypatch):
    """Nothing that is asked for is answered, as for seconds on a large model."""
    monkeypatch.setattr(session, "_request_runs", lambda: None)
    return head_panel


def test_dot_stays_where_it_was_let_go_until_the_answer_is_there(slow_panel, session):
    """Story: while a large model ran again, the dot jumped back to its old score."""
    index, before = slow_panel.result.selected, slow_panel.result
    start = place(slow_panel, f"dot{index}")
    drag(slow_panel, start, QPoint(start.x() - 30, start.y()), QPoint(start.x() - 60, start.y()))
    edit = session.edits[-1]
    assert isinstance(edit, SetScore)
    assert slow_panel.result.points.x[index] == before.points.x[index]  # of the run as it was
    x, y = slow_panel.plot.points_shown()
    assert x[index] == edit.value
    assert y[index] == before.points.y[index]
    others = np.arange(len(x)) != index
    np.testing.assert_array_equal(x[others], before.points.x[others])
    assert place(slow_panel, f"dot{index}").x() == pytest.approx(start.x() - 60, abs=1)
    session.undo_stack.undo()
    assert slow_panel.plot.points_shown()[0][index] == before.points.x[index]


def test_steps_of_keys_add_up_before_they_are_answered(slow_panel, session):
    before = slow_panel.result
    assert before.query_at == 0.0
    slow_panel.plot.queryMoved.emit(0.01)
    slow_panel.plot._on_handle_stepped("query", 1.0, 0.0)
    slow_panel.plot._on_handle_stepped("query", 1.0, 0.0)
    assert slow_panel.result is before
    assert slow_panel.plot.query_shown == pytest.approx(0.03)
    assert slow_panel.plot.f_shown == pytest.approx(np.interp(0.03, before.curve_at, before.curve_f))
    assert session.edits[-1].t == pytest.approx(0.03)
    session.clear_edits()
    assert slow_panel.plot.query_shown == 0.0


def test_handles_asked_of_one_head_are_not_those_of_another(slow_panel, session):
    slow_panel.plot.queryMoved.emit(0.5)
    assert slow_panel.plot.query_shown == 0.5
    session.select_head(0, 3)
    assert slow_panel.plot.query_shown == 0.0


def test_answered_handles_are_those_of_the_run(head_panel, session):
    index = head_panel.result.selected
    head_panel.plot.dotMoved.emit(index, 1.234, 0.0)
    head_panel.plot.queryMoved.emit(0.25)
    session.end_drag()
    assert head_panel.plot._asked == {}
    assert head_panel.plot.query_shown == head_panel.result.query_at == 0.25
    np.testing.assert_array_equal(head_panel.plot.points_shown()[0], head_panel.result.points.x)


def test_selecting_before_anything_is_drawn_does_nothing(qtbot, session, bundled):
    """Story: an exception while a picture was exported, before the first result."""
    panel = FitPanel(session)
    qtbot.addWidget(panel)
    qtbot.addWidget(panel.header)
    session.set_model(bundled)
    session.select_head(1, 1)
    session.put_edit(SetTemperature(1, 1, 2.0))
    assert panel.result is None
    assert panel.plot.query_shown == 0.0


def test_dots_of_samples_that_were_replaced_move_nothing(panel, session, monkeypatch):
    """Story: a drag in the moment between three samples and their picture asked for sample 14 of three."""
    monkeypatch.setattr(session.engine, "submit", lambda *_, **__: None)  # the answer is still to come
    few = Samples(np.arange(3.0), np.arange(3.0), "three")
    session.set_samples(few)
    for index in (14, 1):
        panel.plot.dotMoved.emit(index, 1.0, 1.0)
        panel.plot.dotClicked.emit(index)
        panel.plot.dotRemoved.emit(index)
    assert session.document.samples is few
