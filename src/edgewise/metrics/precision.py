"""Mean average precision, and precision and recall at k.

Each is an expectation over the orders of documents with equal scores.
"""

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.checks import integer
from edgewise.common.dtypes import Reals
from edgewise.metrics.lists import (
    EmptyOption,
    Lists,
    Ranked,
    Relevance,
    RelevantOption,
    empty_value,
    over_queries,
    ranked_with_relevance,
)


def mean_average_precision(
    y: ArrayLike | Lists,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    relevant: RelevantOption = None,
    empty: EmptyOption = 0.0,
    per_query: bool = False,
) -> float | Reals:
    """Mean average precision (MAP) over queries.

    Average precision is the mean of k / rank(t_k) over the K relevant documents of a list, where
    t_k is the k-th of them from the top (Iyer 1999 section 5.2.4). With ties it is an expectation:
    in a group of n documents, r of them relevant, below R relevant ones, each place holds a
    relevant document with probability r / n, and the p-th place then has an expected
    R + 1 + (p - 1)(r - 1) / (n - 1) relevant documents down to itself.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or Lists
        The grade of each document, or lists prepared once for many evaluations.
    scores : array-like of shape (n_rows,)
        The score of each document; the highest ranks first.
    qid : array-like of shape (n_rows,) or None, default None
        The query of each document, in any order; None for one list.
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
    fill = empty_value(empty)
    ranked, found = ranked_with_relevance(y, scores, qid, relevant)
    sums = ranked.list_sums(_precisions(ranked, found.flags))
    return over_queries(sums / np.maximum(found.counts, 1), found.defined, fill, per_query)


def _precisions(ranked: Ranked, flags: Reals) -> Reals:
    """Return the expected sum of the precisions of each tie group's relevant documents."""
    lists = ranked.lists
    inverse = lists.prepared("inverse", lambda: 1.0 / lists.position)
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
    sums *= ranked.place_sums(inverse)
    sums += (inside - 1) / np.maximum(size - 1, 1) * ranked.place_sums(step * inverse)
    sums *= inside / size
    return sums


def precision_at(
    y: ArrayLike | Lists,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int = 10,
    relevant: RelevantOption = None,
    empty: EmptyOption = 0.0,
    per_query: bool = False,
) -> float | Reals:
    """Precision at k: the number of relevant documents among the top k, divided by k.

    The divisor is the cut-off `k` even for a list of fewer documents. Takes the other parameters of
    :func:`mean_average_precision`.

    Examples
    --------
    >>> precision_at([1, 0, 0, 1], [4.0, 3.0, 3.0, 3.0], k=2)  # 1 + 1/3 of the top two
    0.6666666666666666
    """
    k, fill = integer("k", k, 1), empty_value(empty)
    ranked, found = ranked_with_relevance(y, scores, qid, relevant)
    return over_queries(_in_top(ranked, found, k) / k, found.defined, fill, per_query)


def recall_at(
    y: ArrayLike | Lists,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int = 10,
    relevant: RelevantOption = None,
    empty: EmptyOption = 0.0,
    per_query: bool = False,
) -> float | Reals:
    """Recall at k: the share of a list's relevant documents that are among its top k.

    Takes the parameters of :func:`mean_average_precision`, and the cut-off `k`.

    Examples
    --------
    >>> recall_at([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0], k=2)
    0.5
    """
    k, fill = integer("k", k, 1), empty_value(empty)
    ranked, found = ranked_with_relevance(y, scores, qid, relevant)
    shares = _in_top(ranked, found, k) / np.maximum(found.counts, 1)
    return over_queries(shares, found.defined, fill, per_query)


def _in_top(ranked: Ranked, found: Relevance, k: int) -> Reals:
    """Return the expected number of relevant documents among the top k of each list."""
    lists = ranked.lists
    top = lists.prepared(("top", k), lambda: (lists.position <= k).astype(np.float64))
    return ranked.weighted_sums(found.flags, top)
