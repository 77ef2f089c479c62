"""Boosted factorization: ratings as a sum of products of user values and item values."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import groupby
from math import isfinite
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from edgewise.common.checks import flag, integer, one_of, positive
from edgewise.common.dtypes import Indices, Mask, Reals
from edgewise.common.fields import Array, Count, DictOf
from edgewise.data import Table
from edgewise.model import Contribution, PairExplanation, Terms
from edgewise.model.terms import SIDES, TERMS
from edgewise.ratings import Ratings
from edgewise.recommend.base import ExplainedRecommender
from edgewise.recommend.boosted import joint, signs, training
from edgewise.recommend.boosted.levels import TARGETS, Levels, levels_of
from edgewise.recommend.boosted.rounds import (
    BOTH,
    ITEMS,
    USERS,
    FactorRound,
    Floats,
    KeptRounds,
    RoundFactors,
)
from edgewise.recommend.features import has_features, indicator_names
from edgewise.recommend.kernels.boosting import WIDTH
from edgewise.recommend.model import Approximation
from edgewise.recommend.parameters import NUMBER, Seeded, Threaded, Verbose, parameter

FACTORS = ("real", "signs")
VOTES = ("real", "discrete")
LOSSES = ("logistic", "exponential")
OUTPUTS = ("expected", "level", "mode", "score")

# Chosen on ratings held out of the training parts of MovieLens 100K and of parts of 1M.
_ROUNDS, _SIGN_ROUNDS = 1000, 500
_RATE, _SIGN_RATE = 0.1, 0.05
_REGULARIZATION, _BIAS_REGULARIZATION, _SHARE_REGULARIZATION = 200.0, 25.0, 25.0

# The same for ratings without levels, and the variance of standardized ratings about what a user
# thinks. Chosen on generated sets of few and many items, rated by most users or by few.
_VALUE_ROUNDS, _VALUE_REGULARIZATION, _NOISE = 400, 50.0, 1 / 6
_VALUE_SCALES = (1.0, 4.0, 16.0, 64.0)

# Scores of all columns are computed for as many users at a time as stay below this many entries.
_ENTRIES = 1 << 21

# Values of rounds are in single precision; earlier files have twice that.
_VALUES = (np.float32, np.float64)

# How far off, in parts of its size, an expected rating may be by rounding its chances.
_ROUNDING, _ROUNDING_SINGLE = 1e-9, 1e-6


@dataclass(eq=False, repr=False)
class BoostedFactorization(ExplainedRecommender, Seeded, Threaded, Verbose):
    """Boosting with products of user values and item values: a factorization learned by rounds.

    The score of a user and an item in each score column is the sum over rounds of a user's value
    times an item's value times votes (Kégl and Busa-Fekete 2009a, remark 2). The columns ask "is
    the rating above this level?", and the chances of a yes add up to the expected rating. Where
    ratings have more than 20 values, the one score is the rating itself.

    Parameters
    ----------
    n_rounds : int or None, default None
        The most rounds. None is 1,000 up to 80,000 ratings, more in proportion to the root of their
        number, up to 4,000; 400 without levels; 500 for signs. With real factors the first 30
        rounds learn offsets of users and items, and then up to eight products at a time follow from
        the same gradients.
    target : {"auto", "ordered", "one_hot", "binary", "value"}, default "auto"
        What the score columns ask: "above this level?", "this level?", or, in one column, "above
        `threshold`?"; then more than 20 distinct ratings share at most 20 levels. "value" has no
        levels: one column fits the ratings by least squares, with real factors only, and a last
        step finds all values of a user at once, along the 100 main directions of what the rounds
        found, which the model keeps in their place. "auto" is "ordered" up to 20 distinct ratings
        and for signs, and "value" beyond.
    factors : {"real", "signs"}, default "real"
        The kind of values: Newton steps on the logistic loss, regularized and shared among similar
        users and items, made for low error; or -1 and +1, and AdaBoost.MH as in the paper.
    votes : {"real", "discrete"}, default "real"
        Whether votes for the score columns have sizes, or only signs. With real factors, values of
        users alone and of items alone have votes of their own, and all products vote alike, for
        better ratings.
    loss : {"logistic", "exponential"}, default "logistic"
        The loss; exponential with ``factors="signs"`` only.
    learning_rate : float or None, default None
        The factor on every product. None is 0.1 for real factors and 0.05 for signs; the paper has
        1. Real values of users alone and of items alone always have 0.3. Past 1/8, fewer than eight
        products are learned at a time: their factors sum to 1 at most.
    n_terms : int, default 2
        The number of terms of a product; 1 learns users and items separately. More than 2 make
        products with features, with ``factors="signs"`` only.
    regularization : float or None, default None
        The L2 penalty on a real value's own part in a product. None is 200, growing with the number
        of ratings as rounds do, or 50 without levels, times ``regularization_scale_``. This and the
        following up to `tuned` have no effect on signs.
    bias_regularization : float or None, default None
        The same for values of users alone and items alone; None is 25, times the scale.
    share : bool, default True
        Whether users who rated the same items, and items rated by the same users, share parts of
        their values.
    share_regularization : float or None, default None
        The penalty on the shared part; None is 25, times the scale.
    tuned : bool or "auto", default "auto"
        Whether to choose ``regularization_scale_`` and, for ratings with levels, the number of
        rounds on a tenth of the ratings first, and then train on all. "auto" does so for fewer than
        50,000 ratings if neither `regularization` nor `validation_fraction` is given. True warns if
        the best number is `n_rounds`, the most.
    side_features : bool, default True
        Whether to use features of users and items; with real factors, users and items without
        ratings are known by them.
    features : list of str or None, default None
        With ``factors="signs"``, what rules may test: "user", "item", and names of features; None
        for all. Leave out "user" or "item" to learn from their features instead, which also works
        for users or items without ratings.
    threshold : float or None, default None
        With ``target="binary"``, ratings above it count as a yes; None is the mean.
    validation_fraction : float or None, default None
        The share of the ratings to hold out for choosing the number of rounds.
    early_stopping_rounds : int or None, default None
        Stop after this many rounds without a lower validation error; None runs all. Signs always
        run all rounds and drop those after the stop.
    random_state : int, Generator, RandomState or None, default None
        Seed of the values that products start from, and of the ratings held out.
    n_jobs : int or None, default None
        Threads; the model is the same for any number.
    verbose : int, default 0
        1 shows progress.

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
        "user_values_": (Array("rounds users", _VALUES)),
        "item_values_": (Array("rounds items", _VALUES)),
        "round_votes_": "rounds columns",
        "kinds_": (Array("rounds", np.int8)),
        "indicator_weights_": (Array("rounds indicators", _VALUES)),
        "levels_": "levels",
        "level_starts_": "starts",
        "history_": DictOf(Array("steps", np.float64)),
        "rules_": TERMS,
        "n_trained_": Count(),
        "regularization_scale_": NUMBER,
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

    # What was chosen, as files that do not say have it: rounds followed one by one.
    target_ = "ordered"
    steps_ = None
    joint_ = False
    rate_ = 0.2
    usual_regularization_ = _REGULARIZATION

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
        factors = self._factors
        terms: tuple[Reals, Reals, Reals] = self._cached("terms", factors.terms)
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
            The expected rating, for the least squared error; the median level, for the least
            absolute error; the likeliest level, for the fewest wrong levels; or the scores of all
            columns, shape (pairs, L), NaN for unknown pairs. With ``target="binary"`` the score is
            one number. Without levels the first three are the same.
        """
        if one_of("output", output, OUTPUTS) == "score":
            user_places, item_places, known = self._find_pairs(users, items, unknown)
            scores = np.full((len(known), self._levels.n_columns), np.nan)
            scores[known] = self._factors.pairs(user_places[known], item_places[known])
            return scores[:, 0] if scores.shape[1] == 1 else scores
        convert = {"expected": Levels.expected, "level": Levels.median, "mode": Levels.mode}[output]

        def scorer(users: Indices, items: Indices) -> Reals:
            return convert(self._levels, self._factors.pairs(users, items))

        return self._predict_pairs(users, items, unknown, scorer)

    def predict_proba(self, users: Any, items: Any, unknown: str = "raise") -> Reals:
        """Return the probability of each level of the ratings, for each pair of a user and an item.

        Parameters
        ----------
        users, items : array-like of ids, or one id
            The pairs; a single id is paired with every id of the other side.
        unknown : {"raise", "mean", "nan"}, default "raise"
            For users and items that training does not know: raise a ValueError, return the shares
            of the levels in training, or NaN.

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
        user_places, item_places, known = self._find_pairs(users, items, unknown)
        probabilities = np.full((len(known), len(self.levels_)), np.nan)
        if known.any():
            scores = self._factors.pairs(user_places[known], item_places[known])
            probabilities[known] = self._levels.probabilities(scores)
        if unknown == "mean" and not known.all():
            codes = self._levels.codes(self.ratings_.values)
            counts = np.bincount(codes, self.ratings_.weights, len(self.levels_))
            probabilities[~known] = counts / counts.sum()
        return probabilities

    def staged_predict(self, users: Any, items: Any, unknown: str = "raise") -> Iterator[Reals]:
        """Yield the predictions of the constant alone, and then after each round."""
        user_places, item_places, known = self._find_pairs(users, items, unknown)
        pair = user_places[known], item_places[known]

        def stages() -> Iterator[Reals]:
            scores = np.zeros((len(pair[0]), self._levels.n_columns))
            for _, user_values, item_values, votes, *_ in self._rounds():
                products = user_values[pair[0]].astype(np.float64) * item_values[pair[1]]
                scores += products[:, None] * votes
                rated = self._levels.expected(scores)
                yield self._predict_pairs(users, items, unknown, lambda *_, rated=rated: rated)

        return stages()

    def explain(self, user: Any, item: Any, n: int = 10) -> PairExplanation:
        """Explain an expected rating by the parts that add up to it, in points of the rating.

        They are the mean, the offsets of user and item, the items that the user rated (however
        well), the user's features, and the user's own taste. Parameters are those of
        :meth:`ItemKNN.explain`.
        """
        if self.target == "one_hot":
            raise ValueError("explain needs a target other than 'one_hot'")
        return super().explain(user, item, n)

    def _explain_score(self, user: int, item: int) -> tuple[float, list[Contribution]]:
        return _explanation(self, user, item)

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
            raise ValueError(
                "early_stopping_rounds needs ratings to validate on: set validation_fraction"
            )

    def _fit(self, ratings: Ratings) -> None:
        seed = self._seed()
        self.n_trained_, self.regularization_scale_ = ratings.n_users, 1.0
        self.rules_ = Terms.empty(1)
        validation = None
        if self.validation_fraction is not None:
            try:
                ratings, validation = ratings.split(self.validation_fraction, random_state=seed)
            except ValueError as error:
                raise ValueError(
                    f"validation_fraction={self.validation_fraction} leaves nothing of "
                    f"{len(ratings)} ratings to train or to validate on"
                ) from error
        real, logistic = self.factors == "real", self.loss == "logistic"
        target = "ordered" if self.target == "auto" and not real else self.target
        levels = levels_of(ratings.values, target, self.threshold, logistic)
        self.target_, self.levels_, self.level_starts_ = levels.target, levels.values, levels.starts
        self.rate_ = _RATE if self.learning_rate is None else float(self.learning_rate)
        self.usual_regularization_ = _REGULARIZATION * training.growth(len(ratings))
        if levels.target == "value":
            self.usual_regularization_ = _VALUE_REGULARIZATION
        if levels.n_columns == 0 or len(levels.starts) == 0:
            # All ratings are the same: predict that.
            sizes = ratings.n_users, ratings.n_items, 0
            self._keep_rounds(KeptRounds(sizes, 0, levels.n_columns), 0)
            self.history_ = {}
            return
        held_out = None
        if validation is not None:
            held_out = training.HeldOutRatings(validation, levels, self.early_stopping_rounds)
        fit = self._fit_signs if self.factors == "signs" else self._fit_real
        kept = fit(ratings, levels, seed, held_out)
        n_kept = kept.size
        if held_out is not None:
            last = held_out.best_round
            if self.early_stopping_rounds is not None and real:
                training.warn_of_few_rounds(last, self._settings().n_rounds)
            n_kept = last + 1
            self.rules_ = self.rules_[: last + 1]
            self.history_["validation_rmse"] = np.array(held_out.errors[1:])
            self.history_ = {name: rows[:last] for name, rows in self.history_.items()}
        self._keep_rounds(kept, n_kept)
        if levels.target == "value" and (self.kinds_ == BOTH).any():
            self._solve_jointly(ratings, levels, validation)

    def _solve_jointly(self, ratings: Ratings, levels: Levels, rest: Ratings | None) -> None:
        """Find all values of a user at once, along the main directions of what rounds found."""
        settings = self._settings()
        noise = self._noise(settings)
        rounds = joint.joint_rounds(ratings, levels, self._ready(), noise, settings.n_threads)
        sizes = ratings.n_users, ratings.n_items, self.indicator_weights_.shape[1]
        kept = KeptRounds(sizes, len(rounds), levels.n_columns)
        held_out = None if rest is None else training.HeldOutRatings(rest, levels, None)
        for _, step in groupby(rounds, lambda one: one.step):
            rounds_of_step = list(step)
            kept.add(rounds_of_step)
            if held_out is not None:
                held_out.add(*rounds_of_step)
        self._keep_rounds(kept, kept.size)
        self.joint_ = True
        self.history_ = _history([(one.error, one.gain) for one in rounds])
        if held_out is not None:
            self.history_["validation_rmse"] = np.array(held_out.errors[1:])

    def _best_scale(self, ratings: Ratings, seed: int) -> float:
        """Return the factor on the usual regularization with the least error on a tenth."""
        usual = (
            ("regularization", _VALUE_REGULARIZATION),
            ("bias_regularization", _BIAS_REGULARIZATION),
            ("share_regularization", _SHARE_REGULARIZATION),
        )
        free = {name: size for name, size in usual if getattr(self, name) is None}
        if len(ratings) < training.FEWEST:
            return training.LEAST_SCALE
        if not free:
            return 1.0
        alone = {"tuned": False, "validation_fraction": None, "early_stopping_rounds": None}
        kept, validation = ratings.split(training.HELD_OUT, random_state=seed)
        users, items = (
            validation.user_ids.values[validation.users],
            validation.item_ids.values[validation.items],
        )
        errors = []
        for scale in _VALUE_SCALES:
            model = clone(self).set_params(**alone, target="value", verbose=0)
            model.set_params(**{name: scale * size for name, size in free.items()})
            wrong = model.fit(kept).predict(users, items, "mean") - validation.values
            errors.append(float((wrong * wrong).mean()))
        return _VALUE_SCALES[int(np.argmin(errors))]

    def _noise(self, settings: training.FactorSettings) -> float:
        """Return the variance of standardized ratings about what a user thinks."""
        return _NOISE * settings.regularization / _VALUE_REGULARIZATION

    def _fit_real(
        self, ratings: Ratings, levels: Levels, seed: int, held_out: training.HeldOutRatings | None
    ) -> KeptRounds:
        tuned = self.tuned
        if tuned == "auto":
            is_given = self.regularization is not None or self.validation_fraction is not None
            tuned = not is_given and len(ratings) < training.MANY
        settings = self._settings(seed)
        if tuned and levels.target == "value":
            self.regularization_scale_ = self._best_scale(ratings, seed)
            settings = self._settings(seed)
        elif tuned:
            scale, n_rounds = training.tune(
                ratings, levels, lambda scale: self._settings(seed, scale)
            )
            self.regularization_scale_ = scale
            if self.tuned is True:
                training.warn_of_few_rounds(n_rounds, settings.n_rounds)
            settings = replace(self._settings(seed), n_rounds=n_rounds)
        indicators = training.user_indicators(ratings, settings, self.n_trained_)
        sizes = ratings.n_users, ratings.n_items, 0 if indicators is None else indicators.shape[1]
        kept = KeptRounds(sizes, settings.n_rounds + 1, levels.n_columns)
        measures: list[tuple[float, float]] = []
        with self._progress(settings.n_rounds, "rounds") as step:
            for new_rounds in training.train(ratings, levels, settings, held_out):
                for round_ in new_rounds if kept.size else ():
                    step(round_.error)
                kept.add(new_rounds)
                measures += [(round_.error, round_.gain) for round_ in new_rounds]
        self.history_ = _history(measures)
        return kept

    def _fit_signs(
        self, ratings: Ratings, levels: Levels, seed: int, held_out: training.HeldOutRatings | None
    ) -> KeptRounds:
        columns = signs.sign_columns(ratings, self.side_features, self.features)
        settings = {
            "n_rounds": _SIGN_ROUNDS if self.n_rounds is None else self.n_rounds,
            "votes": self.votes,
            "loss": self.loss,
            "learning_rate": _SIGN_RATE if self.learning_rate is None else self.learning_rate,
            "random_state": seed,
            "n_jobs": self.n_jobs,
            "verbose": self.verbose,
        }
        trained = signs.train_signs(ratings, levels, columns, self.n_terms, settings)
        rounds, self.rules_, self.history_ = trained
        if held_out is not None:
            any(held_out.add(round_) for round_ in rounds)
        kept = KeptRounds((ratings.n_users, ratings.n_items, 0), len(rounds), levels.n_columns)
        for t, round_ in enumerate(rounds):
            kept.add([round_._replace(step=t)])
        return kept

    def _keep_rounds(self, kept: KeptRounds, n_rounds: int) -> None:
        users, items, weights = kept.values(n_rounds)
        self.user_values_, self.item_values_, self.indicator_weights_ = users.T, items.T, weights.T
        self.round_votes_, self.kinds_ = kept.votes[:n_rounds], kept.kinds[:n_rounds]
        self.steps_ = kept.steps[:n_rounds]

    def _rounds(self) -> list[FactorRound]:
        kept = self.user_values_, self.item_values_, self.round_votes_, self.indicator_weights_
        rounds = list(map(FactorRound, self.kinds_.tolist(), *kept))
        steps = range(len(rounds)) if self.steps_ is None else self.steps_.tolist()
        return [round_._replace(step=step) for round_, step in zip(rounds, steps, strict=True)]

    def _settings(self, seed: int = 0, scale: float | None = None) -> training.FactorSettings:
        """Return how real values are learned, by a scale of regularization or the tuned one."""
        by = self.regularization_scale_ if scale is None else scale
        product, alone, shared = (
            by * usual if value is None else float(value)
            for value, usual in (
                (self.regularization, self.usual_regularization_),
                (self.bias_regularization, _BIAS_REGULARIZATION),
                (self.share_regularization, _SHARE_REGULARIZATION),
            )
        )
        usual = _ROUNDS * max(1.0, self.usual_regularization_ / _REGULARIZATION)
        if self.target_ == "value":
            usual = _VALUE_ROUNDS
        return training.FactorSettings(
            n_rounds=round(usual) if self.n_rounds is None else self.n_rounds,
            learning_rate=self.rate_,
            regularization=product,
            bias_regularization=alone,
            share_regularization=shared,
            share=self.share,
            side_features=self.side_features,
            products=self.n_terms > 1,
            real_votes=self.votes == "real",
            seed=seed,
            n_threads=self._threads(),
        )

    # What the base asks for.

    @property
    def _levels(self) -> Levels:
        logistic = self.loss == "logistic"
        return Levels(self.target_, self.levels_, self.level_starts_, logistic)

    @property
    def _factors(self) -> RoundFactors:
        """The factors of all rounds, made ready on first use."""
        self._fitted_ratings()
        factors: RoundFactors = self._cached("rounds", self._ready)
        return factors

    def _ready(self) -> RoundFactors:
        # As they are but after an update: the values of a user in all rounds stand together.
        users = np.ascontiguousarray(self.user_values_.T)
        items = np.ascontiguousarray(self.item_values_.T)
        merge = self.factors == "signs"
        return RoundFactors.of(users, items, self.round_votes_, self.kinds_, merge)

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        return self._levels.expected(self._factors.pairs(users, items))

    def _user_scores(self, users: Indices) -> Reals:
        scores = np.full((len(users), self.n_items_), self.levels_[0])
        if len(self.levels_) < 2:
            return scores
        size = max(1, _ENTRIES // max(1, self.n_items_ * self._levels.n_columns))
        for start in range(0, len(users), size):
            block = slice(start, start + size)
            scores[block] = self._levels.expected(self._factors.table(users[block]))
        return scores

    def _approximate_scores(self, users: Indices) -> Approximation:
        levels = self._levels
        if levels.n_columns < 1 or levels.target == "one_hot":
            errors = np.full(len(users), _ROUNDING * np.abs(self.levels_).max())
            return self._user_scores(users), errors
        expected = np.full((len(users), self.n_items_), levels.low, dtype=np.float32)
        # A chance moves by a quarter of its score at most, or half of it, and an exponential
        # function of single precision is a few units of the last place off.
        steep, errors = 0.25 if levels.logistic else 0.5, np.zeros(len(users))
        for gap, (scores, off) in zip(levels.gaps(), self._factors.near(users), strict=True):
            if levels.target == "value":
                return levels.low + np.float32(gap) * scores, gap * (off + _ROUNDING_SINGLE)
            scores *= -1.0 if levels.logistic else -2.0
            with np.errstate(over="ignore"):
                np.exp(scores, out=scores)
            scores += 1.0
            expected += np.divide(np.float32(gap), scores, out=scores)
            errors += gap * (steep * off + _ROUNDING_SINGLE)
        return expected, errors + _ROUNDING_SINGLE * np.abs(self.levels_).max()

    def _knows_users(self, ratings: Ratings) -> Mask:
        return super()._knows_users(ratings) | self._known_by_features(
            ratings.user_features, "user"
        )

    def _knows_items(self, ratings: Ratings) -> Mask:
        return super()._knows_items(ratings) | self._known_by_features(
            ratings.item_features, "item"
        )

    def _known_by_features(self, features: Table | None, side: str) -> Mask | bool:
        """Return which users, or items, are known by their features."""
        if features is None or not self.side_features:
            return False
        # Rules that may test users themselves have no need of their features.
        named = self.factors == "signs" and (self.features is None or side in self.features)
        return False if named else has_features(features)

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        levels, rounds = self._levels, self._rounds()
        if self.factors == "signs":
            more = signs.signs_of_new_users(ratings, users, levels, rounds, self.rules_)
        elif self.joint_:
            system = joint.UserSystem(levels, rounds, self._noise(self._settings()))
            view, trained = ratings.by_user.last(len(users)), ratings.users < self.n_trained_
            more = np.ones((len(users), len(rounds)))
            weights = joint.weights_of(view, ratings.take(trained))
            more[:, system.solved] = system.values(view, weights, 1)
        else:
            settings = self._settings()
            more = training.values_of_new_users(
                ratings, users, levels, settings, rounds, self.n_trained_
            )
        self.user_values_ = np.concatenate([self.user_values_.T, more], dtype=_VALUES[0]).T

    def _vectors(self, side: str) -> Floats:
        return self._factors.tastes(side)

    def _check_steps(self) -> None:
        """Raise if what a file says of the steps and settings of the fit makes no sense."""
        one_of("target_", self.target_, [target for target in TARGETS if target != "auto"])
        positive("rate_", self.rate_)
        solvable = self.target_ == "value" and {USERS, ITEMS} <= set(self.kinds_.tolist())
        if flag("joint_", self.joint_) and not solvable:
            raise ValueError("the values of users do not follow from these rounds")
        positive("usual_regularization_", self.usual_regularization_)
        if self.steps_ is None:
            return
        steps = np.asarray(self.steps_)
        if steps.shape != self.kinds_.shape or steps.dtype != np.int64:
            raise ValueError("the steps do not match the rounds")
        same = np.diff(steps) == 0
        alike = (np.diff(self.kinds_) == 0) & (self.kinds_[1:] == BOTH)
        alike &= (np.diff(self.round_votes_, axis=0) == 0).all(axis=1)
        run = max((len(list(group)) for _, group in groupby(steps.tolist())), default=0)
        if (same & ~alike).any() or (run > WIDTH and self.factors == "real"):
            raise ValueError("the steps do not match the rounds")

    def _restored(self) -> None:
        super()._restored()
        for name in ("user_values_", "item_values_", "indicator_weights_"):
            setattr(self, name, np.asfortranarray(getattr(self, name)))
        if any(len(rows) != self.n_rounds_ for rows in self.history_.values()):
            raise ValueError("the history does not match the rounds")
        levels = len(self.levels_)
        if len(self.level_starts_) != levels - 1 or levels < 1:
            raise ValueError("the levels do not match each other")
        if self.round_votes_.shape[1] != self._levels.n_columns:
            raise ValueError("the votes do not match the levels")
        if not np.isin(self.kinds_, (USERS, ITEMS, BOTH)).all():
            raise ValueError("a round is of an unknown kind")
        self._check_steps()
        if self.n_trained_ > self.n_users_:
            raise ValueError("the number of users in training does not match the ratings")
        n_indicators = 0
        if self.factors == "real" and len(self.kinds_):
            indicators = training.user_indicators(self.ratings_, self._settings(), self.n_trained_)
            n_indicators = 0 if indicators is None else indicators.shape[1]
        if self.indicator_weights_.shape[1] != n_indicators:
            raise ValueError("the indicator features do not match the ratings")
        n_rules = len(self.kinds_) if self.factors == "signs" else 0
        rules, features = self.rules_, self.ratings_.user_features
        if not len(rules) == rules.n_nodes == n_rules or rules.leaves.shape != SIDES.shape:
            raise ValueError("the rules do not match the rounds")
        rules.check(
            0 if features is None else features.n_columns, 0, signs.user_categories(features)
        )


def _history(measures: list[tuple[float, float]]) -> dict[str, Reals]:
    """Return the training errors and gains of rounds after the constant."""
    errors, gains = np.array(measures).T
    return {"train_rmse": errors[1:], "gain": gains[1:]}


def _explanation(
    model: BoostedFactorization, user: int, item: int
) -> tuple[float, list[Contribution]]:
    """Return a prediction and its parts, given the indices of a user and an item.

    The scores of the columns are sums. The expected rating is a sum of chances, each of which
    depends on one score: a part's share of the score's way from the constant to its end is its
    share of the change of the chance.
    """
    levels, kinds = model._levels, model.kinds_[1:]
    products = model.user_values_[:, user].astype(np.float64) * model.item_values_[:, item]
    products = products[:, None] * model.round_votes_
    constant = products[0] if len(products) else np.zeros(levels.n_columns)
    moved = products[1:].sum(axis=0)
    start, end = levels.chances(constant), levels.chances(constant + moved)
    # Where parts cancel, the quotient is noise: take the derivative there instead.
    moves = np.abs(moved) > 1e-6
    slope = np.divide(end - start, moved, out=levels.slopes(start), where=moves)
    slope = levels.gaps() * slope

    def points(scores: Reals) -> Reals:
        return (scores * slope).sum(axis=-1)

    def of_kind(kind: int) -> float:
        return float(points(products[1:][kinds == kind].sum(axis=0)))

    added, named = (_by_rating if model.joint_ else _by_indicator)(model, user, item)
    amounts = points(added)
    parts = [
        Contribution("mean", float(levels.expected(constant))),
        Contribution("item offset", of_kind(ITEMS)),
    ]
    offset, taste = of_kind(USERS), float(of_kind(BOTH) - amounts.sum())
    if not model.joint_:
        parts += [Contribution("user offset", offset), Contribution("user taste", taste)]
    elif abs(offset + taste) > _ROUNDING_SINGLE * np.abs(amounts).sum():
        # Nothing else is left where the model knows all ratings that it was trained on.
        parts.append(Contribution("user taste", offset + taste))
    parts = [part for part in parts if part.amount != 0.0]
    parts += [
        Contribution(name, amount, detail)
        for (name, detail), amount in zip(named, amounts.tolist(), strict=True)
    ]
    return float(levels.expected(constant + moved)), parts


def _by_rating(
    model: BoostedFactorization, user: int, item: int
) -> tuple[Reals, list[tuple[str, str]]]:
    """Return what each rating of a user adds to the score, and its name and detail."""
    ratings, settings = model.ratings_, model._settings()
    system = joint.UserSystem(model._levels, model._rounds(), model._noise(settings))
    span, view = ratings.by_user.span(user), ratings.by_user
    weights = joint.weights_of(view, ratings.take(ratings.users < model.n_trained_))[span]
    added = system.parts(view.others[span], view.values[span], weights, item)
    ids = ratings.item_ids.values[view.others[span]]
    return added[:, None], [("rated", str(item_id)) for item_id in ids.tolist()]


def _by_indicator(
    model: BoostedFactorization, user: int, item: int
) -> tuple[Reals, list[tuple[str, str]]]:
    """Return what each indicator feature of a user adds to the scores, and its name and detail."""
    if model.indicator_weights_.shape[1] == 0:
        return np.zeros((0, model._levels.n_columns)), []
    ratings, settings = model.ratings_, model._settings()
    row = training.user_indicators(ratings, settings, model.n_trained_)[[user]]
    along = model.item_values_[:, item, None] * model.round_votes_
    weights = model.indicator_weights_[:, row.indices]
    added = np.einsum("tm,tl->ml", weights, along) * row.data[:, None]
    n_rated = ratings.n_items if model.share else 0
    features: list[str] = []
    if model.side_features and ratings.user_features is not None:
        features = indicator_names(ratings.user_features, model.n_trained_)
    return added, [
        ("rated", str(ratings.item_ids.values[k]))
        if k < n_rated
        else ("feature", features[k - n_rated])
        for k in row.indices.tolist()
    ]
