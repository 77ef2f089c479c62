"""One list alone: its order, and which list is the best on training data."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import flag, integer
from edgewise.common.dtypes import Reals
from edgewise.fusion.lists import RankedLists


def single_list(lists: RankedLists, j: int | str) -> Reals:
    """Score the documents by one of the lists.

    Parameters
    ----------
    lists : RankedLists
        The lists.
    j : int or str
        Number of the list, from 0, or its name.

    Returns
    -------
    ndarray of shape (n_rows,)
        Minus the position; documents that the list does not return are last in their query, tied.

    Raises
    ------
    TypeError, ValueError
        If there is no such list.

    Examples
    --------
    >>> from edgewise.fusion import RankedLists, single_list
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
    """Find the list that is the best one on its own, given the grades of the documents.

    Parameters
    ----------
    lists : RankedLists
        The lists of the training queries.
    y : array-like of shape (n_rows,)
        Grade of each document for its query.
    metric : callable
        A function ``metric(y, scores, qid)`` that gives a number; it gets the scores of
        :func:`single_list`, where documents may be tied.
    larger_is_better : bool, default True
        Whether a large number is a good one.

    Returns
    -------
    int
        Number of the list, from 0; of equals, the first.

    Raises
    ------
    TypeError, ValueError
        If `y` has not one grade a row, or the metric gives NaN for every list.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.fusion import RankedLists, best_list
    >>> lists = RankedLists([[3, 1], [1, 2], [2, 3]], qid=[1, 1, 1])
    >>> def first_is_good(y, scores, qid):
    ...     return float(np.mean([y[qid == q][scores[qid == q].argmax()] for q in np.unique(qid)]))
    >>> best_list(lists, [1, 0, 0], first_is_good)
    1
    """
    grades = np.asarray(y)
    if grades.shape != (len(lists),):
        raise ValueError(f"y must have one grade a row, {len(lists)}, got the shape {grades.shape}")
    if not callable(metric):
        raise TypeError(f"metric must be a function of y, scores and qid, got {metric!r}")
    sign = 1.0 if flag("larger_is_better", larger_is_better) else -1.0
    values = np.array(
        [
            sign * float(metric(grades, single_list(lists, j), lists.qid))
            for j in range(lists.n_lists)
        ]
    )
    if np.isnan(values).all():
        raise ValueError("metric must give a number for some list, got NaN for all of them")
    return int(np.nanargmax(values))
