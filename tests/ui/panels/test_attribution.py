from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt

from kav.model.edits import ScaleHead
from kav.views.words import number, share
from ui.panels.attribution import AttributionPanel, lens_texts


@pytest.fixture
def panel(session, qtbot):
    panel = AttributionPanel(session)
    qtbot.addWidget(panel)
    qtbot.addWidget(panel.header)
    panel.resize(444, 270)
    panel.show()
    qtbot.waitUntil(lambda: panel.result is not None)
    return panel


def click_row(qtbot, panel, wanted):
    index = next(i for i, part in enumerate(panel.bars.rows) if wanted(part))
    part = panel.bars.rows[index]
    qtbot.mouseClick(panel.bars, Qt.MouseButton.LeftButton, pos=panel.bars.row_rect(index).center().toPoint())
    return part


def test_the_rows_on_screen_add_up_to_the_logit(panel, session):
    rows = panel.bars.rows
    shown = sum(part.value for part in rows if part.kind not in ("source", "other-sources", "total"))
    selection = session.selection
    logits = session.trace.logits(-1)
    target = int(logits.argmax()) if selection.target is None else selection.target
    assert shown == pytest.approx(float(logits[target]), abs=1e-3)
    assert rows[-1].value == pytest.approx(shown, abs=1e-9)


def test_a_click_on_a_head_selects_it(panel, session, qtbot):
    part = click_row(qtbot, panel, lambda p: p.kind == "head" and not p.selected)
    assert (session.selection.layer, session.selection.head) == (part.layer, part.head)
    selected = next(p for p in panel.bars.rows if p.selected and p.kind == "head")
    assert selected.name == part.name


def test_a_click_on_a_source_selects_its_key(panel, session, qtbot):
    part = click_row(qtbot, panel, lambda p: p.kind == "source")
    assert session.selection.key == part.index


def test_read_at_is_the_query(panel, session, qtbot):
    panel.read_at.setFocus()
    n = session.trace.n_tokens
    assert panel.read_at.count() == n
    assert panel.read_at.current() == n - 1
    qtbot.keyClick(panel.read_at, Qt.Key.Key_Up)
    assert session.selection.query == n - 2
    assert panel.result.read_at.position == n - 2


def test_predictions_show_the_target_and_a_click_asks_for_another(panel, session, qtbot):
    panel.picture.setFocus()
    qtbot.keyClick(panel.picture, Qt.Key.Key_Right)
    assert panel.predictions.isVisible()
    assert not panel.bars.isVisible()
    second = panel.predictions.rows()[1]
    assert not second.is_target
    place = panel.predictions.row_rect(1).center().toPoint()
    qtbot.mouseClick(panel.predictions, Qt.MouseButton.LeftButton, pos=place)
    assert session.selection.target == second.token
    assert next(p for p in panel.predictions.rows() if p.is_target).token == second.token


def test_edits_leave_outlines_of_before(panel, session):
    assert all(part.before is None for part in panel.bars.rows)
    session.put_edit(ScaleHead(0, 0, 0.0))
    assert panel.bars.rows[-1].before is not None
    assert panel.bars.rows[-1].before != pytest.approx(panel.bars.rows[-1].value, abs=1e-3)


def test_the_regression_scene_shows_shares_that_sum_to_f(panel, session, qtbot):
    session.set_scene("regression")
    rows = panel.bars.rows
    assert {part.kind for part in rows} <= {"sample", "rest", "total"}
    assert sum(part.value for part in rows[:-1]) == pytest.approx(rows[-1].value, abs=1e-12)
    assert not panel.picture.isVisible()
    part = click_row(qtbot, panel, lambda p: p.kind == "sample" and not p.selected)
    assert session.place.sample == part.index
    assert next(p for p in panel.bars.rows if p.selected).index == part.index


def test_without_support_nothing_is_drawn_and_the_line_says_so(panel, session):
    session.set_scene("regression")
    session.set_kernel("uniform")
    session.set_h(1e-6)
    session.set_x_query(-100.0)
    assert panel.bars.rows == ()
    assert "no sample has weight" in panel.accessibleDescription()
    assert not panel.grab().isNull()


def test_bars_come_back_after_predictions_when_the_scene_changes(panel, session, qtbot):
    panel.picture.setFocus()
    qtbot.keyClick(panel.picture, Qt.Key.Key_Right)
    session.set_scene("regression")
    assert panel.bars.isVisible()
    session.set_scene("head")
    assert panel.predictions.isVisible()


def test_the_places_of_the_samples_are_listed_when_they_are_wanted(panel, session, qtbot):
    session.set_scene("regression")
    panel.read_at.clearFocus()
    session.set_x_query(5.0)
    assert panel.read_at.count() == 1
    panel.read_at.setFocus()
    n = session.document.samples.n
    assert panel.read_at.count() == n + 1
    qtbot.keyClick(panel.read_at, Qt.Key.Key_Down)
    assert session.document.x_query == min(session.document.samples.x)


def test_the_predictions_have_a_sentence_of_their_own(panel, session, qtbot):
    """Over the table of next tokens stood the sentence of the bars."""
    bars = panel.header.reading.text()
    panel.picture.setFocus()
    qtbot.keyClick(panel.picture, Qt.Key.Key_Right)
    best, second = panel.result.predictions[:2]
    said = panel.header.reading.text()
    assert said.startswith(f"After ▼ 15 green: ◆ {best.label.shown} ({share(best.probability)})")
    assert said.endswith(f", then {second.label.shown} ({share(second.probability)})")
    session.put_edit(ScaleHead(1, 0, 0.0))
    assert f", was {share(best.probability)})" in panel.header.reading.text()
    session.undo_stack.undo()
    qtbot.keyClick(panel.picture, Qt.Key.Key_Left)
    assert panel.header.reading.text() == bars


@pytest.mark.parametrize("n", [1, 2, 3, 8, 31])
def test_the_lens_is_told_through_fewer_layers_where_room_is_short(panel, n):
    result = replace(panel.result, lens=np.linspace(-20.0, -0.5, n))
    texts = lens_texts(result)
    first, last = number(-20.0), number(-0.5 if n > 1 else -20.0)
    counts = [text.count("→") + 1 for text in texts]
    assert counts == sorted(set(counts), reverse=True)
    assert counts[0] == min(n, 9)
    for text in texts:
        values = text.rpartition(": ")[2].split(" → ")
        assert (values[0], values[-1]) == (first, last)
    assert not lens_texts(replace(result, lens=None))
