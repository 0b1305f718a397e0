"""The Gaussian fit of samples that are asked once, against every pair."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kav.errors import KavError
from kav.regression.fit import fit_every_pair, observe
from kav.regression.grid_fit import fit_on_grid, fit_once


@pytest.mark.parametrize("n", [2, 50, 3000, 30_000])
@pytest.mark.parametrize("h", [1e-3, 0.02, 0.5, 100.0])
def test_fit_on_a_grid_is_that_of_every_pair(make_set, data, n, h):
    if n == 30_000 and (data != "lognormal" or h == 1e-3):
        n = 4000
    x, y = make_set("gap" if data == "far" else data, n)  # far from 0 the places themselves are rounded
    h *= np.ptp(x) if np.ptp(x) else 1
    places, f = fit_on_grid(x, y, h, 101)
    np.testing.assert_allclose(places, np.linspace(x.min(), x.max(), 101))
    expected = fit_every_pair(observe(x, y, h, "gaussian"), places)
    assert np.max(np.abs(f - expected)) <= 1e-6 * max(1.0, np.max(np.abs(y - y.mean())))


@pytest.mark.parametrize("h", [1e-3, 0.02, 0.5, 100.0])
def test_one_fit_at_any_place_is_that_of_every_pair(make_set, data, h):
    x, y = make_set(data, 4000)
    span = np.ptp(x)
    q = np.random.default_rng(0).uniform(x.min() - span, x.max() + span, 200)
    found = fit_once(x, y, q, h * span)
    expected = fit_every_pair(observe(x, y, h * span, "gaussian"), q)
    assert np.max(np.abs(found - expected)) <= 1e-6 * np.max(np.abs(y - y.mean()))


def test_bandwidth_too_fine_for_a_grid_is_left_to_others(make_set):
    assert fit_once(*make_set("uniform", 100), np.zeros(3), 1e-9) is None


def test_what_is_no_grid_is_refused():
    assert fit_on_grid([2.0, 2.0], [1.0, 3.0], 1.0, 3)[1].tolist() == [2, 2, 2]
    for x, h, n_grid in (([], 1.0, 5), ([1.0, 2.0], 1.0, 1), ([1.0, 2.0], -1.0, 5), ([1.0, math.inf], 1.0, 5)):
        with pytest.raises(KavError):
            fit_on_grid(x, x, h, n_grid)
