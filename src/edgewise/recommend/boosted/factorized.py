"""What a boosted factorisation can do once its rounds are there."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, one_of
from edgewise.common.dtypes import Reals
from edgewise.common.fields import Array, Count, DictOf, ListOf
from edgewise.data import CategoricalColumn
from edgewise.ratings import Ratings
from edgewise.recommend.base import Indices, Mask, Recommender
from edgewise.recommend.boosted.climb import BOTH, ITEMS, USERS
from edgewise.recommend.boosted.factors import Factors, fold
from edgewise.recommend.boosted.feature_rules import FEATURE_RULE, FeatureRule
from edgewise.recommend.boosted.levels import Levels
from edgewise.recommend.boosted.training import Rounds, Settings, user_marks

if TYPE_CHECKING:
    from edgewise.recommend.boosted.reasons import Reasons

# Scores of all columns are made for as many users at a time as keep them below so many.
_ENTRIES = 1 << 21

OUTPUTS = ("expected", "level", "mode", "score")


class Factorized(Recommender):
    """The part of a boosted factorisation that works on what training has left."""

    stored: ClassVar = {
        "user_values_": "rounds users",
        "item_values_": "rounds items",
        "round_votes_": "rounds columns",
        "kinds_": "rounds",
        "marks_": "rounds marks",
        "levels_": "levels",
        "level_starts_": "starts",
        "history_": DictOf(Array("steps")),
        "rules_": DictOf(ListOf(FEATURE_RULE), int),
        "n_trained_": Count(),
    }

    user_values_: Reals
    item_values_: Reals
    round_votes_: Reals
    kinds_: NDArray[np.int8]
    rules_: dict[int, list[FeatureRule]]
    marks_: Reals
    levels_: Reals
    level_starts_: Reals
    history_: dict[str, Reals]
    _factors_kept: Factors | None
    n_trained_: int
    shrinkage_: float
    target: str
    values: str
    loss: str
    share: bool
    side_features: bool
    columns: Sequence[str] | None

    def _settings(self, seed: int = 0, shrinkage: float | None = None) -> Settings:
        """Return how values are learned."""
        raise NotImplementedError

    @property
    def _levels(self) -> Levels:
        return Levels(self.target, self.levels_, self.level_starts_)

    @property
    def _factors(self) -> Factors:
        """The factors of all rounds, folded when first asked for."""
        self._trained()
        kept = getattr(self, "_factors_kept", None)
        if kept is None:
            kept = fold(self.user_values_, self.item_values_, self.round_votes_, self.kinds_)
            if self._levels.n_columns == 1:
                kept = kept.without_votes()
            self._factors_kept = kept
        return kept

    @property
    def user_factors_(self) -> Reals:
        """User factors, shape (users, terms)."""
        return self._factors.users

    @property
    def item_factors_(self) -> Reals:
        """Item factors, shape (items, terms)."""
        return self._factors.items

    @property
    def votes_(self) -> Reals:
        """The votes of the terms, shape (terms, columns)."""
        return self._factors.votes

    @property
    def n_rounds_(self) -> int:
        """The number of rounds, without the constant."""
        self._trained()
        return max(0, len(self.kinds_) - 1)

    def predict(
        self, users: Any, items: Any, unknown: str = "raise", output: str = "expected"
    ) -> Any:
        """Return what is predicted for each pair of a user and an item.

        Parameters
        ----------
        users, items, unknown
            As in every recommender; see :meth:`Recommender.predict`.
        output : {"expected", "level", "mode", "score"}, default "expected"
            The expected rating, for the least squared error; the level in the middle, the median,
            for the least absolute error; the level with the largest chance, for the fewest wrong
            levels; or the scores of all columns, shape (pairs, L), NaN for unknown pairs. With
            ``target="binary"`` the score is one number.
        """
        if one_of("output", output, OUTPUTS) == "score":
            return self._raw_scores(users, items, unknown)
        scorers = {
            "expected": self._pair_scores,
            "level": self._pair_levels,
            "mode": self._pair_modes,
        }
        return self._predicted(users, items, unknown, scorers[output])

    def staged_predict(self, users: Any, items: Any, unknown: str = "raise") -> Iterator[Reals]:
        """Yield the expected ratings from the constant alone, and then after each round.

        Parameters
        ----------
        users, items, unknown
            As in :meth:`predict`.
        """
        self._found(users, items, unknown)
        return self._stages(users, items, unknown)

    def _stages(self, users: Any, items: Any, unknown: str) -> Iterator[Reals]:
        user_places, item_places, known = self._found(users, items, unknown)
        pair = user_places[known], item_places[known]
        scores = np.zeros((len(pair[0]), self._levels.n_columns))
        rows = zip(self.user_values_, self.item_values_, self.round_votes_, strict=True)
        for user_values, item_values, votes in rows:
            scores += (user_values[pair[0]] * item_values[pair[1]])[:, None] * votes
            rated = self._rated(scores)
            yield self._predicted(users, items, unknown, lambda *_, rated=rated: rated)

    def _scores(self, users: Indices, items: Indices) -> Reals:
        return self._factors.pairs(users, items)

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        return self._rated(self._scores(users, items))

    def _pair_levels(self, users: Indices, items: Indices) -> Reals:
        if len(self.levels_) < 2:
            return np.full(len(users), self.levels_[0])
        return self._levels.middle(self._scores(users, items))

    def _pair_modes(self, users: Indices, items: Indices) -> Reals:
        if len(self.levels_) < 2:
            return np.full(len(users), self.levels_[0])
        return self._levels.likeliest(self._scores(users, items), self.loss == "logistic")

    def _user_scores(self, users: Indices) -> Reals:
        found = np.full((len(users), self.n_items_), self.levels_[0])
        if len(self.levels_) < 2:
            return found
        size = max(1, _ENTRIES // max(1, self.n_items_ * self._levels.n_columns))
        for start in range(0, len(users), size):
            part = slice(start, start + size)
            found[part] = self._rated(self._factors.table(users[part]))
        return found

    def _rated(self, scores: Reals) -> Reals:
        """Return expected ratings from scores."""
        if len(self.levels_) < 2:
            return np.full(scores.shape[:-1], self.levels_[0])
        return self._levels.expected(scores, self.loss == "logistic")

    def _raw_scores(self, users: Any, items: Any, unknown: str) -> Any:
        user_places, item_places, known = self._found(users, items, unknown)
        scores = np.full((len(known), self._levels.n_columns), np.nan)
        scores[known] = self._scores(user_places[known], item_places[known])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _knows_users(self, ratings: Ratings) -> Mask:
        known = super()._knows_users(ratings)
        return known | _described(ratings.user_features) if self._by_features("user") else known

    def _knows_items(self, ratings: Ratings) -> Mask:
        known = super()._knows_items(ratings)
        return known | _described(ratings.item_features) if self._by_features("item") else known

    def _by_features(self, side: str) -> bool:
        """Return whether users, or items, without ratings are known by their features."""
        if self.values == "real":
            return self.side_features
        # Where rules may look at the users themselves they have no need to look at features.
        return self.side_features and self.columns is not None and side not in self.columns

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        rounds = Rounds(
            item_values=list(self.item_values_),
            votes=list(self.round_votes_),
            kinds=self.kinds_.tolist(),
            marks=list(self.marks_),
        )
        if self.values == "signs":
            from edgewise.recommend.boosted.signs import replayed_signs

            logistic = self.loss == "logistic"
            more = replayed_signs(ratings, users, self._levels, rounds, self.rules_, logistic)
        else:
            from edgewise.recommend.boosted.newcomers import replayed

            settings = self._settings()
            more = replayed(ratings, users, self._levels, settings, rounds, self.n_trained_)
        self.user_values_ = np.concatenate([self.user_values_, more], axis=1)
        self._factors_kept = None

    def _item_vectors(self) -> Reals:
        return self._factors.tastes("items")

    def _user_vectors(self) -> Reals:
        return self._factors.tastes("users")

    def explain(self, user: Any, item: Any, n: int = 5) -> "Reasons":
        """Return where the expected rating of an item comes from, in points of the rating.

        The parts add up to the prediction: the mean, the user's and the item's own offsets, what
        each item that the user rated says for it or against it, each feature of the user, and what
        is the user's own.

        Parameters
        ----------
        user, item : id
            A user and an item that training knows.
        n : int, default 5
            How many of the strongest parts ``str()`` shows.
        """
        from edgewise.recommend.boosted.reasons import reasons

        integer("n", n, 1)
        if self.target == "one_hot":
            raise ValueError("explain needs target='ordered' or 'binary', got 'one_hot'")
        places = self._found(user, item, "raise")
        return reasons(self, int(places[0][0]), int(places[1][0]), n)

    def _restored(self) -> None:
        super()._restored()
        if any(len(rows) != self.n_rounds_ for rows in self.history_.values()):
            raise ValueError("the history does not match the rounds")
        levels = len(self.levels_)
        if len(self.level_starts_) != levels - 1 or levels < 1:
            raise ValueError("the levels do not match each other")
        if self.round_votes_.shape[1] != self._levels.n_columns:
            raise ValueError("the votes do not match the levels")
        if not np.isin(self.kinds_, (USERS, ITEMS, BOTH)).all():
            raise ValueError("a round is of an unknown kind")
        if self.n_trained_ > self.n_users_:
            raise ValueError("the number of users in training does not match the ratings")
        if self.marks_.shape[1] != self._n_marks():
            raise ValueError("the marks do not match the ratings")

    def _n_marks(self) -> int:
        if self.values == "signs" or len(self.kinds_) == 0:
            return 0
        marks = user_marks(self.ratings_, self._settings(), self.n_trained_)
        return 0 if marks is None else marks.shape[1]


def _described(features: Any) -> Any:
    """Return which rows of a table have a feature that is not missing."""
    if features is None:
        return False
    return np.logical_or.reduce([~_missing(column) for column in features.columns()])


def _missing(column: Any) -> Mask:
    if isinstance(column, CategoricalColumn):
        return column.codes == column.missing_code
    return np.isnan(column.reals())
