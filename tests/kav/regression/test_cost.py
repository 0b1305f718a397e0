"""The cost story: real runs, an honest slope, and an end when nobody waits any more."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kav.errors import Cancelled
from kav.regression.cost import cost_story, slope
from kav.task import Task


def test_slope_of_a_power_law_is_its_exponent():
    sizes = (10, 100, 1000, 10_000)
    assert slope(sizes, [2e-9 * n**3 for n in sizes]) == pytest.approx(3)
    assert math.isnan(slope((10,), [1.0]))


def test_story_measures_every_size_and_reports_between_them():
    told = []
    story = cost_story(
        Task(lambda fraction, text: told.append((fraction, text))), ridge_sizes=(16, 32), smoother_sizes=(50, 100, 200)
    )
    assert [line.name for line in story.lines] == ["ridge", "smoother", "moments"]
    assert [line.n.tolist() for line in story.lines] == [[16, 32], [50, 100, 200], [50, 100, 200]]
    for line in story.lines:
        assert np.all(line.seconds > 0)
        assert math.isfinite(line.slope)
    assert len(told) == 8
    assert [fraction for fraction, _ in told] == sorted(fraction for fraction, _ in told)


def test_story_ends_where_it_is_cancelled():
    told = []

    def stop(fraction, text):
        told.append(text)
        if len(told) == 2:
            task.cancel()

    task = Task(stop)
    with pytest.raises(Cancelled):
        cost_story(task, ridge_sizes=(16, 16, 16, 16))
    assert len(told) == 2
