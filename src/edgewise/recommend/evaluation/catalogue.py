"""Measures of what is recommended out of the whole catalogue, some users at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.metrics import catalogue_coverage, diversity, novelty
from edgewise.recommend.evaluation.hits import Hits, find_hits
from edgewise.recommend.evaluation.measures import Measure
from edgewise.recommend.evaluation.tested import Places, Tested
from edgewise.recommend.lists import best_of

_BEYOND = ("catalogue_coverage", "novelty", "diversity")

# Scores are made for as many users at a time as keep the matrix below so many entries.
_ENTRIES = 1 << 21


def list_values(tested: Tested, measures: list[Measure], relevant: float) -> dict[str, float]:
    """Return measures of the lists that the model recommends to the users of the test, by name.

    A user's list holds all items that training knows, without those the user rated there. What is
    rated `relevant` or higher in the test is relevant. Relevant items that are on no list count as
    missed; for "auc" they stand below all others. Users without a relevant item are left out of
    what counts these.
    """
    users = _Users(tested, relevant)
    ranked = [one for one in measures if one.base not in _BEYOND]
    beyond = [one for one in measures if one.base in _BEYOND]
    longest = max((one.k or 0 for one in beyond), default=0)
    values: dict[str, list[Reals]] = {one.name: [] for one in ranked}
    lists: list[Places] = []
    for turns, scores in users.blocks(everybody=longest > 0):
        if longest:
            lists += [best_of(row, longest) for row in scores]
        block = users.block(turns, scores)
        for one in ranked:
            values[one.name].append(_value(one, block))
    found = {name: _mean(parts) for name, parts in values.items()}
    return found | {one.name: _beyond(one, tested, lists) for one in beyond}


@dataclass(frozen=True, eq=False)
class _Block:
    """Some users' relevant items: where they stand, how many there are, and all other items."""

    hits: Hits
    listed: Reals
    relevant: Reals
    others: Reals


class _Users:
    """The users of the test: their scores, and what is relevant for them."""

    def __init__(self, tested: Tested, relevant: float) -> None:
        self.tested = tested
        model, test = tested.model, tested.test
        self.n_items = model.n_items_
        users: Places = np.unique(test.users).astype(np.intp)
        known = model._known(tested.user_places[users], None)
        self.users = users[known] if tested.unknown == "nan" else users
        # The rows of relevant ratings, without pairs that training had already.
        self.wanted = (test.values >= relevant) & tested.kept & ~self._trained()

    def _trained(self) -> NDArray[np.bool_]:
        """Return which test pairs were in training too."""
        tested, view = self.tested, self.tested.model.ratings_.by_user
        # Numbers of pairs, which ascend as rows and the items of a row do.
        rows = np.repeat(np.arange(len(view.sizes)), view.sizes)
        pairs = rows * self.n_items + view.others
        asked = tested.users * self.n_items + tested.items
        at = np.minimum(np.searchsorted(pairs, asked), len(pairs) - 1)
        return (pairs[at] == asked) & (tested.users >= 0) & (tested.items >= 0)

    def blocks(self, everybody: bool) -> Iterator[tuple[Places, Reals]]:
        """Yield users, as indices of the test, and their scores; minus infinity is on no list."""
        users = self.users
        if not everybody:
            users = users[np.isin(users, self.tested.test.users[self.wanted])]
        size = max(1, _ENTRIES // max(1, self.n_items))
        for start in range(0, len(users), size):
            turns = users[start : start + size]
            yield turns, self._scores(turns)

    def _scores(self, turns: Places) -> Reals:
        model = self.tested.model
        places = self.tested.user_places[turns]
        known = model._known(places, None)
        scores = np.empty((len(turns), self.n_items))
        if known.any():
            scores[known] = model._user_scores(places[known])
        if not known.all():
            scores[~known] = model._item_means()
        scores[:, ~model.known_items_] = -np.inf
        scores[np.isnan(scores)] = -np.inf
        view = model.ratings_.by_user
        for row in np.flatnonzero(places >= 0):
            scores[row, view.others[view.span(int(places[row]))]] = -np.inf
        return scores

    def block(self, turns: Places, scores: Reals) -> _Block:
        """Return where the relevant items of users stand."""
        tested = self.tested
        rows = np.full(tested.test.n_users, -1)
        rows[turns] = np.arange(len(turns))
        mine = np.flatnonzero(self.wanted & (rows[tested.test.users] >= 0))
        row, item = rows[tested.test.users[mine]], tested.items[mine]
        order = np.argsort(row, kind="stable")
        row, item = row[order], item[order]
        relevant = np.bincount(row, minlength=len(turns)).astype(np.float64)
        there = (item >= 0) & (scores[row, item] > -np.inf)
        inside = np.bincount(row[item >= 0], minlength=len(turns))
        return _Block(
            find_hits(scores, row[there], item[there]),
            (scores > -np.inf).sum(axis=1).astype(np.float64),
            relevant,
            (self._unseen(turns) - inside).astype(np.float64),
        )

    def _unseen(self, turns: Places) -> NDArray[np.int64]:
        """Return how many items of the catalogue each user did not rate in training."""
        places = self.tested.user_places[turns]
        sizes = self.tested.model.ratings_.by_user.sizes
        return self.n_items - np.where(places >= 0, sizes[places], 0)


def _value(measure: Measure, block: _Block) -> Reals:
    """Return the value of each user with a relevant item; NaN where it has none."""
    hits, relevant, n_rows = block.hits, block.relevant, len(block.relevant)
    with np.errstate(invalid="ignore", divide="ignore"):
        if measure.base == "auc":
            values = 1.0 - _wrong(block) / (relevant * block.others)
            return values[(relevant > 0) & (block.others > 0)]
        if measure.base == "map":
            values = hits.sums(n_rows, hits.precisions()) / relevant
        else:
            assert measure.k is not None
            values = _cut(measure.base, measure.k, block)
    return values[relevant > 0]


def _cut(base: str, k: int, block: _Block) -> Reals:
    discounts = 1.0 / np.log2(np.arange(2, k + 2))
    weights = discounts if base == "ndcg" else np.ones(k)
    gained = block.hits.sums(len(block.relevant), block.hits.gains(weights))
    if base == "precision":
        return gained / k
    if base == "recall":
        return gained / block.relevant
    best = np.concatenate([[np.nan], np.cumsum(discounts)])
    return gained / best[np.minimum(block.relevant, k).astype(np.intp)]


def _wrong(block: _Block) -> Reals:
    """Return how many pairs of a relevant and another item are in the wrong order; ties half."""
    hits, n_rows = block.hits, len(block.relevant)
    on_list = hits.sums(n_rows, hits.relevant.astype(np.float64))
    wrong = hits.sums(n_rows, hits.wrong_pairs())
    # Those on no list are below all that are, and tied with each other.
    others_listed = block.listed - on_list
    missed = block.relevant - on_list
    return wrong + missed * (others_listed + (block.others - others_listed) / 2.0)


def _mean(parts: list[Reals]) -> float:
    values = np.concatenate(parts) if parts else np.zeros(0)
    return float(values.mean()) if len(values) else float("nan")


def _beyond(measure: Measure, tested: Tested, lists: list[Places]) -> float:
    """Return what lists are like beyond being right; NaN where nothing is recommended."""
    ratings = tested.model.ratings_
    cut = [one[: measure.k] for one in lists]
    longest = max(map(len, cut), default=0)
    if longest == 0 or (measure.base == "diversity" and longest < 2):
        return float("nan")
    if measure.base == "catalogue_coverage":
        return catalogue_coverage(cut, ratings.n_items)
    if measure.base == "novelty":
        n_users = int((ratings.by_user.sizes > 0).sum())
        return float(novelty(cut, ratings.by_item.sizes, n_users))
    return float(diversity(cut, ratings.csr().T.tocsr()))
