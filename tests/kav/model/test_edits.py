"""Edits against a model: what fits, what does not, and which rows an edit can reach."""

import dataclasses

import numpy as np
import pytest

from kav.errors import ModelError
from kav.model.edits import (
    LARGEST,
    Edit,
    MaskKeys,
    MoveQuery,
    ScaleEdge,
    ScaleHead,
    ScaleMlp,
    SetScore,
    SetTemperature,
    first_row,
    resolve,
)
from kav.model.trace import run
from tests.kav.model_factory import some_ids, tiny_model


def test_positions_from_the_end_are_counted_from_the_start():
    edits = (
        ScaleHead(0, 1, 0.0, positions=(-1, 2, -4)),
        ScaleEdge(0, 1, -2, 0.0, query=-1),
        MaskKeys(0, 1, (-1, 0, 5), (-3,)),
        MoveQuery(0, 1, -1, -2, 0.5),
    )
    assert resolve(edits, tiny_model().config, 6) == (
        ScaleHead(0, 1, 0.0, positions=(2, 5)),
        ScaleEdge(0, 1, 4, 0.0, query=5),
        MaskKeys(0, 1, (0, 5), (3,)),
        MoveQuery(0, 1, 5, 4, 0.5),
    )


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (ScaleHead(2, 0, 0.0), "layer of ScaleHead must be in 0..1, got 2"),
        (ScaleHead(-1, 0, 0.0), "layer of ScaleHead must be in 0..1, got -1"),
        (ScaleHead(0, 4, 0.0), "head of ScaleHead must be in 0..3, got 4"),
        (ScaleHead(0, 0, float("nan")), "scale of ScaleHead must be in .*, got nan"),
        (ScaleHead(0, 0, 0.0, "median"), "baseline of ScaleHead must be one of .*, got 'median'"),
        (ScaleHead(0, 0, 0.0, positions=(6,)), "positions of ScaleHead must be in -6..5, got 6"),
        (ScaleMlp(0, float("inf")), "scale of ScaleMlp must be in .*, got inf"),
        (MaskKeys(0, 0, (-7,)), "keys of MaskKeys must be in -6..5, got -7"),
        (SetTemperature(0, 0, -0.1), "beta of SetTemperature must be >= 0, got -0.1"),
        (SetScore(0, 0, 2, 3, 1.0), "SetScore must name a visible cell, got query 2, key 3"),
        (SetScore(0, 0, 2, 1, float("nan")), "value of SetScore must be in"),
        (MoveQuery(0, 0, 6, 0, 1.0), "query of MoveQuery must be in -6..5, got 6"),
        (MoveQuery(0, 0, 0, 0, float("inf")), "t of MoveQuery must be in"),
        ("head 0.0", "an edit must be one of kav's edits, got str"),
    ],
)
def test_edit_that_does_not_fit_is_refused_with_the_rule_and_the_value(edit, said):
    model = tiny_model()
    with pytest.raises(ModelError, match=said):
        run(model, model.tokens(some_ids(6)), (edit,))


def test_mlp_of_an_attention_only_model_cannot_be_scaled():
    model = tiny_model(attention_only=True)
    with pytest.raises(ModelError, match="attention-only"):
        run(model, model.tokens(some_ids(6)), (ScaleMlp(0, 0.5),))


@pytest.mark.parametrize(
    "edit",
    [
        ScaleHead(0, 1, 0.0),
        ScaleHead(0, 1, 0.0, positions=(3, 5)),
        ScaleMlp(0, 0.0, positions=(4,)),
        ScaleEdge(0, 1, 2, 0.0),
        ScaleEdge(0, 1, 2, 0.0, query=4),
        MaskKeys(0, 1, (2, 3)),
        MaskKeys(0, 1, (0,), (3, 4)),
        SetScore(0, 1, 4, 1, 3.0),
        SetTemperature(0, 1, 2.0),
        MoveQuery(0, 1, 3, 1, 0.5),
    ],
)
def test_rows_before_the_first_row_of_an_edit_do_not_change(edit):
    model = tiny_model(dtype="float64")
    tokens = model.tokens(some_ids(6))
    changed = np.abs(run(model, tokens, (edit,)).logits() - run(model, tokens).logits()).max(axis=1) > 1e-9
    assert not changed[: first_row(edit)].any()
    assert changed.any()


def test_every_edit_is_frozen_and_hashable():
    for kind in Edit.__subclasses__():
        assert kind.__dataclass_params__.frozen
        assert dataclasses.is_dataclass(kind)
    assert len({ScaleHead(0, 1, 0.5), ScaleHead(0, 1, 0.5), ScaleMlp(0, 0.5)}) == 2


def test_score_that_a_window_hides_cannot_be_set():
    config = tiny_model(windows=(3, 0)).config
    for edit in (SetScore(0, 1, 5, 3, 1.0), SetScore(1, 1, 5, 0, 1.0)):
        assert resolve((edit,), config, 6) == (edit,)
    with pytest.raises(ModelError, match="SetScore must name a visible cell, got query 5, key 2"):
        resolve((SetScore(0, 1, 5, 2, 1.0),), config, 6)


@pytest.mark.parametrize(
    "edit",
    [
        SetScore(0, 0, 1, 0, 1e39),
        SetTemperature(0, 0, 1e38),
        ScaleHead(0, 0, -1e38),
        ScaleMlp(0, 1e7),
        MoveQuery(0, 0, 1, 0, float("nan")),
        ScaleEdge(0, 0, 0, float("inf")),
    ],
)
def test_a_number_that_would_overflow_is_refused(edit):
    # Finite in Python's numbers but not in the model's: every logit was NaN.
    model = tiny_model()
    with pytest.raises(ModelError, match=r"must be in -1e\+06..1e\+06, got"):
        run(model, model.tokens(some_ids(3)), (edit,))


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_numbers_give_finite_logits(sign):
    model = tiny_model()
    edits = (
        SetScore(1, 0, 1, 0, sign * LARGEST),
        SetTemperature(0, 0, LARGEST),
        ScaleHead(0, 0, sign * LARGEST),
        ScaleHead(0, 1, sign * LARGEST, "mean"),
        ScaleMlp(0, sign * LARGEST),
        MoveQuery(1, 1, 1, 0, sign * LARGEST),
        ScaleEdge(0, 2, 0, sign * LARGEST),
    )
    for edit in (*((edit,) for edit in edits), edits):
        edit = edit if isinstance(edit, tuple) else (edit,)
        assert np.isfinite(run(model, model.tokens(some_ids(3)), edit).logits()).all()
