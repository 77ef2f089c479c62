"""Lists ranked by scores, and the groups of documents that the scores leave tied."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Exacts, Reals

if TYPE_CHECKING:
    from edgewise.metrics.ranking.lists import Lists


class Ranked:
    """The documents of every list by falling score; `Lists.rank` makes it.

    Documents with equal scores stand in an arbitrary order within their tie group; metrics take
    the expectation over all orders of the group.

    Parameters
    ----------
    lists : Lists
        The lists that were ranked.
    order : ndarray of shape (n_rows,)
        The row at each place.
    scores : ndarray of shape (n_rows,)
        The score at each place.

    Examples
    --------
    >>> from edgewise.metrics import Lists
    >>> ranked = Lists([1, 0, 2, 0]).rank([0.5, 0.9, 0.5, 0.1])
    >>> ranked.group_starts.tolist(), ranked.group_sizes.tolist(), ranked.has_ties
    ([0, 1, 3], [1, 2, 1], True)
    >>> ranked.group_before.tolist()
    [0, 1, 3]
    """

    def __init__(self, lists: Lists, order: NDArray[np.intp], scores: Reals) -> None:
        self.lists = lists
        self.order = order
        self.scores = scores

    @property
    def query(self) -> Exacts:
        """The index of the query, by place."""
        return self.lists.query

    @property
    def position(self) -> Exacts:
        """The position in the list, from 1, by place; in a tie group only one order of many."""
        return self.lists.position

    @cached_property
    def group_starts(self) -> NDArray[np.intp]:
        """The first place of each tie group; a document that is tied with none is a group too."""
        begins = np.empty(len(self.scores), dtype=bool)
        np.not_equal(self.scores[1:], self.scores[:-1], out=begins[1:])
        begins[self.lists.starts] = True
        return np.flatnonzero(begins)

    @property
    def has_ties(self) -> bool:
        """Whether any two documents of a list have the same score."""
        return len(self.group_starts) < len(self.scores)

    @cached_property
    def group_sizes(self) -> Exacts:
        """How many documents each tie group has."""
        sizes = np.empty(len(self.group_starts), dtype=np.int64)
        np.subtract(self.group_starts[1:], self.group_starts[:-1], out=sizes[:-1])
        sizes[-1] = len(self.scores) - self.group_starts[-1]
        return sizes

    @cached_property
    def group_query(self) -> Exacts:
        """The index of each tie group's query."""
        return self.lists.query[self.group_starts]

    @cached_property
    def group_before(self) -> Exacts:
        """How many documents of its list stand above each tie group."""
        return self.lists.position[self.group_starts] - 1

    @cached_property
    def first_groups(self) -> NDArray[np.intp]:
        """The first tie group of each list."""
        return np.searchsorted(self.group_starts, self.lists.starts)

    def row_sums(self, values: Reals) -> Reals:
        """Sum values given by row over each tie group."""
        return self.place_sums(values[self.order])

    def place_sums(self, values: Reals) -> Reals:
        """Sum values given by place over each tie group."""
        return np.add.reduceat(values, self.group_starts) if self.has_ties else values

    def list_sums(self, values: Reals) -> Reals:
        """Sum values given by tie group over each list."""
        return np.add.reduceat(values, self.first_groups)

    def sums_above(self, counts: Reals) -> Reals:
        """Sum whole numbers given by tie group over the groups of the list that stand above."""
        above = np.cumsum(counts) - counts
        return above - above[self.first_groups][self.group_query]

    def weighted_sums(self, values: Reals, weights: Reals) -> Reals:
        """Return the expected sum, by list, of values by row times weights by place.

        Each document of a tie group is as likely at each of its places, so every place has the
        mean value of the group.
        """
        if not self.has_ties:
            return self.list_sums(values[self.order] * weights)
        sums = self.row_sums(values) * self.place_sums(weights)
        return self.list_sums(sums / self.group_sizes)
