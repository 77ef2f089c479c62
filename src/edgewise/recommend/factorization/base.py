"""The shared parts of factor models: scores, new users, and ridge regression row by row."""

from collections.abc import Callable, Iterator
from itertools import islice
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import one_of, positive
from edgewise.common.dtypes import Indices, Reals
from edgewise.common.fields import Value
from edgewise.common.threads import Threads
from edgewise.ratings import Grouped, Ratings
from edgewise.recommend.arrays import single_precision_error
from edgewise.recommend.base import Recommender
from edgewise.recommend.baselines import BiasedRecommender
from edgewise.recommend.kernels import kernel_threads, load_kernels
from edgewise.recommend.kernels.factorization import RidgeSystem, pair_products
from edgewise.recommend.model import Approximation
from edgewise.recommend.updates import learn_rows, swap_sides

SIDES = ("users", "items")

# These few kernels load in half a second, faster than the ones for boosting: they pay off from
# about a second of work in NumPy.
_EAGERNESS = 3.0

# A row without entries takes time too: its equations have to be solved.
_ENTRIES_PER_ROW = 8

# The standard deviation of ratings from one to five stars (1.126 on MovieLens 100K), for which
# penalties and learning rates are usually given.
_FIVE_STARS = 1.125

# Products of numbers below this fit into single precision, where numbers below the other vanish.
_LARGE, _SMALL = 1e15, 1e-36


class Vectors(NamedTuple):
    """Ids of users or items, and the vector of each, one per row."""

    ids: NDArray[Any]
    rows: Reals


class SinglePrecision(NamedTuple):
    """Factors in single precision, and a bound of the error of the scores of each user."""

    users: NDArray[np.float32]
    items: NDArray[np.float32]
    errors: Reals

    @classmethod
    def of(cls, users: Reals, items: Reals) -> "SinglePrecision | None":
        """Return factors in single precision; None if they are too large for it."""
        if not max(np.abs(rows).max(initial=0.0) for rows in (users, items)) < _LARGE:
            return None
        user_lengths, item_lengths = (np.sqrt((rows**2).sum(axis=1)) for rows in (users, items))
        longest = item_lengths.max(initial=0.0)
        errors = single_precision_error(users.shape[1]) * user_lengths * longest + _SMALL
        return cls(users.astype(np.float32), items.astype(np.float32), errors)


class FactorModel(Recommender):
    """Base of factor models: scores are products ``U_i V_j'`` of user and item factors.

    A subclass sets `user_factors_` and `item_factors_` in ``_fit``; its ``_fold_in`` ends with
    :meth:`_add_users`.
    """

    _serves_in_threads = True

    stored: ClassVar = {
        "user_factors_": "users k",
        "item_factors_": "items k",
        "scale_": Value(float, lambda scale: positive("scale_", scale)),
    }

    user_factors_: Reals
    item_factors_: Reals

    # Products of factors grow as ratings do, and so must penalties on factors.
    scale_ = 1.0

    def _fit_scale(self, ratings: Ratings) -> None:
        """Set the standard deviation of ratings relative to five stars; 1 if it is 0."""
        errors = ratings.values - ratings.mean
        variance = float(np.average(errors * errors, weights=ratings.weights))
        self.scale_ = variance**0.5 / _FIVE_STARS or 1.0

    def _kernels(self, visits: float) -> ModuleType:
        """Return the kernels for work that visits this many entries in NumPy.

        The choice depends on the data alone, never on which are loaded already: the two sets of
        kernels agree within rounding errors only, and a seed must always give the same bits.
        """
        return load_kernels("factorization", _EAGERNESS * visits)

    def _pool(self, kernels: ModuleType) -> Threads:
        return kernel_threads(kernels, self._threads())

    def _train(self, losses: Iterator[float], n_epochs: int) -> None:
        """Run a solver, which yields the loss before each epoch."""
        history = [next(losses)]
        with self._progress(n_epochs, "epochs") as step:
            for loss in islice(losses, n_epochs):
                history.append(loss)
                step(loss)
        self.loss_history_ = np.array(history)

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        return pair_products(self.user_factors_, self.item_factors_, users, items)

    def _user_scores(self, users: Indices) -> Reals:
        return self.user_factors_[users] @ self.item_factors_.T

    def vectors(self, side: str) -> Vectors:
        """Return a vector for each user or item; the product of two is the score of the pair.

        For an index of nearest neighbors by inner product, which finds good items among millions
        without scoring all. Products equal the scores up to rounding, and predicted ratings before
        they are clipped to the scale.

        Parameters
        ----------
        side : {"users", "items"}
            Which vectors.

        Returns
        -------
        Vectors
            The ids that the model knows, and their vectors, one per row: a pair of arrays.

        Examples
        --------
        >>> from edgewise import MatrixFactorization, Ratings
        >>> ratings = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4}})
        >>> model = MatrixFactorization(2, random_state=0).fit(ratings)
        >>> users, items = model.vectors("users"), model.vectors("items")
        >>> items.ids
        array(['Fargo', 'Heat'], dtype='<U5')
        >>> bool(abs(users.rows[0] @ items.rows[1] - model.predict("ann", "Heat")) < 1e-9)
        True
        """
        one_of("side", side, SIDES)
        catalog, known = self._catalog(side)
        return Vectors(catalog.values[known], self._score_vectors(side)[known])

    def _score_vectors(self, side: str) -> Reals:
        """Return a row for each user or item, whose products are the scores."""
        return self.user_factors_ if side == "users" else self.item_factors_

    def _approximate_scores(self, users: Indices) -> Approximation:
        single = self._build_once(
            "scores", lambda: SinglePrecision.of(*map(self._score_vectors, SIDES))
        )
        if single is None:
            return super()._approximate_scores(users)
        return single.users[users] @ single.items.T, single.errors[users]

    def _add_users(self, factors: Reals) -> None:
        self.user_factors_ = np.vstack([self.user_factors_, factors])

    def _fold_in_items(self, before: Ratings, now: Ratings, items: Indices) -> None:
        # Least squares treat users and items alike.
        self._swap_sides()
        learn_rows(self, swap_sides(before), swap_sides(now), items)
        self._swap_sides()

    def _swap_sides(self) -> None:
        self.user_factors_, self.item_factors_ = self.item_factors_, self.user_factors_

    def _vectors(self, side: str) -> Reals:
        return self.user_factors_ if side == "users" else self.item_factors_


class BiasedFactorModel(FactorModel, BiasedRecommender):
    """Base of factor models with biases: scores are ``intercept + b_i + c_j + U_i V_j'``."""

    def _swap_sides(self) -> None:
        super()._swap_sides()
        self.user_biases_, self.item_biases_ = self.item_biases_, self.user_biases_

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        return self._baseline(users, items) + super()._pair_scores(users, items)

    def _score_vectors(self, side: str) -> Reals:
        factors, is_user = super()._score_vectors(side), side == "users"
        biases = self.intercept_ + self.user_biases_ if is_user else self.item_biases_
        ones = np.ones_like(biases)
        return np.column_stack([factors, *((biases, ones) if is_user else (ones, biases))])

    def _user_scores(self, users: Indices) -> Reals:
        scores = super()._user_scores(users)
        scores += self.intercept_ + self.user_biases_[users, None] + self.item_biases_
        return scores


def run_on_rows(kernel: Callable[..., None], pool: Threads, entries: Grouped, *rest: Any) -> None:
    """Call ``kernel(start, stop, *rest)`` for ranges of rows of entries, spread over threads."""
    work = entries.starts + _ENTRIES_PER_ROW * np.arange(len(entries.starts))
    pool.map(lambda span: kernel(*span, *rest), pool.shares(work))


def ridge_visits(n_rows: int, n_entries: int, n_factors: int) -> float:
    """Return the time NumPy takes to solve these rows, in entries visited."""
    return n_rows * (10_000 + 0.5 * n_factors**3) + 0.2 * n_entries * n_factors**2


def solve_ridge_rows(
    kernels: ModuleType, pool: Threads, entries: Grouped, system: RidgeSystem
) -> Reals:
    """Return the solutions of the kernel `ridge_rows`; redundant unknowns are 0."""
    solutions = np.empty((entries.n_rows, system.design.shape[1]))
    run_on_rows(kernels.ridge_rows, pool, entries, system, solutions)
    return solutions
