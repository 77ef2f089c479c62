"""What of the catalogue is recommended, how evenly, and how well known it is."""

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.checks import integer
from edgewise.common.dtypes import Reals
from edgewise.metrics.rating.recommended import ItemLists, over_lists, recommended
from edgewise.metrics.rating.values import finite


def catalogue_coverage(lists: ItemLists, n_items: int) -> float:
    """Catalogue coverage: the share of all items that stand on at least one list.

    Parameters
    ----------
    lists : sequence of sequences of int, or 2-D integer array
        The recommended items of each user, as indices from 0; the lists may differ in length.
    n_items : int
        How many items there are.

    Returns
    -------
    float
        The share, above 0 and at most 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, or if nothing is recommended.

    Examples
    --------
    >>> from edgewise.metrics import catalogue_coverage
    >>> catalogue_coverage([[0, 1], [0, 2], [0]], n_items=4)
    0.75
    """
    n_items = integer("n_items", n_items, 1)
    return len(np.unique(recommended(lists, n_items).items)) / n_items


def gini(lists: ItemLists, n_items: int) -> float:
    """Gini index of exposure: how unevenly the recommendations fall on the items.

    With c_1 <= ... <= c_n the number of lists that each of the n items stands on, it is
    sum_i (2 i - n - 1) c_i / (n sum_i c_i): 0 where all stand on equally many, 1 - 1/n where one
    item is all that is ever recommended.

    Parameters
    ----------
    lists, n_items
        As for :func:`catalogue_coverage`.

    Returns
    -------
    float
        The index, from 0 to 1 - 1 / n_items.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, or if nothing is recommended.

    Examples
    --------
    >>> from edgewise.metrics import gini
    >>> gini([[0, 1], [2, 3]], n_items=4)
    0.0
    >>> gini([[0], [0], [0]], n_items=4)
    0.75
    """
    n_items = integer("n_items", n_items, 1)
    counts = np.sort(np.bincount(recommended(lists, n_items).items, minlength=n_items))
    ranks = 2.0 * np.arange(1, n_items + 1) - n_items - 1
    return float(ranks @ counts / (n_items * counts.sum()))


def novelty(
    lists: ItemLists, counts: ArrayLike, n_users: int, *, per_list: bool = False
) -> float | Reals:
    """Novelty: the mean self-information of the recommended items, in bits.

    An item that `count` of the users know has the information -log2(count / n_users): 0 bits if
    all know it, one more each time they are half as many. An item that nobody knows counts as
    known to one, so that its information is finite, and the most that any has. The mean is over
    the items of a list, then over the lists that are not empty.

    Parameters
    ----------
    lists : sequence of sequences of int, or 2-D integer array
        The recommended items of each user, as indices from 0; the lists may differ in length.
    counts : array-like of shape (n_items,)
        How many users know (have rated) each item.
    n_users : int
        How many users there are.
    per_list : bool, default False
        Return one value for each list, NaN for an empty one.

    Returns
    -------
    float or ndarray of shape (n_lists,)
        The mean over lists, or the value of each.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, or if nothing is recommended.

    Examples
    --------
    >>> from edgewise.metrics import novelty
    >>> novelty([[0, 1], [2]], counts=[8, 4, 1], n_users=8)  # ((0 + 1) / 2 + 3) / 2
    1.75
    """
    n_users = integer("n_users", n_users, 1)
    known = finite("counts", counts)
    wrong = (known < 0) | (known > n_users)
    if wrong.any():
        raise ValueError(f"counts must lie from 0 to n_users={n_users}, got {known[wrong][0]:g}")
    found = recommended(lists, len(known))
    information = -np.log2(np.maximum(known, 1.0) / n_users)
    owner = np.repeat(np.arange(len(found.sizes)), found.sizes)
    sums = np.bincount(owner, weights=information[found.items], minlength=len(found.sizes))
    return over_lists(sums / np.maximum(found.sizes, 1), found.sizes > 0, per_list)


catalogue_coverage.larger_is_better = True  # type: ignore[attr-defined]
gini.larger_is_better = False  # type: ignore[attr-defined]
novelty.larger_is_better = True  # type: ignore[attr-defined]
