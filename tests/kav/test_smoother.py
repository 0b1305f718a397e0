"""The central idea, on every namespace: weights, averages, empty rows, and the curve of a moving query."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kav import smoother
from kav.smoother import Smoother

kernels = arrays(np.float64, (4, 6), elements=st.one_of(st.floats(-800, 800), st.just(-math.inf)))
DRAWN = settings(max_examples=60, deadline=None)


def plain_weights(log_kernel):
    out = np.zeros_like(log_kernel)
    for i, row in enumerate(log_kernel):
        seen = [j for j in range(len(row)) if row[j] > -math.inf]
        largest = max((row[j] for j in seen), default=0.0)
        total = sum(math.exp(row[j] - largest) for j in seen)
        for j in seen:
            out[i, j] = math.exp(row[j] - largest) / total
    return out


@DRAWN
@given(log_kernel=kernels)
def test_weights_agree_with_a_plain_loop(log_kernel):
    np.testing.assert_allclose(smoother.weights(log_kernel), plain_weights(log_kernel), atol=1e-14)


@DRAWN
@given(log_kernel=kernels)
def test_rows_sum_to_one_or_to_zero_without_support(log_kernel):
    sums = smoother.weights(log_kernel).sum(axis=1)
    np.testing.assert_allclose(sums, smoother.has_support(log_kernel).astype(float), atol=1e-12)


@DRAWN
@given(log_kernel=kernels, shift=st.floats(-500, 500))
def test_shifting_a_row_changes_its_mass_and_not_its_weights(log_kernel, shift):
    np.testing.assert_allclose(smoother.weights(log_kernel + shift), smoother.weights(log_kernel), atol=1e-10)
    np.testing.assert_allclose(smoother.log_mass(log_kernel + shift), smoother.log_mass(log_kernel) + shift, atol=1e-9)


@DRAWN
@given(log_kernel=kernels, y=arrays(np.float64, 6, elements=st.floats(-100, 100)))
def test_average_stays_between_the_smallest_and_the_largest_value(log_kernel, y):
    fit = smoother.smooth(smoother.weights(log_kernel), y)[smoother.has_support(log_kernel)]
    assert (fit >= y.min() - 1e-9).all()
    assert (fit <= y.max() + 1e-9).all()


def test_row_with_every_key_masked_is_zero_everywhere(xp):
    # A query row whose every key is masked gave NaN that spread (pytorch#109517): causal mask, row 1 off.
    off = -math.inf
    log_kernel = xp.put([[0.0, off, off], [off, off, off], [0.0, 0.0, 0.0]])
    weights = smoother.weights(log_kernel)
    np.testing.assert_allclose(xp.get(weights), [[1, 0, 0], [0, 0, 0], [1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(xp.get(smoother.smooth(weights, xp.put([1.0, 2.0, 3.0]))), [1, 0, 2])
    assert xp.get(smoother.has_support(log_kernel)).tolist() == [True, False, True]
    assert xp.get(smoother.log_mass(log_kernel)).tolist() == pytest.approx([0, off, math.log(3)])
    assert xp.get(smoother.effective_number(weights)).tolist() == pytest.approx([1, 0, 3])
    assert xp.get(smoother.entropy(weights)).tolist() == pytest.approx([0, 0, math.log(3)])


def test_every_namespace_gives_the_same_numbers(xp):
    log_kernel = np.random.default_rng(0).normal(size=(2, 3, 5)) * 30
    weights = smoother.weights(xp.put(log_kernel))
    np.testing.assert_allclose(xp.get(weights), smoother.weights(log_kernel), atol=1e-14)
    for quantity in (smoother.effective_number, smoother.entropy):
        np.testing.assert_allclose(xp.get(quantity(weights)), quantity(xp.get(weights)), atol=1e-12)
    values = np.random.default_rng(1).normal(size=(2, 5, 4))
    np.testing.assert_allclose(
        xp.get(smoother.smooth(weights, xp.put(values))), smoother.weights(log_kernel) @ values, atol=1e-12
    )


def test_kernel_values_that_underflow_still_have_a_nearest_neighbour():
    assert smoother.weights(np.array([[-1e9, -1e9 - 800.0, -2e9]])).tolist() == [[1, 0, 0]]


def some_smoother(xp):
    table = np.random.default_rng(2).normal(size=(3, 5))
    table[1, 3:] = -math.inf
    on_device = xp.put(table)
    return Smoother(
        lambda rows, keys: on_device[rows, keys], xp.put([1.0, -2.0, 0.5, 3.0, 4.0]), ("a", "b", "c"), (*"vwxyz",)
    )


def test_curve_at_zero_is_the_fit_and_has_the_covariance_as_slope(xp):
    s, slopes = some_smoother(xp), xp.put([0.3, -1.0, 2.0, 0.7, -0.2])
    for query in range(3):
        row = slice(query, query + 1)
        curve = xp.get(s.curve(query, slopes, xp.put([-1e-6, 0.0, 1e-6])))
        assert curve[1] == pytest.approx(xp.get(s.fit(row))[0], abs=1e-12)
        w, a, y = xp.get(s.weights(row))[0], xp.get(slopes), xp.get(s.responses)
        assert (curve[2] - curve[0]) / 2e-6 == pytest.approx(w @ (a * y) - (w @ a) * (w @ y), abs=1e-6)


def test_masked_keys_stay_masked_along_the_curve(xp):
    s = some_smoother(xp)
    far = xp.get(s.curve(1, xp.put([0.0, 0.0, 0.0, 9.0, 9.0]), xp.put([1e6])))
    assert far[0] == pytest.approx(xp.get(s.fit(slice(1, 2)))[0], abs=1e-9)
