"""Sample sets that fast sums have to survive: clustered, long-tailed, gappy, far from 0, tied."""

from __future__ import annotations

import numpy as np
import pytest


def _uniform(rng, n):
    return rng.uniform(0, 10, n)


def _lognormal(rng, n):
    return rng.lognormal(0, 2, n)


def _gap(rng, n):
    return np.concatenate([rng.normal(0, 1e-3, n // 2), rng.normal(5, 1, n - n // 2)])


def _tied(rng, n):
    return rng.integers(0, 12, n) / 4.0


def _far(rng, n):
    return 1e12 + np.round(rng.uniform(0, 1e4, n), 2)


SETS = {"uniform": _uniform, "lognormal": _lognormal, "gap": _gap, "tied": _tied, "far": _far}


def make(name: str, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """x and y of a set, in random order."""
    rng = np.random.default_rng(seed)
    x = SETS[name](rng, n)
    return x, np.sin(x - x.min()) + 0.3 * rng.standard_normal(n) + 5


@pytest.fixture(params=list(SETS))
def data(request):
    """The name of a sample set; `make_set` makes it."""
    return request.param


@pytest.fixture(scope="session")
def make_set():
    """``make_set(name, n, seed)`` -> x, y."""
    return make
