"""EASE: each item's choices from all others, by least squares in closed form (Steck 2019)."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from edgewise.common.checks import integer, not_negative, one_of, positive
from edgewise.common.dtypes import Indices, Reals
from edgewise.common.fields import Array, Value, finite
from edgewise.common.text import pluralize
from edgewise.model.explain import Contribution, PairExplanation
from edgewise.model.file import Noted
from edgewise.ratings import Ratings
from edgewise.recommend.base import Recommender
from edgewise.recommend.parameters import parameter

PRECISIONS = {"single": np.float32, "double": np.float64}

# The penalty is this times the root of the choices per item. Chosen on choices held out of training
# parts: of ml-100k, ml-1m and 600 users of it, on which the best are from 40 to 85 times the root,
# and of samples of the choices, where users have few and twice as much is somewhat better.
_PENALTY = 75.0

# The inverse, its transpose and the weights are in memory at the same time.
_ARRAYS = 3

# The products of items are found in blocks of at most this many.
_ENTRIES = 1 << 24


@dataclass(eq=False, repr=False)
class EASE(Recommender):
    r"""Least squares of each item on all others, from what users chose (Steck 2019).

    The score of an item is the sum of its weights for what the user chose. With X the choices, 1 or
    0, the weights B have the closed form::

        minimize |D (X - X B)|^2 + lambda |B|^2 so that B has no diagonal
        B_ij = -P_ij / P_jj, with P the inverse of X' D^2 X + lambda

    A choice is a positive rating; its size does not matter, its weight does. A user with n choices
    counts :math:`n^{-p}`, the squares of D. New users need no fit. Time grows with the cube
    of the items with choices, memory with their square. Predictions are scores, not ratings.

    Fitted: `item_weights_`, B, in single precision, and the `penalty_` lambda in use.

    Parameters
    ----------
    regularization : float or None, default None
        The penalty lambda. None is 75 times the root of the choices per item, times the mean weight
        of a choice.
    user_power : float, default 0.5
        p: how much less each choice of a busy user counts; 0 is the paper's form.
    precision : {"double", "single"}, default "double"
        Of the inverse. "single" takes half the memory and time.
    max_items : int, default 20000
        The most items with choices. A fit on more raises a MemoryError that says how much it would
        take.

    Examples
    --------
    >>> from edgewise import EASE, Ratings
    >>> chosen = Ratings.from_arrays([1, 1, 2, 2, 3, 3, 3], [7, 8, 7, 8, 7, 8, 9])
    >>> model = EASE(regularization=1.0).fit(chosen)
    >>> model.fold_in({4: {7: 1}}).recommend(4).ids
    array([8, 9])
    >>> print(model.fold_in({4: {7: 1}}).explain(4, 8))
    8 for 4: 0.64
      +0.64  7
    """

    predicts = "score"
    stored: ClassVar = {
        "item_weights_": Array("items items", np.float32),
        "penalty_": Noted(Value(float, finite)),
    }

    regularization: float | None = parameter(None, positive)
    _: KW_ONLY
    user_power: float = parameter(0.5, not_negative)
    precision: str = parameter("double", one_of, tuple(PRECISIONS))
    max_items: int = parameter(20_000, integer, 1)

    def _fit(self, ratings: Ratings) -> None:
        self._regress(ratings)

    def _regress(self, ratings: Ratings, users: Reals | None = None, items: Any = None) -> None:
        """Regress what is left of the choices, less products of factors if there are any."""
        chosen = choices(ratings)
        counts = np.diff(chosen.indptr)
        known = np.unique(chosen.indices)
        dtype = np.dtype(PRECISIONS[self.precision])
        self._check_memory(len(known), dtype)
        sizes = np.maximum(counts, 1).astype(float) ** -self.user_power
        self.penalty_ = self._penalty(len(known), counts, sizes)
        self.item_weights_ = np.zeros((ratings.n_items, ratings.n_items), dtype=np.float32)
        if not len(known):
            return
        chosen, factors = chosen[:, known].astype(dtype), None
        if users is not None:
            sides = (chosen.T @ (users * sizes[:, None])).astype(dtype)
            factors = sides, items[known].astype(dtype)
        gram = _gram(chosen, sizes.astype(dtype))
        self.item_weights_[np.ix_(known, known)] = self._weights(gram, factors)

    def _weights(self, gram: NDArray[Any], factors: Any) -> NDArray[Any]:
        """Return the weights, given the products of items, whose array may be overwritten.

        `factors` are None, or the products of items with user factors, and the item factors.
        """
        inverse = _inverse(gram, self.penalty_)
        scales, products = -1.0 / np.diag(inverse), None
        if factors is not None:
            # What regression would make of the factors' products, for the same inverse.
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
        n_choices = max(1, int(counts.sum()))
        return float(_PENALTY * np.sqrt(n_choices / max(1, n_items)) * (sizes @ counts) / n_choices)

    def _check_memory(self, n_items: int, dtype: np.dtype) -> None:
        if n_items <= self.max_items:
            return
        need = _ARRAYS * dtype.itemsize * float(n_items) ** 2 / 2**30
        raise MemoryError(
            f"{pluralize(n_items, 'items')} need about {need:.0f} GiB: ImplicitFactorization and "
            f"ItemKNN(implicit=True) do not, precision='single' needs half, and a larger "
            f"max_items (now {self.max_items}) allows it"
        )

    def _chosen(self) -> Any:
        return self._cached("chosen", lambda: choices(self.ratings_))

    def _user_scores(self, users: Indices) -> Reals:
        scores: Reals = (self._chosen()[users] @ self.item_weights_).astype(float)
        return scores

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        different, rows = np.unique(users, return_inverse=True)
        scores = np.empty(len(users))
        size = max(1, _ENTRIES // max(1, self.n_items_))
        for start in range(0, len(different), size):
            mine = np.flatnonzero((rows >= start) & (rows < start + size))
            table = self._user_scores(different[start : start + size])
            scores[mine] = table[rows[mine] - start, items[mine]]
        return scores

    def _vectors(self, side: str) -> Any:
        return self._chosen() if side == "users" else self._chosen().T.tocsr()

    def _similarities(self, side: str, indices: Indices) -> Reals:
        """Return partial correlations of items, with all others given; cosines of users."""
        if side == "users":
            return super()._similarities(side, indices)
        into, out = self.item_weights_[:, indices].T, self.item_weights_[indices]
        return np.asarray(np.sign(out) * np.sqrt(np.abs(out * into)), dtype=float)

    def explain(self, user: Any, item: Any, n: int = 5) -> PairExplanation:
        """Explain a score by the `n` choices that add most; all of them add up to it."""
        integer("n", n, 1)
        ratings = self._fitted_ratings()
        users = ratings.user_ids.require("users", [user])
        items = ratings.item_ids.require("items", [item])
        row = self._chosen()[users]
        amounts = row.data * self.item_weights_[row.indices, items[0]]
        ids = ratings.item_ids.values[row.indices].tolist()
        pairs = zip(ids, amounts.tolist(), strict=True)
        parts = [Contribution(str(one), amount) for one, amount in pairs if amount != 0]
        parts.sort(key=lambda part: -abs(part.amount))
        score = float(self._pair_scores(users, items)[0])
        return PairExplanation(user, item, score, tuple(parts), n)


def choices(ratings: Ratings) -> Any:
    """Return the weights of positive ratings as a sparse matrix in single precision."""
    view = ratings.by_user
    weights = np.ones(len(view.values)) if view.weights is None else view.weights
    kept = np.where(view.values > 0, weights, 0.0).astype(np.float32)
    shape = (ratings.n_users, ratings.n_items)
    matrix = sparse.csr_array((kept, view.others, view.starts), shape)
    return matrix if kept.all() else sparse.csr_array(matrix.multiply(matrix > 0))


def _gram(chosen: Any, sizes: NDArray[Any]) -> NDArray[Any]:
    """Return the products of all pairs of items, users weighted by `sizes`, as a dense array."""
    n_items = chosen.shape[1]
    by_item = chosen.T.tocsr()
    weighted = chosen.copy()
    weighted.data *= np.repeat(sizes, np.diff(chosen.indptr))
    gram = np.empty((n_items, n_items), dtype=chosen.dtype)
    size = max(1, _ENTRIES // max(1, n_items))
    for start in range(0, n_items, size):
        gram[start : start + size] = (by_item[start : start + size] @ weighted).toarray()
    return gram


def _inverse(gram: NDArray[Any], penalty: float) -> NDArray[Any]:
    """Return the inverse of the products, penalized; their array is overwritten."""
    gram[np.diag_indices(len(gram))] += penalty
    potrf, potri = linalg.get_lapack_funcs(("potrf", "potri"), (gram,))
    # The transpose of a symmetric array is in the order that LAPACK overwrites.
    half, failed = potrf(gram.T, lower=True, clean=True, overwrite_a=True)
    if not failed:
        half, failed = potri(half, lower=True, overwrite_c=True)
    if failed:
        raise ValueError(f"regularization must be larger: {penalty:g} is lost in {gram.dtype}")
    diagonal = np.diag(half).copy()
    inverse: NDArray[Any] = half + half.T
    np.fill_diagonal(inverse, diagonal)
    return inverse
