"""Kantor's rules: the least, the largest, the median or the sum of a document's ranks."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from edgewise.common.checks import one_of, positive
from edgewise.common.dtypes import Reals
from edgewise.fusion.lists import RankedLists

Unranked: TypeAlias = Literal["after", "ignore"] | float
"""Which rank a document has on a list that does not return it."""


def minimum_rank(lists: RankedLists, unranked: Unranked = "after") -> Reals:
    """Fuse lists by the best rank that a document has on any of them.

    Kantor's minimum operator (Iyer 1999 section 2.5).

    Parameters
    ----------
    lists : RankedLists
        The lists.
    unranked : {"after", "ignore"} or float, default "after"
        Which rank a document has on a list that does not return it.

        - "after": one more than the length of the list for the query (:meth:`RankedLists.lengths`:
          the number of documents returned, unless positions have gaps). A list that returns
          nothing for a query has no say.
        - "ignore": none; only the lists that return the document count. A document that no list
          returns comes one rank after the last one of its query.
        - a positive number, for all lists: Iyer 1999 takes 31 after lists of 30.

    Returns
    -------
    ndarray of shape (n_rows,)
        Minus the combined rank, so that higher is better.

    Raises
    ------
    TypeError, ValueError
        If `unranked` is none of these.

    Examples
    --------
    >>> from edgewise.fusion import RankedLists, minimum_rank
    >>> lists = RankedLists([[1, 3, None], [2, 1, 1], [3, 2, None]], qid=[1, 1, 1])
    >>> minimum_rank(lists)
    array([-1., -1., -2.])
    """
    return _combined(lists, unranked, lambda ranks: np.fmin.reduce(ranks, axis=1))


def maximum_rank(lists: RankedLists, unranked: Unranked = "after") -> Reals:
    """Fuse lists by the worst rank that a document has on any of them.

    Kantor's maximum operator (Iyer 1999 section 2.5).

    Parameters
    ----------
    lists : RankedLists
        The lists.
    unranked : {"after", "ignore"} or float, default "after"
        Which rank a document has on a list that does not return it; see :func:`minimum_rank`.

    Returns
    -------
    ndarray of shape (n_rows,)
        Minus the combined rank, so that higher is better.

    Raises
    ------
    TypeError, ValueError
        If `unranked` is none of these.

    Examples
    --------
    >>> from edgewise.fusion import RankedLists, maximum_rank
    >>> lists = RankedLists([[1, 3, None], [2, 1, 1], [3, 2, None]], qid=[1, 1, 1])
    >>> maximum_rank(lists)
    array([-3., -2., -3.])
    """
    return _combined(lists, unranked, lambda ranks: np.fmax.reduce(ranks, axis=1))


def median_rank(lists: RankedLists, unranked: Unranked = "after") -> Reals:
    """Fuse lists by the median of the ranks of a document.

    Kantor's median operator (Iyer 1999 section 2.5); of an even number of ranks, the mean of the
    middle two.

    Parameters
    ----------
    lists : RankedLists
        The lists.
    unranked : {"after", "ignore"} or float, default "after"
        Which rank a document has on a list that does not return it; see :func:`minimum_rank`.

    Returns
    -------
    ndarray of shape (n_rows,)
        Minus the combined rank, so that higher is better.

    Raises
    ------
    TypeError, ValueError
        If `unranked` is none of these.

    Examples
    --------
    >>> from edgewise.fusion import RankedLists, median_rank
    >>> lists = RankedLists([[1, 3, None], [2, 1, 1], [3, 2, None]], qid=[1, 1, 1])
    >>> median_rank(lists)
    array([-2., -1., -2.])
    """
    return _combined(lists, unranked, _median)


def rank_sum(lists: RankedLists, unranked: Unranked = "after") -> Reals:
    """Fuse lists by the sum of the ranks of a document.

    Kantor's summation operator (Iyer 1999 section 2.5). Where lists are left out (``"ignore"``, or
    a list that returns nothing), it is the mean of the ranks that count times the number of lists:
    a plain sum would put a document first for being on few lists.

    Parameters
    ----------
    lists : RankedLists
        The lists.
    unranked : {"after", "ignore"} or float, default "after"
        Which rank a document has on a list that does not return it; see :func:`minimum_rank`.

    Returns
    -------
    ndarray of shape (n_rows,)
        Minus the combined rank, so that higher is better.

    Raises
    ------
    TypeError, ValueError
        If `unranked` is none of these.

    Examples
    --------
    >>> from edgewise.fusion import RankedLists, rank_sum
    >>> lists = RankedLists([[1, 3, None], [2, 1, 1], [3, 2, None]], qid=[1, 1, 1])
    >>> rank_sum(lists)
    array([-6., -4., -7.])
    >>> rank_sum(lists, unranked="ignore")
    array([-6. , -4. , -7.5])
    """
    return _combined(lists, unranked, _sum)


def _combined(lists: RankedLists, unranked: Unranked, rule: Callable[[Reals], Reals]) -> Reals:
    """Return minus the ranks that a rule makes of those known, which NaN are not."""
    codes = lists.queries.codes
    if isinstance(unranked, str):
        one_of("unranked", unranked, ("after", "ignore"))
    else:
        positive("unranked", unranked)
    if unranked == "ignore":
        ranks = lists.positions
    elif unranked == "after":
        lengths = lists.lengths()
        after = np.where(lengths > 0, lengths + 1, np.nan)
        ranks = np.where(lists.returned, lists.positions, after[codes])
    else:
        ranks = np.where(lists.returned, lists.positions, float(unranked))
    combined = rule(ranks)
    unknown = np.isnan(combined)
    if unknown.any():
        last = lists.queries.reduce(np.maximum, np.where(unknown, 0.0, combined))
        combined = np.where(unknown, last[codes] + 1, combined)
    return -combined


def _median(ranks: Reals) -> Reals:
    known = (~np.isnan(ranks)).sum(axis=1)
    ascending = np.sort(ranks, axis=1)  # NaN last
    rows = np.arange(len(ranks))
    low, high = np.maximum(known - 1, 0) // 2, np.minimum(known // 2, ranks.shape[1] - 1)
    return (ascending[rows, low] + ascending[rows, high]) / 2.0


def _sum(ranks: Reals) -> Reals:
    known = (~np.isnan(ranks)).sum(axis=1)
    total = np.nansum(ranks, axis=1)
    # Divided first: equal means are then equal floats, however many lists they are over.
    with np.errstate(invalid="ignore"):
        return np.where(known == ranks.shape[1], total, total / known * ranks.shape[1])
