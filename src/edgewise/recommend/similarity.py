"""Cosines of rows, dense or sparse, with what they need made once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import Indices, Reals

# The rounding errors of a product of single precision, for each of its terms and a few more.
SINGLE = 1.01 * 2.0**-24
SLACK = 8


class Directions:
    """Vectors of users or items, dense or sparse, and their lengths; a zero row is near none."""

    def __init__(self, vectors: Any) -> None:
        self.sparse = sparse.issparse(vectors)
        if self.sparse:
            squares = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
        else:
            squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
        self.lengths = np.sqrt(squares)
        scale = np.divide(
            1.0, self.lengths, out=np.zeros_like(self.lengths), where=self.lengths > 0
        )
        if self.sparse:
            self.rows = sparse.csr_array(sparse.diags_array(scale) @ vectors)
            self.columns = self.rows.T.tocsr()
        else:
            self.rows = vectors
            self.scale = scale
            self.single = (vectors * scale[:, None]).astype(np.float32)

    def cosines(self, places: Indices) -> Reals:
        """Return the cosines of some rows with all."""
        if self.sparse:
            return np.asarray((self.rows[places] @ self.columns).toarray())
        products = self.rows[places] @ self.rows.T
        return np.asarray(products * self.scale[places, None] * self.scale)

    def near(self, places: Indices) -> tuple[NDArray[Any], Reals | None]:
        """Return about the cosines of some rows with all, and by how much they may be wrong."""
        if self.sparse:
            return self.cosines(places), None
        errors = np.full(len(places), SINGLE * (self.rows.shape[1] + SLACK))
        return self.single[places] @ self.single.T, errors

    def pairs(self, ones: Indices, others: Indices) -> Reals:
        """Return the cosines of pairs of rows of dense vectors."""
        products = np.einsum("ij,ij->i", self.rows[ones], self.rows[others], dtype=np.float64)
        return np.asarray(products * (self.scale[ones] * self.scale[others]))
