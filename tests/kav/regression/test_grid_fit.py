"""The Gaussian fit of samples that are asked once, against every pair."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kav.errors import KavError
from kav.regression import grid_fit, masses
from kav.regression.fit import fit, fit_every_pair, observe
from kav.regression.grid_fit import fit_on_grid, fit_once


@pytest.mark.parametrize("n", [2, 50, 3000, 30_000])
@pytest.mark.parametrize("h", [1e-3, 0.02, 0.5, 100.0])
def test_fit_on_a_grid_is_that_of_every_pair(make_set, data, n, h):
    if n == 30_000 and (data != "lognormal" or h == 1e-3):
        n = 4000
    x, y = make_set("gap" if data == "far" else data, n)  # far from 0 the places themselves are rounded
    h *= np.ptp(x) if np.ptp(x) else 1
    places, f = fit_on_grid(x, y, h, 101)
    np.testing.assert_allclose(places, np.linspace(x.min(), x.max(), 101))
    expected = fit_every_pair(observe(x, y, h, "gaussian"), places)
    assert np.max(np.abs(f - expected)) <= 1e-6 * max(1.0, np.max(np.abs(y - y.mean())))


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e-12, 1e12, 1e30, 1e305, 1e308])
def test_the_size_of_the_responses_does_not_matter(size):
    # Counts and sums of responses are the two parts of one transform: of responses near 1e-12 or 1e12 the smaller part
    # was left with half of its digits, of those near 1e-30 or 1e30 with none, and near 1e305 nothing was a number.
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.random(700)), rng.uniform(-1, 1, 700)
    q = np.linspace(-0.1, 1.1, 200)
    np.testing.assert_allclose(fit_on_grid(x, size * y, 0.05)[1] / size, fit_on_grid(x, y, 0.05)[1], atol=1e-9)
    np.testing.assert_allclose(fit(x, size * y, q, 0.05) / size, fit_once(x, y, q, 0.05), atol=1e-8)


@pytest.mark.parametrize("n", [700, 22_000])
@pytest.mark.parametrize("heaps", [(0.0, 0.07), (0.0, 0.031, 0.5), (0.0, 0.2, 0.21)])
def test_heaps_of_equal_x_seen_from_afar_keep_their_shares(heaps, n):
    """Nothing averages out there: every sample of a heap stands at the same place of its cell."""
    x = np.repeat([*heaps, 2.0], [n] * len(heaps) + [1])
    y = np.repeat([*np.arange(len(heaps), dtype=float) * 3, 1.0], [n] * len(heaps) + [1])
    for h in (0.11, 0.2, 0.5):
        places, f = fit_on_grid(x, y, h, 1000)
        log_K = np.log([n] * len(heaps) + [1]) - 0.5 * ((places[:, None] - np.asarray([*heaps, 2.0])) / h) ** 2
        K = np.exp(log_K - log_K.max(axis=1, keepdims=True))  # (n_places, n_heaps + 1)
        expected = K @ np.asarray([*np.arange(len(heaps), dtype=float) * 3, 1.0]) / K.sum(axis=1)
        assert np.max(np.abs(f - expected)) <= 1e-6 * np.max(np.abs(y - y.mean()))


@pytest.mark.parametrize("n", [3_000, 200_000])
def test_many_samples_are_fitted_as_exactly_as_few(n):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, n)).round(3)  # ties
    y = np.sin(x) + 0.3 * rng.standard_normal(n)
    places, f = fit_on_grid(x, y, 2.0, 50)
    once = fit_once(x, y, places, 2.0)
    expected = fit_every_pair(observe(x, y, 2.0, "gaussian"), places)
    assert max(np.max(np.abs(f - expected)), np.max(np.abs(once - expected))) <= 1e-7 * np.max(np.abs(y))


def _of_heaps(px, w, py, q, h):
    log_K = np.log(w) - 0.5 * ((q[:, None] - px) / h) ** 2  # (n_places, n_heaps)
    K = np.exp(log_K - log_K.max(axis=1, keepdims=True))
    return K @ py / K.sum(axis=1)


@pytest.mark.parametrize("uneven", [0.0, math.inf])
@pytest.mark.parametrize("seed", range(60))
def test_nearly_empty_places_between_heaps_are_as_exact_as_full_ones(seed, uneven, monkeypatch):
    """A cell's error grows with the distance: halfway between heaps of opposite response it was 2e-5."""
    monkeypatch.setattr(grid_fit, "_UNEVEN", uneven)  # fine cells at once, or only where little is
    rng = np.random.default_rng(seed)
    span, n_grid = float(rng.choice([12, 30, 60, 120, 300])), int(rng.integers(50, 1200))
    px = np.sort(np.concatenate([[0, span], rng.uniform(0, span, rng.integers(2, 30))]))
    w = np.round(10 ** rng.uniform(0, rng.choice([0.0, 2.0, 4.0]), px.size)).astype(int)
    py = np.concatenate([[1.0], rng.choice([-1.0, 1.0], px.size - 2), [-1.0]])
    x, y = np.repeat(px, w), np.repeat(py, w)
    most = 1e-6 * np.max(np.abs(y - y.mean()))
    places, f = fit_on_grid(x, y, 1.0, n_grid)
    assert np.max(np.abs(f - _of_heaps(px, w, py, places, 1.0))) <= most
    q = rng.uniform(-0.2 * span, 1.2 * span, 300)
    assert np.max(np.abs(fit_once(x, y, q, 1.0) - _of_heaps(px, w, py, q, 1.0))) <= most


@pytest.mark.parametrize("away", [2.5, 3.5, 4.5, 5.5])
def test_places_that_see_a_heap_only_from_afar_are_exact(away):
    """What is most of all mass was taken from the places asked for, none of which stood at the heap."""
    px, w, py = np.asarray([0, 5 - away, 5 + away, 10.0]), np.asarray([1, 3000, 2900, 1]), np.asarray([1, 1, -1, 1.0])
    x, y = np.repeat(px, w), np.repeat(py, w)
    places, f = fit_on_grid(x, y, 1.0, 3)
    assert np.max(np.abs(f - _of_heaps(px, w, py, places, 1.0))) <= 1e-6
    q = np.linspace(4.9, 5.1, 50)
    assert np.max(np.abs(fit_once(x, y, q, 1.0) - _of_heaps(px, w, py, q, 1.0))) <= 1e-6


def test_a_sample_at_the_edge_of_the_last_cell_stays_where_it_is():
    """The last x is 3217.5 cells from the first: rounded once down and once up, it was put in the cell before."""
    px, w, py = np.asarray([0, 299, 300.0]), np.ones(3), np.asarray([1, 1, -1.0])
    places, f = fit_on_grid(px, py, 1.0, 716)
    assert np.max(np.abs(f - _of_heaps(px, w, py, places, 1.0))) <= 1e-6


def test_both_ways_to_take_moments_give_the_same(make_set, data, monkeypatch):
    x, y = make_set(data, 20_000)
    order = np.argsort(x)
    x, y = x[order] - x[order[0]], y[order]  # far from 0 the centres themselves are rounded
    width, n_cells = float(np.ptp(x)) / 499, 500
    found = []
    for per_cell in (0, math.inf):
        monkeypatch.setattr(masses, "_PER_CELL", per_cell)
        found.append(masses.cell_moments(x, y, low=0.0, width=width, n_cells=n_cells))
    same = found[0][0, 0] == found[1][0, 0]  # a sample at the edge of a cell may be in either
    assert same.mean() > 0.9
    size = np.max(np.abs(y))
    np.testing.assert_allclose(found[0][0][:, same], found[1][0][:, same], atol=1e-7 * x.size)
    np.testing.assert_allclose(found[0][1][:, same], found[1][1][:, same], atol=1e-7 * x.size * size)
    s = (x - width * np.rint(x / width)) / width
    expected = [[np.sum(v * s**j) for j in range(4)] for v in (np.ones(x.size), y)]
    np.testing.assert_allclose(found[1].sum(axis=-1), expected, atol=1e-8 * x.size * size)


def test_moments_of_cells_far_apart_keep_their_digits(monkeypatch):
    """Taken from the first cell of a block, third powers of 200,000 cells were off by more than the cell's own."""
    rng = np.random.default_rng(2)
    x = np.sort(np.concatenate([rng.uniform(0, 40, 3000), rng.uniform(199_900, 200_000, 3000)]))
    y, found = np.sin(x), []
    for per_cell in (0, math.inf):
        monkeypatch.setattr(masses, "_PER_CELL", per_cell)
        found.append(masses.cell_moments(x, y, low=0.0, width=1.0, n_cells=200_001))
    np.testing.assert_allclose(*found, atol=1e-4)
    for start in (0, 199_900):
        np.testing.assert_allclose(*(M[..., start : start + 40] for M in found), atol=1e-5)


@pytest.mark.parametrize("scale", [1e-290, 1.0, 1e290])
def test_moments_have_no_scale(scale):
    x, y = np.linspace(0, 1, 400) ** 2, np.arange(400.0)
    plain = masses.cell_moments(x, y, low=0.0, width=0.1, n_cells=11)
    for per_cell_less in (1, 40):
        found = masses.cell_moments(
            x[::per_cell_less] * scale, y[::per_cell_less], low=0.0, width=0.1 * scale, n_cells=11
        )
        expected = (
            plain if per_cell_less == 1 else masses.cell_moments(x[::40], y[::40], low=0.0, width=0.1, n_cells=11)
        )
        np.testing.assert_allclose(found, expected, atol=1e-9 * y.sum())


def test_the_seven_masses_have_the_moments_of_their_cell():
    """The fourth and the fifth are the Chebyshev-economised ones: least largest error on the cell."""
    V = np.vander(np.arange(-3.0, 4.0), 7, increasing=True).T  # (7 moments, 7 masses)
    s = np.linspace(-0.5, 0.5, 1001)
    made = V @ masses.MASSES @ [s**0, s, s**2, s**3]
    np.testing.assert_allclose(made[:4], [s**0, s, s**2, s**3], atol=1e-14)
    for j, away in ((4, 1 / 128), (5, 1 / 512), (6, 7 / 2048)):
        assert np.max(np.abs(made[j] - s**j)) == pytest.approx(away)
    chebyshev = np.polynomial.chebyshev
    np.testing.assert_allclose(
        made[4], chebyshev.chebval(2 * s, chebyshev.poly2cheb([0] * 4 + [1 / 16])[:4]), atol=1e-14
    )
    np.testing.assert_allclose(
        made[5], chebyshev.chebval(2 * s, chebyshev.poly2cheb([0] * 5 + [1 / 32])[:5]), atol=1e-14
    )


@pytest.fixture
def grouped(monkeypatch):
    """Calls in which neighbours were taken together; asked of fewer samples than is worth it."""
    calls = []
    plain = masses._groups
    monkeypatch.setattr(masses, "_MANY", 1 << 15)
    monkeypatch.setattr(grid_fit, "_UNEVEN", math.inf)
    monkeypatch.setattr(masses, "_groups", lambda *a: calls.append(plain(*a)) or calls[-1])
    return calls


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e12])
@pytest.mark.parametrize("level", [0.0, 1e3, 1e12])
def test_dense_neighbours_taken_together_change_nothing(grouped, scale, offset, level):
    rng = np.random.default_rng(3)
    x = np.sort(np.concatenate([rng.uniform(0, 1, 60_001), rng.uniform(-1, 2, 700)]))
    y = np.sign(np.sin(800 * x)) + (1 - 2 * (np.arange(x.size) % 2))  # as much of it within a group as between them
    x, y = x * scale + offset * scale, y + level
    _places, f = fit_on_grid(x, y, 0.3 * scale, 101)
    assert bool(grouped) == ((scale, offset, level) != (1, 1e3, 1e3))  # there x y would lose digits
    x, y = x - x[0], y - level  # nothing is rounded
    expected = fit_every_pair(observe(x, y, 0.3 * scale, "gaussian"), np.linspace(0, x[-1], 101))
    assert np.max(np.abs(f - level - expected)) <= (1e-6 if level < 1e12 else 2e-4) * np.max(np.abs(y - y.mean()))


def test_wide_groups_and_the_last_samples_are_taken_one_by_one(grouped):
    rng = np.random.default_rng(4)
    x = np.sort(np.concatenate([rng.uniform(0, 1, 50_000), rng.uniform(1, 10, 3_007)]))
    y = np.where(x > 1, np.sin(5 * x), 1 - 2 * (np.arange(x.size) % 2))
    places, f = fit_on_grid(x, y, 0.5, 201)
    place, total, first, wide = grouped[0]
    assert place.size == x.size // 16
    assert 3_000 / 16 - 1 <= wide.size < 4_000 / 16
    loose = np.append(16 * wide[:, None] + np.arange(16), np.arange(16 * place.size, x.size))
    np.testing.assert_allclose(total.sum() + y[loose].sum(), y.sum())
    np.testing.assert_allclose(first.sum() + place @ total + x[loose] @ y[loose], x @ y)
    expected = fit_every_pair(observe(x, y, 0.5, "gaussian"), places)
    assert np.max(np.abs(f - expected)) <= 1e-6 * np.max(np.abs(y - y.mean()))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", [0, 777, 33_333, -1])
@pytest.mark.parametrize("n", [1_000, 34_000])
def test_what_is_no_number_is_noticed_on_every_path(grouped, bad, where, n):
    where = min(where, n - 1)
    for column in (0, 1):
        samples = [np.linspace(0, 1, n), np.linspace(-1, 1, n)]
        samples[column][where] = bad
        for h in (0.4, 1e-3, 1e-9):
            with pytest.raises(KavError):
                fit_on_grid(*samples, h, 50)


@pytest.mark.parametrize("h", [0.3, 1.0, 4.0, 1e3, 1e8, 1e150, 1e300])
def test_very_wide_bandwidths_end_in_the_mean(make_set, data, h):
    x, y = make_set("gap" if data == "far" else data, 3_000)
    h *= np.ptp(x)
    places, f = fit_on_grid(x, y, h, 101)
    expected = fit_every_pair(observe(x, y, h, "gaussian"), places)
    assert np.max(np.abs(f - expected)) <= 1e-6 * np.max(np.abs(y - y.mean()))


@pytest.mark.parametrize("h", [1e-3, 0.02, 0.5, 100.0])
def test_one_fit_at_any_place_is_that_of_every_pair(make_set, data, h):
    x, y = make_set(data, 4000)
    span = np.ptp(x)
    q = np.random.default_rng(0).uniform(x.min() - span, x.max() + span, 200)
    found = fit_once(x, y, q, h * span)
    expected = fit_every_pair(observe(x, y, h * span, "gaussian"), q)
    assert np.max(np.abs(found - expected)) <= 1e-6 * np.max(np.abs(y - y.mean()))


def test_bandwidth_too_fine_for_a_grid_is_left_to_others(make_set):
    assert fit_once(*make_set("uniform", 100), np.zeros(3), 1e-9) is None


def test_what_is_no_grid_is_refused():
    assert fit_on_grid([2.0, 2.0], [1.0, 3.0], 1.0, 3)[1].tolist() == [2, 2, 2]
    for x, h, n_grid in (([], 1.0, 5), ([1.0, 2.0], 1.0, 1), ([1.0, 2.0], -1.0, 5), ([1.0, math.inf], 1.0, 5)):
        with pytest.raises(KavError):
            fit_on_grid(x, x, h, n_grid)
