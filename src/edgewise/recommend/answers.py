"""How a recommender answers: ids found, unknown ids dealt with, lists filled."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer
from edgewise.common.dtypes import Reals
from edgewise.common.ids import as_ids
from edgewise.ratings import Ids, Ratings
from edgewise.recommend.lists import Ranked, RankedLists, best_of

Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Scores are made for as many users at a time as keep the matrix below so many entries.
_ENTRIES = 1 << 22


class Answers:
    """The part of a recommender that works on ids and lists, given scores by index."""

    predicts: ClassVar[str]
    ratings_: Ratings
    known_users_: Mask
    known_items_: Mask
    mean_: float

    def _trained(self) -> Ratings:
        raise NotImplementedError

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        raise NotImplementedError

    def _user_scores(self, users: Indices) -> Reals:
        raise NotImplementedError

    def _similarities(self, side: str, places: Indices) -> Reals:
        raise NotImplementedError

    def _places(self, name: str, ids: Any) -> Indices:
        ratings = self._trained()
        return (ratings.user_ids if name == "users" else ratings.item_ids).find(name, ids)

    def _known(self, users: Indices | None, items: Indices | None) -> Mask:
        """Return where both sides are known."""
        masks = [
            (places >= 0) & known[places]
            for places, known in ((users, self.known_users_), (items, self.known_items_))
            if places is not None
        ]
        return np.logical_and.reduce(masks)

    def _raise_unknown(self, users: Any, found: Indices, items: Any, placed: Indices) -> None:
        ratings = self._trained()
        for name, ids, places, known, catalogue in (
            ("users", users, found, self.known_users_, ratings.user_ids),
            ("items", items, placed, self.known_items_, ratings.item_ids),
        ):
            cold = ~((places >= 0) & known[places]) if len(places) else np.zeros(0, dtype=bool)
            if cold.any():
                lost = catalogue.some_of(ids, np.where(cold, -1, 0))
                raise ValueError(
                    f"{name} must be ids that training knows, got {lost}; unknown='mean' or 'nan' "
                    "predicts for others too"
                )

    def _means(self, users: Indices, items: Indices) -> Reals:
        """Return what is predicted where one side or both are unknown."""
        if self.predicts == "score":
            return np.full(len(users), self._mean_score())
        known_user, known_item = self._known(users, None), self._known(None, items)
        means = np.full(len(users), self.mean_)
        rated = known_user & (self.ratings_.by_user.sizes[users] > 0)
        means[rated] = self._side_means("users")[users[rated]]
        rated = ~known_user & known_item & (self.ratings_.by_item.sizes[items] > 0)
        means[rated] = self._side_means("items")[items[rated]]
        return means

    def _side_means(self, side: str) -> Reals:
        """Return the mean rating of every user or item; that of all where there are none."""
        ratings = self.ratings_
        ones, size = (
            (ratings.users, ratings.n_users)
            if side == "users"
            else (ratings.items, ratings.n_items)
        )
        weights = np.ones(len(ratings)) if ratings.weights is None else ratings.weights
        totals = np.bincount(ones, weights, minlength=size)
        sums = np.bincount(ones, weights * ratings.values, minlength=size)
        return np.where(totals > 0, sums / np.maximum(totals, 1e-300), self.mean_)

    def _mean_score(self) -> float:
        """Return the mean score of the pairs in training."""
        users, items = (side.astype(np.intp) for side in (self.ratings_.users, self.ratings_.items))
        known = self._known(users, items)
        return float(self._pair_scores(users[known], items[known]).mean())

    def _lists(
        self, places: Indices, n: int, exclude_seen: bool, open_items: Mask, unknown: str
    ) -> list[Ranked]:
        """Return the best items for users, scored some users at a time."""
        known = self._known(places, None)
        ids, view = self.ratings_.item_ids.values, self.ratings_.by_user
        lists = [Ranked(ids[:0], np.zeros(0))] * len(places)
        size = max(1, _ENTRIES // max(1, self.ratings_.n_items))
        turns = np.flatnonzero(known)
        for start in range(0, len(turns), size):
            block = turns[start : start + size]
            scores = np.where(open_items, self._user_scores(places[block]), -np.inf)
            for row, turn in enumerate(block):
                if exclude_seen:
                    scores[row, view.others[view.span(int(places[turn]))]] = -np.inf
                best = best_of(scores[row], n)
                lists[turn] = Ranked(ids[best], scores[row, best])
        if unknown == "mean" and not known.all():
            means = np.where(open_items, self._item_means(), -np.inf)
            best = best_of(means, n)
            for turn in np.flatnonzero(~known):
                lists[turn] = Ranked(ids[best], means[best])
        return lists

    def _item_means(self) -> Reals:
        """Return what stands for an item's score where nothing is known of the user."""
        return self._side_means("items")

    def _similar(self, side: str, ids: Any, n: int, catalogue: Ids, known: Mask) -> Any:
        integer("n", n, 1)
        places = catalogue.find(side, ids)
        if not ((places >= 0) & known[places]).all():
            nothing = np.zeros(0, dtype=np.intp)
            pair = (ids, places, (), nothing) if side == "users" else ((), nothing, ids, places)
            self._raise_unknown(*pair)
        lists = []
        size = max(1, _ENTRIES // max(1, len(catalogue)))
        for start in range(0, len(places), size):
            block = places[start : start + size]
            scores = np.where(known, self._similarities(side, block), -np.inf)
            scores[np.arange(len(block)), block] = -np.inf
            for row in scores:
                best = best_of(row, n)
                lists.append(Ranked(catalogue.values[best], row[best]))
        if is_one(ids):
            return lists[0]
        return RankedLists.of(as_ids(side, ids), lists, catalogue.values)


def is_one(ids: Any) -> bool:
    """Return whether this is one id, and not several."""
    return isinstance(ids, (str, int, np.integer, np.str_))


def paired(users: Indices, items: Indices) -> tuple[Indices, Indices]:
    """Return as many users as items; one goes with all of the other side."""
    if len(users) == len(items):
        return users, items
    if len(users) == 1:
        return np.repeat(users, len(items)), items
    if len(items) == 1:
        return users, np.repeat(items, len(users))
    raise ValueError(f"items must be as many as users, {len(users)}, got {len(items)}")
