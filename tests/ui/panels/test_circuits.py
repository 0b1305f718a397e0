import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from kav.model.edits import ScaleHead
from ui.panels.circuits import CircuitsPanel, cell_rows


@pytest.fixture
def panel(session, qtbot):
    panel = CircuitsPanel(session)
    qtbot.addWidget(panel)
    qtbot.addWidget(panel.header)
    panel.resize(486, 270)
    panel.show()
    qtbot.waitUntil(lambda: panel.result is not None)
    return panel


def press(qtbot, control, key=Qt.Key.Key_Right):
    control.setFocus()
    qtbot.keyClick(control, key)


def click(qtbot, panel, row, column):
    qtbot.mouseClick(panel.matrix, Qt.MouseButton.LeftButton, pos=panel.matrix.cell_center(row, column).toPoint())


def test_the_table_is_centred_at_zero_and_fills_the_scale(panel):
    data = panel.matrix.data
    assert data.diverging
    assert np.abs(data.shade).max() == pytest.approx(1.0)
    np.testing.assert_allclose(data.shade * panel.result.level, panel.result.values)
    assert (data.row_role, data.column_role) == ("key", "target")


def test_a_table_that_holds_some_of_the_tokens_says_so(panel, session, qtbot):
    assert panel.subtitle() == "Circuits"
    session.set_prompt(" ".join(f"{chr(97 + i % 26)}{chr(98 + i % 19)}" for i in range(60)))
    qtbot.waitUntil(lambda: panel.result.n_distinct > 24)
    assert panel.subtitle() == f"Circuits, 24 of {panel.result.n_distinct} tokens"


def test_no_number_of_the_tables_reads_as_one_of_this_prompt(panel, qtbot):
    """`+22.3 logits` under the pointer was taken for what the head adds here: it is embeddings through W_OV and W_U."""
    assert cell_rows(panel.result, 3, 5)[-1][1] == "by embeddings, before the norm"
    assert "not what the head adds on this prompt" in panel.bar.toolTip()
    press(qtbot, panel.circuit)
    assert cell_rows(panel.result, 3, 5)[-1][1] == "score by embeddings"
    assert "not those of this prompt" in panel.bar.toolTip()


def test_a_click_in_the_ov_table_selects_key_and_target(panel, session, qtbot):
    tokens, ids = panel.result.tokens, session.trace.tokens.ids
    row, column = 3, 5
    click(qtbot, panel, row, column)
    assert ids[session.selection.key] == tokens[row]
    assert session.selection.target == tokens[column]
    assert (panel.matrix.data.row, panel.matrix.data.column) == (row, column)


def test_a_click_in_the_qk_table_selects_query_and_key(panel, session, qtbot):
    press(qtbot, panel.circuit)
    tokens, ids = panel.result.tokens, session.trace.tokens.ids
    click(qtbot, panel, 8, 2)
    assert ids[session.selection.query] == tokens[8]
    assert ids[session.selection.key] == tokens[2]
    assert session.selection.key <= session.selection.query


def test_the_whole_matrix_is_shown_in_d_model_space(panel, session, qtbot):
    press(qtbot, panel.space, Qt.Key.Key_Down)
    d_model = session.model.config.d_model
    assert panel.matrix.data.shade.shape == (d_model, d_model)
    assert panel.matrix.data.row_labels == ()
    QTest.mouseMove(panel.matrix, panel.matrix.cell_center(10, 20).toPoint())
    assert "coordinate 10" in panel.inspector.rows()[0][1]
    panel.inspector.dismiss()


def test_the_spectrum_is_that_of_the_shown_circuit(panel, qtbot):
    ov = panel.spectrum.singular_values
    press(qtbot, panel.circuit)
    assert not np.allclose(ov, panel.spectrum.singular_values)
    assert np.abs(panel.spectrum.eigenvalues).max() == pytest.approx(1.0)


def test_the_offset_belongs_to_the_qk_circuit_of_rotary_models(panel, session, qtbot):
    assert session.model.config.position == "rotary"
    assert not panel.offset.isVisible()
    press(qtbot, panel.circuit)
    assert panel.offset.isVisible()
    before = panel.result.values
    panel.offset.setFocus()
    panel.offset.selectAll()
    qtbot.keyClicks(panel.offset, "5")
    qtbot.keyClick(panel.offset, Qt.Key.Key_Return)
    assert panel.result.offset == 5
    assert not np.allclose(before, panel.result.values)


def test_an_offset_that_is_no_count_is_refused_and_the_picture_stays(panel, qtbot):
    press(qtbot, panel.circuit)
    before = panel.result
    panel.offset.setFocus()
    panel.offset.selectAll()
    qtbot.keyClicks(panel.offset, "1.5")
    qtbot.keyClick(panel.offset, Qt.Key.Key_Return)
    assert "offset must be a whole number" in str(panel.error)
    assert panel.result is before


def test_weights_do_not_change_with_edits(panel, session):
    before = panel.result
    session.put_edit(ScaleHead(0, 0, 0.0))
    assert panel.result is before


def test_the_regression_scene_writes_the_fit_as_a_head(panel, session):
    session.set_scene("regression")
    assert panel.formula.isVisible()
    assert not panel.matrix.isVisible()
    np.testing.assert_allclose(panel.formula.W_QK.values, panel.result.formula.W_QK)
    np.testing.assert_allclose(panel.formula.W_OV.values, [[1.0]])
    assert not panel.circuit.isVisible()


@pytest.mark.parametrize("compact", [False, True])
def test_nothing_of_the_formula_is_cut_off(panel, session, compact):
    session.set_scene("regression")
    panel.set_compact(compact)
    panel.resize(514, 197) if compact else panel.resize(486, 270)
    for matrix in (panel.formula.W_QK, panel.formula.W_OV):
        hint = matrix.sizeHint()
        assert matrix.width() >= hint.width()
        assert matrix.height() >= hint.height()
        assert panel.formula.rect().contains(matrix.geometry())


def test_a_kernel_that_is_no_head_shows_why(panel, session):
    session.set_scene("regression")
    session.set_kernel("uniform")
    assert not panel.formula.W_QK.isVisible()
    assert "not exp(bilinear)" in panel.accessibleDescription()
    assert not panel.grab().isNull()


def test_only_a_kernel_that_is_a_head_is_called_exact(panel, session):
    session.set_scene("regression")
    assert panel.exact.isVisible()
    session.set_kernel("epanechnikov")
    assert not panel.exact.isVisible()
    session.set_kernel("exp-dot-product")
    assert panel.exact.isVisible()
    session.set_scene("head")
    assert not panel.exact.isVisible()
