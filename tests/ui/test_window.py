"""The whole window, used as a person uses it: everything linked, nothing lost, nothing clipped."""

from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QDialog

import kav
from kav.model.edits import ScaleHead
from kav.options import Options
from ui import theme
from ui.app import Opener
from ui.engine import Engine

pytestmark = pytest.mark.window


def trigger(window, name):
    window.actions_by_name[name].trigger()


def readings(window):
    return {name: panel.header.reading.text() for name, panel in window.panels.items()}


def test_five_linked_panels_are_live_on_the_bundled_model(make_window):
    window = make_window()
    assert set(window.panels) == {"fit", "attention", "attribution", "circuits", "dose"}
    assert all(panel.result is not None and panel.error is None for panel in window.panels.values())
    focus = {(result.layer, result.head) for result in (window.result("attention"), window.prompt_bar._feed.result)}
    assert focus == {(1, 0)}


def test_removing_the_previous_token_head_is_seen_in_every_panel_at_once(make_window):
    window = make_window()
    before = readings(window)
    peak = window.result("fit").points.weight.max()
    probability = window.result("attribution").predictions[0].probability
    logit = window.result("attribution").total
    window.session.put_edit(ScaleHead(0, 0, 0.0))
    after = readings(window)
    assert {name for name in before if before[name] != after[name]} == {"fit", "attention", "attribution", "dose"}
    key = window.result("fit").selected
    assert window.result("fit").points.weight[key] < 0.2 < 0.9 < peak
    target = next(p for p in window.result("attribution").predictions if p.is_target)
    assert target.before == pytest.approx(probability, abs=1e-6)
    assert target.probability < 0.1 < 0.8 < probability
    assert window.result("attribution").total < logit - 5
    assert window.result("dose").dose == 0.0
    assert window.windowTitle().endswith("— edited")
    assert "head 0.0" in window.prompt_bar.chip.text()


def test_numbers_on_screen_are_those_of_the_public_api(make_window, bundled):
    window = make_window()
    trace = kav.run(bundled, bundled.encode(window.session.prompt))
    parts = kav.attribution(trace)
    fit, attention, attribution = (window.result(name) for name in ("fit", "attention", "attribution"))
    head = next(part for part in attribution.parts if part.kind == "head" and (part.layer, part.head) == (1, 0))
    np.testing.assert_allclose(attention.weights, trace.pattern(1, 0), atol=1e-6)
    assert attribution.total == pytest.approx(parts.total, abs=1e-4)
    assert fit.f == pytest.approx(head.value, abs=1e-5)
    assert fit.f == pytest.approx(float(np.sum(parts.sources[1, 0])), abs=1e-5)


def test_undo_and_redo_by_keyboard_take_an_edit_back(make_window, qtbot):
    window = make_window()
    before = readings(window)
    window.session.put_edit(ScaleHead(0, 0, 0.0))
    qtbot.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert window.session.edits == ()
    assert readings(window) == before
    qtbot.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert window.session.edits == (ScaleHead(0, 0, 0.0),)


def test_undo_shows_the_scene_that_it_changes(make_window, qtbot):
    """Story: Ctrl+Z in the regression scene took back an edit of the head scene, which nobody saw."""
    window = make_window()
    window.session.put_edit(ScaleHead(0, 0, 0.0))
    trigger(window, "view.regression")
    assert window.actions_by_name["edit.undo"].text() == f"Undo {window.session.undo_stack.undoText()}"
    trigger(window, "edit.undo")
    assert (window.session.kind, window.session.edits) == ("head", ())
    trigger(window, "view.regression")
    window.session.set_x_query(1.0)
    trigger(window, "view.head")
    trigger(window, "edit.undo")
    assert window.session.kind == "regression"


@pytest.mark.parametrize(("query", "refused"), [(99, True), (-17, True), (15, False), (-16, False)])
def test_a_query_asked_for_at_the_start_must_exist(make_window, query, refused):
    window = make_window()
    problems = []
    window.session.problemRaised.connect(problems.append)
    Opener(window, Options(query=query), strict=True).start()
    assert [error.message for error in problems] == [f"query must be in -16..15, got {query}"] * refused
    assert window.session.selection.query == (None if refused else query)


def test_an_edit_asked_for_at_the_start_must_fit_the_prompt(make_window):
    # It was left out without a word, and a file was written as if nothing had been asked.
    window = make_window()
    problems = []
    window.session.problemRaised.connect(problems.append)
    Opener(window, Options(edits=(ScaleHead(0, 0, 0.0, "zero", (99,)),)), strict=True).start()
    assert [error.message for error in problems] == ["positions of ScaleHead must be in -16..15, got 99"]
    Opener(window, Options(edits=(ScaleHead(0, 0, 0.0, "zero", (15,)),)), strict=True).start()
    assert len(problems) == 1
    assert window.session.trace.edits


def test_choices_of_a_scene_are_kept_through_the_other_scene_and_the_compact_layout(make_window, qtbot):
    window = make_window()
    weighting = window.panels["attention"].weighting
    weighting.set_current("message")
    weighting.changed.emit("message")
    trigger(window, "view.regression")
    assert weighting.current() == "weight"
    trigger(window, "view.head")
    assert weighting.current() == "message"
    window.resize(1100, 700)
    qtbot.waitUntil(lambda: window.compact)
    window.resize(1440, 900)
    qtbot.waitUntil(lambda: not window.compact)
    assert weighting.current() == "message"


def test_each_panel_is_alone_by_its_number_and_esc_gives_all_back(make_window, qtbot):
    window = make_window()
    for number, name in enumerate(window.panels, start=1):
        qtbot.keyClick(window, str(number), Qt.KeyboardModifier.ControlModifier)
        shown = {other for other, dock in window.docks.items() if dock.isVisible()}
        assert shown == ({name, "dose"} if name == "attention" else {name})
        qtbot.keyClick(window, Qt.Key.Key_Escape)
        assert all(dock.isVisible() for dock in window.docks.values())


def test_a_head_that_is_scaled_says_so(make_window):
    window = make_window()
    window.session.put_edit(ScaleHead(1, 0, 0.0))
    assert "so the head, scaled × 0.00, adds 0.00" in window.panels["fit"].header.reading.text()


def test_the_chip_resets_all_edits(make_window, qtbot):
    window = make_window()
    window.session.put_edit(ScaleHead(0, 0, 0.0))
    chip = window.prompt_bar.chip
    assert chip.isVisible()
    qtbot.mouseClick(chip, Qt.MouseButton.LeftButton, pos=chip.close_rect().center().toPoint())
    assert window.session.edits == ()
    assert not window.windowTitle().endswith("edited")


def test_typing_a_prompt_is_live(make_window, qtbot):
    window = make_window()
    trigger(window, "prompt.edit")
    line = window.prompt_bar.prompt.line
    assert line.isVisible()
    line.selectAll()
    qtbot.keyClicks(line, "The old dog saw the old")
    assert len(window.result("attention").query_labels) == len(window.session.trace.tokens.ids)
    assert window.session.prompt == "The old dog saw the old"
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert not line.isVisible()


def test_an_empty_prompt_and_one_token_are_pictures_too(make_window):
    window = make_window()
    for prompt in ("", "A", "A "):
        window.session.set_prompt(prompt)
        assert all(panel.error is None for panel in window.panels.values()), prompt
        assert np.isfinite(window.result("fit").f)


def test_clicking_a_token_asks_and_shift_clicking_reads(make_window, qtbot):
    window = make_window()
    strip = window.prompt_bar.prompt.strip
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=strip.rect_of(9).center().toPoint())
    assert window.result("attention").query == 9
    qtbot.mouseClick(
        strip, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier, strip.rect_of(2).center().toPoint()
    )
    assert (window.result("attention").key, window.result("fit").selected) == (2, 2)
    trigger(window, "view.back")
    trigger(window, "view.back")
    assert window.result("attention").query == len(window.session.trace.tokens.ids) - 1


def test_a_prediction_becomes_the_target_everywhere(make_window, qtbot):
    window = make_window()
    bar = window.prompt_bar.predictions
    other = bar.visible_tokens()[1]
    qtbot.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.rect_of(other).center().toPoint())
    assert window.session.selection.target == other
    label = window.session.model.label(other)
    for name in ("fit", "attribution"):
        assert label in window.panels[name].header.reading.text()


def test_heads_step_by_keyboard_through_all_layers(make_window, qtbot):
    window = make_window()
    keys = (Qt.Key.Key_Up, Qt.KeyboardModifier.ControlModifier)
    for _ in range(6):
        qtbot.keyClick(window, *keys)
    assert (window.session.selection.layer, window.session.selection.head) == (0, 0)
    qtbot.keyClick(window, Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    assert window.result("attention").head == 1


def test_without_support_nothing_is_painted_at_nowhere(make_window):
    window = make_window()
    window.session.set_scene("regression")
    window.session.set_kernel("epanechnikov")
    window.session.set_h(0.05)
    window.session.set_x_query(2.95)
    window.session.set_sample_dose(13, 0.0)
    assert np.isnan(window.result("fit").f)
    assert "ndefined" in window.panels["fit"].header.reading.text()
    window.grab()  # a warning of Qt about a place that is no number fails the test


def test_the_compact_layout_lets_two_questions_take_turns(make_window, qtbot):
    window = make_window((1100, 700))
    attribution, circuits = window.docks["attribution"], window.docks["circuits"]
    assert (attribution.isVisible(), circuits.isVisible()) == (True, False)
    tab = window.panels["attribution"].header.findChild(object, "attribution.header.tab.circuits")
    qtbot.mouseClick(tab, Qt.MouseButton.LeftButton)
    assert (attribution.isVisible(), circuits.isVisible()) == (False, True)
    assert window.result("circuits").kind == "head"
    window.resize(1440, 900)
    qtbot.waitUntil(lambda: attribution.isVisible() and circuits.isVisible())


def test_a_card_that_is_being_carried_is_left_out_when_the_others_take_their_places(make_window, qtlog):
    # Qt warned when a shortcut came while a card was dragged: "one QDockWidget is not part of the layout".
    window = make_window()
    window.removeDockWidget(window.docks["dose"])  # what Qt does with a card that is carried
    window.docks["dose"].show()
    window.session.set_scene("regression")
    assert not [record.message for record in qtlog.records if "resizeDocks" in record.message]


def test_where_is_never_shown_without_whether_it_matters(make_window, qtbot):
    window = make_window()
    for name in window.panels:
        qtbot.mouseClick(window.panels[name].header.maximise, Qt.MouseButton.LeftButton)
        shown = {other for other, dock in window.docks.items() if dock.isVisible()}
        assert name in shown
        assert "attention" not in shown or "dose" in shown
        qtbot.mouseClick(window.panels[name].header.maximise, Qt.MouseButton.LeftButton)
        assert all(dock.isVisible() for dock in window.docks.values())


def test_switching_the_theme_repaints_everything_and_back(make_window):
    window = make_window()
    light = window.grab().toImage()
    trigger(window, "view.dark")
    assert theme.current().dark
    dark = window.grab().toImage()
    assert dark.pixelColor(3, 500).lightness() < 60 < 200 < light.pixelColor(3, 500).lightness()
    trigger(window, "view.light")
    assert window.grab().toImage() == light


def test_the_layout_is_kept_between_starts(make_window, settings):
    window = make_window()
    window.resizeDocks([window.docks["fit"], window.docks["attention"]], [640, 768], Qt.Orientation.Horizontal)
    width = window.docks["fit"].width()
    window.close()
    again = make_window()
    assert abs(again.docks["fit"].width() - width) <= 4


@pytest.mark.parametrize("rubbish", [QByteArray(b"\x00\x01garbage"), "{", 999])
def test_unreadable_settings_start_with_defaults(make_window, settings, rubbish):
    """Story: a damaged settings file kept a program from starting at all."""
    for key in ("geometry", "layout", "compact", "theme"):
        settings.setValue(key, rubbish)
    window = make_window()
    assert all(dock.isVisible() for dock in window.docks.values())
    assert abs(window.docks["fit"].width() - 793) <= 8


def test_a_refused_prompt_is_a_notice_and_the_picture_stays(make_window):
    window = make_window()
    before = readings(window)
    window.session.set_prompt("word " * 400)
    assert window.notice.isVisible()
    assert "256" in window.notice.text()
    assert readings(window) == before
    window.notice.hide()


@pytest.mark.parametrize("name", ["help.keys", "help.about"])
def test_help_opens_and_closes(make_window, name, qtbot):
    window = make_window()
    trigger(window, name)
    dialog = next(w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog) and w.isVisible())
    assert dialog.windowTitle()
    if name == "help.about":
        dialog.findChild(object, "about.copy").click()
        assert f"KAV {kav.__version__}" in QGuiApplication.clipboard().text()
    dialog.close()


def test_closing_while_everything_is_busy_is_quiet(make_window, qtbot):
    window = make_window(engine=Engine())
    for layer, head in ((0, 0), (1, 1), (0, 3)):
        window.session.select_head(layer, head)
        window.session.put_edit(ScaleHead(layer, head, 0.5))
    window.close()
    assert not window.engine.busy()


def test_a_drag_ends_on_the_last_value_in_every_panel(make_window, qtbot):
    window = make_window(engine=Engine())
    for i in range(30):
        window.session.put_edit(ScaleHead(0, 0, 1.0 - (i + 1) / 30), merge="dose")
        qtbot.wait(5)
    window.session.end_drag()
    qtbot.waitUntil(lambda: window.settled() and window.session.runs.edits == window.session.edits)
    qtbot.waitUntil(lambda: window.settled() and window.result("dose").dose == 0.0)
    expected = kav.run(window.session.model, window.session.trace.tokens, edits=(ScaleHead(0, 0, 0.0),))
    np.testing.assert_allclose(window.result("attention").weights, expected.pattern(1, 0), atol=1e-5)
    assert window.session.undo_stack.count() == 1


def test_smallest_window_cuts_no_control_of_the_first_row(make_window, qtbot):
    window = make_window()
    window.resize(900, 600)
    qtbot.waitUntil(lambda: window.compact and window.settled())
    bar = window.prompt_bar
    shown = [bar._first.itemAt(i).widget() for i in range(bar._first.count())]
    shown = sorted((one for one in shown if one is not None and one.isVisible()), key=lambda one: one.x())
    for left, right in pairwise(shown):
        assert left.geometry().right() < right.x()
    assert shown[-1].geometry().right() <= bar.width()
    for one in shown:
        assert one.width() >= one.minimumSizeHint().width(), one.objectName()
