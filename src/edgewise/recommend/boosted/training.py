"""The rounds of boosted factorisation with real values: training, tuning, and new users."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.boosting.callbacks import BestRound
from edgewise.common.dtypes import Reals
from edgewise.common.progress import Step
from edgewise.common.threads import Threads
from edgewise.ratings import Ratings
from edgewise.recommend.boosted import products
from edgewise.recommend.boosted.indicators import indicators_of
from edgewise.recommend.boosted.levels import Levels
from edgewise.recommend.boosted.rounds import BOTH, ITEMS, FactorRound

# Values of users alone and of items alone are tried in the first rounds, and from then on in every
# fourth: little is left for them to learn.
_SINGLES_EVERY = 4

# A product with a gain below this share of the ratings' weight has nothing left to learn.
_LEAST_GAIN = 1e-9

# The least weight of the ratings on one side of a column, where the mean weight is 1.
_LEAST_MASS = 1e-6

# Rounds that learn offsets of users and items only, before products follow, and the factor on
# values of one side alone; turns within a round. Chosen on ratings held out of MovieLens 100K.
_BIAS_ROUNDS, _BIAS_RATE, _SWEEPS = 30, 0.3, 2

# With fewer ratings than this there are too few to hold out: then regularise by the least scale.
_FEWEST, _LEAST_SCALE = 30, 1 / 64

_HELD_OUT = 0.1

# Factors on the usual regularisation. What suits many ratings leaves nothing to learn from few, and
# then neighbouring factors look the same: try all. Many ratings cost more, and differ less.
_SCALES_OF_FEW = (4.0, 1.0, 1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 1024)
_SCALES_OF_MANY = (4.0, 1.0, 1 / 4)
MANY = 50_000
"""With fewer ratings than this, the best regularisation differs most from one set to another."""

# Products follow after the rounds of users alone and items alone, which must not end the search.
_TUNING_PATIENCE = 60


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
        self._best = BestRound(early_stopping_rounds)
        self._scores = np.zeros((len(ratings), levels.n_columns))

    def add(self, found: FactorRound) -> bool:
        """Add a round; return whether to stop."""
        u, z = found.user_values[self.ratings.users], found.item_values[self.ratings.items]
        self._scores += (u * z)[:, None] * found.votes
        wrong = self.levels.expected(self._scores) - self.ratings.values
        self.errors.append(float(np.sqrt((wrong * wrong).mean())))
        return self._best.update(self.errors[-1])

    @property
    def best_round(self) -> int:
        """The round with the least error; the constant is 0."""
        return max(0, self._best.best - 1)


def user_indicators(ratings: Ratings, settings: FactorSettings, n_trained: int) -> Any:
    """Return the indicator features of all users; None if they have none."""
    features = ratings.user_features if settings.side_features else None
    return indicators_of(ratings.by_user, ratings.n_items, features, settings.share, n_trained)


def train(
    ratings: Ratings,
    levels: Levels,
    settings: FactorSettings,
    held_out: HeldOutRatings | None = None,
    step: Step = lambda *_: None,
) -> list[FactorRound]:
    """Return the rounds; `step` is called after each with the training error."""
    weights = np.ones(len(ratings)) if ratings.weights is None else ratings.weights
    rounds: list[FactorRound] = []
    with Threads(settings.n_threads) as threads:
        scored = products.ScoredRatings(
            ratings.users, ratings.items, ratings.values, weights / weights.mean(), levels,
            (ratings.n_users, ratings.n_items), settings.n_rounds, threads,
        )  # fmt: skip
        search = _RoundSearch(ratings, scored, settings)
        for t in range(settings.n_rounds + 1):
            found = search.find(t) if t else search.constant()
            if found is None:
                break
            scored.advance(found.user_values, found.item_values, found.votes)
            error = float(np.sqrt(scored.squared_error / search.total))
            if not len(found.indicator_weights):
                found = found._replace(indicator_weights=np.zeros(search.n_indicators))
            rounds.append(found._replace(error=error))
            if t:
                step(error)
            if held_out is not None and held_out.add(found):
                break
    return rounds


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
        of_items = indicators_of(
            ratings.by_item, ratings.n_users, features, settings.share, ratings.n_items
        )
        self.n_indicators = 0 if of_users is None else of_users.shape[1]
        alone, shared = settings.bias_regularization, settings.share_regularization
        self.single_users = products.ValueStep(users, None, alone, shared)
        self.single_items = products.ValueStep(items, None, alone, shared)
        self.users = products.ValueStep(users, of_users, settings.regularization, shared)
        self.items = products.ValueStep(items, of_items, settings.regularization, shared)

    def constant(self) -> FactorRound:
        """Return the scores that fit best without users and items: the log odds of each column."""
        scored = self.scored
        yes, no = (
            np.array([scored.weights[side].sum() for side in sides])
            for sides in (scored.labels.T > 0, scored.labels.T < 0)
        )
        # Weights of very different sizes leave one side next to nothing.
        odds = np.log(np.maximum(yes, _LEAST_MASS)) - np.log(np.maximum(no, _LEAST_MASS))
        return FactorRound(ITEMS, np.ones(scored.sizes[0]), np.ones(scored.sizes[1]), odds)

    def find(self, t: int) -> FactorRound | None:
        """Return the values and votes of round `t`, or None if nothing is left to learn."""
        all_kinds = t > _BIAS_ROUNDS and t % _SINGLES_EVERY == 0
        kinds = [self._singles, self._products] if self.settings.products else [self._singles]
        if t > _BIAS_ROUNDS and not all_kinds:
            kinds.reverse()
        found: list[FactorRound] = []
        for candidates in kinds:
            found += candidates(t)
            best = max(found, key=lambda one: one.gain)
            # Where users and items have no offsets there may still be tastes, and vice versa.
            if best.gain >= self.least and not all_kinds:
                break
        if best.gain < self.least:
            return None
        return best._replace(votes=best.votes * self.settings.rate(best.kind))

    def _singles(self, t: int) -> list[FactorRound]:
        real = self.settings.real_votes
        return [
            products.best_single(self.scored, "users", self.single_users, real),
            products.best_single(self.scored, "items", self.single_items, real),
        ]

    def _products(self, t: int) -> list[FactorRound]:
        rng = np.random.default_rng([self.settings.seed, t])
        start, real = rng.standard_normal(self.scored.sizes[0]), self.settings.real_votes
        return [products.best_product(self.scored, self.users, self.items, start, _SWEEPS, real)]


def tune(
    ratings: Ratings, levels: Levels, scaled: Callable[[float], FactorSettings]
) -> tuple[float, int]:
    """Return the factor on the usual regularisation, and the number of rounds.

    They have the least error on a tenth of the ratings held out; `scaled` has the settings.
    """
    settings = scaled(1.0)
    if len(ratings) < _FEWEST:
        return _LEAST_SCALE, settings.n_rounds
    kept, rest = ratings.split(_HELD_OUT, random_state=settings.seed)
    best, least = (_LEAST_SCALE, 1), np.inf
    for scale in _SCALES_OF_FEW if len(ratings) < MANY else _SCALES_OF_MANY:
        held_out = HeldOutRatings(rest, levels, _TUNING_PATIENCE)
        train(kept, levels, replace(scaled(scale), n_threads=1), held_out)
        if min(held_out.errors) < least:
            best, least = (scale, max(1, held_out.best_round)), min(held_out.errors)
    return best


def values_of_new_users(
    ratings: Ratings,
    users: NDArray[np.intp],
    levels: Levels,
    settings: FactorSettings,
    rounds: list[FactorRound],
    n_trained: int,
) -> Reals:
    """Return the values of new users in each round, shape (rounds, users).

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
    own = None if indicators is None else indicators[users]
    values = np.ones((len(rounds), len(users)))
    for t, (kind, _, item_values, votes, weights, *_) in enumerate(rounds):
        if kind != ITEMS:
            product = kind == BOTH
            strength = settings.regularization if product else settings.bias_regularization
            sums = products.along(*scored.sums("users", item_values), votes / settings.rate(kind))
            prior = own @ weights if product and own is not None else None
            values[t] = products.newton_step(*sums, strength, prior)
        scored.advance(values[t], item_values, votes)
    return values
