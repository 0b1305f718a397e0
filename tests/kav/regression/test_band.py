"""Degrees of freedom, residual spread and standard errors, from their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kav.regression.band import degrees_of_freedom, spread, standard_error
from kav.regression.fit import observe, smoother_matrix
from kav.regression.samples import sine


@pytest.mark.parametrize("kernel", ["gaussian", "tricube", "exp-dot-product"])
def test_spread_is_trace_and_residuals_of_the_smoother_matrix(xp, kernel):
    data = sine(200)
    S = smoother_matrix(data.x, data.x, 0.6, kernel)
    found = spread(observe(xp.put(data.x), xp.put(data.y), 0.6, kernel))
    assert found.dof == pytest.approx(np.trace(S), rel=1e-12)
    residual = data.y - S @ data.y
    assert found.sigma**2 == pytest.approx(residual @ residual / (200 - np.trace(S)), rel=1e-10)
    assert degrees_of_freedom(data.x, 0.6, kernel) == pytest.approx(found.dof)


def test_degrees_of_freedom_go_from_one_to_the_number_of_samples():
    x = sine().x
    assert degrees_of_freedom(x, 1e9) == pytest.approx(1)
    assert degrees_of_freedom(x, 1e-9) == pytest.approx(48)
    dofs = [degrees_of_freedom(x, h) for h in (0.1, 0.3, 1.0, 3.0)]
    assert dofs == sorted(dofs, reverse=True)


def test_no_residual_is_left_when_every_sample_is_its_own_fit():
    data = sine()
    assert math.isnan(spread(observe(data.x, data.y, 1e-9, "gaussian")).sigma)


def test_standard_error_is_the_spread_of_the_fit_over_repeated_noise():
    """Monte Carlo with a fixed seed: 4000 draws of noise of known size through one row of weights."""
    w = smoother_matrix(sine().x, [4.2], 0.45)[0]
    noise = np.random.default_rng(1).normal(0, 0.3, (4000, w.size))
    assert float(standard_error(w, 0.3)) == pytest.approx(np.std(noise @ w), rel=0.05)
