"""CombSUM and CombMNZ: sums of scores."""

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.fusion.lists import RankedLists
from edgewise.fusion.normalisation import normalised_scores


def comb_sum(lists: RankedLists, norm: str | None = "min-max") -> Reals:
    """Fuse lists by the sum of a document's scores.

    Fox and Shaw (1994), on scores brought to one scale. A list adds 0 to a document that it does
    not return. Lists that carry no scores are scored by rank.

    Parameters
    ----------
    lists : RankedLists
        The lists.
    norm : {"min-max", "max", "sum", "zmuv", "rank"} or None, default "min-max"
        The scale of each list within each query; see :func:`normalised_scores`.

    Returns
    -------
    ndarray of shape (n_rows,)
        The sum for each document.

    Raises
    ------
    ValueError
        If `norm` is none of these, or it is "max" and a list has no positive score.

    Examples
    --------
    >>> from edgewise.fusion import RankedLists, comb_sum
    >>> X = [[8.0, 0.3], [6.0, None], [4.0, 0.1]]
    >>> comb_sum(RankedLists.from_scores(X, qid=[1, 1, 1]))
    array([2. , 0.5, 0. ])
    """
    # Sorted, so that two documents with the same scores on different lists are exactly tied.
    return np.sort(normalised_scores(lists, norm), axis=1).sum(axis=1)


def comb_mnz(lists: RankedLists, norm: str | None = "min-max") -> Reals:
    """Fuse lists by the sum of a document's scores times the number of lists that return it.

    Fox and Shaw (1994): being found by many searches is evidence of its own.

    Parameters
    ----------
    lists : RankedLists
        The lists.
    norm : {"min-max", "max", "sum", "zmuv", "rank"} or None, default "min-max"
        The scale of each list within each query; see :func:`normalised_scores`.

    Returns
    -------
    ndarray of shape (n_rows,)
        The product for each document.

    Raises
    ------
    ValueError
        If `norm` is none of these, or it is "max" and a list has no positive score.

    Examples
    --------
    >>> from edgewise.fusion import RankedLists, comb_mnz
    >>> X = [[8.0, 0.3], [6.0, None], [4.0, 0.1]]
    >>> comb_mnz(RankedLists.from_scores(X, qid=[1, 1, 1]))
    array([4. , 0.5, 0. ])
    """
    return comb_sum(lists, norm) * lists.returned.sum(axis=1)
