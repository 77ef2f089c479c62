"""Matrix factorization for implicit feedback (Hu, Koren and Volinsky 2008)."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, not_negative, one_of
from edgewise.common.dtypes import Indices, Reals, Singles
from edgewise.common.threads import Threads
from edgewise.ratings import Grouped, Ratings
from edgewise.recommend.factorization.base import (
    FactorModel,
    ridge_visits,
    run_on_rows,
    solve_ridge_rows,
)
from edgewise.recommend.kernels.factorization import ConfidenceSystem, RidgeSystem
from edgewise.recommend.parameters import NUMBER, Seeded, Threaded, Verbose, parameter

SOLVERS = ("cg", "exact")

# The first was chosen on a tenth of the training ratings of MovieLens 100K; the second takes over
# on sparse data, where the first would draw all factors to 0.
_MAX_PENALTY, _SHARE_OF_LARGEST = 30.0, 0.4
_POWER_STEPS = 20

# The compiled kernel takes rows of whole vectors.
_LANES = 8

# Confidences of up to this power of two need no scaling in single precision.
_LARGE = 24


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
        down = _exponent_above(self.extra)
        system = ConfidenceSystem(
            self.entries.starts, self.entries.others, np.ldexp(self.extra, -down),
            np.ldexp(self.targets, -down), others, np.ldexp(gram, -down),
        )  # fmt: skip
        run_on_rows(self.kernels.conjugate_rows, pool, self.entries, system, n_steps, factors)

    def loss(self, factors: NDArray, others: NDArray) -> float:
        """Return half the sum of c (p - x y)^2 over all pairs and of the penalties."""
        # As p is 0 or 1, a rated pair adds extra s^2 - 2 c p s + c p to the s^2 of a gap.
        error = self.kernels.confident_error(
            self.rows, self.entries.others, self.extra, self.targets, factors, others
        )
        grams = [(rows.T @ rows).astype(float) for rows in (factors, others)]
        lengths = sum(np.trace(gram) for gram in grams)
        total = error + self.targets.sum() + np.vdot(*grams) + self.penalty * lengths
        return 0.5 * float(total)


def _exponent_above(extra: Reals) -> int:
    """Return by how many powers of two the largest number is above `_LARGE`; 0 if it is not."""
    return max(0, int(np.frexp(extra.max(initial=0.0))[1]) - _LARGE)


def pad_factors(factors: Reals) -> Singles:
    """Return factors in single precision, with columns of 0 up to whole vectors."""
    n_rows, k = factors.shape
    single = np.zeros((n_rows, -(-k // _LANES) * _LANES), dtype=np.float32)
    single[:, :k] = factors
    return single
