"""AdaBoost.MH as a scikit-learn classifier."""

import os
import time
from collections.abc import Iterator
from copy import copy
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from edgewise.boosting import (
    Callback,
    EarlyStopping,
    History,
    ProgressBar,
    Run,
    Task,
    TermList,
    TimeLimit,
    boost,
    check_callbacks,
)
from edgewise.data import MAX_BINS, Table, as_table, encode, fit_bins
from edgewise.data.table import INFINITE_CHOICES
from edgewise.dtypes import Reals
from edgewise.estimators.link import probabilities
from edgewise.estimators.monitoring import make_monitor
from edgewise.estimators.rows import read_held_out, read_rows, split
from edgewise.estimators.targets import (
    Labels,
    bin_mass,
    encode_labels,
    make_targets,
    score_offsets,
)
from edgewise.kernels import kernels_for
from edgewise.learners import learner_named
from edgewise.metrics import ON_PROBABILITIES, ON_SCORES, predicted
from edgewise.model import Explanation, StumpTerms, collapse, explain
from edgewise.objective import VOTE_RULES, Hamming
from edgewise.search import search_named
from edgewise.theory import margins as theory_margins
from edgewise.validation import flag, integer, one_of, positive


class AdaBoostMH(ClassifierMixin, BaseEstimator):
    """AdaBoost.MH: a multi-class and multi-label classifier that is a sum of readable votes.

    Each round adds one base function phi(x), which says -1 or +1, times a vote for each class and
    a coefficient: the score of class l is the sum over rounds of ``alpha * v[l] * phi(x)``. Every
    round lowers the exponential Hamming loss by the factor Z, and the product of the Z bounds the
    training error. The same data and `random_state` give the same model, bit for bit, for any
    `n_jobs`.

    Parameters
    ----------
    learner : {"stump"} or Learner, default "stump"
        The family of base functions.
    search : {"exhaustive", "lazy"} or Search, default "exhaustive"
        Which columns a round looks at; ``Lazy(k)`` takes k random ones.
    n_rounds : int, default 500
        The number of rounds.
    votes : {"discrete", "real", "abstain"}, default "discrete"
        Votes of -1 or +1 and one step size; votes of any size; or votes of -1, 0 or +1.
    init_weights : {"auto", "balanced", "uniform"} or array of shape (n_samples, K), default "auto"
        The weights of the first round. "balanced" gives each row's own class as much weight as all
        others together; "uniform" gives every entry the same. "auto" is "balanced" for classes and
        "uniform" for multi-label targets. A matrix has a column for each class, one for two
        classes.
    class_weight : dict, "balanced" or None, default None
        Weights of the classes, which multiply the rows' weights; for multi-label targets
        "balanced" or a list with a dict ``{0: weight, 1: weight}`` for each label.
    factorized : bool, default True
        False trains the original form with a stump of its own for each class and round.
    validation_fraction : float or None, default None
        The share of the rows to set aside and validate on.
    patience : int or None, default None
        Stop when the validation metric has not improved for so many rounds, and keep the model of
        the best one. Validation rows count alike, whatever their `sample_weight`.
    eval_metric : {"error", "hamming_loss", "log_loss"} or callable, default "error"
        What is measured on validation rows: lower is better. A callable gets the true targets and
        the scores.
    time_limit : float or None, default None
        Seconds after which training stops, reading and binning the data included.
    min_weight_fraction_leaf : float, default 0.0
        The least share of the rows' weight (class weights included) on each side of a threshold.
    max_bins : int, default 256
        The most bins of a column, up to 65,535. With no more different values than that, every
        threshold is tried.
    infinite : {"raise", "missing", "value"}, default "raise"
        What an infinite number in X means.
    n_jobs : int or None, default None
        Threads: None is 1, -1 all cores.
    random_state : int, RandomState or None, default None
        The seed of what is random: validation splits and random searches.
    verbose : int, default 0
        1 shows a progress bar.
    callbacks : list of Callback or None, default None
        Watch the training, or stop it.
    warm_start : bool, default False
        Go on from the rounds of the last fit instead of starting anew.

    Attributes
    ----------
    classes_ : array
        The class labels; the label names for multi-label targets.
    n_rounds_ : int
        The number of rounds in the model.
    best_iteration_ : int
        The round with the best validation metric; the last one without validation.
    history_ : History
        Edge, alpha, energy, bound, training error, Hamming loss, w'_Sigma and validation metric of
        every round, also of those after the best that early stopping leaves out of the model.
    stop_reason_ : str
        Why training ended.
    terms_ : StumpTerms
        The terms, packed into arrays.
    feature_importances_ : array of shape (n_features,)
        Each column's share in the fall of the loss.
    n_features_in_, feature_names_in_ :
        What training saw.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from edgewise import AdaBoostMH
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaBoostMH(n_rounds=50).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.99
    >>> bool(model.history_["hamming_loss"][-1] <= model.history_["bound"][-1])
    True
    """

    def __init__(
        self,
        learner: Any = "stump",
        *,
        search: Any = "exhaustive",
        n_rounds: int = 500,
        votes: str = "discrete",
        init_weights: Any = "auto",
        class_weight: Any = None,
        factorized: bool = True,
        validation_fraction: float | None = None,
        patience: int | None = None,
        eval_metric: Any = "error",
        time_limit: float | None = None,
        min_weight_fraction_leaf: float = 0.0,
        max_bins: int = 256,
        infinite: str = "raise",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.learner = learner
        self.search = search
        self.n_rounds = n_rounds
        self.votes = votes
        self.init_weights = init_weights
        self.class_weight = class_weight
        self.factorized = factorized
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.eval_metric = eval_metric
        self.time_limit = time_limit
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_bins = max_bins
        self.infinite = infinite
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.warm_start = warm_start

    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> Self:
        """Train on rows `X` with targets `y`.

        Ctrl-C ends the training early and keeps the rounds so far.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows: NumPy, lists, SciPy CSR/CSC, pandas, polars or Arrow.
        y : array of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or the labels of a multi-label problem.
        sample_weight : array of shape (n_samples,) or None
            Weights of the rows; a row of weight 0 counts as absent.
        eval_set : tuple (X, y) or None
            Validation rows.

        Returns
        -------
        self : AdaBoostMH
            The trained model.
        """
        # A draft is trained and taken over at the end, so that a fit that fails changes nothing.
        draft = copy(self)
        draft._fit(X, y, sample_weight, eval_set)
        self.__dict__ = draft.__dict__
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, eval_set: Any) -> None:
        started = time.perf_counter()
        self._check_parameters(eval_set)
        going_on = self.warm_start and hasattr(self, "terms_")
        table = self._table(X, reset=not going_on)
        rows = read_rows(table, y, sample_weight, self.init_weights)
        # Going on, the same rows are set aside and the same columns drawn as before.
        if not going_on:
            self._seed = self._draw_seed()
        seed = self._seed
        held_out = None
        if eval_set is not None:
            held_out = read_held_out(eval_set, rows, self.infinite)
        elif self.validation_fraction is not None:
            rows, held_out = split(rows, self.validation_fraction, seed)
        targets = make_targets(rows.labels, rows.weights, self.class_weight, rows.init_weights)
        before, history = self._before(rows.labels, going_on)

        mass = bin_mass(rows.weights)
        least_share = float(self.min_weight_fraction_leaf)
        if least_share > 0:
            mass = bin_mass(targets.row_weights)
        bins = fit_bins(rows.table, mass, self.max_bins, least_share)
        binned = encode(rows.table, bins)
        offsets = score_offsets(rows.init_weights, rows.labels)
        monitor = make_monitor(held_out, bins, rows.labels, offsets, self.eval_metric)
        search = clone(search_named(self.search)).start(
            binned.splittable, np.random.default_rng(seed)
        )
        kernels = kernels_for(binned, rows.labels.n_scores, self.n_rounds, self._n_threads())
        try:
            objective = Hamming(kernels, targets, self.votes, self.factorized)
            task = Task(rows.table, binned, objective, learner_named(self.learner), search, monitor)
            self.classes_ = rows.labels.classes
            self._multilabel = rows.labels.multilabel
            self._offsets = offsets
            self._train(task, TermList(before), history, started)
        finally:
            kernels.close()

    def decision_function(self, X: Any) -> Reals:
        """Return the scores: (n_samples,) for two classes, else (n_samples, K)."""
        return self._shaped(self._scores(X))

    def predict(self, X: Any) -> NDArray:
        """Return the predicted classes, or the 0/1 matrix of predicted labels."""
        return self._decided(self._scores(X))

    def predict_proba(self, X: Any) -> Reals:
        """Return the estimated probabilities of shape (n_samples, n_classes).

        The logistic link of the score, with the odds of the initial weights undone. Over classes
        they are made to sum to 1; over the labels of a multi-label problem they are not.
        """
        return probabilities(self._scores(X), self._offsets, self._multilabel)

    def staged_decision_function(self, X: Any) -> Iterator[Reals]:
        """Yield the scores after each round."""
        table = self._table(X)
        for scores in self.terms_.staged_scores(table):
            yield self._shaped(scores.T)

    def staged_predict(self, X: Any) -> Iterator[NDArray]:
        """Yield the predictions after each round."""
        table = self._table(X)
        for scores in self.terms_.staged_scores(table):
            yield self._decided(scores.T)

    def margins(self, X: Any, y: Any) -> Reals:
        """Return the normalised margins of rows with known targets.

        They lie in [-1, 1] and are positive where the prediction is right: of shape (n_samples,),
        or (n_samples, K) for a multi-label problem.
        """
        scores = self._scores(X)
        known = Labels(self.classes_, np.empty((0,) * (1 + self._multilabel), dtype=np.int64))
        codes = encode_labels(y, known, "y")
        if len(codes) != len(scores):
            raise ValueError(f"y has {len(codes)} rows, X has {len(scores)}")
        total = self.terms_.total_vote
        if total == 0.0:
            return np.zeros(scores.shape if self._multilabel else len(scores))
        if self._multilabel:
            return theory_margins(scores, np.where(codes > 0, 1, -1), total)
        if scores.shape[1] == 1:
            return theory_margins(scores[:, 0], np.where(codes > 0, 1, -1), total)
        return theory_margins(scores, codes, total)

    def explain(self) -> Explanation:
        """Return what the model has learned: for each column a curve of scores for each class."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)

        def name(j: int) -> str:
            return f"x{j}" if names is None else str(names[j])

        return explain(self._tables, name, self.feature_importances_, self.classes_.tolist())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `edgewise.load` reads; see there."""
        from edgewise.estimators.files import save

        check_is_fitted(self)
        save(self, path)

    @property
    def feature_importances_(self) -> Reals:
        """Each column's share in the fall of the loss (the sum of -ln Z of its rounds)."""
        check_is_fitted(self)
        terms, shares = self.terms_, np.zeros(self.n_features_in_)
        falls = -np.log(np.maximum(self.history_["energy"][: len(terms)], 1e-300))
        sizes = np.abs(terms.votes) if terms.columns.shape[1] > 1 else np.ones((len(terms), 1))
        per_cut = falls[:, None] * sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1e-300)
        used = terms.columns >= 0
        np.add.at(shares, terms.columns[used], per_cut[used])
        total = shares.sum()
        return shares / total if total > 0 else shares

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "terms_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_label = True
        return tags

    def _train(self, task: Task, terms: TermList, history: History, started: float) -> None:
        """Run the loop and keep what it leaves, whatever ended it."""

        def save(path: Any) -> None:
            partly = copy(self)
            kept = run.best_round if run.finished else None
            partly._keep(terms.pack(), copy(history), kept)
            partly.stop_reason_ = run.stop_reason if run.finished else "checkpoint"
            partly.save(path)

        validates = task.monitor is not None
        run = Run(self.n_rounds, history, save, validates, started=started)
        callbacks: list[Callback] = [ProgressBar()] if self.verbose else []
        if self.patience is not None:
            callbacks.append(EarlyStopping(self.patience))
        if self.time_limit is not None:
            callbacks.append(TimeLimit(self.time_limit))
        boost(task, terms, run, [*callbacks, *check_callbacks(self.callbacks)])
        self._keep(terms.pack(), history, run.best_round)
        self.stop_reason_ = run.stop_reason

    def _keep(self, terms: StumpTerms, history: History, best_round: int | None) -> None:
        """Take over terms and history; after early stopping, the rounds up to the best."""
        # An interrupt may have come between a term and its record.
        whole = min(len(terms), history.n_rounds)
        history.truncate(whole)
        validation = history["validation"]
        validated = whole > 0 and not np.isnan(validation).all()
        self.best_iteration_ = int(np.nanargmin(validation)) + 1 if validated else whole
        self.terms_ = terms[: whole if best_round is None else min(best_round, whole)]
        self.n_rounds_ = len(self.terms_)
        self.history_ = history
        self._tables = collapse(self.terms_)

    def _before(self, labels: Labels, going_on: bool) -> tuple[StumpTerms, History]:
        """Return the terms and history to go on from."""
        n_cuts = 1 if self.factorized else labels.n_scores
        if not going_on:
            return StumpTerms.empty(n_cuts, labels.n_scores), History()
        if not np.array_equal(labels.classes, self.classes_) or (
            labels.multilabel != self._multilabel
        ):
            raise ValueError("warm_start: y does not have the same classes as in the last fit")
        if self.n_rounds < self.n_rounds_:
            raise ValueError(
                f"n_rounds={self.n_rounds} must be at least {self.n_rounds_}, the number of rounds "
                "there are already, when warm_start=True"
            )
        if self.terms_.columns.shape[1] != n_cuts:
            raise ValueError("warm_start: factorized must be as in the last fit")
        for name in getattr(self, "_unsaved", ()):
            if getattr(self, name) == signature(AdaBoostMH).parameters[name].default:
                raise ValueError(
                    f"warm_start: the model was saved without its {name}, which a file cannot "
                    f"hold; give it again with set_params({name}=...)"
                )
        history = copy(self.history_)
        history.truncate(self.n_rounds_)
        return self.terms_, history

    def _table(self, X: Any, reset: bool = False) -> Table:
        if not reset:
            check_is_fitted(self)
        table = as_table(X, self.infinite)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return table

    def _scores(self, X: Any) -> Reals:
        table = self._table(X)
        return self._tables.scores(table, self._n_threads())

    def _shaped(self, scores: Reals) -> Reals:
        return scores[:, 0] if scores.shape[1] == 1 and not self._multilabel else scores

    def _decided(self, scores: Reals) -> NDArray:
        codes = predicted(scores, self._multilabel)
        return codes if self._multilabel else self.classes_[codes]

    def _draw_seed(self) -> int:
        try:
            return int(check_random_state(self.random_state).randint(2**31))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"random_state must be an int, a RandomState or None: {error}"
            ) from error

    def _n_threads(self) -> int:
        from joblib import effective_n_jobs

        if self.n_jobs is None:
            return 1
        return int(effective_n_jobs(self.n_jobs))

    def _check_parameters(self, eval_set: Any) -> None:
        learner_named(self.learner)
        search_named(self.search)
        integer("n_rounds", self.n_rounds, 1)
        one_of("votes", self.votes, VOTE_RULES)
        flag("factorized", self.factorized)
        flag("warm_start", self.warm_start)
        if self.min_weight_fraction_leaf != 0:
            positive("min_weight_fraction_leaf", self.min_weight_fraction_leaf, below=0.5)
        integer("max_bins", self.max_bins, 2, MAX_BINS)
        one_of("infinite", self.infinite, INFINITE_CHOICES)
        check_callbacks(self.callbacks)
        integer("verbose", int(self.verbose) if self.verbose in (True, False) else self.verbose, 0)
        if self.n_jobs is not None and integer("n_jobs", self.n_jobs, -(10**6)) == 0:
            raise ValueError("n_jobs must not be 0: use 1 for one thread, -1 for all cores")
        if not callable(self.eval_metric):
            one_of("eval_metric", self.eval_metric, [*ON_SCORES, *ON_PROBABILITIES])
        if self.validation_fraction is not None:
            positive("validation_fraction", self.validation_fraction, below=1.0)
            if eval_set is not None:
                raise ValueError("give validation_fraction or eval_set, not both")
        if self.time_limit is not None:
            positive("time_limit", self.time_limit)
        if self.patience is not None:
            integer("patience", self.patience, 1)
            if self.validation_fraction is None and eval_set is None:
                raise ValueError(
                    "patience needs rows to validate on: validation_fraction or eval_set"
                )
