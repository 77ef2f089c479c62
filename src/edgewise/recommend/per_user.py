"""The bases of recommenders that train a model for each user, on first use."""

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from edgewise.common.checks import integer
from edgewise.common.dtypes import Indices, Reals
from edgewise.common.fields import Array, Required
from edgewise.common.threads import Threads
from edgewise.ratings import Ratings
from edgewise.recommend.base import Recommender

MOST_ROUNDS = 10_000
"""The most rounds of a user's ranker: those of a saved model are trained when it is asked."""

# The cache of user models holds at most this many numbers.
_CACHED_NUMBERS = 1 << 24


class PerUserRecommender(Recommender):
    """Base of recommenders that train a small model for each user, on first use.

    A subclass writes :meth:`_learn` and :meth:`_row`. User models are cached in `learned_`; the
    oldest are dropped first.
    """

    refits_on_update = True
    stored: ClassVar = {"learned_": None}

    learned_: "OrderedDict[int, Any]"

    @abstractmethod
    def _learn(self, user: int) -> Any:
        """Return the model of a user."""

    @abstractmethod
    def _row(self, learned: Any) -> Reals:
        """Return the scores of all items under a user's model."""

    def _some(self, learned: Any, items: Indices) -> Reals:
        """Return the scores of some items, equal to those in :meth:`_row`."""
        return self._row(learned)[items]

    def _size(self) -> int:
        """Return how many numbers a user's model holds."""
        return 1

    def _recall(self, user: int) -> Any:
        """Return the model of a user, from the cache or trained now."""
        learned = self.__dict__.setdefault("learned_", OrderedDict())
        known = learned.get(user)
        if known is None:
            known = learned[user] = self._learn(user)
            while len(learned) > max(16, _CACHED_NUMBERS // self._size()):
                learned.popitem(last=False)
        return known

    def _each(self, run: Callable[[int], None], n_tasks: int) -> None:
        """Run tasks, each about one user, on the threads of the model."""
        # A user's equations are few: with several BLAS threads they mostly wait for each other,
        # and can take twenty times as long.
        with (
            _linear_algebra().limit(limits=1, user_api="blas"),
            Threads(min(self._threads(), n_tasks)) as pool,
        ):
            pool.map(run, range(n_tasks))

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        order = np.argsort(users, kind="stable")
        different, starts = np.unique(users[order], return_index=True)
        parts = np.split(order, starts[1:])
        scores = np.empty(len(users))

        def run(task: int) -> None:
            learned = self._recall(int(different[task]))
            scores[parts[task]] = self._some(learned, items[parts[task]])

        self._each(run, len(different))
        return scores

    def _user_scores(self, users: Indices) -> Reals:
        scores = np.empty((len(users), self.n_items_))

        def run(task: int) -> None:
            scores[task] = self._row(self._recall(int(users[task])))

        self._each(run, len(users))
        return scores

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        self.learned_ = OrderedDict()


class ViewerRecommender(PerUserRecommender):
    """Base of recommenders that predict from the ratings of other users, Iyer's viewers."""

    stored: ClassVar = {
        "viewers_": Required(Array("viewers", np.intp, below="users")),
        "viewer_means_": "viewers",
    }

    viewers: Any
    viewers_: Indices
    viewer_means_: Reals

    def _fit(self, ratings: Ratings) -> None:
        self.viewers_ = chosen_viewers(self.viewers, ratings, self._seed())
        self.viewer_means_ = ratings.by_user.means[self.viewers_]

    def _viewer_ratings(self, items: Indices) -> tuple[Indices, Indices, Reals]:
        """Return the viewers' ratings of some items: number of the viewer, place of the item."""
        view = self.ratings_.by_item
        number = np.full(self.n_users_, -1, dtype=np.intp)
        number[self.viewers_] = np.arange(len(self.viewers_))
        entries = view.entries(items)
        numbers = number[view.others[entries]]
        places = np.repeat(np.arange(len(items)), view.sizes[items])
        rated = numbers >= 0
        return numbers[rated], places[rated], view.values[entries[rated]]

    def _restored(self) -> None:
        super()._restored()
        places = self.viewers_
        if (np.diff(places) <= 0).any():
            raise ValueError("viewers_ must be ascending")


@cache
def _linear_algebra() -> Any:
    """Return the controller of BLAS threads, which takes time to find the libraries."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def check_viewers(name: str, viewers: Any) -> None:
    """Raise unless `viewers` is None, a number of users, or a sequence of ids."""
    if isinstance(viewers, Integral):
        integer(name, viewers, 1)
    elif viewers is not None and (isinstance(viewers, str) or not hasattr(viewers, "__len__")):
        raise TypeError(f"{name} must be None, an integer or a list of users, got {viewers!r}")


def chosen_viewers(viewers: Any, ratings: Ratings, seed: int) -> Indices:
    """Return the indices of the viewers, ascending: the requested users that have ratings."""
    known = np.flatnonzero(ratings.by_user.sizes > 0)
    if viewers is None:
        return known
    if isinstance(viewers, Integral):
        return np.sort(np.random.default_rng(seed).permutation(known)[: int(viewers)])
    return np.intersect1d(ratings.user_ids.require("viewers", viewers), known)
