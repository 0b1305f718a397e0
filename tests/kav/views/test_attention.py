"""The matrix shows the model's own numbers, and no shading hides or invents a cell."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import kav
from kav.circuits.roles import prompt_roles
from kav.model.edits import MaskKeys, ScaleHead, SetTemperature
from kav.task import Task
from kav.views import attention, attribution, fit, prompt
from kav.views.scene import resolve
from kav.views.shading import level, pool, shade
from kav.views.words import number, plain, share, signed
from tests.kav.model_factory import tiny_model


def _compute(scene, last=None, **controls):
    return attention.compute(attention.Spec(scene, **controls), Task(), last)


def test_weights_are_the_models_pattern(any_scene):
    made = any_scene()
    result = _compute(made)
    np.testing.assert_allclose(result.values, made.trace.pattern(1, 2), atol=1e-7)
    assert result.levels == (0.0, 1.0)
    np.testing.assert_array_equal(result.visible, np.isfinite(made.trace.scores(1, 2)))


@pytest.mark.parametrize("edits", [(), (ScaleHead(1, 2, 0.4),), (ScaleHead(1, 2, 0.4, "mean"),)])
def test_logit_weighting_of_a_row_sums_to_the_heads_contribution(any_scene, edits):
    made = any_scene(*edits)
    result = _compute(made, weighting="logits")
    assert (result.unit, result.diverging) == ("logits", True)
    for query in range(made.trace.n_tokens):
        expected = kav.attribution(made.trace, query, 7).heads[1, 2]
        assert result.values[query].sum() == pytest.approx(expected, abs=1e-4)


def test_message_weighting_is_the_length_of_what_is_moved(any_scene):
    made = any_scene()
    model, kv_head = made.trace.model, made.trace.model.config.kv_head(2)
    messages = made.trace.layers[1].v[kv_head] @ model.weights.blocks[1].W_O[2]
    expected = made.trace.pattern(1, 2) * np.linalg.norm(messages, axis=-1)
    np.testing.assert_allclose(_compute(made, weighting="message").values, expected, rtol=1e-4)


def test_unmasked_scores_have_no_excluded_cell_and_masked_ones_have(scene):
    assert _compute(scene(), stage="scores").visible.all()
    assert not _compute(scene(), stage="masked").visible.all()


@pytest.mark.parametrize("shading", ["linear", "log", "rank"])
@pytest.mark.parametrize("weighting", ["weight", "message", "logits"])
def test_everything_drawn_is_finite_and_in_range(scene, weighting, shading):
    result = _compute(scene(MaskKeys(1, 0, tuple(range(16)), (3,))), weighting=weighting, shading=shading)
    for array in (result.values, result.shade, result.weights):
        assert np.isfinite(array).all()
    assert (np.abs(result.shade) <= 1).all()
    assert (result.shade[~result.visible] == 0).all()


@given(arrays(float, (5, 7), elements=st.floats(0, 1)), st.sampled_from(["linear", "log", "rank"]))
def test_shading_keeps_the_order_of_a_row_and_zero(values, shading):
    visible = np.ones(values.shape, bool)
    shades = shade(values, visible, shading=shading, top=level(values, visible, diverging=False))
    for row, shaded in zip(values, shades, strict=True):
        order = np.argsort(row, kind="stable")
        assert (np.diff(shaded[order]) >= -1e-12).all()
    assert shading == "rank" or (shades[values == 0] == 0).all()


def test_rank_shading_ends_at_one_in_every_row(scene):
    result = _compute(scene(), shading="rank")
    np.testing.assert_allclose(result.shade.max(axis=1), 1.0)


@given(arrays(float, (9, 13), elements=st.floats(0, 1)), st.integers(1, 20))
def test_pooling_keeps_the_largest_cell(cells, most):
    small = pool(cells, most)
    assert max(small.shape) <= max(most, 1) or max(small.shape) <= 13
    assert small.max() == cells.max()
    assert small.shape == (min(9, most), min(13, most))


def test_every_head_has_a_thumbnail_with_its_role(scene):
    result = _compute(scene(ScaleHead(0, 0, 0.0)))
    assert [len(row) for row in result.thumbs] == [4, 4]
    assert [(t.layer, t.head) for row in result.thumbs for t in row if t.edited] == [(0, 0)]
    assert result.thumbs[0][0].role == "previous"


def test_default_head_is_called_an_induction_head(scene):
    result = _compute(scene())
    score = prompt_roles(scene().trace)[1][0].score
    assert result.role == "induction"
    assert result.role_text == f"prefix matching {share(score)} on this prompt"


def test_thumbnails_of_the_same_run_are_reused(scene):
    made = scene()
    one = _compute(made)
    assert _compute(made, one, shading="log").thumbs is one.thumbs
    assert _compute(scene(), one).thumbs is not one.thumbs


def test_thumbnails_of_a_long_prompt_stay_small_and_keep_a_peak():
    model = tiny_model(n_ctx=400)
    trace = kav.run(model, model.tokens([(7 * i) % 31 for i in range(300)]))
    made = kav.views.scene.HeadScene(trace, kav.views.scene.Selection())
    for row in _compute(made).thumbs:
        for thumb in row:
            assert thumb.cells.shape == (64, 64)
            assert thumb.cells[-1].max() == pytest.approx(trace.pattern(thumb.layer, thumb.head)[-1].max(), abs=1e-6)


def test_reading_line_marks_query_and_key(scene):
    made = scene()
    weight = share(float(made.trace.pattern(1, 0)[-1, 4]))
    assert plain(_compute(made).reading) == f"Head 1.0 at ▼ 15 green looks at ● 4 carriage ({weight})"


def test_reading_line_of_an_edited_run_says_where_it_looked(scene):
    made = scene(ScaleHead(0, 0, 0.0))
    row = made.trace.pattern(1, 0)[-1]
    best = int(row.argmax())
    was = share(float(made.base.pattern(1, 0)[-1, 4]))
    label = f"{best} {made.trace.tokens.labels[best]}"
    assert best != resolve(made).key
    expected = f"Head 1.0 at ▼ 15 green looks at {label} ({share(float(row[best]))}), was 4 carriage ({was})"
    assert plain(_compute(made).reading) == expected


def test_a_row_without_visible_keys_is_said_to_look_at_nothing(scene):
    result = _compute(scene(MaskKeys(1, 0, tuple(range(16)))))
    assert plain(result.reading).endswith("looks at nothing: every key is masked")


LONG = 1500  # tokens: more than are told apart at once


@pytest.fixture(scope="module")
def long_scene():
    model = tiny_model(n_ctx=LONG, n_layers=1)
    ids = [(7 * i * i + i // 3) % 31 for i in range(LONG)]
    return kav.views.scene.HeadScene(kav.run(model, model.tokens(ids)), kav.views.scene.Selection(0, 1, 900, target=3))


@pytest.mark.parametrize("controls", [{}, {"weighting": "message"}, {"weighting": "logits"}, {"stage": "masked"}])
def test_long_matrices_are_shown_in_squares_by_real_cells(long_scene, controls):
    result = _compute(long_scene, **controls)
    squares, trace = result.squares, long_scene.trace
    assert result.n_pooled == 3
    assert result.values.shape == (LONG // 3, LONG // 3)
    weights = trace.pattern(0, 1)
    np.testing.assert_allclose(
        result.weights[result.visible], weights[squares.rows, squares.columns][result.visible], atol=1e-6
    )
    if not controls:
        largest = weights.reshape(LONG // 3, 3, LONG // 3, 3).max(axis=(1, 3))
        np.testing.assert_allclose(result.values, largest, atol=1e-6)
    part = attention.Part((891, 912), (880, 901))
    exact = _compute(long_scene, part=part, **controls)
    assert (exact.n_pooled, exact.values.shape) == (1, (21, 21))
    i, j = result.place(900, 899)
    cell = int(squares.rows[i, j]), int(squares.columns[i, j])
    assert result.values[i, j] == pytest.approx(float(exact.values[exact.place(*cell)]), rel=1e-5)
    assert exact.place(10, 10) is None


def test_what_is_seen_of_a_long_matrix_is_the_direct_picture(long_scene):
    part = attention.Part((700, 1211), (650, 1160))
    result = _compute(long_scene, weighting="logits", part=part)
    rows, columns = slice(*part.rows), slice(*part.columns)
    weights = long_scene.trace.pattern(0, 1, rows, columns)
    sources = np.stack([kav.attribution(long_scene.trace, i, 3).sources[0, 1, columns] for i in range(700, 720)])
    np.testing.assert_allclose(result.values[:20], sources, atol=1e-5)
    np.testing.assert_allclose(result.weights, weights, atol=1e-6)


def test_row_sums_of_a_head_are_kept_while_its_parts_are_looked_at(long_scene):
    one = _compute(long_scene)
    assert _compute(long_scene, one, part=attention.Part((0, 300), (0, 300))).tiled is one.tiled


def test_selected_cell_is_exact_in_a_long_matrix(long_scene):
    made = _compute(long_scene)
    row = long_scene.trace.pattern(0, 1, slice(900, 901))[0]
    assert made.cell.weight == pytest.approx(row[made.key])
    assert made.cell.others == pytest.approx(row.sum() - row[made.key])


def test_table_of_a_long_matrix_holds_the_drawn_cells_and_says_so(long_scene):
    found = attention.table(_compute(long_scene))
    weights = long_scene.trace.pattern(0, 1)
    assert len(found["query"]) == (LONG // 3) ** 2
    assert set(found["farthest_from_zero_of_cells"]) == {9}
    at = int(np.argmax(found["weight"] * found["visible"]))
    query, key = (int(found[name][at].split()[0]) for name in ("query", "key"))
    assert found["weight"][at] == pytest.approx(weights[query, key]) == pytest.approx(weights.max())
    exact = attention.table(_compute(long_scene, part=attention.Part((20, 30), (5, 9))))
    assert (len(exact["query"]), len(exact["key"]), exact["weight"].shape) == (10, 4, (10, 4))
    assert exact["query"][0].startswith("20 ")


def test_script_of_a_long_prompt_takes_one_row(long_scene):
    assert "rows = slice(query, query + 1)" in attention.python(attention.Spec(long_scene))


@pytest.mark.parametrize("baseline", ["zero", "mean", "resample"])
def test_panels_of_a_long_prompt_stay_far_below_the_square(baseline):
    n = 4096
    model = tiny_model(n_ctx=n, n_layers=1)
    base = kav.run(model, model.tokens([(7 * i * i + i // 3) % 31 for i in range(n)]))
    edits = (ScaleHead(0, 1, 0.5, baseline),)
    trace = kav.run(model, base.tokens, edits, base=base)
    made = kav.views.scene.HeadScene(trace, kav.views.scene.Selection(0, 1, target=3), edits, base)
    for view in (attention, attribution, fit, prompt):
        for controls in ({}, {"weighting": "logits"}) if view is attention else ({},):
            tracemalloc.start()
            view.compute(view.Spec(made, **controls), Task())
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 0.75 * n * n * 4, view.__name__


@pytest.mark.parametrize(
    ("controls", "verb", "unit"),
    [
        ({"weighting": "message"}, "carries most from", ")"),
        ({"weighting": "logits"}, "moves most with", " logits of ◆ carriage)"),
        ({"stage": "masked"}, "scores highest with", ")"),
    ],
)
def test_reading_line_is_about_what_the_matrix_shows(scene, controls, verb, unit):
    """With × message and in logits the sentence went on speaking of the weight."""
    result = _compute(scene(), **controls)
    row = np.where(result.visible[-1], result.values[-1], -np.inf if "stage" in controls else 0.0)
    best = int(np.argmax(np.abs(row) if unit.startswith(" ") else row))
    text = (signed if unit.startswith(" ") else number)(float(row[best]))
    mark = "● " if best == result.key else ""
    expected = f"Head 1.0 at ▼ 15 green {verb} {mark}{result.key_labels[best]} ({text}{unit}"
    assert plain(result.reading) == expected


def test_an_edit_that_leaves_the_head_alone_is_no_change(scene):
    """Another head was scaled: the card had an amber edge and said `0.568, was 0.568`."""
    for edit, changed in (
        (ScaleHead(1, 2, 0.0), False),
        (ScaleHead(1, 0, 0.0), False),
        (ScaleHead(0, 0, 0.0), True),
        (SetTemperature(1, 2, 0.5), False),
        (SetTemperature(1, 0, 0.5), True),
    ):
        result = _compute(scene(edit))
        assert result.changed == changed
        assert ("was" in plain(result.reading)) == changed
    assert _compute(scene(ScaleHead(1, 2, 0.0)), weighting="logits").changed  # the final norm divides by another scale
    assert not _compute(scene(), weighting="logits").changed


@pytest.mark.parametrize(
    ("weighting", "words"),
    [("logits", " moves nothing of the logit of ◆ carriage, was 4 carriage (+"), ("message", " carries nothing, was ")],
)
def test_a_removed_head_is_said_to_move_nothing(scene, weighting, words):
    """Story: "Head 1.0 moves most with 0 ‹bos› (0.00 logits of carriage)"."""
    removed = _compute(scene(ScaleHead(1, 0, 0.0)), weighting=weighting)
    assert words in plain(removed.reading)
    assert "0.00" not in plain(removed.reading)
    half = _compute(scene(ScaleHead(1, 0, 0.5)), weighting=weighting)
    assert "nothing" not in plain(half.reading)
