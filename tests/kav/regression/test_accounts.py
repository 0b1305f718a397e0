"""Degrees of freedom, residuals and leave-one-out errors of many samples against the whole matrix."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kav.errors import Cancelled
from kav.regression import accounts as module
from kav.regression.accounts import accounts, affordable, known_accounts, lasting_accounts
from kav.regression.band import degrees_of_freedom, spread_every_pair, spread_of
from kav.regression.bandwidth import error_every_pair, leave_one_out, loo_score, select_bandwidth
from kav.regression.fit import dosed_weights, observe
from kav.regression.kernels import KERNELS
from kav.regression.loo_curve import best_curve, loo_curve
from kav.regression.prefix import sums_at_samples
from kav.regression.prepared import Prepared
from kav.regression.samples import sine
from kav.regression.window import direct_sums
from kav.task import Task

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
def test_quick_accounts_of_many_samples_are_close_and_say_so(make_set, name):
    for data, within in (("uniform", 5e-4), ("lognormal", 2e-2)):
        x, y = make_set(data, 30_000)
        prepared = Prepared.of(x, y)
        h = 0.02 * prepared.ordered.span
        exact, grid = accounts(prepared, h, name), accounts(prepared, h, name, quick=20)
        assert (exact.exact, grid.exact) == (True, False)
        assert exact.dof != grid.dof
        assert grid.dof == pytest.approx(exact.dof, rel=within)
        assert grid.loo == pytest.approx(exact.loo, rel=within)
        assert grid.square == pytest.approx(exact.square, rel=within)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("gaussian", "exp-dot-product")])
@pytest.mark.parametrize("data", ["uniform", "gap"])
def test_accounts_of_very_many_samples_are_exact_unless_they_are_hurried(make_set, data, name):
    """Above 20,000 samples sums of kernels with an edge were taken on a grid: 6e-3 off on heaps."""
    x, y = make_set(data, 25_000)
    prepared, h = Prepared.of(x, y), 0.3
    asked = prepared.asked(h, name)
    sums = direct_sums(prepared.ordered, prepared.ordered.x, asked)
    mass = sums.mass * np.exp(sums.log_scale)  # K(0) = 1
    f = sums.moment / sums.mass
    S, residual = 1 / mass, prepared.ordered.scale * (prepared.ordered.y - f)
    alone = S > 0.999
    found, loo = accounts(prepared, h, name), np.mean((residual[~alone] / (1 - S[~alone])) ** 2)
    assert found.exact
    assert found.dof == pytest.approx(S.sum(), rel=1e-11)
    assert found.square == pytest.approx(residual @ residual, rel=1e-11)
    assert found.loo == pytest.approx(loo, rel=1e-9)
    assert found.n_left_out == x.size - alone.sum()
    assert degrees_of_freedom(x, h, name) == pytest.approx(S.sum(), rel=1e-11)
    assert float(loo_score(x, y, h, name)) == pytest.approx(loo, rel=1e-9)


def test_selected_bandwidth_of_very_many_samples_is_that_of_exact_errors(make_set):
    x, y = make_set("gap", 130_000)
    assert not affordable(KERNELS["triangular"], x.size)
    prepared = Prepared.of(x, y)
    curve = best_curve(prepared, "triangular")
    assert curve.exact
    assert curve.searched
    assert select_bandwidth(x, y, "triangular") == curve.best
    assert curve.best_error == accounts(prepared, curve.best, "triangular").loo
    np.testing.assert_array_equal(curve.error[20::10], loo_score(x, y, curve.h[20::10], "triangular"))
    quick = loo_curve(prepared, "triangular", quick=1)
    assert not quick.exact
    assert np.nanmax(np.abs(quick.error / curve.error - 1)) > 1e-5


def test_a_sweep_that_was_given_up_is_taken_up_where_it_stopped(make_set, monkeypatch):
    x, y = make_set("uniform", 120_000)
    prepared, seen = Prepared.of(x, y), []
    monkeypatch.setattr(module, "sums_at_samples", lambda *a: seen.append(a[1].h) or sums_at_samples(*a))
    task = Task(lambda fraction, text: task.cancel() if fraction > 0.5 else None)
    with pytest.raises(Cancelled):
        loo_curve(prepared, "epanechnikov", n_h=6, task=task)
    first = list(seen)
    assert 2 <= len(first) < 6
    whole = loo_curve(prepared, "epanechnikov", n_h=6, task=Task())
    assert len(set(seen)) == 6
    assert all(seen.count(h) == 1 for h in first[:-1])  # the last of them was cut short
    np.testing.assert_array_equal(whole.error, loo_curve(Prepared.of(x, y), "epanechnikov", n_h=6).error)


def test_one_sum_over_very_many_samples_is_given_up_within_it(make_set):
    prepared, task = Prepared.of(*make_set("uniform", 120_000)), Task()
    task.cancel()
    for name in ("tricube", "laplace"):
        with pytest.raises(Cancelled):
            lasting_accounts(prepared, 0.1, name, task)
        assert known_accounts(prepared, 0.1, name) is None


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


def test_what_is_known_of_samples_is_known_when_one_of_them_is_held_apart(make_set):
    """Story: every query that looked at another sample asked for the same sums again."""
    x, y = make_set("lognormal", 3_000)
    prepared = Prepared.of(x, y)
    spread_of(prepared, (0.5, "gaussian"), quick=True)
    same = prepared.lifted(7, at=(x[7], y[7]))
    assert known_accounts(same, 0.5, "gaussian") is known_accounts(prepared, 0.5, "gaussian") is not None
    moved = same.moved(7, x[7] + 1, y[7], was=(x[7], y[7]))
    assert known_accounts(moved, 0.5, "gaussian") is None
    assert accounts(same, 0.5, "gaussian").dof == pytest.approx(known_accounts(same, 0.5, "gaussian").dof, rel=1e-9)
