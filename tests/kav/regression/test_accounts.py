"""Degrees of freedom, residuals and leave-one-out errors of many samples against the whole matrix."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kav.regression.accounts import accounts
from kav.regression.band import spread_every_pair, spread_of
from kav.regression.bandwidth import error_every_pair, leave_one_out, loo_score, select_bandwidth
from kav.regression.fit import dosed_weights, observe
from kav.regression.kernels import KERNELS
from kav.regression.loo_curve import loo_curve
from kav.regression.prepared import Prepared
from kav.regression.samples import sine

NAMES = list(KERNELS)
BANDWIDTHS = (1e-4, 0.01, 0.1, 1.0, 5.0)


@pytest.mark.parametrize("name", NAMES)
def test_accounts_are_those_of_the_whole_matrix(make_set, data, name):
    if data == "far":
        data = "lognormal"
    for n in (3, 40, 700):
        x, y = make_set(data, n)
        prepared = Prepared.of(x, y)
        for h in BANDWIDTHS:
            h *= prepared.ordered.span
            observed = observe(x, y, h, name)
            found, plain = accounts(prepared, h, name), spread_every_pair(observed)
            assert found.dof == pytest.approx(plain.dof, rel=3e-6)
            assert spread_of(prepared, (h, name)).sigma == pytest.approx(plain.sigma, rel=3e-6, nan_ok=True)
            score, count = error_every_pair(observed)
            assert found.n_left_out == count
            assert found.loo == pytest.approx(score, rel=3e-6, nan_ok=True)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("gaussian", "exp-dot-product")])
def test_grid_of_many_samples_is_close_to_every_sample(make_set, name):
    for data, within in (("uniform", 5e-4), ("lognormal", 2e-2)):
        x, y = make_set(data, 30_000)
        prepared = Prepared.of(x, y)
        h = 0.02 * prepared.ordered.span
        exact, grid = accounts(prepared, h, name, exact=True), accounts(prepared, h, name)
        assert exact != grid
        assert grid.dof == pytest.approx(exact.dof, rel=within)
        assert grid.loo == pytest.approx(exact.loo, rel=within)
        assert grid.square == pytest.approx(exact.square, rel=within)


def test_an_isolated_sample_has_its_nearest_neighbour_among_thousands(make_set):
    """Its S_ii rounds to 1: the closed form would be 0/0, and one such sample spoils the mean."""
    x, y = make_set("uniform", 1200)
    x, y = np.append(x, 1000.0), np.append(y, 50.0)
    nearest = y[:-1][np.argmax(x[:-1])]
    without = error_every_pair(observe(x[:-1], y[:-1], 0.3, "gaussian"))[0]
    expected = (without * 1200 + (50.0 - nearest) ** 2) / 1201
    assert accounts(Prepared.of(x, y), 0.3, "gaussian").loo == pytest.approx(expected, rel=1e-6)


def test_isolated_samples_of_a_compact_kernel_are_counted_and_left_out(make_set):
    x, y = make_set("uniform", 1200)
    found = accounts(Prepared.of(np.append(x, [1000.0, 2000.0]), np.append(y, [1e6, 1e6])), 0.3, "biweight")
    assert (found.n_left_out, found.n_fitted) == (1200, 1202)
    assert found.loo == pytest.approx(error_every_pair(observe(x, y, 0.3, "biweight"))[0], rel=1e-9)


@pytest.mark.parametrize("name", ["gaussian", "epanechnikov", "laplace"])
def test_accounts_of_dragged_and_scaled_samples(make_set, name):
    x, y = make_set("uniform", 700)
    h = 0.4
    moved = Prepared.of(x, y).moved(3, 20.0, -4.0, was=(x[3], y[3]))
    x, y = x.copy(), y.copy()
    x[3], y[3] = 20.0, -4.0
    found = accounts(moved, h, name)
    score, count = error_every_pair(observe(x, y, h, name))
    assert (found.loo, found.n_left_out) == (pytest.approx(score, rel=1e-6), count)
    scaled = moved.dosed({9: 2.5}, {9: (x[9], y[9])})
    doses = np.ones(700)
    doses[9] = 2.5
    plain = spread_every_pair(observe(x, y, h, name), lambda log_kernel: dosed_weights(log_kernel, doses))
    assert spread_of(scaled, (h, name)).dof == pytest.approx(plain.dof, rel=1e-6)
    assert spread_of(scaled, (h, name)).sigma == pytest.approx(plain.sigma, rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_loo_score_of_thousands_is_that_of_leaving_each_out(make_set, name):
    x, y = make_set("uniform", 3000)
    for h in (0.02, 0.5):
        left_out = leave_one_out(x, y, h, name)
        known = np.isfinite(left_out)
        expected = np.mean((y - left_out)[known] ** 2)
        assert float(loo_score(x, y, h, name)) == pytest.approx(expected, rel=1e-3 if name[:3] == "exp" else 3e-6)


def test_curve_of_few_and_of_many_samples_has_its_minimum_at_the_selected_bandwidth(make_set):
    for n in (200, 2000):
        x, y = make_set("uniform", n)
        curve = loo_curve(Prepared.of(x, y))
        assert np.all(np.diff(curve.h) > 0)
        best = select_bandwidth(x, y)
        assert curve.best == pytest.approx(best, rel=0.1)
        assert float(loo_score(x, y, best)) <= curve.best_error * (1 + 1e-6)
        assert [name for name, _ in curve.rules] == ["silverman", "scott"]
        np.testing.assert_allclose(curve.error[10:-1:15], loo_score(x, y, curve.h[10:-1:15]), rtol=1e-5)


def test_part_of_the_curve_with_too_few_neighbours_is_not_a_curve():
    data = sine()
    curve = loo_curve(Prepared.of(data.x, data.y), "epanechnikov")
    lost = 2 * curve.n_left_out < data.n
    assert lost.any()
    np.testing.assert_array_equal(np.isnan(curve.error), lost)
    assert not lost[np.searchsorted(curve.h, curve.best)]


def test_curve_without_an_estimate_falls_back_on_the_rule_of_thumb():
    for x in ([], [1.0]):
        curve = loo_curve(Prepared.of(x, x))
        assert curve.best > 0
        assert math.isnan(curve.best_error)
