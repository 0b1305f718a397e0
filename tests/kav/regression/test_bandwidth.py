"""Leave-one-out error and its minimum: against refitting without the sample, and against an independent program."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kav.errors import KavError
from kav.regression.accounts import accounts
from kav.regression.bandwidth import leave_one_out, loo_score, select_bandwidth
from kav.regression.fit import fit, smoother_matrix
from kav.regression.kernels import KERNELS
from kav.regression.loo_curve import loo_curve
from kav.regression.prepared import Prepared
from kav.regression.rules import bandwidth_limits, rule_of_thumb, typed_bandwidth
from kav.regression.samples import sine

REFERENCE = Path(__file__).parents[2] / "data" / "regression" / "statsmodels.npz"


@pytest.mark.parametrize("name", list(KERNELS))
def test_leave_one_out_is_the_fit_without_the_sample(xp, name):
    data = sine(25)
    found = leave_one_out(xp.put(data.x), xp.put(data.y), 0.8, name)
    for i in range(data.n):
        without = fit(np.delete(data.x, i), np.delete(data.y, i), data.x[i : i + 1], 0.8, name)
        np.testing.assert_allclose(found[i], without[0], atol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "epanechnikov", "uniform", "exp-dot-product"])
def test_leave_one_out_equals_its_closed_form(name):
    data = sine(30)
    S = smoother_matrix(data.x, data.x, 0.9, name)
    own = np.diag(S)
    few = own < 0.999
    assert few.sum() > 20
    residual = (data.y - S @ data.y)[few] / (1 - own[few])
    found = leave_one_out(data.x, data.y, 0.9, name)
    np.testing.assert_allclose((data.y - found)[few], residual, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("data", ["sine", "offset"])
def test_loo_score_equals_that_of_statsmodels(data):
    with np.load(REFERENCE) as stored:
        found = loo_score(stored[f"{data}_x"], stored[f"{data}_y"], stored[f"{data}_h"])
        np.testing.assert_allclose(found, stored[f"{data}_loo"], rtol=1e-8)


def test_isolated_samples_of_a_compact_kernel_are_left_out_of_the_mean():
    x, y = [0.0, 0.4, 5.0], [1.0, 2.0, 100.0]
    found = leave_one_out(x, y, 0.5, "epanechnikov")
    np.testing.assert_array_equal(found, [2.0, 1.0, math.nan])
    assert loo_score(x, y, 0.5, "epanechnikov") == 1.0
    assert math.isnan(loo_score(x, y, 0.1, "epanechnikov"))
    assert math.isnan(loo_score([1.0], [2.0], 1.0))


def test_isolated_sample_of_the_gaussian_has_its_nearest_neighbour():
    """Its S_ii rounds to 1, so the closed form is 0/0."""
    x, y = [0.0, 1.0, 10.0], [0.0, 1.0, 5.0]
    assert np.diag(smoother_matrix(x, x, 0.01)).tolist() == [1, 1, 1]
    np.testing.assert_array_equal(leave_one_out(x, y, 0.01), [1.0, 0.0, 1.0])


def test_loo_score_takes_one_bandwidth_or_several():
    data = sine()
    many = loo_score(data.x, data.y, [0.3, 0.5])
    assert many.shape == (2,)
    assert loo_score(data.x, data.y, 0.5) == many[1]
    assert np.shape(loo_score(data.x, data.y, 0.5)) == ()
    with pytest.raises(KavError, match="bandwidth h must be > 0"):
        loo_score(data.x, data.y, [0.3, -1])


def test_pairs_set_aside_do_not_enter_the_score():
    data = sine(20)
    x, y = np.append(data.x, [1.0, np.nan]), np.append(data.y, [np.inf, 2.0])
    assert loo_score(x, y, 0.5) == pytest.approx(float(loo_score(data.x, data.y, 0.5)), rel=1e-14)
    assert select_bandwidth(x, y) == pytest.approx(select_bandwidth(data.x, data.y), rel=1e-9)


@pytest.mark.parametrize("name", list(KERNELS))
def test_selected_bandwidth_is_at_least_as_good_as_a_fine_grid(name):
    data = sine()
    h = select_bandwidth(data.x, data.y, name)
    grid = np.geomspace(0.15, 20, 200)
    reaches = [np.isfinite(leave_one_out(data.x, data.y, float(one), name)).mean() >= 0.5 for one in grid]
    best = np.nanmin(loo_score(data.x, data.y, grid[np.asarray(reaches)], name))
    slack = 1e-2 if KERNELS[name].compact else 1e-6  # the error of a compact kernel jumps from pair to pair
    assert loo_score(data.x, data.y, h, name) <= best * (1 + slack)


def test_quick_minimum_for_a_drag_is_close_to_the_exact_one():
    data = sine()
    assert loo_curve(Prepared.of(data.x, data.y)).best == pytest.approx(select_bandwidth(data.x, data.y), rel=0.03)


def test_gaussian_ladder_gives_the_errors_of_one_bandwidth_at_a_time():
    from kav.regression.fit import observe
    from kav.regression.ladder import gaussian_sweep

    for x in (sine().x, np.asarray([0.0, 0.1, 0.2, 50.0, 50.3, 1000.0])):
        y = np.sin(np.arange(x.size))
        grid, errors, counts = gaussian_sweep(observe(x, y, 1.0, "gaussian"), 0.01, 10.0)
        assert set(counts) == {x.size}
        np.testing.assert_allclose(errors, loo_score(x, y, grid), rtol=1e-6)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-3, 3)), max_size=7), st.sampled_from(list(KERNELS)))
@settings(max_examples=60, deadline=None)
def test_selected_bandwidth_is_always_positive_and_finite(pairs, name):
    """Cases 29 and 30: ties, one sample, none, equal responses."""
    x, y = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    h = select_bandwidth(x, y, name)
    assert 0 < h < math.inf


@pytest.mark.parametrize("name", ["gaussian", "tricube"])
@pytest.mark.parametrize("n", [40, 501])
def test_the_size_of_the_responses_changes_no_bandwidth(n, name):
    # Near 1e155 it was inf up to 500 samples and an OverflowError above, near 1e-200 every error was 0.
    rng = np.random.default_rng(0)
    x = rng.random(n)
    y = np.sin(9 * x) + 0.1 * rng.normal(size=n)
    h, expected = select_bandwidth(x, y, name), loo_score(x, y, [0.1, 0.2], name)
    for size in (2.0**-700, 2.0**510, 2.0**1000):
        assert select_bandwidth(x, size * y, name) == pytest.approx(h, rel=1e-6)
    np.testing.assert_allclose(loo_score(x, 2.0**510 * y, [0.1, 0.2], name), 2.0**1020 * expected, rtol=1e-6)
    with pytest.raises(KavError, match=r"^a squared error must be below 1.8e308, got that of responses near"):
        loo_score(x, 2.0**520 * y, 0.1, name)


def test_x_of_any_size_has_a_bandwidth_or_a_sentence():
    # ValueError from an infinite range, ZeroDivisionError where a fourth of the smallest gap was 0.
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, 30), rng.normal(size=30)
    h = select_bandwidth(x, y)
    for size in (2.0**-900, 2.0**1020):
        assert select_bandwidth(size * x, y) == pytest.approx(size * h, rel=1e-6)
    assert select_bandwidth([0, 5e-324, 1e-323, 1e10], [1, 2, 3, 4]) > 0
    with pytest.raises(KavError, match=r"^the best bandwidth must be between 5e-324 and 1.8e308, got more"):
        select_bandwidth([1e308, -1e308, 0], [1, 2, 3])
    with pytest.raises(KavError, match=r"^the best bandwidth must be between 5e-324 and 1.8e308, got less"):
        select_bandwidth([0, 5e-324], [1, 2])


@pytest.mark.parametrize("n", [40, 501])
def test_the_error_curve_of_huge_responses_has_its_minimum_where_that_of_small_ones_has(n):
    # OverflowError from the square of their scale.
    rng = np.random.default_rng(0)
    x = rng.random(n)
    y = np.sin(9 * x) + 0.1 * rng.normal(size=n)
    small, huge = (loo_curve(Prepared.of(x, size * y)) for size in (1.0, 2.0**520))
    assert huge.best == pytest.approx(small.best, rel=1e-6)
    assert accounts(Prepared.of(x, 2.0**520 * y), 0.1, "gaussian").loo == math.inf
    with pytest.raises(KavError, match="x must span at most"):
        loo_curve(Prepared.of([-1e308, 1e307], [1.0, 2.0]))


def test_rule_of_thumb_with_quartile_range_zero_falls_back_on_the_standard_deviation():
    assert rule_of_thumb([4, 4, 4, 4, 4, 9]) == pytest.approx(1.2838, abs=5e-5)
    assert rule_of_thumb([3, 3, 3]) > 0
    assert rule_of_thumb([]) > 0


def test_rules_of_thumb_scale_with_x_and_with_the_kernel():
    x = sine().x
    assert rule_of_thumb(100 * x) == pytest.approx(100 * rule_of_thumb(x))
    assert rule_of_thumb(x, rule="scott") / rule_of_thumb(x) == pytest.approx(1.06 / 0.9)
    assert rule_of_thumb(x, "epanechnikov") / rule_of_thumb(x) == pytest.approx(2.2138, rel=1e-3)
    with pytest.raises(KavError, match="rule must be silverman or scott"):
        rule_of_thumb(x, rule="best")


@pytest.mark.parametrize("h", [-0.02, 0.0, -0.0, math.nan, -math.inf])
def test_a_bandwidth_that_is_not_positive_is_refused_in_a_sentence(h):
    """Case 29: a search elsewhere returned a tiny negative number; nothing <= 0 gets in, or is found."""
    with pytest.raises(KavError, match=r"^bandwidth h must be > 0, got "):
        typed_bandwidth(h, bandwidth_limits(sine().x))


@pytest.mark.parametrize("h", [1e-12, 1e9, math.inf])
def test_a_bandwidth_out_of_range_is_refused_with_the_range(h):
    with pytest.raises(KavError, match=r"^bandwidth h must be between 1e-08 and 1e\+04 for these samples, got "):
        typed_bandwidth(h, bandwidth_limits(np.asarray([0.0, 4.0, 10.0])))


def test_every_bandwidth_within_its_range_is_taken_as_it_is():
    low, high = bandwidth_limits(sine().x)
    assert [typed_bandwidth(h, (low, high)) for h in (low, 0.45, high)] == [low, 0.45, high]
    assert bandwidth_limits(np.asarray([3.0, 3.0])) == pytest.approx((3e-9, 3e3))
    assert bandwidth_limits(np.zeros(0)) == (1e-9, 1e3)
