"""Regression of a user's ratings on other users' ratings (Iyer 1999, section 5.2.3)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import flag
from edgewise.common.dtypes import Indices, Reals
from edgewise.ratings import Ratings
from edgewise.recommend.arrays import span_weights
from edgewise.recommend.parameters import parameter
from edgewise.recommend.per_user import ReferenceRecommender


class UserWeights(NamedTuple):
    """One user's regression: the weights of the reference users, and the user's scale."""

    weights: Reals
    mean: float
    scale: float


@dataclass(eq=False, repr=False, kw_only=True)
class UserRegression(ReferenceRecommender):
    """Predicts a user's ratings by linear regression on other users' (Iyer 1999, 5.2.3).

    With the user's ratings a and the ratings C of the same items by the reference users (Iyer's
    viewers), the weights w are the shortest that minimize ``|| w C - a ||``. Missing ratings are
    replaced by the reference user's mean. A user's weights are computed on first use.

    Fitted: the indices `reference_users_`, and the means and standard deviations of their ratings,
    `reference_means_` and `reference_scales_` (1 if not normalized).

    Parameters
    ----------
    normalize : bool, default False
        Scale the ratings of each user to mean 0 and variance 1 first (Iyer 5.2.6).
    reference_users : int, sequence of ids or None, default None
        A number of users drawn at random, the users with these ids, or all users (None).
    random_state, n_jobs
        See :class:`Recommender`.

    Examples
    --------
    >>> from edgewise import Ratings, UserRegression
    >>> ratings = Ratings.from_dict({
    ...     "ann": {"Heat": 4, "Fargo": 2}, "bob": {"Heat": 2, "Fargo": 1, "Jaws": 2},
    ...     "cat": {"Jaws": 3}})
    >>> model = UserRegression(reference_users=["bob"]).fit(ratings)
    >>> round(model.predict("ann", "Jaws"), 6)
    4.0
    """

    stored: ClassVar = {"reference_scales_": "references"}

    normalize: bool = parameter(False, flag)

    def _fit(self, ratings: Ratings) -> None:
        super()._fit(ratings)
        self.reference_scales_ = np.ones(len(self.reference_users_))
        if self.normalize:
            view, users = ratings.by_user, self.reference_users_.tolist()
            scales = [_deviation(view.values[view.span(user)]) for user in users]
            self.reference_scales_ = np.array(scales)

    def _restored(self) -> None:
        super()._restored()
        if not (self.reference_scales_ > 0).all():
            raise ValueError("reference_scales_ must be positive")

    def _user_model_size(self) -> int:
        return len(self.reference_users_)

    def _fit_user(self, user: int) -> UserWeights:
        view = self.ratings_.by_user
        span = view.span(user)
        values, items = view.values[span], view.others[span].astype(np.intp)
        mean, scale = (float(values.mean()), _deviation(values)) if self.normalize else (0.0, 1.0)
        opinions = self._opinions(items)
        opinions[:, self.reference_users_ == user] = 0.0
        target = (values - mean) / scale
        roots = np.sqrt(span_weights(view, span))
        # The shortest of the minimizers.
        weights = np.linalg.lstsq(opinions * roots[:, None], target * roots, rcond=None)[0]
        return UserWeights(np.asarray(weights), mean, scale)

    def _opinions(self, items: Indices) -> Reals:
        """Return the reference users' ratings of some items, shape (items, reference users)."""
        columns, rows, values = self._reference_ratings(items)
        fills = np.zeros(len(self.reference_users_)) if self.normalize else self.reference_means_
        opinions = np.tile(fills, (len(items), 1))
        if self.normalize:
            values = (values - self.reference_means_[columns]) / self.reference_scales_[columns]
        opinions[rows, columns] = values
        return opinions

    def _score_some(self, user_model: UserWeights, items: Indices) -> Reals:
        references, positions, values = self._reference_ratings(items)
        shares = (user_model.weights / self.reference_scales_)[references]
        deviations = values - self.reference_means_[references]
        return self._to_scores(user_model, np.bincount(positions, deviations * shares, len(items)))

    def _score_items(self, user_model: UserWeights) -> Reals:
        view = self.ratings_.by_user
        entries, sizes = view.entries(self.reference_users_), view.sizes[self.reference_users_]
        shares = np.repeat(user_model.weights / self.reference_scales_, sizes)
        deviations = view.values[entries] - np.repeat(self.reference_means_, sizes)
        sums = np.bincount(view.others[entries], deviations * shares, self.n_items_)
        return self._to_scores(user_model, sums)

    def _to_scores(self, user_model: UserWeights, sums: NDArray) -> Reals:
        """Convert weighted sums of deviations from the reference users' means to scores."""
        if self.normalize:
            return np.asarray(user_model.mean + user_model.scale * sums)
        return np.asarray(sums + float(user_model.weights @ self.reference_means_))


def _deviation(values: Reals) -> float:
    """Return the standard deviation, or 1 if it is 0."""
    return float(values.std()) or 1.0
