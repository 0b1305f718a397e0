"""The cost story: seconds against n, measured here and now, for kernel ridge regression and for the smoother.

A kernel ridge fit solves a system of n equations, n^3; the smoother's value at a query is one weighted average, n; and
once the moments of the samples are taken it is a few cells, whatever n. On log-log axes the slopes are the exponents.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kav.regression.baselines import RIDGE
from kav.regression.fit import fit_every_pair, observe
from kav.regression.kernels import kernel_named
from kav.regression.prepared import Prepared
from kav.task import Task

RIDGE_SIZES = (64, 128, 256, 512, 1024, 2048)
SMOOTHER_SIZES = (1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000)
_N_QUERY = 32
_ENOUGH = 0.15
_MOST = 12


@dataclass(frozen=True, eq=False)
class CostLine:
    """Measured times of one method.

    Parameters
    ----------
    name : str
        "ridge", "smoother" or "moments".
    words : str
    n : array of int, shape (k,)
    seconds : array, shape (k,)
        Least of a few runs.
    slope : float
        Of log seconds over log n through the larger half of the sizes, where overhead no longer counts.
    """

    name: str
    words: str
    n: np.ndarray
    seconds: np.ndarray
    slope: float


@dataclass(frozen=True, eq=False)
class CostStory:
    """All lines, with the number of queries each smoother answered."""

    lines: tuple[CostLine, ...]
    n_query: int


def cost_story(
    task: Task,
    *,
    h: float = 0.5,
    kernel: str = "gaussian",
    ridge_sizes: tuple[int, ...] = RIDGE_SIZES,
    smoother_sizes: tuple[int, ...] = SMOOTHER_SIZES,
) -> CostStory:
    """Measure the three methods on samples drawn for the purpose, smallest sizes first.

    Parameters
    ----------
    task : Task
        Asked before each size; a cancelled measurement ends within one run, well under a second at the sizes given.
    h : float
        Bandwidth on the interval [0, 10].

    Raises
    ------
    Cancelled
        If the answer is no longer wanted.
    """
    row = kernel_named(kernel)
    plan: list[tuple[str, str, tuple[int, ...], Callable[[int], Callable[[], object]]]] = [
        ("ridge", "kernel ridge: solve n equations", ridge_sizes, lambda n: _ridge(n, h)),
        ("smoother", f"smoother: {_N_QUERY} weighted averages", smoother_sizes, lambda n: _smoother(n, h, row.name)),
        ("moments", f"smoother from moments: {_N_QUERY} queries", smoother_sizes, lambda n: _moments(n, h, row.name)),
    ]
    total, done, lines = sum(len(sizes) for _, _, sizes, _ in plan), 0, []
    for name, words, sizes, maker in plan:
        seconds = []
        for n in sizes:
            task.report(done / total, f"{words}, n = {n:,}")
            seconds.append(_least(maker(n)))
            done += 1
        lines.append(CostLine(name, words, np.asarray(sizes), np.asarray(seconds), slope(sizes, seconds)))
    return CostStory(tuple(lines), _N_QUERY)


def _least(run: Callable[[], object]) -> float:
    """Least time of a few runs: more of short ones, which a busy machine disturbs most; a long one is not repeated."""
    least, spent = math.inf, 0.0
    for _ in range(_MOST):
        start = time.perf_counter()
        run()
        took = time.perf_counter() - start
        least, spent = min(least, took), spent + took
        if spent > _ENOUGH:
            break
    return least


def slope(sizes: tuple[int, ...] | list[int], seconds: list[float]) -> float:
    """Return the slope of log seconds over log n through the larger half of the sizes, NaN from fewer than two."""
    if len(sizes) < 2:
        return math.nan
    half = slice(min(len(sizes) // 2, len(sizes) - 2), None)
    x, y = np.log(np.asarray(sizes[half], dtype=float)), np.log(np.asarray(seconds[half]))
    x = x - x.mean()
    return float(x @ y / (x @ x))


def _samples(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    x = np.sort(rng.uniform(0, 10, n))
    return x, np.sin(x) + 0.3 * rng.standard_normal(n)


def _ridge(n: int, h: float) -> Callable[[], object]:
    """The n^3 part: factor and solve; the matrix itself is made before."""
    x, y = _samples(n)
    K = np.exp(-0.5 * ((x[:, None] - x[None, :]) / h) ** 2) + RIDGE * np.eye(n)
    return lambda: np.linalg.solve(K, y)


def _smoother(n: int, h: float, kernel: str) -> Callable[[], object]:
    x, y = _samples(n)
    observed, query = observe(x, y, h, kernel), np.linspace(0, 10, _N_QUERY)
    return lambda: fit_every_pair(observed, query)


def _moments(n: int, h: float, kernel: str) -> Callable[[], object]:
    prepared, query = Prepared.of(*_samples(n)), np.linspace(0, 10, _N_QUERY)
    prepared.fit(query, h, kernel)
    return lambda: prepared.fit(query, h, kernel)
