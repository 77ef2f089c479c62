"""Content-based recommendation: a small model of item features for each user."""

from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from edgewise.common.checks import integer, one_of, positive
from edgewise.common.dtypes import Indices, Mask, Reals
from edgewise.common.fields import Array, ListOf, OrNone, Value
from edgewise.data import Table
from edgewise.model.explain import Contribution
from edgewise.ratings import Ratings
from edgewise.recommend.arrays import damped_means, weights_of
from edgewise.recommend.base import ExplainedRecommender
from edgewise.recommend.features import encode_features, has_features
from edgewise.recommend.model import parameter
from edgewise.recommend.per_user import MAX_ROUNDS, PerUserRecommender
from edgewise.recommend.rankboost.recommender import RankBoostRecommender

LEARNERS = ("ridge", "boosted")

# A constant column of 2 makes the penalty on a user's level a quarter of that on its weights:
# levels differ more between users than tastes do.
_CONSTANT = 2.0


@dataclass(eq=False, repr=False)
class ContentRecommender(PerUserRecommender, ExplainedRecommender):
    """Learns each user's taste from item features, and scores items that nobody rated.

    The ratings must have `item_features`. A user's model is trained on first use.

    Fitted: `features_`, the encoded item features, shape (items, d), their `feature_names_`, and
    `weights_`, the model of all users.

    Parameters
    ----------
    learner : {"ridge", "boosted"}, default "ridge"
        "ridge" predicts ratings: a linear model of all users, plus a ridge regression of each
        user's deviations from it. Numbers are scaled to variance 1, categories one-hot encoded, and
        missing values replaced by the mean.
        "boosted" predicts scores, without explanations: RankBoost with thresholds for each user, as
        :class:`RankBoostRecommender` without reference users.
    regularization : float, default 20
        The ridge penalty, which shrinks users toward the model of all users.
    n_rounds : int, default 30
        Boosting rounds.
    learning_rate : float, default 0.5
        The factor on each boosting step.
    n_jobs
        See :class:`Recommender`.

    Examples
    --------
    >>> from edgewise import ContentRecommender, Ratings
    >>> films = (["Heat", "Ronin", "Fargo", "Clue"], [[1], [1], [0], [0]])
    >>> ratings = Ratings.from_arrays(
    ...     ["ann", "ann", "bob", "bob"], ["Heat", "Fargo", "Heat", "Fargo"], [5, 2, 1, 5],
    ...     item_features=films)
    >>> model = ContentRecommender(regularization=0.1).fit(ratings)
    >>> model.recommend("ann", n=1).ids, model.recommend("bob", n=1).ids
    (array(['Ronin'], dtype='<U5'), array(['Clue'], dtype='<U5'))
    >>> print(model.explain("ann", "Heat"))
    Heat for ann: 4.71
      +3.50  average item
      +1.21  x0
    """

    stored: ClassVar = {
        "features_": OrNone(Array("items d", np.float64)),
        "weights_": OrNone(Array("d", np.float64)),
        "feature_names_": OrNone(ListOf(Value(str))),
        "ranker_": None,
    }

    learner: str = parameter("ridge", one_of, LEARNERS)
    _: KW_ONLY
    regularization: float = parameter(20.0, positive)
    n_rounds: int = parameter(30, integer, 1, MAX_ROUNDS)
    learning_rate: float = parameter(0.5, positive)

    @property
    def predicts(self) -> str:
        """The kind of predictions: ratings, or scores for boosted models."""
        return "rating" if self.learner == "ridge" else "score"

    def _knows_items(self, ratings: Ratings) -> Mask:
        """Return the items with any feature, rated or not."""
        return has_features(_features_of(ratings))

    def _fit(self, ratings: Ratings) -> None:
        self.features_ = self.feature_names_ = self.weights_ = None
        if self.learner == "ridge":
            self.features_, self.feature_names_ = encode_features(_features_of(ratings))
            self.weights_ = self._fit_shared(ratings, self.features_)

    def _fit_shared(self, ratings: Ratings, features: Reals) -> Reals:
        """Return the ridge model of all users, fitted on deviations from each user's level."""
        residuals = ratings.values - self.mean_
        users, mass = ratings.users, ratings.by_user.mass
        levels = damped_means(residuals, users, ratings.weights, mass, self.regularization)
        residuals -= levels[users]
        weights = weights_of(ratings)
        # Sums by item suffice: no matrix of all ratings is needed.
        masses = np.bincount(ratings.items, weights, ratings.n_items)
        totals = np.bincount(ratings.items, weights * residuals, ratings.n_items)
        return solve_ridge(features, np.asarray(masses), np.asarray(totals), self.regularization)

    def _fit_user(self, user: int) -> Reals:
        """Return a user's level and weights, relative to the model of all users."""
        items, values, _ = ratings = self.ratings_.by_user.row(user)
        features, shared = self._linear_model()
        rated, masses = features[items], weights_of(ratings)
        residuals = values - self.mean_ - rated @ shared
        design = np.hstack([np.full((len(residuals), 1), _CONSTANT), rated])
        weights = solve_ridge(design, masses, masses * residuals, self.regularization)
        weights[0] *= _CONSTANT
        return weights

    def _score_items(self, user_model: Reals) -> Reals:
        features, shared = self._linear_model()
        return np.asarray(self.mean_ + user_model[0] + features @ (shared + user_model[1:]))

    def _check_restored(self) -> None:
        super()._check_restored()
        width = self._linear_model()[0].shape[1] if self.learner == "ridge" else 0
        if len(self.feature_names_ or []) != width:
            raise ValueError("feature_names_ must have a name for each feature")

    def _linear_model(self) -> tuple[Reals, Reals]:
        """Return the features and the weights of all users."""
        if self.features_ is None or self.weights_ is None:
            raise ValueError(f"learner must be 'ridge' for this, got {self.learner!r}")
        return self.features_, self.weights_

    @cached_property
    def ranker_(self) -> RankBoostRecommender:
        """The rankers of all users, which share one matrix."""
        ranker = RankBoostRecommender(
            self.n_rounds, learning_rate=self.learning_rate, init="zero", reference_users=(),
            n_jobs=self.n_jobs,
        )  # fmt: skip
        return ranker.fit(self.ratings_)

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        if self.learner == "boosted":
            return self.ranker_._pair_scores(users, items)
        return super()._pair_scores(users, items)

    def _user_scores(self, users: Indices) -> Reals:
        if self.learner == "boosted":
            return self.ranker_._user_scores(users)
        return super()._user_scores(users)

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        super()._fold_in(ratings, users)
        if self.learner == "boosted":
            # Trained rankers stay: each depends on the ratings of one user only.
            ranker = copy(self.ranker_)
            ranker.ratings_, ranker.known_users_ = ratings, self.known_users_
            ranker._fold_in(ratings, users)
            self.ranker_ = ranker

    def _user_model_size(self) -> int:
        return 1 + len(self._linear_model()[1])

    def _vectors(self, side: str) -> Any:
        if side == "users":
            return super()._vectors(side)
        features = self.features_
        return encode_features(_features_of(self.ratings_))[0] if features is None else features

    def _explain_score(self, user: int, item: int) -> tuple[float, list[Contribution]]:
        features, shared = self._linear_model()
        model = self._user_model(user)
        amounts = (features[item] * (shared + model[1:])).tolist()
        contributions = [Contribution("average item", float(self.mean_ + model[0]))]
        contributions += map(Contribution, self.feature_names_ or [], amounts)
        return float(self._score_items(model)[item]), contributions


def _features_of(ratings: Ratings) -> Table:
    if ratings.item_features is None:
        raise ValueError(
            "ratings must have item_features: pass them to Ratings.from_frame or from_arrays"
        )
    return ratings.item_features


def solve_ridge(features: Reals, masses: Reals, totals: Reals, regularization: float) -> Reals:
    """Return the w that minimizes ``sum of m (y - x w)^2 + regularization |w|^2``.

    `totals` are the sums of m y. The smaller of the primal and the dual system is solved.
    """
    used = masses > 0
    n, d = int(used.sum()), features.shape[1]
    if d <= n:
        gram = (features * masses[:, None]).T @ features
        gram[np.diag_indices(d)] += regularization
        return np.asarray(np.linalg.solve(gram, features.T @ totals))
    roots = np.sqrt(masses[used])
    rows = features[used] * roots[:, None]
    kernel = rows @ rows.T
    kernel[np.diag_indices(n)] += regularization
    return np.asarray(rows.T @ np.linalg.solve(kernel, totals[used] / roots))
