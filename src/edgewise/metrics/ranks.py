"""Ranks of the first and the last relevant document: reciprocal rank, PROT, coverage, average rank.

Each is an expectation over the orders of documents with equal scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.checks import integer
from edgewise.common.dtypes import Exacts, Reals
from edgewise.metrics.lists import (
    EmptyOption,
    Lists,
    Ranked,
    Relevance,
    RelevantOption,
    empty_value,
    over_queries,
    ranked_with_relevance,
    running_sums,
)

# Steps with a probability below exp(-_FAR) are dropped: no double can tell the difference.
_FAR = 60.0


def mean_reciprocal_rank(
    y: ArrayLike | Lists,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    relevant: RelevantOption = None,
    empty: EmptyOption = 0.0,
    per_query: bool = False,
) -> float | Reals:
    """Mean reciprocal rank (MRR): one over the rank of a list's first relevant document.

    With ties it is the expectation under the distribution of that rank (Iyer 1999 eq. 5.2).

    Takes the parameters of :func:`mean_average_precision`.

    Examples
    --------
    >>> round(mean_reciprocal_rank([1, 0, 0], [0.0, 0.0, 0.0]), 4)  # (1 + 1/2 + 1/3) / 3
    0.6111
    """
    fill = empty_value(empty)
    ranked, good = ranked_with_relevance(y, scores, qid, relevant)
    values = np.zeros(ranked.lists.n_queries)
    if good.defined.any():
        found = _groups(ranked, good)
        at = _steps(found)
        values[found.query] = at.mean(1.0 / (found.before[at.group] + at.step))
    return over_queries(values, good.defined, fill, per_query)


def prot(
    y: ArrayLike | Lists,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    relevant: RelevantOption = "top",
    empty: EmptyOption = 0.0,
    per_query: bool = False,
) -> float | Reals:
    """Predicted rank of top: :func:`mean_reciprocal_rank` of the documents with the highest grade.

    Iyer 1999 section 5.2.4.

    Takes the parameters of :func:`mean_average_precision`; `relevant` is "top" by default.

    Examples
    --------
    >>> prot([3, 5, 1], [3.0, 2.0, 1.0])
    0.5
    """
    return mean_reciprocal_rank(y, scores, qid, relevant=relevant, empty=empty, per_query=per_query)


def coverage(
    y: ArrayLike | Lists,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    relevant: RelevantOption = "top",
    empty: EmptyOption = 0.0,
    per_query: bool = False,
) -> float | Reals:
    """Coverage: the precision of the last relevant document, K / rank(t_K).

    K is the number of relevant documents of the list: this is the precision at recall 1 (Iyer
    1999 section 5.2.4, whose first formula misprints the numerator as 1; its expectation has K).

    Takes the parameters of :func:`mean_average_precision`; `relevant` is "top" by default.

    Examples
    --------
    >>> coverage([5, 3, 5, 1], [4.0, 3.0, 2.0, 1.0])  # two good ones, the last at rank 3
    0.6666666666666666
    """
    fill = empty_value(empty)
    ranked, good = ranked_with_relevance(y, scores, qid, relevant)
    values = np.zeros(ranked.lists.n_queries)
    if good.defined.any():
        found = _groups(ranked, good, last=True)
        from_end = _steps(found)
        below = found.before + found.tied + 1
        values[found.query] = from_end.mean(1.0 / (below[from_end.group] - from_end.step))
        if ranked.returned is not None:
            # A relevant document that was not returned is the last one, infinitely far down.
            values[ranked.list_sums(ranked.row_sums(good.flags)) < good.counts] = 0.0
    return over_queries(values * good.counts, good.defined, fill, per_query)


def average_rank(
    y: ArrayLike | Lists,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    most: int | None = None,
    relevant: RelevantOption = None,
    empty: EmptyOption = "skip",
    per_query: bool = False,
) -> float | Reals:
    """Average rank of the first relevant document, from 1. Lower is better.

    Ranks above `most` count as `most`, before the expectation over ties is taken. Iyer 1999 table
    5.1 uses 31 for lists of 30 and for queries whose document was not found: ``most=31,
    empty=31``.

    Parameters
    ----------
    y, scores, qid, relevant, per_query
        As for :func:`mean_average_precision`.
    most : int or None, default None
        The largest rank that counts as such; None for no limit.
    empty : float or "skip", default "skip"
        The rank of a query without a relevant document; "skip" leaves it out of the mean.

    Examples
    --------
    >>> average_rank([0, 0, 1], [0.0, 0.0, 0.0], most=2)  # (1 + 2 + 2) / 3
    1.6666666666666665
    """
    most = None if most is None else integer("most", most, 1)
    fill = empty_value(empty)
    ranked, good = ranked_with_relevance(y, scores, qid, relevant)
    values = np.full(ranked.lists.n_queries, np.inf if most is None else float(most))
    if good.defined.any():
        found = _groups(ranked, good)
        if most is None:
            values[found.query] = found.before + (found.tied + 1) / (found.relevant + 1)
        else:
            at = _steps(found)
            values[found.query] = at.mean(np.minimum(found.before[at.group] + at.step, most))
    return over_queries(values, good.defined, fill, per_query)


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
        The cut-offs.

    Examples
    --------
    >>> y, qid = [1, 0, 0, 0, 1, 0], [0, 0, 0, 1, 1, 1]
    >>> top_counts(y, [3.0, 2.0, 1.0, 0.0, 0.0, 0.0], qid, ks=(1, 2, 3)).round(4)
    array([1.3333, 1.6667, 2.    ])
    """
    tops = [integer("ks", k, 1) for k in np.ravel(ks).tolist()]
    ranked, good = ranked_with_relevance(y, scores, qid, relevant)
    found = _groups(ranked, good)
    at = _steps(found)
    rank = found.before[at.group] + at.step
    return np.array([at.probability[rank <= k].sum() for k in tops])


@dataclass(frozen=True, eq=False)
class _TieGroups:
    """The tie groups with the first (or last) relevant document, one for each list with any.

    In Iyer 1999 eq. 5.2 `before` is R, the documents of the list above the group; `tied` is Q and
    `relevant` is q, all documents of the group and the relevant ones. `query` is an index.
    """

    query: Exacts
    before: Exacts
    tied: Exacts
    relevant: Exacts


def _groups(ranked: Ranked, good: Relevance, last: bool = False) -> _TieGroups:
    """Return the first (or last) tie group of each list that holds a relevant document."""
    counts = ranked.row_sums(good.flags)
    hits = np.flatnonzero(counts)
    queries = ranked.group_query[hits]
    ends = np.ones(len(hits), dtype=bool)
    if last:
        np.not_equal(queries[1:], queries[:-1], out=ends[:-1])
    else:
        np.not_equal(queries[1:], queries[:-1], out=ends[1:])
    groups = hits[ends]
    return _TieGroups(
        queries[ends],
        ranked.group_before[groups],
        ranked.group_sizes[groups],
        counts[groups].astype(np.int64),
    )


@dataclass(frozen=True, eq=False)
class _Steps:
    """The probability, by group, that its first relevant document is the `step`-th, from 1."""

    starts: Exacts
    group: Exacts
    step: Exacts
    probability: Reals

    def mean(self, values: Reals) -> Reals:
        """Return the expectation, by group, of values given by step."""
        return np.add.reduceat(self.probability * values, self.starts)


def _steps(found: _TieGroups) -> _Steps:
    """Return the distribution of the first relevant document over the places of its tie group.

    Iyer 1999 eq. (5.2) with j = 1 (its text misprints j = k - r as r - k): with q relevant among Q
    tied documents the first is at step l = 1, ..., Q - q + 1 with probability
    C(Q - l, q - 1) / C(Q, q). That is q / Q for l = 1, and each step has 1 - (q - 1) / (Q - l + 1)
    times the probability of the step before. By symmetry the same holds for the last relevant
    document, counted from the group's end.
    """
    share = found.relevant / found.tied
    # The first l places hold no relevant document with a probability below exp(-l * q / Q).
    lengths = np.minimum(found.tied - found.relevant + 1, np.ceil(_FAR / share)).astype(np.int64)
    group = np.repeat(np.arange(len(lengths)), lengths)
    starts = np.cumsum(lengths) - lengths
    step = np.arange(1, len(group) + 1) - starts[group]
    ratio = (found.relevant - 1)[group] / ((found.tied + 1)[group] - step)
    logs = np.where(step > 1, np.log1p(-ratio), 0.0)
    return _Steps(starts, group, step, share[group] * np.exp(running_sums(logs, step)))
