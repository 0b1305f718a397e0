"""The bridge: a fit and the attention head that draws it are the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from kav.errors import KavError
from kav.regression.attention_form import attention_form, is_attention
from kav.regression.fit import fit, smoother_matrix
from kav.regression.kernels import KERNELS
from kav.regression.samples import sine


@pytest.mark.parametrize("h", [0.1, 0.45, 3.0])
def test_softmax_of_the_head_is_the_gaussian_fit(xp, h):
    data = sine()
    form = attention_form("gaussian", h, centre=5.0)
    f = form.output(xp.put(data.x), xp.put(data.y), xp.put(np.linspace(0, 10, 21)))
    np.testing.assert_allclose(f, fit(data.x, data.y, np.linspace(0, 10, 21), h), atol=1e-10)


def test_head_is_exact_far_from_zero_when_x_is_counted_from_the_data():
    data = sine()
    x = data.x + 1e6
    f = attention_form("gaussian", 0.45, centre=float(x.mean())).output(x, data.y, x)
    np.testing.assert_allclose(f, fit(x, data.y, x, 0.45), atol=1e-10)


def test_head_is_the_exp_dot_product_fit():
    data = sine()
    f = attention_form("exp-dot-product", 2.0).output(data.x, data.y, data.x)
    np.testing.assert_allclose(f, fit(data.x, data.y, data.x, 2.0, "exp-dot-product"), atol=1e-12)


def test_scores_are_the_gaussian_exponent_up_to_a_constant_per_row():
    x, x_query = np.asarray([0.5, 2.0, 3.0]), np.asarray([-1.0, 4.0])
    scores = attention_form("gaussian", 0.7).scores(x_query, x)
    exponent = -((x_query[:, None] - x[None, :]) ** 2) / (2 * 0.7**2)
    difference = scores - exponent
    np.testing.assert_allclose(difference, np.repeat(x_query[:, None] ** 2 / (2 * 0.7**2), 3, axis=1), atol=1e-12)


def test_small_matrices_are_those_of_the_formula():
    form = attention_form("gaussian", 0.45)
    np.testing.assert_allclose(form.W_QK, [[0, 0, -0.5 / 0.45**2], [0, 1 / 0.45**2, 0], [0, 0, 0]], atol=1e-12)
    np.testing.assert_array_equal(form.W_OV, [[1.0]])
    np.testing.assert_array_equal(form.W_QK, form.W_Q @ form.W_K.T)


def test_exp_dot_product_is_the_gaussian_times_a_mass_that_grows_with_the_key():
    """The correction to the usual story: |x_i|^2 does not cancel in the ratio."""
    x, x_query, h = np.asarray([0.2, 1.0, 3.0]), np.asarray([1.5]), 1.3
    mass = smoother_matrix(x, x_query, h)[0] * np.exp(x**2 / (2 * h**2))
    np.testing.assert_allclose(smoother_matrix(x, x_query, h, "exp-dot-product")[0], mass / mass.sum(), atol=1e-14)


def test_other_kernels_are_no_heads_and_say_so():
    assert [name for name in KERNELS if is_attention(name)] == ["gaussian", "exp-dot-product"]
    with pytest.raises(KavError, match=r"exp\(bilinear\), got Epanechnikov"):
        attention_form("epanechnikov", 1.0)
    with pytest.raises(KavError, match="centre must be 0"):
        attention_form("exp-dot-product", 1.0, centre=2.0)
    with pytest.raises(KavError, match="bandwidth h must be > 0"):
        attention_form("gaussian", 0.0)
