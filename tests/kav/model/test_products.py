"""One row by dot products: the same as the product, for every layout of the weights."""

import numpy as np
import pytest

from kav.model.products import by_output, product


def laid(W, how):
    return (
        np.ascontiguousarray(W)
        if how == "inputs"
        else np.swapaxes(np.ascontiguousarray(np.swapaxes(W, -1, -2)), -1, -2)
    )


@pytest.mark.parametrize("how", ["inputs", "outputs"])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize(("x_batch", "W_batch"), [((), ()), ((1,), ()), ((3,), ()), ((), (4,)), ((1,), (4,))], ids=str)
def test_product_is_the_sum_over_inputs(how, n, x_batch, W_batch):
    rng = np.random.default_rng(n)
    x, W = rng.normal(size=(*x_batch, n, 6)), laid(rng.normal(size=(*W_batch, 6, 7)), how)
    expected = np.einsum("...ni,...io->...no", x, W)
    found = product(x, W)
    assert found.shape == expected.shape
    assert np.allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("how", ["inputs", "outputs"])
def test_layout_is_told_from_memory(how):
    assert by_output(laid(np.ones((3, 4)), how)) == (how == "outputs")
    assert by_output(laid(np.ones((2, 3, 4)), how)) == (how == "outputs")
