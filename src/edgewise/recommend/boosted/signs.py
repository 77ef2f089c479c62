"""Boosted factorisation with subset indicators: AdaBoost.MH on users, items and features.

The rows are the ratings, and the columns are the user, the item, and the features of both. A rule
tests users and items, so its output is the product of a sign for each user and a sign for each
item: the values of a round.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import exp
from edgewise.common.dtypes import Reals
from edgewise.common.fields import Count, ListOf, OrNone, Record, Value
from edgewise.data import Aligned, ArrayTable, CategoricalColumn
from edgewise.data.table import ColumnTable
from edgewise.estimators import AdaBoostMH
from edgewise.learners import Best, Indicator, Product, Stump
from edgewise.model import Cut, Subset, Test
from edgewise.ratings import Ratings
from edgewise.recommend.boosted.levels import Levels
from edgewise.recommend.boosted.rounds import BOTH, ITEMS, USERS, FactorRound, FactorRounds

RECORDED = ("edge", "alpha", "energy", "bound", "train_error", "hamming_loss")

UserRule = list[Cut | Subset]
"""Tests of user features, columns numbered as in the table of user features; signs multiply."""


@dataclass(frozen=True)
class SignColumns:
    """The columns of the rows: "user", "item" and features.

    Attributes
    ----------
    names : list of str
        The names.
    of_users : list of bool
        Whether a column belongs to users.
    values : list of float64 arrays
        A number for every user or item; codes if categorical.
    places : list of int
        The column of a feature in its own table; -1 for "user" and "item".
    categorical : list of int
        The columns that hold codes.
    """

    names: list[str]
    of_users: list[bool]
    values: list[Reals]
    places: list[int]
    categorical: list[int]

    def of_ratings(self, users: NDArray[Any], items: NDArray[Any]) -> Reals:
        """Return the rows of ratings."""
        parts = zip(self.of_users, self.values, strict=True)
        return np.column_stack([v[users] if of_users else v[items] for of_users, v in parts])

    def of_side(self, users: bool) -> Reals:
        """Return a row for each user, or each item; the other side's columns are missing."""
        parts = list(zip(self.of_users, self.values, strict=True))
        size = next((len(v) for of_users, v in parts if of_users == users), 0)
        return np.column_stack(
            [v if of_users == users else np.full(size, np.nan) for of_users, v in parts]
        )

    def some(self, names: Any) -> "SignColumns":
        """Return the columns of the given names, or raise."""
        lost = [name for name in names if name not in self.names]
        if lost:
            listed = ", ".join(repr(name) for name in self.names)
            raise ValueError(f"features must be among {listed}, got {lost[0]!r}")
        kept = [j for j, name in enumerate(self.names) if name in names]
        return SignColumns(
            [self.names[j] for j in kept],
            [self.of_users[j] for j in kept],
            [self.values[j] for j in kept],
            [self.places[j] for j in kept],
            [place for place, j in enumerate(kept) if j in self.categorical],
        )


def sign_columns(ratings: Ratings, side_features: bool) -> SignColumns:
    """Return all columns that rules may test."""
    values = [np.arange(n, dtype=np.float64) for n in (ratings.n_users, ratings.n_items)]
    columns = SignColumns(["user", "item"], [True, False], values, [-1, -1], [0, 1])
    tables = (ratings.user_features, True), (ratings.item_features, False)
    for table, of_users in tables if side_features else ():
        for j in range(0 if table is None else table.n_columns):
            assert table is not None
            column = table.column(j)
            if isinstance(column, CategoricalColumn):
                columns.categorical.append(len(columns.names))
                codes = column.codes.astype(np.float64)
                codes[column.codes == column.missing_code] = np.nan
                columns.values.append(codes)
            else:
                columns.values.append(column.reals())
            columns.names.append(table.name(j))
            columns.of_users.append(of_users)
            columns.places.append(j)
    return columns


@dataclass(frozen=True)
class SignRounds:
    """The rounds of AdaBoost.MH.

    Attributes
    ----------
    rounds : FactorRounds
        The values and votes of the rounds; the first is the constant 0.
    rules : dict from int to UserRule
        The rounds that test features of users but not users themselves, and their tests.
    history : dict of arrays
        The measures recorded.
    """

    rounds: FactorRounds
    rules: dict[int, UserRule]
    history: dict[str, Reals]


def train_signs(
    ratings: Ratings, levels: Levels, columns: SignColumns, n_terms: int, settings: dict[str, Any]
) -> SignRounds:
    """Train AdaBoost.MH and return its rounds as values of users and items.

    `n_terms` is the number of factors of a product, `settings` are further ones of AdaBoostMH.
    """
    base = Best([Indicator(), Stump(constant=False)])
    model = AdaBoostMH(
        learner=base if n_terms == 1 else Product(base, n_terms=n_terms),
        categorical_features=columns.categorical,
        init_weights="uniform",
        **settings,
    )
    wanted = (levels.labels()[levels.codes(ratings.values)] > 0).astype(np.int64)
    rows = columns.of_ratings(ratings.users, ratings.items)
    # One column is a problem of two classes, which has one score.
    model.fit(rows, wanted[:, 0] if wanted.shape[1] == 1 else wanted, ratings.weights)
    if model.stop_reason_ == "interrupted":
        # A boosted model keeps its rounds then; a recommender stays as it was.
        raise KeyboardInterrupt
    return _unfolded(model, columns, levels.n_columns, ratings)


def _unfolded(model: AdaBoostMH, columns: SignColumns, width: int, ratings: Ratings) -> SignRounds:
    """Return the rounds of a model, each rule as signs of users and of items."""
    categories = model.fitted_.categories
    sources = {
        of_users: Aligned(
            ArrayTable(columns.of_side(of_users)).declare(columns.categorical), categories
        )
        for of_users in (True, False)
    }
    sizes = {True: ratings.n_users, False: ratings.n_items}
    rounds, rules = FactorRounds(), {}
    rounds.add(FactorRound(ITEMS, np.ones(sizes[True]), np.ones(sizes[False]), np.zeros(width)))
    for t in range(model.n_rounds_):
        rule = model.terms_.rule(t)
        assert isinstance(rule, Test)
        values = {side: np.ones(sizes[side]) for side in (True, False)}
        for factor in rule.factors:
            side = columns.of_users[factor.column]
            values[side] *= factor.signs(sources[side])
        of_users = [factor for factor in rule.factors if columns.of_users[factor.column]]
        kind = BOTH if 0 < len(of_users) < len(rule.factors) else USERS if of_users else ITEMS
        votes = np.array(model.terms_.coefficients[t], dtype=np.float64)
        rounds.add(FactorRound(kind, values[True], values[False], votes))
        if of_users and all(columns.places[factor.column] >= 0 for factor in of_users):
            rules[t + 1] = [
                _on_features(
                    factor, columns.places[factor.column], ratings, model.fitted_.categories
                )
                for factor in of_users
            ]
    history = {name: model.history_[name][: model.n_rounds_] for name in RECORDED}
    return SignRounds(rounds, rules, history)


def _on_features(
    factor: Cut | Subset, place: int, ratings: Ratings, categories: dict[int, Any]
) -> Cut | Subset:
    """Return a factor on the columns of ratings as one on the table of user features."""
    if isinstance(factor, Cut):
        return Cut(place, float(factor.threshold), int(factor.missing))
    assert ratings.user_features is not None
    column: Any = ratings.user_features.column(place)
    values = np.full(len(column.categories) + 1, factor.values[-1])
    codes = [int(code) for code in categories[factor.column]]
    values[codes] = factor.values[: len(codes)]
    return Subset(place, values)


def feature_signs(rule: UserRule, features: ColumnTable | None, users: NDArray[np.intp]) -> Reals:
    """Return the product of the tests for some users, without features as for missing values."""
    signs = np.ones(len(users))
    for factor in rule:
        column: Any = None if features is None else features.column(factor.column)
        if isinstance(factor, Subset):
            last = len(factor.values) - 1
            # Codes that are new, or stand for missing values, come after those of training.
            codes = np.full(len(users), last) if column is None else column.codes[users]
            signs *= factor.values[np.minimum(codes, last)]
        else:
            numbers = np.full(len(users), np.nan) if column is None else column.reals()[users]
            sides = np.where(numbers >= factor.threshold, 1.0, -1.0)
            signs *= np.where(np.isnan(numbers), factor.missing, sides)
    return signs


def check_rules(rules: dict[int, UserRule], features: ColumnTable | None) -> None:
    """Raise if rules of a file do not fit the features of users."""
    for factor in (factor for rule in rules.values() for factor in rule):
        if features is None or factor.column >= features.n_columns:
            raise ValueError("a rule tests a user feature that does not exist")
        categorical = isinstance(features.column(factor.column), CategoricalColumn)
        if categorical != isinstance(factor, Subset):
            raise ValueError("a rule tests a user feature of another kind")


def _factor(column: int, threshold: float | None, missing: int, values: list[int]) -> Cut | Subset:
    if not {missing, *values} <= {-1, 0, 1}:
        raise ValueError("a rule on features is damaged")
    if threshold is not None:
        return Cut(column, threshold, missing)
    return Subset(column, np.array([*values, missing], dtype=np.int8))


def _taken(factor: Cut | Subset, name: str) -> Any:
    if name == "column":
        return factor.column
    cut = isinstance(factor, Cut)
    if name == "threshold":
        return factor.threshold if isinstance(factor, Cut) else None
    values = [factor.missing] if isinstance(factor, Cut) else factor.values.tolist()
    return values[-1] if name == "missing" else [] if cut else values[:-1]


USER_RULE = ListOf(
    Record(
        {
            "column": Count(),
            "threshold": OrNone(Value(float)),
            "missing": Value(int),
            "values": ListOf(Value(int)),
        },
        _factor,
        _taken,
    )
)
"""How a file holds a user rule."""


def signs_of_new_users(
    ratings: Ratings,
    users: NDArray[np.intp],
    levels: Levels,
    rounds: FactorRounds,
    rules: dict[int, UserRule],
    logistic: bool,
) -> Reals:
    """Return the signs of new users in each round, shape (rounds, users).

    Each sign is the best for the round's votes and item values on the user's ratings, or follows
    from the user's features if the round tests nothing else of users.
    """
    n_old = ratings.n_users - len(users)
    new = np.flatnonzero(ratings.users >= n_old)
    places, items = ratings.users[new] - n_old, ratings.items[new]
    labels = levels.labels()[levels.codes(ratings.values[new])]
    weights = np.ones(len(new)) if ratings.weights is None else ratings.weights[new]
    scores = np.zeros_like(labels)
    signs = np.ones((len(rounds.kinds), len(users)))
    for t, kind in enumerate(rounds.kinds):
        votes, item_values = rounds.votes[t], rounds.item_values[t][items]
        if t in rules:
            signs[t] = feature_signs(rules[t], ratings.user_features, users)
        elif kind != ITEMS:
            margins = scores * labels
            # Only the ratios of a user's exponential weights count: none overflows.
            sizes = 1 / (1 + exp(margins)) if logistic else exp(_least(margins, places) - margins)
            gradients = (sizes * labels * votes).sum(axis=1) * weights
            signs[t] = np.sign(np.bincount(places, gradients * item_values, len(users)))
        scores += (signs[t][places] * item_values)[:, None] * votes
    return signs


def _least(margins: Reals, places: NDArray[np.integer]) -> Reals:
    """Return for each rating the least margin of its user, as a column."""
    least = np.full(int(places.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, places, margins.min(axis=1))
    return least[places][:, None]
