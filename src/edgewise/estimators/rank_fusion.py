"""Meta-search: RankBoost on ranked lists."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from edgewise.common import choices
from edgewise.common.checks import one_of, seed
from edgewise.common.dtypes import Reals
from edgewise.data import ArrayTable, Table
from edgewise.data.table import is_frame
from edgewise.estimators.candidates import MIN_QUERIES
from edgewise.estimators.fitted import FittedRanker
from edgewise.estimators.parameters import RankingParameters, document_parameters
from edgewise.estimators.rank_boost import RankBoost, Ranker
from edgewise.estimators.rows import EvalSet, name_eval_sets
from edgewise.estimators.train import best_candidate
from edgewise.fusion import RankedLists, grades_of, normalized_scores
from edgewise.io import Run, read_run
from edgewise.learners import resolve_learner
from edgewise.metrics.registry import larger_is_better
from edgewise.model import FusionWording

if TYPE_CHECKING:
    from edgewise.report import Report


# The k of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
_FLAT = 60.0
# To choose a learner: the fraction of the queries to validate on, how long to wait, and at most.
_HOLD_OUT_FRACTION, _PATIENCE, _MAX_ROUNDS = 0.2, 50, 500


class Values(NamedTuple):
    """The columns that a list makes."""

    kinds: tuple[str, ...]
    is_zero: bool  # for documents that the list does not return


@document_parameters
@dataclass(eq=False, repr=False, kw_only=True)
class RankFusion(RankingParameters, Ranker):
    """Fuses ranked lists into one by learning from judged documents which lists to believe.

    Each list is a ranking feature of a `RankBoost`, and a document that it does not return is
    unranked (Iyer 1999 section 5.1). With thresholds on positions, a document earns a weight for
    being among the first ten of one list, another for the first three of a second, and so on; with
    values, its score is a weighted sum of its reciprocal ranks.

    Lists may be `edgewise.fusion.RankedLists`, a mapping from names to TREC runs (or their paths)
    or data frames, or one data frame with the columns query, doc, list and rank or score.
    Judgments may be TREC qrels (or a path), a data frame with the columns query, doc and grade,
    or, with `RankedLists`, an array with a grade for each row. Documents without a judgment have
    grade 0, as in trec_eval; judged documents that no list returns are ignored.

    Parameters
    ----------
    learner : {"auto", "stump", "additive", "product", "tree", "feature"}, Learner or list, \
default "auto"
        The family of rules, as in `RankBoost`. "auto" compares thresholds ("stump") with the values
        themselves ("feature") on validation queries, from `eval_set` or `validation_fraction`,
        else a fifth of the training queries, before training on all. With fewer than 20 queries,
        settings for thresholds alone, or "paper", it is "stump".
    n_rounds : int, "auto" or None, default None
        The number of boosting rounds, as in `RankBoost`. "auto" chooses it, up to 500, on the
        queries that compare learners.
    learning_rate : float or "auto", default "auto"
        Factor on every step, above 0 and at most 1. "auto" is 0.2 for pairs, 0.1 for NDCG and MAP,
        and 1 for "paper".
    values : {"rank", "reciprocal", "score"}, sequence of them, or None, default None
        The value of a document on a list: minus its position; 1 / (60 + position); or its score,
        scaled to 0..1 within the query. Several make several columns. None is "reciprocal" for
        rules that use the values themselves, and "rank" for tests. With ``missing="low"``,
        reciprocal ranks and scores that are used themselves are 0 for a document that the list does
        not return, as in reciprocal rank fusion and CombSUM.
    objective : {"auto", "pairs", "ndcg", "map"}, default "auto"
        What rounds improve, as in `RankBoost`. "auto" is "map" for rules that use the values
        themselves, and "pairs" for tests.

    Examples
    --------
    >>> from edgewise import RankFusion
    >>> from edgewise.fusion import RankedLists
    >>> lists = RankedLists(
    ...     [[1, 3], [2, None], [3, 1], [1, 2], [2, 1]], qid=[1, 1, 1, 2, 2], names=["bm25", "url"]
    ... )
    >>> model = RankFusion(n_rounds=10).fit(lists, [0, 0, 1, 0, 1])
    >>> model.rank(lists)
    array([2, 3, 1, 2, 1])
    >>> print(model.rules()[0])
    +6.91 where (url: top 1)
    """

    _wording = FusionWording

    learner: Any = field(default="auto", kw_only=False)
    n_rounds: int | str | None = None  # type: ignore[assignment]
    learning_rate: float | str = "auto"
    values: Any = None
    objective: str = "auto"

    def fit(
        self,
        lists: Any,
        judgments: Any,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
    ) -> Self:
        """Learn from lists and the judgments of their documents, and return the model.

        Parameters
        ----------
        lists : RankedLists, mapping of names to runs or frames, or data frame
            The lists of the training queries.
        judgments : array of shape (n_rows,), Qrels or data frame
            The grades of the documents.
        sample_weight : array of shape (n_rows,) or (n_queries,), dict or None
            Weights of the documents or of the queries.
        eval_set : tuple (lists, judgments), list of such tuples, or None
            Validation queries. The last of several sets decides when to stop early.
        eval_names : list of str or None
            Names of the sets in `evals_result_`; by default "validation_0", "validation_1" and so
            on.
        """
        eval_sets = name_eval_sets(eval_set, eval_names)
        training = ranked_lists(lists)
        grades = grades_of(training, judgments)
        if self.warm_start and self.__sklearn_is_fitted__():
            training = _with_names(training, self.list_names_, "lists")
            learners = [self.fitted_.learner or self.learner]
        else:
            learners = self._candidates(training)

        def train(learner: Any, owner: "RankFusion | None" = None, **settings: Any) -> FittedRanker:
            values = self._values(learner)
            validation = [
                eval_set._replace(value=_documents(eval_set, training.names, values))
                for eval_set in eval_sets
            ]
            ranker = self._ranker(learner).set_params(**settings)
            X, qid = _features(training, values), training.qid
            return ranker._fit_grades(X, grades, qid, sample_weight, validation, owner)

        self.fitted_ = self._train_best(learners, train, bool(eval_sets))
        return self

    def _candidates(self, lists: RankedLists) -> list[Any]:
        """Return the learners to compare."""
        if not isinstance(self.learner, str) or self.learner != "auto":
            return [self.learner]
        monotonic = self.monotonic_cst
        is_free = isinstance(monotonic, str) and monotonic in ("auto", "learn")
        is_free = is_free and self.criterion == "edge" and self.preset == "auto"
        many = len(lists.queries.ids) >= MIN_QUERIES
        return ["stump", "feature"] if many and is_free else ["stump"]

    def _train_best(
        self, learners: list[Any], train: Callable[..., FittedRanker], validates: bool
    ) -> FittedRanker:
        """Return the model of the learner that ranks validation queries best."""
        if len(learners) == 1:
            return train(learners[0], self)
        validates = validates or self.validation_fraction is not None
        is_given = not isinstance(self.n_rounds, str | None)
        # The same validation queries for all.
        state = self.random_state
        settings: dict[str, Any] = {
            "random_state": state if isinstance(state, int) else seed(state)
        }
        if self.time_limit is not None:
            settings["time_limit"] = self.time_limit / (len(learners) + 1)
        quiet = {**settings, "callbacks": None}
        if not validates:
            quiet |= {"validation_fraction": _HOLD_OUT_FRACTION, "verbose": 0}
            quiet["early_stopping_rounds"] = _PATIENCE
            quiet["n_rounds"] = self.n_rounds if is_given else _MAX_ROUNDS
        models: list[FittedRanker] = []
        for learner in learners:
            models.append(train(learner, **quiet))
            if models[-1].stop_reason == "interrupted":
                break
        if models[-1].stop_reason == "interrupted":
            return models[-1]
        is_auto = isinstance(self.eval_metric, str) and self.eval_metric == "auto"
        metric = models[0].eval_metric if is_auto else self.eval_metric
        larger = larger_is_better(metric, default=True)
        worst = -np.inf if larger else np.inf
        values = [
            float(model.history["validation"][model.n_rounds - 1]) if model.n_rounds else worst
            for model in models
        ]
        best = best_candidate(values, larger)
        if validates and not self.callbacks and self.time_limit is None:
            return models[best]
        if not validates and not is_given:
            settings["n_rounds"] = max(models[best].n_rounds, 1)
        return train(learners[best], self, **settings)

    def _ranker(self, learner: Any) -> RankBoost:
        """Return a ranker of the values of documents on lists."""
        settings = self.get_params(deep=False)
        del settings["values"]
        if self.objective == "auto":
            settings["objective"] = "map" if _takes_values(learner) else "pairs"
        if self.preset == "auto" and self.learning_rate == "auto":
            settings["learning_rate"] = 0.2 if settings["objective"] == "pairs" else 0.1
        ranker = RankBoost(**{**settings, "learner": learner})
        if self.__sklearn_is_fitted__():
            ranker.fitted_ = self.fitted_
        return ranker

    def _values(self, learner: Any) -> Values:
        """Return the values of documents on a list for rules of a learner."""
        takes_values, kinds = _takes_values(learner), self.values
        is_zero = takes_values and self.missing == "low"
        if kinds is None:
            return Values(("reciprocal",) if takes_values else ("rank",), is_zero)
        kinds = tuple(kinds) if isinstance(kinds, (list, tuple)) else (kinds,)
        for kind in kinds:
            one_of("values", kind, _VALUES)
        if not kinds or len(set(kinds)) < len(kinds):
            raise ValueError(f"values must be different kinds of values, got {self.values!r}")
        # A rank of 0 would be the best of all.
        return Values(kinds, is_zero and "rank" not in kinds)

    def predict(self, lists: Any, n_rounds: int | None = None) -> Reals:
        """Return the scores of the documents of lists: larger is ranked higher within a query.

        There is one for each row of `RankedLists`; other lists are sorted by query and document
        first (`fuse` returns the documents too). With `n_rounds`, only the first rounds count.
        """
        return self.ranker_.predict(self._read_features(lists), n_rounds)

    def staged_predict(self, lists: Any) -> Iterator[Reals]:
        """Yield the scores after each round."""
        yield from self.ranker_.staged_predict(self._read_features(lists))

    def rank(self, lists: Any) -> NDArray[np.int64]:
        """Return the ranks of the documents of lists, 1 for the best of each query."""
        read = self._read_lists(lists)
        return self._ranks(self.predict(read), read.qid)

    def score(self, lists: Any, judgments: Any) -> float:
        """Return `eval_metric` of the fused lists."""
        lists = self._read_lists(lists)
        return self._measure_scores(self.predict(lists), grades_of(lists, judgments), lists.qid)

    def fuse(self, lists: Any, tag: str = "edgewise") -> Run:
        """Return the fused lists as a TREC run, the best document of each query first.

        Documents with equal scores are in the order of trec_eval, by descending name. The lists
        must name their documents.
        """
        lists = self._read_lists(lists)
        if lists.docs is None:
            raise ValueError("lists must have docs to be fused into a run")
        scores = self.predict(lists)
        queries, docs = lists.qid.astype(str), lists.docs.astype(str)
        tags = np.full(len(docs), tag)
        run = Run(queries, docs, np.zeros(len(docs), dtype=np.int64), scores, tags)
        ranks = run.positions()
        order = np.lexsort((ranks, lists.queries.codes))
        return Run(queries[order], docs[order], ranks[order], scores[order], tags)

    def report(
        self, lists: Any, judgments: Any = None, path: Any = None, *, title: str | None = None
    ) -> "Report":
        """Make a page that shows what the model learned and how well it fuses lists.

        Parameters
        ----------
        lists : RankedLists, mapping of names to runs or frames, or data frame
            The lists, preferably of queries that are not from training.
        judgments : array of shape (n_rows,), Qrels, data frame or None
            The grades of their documents; None leaves out what needs them.
        path : str or path-like, default None
            Write the page here.
        title : str, default None
            The heading.
        """
        from edgewise.report import build_report, ranker_report

        lists = self._read_lists(lists)
        grades = None if judgments is None else grades_of(lists, judgments)
        features = _features(lists, self._fitted_values)
        details = lists.qid, title or "Rank fusion report", self, lists.docs
        return build_report(path, lambda: ranker_report(self.ranker_, features, grades, *details))

    @property
    def ranker_(self) -> RankBoost:
        """The ranker of the documents' values on the lists."""
        check_is_fitted(self)
        return self._ranker(self.fitted_.learner or "stump")

    @property
    def values_(self) -> tuple[str, ...]:
        """The values of a document on a list: "rank", "reciprocal" or "score"."""
        return self._fitted_values.kinds

    @property
    def _fitted_values(self) -> Values:
        return self._values(self.fitted_.learner or "stump")

    @property
    def list_names_(self) -> tuple[str, ...]:
        """The names of the lists."""
        names = self.fitted_.feature_names
        assert names is not None
        return names[: len(names) // len(self.values_)]

    def _check_restored(self) -> None:
        super()._check_restored()
        if self.fitted_.feature_names is None:
            raise ValueError("the lists must have names")
        if self.values_ == ("rank",) and (self.fitted_.terms.thresholds >= 0).any():
            raise ValueError("positions count from 1")

    def _read_lists(self, lists: Any) -> RankedLists:
        check_is_fitted(self)
        return _with_names(ranked_lists(lists), self.list_names_, "lists")

    def _read_features(self, lists: Any) -> ArrayTable:
        return _features(self._read_lists(lists), self._fitted_values)

    def _table(self, X: Any) -> Table:
        return self.ranker_._table(self._read_features(X) if isinstance(X, RankedLists) else X)


def _takes_values(learner: Any) -> bool:
    """Return whether rules of a learner use the values themselves."""
    return resolve_learner(learner, names=choices.RANK_LEARNERS).uses_values


def _normal_scores(lists: RankedLists) -> Reals:
    if lists.scores is None:
        raise ValueError("values='score' needs lists with scores")
    return np.where(lists.returned, normalized_scores(lists), np.nan)


_VALUES: dict[str, Callable[[RankedLists], Reals]] = {
    "rank": lambda lists: lists.features,
    "reciprocal": lambda lists: 1.0 / (_FLAT + lists.positions),
    "score": _normal_scores,
}


def _features(lists: RankedLists, values: Values) -> ArrayTable:
    """Return the values of documents on lists as columns, named after the lists."""
    columns = np.hstack([_VALUES[kind](lists) for kind in values.kinds])
    if values.is_zero:
        columns = np.nan_to_num(columns)
    suffixes = ["", *(f" ({kind})" for kind in values.kinds[1:])]
    return ArrayTable(columns, [f"{name}{suffix}" for suffix in suffixes for name in lists.names])


def _documents(
    eval_set: EvalSet, names: tuple[str, ...], values: Values
) -> tuple[ArrayTable, Reals, NDArray]:
    """Return lists and judgments to validate on as documents with grades and query ids."""
    _, value, argument = eval_set
    if not isinstance(value, tuple) or len(value) != 2:
        raise ValueError(f"{argument} must be a tuple (lists, judgments)")
    lists = _with_names(ranked_lists(value[0]), names, argument)
    return _features(lists, values), grades_of(lists, value[1]), lists.qid


def _with_names(lists: RankedLists, names: tuple[str, ...], argument: str) -> RankedLists:
    """Return the lists in the order of `names`; one that is absent returns no document."""
    if lists.names == names:
        return lists
    unknown = [name for name in lists.names if name not in names]
    if unknown:
        raise ValueError(f"{argument} has the list {unknown[0]!r}, which training did not have")
    columns = [names.index(name) for name in lists.names]

    def spread(values: Reals) -> Reals:
        every = np.full((len(lists), len(names)), np.nan)
        every[:, columns] = values
        return every

    scores = None if lists.scores is None else spread(lists.scores)
    return RankedLists(spread(lists.positions), lists.qid, scores, lists.docs, names)


def ranked_lists(lists: Any) -> RankedLists:
    """Return lists in any form as `RankedLists`."""
    if isinstance(lists, RankedLists):
        return lists
    if isinstance(lists, Mapping):
        lists = {
            name: read_run(run) if isinstance(run, (str, PathLike)) else run
            for name, run in lists.items()
        }
        runs = lists.values()
        if runs and all(hasattr(run, "queries") and hasattr(run, "scores") for run in runs):
            return RankedLists.from_runs(lists)
    elif not is_frame(lists):
        kind = type(lists).__name__
        raise TypeError(f"lists must be RankedLists, runs or data frames, got {kind}")
    return RankedLists.from_frames(lists)
