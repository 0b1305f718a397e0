"""Samples are values: nothing changes in place, and what cannot be plotted is set aside or refused."""

from __future__ import annotations

import numpy as np
import pytest

from kav.errors import KavError
from kav.regression.samples import BUILT_IN, Samples, sine


def test_moving_adding_and_removing_leave_the_old_samples_alone():
    old = Samples([1, 2, 3], [4, 5, 6])
    moved, added, removed = old.moved(1, 9.5, -1), old.added(0, 7), old.removed(0)
    assert old.x.tolist() == [1, 2, 3]
    assert (moved.x.tolist(), moved.y.tolist()) == ([1, 9.5, 3], [4, -1, 6])
    assert (added.x.tolist(), added.y.tolist()) == ([1, 2, 3, 0], [4, 5, 6, 7])
    assert (removed.x.tolist(), removed.y.tolist()) == ([2, 3], [5, 6])


def test_every_way_to_change_samples_keeps_their_names():
    samples = Samples([1.0, 2.0], [3.0, 4.0], "week", axes=("day", "kWh"))
    many = Samples(np.arange(2000.0), np.zeros(2000), "year", axes=("day", "kWh"))
    for changed in (samples.moved(0, 5, 6), samples.added(5, 6), samples.removed(0), many.moved(3, 4, 5)):
        assert changed.axes == ("day", "kWh")
        assert changed.name in ("week", "year")
    assert samples.moved(0, 5, 6).titled("week, edited") == "week, edited · 2 samples"


def test_samples_are_read_only_copies():
    x = np.asarray([1.0, 2.0])
    samples = Samples(x, x)
    x[0] = 99
    assert samples.x[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        samples.x[0] = 5


def test_samples_compare_by_identity():
    one, other = Samples([1], [2]), Samples([1], [2])
    assert one != other
    assert {one: "found"}[one] == "found"


def test_rows_that_are_not_finite_are_set_aside_and_counted():
    """Case 33."""
    samples = Samples([1, 2, np.nan, 4, np.inf], [1, np.nan, 3, 8, 5], "pasted")
    assert (samples.x.tolist(), samples.y.tolist()) == ([1, 4], [1, 8])
    assert samples.skipped == (1, 2, 4)
    assert samples.title == "pasted · 2 samples, 3 of 5 rows skipped"
    assert samples.moved(0, 2, 2).skipped == (1, 2, 4)


def test_impossible_samples_are_refused():
    samples = sine()
    for attempt in (
        lambda: samples.moved(48, 0, 0),
        lambda: samples.removed(-1),
        lambda: samples.added(float("nan"), 1),
        lambda: samples.moved(0, 0, float("inf")),
        lambda: Samples([1, 2], [1]),
        lambda: Samples(["a"], [1]),
        lambda: Samples([[1]], [[1]]),
    ):
        with pytest.raises(KavError, match="must"):
            attempt()


def test_built_in_sets_start_with_the_noisy_sine_and_have_names_of_their_own():
    assert BUILT_IN[0].title == "sine + noise · 48 samples"
    assert len({samples.name for samples in BUILT_IN}) == len(BUILT_IN)
    assert all(samples.n >= 40 and not samples.skipped for samples in BUILT_IN)


def test_built_in_sets_are_the_same_at_every_start():
    np.testing.assert_array_equal(sine().y, sine().y)
    clusters = next(samples for samples in BUILT_IN if samples.name == "two clusters")
    assert not np.any((clusters.x > 3) & (clusters.x < 7))


def test_a_step_of_a_drag_among_many_copies_nothing_and_is_the_same_set():
    root = sine(5_000)
    plain = Samples(root.x, root.y)
    moved = root
    for step in range(5):
        moved = moved.moved(17, 3.0 + step, -step)
    moved = moved.moved(4_000, 1.0, 9.0)
    x, y = np.array(plain.x), np.array(plain.y)
    x[17], y[17], x[4_000], y[4_000] = 7.0, -4.0, 1.0, 9.0
    assert moved.root is root
    np.testing.assert_array_equal(moved.x, x)
    np.testing.assert_array_equal(moved.y, y)
    np.testing.assert_array_equal(moved.take(np.asarray([4_000, 17, 3])), (x[[4_000, 17, 3]], y[[4_000, 17, 3]]))
    assert (moved.n, moved.title, moved.pair(17)) == (5_000, root.title, (7.0, -4.0))
    query = np.linspace(0, 10, 7)
    np.testing.assert_allclose(moved.prepared.fit(query, 0.4), Samples(x, y).prepared.fit(query, 0.4), atol=1e-9)
    for other, n in ((moved.added(1.0, 2.0), 5_001), (moved.removed(17), 4_999)):
        assert other.n == other.x.size == n
    np.testing.assert_array_equal(moved.removed(17).x, np.delete(x, 17))
    with pytest.raises(ValueError, match="read-only"):
        moved.x[0] = 1.0


def test_many_moved_samples_are_written_down_anew():
    root = sine(2_000)
    moved = root
    for index in range(70):
        moved = moved.moved(index, 0.1 * index, 1.0)
    assert moved.root is not root
    np.testing.assert_allclose(moved.x[:70], 0.1 * np.arange(70))
    np.testing.assert_array_equal(moved.x[70:], root.x[70:])
