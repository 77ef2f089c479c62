"""Reciprocal rank fusion: the first places of each list count most."""

import numpy as np

from edgewise.common.checks import positive
from edgewise.common.dtypes import Reals
from edgewise.fusion.lists import RankedLists


def reciprocal_rank_fusion(lists: RankedLists, k: float = 60) -> Reals:
    """Fuse lists by the sum of 1 / (k + position).

    Cormack, Clarke and Büttcher (2009). A list adds nothing to a document that it does not
    return. Positions are taken as they are, gaps included.

    Parameters
    ----------
    lists : RankedLists
        The lists.
    k : float, default 60
        How flat the weights of the places are, positive: with a large k the first place is worth
        little more than the second.

    Returns
    -------
    ndarray of shape (n_rows,)
        The sum for each document, from 0 to n_lists / (k + 1).

    Raises
    ------
    TypeError, ValueError
        If `k` is not a positive number.

    Examples
    --------
    >>> from edgewise.fusion import RankedLists, reciprocal_rank_fusion
    >>> lists = RankedLists([[1, 2], [2, 1], [3, None]], qid=[1, 1, 1])
    >>> reciprocal_rank_fusion(lists, k=1)
    array([0.83333333, 0.83333333, 0.25      ])
    """
    flat = positive("k", k)
    parts = np.where(lists.returned, 1.0 / (flat + lists.positions), 0.0)
    # Sorted, so that two documents with the same positions on different lists are exactly tied.
    return np.sort(parts, axis=1).sum(axis=1)
