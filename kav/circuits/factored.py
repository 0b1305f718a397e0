"""A product of two thin matrices, kept factored: what a head's W_QK and W_OV are.

``W_QK = W_Q @ W_K^T`` and ``W_OV = W_V @ W_O`` are d_model x d_model of rank d_head. Everything asked of them follows
from d_head x d_head products: singular values from the R factors of two thin QR decompositions, eigenvalues from
``right @ left``, norms from the Gram matrices.

Shapes: ``left (n_rows, rank)``, ``right (rank, n_columns)``; `Factored` lives where its factors live, and its results
are host arrays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kav.arrays import Array, namespace, to_host
from kav.errors import KavError


@dataclass(frozen=True, eq=False)
class Factored:
    """The matrix ``left @ right``.

    Parameters
    ----------
    left : array, shape (n_rows, rank)
    right : array, shape (rank, n_columns)
        On the device of `left`.
    """

    left: Array
    right: Array

    def matrix(self) -> np.ndarray:
        """Return the full product, shape (n_rows, n_columns)."""
        namespace(self.left, self.right)
        return to_host(self.left @ self.right)

    def svd(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the thin singular value decomposition ``U @ diag(S) @ Vh`` of the product.

        With ``left = Q_1 T_1`` and ``right^T = Q_2 T_2`` (QR) the core ``T_1 T_2^T`` is rank x rank, and its singular
        vectors, rotated by Q_1 and Q_2, are those of the product.

        Returns
        -------
        U : array, shape (n_rows, rank)
        S : array, shape (rank,)
            Descending.
        Vh : array, shape (rank, n_columns)

        References
        ----------
        Golub and Van Loan 2013, section 8.6 (the R-SVD).
        """
        xp = namespace(self.left, self.right)
        basis_left, core_left = xp.linalg.qr(self.left)  # (n_rows, rank), (rank, rank)
        basis_right, core_right = xp.linalg.qr(xp.matrix_transpose(self.right))  # (n_columns, rank), (rank, rank)
        turn_left, values, turn_right = xp.linalg.svd(core_left @ xp.matrix_transpose(core_right), full_matrices=False)
        vectors_right = turn_right @ xp.matrix_transpose(basis_right)  # (rank, n_columns)
        return to_host(basis_left @ turn_left), to_host(values), to_host(vectors_right)

    def eigenvalues(self) -> np.ndarray:
        """Return the eigenvalues of the square product that can differ from 0, largest modulus first.

        ``left @ right`` and the small ``right @ left`` have the same non-zero eigenvalues.

        Returns
        -------
        array of complex, shape (rank,)

        Raises
        ------
        KavError
            If the product is not square.

        References
        ----------
        Horn and Johnson 2013, theorem 1.3.22.
        """
        self._check_square("eigenvalues of")
        return small_eigenvalues(self.right @ self.left)

    def norm(self) -> float:
        """Return the Frobenius norm, ``sqrt(sum((left^T left) * (right right^T)))``."""
        xp = namespace(self.left, self.right)
        gram_left = xp.matrix_transpose(self.left) @ self.left  # (rank, rank)
        gram_right = self.right @ xp.matrix_transpose(self.right)  # (rank, rank)
        return math.sqrt(float(xp.sum(gram_left * gram_right)))

    def symmetric_share(self) -> float:
        """Return how much of the square product M is symmetric: ``||(M + M^T) / 2||^2 / ||M||^2``, in [0, 1].

        1 = symmetric (as a kernel on one space would be), 0 = antisymmetric, 1/2 = no preference. 1 for M = 0.

        Raises
        ------
        KavError
            If the product is not square.
        """
        self._check_square("symmetric share of")
        xp = namespace(self.left, self.right)
        inner = self.right @ self.left  # (rank, rank); <M, M^T> = trace(M M) = sum(inner * inner^T)
        overlap = float(xp.sum(inner * xp.matrix_transpose(inner)))
        square = self.norm() ** 2
        return min(1.0, max(0.0, 0.5 + 0.5 * overlap / square)) if square > 0 else 1.0

    def _check_square(self, what: str) -> None:
        shape = (self.left.shape[0], self.right.shape[-1])
        if shape[0] != shape[1]:
            raise KavError(f"{what} a product must be asked of a square one, got shape {shape}")


def small_eigenvalues(matrices: Array) -> np.ndarray:
    """Return the eigenvalues of small square matrices, largest modulus first, shape (..., rank), complex.

    Computed on the host in double precision: for rank x rank this is faster than a GPU, and CuPy has a general
    eigenvalue solver only with new CUDA libraries.
    """
    values = np.linalg.eigvals(to_host(matrices).astype(np.float64)).astype(np.complex128)
    return np.take_along_axis(values, np.argsort(-np.abs(values), axis=-1, kind="stable"), axis=-1)


def positive_share(eigenvalues: np.ndarray) -> np.ndarray:
    """Return ``sum Re(lambda) / sum |lambda|`` over the last axis, in [-1, 1]; 0 where all eigenvalues are 0.

    References
    ----------
    Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", summarizing OV/QK matrices.
    """
    modulus = np.sum(np.abs(eigenvalues), axis=-1)
    share: np.ndarray = np.sum(eigenvalues.real, axis=-1) / np.where(modulus > 0, modulus, 1.0)
    return share
