"""Boosted factorisation: ratings as a sum of products of user values and item values."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from edgewise.common.checks import flag, integer, one_of, positive
from edgewise.common.dtypes import Reals
from edgewise.ratings import Ratings
from edgewise.recommend.boosted.choosing import MANY, chosen
from edgewise.recommend.boosted.factorized import Factorized
from edgewise.recommend.boosted.levels import TARGETS, Levels, levels_of
from edgewise.recommend.boosted.training import Rounds, Settings, train
from edgewise.recommend.boosted.watching import Watch, best_round

VALUES = ("real", "signs")
VOTES = ("real", "discrete")
LOSSES = ("logistic", "exponential")

# Chosen on ratings held out of the training parts of MovieLens 100K.
_RATE, _BIAS_RATE = 0.2, 0.3
_SIGN_RATE = 0.05
_REGULARIZATION, _BIAS_REGULARIZATION, _SHARE_REGULARIZATION = 200.0, 25.0, 25.0
_BIAS_ROUNDS, _SWEEPS = 30, 2


class BoostedFactorization(Factorized):
    """Boosting with products of user values and item values: a factorisation learned by rounds.

    The score of a user and an item in each score column is the sum over rounds of a value of the
    user, times a value of the item, times votes (Kégl and Busa-Fekete 2009a, remark 2). Ratings
    are ordered, so
    the columns ask "is the rating above this level?", and the chances of a yes add up to the
    expected rating. There are two kinds of values:

    - ``values="real"``, the default: Newton's steps on the logistic loss, shrunken, and shared
      among users who rated the same items, among items rated by the same users, and among those
      with the same features. Made for low error.
    - ``values="signs"``: subset indicators, +1 or -1 for every user and item, and AdaBoost.MH as in
      the paper, with its bound on the training error in ``history_``. Features take part as further
      terms of products.

    Parameters
    ----------
    n_rounds : int, default 500
        How many rounds there are at most. With real values the first 30 learn what is common to all
        ratings of a user or of an item, and products come after these.
    target : {"ordered", "one_hot", "binary"}, default "ordered"
        What the score columns ask: "above this level?", "this level?", or, in one column, "above
        `threshold`?". More than 20 different ratings are put into 20 levels or fewer.
    values : {"real", "signs"}, default "real"
        What values of users and items are; see above.
    votes : {"real", "discrete"}, default "real"
        Whether the votes of a product for the score columns have sizes of their own, or only signs.
    loss : {"logistic", "exponential"}, default "logistic"
        The loss to lower; exponential with ``values="signs"`` only.
    learning_rate : float or None, default None
        What every product is multiplied by. None is 0.2 for real values and 0.05 for signs; the
        paper's is 1. Real values of users alone and of items alone are always multiplied by 0.3.
    terms : int, default 2
        How many factors a product has: 1 learns users and items one by one. Past 2 there are
        products with features, of ``values="signs"`` only.
    regularization : float or None, default None
        How much the own part of a real value in a product is shrunken: what is added to the second
        derivative of the loss by which Newton's step divides. A rating adds at most a quarter to it
        for each score column. None is 200, times ``shrinkage_`` where that is chosen (see `tuned`).
        This and what follows up to `tuned` are of no consequence for signs.
    bias_regularization : float or None, default None
        The same for values of users alone and of items alone; None is 25, times ``shrinkage_``.
    share : bool, default True
        Whether values are shared among users who rated the same items, and items rated by the same
        users.
    share_regularization : float or None, default None
        How much the shared part is shrunken; None is 25, times ``shrinkage_``.
    tuned : bool or "auto", default "auto"
        Whether to choose ``shrinkage_`` and the number of rounds, up to `n_rounds`, on a tenth of
        the ratings first, and then to train on all of them. "auto" does so for fewer than 50,000
        ratings, where what is best differs most, if neither `regularization` nor
        `validation_fraction` is given.
    side_features : bool, default True
        Whether features of users and items are used where there are any. Users and items without
        ratings are known by them; for signs, where `columns` leaves out "user" or "item".
    columns : list of str or None, default None
        With ``values="signs"``, what rules may look at: "user", "item", and names of features; None
        for all. A sign for each user fits the training ratings at least as well as any rule on
        features of users, so that features come in where "user" or "item" is left out: products of
        users and features of items work for items without ratings.
    threshold : float or None, default None
        With ``target="binary"``, what a rating is above to count as a yes; None is the mean.
    validation_fraction : float or None, default None
        The share of the ratings to hold out, on which the number of rounds is chosen. The model
        that is kept has not learned from these.
    early_stopping_rounds : int or None, default None
        After how many rounds without a lower validation error to stop; None runs all of them. Signs
        run all of them in any case, and those after the stop are dropped.
    random_state : int, Generator, RandomState or None, default None
        The seed of the values that products start from, and of the ratings held out.
    n_jobs : int or None, default 1
        Threads; the model is the same for any number of them.
    verbose : int, default 0
        1 shows progress.

    Attributes
    ----------
    user_factors_, item_factors_, votes_ : arrays of shape (users, t), (items, t) and (t, L)
        The factors: the score of column l is the sum over terms of user, item and vote. Rounds
        that repeat each other are one term. With one score column votes are all 1.
    shrinkage_ : float
        What the usual strengths of shrinking were multiplied by; 1 where nothing was chosen.
    levels_ : array
        What the levels of ratings stand for.
    n_rounds_ : int
        The number of rounds that are kept, without the constant.
    history_ : dict of arrays
        What was recorded in each round: "train_rmse" and "gain", "validation_rmse" where ratings
        were held out; for signs "edge", "alpha", "energy", "bound", "train_error" and
        "hamming_loss".

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import BoostedFactorization
    >>> likes = {"ann": {"Heat": 5, "Ran": 5, "Up": 1}, "bob": {"Heat": 5, "Up": 1},
    ...          "cat": {"Heat": 1, "Ran": 1, "Up": 5}, "dan": {"Ran": 1, "Up": 5}}
    >>> model = BoostedFactorization(n_rounds=50, random_state=0).fit(Ratings.from_dict(likes))
    >>> model.predict("bob", "Ran") > model.predict("dan", "Heat")
    True
    """

    def __init__(
        self,
        n_rounds: int = 500,
        *,
        target: str = "ordered",
        values: str = "real",
        votes: str = "real",
        loss: str = "logistic",
        learning_rate: float | None = None,
        terms: int = 2,
        regularization: float | None = None,
        bias_regularization: float | None = None,
        share: bool = True,
        share_regularization: float | None = None,
        tuned: bool | str = "auto",
        side_features: bool = True,
        columns: Sequence[str] | None = None,
        threshold: float | None = None,
        validation_fraction: float | None = None,
        early_stopping_rounds: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = 1,
        verbose: int = 0,
    ) -> None:
        self.n_rounds = n_rounds
        self.target = target
        self.values = values
        self.votes = votes
        self.loss = loss
        self.learning_rate = learning_rate
        self.terms = terms
        self.regularization = regularization
        self.bias_regularization = bias_regularization
        self.share = share
        self.share_regularization = share_regularization
        self.tuned = tuned
        self.side_features = side_features
        self.columns = columns
        self.threshold = threshold
        self.validation_fraction = validation_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        integer("n_rounds", self.n_rounds, 1)
        one_of("target", self.target, TARGETS)
        one_of("votes", self.votes, VOTES)
        real = one_of("values", self.values, VALUES) == "real"
        integer("terms", self.terms, 1, 2 if real else None)
        if one_of("loss", self.loss, LOSSES) == "exponential" and real:
            raise ValueError("loss='exponential' goes with values='signs' only")
        if self.learning_rate is not None:
            positive("learning_rate", self.learning_rate)
        for name in ("regularization", "bias_regularization", "share_regularization"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))
        if self.tuned != "auto":
            flag("tuned", self.tuned)
        flag("share", self.share)
        flag("side_features", self.side_features)
        if self.columns is not None and (real or isinstance(self.columns, str)):
            raise ValueError(
                f"columns must be a list of names, with values='signs', got {self.columns!r}"
            )
        threshold: Any = self.threshold
        if threshold is not None and not (isinstance(threshold, Real) and isfinite(threshold)):
            raise ValueError(f"threshold must be a finite number or None, got {self.threshold!r}")
        if self.validation_fraction is not None:
            positive("validation_fraction", self.validation_fraction, 1.0)
        if self.early_stopping_rounds is not None:
            integer("early_stopping_rounds", self.early_stopping_rounds, 1)
            if self.validation_fraction is None:
                raise ValueError(
                    "early_stopping_rounds needs ratings to validate on: set validation_fraction"
                )

    def _fit(self, ratings: Ratings) -> None:
        seed = self._seed()
        self.n_trained_, self.shrinkage_ = ratings.n_users, 1.0
        self.rules_ = {}
        held_out = None
        if self.validation_fraction is not None:
            ratings, held_out = self._split(ratings, self.validation_fraction, seed)
        levels = levels_of(ratings.values, self.target, self.threshold)
        self.levels_, self.level_starts_ = levels.values, levels.starts
        if levels.n_columns == 0 or len(levels.starts) == 0:
            # All ratings are the same, and that is what is predicted.
            self._keep_rounds(Rounds(), ratings, levels)
            self.history_ = {}
        elif self.values == "signs":
            self._fit_signs(ratings, levels, seed, held_out)
        else:
            self._fit_real(ratings, levels, seed, held_out)

    def _split(self, ratings: Ratings, share: float, seed: int) -> tuple[Ratings, Ratings]:
        try:
            return ratings.split(share, random_state=seed)
        except ValueError as error:
            raise ValueError(
                f"validation_fraction={share} leaves nothing of {len(ratings)} ratings to train or "
                "to validate on"
            ) from error

    def _fit_real(
        self, ratings: Ratings, levels: Levels, seed: int, held_out: Ratings | None
    ) -> None:
        rounds, settings = Rounds(), self._settings(seed)
        if self._tunes(ratings):
            choice = chosen(ratings, levels, settings, lambda by: self._settings(seed, by))
            self.shrinkage_ = choice.shrinkage
            settings = replace(self._settings(seed), n_rounds=choice.n_rounds)
        with self._progress(settings.n_rounds, "rounds") as step:
            watch = Watch(levels, held_out, self.early_stopping_rounds, step)
            train(ratings, levels, settings, watch, rounds)
        rounds.truncate(watch.best + 1)
        self._keep_rounds(rounds, ratings, levels)
        self.history_ = {
            "train_rmse": np.array(rounds.errors[1:]),
            "gain": np.array(rounds.gains[1:]),
        }
        if held_out is not None:
            self.history_["validation_rmse"] = np.array(watch.errors[1 : watch.best + 1])

    def _tunes(self, ratings: Ratings) -> bool:
        """Return whether to choose how strongly to shrink."""
        if self.tuned != "auto":
            return bool(self.tuned)
        given = self.regularization is not None or self.validation_fraction is not None
        return not given and len(ratings) < MANY

    def _fit_signs(
        self, ratings: Ratings, levels: Levels, seed: int, held_out: Ratings | None
    ) -> None:
        from edgewise.recommend.boosted.signs import columns_of, train_signs, validation_errors

        columns = columns_of(ratings, self.columns, self.side_features)
        settings = {
            "n_rounds": self.n_rounds,
            "votes": self.votes,
            "loss": self.loss,
            "learning_rate": _SIGN_RATE if self.learning_rate is None else self.learning_rate,
            "random_state": seed,
            "n_jobs": self.n_jobs,
            "verbose": self.verbose,
        }
        trained = train_signs(ratings, levels, columns, self.terms, settings)
        rounds, self.history_, self.rules_ = trained.rounds, trained.history, trained.rules
        if held_out is not None:
            errors = validation_errors(rounds, levels, held_out, self.loss == "logistic")
            last = best_round(errors, self.early_stopping_rounds)
            rounds.truncate(last + 1)
            self.rules_ = {t: rules for t, rules in self.rules_.items() if t <= last}
            self.history_["validation_rmse"] = errors[1:]
            self.history_ = {name: rows[:last] for name, rows in self.history_.items()}
        self._keep_rounds(rounds, ratings, levels)

    def _keep_rounds(self, rounds: Rounds, ratings: Ratings, levels: Levels) -> None:
        def stacked(rows: list[Reals], width: int) -> Reals:
            return np.stack(rows) if rows else np.zeros((0, width))

        self.user_values_ = stacked(rounds.user_values, ratings.n_users)
        self.item_values_ = stacked(rounds.item_values, ratings.n_items)
        self.round_votes_ = stacked(rounds.votes, levels.n_columns)
        self.marks_ = stacked(rounds.marks, 0)
        self.kinds_ = np.array(rounds.kinds, dtype=np.int8)
        self._factors_kept = None

    def _settings(self, seed: int = 0, shrinkage: float | None = None) -> Settings:
        """Return how values are learned; `shrinkage` takes the place of what was chosen."""
        by = self.shrinkage_ if shrinkage is None else shrinkage
        own, alone, shared = (
            by * usual if given is None else float(given)
            for given, usual in (
                (self.regularization, _REGULARIZATION),
                (self.bias_regularization, _BIAS_REGULARIZATION),
                (self.share_regularization, _SHARE_REGULARIZATION),
            )
        )
        return Settings(
            n_rounds=self.n_rounds,
            bias_rounds=_BIAS_ROUNDS,
            sweeps=_SWEEPS,
            learning_rate=_RATE if self.learning_rate is None else float(self.learning_rate),
            bias_learning_rate=_BIAS_RATE,
            regularization=own,
            bias_regularization=alone,
            share_regularization=shared,
            share=self.share,
            side_features=self.side_features,
            products=self.terms > 1,
            real_votes=self.votes == "real",
            seed=seed,
            n_threads=self._threads(),
        )
