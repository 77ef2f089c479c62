"""What all recommenders have in common: ids, unknown ids, lists, similar things, new users, files.

A model itself works on indices and writes down only how it fits and how it scores: see
:class:`Recommender`.
"""

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import NotFittedError

from edgewise.common.checks import flag, generator, integer, one_of
from edgewise.common.dtypes import Reals
from edgewise.common.fields import Array, Value, finite
from edgewise.common.ids import as_ids
from edgewise.common.progress import Step, progress
from edgewise.common.threads import n_threads
from edgewise.model.file import Storable
from edgewise.ratings import Ratings
from edgewise.ratings.stored import RATINGS
from edgewise.recommend.answers import Answers, Indices, Mask, is_one, paired
from edgewise.recommend.lists import RankedLists
from edgewise.recommend.similarity import centred, cosines

UNKNOWN = ("raise", "mean", "nan")

Scorer = Callable[[Indices, Indices], Reals]


class Recommender(Answers, Storable):
    """Base of all recommenders.

    To write one: derive from this class, store the parameters in ``__init__``, and write
    :meth:`_fit` and :meth:`_pair_scores`; :meth:`_check_parameters`, :meth:`_user_scores`,
    :meth:`_fold_in` and :meth:`_item_vectors` where the defaults will not do. Fitted attributes
    end in an underscore and are arrays, numbers, strings or None: these are what files hold.

    Attributes
    ----------
    ratings_ : Ratings
        What the model was trained on.
    known_users_, known_items_ : bool arrays
        Which of the catalogue the model can say something about.
    low_, high_, mean_ : float
        The least, the largest and the mean rating in training.
    """

    predicts: ClassVar[str] = "rating"
    """Whether scores are on the scale of the ratings ("rating") or only order items ("score")."""

    stored: ClassVar = {
        "ratings_": RATINGS,
        "known_users_": Array("users", np.bool_),
        "known_items_": Array("items", np.bool_),
        "low_": Value(float, finite),
        "high_": Value(float, finite),
        "mean_": Value(float, finite),
    }
    stores_undeclared = True

    ratings_: Ratings
    known_users_: Mask
    known_items_: Mask
    low_: float
    high_: float
    mean_: float

    # What a model writes.

    def _check_parameters(self) -> None:
        """Raise if a parameter is wrong."""

    @abstractmethod
    def _fit(self, ratings: Ratings) -> None:
        """Learn from ratings, of which there is at least one."""

    @abstractmethod
    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        """Return the scores of pairs of known users and known items."""

    def _user_scores(self, users: Indices) -> Reals:
        """Return the scores of all items for some users, shape (users, items)."""
        scores = np.full((len(users), self.n_items_), -np.inf)
        known = np.flatnonzero(self.known_items_)
        pairs = np.repeat(users, len(known)), np.tile(known, len(users))
        scores[:, known] = self._pair_scores(*pairs).reshape(len(users), len(known))
        return scores

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        """Learn about new users, whose indices come after all others, and change nothing else."""

    def _item_vectors(self) -> Any:
        """Return a row for each item; their cosines tell how similar items are."""
        return centred(self.ratings_.csr().T.tocsr(), self.mean_)

    def _user_vectors(self) -> Any:
        """Return a row for each user; their cosines tell how similar users are."""
        return centred(self.ratings_.csr(), self.mean_)

    def _similarities(self, side: str, places: Indices) -> Reals:
        """Return how similar some users or items are to all; minus infinity leaves one out."""
        return cosines(self._item_vectors() if side == "items" else self._user_vectors(), places)

    def _knows_users(self, ratings: Ratings) -> Mask:
        """Return which users the model can say something about: those who rated something."""
        return ratings.by_user.sizes > 0

    def _knows_items(self, ratings: Ratings) -> Mask:
        """Return which items the model can say something about: those that were rated."""
        return ratings.by_item.sizes > 0

    def _restored(self) -> None:
        """Check the fitted attributes that a file held against each other, and make ready."""
        self._check_parameters()
        if self.low_ > self.high_:
            raise ValueError("low_ must not be above high_")

    # What every model can do.

    @property
    def n_users_(self) -> int:
        """The number of users in the catalogue."""
        return self._trained().n_users

    @property
    def n_items_(self) -> int:
        """The number of items in the catalogue."""
        return self._trained().n_items

    def fit(self, ratings: Ratings) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        ratings : Ratings
            What to learn from. A fit that fails leaves the model as it was.

        Returns
        -------
        self
        """
        if not isinstance(ratings, Ratings):
            raise TypeError(
                f"ratings must be Ratings, got {type(ratings).__name__}: {_instead_of(ratings)}"
            )
        if len(ratings) == 0:
            raise ValueError("ratings must hold at least one rating, got none")
        self._check_parameters()
        draft = copy(self)
        for name in [name for name in vars(draft) if name.endswith("_")]:
            delattr(draft, name)
        draft._keep(ratings)
        draft._fit(ratings)
        self.__dict__ = draft.__dict__
        return self

    def _keep(self, ratings: Ratings) -> None:
        self.ratings_ = ratings
        self.known_users_ = self._knows_users(ratings)
        self.known_items_ = self._knows_items(ratings)
        self.low_, self.high_, self.mean_ = ratings.low, ratings.high, ratings.mean

    def predict(self, users: Any, items: Any, unknown: str = "raise") -> Any:
        """Return the predicted rating (or score) of each pair of a user and an item.

        Parameters
        ----------
        users, items : array-like of ids, or one id
            The pairs; one id goes with all of the other side.
        unknown : {"raise", "mean", "nan"}, default "raise"
            What a user or item is predicted that training says nothing of: an error, the mean
            rating of the other side (of all, if both are unknown), or NaN.

        Returns
        -------
        float64 array
            Within the scale of the ratings, where the model predicts ratings. A number for one
            user and one item.

        Raises
        ------
        ValueError
            If an id is unknown, or there are more users than items or fewer.
        TypeError
            If ids are of another kind than in training, such as 196 for "196".
        """
        return self._predicted(users, items, unknown, self._pair_scores)

    def _predicted(self, users: Any, items: Any, unknown: str, scores_of: Scorer) -> Any:
        """Return what a function of known pairs gives, and means or NaN for the others."""
        user_places, item_places, known = self._found(users, items, unknown)
        scores = np.full(len(known), np.nan)
        if known.any():
            scores[known] = scores_of(user_places[known], item_places[known])
        if self.predicts == "rating":
            np.clip(scores, self.low_, self.high_, out=scores)
        if unknown == "mean" and not known.all():
            scores[~known] = self._means(user_places[~known], item_places[~known])
        return float(scores[0]) if is_one(users) and is_one(items) else scores

    def _found(self, users: Any, items: Any, unknown: str) -> tuple[Indices, Indices, Mask]:
        """Return the indices of pairs and which of them are known, or raise if one must be."""
        one_of("unknown", unknown, UNKNOWN)
        found = self._places("users", users), self._places("items", items)
        user_places, item_places = paired(*found)
        known = self._known(user_places, item_places)
        if unknown == "raise" and not known.all():
            self._raise_unknown(users, found[0], items, found[1])
        return user_places, item_places, known

    def recommend(
        self,
        users: Any = None,
        n: int = 10,
        exclude_seen: bool = True,
        items: Any = None,
        unknown: str = "raise",
    ) -> Any:
        """Return the best items for users.

        Parameters
        ----------
        users : array-like of ids, one id, or None
            For whom; None for all that are known.
        n : int, default 10
            How many items. Where there are fewer left the list is shorter.
        exclude_seen : bool, default True
            Whether to leave out what the user has rated.
        items : array-like of ids, default None
            What to choose from; None for all items.
        unknown : {"raise", "mean", "nan"}, default "raise"
            What a user gets that training says nothing of: an error, the items with the best mean
            ratings, or an empty list.

        Returns
        -------
        RankedLists
            One list for each user; a single :class:`Ranked` for one id.
        """
        integer("n", n, 1)
        flag("exclude_seen", exclude_seen)
        one_of("unknown", unknown, UNKNOWN)
        ratings = self._trained()
        if users is None:
            users = ratings.user_ids.values[self.known_users_]
        places = self._places("users", users)
        if unknown == "raise" and not self._known(places, None).all():
            self._raise_unknown(users, places, (), np.zeros(0, dtype=np.intp))
        open_items = self.known_items_.copy()
        if items is not None:
            chosen = np.zeros(self.n_items_, dtype=bool)
            chosen[ratings.item_ids.require("items", items)] = True
            open_items &= chosen
        lists = self._lists(places, n, exclude_seen, open_items, unknown)
        if is_one(users):
            return lists[0]
        return RankedLists.of(as_ids("users", users), lists, ratings.item_ids.values)

    def similar_items(self, items: Any, n: int = 10) -> Any:
        """Return the items most similar to some items.

        Parameters
        ----------
        items : array-like of ids, or one id
            Items that training knows.
        n : int, default 10
            How many; an item is not among its own.

        Returns
        -------
        RankedLists
            One list for each item; a single :class:`Ranked` for one id.
        """
        return self._similar("items", items, n, self._trained().item_ids, self.known_items_)

    def similar_users(self, users: Any, n: int = 10) -> Any:
        """Return the users most similar to some users; as :meth:`similar_items`."""
        return self._similar("users", users, n, self._trained().user_ids, self.known_users_)

    def fold_in(self, ratings: Ratings | Mapping[Any, Mapping[Any, float]]) -> Self:
        """Return a model that also knows new users, from a few ratings and without a new fit.

        Parameters
        ----------
        ratings : Ratings, or mapping of users to mappings of items to ratings
            The ratings of users that training did not see, on items that it did.

        Returns
        -------
        Recommender
            The model with the new users; this one stays as it is.

        Raises
        ------
        ValueError
            If a user is known already, or an item is not.
        """
        trained = self._trained()
        more = ratings if isinstance(ratings, Ratings) else Ratings.from_dict(ratings)
        rates = self.predicts == "rating" and len(more) > 0
        if rates and not self.low_ <= more.low <= more.high <= self.high_:
            raise ValueError(
                f"ratings must be from {self.low_:g} to {self.high_:g}, as in training, got "
                f"{more.low:g} to {more.high:g}"
            )
        both = trained.with_users(more)
        unrated = np.setdiff1d(both.items[len(trained) :], np.flatnonzero(self.known_items_))
        if len(unrated):
            lost = trained.item_ids.values[unrated[:3]].tolist()
            raise ValueError(f"items must be known, but {lost} had no ratings in training")
        model = copy(self)
        model.ratings_ = both
        users = np.arange(trained.n_users, both.n_users)
        model.known_users_ = np.concatenate([self.known_users_, self._knows_users(both)[users]])
        model._fold_in(both, users)
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that :func:`edgewise.load` reads: arrays and names, no code."""
        self._trained()
        super().save(path)

    # How it is done.

    def _trained(self) -> Ratings:
        """Return the training ratings, or raise if there are none yet."""
        ratings = vars(self).get("ratings_")
        if ratings is None:
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit first.")
        return ratings

    def _seed(self) -> int:
        """Return a seed from ``random_state``."""
        return int(generator(getattr(self, "random_state", None)).integers(2**31))

    def _threads(self) -> int:
        """Return how many threads ``n_jobs`` asks for."""
        return n_threads(getattr(self, "n_jobs", 1))

    def _progress(self, total: int, what: str) -> AbstractContextManager[Step]:
        """Return a context that gives a function to call after each step."""
        return progress(bool(getattr(self, "verbose", 0)), total, what)


def _instead_of(given: Any) -> str:
    """Return what to give where ratings are wanted."""
    if isinstance(getattr(given, "ratings", None), Ratings):
        return "those of a data set are its .ratings"
    return "make them with Ratings.from_frame, from_arrays, from_matrix, from_dict or from_file"
