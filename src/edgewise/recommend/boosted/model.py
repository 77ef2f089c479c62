"""Boosted factorization: ratings as a sum of products of user values and item values."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from math import isfinite
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from edgewise.common.checks import flag, integer, one_of, positive
from edgewise.common.dtypes import Indices, Mask, Reals
from edgewise.common.fields import Array, Count, DictOf
from edgewise.data import Table
from edgewise.model import Contribution, PairExplanation, Terms
from edgewise.model.terms import SIDES, TERMS
from edgewise.ratings import Ratings
from edgewise.recommend.arrays import iter_blocks, relative_weights
from edgewise.recommend.base import ExplainedRecommender
from edgewise.recommend.boosted.joint import UserSystem, solve_jointly
from edgewise.recommend.boosted.levels import TARGETS, RatingLevels, levels_of
from edgewise.recommend.boosted.rounds import (
    BOTH,
    ITEMS,
    USERS,
    FactorRounds,
    FittedRounds,
    Floats,
    RoundFactors,
    explain_pair,
)
from edgewise.recommend.boosted.signs import SignBoosting, user_categories
from edgewise.recommend.boosted.training import (
    PENALTIES,
    HeldOutRatings,
    Penalties,
    RealBoosting,
    choose_boosting,
    hold_out,
    warn_of_few_rounds,
)
from edgewise.recommend.features import has_features
from edgewise.recommend.model import NUMBER, Approximation, Seeded, Threaded, Verbose, parameter

FACTORS = ("real", "signs")
VOTES = ("real", "discrete")
LOSSES = ("logistic", "exponential")
OUTPUTS = ("expected", "level", "mode", "score")

# Scores of all columns are computed for as many users at a time as stay below this many entries.
_ENTRIES = 1 << 21

# The relative error of an expected rating from rounded probabilities.
_ROUNDING = 1e-9


@dataclass(eq=False, repr=False)
class BoostedFactorization(ExplainedRecommender, Seeded, Threaded, Verbose):
    """Boosting with products of user values and item values: a factorization learned by rounds.

    The score of a pair in each score column is the sum over rounds of the user's value times the
    item's value times votes (Kégl and Busa-Fekete 2009a, remark 2). A column asks "is the rating
    above this level?", and the probabilities add up to the expected rating. With more than 20
    distinct ratings, the one score is the rating itself.

    Parameters
    ----------
    n_rounds : int or None, default None
        The maximum number of rounds. None is 1,000 up to 80,000 ratings and grows with their root,
        up to 4,000; it is 400 without levels, and 500 for signs. With real factors the first 30
        rounds learn offsets of users and items, and later ones up to eight products at a time from
        the same gradients.
    target : {"auto", "ordered", "one_hot", "binary", "value"}, default "auto"
        What the score columns ask: "above this level?", "this level?", or, in one column, "above
        `threshold`?"; more than 20 distinct ratings then share 20 levels. "value" has no levels:
        one column fits the ratings by least squares, with real factors only; a last step solves for
        all values of a user along the 100 main directions of the products, which replace them.
        "auto" is "ordered" up to 20 distinct ratings and for signs, and "value" beyond.
    factors : {"real", "signs"}, default "real"
        Real values, by regularized Newton steps on the logistic loss, shared among similar users
        and items, for low error; or -1 and +1, by AdaBoost.MH as in the paper.
    votes : {"real", "discrete"}, default "real"
        Whether votes for the score columns have sizes, or only signs. With real factors, offsets
        have votes of their own, and all products vote alike for better ratings.
    loss : {"logistic", "exponential"}, default "logistic"
        The loss; exponential with ``factors="signs"`` only.
    learning_rate : float or None, default None
        The factor on every product. None is 0.1 for real factors and 0.05 for signs; the paper has
        1. Real offsets always have 0.3. Above 1/8, fewer than eight products are learned at a time.
    n_terms : int, default 2
        The number of terms of a product; 1 learns users and items separately, more than 2 make
        products with features, with ``factors="signs"`` only.
    regularization : float or None, default None
        The L2 penalty on a value in a product. None is 200, growing with the ratings as rounds do,
        or 50 without levels, times ``regularization_scale_``. Like the parameters up to `tuned`, it
        has no effect on signs.
    bias_regularization : float or None, default None
        The penalty on offsets of users and items; None is 25, times the scale.
    share : bool, default True
        Whether users who rated the same items, and items rated by the same users, share parts of
        their values.
    share_regularization : float or None, default None
        The penalty on the shared part; None is 25, times the scale.
    tuned : bool or "auto", default "auto"
        Whether to choose ``regularization_scale_`` and, for ratings with levels, the number of
        rounds on a tenth of the ratings first, and then train on all. "auto" does so for fewer than
        50,000 ratings if neither `regularization` nor `validation_fraction` is given. True warns if
        the best number of rounds is the maximum.
    side_features : bool, default True
        Whether to use features of users and items; with real factors they make users and items
        without ratings known.
    features : list of str or None, default None
        With ``factors="signs"``, what rules may test: "user", "item", and names of features; None
        for all. Leave out "user" or "item" to learn from their features instead, which also works
        for users or items without ratings.
    threshold : float or None, default None
        With ``target="binary"``, ratings above it count as a yes; None is the mean.
    validation_fraction : float or None, default None
        The fraction of the ratings to hold out for choosing the number of rounds.
    early_stopping_rounds : int or None, default None
        Stop after this many rounds without a lower validation error; None runs all. Signs always
        run all rounds and drop those after the stop.
    random_state, n_jobs, verbose
        See :class:`Recommender`.

    Attributes
    ----------
    user_factors_, item_factors_, votes_ : arrays of shape (users, t), (items, t) and (t, L)
        The factors: the score of column l is the sum over terms of user, item and vote. Rounds
        that repeat each other are one term. With one score column votes are all 1.
    regularization_scale_ : float
        The factor on the usual regularization; 1 if not tuned.
    levels_ : array
        The rating of each level.
    n_rounds_ : int
        The number of rounds, without the constant.
    history_ : dict of arrays
        The measures of each round: "train_rmse" and "gain", "validation_rmse" if ratings were held
        out; for signs "edge", "alpha", "energy", "bound", "train_error" and "hamming_loss".

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import BoostedFactorization
    >>> likes = {"ann": {"Heat": 5, "Ran": 5, "Up": 1}, "bob": {"Heat": 5, "Up": 1},
    ...          "cat": {"Heat": 1, "Ran": 1, "Up": 5}, "dan": {"Ran": 1, "Up": 5}}
    >>> model = BoostedFactorization(n_rounds=100, random_state=0).fit(Ratings.from_dict(likes))
    >>> model.predict("bob", "Ran") > model.predict("dan", "Heat")
    True
    """

    predicts_levels = True
    stored: ClassVar = {
        "user_values_": Array("users rounds", np.float32),
        "item_values_": Array("items rounds", np.float32),
        "round_votes_": "rounds columns",
        "kinds_": Array("rounds", np.int8),
        "steps_": Array("rounds", np.int64),
        "indicator_weights_": Array("indicators rounds", np.float32),
        "levels_": "levels",
        "level_starts_": "starts",
        "history_": DictOf(Array("steps", np.float64)),
        "rules_": TERMS,
        "n_trained_": Count(),
        "regularization_scale_": NUMBER,
        "penalties_": "3",
    }

    n_rounds: int | None = parameter(None, integer, 1)
    _: KW_ONLY
    target: str = parameter("auto", one_of, TARGETS)
    factors: str = parameter("real", one_of, FACTORS)
    votes: str = parameter("real", one_of, VOTES)
    loss: str = parameter("logistic", one_of, LOSSES)
    learning_rate: float | None = parameter(None, positive)
    n_terms: int = 2
    regularization: float | None = parameter(None, positive)
    bias_regularization: float | None = parameter(None, positive)
    share: bool = parameter(True, flag)
    share_regularization: float | None = parameter(None, positive)
    tuned: bool | str = "auto"
    side_features: bool = parameter(True, flag)
    features: Sequence[str] | None = None
    threshold: float | None = None
    validation_fraction: float | None = parameter(None, positive, 1.0)
    early_stopping_rounds: int | None = parameter(None, integer, 1)
    _serves_in_threads = True

    @property
    def user_factors_(self) -> Reals:
        """User factors, shape (users, terms)."""
        return self._terms[0]

    @property
    def item_factors_(self) -> Reals:
        """Item factors, shape (items, terms)."""
        return self._terms[1]

    @property
    def votes_(self) -> Reals:
        """The votes of the terms, shape (terms, columns)."""
        return self._terms[2]

    @property
    def _terms(self) -> tuple[Reals, Reals, Reals]:
        terms: tuple[Reals, Reals, Reals] = self._build_once("terms", self._factors.terms)
        return terms

    @property
    def n_rounds_(self) -> int:
        """The number of rounds, without the constant."""
        self._fitted_ratings()
        return max(0, len(self.kinds_) - 1)

    def predict(
        self, users: Any, items: Any, unknown: str = "raise", output: str = "expected"
    ) -> Any:
        """Return the prediction for each pair of a user and an item.

        Parameters
        ----------
        users, items, unknown
            As in :meth:`Recommender.predict`.
        output : {"expected", "level", "mode", "score"}, default "expected"
            The expected rating, for the lowest squared error; the median level, for the lowest
            absolute error; the most likely level, for the fewest wrong levels; or the scores of all
            columns, shape (pairs, L), or (pairs,) for one; NaN for unknown pairs. Without levels
            the first three are the same.
        """
        if one_of("output", output, OUTPUTS) == "score":
            user_indices, item_indices, known = self._find_pairs(users, items, unknown)
            scores = np.full((len(known), self._levels.n_columns), np.nan)
            pairs = user_indices[known], item_indices[known]
            scores[known] = self._factors.score_pairs(*pairs)
            return scores[:, 0] if scores.shape[1] == 1 else scores
        levels = self._levels
        convert = {"expected": levels.mean, "level": levels.median, "mode": levels.mode}[output]

        def scorer(users: Indices, items: Indices) -> Reals:
            return convert(self._factors.score_pairs(users, items))

        return self._predict_pairs(users, items, unknown, scorer)

    def predict_proba(self, users: Any, items: Any, unknown: str = "raise") -> Reals:
        """Return the probability of each level of the ratings, for each pair of a user and an item.

        Parameters
        ----------
        users, items
            As in :meth:`Recommender.predict`.
        unknown : {"raise", "mean", "nan"}, default "raise"
            For unknown users and items: raise a ValueError, return the fraction of the training
            ratings at each level, or NaN.

        Returns
        -------
        float64 array of shape (pairs, levels)
            The columns are the levels in `levels_`; rows add up to 1.

        Examples
        --------
        >>> from edgewise import BoostedFactorization, Ratings
        >>> rows = [(user, item, 1 + (user * item) % 3) for user in range(20) for item in range(9)]
        >>> model = BoostedFactorization(n_rounds=20, random_state=0)
        >>> model.fit(Ratings.from_arrays(*zip(*rows))).levels_
        array([1., 2., 3.])
        >>> model.predict_proba(3, [4, 5]).sum(axis=1)
        array([1., 1.])
        """
        self._fitted_ratings()
        if self.target_ == "value":
            raise ValueError("predict_proba needs levels: fit with target='ordered'")
        user_indices, item_indices, known = self._find_pairs(users, items, unknown)
        probabilities = np.full((len(known), len(self.levels_)), np.nan)
        if known.any():
            scores = self._factors.score_pairs(user_indices[known], item_indices[known])
            probabilities[known] = self._levels.probabilities(scores)
        if unknown == "mean" and not known.all():
            codes = self._levels.codes(self.ratings_.values)
            counts = np.bincount(codes, self.ratings_.weights, len(self.levels_))
            probabilities[~known] = counts / counts.sum()
        return probabilities

    def staged_predict(self, users: Any, items: Any, unknown: str = "raise") -> Iterator[Reals]:
        """Yield the predictions of the constant alone, and then after each round."""
        user_indices, item_indices, known = self._find_pairs(users, items, unknown)
        pairs = user_indices[known], item_indices[known]

        def stages() -> Iterator[Reals]:
            scores = np.zeros((len(pairs[0]), self._levels.n_columns))
            for t, votes in enumerate(self.round_votes_):
                user_values = self.user_values_[pairs[0], t].astype(np.float64)
                scores += (user_values * self.item_values_[pairs[1], t])[:, None] * votes
                rated = self._levels.mean(scores)
                yield self._predict_pairs(users, items, unknown, lambda *_, rated=rated: rated)

        return stages()

    def explain(self, user: Any, item: Any, n: int = 10) -> PairExplanation:
        """Explain an expected rating by contributions that add up to it, in points of the rating.

        They are the mean, the offsets of user and item, the items that the user rated (whatever
        the rating), the user's features, and the user's taste. Parameters: see
        :meth:`ItemKNN.explain`.
        """
        if self.target == "one_hot":
            raise ValueError("explain needs a target other than 'one_hot'")
        return super().explain(user, item, n)

    def _explain_score(self, user: int, item: int) -> tuple[float, list[Contribution]]:
        return explain_pair(self, user, item)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        real = self.factors == "real"
        integer("n_terms", self.n_terms, 1, 2 if real else None)
        if self.loss == "exponential" and real:
            raise ValueError("loss='exponential' needs factors='signs'")
        if self.target == "value" and not real:
            raise ValueError("target='value' needs factors='real'")
        if self.tuned != "auto":
            flag("tuned", self.tuned)
        if self.features is not None and (real or isinstance(self.features, str)):
            raise ValueError(
                f"features must be a list of names, with factors='signs', got {self.features!r}"
            )
        threshold: Any = self.threshold
        if threshold is not None and not (isinstance(threshold, Real) and isfinite(threshold)):
            raise ValueError(f"threshold must be a finite number or None, got {self.threshold!r}")
        if self.early_stopping_rounds is not None and self.validation_fraction is None:
            raise ValueError("early_stopping_rounds needs validation_fraction: set both")

    # Training.

    def _fit(self, ratings: Ratings) -> None:
        seed = self._seed()
        self.n_trained_, self.regularization_scale_, self.joint_ = ratings.n_users, 1.0, False
        ratings, validation = hold_out(ratings, self.validation_fraction, seed)
        is_real = self.factors == "real"
        target = "ordered" if self.target == "auto" and not is_real else self.target
        levels = levels_of(ratings.values, target, self.threshold, self.loss == "logistic")
        self.target_, self.levels_, self.level_starts_ = levels.target, levels.values, levels.starts
        self.penalties_ = np.array(PENALTIES)
        if levels.n_columns == 0 or len(levels.starts) == 0:
            # All ratings are the same: predict that.
            sizes = ratings.n_users, ratings.n_items, 0
            rounds = FactorRounds.empty(sizes, 0, levels.n_columns)
            self._keep(FittedRounds(rounds, {}, Terms.empty(1)))
            return
        boosting: RealBoosting | SignBoosting = SignBoosting.of(self, seed)
        if is_real:
            boosting, self.regularization_scale_ = choose_boosting(self, ratings, levels, seed)
            self.penalties_ = np.array(boosting.penalties)
        held_out = None
        if validation is not None:
            held_out = HeldOutRatings(validation, levels, self.early_stopping_rounds)
        fitted = boosting.fit(ratings, levels, held_out)
        if held_out is not None:
            if self.early_stopping_rounds is not None and isinstance(boosting, RealBoosting):
                warn_of_few_rounds(held_out.best_round, boosting.n_rounds)
            fitted = fitted.first(held_out.best_round, held_out.errors)
        self.joint_ = levels.target == "value" and bool((fitted.rounds.kinds == BOTH).any())
        if self.joint_ and isinstance(boosting, RealBoosting):
            fitted = solve_jointly(ratings, levels, fitted, boosting, validation)
        self._keep(fitted)

    def _keep(self, fitted: FittedRounds) -> None:
        """Set the fitted attributes."""
        self.history_, self.rules_ = fitted.history, fitted.rules
        (
            self.kinds_, self.steps_, self.round_votes_, self.user_values_, self.item_values_,
            self.indicator_weights_,
        ) = fitted.rounds  # fmt: skip

    # New users.

    def _knows_users(self, ratings: Ratings) -> Mask:
        return super()._knows_users(ratings) | self._have_features(ratings.user_features, "user")

    def _knows_items(self, ratings: Ratings) -> Mask:
        return super()._knows_items(ratings) | self._have_features(ratings.item_features, "item")

    def _have_features(self, features: Table | None, side: str) -> Mask | bool:
        """Return which users, or items, are known by their features."""
        if features is None or not self.side_features:
            return False
        # Rules that may test users themselves do not need their features.
        tests_ids = self.factors == "signs" and (self.features is None or side in self.features)
        return False if tests_ids else has_features(features)

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        levels, rounds, n_new = self._levels, self._rounds, len(users)
        if self.factors == "signs":
            rules = self.rules_
            values = SignBoosting.values_of_new_users(ratings, n_new, levels, rounds, rules)
        elif self.joint_:
            system, view = self._user_system, ratings.by_user.last(n_new)
            values = np.ones((n_new, len(self.kinds_)))
            weights = relative_weights(view, ratings, self.n_trained_)
            values[:, system.solved] = system.values(view, weights, 1)
        else:
            boosting, n_trained = self._fitted_boosting, self.n_trained_
            values = boosting.values_of_new_users(ratings, n_new, levels, rounds, n_trained)
        self.user_values_ = np.concatenate([self.user_values_, values], dtype=np.float32)

    @property
    def _fitted_boosting(self) -> RealBoosting:
        """The algorithm of the fit, to learn new users."""
        penalties = Penalties(*self.penalties_.tolist())
        return RealBoosting(self, penalties, self.n_rounds_, 0, self._threads())

    @property
    def _user_system(self) -> UserSystem:
        """The equations of the values of a user, if they are solved jointly."""
        return UserSystem.of(self._levels, self._rounds, float(self.penalties_[0]))

    # Scores.

    @property
    def _levels(self) -> RatingLevels:
        self._fitted_ratings()
        logistic = self.loss == "logistic"
        return RatingLevels(self.target_, self.levels_, self.level_starts_, logistic)

    @property
    def _rounds(self) -> FactorRounds:
        return FactorRounds(
            self.kinds_, self.steps_, self.round_votes_, self.user_values_, self.item_values_,
            self.indicator_weights_,
        )  # fmt: skip

    @property
    def _factors(self) -> RoundFactors:
        """The factors of all rounds, built on first use."""
        self._fitted_ratings()
        merge = self.factors == "signs"
        factors: RoundFactors = self._build_once(
            "rounds", lambda: RoundFactors.of(self._rounds, merge)
        )
        return factors

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        return self._levels.mean(self._factors.score_pairs(users, items))

    def _user_scores(self, users: Indices) -> Reals:
        scores = np.full((len(users), self.n_items_), self.levels_[0])
        if len(self.levels_) < 2:
            return scores
        width = self.n_items_ * self._levels.n_columns
        for block in iter_blocks(len(users), width, _ENTRIES):
            scores[block] = self._levels.mean(self._factors.score_users(users[block]))
        return scores

    def _approximate_scores(self, users: Indices) -> Approximation:
        levels = self._levels
        if levels.n_columns < 1 or levels.target == "one_hot":
            errors = np.full(len(users), _ROUNDING * np.abs(self.levels_).max())
            return self._user_scores(users), errors
        return levels.approximate(self._factors.approximate_scores(users))

    def _vectors(self, side: str) -> Floats:
        return self._factors.taste_vectors(side)

    def _check_restored(self) -> None:
        super()._check_restored()
        one_of("target_", self.target_, TARGETS[1:])
        if any(len(values) != self.n_rounds_ for values in self.history_.values()):
            raise ValueError("history_ does not match the rounds")
        if len(self.levels_) < 1 or len(self.level_starts_) != len(self.levels_) - 1:
            raise ValueError("level_starts_ does not match levels_")
        if self.round_votes_.shape[1] != self._levels.n_columns:
            raise ValueError("round_votes_ does not match levels_")
        self._rounds.check()
        has_offsets = {USERS, ITEMS} <= set(self.kinds_.tolist())
        if flag("joint_", self.joint_) and not (self.target_ == "value" and has_offsets):
            raise ValueError("joint_ does not match the rounds")
        if not (self.penalties_ > 0).all():
            raise ValueError("penalties_ must be positive")
        if self.n_trained_ > self.n_users_:
            raise ValueError("n_trained_ does not match the ratings")
        indicators, n_indicators = None, 0
        if self.factors == "real" and len(self.kinds_):
            indicators = self._fitted_boosting.user_indicators(self.ratings_, self.n_trained_)
            n_indicators = 0 if indicators is None else indicators.shape[1]
        if len(self.indicator_weights_) != n_indicators:
            raise ValueError("indicator_weights_ does not match the ratings")
        n_rules = len(self.kinds_) if self.factors == "signs" else 0
        rules, features = self.rules_, self.ratings_.user_features
        if not len(rules) == rules.n_nodes == n_rules or rules.leaves.shape != SIDES.shape:
            raise ValueError("rules_ does not match the rounds")
        n_features = 0 if features is None else features.n_columns
        rules.check(n_features, 0, user_categories(features))
