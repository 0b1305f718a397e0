"""The strongest entries of a table: against the whole table, where that can be had."""

import numpy as np
import pytest

from kav.circuits import strongest
from kav.circuits.qk_ov import ov_table
from kav.circuits.strongest import balanced, largest, strongest_pairs
from kav.errors import KavError
from tests.kav.model_factory import tiny_model


def expected(table, n):
    order = np.argsort(-table, axis=None, kind="stable")[:n]
    return table.reshape(-1)[order]


@pytest.fixture(params=[256, 8])
def blocks(request, monkeypatch):
    monkeypatch.setattr(strongest, "BLOCK", request.param)


@pytest.mark.parametrize("n", [1, 20, 10_000])
def test_pairs_are_the_largest_entries_of_the_whole_table(xp, blocks, n):
    model = tiny_model(xp, dtype="float64")
    table = ov_table(model, 1, 2, range(model.config.d_vocab))
    found = strongest_pairs(model, 1, 2, n)
    np.testing.assert_allclose(found.values, expected(table, n), atol=1e-12)
    np.testing.assert_allclose(table[found.sources, found.promoted], found.values, atol=1e-12)
    assert len(set(zip(found.sources.tolist(), found.promoted.tolist(), strict=True))) == len(found.values)


@pytest.mark.parametrize("kind", ["plain", "one direction", "negative", "zero rows", "zero", "equal", "float32"])
def test_largest_entries_of_any_table(blocks, kind):
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(150, 6)) * rng.gamma(1, size=(150, 1)), rng.normal(size=(6, 90))
    if kind == "one direction":
        right += 20 * rng.normal(size=(6, 1))
    elif kind == "negative":
        left, right = np.abs(left), -np.abs(right)
    elif kind == "zero rows":
        left[::2] = 0
        right[:, :80] = 0
    elif kind == "zero":
        left[:] = 0
    elif kind == "equal":
        left[:], right[:] = left[:1], right[:, :1]
    elif kind == "float32":
        left, right = left.astype(np.float32), right.astype(np.float32)
    table = left @ right
    found = largest(left, right, 25)
    np.testing.assert_allclose(found.values, expected(table, 25), rtol=1e-5, atol=1e-5 if kind == "float32" else 1e-12)
    np.testing.assert_allclose(table[found.sources, found.promoted], found.values, rtol=1e-5, atol=1e-5)


def test_balanced_factors_have_the_same_product_and_share_its_singular_values():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(50, 6)) * np.geomspace(1, 1e3, 6), rng.normal(size=(6, 40))
    left[:, 5] = left[:, 4]  # a direction less
    rows, columns = balanced(left, right)
    np.testing.assert_allclose(rows @ columns, left @ right, rtol=1e-8, atol=1e-8)
    values = np.linalg.svd(left @ right, compute_uv=False)[: rows.shape[1]]
    np.testing.assert_allclose(np.diag(rows.T @ rows), values, rtol=1e-8)
    np.testing.assert_allclose(np.diag(columns @ columns.T), values, rtol=1e-8)


def test_most_of_a_large_table_is_never_computed(monkeypatch):
    rng = np.random.default_rng(0)
    left = rng.normal(size=(4000, 16)).astype(np.float32) * rng.gamma(1, size=(4000, 1)).astype(np.float32)
    right = rng.normal(size=(16, 3000)).astype(np.float32) + 3 * rng.normal(size=(16, 1)).astype(np.float32)
    looked = []
    add = strongest._Found.add

    def noted(found, block, some):
        looked.append(block.size)
        add(found, block, some)

    monkeypatch.setattr(strongest._Found, "add", noted)
    found = largest(left, right, 20)
    np.testing.assert_allclose(found.values, expected(left @ right, 20), rtol=1e-5)
    assert sum(looked) < 0.1 * 4000 * 3000


@pytest.mark.parametrize("n", [0, -1, 10_001])
def test_how_many_is_checked(n):
    with pytest.raises(KavError, match=r"n must be in 1\.\.10000, got"):
        strongest_pairs(tiny_model(), 0, 0, n)
