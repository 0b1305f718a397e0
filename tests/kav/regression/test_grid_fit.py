"""The Gaussian fit of samples that are asked once, against every pair."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kav.errors import KavError
from kav.regression import grid_fit
from kav.regression.fit import fit, fit_every_pair, observe
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


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e-12, 1e12, 1e30, 1e305, 1e308])
def test_the_size_of_the_responses_does_not_matter(size):
    # Counts and sums of responses are the two parts of one transform: of responses near 1e-12 or 1e12 the smaller part
    # was left with half of its digits, of those near 1e-30 or 1e30 with none, and near 1e305 nothing was a number.
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.random(700)), rng.uniform(-1, 1, 700)
    q = np.linspace(-0.1, 1.1, 200)
    np.testing.assert_allclose(fit_on_grid(x, size * y, 0.05)[1] / size, fit_on_grid(x, y, 0.05)[1], atol=1e-9)
    np.testing.assert_allclose(fit(x, size * y, q, 0.05) / size, fit_once(x, y, q, 0.05), atol=1e-8)


@pytest.mark.parametrize("n", [700, 22_000])
@pytest.mark.parametrize("heaps", [(0.0, 0.07), (0.0, 0.031, 0.5), (0.0, 0.2, 0.21)])
def test_heaps_of_equal_x_seen_from_afar_keep_their_shares(heaps, n):
    """Nothing averages out there: every sample of a heap stands at the same place of its cell."""
    x = np.repeat([*heaps, 2.0], [n] * len(heaps) + [1])
    y = np.repeat([*np.arange(len(heaps), dtype=float) * 3, 1.0], [n] * len(heaps) + [1])
    for h in (0.11, 0.2, 0.5):
        places, f = fit_on_grid(x, y, h, 1000)
        log_K = np.log([n] * len(heaps) + [1]) - 0.5 * ((places[:, None] - np.asarray([*heaps, 2.0])) / h) ** 2
        K = np.exp(log_K - log_K.max(axis=1, keepdims=True))  # (n_places, n_heaps + 1)
        expected = K @ np.asarray([*np.arange(len(heaps), dtype=float) * 3, 1.0]) / K.sum(axis=1)
        assert np.max(np.abs(f - expected)) <= 1e-6 * np.max(np.abs(y - y.mean()))


@pytest.mark.parametrize("n", [3_000, 200_000])
def test_many_samples_are_fitted_as_exactly_as_few(n):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, n)).round(3)  # ties
    y = np.sin(x) + 0.3 * rng.standard_normal(n)
    places, f = fit_on_grid(x, y, 2.0, 50)
    once = fit_once(x, y, places, 2.0)
    expected = fit_every_pair(observe(x, y, 2.0, "gaussian"), places)
    assert max(np.max(np.abs(f - expected)), np.max(np.abs(once - expected))) <= 1e-7 * np.max(np.abs(y))


def test_both_ways_to_take_moments_give_the_same(make_set, data, monkeypatch):
    x, y = make_set(data, 20_000)
    order = np.argsort(x)
    x, y = x[order] - x[order[0]], y[order]  # far from 0 the centres themselves are rounded
    low, width, n_cells = float(x[0]), float(np.ptp(x)) / 499, 500
    found = []
    for per_cell in (0, math.inf):
        monkeypatch.setattr(grid_fit, "_PER_CELL", per_cell)
        found.append(grid_fit._moments(x, y, low, float(np.mean(y)), width, n_cells))
    same = found[0][0, 0] == found[1][0, 0]  # a sample at the edge of a cell may be in either
    assert same.mean() > 0.9
    size = np.max(np.abs(y - y.mean()))
    np.testing.assert_allclose(found[0][0][:, same], found[1][0][:, same], atol=1e-7 * x.size)
    np.testing.assert_allclose(found[0][1][:, same], found[1][1][:, same], atol=1e-7 * x.size * size)


def test_the_five_masses_have_the_moments_of_their_cell():
    places = np.arange(-2.0, 3.0)
    np.testing.assert_allclose(np.vander(places, 4, increasing=True).T @ grid_fit._MASSES, np.eye(4), atol=1e-15)


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
