"""Factors for implicit feedback: weighted least squares, and BPR on pairs of items."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, not_negative, one_of, positive
from edgewise.common.dtypes import ROW, Indices, Reals, Rows, Singles
from edgewise.common.threads import Threads
from edgewise.ratings import Grouped, Ratings
from edgewise.recommend.factorization.base import (
    FactorModel,
    ridge_visits,
    run_on_rows,
    solve_ridge_rows,
)
from edgewise.recommend.kernels.factorization import (
    ConfidenceSystem,
    Interactions,
    RidgeSystem,
    pair_products,
)
from edgewise.recommend.model import NUMBER, SEED, Seeded, Threaded, Verbose, parameter

SOLVERS = ("cg", "exact")

# The first was chosen on a tenth of the training ratings of MovieLens 100K; the second takes over
# on sparse data, where the first would draw all factors to 0.
_MAX_PENALTY, _SHARE_OF_LARGEST = 30.0, 0.4
_POWER_STEPS = 20

# The compiled kernel takes rows of whole vectors.
_LANES = 8

# Confidences of up to this power of two need no scaling in single precision.
_LARGE = 24

# One step in NumPy takes as long as visiting this many entries.
_VISITS_PER_STEP = 6000

# The loss is measured on this many interactions.
_SAMPLE = 2_000


@dataclass(eq=False, repr=False)
class ImplicitFactorization(FactorModel, Seeded, Threaded, Verbose):
    """Alternating least squares over all pairs, weighted by confidence.

    The preference p of a pair is 1 if its rating r is positive, else 0; the confidence is
    ``c = 1 + alpha |r|``, with r = 0 for pairs without a rating (Hu, Koren and Volinsky 2008).
    The factors minimize::

        1/2 sum over all pairs of c_ij (p_ij - X_i Y_j')^2 + lambda / 2 (|X|^2 + |Y|^2)

    Time is linear in the number of ratings. Predictions are scores, not ratings.

    Fitted: `user_factors_` X, `item_factors_` Y, the `penalty_` lambda in use, and `loss_history_`,
    the loss at the start and after each epoch.

    Parameters
    ----------
    n_factors : int, default 50
        Number of factors k.
    n_epochs : int, default 15
        Passes that solve for all users, then for all items.
    regularization : float or None, default None
        The penalty lambda on the factors. None is 30, or two fifths of the largest singular value
        of the confidences if that is less, as on sparse data.
    alpha : float, default 1.0
        How much a rating adds to the confidence. Weights of ratings multiply it.
    solver : {"cg", "exact"}, default "cg"
        A few conjugate gradient steps from the factors of the last epoch, in single precision
        (Takács, Pilászy and Tikk 2011), or the exact solution.
    cg_steps : int, default 3
        The number of conjugate gradient steps.
    random_state, n_jobs, verbose
        See :class:`Recommender`.

    Examples
    --------
    >>> from edgewise import ImplicitFactorization, Ratings
    >>> ratings = Ratings.from_arrays([1, 1, 2, 2, 3], [7, 8, 7, 8, 9])
    >>> model = ImplicitFactorization(n_factors=2, regularization=0.1, random_state=0)
    >>> model.fit(ratings).fold_in({4: {7: 1}}).recommend(4, n=1).ids
    array([8])
    """

    predicts = "score"
    adds_items = True
    stored: ClassVar = {"loss_history_": "epochs", "penalty_": NUMBER}

    n_factors: int = parameter(50, integer, 1)
    _: KW_ONLY
    n_epochs: int = parameter(15, integer, 1)
    regularization: float | None = parameter(None, not_negative)
    alpha: float = parameter(1.0, not_negative)
    solver: str = parameter("cg", one_of, SOLVERS)
    cg_steps: int = parameter(3, integer, 1)

    def _fit(self, ratings: Ratings) -> None:
        rng = np.random.default_rng(self._seed())
        self.penalty_ = self._penalty(ratings)
        X: Any = rng.normal(0.0, 0.01, (ratings.n_users, self.n_factors))
        Y: Any = rng.normal(0.0, 0.01, (ratings.n_items, self.n_factors))
        kernels = self._kernels(self._visits(ratings))
        users = self._side(ratings.by_user, kernels)
        items = self._side(ratings.by_item, kernels)
        if self.solver == "cg":
            X, Y = pad_factors(X), pad_factors(Y)

        def losses(pool: Threads) -> Iterator[float]:
            while True:
                yield users.loss(X, Y)
                if self.solver == "cg":
                    users.improve(X, Y, self.cg_steps, pool)
                    items.improve(Y, X, self.cg_steps, pool)
                else:
                    X[:] = users.exact(Y, pool)
                    Y[:] = items.exact(X, pool)

        with self._pool(kernels) as pool:
            self._train(losses(pool), self.n_epochs)
        k = self.n_factors
        self.user_factors_, self.item_factors_ = X[:, :k].astype(float), Y[:, :k].astype(float)

    def _penalty(self, ratings: Ratings) -> float:
        if self.regularization is not None:
            return float(self.regularization)
        matrix = ratings.csr()
        matrix.data = 1.0 + float(self.alpha) * np.abs(matrix.data)
        # The largest singular value by power iteration; a larger penalty makes all factors 0.
        along = np.ones(ratings.n_items)
        for _ in range(_POWER_STEPS):
            along = matrix.T @ (matrix @ along)
            along /= np.linalg.norm(along)
        return min(_MAX_PENALTY, _SHARE_OF_LARGEST * float(np.linalg.norm(matrix @ along)))

    def _side(self, entries: Grouped, kernels: ModuleType) -> "ConfidenceSide":
        return ConfidenceSide(entries, float(self.alpha), self.penalty_, kernels)

    def _visits(self, ratings: Ratings) -> float:
        """Return the time a fit takes in NumPy, in entries visited."""
        rows, k = ratings.n_users + ratings.n_items, self.n_factors
        if self.solver == "exact":
            return self.n_epochs * ridge_visits(rows, 2 * len(ratings), k)
        products = len(ratings) * (25 + 1.3 * k) + 0.1 * rows * k * k
        return self.n_epochs * (self.cg_steps + 1) * products

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        entries = ratings.by_user.last(len(users))
        visits = ridge_visits(len(users), len(entries.values), self.item_factors_.shape[1])
        side = self._side(entries, self._kernels(visits))
        with self._pool(side.kernels) as pool:
            self._add_users(side.exact(self.item_factors_, pool))


class ConfidenceSide:
    """The ratings r of one side's rows as preferences p and confidences c = 1 + alpha |r|.

    With the rows y of the other side held, the optimal row x solves
    ``(Y'Y + sum of (c - 1) y y' + penalty) x = sum of c p y`` (Hu, Koren and Volinsky 2008, eq. 4).
    """

    def __init__(self, entries: Grouped, alpha: float, penalty: float, kernels: ModuleType) -> None:
        self.entries, self.penalty, self.kernels = entries, penalty, kernels
        self.extra = alpha * np.abs(entries.values)
        if entries.weights is not None:
            self.extra *= entries.weights
        self.targets = (1.0 + self.extra) * (entries.values > 0)
        self.rows = entries.row_numbers

    def exact(self, others: Reals, pool: Threads) -> Reals:
        """Return the solutions."""
        entries = self.entries
        system = RidgeSystem(
            entries.starts, entries.others, self.extra, self.targets, others, others.T @ others,
            np.ones(entries.n_rows), np.full(others.shape[1], self.penalty),
        )  # fmt: skip
        return solve_ridge_rows(self.kernels, pool, entries, system)

    def improve(self, factors: Singles, others: Singles, n_steps: int, pool: Threads) -> None:
        """Take conjugate gradient steps toward the solutions, in place."""
        gram = others.T @ others
        gram[np.diag_indices(len(gram))] += np.float32(self.penalty)
        # Single precision holds no cubes of large confidences: a power of two makes them smaller
        # and changes no digit.
        down = max(0, int(np.frexp(self.extra.max(initial=0.0))[1]) - _LARGE)
        system = ConfidenceSystem(
            self.entries.starts, self.entries.others, np.ldexp(self.extra, -down),
            np.ldexp(self.targets, -down), others, np.ldexp(gram, -down),
        )  # fmt: skip
        run_on_rows(self.kernels.conjugate_rows, pool, self.entries, system, n_steps, factors)

    def loss(self, factors: NDArray, others: NDArray) -> float:
        """Return half the sum of c (p - x y)^2 over all pairs and of the penalties."""
        # As p is 0 or 1, a rated pair adds extra s^2 - 2 c p s + c p to the s^2 of an unrated one.
        error = self.kernels.confident_error(
            self.rows, self.entries.others, self.extra, self.targets, factors, others
        )
        grams = [(rows.T @ rows).astype(float) for rows in (factors, others)]
        lengths = sum(np.trace(gram) for gram in grams)
        total = error + self.targets.sum() + np.vdot(*grams) + self.penalty * lengths
        return 0.5 * float(total)


def pad_factors(factors: Reals) -> Singles:
    """Return factors in single precision, with columns of 0 up to whole vectors."""
    n_rows, k = factors.shape
    single = np.zeros((n_rows, -(-k // _LANES) * _LANES), dtype=np.float32)
    single[:, :k] = factors
    return single


@dataclass(eq=False, repr=False)
class PairwiseFactorization(FactorModel, Seeded, Threaded, Verbose):
    """Stochastic gradient steps on pairs of an interaction and another item: BPR.

    Each step takes an interaction, draws an item that the user did not interact with, and lowers
    the logistic loss of the difference of their scores (Rendle, Freudenthaler, Gantner and
    Schmidt-Thieme 2009). A score is a product of factors plus a bias of the item. An interaction is
    a positive rating; sizes and weights do not matter. Predictions are scores, not ratings.

    Fitted: `user_factors_` and `item_factors_`, whose last column is 1 for users and the bias for
    items, and `loss_history_`, the fraction of sampled interactions that are not above an item
    drawn at random, at the start and after each epoch.

    Parameters
    ----------
    n_factors : int, default 50
        Number of factors k.
    n_epochs : int, default 100
        Passes over the interactions.
    learning_rate : float, default 0.05
        Step length.
    regularization : float, default 0.02
        The penalty on factors and biases, in each step. This and the two before were positive on
        interactions held out of training parts of MovieLens 100K and 1M.
    random_state, n_jobs, verbose
        See :class:`Recommender`; a fit runs on one thread.

    Examples
    --------
    >>> from edgewise import PairwiseFactorization, Ratings
    >>> liked = Ratings.from_arrays([1, 1, 2, 2, 3, 3], [7, 8, 7, 8, 9, 6])
    >>> model = PairwiseFactorization(2, random_state=0).fit(liked)
    >>> model.fold_in({4: {7: 1}}).recommend(4, n=1).ids
    array([8])
    """

    predicts = "score"
    stored: ClassVar = {"loss_history_": "epochs", "seed_": SEED}

    n_factors: int = parameter(50, integer, 1)
    _: KW_ONLY
    n_epochs: int = parameter(100, integer, 1)
    learning_rate: float = parameter(0.05, positive)
    regularization: float = parameter(0.02, not_negative)

    def _fit(self, ratings: Ratings) -> None:
        self.seed_ = self._seed()
        rng, k = np.random.default_rng(self.seed_), self.n_factors
        sizes = ratings.n_users, ratings.n_items
        users, items = (rng.normal(0.0, 0.1 / k**0.5, (size, k + 1)) for size in sizes)
        users[:, k], items[:, k] = 1.0, 0.0
        self._train(self._losses(ratings.by_user, users, items), self.n_epochs)
        self.user_factors_, self.item_factors_ = users, items

    def _losses(
        self, view: Grouped, users: Reals, items: Reals, moving: bool = True
    ) -> Iterator[float]:
        """Improve the factors of users, and of items if they are `moving`; yield the loss."""
        rate, penalty = float(self.learning_rate), float(self.regularization)
        positive, rows = np.flatnonzero(view.values > 0).astype(ROW), view.row_numbers.astype(ROW)
        # The interactions of each user, in the order of the items.
        user_items = view.others[positive]
        starts = np.searchsorted(positive, view.starts).astype(view.starts.dtype)
        pairs = Interactions(rows, view.others, starts, user_items)
        state = np.random.default_rng([self.seed_, 1]).integers(1, 2**63, 1, dtype=np.uint64)
        kernels = self._kernels(float(_VISITS_PER_STEP) * len(positive) * self.n_epochs)
        while True:
            yield (
                self._misranked_fraction(view.others, rows, positive, users, items)
                if moving
                else 0.0
            )
            kernels.shuffle(positive, state)
            rates = rate, rate if moving else 0.0
            kernels.descend_pairs(positive, pairs, rates, penalty, state, users, items)

    def _misranked_fraction(
        self, others: Rows, rows: Rows, positive: Rows, users: Reals, items: Reals
    ) -> float:
        """Return the fraction of sampled interactions not above an item drawn at random."""
        if not len(positive):
            return 0.0
        rng = np.random.default_rng([self.seed_, 2])
        sample = np.sort(positive)[rng.integers(len(positive), size=_SAMPLE)]
        drawn = rng.integers(len(items), size=_SAMPLE)
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = pair_products(users, items, rows[sample], others[sample])
            gaps -= pair_products(users, items, rows[sample], drawn)
        if not np.isfinite(gaps).all():
            raise ValueError(
                "learning_rate is too large, scores are no longer finite: try "
                f"{self.learning_rate / 10:g}"
            )
        return float((gaps <= 0).mean())

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        view = ratings.by_user.last(len(users))
        factors = np.zeros((len(users), self.n_factors + 1))
        factors[:, -1] = 1.0
        for i in range(len(users)):
            # One by one: the steps of a user do not depend on who else is new.
            row, ratings_of_user = factors[i : i + 1], view.take(np.array([i]))
            losses = self._losses(ratings_of_user, row, self.item_factors_, False)
            for _ in islice(losses, self.n_epochs + 1):
                pass
        self._add_users(factors)
