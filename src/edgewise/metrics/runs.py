"""TREC runs against relevance judgements, by the conventions of trec_eval."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import one_of
from edgewise.common.choices import GAINS
from edgewise.common.dtypes import Reals
from edgewise.metrics.lists import Lists
from edgewise.metrics.registry import RANKING_METRICS, RankingMetric, ranking_metric

if TYPE_CHECKING:
    from edgewise.io import Qrels, Run


@dataclass(frozen=True, eq=False)
class RunEvaluation:
    """The values of a run for each judged query.

    Attributes
    ----------
    queries : ndarray of str
        The judged queries, sorted.
    values : dict of str to float64 array
        By the name of the metric, the value of each query.
    n_unanswered : int
        Number of judged queries for which the run returns nothing; they count 0.
    n_unjudged : int
        Number of queries of the run without a judgement; they are ignored.
    n_without_relevant : int
        Number of judged queries without a relevant document; they count 0.
    """

    queries: NDArray[np.str_]
    values: dict[str, Reals]
    n_unanswered: int
    n_unjudged: int
    n_without_relevant: int

    @property
    def means(self) -> dict[str, float]:
        """The mean over the judged queries, by the name of the metric."""
        return {name: float(values.mean()) for name, values in self.values.items()}


def evaluate_run(
    qrels: "Qrels",
    run: "Run",
    metrics: Sequence[str] = ("map", "ndcg@10"),
    *,
    gain: str = "exponential",
) -> RunEvaluation:
    """Evaluate a run against judgements, as ``trec_eval -c`` does.

    - Every judged query counts, with 0 where the run returns nothing or no document is relevant.
    - A document is relevant if its grade is above 0. Unjudged documents are not relevant.
    - A relevant document that the run does not return adds nothing, but the run is measured
      against it in MAP, recall and NDCG.

    Only ties differ: documents with equal scores count with the expectation over all their orders,
    where trec_eval sorts them by name.

    Parameters
    ----------
    qrels : Qrels
        The judgements; a grade below 0 counts as 0.
    run : Run
        The documents that a system returns, with their scores.
    metrics : sequence of str, default ("map", "ndcg@10")
        Names out of "map", "mrr", "ndcg", "ndcg@k", "precision@k" and "recall@k".
    gain : {"exponential", "linear"}, default "exponential"
        The gain of grade g in NDCG: 2^g - 1, or g as in trec_eval.

    Examples
    --------
    Two relevant documents; the run returns one of them, in second place:

    >>> import numpy as np
    >>> from edgewise.io import Qrels, Run
    >>> q, tag = np.array(["q", "q"]), np.array(["mine", "mine"])
    >>> qrels = Qrels(q, np.array(["a", "b"]), np.array([1, 1]))
    >>> run = Run(q, np.array(["x", "a"]), np.array([1, 2]), np.array([0.9, 0.4]), tag)
    >>> evaluate_run(qrels, run, ["map", "recall@2"]).means
    {'map': 0.25, 'recall@2': 0.5}
    """
    chosen = run_metrics(metrics)
    one_of("gain", gain, GAINS)
    queries = np.unique(qrels.queries)
    known = np.isin(run.queries, queries)
    if not known.any():
        raise ValueError("run must have at least one of the judged queries, got none")
    lists, scores = _joined(qrels, run, known)
    relevant = np.bincount(lists.row_query, lists.grades > 0, minlength=len(queries))
    values = {}
    for metric in chosen:
        is_ndcg = metric.name.partition("@")[0] == "ndcg"
        function = partial(metric.function, gain=gain) if is_ndcg else metric.function
        values[metric.name] = np.asarray(function(lists, scores, empty=0.0, per_query=True))
    n_answered = len(np.unique(run.queries[known]))
    return RunEvaluation(
        queries,
        values,
        n_unanswered=len(queries) - n_answered,
        n_unjudged=len(np.unique(run.queries)) - n_answered,
        n_without_relevant=int((relevant == 0).sum()),
    )


def run_metrics(names: Sequence[str]) -> list[RankingMetric]:
    """Return the metrics of some names, each once, or raise unless all are defined for runs."""
    found: dict[str, RankingMetric] = {}
    for name in [names] if isinstance(names, str) else names:
        base = name.partition("@")[0] if isinstance(name, str) else ""
        if base not in RANKING_METRICS or not RANKING_METRICS[base].for_runs:
            listed = [one for one in RANKING_METRICS.values() if one.for_runs]
            spelt = ", ".join(word for one in listed for word in one.spellings)
            raise ValueError(f"metrics must be names out of {spelt}, got {name!r}")
        found.setdefault(name, ranking_metric(name))
    return list(found.values())


def _joined(qrels: "Qrels", run: "Run", known: NDArray[np.bool_]) -> tuple[Lists, Reals]:
    """Return all judged and all returned documents of the judged queries, and their scores."""
    grades = dict(_pairs(qrels.queries, qrels.docs, np.maximum(qrels.grades, 0)))
    returned = dict(_pairs(run.queries[known], run.docs[known], run.scores[known]))
    missing = [pair for pair in grades if pair not in returned]
    pairs = [*returned, *missing]
    lists = Lists(
        [grades.get(pair, 0) for pair in pairs],
        np.array([query for query, _ in pairs]),
        returned=np.arange(len(pairs)) < len(returned),
    )
    return lists, np.array([*returned.values(), *([-np.inf] * len(missing))])


def _pairs(queries: NDArray, docs: NDArray, values: NDArray) -> zip:
    keys = zip(queries.tolist(), docs.tolist(), strict=True)
    return zip(keys, values.tolist(), strict=True)
