"""Runs against judgements, by the conventions of ``trec_eval``.

- Every judged query counts. One for which a run returns nothing counts 0, and so does one without
  a relevant document (as with ``trec_eval -c``).
- A document without a judgement is not relevant. Relevant is a grade above 0.
- A relevant document that a run does not return stands nowhere: it adds nothing, but it is one of
  those that the run should have returned.

Ties are the one exception: documents with equal scores count with the expectation over all their
orders, where ``trec_eval`` sorts them by their names.
"""

import logging
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.commands.errors import CommandError, in_one_line
from edgewise.common.dtypes import Reals
from edgewise.io import Qrels, Run
from edgewise.metrics import Lists, RankingMetric, ranking_metric

NAMES = ("map", "mrr", "ndcg", "precision", "recall")
"""The metrics that have a meaning for runs, before an "@k"."""

logger = logging.getLogger("edgewise")


def metrics_named(names: str) -> list[RankingMetric]:
    """Return the metrics of a list of names with commas between.

    Raises
    ------
    CommandError
        If there is none of a name, or it has no meaning for runs.

    Examples
    --------
    >>> [metric.name for metric in metrics_named("map,ndcg@10")]
    ['map', 'ndcg@10']
    """
    found = {}
    for name in names.split(","):
        word = name.strip().lower()
        try:
            metric = ranking_metric(word)
        except ValueError:
            metric = None
        if metric is None or word.partition("@")[0] not in NAMES:
            raise CommandError(
                "--metrics must be names out of map, mrr, ndcg, ndcg@k, precision@k and recall@k "
                f"with commas between, got {name.strip()!r}"
            )
        found[word] = metric
    return list(found.values())


class Judged:
    """Judgements that runs are measured against.

    Parameters
    ----------
    qrels : Qrels
        The judgements, none below 0.

    Examples
    --------
    Two relevant documents, one of which the run returns, in second place; NDCG@2 is
    (1 / log2(3)) / (1 + 1 / log2(3)):

    >>> import numpy as np
    >>> q, tag = np.array(["q", "q"]), np.array(["mine", "mine"])
    >>> judged = Judged(Qrels(q, np.array(["a", "b"]), np.array([1, 1])))
    >>> run = Run(q, np.array(["x", "a"]), np.array([1, 2]), np.array([0.9, 0.4]), tag)
    >>> returned = judged.returned_by(run, "mine")
    >>> returned.values(ranking_metric("map")), returned.values(ranking_metric("recall@2"))
    (array([0.25]), array([0.5]))
    >>> returned.values(ranking_metric("ndcg@2")).round(4)
    array([0.3869])
    """

    def __init__(self, qrels: Qrels) -> None:
        self.lists = Lists(qrels.grades, qrels.queries)
        pairs = zip(qrels.queries.tolist(), qrels.docs.tolist(), strict=True)
        self._grades = dict(zip(pairs, qrels.grades.tolist(), strict=True))

    @property
    def n_queries(self) -> int:
        """The number of judged queries."""
        return self.lists.n_queries

    @property
    def n_without(self) -> int:
        """The number of judged queries without a relevant document."""
        return int((_n_relevant(self.lists) == 0).sum())

    def check(self, metric: RankingMetric, gain: str, path: str) -> None:
        """Raise if the grades are none for the metric, such as gains that no number can hold."""
        with in_one_line(path):
            _function(metric, gain)(self.lists, self.lists.grades)

    def returned_by(self, run: Run, name: str) -> "Returned":
        """Return what a run returns for the judged queries.

        Raises
        ------
        CommandError
            If it has none of these queries.
        """
        places = np.searchsorted(self.lists.queries, run.queries)
        known = self.lists.queries[np.minimum(places, self.n_queries - 1)] == run.queries
        n_known = len(np.unique(places[known]))
        if n_known == 0:
            raise CommandError(f"{name} has none of the judged queries")
        passed_over = len(np.unique(run.queries)) - n_known
        if passed_over:
            logger.warning("%s: %d queries are not judged, and passed over", name, passed_over)
        if n_known < self.n_queries:
            logger.warning(
                "%s returns nothing for %d of %d judged queries: they count 0",
                name,
                self.n_queries - n_known,
                self.n_queries,
            )
        pairs = zip(run.queries[known].tolist(), run.docs[known].tolist(), strict=True)
        grades = np.array([self._grades.get(pair, 0) for pair in pairs])
        return Returned(self.lists, Lists(grades, places[known]), run.scores[known])


class Returned:
    """What a run returns for judged queries.

    A metric of the documents that are returned compares them with the best order of these. What is
    wanted is a comparison with the best order of all that are judged: the metric times the ratio
    of the two.

    Parameters
    ----------
    judged : Lists
        All that is judged.
    lists : Lists
        What is returned; its queries are the numbers of those of `judged`.
    scores : float64 array
        The scores of what is returned.
    """

    def __init__(self, judged: Lists, lists: Lists, scores: Reals) -> None:
        self._judged = judged
        self._lists = lists
        self._scores = scores

    def values(self, metric: RankingMetric, gain: str = "exponential") -> Reals:
        """Return the value of each judged query, in the order of their sorted ids.

        Parameters
        ----------
        metric : RankingMetric
            One of those of `metrics_named`.
        gain : {"exponential", "linear"}
            The gain of grade g for NDCG: 2^g - 1, or g as in trec_eval.
        """
        found = _function(metric, gain)(self._lists, self._scores, per_query=True)
        values = np.zeros(self._judged.n_queries)
        values[self._lists.queries] = found * self._reached(metric.name, gain)
        return values

    def _reached(self, name: str, gain: str) -> Reals:
        """Return how far the best order of what is returned comes, of what is judged."""
        base, _, k = name.partition("@")
        if base in ("map", "recall"):
            best, reached = _n_relevant(self._judged), _n_relevant(self._lists)
        elif base == "ndcg":
            cut = int(k) if k else None
            best = _ideal_gain(self._judged, cut, gain)
            reached = _ideal_gain(self._lists, cut, gain)
        else:
            return np.ones(self._lists.n_queries)
        whole = best[self._lists.queries]
        return np.divide(reached, whole, out=np.zeros(len(reached)), where=whole > 0)


def _function(metric: RankingMetric, gain: str) -> Any:
    is_ndcg = metric.name.partition("@")[0] == "ndcg"
    return partial(metric.function, gain=gain) if is_ndcg else metric.function


def _n_relevant(lists: Lists) -> Reals:
    relevant = lists.row_query[lists.grades > 0]
    return np.bincount(relevant, minlength=lists.n_queries).astype(np.float64)


def _ideal_gain(lists: Lists, k: int | None, gain: str) -> Reals:
    """Return the discounted gain of each list when it is sorted by grade."""
    gains = lists.grades if gain == "linear" else np.exp2(lists.grades) - 1.0
    discounts: NDArray = 1.0 / np.log2(1.0 + lists.position)
    if k is not None:
        discounts = np.where(lists.position <= k, discounts, 0.0)
    return lists.rank(lists.grades).weighted_sums(gains, discounts)
