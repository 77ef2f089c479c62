"""All values of a user at once, for ratings without levels.

Rounds learn the values of a user one after the other, along directions that overlap. Where the
score is the rating itself, the values along all directions follow from one linear system: they are
the most likely ones if tastes vary between users as they do in the rounds. The model then keeps
only the main directions of these tastes.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Indices, Reals, Rows
from edgewise.common.threads import Threads
from edgewise.ratings import Grouped, Ratings
from edgewise.recommend.arrays import relative_weights
from edgewise.recommend.boosted.levels import RatingLevels
from edgewise.recommend.boosted.products import ScoredRatings
from edgewise.recommend.boosted.rounds import (
    BOTH,
    ITEMS,
    USERS,
    FactorRounds,
    FactorStep,
    FittedRounds,
    RoundFactors,
)
from edgewise.recommend.boosted.training import VALUE_PENALTY, HeldOutRatings, RealBoosting
from edgewise.recommend.factorization.base import ridge_visits, solve_ridge_rows
from edgewise.recommend.kernels import kernel_threads, load_kernels
from edgewise.recommend.kernels.boosting import CURVATURE, WIDTH
from edgewise.recommend.kernels.factorization import RidgeSystem

# The maximum number of directions, and the smallest size of one relative to the largest.
_MAX_DIRECTIONS, _MIN_SIZE = 100, 1e-6

# The variance of standardized ratings about a user's taste, for the usual penalty.
_NOISE = 1 / 6


class UserSystem:
    """How the ratings of a user follow from its values in the rounds with values of users.

    A standardized rating is `base` plus the product of `design` and values, plus noise of some
    variance; values have variance 1.
    """

    def __init__(
        self, levels: RatingLevels, kinds: NDArray[np.int8], item_scores: Reals, noise: float
    ) -> None:
        self.levels, self.noise = levels, noise
        self.solved = np.flatnonzero(kinds != ITEMS)
        self.base = item_scores[:, kinds == ITEMS].sum(axis=1)
        self.design = np.ascontiguousarray(item_scores[:, self.solved])

    @classmethod
    def of(cls, levels: RatingLevels, rounds: FactorRounds, penalty: float) -> "UserSystem":
        """Return the system of the rounds of a model, with the penalty on values in products."""
        return cls(levels, rounds.kinds, rounds.item_values * rounds.votes[:, 0], noise_of(penalty))

    def residuals(self, items: Rows | Indices, values: Reals) -> Reals:
        """Return how far standardized ratings are above the base."""
        return (values - self.levels.low) / self.levels.gaps()[0] - self.base[items]

    def values(self, view: Grouped, weights: Reals, n_threads: int) -> Reals:
        """Return the most likely values of users, shape (users, solved rounds)."""
        k = len(self.solved)
        kernels = load_kernels("factorization", ridge_visits(view.n_rows, len(view.values), k))
        system = RidgeSystem(
            view.starts, view.others, weights, weights * self.residuals(view.others, view.values),
            self.design, np.zeros((k, k)), np.ones(view.n_rows), np.full(k, self.noise),
        )  # fmt: skip
        with kernel_threads(kernels, n_threads) as pool:
            return solve_ridge_rows(kernels, pool, view, system)

    def contributions(
        self, items: Rows | Indices, values: Reals, weights: Reals, item: int
    ) -> Reals:
        """Return what each rating of a user adds to its score of an item."""
        rows = self.design[items]
        matrix = rows.T @ (weights[:, None] * rows)
        matrix[np.diag_indices(len(matrix))] += self.noise
        shares = rows @ np.linalg.solve(matrix, self.design[item])
        return np.asarray(shares * weights * self.residuals(items, values))


def noise_of(penalty: float) -> float:
    """Return the variance of standardized ratings about a user's taste, given the penalty."""
    return _NOISE * penalty / VALUE_PENALTY


def solve_jointly(
    ratings: Ratings,
    levels: RatingLevels,
    fitted: FittedRounds,
    boosting: RealBoosting,
    validation: Ratings | None,
) -> FittedRounds:
    """Return values of items alone, of users alone, and few products in place of fitted rounds."""
    factors = RoundFactors.of(fitted.rounds, merge=False)
    steps = _find_directions(ratings, levels, factors, boosting)
    sizes = ratings.n_users, ratings.n_items, len(fitted.rounds.indicator_weights)
    n_rounds = sum(step.n_rounds for step in steps)
    measured = _measure_steps(ratings, levels, steps, boosting.n_threads)
    joint = FittedRounds.collect(measured, sizes, n_rounds, levels.n_columns)
    if validation is None:
        return joint
    held_out = HeldOutRatings(validation, levels, None)
    for step in steps:
        held_out.add(step)
    return joint.first(n_rounds - 1, held_out.errors)


def _find_directions(
    ratings: Ratings, levels: RatingLevels, factors: RoundFactors, boosting: RealBoosting
) -> list[FactorStep]:
    """Return the constant, the offsets, and products along the main directions of tastes."""
    is_product = (factors.votes != 0.0).any(axis=1)
    users = factors.users[:, is_product] * factors.votes[is_product, 0]
    items = factors.items[:, is_product].astype(np.float64)
    is_rated_user, is_rated_item = ratings.by_user.sizes > 0, ratings.by_item.sizes > 0
    # The mean over items is an offset of the user: taste is what a user likes more than others.
    center = items[is_rated_item].mean(axis=0)
    items -= center
    offsets = factors.user_offsets[:, 0] + users @ center
    mean, offset = users[is_rated_user].mean(axis=0), float(offsets[is_rated_user].mean())
    tastes = users - mean
    products = tastes[is_rated_user].T @ tastes[is_rated_user]
    variances, axes = np.linalg.eigh(products / is_rated_user.sum())
    scaled = items @ (axes * np.sqrt(np.maximum(variances, 0.0)))
    left, lengths, _ = np.linalg.svd(scaled, full_matrices=False)
    n_kept = min(_MAX_DIRECTIONS, int((lengths > _MIN_SIZE * lengths[0]).sum()))
    left, lengths = left[:, :n_kept], lengths[:n_kept]
    base = factors.item_offsets[:, 0] + offset + items @ mean
    constant, size = float(base[is_rated_item].mean()), float(offsets[is_rated_user].std()) or 1.0
    # The columns are the constant, the offsets of items and of users, and the products.
    kinds = np.array([ITEMS, ITEMS, USERS, *[BOTH] * n_kept], dtype=np.int8)
    votes = np.array([constant, 1.0, size, *[1.0] * n_kept])
    ones = np.ones(ratings.n_items)
    item_values = np.column_stack([ones, base - constant, ones, left * lengths])
    noise = noise_of(boosting.penalties.products)
    system = UserSystem(levels, kinds, item_values * votes, noise)
    weights = relative_weights(ratings.by_user, ratings, ratings.n_users)
    user_values = np.ones((ratings.n_users, len(kinds)))
    user_values[:, system.solved] = system.values(ratings.by_user, weights, boosting.n_threads)
    # Users without ratings have the values that rounds gave them for their features.
    unrated = ~is_rated_user
    user_values[unrated, 2] = ((offsets - offset) / size)[unrated]
    user_values[unrated, 3:] = (tastes @ (items.T @ (left / lengths)))[unrated]
    bounds = [0, 1, 2, *range(3, len(kinds), WIDTH), len(kinds)]
    return [
        FactorStep(
            int(kinds[start]), user_values[:, start:stop], item_values[:, start:stop],
            votes[start : start + 1],
        )
        for start, stop in pairwise(bounds)
    ]  # fmt: skip


def _measure_steps(
    ratings: Ratings, levels: RatingLevels, steps: list[FactorStep], n_threads: int
) -> Iterator[FactorStep]:
    """Yield steps with their errors in training and their gains, shared within a step."""
    n_rounds, before = sum(step.n_rounds for step in steps), np.nan
    with Threads(n_threads) as threads:
        scored = ScoredRatings.of(ratings, levels, n_rounds, threads)
        for step in steps:
            scored.advance(step.user_values, step.item_values, step.votes)
            decrease = CURVATURE * (before - scored.squared_error) / levels.gaps()[0] ** 2
            gains = np.full(step.n_rounds, decrease / step.n_rounds)
            error = float(np.sqrt(scored.squared_error / len(ratings)))
            yield step._replace(error=error, gains=gains)
            before = scored.squared_error
