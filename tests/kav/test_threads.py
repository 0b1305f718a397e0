"""Blocks of rows: the same numbers as in one piece, whoever computes them."""

import threading

import numpy as np
import pytest

from kav import threads
from kav.model.trace import run
from tests.kav.model_factory import some_ids, tiny_model


@pytest.fixture(params=[1, 3])
def workers(request, monkeypatch):
    monkeypatch.setattr(threads, "n_workers", lambda: request.param)
    monkeypatch.setattr(threads, "WORTH", 0)
    yield request.param
    if request.param > 1:
        threads._pool(request.param).shutdown()
        threads._pool.cache_clear()


def test_blocks_cover_every_row_once_and_evenly():
    for n in (0, 1, 127, 128, 129, 1000):
        ranges = threads.blocks(n, 128)
        assert [row for start, stop in ranges for row in range(start, stop)] == list(range(n))
        sizes = [stop - start for start, stop in ranges]
        assert max(sizes) <= 128
        assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("shape", [(5, 4), (300, 4), (3, 200, 4), (2, 3, 1, 4), (0, 4)])
def test_function_of_rows_gives_the_same_by_blocks(xp, workers, shape):
    x = np.random.default_rng(0).normal(size=shape)
    matrix = np.random.default_rng(1).normal(size=(4, 7))
    found = threads.by_rows(lambda rows: rows @ xp.put(matrix), xp.put(x))
    np.testing.assert_allclose(xp.get(found), x @ matrix, atol=1e-12)


def test_answers_come_in_the_order_of_the_items_and_the_first_error_is_raised(workers):
    assert threads.each(lambda n: n * n, range(20)) == [n * n for n in range(20)]

    def fails(n):
        if n == 3:
            raise ValueError("three")
        return n

    with pytest.raises(ValueError, match="three"):
        threads.each(fails, range(20))


def test_several_threads_take_part(workers):
    barrier = threading.Barrier(workers, timeout=5)
    names = set()

    def meet(n):
        barrier.wait()
        names.add(threading.current_thread().name)

    threads.each(meet, range(workers))
    assert len(names) == workers


def test_what_a_thread_shares_out_itself_is_done_by_it(workers):
    def outer(n):
        return threads.each(lambda m: (n, m, threading.current_thread().name), range(3))

    for n, found in enumerate(threads.each(outer, range(2 * workers))):
        assert [row[:2] for row in found] == [(n, m) for m in range(3)]
        assert len({row[2] for row in found}) == 1


def test_run_in_blocks_by_several_threads_is_the_run_in_one_piece(workers, monkeypatch):
    model, ids = tiny_model(n_ctx=256, dtype="float64"), some_ids(200)
    found = run(model, model.tokens(ids)).logits()
    monkeypatch.setattr(threads, "LEAST_ROWS", 10_000)
    monkeypatch.setattr(threads, "n_workers", lambda: 1)
    np.testing.assert_allclose(found, run(model, model.tokens(ids)).logits(), atol=1e-11)


def test_threads_of_blas_are_left_alone(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    assert threads.n_workers() >= 1
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    assert threads.n_workers() == 1
