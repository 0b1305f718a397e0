"""Local linear regression from moments against the weighted least squares of every pair."""

from __future__ import annotations

import numpy as np
import pytest

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
