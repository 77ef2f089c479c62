"""Ranks of relevant documents: average precision, precision, recall, reciprocal rank and others.

Each is an expectation over the orders of documents with equal scores.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.checks import integer, positive
from edgewise.common.dtypes import Exacts, Reals
from edgewise.metrics.lists import (
    Cutoffs,
    Lists,
    PerQuery,
    Ranked,
    Relevance,
    RelevantOption,
    cutoff,
    query_metric,
    ranked_lists,
    relevance,
    running_sums,
)

# Steps with a probability below exp(-_FAR) are dropped: no double can tell the difference.
_FAR = 60.0


@query_metric()
def mean_average_precision(
    ranked: Ranked, *, k: Cutoffs | None = None, relevant: RelevantOption = None
) -> PerQuery:
    """Mean average precision (MAP) over queries.

    Average precision is the mean of k / rank(t_k) over the K relevant documents of a list, where
    t_k is the k-th of them from the top (Iyer 1999 section 5.2.4). With ties it is an expectation:
    in a group of n documents, r of them relevant, below R relevant ones, each position holds a
    relevant document with probability r / n, and the p-th one then has an expected
    R + 1 + (p - 1)(r - 1) / (n - 1) relevant documents down to itself.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or Lists
        The grade of each document, or lists prepared once for many evaluations.
    scores : array-like of shape (n_rows,)
        The score of each document; the highest ranks first.
    qid : array-like of shape (n_rows,) or None, default None
        The query of each document, in any order; None for one list.
    k : int, sequence of int or None, default None
        The cutoff: documents further down add nothing, but divide (trec_eval's map_cut); None for
        the whole list. Several cutoffs make an array, as for every metric with a `k`.
    relevant : None, float or "top", default None
        What counts as relevant: grades above 0 (None), grades of at least this number, or the
        highest grade of a list with two or more grades ("top").
    empty : float or "skip", default 0.0
        The value of a query without a relevant document; "skip" leaves it out of the mean.
    per_query : bool, default False
        Return one value for each query, in the order of the sorted ids; NaN where skipped.

    Examples
    --------
    >>> round(mean_average_precision([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]), 4)  # (1/1 + 2/3) / 2
    0.8333
    >>> mean_average_precision([1, 0], [5.0, 5.0])  # 1 or 1/2, each with probability 1/2
    0.75
    """
    k = cutoff(k)
    good = relevance(ranked.lists, relevant)
    sums = ranked.list_sums(_precisions(ranked, good.flags, k))
    return sums / np.maximum(good.counts, 1), good.has_relevant


def _precisions(ranked: Ranked, flags: Reals, k: int | None) -> Reals:
    """Return the expected sum of the precisions of each tie group's relevant documents."""
    lists = ranked.lists
    inverse = lists.compute_once(("inverse", k), lambda: lists.in_top(k) / lists.position)
    inside = ranked.row_sums(flags)
    sums = ranked.sums_above(inside)
    sums += 1.0
    if not ranked.has_ties:
        sums *= inside
        sums *= inverse
        return sums
    size = ranked.group_sizes
    # The step p - 1 within the group is summed directly: derived from sums of 1 / i it would be a
    # small difference of large numbers.
    step = np.arange(lists.n_rows) - np.repeat(ranked.group_starts, size)
    sums *= ranked.slot_sums(inverse)
    sums += (inside - 1) / np.maximum(size - 1, 1) * ranked.slot_sums(step * inverse)
    sums *= inside / size
    return sums


@query_metric()
def precision_at(ranked: Ranked, *, k: Cutoffs = 10, relevant: RelevantOption = None) -> PerQuery:
    """Precision at k: the number of relevant documents among the top k, divided by k.

    The divisor is the cutoff `k` even for a list of fewer documents. Takes the other parameters of
    :func:`mean_average_precision`.

    Examples
    --------
    >>> precision_at([1, 0, 0, 1], [4.0, 3.0, 3.0, 3.0], k=2)  # 1 + 1/3 of the top two
    0.6666666666666666
    >>> precision_at([1, 0, 0, 1], [4.0, 3.0, 2.0, 1.0], k=[1, 2, 4])
    array([1. , 0.5, 0.5])
    """
    k = integer("k", k, 1)
    good = relevance(ranked.lists, relevant)
    return _in_top(ranked, good, k) / k, good.has_relevant


@query_metric()
def recall_at(ranked: Ranked, *, k: Cutoffs = 10, relevant: RelevantOption = None) -> PerQuery:
    """Recall at k: the share of a list's relevant documents that are among its top k.

    Takes the parameters of :func:`mean_average_precision`, and the cutoff `k`.

    Examples
    --------
    >>> recall_at([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0], k=2)
    0.5
    """
    k = integer("k", k, 1)
    good = relevance(ranked.lists, relevant)
    shares = _in_top(ranked, good, k) / np.maximum(good.counts, 1)
    return shares, good.has_relevant


def _in_top(ranked: Ranked, good: Relevance, k: int) -> Reals:
    """Return the expected number of relevant documents among the top k of each list."""
    lists = ranked.lists
    return ranked.weighted_sums(good.flags, lists.compute_once(("top", k), lambda: lists.in_top(k)))


@query_metric()
def r_precision(ranked: Ranked, *, relevant: RelevantOption = None) -> PerQuery:
    """R-precision: the share of relevant documents among the top R of a list that has R of them.

    Takes the parameters of :func:`mean_average_precision`, except `k`.

    Examples
    --------
    >>> r_precision([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0])
    0.5
    """
    lists, good = ranked.lists, relevance(ranked.lists, relevant)
    top = (lists.position <= good.counts[lists.query]).astype(np.float64)
    return ranked.weighted_sums(good.flags, top) / np.maximum(good.counts, 1), good.has_relevant


@query_metric()
def bpref(ranked: Ranked, *, relevant: RelevantOption = None) -> PerQuery:
    """Binary preference: of R relevant documents, how few judged others stand above each.

    It is the mean over the relevant documents of 1 - min(n, R) / min(N, R), where n of the list's N
    documents that were judged not relevant stand above the document (Buckley and Voorhees 2004, as
    trec_eval has it); a document that was not returned adds 0. Documents that nobody judged
    (`judged` of :class:`Lists`) do not count.

    Takes the parameters of :func:`mean_average_precision`, except `k`.

    Examples
    --------
    >>> bpref([0, 1, 0, 1], [4.0, 3.0, 2.0, 1.0])  # (1 - 1/2 + 1 - 2/2) / 2
    0.25
    """
    lists, good = ranked.lists, relevance(ranked.lists, relevant)
    bad = 1.0 - good.flags if lists.judged is None else (1.0 - good.flags) * lists.judged
    n_bad = np.bincount(lists.row_query, bad, minlength=lists.n_queries)
    inside, others = ranked.row_sums(good.flags), ranked.row_sums(bad)
    above, max_above = ranked.sums_above(others), good.counts[ranked.group_query]
    # Of m others in its tie group, 0 to m stand above a document, each number equally likely.
    below_most = np.clip(max_above - above, 0, others + 1)
    counted = below_most * above + below_most * (below_most - 1) / 2
    counted += (others + 1 - below_most) * max_above
    share = (
        counted / (others + 1) / np.maximum(np.minimum(n_bad, good.counts), 1)[ranked.group_query]
    )
    values = ranked.list_sums(inside * (1.0 - share))
    return values / np.maximum(good.counts, 1), good.has_relevant


@query_metric()
def rank_biased_precision(
    ranked: Ranked, *, p: float = 0.8, k: Cutoffs | None = None, relevant: RelevantOption = None
) -> PerQuery:
    """Rank-biased precision: the utility for a reader who continues with probability p.

    It is (1 - p) times the sum of p^(rank - 1) over the relevant documents (Moffat and Zobel 2008).

    Takes the parameters of :func:`mean_average_precision`, and the persistence `p`, 0.8 by default.

    Examples
    --------
    >>> rank_biased_precision([1, 0, 1], [3.0, 2.0, 1.0], p=0.5)  # 1/2 (1 + 1/4)
    0.625
    """
    p, k = positive("p", p, below=1.0), cutoff(k)
    lists, good = ranked.lists, relevance(ranked.lists, relevant)
    weights = lists.compute_once(
        ("persistence", p, k), lambda: (1.0 - p) * p ** (lists.position - 1) * lists.in_top(k)
    )
    return ranked.weighted_sums(good.flags, weights), good.has_relevant


@query_metric()
def success_at(ranked: Ranked, *, k: Cutoffs = 10, relevant: RelevantOption = None) -> PerQuery:
    """Success at k: whether any of the top k documents is relevant; with ties, how likely.

    Takes the parameters of :func:`mean_average_precision`, and the cutoff `k`.

    Examples
    --------
    >>> success_at([0, 1, 0], [3.0, 2.0, 1.0], k=[1, 2])
    array([0., 1.])
    """
    k = integer("k", k, 1)
    return _value_at_first(
        ranked, relevance(ranked.lists, relevant), lambda rank: (rank <= k).astype(np.float64)
    )


@query_metric()
def mean_reciprocal_rank(
    ranked: Ranked, *, k: Cutoffs | None = None, relevant: RelevantOption = None
) -> PerQuery:
    """Mean reciprocal rank (MRR): one over the rank of a list's first relevant document.

    With ties it is the expectation under the distribution of that rank (Iyer 1999 eq. 5.2). With a
    cutoff `k`, it is 0 if the first relevant document is further down.

    Takes the parameters of :func:`mean_average_precision`.

    Examples
    --------
    >>> round(mean_reciprocal_rank([1, 0, 0], [0.0, 0.0, 0.0]), 4)  # (1 + 1/2 + 1/3) / 3
    0.6111
    """
    k = cutoff(k)
    good = relevance(ranked.lists, relevant)
    if k is None:
        return _value_at_first(ranked, good, np.reciprocal)
    return _value_at_first(ranked, good, lambda rank: (rank <= k) / rank)


@query_metric()
def prot(ranked: Ranked, *, relevant: RelevantOption = "top") -> PerQuery:
    """Predicted rank of top: :func:`mean_reciprocal_rank` of the documents with the highest grade.

    Iyer 1999 section 5.2.4.

    Takes the parameters of :func:`mean_average_precision`; `relevant` is "top" by default.

    Examples
    --------
    >>> prot([3, 5, 1], [3.0, 2.0, 1.0])
    0.5
    """
    return _value_at_first(ranked, relevance(ranked.lists, relevant), np.reciprocal)


def _value_at_first(ranked: Ranked, good: Relevance, value: Callable[[Reals], Reals]) -> PerQuery:
    """Return what the rank of each list's first relevant document is worth, in expectation."""
    values = np.zeros(ranked.lists.n_queries)
    if good.has_relevant.any():
        first = _first_relevant(ranked, good)
        values[first.query] = first.mean_at_rank(value)
    return values, good.has_relevant


@query_metric()
def precision_at_full_recall(ranked: Ranked, *, relevant: RelevantOption = "top") -> PerQuery:
    """Precision at the rank of the last relevant document, K / rank(t_K).

    K is the number of relevant documents of the list: this is the precision at recall 1 (Iyer
    1999 section 5.2.4, whose first formula misprints the numerator as 1; its expectation has K).

    Takes the parameters of :func:`mean_average_precision`; `relevant` is "top" by default.

    Examples
    --------
    >>> precision_at_full_recall([5, 3, 5, 1], [4.0, 3.0, 2.0, 1.0])  # 2 / 3
    0.6666666666666666
    """
    good = relevance(ranked.lists, relevant)
    values = np.zeros(ranked.lists.n_queries)
    if good.has_relevant.any():
        final = _first_relevant(ranked, good, last=True)
        below = final.before + final.tied + 1
        values[final.query] = final.mean(1.0 / (below[final.group] - final.step))
        if ranked.returned is not None:
            # A relevant document that was not returned is the last one, infinitely far down.
            values[ranked.list_sums(ranked.row_sums(good.flags)) < good.counts] = 0.0
    return values * good.counts, good.has_relevant


@query_metric(empty="skip")
def average_rank(
    ranked: Ranked, *, max_rank: int | None = None, relevant: RelevantOption = None
) -> PerQuery:
    """Average rank of the first relevant document, from 1. Lower is better.

    Ranks above `max_rank` count as `max_rank`, before the expectation over ties is taken. Iyer 1999
    table 5.1 uses 31 for lists of 30 and for queries whose document was not found:
    ``max_rank=31, empty=31``.

    Parameters
    ----------
    y, scores, qid, relevant, per_query
        As for :func:`mean_average_precision`.
    max_rank : int or None, default None
        The largest rank that counts as such; None for no limit.
    empty : float or "skip", default "skip"
        The rank of a query without a relevant document; "skip" leaves it out of the mean.

    Examples
    --------
    >>> average_rank([0, 0, 1], [0.0, 0.0, 0.0], max_rank=2)  # (1 + 2 + 2) / 3
    1.6666666666666665
    """
    max_rank = None if max_rank is None else integer("max_rank", max_rank, 1)
    good = relevance(ranked.lists, relevant)
    values = np.full(ranked.lists.n_queries, np.inf if max_rank is None else float(max_rank))
    if good.has_relevant.any():
        first = _first_relevant(ranked, good)
        if max_rank is None:
            values[first.query] = first.before + (first.tied + 1) / (first.relevant + 1)
        else:
            values[first.query] = first.mean(np.minimum(first.ranks, max_rank))
    return values, good.has_relevant


def top_counts(
    y: ArrayLike | Lists,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    ks: Sequence[int] = (1, 2, 5, 10, 20, 30),
    relevant: RelevantOption = None,
) -> Reals:
    """Count the queries whose first relevant document is among the top k, for each k.

    These are the columns of Iyer 1999 table 5.1; with ties, expected numbers of queries.

    Parameters
    ----------
    y, scores, qid, relevant
        As for :func:`mean_reciprocal_rank`.
    ks : sequence of int, default (1, 2, 5, 10, 20, 30)
        The cutoffs.

    Examples
    --------
    >>> y, qid = [1, 0, 0, 0, 1, 0], [0, 0, 0, 1, 1, 1]
    >>> top_counts(y, [3.0, 2.0, 1.0, 0.0, 0.0, 0.0], qid, ks=(1, 2, 3)).round(4)
    array([1.3333, 1.6667, 2.    ])
    """
    tops = [integer("ks", k, 1) for k in np.ravel(ks).tolist()]
    ranked = ranked_lists(y, scores, qid)
    first = _first_relevant(ranked, relevance(ranked.lists, relevant))
    return np.array([first.probability[first.ranks <= k].sum() for k in tops])


class FirstRelevant(NamedTuple):
    """The distribution of each list's first (or last) relevant document over its tie group.

    In Iyer 1999 eq. 5.2 `before` is R, the documents of the list above the group; `tied` is Q and
    `relevant` is q, all documents of the group and the relevant ones. `query` is an index. Steps
    are positions in a group, from 1, one after another for all lists with a relevant document.
    """

    query: Exacts
    before: Exacts
    tied: Exacts
    relevant: Exacts
    starts: Exacts  # the first step of each group
    group: Exacts  # of each step
    step: Exacts
    probability: Reals

    @classmethod
    def of(cls, query: Exacts, before: Exacts, tied: Exacts, relevant: Exacts) -> "FirstRelevant":
        """Return the distribution of the first relevant document of some groups.

        Iyer 1999 eq. (5.2) with j = 1 (its text misprints j = k - r as r - k): with q relevant
        among Q tied documents the first is at step l = 1, ..., Q - q + 1 with probability
        C(Q - l, q - 1) / C(Q, q). That is q / Q for l = 1, and each step has 1 - (q - 1) /
        (Q - l + 1) times the probability of the step before. By symmetry the same holds for the
        last relevant document, counted from the group's end.
        """
        share = relevant / tied
        # The first l positions hold no relevant document with a probability below exp(-l * q / Q).
        lengths = np.minimum(tied - relevant + 1, np.ceil(_FAR / share)).astype(np.int64)
        group = np.repeat(np.arange(len(lengths)), lengths)
        starts = np.cumsum(lengths) - lengths
        step = np.arange(1, len(group) + 1) - starts[group]
        ratio = (relevant - 1)[group] / ((tied + 1)[group] - step)
        logs = np.where(step > 1, np.log1p(-ratio), 0.0)
        probability = share[group] * np.exp(running_sums(logs, step))
        return cls(query, before, tied, relevant, starts, group, step, probability)

    @property
    def ranks(self) -> Exacts:
        """The rank of each step."""
        return self.before[self.group] + self.step

    def mean(self, values: Reals) -> Reals:
        """Return the expectation, by group, of values given by step."""
        return np.add.reduceat(self.probability * values, self.starts)

    def mean_at_rank(self, value: Callable[[Reals], Reals]) -> Reals:
        """Return the expectation, by group, of a function of the rank."""
        return self.mean(value(self.ranks.astype(np.float64)))


def _first_relevant(ranked: Ranked, good: Relevance, last: bool = False) -> FirstRelevant:
    """Return where the first (or last) relevant document of each list with any is."""
    counts = ranked.row_sums(good.flags)
    hits = np.flatnonzero(counts)
    queries = ranked.group_query[hits]
    is_end = np.ones(len(hits), dtype=bool)
    side = slice(None, -1) if last else slice(1, None)
    np.not_equal(queries[1:], queries[:-1], out=is_end[side])
    groups = hits[is_end]
    return FirstRelevant.of(
        queries[is_end],
        ranked.group_before[groups],
        ranked.group_sizes[groups],
        counts[groups].astype(np.int64),
    )
