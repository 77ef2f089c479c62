"""Boosted factorization with subset indicators: AdaBoost.MH on users, items and features.

The rows are the ratings, and the columns are the user, the item, and the features of both. A rule
tests users and items, so its output is the product of a sign for each user and a sign for each
item: the values of a round.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import exp
from edgewise.common.dtypes import Reals
from edgewise.data import ArrayTable, CategoricalColumn, RawRows
from edgewise.data.table import ColumnTable
from edgewise.estimators import AdaBoostMH
from edgewise.learners import Best, Indicator, Product, Stump
from edgewise.model import EVERYWHERE, Cut, ProductRule, Subset, Terms, Test
from edgewise.model.rules import Categories
from edgewise.ratings import Ratings
from edgewise.recommend.boosted.levels import Levels
from edgewise.recommend.boosted.rounds import BOTH, ITEMS, USERS, FactorRound

RECORDED = ("edge", "alpha", "energy", "bound", "train_error", "hamming_loss")


class SignColumn(NamedTuple):
    """A column of the rows: users, items, or a feature, a number for each user or item."""

    name: str
    of_users: bool
    values: Reals
    categorical: bool
    # The feature's column in its own table; -1 for users and items themselves.
    place: int = -1

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
        for j, column in enumerate(() if table is None else table.columns()):
            assert table is not None
            categorical = isinstance(column, CategoricalColumn)
            if isinstance(column, CategoricalColumn):
                values = np.where(column.codes == column.missing_code, np.nan, column.codes)
            else:
                values = column.reals()
            columns.append(SignColumn(table.name(j), of_users, values, categorical, j))
    known = [column.name for column in columns]
    lost = [name for name in names or () if name not in known]
    if lost:
        listed = ", ".join(map(repr, known))
        raise ValueError(f"features must be among {listed}, got {lost[0]!r}")
    return [column for column in columns if names is None or column.name in names]


def train_signs(
    ratings: Ratings,
    levels: Levels,
    columns: list[SignColumn],
    n_terms: int,
    settings: dict[str, Any],
) -> tuple[list[FactorRound], Terms, dict[str, Reals]]:
    """Return the rounds of AdaBoost.MH as values of users and items, and its history.

    Between them is a term a round: what it tests of user features, columns numbered as in their
    table, or the constant if it tests none or users themselves. `settings` are further ones of
    AdaBoostMH.
    """
    base = Best([Indicator(), Stump(constant=False)])
    model = AdaBoostMH(
        learner=base if n_terms == 1 else Product(base, n_terms=n_terms),
        categorical_features=[j for j, column in enumerate(columns) if column.categorical],
        init_weights="uniform",
        **settings,
    )
    wanted = (levels.labels()[levels.codes(ratings.values)] > 0).astype(np.int64)
    rows = np.column_stack(
        [one.values[ratings.users if one.of_users else ratings.items] for one in columns]
    )
    # One column is a problem of two classes, which has one score.
    model.fit(rows, wanted[:, 0] if wanted.shape[1] == 1 else wanted, ratings.weights)
    if model.stop_reason_ == "interrupted":
        # A boosted model keeps its rounds then; a recommender stays as it was.
        raise KeyboardInterrupt
    rounds, rules = _unfold_rules(model, columns, levels.n_columns, ratings)
    return rounds, rules, {name: model.history_[name][: model.n_rounds_] for name in RECORDED}


def _unfold_rules(
    model: AdaBoostMH, columns: list[SignColumn], width: int, ratings: Ratings
) -> tuple[list[FactorRound], Terms]:
    """Return the rounds of a model, each rule as signs of users and of items."""
    categories, sizes = model.fitted_.categories, {True: ratings.n_users, False: ratings.n_items}
    categorical = [j for j, column in enumerate(columns) if column.categorical]
    sources = {}
    for side, size in sizes.items():
        table = ArrayTable(np.column_stack([column.of_side(side, size) for column in columns]))
        sources[side] = RawRows(table.with_categorical(categorical), categories)
    rounds = [FactorRound(ITEMS, np.ones(sizes[True]), np.ones(sizes[False]), np.zeros(width))]
    rules: list[Test] = [EVERYWHERE]
    for t in range(model.n_rounds_):
        rule = model.terms_.rule(t)
        assert isinstance(rule, Test)
        values = {side: np.ones(size) for side, size in sizes.items()}
        for factor in rule.factors:
            side = columns[factor.column].of_users
            values[side] *= factor.signs(sources[side])
        of_users = [factor for factor in rule.factors if columns[factor.column].of_users]
        kind = BOTH if 0 < len(of_users) < len(rule.factors) else USERS if of_users else ITEMS
        votes = np.array(model.terms_.coefficients[t], dtype=np.float64)
        rounds.append(FactorRound(kind, values[True], values[False], votes))
        feature_columns = [columns[factor.column].place for factor in of_users]
        if min(feature_columns, default=-1) < 0:
            rules.append(EVERYWHERE)
        else:
            moved = (
                _on_features(factor_of_user, columns, ratings, categories)
                for factor_of_user in of_users
            )
            rules.append(ProductRule(tuple(moved)))
    return rounds, Terms.pack(rules, [1.0] * len(rules), np.ones((len(rules), 1)))


def _on_features(
    factor: Cut | Subset, columns: list[SignColumn], ratings: Ratings, categories: Categories
) -> Cut | Subset:
    """Return a factor on the columns of ratings as one on the table of user features."""
    feature_column = columns[factor.column].place
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


def signs_of_new_users(
    ratings: Ratings,
    users: NDArray[np.intp],
    levels: Levels,
    rounds: list[FactorRound],
    rules: Terms,
) -> Reals:
    """Return the signs of new users in each round, shape (users, rounds).

    Each sign is the best for the round's votes and item values on the user's ratings, or follows
    from the user's features if the round tests nothing else of users.
    """
    n_old = ratings.n_users - len(users)
    new = np.flatnonzero(ratings.users >= n_old)
    new_users, items = ratings.users[new] - n_old, ratings.items[new]
    labels = levels.labels()[levels.codes(ratings.values[new])]
    weights = np.ones(len(new)) if ratings.weights is None else ratings.weights[new]
    scores = np.zeros_like(labels)
    signs = np.ones((len(rounds), len(users)))
    features = ratings.user_features
    if features is not None:
        source = RawRows(features.take(users), user_categories(features))
    for t, (kind, _, item_values, votes, *_) in enumerate(rounds):
        z = item_values[items]
        rule = rules.test(t)
        if rule.factors:
            signs[t] = rule.signs(source)
        elif kind != ITEMS:
            margins = scores * labels
            # Only the ratios of a user's exponential weights count: none overflows.
            if levels.logistic:
                sizes = 1 / (1 + exp(margins))
            else:
                sizes = exp(_least(margins, new_users) - margins)
            gradients = (sizes * labels * votes).sum(axis=1) * weights
            signs[t] = np.sign(np.bincount(new_users, gradients * z, len(users)))
        scores += (signs[t][new_users] * z)[:, None] * votes
    return signs.T


def _least(margins: Reals, places: NDArray[np.integer]) -> Reals:
    """Return for each rating the least margin of its user, as a column."""
    smallest = np.full(int(places.max(initial=-1)) + 1, np.inf)
    np.minimum.at(smallest, places, margins.min(axis=1))
    return smallest[places][:, None]
