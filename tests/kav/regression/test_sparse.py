"""Cells amid very uneven samples: against every pair, and how little they cost where one sample is far out."""

import numpy as np
import pytest

from kav.regression import accounts as module
from kav.regression.accounts import accounts
from kav.regression.bandwidth import loo_score, select_bandwidth
from kav.regression.prepared import Prepared
from kav.regression.sparse import build_sparse, node_sums, nodes, sparse_sums, width_for
from kav.regression.window import direct_sums

N = 6_000
SETS = {
    "lognormal": lambda rng: rng.lognormal(0, 2, N),
    "one far out": lambda rng: np.append(rng.uniform(0, 10, N), 1e7),
    "two heaps": lambda rng: np.concatenate([rng.normal(0, 1e-3, N // 2), rng.normal(1e4, 1, N // 2)]),
    "cauchy": lambda rng: rng.standard_cauchy(N),
    "tied": lambda rng: np.append(rng.integers(0, 12, N) / 4.0, 1e6),
    "far from 0": lambda rng: 1e12 + np.append(np.round(rng.uniform(0, 1e3, N), 2), 1e8),
}


@pytest.fixture(params=list(SETS))
def uneven(request):
    rng = np.random.default_rng(3)
    x = SETS[request.param](rng)
    return Prepared.of(x, np.sin(x - x.min()) + 0.3 * rng.standard_normal(x.size))


def bandwidths(prepared):
    middle = np.diff(np.quantile(prepared.ordered.x, [0.25, 0.75]))[0]
    return [middle * share for share in (1.0, 0.1, 0.01)]


def test_sums_amid_the_samples_are_those_of_every_pair(uneven):
    x = uneven.ordered.x[::7]
    for h in bandwidths(uneven):
        asked = uneven.asked(h, "gaussian")
        cells = build_sparse(uneven.ordered, width_for(uneven.ordered, h))
        found, plain = sparse_sums(cells, x, asked), direct_sums(uneven.ordered, x, asked)
        mass = found.mass * np.exp(found.log_scale - plain.log_scale)
        np.testing.assert_allclose(mass, plain.mass, rtol=1e-8)
        np.testing.assert_allclose(found.mean(), plain.mean(), atol=1e-8)


def test_cells_hold_all_samples_and_their_moments(uneven):
    ordered = uneven.ordered
    cells = build_sparse(ordered, width_for(ordered, bandwidths(uneven)[1]))
    assert cells.M[0, 0].sum() == ordered.n
    assert cells.M[0, 0].min() >= 1
    assert (np.diff(cells.centre) > 0.5 * cells.width).all()
    cell = np.repeat(np.arange(cells.centre.size), np.diff(cells.starts))
    s = (ordered.x - cells.centre[cell]) / cells.width
    assert np.abs(s).max() <= 0.5 + 1e-3  # places near 1e12 have few digits
    for j in range(8):
        for which, weight in enumerate((1.0, ordered.y, ordered.y**2)):
            expected = np.bincount(cell, weights=s**j * weight)
            np.testing.assert_allclose(cells.M[which, j], expected, atol=1e-9 * max(1.0, np.abs(expected).max()))


def test_smooth_functions_are_summed_from_their_values_at_the_nodes(uneven):
    ordered = uneven.ordered
    cells = build_sparse(ordered, width_for(ordered, bandwidths(uneven)[0]))
    cell = np.repeat(np.arange(cells.centre.size), np.diff(cells.starts))
    s, at = (ordered.x - cells.centre[cell]) / cells.width, (nodes(cells) - cells.centre[:, None]) / cells.width
    ones, y, y_y = node_sums(cells)
    for power in range(5):
        assert np.sum(ones * at**power) == pytest.approx(np.sum(s**power), rel=1e-6, abs=1e-6 * ordered.n)
        assert np.sum(y * at**power) == pytest.approx(np.sum(ordered.y * s**power), rel=1e-6, abs=1e-6 * ordered.n)
        assert np.sum(y_y * at**power) == pytest.approx(np.sum(ordered.y**2 * s**power), rel=1e-6, abs=1e-6 * ordered.n)


@pytest.mark.parametrize("extras", ["none", "moved", "scaled"])
def test_accounts_of_uneven_samples_are_those_of_every_pair(uneven, extras, monkeypatch):
    prepared = uneven
    if extras != "none":
        sample = prepared.ordered.n // 2
        at = (
            float(prepared.ordered.x[sample]) + prepared.ordered.low,
            float(prepared.ordered.shown(prepared.ordered.y)[sample]),
        )
        number = int(prepared.ordered.samples(np.asarray([sample]))[0])
        moved = extras == "moved"
        prepared = (
            prepared.moved(number, at[0], at[1] + 9, was=at) if moved else prepared.dosed({number: -0.5}, {number: at})
        )
    for h in bandwidths(prepared):
        monkeypatch.setattr(module, "_FEW_NEIGHBOURS", 0)
        monkeypatch.setattr(module, "level_for", lambda *_: -1)
        found = accounts(prepared, h, "gaussian")
        monkeypatch.setattr(module, "_FEW_NEIGHBOURS", np.inf)
        plain = accounts(prepared, h, "gaussian")
        assert found.dof == pytest.approx(plain.dof, rel=3e-7)
        assert found.square == pytest.approx(plain.square, rel=3e-7)
        assert found.loo == pytest.approx(plain.loo, rel=3e-7)
        assert (found.n_fitted, found.n_left_out) == (plain.n_fitted, plain.n_left_out)


def test_fit_of_uneven_samples_is_that_of_every_pair():
    rng = np.random.default_rng(0)
    x = np.append(rng.uniform(0, 10, 60_000), 1e7)
    y = np.sin(x) + 0.3 * rng.standard_normal(x.size)
    prepared = Prepared.of(x, y)
    query = np.concatenate([np.linspace(-3, 13, 300), [20.0, 1e5, 1e7, 1e7 + 3]])[::-1]
    for h in (2.0, 0.4):
        order = np.argsort(query)
        plain = direct_sums(prepared.ordered, prepared.coordinate(query[order]), prepared.asked(h, "gaussian"))
        f, norm = prepared.curve(query, h)
        np.testing.assert_allclose(f[order], prepared.ordered.shown(plain.mean()), atol=1e-8)
        assert (norm > 0).all()
    assert any(key[0] == "sparse" for key in prepared.core._kept)


def test_one_sample_far_out_costs_no_pairs(monkeypatch):
    """Story: one outlier among 300,000 samples made every picture of the fit wait for minutes."""
    rng = np.random.default_rng(0)
    x = np.append(rng.uniform(0, 10, 60_000), 1e7)
    prepared, n_pairs = Prepared.of(x, np.sin(x)), []
    pairs = module.direct_sums
    monkeypatch.setattr(module, "direct_sums", lambda *a, **k: (n_pairs.append(a[1].size), pairs(*a, **k))[1])
    accounts(prepared, 0.45, "gaussian")
    assert sum(n_pairs) <= 1  # the one far out


def test_selected_bandwidth_is_not_that_of_the_range():
    """Story: cells of the whole range kept the search from bandwidths that the bulk of the samples asks for."""
    rng = np.random.default_rng(0)
    x = np.append(rng.uniform(0, 10, 5_000), 1e6)
    y = np.sin(x) + 0.3 * rng.standard_normal(x.size)
    h = select_bandwidth(x, y)
    assert loo_score(x, y, h) <= np.min(loo_score(x, y, np.geomspace(0.02, 2, 40))) * (1 + 1e-6)
