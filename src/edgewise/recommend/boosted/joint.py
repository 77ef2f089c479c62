"""All values of a user at once, for ratings without levels.

Rounds find the values of a user one after the other, along directions that overlap. Where the score
is the rating itself, the values along all directions follow from one linear system: the likeliest,
if tastes vary from user to user as the rounds found. The main directions of these tastes are then
all that a model has to keep.
"""

from itertools import groupby

import numpy as np

from edgewise.common.dtypes import Reals, Rows
from edgewise.common.threads import Threads
from edgewise.ratings import Grouped, Ratings
from edgewise.recommend.boosted.levels import Levels
from edgewise.recommend.boosted.products import ScoredRatings
from edgewise.recommend.boosted.rounds import (
    BOTH,
    ITEMS,
    USERS,
    FactorRound,
    RoundFactors,
    stack_rounds,
)
from edgewise.recommend.factorization.base import ridge_visits, solve_ridge_rows
from edgewise.recommend.kernels import kernel_threads, load_kernels
from edgewise.recommend.kernels.boosting import CURVATURE, WIDTH
from edgewise.recommend.kernels.factorization import RidgeSystem

# The most directions that are kept, and the least size of one beside the largest.
_MOST_DIRECTIONS, _LEAST_SIZE = 100, 1e-6


class UserSystem:
    """How the ratings of a user follow from its values in rounds that have any.

    A standardized rating is `base` plus the product of `design` and values, and noise of some
    variance. Values vary by 1.
    """

    def __init__(self, levels: Levels, rounds: list[FactorRound], noise: float) -> None:
        self.levels, self.noise = levels, noise
        self.solved = [t for t, round_ in enumerate(rounds) if round_.kind != ITEMS]
        item_scores = [round_.item_values * round_.votes[0] for round_ in rounds]
        self.base = np.sum(
            [item_scores[t] for t, round_ in enumerate(rounds) if round_.kind == ITEMS], axis=0
        )
        self.design = np.column_stack([item_scores[t] for t in self.solved]).astype(np.float64)

    def left(self, items: Rows, values: Reals) -> Reals:
        """Return how far standardized ratings are above the base."""
        return (values - self.levels.low) / self.levels.gaps()[0] - self.base[items]

    def values(self, view: Grouped, weights: Reals, n_threads: int) -> Reals:
        """Return the likeliest values of users, a column for each round that has any."""
        visits = ridge_visits(view.n_rows, len(view.values), len(self.solved))
        kernels = load_kernels("factorization", visits)
        k = len(self.solved)
        system = RidgeSystem(
            view.starts, view.others, weights, weights * self.left(view.others, view.values),
            self.design, np.zeros((k, k)), np.ones(view.n_rows), np.full(k, self.noise),
        )  # fmt: skip
        with kernel_threads(kernels, n_threads) as pool:
            return solve_ridge_rows(kernels, pool, view, system)

    def parts(self, items: Rows, values: Reals, weights: Reals, item: int) -> Reals:
        """Return what each rating of a user adds to its score of an item."""
        rows = self.design[items]
        matrix = rows.T @ (weights[:, None] * rows)
        matrix[np.diag_indices(len(matrix))] += self.noise
        shares = rows @ np.linalg.solve(matrix, self.design[item])
        return np.asarray(shares * weights * self.left(items, values))


def joint_rounds(
    ratings: Ratings, levels: Levels, found: RoundFactors, noise: float, n_threads: int
) -> list[FactorRound]:
    """Return what rounds found as values of items alone, of users alone, and few products.

    `noise` is the variance of standardized ratings about what a user thinks.
    """
    at = (found.votes != 0.0).any(axis=1)
    users, items = found.users[:, at] * found.votes[at, 0], found.items[:, at].astype(np.float64)
    rated = ratings.by_user.sizes > 0, ratings.by_item.sizes > 0
    # The mean over items is an offset of the user: taste is what a user likes more than others.
    center = items[rated[1]].mean(axis=0)
    items -= center
    offsets = found.user_offsets[:, 0] + users @ center
    mean, offset = users[rated[0]].mean(axis=0), float(offsets[rated[0]].mean())
    apart = users - mean
    spread, axes = np.linalg.eigh(apart[rated[0]].T @ apart[rated[0]] / rated[0].sum())
    tastes = items @ (axes * np.sqrt(np.maximum(spread, 0.0)))
    left, lengths, _ = np.linalg.svd(tastes, full_matrices=False)
    n_kept = min(_MOST_DIRECTIONS, int((lengths > _LEAST_SIZE * lengths[0]).sum()))
    left, lengths = left[:, :n_kept], lengths[:n_kept]
    base = found.item_offsets[:, 0] + offset + items @ mean
    constant, size = float(base[rated[1]].mean()), float(offsets[rated[0]].std()) or 1.0
    ones, vote = (np.ones(ratings.n_users), np.ones(ratings.n_items)), np.ones(1)
    rounds = [
        FactorRound(ITEMS, *ones, constant * vote),
        FactorRound(ITEMS, ones[0], base - constant, vote, step=1),
        FactorRound(USERS, *ones, size * vote, step=2),
    ]
    for k, values in enumerate((left * lengths).T):
        rounds.append(FactorRound(BOTH, ones[0], values, vote, step=3 + k // WIDTH))
    system, weights = UserSystem(levels, rounds, noise), weights_of(ratings.by_user, ratings)
    solved = system.values(ratings.by_user, weights, n_threads)
    # Users without ratings are where rounds see them by their features.
    seen = np.column_stack([(offsets - offset) / size, apart @ (items.T @ (left / lengths))])
    solved[~rated[0]] = seen[~rated[0]]
    for t, values in zip(system.solved, solved.T, strict=True):
        rounds[t] = rounds[t]._replace(user_values=values)
    return _measure_rounds(ratings, levels, rounds, n_threads)


def weights_of(view: Grouped, trained: Ratings) -> Reals:
    """Return weights of ratings whose mean in training is 1."""
    if view.weights is None or trained.weights is None:
        return np.ones(len(view.values))
    return np.asarray(view.weights / trained.weights.mean())


def _measure_rounds(
    ratings: Ratings, levels: Levels, rounds: list[FactorRound], n_threads: int
) -> list[FactorRound]:
    """Return rounds with their errors in training and their gains, shared within a step."""
    weights = np.ones(len(ratings)) if ratings.weights is None else ratings.weights
    measured: list[FactorRound] = []
    with Threads(n_threads) as threads:
        scored = ScoredRatings(
            ratings.users, ratings.items, ratings.values, weights / weights.mean(), levels,
            (ratings.n_users, ratings.n_items), len(rounds), threads,
        )  # fmt: skip
        before = np.nan
        for _, step in groupby(rounds, lambda one: one.step):
            rounds_of_step = list(step)
            scored.advance(*stack_rounds(rounds_of_step), rounds_of_step[0].votes)
            error = float(np.sqrt(scored.squared_error / len(ratings)))
            gain = (
                CURVATURE
                * (before - scored.squared_error)
                / levels.gaps()[0] ** 2
                / len(rounds_of_step)
            )
            measured += [one._replace(error=error, gain=float(gain)) for one in rounds_of_step]
            before = scored.squared_error
    return measured
