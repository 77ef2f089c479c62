"""Boosted factorization with subset indicators: AdaBoost.MH on users, items and features.

The rows are the ratings, and the columns are the user, the item, and the features of both. A rule
tests users and items, so its output is the product of a sign for each user and a sign for each
item: the values of a round.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np

from edgewise.backend.arithmetic import exp
from edgewise.common.dtypes import Indices, Reals
from edgewise.common.text import quote_names
from edgewise.data import ArrayTable, CategoricalColumn, RawRows
from edgewise.data.table import ColumnTable
from edgewise.estimators import AdaBoostMH
from edgewise.learners import Best, Indicator, Product, Stump
from edgewise.model import EVERYWHERE, Cut, ProductRule, Subset, Terms, Test
from edgewise.model.rules import Categories
from edgewise.ratings import Ratings
from edgewise.recommend.arrays import weights_of
from edgewise.recommend.boosted.levels import RatingLevels
from edgewise.recommend.boosted.rounds import (
    BOTH,
    ITEMS,
    USERS,
    FactorRounds,
    FactorStep,
    FittedRounds,
)
from edgewise.recommend.boosted.training import HeldOutRatings

if TYPE_CHECKING:
    from edgewise.recommend.boosted.model import BoostedFactorization

# Chosen on ratings held out of the training parts of MovieLens 100K and of parts of 1M.
_ROUNDS, _RATE = 500, 0.05

RECORDED = ("edge", "alpha", "energy", "bound", "train_error", "hamming_loss")


class SignColumn(NamedTuple):
    """A column of the rows: users, items, or a feature, a number for each user or item."""

    name: str
    of_users: bool
    values: Reals
    is_categorical: bool
    # The feature's column in its table; None for users and items themselves.
    feature: int | None = None

    def of_side(self, users: bool, size: int) -> Reals:
        """Return the values of users, or items; the other side's columns are missing."""
        return self.values if self.of_users == users else np.full(size, np.nan)


def sign_columns(
    ratings: Ratings, side_features: bool, names: Sequence[str] | None
) -> list[SignColumn]:
    """Return the columns that rules may test, by name; None for all."""
    columns = [
        SignColumn("user", True, np.arange(ratings.n_users, dtype=np.float64), True),
        SignColumn("item", False, np.arange(ratings.n_items, dtype=np.float64), True),
    ]
    tables = (ratings.user_features, True), (ratings.item_features, False)
    for table, of_users in tables if side_features else ():
        if table is None:
            continue
        for j, (name, column) in enumerate(table.named_columns()):
            if isinstance(column, CategoricalColumn):
                values = np.where(column.codes == column.missing_code, np.nan, column.codes)
                columns.append(SignColumn(name, of_users, values, True, j))
            else:
                columns.append(SignColumn(name, of_users, column.reals(), False, j))
    known = [column.name for column in columns]
    for name in names or ():
        if name not in known:
            raise ValueError(f"features must be among {quote_names(known)}, got {name!r}")
    return [column for column in columns if names is None or column.name in names]


@dataclass(frozen=True)
class SignBoosting:
    """AdaBoost.MH with products of indicators; `BoostedFactorization` has the parameters."""

    n_terms: int
    side_features: bool
    features: Sequence[str] | None
    # Further settings of AdaBoostMH.
    settings: dict[str, Any]

    @classmethod
    def of(cls, model: "BoostedFactorization", seed: int) -> Self:
        """Return the algorithm of a model."""
        settings = {
            "n_rounds": _ROUNDS if model.n_rounds is None else model.n_rounds,
            "votes": model.votes,
            "loss": model.loss,
            "learning_rate": _RATE if model.learning_rate is None else model.learning_rate,
            "random_state": seed,
            "n_jobs": model.n_jobs,
            "verbose": model.verbose,
        }
        return cls(model.n_terms, model.side_features, model.features, settings)

    def fit(
        self, ratings: Ratings, levels: RatingLevels, held_out: HeldOutRatings | None
    ) -> FittedRounds:
        """Return all rounds; the errors on ratings held out are measured up to their stop."""
        columns = sign_columns(ratings, self.side_features, self.features)
        base = Best([Indicator(), Stump(constant=False)])
        model = AdaBoostMH(
            learner=base if self.n_terms == 1 else Product(base, n_terms=self.n_terms),
            preset="paper",
            categorical_features=[j for j, column in enumerate(columns) if column.is_categorical],
            init_weights="uniform",
            **self.settings,
        )
        labels = (levels.labels()[levels.codes(ratings.values)] > 0).astype(np.int64)
        sides = {True: ratings.users, False: ratings.items}
        rows = np.column_stack([column.values[sides[column.of_users]] for column in columns])
        # One column is a problem of two classes, which has one score.
        model.fit(rows, labels[:, 0] if labels.shape[1] == 1 else labels, ratings.weights)
        if model.stop_reason_ == "interrupted":
            # A boosted model keeps its rounds then; a recommender stays as it was.
            raise KeyboardInterrupt
        steps, rules = _unfold_rules(model, columns, levels.n_columns, ratings)
        if held_out is not None:
            any(held_out.add(step) for step in steps)
        sizes = ratings.n_users, ratings.n_items, 0
        rounds = FittedRounds.collect(steps, sizes, len(steps), levels.n_columns).rounds
        history = {name: model.history_[name][: model.n_rounds_] for name in RECORDED}
        return FittedRounds(rounds, history, rules)

    @staticmethod
    def values_of_new_users(
        ratings: Ratings, n_new: int, levels: RatingLevels, rounds: FactorRounds, rules: Terms
    ) -> Reals:
        """Return the signs of the last users in each round, shape (users, rounds).

        Each sign is the best for the round's votes and item values on the user's ratings, or
        follows from the user's features if these are all that the round tests of users.
        """
        view, features = ratings.by_user.last(n_new), ratings.user_features
        users, labels = view.row_numbers, levels.labels()[levels.codes(view.values)]
        weights, scores = weights_of(view), np.zeros_like(labels)
        signs = np.ones((n_new, len(rounds.kinds)))
        if features is not None:
            new = np.arange(ratings.n_users - n_new, ratings.n_users)
            source = RawRows(features.take(new), user_categories(features))
        for t, votes in enumerate(rounds.votes):
            item_signs, rule = rounds.item_values[view.others, t], rules.test(t)
            if rule.factors:
                signs[:, t] = rule.signs(source)
            elif rounds.kinds[t] != ITEMS:
                sizes = _weigh_margins(scores * labels, users, levels.logistic)
                gradients = (sizes * labels * votes).sum(axis=1) * weights
                signs[:, t] = np.sign(np.bincount(users, gradients * item_signs, n_new))
            scores += (signs[users, t] * item_signs)[:, None] * votes
        return signs


def _weigh_margins(margins: Reals, users: Indices, logistic: bool) -> Reals:
    """Return weights of margins, up to a factor for each user."""
    if logistic:
        return 1 / (1 + exp(margins))
    # Only the ratios of a user's exponential weights count: none overflows.
    smallest = np.full(int(users.max(initial=-1)) + 1, np.inf)
    np.minimum.at(smallest, users, margins.min(axis=1))
    return exp(smallest[users][:, None] - margins)


def _unfold_rules(
    model: AdaBoostMH, columns: list[SignColumn], width: int, ratings: Ratings
) -> tuple[list[FactorStep], Terms]:
    """Return the rounds of a model, each rule as signs of users and of items, and their rules.

    The rule of a round is its test of user features, with columns numbered as in their table, or
    the constant if it tests none, or users themselves.
    """
    categories, sizes = model.fitted_.categories, {True: ratings.n_users, False: ratings.n_items}
    categorical = [j for j, column in enumerate(columns) if column.is_categorical]
    sources = {}
    for side, size in sizes.items():
        table = ArrayTable(np.column_stack([column.of_side(side, size) for column in columns]))
        sources[side] = RawRows(table.with_categorical(categorical), categories)
    steps = [FactorStep.of_side(ITEMS, np.ones(ratings.n_items), ratings.n_users, np.zeros(width))]
    rules: list[Test] = [EVERYWHERE]
    for t in range(model.n_rounds_):
        factors = model.fitted_.terms.test(t).factors
        values = {side: np.ones((size, 1)) for side, size in sizes.items()}
        for factor in factors:
            side = columns[factor.column].of_users
            values[side][:, 0] *= factor.signs(sources[side])
        of_users = [factor for factor in factors if columns[factor.column].of_users]
        kind = BOTH if 0 < len(of_users) < len(factors) else USERS if of_users else ITEMS
        votes = np.array(model.fitted_.terms.coefficients[t], dtype=np.float64)
        steps.append(FactorStep(kind, values[True], values[False], votes))
        tests_features = of_users and all(
            columns[factor.column].feature is not None for factor in of_users
        )
        moved = (_on_features(factor, columns, ratings, categories) for factor in of_users)
        rules.append(ProductRule(tuple(moved)) if tests_features else EVERYWHERE)
    return steps, Terms.pack(rules, [1.0] * len(rules), np.ones((len(rules), 1)))


def _on_features(
    factor: Cut | Subset, columns: list[SignColumn], ratings: Ratings, categories: Categories
) -> Cut | Subset:
    """Return a factor on the columns of ratings as one on the table of user features."""
    feature_column = cast("int", columns[factor.column].feature)
    if isinstance(factor, Cut):
        return Cut(feature_column, float(factor.threshold), int(factor.missing))
    n_values = len(user_categories(ratings.user_features)[feature_column])
    values = np.full(n_values + 1, factor.values[-1])
    codes = np.array(categories[factor.column], dtype=np.intp)
    values[codes] = factor.values[: len(codes)]
    return Subset(feature_column, values)


def user_categories(features: ColumnTable | None) -> Categories:
    """Return the categories of user features, by column."""
    columns = () if features is None else features.columns()
    return {
        j: column.categories
        for j, column in enumerate(columns)
        if isinstance(column, CategoricalColumn)
    }
