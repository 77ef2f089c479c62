"""Precision of the first and of the last relevant document: reciprocal rank, PROT and coverage.

All are expectations over the order of documents with equal scores.
"""

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.dtypes import Reals
from edgewise.metrics.ranking.extremes import extremes, steps
from edgewise.metrics.ranking.lists import Lists, ranked_lists
from edgewise.metrics.ranking.relevance import (
    EmptyOption,
    RelevantOption,
    empty_value,
    over_queries,
    relevance,
)


def reciprocal_rank(
    y: ArrayLike | Lists,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    relevant: RelevantOption = None,
    empty: EmptyOption = 0.0,
    per_query: bool = False,
) -> float | Reals:
    """Reciprocal rank: one over the rank of the first relevant document of a list.

    Its mean over queries is known as MRR. With ties it is the expectation under the distribution
    of the first rank (Iyer 1999 eq. 5.2).

    Parameters
    ----------
    y : array-like of shape (n_rows,) or Lists
        The grade of each document, or lists prepared once for many evaluations.
    scores : array-like of shape (n_rows,)
        The score of each document; higher stands nearer to the top.
    qid : array-like of shape (n_rows,) or None, default None
        The query of each document, in any order; None means one list.
    relevant : None, float or "top", default None
        Relevant are grades above 0 (None), grades of at least this number, or the highest grade
        of a list that has two or more grades ("top").
    empty : float or "skip", default 0.0
        The value of a query without a relevant document; "skip" leaves it out of the mean.
    per_query : bool, default False
        Return one value for each query, in the order of the sorted ids; NaN where skipped.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        The mean over queries, or the value of each.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, or if all queries are skipped.

    Examples
    --------
    >>> from edgewise.metrics import reciprocal_rank
    >>> reciprocal_rank([0, 1, 1], [3.0, 2.0, 1.0])
    0.5
    >>> round(reciprocal_rank([1, 0, 0], [0.0, 0.0, 0.0]), 4)  # (1 + 1/2 + 1/3) / 3
    0.6111
    """
    fill = empty_value(empty)
    ranked = ranked_lists(y, scores, qid)
    marks = relevance(ranked.lists, relevant)
    values = np.zeros(ranked.lists.n_queries)
    if marks.defined.any():
        found = extremes(ranked, marks)
        at = steps(found)
        values[found.query] = at.mean(1.0 / (found.before[at.group] + at.step))
    return over_queries(values, marks.defined, fill, per_query)


def prot(
    y: ArrayLike | Lists,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    relevant: RelevantOption = "top",
    empty: EmptyOption = 0.0,
    per_query: bool = False,
) -> float | Reals:
    """Predicted rank of top: the reciprocal rank of the first document with the highest grade.

    It is :func:`reciprocal_rank` under the name, and with the relevant documents, of Iyer 1999
    section 5.2.4: those with the highest grade of a list that has two or more grades.

    Parameters
    ----------
    y, scores, qid, empty, per_query
        As for :func:`reciprocal_rank`.
    relevant : None, float or "top", default "top"
        As for :func:`reciprocal_rank`, with another default.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        The mean over queries, or the value of each.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, or if all queries are skipped.

    Examples
    --------
    >>> from edgewise.metrics import prot, reciprocal_rank
    >>> prot([3, 5, 1], [3.0, 2.0, 1.0])
    0.5
    >>> reciprocal_rank([3, 5, 1], [3.0, 2.0, 1.0])
    1.0
    """
    return reciprocal_rank(y, scores, qid, relevant=relevant, empty=empty, per_query=per_query)


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

    K is how many relevant documents the list has: this is the precision at recall 1 (Iyer 1999
    section 5.2.4, whose first formula misprints the numerator as 1; its expectation has K).

    Parameters
    ----------
    y, scores, qid, empty, per_query
        As for :func:`reciprocal_rank`.
    relevant : None, float or "top", default "top"
        As for :func:`reciprocal_rank`, with another default.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        The mean over queries, or the value of each.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, or if all queries are skipped.

    Examples
    --------
    >>> from edgewise.metrics import coverage
    >>> coverage([5, 3, 5, 1], [4.0, 3.0, 2.0, 1.0])  # two good ones, the last at rank 3
    0.6666666666666666
    >>> coverage([5, 3], [0.0, 0.0])
    0.75
    """
    fill = empty_value(empty)
    ranked = ranked_lists(y, scores, qid)
    marks = relevance(ranked.lists, relevant)
    values = np.zeros(ranked.lists.n_queries)
    if marks.defined.any():
        found = extremes(ranked, marks, last=True)
        from_end = steps(found)
        below = found.before + found.tied + 1
        values[found.query] = from_end.mean(1.0 / (below[from_end.group] - from_end.step))
    return over_queries(values * marks.counts, marks.defined, fill, per_query)
