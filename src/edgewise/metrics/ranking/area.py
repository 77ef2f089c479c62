"""The area under the ROC curve of each list."""

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.dtypes import Reals
from edgewise.metrics.ranking.lists import Lists, ranked_lists
from edgewise.metrics.ranking.relevance import (
    EmptyOption,
    RelevantOption,
    empty_value,
    over_queries,
    relevance,
)


def auc(
    y: ArrayLike | Lists,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    relevant: RelevantOption = None,
    empty: EmptyOption = "skip",
    per_query: bool = False,
) -> float | Reals:
    """Area under the ROC curve: the share of (relevant, other) pairs of a list in the right order.

    A pair with equal scores counts one half. It is one minus :func:`disagreement` where there are
    only the grades relevant and not. The mean is over queries (users): each counts the same.

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
    empty : float or "skip", default "skip"
        The value of a query whose documents are all relevant, or all not. As there is nothing to
        order, such queries are left out of the mean unless a value is given.
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
    >>> from edgewise.metrics import auc
    >>> auc([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0])  # three of four pairs
    0.75
    >>> auc([1, 0, 1, 0], [4.0, 2.0, 2.0, 1.0])  # and one of them tied
    0.875
    """
    fill = empty_value(empty)
    ranked = ranked_lists(y, scores, qid)
    lists = ranked.lists
    marks = relevance(lists, relevant)
    inside = ranked.row_sums(marks.marks)
    others = ranked.group_sizes - inside
    # Twice the pairs that are the wrong way round: a whole number, a tie being one.
    wrong = ranked.list_sums(inside * (2.0 * ranked.sums_above(others) + others))
    pairs = marks.counts * (lists.sizes - marks.counts)
    values = 1.0 - wrong / np.maximum(2.0 * pairs, 1.0)
    return over_queries(values, pairs > 0, fill, per_query)
