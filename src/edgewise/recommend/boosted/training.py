"""The rounds of boosted factorisation with real values."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.ratings import Ratings
from edgewise.recommend.boosted.climb import BOTH, ITEMS, Found, pair, single
from edgewise.recommend.boosted.levels import Levels
from edgewise.recommend.boosted.passes import Passes
from edgewise.recommend.boosted.sides import Side, marks_of

# Values of users alone and of items alone are looked at in the first rounds, in which nothing else
# is, and from then on in every so many: there is little left for them to learn.
_SINGLES_EVERY = 4

# Where a product would lower the loss by less than this share of the ratings' weight there is
# nothing left to learn.
_LEAST_GAIN = 1e-9

# What the ratings on one side of a column weigh at least, of a mean of 1.
_LEAST_MASS = 1e-6


@dataclass(frozen=True)
class Settings:
    """How values are learned.

    Attributes
    ----------
    n_rounds, bias_rounds, sweeps : int
        Rounds in all, the first of them without products, and turns within a round.
    learning_rate, bias_learning_rate : float
        What products, and values of one side alone, are multiplied by.
    regularization, bias_regularization, share_regularization : float
        How much the values of products, of one side alone, and weights of marks are shrunken.
    share, side_features : bool
        Whether ratings, and features, are marks.
    products, real_votes : bool
        Whether there are products at all, and whether votes have sizes.
    seed, n_threads : int
        The seed of the values that products start from, and how many threads there are.
    """

    n_rounds: int
    bias_rounds: int
    sweeps: int
    learning_rate: float
    bias_learning_rate: float
    regularization: float
    bias_regularization: float
    share_regularization: float
    share: bool
    side_features: bool
    products: bool
    real_votes: bool
    seed: int
    n_threads: int


@dataclass
class Rounds:
    """What training leaves behind, a row for each round.

    The first round is the constant: the scores that fit best without users and items.
    """

    user_values: list[Reals] = field(default_factory=list)
    item_values: list[Reals] = field(default_factory=list)
    votes: list[Reals] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    marks: list[Reals] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    def add(self, found: Found, votes: Reals, n_marks: int, error: float) -> None:
        """Add a round."""
        self.user_values.append(found.user_values)
        self.item_values.append(found.item_values)
        self.votes.append(votes)
        self.kinds.append(found.kind)
        self.marks.append(np.zeros(n_marks) if found.marks is None else found.marks)
        self.gains.append(found.gain)
        self.errors.append(error)

    def truncate(self, n_rounds: int) -> None:
        """Keep the first rounds only."""
        for rows in vars(self).values():
            del rows[n_rounds:]


Onlooker = Callable[[Found, Reals, float], bool]


def user_marks(ratings: Ratings, settings: Settings, n_trained: int) -> Any:
    """Return the marks of all users; None if they have none."""
    features = ratings.user_features if settings.side_features else None
    return marks_of(ratings.by_user, ratings.n_items, features, settings.share, n_trained)


def train(
    ratings: Ratings, levels: Levels, settings: Settings, watch: Onlooker, rounds: Rounds
) -> None:
    """Add rounds until there are enough, nothing is left to learn, or `watch` says so.

    `watch` is called after each round with what was found, its votes and the root of the mean
    squared error on the training ratings.
    """
    weights = np.ones(len(ratings)) if ratings.weights is None else ratings.weights
    passes = Passes(
        ratings.users, ratings.items, ratings.values, weights / weights.mean(), levels,
        (ratings.n_users, ratings.n_items), settings.n_rounds, settings.n_threads,
    )  # fmt: skip
    try:
        _run(ratings, passes, settings, watch, rounds)
    finally:
        passes.close()


def _run(
    ratings: Ratings, passes: Passes, settings: Settings, watch: Onlooker, rounds: Rounds
) -> None:
    sides = _Sides(ratings, passes.weights, settings)
    found = _constant(passes)
    votes = found.votes
    n_marks = 0 if sides.users.marks is None else sides.users.marks.shape[1]
    total = float(passes.weights.sum())
    least = _LEAST_GAIN * total
    for t in range(settings.n_rounds + 1):
        if t > 0:
            found = _find(passes, sides, settings, t, least)
            if found.gain < least:
                return
            product = found.kind == BOTH
            votes = found.votes * (
                settings.learning_rate if product else settings.bias_learning_rate
            )
        passes.advance(found.user_values, found.item_values, votes)
        error = float(np.sqrt(passes.squared_error / total))
        rounds.add(found, votes, n_marks, error)
        if watch(found, votes, error):
            return


class _Sides:
    """Users and items, alone and in products."""

    def __init__(self, ratings: Ratings, weights: Reals, settings: Settings) -> None:
        user_counts: Any = np.bincount(ratings.users, weights, minlength=ratings.n_users)
        item_counts: Any = np.bincount(ratings.items, weights, minlength=ratings.n_items)
        alone, shared = settings.bias_regularization, settings.share_regularization
        self.single_users = Side(user_counts, None, alone, shared)
        self.single_items = Side(item_counts, None, alone, shared)
        features = ratings.item_features if settings.side_features else None
        of_users = user_marks(ratings, settings, ratings.n_users)
        of_items = marks_of(
            ratings.by_item, ratings.n_users, features, settings.share, ratings.n_items
        )
        self.users = Side(user_counts, of_users, settings.regularization, shared)
        self.items = Side(item_counts, of_items, settings.regularization, shared)


def _constant(passes: Passes) -> Found:
    """Return the scores that fit best without users and items: the log odds of each column."""
    yes, no = (
        np.array([passes.weights[side].sum() for side in sides])
        for sides in (passes.labels.T > 0, passes.labels.T < 0)
    )
    # Weights of very different sizes leave one side next to nothing.
    odds = np.log(np.maximum(yes, _LEAST_MASS)) - np.log(np.maximum(no, _LEAST_MASS))
    ones = np.ones(passes.sizes[0]), np.ones(passes.sizes[1])
    return Found(ITEMS, *ones, odds, 0.0)


def _find(passes: Passes, sides: _Sides, settings: Settings, t: int, least: float) -> Found:
    """Return the product, or the values of one side, along which the loss falls most."""
    real_votes = settings.real_votes

    def singles() -> list[Found]:
        return [
            single(passes, "users", sides.single_users, real_votes),
            single(passes, "items", sides.single_items, real_votes),
        ]

    def products() -> list[Found]:
        start = np.random.default_rng([settings.seed, t]).standard_normal(passes.sizes[0])
        return [pair(passes, sides.users, sides.items, start, settings.sweeps, real_votes)]

    if not settings.products:
        return _best(singles())
    if t <= settings.bias_rounds:
        looked_at, left = singles(), products
    elif t % _SINGLES_EVERY == 0:
        return _best([*singles(), *products()])
    else:
        looked_at, left = products(), singles
    # Where users and items have no offsets there may still be tastes, and the other way round.
    found = _best(looked_at)
    return found if found.gain >= least else _best([found, *left()])


def _best(found: list[Found]) -> Found:
    return max(found, key=lambda one: one.gain)
