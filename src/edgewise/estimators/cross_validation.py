"""Cross-validation of rankers: folds of whole queries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold
from sklearn.utils import _safe_indexing

from edgewise.common.checks import integer, seed
from edgewise.common.choices import DEFAULT_RANKING_METRICS
from edgewise.common.dtypes import Reals
from edgewise.common.text import pluralize
from edgewise.data import Table
from edgewise.estimators.judgments import query_ids
from edgewise.estimators.rank_fusion import RankFusion, ranked_lists
from edgewise.fusion import RankedLists, grades_of
from edgewise.metrics import Lists, ranking_metrics
from edgewise.metrics.registry import first_metric
from edgewise.metrics.significance import UnitSums
from edgewise.metrics.tables import MetricTable


class QueryKFold(GroupKFold):
    """Folds of whole queries, drawn at random; their numbers of queries differ by at most one.

    A scikit-learn splitter, as in ``GridSearchCV(..., cv=QueryKFold(5))`` with metadata routing, or
    ``cv=QueryKFold(5).split(X, y, qid)`` without.

    Parameters
    ----------
    n_splits : int, default 5
        The number of folds, at least 2.
    random_state : int, RandomState or None, default 0
        Draws the folds; the order of the rows does not matter.

    Examples
    --------
    >>> from edgewise import QueryKFold
    >>> qid = ["a", "a", "b", "c", "c", "c"]
    >>> for training, test in QueryKFold(3).split(qid, groups=qid):
    ...     print(training, test)
    [2 3 4 5] [0 1]
    [0 1 2] [3 4 5]
    [0 1 3 4 5] [2]
    """

    def __init__(self, n_splits: int = 5, *, random_state: Any = 0) -> None:
        super().__init__(integer("n_splits", n_splits, 2))
        self.random_state = random_state

    def _iter_test_indices(self, X: Any, y: Any, groups: Any) -> Iterator[NDArray[np.intp]]:
        if groups is None:
            raise ValueError("groups must be the query ids: split(X, y, qid)")
        lists = Lists(np.zeros(len(groups)), groups)
        if lists.n_queries < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} is more than there are queries, {lists.n_queries}"
            )
        drawn = np.random.default_rng(seed(self.random_state)).permutation(lists.n_queries)
        for queries in np.array_split(drawn, self.n_splits):
            yield np.flatnonzero(np.isin(lists.row_query, queries))


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """How well rankers rank the queries that they were not trained on; print it to read it.

    Attributes
    ----------
    values : dict of str to float array of shape (n_queries,)
        By metric, the value of each query, in the order of the sorted ids.
    folds : int array of shape (n_queries,)
        The fold of each query.
    scores : float array of shape (n_samples,)
        The scores of the documents by the ranker of the other folds.
    models : list
        The ranker of each fold, trained on the other folds.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import RankBoost, cross_validate
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> qid, y = np.repeat(np.arange(40), 5), (X[:, 0] * X[:, 1] > 0.3).astype(int)
    >>> print(cross_validate(RankBoost(n_rounds=20), X, y, qid, cv=4, metrics="map,ndcg@1,3"))
    40 queries in 4 folds
    fold             map          ndcg@1          ndcg@3
    all   0.9729 ±0.0491  0.9750 ±0.0490  0.9691 ±0.0500
    1     1.0000 ±0.0000  1.0000 ±0.0000  1.0000 ±0.0000
    2     0.9917 ±0.0163  1.0000 ±0.0000  0.9765 ±0.0460
    3     1.0000 ±0.0000  1.0000 ±0.0000  1.0000 ±0.0000
    4     0.9000 ±0.1960  0.9000 ±0.1960  0.9000 ±0.1960
    """

    values: dict[str, Reals]
    folds: NDArray[np.intp]
    scores: Reals
    models: list[Any]

    @property
    def table(self) -> MetricTable:
        """The means over all queries, with 95% intervals from their spread, and over each fold."""
        queries = {"all": self.folds >= 0}
        queries |= {str(fold + 1): self.folds == fold for fold in range(len(self.models))}
        sums = {
            name: {metric: UnitSums.of(values[rows]) for metric, values in self.values.items()}
            for name, rows in queries.items()
        }
        return MetricTable(tuple(queries), tuple(self.values), sums, kind="fold")

    @property
    def means(self) -> dict[str, float]:
        """The means over all queries, by metric."""
        return self.table.means["all"]

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """The 95% intervals of the means, from the spread of the queries, by metric."""
        return self.table.intervals["all"]

    @property
    def fold_means(self) -> dict[str, Reals]:
        """The means over the queries of each fold, by metric."""
        table = self.table
        return {
            metric: np.array([table.value(fold, metric) for fold in table.systems[1:]])
            for metric in table.metrics
        }

    def to_frame(self, library: str | None = None, *, intervals: bool = False) -> Any:
        """Return the table as a frame of `library`, "pandas" or "polars": a row for each fold.

        The first row is of all queries. With `intervals`, a metric such as "map" has columns
        "map_low" and "map_high" too.
        """
        return self.table.to_frame(library, intervals=intervals)

    def __str__(self) -> str:
        queries = pluralize(len(self.folds), "queries")
        heading = f"{queries} in {pluralize(len(self.models), 'folds')}"
        return f"{heading}\n{self.table.text(intervals=True, stars=False)}"


def cross_validate(
    model: Any,
    X: Any,
    y: Any,
    qid: Any = None,
    *,
    cv: Any = 5,
    metrics: str | Sequence[str] | None = None,
    group: Any = None,
    sample_weight: Any = None,
    random_state: Any = 0,
) -> CrossValidation:
    """Train a ranker on all folds but one, measure it on that one, and so on for every fold.

    Parameters
    ----------
    model : RankBoost, RankFusion, or a pipeline that ends with a RankBoost
        The ranker, which stays as it is.
    X : array, sparse matrix or data frame of shape (n_samples, n_features), or ranked lists
        The documents; for `RankFusion`, lists in any form.
    y : array of shape (n_samples,), or judgments
        The grades.
    qid : array of shape (n_samples,)
        The query of each document; lists have their own.
    cv : int, splitter or iterable of (training rows, test rows), default 5
        The number of folds of :class:`QueryKFold`, or other folds of whole queries.
    metrics : str or sequence of str, default None
        Names of ranking metrics; None is the model's `eval_metric`, "map", "ndcg@10", "mrr" and
        "precision@10".
    group : array of int or None, default None
        Instead of `qid`: the sizes of the queries, whose documents are consecutive.
    sample_weight : array of shape (n_samples,) or None, default None
        Weights of the documents in training.
    random_state : int, RandomState or None, default 0
        Seed of the folds.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import RankBoost, cross_validate
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> qid, y = np.repeat(np.arange(40), 5), (X[:, 0] * X[:, 1] > 0.3).astype(int)
    >>> found = cross_validate(RankBoost(n_rounds=20), X, y, qid, metrics="mrr")
    >>> found.fold_means["mrr"].round(2)
    array([1.  , 1.  , 1.  , 0.88, 1.  ])
    """
    if isinstance(model, RankFusion):
        if qid is not None or group is not None:
            raise ValueError("qid and group must be None: ranked lists have their queries")
        X = ranked_lists(X)
        y, qid = grades_of(X, y), X.qid
    grades = np.asarray(y)
    qid = query_ids(qid, group, len(grades))
    if qid is None:
        raise ValueError("qid must be given: folds are of whole queries")
    lists = Lists(grades, qid)
    measures = ranking_metrics(_default_metrics(model) if metrics is None else metrics)
    if sample_weight is not None and np.shape(sample_weight) != (lists.n_rows,):
        raise ValueError("sample_weight must have a weight for each document")
    folds, scores = np.full(lists.n_queries, -1), np.full(lists.n_rows, np.nan)
    models: list[Any] = []
    for training, test in _splits(cv, grades, qid, random_state):
        queries = np.unique(lists.row_query[test])
        if (folds[queries] >= 0).any() or np.isin(lists.row_query[training], queries).any():
            raise ValueError("cv must have folds of whole queries, and each query in one of them")
        folds[queries] = len(models)
        options = {}
        if not isinstance(model, RankFusion):
            options["qid"] = lists.queries[lists.row_query[training]]
        if sample_weight is not None:
            options["sample_weight"] = np.asarray(sample_weight)[training]
        if hasattr(model, "steps"):
            options = {f"{model.steps[-1][0]}__{name}": value for name, value in options.items()}
        models.append(clone(model).fit(_take(X, training), grades[training], **options))
        scores[test] = models[-1].predict(_take(X, test))
    if np.isnan(scores).any():
        raise ValueError("cv must have every query in one fold")
    values = {
        metric.name: np.asarray(metric.function(lists, scores, None, per_query=True))
        for metric in measures
    }
    return CrossValidation(values, folds, scores, models)


def _default_metrics(model: Any) -> list[Any]:
    """Return the metric of a ranker, or of the one at the end of a pipeline, and the usual ones."""
    ranker = model.steps[-1][1] if hasattr(model, "steps") else model
    metric = first_metric(getattr(ranker, "eval_metric", None))
    metrics = [metric] if isinstance(metric, str) and metric != "auto" else []
    return list(dict.fromkeys([*metrics, *DEFAULT_RANKING_METRICS[:2]]))


def _splits(cv: Any, y: Any, qid: Any, random_state: Any) -> Any:
    if isinstance(cv, (int, np.integer)):
        cv = QueryKFold(int(cv), random_state=random_state)
    return cv.split(y, y, qid) if hasattr(cv, "split") else cv


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    return X.take(rows) if isinstance(X, (Table, RankedLists)) else _safe_indexing(X, rows)
