import numpy as np
import pytest

from kav.circuits.factored import Factored, positive_share, small_eigenvalues
from kav.errors import KavError


def factors(xp, shape=(13, 4, 13), seed=0):
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=shape[:2]), rng.normal(size=shape[1:])
    return Factored(xp.put(left), xp.put(right)), left @ right


def test_singular_values_and_vectors_are_those_of_the_dense_product(xp):
    product, dense = factors(xp, (13, 4, 9))
    U, S, Vh = product.svd()
    np.testing.assert_allclose(S, np.linalg.svd(dense, compute_uv=False)[:4], atol=1e-12)
    np.testing.assert_allclose(U * S @ Vh, dense, atol=1e-12)
    np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(Vh @ Vh.T, np.eye(4), atol=1e-12)


def test_svd_holds_when_the_rank_exceeds_the_sides(xp):
    product, dense = factors(xp, (5, 8, 6))
    U, S, Vh = product.svd()
    np.testing.assert_allclose(U * S @ Vh, dense, atol=1e-12)


def test_eigenvalues_are_the_nonzero_ones_of_the_dense_product(xp):
    product, dense = factors(xp)
    values = product.eigenvalues()
    expected = np.linalg.eigvals(dense)
    expected = expected[np.argsort(-np.abs(expected))][:4]
    np.testing.assert_allclose(np.sort_complex(values), np.sort_complex(expected), atol=1e-10)
    assert np.all(np.diff(np.abs(values)) <= 1e-12)


def test_matrix_and_norm_agree_with_the_dense_product(xp):
    product, dense = factors(xp, (13, 4, 9))
    np.testing.assert_allclose(product.matrix(), dense, atol=1e-12)
    assert product.norm() == pytest.approx(np.linalg.norm(dense))


def test_symmetric_share_is_that_of_the_dense_symmetric_part(xp):
    product, dense = factors(xp)
    expected = np.linalg.norm((dense + dense.T) / 2) ** 2 / np.linalg.norm(dense) ** 2
    assert product.symmetric_share() == pytest.approx(expected)


@pytest.mark.parametrize(("sign", "share"), [(1, 1.0), (-1, 0.0)])
def test_symmetric_share_is_one_for_symmetric_and_zero_for_antisymmetric(xp, sign, share):
    a, b = np.random.default_rng(1).normal(size=(2, 7))
    product = Factored(xp.put(np.stack([a, b], axis=1)), xp.put(np.stack([b, sign * a])))
    assert product.symmetric_share() == pytest.approx(share, abs=1e-12)


def test_zero_product_has_no_spectrum_and_no_nan(xp):
    product = Factored(xp.put(np.zeros((5, 2))), xp.put(np.zeros((2, 5))))
    assert product.symmetric_share() == 1.0
    assert not product.eigenvalues().any()
    assert not product.svd()[1].any()
    assert positive_share(product.eigenvalues()) == 0.0


def test_eigenvalues_of_a_stack_are_those_of_each_matrix(xp):
    stack = np.random.default_rng(2).normal(size=(3, 4, 4))
    together = small_eigenvalues(xp.put(stack))
    for matrix, values in zip(stack, together, strict=True):
        np.testing.assert_allclose(np.sort_complex(values), np.sort_complex(np.linalg.eigvals(matrix)), atol=1e-10)


def test_positive_share_weighs_real_parts_by_modulus():
    assert positive_share(np.array([3 + 0j, -1 + 0j])) == pytest.approx(0.5)
    assert positive_share(np.array([1j, -1j])) == pytest.approx(0.0)


def test_eigenvalues_of_a_product_that_is_not_square_are_refused(xp):
    product, _ = factors(xp, (5, 2, 6))
    with pytest.raises(KavError, match=r"square one, got shape \(5, 6\)"):
        product.eigenvalues()
    with pytest.raises(KavError, match="square"):
        product.symmetric_share()
