"""Every fast way to a fit against the plain one, pair by pair, over kernels, sizes, shapes of data and bandwidths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kav.regression.fit import fit, fit_every_pair, observe
from kav.regression.kernels import KERNELS
from kav.regression.prepared import Prepared
from kav.regression.series import cell_sums
from kav.regression.tree import tree_sums
from kav.regression.window import direct_sums

NAMES = list(KERNELS)
BANDWIDTHS = (1e-9, 1e-5, 1e-3, 0.02, 0.3, 5.0, 1e3)  # of the range


def queries(x, n: int = 60) -> np.ndarray:
    """Inside, outside, at the ends, and at samples themselves."""
    low, high = x.min(), x.max()
    span = high - low
    return np.concatenate([np.linspace(low - 0.3 * span, high + 0.3 * span, n), [low, high], x[:8]])


def cell_or_tree_sums(prepared, q, asked):
    if asked.kernel.compact:
        return tree_sums(prepared.core.tree(asked.kernel), q, asked)
    return cell_sums(prepared.core.cells(), q, asked)


@pytest.mark.parametrize("name", NAMES)
def test_cells_and_tree_give_the_sums_of_every_pair(make_set, name, data):
    for n in (1, 2, 3, 100, 1500):
        x, y = make_set(data, n)
        prepared = Prepared.of(x, y)
        q = np.sort(prepared.coordinate(queries(x)))
        for h in BANDWIDTHS:
            for power in (1, 2):
                asked = prepared.asked(h * prepared.ordered.span, name, power=power)
                plain, fast = direct_sums(prepared.ordered, q, asked), cell_or_tree_sums(prepared, q, asked)
                held = plain.mass > 0
                np.testing.assert_array_equal(fast.mass > 0, held)
                if power == 1 and held.any():
                    assert np.max(np.abs(fast.mean() - plain.mean())[held]) < 1e-6
                masses = [np.log(sums.mass[held]) + sums.log_scale[held] for sums in (plain, fast)]
                np.testing.assert_allclose(masses[1], masses[0], rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_fit_of_thousands_equals_that_of_every_pair(make_set, name, data):
    x, y = make_set(data, 4000)
    q = queries(x)
    span = float(np.ptp(x))
    for h in BANDWIDTHS:
        plain = fit_every_pair(observe(x, y, h * span, name), q)
        found = fit(x, y, q, h * span, name)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(plain))
        held = ~np.isnan(plain)
        assert np.max(np.abs(found - plain)[held], initial=0) <= 1e-6 * np.max(np.abs(y - y.mean()))


def test_the_fast_way_is_only_taken_by_host_arrays(make_set, xp):
    """Sorting and sums by segment are no array API: elsewhere every pair is taken, with the same numbers."""
    x, y = make_set("uniform", 1500)
    q = np.linspace(0, 10, 60)
    np.testing.assert_allclose(fit(xp.put(x), xp.put(y), xp.put(q), 0.3), fit(x, y, q, 0.3), atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_norm_of_the_weights_is_that_of_the_smoother_matrix(make_set, name):
    from kav.regression.fit import smoother_matrix

    x, y = make_set("lognormal", 3000)
    prepared, q = Prepared.of(x, y), queries(x)
    for h in (0.01, 0.5, 20.0):
        S = smoother_matrix(x, q, h, name)
        norm = prepared.curve(q, h, name)[1]
        held = np.any(S != 0, axis=1)
        np.testing.assert_array_equal(np.isnan(norm), ~held)
        np.testing.assert_allclose(norm[held], np.sqrt((S**2).sum(axis=1))[held], rtol=1e-6)


@given(
    st.integers(0, 1000),
    st.floats(-3, 3).map(lambda power: 10**power),
    st.floats(1e-6, 1e6),
    st.sampled_from([name for name in NAMES if name not in ("uniform", "exp-dot-product")]),
)
@settings(max_examples=30, deadline=None)
def test_scaling_x_and_h_together_changes_nothing(make_set, seed, h, factor, name):
    x, y = make_set("uniform", 3000, seed)
    q = np.linspace(-1, 11, 30)
    np.testing.assert_allclose(
        Prepared.of(factor * x, y).fit(factor * q, factor * h, name), Prepared.of(x, y).fit(q, h, name), atol=2e-6
    )


@given(st.integers(0, 1000), st.floats(0.01, 10), st.sampled_from(NAMES))
@settings(max_examples=30, deadline=None)
def test_order_of_the_samples_changes_nothing(make_set, seed, h, name):
    x, y = make_set("tied", 3000, seed)
    q, order = np.linspace(-1, 4, 30), np.random.default_rng(seed).permutation(3000)
    np.testing.assert_allclose(
        Prepared.of(x[order], y[order]).fit(q, h, name), Prepared.of(x, y).fit(q, h, name), atol=2e-6
    )


@given(st.integers(0, 1000), st.floats(0.01, 10), st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.sampled_from(NAMES))
@settings(max_examples=30, deadline=None)
def test_the_fit_is_linear_in_the_responses(make_set, seed, h, shift, factor, name):
    x, y = make_set("lognormal", 3000, seed)
    q = queries(x, 20)
    found, once = Prepared.of(x, shift + factor * y).fit(q, h, name), Prepared.of(x, y).fit(q, h, name)
    np.testing.assert_allclose(found, shift + factor * once, atol=1e-5 * (1 + abs(shift) + abs(factor)))


@pytest.mark.parametrize("name", ["gaussian", "laplace", "tricube", "uniform", "exp-dot-product"])
def test_a_dragged_sample_counts_where_it_is_now(make_set, name):
    """Through gaps and past both ends: nothing drifts, and no gap is filled by what was taken out."""
    x, y = make_set("gap", 4000)
    prepared = Prepared.of(x, y)
    prepared.core.cells()
    rng = np.random.default_rng(1)
    q = np.linspace(-4, 12, 60)
    for _ in range(40):
        i, to = int(rng.integers(0, 3)), (float(rng.uniform(-3, 11)), float(rng.normal()))
        prepared = prepared.moved(i, *to, was=(x[i], y[i]))
        x, y = x.copy(), y.copy()
        x[i], y[i] = to
    for h in (1e-4, 0.02, 0.5):
        plain = fit_every_pair(observe(x, y, h, name), q)
        found = prepared.fit(q, h, name)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(plain))
        assert np.nanmax(np.abs(found - plain)) < 1e-5


def test_a_step_of_a_drag_leaves_cells_and_trees_as_they_are(make_set):
    x, y = make_set("uniform", 5000)
    first = Prepared.of(x, y)
    first.core.cells()
    taken = first.moved(7, 1.0, 2.0, was=(x[7], y[7]))
    assert taken.core is not first.core
    assert taken.moved(7, 3.0, 2.0, was=(1.0, 2.0)).core is taken.core


def test_scaled_kernels_are_those_of_the_scaled_weights(make_set):
    from kav.regression.fit import dosed_weights

    x, y = make_set("uniform", 3000)
    q = np.linspace(-1, 11, 40)
    doses = {5: 0.0, 17: 3.0, 40: -0.5}
    scales = np.ones(3000)
    for i, dose in doses.items():
        scales[i] = dose
    w = dosed_weights(observe(x, y, 0.3, "gaussian").log_kernel(q), scales)
    found = Prepared.of(x, y).dosed(doses, {i: (x[i], y[i]) for i in doses})
    f, norm = found.curve(q, 0.3)
    np.testing.assert_allclose(f, w @ y, atol=1e-6)
    np.testing.assert_allclose(norm, np.sqrt((w**2).sum(axis=1)), rtol=1e-6)


def test_scales_that_cancel_leave_no_fit():
    prepared = Prepared.of([0.0, 1.0], [1.0, 2.0]).dosed({0: 1.0, 1: -1.0}, {0: (0.0, 1.0), 1: (1.0, 2.0)})
    assert np.isnan(prepared.fit([0.5], 1.0)[0])


def test_near_samples_are_those_around_the_query(make_set):
    x, y = make_set("uniform", 3000)
    near = Prepared.of(x, y).near(4.0, 50)
    assert near.size == 50
    assert np.abs(x[near] - 4).max() <= np.sort(np.abs(x - 4))[60]


def test_one_sample_none_and_huge_responses(make_set):
    assert np.isnan(Prepared.of([], []).fit([1.0], 1.0)[0])
    assert Prepared.of([3.0], [2.0]).fit([1.0], 1.0)[0] == 2.0
    x, _ = make_set("uniform", 3000)
    big = np.where(x < 5, 1e300, -1e300)
    assert np.isfinite(Prepared.of(x, big).fit(np.linspace(0, 10, 9), 0.1)).all()
