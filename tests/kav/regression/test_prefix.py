"""Sums at every sample at once, against every pair."""

from __future__ import annotations

import numpy as np
import pytest

from kav.regression import prefix
from kav.regression.kernels import KERNELS
from kav.regression.prefix import sums_at_samples
from kav.regression.prepared import Prepared
from kav.regression.tree import inside, inside_of_samples
from kav.regression.window import direct_sums

NAMES = [name for name in KERNELS if name not in ("gaussian", "exp-dot-product")]


def assert_same(prepared, h, name, within):
    asked = prepared.asked(h, name)
    found, pairs = sums_at_samples(prepared.ordered, asked), direct_sums(prepared.ordered, prepared.ordered.x, asked)
    mass = pairs.mass * np.exp(pairs.log_scale)
    assert not np.any(found.log_scale)
    assert np.max(np.abs(found.mass - mass) / mass) <= within
    assert np.max(np.abs(found.moment - pairs.moment * np.exp(pairs.log_scale)) / mass) <= within


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, 2, 7, 3000])
def test_sums_at_samples_are_those_of_every_pair(make_set, data, name, n):
    prepared = Prepared.of(*make_set(data, n))
    for h in (1e-12, 1e-3, 0.02, 0.3, 1.0, 5.0):
        assert_same(prepared, h * prepared.ordered.span, name, 1e-11)
    assert_same(prepared, 1e-6 * prepared.ordered.span, name, 1e-10)  # x / h itself is rounded


@pytest.mark.parametrize("name", NAMES)
def test_blocks_and_strips_meet_without_a_seam(make_set, name, monkeypatch):
    monkeypatch.setattr(prefix, "_BLOCK", 100)
    monkeypatch.setattr(prefix, "_ROWS", 30)
    monkeypatch.setattr(prefix, "_DECAYS", 2.0)
    for data in ("uniform", "lognormal", "tied"):
        prepared = Prepared.of(*make_set(data, 1500))
        for h in (1e-4, 0.01, 0.2, 3.0):
            assert_same(prepared, h * prepared.ordered.span, name, 1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_samples_exactly_one_bandwidth_apart_count_as_the_kernel_says(name):
    """On strips one bandwidth wide every sample stands at an edge, of its window and of its strip."""
    x = np.repeat(np.arange(40) * 0.1, 3)
    prepared = Prepared.of(x, np.cos(x))
    for h in (0.1, 0.2, 0.3, np.nextafter(0.1, 0), np.nextafter(0.3, 1)):
        assert_same(prepared, h, name, 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_bandwidths_below_the_rounding_of_x_leave_ties_only(name):
    x = np.repeat(1e9 + np.arange(50) * 3.0, 2)
    prepared = Prepared.of(np.append(x, 0.0), np.append(np.cos(x), 1.0))
    for h in (1e-9, 1e-12, 1e-100):
        assert_same(prepared, h, name, 1e-12)


@pytest.mark.parametrize("name", [name for name in NAMES if KERNELS[name].compact])
def test_a_window_is_decided_once_per_pair(make_set, data, name):
    prepared = Prepared.of(*make_set(data, 2000))
    x = prepared.ordered.x
    for h in (1e-9, 1e-3, 0.05, 1.0):
        asked = prepared.asked(h * prepared.ordered.span, name)
        for found, expected in zip(inside_of_samples(x, asked), inside(x, x, asked), strict=True):
            np.testing.assert_array_equal(found, expected)
