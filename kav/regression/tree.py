"""The moment tree: sums of a compact kernel at any bandwidth in time that hardly grows with n.

Leaves are 32 neighbouring samples; each node keeps the moments of its samples about its own centre, and parents come
from their children by the binomial theorem. The window of a query is two ragged ends, added pair by pair, and at most
two nodes per level (Bentley 1979, decomposable searching), each a polynomial in its moments (`polynomial`). No prefix
is subtracted from another: the error is rounding, wherever the samples lie.

A kernel with odd powers of |u| (triangular, tricube) is two polynomials: its window is split at the query.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from kav.regression.kernels import Kernel
from kav.regression.ordered import Ordered
from kav.regression.polynomial import bump, coefficients, is_even, mirrored, moment_sum
from kav.regression.window import Asked, Sums

LEAF = 32


@dataclass(frozen=True)
class Level:
    """Nodes of one size: centres (n_nodes,), moments of 1 and of y about them in units of `Tree.unit`."""

    centre: np.ndarray
    ones: np.ndarray  # (degree of ones + 1, n_nodes)
    responses: np.ndarray  # (degree of responses + 1, n_nodes)


@dataclass(frozen=True)
class Tree:
    """Levels from the leaves up, and the samples they were made of."""

    ordered: Ordered
    unit: float
    levels: tuple[Level, ...]

    @property
    def degrees(self) -> tuple[int, int]:
        """Highest moments of 1 and of y."""
        return self.levels[0].ones.shape[0] - 1, self.levels[0].responses.shape[0] - 1


def degrees_for(kernel: Kernel) -> tuple[int, int]:
    """Return the moments a kernel needs: K^2 for standard errors, and K (x - q)^2 for local lines."""
    degree = coefficients(kernel).size - 1
    return max(2 * degree, degree + 2), degree + 2


def build_tree(ordered: Ordered, degrees: tuple[int, int]) -> Tree:
    """Return the tree of the samples with moments up to `degrees` (of 1, of y)."""
    n, unit = ordered.n, ordered.span
    n_leaves = max(1, -(-n // LEAF))
    n_full = 1 << (n_leaves - 1).bit_length()
    ones, responses = np.zeros((degrees[0] + 1, n_full)), np.zeros((degrees[1] + 1, n_full))
    centre = np.full(n_full, float(ordered.x[-1]))
    first, last = np.arange(n_leaves) * LEAF, np.minimum(np.arange(1, n_leaves + 1) * LEAF, n)
    centre[:n_leaves] = 0.5 * (ordered.x[first] + ordered.x[last - 1])
    step = 15_000 // LEAF  # leaves at a time: the powers of their samples stay in the cache and on the heap
    for start in range(0, n_leaves, step):
        leaves = slice(start, min(start + step, n_leaves))
        _leaf_moments(ordered, leaves, centre, unit=unit, ones=ones, responses=responses)
    levels = [Level(centre, ones, responses)]
    edges = (
        ordered.x[np.minimum(np.arange(n_full) * LEAF, n - 1)],
        ordered.x[np.minimum(np.arange(1, n_full + 1) * LEAF, n) - 1],
    )
    low, high = edges
    while levels[-1].centre.size > 1:
        low, high = low[::2], high[1::2]
        levels.append(_parents(levels[-1], 0.5 * (low + high), unit))
    return Tree(ordered, unit, tuple(levels))


def _leaf_moments(
    ordered: Ordered, leaves: slice, centre: np.ndarray, *, unit: float, ones: np.ndarray, responses: np.ndarray
) -> None:
    """Fill in the moments of some leaves."""
    places = slice(leaves.start * LEAF, min(leaves.stop * LEAF, ordered.n))
    starts = np.arange(leaves.stop - leaves.start) * LEAF
    counts = np.diff(np.append(starts, places.stop - places.start))
    z = (ordered.x[places] - np.repeat(centre[leaves], counts)) / unit
    y = ordered.y[places]
    power = np.ones(z.size)
    for j in range(ones.shape[0]):
        ones[j, leaves] = np.add.reduceat(power, starts)
        if j < responses.shape[0]:
            responses[j, leaves] = np.add.reduceat(power * y, starts)
        power *= z


def _parents(level: Level, centre: np.ndarray, unit: float) -> Level:
    """The next level: moments about the parents' centres, exactly."""
    sums = []
    for moments in (level.ones, level.responses):
        total = np.zeros((moments.shape[0], centre.size))
        for side in (0, 1):
            child = moments[:, side::2]
            away = (level.centre[side::2] - centre) / unit
            powers = [np.ones(away.size)]
            for _ in range(moments.shape[0] - 1):
                powers.append(powers[-1] * away)
            for j in range(moments.shape[0]):
                for i in range(j + 1):
                    total[j] += comb(j, i) * powers[j - i] * child[i]
        sums.append(total)
    return Level(centre, sums[0], sums[1])


def tree_sums(tree: Tree, x_query: np.ndarray, asked: Asked, *, order: int = 0) -> Sums:
    """Return ``sum K^power u^order`` and the same with the responses at each query.

    Parameters
    ----------
    x_query : array, shape (n_query,)
        In the coordinate of `Ordered.x`.
    asked : Asked
        A compact kernel.
    order : int
        Power of ``u = (x_query - x) / h``, 0 to 2.
    """
    x, h = tree.ordered.x, asked.h
    lo, hi = inside(x, x_query, asked)
    a = coefficients(asked.kernel, asked.power)
    mass, moment = np.zeros(x_query.size), np.zeros(x_query.size)
    shifted = np.concatenate([np.zeros(order), a])
    if is_even(a):
        parts = [(lo, hi, shifted)]
    else:
        middle = np.clip(np.searchsorted(x, x_query), lo, hi)
        right = np.concatenate([np.zeros(order), mirrored(a)])
        parts = [(lo, middle, shifted), (middle, hi, right)]
    for first, last, polynomial in parts:
        A, B = -(-first // LEAF), last // LEAF  # whole leaves
        whole = A < B
        _add_ends(tree, x_query, asked, first, np.where(whole, A * LEAF, last), (mass, moment), order)
        _add_ends(tree, x_query, asked, np.where(whole, B * LEAF, last), last, (mass, moment), order)
        _add_nodes(tree, x_query, h, polynomial, np.where(whole, A, 0), np.where(whole, B, 0), (mass, moment))
    if order == 0:
        np.maximum(mass, 0, out=mass)
    return Sums(np.zeros(x_query.size), mass, moment)


def inside(x: np.ndarray, x_query: np.ndarray, asked: Asked) -> tuple[np.ndarray, np.ndarray]:
    """Return the slice of samples with ``|u| < 1`` (or <= 1 for the uniform kernel), decided as the kernel does."""
    h, closed = asked.h, (asked.kernel.bump or (1, 0))[1] == 0
    lo = np.searchsorted(x, x_query - h, side="left")
    hi = np.searchsorted(x, x_query + h, side="right")
    # x_query - h is rounded, (x_query - x) / h is what counts: a run of equal x at an edge may belong to the other side
    before = _within(x, x_query, lo - 1, h=h, closed=closed)
    lo = np.where(before, np.searchsorted(x, x[np.maximum(lo - 1, 0)], side="left"), lo)
    after = _within(x, x_query, hi, h=h, closed=closed)
    hi = np.where(after, np.searchsorted(x, x[np.minimum(hi, x.size - 1)], side="right"), hi)
    outside = (lo < hi) & ~_within(x, x_query, lo, h=h, closed=closed)
    lo = np.where(outside, np.searchsorted(x, x[np.minimum(lo, x.size - 1)], side="right"), lo)
    outside = (lo < hi) & ~_within(x, x_query, hi - 1, h=h, closed=closed)
    hi = np.where(outside, np.searchsorted(x, x[np.maximum(hi - 1, 0)], side="left"), hi)
    return lo, np.maximum(lo, hi)


def inside_of_samples(x: np.ndarray, asked: Asked) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for the samples themselves as queries, decided once per pair: i is near j as j is near i."""
    h, closed = asked.h, (asked.kernel.bump or (1, 0))[1] == 0
    lo = np.searchsorted(x, x - h, side="left")
    for wrong in (
        np.flatnonzero(_within(x, x, lo - 1, h=h, closed=closed)),
        np.flatnonzero(~_within(x, x, lo, h=h, closed=closed)),
    ):
        if wrong.size:
            lo[wrong], _ = inside(x, x[wrong], asked)
    return lo, np.cumsum(np.bincount(lo, minlength=x.size))


def _within(x: np.ndarray, x_query: np.ndarray, place: np.ndarray, *, h: float, closed: bool) -> np.ndarray:
    exists = (place >= 0) & (place < x.size)
    u = np.abs(x_query - x[np.clip(place, 0, x.size - 1)]) / h
    return np.asarray(exists & ((u <= 1) if closed else (u < 1)))


def _add_ends(
    tree: Tree,
    x_query: np.ndarray,
    asked: Asked,
    first: np.ndarray,
    last: np.ndarray,
    sums: tuple[np.ndarray, np.ndarray],
    order: int,
) -> None:
    """Add the samples from first to last, less than two leaves each, pair by pair."""
    width = int((last - first).max(initial=0))
    if width == 0:
        return
    places = first[:, None] + np.arange(width)[None, :]  # (n_query, width)
    held = places < last[:, None]
    np.minimum(places, tree.ordered.n - 1, out=places)
    u = (x_query[:, None] - tree.ordered.x[places]) / asked.h
    K = bump(u.copy(), asked.kernel)
    K = np.where(held, K * K if asked.power == 2 else K, 0.0)
    for _ in range(order):
        K *= u
    sums[0][...] += K.sum(axis=1)
    sums[1][...] += np.sum(K * tree.ordered.y[places], axis=1)


def _add_nodes(
    tree: Tree,
    x_query: np.ndarray,
    h: float,
    polynomial: np.ndarray,
    A: np.ndarray,
    B: np.ndarray,
    sums: tuple[np.ndarray, np.ndarray],
) -> None:
    """Add the whole leaves A to B, at most two nodes per level."""
    queries, centres, ones, responses = [], [], [], []
    need, need_y = polynomial.size, min(polynomial.size, tree.levels[0].responses.shape[0])
    for level in tree.levels:
        odd_A, odd_B = (A < B) & (A % 2 == 1), None
        for taken, nodes in ((odd_A, A), (odd_B, B)):
            if taken is None:
                A = A + odd_A
                taken = (A < B) & (B % 2 == 1)
                B = B - taken
                nodes = B
            rows = np.flatnonzero(taken)
            chosen = nodes[rows]
            queries.append(rows)
            centres.append(level.centre[chosen])
            ones.append(level.ones[:need, chosen])
            responses.append(level.responses[:need_y, chosen])
        A, B = A // 2, B // 2
        if not np.any(A < B):
            break
    rows = np.concatenate(queries)
    if not rows.size:
        return
    t = (x_query[rows] - np.concatenate(centres)) / h
    units = (tree.unit / h) ** np.arange(need)[:, None]
    m = np.concatenate(ones, axis=1) * units
    sums[0][...] += np.bincount(rows, moment_sum(polynomial, t, m), minlength=x_query.size)
    if need_y == need:  # K^2 has no use for the responses
        m = np.concatenate(responses, axis=1) * units
        sums[1][...] += np.bincount(rows, moment_sum(polynomial, t, m), minlength=x_query.size)
