"""Cosines of rows, dense or sparse."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import Indices, Reals

# The rounding errors of a product of single precision, for each of its terms and a few more.
_SINGLE, _EXTRA_TERMS = 1.01 * 2.0**-24, 8


def single_precision_error(n_terms: int) -> float:
    """Return the rounding error of a product of unit vectors in single precision."""
    return _SINGLE * (n_terms + _EXTRA_TERMS)


class UnitVectors:
    """Vectors of users or items, dense or sparse, and their lengths; a zero row is near none."""

    def __init__(self, vectors: Any) -> None:
        self.is_sparse = sparse.issparse(vectors)
        if self.is_sparse:
            squares = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
        else:
            squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
        lengths = np.sqrt(squares)
        scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        if self.is_sparse:
            self.rows = sparse.csr_array(sparse.diags_array(scale) @ vectors)
            self.columns = self.rows.T.tocsr()
        else:
            self.rows = vectors
            self.scale = scale
            self.single = (vectors * scale[:, None]).astype(np.float32)

    def cosines(self, indices: Indices) -> Reals:
        """Return the cosines of some rows with all."""
        if self.is_sparse:
            return np.asarray((self.rows[indices] @ self.columns).toarray())
        products = self.rows[indices] @ self.rows.T
        return np.asarray(products * self.scale[indices, None] * self.scale)

    def approximate_cosines(self, indices: Indices) -> tuple[NDArray[Any], Reals | None]:
        """Return about the cosines of some rows with all, and bounds of their errors."""
        if self.is_sparse:
            return self.cosines(indices), None
        errors = np.full(len(indices), single_precision_error(self.rows.shape[1]))
        return self.single[indices] @ self.single.T, errors

    def pair_cosines(self, rows: Indices, others: Indices) -> Reals:
        """Return the cosines of pairs of rows of dense vectors."""
        products = np.einsum("ij,ij->i", self.rows[rows], self.rows[others], dtype=np.float64)
        return np.asarray(products * (self.scale[rows] * self.scale[others]))
