"""Metrics by name. A line here makes a metric an `eval_metric` and a name for every evaluation."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from numpy.typing import ArrayLike

from edgewise.common.dtypes import Reals
from edgewise.metrics.classification import balanced_accuracy, error, hamming_loss, log_loss
from edgewise.metrics.gain import ndcg
from edgewise.metrics.lists import Lists
from edgewise.metrics.pairs import disagreement, grouped_auc
from edgewise.metrics.ranks import (
    average_rank,
    coverage,
    mean_average_precision,
    mean_reciprocal_rank,
    precision_at,
    prot,
    recall_at,
)
from edgewise.metrics.ratings import mae, nmae, one_zero_error, rmse
from edgewise.metrics.recommendations import catalogue_coverage, diversity, gini, novelty
from edgewise.metrics.roc import roc_auc


@dataclass(frozen=True)
class ClassificationMetric:
    """A function of targets and an (n, K) array of scores, probabilities, or either."""

    function: Callable[[Any, Reals], float]
    larger_is_better: bool = False
    takes: Literal["scores", "probabilities", "either"] = "scores"


CLASSIFICATION_METRICS: dict[str, ClassificationMetric] = {
    "error": ClassificationMetric(error),
    "hamming_loss": ClassificationMetric(hamming_loss),
    "balanced_accuracy": ClassificationMetric(balanced_accuracy, larger_is_better=True),
    "roc_auc": ClassificationMetric(roc_auc, larger_is_better=True, takes="either"),
    "log_loss": ClassificationMetric(log_loss, takes="probabilities"),
}
"""The names that `eval_metric` of a classifier takes."""


@dataclass(frozen=True)
class RankingMetric:
    """A ranking metric with its name, called as ``metric(y, scores, qid)``.

    Attributes
    ----------
    name : str
        The name, such as "ndcg@10".
    function : callable
        The function of grades (or Lists), scores and query ids.
    larger_is_better : bool, default True
        The direction.
    cutoff : {"none", "optional", "required"}, default "none"
        Whether the name takes an "@k".
    for_runs : bool, default False
        Whether it is defined where judged documents were not returned, as in TREC runs.
    """

    name: str
    function: Callable[..., float | Reals]
    larger_is_better: bool = True
    cutoff: Literal["none", "optional", "required"] = "none"
    for_runs: bool = False

    def __call__(
        self, y: ArrayLike | Lists, scores: ArrayLike, qid: ArrayLike | None = None
    ) -> float:
        """Return the mean over queries."""
        return float(self.function(y, scores, qid))

    @property
    def spellings(self) -> list[str]:
        """The ways to write the name, with and without a cut-off."""
        whole = [] if self.cutoff == "required" else [self.name]
        return whole + ([] if self.cutoff == "none" else [f"{self.name}@k"])


RANKING_METRICS: dict[str, RankingMetric] = {
    metric.name: metric
    for metric in (
        RankingMetric("map", mean_average_precision, for_runs=True),
        RankingMetric("mrr", mean_reciprocal_rank, for_runs=True),
        RankingMetric("ndcg", ndcg, cutoff="optional", for_runs=True),
        RankingMetric("precision", precision_at, cutoff="required", for_runs=True),
        RankingMetric("recall", recall_at, cutoff="required", for_runs=True),
        RankingMetric("auc", grouped_auc),
        RankingMetric("disagreement", disagreement, larger_is_better=False),
        RankingMetric("prot", prot),
        RankingMetric("coverage", coverage),
    )
}
"""The ranking metrics that a name, before an "@k", can stand for."""

_DIRECTIONS: dict[Callable[..., Any], bool] = {
    **dict.fromkeys((average_rank, rmse, mae, nmae, one_zero_error, gini), False),
    **dict.fromkeys((catalogue_coverage, novelty, diversity), True),
    **{metric.function: metric.larger_is_better for metric in CLASSIFICATION_METRICS.values()},
    **{metric.function: metric.larger_is_better for metric in RANKING_METRICS.values()},
}


def ranking_metric(name: str) -> RankingMetric:
    """Return the ranking metric called `name`.

    Parameters
    ----------
    name : str
        "map", "mrr", "ndcg", "ndcg@k", "precision@k", "recall@k", "auc", "disagreement",
        "prot" or "coverage", with a number of 1 or more in place of k.

    Examples
    --------
    >>> metric = ranking_metric("ndcg@2")
    >>> round(metric([0, 2, 1], [3.0, 2.0, 1.0]), 4), metric.larger_is_better
    (0.5213, True)
    """
    base, at, k = name.partition("@") if isinstance(name, str) else ("", "", "")
    metric = RANKING_METRICS.get(base)
    if metric is not None and not at and metric.cutoff != "required":
        return metric
    counts = k.isascii() and k.isdigit() and int(k) > 0
    if metric is not None and metric.cutoff != "none" and counts:
        return replace(metric, name=name, function=partial(metric.function, k=int(k)))
    spelt = ", ".join(repr(word) for one in RANKING_METRICS.values() for word in one.spellings)
    raise ValueError(f"name must be one of {spelt}, with k a number from 1, got {name!r}")


def first_metric(eval_metric: Any) -> Any:
    """Return the metric that decides: the only one, or the first of several."""
    return eval_metric[0] if isinstance(eval_metric, (list, tuple)) else eval_metric


def metrics_by_name(eval_metric: Any, check: Callable[[Any], object]) -> dict[str, Any]:
    """Return the one or several metrics of `eval_metric` by their names.

    `check` raises where a name is not known.
    """
    several = isinstance(eval_metric, (list, tuple))
    found: dict[str, Any] = {}
    for metric in eval_metric if several else [eval_metric]:
        if not callable(metric):
            check(metric)
        name = metric_name(metric)
        if name in found:
            raise ValueError(
                f"eval_metric has two metrics of the name {name!r}; a function's is its __name__"
            )
        found[name] = metric
    if not found:
        raise ValueError("eval_metric is an empty list: name at least one metric")
    return found


def metric_name(metric: Any) -> str:
    """Return the name of an `eval_metric`, "metric" for a function that has none."""
    if isinstance(metric, str):
        return metric
    # A `RankingMetric` has a name instead.
    return str(getattr(metric, "__name__", None) or getattr(metric, "name", "metric"))


def larger_is_better(metric: Any, default: bool = False) -> bool:
    """Return the direction of an `eval_metric`: a name, a metric or a function, or a list of them.

    A function that is not in the registry may have an attribute ``larger_is_better``; `default`
    applies where it has none.
    """
    metric = first_metric(metric)
    if isinstance(metric, str):
        named = CLASSIFICATION_METRICS.get(metric) or ranking_metric(metric)
        return named.larger_is_better
    function = metric.func if isinstance(metric, partial) else metric
    known = (larger for one, larger in _DIRECTIONS.items() if one is function)
    return bool(getattr(metric, "larger_is_better", next(known, default)))
