"""RankBoost as a scikit-learn style estimator."""

import time
from typing import Any, Self

from sklearn.base import BaseEstimator

from edgewise.backend.base import Backend
from edgewise.backend.choose import backend_for
from edgewise.boosting import RANKING, History, Task, TermList
from edgewise.data import BinnedTable, categories_of, fit_encode
from edgewise.data.filters import Filters
from edgewise.estimators.judgements import (
    HeldOutLists,
    JudgedPairs,
    JudgedRows,
    read_held_out_lists,
    read_judged,
    read_pairs,
    split_queries,
)
from edgewise.estimators.parts import no_terms, with_all_columns
from edgewise.estimators.rank_parts import (
    check_rank_parameters,
    cumulative_of,
    most_bins,
    rank_filters,
    rank_learner,
    rank_monitor,
    rank_terms,
)
from edgewise.estimators.ranker import TrainedRanker
from edgewise.estimators.targets import bin_mass
from edgewise.estimators.training import Trainable
from edgewise.learners import Learner
from edgewise.model import Terms
from edgewise.objective import Ranking, RankSettings
from edgewise.objective.feedback import Feedback
from edgewise.search import search_named


class RankBoost(TrainedRanker, Trainable, BaseEstimator):
    """RankBoost: learns to rank from grades or pairs; a model is a sum of readable rules.

    Each round adds a rule that says 1 or 0 of a document, such as "bm25 is at least 12", times a
    coefficient; documents are ranked by the sum. Every round lowers an upper bound of the share of
    misordered pairs, which is shown as it trains. Time and memory are linear in the number of
    documents, whatever the number of pairs. The same data and `random_state` give the same model,
    bit for bit, for any `n_jobs`.

    Parameters
    ----------
    learner : {"stump", "product", "tree", "feature"}, Learner or list of them, default "stump"
        The family of rules. "stump" is a threshold on one column, or a subset of the values of a
        categorical one. "product" multiplies two such tests, "tree" nests them to 8 leaves.
        "feature" takes columns as they are.
    search : {"exhaustive", "auto", "lazy", "ucb", "thompson", "exp3p"} or Search
        Which columns a round looks at: all of them by default; see `AdaBoostMH`.
    n_rounds : int, default 500
        The number of rounds.
    criterion : {"edge", "energy"}, default "edge"
        What rules are chosen by: |r|, fast, or the exact Z = W0 + 2 sqrt(W- W+), some ten times
        slower (the thesis's third and second methods). "energy" is for thresholds only.
    step : {"bound", "exact"} or None, default None
        How long the step is: it minimises the bound sqrt(1 - r^2) of Z, or Z itself. None is
        "bound" with ``criterion="edge"`` and "exact" with "energy". Rules with real values always
        have exact steps.
    learning_rate : float, default 0.2
        What every step is multiplied by, above 0 and at most 1.
    monotonic_cst : {"learn", "increasing", "none"}, dict or array, default "learn"
        How the contribution of a numeric column may run. "learn": either never falling or never
        rising, as the column's first rule says. "increasing": never falling, the positive
        cumulative weights of the thesis (WeakLearn.cum). "none": anyhow. Or for each column +1, -1
        or 0, which is free; or by name, where columns that are not named learn theirs. It holds for
        rules that are thresholds; others, and whether a value is there at all, are free.
    q_def : {None, 0, 1}, default None
        What a rule says of a document that its column does not rank (a missing value): whichever is
        better, or always 0 or 1. With a learner that has a name; for "feature" 0 is the least value
        of the column and 1 the largest.
    pair_weight : {"equal", "difference"}, default "difference"
        What a pair counts: 1, or the difference of its grades.
    query_weight : {"pairs", "root", "equal"}, default "root"
        What the pairs of a query count together: their number, its square root, or 1.
    subsample : float, default 1.0
        The share of the queries, drawn anew in every round, on which rules are looked for.
    validation_fraction : float or None, default None
        The share of the queries to set aside and validate on.
    early_stopping_rounds : int or None, default None
        Stop when the validation metric has not improved for so many rounds, and keep the model of
        the best one.
    eval_metric : str or callable, default "map"
        What is measured on validation queries, and by `score`: "map", "ndcg", "ndcg@10", "mrr",
        "precision@10", "recall@10", "auc", "disagreement", "prot" or "coverage", expected over
        ties. A callable gets grades, scores and query ids, and larger is better.
    time_limit : float or None, default None
        Seconds after which training stops, reading and binning the data included.
    max_bins : int or None, default None
        The most bins of a column, up to 65,535. With no more different values than that, every
        threshold is tried. None is 65,535 for up to as many documents, and 1,024 for more.
    infinite : {"raise", "missing", "value"}, default "raise"
        What an infinite number in X means.
    categorical_features : list of str or int, or None, default None
        Columns, by name or number, whose numbers are names of things.
    n_jobs : int or None, default None
        Threads: None is 1, -1 all cores.
    random_state : int, RandomState or None, default None
        The seed of what is random: validation splits, random searches and `subsample`.
    verbose : int, default 0
        1 shows a progress bar.
    callbacks : list of Callback or None, default None
        Watch the training, or stop it.
    warm_start : bool, default False
        Go on from the rounds of the last fit instead of starting anew.

    Attributes
    ----------
    n_rounds_ : int
        The number of rounds in the model.
    best_iteration_ : int
        The round with the best validation metric; the last one without validation.
    history_ : History
        Edge r, alpha, energy Z, the bound of theorem 1, ranking loss and validation metric of every
        round, also of those after the best that early stopping leaves out of the model.
    stop_reason_ : str
        Why training ended.
    learner_ : Learner
        What was trained with.
    terms_ : StumpTerms, RuleTerms or FeatureTerms
        The terms, packed into arrays. Rules say -1 or +1 there, so that coefficients are half those
        of the scores.
    feature_importances_ : array of shape (n_features,)
        Each column's share in the fall of the loss.
    n_features_in_, feature_names_in_ :
        What training saw.

    Examples
    --------
    >>> from edgewise import RankBoost
    >>> X = [[3.0, 1.0], [1.0, 0.0], [2.0, 5.0], [9.0, 2.0], [7.0, 1.0], [8.0, 3.0]]
    >>> y, qid = [1, 0, 2, 1, 0, 2], ["a", "a", "a", "b", "b", "b"]
    >>> model = RankBoost(n_rounds=20).fit(X, y, qid=qid)
    >>> model.rank(X, qid=qid)
    array([2, 3, 1, 2, 3, 1])
    >>> print(model.rules()[0])
    +1.09 where (x1 >= 2.5)
    """

    def __init__(
        self,
        learner: Any = "stump",
        *,
        search: Any = "exhaustive",
        n_rounds: int = 500,
        criterion: str = "edge",
        step: str | None = None,
        learning_rate: float = 0.2,
        monotonic_cst: Any = "learn",
        q_def: int | None = None,
        pair_weight: str = "difference",
        query_weight: str = "root",
        subsample: float = 1.0,
        validation_fraction: float | None = None,
        early_stopping_rounds: int | None = None,
        eval_metric: Any = "map",
        time_limit: float | None = None,
        max_bins: int | None = None,
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
        self.criterion = criterion
        self.step = step
        self.learning_rate = learning_rate
        self.monotonic_cst = monotonic_cst
        self.q_def = q_def
        self.pair_weight = pair_weight
        self.query_weight = query_weight
        self.subsample = subsample
        self.validation_fraction = validation_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.time_limit = time_limit
        self.max_bins = max_bins
        self.infinite = infinite
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.warm_start = warm_start

    def fit(
        self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None, eval_set: Any = None
    ) -> Self:
        """Train on documents `X` with grades `y`, compared within the queries `qid`.

        Ctrl-C ends the training early and keeps the rounds so far.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Chunks of shape (n_samples, n_features)
            The documents. A missing value is a document that the column does not rank.
        y : array of shape (n_samples,)
            Grades: any finite numbers, larger ones to be ranked higher.
        qid : array of shape (n_samples,) or None
            The query of each document, integers or strings in any order; None is one query.
        sample_weight : array of shape (n_samples,) or (n_queries,), dict or None
            Weights of the documents, which multiply those of their pairs; or of the queries, in the
            order of their sorted ids or by id.
        eval_set : tuple (X, y) or (X, y, qid), or None
            Validation documents.

        Returns
        -------
        self : RankBoost
            The trained model.
        """
        return self._taken_over(lambda draft: draft._fit_grades(X, y, qid, sample_weight, eval_set))

    def fit_pairs(self, X: Any, pairs: Any, weights: Any = None, eval_set: Any = None) -> Self:
        """Train on pairs of documents: any feedback function Phi of Iyer 1999 section 4.1.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Chunks of shape (n_samples, n_features)
            The documents.
        pairs : int array of shape (n_pairs, 2)
            Rows of X, of which the second is to be ranked above the first. Preferences need not be
            transitive. What is said of a pair several times, by several feedbacks, is added up;
            what is said the other way round is subtracted.
        weights : float array of shape (n_pairs,) or None
            How important each pair is; a negative weight means the opposite order.
        eval_set : tuple (X, y) or (X, y, qid), or None
            Validation documents with grades.

        Returns
        -------
        self : RankBoost
            The trained model.

        Examples
        --------
        >>> from edgewise import RankBoost
        >>> model = RankBoost(n_rounds=5).fit_pairs([[1.0], [2.0], [3.0]], [[0, 2], [1, 2]])
        >>> model.rank([[1.0], [3.0]])
        array([2, 1])
        """
        return self._taken_over(lambda draft: draft._fit_pairs(X, pairs, weights, eval_set))

    def _fit_grades(self, X: Any, y: Any, qid: Any, sample_weight: Any, eval_set: Any) -> None:
        started = time.perf_counter()
        check_rank_parameters(self, eval_set)
        if y is None:
            raise ValueError("RankBoost requires y to be passed, but the target y is None")
        going_on = self._going_on()
        table = self._table(X, reset=not going_on)
        rows = read_judged(table, y, qid, sample_weight)
        self._has_queries = len(rows.query_factors) > 1
        self._begin(going_on)
        held_out = None
        if eval_set is not None:
            held_out = read_held_out_lists(eval_set, table, self.infinite, self._has_queries)
        elif self.validation_fraction is not None:
            rows, held_out = split_queries(rows, self.validation_fraction, self._seed)
        self._fit(rows, held_out, going_on, started)

    def _fit_pairs(self, X: Any, pairs: Any, weights: Any, eval_set: Any) -> None:
        started = time.perf_counter()
        check_rank_parameters(self, eval_set)
        if self.validation_fraction is not None:
            raise ValueError("validation_fraction needs grades: give fit_pairs an eval_set")
        going_on = self._going_on()
        table = self._table(X, reset=not going_on)
        judged = read_pairs(table, pairs, weights)
        self._has_queries = False
        self._begin(going_on)
        held_out = None
        if eval_set is not None:
            held_out = read_held_out_lists(eval_set, table, self.infinite)
        self._fit(judged, held_out, going_on, started)

    def _fit(
        self,
        judged: JudgedRows | JudgedPairs,
        held_out: HeldOutLists | None,
        going_on: bool,
        started: float,
    ) -> None:
        mass = bin_mass(judged.weights) if isinstance(judged, JudgedRows) else None
        filters, n_jobs = rank_filters(self.learner), self._n_threads()
        most = most_bins(self.max_bins, judged.table.n_rows)
        binned = fit_encode(judged.table, mass, most, filters=filters, n_jobs=n_jobs)
        learner = rank_learner(self, binned)
        categories = categories_of(binned.bins)
        if going_on:
            self._check_going_on(categories, filters)
        before, history = self._before(going_on, rank_terms(learner))
        self._categories, self._filters, self.learner_ = categories, filters, learner
        monitor = rank_monitor(held_out, binned, self.eval_metric)
        layout = judged.layout(self.pair_weight) if isinstance(judged, JudgedRows) else None
        work, by_energy = self.n_rounds * learner.cost, self.criterion == "energy"
        kernels = backend_for(binned, 1, work, n_jobs, layout, by_energy)
        try:
            pairs: Feedback
            if isinstance(judged, JudgedRows):
                assert layout is not None
                pairs = judged.feedback(layout, kernels, self.query_weight)
            else:
                pairs = judged.feedback()
            task = self._task(kernels, pairs, learner, monitor, going_on)
            self._train(task, TermList(before), history, started)
        finally:
            kernels.close()

    def _task(
        self, kernels: Backend, pairs: Feedback, learner: Learner, monitor: Any, going_on: bool
    ) -> Task:
        binned: BinnedTable = kernels.table
        step = self.step or ("bound" if self.criterion == "edge" else "exact")
        settings = RankSettings(
            self.criterion, step, float(self.learning_rate), float(self.subsample), self._seed
        )
        cumulative = cumulative_of(self, learner, binned)
        objective = Ranking(kernels, pairs, settings, cumulative, learner.needs_mass)
        search = search_named(self.search)
        fallback = with_all_columns(learner, search, self.subsample == 1, binned, self._seed)
        ready = self._ready(learner, binned, search, going_on)
        return Task(binned, objective, ready, fallback, monitor)

    def _going_on(self) -> bool:
        return self.warm_start and hasattr(self, "terms_")

    def _begin(self, going_on: bool) -> None:
        # Going on, the same queries are set aside and the same columns drawn as before.
        if not going_on:
            self._seed = self._draw_seed()

    def _check_going_on(
        self, categories: dict[int, tuple[object, ...]], filters: Filters | None
    ) -> None:
        """Raise where the terms there are cannot be followed by others."""
        self._check_unsaved()
        if categories != self._categories:
            raise ValueError(
                "warm_start: X has categorical columns with other values than in the last fit"
            )
        if filters != self._filters:
            raise ValueError("warm_start: learner must have the image filters of the last fit")

    def _before(self, going_on: bool, kind: type[Terms]) -> tuple[Terms, History]:
        """Return the terms and history to go on from."""
        if not going_on:
            return no_terms(kind, 1, 1), History(RANKING)
        return self._to_go_on_from(kind)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "terms_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags
