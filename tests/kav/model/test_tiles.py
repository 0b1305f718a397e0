"""Tiles and overviews of long patterns: against the whole pattern of short ones, and within a memory bound."""

import tracemalloc

import numpy as np
import pytest

from kav.errors import Cancelled, KavError
from kav.model import tiles
from kav.model.edits import MaskKeys, ScaleEdge, SetScore, SetTemperature
from kav.model.tiles import TiledHead, tile
from kav.model.trace import run
from kav.task import Task
from tests.kav.model_factory import some_ids, tiny_model

EDITS = (
    MaskKeys(0, 1, (4, 9)),
    MaskKeys(0, 1, tuple(range(21)), (20,)),
    SetScore(0, 1, 30, 5, 2.0),
    ScaleEdge(0, 1, 7, 3.0),
    ScaleEdge(0, 1, 8, -1.0, query=33),
    SetTemperature(0, 1, 2.0),
)


@pytest.fixture(params=[True, False], ids=["causal", "bidirectional"])
def trace(request, xp):
    model = tiny_model(xp, dtype="float64", causal=request.param)
    return run(model, model.tokens(some_ids(41)), EDITS)


@pytest.fixture(params=[1 << 20, 256], ids=["one block", "many blocks"])
def blocks(request, monkeypatch):
    monkeypatch.setattr(tiles, "BLOCK_CELLS", request.param)


@pytest.mark.parametrize("passed", [False, True], ids=["own sums", "sums of the pass"])
@pytest.mark.parametrize("head", [1, 3])
def test_tiles_are_cut_from_the_whole_pattern(trace, blocks, head, passed):
    whole, tiled = trace.pattern(0, head), TiledHead(trace, 0, head)
    if passed:
        tiled.overview()
    for rows in (slice(0, 41), slice(19, 34), slice(3, 3)):
        for columns in (slice(0, 41), slice(2, 12), slice(30, 41)):
            np.testing.assert_allclose(tiled.tile(rows, columns), whole[rows, columns], atol=1e-12)
    np.testing.assert_allclose(tile(trace, 0, head, slice(5, 9), slice(1, 4)), whole[5:9, 1:4], atol=1e-12)


@pytest.mark.parametrize("most", [20, 8, 1])
def test_overview_holds_largest_and_mean_of_every_square(trace, blocks, monkeypatch, most):
    monkeypatch.setattr(tiles, "OVERVIEW", most)
    found, whole = TiledHead(trace, 0, 1).overview(), trace.pattern(0, 1)
    n = len(found.mean)
    assert n <= most
    for i in range(n):
        for j in range(n):
            square = whole[i * found.size : (i + 1) * found.size, j * found.size : (j + 1) * found.size]
            assert found.largest[i, j] == pytest.approx(square.max(), abs=1e-7)
            assert found.mean[i, j] == pytest.approx(square.mean(), abs=1e-7)


def test_row_sums_are_those_of_the_scores(trace):
    scores = trace.scores(0, 1)
    lse = TiledHead(trace, 0, 1).lse
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(lse, np.log(np.exp(scores).sum(axis=1)), atol=1e-12)


def test_pass_is_made_once_tells_how_far_it_is_and_can_be_cancelled(monkeypatch):
    monkeypatch.setattr(tiles, "OVERVIEW", 41)
    model, seen = tiny_model(), []
    trace = run(model, model.tokens(some_ids(41)))
    tiled = TiledHead(trace, 0, 1)
    first = tiled.overview(Task(lambda fraction, text: seen.append(fraction)))
    assert seen == sorted(seen)
    assert len(seen) == 3
    assert seen[-1] == 1.0
    assert tiled.overview() is first
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled):
        TiledHead(trace, 0, 1).overview(task)


def test_memory_stays_far_below_the_square(monkeypatch):
    monkeypatch.setattr(tiles, "BLOCK_CELLS", 1 << 17)
    n = 2000
    model = tiny_model(n_ctx=n, n_layers=1, n_heads=2, d_head=4, n_kv_heads=1)
    trace = run(model, model.tokens(some_ids(n)))
    tracemalloc.start()
    tiled = TiledHead(trace, 0, 1)
    overview = tiled.overview()
    corner = tiled.tile(slice(n - 256, n), slice(n - 512, n))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n * 4 / 3
    counts = np.minimum(overview.size, n - overview.size * np.arange(len(overview.mean)))
    assert (overview.mean * counts[:, None] * counts[None, :]).sum() == pytest.approx(n, rel=1e-5)
    np.testing.assert_allclose(corner, trace.pattern(0, 1, slice(n - 256, n), slice(n - 512, n)), atol=1e-6)


def test_head_that_does_not_exist_is_refused():
    model = tiny_model()
    trace = run(model, model.tokens(some_ids(5)))
    with pytest.raises(KavError, match=r"head must be in 0.0..1.3, got 2.0"):
        TiledHead(trace, 2, 0)
