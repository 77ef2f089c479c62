"""The average viewer: what the others think of items, where rankers begin."""

from functools import partial
from typing import NamedTuple

import numpy as np

from edgewise.common.dtypes import Columns, Exacts, Reals, Rows
from edgewise.estimators.judgements import QUERY_WEIGHTS, graded_layout
from edgewise.objective.lists import GradedLists
from edgewise.objective.newton import best_step
from edgewise.ratings import Ratings

# An item's mean counts as many more ratings, each of them the overall mean.
_SHRINK = 5.0

# Scores that are further apart than this are in order for all purposes.
_WIDEST_START = 30.0


class Averages(NamedTuple):
    """What items were rated on average; anyone's own ratings can be taken out of it.

    Attributes
    ----------
    sums, counts : float64 arrays of shape (items,)
        The weighted sum of each item's ratings, and their weight.
    """

    sums: Reals
    counts: Reals

    @staticmethod
    def of(ratings: Ratings) -> "Averages":
        """Return the averages of ratings."""
        weights = np.ones(len(ratings)) if ratings.weights is None else ratings.weights
        return Averages(
            _totals(ratings.items, weights * ratings.values, ratings.n_items),
            _totals(ratings.items, weights, ratings.n_items),
        )

    def without(self, items: Columns, values: Reals, weights: Reals | None) -> Reals:
        """Return the mean rating of each item without some of the ratings, shrunk to their mean."""
        taken = np.ones(len(items)) if weights is None else weights
        sums, counts = self.sums.copy(), self.counts.copy()
        sums[items] -= taken * values
        counts[items] -= taken
        return _shrunk(sums, counts, _mean(sums.sum(), counts.sum()))


def _totals(places: Rows, amounts: Reals, n: int) -> Reals:
    return np.bincount(places, amounts, n).astype(np.float64, copy=False)


def _mean(total: float, count: float) -> float:
    # What is left of one's own weights by rounding is no rating of others.
    return total / count if count > 1e-9 else 0.0


def _shrunk(sums: Reals, counts: Reals, mean: Reals | float) -> Reals:
    left = np.where(counts > 1e-9, counts, 0.0)
    return (np.where(left > 0, sums, 0.0) + _SHRINK * mean) / (left + _SHRINK)


def start_weight(averages: Averages, ratings: Ratings, pair_weight: str) -> float:
    """Return the weight of the mean rating that orders the items of all users best.

    It minimises the exponential loss of all pairs, where each user counts the same and the means
    leave that user's own ratings out.
    """
    own = np.ones(len(ratings)) if ratings.weights is None else ratings.weights
    values, users, items = ratings.values, ratings.users, ratings.items
    # Of everything, and of each item, what is left without the user's own.
    sums = averages.sums.sum() - _totals(users, own * values, ratings.n_users)
    counts = averages.counts.sum() - _totals(users, own, ratings.n_users)
    means = np.where(counts > 1e-9, sums / np.maximum(counts, 1e-9), 0.0)
    left = averages.sums[items] - own * values, averages.counts[items] - own
    others = _shrunk(*left, means[users])
    query: Exacts = np.unique(users, return_inverse=True)[1].astype(np.int64)
    layout = graded_layout(np.arange(len(values)), values, query, pair_weight, ratings.weights)
    span = float(np.ptp(others)) if len(others) else 0.0
    if layout.n_pairs == 0 or span == 0.0:
        return 0.0
    lists = GradedLists(layout, power=QUERY_WEIGHTS["equal"])
    moments = partial(lists.moments, np.zeros(len(values)), others[layout.rows])
    return max(0.0, best_step(moments, _WIDEST_START / span))
