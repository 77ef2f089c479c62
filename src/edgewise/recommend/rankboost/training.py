"""The training of one user's ranker: its problem, its rules, and the mean ratings of items."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import splitmix64
from edgewise.backend.base import MISSING_AUTO
from edgewise.backend.reference.ranking import GradedPairs
from edgewise.common.choices import QUERY_WEIGHTS
from edgewise.common.compiled import use_compiled
from edgewise.common.dtypes import Columns, Exacts, Reals, Signs
from edgewise.estimators.judgments import graded_layout
from edgewise.objective.feedback import GradedLists, Layout, best_step
from edgewise.objective.ranking import MAX_SPAN, MIN_ENERGY, SMOOTHING
from edgewise.ratings import Ratings, RowRatings
from edgewise.recommend.arrays import weights_of
from edgewise.recommend.kernels import load_compiled, rankers
from edgewise.recommend.rankboost.matrix import ItemMatrix, UserMatrix, user_matrix

MISSING_SIDES = {"learn": MISSING_AUTO, "low": -1, "abstain": 0, "high": 1}
"""The side of missing values, by its name in stumps."""

# A round looks at this many columns at least, on average; draws repeat after this many rounds.
_MIN_DRAWN = 10
_MAX_DRAWS = 512

# The cost of a round in NumPy, per entry of the user's matrix and in any case, in visits of
# a histogram; setting up takes as long as this many rounds.
_VISITS_PER_ENTRY, _VISITS_PER_ROUND, _SETUP_ROUNDS = 5, 200_000, 15

# An item's mean counts this many more ratings, each of them the overall mean.
_DAMPING = 5.0

# Scores further apart than this are in order for all purposes.
_WIDEST_START = 30.0


class RankerSettings(NamedTuple):
    """How rules and steps are chosen: see `RankBoostRecommender`."""

    n_rounds: int
    learning_rate: float
    monotonic_cst: str
    missing: str
    max_features: float = 1.0
    seed: int = 0


class Cuts(NamedTuple):
    """The rules of all rounds, in order.

    A cut has its column in the user's matrix; the first bin on the positive side, counted from the
    column's own first; the output for missing values; and the coefficient of a rule that outputs
    -1 or +1.
    """

    columns: Columns
    firsts: Columns
    sides: Signs
    steps: Reals


NOBODY = RowRatings(np.empty(0, dtype=np.intp), np.empty(0), None)
"""The ratings of a user without any."""


class UserProblem(NamedTuple):
    """The training data of one ranker: the user's items in the order of their ratings.

    Columns of the item matrix below `n_references` are reference users, the others item features.
    `layout` has the pairs, `start` the scores before the first round.
    """

    matrix: UserMatrix
    n_references: int
    layout: Layout
    start: Reals


def user_problem(
    matrix: ItemMatrix, rated: RowRatings, start: Reals | None, without: int, pair_weight: str
) -> UserProblem:
    """Return the problem of a user; `start` has scores of all items, `without` is its column."""
    query: Exacts = np.zeros(len(rated.others), dtype=np.int64)
    rows = np.arange(len(rated.others))
    layout = graded_layout(rows, rated.values, query, pair_weight, rated.weights)
    items = rated.others[layout.rows]
    scores = np.zeros(len(items)) if start is None else start[items]
    in_order = replace(layout, rows=rows.astype(np.int32))
    return UserProblem(user_matrix(matrix, items, without), matrix.n_references, in_order, scores)


def draw_columns(columns: Columns, settings: RankerSettings) -> NDArray[np.bool_]:
    """Return which columns each round looks at, shape (rounds, columns).

    The draw depends on the seed, the round and the column's number alone.
    """
    share = max(settings.max_features, _MIN_DRAWN / max(len(columns), 1))
    if share >= 1.0:
        return np.ones((1, len(columns)), dtype=bool)
    rounds = np.arange(min(settings.n_rounds, _MAX_DRAWS), dtype=np.uint64)[:, None]
    zero, step = np.zeros(1, dtype=np.uint64), np.uint64(1)
    state = np.array([settings.seed], dtype=np.uint64) + (rounds << np.uint64(32))
    by_round = splitmix64(zero, state + step)
    mixed = splitmix64(zero, by_round + columns.astype(np.uint64) + step)
    return (mixed >> np.uint64(11)).astype(np.float64) < share * 2.0**53


def uses_compiled_loop(
    users: list[int], ratings: Ratings, matrix: ItemMatrix, n_rounds: int
) -> bool:
    """Return whether the rankers of users are worth loading the compiled loop."""
    view, sizes = ratings.by_user, np.diff(matrix.by_item.indptr)
    entries = sum(int(sizes[view.row(user).others].sum()) for user in users)
    work = float(_VISITS_PER_ENTRY) * entries + _VISITS_PER_ROUND * len(users)
    return use_compiled(work * (n_rounds + _SETUP_ROUNDS))


def find_cuts(problem: UserProblem, settings: RankerSettings, compiled: bool) -> Cuts:
    """Return the rules of a user's ranker."""
    (table, columns, _), lists, n = problem.matrix, GradedLists(problem.layout), settings.n_rounds
    is_reference = columns < problem.n_references
    rises = is_reference & (settings.monotonic_cst == "increasing")
    learns = (settings.monotonic_cst != "none") & ~rises
    # Item features always learn the side of missing values.
    missing = np.where(is_reference, MISSING_SIDES[settings.missing], MISSING_AUTO).astype(np.int8)
    cuts = Cuts(np.empty(n, np.intp), np.empty(n, np.intp), np.empty(n, np.int8), np.empty(n))
    kernels: Any = load_compiled("rankers") if compiled else rankers
    n = kernels.boost(
        table, GradedPairs.of(lists) if compiled else lists, problem.start,
        (rises.astype(np.int8), learns, missing), float(settings.learning_rate),
        (MIN_ENERGY, SMOOTHING, MAX_SPAN), draw_columns(columns, settings), cuts,
    )  # fmt: skip
    return Cuts(cuts.columns[:n], cuts.firsts[:n], cuts.sides[:n], cuts.steps[:n])


class ItemMeans(NamedTuple):
    """The mean ratings of items: weighted sums, and weights."""

    sums: Reals
    counts: Reals

    @staticmethod
    def of(ratings: Ratings) -> "ItemMeans":
        """Return the means of ratings."""
        weights = weights_of(ratings)
        return ItemMeans(
            _totals(ratings.items, weights * ratings.values, ratings.n_items),
            _totals(ratings.items, weights, ratings.n_items),
        )

    def without(self, rated: RowRatings) -> Reals:
        """Return each item's mean without a user's ratings, damped toward the overall mean."""
        weights = weights_of(rated)
        sums, counts = self.sums.copy(), self.counts.copy()
        sums[rated.others] -= weights * rated.values
        counts[rated.others] -= weights
        total, count = sums.sum(), counts.sum()
        # Rounding may leave a little of the user's weights.
        return _damp_means(sums, counts, total / count if count > 1e-9 else 0.0)

    def start_weight(self, ratings: Ratings, pair_weight: str) -> float:
        """Return the weight of the mean with the least exponential loss of all pairs.

        Users count equally, and each user's own ratings are left out of the means.
        """
        weights = weights_of(ratings)
        values, users, items = ratings.values, ratings.users, ratings.items
        sums = self.sums.sum() - _totals(users, weights * values, ratings.n_users)
        counts = self.counts.sum() - _totals(users, weights, ratings.n_users)
        means = np.where(counts > 1e-9, sums / np.maximum(counts, 1e-9), 0.0)
        left = self.sums[items] - weights * values, self.counts[items] - weights
        others = _damp_means(*left, means[users])
        query: Exacts = np.unique(users, return_inverse=True)[1].astype(np.int64)
        layout = graded_layout(np.arange(len(values)), values, query, pair_weight, ratings.weights)
        span = float(np.ptp(others)) if len(others) else 0.0
        if layout.n_pairs == 0 or span == 0.0:
            return 0.0
        lists = GradedLists(layout, power=QUERY_WEIGHTS["equal"])
        moments = partial(lists.moments, np.zeros(len(values)), others[layout.rows])
        return max(0.0, best_step(moments, _WIDEST_START / span))


def _totals(places: Any, amounts: Reals, n: int) -> Reals:
    return np.bincount(places, amounts, n).astype(np.float64, copy=False)


def _damp_means(sums: Reals, counts: Reals, mean: Reals | float) -> Reals:
    left = np.where(counts > 1e-9, counts, 0.0)
    return (np.where(left > 0, sums, 0.0) + _DAMPING * mean) / (left + _DAMPING)
