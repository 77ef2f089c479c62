"""AdaBoost.MH as a scikit-learn classifier."""

import time
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from edgewise.backend.choose import backend_for
from edgewise.boosting import History, Task, TermList
from edgewise.data import categories_of, fit_encode
from edgewise.data.filters import Filters
from edgewise.estimators.classifier import TrainedClassifier
from edgewise.estimators.monitoring import make_monitor
from edgewise.estimators.parameters import check_parameters
from edgewise.estimators.parts import (
    filters_of,
    learner_for,
    no_terms,
    settings_of,
    terms_for,
    with_all_columns,
)
from edgewise.estimators.rows import read_held_out, read_rows, split
from edgewise.estimators.targets import (
    Labels,
    bin_mass,
    make_targets,
    score_offsets,
)
from edgewise.estimators.training import Trainable
from edgewise.learners import Goal, learner_named
from edgewise.model import (
    StumpTerms,
    Terms,
)
from edgewise.objective import Hamming, Settings
from edgewise.search import search_named


class AdaBoostMH(TrainedClassifier, Trainable, ClassifierMixin, BaseEstimator):
    """AdaBoost.MH: a multi-class and multi-label classifier that is a sum of readable votes.

    Each round adds one base function phi(x) times a vote for each class and a coefficient: the
    score of class l is the sum over rounds of ``alpha * v[l] * phi(x)``. Every round lowers an
    upper bound of the training error, which is shown as it trains. The same data and
    `random_state` give the same model, bit for bit, for any `n_jobs`.

    Parameters
    ----------
    learner : {"auto", "stump", "product", "tree"}, Learner or list of them, default "auto"
        The family of base functions. "stump" tests one column: a threshold on a numeric one, a
        subset of the values of a categorical one. "product" multiplies three such tests, "tree"
        nests them. Of a list each round takes the best. "auto" is what measured best over many data
        sets: a tree of 8 to 32 leaves (more for more classes) and, where they are left open, real
        votes, the logistic loss and a learning rate of 0.2 (0.1 for multi-label targets).
    search : {"exhaustive", "auto", "lazy", "ucb", "thompson", "exp3p"} or Search
        Which columns a round looks at: all of them by default. ``Lazy(k)`` takes k random ones;
        ``UCB(k)``, ``ThompsonSampling(k)`` and ``Exp3P(k)`` learn which are worth it. "auto" looks
        at all of up to 499 columns and is ``UCB(50, random=0.5)`` for more.
    n_rounds : int, default 500
        The number of rounds.
    votes : {"discrete", "real", "abstain"} or None, default None
        Votes of -1 or +1 and one step size; votes of any size; or votes of -1, 0 or +1. None is
        "real" with ``learner="auto"``, else "discrete".
    loss : {"exponential", "logistic"} or None, default None
        What is lowered. The logistic loss gives no row more than its initial weight, which helps
        where labels are wrong. None is "logistic" with ``learner="auto"``, else "exponential".
    learning_rate : float or None, default None
        What every step is multiplied by, above 0 and at most 1. Smaller steps take more rounds
        and overfit less. None is 1, with ``learner="auto"`` 0.2 or 0.1.
    subsample : float, default 1.0
        The share of the rows, drawn anew in every round, on which rules are looked for (of trees
        also the outputs of the leaves); votes and steps are computed on all.
    sampling : {"uniform", "weight"}, default "uniform"
        How `subsample` draws: all rows alike, or by their weight with replacement, each draw of
        the same weight.
    trim : float or None, default None
        The share of the weight to look for rules on, above 0 and below 1: the heaviest rows, or
        (row, class) entries where that is faster, that hold at least so much of it. Votes and steps
        are computed on all. With 0.95 rounds take a fraction of the time once the weight has
        gathered on few rows.
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
    early_stopping_rounds : int or None, default None
        Stop when the validation metric has not improved for so many rounds, and keep the model of
        the best one. Validation rows count alike, whatever their `sample_weight`.
    eval_metric : {"error", "hamming_loss", "log_loss", "balanced_accuracy", "roc_auc"} or callable
        What is measured on validation rows, "error" by default. Lower is better, but for
        balanced accuracy and ROC AUC, and for a callable whose attribute ``larger_is_better`` is
        true. A callable gets the true targets and the scores.
    time_limit : float or None, default None
        Seconds after which training stops, reading and binning the data included.
    min_weight_fraction_leaf : float, default 0.0
        The least share of the rows' weight (class weights included) on each side of a threshold.
    max_bins : int, default 256
        The most bins of a column, up to 65,535. With no more different values than that, every
        threshold is tried.
    infinite : {"raise", "missing", "value"}, default "raise"
        What an infinite number in X means.
    categorical_features : list of str or int, or None, default None
        Columns, by name or number, whose numbers are names of things. Strings and categories are
        categorical without being listed.
    n_jobs : int or None, default None
        Threads: None is 1, -1 all cores.
    random_state : int, RandomState or None, default None
        The seed of what is random: validation splits, random searches and starts, and `subsample`.
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
        every round, also of those after the best that early stopping leaves out of the model; with
        two classes ROC AUC and balanced accuracy; columns looked at, and the share of the
        search's work saved (counted, not timed).
    stop_reason_ : str
        Why training ended.
    learner_, votes_, loss_, learning_rate_ :
        What was trained with, where it was left to "auto" or None.
    terms_ : StumpTerms or RuleTerms
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
    1.0
    >>> bool(model.history_["hamming_loss"][-1] <= model.history_["bound"][-1])
    True
    """

    def __init__(
        self,
        learner: Any = "auto",
        *,
        search: Any = "exhaustive",
        n_rounds: int = 500,
        votes: str | None = None,
        loss: str | None = None,
        learning_rate: float | None = None,
        subsample: float = 1.0,
        sampling: str = "uniform",
        trim: float | None = None,
        init_weights: Any = "auto",
        class_weight: Any = None,
        factorized: bool = True,
        validation_fraction: float | None = None,
        early_stopping_rounds: int | None = None,
        eval_metric: Any = "error",
        time_limit: float | None = None,
        min_weight_fraction_leaf: float = 0.0,
        max_bins: int = 256,
        infinite: str = "raise",
        categorical_features: Any = None,
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
        self.loss = loss
        self.learning_rate = learning_rate
        self.subsample = subsample
        self.sampling = sampling
        self.trim = trim
        self.init_weights = init_weights
        self.class_weight = class_weight
        self.factorized = factorized
        self.validation_fraction = validation_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.time_limit = time_limit
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_bins = max_bins
        self.infinite = infinite
        self.categorical_features = categorical_features
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
        X : array, sparse matrix, data frame or Chunks of shape (n_samples, n_features)
            The rows: NumPy, lists, SciPy CSR/CSC, pandas, polars, Arrow, or `Chunks`.
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
        return self._taken_over(lambda draft: draft._fit(X, y, sample_weight, eval_set))

    def _fit(self, X: Any, y: Any, sample_weight: Any, eval_set: Any) -> None:
        started = time.perf_counter()
        check_parameters(self, eval_set)
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

        mass = bin_mass(rows.weights)
        least_share = float(self.min_weight_fraction_leaf)
        if least_share > 0:
            mass = bin_mass(targets.row_weights)
        filters = filters_of(learner_named(self.learner))
        n_jobs = self._n_threads()
        binned = fit_encode(rows.table, mass, self.max_bins, least_share, filters, n_jobs)
        goal = Goal(rows.labels.n_scores, rows.labels.multilabel)
        learner = learner_for(self, binned, goal)
        settings = settings_of(self, seed, rows.labels.multilabel)
        if going_on:
            self._check_going_on(settings, categories_of(binned.bins), filters)
        before, history = self._before(rows.labels, going_on, terms_for(learner, self.factorized))
        self._categories = categories_of(binned.bins)
        self._filters = filters
        offsets = score_offsets(rows.init_weights, rows.labels)
        self.votes_, self.loss_ = settings.votes, settings.loss
        self.learning_rate_, self.learner_ = settings.learning_rate, learner
        self._link = 1.0 if settings.loss == "logistic" else 2.0
        monitor = make_monitor(held_out, binned, rows.labels, offsets, self._link, self.eval_metric)
        work = self.n_rounds * learner.cost
        kernels = backend_for(binned, rows.labels.n_scores, work, n_jobs)
        try:
            objective = Hamming(kernels, targets, settings, learner.needs_mass)
            search = search_named(self.search)
            sampled = self.subsample < 1 or self.sampling == "weight"
            all_rows = not sampled and self.trim is None
            fallback = with_all_columns(learner, search, all_rows, binned, seed)
            ready = self._ready(learner, binned, search, going_on)
            task = Task(binned, objective, ready, fallback, monitor)
            self.classes_ = rows.labels.classes
            self._multilabel = rows.labels.multilabel
            self._offsets = offsets
            self._train(task, TermList(before), history, started)
        finally:
            kernels.close()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "terms_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_label = True
        return tags

    def _check_going_on(
        self, settings: Settings, categories: dict[int, tuple[object, ...]], filters: Filters | None
    ) -> None:
        """Raise where the terms there are cannot be followed by others of these settings."""
        self._check_unsaved()
        if categories != self._categories:
            raise ValueError(
                "warm_start: X has categorical columns with other values than in the last fit"
            )
        if (settings.votes, settings.loss) != (self.votes_, self.loss_):
            raise ValueError(
                f"warm_start: votes and loss must be as in the last fit, {self.votes_!r} and "
                f"{self.loss_!r}; got {settings.votes!r} and {settings.loss!r}"
            )
        if filters != self._filters:
            raise ValueError("warm_start: learner must have the image filters of the last fit")

    def _before(self, labels: Labels, going_on: bool, kind: type) -> tuple[Terms, History]:
        """Return the terms and history to go on from."""
        n_cuts = 1 if self.factorized else labels.n_scores
        if not going_on:
            return no_terms(kind, n_cuts, labels.n_scores), History()
        if not np.array_equal(labels.classes, self.classes_) or (
            labels.multilabel != self._multilabel
        ):
            raise ValueError("warm_start: y does not have the same classes as in the last fit")
        before, history = self._to_go_on_from(kind)
        if isinstance(before, StumpTerms) and before.columns.shape[1] != n_cuts:
            raise ValueError("warm_start: factorized must be as in the last fit")
        return before, history
