"""Borda's count: points for each place."""

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.fusion.lists import RankedLists


def borda(lists: RankedLists) -> Reals:
    """Fuse lists by Borda's count.

    For a query with c documents each list gives c points to its first, c - 1 to its second, and
    so on. The documents that it does not return share the points that are left evenly, so every
    list gives out the same number of points (Aslam and Montague 2001). Documents that are tied
    share theirs too. Places count among the documents at hand: where positions have gaps, they
    are closed.

    Parameters
    ----------
    lists : RankedLists
        The lists.

    Returns
    -------
    ndarray of shape (n_rows,)
        The points of each document for its query, from n_lists to c * n_lists.

    Examples
    --------
    Four documents. The second list returns one of them and leaves 3 + 2 + 1 points to three:

    >>> from edgewise.fusion import RankedLists, borda
    >>> borda(RankedLists([[1, None], [2, None], [3, 1], [None, None]], qid=[1, 1, 1, 1]))
    array([6., 5., 6., 3.])
    """
    queries = lists.queries
    candidates = queries.sizes()[:, None]
    left = (candidates - lists.n_returned() + 1) / 2.0
    places = queries.positions(-lists.positions)
    points = np.where(lists.returned, candidates[queries.codes] + 1 - places, left[queries.codes])
    return points.sum(axis=1)
