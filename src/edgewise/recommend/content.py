"""Content-based recommendation: a small model of item features for each user."""

from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, one_of, positive, threads
from edgewise.common.dtypes import Indices, Mask, Reals
from edgewise.common.fields import Array, OrNone, Plain
from edgewise.data import Table
from edgewise.data.columns import CategoricalColumn
from edgewise.model.explain import Contribution, PairExplanation
from edgewise.model.file import Noted
from edgewise.ratings import Ratings
from edgewise.recommend.arrays import damped_means
from edgewise.recommend.parameters import parameter
from edgewise.recommend.per_user import MOST_ROUNDS, PerUserRecommender

LEARNERS = ("ridge", "boosted")

# A constant column of 2 makes the penalty on a user's level a quarter of that on its weights:
# levels differ more between users than tastes do.
_LEVEL = 2.0


def _names_or_none(names: Any) -> list[str] | None:
    if names is not None and not all(isinstance(name, str) for name in names):
        raise TypeError("feature_names_ must be strings")
    return names


@dataclass(eq=False, repr=False)
class ContentRecommender(PerUserRecommender):
    """Learns each user's taste from item features, and scores items that nobody rated.

    The ratings must have `item_features`. A user's model is trained on first use.

    Fitted: `features_`, the encoded item features, shape (items, d), their `feature_names_`, and
    `weights_`, the model of all users.

    Parameters
    ----------
    learner : {"ridge", "boosted"}, default "ridge"
        "ridge" predicts ratings: a linear model of all users, plus a ridge regression of each
        user's deviations from it. Numbers are scaled to variance 1, categories become one-hot
        columns, and missing values count as the mean.
        "boosted" predicts scores: RankBoost with thresholds for each user, as
        :class:`RankBoostRecommender` without viewers.
    regularization : float, default 20
        The ridge penalty, which draws users to the model of all users.
    n_rounds : int, default 30
        Boosting rounds.
    learning_rate : float, default 0.5
        The share of each boosting step to take.
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
    """

    stored: ClassVar = {
        "features_": OrNone(Array("items d", np.float64)),
        "weights_": OrNone(Array("d", np.float64)),
        "feature_names_": Noted(Plain(_names_or_none)),
        "ranker_": None,
    }

    learner: str = parameter("ridge", one_of, LEARNERS)
    _: KW_ONLY
    regularization: float = parameter(20.0, positive)
    n_rounds: int = parameter(30, integer, 1, MOST_ROUNDS)
    learning_rate: float = parameter(0.5, positive)
    n_jobs: int | None = parameter(None, threads)

    @property
    def predicts(self) -> str:
        """What predictions are: ratings, or scores for boosted models."""
        return "rating" if self.learner == "ridge" else "score"

    def _knows_items(self, ratings: Ratings) -> Mask:
        """Return the items with any feature, rated or not."""
        return has_features(_features_of(ratings))

    def _fit(self, ratings: Ratings) -> None:
        self.features_ = self.feature_names_ = self.weights_ = None
        if self.learner == "ridge":
            self.features_, self.feature_names_ = encoded(_features_of(ratings))
            self.weights_ = self._shared(ratings, self.features_)

    def _shared(self, ratings: Ratings, features: Reals) -> Reals:
        """Return the ridge model of all users, with users' own levels removed first."""
        rest = ratings.values - self.mean_
        users, mass = ratings.users, ratings.by_user.mass
        rest -= damped_means(rest, users, ratings.weights, mass, self.regularization)[users]
        weights = np.ones(len(rest)) if ratings.weights is None else ratings.weights
        # Sums by item suffice: no matrix of all ratings is needed.
        masses = np.bincount(ratings.items, weights, ratings.n_items)
        totals = np.bincount(ratings.items, weights * rest, ratings.n_items)
        return _ridge(features, np.asarray(masses), np.asarray(totals), self.regularization)

    def _learn(self, user: int) -> Reals:
        """Return a user's own level and weights, relative to the model of all users."""
        view = self.ratings_.by_user
        span = view.span(user)
        features, shared = self._linear()
        mine = features[view.others[span]]
        rest = view.values[span] - self.mean_ - mine @ shared
        masses = np.ones(len(rest)) if view.weights is None else view.weights[span]
        with_level = np.hstack([np.full((len(rest), 1), _LEVEL), mine])
        found = _ridge(with_level, masses, masses * rest, self.regularization)
        found[0] *= _LEVEL
        return found

    def _row(self, learned: Reals) -> Reals:
        features, shared = self._linear()
        return np.asarray(self.mean_ + learned[0] + features @ (shared + learned[1:]))

    def _restored(self) -> None:
        super()._restored()
        if self.learner == "ridge":
            self._linear()

    def _linear(self) -> tuple[Reals, Reals]:
        """Return the features and the weights of all users."""
        if self.features_ is None or self.weights_ is None:
            raise ValueError(f"learner must be 'ridge' for this, got {self.learner!r}")
        return self.features_, self.weights_

    @cached_property
    def ranker_(self) -> Any:
        """The rankers of all users, which share one matrix."""
        from edgewise.recommend.rankboost import RankBoostRecommender

        ranker = RankBoostRecommender(
            self.n_rounds, learning_rate=self.learning_rate, init="zero", viewers=(),
            n_jobs=self.n_jobs,
        )  # fmt: skip
        return ranker.fit(self.ratings_)

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        if self.learner == "boosted":
            return np.asarray(self.ranker_._pair_scores(users, items))
        return super()._pair_scores(users, items)

    def _user_scores(self, users: Indices) -> Reals:
        if self.learner == "boosted":
            return np.asarray(self.ranker_._user_scores(users))
        return super()._user_scores(users)

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        super()._fold_in(ratings, users)
        if self.learner == "boosted":
            # Trained rankers stay: each depends on its own user's ratings only.
            ranker = copy(self.ranker_)
            ranker.ratings_, ranker.known_users_ = ratings, self.known_users_
            ranker._fold_in(ratings, users)
            self.ranker_ = ranker

    def _size(self) -> int:
        return 1 + len(self._linear()[1])

    def _vectors(self, side: str) -> Any:
        if side == "users":
            return super()._vectors(side)
        made = self.features_ is not None
        return self.features_ if made else encoded(_features_of(self.ratings_))[0]

    def explain(self, user: Any, item: Any, n: int = 5) -> PairExplanation:
        """Explain a predicted rating by the `n` features that add most; for the learner "ridge".

        Examples
        --------
        >>> from edgewise import ContentRecommender, Ratings
        >>> films = (["Heat", "Fargo"], [[1, 1995], [0, 1996]])
        >>> ratings = Ratings.from_arrays(["ann"] * 2, ["Heat", "Fargo"], [5, 2],
        ...                               item_features=films)
        >>> model = ContentRecommender(regularization=0.5).fit(ratings)
        >>> print(model.explain("ann", "Heat"))
        Heat for ann: 4.83
          +3.50  average item
          +0.67  x0
          +0.67  x1
        """
        integer("n", n, 1)
        ratings = self._fitted_ratings()
        features, shared = self._linear()
        u = int(ratings.user_ids.require("users", [user])[0])
        i = int(ratings.item_ids.require("items", [item])[0])
        level, *own = self._recall(u).tolist()
        amounts = features[i] * (shared + np.array(own))
        names = self.feature_names_ or []
        parts = [Contribution("average item", self.mean_ + level)]
        parts += [Contribution(name, float(one)) for name, one in zip(names, amounts, strict=True)]
        parts.sort(key=lambda part: -abs(part.amount))
        score = float(self._row(self._recall(u))[i])
        return PairExplanation(user, item, score, tuple(parts), n)


def _features_of(ratings: Ratings) -> Table:
    if ratings.item_features is None:
        raise ValueError(
            "ratings must have item_features for a ContentRecommender, got none: give them to "
            "Ratings.from_frame or Ratings.from_arrays"
        )
    return ratings.item_features


def has_features(table: Table) -> NDArray[np.bool_]:
    """Return which rows of a table have a value in some column."""
    some = np.zeros(table.n_rows, dtype=bool)
    for column in table.columns():
        if isinstance(column, CategoricalColumn):
            some |= column.codes != column.missing_code
        else:
            some |= ~np.isnan(column.reals())
    return some


def encoded(table: Table) -> tuple[Reals, list[str]]:
    """Return a table as numbers, and the names of their columns.

    Numeric columns get mean 0 and variance 1, or range 1 if they have two values; a category
    becomes a centered one-hot column. Missing values are 0.
    """
    columns: list[Reals] = []
    names: list[str] = []
    for j, column in enumerate(table.columns()):
        if isinstance(column, CategoricalColumn):
            present = column.codes != column.missing_code
            for code, category in enumerate(column.categories):
                chosen = (column.codes == code).astype(np.float64)
                columns.append(_centered(chosen, present))
                names.append(f"{table.name(j)}={category}")
        else:
            values = column.reals()
            present = ~np.isnan(values)
            scale = _scale(values[present])
            columns.append(_centered(np.where(present, values, 0.0), present) / scale)
            names.append(table.name(j))
    return np.stack(columns, axis=1), names


def _scale(values: Reals) -> float:
    """Return the standard deviation, or the distance of the values if there are two."""
    different = np.unique(values)
    if len(different) < 2:
        return 1.0
    return float(np.ptp(different) if len(different) == 2 else values.std())


def _centered(values: Reals, present: NDArray[np.bool_]) -> Reals:
    """Return the values less their mean, and 0 for missing ones."""
    mean = values[present].mean() if present.any() else 0.0
    return np.where(present, values - mean, 0.0)


def _ridge(features: Reals, masses: Reals, totals: Reals, regularization: float) -> Reals:
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
