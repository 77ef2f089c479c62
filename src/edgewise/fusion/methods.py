"""Fusion methods without training: each turns ranked lists into one score for each row.

All take `lists`, a :class:`RankedLists`. Within a query, higher is better.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import finite_numbers, flag, integer, one_of, positive
from edgewise.common.dtypes import REAL, Reals
from edgewise.fusion.lists import RankedLists
from edgewise.fusion.queries import scale_by_query

Weights: TypeAlias = Sequence[float] | Mapping[str, float] | NDArray[Any] | None
Unranked: TypeAlias = Literal["after", "ignore"] | float
"""Rank of a document that a list does not return."""


def minimum_rank(lists: RankedLists, unranked: Unranked = "after") -> Reals:
    """Score documents by minus their best rank, Kantor's minimum operator (Iyer 1999 section 2.5).

    Parameters
    ----------
    lists : RankedLists
    unranked : {"after", "ignore"} or float, default "after"
        Rank of a document that a list does not return.

        - "after": one more than the length of the list (:meth:`RankedLists.lengths`). A list that
          returns nothing for a query does not count.
        - "ignore": only lists that return the document count. A document on no list comes one rank
          after the last document of its query.
        - a positive number, for all lists: Iyer 1999 uses 31 after lists of 30.

    Examples
    --------
    >>> lists = RankedLists([[1, 3, None], [2, 1, 1], [3, 2, None]], qid=[1, 1, 1])
    >>> minimum_rank(lists)
    array([-1., -1., -2.])
    """
    return _combine_ranks(lists, unranked, lambda ranks: np.fmin.reduce(ranks, axis=1))


def maximum_rank(lists: RankedLists, unranked: Unranked = "after") -> Reals:
    """Score documents by minus their worst rank, Kantor's maximum operator.

    Takes the parameters of :func:`minimum_rank`.

    Examples
    --------
    >>> lists = RankedLists([[1, 3, None], [2, 1, 1], [3, 2, None]], qid=[1, 1, 1])
    >>> maximum_rank(lists)
    array([-3., -2., -3.])
    """
    return _combine_ranks(lists, unranked, lambda ranks: np.fmax.reduce(ranks, axis=1))


def median_rank(lists: RankedLists, unranked: Unranked = "after") -> Reals:
    """Score documents by minus the median of their ranks, Kantor's median operator.

    Takes the parameters of :func:`minimum_rank`.

    Examples
    --------
    >>> lists = RankedLists([[1, 3, None], [2, 1, 1], [3, 2, None]], qid=[1, 1, 1])
    >>> median_rank(lists)
    array([-2., -1., -2.])
    """
    return _combine_ranks(lists, unranked, _median)


def rank_sum(lists: RankedLists, unranked: Unranked = "after") -> Reals:
    """Score documents by minus the sum of their ranks, Kantor's summation operator.

    Where lists do not count (``"ignore"``, or a list that returns nothing), it is the mean rank on
    the others times the number of lists. Takes the parameters of :func:`minimum_rank`.

    Examples
    --------
    >>> lists = RankedLists([[1, 3, None], [2, 1, 1], [3, 2, None]], qid=[1, 1, 1])
    >>> rank_sum(lists)
    array([-6., -4., -7.])
    >>> rank_sum(lists, unranked="ignore")
    array([-6. , -4. , -7.5])
    """
    return _combine_ranks(lists, unranked, _mean_sum)


def _combine_ranks(lists: RankedLists, unranked: Unranked, rule: Callable[[Reals], Reals]) -> Reals:
    """Return minus the ranks that a rule combines; NaN stands for an unknown rank."""
    codes = lists.queries.codes
    if isinstance(unranked, str):
        one_of("unranked", unranked, ("after", "ignore"))
    absent: float | Reals = np.nan
    if unranked == "after":
        lengths = lists.lengths()
        absent = np.where(lengths > 0, lengths + 1, np.nan)[codes]
    elif unranked != "ignore":
        absent = positive("unranked", unranked)
    ranks = np.where(lists.returned, lists.positions, absent)
    combined = rule(ranks)
    unknown = np.isnan(combined)
    if unknown.any():
        last = lists.queries.reduce(np.maximum, np.where(unknown, 0.0, combined))
        combined = np.where(unknown, last[codes] + 1, combined)
    return -combined


def _median(ranks: Reals) -> Reals:
    counts = (~np.isnan(ranks)).sum(axis=1)
    ascending = np.sort(ranks, axis=1)  # NaN last
    rows = np.arange(len(ranks))
    low, high = np.maximum(counts - 1, 0) // 2, np.minimum(counts // 2, ranks.shape[1] - 1)
    return (ascending[rows, low] + ascending[rows, high]) / 2.0


def _mean_sum(ranks: Reals) -> Reals:
    counts = (~np.isnan(ranks)).sum(axis=1)
    total = np.nansum(ranks, axis=1)
    # Divided first: equal means are then equal floats, however many lists they are over.
    with np.errstate(invalid="ignore"):
        return np.where(counts == ranks.shape[1], total, total / counts * ranks.shape[1])


def _weights(lists: RankedLists, weights: Weights) -> Reals:
    """Return a weight for each list, 1 without any."""
    if weights is None:
        return np.ones(lists.n_lists)
    if isinstance(weights, Mapping):
        unknown = [name for name in weights if name not in lists.names]
        if unknown:
            raise ValueError(f"weights names {unknown[0]!r}, not one of {lists.names}")
        weights = [weights.get(name, 1.0) for name in lists.names]
    values = finite_numbers("weights", weights, lists.n_lists, "lists")
    if not values.any():
        raise ValueError("weights must not all be 0")
    return values


def borda(lists: RankedLists, weights: Weights = None) -> Reals:
    """Fuse lists by Borda's count.

    For a query with c documents each list gives c points to its first, c - 1 to its second, and
    so on. Documents that it does not return share the remaining points evenly (Aslam and Montague
    2001), and so do tied documents. Gaps between positions are closed first. `weights` are as in
    :func:`reciprocal_rank_fusion`.

    Examples
    --------
    >>> borda(RankedLists([[1, None], [2, None], [3, 1], [None, None]], qid=[1, 1, 1, 1]))
    array([6., 5., 6., 3.])
    """
    queries = lists.queries
    candidates = queries.sizes()[:, None]
    others = (candidates - lists.n_returned() + 1) / 2.0
    ranks = queries.positions(-lists.positions)
    points = np.where(lists.returned, candidates[queries.codes] + 1 - ranks, others[queries.codes])
    return (points * _weights(lists, weights)).sum(axis=1)


def reciprocal_rank_fusion(lists: RankedLists, k: float = 60, weights: Weights = None) -> Reals:
    """Fuse lists by the sum of 1 / (k + position).

    Cormack, Clarke and Büttcher (2009). A list adds nothing to a document that it does not return.

    Parameters
    ----------
    lists : RankedLists
    k : float, default 60
        Positive; the larger, the smaller the difference between the first positions.
    weights : sequence of float, mapping of str to float, or None, default None
        The weight of each list, in their order, or by name with 1 for the others. Learned ones are
        the `coef_` of ``RankFusion("feature", missing="low")``.

    Examples
    --------
    >>> lists = RankedLists([[1, 2], [2, 1], [3, None]], qid=[1, 1, 1])
    >>> reciprocal_rank_fusion(lists, k=1)
    array([0.83333333, 0.83333333, 0.25      ])
    >>> reciprocal_rank_fusion(lists, k=1, weights={"list0": 3}).round(2)
    array([1.83, 1.5 , 0.75])
    """
    k = positive("k", k)
    scores = np.where(lists.returned, 1.0 / (k + lists.positions), 0.0) * _weights(lists, weights)
    # Sorted, so that two documents with the same positions on different lists are exactly tied.
    return np.sort(scores, axis=1).sum(axis=1)


# Pairs compared at a time: the matrices of a block take a few megabytes however long the lists are.
_PAIRS = 1 << 20


def condorcet(lists: RankedLists) -> Reals:
    """Fuse lists by majorities: how many documents each one beats, minus how many beat it.

    A document beats another of the same query if more lists rank it above the other than below,
    with returned documents above all others; a list that returns neither, or ties them, does not
    vote (Montague and Aslam 2002). Documents in a cycle of majorities are tied. Time is quadratic
    in the number of documents of a query, memory is not.

    Examples
    --------
    >>> condorcet(RankedLists([[1, 2, 1], [2, 3, None], [3, 1, None]], qid=[1, 1, 1]))
    array([ 2., -1., -1.])
    """
    queries = lists.queries
    # One row per list, so that the positions of a block are contiguous.
    positions = np.where(lists.returned, lists.positions, np.inf)[queries.order].T
    scores = np.empty(len(lists), dtype=REAL)
    ends = np.append(queries.starts[1:], len(lists))
    for start, end in zip(queries.starts.tolist(), ends.tolist(), strict=True):
        scores[queries.order[start:end]] = _copeland(np.ascontiguousarray(positions[:, start:end]))
    return scores


def _copeland(positions: Reals) -> NDArray[np.intp]:
    """Return wins minus losses of each document, given positions of shape (n_lists, n_docs)."""
    n_docs = positions.shape[1]
    step = max(1, _PAIRS // n_docs)
    scores = np.empty(n_docs, dtype=np.intp)
    for start in range(0, n_docs, step):
        block = positions[:, start : start + step, None]
        votes = np.zeros((block.shape[1], n_docs), dtype=np.int32)
        for block_positions, list_positions in zip(block, positions, strict=True):
            votes += block_positions < list_positions
            votes -= block_positions > list_positions
        scores[start : start + step] = np.sign(votes).sum(axis=1)
    return scores


def comb_sum(lists: RankedLists, norm: str | None = "min-max", weights: Weights = None) -> Reals:
    """Fuse lists by the sum of a document's scores.

    Fox and Shaw (1994), on scores of one scale. A list adds 0 to a document that it does not
    return. Lists without scores are scored by rank.

    Parameters
    ----------
    lists : RankedLists
    norm : {"min-max", "max", "sum", "zmuv", "rank"} or None, default "min-max"
        The scale of each list within each query; see :func:`normalized_scores`.
    weights : sequence of float, mapping of str to float, or None, default None
        As in :func:`reciprocal_rank_fusion`. Learned ones are the `coef_` of
        ``RankFusion("feature", values="score", missing="low")``.

    Examples
    --------
    >>> X = [[8.0, 0.3], [6.0, None], [4.0, 0.1]]
    >>> comb_sum(RankedLists.from_scores(X, qid=[1, 1, 1]))
    array([2. , 0.5, 0. ])
    """
    # Sorted, so that two documents with the same scores on different lists are exactly tied.
    return np.sort(normalized_scores(lists, norm) * _weights(lists, weights), axis=1).sum(axis=1)


def comb_mnz(lists: RankedLists, norm: str | None = "min-max", weights: Weights = None) -> Reals:
    """Fuse lists by the sum of a document's scores times the number of lists that return it.

    Fox and Shaw (1994): a document that many searches find is more likely to be relevant. Takes the
    parameters of :func:`comb_sum`.

    Examples
    --------
    >>> X = [[8.0, 0.3], [6.0, None], [4.0, 0.1]]
    >>> comb_mnz(RankedLists.from_scores(X, qid=[1, 1, 1]))
    array([4. , 0.5, 0. ])
    """
    return comb_sum(lists, norm, weights) * lists.returned.sum(axis=1)


def normalized_scores(lists: RankedLists, norm: str | None = "min-max") -> Reals:
    """Bring the scores of each list to a common scale within each query, 0 where it has no score.

    Lists without scores start from the scores of norm "rank".

    Parameters
    ----------
    lists : RankedLists
    norm : {"min-max", "max", "sum", "zmuv", "rank"} or None, default "min-max"
        The scale; s is a score, the others are over the documents that the list returns.

        - "min-max": (s - min) / (max - min), or 1 where all are equal: the top of a list is at 1.
        - "max": s / max, for scores that are not negative.
        - "sum": (s - min) / sum of (s - min), or equal shares where all are equal: the scores of
          a list sum to 1.
        - "zmuv": (s - mean) / standard deviation, or 0 where all are equal: zero mean and unit
          variance. A document that is not returned counts as average.
        - "rank": 1 - (position - 1) / length of the list (:meth:`RankedLists.lengths`), without
          the scores.
        - None: s.

    Examples
    --------
    >>> lists = RankedLists.from_scores([[8.0], [6.0], [4.0], [None]], qid=[1, 1, 1, 1])
    >>> normalized_scores(lists).T
    array([[1. , 0.5, 0. , 0. ]])
    >>> normalized_scores(lists, "rank").round(2).T
    array([[1.  , 0.67, 0.33, 0.  ]])
    """
    if norm is not None:
        one_of("norm", norm, ("min-max", "max", "sum", "zmuv", "rank"))
    scores = lists.scores
    if scores is None or norm == "rank":
        lengths = np.maximum(lists.lengths(), 1.0)[lists.queries.codes]
        scores = 1.0 - (lists.positions - 1.0) / lengths
    if norm == "max":
        low, high = lists.queries.extremes(scores)
        is_invalid = lists.returned & (high <= 0) & (low < 0)
        if is_invalid.any():
            row, j = np.argwhere(is_invalid)[0]
            raise ValueError(
                f"norm='max' needs a positive score of list {lists.names[j]!r} for query "
                f"{lists.qid[row]}, got at most {high[row, j]:g}; use norm='min-max'"
            )
    if norm not in (None, "rank"):
        scores = scale_by_query(lists.queries, scores, norm)
    return np.where(lists.returned, scores, 0.0)


def single_list(lists: RankedLists, j: int | str) -> Reals:
    """Score documents by minus their position on one list; those it does not return come last.

    Parameters
    ----------
    lists : RankedLists
    j : int or str
        Index or name of the list.

    Examples
    --------
    >>> single_list(RankedLists([[1, None], [2, 1], [3, None]], qid=[1, 1, 1]), 1)
    array([-2., -1., -2.])
    """
    if isinstance(j, str):
        if j not in lists.names:
            raise ValueError(f"j must be one of the lists {lists.names}, got {j!r}")
        number = lists.names.index(j)
    else:
        number = integer("j", j, 0, lists.n_lists - 1)
    last = lists.lengths()[lists.queries.codes, number] + 1
    return -np.where(lists.returned[:, number], lists.positions[:, number], last)


def best_list(
    lists: RankedLists,
    y: ArrayLike,
    metric: Callable[[NDArray[Any], Reals, NDArray[Any]], float],
    *,
    larger_is_better: bool = True,
) -> int:
    """Return the index of the list that is best on its own, the first among equals.

    Parameters
    ----------
    lists : RankedLists
        The lists of the training queries.
    y : array-like of shape (n_rows,)
        Grade of each document for its query.
    metric : callable
        A function ``metric(y, scores, qid)`` that returns a number, given the scores of
        :func:`single_list`, where documents may be tied.
    larger_is_better : bool, default True
        Whether a larger number is better.

    Examples
    --------
    >>> import numpy as np
    >>> lists = RankedLists([[3, 1], [1, 2], [2, 3]], qid=[1, 1, 1])
    >>> def first_is_good(y, scores, qid):
    ...     return float(np.mean([y[qid == q][scores[qid == q].argmax()] for q in np.unique(qid)]))
    >>> best_list(lists, [1, 0, 0], first_is_good)
    1
    """
    grades = np.asarray(y)
    if grades.shape != (len(lists),):
        raise ValueError(f"y must have {len(lists)} grades, one for each row, got {grades.shape}")
    if not callable(metric):
        raise TypeError(f"metric must be a function of y, scores and qid, got {metric!r}")
    sign = 1.0 if flag("larger_is_better", larger_is_better) else -1.0
    columns = [single_list(lists, j) for j in range(lists.n_lists)]
    values = np.array([sign * float(metric(grades, scores, lists.qid)) for scores in columns])
    if np.isnan(values).all():
        raise ValueError("metric must return a number for some list, got NaN for all")
    return int(np.nanargmax(values))


FUSIONS: dict[str, Callable[..., Reals]] = {
    "borda": borda,
    "comb_mnz": comb_mnz,
    "comb_sum": comb_sum,
    "condorcet": condorcet,
    "maximum_rank": maximum_rank,
    "median_rank": median_rank,
    "minimum_rank": minimum_rank,
    "rank_sum": rank_sum,
    "rrf": reciprocal_rank_fusion,
}
"""The methods by name."""


def fuse(lists: RankedLists, method: str = "rrf", **options: Any) -> Reals:
    """Fuse lists by a method.

    Parameters
    ----------
    lists : RankedLists
    method : str, default "rrf"
        One of the names in `FUSIONS`.
    **options
        Its options, such as ``k=10`` for "rrf".

    Examples
    --------
    >>> lists = RankedLists([[1, 3], [2, 1], [3, 2]], qid=[1, 1, 1])
    >>> fuse(lists, "minimum_rank", unranked=31)
    array([-1., -1., -2.])
    """
    if not isinstance(lists, RankedLists):
        raise TypeError(f"lists must be RankedLists, got {type(lists).__name__}")
    return FUSIONS[one_of("method", method, FUSIONS)](lists, **options)
