"""Decompositions of the rating matrix: truncated SVD and non-negative factors (Shi 2025)."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from edgewise.common.checks import integer, not_negative, one_of
from edgewise.common.dtypes import Indices, Reals
from edgewise.common.threads import Threads
from edgewise.ratings import Grouped, Ratings
from edgewise.recommend.arrays import optional_weights
from edgewise.recommend.factorization.base import BiasedFactorModel, FactorModel, run_on_rows
from edgewise.recommend.kernels.factorization import (
    BiasedFactors,
    RatedPairs,
    RowEntries,
    pair_products,
)
from edgewise.recommend.model import Seeded, Threaded, Verbose, parameter

FILLS = ("bias", "mean", "zero")
_BIAS_EPOCHS = 15

# A matrix of up to this many entries may be decomposed as a dense array.
_DENSE_ENTRIES = 1 << 22

ENTRIES = ("observed", "all")

# The maximum number of epochs: a saved model runs them to fold in new users.
_MAX_EPOCHS = 100_000

# NumPy's time for an entry, and for each factor of it, in entries visited.
_VISITS_PER_ENTRY, _VISITS_PER_FACTOR = 60.0, 5.0


@dataclass(eq=False, repr=False)
class SVDRecommender(BiasedFactorModel):
    """Truncated SVD of the rating matrix with missing ratings filled (Shi 2025).

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
        matrix = self._residuals(ratings.by_user, self.user_biases_)
        self.singular_values_, self.item_factors_ = _leading(matrix, self.n_factors)
        self.user_factors_ = matrix @ self.item_factors_

    def _residuals(self, side: Grouped, user_biases: Reals) -> Any:
        """Return the ratings less the fill as a sparse matrix."""
        expected = self.intercept_ + self.item_biases_[side.others]
        expected += np.repeat(user_biases, side.sizes)
        shape = (len(side.starts) - 1, len(self.item_biases_))
        return sparse.csr_array((side.values - expected, side.others, side.starts), shape=shape)

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        damping = self.user_damping if self.fill == "bias" else None
        biases = self._add_biases(ratings, users, damping)
        residuals = self._residuals(ratings.by_user.last(len(users)), biases)
        self._add_users(residuals @ self.item_factors_)

    def _vectors(self, side: str) -> Reals:
        # Scaled by singular values, so that cosines of items equal cosines of the fitted columns.
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


@dataclass(eq=False, repr=False)
class NonNegativeFactorization(FactorModel, Seeded, Threaded, Verbose):
    """Non-negative factors of non-negative ratings (Shi 2025).

    A rating is predicted as ``U_i V_j'``. Multiplicative updates, none of which increases the loss,
    minimize over U >= 0 and V >= 0, by the observed entries, or by all::

        1/2 sum of w_ij ((R_ij - U_i V_j')^2 + s lambda (|U_i|^2 + |V_j|^2))

    with s the scale of the ratings, their standard deviation over 1.125: their units do not matter,
    but where their 0 is does.

    Fitted: `user_factors_` U, `item_factors_` V, `scale_`, and `loss_history_`, the loss at the
    start and after each epoch.

    Parameters
    ----------
    n_factors : int, default 15
        Number of factors k.
    n_epochs : int, default 100
        Updates of all users and all items.
    entries : {"observed", "all"}, default "observed"
        Sum over the observed ratings, or over all pairs with 0 for missing ratings; then
        predictions are scores, not ratings.
    regularization : float, default 0.1
        The penalty lambda on the factors, counted once for each entry of a row.
    random_state, n_jobs, verbose
        See :class:`Recommender`; threads are used if `entries` is "observed".

    Examples
    --------
    >>> from edgewise import NonNegativeFactorization, Ratings
    >>> ratings = Ratings.from_matrix([[2.0, 4.0], [3.0, 6.0]])
    >>> model = NonNegativeFactorization(n_factors=1, regularization=0.0, random_state=0)
    >>> model.fit(ratings).predict([0, 1], [1, 0]).round(3)
    array([4., 3.])
    """

    adds_items = True
    stored: ClassVar = {"loss_history_": "epochs"}

    n_factors: int = parameter(15, integer, 1)
    _: KW_ONLY
    n_epochs: int = parameter(100, integer, 1, _MAX_EPOCHS)
    entries: str = parameter("observed", one_of, ENTRIES)
    regularization: float = parameter(0.1, not_negative)

    @property
    def predicts(self) -> str:
        """The kind of predictions: ratings, or scores if missing ratings count as 0."""
        return "rating" if self.entries == "observed" else "score"

    def _fit(self, ratings: Ratings) -> None:
        if ratings.low < 0:
            raise ValueError(f"ratings must not be negative here, got {ratings.low:g}")
        self._fit_scale(ratings)
        users = self._side(ratings.by_user, self.n_factors)
        items = self._side(ratings.by_item, self.n_factors)
        start = self._start(ratings, users, self.n_factors)
        rng = np.random.default_rng(self._seed())
        U = start * rng.uniform(0.5, 1.5, (ratings.n_users, self.n_factors))
        V = start * rng.uniform(0.5, 1.5, (ratings.n_items, self.n_factors))
        item_mass = items.mass(ratings.n_users)

        def losses(pool: Threads) -> Iterator[float]:
            while True:
                yield users.loss(U, V, item_mass)
                users.update(U, V, pool)
                items.update(V, U, pool)

        with self._pool(users.kernels) as pool:
            self._train(losses(pool), self.n_epochs)
        self.user_factors_, self.item_factors_ = U, V

    def _side(self, entries: Grouped, n_factors: int) -> "NonNegativeSide":
        visits = _VISITS_PER_ENTRY + _VISITS_PER_FACTOR * n_factors
        visits *= len(entries.values) * self.n_epochs
        everything = self.entries == "all"
        penalty = float(self.regularization) * self.scale_
        return NonNegativeSide(entries, penalty, everything, self._kernels(visits))

    def _start(self, ratings: Ratings, users: "NonNegativeSide", n_factors: int) -> float:
        """Return the factor that makes all products the mean of the entries."""
        weights = 1.0 if ratings.weights is None else ratings.weights
        mean = float((weights * ratings.values).sum() / users.mass(ratings.n_items).sum())
        return (mean / n_factors) ** 0.5

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        k = self.item_factors_.shape[1]
        side = self._side(ratings.by_user.last(len(users)), k)
        factors = np.full((len(users), k), self._start(ratings, side, k))
        with self._pool(side.kernels) as pool:
            for _ in range(self.n_epochs):
                side.update(factors, self.item_factors_, pool)
        self._add_users(factors)


@dataclass(frozen=True, eq=False)
class NonNegativeSide:
    """The entries of one side's rows, and their multiplicative updates.

    A row u with ratings R, weights w and rows y of the other side becomes
    ``u * (sum of w R y) / (sum of w (u y) y + penalty mass u)``, factor by factor. With
    `everything`, missing ratings are entries of 0 with weight 1, summed by two small matrices.
    """

    entries: Grouped
    penalty: float
    everything: bool
    kernels: ModuleType

    def mass(self, n_others: int) -> Reals:
        """Return the sum of the weights of each row, missing ratings included if they count."""
        mass = self.entries.mass
        return mass + n_others - self.entries.sizes if self.everything else mass

    def update(self, factors: Reals, others: Reals, pool: Threads) -> None:
        """Update the factors in place."""
        entries, mass = self.entries, self.mass(len(others))
        if self.everything:
            self._update_everything(factors, others, mass)
            return
        rows = RowEntries(entries.starts, entries.others, entries.values, optional_weights(entries))
        run_on_rows(
            self.kernels.multiply_rows, pool, entries, rows, others, mass, self.penalty, factors
        )

    def _update_everything(self, factors: Reals, others: Reals, mass: Reals) -> None:
        entries, weights = self.entries, self.entries.weights
        weighted = entries.values if weights is None else weights * entries.values
        above = self._matrix(weighted, len(others)) @ others
        below = self.penalty * mass[:, None] * factors
        below += factors @ (others.T @ others)
        if weights is not None:
            products = pair_products(factors, others, entries.row_numbers, entries.others)
            products *= weights - 1.0
            below += self._matrix(products, len(others)) @ others
        factors *= np.divide(above, below, out=np.ones_like(below), where=below > 0)

    def _matrix(self, data: Reals, n_others: int) -> Any:
        shape = (self.entries.n_rows, n_others)
        return sparse.csr_array((data, self.entries.others, self.entries.starts), shape=shape)

    def loss(self, factors: Reals, others: Reals, other_mass: Reals) -> float:
        """Return the loss that updates of both sides decrease."""
        total = self._squared_error(factors, others)
        if self.everything:
            total += float(np.vdot(factors.T @ factors, others.T @ others))
        for rows, mass in ((factors, self.mass(len(others))), (others, other_mass)):
            total += self.penalty * float(mass @ np.einsum("ij,ij->i", rows, rows))
        return 0.5 * total

    def _squared_error(self, factors: Reals, others: Reals) -> float:
        entries, rows = self.entries, self.entries.row_numbers.astype(np.int32)
        if not self.everything:
            weights = optional_weights(entries)
            return self.kernels.squared_error(
                RatedPairs(rows, entries.others, entries.values, weights, 0.0),
                BiasedFactors(factors, others, np.zeros(len(factors)), np.zeros(len(others))),
            )
        products = pair_products(factors, others, rows, entries.others)
        squares = (entries.values - products) ** 2
        if entries.weights is not None:
            squares *= entries.weights
        # The squares of missing ratings are summed over all pairs at once.
        squares -= products**2
        return float(squares.sum())
