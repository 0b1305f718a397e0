"""The baselines of many samples against their matrices, and how far each reaches."""

from __future__ import annotations

import numpy as np
import pytest

from kav.errors import KavError
from kav.regression.baseline_fits import baseline_fit, influences, nearest
from kav.regression.baselines import BASELINES, baseline_matrix, nearest_matrix
from kav.regression.kernels import KERNELS
from kav.regression.nystrom import nystrom_ridge
from kav.regression.prepared import Prepared


@pytest.mark.parametrize("name", list(BASELINES))
@pytest.mark.parametrize("n", [2, 60, 900])
def test_baseline_curve_is_its_matrix_times_the_responses(make_set, data, name, n):
    x, y = make_set(data, n)
    q = np.linspace(x.min() - 1, x.max() + 1, 41)
    h = 0.1 * np.ptp(x)
    found = baseline_fit(name, Prepared.of(x, y), q, h)
    expected = baseline_matrix(name, x, q, h) @ y
    nodes = name == "krr" and n > 400
    np.testing.assert_allclose(found.f, expected, rtol=1e-6, atol=2e-4 if nodes else 1e-6)
    assert ("Nyström" in found.words) == nodes


def test_nearest_neighbours_share_ties_as_their_matrix_does(make_set):
    x, y = make_set("tied", 700)
    q = np.linspace(-1, 4, 101)
    for k in (1, 5, 200, 700):
        expected = nearest_matrix(x, q, n_neighbours=k) @ y
        np.testing.assert_allclose(nearest(Prepared.of(x, y), q, n_neighbours=k), expected, atol=1e-10)


def test_a_dragged_sample_counts_in_every_baseline(make_set):
    x, y = make_set("uniform", 900)
    moved = Prepared.of(x, y).moved(4, 11.0, 30.0, was=(x[4], y[4]))
    x, y = x.copy(), y.copy()
    x[4], y[4] = 11.0, 30.0
    q = np.linspace(0, 12, 31)
    for name in BASELINES:
        expected = baseline_fit(name, Prepared.of(x, y), q, 0.5).f
        atol = 2e-2 if name == "krr" else 1e-6  # the dragged sample is a bin of its own, and moves the nodes
        np.testing.assert_allclose(baseline_fit(name, moved, q, 0.5).f, expected, atol=atol)


@pytest.mark.parametrize("kernel", [name for name in KERNELS if KERNELS[name].compact])
def test_a_compact_kernel_does_not_reach_from_end_to_end_and_a_line_does(make_set, kernel):
    for n in (60, 900):
        x, y = make_set("uniform", n)
        found = {one.name: one.value for one in influences(Prepared.of(x, y), 0.5, kernel)}
        assert list(found) == ["fit", *BASELINES]
        assert found["fit"] == 0.0
        assert found["local-linear"] == 0.0
        assert found["knn"] == 0.0
        assert found["mean"] == pytest.approx(1 / n)
        assert found["ols"] != 0
        assert found["ridge"] != 0


def test_influence_is_what_the_right_end_moves_when_the_leftmost_response_does(make_set):
    x, y = make_set("uniform", 900)
    bumped = y.copy()
    bumped[np.argmin(x)] += 1
    right = np.asarray([x.max()])
    found = {one.name: one.value for one in influences(Prepared.of(x, y), 4.0)}
    for name in BASELINES:
        moved = (
            baseline_fit(name, Prepared.of(x, bumped), right, 4.0).f
            - baseline_fit(name, Prepared.of(x, y), right, 4.0).f
        )
        assert found[name] == pytest.approx(moved[0], rel=0.05, abs=1e-6)


def test_ridge_on_as_many_nodes_as_it_needs_is_the_exact_one(make_set):
    x, y = make_set("uniform", 900)
    q = np.linspace(0, 10, 31)
    exact = baseline_matrix("krr", x, q, 1.0) @ y
    few, many = (
        np.max(np.abs(nystrom_ridge(Prepared.of(x, y), 1.0, "gaussian", n_nodes=m).f(q) - exact)) for m in (8, 128)
    )
    assert many < 1e-4 < few


def test_what_is_no_baseline_or_has_no_samples_is_refused():
    with pytest.raises(KavError, match="baseline must be one of"):
        baseline_fit("spline", Prepared.of([1.0], [1.0]), np.zeros(1), 1.0)
    with pytest.raises(KavError, match="at least one sample"):
        baseline_fit("mean", Prepared.of([], []), np.zeros(1), 1.0)
    assert influences(Prepared.of([], []), 1.0) == ()
