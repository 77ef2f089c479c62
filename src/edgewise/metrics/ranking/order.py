"""Orders compared: misordered pairs, and the rank of the first relevant document.

All are expectations over the order of documents with equal scores.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.checks import integer
from edgewise.common.dtypes import Reals
from edgewise.metrics.ranking.extremes import extremes, steps
from edgewise.metrics.ranking.inversions import graded, misordered_twice
from edgewise.metrics.ranking.lists import Lists, ranked_lists
from edgewise.metrics.ranking.relevance import (
    EmptyOption,
    RelevantOption,
    empty_value,
    over_queries,
    relevance,
)


def disagreement(
    y: ArrayLike | Lists,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    empty: EmptyOption = 0.0,
    per_query: bool = False,
) -> float | Reals:
    """Disagreement: the share of a list's pairs of different grades that the scores misorder.

    A pair with equal scores counts one half (Iyer 1999 section 5.2.4). Lower is better. Pairs are
    counted in O(n log g) for n sorted rows and g grades; they are never listed.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or Lists
        The grade of each document, or lists prepared once for many evaluations.
    scores : array-like of shape (n_rows,)
        The score of each document; higher stands nearer to the top.
    qid : array-like of shape (n_rows,) or None, default None
        The query of each document, in any order; None means one list.
    empty : float or "skip", default 0.0
        The value of a query whose documents all have the same grade; "skip" leaves it out of the
        mean.
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
    >>> from edgewise.metrics import disagreement
    >>> disagreement([2, 1, 0], [1.0, 3.0, 2.0])  # (2, 1) and (2, 0) of three pairs
    0.6666666666666666
    >>> disagreement([2, 1, 0], [0.0, 0.0, 0.0])
    0.5
    """
    fill = empty_value(empty)
    ranked = ranked_lists(y, scores, qid)
    levels = graded(ranked.lists)
    wrong = misordered_twice(ranked, levels)
    values = wrong / np.maximum(2 * levels.pairs, 1)
    return over_queries(values, levels.pairs > 0, fill, per_query)


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

    Ranks above `most` count as `most`; with ties it is the expectation of what is counted. Seed
    003 table 5.1 takes 31 for lists of 30, and for a query whose document was not found:
    ``most=31, empty=31``.

    Parameters
    ----------
    y, scores, qid
        As for :func:`disagreement`.
    most : int or None, default None
        The largest rank that is told apart; None means no limit.
    relevant : None, float or "top", default None
        Relevant are grades above 0 (None), grades of at least this number, or the highest grade
        of a list that has two or more grades ("top").
    empty : float or "skip", default "skip"
        The rank of a query without a relevant document. As no rank stands to reason, such queries
        are left out of the mean unless one is given.
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
    >>> from edgewise.metrics import average_rank
    >>> average_rank([0, 0, 1], [3.0, 2.0, 1.0])
    3.0
    >>> average_rank([0, 0, 1], [3.0, 2.0, 1.0], most=2)
    2.0
    >>> average_rank([0, 0, 1], [0.0, 0.0, 0.0], most=2)  # (1 + 2 + 2) / 3
    1.6666666666666665
    """
    most = None if most is None else integer("most", most, 1)
    fill = empty_value(empty)
    ranked = ranked_lists(y, scores, qid)
    marks = relevance(ranked.lists, relevant)
    values = np.zeros(ranked.lists.n_queries)
    if marks.defined.any():
        found = extremes(ranked, marks)
        if most is None:
            values[found.query] = found.before + (found.tied + 1) / (found.relevant + 1)
        else:
            at = steps(found)
            values[found.query] = at.mean(np.minimum(found.before[at.group] + at.step, most))
    return over_queries(values, marks.defined, fill, per_query)


def top_counts(
    y: ArrayLike | Lists,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    ks: Sequence[int] = (1, 2, 5, 10, 20, 30),
    relevant: RelevantOption = None,
) -> Reals:
    """Count the queries whose first relevant document is among the top k, for each k.

    These are the columns of Iyer 1999 table 5.1. With ties it is the expected number of queries; a
    query without a relevant document counts for no k.

    Parameters
    ----------
    y, scores, qid
        As for :func:`disagreement`.
    ks : sequence of int, default (1, 2, 5, 10, 20, 30)
        The lengths of the tops.
    relevant : None, float or "top", default None
        As for :func:`average_rank`.

    Returns
    -------
    ndarray of shape (len(ks),)
        The expected number of queries for each k.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Examples
    --------
    >>> from edgewise.metrics import top_counts
    >>> y, qid = [1, 0, 0, 0, 1, 0], [0, 0, 0, 1, 1, 1]
    >>> top_counts(y, [3.0, 2.0, 1.0, 0.0, 0.0, 0.0], qid, ks=(1, 2, 3)).round(4)
    array([1.3333, 1.6667, 2.    ])
    """
    tops = [integer("ks", k, 1) for k in np.ravel(ks).tolist()]
    ranked = ranked_lists(y, scores, qid)
    marks = relevance(ranked.lists, relevant)
    found = extremes(ranked, marks)
    at = steps(found)
    rank = found.before[at.group] + at.step
    return np.array([at.probability[rank <= k].sum() for k in tops])


# What early stopping and `score` look at where a metric is given as a function.
disagreement.larger_is_better = False  # type: ignore[attr-defined]
average_rank.larger_is_better = False  # type: ignore[attr-defined]
