"""Baselines every other recommender should beat: chance, popularity, and biases."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import splitmix64
from edgewise.common.checks import integer, not_negative, one_of
from edgewise.common.dtypes import Indices, Mask, Reals
from edgewise.ratings import Ratings
from edgewise.recommend.arrays import damped_means, view_means
from edgewise.recommend.base import Recommender
from edgewise.recommend.model import NUMBER, SEED, Seeded, parameter

POPULARITY_MEASURES = ("count", "mean")


@dataclass(eq=False, repr=False)
class Popularity(Recommender):
    """The same list for everyone: the items rated most often, or best.

    Fitted: `item_scores_`, the score of each item.

    Parameters
    ----------
    by : {"count", "mean"}, default "count"
        Rank items by the number of their ratings (the sum of weights), or by their mean.
    damping : float, default 5.0
        Pseudo-ratings at the overall mean added to each item's mean, so that a few good ratings
        do not make the best item. Ignored for counts.

    Examples
    --------
    >>> from edgewise import Popularity, Ratings
    >>> ratings = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4}})
    >>> Popularity(by="mean", damping=1.0).fit(ratings).item_scores_
    array([3.66666667, 4.5       ])
    """

    predicts = "score"
    refits_on_update = True
    stored: ClassVar = {"item_scores_": "items"}

    by: str = parameter("count", one_of, POPULARITY_MEASURES)
    _: KW_ONLY
    damping: float = parameter(5.0, not_negative)

    def _fit(self, ratings: Ratings) -> None:
        mass = ratings.by_item.mass
        self.item_scores_ = mass
        if self.by == "mean":
            errors = ratings.values - ratings.mean
            biases = damped_means(errors, ratings.items, ratings.weights, mass, self.damping)
            self.item_scores_ = ratings.mean + biases

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        return self.item_scores_[items]

    def _user_scores(self, users: Indices) -> Reals:
        return np.tile(self.item_scores_, (len(users), 1))

    def _popularity(self) -> Reals:
        return self.item_scores_

    def _knows_users(self, ratings: Ratings) -> Mask:
        return np.ones(ratings.n_users, dtype=bool)


@dataclass(eq=False, repr=False, kw_only=True)
class RandomRecommender(Recommender, Seeded):
    """Random scores: uniform numbers that depend only on the seed, the user and the item.

    Parameters
    ----------
    random_state : int, RandomState or None, default None
        Random seed.
    """

    predicts = "score"
    adds_items = True
    stored: ClassVar = {"seed_": SEED}

    def _fit(self, ratings: Ratings) -> None:
        self.seed_ = self._seed()

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        by_user = splitmix64(np.uint64(self.seed_) ^ splitmix64(users.astype(np.uint64)))
        bits = splitmix64(by_user ^ items.astype(np.uint64)) >> np.uint64(11)
        return bits.astype(float) * 2.0**-53

    def _knows_users(self, ratings: Ratings) -> Mask:
        return np.ones(ratings.n_users, dtype=bool)


class BiasedRecommender(Recommender):
    """Base of recommenders with a baseline: the mean plus a bias for each user and each item."""

    stored: ClassVar = {"user_biases_": "users", "item_biases_": "items", "intercept_": NUMBER}

    user_biases_: Reals
    item_biases_: Reals
    intercept_: float

    def _fit_biases(
        self, ratings: Ratings, user_damping: float, item_damping: float, n_epochs: int
    ) -> None:
        """Fit the biases as :class:`BiasBaseline` describes; after 0 epochs they are 0."""
        users, items, weights = ratings.users, ratings.items, ratings.weights
        user_mass, item_mass = ratings.by_user.mass, ratings.by_item.mass
        centered = ratings.values - ratings.mean
        user_biases, item_biases = np.zeros(ratings.n_users), np.zeros(ratings.n_items)
        for _ in range(n_epochs):
            left = centered - user_biases[users]
            item_biases = damped_means(left, items, weights, item_mass, item_damping)
            left = centered - item_biases[items]
            user_biases = damped_means(left, users, weights, user_mass, user_damping)
        self.user_biases_, self.item_biases_ = user_biases, item_biases

    def _add_biases(self, ratings: Ratings, users: Indices, damping: float | None) -> Reals:
        """Add and return the biases of new users; without damping they are 0."""
        new = np.zeros(len(users))
        if damping is not None:
            side = ratings.by_user.last(len(users))
            errors = side.values - self.intercept_ - self.item_biases_[side.others]
            new = view_means(errors, side, damping)
        self.user_biases_ = np.concatenate([self.user_biases_, new])
        return new

    def _baseline(self, users: NDArray[np.integer], items: NDArray[np.integer]) -> Reals:
        return self.intercept_ + self.user_biases_[users] + self.item_biases_[items]


@dataclass(eq=False, repr=False, kw_only=True)
class BiasBaseline(BiasedRecommender):
    """The mean of all ratings plus a bias for each user and each item.

    A rating is predicted as ``mean + b_i + c_j``. The biases minimize, by alternation::

        sum of w (R_ij - mean - b_i - c_j)^2 + user_damping |b|^2 + item_damping |c|^2

    Fitted: `user_biases_` b, `item_biases_` c (0 without ratings) and `intercept_`, the mean.

    Parameters
    ----------
    user_damping, item_damping : float, default 5.0 and 2.5
        Pseudo-ratings at the mean added to every user and every item.
    n_epochs : int, default 15
        Number of alternations.

    Examples
    --------
    >>> from edgewise import BiasBaseline, Ratings
    >>> ratings = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4}})
    >>> model = BiasBaseline(user_damping=1.0, item_damping=1.0).fit(ratings)
    >>> model.intercept_, round(model.predict("bob", "Heat"), 2)
    (4.0, 4.71)
    """

    refits_on_update = True

    user_damping: float = parameter(5.0, not_negative)
    item_damping: float = parameter(2.5, not_negative)
    n_epochs: int = parameter(15, integer, 1)

    def _fit(self, ratings: Ratings) -> None:
        self.intercept_ = ratings.mean
        self._fit_biases(ratings, self.user_damping, self.item_damping, self.n_epochs)

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        return self._baseline(users, items)

    def _user_scores(self, users: Indices) -> Reals:
        return self.intercept_ + self.user_biases_[users, None] + self.item_biases_

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        self._add_biases(ratings, users, self.user_damping)
