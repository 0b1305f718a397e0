"""Leave-one-out errors of many bandwidths at once against one at a time and every pair."""

from __future__ import annotations

import numpy as np
import pytest

from kav.regression.accounts import accounts
from kav.regression.bandwidth import error_every_pair
from kav.regression.fit import observe
from kav.regression.kernels import KERNELS
from kav.regression.loo_sweep import loo_errors
from kav.regression.prepared import Prepared

SHARES = np.geomspace(3e-4, 2, 40)


@pytest.mark.parametrize("name", list(KERNELS))
@pytest.mark.parametrize("data", ["uniform", "lognormal"])
def test_many_bandwidths_at_once_are_one_at_a_time(make_set, data, name):
    prepared = Prepared.of(*make_set(data, 900))
    h = SHARES * prepared.ordered.span
    error, count, _ = loo_errors(prepared, h, name)
    for at in range(h.size):
        one = accounts(prepared, float(h[at]), name)
        assert count[at] == one.n_left_out
        assert error[at] == pytest.approx(one.loo, rel=1e-9, nan_ok=True)


def test_many_bandwidths_at_once_are_every_pair(make_set):
    x, y = make_set("uniform", 1000)
    h = SHARES * np.ptp(x)
    expected = [error_every_pair(observe(x, y, one, "gaussian"))[0] for one in h]
    np.testing.assert_allclose(loo_errors(Prepared.of(x, y), h, "gaussian")[0], expected, rtol=3e-6)


def test_an_isolated_sample_is_taken_pair_by_pair_at_every_bandwidth(make_set):
    x, y = make_set("uniform", 1200)
    x, y = np.append(x, 1000.0), np.append(y, 50.0)
    h = np.geomspace(0.2, 400, 12)
    expected = [error_every_pair(observe(x, y, one, "gaussian"))[0] for one in h]
    np.testing.assert_allclose(loo_errors(Prepared.of(x, y), h, "gaussian")[0], expected, rtol=3e-6)


def test_a_dragged_sample_counts_at_every_bandwidth(make_set):
    x, y = make_set("uniform", 900)
    moved = Prepared.of(x, y).moved(5, 3.0, -2.0, was=(x[5], y[5]))
    x, y = x.copy(), y.copy()
    x[5], y[5] = 3.0, -2.0
    h = np.geomspace(0.2, 4, 8)
    expected = [error_every_pair(observe(x, y, one, "gaussian"))[0] for one in h]
    np.testing.assert_allclose(loo_errors(moved, h, "gaussian")[0], expected, rtol=3e-6)
