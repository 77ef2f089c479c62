"""Boosted factorization with real values: rounds, tuning, and new users."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from edgewise.boosting.callbacks import BestRound, StoppingRule
from edgewise.common.dtypes import ROW, Mask, Reals
from edgewise.common.progress import progress
from edgewise.common.threads import Threads
from edgewise.ratings import Ratings, Split
from edgewise.recommend.arrays import relative_weights
from edgewise.recommend.boosted.levels import RatingLevels
from edgewise.recommend.boosted.products import (
    ScoredRatings,
    ValueStep,
    best_products,
    best_single,
    newton_step,
    slopes_along,
)
from edgewise.recommend.boosted.rounds import (
    BOTH,
    ITEMS,
    USERS,
    FactorRounds,
    FactorStep,
    FittedRounds,
)
from edgewise.recommend.features import build_indicators
from edgewise.recommend.kernels.boosting import WIDTH

if TYPE_CHECKING:
    from edgewise.recommend.boosted.model import BoostedFactorization

# After the first rounds, values of one side alone are tried after this many steps of products:
# little is left for them to learn.
_SINGLES_EVERY = 8

# A product with a gain below this fraction of the ratings' weight has nothing left to learn.
_MIN_GAIN = 1e-9

# The smallest weight of the ratings on one side of a column, where the mean weight is 1.
_MIN_MASS = 1e-6

# Rounds that learn offsets of users and items only, before products follow, and the factor on
# values of one side alone. Chosen on ratings held out of MovieLens 100K.
_BIAS_ROUNDS, _BIAS_RATE = 30, 0.3

# The fraction of the ratings to tune on. Below the second number of ratings there are too few to
# hold out, and the scale of regularization is the third.
_TUNING_FRACTION, _MIN_RATINGS, _SCALE_OF_FEWER = 0.1, 30, 1 / 64

# Factors on the usual regularization. Penalties for many ratings leave nothing to learn from few,
# and then neighboring factors look the same: try all. Many ratings cost more, and differ less.
_SCALES_OF_FEW = (4.0, 1.0, 1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 1024)
_SCALES_OF_MANY = (4.0, 1.0, 1 / 4)
_MANY_RATINGS = 50_000

# The same for ratings without levels.
_VALUE_SCALES = (1.0, 4.0, 16.0, 64.0)

# Products follow after the rounds of users alone and items alone, which must not end the search.
_TUNING_PATIENCE = 160


class Penalties(NamedTuple):
    """The L2 penalties on values in products, on values of one side alone, and on shared values."""

    products: float
    singles: float
    shared: float


# The usual rounds and penalties. More ratings allow for more rounds, and need a larger penalty,
# since each round then takes less of what is particular to a user: both grow with the root of their
# number from here on, up to a factor. Chosen on ratings held out of the training parts of MovieLens
# 100K and of parts of 1M.
_RATE, _ROUNDS, PENALTIES = 0.1, 1000, Penalties(products=200.0, singles=25.0, shared=25.0)
_USUAL_RATINGS, _MAX_GROWTH = 80_000, 4.0

# The same for ratings without levels. Chosen on generated sets of few and many items, rated by most
# users or by few.
_VALUE_ROUNDS, VALUE_PENALTY = 400, 50.0


@dataclass(frozen=True)
class RealBoosting:
    """Boosting with real values by Newton steps, with the parameters of a model."""

    model: "BoostedFactorization"
    penalties: Penalties
    n_rounds: int
    seed: int
    n_threads: int

    @property
    def learning_rate(self) -> float:
        """The factor on the votes of products."""
        return _RATE if self.model.learning_rate is None else float(self.model.learning_rate)

    def fit(
        self, ratings: Ratings, levels: RatingLevels, held_out: "HeldOutRatings | None"
    ) -> FittedRounds:
        """Return the rounds of training, until ratings held out stop it."""
        indicators = self.user_indicators(ratings, ratings.n_users)
        n_indicators = 0 if indicators is None else indicators.shape[1]
        sizes = ratings.n_users, ratings.n_items, n_indicators
        with progress(bool(self.model.verbose), self.n_rounds, "rounds") as show:

            def shown_steps() -> Iterator[FactorStep]:
                for number, step in enumerate(self.train(ratings, levels, held_out)):
                    for _ in range(step.n_rounds if number else 0):
                        show(step.error)
                    yield step

            return FittedRounds.collect(shown_steps(), sizes, self.n_rounds + 1, levels.n_columns)

    def train(
        self, ratings: Ratings, levels: RatingLevels, held_out: "HeldOutRatings | None"
    ) -> Iterator[FactorStep]:
        """Yield the steps of training; the first is the constant."""
        with Threads(self.n_threads) as threads:
            scored = ScoredRatings.of(ratings, levels, self.n_rounds, threads)
            search = _RoundSearch(ratings, scored, self)
            step: FactorStep | None = search.constant()
            n_rounds = 0
            while step is not None:
                scored.advance(step.user_values, step.item_values, step.votes)
                yield step._replace(error=float(np.sqrt(scored.squared_error / search.total)))
                n_rounds += step.n_rounds
                stops = held_out is not None and held_out.add(step)
                step = None if stops or n_rounds > self.n_rounds else search.find(n_rounds)

    def values_of_new_users(
        self,
        ratings: Ratings,
        n_new: int,
        levels: RatingLevels,
        rounds: FactorRounds,
        n_trained: int,
    ) -> Reals:
        """Return the values of the last users in each round, shape (users, rounds).

        Item values and votes stay. In each round a new user's value follows from its scores so far,
        as in training: the ratings of an old user, given again under a new name, get the same
        values.
        """
        view = ratings.by_user.last(n_new)
        scored = ScoredRatings(
            (view.row_numbers.astype(ROW), view.others), view.values,
            relative_weights(view, ratings, n_trained), levels, (n_new, ratings.n_items),
            len(rounds.kinds), Threads(1),
        )  # fmt: skip
        indicators = self.user_indicators(ratings, n_trained)
        new_indicators = None if indicators is None else indicators[ratings.n_users - n_new :]
        values = np.ones((n_new, len(rounds.kinds)))
        for at, step in rounds.iter_steps():
            votes = step.votes / self.rate(step.kind)
            if step.kind == BOTH:
                scored.set_direction(votes)
                slopes = scored.sum_slopes("users", step.item_values)
                prior = None if new_indicators is None else new_indicators @ step.indicator_weights
                values[:, at] = newton_step(*slopes, self.penalties.products, prior)
            elif step.kind == USERS:
                slopes = slopes_along(*scored.sum_columns("users"), votes)
                values[:, at] = newton_step(*slopes, self.penalties.singles, None)[:, None]
            scored.advance(values[:, at], step.item_values, step.votes)
        return values

    def rate(self, kind: int) -> float:
        """Return the factor on the votes of a round of some kind."""
        return self.learning_rate if kind == BOTH else _BIAS_RATE

    def user_indicators(self, ratings: Ratings, n_trained: int) -> Any:
        """Return the indicator features of all users; None if they have none."""
        features = ratings.user_features if self.model.side_features else None
        view, n_items, share = ratings.by_user, ratings.n_items, self.model.share
        return build_indicators(view, n_items, features, share, n_trained)

    def item_indicators(self, ratings: Ratings) -> Any:
        """Return the indicator features of all items; None if they have none."""
        features = ratings.item_features if self.model.side_features else None
        view, n_users, share = ratings.by_item, ratings.n_users, self.model.share
        return build_indicators(view, n_users, features, share, ratings.n_items)


def hold_out(ratings: Ratings, fraction: float | None, seed: int) -> tuple[Ratings, Ratings | None]:
    """Return the ratings to train on, and the ratings to validate on."""
    if fraction is None:
        return ratings, None
    try:
        return ratings.split(fraction, random_state=seed)
    except ValueError as error:
        raise ValueError(
            f"validation_fraction={fraction} leaves none of {len(ratings)} ratings to train or to "
            "validate on"
        ) from error


class HeldOutRatings:
    """The root mean squared error on ratings held out, after each round; the constant is first."""

    def __init__(
        self, ratings: Ratings, levels: RatingLevels, early_stopping_rounds: int | None
    ) -> None:
        self.ratings, self.levels = ratings, levels
        self.errors: list[float] = []
        self._best = BestRound(StoppingRule(early_stopping_rounds))
        self._scores = np.zeros((len(ratings), levels.n_columns))

    def add(self, step: FactorStep) -> bool:
        """Add the rounds of a step; return whether to stop.

        All rounds of a step but the last have the error before it.
        """
        users, items = step.user_values[self.ratings.users], step.item_values[self.ratings.items]
        for values in (users * items).T:
            self._scores += values[:, None] * step.votes
        wrong = self.levels.mean(self._scores) - self.ratings.values
        error = float(np.sqrt((wrong * wrong).mean()))
        errors = [*self.errors[-1:] * (step.n_rounds - 1), error]
        self.errors += errors
        return [self._best.update(value) for value in errors][-1]

    @property
    def best_round(self) -> int:
        """The round with the lowest error; the constant is 0."""
        return max(0, self._best.best - 1)


class _RoundSearch:
    """Finds the products, or the values of one side, with the largest gain in each step."""

    def __init__(self, ratings: Ratings, scored: ScoredRatings, boosting: RealBoosting) -> None:
        self.scored, self.boosting = scored, boosting
        self.total = float(scored.weights.sum())
        self._n_since_single = 0
        indicators = boosting.user_indicators(ratings, ratings.n_users)
        self.users = self._value_step(ratings.users, ratings.n_users, indicators)
        indicators = boosting.item_indicators(ratings)
        self.items = self._value_step(ratings.items, ratings.n_items, indicators)
        if boosting.model.votes == "discrete":
            scored.direction = np.where(scored.direction < 0, -1.0, 1.0)

    def _value_step(self, rows: Any, n_rows: int, indicators: Any) -> ValueStep:
        counts: Any = np.bincount(rows, self.scored.weights, minlength=n_rows)
        products, _, shared = self.boosting.penalties
        return ValueStep(counts, indicators, products, shared, self.scored.threads)

    def constant(self) -> FactorStep:
        """Return the scores that fit best without users and items: the log odds of each column."""
        scored, levels = self.scored, self.scored.levels
        n_users, n_items = scored.sizes
        if levels.target == "value":
            mean = float((scored.weights * scored.values).sum()) / self.total
            votes = (mean - levels.low) / levels.gaps()
            return FactorStep.of_side(ITEMS, np.ones(n_items), n_users, votes)
        labels = levels.labels().T
        mass = np.bincount(scored.codes, scored.weights, labels.shape[1])
        # With weights of very different sizes, one side can weigh next to nothing.
        yes, no = (
            np.maximum((mass * is_label).sum(axis=1), _MIN_MASS)
            for is_label in (labels > 0, labels < 0)
        )
        return FactorStep.of_side(ITEMS, np.ones(n_items), n_users, np.log(yes) - np.log(no))

    def find(self, t: int) -> FactorStep | None:
        """Return the next step, whose first round is round `t`; None if nothing is left to gain."""
        searches = [self._find_single, self._find_products][: 1 + (self.boosting.model.n_terms > 1)]
        if t > _BIAS_ROUNDS and self._n_since_single < _SINGLES_EVERY:
            searches.reverse()
        # Where users and items have no offsets there may still be tastes, and vice versa.
        for search in searches:
            step = search(t)
            useful = step.gains >= _MIN_GAIN * self.total
            if useful.any():
                is_product = step.kind == BOTH
                self._n_since_single = self._n_since_single + 1 if is_product else 0
                votes = step.votes * self.boosting.rate(step.kind)
                return _select_rounds(step, useful)._replace(votes=votes)
        return None

    def _find_single(self, t: int) -> FactorStep:
        penalty, model = self.boosting.penalties.singles, self.boosting.model
        users, items = (
            best_single(self.scored, side, penalty, model.votes == "real")
            for side in ("users", "items")
        )
        return users if users.gains[0] >= items.gains[0] else items

    def _find_products(self, t: int) -> FactorStep:
        # Steps of all products together are no longer than the whole step along one.
        max_products = min(WIDTH, max(1, int(1.0 / self.boosting.learning_rate)))
        shape = self.scored.sizes[0], min(max_products, self.boosting.n_rounds + 1 - t)
        start = np.random.default_rng([self.boosting.seed, t]).standard_normal(shape)
        return best_products(self.scored, self.users, self.items, start)


def _select_rounds(step: FactorStep, selected: Mask) -> FactorStep:
    """Return some rounds of a step."""
    weights = step.indicator_weights
    return step._replace(
        user_values=step.user_values[:, selected],
        item_values=step.item_values[:, selected],
        indicator_weights=None if weights is None else weights[:, selected],
        gains=step.gains[selected],
    )


def choose_boosting(
    model: "BoostedFactorization", ratings: Ratings, levels: RatingLevels, seed: int
) -> tuple[RealBoosting, float]:
    """Return the algorithm of a model, and the factor on the usual regularization."""
    usual_rounds, usual = _usual_settings(len(ratings), levels)
    n_rounds = usual_rounds if model.n_rounds is None else model.n_rounds
    fixed = model.regularization, model.bias_regularization, model.share_regularization

    def boosting_at(scale: float) -> RealBoosting:
        penalties = (
            scale * size if value is None else float(value)
            for value, size in zip(fixed, usual, strict=True)
        )
        return RealBoosting(model, Penalties(*penalties), n_rounds, seed, model._threads())

    tuned = model.tuned
    if tuned == "auto":
        is_fixed = model.regularization is not None or model.validation_fraction is not None
        tuned = not is_fixed and len(ratings) < _MANY_RATINGS
    if not tuned:
        return boosting_at(1.0), 1.0
    if len(ratings) < _MIN_RATINGS:
        return boosting_at(_SCALE_OF_FEWER), _SCALE_OF_FEWER
    split = ratings.split(_TUNING_FRACTION, random_state=seed)
    if levels.target == "value":
        scale = tune_value_scale(model, split, usual)
        return boosting_at(scale), scale
    scales = _SCALES_OF_FEW if len(ratings) < _MANY_RATINGS else _SCALES_OF_MANY
    scale, best = tune(split, levels, [(scale, boosting_at(scale)) for scale in scales])
    if model.tuned is True:
        warn_of_few_rounds(best, n_rounds)
    return replace(boosting_at(scale), n_rounds=best), scale


def tune(
    split: Split, levels: RatingLevels, candidates: list[tuple[float, RealBoosting]]
) -> tuple[float, int]:
    """Return the scale of regularization and the number of rounds with the lowest error."""
    best, lowest = (_SCALE_OF_FEWER, 1), np.inf
    for scale, boosting in candidates:
        held_out = HeldOutRatings(split.test, levels, _TUNING_PATIENCE)
        for _ in replace(boosting, n_threads=1).train(split.train, levels, held_out):
            pass
        if min(held_out.errors) < lowest:
            best, lowest = (scale, max(1, held_out.best_round)), min(held_out.errors)
    return best


def tune_value_scale(model: "BoostedFactorization", split: Split, usual: Penalties) -> float:
    """Return the factor on the usual penalties with the lowest error."""
    names = ("regularization", "bias_regularization", "share_regularization")
    free = {
        name: size for name, size in zip(names, usual, strict=True) if getattr(model, name) is None
    }
    if not free:
        return 1.0
    test, errors = split.test, []
    users, items = test.user_ids.values[test.users], test.item_ids.values[test.items]
    trial = clone(model).set_params(
        target="value", tuned=False, validation_fraction=None, early_stopping_rounds=None, verbose=0
    )
    for scale in _VALUE_SCALES:
        trial.set_params(**{name: scale * size for name, size in free.items()})
        wrong = trial.fit(split.train).predict(users, items, "mean") - test.values
        errors.append(float((wrong * wrong).mean()))
    return _VALUE_SCALES[int(np.argmin(errors))]


def _usual_settings(n_ratings: int, levels: RatingLevels) -> tuple[int, Penalties]:
    """Return the usual number of rounds, and the usual penalties."""
    if levels.target == "value":
        return _VALUE_ROUNDS, PENALTIES._replace(products=VALUE_PENALTY)
    growth = float(np.clip((n_ratings / _USUAL_RATINGS) ** 0.5, 1.0, _MAX_GROWTH))
    return round(_ROUNDS * growth), PENALTIES._replace(products=PENALTIES.products * growth)


def warn_of_few_rounds(n_rounds: int, maximum: int) -> None:
    """Warn if the best number of rounds is the largest that was tried."""
    if n_rounds >= maximum:
        warnings.warn(
            f"the validation error was still falling at n_rounds={maximum}: try more rounds",
            stacklevel=4,
        )
