"""Bases of recommenders that train a small model for each user, or learn from other users."""

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from edgewise.common.checks import integer
from edgewise.common.dtypes import Indices, Reals
from edgewise.common.fields import Array
from edgewise.common.threads import Threads
from edgewise.ratings import Ratings
from edgewise.recommend.base import Recommender
from edgewise.recommend.parameters import Seeded, Threaded, parameter

MAX_ROUNDS = 10_000
"""The maximum number of rounds per user: users of a saved model are trained on request."""

# The cache of user models holds at most this many numbers.
_CACHED_NUMBERS = 1 << 24


@dataclass(eq=False, repr=False, kw_only=True)
class PerUserRecommender(Recommender, Threaded):
    """Base of recommenders that train a small model for each user, on first use.

    User models are cached in `user_models_`; the oldest are dropped first.
    """

    refits_on_update = True
    stored: ClassVar = {"user_models_": None}

    @abstractmethod
    def _fit_user(self, user: int) -> Any:
        """Return the model of a user."""

    @abstractmethod
    def _score_items(self, user_model: Any) -> Reals:
        """Return the scores of all items under a user's model."""

    def _score_some(self, user_model: Any, items: Indices) -> Reals:
        """Return the scores of some items, equal to those of :meth:`_score_items`."""
        return self._score_items(user_model)[items]

    def _user_model_size(self) -> int:
        """Return how many numbers a user's model holds."""
        return 1

    def _user_model(self, user: int) -> Any:
        """Return the model of a user, from the cache or trained now."""
        models = self.__dict__.setdefault("user_models_", OrderedDict())
        model = models.get(user)
        if model is None:
            model = models[user] = self._fit_user(user)
            while len(models) > max(16, _CACHED_NUMBERS // self._user_model_size()):
                models.popitem(last=False)
        return model

    def _run_each(self, run: Callable[[int], None], n_tasks: int) -> None:
        """Run tasks, each about one user, on the threads of the model."""
        # A user has few equations: with several BLAS threads they can take twenty times as long.
        with (
            _linear_algebra().limit(limits=1, user_api="blas"),
            Threads(min(self._threads(), n_tasks)) as pool,
        ):
            pool.map(run, range(n_tasks))

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        scores, groups = np.empty(len(users)), group_by_user(users)

        def run(task: int) -> None:
            user, rows = groups[task]
            scores[rows] = self._score_some(self._user_model(user), items[rows])

        self._run_each(run, len(groups))
        return scores

    def _user_scores(self, users: Indices) -> Reals:
        scores = np.empty((len(users), self.n_items_))

        def run(task: int) -> None:
            scores[task] = self._score_items(self._user_model(int(users[task])))

        self._run_each(run, len(users))
        return scores

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        self.user_models_ = OrderedDict[int, Any]()


def group_by_user(users: Indices) -> list[tuple[int, Indices]]:
    """Return each user once, in ascending order, and its positions."""
    order = np.argsort(users, kind="stable")
    distinct, starts = np.unique(users[order], return_index=True)
    return list(zip(distinct.tolist(), np.split(order, starts[1:]), strict=False))


@cache
def _linear_algebra() -> Any:
    """Return the controller of BLAS threads; finding the libraries takes time."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def check_reference_users(name: str, value: Any) -> None:
    """Raise unless this is None, a number of users, or a sequence of ids."""
    if isinstance(value, Integral):
        integer(name, value, 1)
    elif value is not None and (isinstance(value, str) or not hasattr(value, "__len__")):
        raise TypeError(f"{name} must be None, an integer or a list of users, got {value!r}")


@dataclass(eq=False, repr=False, kw_only=True)
class ReferenceUsers(Recommender, Seeded):
    """Base of recommenders that learn from the ratings of other users, Iyer's viewers."""

    stored: ClassVar = {"reference_users_": Array("references", np.intp, below="users")}

    reference_users: Any = parameter(None, check_reference_users)

    def _resolve_reference_users(self, ratings: Ratings, seed: int) -> Indices:
        """Return the indices of the requested users that have ratings, ascending."""
        requested, rated = self.reference_users, np.flatnonzero(ratings.by_user.sizes > 0)
        if requested is None:
            return rated
        if isinstance(requested, Integral):
            return np.sort(np.random.default_rng(seed).permutation(rated)[: int(requested)])
        return np.intersect1d(ratings.user_ids.require("reference_users", requested), rated)

    def _restored(self) -> None:
        super()._restored()
        if (np.diff(self.reference_users_) <= 0).any():
            raise ValueError("reference_users_ must be ascending")


@dataclass(eq=False, repr=False, kw_only=True)
class ReferenceRecommender(ReferenceUsers, PerUserRecommender):
    """Base of recommenders with a model per user on the ratings of the reference users."""

    stored: ClassVar = {"reference_means_": "references"}

    def _fit(self, ratings: Ratings) -> None:
        self.reference_users_ = self._resolve_reference_users(ratings, self._seed())
        self.reference_means_ = ratings.by_user.means[self.reference_users_]

    def _reference_ratings(self, items: Indices) -> tuple[Indices, Indices, Reals]:
        """Return the ratings of some items: reference user, position in `items`, and value."""
        view = self.ratings_.by_item
        number = np.full(self.n_users_, -1, dtype=np.intp)
        number[self.reference_users_] = np.arange(len(self.reference_users_))
        entries = view.entries(items)
        references = number[view.others[entries]]
        positions = np.repeat(np.arange(len(items)), view.sizes[items])
        counts = references >= 0
        return references[counts], positions[counts], view.values[entries[counts]]
