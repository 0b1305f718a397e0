"""Products by other ways than one for each matrix: the same numbers, for every layout of the weights."""

import numpy as np
import pytest

from kav.model import products
from kav.model.products import by_group, by_head, by_output, product

LAYOUTS = ["inputs", "outputs"]


def laid(W, how):
    return (
        np.ascontiguousarray(W)
        if how == "inputs"
        else np.swapaxes(np.ascontiguousarray(np.swapaxes(W, -1, -2)), -1, -2)
    )


@pytest.mark.parametrize("how", LAYOUTS)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 129])
@pytest.mark.parametrize("batch", [(), (1,), (3,)], ids=str)
def test_product_is_the_sum_over_inputs(how, n, batch):
    rng = np.random.default_rng(n)
    x, W = rng.normal(size=(*batch, n, 6)), laid(rng.normal(size=(6, 7)), how)
    expected = np.einsum("...ni,io->...no", x, W)
    found = product(x, W)
    assert found.shape == expected.shape
    assert np.allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("n", [3, 70])
@pytest.mark.parametrize("n_outputs", [2, 7])
def test_outputs_are_shared_among_threads(monkeypatch, n, n_outputs):
    rng, shares = np.random.default_rng(0), []
    some = products._some_outputs
    monkeypatch.setattr(products, "WORTH", 1)
    monkeypatch.setattr(products, "WIDE", 1)
    monkeypatch.setattr(products, "n_workers", lambda: 3)
    monkeypatch.setattr(products, "_some_outputs", lambda *of: (shares.append(of[-1]), some(*of))[1])
    x, W = rng.normal(size=(2, n, 6)), laid(rng.normal(size=(6, n_outputs)), "outputs")
    assert np.allclose(product(x, W), np.einsum("bni,io->bno", x, W), rtol=1e-13, atol=1e-13)
    assert len(shares) == min(3, n_outputs)


@pytest.mark.parametrize("how", [*LAYOUTS, "apart"])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("batch", [(), (1,), (3,), (2, 3)], ids=str)
def test_heads_at_once_are_the_products_with_each_head(how, n, batch):
    rng = np.random.default_rng(n)
    x, W = rng.normal(size=(*batch, n, 6)), rng.normal(size=(4, 6, 7))
    W = laid(W, "outputs")[::2] if how == "apart" else laid(W, how)  # every other head: not one matrix
    expected = np.stack([x @ head for head in W], axis=-3)
    found = by_head(x, W)
    assert found.shape == expected.shape
    assert np.allclose(found, expected, rtol=1e-13, atol=1e-13)
    found += 1  # its own memory
    assert np.allclose(by_head(x, W), expected, rtol=1e-13, atol=1e-13)


def test_heads_at_once_work_on_every_device(xp):
    rng = np.random.default_rng(0)
    x, W = rng.normal(size=(2, 5, 6)), rng.normal(size=(3, 6, 4))
    found = by_head(xp.put(x), xp.put(W))
    np.testing.assert_allclose(xp.get(found), np.einsum("bni,hio->bhno", x, W), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
@pytest.mark.parametrize("n_groups", [1, 2, 6])
def test_heads_of_a_group_share_what_they_are_multiplied_with(xp, n, batch, n_groups):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=(*batch, 6, n, 5)), rng.normal(size=(*batch, n_groups, 5, 4))
    expected = x @ np.repeat(y, 6 // n_groups, axis=-3)
    np.testing.assert_allclose(xp.get(by_group(xp.put(x), xp.put(y))), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("how", LAYOUTS)
def test_layout_is_told_from_memory(how):
    assert by_output(laid(np.ones((3, 4)), how)) == (how == "outputs")
    assert by_output(laid(np.ones((2, 3, 4)), how)) == (how == "outputs")
