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
