"""A model and what it is tested on: predictions made once, for all measures."""

from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import one_of
from edgewise.common.dtypes import Reals
from edgewise.metrics import nearest_level
from edgewise.ratings import Ids, Ratings
from edgewise.recommend.base import UNKNOWN, Recommender

Places = NDArray[np.intp]


class Tested:
    """A fitted model beside test ratings.

    Parameters
    ----------
    model : Recommender
        The model, fitted.
    test : Ratings
        What it has not seen, with the same catalogue or another one.
    unknown : {"mean", "nan", "raise"}
        What becomes of users and items that training says nothing of: predicted by means, left
        out, or an error.
    """

    def __init__(self, model: Recommender, test: Ratings, unknown: str) -> None:
        check_test(model, test, unknown)
        self.model, self.test, self.unknown = model, test, unknown
        trained = model._trained()
        # Where the users and items of the test catalogue are in that of training.
        self.user_places = _places("users", trained.user_ids, test.user_ids)
        self.item_places = _places("items", trained.item_ids, test.item_ids)
        self.users, self.items = self.user_places[test.users], self.item_places[test.items]
        self.known = model._known(self.users, self.items)
        if unknown == "raise":
            users, items = self._ids
            model._require_known("users", users, self.users)
            model._require_known("items", items, self.items)

    @property
    def _ids(self) -> tuple[NDArray[Any], NDArray[Any]]:
        test = self.test
        return test.user_ids.values[test.users], test.item_ids.values[test.items]

    @cached_property
    def kept(self) -> NDArray[np.bool_]:
        """Which of the test ratings are looked at."""
        return self.known if self.unknown == "nan" else np.ones(len(self.test), dtype=bool)

    @cached_property
    def predictions(self) -> Reals:
        """What the model predicts, for all test ratings."""
        return np.asarray(self.model.predict(*self._ids, unknown=self.unknown))

    @cached_property
    def levels(self) -> Reals:
        """The ratings there are, in training or in the test."""
        return np.union1d(self.model.ratings_.levels, self.test.levels)

    @cached_property
    def predicted_levels(self) -> Reals:
        """The levels that the model predicts: its own, or the nearest to its predictions."""
        guess = self.predictions
        if "output" in signature(self.model.predict).parameters:
            predict: Any = self.model.predict
            guess = np.asarray(predict(*self._ids, unknown=self.unknown, output="level"))
        rounded = np.full(len(guess), np.nan)
        rounded[self.kept] = nearest_level(guess[self.kept], self.levels)
        return rounded

    @cached_property
    def scores(self) -> Reals:
        """What the model orders items by: as predicted, but not cut off at the ends of a scale."""
        if self.model.predicts == "score":
            return self.predictions
        scores = np.full(len(self.test), np.nan)
        known = self.known
        if known.any():
            scores[known] = self.model._pair_scores(self.users[known], self.items[known])
        if self.unknown == "mean" and not known.all():
            scores[~known] = self.model._means(self.users[~known], self.items[~known])
        return scores


def check_test(model: Any, test: Any, unknown: Any) -> None:
    """Raise unless these are a fitted recommender and ratings to test it on."""
    if not isinstance(model, Recommender):
        raise TypeError(f"model must be a recommender, got {type(model).__name__}")
    if not isinstance(test, Ratings):
        raise TypeError(f"test must be Ratings, got {type(test).__name__}")
    if len(test) == 0:
        raise ValueError("test must hold at least one rating, got none")
    one_of("unknown", unknown, UNKNOWN)


def _places(name: str, known: Ids, asked: Ids) -> Places:
    if known is asked:
        return np.arange(len(known))
    return known.find(name, asked.values)
