"""Every kernel of the table: a density with the variance, roughness and support it claims, on every device."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kav.errors import KavError
from kav.regression.kernels import KERNELS, kernel_named

SHAPES = [kernel for kernel in KERNELS.values() if kernel.log_K is not None]

BY_HAND = {
    "gaussian": lambda u: np.exp(-u * u / 2) / np.sqrt(2 * np.pi),
    "epanechnikov": lambda u: 0.75 * (1 - u * u) * (abs(u) < 1),
    "uniform": lambda u: 0.5 * (abs(u) <= 1),
    "triangular": lambda u: (1 - abs(u)) * (abs(u) < 1),
    "biweight": lambda u: 15 / 16 * (1 - u * u) ** 2 * (abs(u) < 1),
    "triweight": lambda u: 35 / 32 * (1 - u * u) ** 3 * (abs(u) < 1),
    "tricube": lambda u: 70 / 81 * (1 - abs(u) ** 3) ** 3 * (abs(u) < 1),
    "laplace": lambda u: 0.5 * np.exp(-abs(u)),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_log_kernel_is_the_log_of_the_formula(xp, name):
    u = np.concatenate([np.linspace(-3, 3, 101), [-1.0, 1.0, 0.999999]])
    with np.errstate(divide="ignore"):
        expected = np.log(BY_HAND[name](u))
    log_K = KERNELS[name].log_K
    np.testing.assert_allclose(xp.get(log_K(xp.put(u))), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", SHAPES, ids=lambda kernel: kernel.name)
def test_kernel_is_a_density_with_its_variance_and_roughness(kernel):
    reach = 40.0 if kernel.support == math.inf else kernel.support
    u = np.linspace(-reach, reach, 2_000_001)
    K = np.exp(kernel.log_K(u))
    integral = lambda values: float(np.trapezoid(values, u))  # noqa: E731
    assert integral(K) == pytest.approx(1, abs=1e-6)
    assert integral(u * u * K) == pytest.approx(kernel.variance, abs=1e-6)
    assert integral(K * K) == pytest.approx(kernel.roughness, abs=1e-6)


@pytest.mark.parametrize("kernel", [k for k in SHAPES if k.compact], ids=lambda kernel: kernel.name)
def test_compact_kernel_is_zero_outside_and_positive_inside_its_support(kernel):
    inside, outside = np.asarray([-0.99, 0.0, 0.99]), np.asarray([-1.01, 1.01, 1e9])
    assert np.all(np.isfinite(kernel.log_K(inside * kernel.support)))
    assert np.all(kernel.log_K(outside * kernel.support) == -np.inf)


def test_log_kernel_of_a_pair_is_a_function_of_u(xp):
    x_query, x = np.asarray([0.5, 7.0]), np.asarray([0.0, 1.0, 9.0])
    for kernel in SHAPES:
        found = xp.get(kernel.log_kernel(xp.put(x_query), xp.put(x), 2.0))
        np.testing.assert_array_equal(found, kernel.log_K((x_query[:, None] - x[None, :]) / 2.0))


def test_exp_dot_product_is_no_function_of_u_and_says_so(xp):
    kernel = KERNELS["exp-dot-product"]
    assert kernel.log_K is None
    found = xp.get(kernel.log_kernel(xp.put([2.0, -1.0]), xp.put([3.0, 0.0, 1.0]), 2.0))
    np.testing.assert_allclose(found, [[1.5, 0, 0.5], [-0.75, 0, -0.25]])


def test_bandwidth_that_underflows_still_ranks_by_distance():
    log_K = KERNELS["gaussian"].log_kernel(np.asarray([5.0]), np.asarray([0.0, 1.0, 10.0]), 1e-300)
    assert np.all(np.isfinite(log_K))
    assert np.argmax(log_K[0]) == 1


def test_canonical_bandwidths_match_the_published_table():
    # Marron and Nolan 1988 / Haerdle 1990, table 3.1.2: delta0 of Gaussian 0.7764, Epanechnikov 1.7188, uniform 1.3510,
    # biweight 2.0362, triangular 1.8882 (ratios to the Gaussian's)
    for name, delta in {"epanechnikov": 1.7188, "uniform": 1.3510, "biweight": 2.0362, "triangular": 1.8882}.items():
        assert KERNELS[name].canonical == pytest.approx(delta / 0.7764, rel=2e-4)


def test_aliases_find_their_kernel_and_unknown_names_are_refused():
    assert kernel_named("exponential") is KERNELS["laplace"]
    assert kernel_named("boxcar") is KERNELS["uniform"]
    with pytest.raises(KavError, match=r"kernel must be one of gaussian.*got 'sinc'"):
        kernel_named("sinc")


def test_titles_are_those_of_the_gallery():
    assert [kernel.title for kernel in SHAPES] == [
        "Gaussian", "Epanechn.", "uniform", "triangular", "biweight", "triweight", "tricube", "Laplace",
    ]  # fmt: skip
