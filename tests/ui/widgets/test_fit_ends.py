"""Names beside the plot: as near to their curves as the others allow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.widgets.fit_ends import spread


@given(st.lists(st.floats(0, 300), min_size=1, max_size=8), st.sampled_from([15.0, 29.0]))
def test_names_keep_their_distance_and_their_order(wanted, pitch):
    wanted = np.asarray(wanted)
    rows = spread(wanted, pitch, 0.0, 300.0)
    order = np.argsort(wanted, kind="stable")
    assert np.all(np.diff(rows[order]) >= pitch - 1e-9)
    assert rows.min() >= 0
    assert rows.max() <= 300 + 1e-9


def test_names_with_room_stand_at_their_curves():
    np.testing.assert_allclose(spread(np.asarray([200.0, 20.0, 90.0]), 15, 0, 300), [200, 20, 90])


def test_names_that_crowd_stand_around_the_middle_of_their_curves():
    np.testing.assert_allclose(spread(np.asarray([100.0, 100.0, 103.0]), 10, 0, 300), [91, 101, 111])
    np.testing.assert_allclose(spread(np.asarray([0.0, 0.0]), 10, 0, 300), [0, 10])
    np.testing.assert_allclose(spread(np.asarray([300.0, 300.0]), 10, 0, 300), [290, 300])


def test_names_without_room_stand_evenly():
    rows = spread(np.full(5, 10.0), 100, 0, 40)
    np.testing.assert_allclose(rows, [0, 10, 20, 30, 40])
    assert spread(np.zeros(0), 10, 0, 40).size == 0
    assert spread(np.asarray([7.0]), 10, 0, 40) == pytest.approx([7.0])
