"""Matrix factorization of the observed ratings, with biases and regularization (Shi 2025)."""

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from edgewise.common.checks import flag, integer, not_negative, one_of, positive
from edgewise.common.dtypes import Indices, Reals
from edgewise.common.threads import Threads
from edgewise.ratings import Grouped, Ratings
from edgewise.recommend.arrays import optional_weights, weights_of
from edgewise.recommend.factorization.base import (
    BiasedFactorModel,
    ridge_visits,
    solve_ridge_rows,
)
from edgewise.recommend.kernels import factorization as numpy_kernels
from edgewise.recommend.kernels.factorization import (
    BiasedFactors,
    RatedPairs,
    RidgeSystem,
    StepSizes,
    pair_products,
)
from edgewise.recommend.model import Seeded, Threaded, Verbose, parameter

# The solvers, with their default numbers of epochs and penalties. Short steps and a small penalty
# do better than long ones and a large one; least squares have no steps, and need the penalty.
# Chosen on ratings held out of MovieLens 100K and 1M and of generated sets.
EPOCHS = {"sgd": 75, "als": 15, "gd": 200}
PENALTIES = {"sgd": 0.06, "als": 0.1, "gd": 0.1}

# One stochastic step in NumPy takes about 9 us, as long as visiting this many entries.
_VISITS_PER_STEP = 3000

# Armijo's rule: a step must gain this share of what the gradient promises.
_ARMIJO_SHARE = 0.1
_GROWTH, _CUT, _MAX_CUTS = 1.5, 0.5, 60


@dataclass(eq=False, repr=False)
class MatrixFactorization(BiasedFactorModel, Seeded, Threaded, Verbose):
    """Factors and biases of users and items, learned from the observed ratings.

    A rating is predicted as ``mean + b_i + c_j + U_i V_j'``. All solvers minimize the same
    function, the sum over the ratings of J_ij (Shi 2025, "Regularized SGD") times the weight::

        1/2 sum of w_ij (E_ij^2 + lambda (s |U_i|^2 + s |V_j|^2 + b_i^2 + c_j^2))

    with E the error, lambda `regularization`, and s the scale of the ratings: their standard
    deviation over 1.125, that of ratings from one to five stars. So the model of ratings in other
    units, or from another zero, is the same except for these. The penalty of a user counts once for
    each of the user's ratings (the weighted lambda of Zhou et al. 2008).

    Fitted: `user_factors_` U, `item_factors_` V, `user_biases_` b, `item_biases_` c, `intercept_`,
    the mean (0 without biases), `scale_`, and `loss_history_`, the loss at the start and after each
    epoch.

    Parameters
    ----------
    n_factors : int, default 50
        Number of factors k.
    solver : {"sgd", "als", "gd"}, default "sgd"
        Stochastic gradient descent, in a new random order each epoch and on one thread;
        alternating least squares, which solves for all users, then for all items; or gradient
        descent on all ratings at once. The last two never increase the loss.
    n_epochs : int or None, default None
        Passes over the ratings; None for 75 ("sgd"), 15 ("als") or 200 ("gd").
    regularization : float or None, default None
        The penalty lambda on factors and biases, for ratings in any units; None for 0.06 ("sgd") or
        0.1.
    learning_rate : float, default 0.005
        Step length of "sgd", and the first one that "gd" tries; for factors it is divided by the
        scale of the ratings. "als" ignores it.
    biases : bool, default True
        Whether to fit a mean and biases. Without them a rating is ``U_i V_j'`` alone.
    random_state, n_jobs, verbose
        See :class:`Recommender`; only "als" uses threads.

    Examples
    --------
    >>> from edgewise import MatrixFactorization, Ratings
    >>> ratings = Ratings.from_dict({
    ...     "Alice": {"Doctor Strange": 1, "Zootopia": 5},
    ...     "Bob": {"Doctor Strange": 3, "Star Trek": 4},
    ...     "Charlie": {"Doctor Strange": 3, "Star Trek": 5, "Zootopia": 2}})
    >>> model = MatrixFactorization(1, solver="als", n_epochs=300, random_state=0).fit(ratings)
    >>> round(model.predict("Alice", "Star Trek"), 2)
    2.08
    """

    adds_items = True
    stored: ClassVar = {"loss_history_": "epochs"}

    n_factors: int = parameter(50, integer, 1)
    _: KW_ONLY
    solver: str = parameter("sgd", one_of, EPOCHS)
    n_epochs: int | None = parameter(None, integer, 1)
    regularization: float | None = parameter(None, not_negative)
    learning_rate: float = parameter(0.005, positive)
    biases: bool = parameter(True, flag)

    def _fit(self, ratings: Ratings) -> None:
        n_epochs = EPOCHS[self.solver] if self.n_epochs is None else self.n_epochs
        self.intercept_ = ratings.mean if self.biases else 0.0
        self._fit_scale(ratings)
        loss = self._loss(ratings, self._visits(ratings, n_epochs))
        rng = np.random.default_rng(self._seed())
        # Gradients start small, so that the factors that matter grow first; least squares need no
        # such care, and get going sooner.
        scale = (1.0 if self.solver == "als" else 0.1) * loss.scale**0.5
        factors = draw_factors(ratings, self.n_factors, scale, rng)
        rate = float(self.learning_rate)
        with self._pool(loss.kernels) as pool:
            if self.solver == "sgd":
                losses = descend_stochastically(loss, factors, rate, rng)
            elif self.solver == "gd":
                losses = descend(loss, factors, rate)
            else:
                losses = alternate(loss, factors, pool)
            self._train(losses, n_epochs)
        self.user_factors_, self.item_factors_, self.user_biases_, self.item_biases_ = factors

    def _loss(self, ratings: Ratings, visits: float) -> "RatingLoss":
        kernels, default = self._kernels(visits), PENALTIES[self.solver]
        penalty = default if self.regularization is None else float(self.regularization)
        biases, scale = bool(self.biases), self.scale_
        return RatingLoss(ratings, self.intercept_, penalty, biases, scale, kernels)

    def _visits(self, ratings: Ratings, n_epochs: int) -> float:
        """Return the time a fit takes in NumPy, in entries visited."""
        if self.solver == "sgd":
            return float(_VISITS_PER_STEP) * len(ratings) * n_epochs
        if self.solver == "gd":
            return 0.0
        n_rows = ratings.n_users + ratings.n_items
        return n_epochs * ridge_visits(n_rows, 2 * len(ratings), self.n_factors)

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        side = ratings.by_user.last(len(users))
        visits = ridge_visits(len(users), len(side.values), self.item_factors_.shape[1])
        loss = self._loss(ratings, visits)
        with self._pool(loss.kernels) as pool:
            factors, biases = solve_side(loss, side, self.item_factors_, self.item_biases_, pool)
        self._add_users(factors)
        self.user_biases_ = np.concatenate([self.user_biases_, biases])


def draw_factors(
    ratings: Ratings, n_factors: int, scale: float, rng: np.random.Generator
) -> BiasedFactors:
    """Return random factors, with rows of length about `scale`, and biases of 0."""
    sizes, deviation = (ratings.n_users, ratings.n_items), scale / n_factors**0.5
    users, items = (rng.normal(0.0, deviation, (size, n_factors)) for size in sizes)
    return BiasedFactors(users, items, *map(np.zeros, sizes))


@dataclass(frozen=True, eq=False)
class RatingLoss:
    """1/2 the sum over ratings of w (E^2 + lambda (s |U_i|^2 + s |V_j|^2 + b_i^2 + c_j^2)).

    The term of one rating is the J_ij of Shi 2025 ("Regularized SGD") with the bias terms O and P
    of its next slide. The scale s is for products, which are as large as ratings where biases
    squared are as large as errors squared. Without biases the mean is 0 and the biases stay 0.
    """

    ratings: Ratings
    mean: float
    penalty: float
    biases: bool
    scale: float = 1.0
    kernels: ModuleType = numpy_kernels

    @cached_property
    def masses(self) -> tuple[Reals, Reals]:
        """The sums of the weights of each user's and of each item's ratings."""
        return self.ratings.by_user.mass, self.ratings.by_item.mass

    @property
    def penalties(self) -> tuple[float, float]:
        """The penalties on factors and on biases."""
        return self.scale * self.penalty, self.penalty

    @property
    def entries(self) -> RatedPairs:
        """The ratings and their mean as kernels take them."""
        ratings = self.ratings
        weights = optional_weights(ratings)
        return RatedPairs(ratings.users, ratings.items, ratings.values, weights, self.mean)

    def __call__(self, factors: BiasedFactors) -> float:
        """Return the loss."""
        error = float(self.kernels.squared_error(self.entries, factors))
        for rows, biases, mass in (
            (factors.users, factors.user_biases, self.masses[0]),
            (factors.items, factors.item_biases, self.masses[1]),
        ):
            squares = np.einsum("ij,ij->i", rows, rows), biases**2
            error += sum(p * float(mass @ s) for p, s in zip(self.penalties, squares, strict=True))
        return 0.5 * error

    def gradient(self, factors: BiasedFactors) -> BiasedFactors:
        """Return the derivatives with respect to all factors and biases."""
        users, items, _, weights, _ = self.entries
        errors = self._errors(factors)
        if len(weights):
            errors = errors * weights
        shape = (len(factors.users), len(factors.items))
        matrix: Any = sparse.csr_array((errors, (users, items)), shape=shape)
        penalty, bias_penalty = self.penalties
        user_mass, item_mass = self.masses
        user_biases, item_biases = np.zeros(shape[0]), np.zeros(shape[1])
        if self.biases:
            user_biases = bias_penalty * user_mass * factors.user_biases
            user_biases -= np.bincount(users, errors, shape[0])
            item_biases = bias_penalty * item_mass * factors.item_biases
            item_biases -= np.bincount(items, errors, shape[1])
        return BiasedFactors(
            penalty * user_mass[:, None] * factors.users - matrix @ factors.items,
            penalty * item_mass[:, None] * factors.items - matrix.T @ factors.users,
            user_biases,
            item_biases,
        )

    def _errors(self, factors: BiasedFactors) -> Reals:
        users, items, values, _, mean = self.entries
        products = pair_products(factors.users, factors.items, users, items)
        biases = factors.user_biases[users] + factors.item_biases[items]
        return values - mean - biases - products


def descend_stochastically(
    loss: RatingLoss, factors: BiasedFactors, rate: float, rng: np.random.Generator
) -> Iterator[float]:
    """Improve the factors in place (Shi 2025, "Regularized SGD"); yield the loss of each epoch."""
    # The curvature along a factor grows with the products; along a bias it is always the same.
    bias_rate = rate if loss.biases else 0.0
    steps = StepSizes(rate / loss.scale, bias_rate, *loss.penalties)
    order = np.arange(len(loss.ratings), dtype=np.int32)
    state = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    while True:
        with np.errstate(over="ignore", invalid="ignore"):
            value = loss(factors)
        if not math.isfinite(value):
            raise ValueError(
                f"learning_rate is too large, the loss is no longer finite: try {rate / 10:g}, "
                f"got {rate:g}"
            )
        yield value
        loss.kernels.shuffle(order, state)
        loss.kernels.descend(order, loss.entries, steps, factors)


def descend(loss: RatingLoss, factors: BiasedFactors, rate: float) -> Iterator[float]:
    """Do so by gradient descent (Shi 2025, "Comparison of Optimization Algorithms")."""
    value, length = loss(factors), rate
    while True:
        yield value
        gradient = loss.gradient(factors)
        users, items, *biases = gradient
        steps = BiasedFactors(users / loss.scale, items / loss.scale, *biases)
        promised = _ARMIJO_SHARE * float(sum(map(np.vdot, gradient, steps)))
        # If no cut of the step helps, this is a minimum within rounding errors.
        for _ in range(_MAX_CUTS):
            pairs = zip(factors, steps, strict=True)
            with np.errstate(over="ignore", invalid="ignore"):
                moved = BiasedFactors(*(array - length * step for array, step in pairs))
                reached = loss(moved)
            if reached <= value - promised * length:
                for array, new in zip(factors, moved, strict=True):
                    array[:] = new
                value, length = reached, length * _GROWTH
                break
            length *= _CUT


def alternate(loss: RatingLoss, factors: BiasedFactors, pool: Threads) -> Iterator[float]:
    """Do so by alternating least squares (Shi 2025)."""
    U, V, b, c = factors
    while True:
        yield loss(factors)
        U[:], b[:] = solve_side(loss, loss.ratings.by_user, V, c, pool)
        V[:], c[:] = solve_side(loss, loss.ratings.by_item, U, b, pool)


def solve_side(
    loss: RatingLoss, side: Grouped, others: Reals, other_biases: Reals, pool: Threads
) -> tuple[Reals, Reals]:
    """Return the optimal factors and biases of one side while the other is held.

    A bias is one more factor, whose counterpart on the other side is 1 everywhere.
    """
    k = others.shape[1]
    weights = weights_of(side)
    residuals = side.values - loss.mean - other_biases[side.others]
    penalty, bias_penalty = loss.penalties
    penalties = np.append(np.full(k, penalty), [bias_penalty] * loss.biases)
    design = np.column_stack([others, np.ones(len(others))]) if loss.biases else others
    system = RidgeSystem(
        side.starts, side.others, weights, weights * residuals, design,
        np.zeros((design.shape[1],) * 2), side.mass, penalties,
    )  # fmt: skip
    solutions = solve_ridge_rows(loss.kernels, pool, side, system)
    if not loss.biases:
        return solutions, np.zeros(side.n_rows)
    return solutions[:, :k], solutions[:, k]
