"""Boosted factorisation with subset indicators: AdaBoost.MH on users, items and features.

The rows are the ratings, and the columns are the user, the item, and the features of both. A rule
looks at users and at items, so that its output is the product of a sign for each user and a sign
for each item: the values of a round.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import exp
from edgewise.common.dtypes import Reals
from edgewise.data import Aligned, ArrayTable, CategoricalColumn
from edgewise.estimators import AdaBoostMH
from edgewise.learners import Best, Indicator, Product, Stump
from edgewise.model import Test
from edgewise.ratings import Ratings
from edgewise.recommend.boosted.climb import BOTH, ITEMS, USERS, Found
from edgewise.recommend.boosted.feature_rules import FeatureRule
from edgewise.recommend.boosted.levels import Levels
from edgewise.recommend.boosted.training import Rounds

RECORDED = ("edge", "alpha", "energy", "bound", "train_error", "hamming_loss")


@dataclass(frozen=True)
class Columns:
    """The columns of the rows: for each its name, its side, and the value of every user or item.

    Attributes
    ----------
    names : list of str
        "user", "item", and the names of features.
    at_users : list of bool
        Whether a column belongs to users.
    values : list of float64 arrays
        A number for every user or item; codes where it is categorical.
    categorical : list of int
        The columns that hold codes.
    """

    names: list[str]
    at_users: list[bool]
    values: list[Reals]
    categorical: list[int]

    def of_ratings(self, users: NDArray[Any], items: NDArray[Any]) -> Reals:
        """Return the rows of ratings."""
        parts = zip(self.at_users, self.values, strict=True)
        return np.column_stack([v[users] if at_users else v[items] for at_users, v in parts])

    def of_side(self, users: bool) -> Reals:
        """Return a row for each user, or each item; what belongs to the other side is missing."""
        size = next(
            (len(v) for at, v in zip(self.at_users, self.values, strict=True) if at == users), 0
        )
        parts = zip(self.at_users, self.values, strict=True)
        return np.column_stack([v if at == users else np.full(size, np.nan) for at, v in parts])


def columns_of(ratings: Ratings, names: Any, side_features: bool) -> Columns:
    """Return the columns that rules may look at; `names` are those wanted, None for all."""
    columns = Columns(["user", "item"], [True, False], [], [0, 1])
    columns.values.extend(
        np.arange(size, dtype=np.float64) for size in (ratings.n_users, ratings.n_items)
    )
    tables = (ratings.user_features, True), (ratings.item_features, False)
    for table, at_users in tables if side_features else ():
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
            columns.at_users.append(at_users)
    return columns if names is None else _chosen(columns, names)


def _chosen(columns: Columns, names: Any) -> Columns:
    lost = [name for name in names if name not in columns.names]
    if lost:
        listed = ", ".join(repr(name) for name in columns.names)
        raise ValueError(f"columns must be among {listed}, got {lost[0]!r}")
    kept = [j for j, name in enumerate(columns.names) if name in names]
    return Columns(
        [columns.names[j] for j in kept],
        [columns.at_users[j] for j in kept],
        [columns.values[j] for j in kept],
        [place for place, j in enumerate(kept) if j in columns.categorical],
    )


@dataclass(frozen=True)
class Trained:
    """What AdaBoost.MH has left.

    Attributes
    ----------
    rounds : Rounds
        The values and votes of the rounds; the first is the constant 0.
    rules : dict from int to list of FeatureRule
        What the signs of users come from in rounds that look at features of users only.
    history : dict of arrays
        What was recorded.
    """

    rounds: Rounds
    rules: dict[int, list[FeatureRule]]
    history: dict[str, Reals]


def train_signs(
    ratings: Ratings, levels: Levels, columns: Columns, terms: int, settings: dict[str, Any]
) -> Trained:
    """Train AdaBoost.MH and return its rounds as values of users and items.

    Parameters
    ----------
    ratings, levels : Ratings and Levels
        What to learn.
    columns : Columns
        What rules may look at.
    terms : int
        How many factors a product has.
    settings : dict
        Further settings of AdaBoostMH.
    """
    base = Best([Indicator(), Stump(constant=False)])
    model = AdaBoostMH(
        learner=base if terms == 1 else Product(base, n_terms=terms),
        categorical_features=columns.categorical,
        init_weights="uniform",
        **settings,
    )
    wanted = (levels.labels()[levels.codes(ratings.values)] > 0).astype(np.int64)
    rows = columns.of_ratings(ratings.users, ratings.items)
    # One column is a problem of two classes, which has one score.
    model.fit(rows, wanted[:, 0] if wanted.shape[1] == 1 else wanted, ratings.weights)
    if model.stop_reason_ == "interrupted":
        # A boosted model keeps the rounds it has then; a recommender stays as it was.
        raise KeyboardInterrupt
    return _unfolded(model, columns, levels.n_columns, ratings)


def _unfolded(model: AdaBoostMH, columns: Columns, width: int, ratings: Ratings) -> Trained:
    rounds = Rounds()
    sides = {}
    for at_users in (True, False):
        rows = columns.of_side(at_users)
        table = ArrayTable(rows).declare(columns.categorical)
        sides[at_users] = Aligned(table, model.fitted_.categories)
    sizes = {True: ratings.n_users, False: ratings.n_items}
    rules: dict[int, list[FeatureRule]] = {}
    _add(rounds, np.ones(sizes[True]), np.ones(sizes[False]), np.zeros(width), ITEMS)
    for t in range(model.n_rounds_):
        rule = model.terms_.rule(t)
        assert isinstance(rule, Test)
        values = {side: np.ones(sizes[side]) for side in (True, False)}
        seen = {columns.at_users[factor.column] for factor in rule.factors}
        for factor in rule.factors:
            side = columns.at_users[factor.column]
            values[side] *= factor.signs(sides[side])
        kind = BOTH if len(seen) == 2 else USERS if True in seen else ITEMS
        _add(rounds, values[True], values[False], model.terms_.coefficients[t], kind)
        free = any(columns.names[factor.column] == "user" for factor in rule.factors)
        if kind != ITEMS and not free:
            rules[t + 1] = [
                FeatureRule.of(factor, columns.names[factor.column], model.fitted_.categories)
                for factor in rule.factors
                if columns.at_users[factor.column]
            ]
    history = {name: model.history_[name][: model.n_rounds_] for name in RECORDED}
    return Trained(rounds, rules, history)


def _add(rounds: Rounds, users: Reals, items: Reals, votes: Reals, kind: int) -> None:
    found = Found(kind, users, items, np.array(votes, dtype=np.float64), gain=0.0)
    rounds.add(found, found.votes, n_marks=0, error=float("nan"))


def replayed_signs(
    ratings: Ratings,
    users: NDArray[np.intp],
    levels: Levels,
    rounds: Rounds,
    rules: dict[int, list[FeatureRule]],
    logistic: bool,
) -> Reals:
    """Return the signs of new users in each round, shape (rounds, users).

    Each is the best for the round's votes and item values on the ratings of the user, or follows
    from the user's features where the round looks at nothing else of users.
    """
    n_old = ratings.n_users - len(users)
    new = np.flatnonzero(ratings.users >= n_old)
    places, items = ratings.users[new] - n_old, ratings.items[new]
    labels = levels.labels()[levels.codes(ratings.values[new])]
    weights = np.ones(len(new)) if ratings.weights is None else ratings.weights[new]
    scores = np.zeros_like(labels)
    signs = np.ones((len(rounds.kinds), len(users)))
    for t, kind in enumerate(rounds.kinds):
        if kind != ITEMS:
            margins = scores * labels
            # Of exponential weights only the ratios within a user count: none overflows.
            sizes = 1 / (1 + exp(margins)) if logistic else exp(_least(margins, places) - margins)
            pulls = (sizes * labels * rounds.votes[t]).sum(axis=1) * weights
            along = np.bincount(places, pulls * rounds.item_values[t][items], len(users))
            signs[t] = _by_features(rules[t], ratings, users) if t in rules else np.sign(along)
        scores += (signs[t][places] * rounds.item_values[t][items])[:, None] * rounds.votes[t]
    return signs


def _least(margins: Reals, places: NDArray[np.integer]) -> Reals:
    """Return for each rating the least margin of its user, as a column."""
    least = np.full(int(places.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, places, margins.min(axis=1))
    return least[places][:, None]


def _by_features(rules: list[FeatureRule], ratings: Ratings, users: NDArray[np.intp]) -> Reals:
    signs = np.ones(len(users))
    for rule in rules:
        signs *= rule.signs(ratings.user_features, users)
    return signs


def validation_errors(rounds: Rounds, levels: Levels, held_out: Ratings, logistic: bool) -> Reals:
    """Return the root mean squared error on ratings held out, after each round."""
    scores = np.zeros((len(held_out), levels.n_columns))
    errors = []
    rows = zip(rounds.user_values, rounds.item_values, rounds.votes, strict=True)
    for user_values, item_values, votes in rows:
        products = user_values[held_out.users] * item_values[held_out.items]
        scores += products[:, None] * votes
        wrong = levels.expected(scores, logistic) - held_out.values
        errors.append(float(np.sqrt((wrong * wrong).mean())))
    return np.array(errors)
