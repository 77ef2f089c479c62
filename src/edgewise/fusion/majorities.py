"""Condorcet's method: a majority of lists for every two documents, and Copeland's score."""

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import REAL, Reals
from edgewise.fusion.lists import RankedLists

# Pairs compared at a time: the matrices of a block take a few megabytes however long the lists are.
_PAIRS = 1 << 20


def condorcet(lists: RankedLists) -> Reals:
    """Fuse lists by majorities: how many documents each one beats, less those that beat it.

    A document beats another of the same query if more lists have it before the other than behind.
    A document that is returned is before one that is not; a list that returns neither, or has them
    tied, has no opinion. The difference of wins and losses is Copeland's score. If there is an
    order in which each document beats all that follow, the scores are in that order (Condorcet
    fusion: Montague and Aslam 2002); where majorities run in circles, no order of the rows or
    of the lists decides between those documents.

    Parameters
    ----------
    lists : RankedLists
        The lists.

    Returns
    -------
    ndarray of shape (n_rows,)
        Wins minus losses of each document, from -(c - 1) to c - 1 for a query of c documents.

    Notes
    -----
    Every two documents of a query are compared on every list, in blocks of bounded size: time is
    quadratic in the number of documents, memory is not.

    Examples
    --------
    The first document is before each of the others on two of three lists:

    >>> from edgewise.fusion import RankedLists, condorcet
    >>> condorcet(RankedLists([[1, 2, 1], [2, 3, None], [3, 1, None]], qid=[1, 1, 1]))
    array([ 2., -1., -1.])
    """
    queries = lists.queries
    # One row a list, so that the places of a block lie side by side in memory.
    places = np.where(lists.returned, lists.positions, np.inf)[queries.order].T
    scores = np.empty(len(lists), dtype=REAL)
    ends = np.append(queries.starts[1:], len(lists))
    for start, end in zip(queries.starts.tolist(), ends.tolist(), strict=True):
        scores[queries.order[start:end]] = _copeland(np.ascontiguousarray(places[:, start:end]))
    return scores


def _copeland(places: Reals) -> NDArray[np.intp]:
    """Return wins minus losses of each column of places, of shape (n_lists, n_documents)."""
    count = places.shape[1]
    step = max(1, _PAIRS // count)
    scores = np.empty(count, dtype=np.intp)
    for start in range(0, count, step):
        ours = places[:, start : start + step, None]
        votes = np.zeros((ours.shape[1], count), dtype=np.int32)
        for mine, every in zip(ours, places, strict=True):
            votes += mine < every
            votes -= mine > every
        scores[start : start + step] = np.sign(votes).sum(axis=1)
    return scores
