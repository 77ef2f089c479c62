"""Truncated singular value decomposition of the filled rating matrix (Shi 2025)."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from edgewise.common.checks import integer, not_negative, one_of
from edgewise.common.dtypes import Indices, Reals
from edgewise.ratings import Grouped, Ratings
from edgewise.recommend.factorization.base import BiasedFactorModel
from edgewise.recommend.parameters import parameter

FILLS = ("bias", "mean", "zero")
_BIAS_EPOCHS = 15

# A matrix of up to this many entries may be decomposed as a dense array.
_DENSE_ENTRIES = 1 << 22


@dataclass(eq=False, repr=False)
class SVDRecommender(BiasedFactorModel):
    """Truncated SVD of the rating matrix with its gaps filled (Shi 2025).

    Missing ratings get a fill value, the fill is subtracted from the whole matrix, and the k
    largest singular values of the remainder, with their vectors, are the factors: the nearest
    matrix of rank k. All entries count alike: weights of ratings enter only the mean and the
    biases.

    Fitted: `user_factors_`, the left singular vectors times `singular_values_` (descending);
    `item_factors_`, the right ones, whose entries of largest size are positive; `user_biases_` and
    `item_biases_` (0 unless `fill` is "bias"), and `intercept_`, the mean (0 if `fill` is "zero").

    Parameters
    ----------
    n_factors : int, default 10
        Number of singular values k, capped at the number of users and of items.
    fill : {"bias", "mean", "zero"}, default "bias"
        The fill value: the mean plus the biases of user and item, as in
        :class:`~edgewise.recommend.BiasBaseline`, the mean of all ratings, or 0.
    user_damping, item_damping : float, default 5.0 and 2.5
        The damping of the biases.

    Examples
    --------
    >>> from edgewise import Ratings, SVDRecommender
    >>> ratings = Ratings.from_matrix([[2.0, 4.0], [3.0, 6.0]])
    >>> model = SVDRecommender(n_factors=1, fill="zero").fit(ratings)
    >>> (model.user_factors_ @ model.item_factors_.T).round(6)
    array([[2., 4.],
           [3., 6.]])
    """

    stored: ClassVar = {"singular_values_": "k"}

    n_factors: int = parameter(10, integer, 1)
    _: KW_ONLY
    fill: str = parameter("bias", one_of, FILLS)
    user_damping: float = parameter(5.0, not_negative)
    item_damping: float = parameter(2.5, not_negative)

    def _fit(self, ratings: Ratings) -> None:
        self.intercept_ = 0.0 if self.fill == "zero" else ratings.mean
        n_epochs = _BIAS_EPOCHS if self.fill == "bias" else 0
        self._fit_biases(ratings, self.user_damping, self.item_damping, n_epochs)
        matrix = self._left(ratings.by_user, self.user_biases_)
        self.singular_values_, self.item_factors_ = _leading(matrix, self.n_factors)
        self.user_factors_ = matrix @ self.item_factors_

    def _left(self, side: Grouped, user_biases: Reals) -> Any:
        """Return the ratings less the fill as a sparse matrix, 0 in the gaps."""
        expected = self.intercept_ + self.item_biases_[side.others]
        expected += np.repeat(user_biases, side.sizes)
        shape = (len(side.starts) - 1, len(self.item_biases_))
        return sparse.csr_array((side.values - expected, side.others, side.starts), shape=shape)

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        damping = self.user_damping if self.fill == "bias" else None
        biases = self._add_biases(ratings, users, damping)
        left = self._left(ratings.by_user.last(len(users)), biases)
        self._add_users(left @ self.item_factors_)

    def _vectors(self, side: str) -> Reals:
        # Scaled by singular values, so that the cosines of items are those of the fitted columns.
        return super()._vectors(side) * (1.0 if side == "users" else self.singular_values_)


def _leading(matrix: Any, n_factors: int) -> tuple[Reals, Reals]:
    """Return the largest singular values and their right vectors."""
    smaller = min(matrix.shape)
    k = min(n_factors, smaller)
    if not matrix.data.any():
        # Any orthogonal vectors will do; iteration would find no start.
        values, vectors = np.zeros(k), np.eye(k, matrix.shape[1])
    elif k == smaller or (smaller <= max(3 * k, 64) and np.prod(matrix.shape) <= _DENSE_ENTRIES):
        _, values, vectors = np.linalg.svd(matrix.toarray(), full_matrices=False)
    else:
        # A fixed start makes the iteration give the same bits every time.
        start = np.random.default_rng(0).normal(size=smaller)
        _, values, vectors = sparse.linalg.svds(matrix, k=k, v0=start)
    order = np.argsort(-values, kind="stable")[:k]
    values, right = values[order], vectors[order].T
    largest = np.argmax(np.abs(right), axis=0)
    signs = np.where(right[largest, np.arange(k)] < 0, -1.0, 1.0)
    return values, np.ascontiguousarray(right * signs)
