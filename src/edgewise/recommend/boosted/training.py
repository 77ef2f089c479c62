"""The rounds of boosted factorization with real values: training, tuning, and new users."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.boosting.callbacks import BestRound, StoppingRule
from edgewise.common.dtypes import Reals
from edgewise.common.threads import Threads
from edgewise.ratings import Ratings
from edgewise.recommend.boosted import products
from edgewise.recommend.boosted.levels import Levels
from edgewise.recommend.boosted.rounds import BOTH, ITEMS, FactorRound, stack_rounds
from edgewise.recommend.features import build_indicators
from edgewise.recommend.kernels.boosting import WIDTH

# After the first rounds, values of users alone or of items alone follow on so many steps of
# products: little is left for them to learn.
_SINGLES_EVERY = 8

# A product with a gain below this share of the ratings' weight has nothing left to learn.
_LEAST_GAIN = 1e-9

# The least weight of the ratings on one side of a column, where the mean weight is 1.
_LEAST_MASS = 1e-6

# Rounds that learn offsets of users and items only, before products follow, and the factor on
# values of one side alone; turns within a round. Chosen on ratings held out of MovieLens 100K.
_BIAS_ROUNDS, _BIAS_RATE, _SWEEPS = 30, 0.3, 2

# With fewer ratings than this there are too few to hold out: then regularize by the least scale.
FEWEST, LEAST_SCALE = 30, 1 / 64

# The share of the ratings that settings are chosen on.
HELD_OUT = 0.1

# Factors on the usual regularization. What suits many ratings leaves nothing to learn from few, and
# then neighboring factors look the same: try all. Many ratings cost more, and differ less.
_SCALES_OF_FEW = (4.0, 1.0, 1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 1024)
_SCALES_OF_MANY = (4.0, 1.0, 1 / 4)
MANY = 50_000
"""With fewer ratings than this, the best regularization differs most from one set to another."""

# Products follow after the rounds of users alone and items alone, which must not end the search.
_TUNING_PATIENCE = 160

# More ratings allow for more rounds, and want values regularized more, since each round then takes
# less of what is particular to a user: both grow with the root of their number from here on, up to
# a factor. Chosen on ratings held out of MovieLens 100K and of parts of 1M.
_USUAL, _MOST = 80_000, 4.0


def growth(n_ratings: int) -> float:
    """Return the factor on the usual rounds and regularization for this many ratings."""
    return float(np.clip((n_ratings / _USUAL) ** 0.5, 1.0, _MOST))


@dataclass(frozen=True)
class FactorSettings:
    """How real values are learned: see `BoostedFactorization`."""

    n_rounds: int
    learning_rate: float
    regularization: float
    bias_regularization: float
    share_regularization: float
    share: bool
    side_features: bool
    products: bool
    real_votes: bool
    seed: int
    n_threads: int

    def rate(self, kind: int) -> float:
        """Return the factor on the votes of a round of some kind."""
        return self.learning_rate if kind == BOTH else _BIAS_RATE


class HeldOutRatings:
    """The root mean squared error on ratings held out, after each round; the constant is first."""

    def __init__(self, ratings: Ratings, levels: Levels, early_stopping_rounds: int | None) -> None:
        self.ratings, self.levels = ratings, levels
        self.errors: list[float] = []
        self._best = BestRound(StoppingRule(early_stopping_rounds))
        self._scores = np.zeros((len(ratings), levels.n_columns))

    def add(self, *found: FactorRound) -> bool:
        """Add the rounds of a step; return whether to stop.

        The error is that before the step for all but the last of them.
        """
        for item in found:
            u, z = item.user_values[self.ratings.users], item.item_values[self.ratings.items]
            self._scores += (u * z)[:, None] * item.votes
        wrong = self.levels.expected(self._scores) - self.ratings.values
        error = float(np.sqrt((wrong * wrong).mean()))
        errors = [*self.errors[-1:] * (len(found) - 1), error]
        self.errors += errors
        return [self._best.update(item) for item in errors][-1]

    @property
    def best_round(self) -> int:
        """The round with the least error; the constant is 0."""
        return max(0, self._best.best - 1)


def user_indicators(ratings: Ratings, settings: FactorSettings, n_trained: int) -> Any:
    """Return the indicator features of all users; None if they have none."""
    features = ratings.user_features if settings.side_features else None
    return build_indicators(ratings.by_user, ratings.n_items, features, settings.share, n_trained)


def train(
    ratings: Ratings,
    levels: Levels,
    settings: FactorSettings,
    held_out: HeldOutRatings | None = None,
) -> Iterator[list[FactorRound]]:
    """Yield the rounds of one step after the other; the first is the constant."""
    weights = np.ones(len(ratings)) if ratings.weights is None else ratings.weights
    with Threads(settings.n_threads) as threads:
        scored = products.ScoredRatings(
            ratings.users, ratings.items, ratings.values, weights / weights.mean(), levels,
            (ratings.n_users, ratings.n_items), settings.n_rounds, threads,
        )  # fmt: skip
        search = _RoundSearch(ratings, scored, settings)
        n_found = 0
        for n_steps in range(settings.n_rounds + 1):
            if n_found > settings.n_rounds:
                break
            rounds = search.find(n_found) if n_found else [search.constant()]
            if not rounds:
                break
            n_found += len(rounds)
            scored.advance(*stack_rounds(rounds), rounds[0].votes)
            error = float(np.sqrt(scored.squared_error / search.total))
            yield [round_._replace(error=error, step=n_steps) for round_ in rounds]
            if held_out is not None and held_out.add(*rounds):
                break


class _RoundSearch:
    """Finds the product, or the values of one side, with the largest gain in each round."""

    def __init__(
        self, ratings: Ratings, scored: products.ScoredRatings, settings: FactorSettings
    ) -> None:
        self.scored, self.settings = scored, settings
        self.total = float(scored.weights.sum())
        self.least = _LEAST_GAIN * self.total
        users: Any = np.bincount(ratings.users, scored.weights, minlength=ratings.n_users)
        items: Any = np.bincount(ratings.items, scored.weights, minlength=ratings.n_items)
        features = ratings.item_features if settings.side_features else None
        of_users = user_indicators(ratings, settings, ratings.n_users)
        of_items = build_indicators(
            ratings.by_item, ratings.n_users, features, settings.share, ratings.n_items
        )
        alone, shared = settings.bias_regularization, settings.share_regularization
        threads = scored.threads
        self.single_users = products.ValueStep(users, None, alone, shared, threads)
        self.single_items = products.ValueStep(items, None, alone, shared, threads)
        self.users = products.ValueStep(users, of_users, settings.regularization, shared, threads)
        self.items = products.ValueStep(items, of_items, settings.regularization, shared, threads)
        if not settings.real_votes:
            scored.direction = np.where(scored.direction < 0, -1.0, 1.0)
        self._since = 0

    def constant(self) -> FactorRound:
        """Return the scores that fit best without users and items: the log odds of each column."""
        scored, levels = self.scored, self.scored.levels
        ones = np.ones(scored.sizes[0]), np.ones(scored.sizes[1])
        if levels.target == "value":
            mean = float((scored.weights * scored.values).sum()) / self.total
            return FactorRound(ITEMS, *ones, (mean - levels.low) / levels.gaps())
        labels = levels.labels().T
        mass = np.bincount(scored.codes, scored.weights, labels.shape[1])
        yes, no = ((mass * side).sum(axis=1) for side in (labels > 0, labels < 0))
        # Weights of very different sizes leave one side next to nothing.
        odds = np.log(np.maximum(yes, _LEAST_MASS)) - np.log(np.maximum(no, _LEAST_MASS))
        return FactorRound(ITEMS, *ones, odds)

    def find(self, t: int) -> list[FactorRound]:
        """Return the rounds of a step, the first of which is round `t`: none if none is left.

        They follow from the same scores.
        """
        kinds = [self._singles, self._products] if self.settings.products else [self._singles]
        if t > _BIAS_ROUNDS and self._since < _SINGLES_EVERY:
            kinds.reverse()
        # Where users and items have no offsets there may still be tastes, and vice versa.
        for candidates in kinds:
            rounds = [round_ for round_ in candidates(t) if round_.gain >= self.least]
            if rounds:
                self._since = self._since + 1 if rounds[0].kind == BOTH else 0
                return [
                    round_._replace(votes=round_.votes * self.settings.rate(round_.kind))
                    for round_ in rounds
                ]
        return []

    def _singles(self, t: int) -> list[FactorRound]:
        real = self.settings.real_votes
        candidates = [
            products.best_single(self.scored, "users", self.single_users, real),
            products.best_single(self.scored, "items", self.single_items, real),
        ]
        return [max(candidates, key=lambda one: one.gain)]

    def _products(self, t: int) -> list[FactorRound]:
        # Steps of all products together are no longer than the whole step along one.
        max_products = min(WIDTH, max(1, int(1.0 / self.settings.learning_rate)))
        shape = self.scored.sizes[0], min(max_products, self.settings.n_rounds + 1 - t)
        start = np.random.default_rng([self.settings.seed, t]).standard_normal(shape)
        return products.best_products(self.scored, self.users, self.items, start, _SWEEPS)


def tune(
    ratings: Ratings, levels: Levels, scaled: Callable[[float], FactorSettings]
) -> tuple[float, int]:
    """Return the factor on the usual regularization, and the number of rounds.

    They have the least error on a tenth of the ratings held out; `scaled` has the settings.
    """
    settings = scaled(1.0)
    if len(ratings) < FEWEST:
        return LEAST_SCALE, settings.n_rounds
    kept, validation = ratings.split(HELD_OUT, random_state=settings.seed)
    best, smallest = (LEAST_SCALE, 1), np.inf
    for scale in _SCALES_OF_FEW if len(ratings) < MANY else _SCALES_OF_MANY:
        held_out = HeldOutRatings(validation, levels, _TUNING_PATIENCE)
        for _ in train(kept, levels, replace(scaled(scale), n_threads=1), held_out):
            pass
        if min(held_out.errors) < smallest:
            best, smallest = (scale, max(1, held_out.best_round)), min(held_out.errors)
    return best


def warn_of_few_rounds(n_rounds: int, most: int) -> None:
    """Warn if the best number of rounds is the largest that was tried."""
    if n_rounds >= most:
        warnings.warn(
            f"the validation error still fell at n_rounds={most}: more rounds may do better",
            stacklevel=4,
        )


def values_of_new_users(
    ratings: Ratings,
    users: NDArray[np.intp],
    levels: Levels,
    settings: FactorSettings,
    rounds: list[FactorRound],
    n_trained: int,
) -> Reals:
    """Return the values of new users in each round, shape (users, rounds).

    Item values and votes stay. In each round a new user's value follows from its scores so far, as
    in training: the ratings of an old user, given again under a new name, get the same values.
    """
    n_old = ratings.n_users - len(users)
    new = np.flatnonzero(ratings.users >= n_old)
    weights = np.ones(len(new))
    if ratings.weights is not None:
        weights = ratings.weights[new] / ratings.weights[ratings.users < n_trained].mean()
    scored = products.ScoredRatings(
        (ratings.users[new] - n_old).astype(np.int32), ratings.items[new], ratings.values[new],
        weights, levels, (len(users), ratings.n_items), len(rounds), Threads(1),
    )  # fmt: skip
    indicators = user_indicators(ratings, settings, n_trained)
    own_indicators = None if indicators is None else indicators[users]
    values = np.ones((len(users), len(rounds)))
    for _, step in groupby(enumerate(rounds), lambda one: one[1].step):
        numbers, rounds_of_step = zip(*step, strict=True)
        first, at = rounds_of_step[0], list(numbers)
        _, item_values = stack_rounds(list(rounds_of_step))
        own_votes = first.votes / settings.rate(first.kind)
        if first.kind == BOTH:
            scored.face(own_votes)
            sums = scored.sums("users", item_values)
            weights = np.column_stack([one.indicator_weights for one in rounds_of_step])
            prior = None if own_indicators is None else own_indicators @ weights
            values[:, at] = products.newton_step(*sums, settings.regularization, prior)
        elif first.kind != ITEMS:
            sums = products.along(*scored.column_sums("users"), own_votes)
            found_values = products.newton_step(*sums, settings.bias_regularization, None)
            values[:, at] = found_values[:, None]
        scored.advance(values[:, at], item_values, first.votes)
    return values
