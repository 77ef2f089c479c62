"""The model behind a recommender: its parameters, what a subclass writes, and helpers."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from edgewise.common.checks import generator, integer, threads, verbosity
from edgewise.common.dtypes import Indices, Mask, Reals
from edgewise.common.fields import Array, Value, finite
from edgewise.common.progress import Step, progress
from edgewise.common.threads import n_threads
from edgewise.model.file import Storable, stored_fields
from edgewise.ratings import Grouped, Ids, Ratings
from edgewise.ratings.file import RATINGS
from edgewise.recommend.arrays import UnitVectors, center_ratings, view_means, weights_of

MAX_INTEGER = 2**31 - 1
"""The largest integer parameter: compiled loops take no larger ones."""

NUMBER = Value(float, finite)
"""A finite number of a fitted model in a file."""

SEED = Value(int, lambda seed: integer("seed_", seed, 0, MAX_INTEGER))
"""The seed of a fitted model in a file."""


def parameter(default: Any, check: Callable[..., Any], *limits: Any) -> Any:
    """Declare a parameter of a recommender that is a dataclass, with its default and its check.

    Fits call ``check(name, value, *limits)``, except for None where that is the default.
    """
    return field(default=default, metadata={"check": check, "limits": limits})


def check_parameters(model: Any) -> None:
    """Raise if a declared parameter of a recommender is invalid."""
    for item in fields(model):
        value, check = getattr(model, item.name), item.metadata.get("check")
        if check is None or (value is None and item.default is None):
            continue
        limits = item.metadata["limits"]
        if check is integer:
            # An error mentions the declared limits first.
            integer(item.name, value, *limits[:1])
            limits = (*limits, MAX_INTEGER)[:2]
        check(item.name, value, *limits)


@dataclass(eq=False, repr=False, kw_only=True)
class Seeded:
    """The parameter of recommenders that draw random numbers."""

    random_state: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class Threaded:
    """The parameter of recommenders that use several threads."""

    n_jobs: int | None = parameter(None, threads)


@dataclass(eq=False, repr=False, kw_only=True)
class Verbose:
    """The parameter of recommenders that show progress."""

    verbose: int = parameter(0, verbosity)


Approximation = tuple[NDArray[Any], Reals | None]
"""A table of scores, and a bound of the error of each row; None if the scores are exact."""

PREDICT_UNKNOWN = "; pass unknown='mean' or 'nan' to predict for unknown ids"

# The mean rating of a user or an item counts this many ratings of the overall mean too: chosen for
# unknown users within the training parts of ml-100k and ml-1m, by users and by time.
_DAMPING = 3.0


def check_ratings(name: str, ratings: Any) -> None:
    """Raise unless `ratings` are Ratings, at least one."""
    if not isinstance(ratings, Ratings):
        advice = "build them with Ratings.from_frame, from_arrays or from_dict"
        if isinstance(getattr(ratings, "ratings", None), Ratings):
            advice = "pass the .ratings of the data set"
        raise TypeError(f"{name} must be Ratings, got {type(ratings).__name__}: {advice}")
    if len(ratings) == 0:
        raise ValueError(f"{name} must hold at least one rating, got none")


class RatingModel(Storable, ABC):
    """Base of `Recommender`: a model that learns from ratings and scores users and items by index.

    Methods with defaults are there to be overridden.
    """

    predicts_levels: ClassVar[bool] = False
    """Whether ``predict`` takes ``output="level"``, with ``predict_proba``."""

    refits_on_update: ClassVar[bool] = False
    """Whether a fit is so fast that ``partial_fit`` fits again on all ratings."""

    # Whether lists are computed in several threads: not if the scores are.
    _serves_in_threads: ClassVar[bool] = False

    stored: ClassVar = {
        "ratings_": RATINGS,
        "known_users_": Array("users", np.bool_),
        "known_items_": Array("items", np.bool_),
        "low_": NUMBER,
        "high_": NUMBER,
        "mean_": NUMBER,
    }
    stores_undeclared = True

    ratings_: Ratings
    known_users_: Mask
    known_items_: Mask
    low_: float
    high_: float
    mean_: float

    # For subclasses to write.

    @property
    def predicts(self) -> str:
        """Whether scores are on the scale of ratings ("rating") or only order items ("score")."""
        return "rating"

    @property
    def adds_items(self) -> bool:
        """Whether ``partial_fit`` learns items that the fit did not know."""
        return False

    @abstractmethod
    def _fit(self, ratings: Ratings) -> None:
        """Learn from ratings; there is at least one."""

    @abstractmethod
    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        """Return the scores of pairs of known users and known items."""

    def _check_parameters(self) -> None:
        """Raise if a parameter is invalid."""
        if is_dataclass(self):
            check_parameters(self)

    def _user_scores(self, users: Indices) -> Reals:
        """Return the scores of all items for some users, shape (users, items)."""
        scores = np.full((len(users), self.n_items_), -np.inf)
        known = np.flatnonzero(self.known_items_)
        pairs = np.repeat(users, len(known)), np.tile(known, len(users))
        scores[:, known] = self._pair_scores(*pairs).reshape(len(users), len(known))
        return scores

    def _approximate_scores(self, users: Indices) -> Approximation:
        """Return a new table of the scores of all items for some users, from which lists are made.

        They may be faster approximations of `_pair_scores`: those then replace them in the lists.
        """
        return np.array(self._user_scores(users)), None

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        """Learn new users, whose indices follow all others, and change nothing else."""

    def _fold_in_items(self, before: Ratings, now: Ratings, items: Indices) -> None:
        """Learn items that the fit did not know from their ratings now; for ``adds_items``."""

    def _finish_update(self, ratings: Ratings, users: Indices) -> None:
        """Update the attributes that depend on other users, after some have new ratings."""

    def _vectors(self, side: str) -> Any:
        """Return one row per user or item, whose cosines are the similarities."""
        return center_ratings(self._rating_rows(side), self.mean_)

    def _similarities(self, side: str, indices: Indices) -> Reals:
        """Return the similarity of some users or items to all; minus infinity excludes a pair."""
        return self._unit_vectors(side).cosines(indices)

    def _approximate_similarities(self, side: str, indices: Indices) -> Approximation:
        """Return a new table of similarities from which lists are made."""
        if type(self)._similarities is RatingModel._similarities:
            return self._unit_vectors(side).approximate_cosines(indices)
        return np.array(self._similarities(side, indices)), None

    def _knows_users(self, ratings: Ratings) -> Mask:
        """Return the users that the model can score: by default, those with ratings."""
        return ratings.by_user.sizes > 0

    def _knows_items(self, ratings: Ratings) -> Mask:
        """Return the items that the model can score: by default, those with ratings."""
        return ratings.by_item.sizes > 0

    def _mean_scores(self, users: Indices, items: Indices) -> Reals:
        """Return the predictions for pairs with an unknown side."""
        if self.predicts == "score":
            rated = self.ratings_.users.astype(np.intp), self.ratings_.items.astype(np.intp)
            known = self._are_known(*rated)
            mean = float(self._pair_scores(*(side[known] for side in rated)).mean())
            return np.full(len(users), mean)
        known_user, known_item = self._are_known(users, None), self._are_known(None, items)
        means = np.full(len(users), self.mean_)
        means[known_user] += self._mean_errors(self.ratings_.by_user)[users[known_user]]
        known_item &= ~known_user
        means[known_item] += self._mean_errors(self.ratings_.by_item)[items[known_item]]
        return means

    def _mean_errors(self, view: Grouped) -> Reals:
        """Return how far the mean rating of each row is from the overall mean, damped."""
        return view_means(view.values - self.mean_, view, _DAMPING)

    def _popularity(self) -> Reals:
        """Return the scores of items for an unknown user: means over all users.

        A missing rating counts as the lowest, so that few good ratings make no popular item; in
        implicit feedback it counts as 0.
        """
        view = self.ratings_.by_item
        implicit = self.low_ == self.high_
        lowest = 0.0 if implicit else self.low_
        above = np.ones_like(view.values) if implicit else view.values - lowest
        sums = np.bincount(view.row_numbers, above * weights_of(view), view.n_rows)
        return lowest + sums / np.count_nonzero(self.ratings_.by_user.sizes)

    def _check_restored(self) -> None:
        """Raise if the fitted attributes of a file contradict each other; rebuild the others."""
        self._check_parameters()
        if self.low_ > self.high_:
            raise ValueError("low_ must not be above high_")

    # Fitting.

    def fit(self, ratings: Ratings) -> Self:
        """Learn from ratings and return the model; if the fit fails, the model stays as it was."""
        check_ratings("ratings", ratings)
        self._check_parameters()
        draft = copy(self)
        for name in [name for name in vars(draft) if name.endswith("_") or name == "_cache"]:
            delattr(draft, name)
        draft.ratings_ = ratings
        draft.known_users_ = draft._knows_users(ratings)
        draft.known_items_ = draft._knows_items(ratings)
        draft.low_, draft.high_, draft.mean_ = ratings.low, ratings.high, ratings.mean
        draft._fit(ratings)
        draft._check_finite()
        self.__dict__ = draft.__dict__
        return self

    def _check_finite(self) -> None:
        """Raise if training left numbers that no prediction can use."""
        for name in stored_fields(type(self)):
            value = vars(self).get(name)
            if isinstance(value, np.ndarray) and not np.isfinite(value).all():
                raise ValueError(
                    f"training of {type(self).__name__} diverged: {name} contains NaN or infinity; "
                    "scale the ratings"
                )

    def __sklearn_is_fitted__(self) -> bool:
        return "ratings_" in vars(self)

    def _fitted_ratings(self) -> Ratings:
        """Return the training ratings, or raise if the model is not fitted."""
        ratings = vars(self).get("ratings_")
        if ratings is None:
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit first.")
        return ratings

    # Helpers for subclasses.

    def _rating_rows(self, side: str) -> Any:
        """Return the ratings as a sparse matrix with one row per user or item."""
        return self.ratings_.csr() if side == "users" else self.ratings_.csr().T.tocsr()

    def _seed(self) -> int:
        """Return a seed from ``random_state``."""
        return int(generator(getattr(self, "random_state", None)).integers(2**31))

    def _threads(self) -> int:
        """Return the number of threads from ``n_jobs``."""
        return n_threads(getattr(self, "n_jobs", None))

    def _progress(self, total: int, unit: str) -> AbstractContextManager[Step]:
        """Return a context with a function to call after each step."""
        return progress(bool(getattr(self, "verbose", 0)), total, unit)

    def _build_once(self, name: str, build: Callable[[], Any]) -> Any:
        """Return an object derived from the fitted model, built on first use.

        It is valid as long as the ratings are the same object: other ratings make another model.
        """
        ratings, cache = vars(self).get("_cache", (None, {}))
        if ratings is not self.ratings_:
            cache = {}
        if name not in cache:
            cache = {**cache, name: build()}
            self._cache = self.ratings_, cache
        return cache[name]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_cache"}

    def _unit_vectors(self, side: str) -> UnitVectors:
        """Return the vectors whose cosines are similarities."""
        vectors: UnitVectors = self._build_once(side, lambda: UnitVectors(self._vectors(side)))
        return vectors

    # Users and items.

    @property
    def n_users_(self) -> int:
        """The number of users in the catalog."""
        return self._fitted_ratings().n_users

    @property
    def n_items_(self) -> int:
        """The number of items in the catalog."""
        return self._fitted_ratings().n_items

    def _catalog(self, side: str) -> tuple[Ids, Mask]:
        """Return the ids of users or items, and which of them the model knows."""
        ratings = self._fitted_ratings()
        if side == "users":
            return ratings.user_ids, self.known_users_
        return ratings.item_ids, self.known_items_

    def _are_known(self, users: Indices | None, items: Indices | None) -> Mask:
        """Return which pairs are known on both sides; None leaves a side out."""
        masks = [
            (indices >= 0) & known[indices]
            for indices, known in ((users, self.known_users_), (items, self.known_items_))
            if indices is not None
        ]
        return np.logical_and.reduce(masks)

    def _check_known(
        self, side: str, ids: Any, indices: Indices, hint: str = PREDICT_UNKNOWN
    ) -> None:
        """Raise if the model does not know some of the ids."""
        catalog, known = self._catalog(side)
        unknown = ~((indices >= 0) & known[indices])
        if unknown.any():
            listed = catalog.format_unknown(ids, np.where(unknown, -1, 0))
            raise ValueError(f"unknown {side}: {listed}{hint}")

    def _known_indices(self, side: str, ids: Any) -> Indices:
        """Return the indices of ids, or raise if the model does not know all of them."""
        indices = self._catalog(side)[0].find(side, ids)
        self._check_known(side, ids, indices, hint="")
        return indices
