"""Least squares of each item on all others: EASE, SLIM, and EASE after a round of factors."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from edgewise.common.checks import integer, not_negative, one_of, positive, up_to_one
from edgewise.common.dtypes import Indices, Reals
from edgewise.common.fields import Array
from edgewise.common.text import pluralize
from edgewise.model.explain import Contribution
from edgewise.ratings import Ratings
from edgewise.recommend.arrays import iter_blocks, weights_of
from edgewise.recommend.base import ExplainedRecommender, Recommender
from edgewise.recommend.factorization.implicit import ImplicitFactorization
from edgewise.recommend.kernels import load_kernels, map_spans
from edgewise.recommend.kernels.factorization import pair_products
from edgewise.recommend.model import NUMBER, Seeded, Threaded, Verbose, parameter

PRECISIONS = {"single": np.float32, "double": np.float64}

# The penalty is this times the root of the interactions per item: chosen on held-out interactions
# within the training parts of ml-100k and ml-1m, where 40 to 85 are best.
_PENALTY = 75.0

# The inverse, its transpose and the weights are in memory at the same time.
_N_ARRAYS = 3

# The penalty on absolute weights as a fraction of that on squares, and the latter as a fraction of
# the penalty of EASE: chosen on interactions held out within training parts of ml-100k and ml-1m.
_SPARSITY, _PENALTY_FRACTION = 0.004, 0.5

# Sweeps end when no weight changes by more than this.
_TOLERANCE = 1e-4

# Factors of the first round: the maximum, and the items per factor.
_MAX_FACTORS, _ITEMS_PER_FACTOR = 30, 40


@dataclass(eq=False, repr=False)
class EASE(ExplainedRecommender):
    r"""Least squares of each item on all others, for implicit feedback (Steck 2019).

    The score of an item is the sum of its weights for the user's items. With X the interactions, 1
    or 0, the weights B have the closed form::

        minimize |D (X - X B)|^2 + lambda |B|^2 so that B has no diagonal
        B_ij = -P_ij / P_jj, with P the inverse of X' D^2 X + lambda

    An interaction is a positive rating; its size does not matter, its weight does. A user with n
    interactions counts :math:`n^{-p}`, the squares of D. New users need no fit. Time grows with the
    cube of the items with interactions, memory with their square. Predictions are scores, not
    ratings.

    Fitted: `item_weights_`, B, in single precision, and the `penalty_` lambda in use.

    Parameters
    ----------
    regularization : float or None, default None
        The penalty lambda. None is 75 times the root of the interactions per item, times the mean
        weight of an interaction.
    user_power : float, default 0.5
        p: how much less each interaction of an active user counts; 0 is the paper's form.
    precision : {"double", "single"}, default "double"
        Of the inverse. "single" takes half the memory and time.
    max_items : int, default 20000
        The maximum number of items with interactions. A fit on more raises a MemoryError with the
        memory that it would take.

    Examples
    --------
    >>> from edgewise import EASE, Ratings
    >>> liked = Ratings.from_arrays([1, 1, 2, 2, 3, 3, 3], [7, 8, 7, 8, 7, 8, 9])
    >>> model = EASE(regularization=1.0).fit(liked)
    >>> model.fold_in({4: {7: 1}}).recommend(4).ids
    array([8, 9])
    >>> print(model.fold_in({4: {7: 1}}).explain(4, 8))
    8 for 4: 0.64
      +0.64  7
    """

    predicts = "score"
    stored: ClassVar = {"item_weights_": Array("items items", np.float32), "penalty_": NUMBER}

    regularization: float | None = parameter(None, positive)
    _: KW_ONLY
    user_power: float = parameter(0.5, not_negative)
    precision: str = parameter("double", one_of, tuple(PRECISIONS))
    max_items: int = parameter(20_000, integer, 1)

    def _fit(self, ratings: Ratings) -> None:
        self._regress(ratings)

    def _regress(self, ratings: Ratings, users: Reals | None = None, items: Any = None) -> None:
        """Regress the interactions, or their residuals from products of `users` and `items`."""
        matrix = interactions(ratings)
        counts = np.diff(matrix.indptr)
        known = np.unique(matrix.indices)
        dtype = np.dtype(PRECISIONS[self.precision])
        self._check_memory(len(known), dtype)
        sizes = np.maximum(counts, 1).astype(float) ** -self.user_power
        self.penalty_ = self._penalty(len(known), counts, sizes)
        self.item_weights_ = np.zeros((ratings.n_items, ratings.n_items), dtype=np.float32)
        if not len(known):
            return
        matrix, factors = matrix[:, known].astype(dtype), None
        if users is not None:
            sides = (matrix.T @ (users * sizes[:, None])).astype(dtype)
            factors = sides, items[known].astype(dtype)
        gram = _gram(matrix, sizes.astype(dtype))
        self.item_weights_[np.ix_(known, known)] = self._weights(gram, factors)

    def _weights(self, gram: NDArray[Any], factors: Any) -> NDArray[Any]:
        """Return the weights, given the products of items, whose array may be overwritten.

        `factors` are None, or the products of items with user factors, and the item factors.
        """
        inverse = _inverse(gram, self.penalty_)
        scales, products = -1.0 / np.diag(inverse), None
        if factors is not None:
            # The regression of the factors' products, with the same inverse.
            products = (inverse @ factors[0]) @ factors[1].T
            scales *= 1.0 - np.diag(products)
        inverse *= scales
        if products is not None:
            inverse -= products
        np.fill_diagonal(inverse, 0.0)
        return inverse

    def _penalty(self, n_items: int, counts: NDArray[Any], sizes: Reals) -> float:
        if self.regularization is not None:
            return float(self.regularization)
        total = max(1, int(counts.sum()))
        return float(_PENALTY * np.sqrt(total / max(1, n_items)) * (sizes @ counts) / total)

    def _check_memory(self, n_items: int, dtype: np.dtype) -> None:
        if n_items <= self.max_items:
            return
        gib = _N_ARRAYS * dtype.itemsize * float(n_items) ** 2 / 2**30
        raise MemoryError(
            f"{pluralize(n_items, 'items')} need about {gib:.0f} GiB: use ImplicitFactorization or "
            "ItemKNN(implicit=True), precision='single' for half the memory, or a larger "
            f"max_items than {self.max_items}"
        )

    def _interactions(self) -> Any:
        return self._build_once("interactions", lambda: interactions(self.ratings_))

    def _user_scores(self, users: Indices) -> Reals:
        scores: Reals = (self._interactions()[users] @ self.item_weights_).astype(float)
        return scores

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        distinct, rows = np.unique(users, return_inverse=True)
        scores = np.empty(len(users))
        for block in iter_blocks(len(distinct), self.n_items_):
            pairs = np.flatnonzero((rows >= block.start) & (rows < block.stop))
            table = self._user_scores(distinct[block])
            scores[pairs] = table[rows[pairs] - block.start, items[pairs]]
        return scores

    def _vectors(self, side: str) -> Any:
        return self._interactions() if side == "users" else self._interactions().T.tocsr()

    def _similarities(self, side: str, indices: Indices) -> Reals:
        """Return partial correlations of items, given all others; cosines of users."""
        if side == "users":
            return super()._similarities(side, indices)
        into, out = self.item_weights_[:, indices].T, self.item_weights_[indices]
        return np.asarray(np.sign(out) * np.sqrt(np.abs(out * into)), dtype=float)

    def _explain_score(self, user: int, item: int) -> tuple[float, list[Contribution]]:
        row = self._interactions()[[user]]
        amounts = (row.data * self.item_weights_[row.indices, item]).tolist()
        ids = self.ratings_.item_ids.values[row.indices].tolist()
        pairs = zip(ids, amounts, strict=True)
        contributions = [Contribution(str(name), amount) for name, amount in pairs if amount != 0]
        return float(self._pair_scores(np.array([user]), np.array([item]))[0]), contributions


@dataclass(eq=False, repr=False, kw_only=True)
class SLIM(EASE, Threaded):
    """Sparse least squares of each item on others, with weights of at least 0.

    The score of an item is the sum of its weights for the user's items (Ning and Karypis 2011). The
    weights w of an item, whose interactions are the column x of X, minimize::

        1/2 |D (x - X w)|^2 + lambda / 2 |w|^2 + mu |w|_1, with w >= 0 and 0 for the item itself

    by coordinate descent. Few weights remain, so that a score is explained by few items.

    Fitted: `item_weights_`, in single precision, the `penalty_` lambda and the `sparsity_` mu.

    Parameters
    ----------
    regularization : float or None, default None
        The penalty lambda on squares. None is half the penalty of :class:`EASE`.
    sparsity : float or None, default None
        The penalty mu on absolute weights: the larger, the fewer weights. None is 0.004 lambda.
    n_sweeps : int, default 20
        The maximum number of passes over the weights of an item.
    user_power, precision, max_items
        See :class:`EASE`; the precision is of the products of items.
    n_jobs
        See :class:`Recommender`.

    Examples
    --------
    >>> from edgewise import SLIM, Ratings
    >>> liked = Ratings.from_arrays([1, 1, 2, 2, 3, 3, 3], [7, 8, 7, 8, 7, 8, 9])
    >>> model = SLIM(regularization=1.0, sparsity=0.1).fit(liked)
    >>> print(model.fold_in({4: {7: 1}}).explain(4, 8))
    8 for 4: 0.62
      +0.62  7
    """

    stored: ClassVar = {"sparsity_": NUMBER}

    sparsity: float | None = parameter(None, not_negative)
    n_sweeps: int = parameter(20, integer, 1)

    def _fit(self, ratings: Ratings) -> None:
        self.sparsity_ = 0.0
        super()._fit(ratings)

    def _weights(self, gram: NDArray[Any], factors: Any) -> NDArray[Any]:
        if self.regularization is None:
            self.penalty_ *= _PENALTY_FRACTION
        default = _SPARSITY * self.penalty_
        self.sparsity_ = default if self.sparsity is None else float(self.sparsity)
        n_items, weights = len(gram), np.zeros_like(gram)
        kernels = load_kernels("factorization", float(n_items) ** 2 * self.n_sweeps * 100)
        settings = self.penalty_, self.sparsity_, self.n_sweeps, _TOLERANCE

        def solve_span(span: slice) -> None:
            kernels.sparse_rows(span.start, span.stop, gram, *settings, weights)

        map_spans(kernels, self._threads(), solve_span, n_items)
        return weights.T

    def _similarities(self, side: str, indices: Indices) -> Reals:
        """Return the means of the weights of items for each other; cosines of users."""
        if side == "users":
            return super()._similarities(side, indices)
        both = self.item_weights_[:, indices].T + self.item_weights_[indices]
        return np.asarray(0.5 * both, dtype=float)


@dataclass(eq=False, repr=False, kw_only=True)
class BoostedLists(EASE, Seeded, Threaded, Verbose):
    """Two rounds of boosting by least squares, for lists from implicit feedback.

    Each round fits the residuals of the interactions X (Bühlmann and Yu 2003). The first takes
    factors of users and items, fitted like :class:`ImplicitFactorization` and shortened by the
    learning rate: few, so that they describe general tastes. The second regresses the residuals,
    ``X - rate U V'``, on the user's other interactions, item by item in the closed form of
    :class:`EASE`, whose weights find the items that go with each other. A score is the sum of
    both rounds. The matrix of residuals is never formed: with the inverse P of :class:`EASE`,
    ``A = rate P X' D^2 U`` and ``a = diag(A V')``, the weights are
    ``B_ij = -P_ij (1 - a_j) / P_jj - (A V')_ij``, and 0 on the diagonal.

    Fitted: `user_factors_`, multiplied by the rate, `item_factors_`, `item_weights_` B, and the
    penalties `factor_penalty_` and `penalty_`.

    Parameters
    ----------
    n_factors : int or None, default None
        Number of factors of the first round. None is 30, or one for every 40 items with
        interactions if these are fewer: more would describe single items, and leave nothing to the
        second round.
    learning_rate : float, default 0.6
        The factor on the first round. This and the 30 factors were chosen on interactions held out
        of the training parts of MovieLens 100K and 1M, the 40 items on generated ones of 100 items.
    alpha : float, default 4.0
        How much an interaction adds to the confidence of the first round.
    n_epochs : int, default 15
        Passes over users and items in the first round.
    regularization, user_power, precision, max_items
        Of the second round; see :class:`EASE`.
    random_state, n_jobs, verbose
        See :class:`Recommender`.

    Examples
    --------
    >>> from edgewise import BoostedLists, Ratings
    >>> liked = Ratings.from_arrays([1, 1, 2, 2, 3, 3, 3], [7, 8, 7, 8, 7, 8, 9])
    >>> model = BoostedLists(n_factors=2, regularization=1.0, random_state=0).fit(liked)
    >>> model.fold_in({4: {7: 1}}).recommend(4).ids
    array([8, 9])
    """

    stored: ClassVar = {
        "user_factors_": "users k",
        "item_factors_": "items k",
        "factor_penalty_": NUMBER,
    }

    n_factors: int | None = parameter(None, integer, 1)
    learning_rate: float = parameter(0.6, up_to_one)
    alpha: float = parameter(4.0, not_negative)
    n_epochs: int = parameter(15, integer, 1)

    def _fit(self, ratings: Ratings) -> None:
        n_factors = self.n_factors
        if n_factors is None:
            n_items = int(np.count_nonzero(ratings.by_item.sizes))
            n_factors = min(_MAX_FACTORS, max(1, n_items // _ITEMS_PER_FACTOR))
        first = self._first_round(n_factors).fit(as_interactions(ratings))
        self.factor_penalty_ = first.penalty_
        self.user_factors_ = self.learning_rate * first.user_factors_
        self.item_factors_ = first.item_factors_
        self._regress(ratings, self.user_factors_, self.item_factors_)

    def _first_round(self, n_factors: int) -> ImplicitFactorization:
        """Return the model of the first round."""
        return ImplicitFactorization(
            n_factors, n_epochs=self.n_epochs, alpha=self.alpha, n_jobs=self.n_jobs,
            random_state=self.random_state, verbose=self.verbose,
        )  # fmt: skip

    def _user_scores(self, users: Indices) -> Reals:
        scores = super()._user_scores(users)
        scores += self.user_factors_[users] @ self.item_factors_.T
        return scores

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        first = self._first_round(self.item_factors_.shape[1])
        first.penalty_, first.item_factors_ = self.factor_penalty_, self.item_factors_
        first.user_factors_ = self.user_factors_[:0]
        first._fold_in(as_interactions(ratings), users)
        new = self.learning_rate * first.user_factors_
        self.user_factors_ = np.vstack([self.user_factors_, new])

    def _vectors(self, side: str) -> Reals:
        return self.user_factors_ if side == "users" else self.item_factors_

    # Cosines of factors, for items too.
    _similarities = Recommender._similarities

    def _explain_score(self, user: int, item: int) -> tuple[float, list[Contribution]]:
        score, contributions = super()._explain_score(user, item)
        pair = np.array([user]), np.array([item])
        taste = pair_products(self.user_factors_, self.item_factors_, *pair)
        return score, [*contributions, Contribution("user taste", float(taste[0]))]


def interactions(ratings: Ratings) -> Any:
    """Return the weights of positive ratings as a sparse matrix in single precision."""
    view = ratings.by_user
    weights = np.where(view.values > 0, weights_of(view), 0.0).astype(np.float32)
    shape = (ratings.n_users, ratings.n_items)
    matrix = sparse.csr_array((weights, view.others, view.starts), shape)
    return matrix if weights.all() else sparse.csr_array(matrix.multiply(matrix > 0))


def _gram(matrix: Any, sizes: NDArray[Any]) -> NDArray[Any]:
    """Return the products of all pairs of items, users weighted by `sizes`, as a dense array."""
    n_items = matrix.shape[1]
    by_item, weighted = matrix.T.tocsr(), matrix.copy()
    weighted.data *= np.repeat(sizes, np.diff(matrix.indptr))
    gram = np.empty((n_items, n_items), dtype=matrix.dtype)
    for block in iter_blocks(n_items, n_items):
        gram[block] = (by_item[block] @ weighted).toarray()
    return gram


def _inverse(gram: NDArray[Any], penalty: float) -> NDArray[Any]:
    """Return the inverse of the products, penalized; their array is overwritten."""
    gram[np.diag_indices(len(gram))] += penalty
    potrf, potri = linalg.get_lapack_funcs(("potrf", "potri"), (gram,))
    # The transpose of a symmetric array is in the order that LAPACK overwrites.
    half, info = potrf(gram.T, lower=True, clean=True, overwrite_a=True)
    if not info:
        half, info = potri(half, lower=True, overwrite_c=True)
    if info:
        raise ValueError(f"regularization must be larger: {penalty:g} is lost in {gram.dtype}")
    diagonal = np.diag(half).copy()
    inverse: NDArray[Any] = half + half.T
    np.fill_diagonal(inverse, diagonal)
    return inverse


def as_interactions(ratings: Ratings) -> Ratings:
    """Return the ratings as implicit feedback: 1 if they are positive, else 0."""
    return replace(ratings, values=(ratings.values > 0).astype(float))
