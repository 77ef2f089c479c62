"""Small computations on ratings that several recommenders share."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import Indices, Reals
from edgewise.ratings import Grouped, Ratings

# Tables are computed in blocks of at most this many numbers, which bounds the memory.
_BLOCK = 1 << 20

# The rounding errors of a product of single precision, for each of its terms and a few more.
_SINGLE, _EXTRA_TERMS = 1.01 * 2.0**-24, 8


def iter_blocks(n_rows: int, width: int, size: int | None = None) -> Iterator[slice]:
    """Yield slices of rows of `width` numbers each, with at most `size` numbers or one row."""
    step = max(1, (size or _BLOCK) // max(1, width))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def weights_of(ratings: Any) -> Reals:
    """Return the weights of ratings; 1 for each if they have none."""
    return np.ones(len(ratings.values)) if ratings.weights is None else ratings.weights


def optional_weights(ratings: Any) -> Reals:
    """Return the weights of ratings as kernels take them: an empty array if they have none."""
    return np.zeros(0) if ratings.weights is None else ratings.weights


def relative_weights(entries: Ratings | Grouped, ratings: Ratings, n_trained: int) -> Reals:
    """Return the weights of entries over the mean weight of the ratings by the first users."""
    if entries.weights is None or ratings.weights is None:
        return np.ones(len(entries.values))
    return np.asarray(entries.weights / ratings.weights[ratings.users < n_trained].mean())


def view_means(errors: Reals, view: Grouped, damping: float) -> Reals:
    """Return the :func:`damped_means` of errors in the order of a view, by its rows."""
    return damped_means(errors, view.row_numbers, view.weights, view.mass, damping)


def damped_means(
    errors: Reals, rows: NDArray, weights: Reals | None, mass: Reals, damping: float
) -> Reals:
    """Return the mean error of each row with `damping` errors of 0 added; 0 for an empty row."""
    sums = np.bincount(rows, errors if weights is None else errors * weights, len(mass))
    return np.divide(sums, mass + damping, out=np.zeros(len(mass)), where=mass > 0)


def center_ratings(matrix: Any, mean: float) -> Any:
    """Return a sparse matrix minus `mean`; unchanged if all are equal, as in implicit feedback."""
    if len(matrix.data) == 0 or (matrix.data == matrix.data[0]).all():
        return matrix
    return sparse.csr_array((matrix.data - mean, matrix.indices, matrix.indptr), matrix.shape)


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
