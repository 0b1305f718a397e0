"""The batched rest of a run, and what a dose adds to the stream: both against whole edited runs."""

from dataclasses import replace

import numpy as np
import pytest

from kav import threads
from kav.errors import KavError, ModelError
from kav.model import suffix as suffix_module
from kav.model.edits import MoveQuery, ScaleEdge, ScaleHead, ScaleMlp, SetTemperature
from kav.model.head import contribution
from kav.model.suffix import suffix
from kav.model.trace import run
from tests.kav.model_factory import some_ids, tiny_model

OTHERS = (
    ScaleHead(1, 1, 0.2, "mean"),
    ScaleMlp(2, 0.5, "resample", (1, 3)),
    SetTemperature(2, 0, 1.5),
    MoveQuery(2, 1, 5, 2, 0.4),
)


def traced(xp, edits=()):
    model = tiny_model(xp, dtype="float64", n_layers=3)
    return run(model, model.tokens(some_ids(7)), edits)


@pytest.mark.parametrize("layer", [0, 1, 2, 3])
def test_suffix_of_a_runs_own_stream_ends_as_the_run(xp, layer):
    trace = traced(xp, OTHERS)
    resid = xp.stack([trace.resid_pre(layer)] * 2, axis=0)
    final = xp.get(suffix(trace.model, resid, layer, edits=OTHERS))
    assert final.shape == (2, 7, 16)
    np.testing.assert_allclose(final[1], trace.resid(3), atol=1e-10)


@pytest.mark.parametrize("edits", [(), OTHERS], ids=["as it is", "edited"])
@pytest.mark.parametrize("positions", [(-1,), (5, 2), (0,)])
def test_suffix_reads_only_the_asked_positions(xp, edits, positions):
    trace = traced(xp, edits)
    resid = xp.stack([trace.layers[1].resid_mid], axis=0)
    final = suffix(trace.model, resid, 1, edits=edits, positions=positions, from_mid=True)
    np.testing.assert_allclose(xp.get(final)[0], trace.resid(3)[list(positions)], atol=1e-10)


def test_suffix_in_chunks_equals_suffix_at_once(xp, monkeypatch):
    trace = traced(xp)
    resid = xp.stack([trace.resid_pre(1) * dose for dose in (0.5, 1.0, 1.5)], axis=0)
    whole = xp.get(suffix(trace.model, resid, 1))
    monkeypatch.setattr("kav.model.suffix.CHUNK_NUMBERS", 1)
    np.testing.assert_allclose(xp.get(suffix(trace.model, resid, 1)), whole, atol=1e-12)


@pytest.mark.parametrize("workers", [1, 3])
def test_suffix_in_groups_of_streams_equals_suffix_of_all_together(xp, monkeypatch, workers):
    trace = traced(xp, OTHERS)
    resid = xp.stack([trace.layers[0].resid_mid * dose for dose in np.linspace(-1, 3, 7).tolist()], axis=0)
    options = {"edits": OTHERS, "from_mid": True, "positions": (2, -1)}
    monkeypatch.setattr(suffix_module, "ROWS", 10_000)
    whole = xp.get(suffix(trace.model, resid, 0, **options))
    monkeypatch.setattr(threads, "n_workers", lambda: workers)
    monkeypatch.setattr(suffix_module, "ROWS", 15)  # two streams of 7 tokens
    np.testing.assert_allclose(xp.get(suffix(trace.model, resid, 0, **options)), whole, atol=1e-12)


@pytest.mark.parametrize("baseline", ["zero", "mean", "resample"])
@pytest.mark.parametrize("positions", [None, (2, -1)])
@pytest.mark.parametrize("kind", ["head", "mlp"])
def test_doses_through_the_suffix_equal_whole_edited_runs(xp, kind, baseline, positions):
    edit = ScaleHead(1, 2, 0.0, baseline, positions) if kind == "head" else ScaleMlp(0, 0.0, baseline, positions)
    check_doses(xp, edit)


@pytest.mark.parametrize("edit", [ScaleEdge(1, 2, 1, 0.0), ScaleEdge(1, 1, 0, 0.0, query=-1)])
def test_edge_doses_through_the_suffix_equal_whole_edited_runs(xp, edit):
    check_doses(xp, edit)


def check_doses(xp, edit):
    trace, doses = traced(xp, OTHERS), (-1.0, 0.0, 1.0, 2.5)
    part = contribution(trace, edit)
    mlp = isinstance(edit, ScaleMlp)
    start = trace.resid_pre(edit.layer + 1) if mlp else trace.layers[edit.layer].resid_mid
    streams = xp.stack([start + (dose - 1) * part for dose in doses], axis=0)
    final = suffix(trace.model, streams, edit.layer + mlp, edits=OTHERS, from_mid=not mlp)
    for i, dose in enumerate(doses):
        edited = run(trace.model, trace.tokens, (*OTHERS, replace(edit, scale=dose)))
        np.testing.assert_allclose(xp.get(final)[i], edited.resid(3), atol=1e-9)


def test_suffix_refuses_what_does_not_fit(xp):
    trace = traced(xp)
    resid = xp.stack([trace.resid_pre(0)], axis=0)
    for refused in (
        lambda: suffix(trace.model, trace.resid_pre(0), 0),
        lambda: suffix(trace.model, resid, 4),
        lambda: suffix(trace.model, resid, 3, from_mid=True),
        lambda: suffix(trace.model, resid, 0, positions=(7,)),
    ):
        with pytest.raises(KavError, match="must"):
            refused()
    with pytest.raises(ModelError, match="head of ScaleHead"):
        suffix(trace.model, resid, 0, edits=(ScaleHead(0, 9, 0.0),))
