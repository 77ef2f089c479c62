"""Metrics of lists recommended out of the whole catalog, in blocks of users.

The common metrics need only the positions of relevant items. Any other metric of the registry ranks
every item of every list, which takes ten times as long.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Exacts, Indices, Reals
from edgewise.metrics import (
    Lists,
    Metric,
    average_popularity,
    catalog_coverage,
    diversity,
    gini,
    novelty,
)
from edgewise.metrics.ranks import FirstRelevant
from edgewise.metrics.significance import Z95, UnitSums
from edgewise.recommend.arrays import iter_blocks
from edgewise.recommend.lists import find_best

if TYPE_CHECKING:
    from edgewise.recommend.evaluation.evaluator import Evaluator

_BY_POSITION = ("ndcg", "precision", "recall", "hit_rate", "success", "map", "mrr", "auc")

# Blocks of users are sized to at most this many scores.
_ENTRIES = 1 << 21


class MetricValue(NamedTuple):
    """The value of a metric, and where it has one its sums over users."""

    value: float
    sums: UnitSums | None = None

    @property
    def half_interval(self) -> float:
        """Half the 95% interval; NaN without one."""
        return math.nan if self.sums is None else Z95 * self.sums.standard_error()


def list_values(
    evaluator: "Evaluator", metrics: list[Metric], relevant: float
) -> dict[str, MetricValue]:
    """Return metrics of the lists that the model recommends to the users of the test, by name."""
    users = _TestUsers(evaluator, relevant)
    ranked = [metric for metric in metrics if metric.kind == "ranking"]
    others = [metric for metric in metrics if metric.kind == "catalog"]
    longest = max((metric.k or 0 for metric in others), default=0)
    values = {metric.name: np.full(evaluator.test.n_users, np.nan) for metric in ranked}
    lists: list[Indices] = []
    for block, scores in users.blocks(everybody=longest > 0):
        if longest:
            lists += [find_best(row, longest) for row in scores]
        items = users.relevant_items(block, scores)
        for metric in ranked:
            value = items.by_position if metric.base in _BY_POSITION else items.by_ranking
            values[metric.name][block] = value(metric)
    results = {name: mean_of(each) for name, each in values.items()}
    return results | {
        metric.name: _list_value(metric, evaluator, users.users, lists) for metric in others
    }


class _TestUsers:
    """The users of the test: their scores, and their relevant items."""

    def __init__(self, evaluator: "Evaluator", relevant: float) -> None:
        self.evaluator = evaluator
        model, test = evaluator.model, evaluator.test
        self.n_items, self.seen = model.n_items_, model.ratings_.by_user
        users: Indices = np.unique(test.users).astype(np.intp)
        known = model._are_known(evaluator.trained_users[users], None)
        self.users = users[known] if evaluator.unknown == "nan" else users
        # Relevant test ratings, without pairs that were in training.
        pairs = self.seen.row_numbers * self.n_items + self.seen.others
        tested = evaluator.users * self.n_items + evaluator.items
        # Pair numbers ascend, as rows and the items of a row do.
        at = np.minimum(np.searchsorted(pairs, tested), len(pairs) - 1)
        trained = (pairs[at] == tested) & (evaluator.users >= 0) & (evaluator.items >= 0)
        self.is_relevant = (test.values >= relevant) & evaluator.is_included & ~trained

    def blocks(self, everybody: bool) -> Iterator[tuple[Indices, Reals]]:
        """Yield users, by their test index, and their scores; minus infinity is on no list."""
        users = self.users
        if not everybody:
            users = users[np.isin(users, self.evaluator.test.users[self.is_relevant])]
        for block in iter_blocks(len(users), self.n_items, _ENTRIES):
            yield users[block], self._scores(users[block])

    def _scores(self, block: Indices) -> Reals:
        model = self.evaluator.model
        user_index = self.evaluator.trained_users[block]
        known = model._are_known(user_index, None)
        scores = np.empty((len(block), self.n_items))
        if known.any():
            scores[known] = model._user_scores(user_index[known])
        if not known.all():
            scores[~known] = model._popularity()
        scores[:, ~model.known_items_] = -np.inf
        scores[np.isnan(scores)] = -np.inf
        for row in np.flatnonzero(user_index >= 0).tolist():
            scores[row, self.seen.row(int(user_index[row])).others] = -np.inf
        return scores

    def relevant_items(self, block: Indices, scores: Reals) -> "_RelevantItems":
        """Return where the relevant items of users stand."""
        evaluator = self.evaluator
        rows = np.full(evaluator.test.n_users, -1)
        rows[block] = np.arange(len(block))
        pairs = np.flatnonzero(self.is_relevant & (rows[evaluator.test.users] >= 0))
        row, item = rows[evaluator.test.users[pairs]], evaluator.items[pairs]
        relevant = np.bincount(row, minlength=len(block)).astype(np.float64)
        listed = (item >= 0) & (scores[row, item] > -np.inf)
        user_index = evaluator.trained_users[block]
        unseen = self.n_items - np.where(user_index >= 0, self.seen.sizes[user_index], 0)
        others = unseen - np.bincount(row[item >= 0], minlength=len(block))
        return _RelevantItems(
            scores,
            (row, np.where(listed, item, -1)),
            relevant,
            others.astype(np.float64),
            *_tie_groups(scores, row[listed], item[listed]),
        )


@dataclass(frozen=True, eq=False)
class _RelevantItems:
    """The relevant items of a block of users, and the tie groups that hold any of them.

    `scores` are minus infinity for items on no list; `pairs` are the rows and relevant items, -1 on
    no list; `relevant` and `others` count each user's relevant items and all others.

    A tie group, of items with equal scores, belongs to a row (user). There are `above` items above
    it and `tied` in it, in any order alike; `inside` relevant ones are in it, `before` above it.
    """

    scores: Reals
    pairs: tuple[NDArray, NDArray]
    relevant: Reals
    others: Reals
    row: NDArray[np.intp]
    above: Exacts
    tied: Exacts
    inside: Exacts
    before: Exacts

    def by_position(self, metric: Metric) -> Reals:
        """Return the value of each user; NaN without a relevant item, or where undefined."""
        with np.errstate(invalid="ignore", divide="ignore"):
            values = self._values(metric.base, metric.k)
        return np.where(self.relevant > 0, values, np.nan)

    def _values(self, base: str, cutoff: int | None) -> Reals:
        if base == "auc":
            return 1.0 - self._wrong() / (self.relevant * self.others)
        k = self.scores.shape[1] if cutoff is None else cutoff
        if base == "map":
            return self._sums(self._precisions(k)) / self.relevant
        if base == "mrr":
            return self._value_at_first(lambda ranks: (ranks <= k) / ranks)
        if base in ("hit_rate", "success"):
            return self._value_at_first(lambda ranks: (ranks <= k).astype(np.float64))
        discounts = 1.0 / np.log2(np.arange(2, k + 2))
        gained = self._sums(self._gains(discounts if base == "ndcg" else np.ones(k)))
        if base == "ndcg":
            best = np.concatenate([[np.nan], np.cumsum(discounts)])
            return gained / best[np.minimum(self.relevant, k).astype(np.intp)]
        return gained / (k if base == "precision" else self.relevant)

    def by_ranking(self, metric: Metric) -> Reals:
        """Return the value of each user, as `by_position` does, by ranking whole lists."""
        row, item = self.pairs
        values = np.full(len(self.scores), np.nan)
        missed = row[item < 0]
        relevant = np.zeros(self.scores.shape, dtype=bool)
        relevant[row[item >= 0], item[item >= 0]] = True
        on_list = self.scores > -np.inf
        users = np.concatenate([np.nonzero(on_list)[0], missed])
        if not len(users):
            return values
        lists = Lists(
            np.concatenate([relevant[on_list], np.ones(len(missed), dtype=bool)]),
            users,
            returned=np.arange(len(users)) < len(users) - len(missed),
        )
        scores = np.concatenate([self.scores[on_list], np.zeros(len(missed))])
        values[lists.queries] = metric.function(lists, scores, empty="skip", per_query=True)
        return values

    def _sums(self, values: Reals) -> Reals:
        """Return the sum of values by group over each row."""
        return np.bincount(self.row, values, minlength=len(self.scores)).astype(np.float64)

    def _value_at_first(self, value: Callable[[Reals], Reals]) -> Reals:
        """Return what the rank of each row's first relevant item is worth; 0 if it has none."""
        first = np.flatnonzero(self.before == 0)
        columns = (self.row, self.above, self.tied, self.inside)
        groups = FirstRelevant.of(*(column[first] for column in columns))
        values = np.zeros(len(self.scores))
        values[groups.query] = groups.mean_at_rank(value)
        return values

    def _gains(self, weights: Reals) -> Reals:
        """Return the expected sum of the weights at each group's relevant items, from the top."""
        ends = np.concatenate([[0.0], np.cumsum(weights)])
        last = len(weights)
        high = ends[np.minimum(self.above + self.tied, last)]
        return self.inside / self.tied * (high - ends[np.minimum(self.above, last)])

    def _precisions(self, k: int) -> Reals:
        """Return the expected sum of precisions at the relevant items of the top k, by group."""
        starts = np.cumsum(self.tied) - self.tied
        group = np.repeat(np.arange(len(self.tied)), self.tied)
        step = np.arange(len(group)) - starts[group]
        slope = (self.inside - 1) / np.maximum(self.tied - 1, 1)
        expected = (self.before + 1)[group] + step * slope[group]
        rank = self.above[group] + step + 1
        sums = np.add.reduceat(np.where(rank <= k, expected / rank, 0.0), starts)
        return self.inside / self.tied * sums

    def _wrong(self) -> Reals:
        """Return the pairs of a relevant and another item in the wrong order; ties count half."""
        on_list = self._sums(self.inside.astype(np.float64))
        tied = (self.tied - self.inside) / 2.0
        wrong = self._sums(self.inside * (self.above - self.before + tied))
        # Items on no list stand below all others, and are tied.
        others_listed = (self.scores > -np.inf).sum(axis=1) - on_list
        missed = self.relevant - on_list
        return wrong + missed * (others_listed + (self.others - others_listed) / 2.0)


def _tie_groups(
    scores: Reals, rows: NDArray[np.intp], items: NDArray[np.intp]
) -> tuple[NDArray[np.intp], Exacts, Exacts, Exacts, Exacts]:
    """Return the tie groups of relevant items, given their rows (ascending) and items."""
    above, tied = np.empty((2, len(rows)), dtype=np.int64)
    different, starts = np.unique(rows, return_index=True)
    for row, span in zip(different, pairwise([*starts, len(rows)]), strict=True):
        pairs, ranked = slice(*span), np.sort(scores[row])
        values = scores[row, items[pairs]]
        right = np.searchsorted(ranked, values, side="right")
        above[pairs], tied[pairs] = len(ranked) - right, right - np.searchsorted(ranked, values)
    groups = rows * scores.shape[1] + above
    _, first, inside = np.unique(groups, return_index=True, return_counts=True)
    row, before = rows[first], np.cumsum(inside) - inside
    before -= before[np.searchsorted(row, row)]
    return row, above[first], tied[first], inside, before


def defined_mean(values: Reals) -> float:
    """Return the mean of the values that are not NaN; NaN without any."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def mean_of(values: Reals) -> MetricValue:
    """Return the mean over users of values; NaN is left out."""
    return MetricValue(defined_mean(values), UnitSums.of(values))


def _list_value(
    metric: Metric, evaluator: "Evaluator", users: Indices, lists: list[Indices]
) -> MetricValue:
    """Return a metric of the lists of users, by test index; NaN if nothing is recommended."""
    ratings = evaluator.model.ratings_
    cut = [items[: metric.k] for items in lists]
    longest = max(map(len, cut), default=0)
    if longest == 0 or (metric.base == "diversity" and longest < 2):
        return MetricValue(float("nan"))
    if metric.base in ("catalog_coverage", "gini"):
        of_all = gini if metric.base == "gini" else catalog_coverage
        return MetricValue(of_all(cut, ratings.n_items))
    if metric.base == "diversity":
        each = diversity(cut, ratings.csr().T.tocsr(), per_list=True)
    else:
        n_users = int((ratings.by_user.sizes > 0).sum())
        of_counts = novelty if metric.base == "novelty" else average_popularity
        each = of_counts(cut, ratings.by_item.sizes, n_users, per_list=True)
    values = np.full(evaluator.test.n_users, np.nan)
    values[users] = each
    return mean_of(values)
