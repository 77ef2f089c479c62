"""RankBoost as a scikit-learn style estimator."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from edgewise.common.checks import integer, seed
from edgewise.common.dtypes import Reals
from edgewise.data import Table
from edgewise.data.columns import take_rows
from edgewise.data.table import ColumnTable
from edgewise.estimators.base import BoostedModel, from_record
from edgewise.estimators.fitted import RANKER, FittedRanker, RankBoostSettings
from edgewise.estimators.job import TrainingProblem
from edgewise.estimators.judgments import (
    add_query_ids,
    query_ids,
    read_judged,
    read_pairs,
    warn_of_one_list,
)
from edgewise.estimators.parameters import RankingParameters, TableParameters, document_parameters
from edgewise.estimators.ranking import (
    LOST_METRIC,
    check_parameters,
    measure,
    ranking_problem,
    resolve_setting,
)
from edgewise.estimators.rows import EvalSet, name_eval_sets
from edgewise.estimators.term_path import train_on_terms
from edgewise.estimators.train import fit
from edgewise.learners import Learner
from edgewise.metrics import Lists
from edgewise.metrics.registry import first_metric, larger_is_better, storable_metric
from edgewise.model import OrderExplanation, RankWording
from edgewise.model.explain import explain_order

if TYPE_CHECKING:
    from edgewise.report import Report


class Ranker(BoostedModel[FittedRanker]):
    """The base of rankers: ranks, metrics and rules in words."""

    stored: ClassVar = {"fitted_": RANKER}
    _wording = RankWording
    _adds_equal_rules = True

    preset: str
    eval_metric: Any

    def _ranks(self, scores: Reals, qid: Any) -> NDArray[np.int64]:
        """Return the ranks of documents, 1 for the best of each query."""
        lists = Lists(np.zeros(len(scores)), qid)
        order = np.lexsort((np.arange(len(scores)), -scores, lists.row_query))
        ranks = np.empty(len(scores), dtype=np.int64)
        ranks[order] = lists.position
        return ranks

    def _measure_scores(self, scores: Reals, y: Any, qid: Any = None, metric: Any = None) -> float:
        """Return `eval_metric`, the first of several, or another; larger values are better."""
        metric = self._deciding_metric(metric)
        value = measure(metric, y if isinstance(y, Lists) else Lists(y, qid), scores)
        return value if larger_is_better(metric, default=True) else -value

    def _deciding_metric(self, metric: Any = None) -> Any:
        """Return `eval_metric`, the first of several, or another: a name or a function."""
        metric = first_metric(self.eval_metric if metric is None else metric)
        if metric is None:
            raise ValueError(LOST_METRIC)
        is_auto = isinstance(metric, str) and metric == "auto"
        return self.fitted_.eval_metric if is_auto else metric

    def _measure_set(self, X: Any, y: Any, qid: Any = None) -> tuple[str, float]:
        value = measure(self._deciding_metric(), Lists(y, qid), self.predict(X))
        return self.fitted_.eval_metric, value

    def _score_names(self) -> list[object]:
        return ["score"]

    def _resolve_setting(self, name: str) -> Any:
        """Return a parameter, or what "auto" means for it with the preset."""
        return resolve_setting(self, name)

    def _setting(self, name: str, value: Any) -> Any:
        return storable_metric(value) if name == "eval_metric" else value

    def _check_restored(self) -> None:
        super()._check_restored()
        if "eval_metric" in self.fitted_.unsaved:
            # The default would be another metric, under the name of the one that is lost.
            self.eval_metric = None

    @property
    def coef_(self) -> Reals:
        """Each column's coefficient in the score, from rules that are the column itself."""
        check_is_fitted(self)
        return self.fitted_.slopes[:, 0]

    def explain_pair(self, above: Any, below: Any) -> OrderExplanation:
        """Explain why a document stands above another.

        The contributions of columns, and of pairs of columns, add up to the difference of the two
        scores. They are Shapley values with the other document as the background.

        Parameters
        ----------
        above, below : array or data frame of shape (1, n_features)
            The two documents; the differences are negative if the first stands below.
        """
        other = self._table(below)
        if other.n_rows != 1:
            raise ValueError(f"below must be a single row, got {other.n_rows} rows")
        explanation, reverse = self.explain(above, other), self.explain(other, above)
        details = dict(zip(reverse.names, reverse.details, strict=True))
        return explain_order(
            explanation,
            float(self.fitted_.scores(other)[0, 0]) + self._score_offset,
            [details[name] for name in explanation.names[1:]],
        )

    def _first(self, n_rounds: int) -> Self:
        """Return a copy of the model with fewer rounds."""
        check_is_fitted(self)
        kept = integer("n_rounds", n_rounds, 0, self.n_rounds_)
        fitted = self.fitted_
        return self._with(replace(fitted, terms=fitted.terms[: kept * fitted.n_bags]))

    @property
    def _score_offset(self) -> float:
        return float(self.fitted_.score_offsets[-1])


@document_parameters
@dataclass(eq=False, repr=False, kw_only=True)
class RankBoost(RankingParameters, TableParameters, Ranker):
    """RankBoost: learns to rank from grades or pairs; a model is a sum of readable rules.

    Each round adds a rule that is 1 or 0 for a document, such as "bm25 is at least 12", times a
    coefficient; documents are ranked by the sum. Every round lowers an upper bound on the share of
    misordered pairs. Time and memory are linear in the number of documents, whatever the number of
    pairs. The same data and `random_state` give the same model, bit for bit, for any `n_jobs`.

    Parameters
    ----------
    learner : {"auto", "stump", "additive", "product", "tree", "feature"}, Learner or list, \
default "auto"
        The family of rules. "stump" is a threshold on one column, or a subset of the values of a
        categorical one. "additive" is a sum of curves and of tables of pairs of columns, see
        `Additive`. "product" multiplies three such tests, "tree" nests them. "feature" uses
        the values of a column themselves. A list, such as ["stump", "feature"], offers all of its
        learners in each round. "auto" is what held-out queries choose: columns, stumps or trees.
        With fewer than 20 queries and for "paper" it is "stump", or "tree" for NDCG and MAP.
    n_rounds : int, "auto" or None, default None
        The number of boosting rounds. "auto" chooses it on held-out queries, and is 500 with fewer
        than 20 of them. None is "auto", or 500 for "paper".
    learning_rate : float or "auto", default "auto"
        Factor on every step, above 0 and at most 1. "auto" goes with the learner and the objective
        (docs/guide/ranking.md), and is 1 for "paper".
    objective : {"auto", "pairs", "ndcg", "map"}, default "auto"
        What rounds improve: the order of all pairs of documents, as in the papers, or the top of
        the list, where a pair counts by how much swapping it would change NDCG or average
        precision. "ndcg@10" looks at the first 10 documents; without a number, at 30. NDCG and MAP
        take Newton steps, in each leaf of a tree. "auto" is what held-out queries choose, and
        "pairs" with fewer than 20 of them and for "paper".

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

    settings_: ClassVar[RankBoostSettings] = from_record(
        "settings", "All settings that were given or decided; `print` it to read them."
    )

    learner: Any = field(default="auto", kw_only=False)
    n_rounds: int | str | None = None  # type: ignore[assignment]
    learning_rate: float | str = "auto"
    objective: str = "auto"

    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        *,
        group: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        propensity: Any = None,
    ) -> Self:
        """Train on documents `X` with grades `y` in the queries `qid`, and return the model.

        Ctrl-C ends the training early and keeps the rounds so far.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Chunks or BinnedTable of shape (n_samples, n_features)
            The documents. A missing value is a document that the column does not rank.
        y : array of shape (n_samples,)
            Grades: finite numbers; larger is better.
        qid : array of shape (n_samples,) or None
            The query of each document, integers or strings in any order. Without `qid` and `group`
            all documents are one list.
        sample_weight : array of shape (n_samples,) or (n_queries,), dict or None
            Weights of the documents, which multiply the weights of their pairs; or of the queries,
            in the order of their sorted ids or by id.
        eval_set : tuple (X, y) or (X, y, qid), a list of such tuples, or None
            Validation documents. The last of several sets decides when to stop early.
        eval_names : list of str or None
            Names of the sets in `evals_result_`; by default "validation_0", "validation_1" and so
            on.
        group : array of int or None
            Instead of `qid`: the sizes of the queries, whose documents are consecutive.
        eval_qid, eval_group : array, list of arrays (one for each set) or None
            The query ids, or the sizes of the queries, of sets that are tuples (X, y).
        propensity : array of shape (n_samples,) or None
            For grades that are clicks: the probability that a user looked at the document, above 0.
            A clicked document weighs one over it (Joachims et al. 2017).

        Examples
        --------
        >>> from edgewise import RankBoost
        >>> X, clicks = [[5.0], [1.0], [3.0], [2.0], [4.0]], [0, 1, 0, 1, 0]
        >>> seen = [1, 0.5, 0.3, 1, 0.5]
        >>> model = RankBoost(n_rounds=3).fit(X, clicks, group=[3, 2], propensity=seen)
        >>> model.rank([[1.0], [5.0]])
        array([1, 2])
        """
        sets = add_query_ids(name_eval_sets(eval_set, eval_names), eval_qid, eval_group)
        self.fitted_ = self._fit_grades(X, y, qid, sample_weight, sets, None, group, propensity)
        return self

    def _fit_grades(
        self,
        X: Any,
        y: Any,
        qid: Any,
        sample_weight: Any,
        eval_sets: Sequence[EvalSet],
        owner: Ranker | None = None,
        group: Any = None,
        propensity: Any = None,
    ) -> FittedRanker:
        """Train on graded documents and return the record; checkpoints save `owner`."""
        learner = check_parameters(self, bool(eval_sets))
        if y is None:
            raise ValueError("RankBoost requires y to be passed, but the target y is None")

        def train(model: Self, learner: Learner | str) -> FittedRanker:
            def read_problem(table: Table) -> TrainingProblem:
                queries = query_ids(qid, group, table.n_rows)
                if queries is None:
                    warn_of_one_list(table)
                weighting = sample_weight, propensity, resolve_setting(model, "pair_weight")
                return ranking_problem(model, learner, read_judged(table, y, queries, *weighting))

            return fit(model, X, read_problem, eval_sets, owner or self)

        return train_on_terms(train, self, learner)

    def fit_pairs(
        self,
        X: Any,
        pairs: Any,
        weights: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
    ) -> Self:
        """Train on pairs of documents: any feedback function Phi of Iyer 1999 section 4.1.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Chunks or BinnedTable of shape (n_samples, n_features)
            The documents.
        pairs : int array of shape (n_pairs, 2)
            Rows of X, the second to be ranked above the first. Repeated pairs add up; opposite ones
            are subtracted.
        weights : float array of shape (n_pairs,) or None
            The importance of each pair; a negative weight means the opposite order.
        eval_set : tuple (X, y) or (X, y, qid), a list of such tuples, or None
            Validation documents with grades, as in `fit`.
        eval_names : list of str or None
            Names of the sets.

        Examples
        --------
        >>> from edgewise import RankBoost
        >>> model = RankBoost(n_rounds=5).fit_pairs([[1.0], [2.0], [3.0]], [[0, 2], [1, 2]])
        >>> model.rank([[1.0], [3.0]])
        array([2, 1])
        """
        sets = name_eval_sets(eval_set, eval_names)
        learner = check_parameters(self, bool(sets))

        def train(model: Self, learner: Learner | str) -> FittedRanker:
            def read_problem(table: Table) -> TrainingProblem:
                return ranking_problem(model, learner, read_pairs(table, pairs, weights))

            return fit(model, X, read_problem, sets, self)

        self.fitted_ = train_on_terms(train, self, learner)
        return self

    def predict(self, X: Any, n_rounds: int | None = None) -> Reals:
        """Return the scores of documents: larger is ranked higher within a query.

        With `n_rounds`, only the first rounds count.
        """
        if n_rounds is not None:
            return self._first(n_rounds).predict(X)
        scores = self._scores(X)[:, 0]
        return scores + self._score_offset

    def staged_predict(self, X: Any) -> Iterator[Reals]:
        """Yield the scores after each round."""
        for t, scores in enumerate(self._staged_scores(X)):
            yield scores[0] + float(self.fitted_.score_offsets[t + 1])

    def rank(self, X: Any, qid: Any = None, *, group: Any = None) -> NDArray[np.int64]:
        """Return the ranks of documents, 1 for the best of each query.

        Documents with equal scores are ranked in the order of their rows. `group` has the sizes of
        the queries, instead of `qid`.
        """
        scores = self.predict(X)
        return self._ranks(scores, query_ids(qid, group, len(scores)))

    def score(self, X: Any, y: Any, qid: Any = None, *, group: Any = None) -> float:
        """Return `eval_metric` of the model's ranking of documents with known grades.

        Larger is better: "disagreement" is negated. `group` has the sizes of the queries, instead
        of `qid`.
        """
        self._check_queries(qid, group)
        scores = self.predict(X)
        return self._measure_scores(scores, y, query_ids(qid, group, len(scores)))

    def _check_queries(self, qid: Any, group: Any = None) -> None:
        check_is_fitted(self)
        if qid is None and group is None and self.fitted_.has_queries:
            raise ValueError("qid must be given: the model was trained on several queries")

    def permutation_importance(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
        group: Any = None,
        metric: Any = None,
        n_repeats: int = 5,
        random_state: Any = 0,
    ) -> Bunch:
        """Measure how much worse the ranking is if the values of a column are shuffled.

        Unlike `feature_importances_`, shares of the decrease of the training loss, these are of any
        metric, on any documents.

        Parameters
        ----------
        X, y, qid, group
            Documents, grades and queries, as in `score`.
        metric : str, callable or None, default None
            A ranking metric; None is `eval_metric`.
        n_repeats : int, default 5
            How often each column is shuffled.
        random_state : int, RandomState or None, default 0
            Seed of the shuffles.

        Returns
        -------
        Bunch
            As of ``sklearn.inspection.permutation_importance``: ``importances`` of shape
            (n_features, n_repeats), ``importances_mean`` and ``importances_std``.

        Examples
        --------
        >>> from edgewise import RankBoost
        >>> X, y = [[3.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [1, 0, 0]
        >>> model = RankBoost(n_rounds=5).fit(X, y)
        >>> model.permutation_importance(X, y).importances_mean.round(2)
        array([0.35, 0.  ])
        """
        table = self._table(X)
        self._check_queries(qid, group)
        integer("n_repeats", n_repeats, 1)
        columns, lists = list(table.columns()), Lists(y, query_ids(qid, group, table.n_rows))
        rng = np.random.default_rng(seed(random_state))
        unshuffled = self._measure_scores(self.predict(table), lists, metric=metric)
        losses = np.zeros((table.n_columns, n_repeats))
        used = np.flatnonzero(self.feature_importances_).tolist()
        for repeat in range(n_repeats):
            order = rng.permutation(table.n_rows)
            for j in used:
                mixed = [*columns[:j], take_rows(columns[j], order), *columns[j + 1 :]]
                scores = self.predict(ColumnTable(mixed, table.names, table.infinite))
                losses[j, repeat] = unshuffled - self._measure_scores(scores, lists, metric=metric)
        return Bunch(
            importances_mean=losses.mean(axis=1),
            importances_std=losses.std(axis=1),
            importances=losses,
        )

    def report(
        self, X: Any, y: Any = None, path: Any = None, *, qid: Any = None, title: str | None = None
    ) -> "Report":
        """Make a page that shows what the model learned and how well it ranks documents `X`.

        One HTML file that needs no network: metrics with intervals, learning curves, importances,
        votes by column, the strongest rules, and the worst queries with the reasons. Of more than
        200,000 documents, a sample of queries is shown.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The documents, preferably of queries that are not from training.
        y : array of shape (n_samples,) or None
            Their grades; None leaves out what needs them.
        path : str or path-like, default None
            Write the page here.
        qid : array of shape (n_samples,) or None
            The query of each document; None is one query.
        title : str, default None
            The heading.

        Examples
        --------
        >>> from edgewise import RankBoost
        >>> X, y, qid = [[3.0], [1.0], [2.0], [9.0]], [1, 0, 1, 0], [1, 1, 2, 2]
        >>> report = RankBoost(n_rounds=5).fit(X, y, qid=qid).report(X, y, qid=qid)
        >>> report.section("metrics").title
        'Metrics'
        """
        from edgewise.report import build_report, ranker_report

        table = self._table(X)
        if y is not None:
            self._check_queries(qid)
        return build_report(path, lambda: ranker_report(self, table, y, qid, title))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags
