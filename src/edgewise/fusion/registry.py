"""The fusion methods that need no training, by name."""

from collections.abc import Callable
from typing import Any

from edgewise.common.checks import one_of
from edgewise.common.dtypes import Reals
from edgewise.fusion.combination import comb_mnz, comb_sum
from edgewise.fusion.lists import RankedLists
from edgewise.fusion.majorities import condorcet
from edgewise.fusion.points import borda
from edgewise.fusion.ranks import maximum_rank, median_rank, minimum_rank, rank_sum
from edgewise.fusion.reciprocal import reciprocal_rank_fusion

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
"""Name of a method: function of the lists and its options that gives one score a row."""


def fuse(lists: RankedLists, method: str = "rrf", **options: Any) -> Reals:
    """Fuse lists by the method of a name.

    Parameters
    ----------
    lists : RankedLists
        The lists.
    method : str, default "rrf"
        One of the names in `FUSIONS`.
    **options
        Passed to the function of that name, such as ``k=10`` for "rrf".

    Returns
    -------
    ndarray of shape (n_rows,)
        One score a row; within a query, higher is better.

    Raises
    ------
    TypeError, ValueError
        If there is no such method, or it has no such option.

    Examples
    --------
    >>> from edgewise.fusion import RankedLists, fuse
    >>> lists = RankedLists([[1, 3], [2, 1], [3, 2]], qid=[1, 1, 1])
    >>> fuse(lists, "borda")
    array([4., 5., 3.])
    >>> fuse(lists, "minimum_rank", unranked=31)
    array([-1., -1., -2.])
    """
    if not isinstance(lists, RankedLists):
        raise TypeError(f"lists must be RankedLists, got {type(lists).__name__}")
    return FUSIONS[one_of("method", method, FUSIONS)](lists, **options)
