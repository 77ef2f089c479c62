"""Regression of a user's ratings on other users' ratings (Iyer 1999, section 5.2.3)."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import flag, threads
from edgewise.common.dtypes import Indices, Reals
from edgewise.ratings import Ratings
from edgewise.recommend.parameters import parameter
from edgewise.recommend.per_user import ViewerRecommender, check_viewers


class _Learned(NamedTuple):
    """One user's regression: the weights of the viewers, and the scale of their prediction."""

    weights: Reals
    mean: float
    scale: float


@dataclass(eq=False, repr=False, kw_only=True)
class UserRegression(ViewerRecommender):
    """Predicts a user's ratings by linear regression on other users' (Iyer 1999, 5.2.3).

    With the user's ratings a and the ratings C of the same items by other users (Iyer's viewers),
    the weights w minimize ``|| w C - a ||``; among the minimizers they are the shortest. A
    viewer's mean stands in for its missing ratings. A user's weights are found on first use.

    Fitted: `viewers_`, the indices of the viewers, `viewer_means_`, their mean ratings, and
    `viewer_scales_`, their standard deviations (1 if not normalized).

    Parameters
    ----------
    normalize : bool, default False
        Scale the ratings of each viewer and of the user to mean 0 and variance 1 first, as Iyer
        (5.2.6) proposes; predictions are scaled back.
    viewers : int, sequence of ids or None, default None
        Whose ratings to combine: a number of users drawn at random, the users with these ids, or
        all users (None).
    random_state, n_jobs
        See :class:`Recommender`.

    Examples
    --------
    >>> from edgewise import Ratings, UserRegression
    >>> ratings = Ratings.from_dict({
    ...     "ann": {"Heat": 4, "Fargo": 2}, "bob": {"Heat": 2, "Fargo": 1, "Jaws": 2},
    ...     "cat": {"Jaws": 3}})
    >>> model = UserRegression(viewers=["bob"]).fit(ratings)
    >>> round(model.predict("ann", "Jaws"), 6)
    4.0
    """

    stored: ClassVar = {"viewer_scales_": "viewers"}

    normalize: bool = parameter(False, flag)
    viewers: Any = parameter(None, check_viewers)
    random_state: Any = None
    n_jobs: int | None = parameter(None, threads)

    def _fit(self, ratings: Ratings) -> None:
        super()._fit(ratings)
        self.viewer_scales_ = np.ones(len(self.viewers_))
        if self.normalize:
            view = ratings.by_user
            spreads = [_spread(view.values[view.span(v)]) for v in self.viewers_.tolist()]
            self.viewer_scales_ = np.array(spreads)

    def _restored(self) -> None:
        super()._restored()
        if not (self.viewer_scales_ > 0).all():
            raise ValueError("viewer_scales_ must be positive")

    def _size(self) -> int:
        return len(self.viewers_)

    def _learn(self, user: int) -> _Learned:
        ratings = self.ratings_
        view = ratings.by_user
        span = view.span(user)
        values, items = view.values[span], view.others[span].astype(np.intp)
        mean, scale = (float(values.mean()), _spread(values)) if self.normalize else (0.0, 1.0)
        opinions = self._opinions(items)
        opinions[:, self.viewers_ == user] = 0.0
        wanted = (values - mean) / scale
        if view.weights is not None:
            roots = np.sqrt(view.weights[span])
            opinions, wanted = opinions * roots[:, None], wanted * roots
        return _Learned(least_length(opinions, wanted), mean, scale)

    def _opinions(self, items: Indices) -> Reals:
        """Return the viewers' ratings of some items, shape (items, viewers), with gaps filled."""
        columns, rows, values = self._viewer_ratings(items)
        fills = np.zeros(len(self.viewers_)) if self.normalize else self.viewer_means_
        opinions = np.tile(fills, (len(items), 1))
        if self.normalize:
            values = (values - self.viewer_means_[columns]) / self.viewer_scales_[columns]
        opinions[rows, columns] = values
        return opinions

    def _some(self, learned: _Learned, items: Indices) -> Reals:
        whose, places, values = self._viewer_ratings(items)
        shares = (learned.weights / self.viewer_scales_)[whose]
        moves = values - self.viewer_means_[whose]
        return self._scores(learned, np.bincount(places, moves * shares, len(items)))

    def _row(self, learned: _Learned) -> Reals:
        view, n_items = self.ratings_.by_user, self.n_items_
        entries = view.entries(self.viewers_)
        sizes = view.sizes[self.viewers_]
        shares = learned.weights / self.viewer_scales_
        moves = view.values[entries] - np.repeat(self.viewer_means_, sizes)
        total = np.bincount(view.others[entries], moves * np.repeat(shares, sizes), n_items)
        return self._scores(learned, total)

    def _scores(self, learned: _Learned, total: NDArray) -> Reals:
        """Return scores from the weighted sums of the viewers' deviations from their means."""
        if self.normalize:
            return np.asarray(learned.mean + learned.scale * total)
        return np.asarray(total + float(learned.weights @ self.viewer_means_))


def least_length(matrix: Reals, wanted: Reals) -> Reals:
    """Return the shortest vector w that minimizes ``|| matrix w - wanted ||``."""
    return np.asarray(np.linalg.lstsq(matrix, wanted, rcond=None)[0])


def _spread(values: Reals) -> float:
    """Return the standard deviation, or 1 if it is 0."""
    return float(values.std()) or 1.0
