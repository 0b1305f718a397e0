"""Tiles and squares of long patterns: against the whole pattern of short ones, and within a memory bound."""

import tracemalloc

import numpy as np
import pytest

from kav.errors import Cancelled, KavError
from kav.model import tiles
from kav.model.edits import MaskKeys, ScaleEdge, SetScore, SetTemperature
from kav.model.tiles import Part, TiledHead
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


def _weights(scores, weights, rows, columns):
    return weights


def _scores(scores, weights, rows, columns):
    return scores


@pytest.mark.parametrize("passed", [False, True], ids=["sums unknown", "sums known"])
@pytest.mark.parametrize("head", [1, 3])
def test_tiles_are_cut_from_the_whole_pattern(trace, blocks, head, passed):
    whole, tiled = trace.pattern(0, head), TiledHead(trace, 0, head)
    if passed:
        tiled.tile(slice(0, 41), slice(0, 1))
    for rows in (slice(0, 41), slice(19, 34), slice(3, 3)):
        for columns in (slice(0, 41), slice(2, 12), slice(30, 41)):
            np.testing.assert_allclose(tiled.tile(rows, columns), whole[rows, columns], atol=1e-12)


PARTS = (Part((0, 41), (0, 41)), Part((12, 30), (5, 23)), Part((0, 9), (20, 41)), Part((40, 41), (0, 41)))


@pytest.mark.parametrize("part", PARTS)
def test_squares_of_one_cell_are_the_matrix_itself(trace, blocks, part):
    found = TiledHead(trace, 0, 1).squares(part, 1, _weights)
    cells = slice(*part.rows), slice(*part.columns)
    np.testing.assert_allclose(found.values, trace.pattern(0, 1)[cells], atol=1e-12)
    np.testing.assert_allclose(found.weights, trace.pattern(0, 1)[cells], atol=1e-12)
    np.testing.assert_allclose(found.scores, trace.scores(0, 1)[cells], atol=1e-12)
    np.testing.assert_array_equal(found.visible, trace.scores(0, 1)[cells] > -np.inf)
    rows, columns = np.meshgrid(np.arange(*part.rows), np.arange(*part.columns), indexing="ij")
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_array_equal(found.columns, columns)


@pytest.mark.parametrize("what", ["weights", "scores", "unmasked"])
@pytest.mark.parametrize("size", [2, 5, 41])
@pytest.mark.parametrize("part", PARTS)
def test_every_square_shows_its_cell_that_is_farthest_from_zero(trace, blocks, part, size, what):
    read, signed, masked = (_weights if what == "weights" else _scores), what != "weights", what != "unmasked"
    found = TiledHead(trace, 0, 1).squares(part, size, read, signed=signed, masked=masked)
    scores, weights = trace.scores(0, 1, masked=masked), trace.pattern(0, 1)
    values, visible = (scores if signed else weights), scores > -np.inf
    assert found.values.shape == tuple(-(-n // size) for n in part.shape)
    for i, j in np.ndindex(found.values.shape):
        down, across = part.rows[0] + i * size, part.columns[0] + j * size
        square = slice(down, min(down + size, part.rows[1])), slice(across, min(across + size, part.columns[1]))
        assert found.visible[i, j] == visible[square].any()
        cell = found.rows[i, j], found.columns[i, j]
        assert square[0].start <= cell[0] < square[0].stop
        assert square[1].start <= cell[1] < square[1].stop
        if not found.visible[i, j]:
            assert (found.values[i, j], found.scores[i, j], found.weights[i, j]) == (0, -np.inf, 0)
            continue
        seen = values[square][visible[square]]
        assert found.values[i, j] == pytest.approx(values[cell], abs=1e-12)
        largest = np.abs(seen).max() if signed else seen.max()
        assert (abs(values[cell]) if signed else values[cell]) == pytest.approx(largest, abs=1e-12)
        assert found.scores[i, j] == pytest.approx(scores[cell], abs=1e-12)
        assert found.weights[i, j] == pytest.approx(weights[cell], abs=1e-12)


def test_values_are_read_block_by_block_with_their_places(trace, blocks):
    def read(scores, weights, rows, columns):
        assert weights.shape == (rows[1] - rows[0], columns[1] - columns[0])
        return np.add.outer(100.0 * np.arange(*rows), np.arange(*columns))

    found = TiledHead(trace, 0, 1).squares(Part((3, 40), (1, 38)), 4, read)
    seen = found.visible
    np.testing.assert_array_equal(found.values[seen], (100.0 * found.rows + found.columns)[seen])


def test_squares_tell_how_far_they_are_and_can_be_cancelled(monkeypatch):
    monkeypatch.setattr(tiles, "BLOCK_CELLS", 41)
    model, seen = tiny_model(), []
    trace = run(model, model.tokens(some_ids(41)))
    whole = Part((0, 41), (0, 41))
    TiledHead(trace, 0, 1).squares(whole, 1, _weights, task=Task(lambda fraction, text: seen.append(fraction)))
    assert seen == sorted(seen)
    assert len(seen) == 3
    assert seen[-1] == 1.0
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled):
        TiledHead(trace, 0, 1).squares(whole, 1, _weights, task=task)


def test_memory_stays_far_below_the_square():
    n = 4096
    model = tiny_model(n_ctx=n, n_layers=1, n_heads=2, d_head=4, n_kv_heads=1)
    trace = run(model, model.tokens(some_ids(n)))
    tracemalloc.start()
    tiled = TiledHead(trace, 0, 1)
    whole = tiled.squares(Part((0, n), (0, n)), 8, _weights)
    corner = tiled.tile(slice(n - 256, n), slice(n - 512, n))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n * 4 / 2
    np.testing.assert_allclose(whole.values.max(axis=1)[-1], trace.pattern(0, 1, slice(n - 8, n)).max(), atol=1e-6)
    np.testing.assert_allclose(corner, trace.pattern(0, 1, slice(n - 256, n), slice(n - 512, n)), atol=1e-6)


def test_head_that_does_not_exist_is_refused():
    model = tiny_model()
    trace = run(model, model.tokens(some_ids(5)))
    with pytest.raises(KavError, match=r"head must be in 0.0..1.3, got 2.0"):
        TiledHead(trace, 2, 0)
