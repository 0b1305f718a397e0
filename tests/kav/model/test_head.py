"""One head as a smoother: the same numbers as the run, and the meaning of its slopes."""

import numpy as np
import pytest

from kav.errors import KavError
from kav.model.edits import MaskKeys, MoveQuery, ScaleHead, ScaleMlp, SetScore, SetTemperature
from kav.model.head import contribution, curve, head_smoother, heads_output, mlp_output, query_direction, slopes
from kav.model.trace import run
from tests.kav.model_factory import FAMILY_FEATURES, some_ids, tiny_model


def traced(xp, edits=()):
    model = tiny_model(xp, dtype="float64")
    return run(model, model.tokens(some_ids(8)), edits)


def test_smoother_of_a_head_has_the_heads_pattern_and_averages_values(xp):
    trace = traced(xp, (MaskKeys(1, 2, (3,)), SetTemperature(1, 2, 1.7)))
    y = trace.layers[1].v[1, :, 0]  # head 2 of 4 reads the second of 2 value heads
    smoother = head_smoother(trace, 1, 2, y)
    np.testing.assert_allclose(xp.get(smoother.weights()), trace.pattern(1, 2), atol=1e-12)
    np.testing.assert_allclose(xp.get(smoother.fit()), xp.get(trace.layers[1].z)[2, :, 0], atol=1e-12)
    np.testing.assert_allclose(xp.get(smoother.log_kernel(slice(2, 5), slice(1, 4))), trace.scores(1, 2)[2:5, 1:4])
    assert smoother.key_labels == trace.tokens.labels


@pytest.mark.parametrize("towards", [1, 7])
def test_curve_along_a_query_direction_is_what_moving_the_query_does(xp, towards):
    others = (SetTemperature(1, 2, 0.8), SetScore(1, 2, 5, 2, 0.7))
    trace, t = traced(xp, others), (0.0, 0.5, 1.0, 2.0)
    direction = query_direction(trace, 1, 2, 5, towards)
    y = trace.layers[1].v[1, :, 3]
    curve = head_smoother(trace, 1, 2, y).curve(5, slopes(trace, 1, 2, direction, query=5), xp.put(t, "float64"))
    moved = [run(trace.model, trace.tokens, (*others, MoveQuery(1, 2, 5, towards, value))) for value in t]
    np.testing.assert_allclose(xp.get(curve), [xp.get(m.layers[1].z)[2, 5, 3] for m in moved], atol=1e-10)


@pytest.mark.parametrize("name", FAMILY_FEATURES)
def test_curve_is_the_head_with_its_query_moved_whatever_the_family(xp, name):
    model = tiny_model(xp, dtype="float64", **FAMILY_FEATURES[name])
    others, t = (SetTemperature(1, 2, 0.8), SetScore(1, 2, 5, 4, 0.7)), (0.0, 0.5, 1.0, 2.0)
    trace = run(model, model.tokens(some_ids(8)), others)
    direction = query_direction(trace, 1, 2, 5, 1)
    responses = trace.layers[1].v[model.config.kv_head(2), :, 3]
    found = curve(trace, 1, 2, direction, query=5, responses=responses, t=xp.put(t, "float64"))
    moved = [run(model, trace.tokens, (*others, MoveQuery(1, 2, 5, 1, value))) for value in t]
    np.testing.assert_allclose(xp.get(found), [xp.get(m.layers[1].z)[2, 5, 3] for m in moved], atol=1e-10)


def test_slope_of_a_capped_score_is_its_difference_quotient():
    model, step = tiny_model(dtype="float64", **FAMILY_FEATURES["gemma2"]), 1e-6
    trace = run(model, model.tokens(some_ids(8)))
    direction = query_direction(trace, 1, 2, 6, 3)
    ends = [run(model, trace.tokens, (MoveQuery(1, 2, 6, 3, t),)).scores(1, 2)[6, :7] for t in (-step, step)]
    found = slopes(trace, 1, 2, direction, query=6)[:7]
    np.testing.assert_allclose(found, (ends[1] - ends[0]) / (2 * step), atol=1e-8)
    with pytest.raises(KavError, match="query must be given where scores are capped"):
        slopes(trace, 1, 2, direction)


def test_query_direction_does_not_depend_on_how_far_the_query_has_moved(xp):
    before, after = traced(xp), traced(xp, (MoveQuery(0, 1, 4, 2, 0.7),))
    same = [xp.get(query_direction(trace, 0, 1, 4, 2)) for trace in (before, after)]
    np.testing.assert_allclose(same[0], same[1], atol=1e-12)


def test_slope_along_the_query_itself_is_its_score(xp):
    trace = traced(xp)
    row = slopes(trace, 0, 3, trace.layers[0].q[3, 6, :])
    np.testing.assert_allclose(xp.get(row)[:7], trace.scores(0, 3)[6, :7], atol=1e-12)


def test_parts_of_a_layer_add_up_to_what_it_writes(xp):
    trace = traced(xp, (ScaleHead(0, 1, 0.3), ScaleMlp(0, 2.0, "mean")))
    bias = xp.get(trace.model.weights.blocks[0].b_O)
    written = xp.get(heads_output(trace, 0)).sum(axis=0) + bias + xp.get(mlp_output(trace, 0))
    np.testing.assert_allclose(written, trace.resid(1) - trace.resid(0), atol=1e-10)


def test_mlp_of_an_attention_only_model_adds_nothing(xp):
    model = tiny_model(xp, attention_only=True)
    trace = run(model, model.tokens(some_ids(3)))
    assert (xp.get(mlp_output(trace, 1)) == 0).all()


def test_what_is_not_one_head_or_one_dose_is_refused(xp):
    trace = traced(xp)
    for refused in (
        lambda: head_smoother(trace, 0, 4, trace.layers[0].v[0, :, 0]),
        lambda: head_smoother(trace, 0, 0, trace.layers[0].v[0, :3, 0]),
        lambda: query_direction(trace, 0, 0, 8, 1),
        lambda: contribution(trace, MaskKeys(0, 0, (1,))),
        lambda: heads_output(trace, 2),
    ):
        with pytest.raises(KavError, match="must"):
            refused()


def test_negative_positions_count_from_the_end_in_curves_and_slopes():
    model = tiny_model(dtype="float64", score_cap=1.5)
    trace = run(model, model.tokens(some_ids(5)), [SetScore(1, 0, 4, 2, 0.5)])
    u, t = query_direction(trace, 1, 0, -1, 0), np.linspace(-1.0, 1.0, 5)
    y = np.arange(5.0)
    np.testing.assert_array_equal(
        curve(trace, 1, 0, u, query=-1, responses=y, t=t), curve(trace, 1, 0, u, query=4, responses=y, t=t)
    )
    np.testing.assert_array_equal(slopes(trace, 1, 0, u, query=-1), slopes(trace, 1, 0, u, query=4))
    assert slopes(trace, 1, 0, u, query=-1)[2] == 0
