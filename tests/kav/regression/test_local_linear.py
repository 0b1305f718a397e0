"""Local linear regression from moments against the weighted least squares of every pair."""

from __future__ import annotations

import numpy as np
import pytest

from kav.regression.baseline_fits import baseline_fit
from kav.regression.baselines import baseline_matrix
from kav.regression.kernels import KERNELS
from kav.regression.local_linear import local_linear
from kav.regression.prepared import Prepared


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "exp-dot-product"])
@pytest.mark.parametrize("n", [300, 6000])
def test_local_linear_from_moments_is_that_of_every_pair(make_set, name, n):
    x, y = make_set("uniform", n)
    q = np.linspace(-1, 11, 41)
    for h in (0.05, 0.5, 50.0):
        B = baseline_matrix("local-linear", x, q, h, name)
        found = local_linear(Prepared.of(x, y), q, h, name)
        held = np.any(B != 0, axis=1)
        np.testing.assert_array_equal(np.isfinite(found), held)
        np.testing.assert_allclose(found[held], (B @ y)[held], atol=2e-6)


def test_a_straight_line_is_met_exactly_and_moved_samples_count_where_they_are(make_set):
    x, _ = make_set("lognormal", 5000)
    q = np.linspace(x.min(), 10, 30)
    for name in ("gaussian", "tricube"):
        np.testing.assert_allclose(local_linear(Prepared.of(x, 3 * x - 1), q, 0.5, name), 3 * q - 1, atol=2e-4)
    moved = Prepared.of(x, 3 * x - 1).moved(0, 2.0, 5.0, was=(x[0], 3 * x[0] - 1))
    np.testing.assert_allclose(local_linear(moved, q, 0.5), 3 * q - 1, atol=2e-4)


@pytest.mark.parametrize("name", ["gaussian", "laplace", "tricube"])
@pytest.mark.parametrize("n", [501, 6000])
@pytest.mark.parametrize("h", [0.003, 0.03])
def test_a_query_has_the_line_of_its_own_pairs_whatever_else_is_asked(n, h, name):
    # At a query 8 bandwidths outside the fit was 3.67 among others and 1.03 alone: neighbours with a weight below
    # 1e-17 made the slope, and whether they were counted depended on the queries that shared their block.
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=n), rng.normal(size=n)
    q = np.linspace(x.min() - 0.3 * np.ptp(x), x.max() + 0.3 * np.ptp(x), 401)
    prepared = Prepared.of(x, y)
    together = local_linear(prepared, q, h, name)
    alone = [local_linear(prepared, q[at : at + 1], h, name)[0] for at in range(0, 401, 4)]
    np.testing.assert_allclose(alone, together[::4], rtol=1e-6, atol=1e-6)
    B = baseline_matrix("local-linear", x, q, h, name)
    np.testing.assert_allclose(together, np.where(np.any(B != 0, axis=1), B @ y, np.nan), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n", [3, 6000])
def test_beyond_a_sample_dragged_far_out_the_fit_is_that_sample(n):
    """All weight is on the dragged sample; counted from another one, the variance of its place would be rounding."""
    x, y = np.linspace(0, 1, n), np.linspace(0, 1, n) ** 2
    moved = Prepared.of(x, y).moved(1, 20.0, 5.0, was=(x[1], y[1]))
    np.testing.assert_allclose(local_linear(moved, np.asarray([20.1, 21.0]), 0.01), 5.0)


@pytest.mark.parametrize("n", [2, 400, 401])
def test_two_places_carry_a_line_also_where_one_has_hardly_any_weight(n):
    # Places were counted from the query: a weight of 1e-13 at the second place was lost in the rounding of the first,
    # and the fit off the line by a thousandth.
    x = np.concatenate([np.zeros(n // 2), np.ones(n - n // 2)])
    h, q = 0.1, np.asarray([0.2, 0.25, 0.3])
    np.testing.assert_allclose(baseline_fit("local-linear", Prepared.of(x, 3 * x + 5), q, h).f, 3 * q + 5, rtol=1e-9)
