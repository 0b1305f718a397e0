"""Baselines against least squares, linear algebra and an independent program; all are linear in y."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kav.errors import KavError
from kav.regression.baseline_fits import baseline_fit
from kav.regression.baselines import BASELINES, baseline_matrix, far_end_influence, line_matrix
from kav.regression.kernels import KERNELS
from kav.regression.samples import Samples, sine

REFERENCE = Path(__file__).parents[2] / "data" / "regression" / "statsmodels.npz"
X_QUERY = np.linspace(-1, 11, 13)


def values(name, data, h=0.8, kernel="gaussian"):
    return baseline_matrix(name, data.x, X_QUERY, h, kernel) @ data.y


def test_mean_and_line_are_those_of_least_squares():
    data = sine()
    np.testing.assert_allclose(values("mean", data), data.y.mean())
    slope, intercept = np.polyfit(data.x, data.y, 1)
    np.testing.assert_allclose(values("ols", data), slope * X_QUERY + intercept, atol=1e-12)


@pytest.mark.parametrize("n", [50, 400, 401])
@pytest.mark.parametrize("name", ["ols", "ridge", "local-linear", "krr"])
def test_lines_through_timestamps_are_those_counted_from_the_first(name, n):
    # The mean of x near 1.7e9 was rounded by 1e-7, and that times the sum of all y was the slope's error: samples of
    # y = 1e6 + 2 x had a line from 1.5 to 0.7 instead of from 0 to 2.
    rng = np.random.default_rng(0)
    x = 1.7e9 + np.sort(rng.random(n))
    from_first = x - 1.7e9
    y = 1e6 + 2 * from_first + 0.1 * rng.normal(size=n)
    q = np.asarray([-0.5, 0.0, 0.5, 1.0, 1.5])
    far, near = (baseline_fit(name, Samples(x_, y).prepared, q_, 0.1).f for x_, q_ in ((x, 1.7e9 + q), (from_first, q)))
    np.testing.assert_allclose(far, near, atol=1e-6)
    if name == "ols":
        np.testing.assert_allclose(far - 1e6, np.polyval(np.polyfit(from_first, y - 1e6, 1), q), atol=1e-8)


def test_ridge_solves_its_penalised_normal_equations():
    data = sine()
    design = np.stack([np.ones(data.n), data.x - data.x.mean()], axis=1)
    at = np.stack([np.ones(X_QUERY.size), X_QUERY - data.x.mean()], axis=1)
    coefficients = np.linalg.solve(design.T @ design + np.diag([0, 1.0]), design.T @ data.y)
    np.testing.assert_allclose(values("ridge", data), at @ coefficients, atol=1e-12)


def test_kernel_ridge_solves_its_dual():
    data = sine()
    K = np.exp(-((data.x[:, None] - data.x[None, :]) ** 2) / (2 * 0.8**2))
    alpha = np.linalg.solve(K + np.eye(data.n), data.y)
    to_query = np.exp(-((X_QUERY[:, None] - data.x[None, :]) ** 2) / (2 * 0.8**2))
    np.testing.assert_allclose(values("krr", data), to_query @ alpha, atol=1e-12)


def test_local_linear_is_a_weighted_line_at_each_query():
    data = sine()
    found = values("local-linear", data)
    for at, f in zip(X_QUERY, found, strict=True):
        root = np.sqrt(np.exp(-((data.x - at) ** 2) / (2 * 0.8**2)))
        design = np.stack([np.ones(data.n), data.x - at], axis=1)
        np.testing.assert_allclose(f, np.linalg.lstsq(root[:, None] * design, root * data.y)[0][0], atol=1e-8)


def test_local_linear_equals_statsmodels():
    with np.load(REFERENCE) as stored:
        for data in ("sine", "offset"):
            B = baseline_matrix("local-linear", stored[f"{data}_x"], stored[f"{data}_x_query"], 0.45)
            np.testing.assert_allclose(B @ stored[f"{data}_y"], stored[f"{data}_local_linear"], atol=1e-8)


@pytest.mark.parametrize("name", ["ols", "local-linear"])
def test_lines_reproduce_a_line_anywhere(name):
    x = sine().x + 1e6
    B = baseline_matrix(name, x, X_QUERY + 1e6, 2.0)
    np.testing.assert_allclose(B @ (3 * (x - 1e6) - 2), 3 * X_QUERY - 2, atol=1e-6)


def test_nearest_neighbours_average_five_and_share_ties():
    x = np.asarray([0.0, 1, 2, 3, 4, 5, 6])
    row = baseline_matrix("knn", x, np.asarray([3.0]), 1.0)[0]
    np.testing.assert_allclose(row, [0, 0.2, 0.2, 0.2, 0.2, 0.2, 0])
    row = baseline_matrix("knn", x, np.asarray([2.5]), 1.0)[0]  # 0 and 5 are equally far: half a share each
    np.testing.assert_allclose(row, [0.1, 0.2, 0.2, 0.2, 0.2, 0.1, 0])


@pytest.mark.parametrize("name", list(BASELINES))
def test_baselines_are_the_same_on_every_device(xp, name):
    data = sine(20)
    found = xp.get(baseline_matrix(name, xp.put(data.x), xp.put(X_QUERY), 0.7))
    np.testing.assert_allclose(found, baseline_matrix(name, data.x, X_QUERY, 0.7), atol=1e-12)


@pytest.mark.parametrize("name", [name for name in BASELINES if name != "krr"])
def test_rows_of_unpenalised_baselines_sum_to_one(name):
    np.testing.assert_allclose(baseline_matrix(name, sine().x, X_QUERY, 0.7).sum(axis=1), 1, atol=1e-12)


def test_equal_x_makes_the_line_the_mean():
    np.testing.assert_allclose(line_matrix(np.full(4, 2.0), np.asarray([2.0, 5.0])), 0.25)
    np.testing.assert_allclose(baseline_matrix("local-linear", np.full(4, 2.0), np.asarray([2.0]), 1.0), 0.25)


def test_far_end_influence_is_exactly_zero_for_a_compact_kernel_but_not_for_a_line():
    x = sine().x
    for kernel in KERNELS.values():
        if kernel.compact:
            assert far_end_influence(x, 1.0, kernel.name) == 0
    assert far_end_influence(x, 1.0) > 0
    centred = x - x.mean()
    expected = 1 / x.size + centred.max() * centred.min() / (centred @ centred)
    assert far_end_influence(x, 1.0, baseline="ols") == pytest.approx(expected, rel=1e-12)


def test_unknown_baselines_and_empty_samples_are_refused():
    with pytest.raises(KavError, match="baseline must be one of mean, ols"):
        baseline_matrix("spline", [0, 1], [0], 1.0)
    with pytest.raises(KavError, match="at least one sample"):
        baseline_matrix("mean", [], [0], 1.0)
