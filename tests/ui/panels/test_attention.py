import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from kav.model.edits import ScaleHead
from tests.kav.model_factory import tiny_model
from ui.panels.attention import AttentionPanel


@pytest.fixture
def panel(session, qtbot):
    panel = AttentionPanel(session)
    qtbot.addWidget(panel)
    qtbot.addWidget(panel.header)
    panel.resize(613, 380)
    panel.show()
    qtbot.waitUntil(lambda: panel.result is not None)
    return panel


def click(qtbot, panel, row, column):
    qtbot.mouseClick(panel.matrix, Qt.MouseButton.LeftButton, pos=panel.matrix.cell_center(row, column).toPoint())


def test_a_click_on_a_cell_selects_its_query_and_key(panel, session, qtbot):
    click(qtbot, panel, 9, 3)
    assert (session.selection.query, session.selection.key) == (9, 3)
    assert (panel.matrix.data.row, panel.matrix.data.column) == (9, 3)


def test_a_click_in_the_row_of_the_query_keeps_the_target(panel, session, qtbot):
    session.select(target=42)
    row = panel.result.query
    click(qtbot, panel, row, 2)
    assert (session.selection.target, session.selection.key) == (42, 2)


def test_another_query_asks_for_its_own_target(panel, session, qtbot):
    session.select(target=42)
    click(qtbot, panel, 5, 1)
    assert session.selection.target is None


def test_a_click_on_an_excluded_cell_selects_the_query_only(panel, session, qtbot):
    click(qtbot, panel, 3, 10)
    assert (session.selection.query, session.selection.key) == (3, None)


def test_arrow_keys_move_the_selection(panel, session, qtbot):
    row, column = panel.result.query, panel.result.key
    panel.matrix.setFocus()
    qtbot.keyClick(panel.matrix, Qt.Key.Key_Up)
    assert (session.selection.query, session.selection.key) == (row - 1, column)
    qtbot.keyClick(panel.matrix, Qt.Key.Key_Left)
    assert session.selection.key == column - 1


def test_the_matrix_shows_the_pattern_of_the_selected_head(panel, session):
    session.select_head(0, 2)
    wanted = session.trace.pattern(0, 2)
    np.testing.assert_allclose(panel.result.values, wanted, atol=1e-6)
    np.testing.assert_allclose(panel.matrix.data.shade, wanted / panel.result.levels[1], atol=1e-6)


def test_a_click_on_a_thumb_selects_its_head(panel, session, qtbot):
    qtbot.mouseClick(panel.mosaic, Qt.MouseButton.LeftButton, pos=panel.mosaic.head_rect(0, 3).center().toPoint())
    assert (session.selection.layer, session.selection.head) == (0, 3)
    assert panel.mosaic.chosen == (0, 3)


def test_an_edited_head_is_marked_in_the_mosaic(panel, session):
    session.put_edit(ScaleHead(0, 0, 0.0))
    edited = [(thumb.layer, thumb.head) for layer in panel.result.thumbs for thumb in layer if thumb.edited]
    assert edited == [(0, 0)]


def test_weightings_change_what_is_shown(panel, qtbot):
    weights = panel.matrix.data.shade
    panel.weighting.setFocus()
    qtbot.keyClick(panel.weighting, Qt.Key.Key_Right)
    assert not panel.matrix.data.diverging
    assert not np.array_equal(panel.matrix.data.shade, weights)
    qtbot.keyClick(panel.weighting, Qt.Key.Key_Right)
    assert panel.matrix.data.diverging
    low, high = panel.bar.texts
    assert low.startswith("−")
    assert high.startswith("+")


def test_the_colour_bar_says_what_its_ends_are(panel, qtbot):
    """By rank its ends were −4.9 and +4.9, which the colours were not; and no end had a unit."""
    ends = {}
    for key in ("weight", "message", "logits"):
        panel.weighting.set_current(key)
        for shading in ("linear", "log", "rank"):
            panel.shading.set_current(shading)
            panel.request()
            ends[key, shading] = panel.bar.texts
    assert ends["weight", "linear"] == ("0", "1")
    assert ends["weight", "log"] == ("≤ 1·10⁻⁴", "1, log")
    assert ends["weight", "rank"] == ends["message", "rank"] == ("lowest", "highest in row")
    assert ends["logits", "rank"] == ("−", "+ rank in row")
    assert ends["message", "linear"][1].endswith(" length")
    assert ends["logits", "linear"][1].endswith(" logits")
    assert ends["logits", "log"][1].endswith(" logits, log")
    assert "rank within the row" in panel.bar.toolTip()


def test_an_edit_of_another_head_leaves_no_amber_edge(panel, session):
    session.put_edit(ScaleHead(1, 2, 0.0))
    assert not panel.header._edited
    session.put_edit(ScaleHead(0, 0, 0.0))
    assert panel.header._edited


def test_stages_are_in_the_context_menu_and_switch_the_weighting_off(panel):
    next(action for action in panel.stages.actions() if action.data() == "scores").trigger()
    assert panel.matrix.data.visible is None
    assert not panel.weighting.isEnabled()
    assert panel.weighting.toolTip()
    next(action for action in panel.stages.actions() if action.data() == "pattern").trigger()
    assert panel.weighting.isEnabled()
    assert panel.matrix.data.visible is not None


def test_the_inspector_reads_query_key_score_and_weight(panel):
    QTest.mouseMove(panel.matrix, panel.matrix.cell_center(6, 4).toPoint())
    rows = panel.inspector.rows()
    assert [row[0] for row in rows[:2]] == ["query", "key"]
    assert rows[0][1].startswith("6 ")
    assert rows[1][1].startswith("4 ")
    assert float(rows[3][2].replace("<", "")) == pytest.approx(panel.result.weights[6, 4], abs=0.002)
    QTest.mouseMove(panel.matrix, panel.matrix.cell_center(2, 9).toPoint())
    assert [row[2] for row in panel.inspector.rows()[2:]] == ["masked", "none"]
    panel.inspector.dismiss()


def test_compact_turns_the_mosaic_and_shortens_the_footer(panel):
    panel.set_compact(True)
    panel.resize(501, 250)
    assert not panel.shading.isVisible()
    assert panel.mosaic.tiles().across == "head"
    assert panel.mosaic.geometry().right() <= panel.body.width()


def test_the_regression_scene_shows_the_smoother_matrix_and_the_gallery(panel, session, qtbot):
    session.set_scene("regression")
    assert panel.matrix.data.numeric
    assert panel.gallery.isVisible()
    assert not panel.mosaic.isVisible()
    np.testing.assert_allclose(panel.result.weights.sum(1), 1.0, atol=1e-12)
    qtbot.mouseClick(panel.gallery, Qt.MouseButton.LeftButton, pos=panel.gallery.shape_rect(1).center().toPoint())
    assert session.document.kernel == panel.result.gallery[1].kernel
    assert panel.gallery.kernel == session.document.kernel


def test_a_click_in_the_smoother_matrix_selects_sample_and_place(panel, session, qtbot):
    session.set_scene("regression")
    place, sample = float(panel.result.query_axis[10]), int(panel.result.sample_of_key[30])
    click(qtbot, panel, 10, 30)
    assert session.document.x_query == pytest.approx(place)
    assert panel.result.sample_of_key[panel.matrix.data.column] == sample


def test_a_weighting_the_other_scene_lacks_falls_back_to_weights(panel, session, qtbot):
    panel.weighting.setFocus()
    qtbot.keyClick(panel.weighting, Qt.Key.Key_Right)
    session.set_scene("regression")
    assert panel.weighting.current() == "weight"
    assert panel.spec().weighting == "weight"


@pytest.fixture(scope="module")
def long_model():
    return tiny_model(n_ctx=1500, n_layers=1)


@pytest.fixture
def long_panel(panel, session, long_model, qtbot):
    session.set_prompt(" ".join(str((7 * i * i + i // 3) % 31) for i in range(1500)))
    session.set_model(long_model)
    qtbot.waitUntil(lambda: panel.result.n_pooled == 3)
    return panel


def test_a_long_prompt_is_pooled_and_says_so(long_panel):
    assert long_panel.matrix.data.shade.shape == (500, 500)
    assert "cells · wheel zooms in" in long_panel.matrix.note()


def test_zooming_into_a_long_prompt_shows_every_cell(long_panel, session):
    next(action for action in long_panel.matrix.actions() if action.objectName() == "attention.zoom.in").trigger()
    long_panel.matrix.zoom(0.2)
    part = long_panel.matrix.part
    assert long_panel.result.n_pooled == 1
    assert long_panel.result.squares.part == part
    wanted = session.trace.pattern(0, session.selection.head, slice(*part.rows), slice(*part.columns))
    np.testing.assert_allclose(long_panel.result.weights, wanted, atol=1e-6)
    long_panel.matrix.show_all()
    assert long_panel.result.n_pooled == 3


def test_a_click_in_a_pooled_picture_selects_the_cell_that_is_drawn(long_panel, session, qtbot):
    squares = long_panel.result.squares
    click(qtbot, long_panel, 1200, 300)
    row, column = session.selection.query, session.selection.key
    i, j = long_panel.result.place(row, column)
    assert (squares.rows[i, j], squares.columns[i, j]) == (row, column)
    assert max(abs(row - 1200), abs(column - 300)) < 12


def test_hover_in_a_pooled_picture_is_exact(long_panel, session):
    QTest.mouseMove(long_panel.matrix, long_panel.matrix.cell_center(1000, 500).toPoint())
    rows = long_panel.inspector.rows()
    query, key = (int(rows[i][1].split()[0]) for i in (0, 1))
    weight = session.trace.pattern(0, session.selection.head, slice(query, query + 1))[0, key]
    assert float(rows[3][2].replace("<", "")) == pytest.approx(weight, abs=0.001)
    assert rows[-1][1] == "the largest of 3 × 3 cells here"
    long_panel.inspector.dismiss()


def test_arrow_keys_walk_token_by_token_in_a_long_prompt(long_panel, session, qtbot):
    session.select(query=900, key=300)
    long_panel.matrix.setFocus()
    qtbot.keyClick(long_panel.matrix, Qt.Key.Key_Right)
    assert (session.selection.query, session.selection.key) == (900, 301)
