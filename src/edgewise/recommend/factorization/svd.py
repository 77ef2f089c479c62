"""Truncated singular value decomposition of the filled matrix (Shi 2025)."""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from edgewise.common.checks import not_negative, one_of
from edgewise.common.dtypes import Reals
from edgewise.ratings import Ratings
from edgewise.ratings.rows import Grouped
from edgewise.recommend.answers import Indices
from edgewise.recommend.base import Recommender
from edgewise.recommend.factorization.checks import check_common
from edgewise.recommend.factorization.entries import rows_from
from edgewise.recommend.factorization.objective import pair_products
from edgewise.recommend.factorization.offsets import new_offsets, offsets

FILLS = ("bias", "mean", "zero")
_BIAS_EPOCHS = 15

# A matrix of so many entries may be written out.
_DENSE_ENTRIES = 1 << 22


class SVDRecommender(Recommender):
    """The best product of factors for the matrix with its gaps filled (Shi 2025).

    What was not rated is given a value, the values are subtracted from the whole matrix, and the
    k largest singular values of what is left, with their vectors, are the factors: of all matrices
    of rank k the nearest. With nothing to fill and no regularisation this is also what matrix
    factorisation finds (the theorem of Shi 2025).

    Parameters
    ----------
    n_factors : int, default 10
        Number of singular values k; at most as many as there are users and items.
    fill : {"bias", "mean", "zero"}, default "bias"
        What stands in the gaps: the mean with the offsets of user and item, as in
        :class:`~edgewise.recommend.BiasBaseline`, the mean of all ratings, or 0.
    user_damping, item_damping : float, default 5.0 and 2.5
        The damping of the offsets.

    Attributes
    ----------
    user_factors_ : array of shape (users, k)
        U: left singular vectors times singular values.
    item_factors_ : array of shape (items, k)
        V: right singular vectors, of length 1 and orthogonal; the largest entry of each by size is
        positive.
    singular_values_ : array of shape (k,)
        In descending order.
    user_biases_, item_biases_ : arrays of shape (users,) and (items,)
        The offsets; 0 unless `fill` is "bias".
    intercept_ : float
        The mean; 0 if `fill` is "zero".

    Notes
    -----
    All entries count alike: weights of ratings matter for the mean and the offsets only. A new
    user is folded in by projection on the items' factors, which gives a user of the training
    ratings the factors that the user has.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import SVDRecommender
    >>> ratings = Ratings.from_matrix([[2.0, 4.0], [3.0, 6.0]])
    >>> model = SVDRecommender(n_factors=1, fill="zero").fit(ratings)
    >>> (model.user_factors_ @ model.item_factors_.T).round(6)
    array([[2., 4.],
           [3., 6.]])
    """

    predicts: ClassVar[str] = "rating"
    stored: ClassVar = {
        "user_factors_": "users k",
        "item_factors_": "items k",
        "singular_values_": "k",
        "user_biases_": "users",
        "item_biases_": "items",
    }

    user_factors_: Reals
    item_factors_: Reals
    singular_values_: Reals
    user_biases_: Reals
    item_biases_: Reals
    intercept_: float

    def __init__(
        self,
        n_factors: int = 10,
        fill: str = "bias",
        user_damping: float = 5.0,
        item_damping: float = 2.5,
    ) -> None:
        self.n_factors = n_factors
        self.fill = fill
        self.user_damping = user_damping
        self.item_damping = item_damping

    def _check_parameters(self) -> None:
        check_common(self)
        one_of("fill", self.fill, FILLS)
        not_negative("user_damping", self.user_damping)
        not_negative("item_damping", self.item_damping)

    def _fit(self, ratings: Ratings) -> None:
        self.intercept_ = 0.0 if self.fill == "zero" else ratings.mean
        self.user_biases_ = np.zeros(ratings.n_users)
        self.item_biases_ = np.zeros(ratings.n_items)
        if self.fill == "bias":
            self.user_biases_, self.item_biases_ = offsets(
                ratings, self.user_damping, self.item_damping, _BIAS_EPOCHS
            )
        matrix = self._left(ratings.by_user, self.user_biases_)
        self.singular_values_, self.item_factors_ = _leading(matrix, self.n_factors)
        self.user_factors_ = matrix @ self.item_factors_

    def _left(self, side: Grouped, user_biases: Reals) -> Any:
        """Return what is left of the ratings of users, as a sparse matrix: 0 in the gaps."""
        expected = self.intercept_ + self.item_biases_[side.others]
        expected += np.repeat(user_biases, side.sizes)
        shape = (len(side.starts) - 1, len(self.item_biases_))
        return sparse.csr_array((side.values - expected, side.others, side.starts), shape=shape)

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        products = pair_products(self.user_factors_, self.item_factors_, users, items)
        return self.intercept_ + self.user_biases_[users] + self.item_biases_[items] + products

    def _user_scores(self, users: Indices) -> Reals:
        scores = self.user_factors_[users] @ self.item_factors_.T
        scores += self.intercept_ + self.user_biases_[users, None] + self.item_biases_
        return scores

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        biases = np.zeros(len(users))
        if self.fill == "bias":
            biases = new_offsets(
                ratings, len(users), self.intercept_, self.item_biases_, self.user_damping
            )
        side = rows_from(ratings.by_user, ratings.n_users - len(users))
        factors = self._left(side, biases) @ self.item_factors_
        self.user_factors_ = np.vstack([self.user_factors_, factors])
        self.user_biases_ = np.concatenate([self.user_biases_, biases])

    def _item_vectors(self) -> Reals:
        # By their length in the matrix, so that cosines are those of the fitted columns.
        return self.item_factors_ * self.singular_values_

    def _user_vectors(self) -> Reals:
        return self.user_factors_


def _leading(matrix: Any, n_factors: int) -> tuple[Reals, Reals]:
    """Return the largest singular values and their right vectors."""
    smaller = min(matrix.shape)
    k = min(n_factors, smaller)
    if not matrix.data.any():
        # Any orthogonal vectors will do; iteration would look for a start in vain.
        values, vectors = np.zeros(k), np.eye(k, matrix.shape[1])
    elif k == smaller or (smaller <= max(3 * k, 64) and np.prod(matrix.shape) <= _DENSE_ENTRIES):
        _, values, vectors = np.linalg.svd(matrix.toarray(), full_matrices=False)
    else:
        # A start drawn once and for all makes the iteration give the same bits every time.
        start = np.random.default_rng(0).normal(size=smaller)
        _, values, vectors = sparse.linalg.svds(matrix, k=k, v0=start)
    order = np.argsort(-values, kind="stable")[:k]
    values, right = values[order], vectors[order].T
    largest = np.argmax(np.abs(right), axis=0)
    signs = np.where(right[largest, np.arange(k)] < 0, -1.0, 1.0)
    return values, np.ascontiguousarray(right * signs)
