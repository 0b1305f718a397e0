"""The fit against a plain double loop, against an independent program, and against its own properties."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kav.errors import KavError
from kav.regression.fit import dosed_weights, fit, smoother_matrix, smoother_of
from kav.regression.kernels import KERNELS
from kav.regression.samples import Samples

REFERENCE = Path(__file__).parents[2] / "data" / "regression" / "statsmodels.npz"
NAMES = list(KERNELS)


def samples(n: int = 40, seed: int = 0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 4, n)
    return x, np.sin(x) + 0.3 * rng.standard_normal(n)


def plain_kernel(name: str, a: float, b: float, h: float) -> float:
    """K between a query and an observation, written out."""
    u = abs(a - b) / h
    formulas = {
        "gaussian": lambda: math.exp(-u * u / 2),
        "epanechnikov": lambda: max(0.0, 1 - u * u),
        "uniform": lambda: 1.0 if u <= 1 else 0.0,
        "triangular": lambda: max(0.0, 1 - u),
        "biweight": lambda: max(0.0, 1 - u * u) ** 2,
        "triweight": lambda: max(0.0, 1 - u * u) ** 3,
        "tricube": lambda: max(0.0, 1 - u**3) ** 3,
        "laplace": lambda: math.exp(-u),
        "exp-dot-product": lambda: math.exp(a * b / h**2),
    }
    return formulas[name]()


def double_loop(x, y, x_query, h, name):
    found = []
    for a in x_query:
        mass = [plain_kernel(name, a, b, h) for b in x]
        total = math.fsum(mass)
        found.append(math.fsum(k * v for k, v in zip(mass, y, strict=True)) / total if total > 0 else math.nan)
    return np.asarray(found)


@pytest.mark.parametrize("name", NAMES)
def test_fit_equals_a_plain_double_loop(xp, name):
    x, y = samples()
    x_query = np.linspace(-2, 6, 33)
    found = fit(xp.put(x), xp.put(y), xp.put(x_query), 0.7, name)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, double_loop(x, y, x_query, 0.7, name), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("data", ["sine", "offset"])
def test_fit_equals_the_local_constant_estimator_of_statsmodels(data):
    with np.load(REFERENCE) as stored:
        for h, expected in zip(stored[f"{data}_h"], stored[f"{data}_fit"], strict=True):
            found = fit(stored[f"{data}_x"], stored[f"{data}_y"], stored[f"{data}_x_query"], h)
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_smoother_matrix_sum_to_one_and_give_the_fit(xp, name):
    x, y = samples()
    x_query = np.linspace(0, 4, 9)
    S = smoother_matrix(xp.put(x), xp.put(x_query), 0.8, name)
    assert S.shape == (9, 40)
    np.testing.assert_allclose(S.sum(axis=1), 1, atol=1e-14)
    np.testing.assert_allclose(S @ y, fit(x, y, x_query, 0.8, name), atol=1e-13)


@given(st.integers(0, 10_000), st.floats(1e-3, 1e3), st.sampled_from(NAMES))
@settings(max_examples=60, deadline=None)
def test_fit_stays_between_the_smallest_and_the_largest_response(seed, h, name):
    x, y = samples(12, seed)
    f = fit(x, y, np.linspace(-1, 5, 25), h, name)
    f = f[np.isfinite(f)]
    assert np.all((f >= y.min() - 1e-12) & (f <= y.max() + 1e-12))


@given(st.floats(-1e6, 1e6), st.sampled_from([name for name in NAMES if name != "exp-dot-product"]))
@settings(max_examples=40, deadline=None)
def test_fit_moves_with_the_data(shift, name):
    x, y = samples(15)
    x_query = np.linspace(0, 4, 7)
    there = fit(x + shift, y, x_query + shift, 0.9, name)
    smooth = name not in ("uniform", "triangular", "epanechnikov")  # rounding of x + shift may cross a sharp edge
    np.testing.assert_allclose(there, fit(x, y, x_query, 0.9, name), atol=1e-7 if smooth else 0.5)


def test_far_query_has_the_nearest_neighbour_where_every_kernel_value_underflows():
    """Case 32: plain exponentials give 0/0 at x = 5; the answer is the neighbour's y."""
    x, y = [0, 1, 10], [0, 1, 5]
    assert fit(x, y, [5], 0.01)[0] == 1.0
    assert fit(x, y, [5], 1e-300)[0] == 1.0
    np.testing.assert_allclose(fit(x, y, [5, -1e5, 1e5], 1e12), 2.0, atol=1e-6)


def test_compact_kernel_without_data_is_a_gap_not_a_number():
    assert np.isnan(fit([0, 1, 10], [0, 1, 5], [5], 0.5, "epanechnikov")[0])
    assert not smoother_matrix([0, 1, 10], [5], 0.5, "epanechnikov").any()


def test_ties_with_a_degenerate_spread_are_fitted():
    """Case 30, with the bandwidth of the standard deviation."""
    x, y = [4, 4, 4, 4, 4, 9], [1, 2, 3, 4, 5, 7]
    np.testing.assert_allclose(fit(x, y, [4, 9], 1.2838), [3.0004, 6.9899], atol=5e-5)
    np.testing.assert_allclose(fit(x, y, [4, 9], 0.1), [3, 7], atol=1e-12)


def test_pairs_with_missing_or_infinite_numbers_are_set_aside(xp):
    """Case 33: two of five rows are usable, wherever the fault is."""
    x = np.asarray([1, 2, np.nan, 4, np.inf])
    y = np.asarray([1, np.nan, 3, 8, 5])
    f = fit(xp.put(x), xp.put(y), xp.put([1.0, 2.5, np.nan]), 1.0)
    np.testing.assert_allclose(f[:2], fit([1, 4], [1, 8], [1.0, 2.5], 1.0), atol=1e-14)
    assert np.isnan(f[2])
    S = smoother_matrix(xp.put(x), xp.put([2.0]), 1.0)
    assert S[0, 2] == S[0, 4] == 0
    assert S.sum() == pytest.approx(1)


@pytest.mark.parametrize("n", [4, 900])
def test_masked_pairs_are_missing(n):
    # The mask was not looked at: a masked 1e6 was a response like any other.
    x, y = np.linspace(0, 3, n), np.linspace(0, 3, n) ** 2
    y[-1] = 1e6
    masked = np.ma.masked_array(y, mask=np.arange(n) == n - 1)
    q = np.linspace(0, 3, 100)
    np.testing.assert_array_equal(fit(x, masked, q, 1.0), fit(x[:-1], y[:-1], q, 1.0))
    np.testing.assert_array_equal(fit(np.ma.masked_array(x, masked.mask), y, q, 1.0), fit(x[:-1], y[:-1], q, 1.0))
    assert np.isnan(fit(x, y, np.ma.masked_array([1, 2], mask=[0, 1]), 1.0)).tolist() == [False, True]
    assert Samples(x, masked).skipped == (n - 1,)


@pytest.mark.parametrize("numbers", [np.asarray([1 + 5j, 2]), np.ma.masked_array([1 + 5j, 2]), [1 + 5j, 2]])
def test_complex_numbers_are_refused(numbers):
    # Of an array the real part was taken, with a warning at most; a list was refused.
    for args in ((numbers, [1, 2], [1.0]), ([1, 2], numbers, [1.0]), ([1, 2], [1, 2], numbers)):
        with pytest.raises(KavError, match=r"must hold (real )?numbers, got"):
            fit(*args, 1.0)
    with pytest.raises(KavError, match=r"y must hold (real )?numbers, got"):
        Samples([1, 2], numbers)
    with pytest.raises(KavError, match="bandwidth h must"):
        fit([1, 2], [1, 2], [1.0], numbers[0])


def test_numbers_that_no_float_holds_and_kernels_without_a_name_are_sentences():
    # OverflowError and TypeError came through.
    large = 10**400
    for args in (([large, 2], [1, 2], [1.0], 1.0), ([1, 2], [1, large], [1.0], 1.0), ([1, 2], [1, 2], [1.0], large)):
        with pytest.raises(KavError, match=r"1\.8e308"):
            fit(*args)
    with pytest.raises(KavError, match=r"1\.8e308"):
        Samples([1, large], [1, 2])
    with pytest.raises(KavError, match=r"1\.8e308"):
        Samples([1, 2], [1, 2]).moved(0, 1, large)
    with pytest.raises(KavError, match="kernel must be one of"):
        fit([1, 2], [1, 2], [1.0], 1.0, ["gaussian"])


@pytest.mark.parametrize("name", ["gaussian", "laplace", "tricube", "exp-dot-product"])
@pytest.mark.parametrize("n_query", [60, 200])
@pytest.mark.parametrize("size", [1e305, 1e308])
def test_responses_near_the_largest_float_are_averaged(size, n_query, name):
    # Of 700 responses near 1e305 60 queries had a fit and 200 had none: the transform of their sums overflowed.
    rng = np.random.default_rng(0)
    x, y = rng.random(700), rng.uniform(-1, 1, 700)
    q = np.linspace(-0.1, 1.1, n_query)
    found = fit(x, size * y, q, 0.1, name)
    np.testing.assert_allclose(found / size, fit(x, y, q, 0.1, name), rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", list(KERNELS))
@pytest.mark.parametrize("n", [3, 700])
def test_x_across_the_whole_range_of_floats_is_fitted(n, name):
    # At 1e308 the size that bounds h overflowed, and every sample had the same weight: 2.5 instead of 3.
    assert fit([-1e308, 0, 1e308], [1, 2, 3.0], [1e308], 1e300, "uniform") == 3
    x = np.linspace(-1, 1, n)
    y, q = np.cos(3 * x), np.linspace(-1, 1, 100)
    found = fit(1.7e308 * x, y, 1.7e308 * q, 1.7e308 * 0.3, name)
    np.testing.assert_allclose(found, fit(x, y, q, 0.3, name), atol=1e-8)


@pytest.mark.parametrize("n", [10, 70_000])
def test_one_number_asked_is_one_number_answered(n):
    # Up to 65,536 pairs it was an array without axes, above a float64.
    assert isinstance(fit(np.arange(n), np.ones(n), 3.0, 1.0), np.float64)


@pytest.mark.parametrize("h", [-0.02, 0, math.nan, math.inf, "wide", None])
def test_bandwidth_outside_its_range_is_refused_in_one_sentence(h):
    """Case 29."""
    with pytest.raises(KavError, match=r"bandwidth h must be .*> 0.*, got"):
        fit([0, 1], [0, 1], [0.5], h)


def test_samples_that_do_not_fit_together_are_refused():
    with pytest.raises(KavError, match="equally long"):
        fit([0, 1, 2], [0, 1], [0.5], 1.0)
    with pytest.raises(KavError, match="x must hold numbers"):
        fit(["a", "b"], [0, 1], [0.5], 1.0)
    with pytest.raises(KavError, match="kernel must be one of"):
        fit([0, 1], [0, 1], [0.5], 1.0, "sinc")


def test_without_samples_or_queries_the_answer_is_empty_not_an_error():
    assert np.isnan(fit([], [], [1.0], 1.0)).all()
    assert smoother_matrix([], [1.0], 1.0).shape == (1, 0)
    assert fit([1.0], [2.0], [], 1.0).shape == (0,)
    assert fit([1.0], [2.0], 0.3, 1.0).shape == ()


def test_samples_are_not_changed_and_huge_responses_stay_finite():
    x, y = np.asarray([0.0, np.nan, 2.0]), np.asarray([1e300, 2.0, -1e300])
    kept = x.copy(), y.copy()
    assert np.isfinite(fit(x, y, [0.5, 1.0], 1.0)).all()
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(y, kept[1])


def test_blocks_of_queries_give_the_numbers_of_one_query_at_a_time():
    x, y = samples(900)
    x_query = np.linspace(0, 4, 50)
    one_by_one = [fit(x, y, [q], 0.2)[0] for q in x_query]
    np.testing.assert_allclose(fit(x, y, x_query, 0.2), one_by_one, rtol=1e-13)


def test_smoother_of_the_samples_gives_weights_and_fit_of_the_same_numbers():
    x, y = samples()
    whole = smoother_of(x, y, [1.0, 2.0, 3.0], 0.5)
    np.testing.assert_array_equal(whole.weights(slice(1, 3)), smoother_matrix(x, [2.0, 3.0], 0.5))
    np.testing.assert_allclose(whole.fit(), fit(x, y, [1.0, 2.0, 3.0], 0.5), atol=1e-14)
    assert whole.key_labels[14] == "sample 14"


def test_scaled_weights_are_those_of_the_scaled_kernel(xp):
    K = np.asarray([[0.5, 0.2, 0.0, 1.0], [0.1, 0.1, 0.3, 0.2]])
    doses = np.asarray([1.0, 3.0, 1.0, -0.25])
    with np.errstate(divide="ignore"):
        found = xp.get(dosed_weights(xp.put(np.log(K)), xp.put(doses)))
    expected = K * doses / (K * doses).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_removing_a_sample_that_has_all_the_weight_leaves_its_neighbours():
    """With h = 0.01 the others' weights underflow beside it; only the log domain knows them."""
    log_kernel = smoother_of([0, 1, 10], [0, 1, 5], [1.0], 0.01).log_kernel(slice(None), slice(None))
    np.testing.assert_array_equal(dosed_weights(log_kernel, np.asarray([1.0, 0.0, 1.0])), [[1.0, 0.0, 0.0]])


def test_scales_that_cancel_leave_the_fit_undefined():
    log_kernel = np.zeros((1, 2))
    assert not dosed_weights(log_kernel, np.asarray([1.0, -1.0])).any()
    assert not dosed_weights(log_kernel, np.asarray([0.0, 0.0])).any()
