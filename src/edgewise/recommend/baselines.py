"""What every other recommender should beat: chance, popularity, and offsets from the mean."""

from typing import Any, ClassVar

import numpy as np

from edgewise.common.checks import integer, not_negative, one_of
from edgewise.common.dtypes import Reals
from edgewise.common.random import splitmix64
from edgewise.ratings import Ratings
from edgewise.recommend.answers import Indices, Mask
from edgewise.recommend.base import Recommender
from edgewise.recommend.factorization.entries import row_mass
from edgewise.recommend.factorization.offsets import new_offsets, offsets, shrunk

WAYS = ("count", "mean")


class Popularity(Recommender):
    """The same list for everyone: what was chosen most, or rated best.

    Parameters
    ----------
    by : {"count", "mean"}, default "count"
        The sum of the weights of an item's ratings (their number, without weights), or their mean.
    damping : float, default 5.0
        How many ratings at the mean of all an item's mean counts in addition, so that a few good
        ratings do not make the best item. Counts need none.

    Attributes
    ----------
    item_scores_ : array of shape (items,)
        The score of each item.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import Popularity
    >>> ratings = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4}})
    >>> Popularity().fit(ratings).recommend("ann", exclude_seen=False).ids
    array(['Fargo', 'Heat'], dtype='<U5')
    >>> Popularity(by="mean", damping=1.0).fit(ratings).item_scores_
    array([3.66666667, 4.5       ])
    """

    predicts: ClassVar[str] = "score"
    stored: ClassVar = {"item_scores_": "items"}

    item_scores_: Reals

    def __init__(self, by: str = "count", damping: float = 5.0) -> None:
        self.by = by
        self.damping = damping

    def _check_parameters(self) -> None:
        one_of("by", self.by, WAYS)
        not_negative("damping", self.damping)

    def _fit(self, ratings: Ratings) -> None:
        counts = row_mass(ratings.by_item)
        if self.by == "mean":
            errors = ratings.values - ratings.mean
            offsets = shrunk(errors, ratings.items, ratings.weights, counts, self.damping)
            counts = ratings.mean + offsets
        self.item_scores_ = counts

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        return self.item_scores_[items]

    def _user_scores(self, users: Indices) -> Reals:
        return np.tile(self.item_scores_, (len(users), 1))

    def _knows_users(self, ratings: Ratings) -> Mask:
        return np.ones(ratings.n_users, dtype=bool)


class RandomRecommender(Recommender):
    """Scores drawn at random: the floor that every model stands on.

    The score of a pair is a uniform number in [0, 1) that depends on the seed, the user and the
    item alone, and so is the same however it is asked for.

    Parameters
    ----------
    random_state : int, RandomState or None, default None
        The same number gives the same scores.

    Attributes
    ----------
    seed_ : int
        What the scores are drawn from.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import RandomRecommender
    >>> ratings = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4}})
    >>> model = RandomRecommender(random_state=0).fit(ratings)
    >>> model.recommend("bob").ids
    array(['Heat'], dtype='<U5')
    """

    predicts: ClassVar[str] = "score"

    seed_: int

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def _fit(self, ratings: Ratings) -> None:
        self.seed_ = self._seed()

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        by_user = splitmix64(np.uint64(self.seed_) ^ splitmix64(users.astype(np.uint64)))
        bits = splitmix64(by_user ^ items.astype(np.uint64)) >> np.uint64(11)
        return bits.astype(float) * 2.0**-53

    def _user_scores(self, users: Indices) -> Reals:
        items = np.arange(self.n_items_)
        pairs = np.repeat(users, len(items)), np.tile(items, len(users))
        return self._pair_scores(*pairs).reshape(len(users), len(items))

    def _knows_users(self, ratings: Ratings) -> Mask:
        return np.ones(ratings.n_users, dtype=bool)


class BiasBaseline(Recommender):
    """The mean of all ratings, with an offset for each user and one for each item.

    A rating is predicted as ``mean + b_i + c_j``. The offsets minimise::

        sum of w (R_ij - mean - b_i - c_j)^2 + user_damping |b|^2 + item_damping |c|^2

    by turns: given the items' offsets, a user's is the sum of what is left of the ratings divided
    by their number plus the damping.

    Parameters
    ----------
    user_damping, item_damping : float, default 5.0 and 2.5
        How many ratings at the mean every user and every item counts in addition.
    n_epochs : int, default 15
        How often both sides take their turn.

    Attributes
    ----------
    user_biases_, item_biases_ : arrays of shape (users,) and (items,)
        The offsets b and c; 0 where there are no ratings.
    intercept_ : float
        The mean.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import BiasBaseline
    >>> ratings = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4}})
    >>> model = BiasBaseline(user_damping=1.0, item_damping=1.0).fit(ratings)
    >>> model.intercept_, round(model.predict("bob", "Heat"), 2)
    (4.0, 4.71)
    """

    predicts: ClassVar[str] = "rating"
    stored: ClassVar = {"user_biases_": "users", "item_biases_": "items"}

    user_biases_: Reals
    item_biases_: Reals
    intercept_: float

    def __init__(
        self, user_damping: float = 5.0, item_damping: float = 2.5, n_epochs: int = 15
    ) -> None:
        self.user_damping = user_damping
        self.item_damping = item_damping
        self.n_epochs = n_epochs

    def _check_parameters(self) -> None:
        not_negative("user_damping", self.user_damping)
        not_negative("item_damping", self.item_damping)
        integer("n_epochs", self.n_epochs, 1)

    def _fit(self, ratings: Ratings) -> None:
        self.intercept_ = ratings.mean
        self.user_biases_, self.item_biases_ = offsets(
            ratings, self.user_damping, self.item_damping, self.n_epochs
        )

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        return self.intercept_ + self.user_biases_[users] + self.item_biases_[items]

    def _user_scores(self, users: Indices) -> Reals:
        return self.intercept_ + self.user_biases_[users, None] + self.item_biases_

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        new = new_offsets(
            ratings, len(users), self.intercept_, self.item_biases_, self.user_damping
        )
        self.user_biases_ = np.concatenate([self.user_biases_, new])
