"""How documents of queries lie in memory, and which pairs a column's cuts part."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from edgewise.common.dtypes import Columns, Exacts, Reals, Rows


@dataclass(frozen=True)
class Layout:
    """Documents in the order of their query and, within it, of their grade.

    Attributes
    ----------
    rows : int32 array of shape (m,)
        The table row of each document.
    group_starts : intp array of shape (G + 1,)
        Documents of the same query and grade are a group: those from ``group_starts[g]`` on.
    query_groups : intp array of shape (Q + 1,)
        The groups of query q are from ``query_groups[q]`` to ``query_groups[q + 1]``.
    grades : float64 array of shape (G,)
        The grade of each group, ascending within a query.
    weights : float64 array of shape (m,)
        The documents' own weights, which multiply those of their pairs.
    by_difference : bool
        Whether a pair also counts by the difference of its grades.
    """

    rows: Rows
    group_starts: Columns
    query_groups: Columns
    grades: Reals
    weights: Reals
    by_difference: bool

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.query_groups) - 1

    @cached_property
    def n_pairs(self) -> int:
        """The number of pairs."""
        sizes = np.diff(self.group_starts)
        before = np.cumsum(sizes) - sizes
        first = before[self.query_groups[:-1]][self.query_of_group]
        return int((sizes * (before - first)).sum())

    @cached_property
    def steps(self) -> Reals:
        """By how much each group's grade is above the one before; 0 for the first of a query."""
        steps = np.diff(self.grades, prepend=self.grades[:1])
        steps[self.query_groups[:-1]] = 0.0
        return steps

    @cached_property
    def group_of(self) -> Columns:
        """The group of each document."""
        return np.repeat(np.arange(len(self.grades)), np.diff(self.group_starts))

    @cached_property
    def query_of_group(self) -> Columns:
        """The query of each group."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.query_groups))

    @cached_property
    def query_starts(self) -> Columns:
        """The documents of query q are from ``query_starts[q]`` to ``query_starts[q + 1]``."""
        return self.group_starts[self.query_groups]

    @cached_property
    def levels(self) -> list[Columns]:
        """The groups that are the first of their query, the second, and so on."""
        place = np.arange(len(self.grades)) - self.query_groups[self.query_of_group]
        order = np.argsort(place, kind="stable")
        ends = np.cumsum(np.bincount(place))
        return np.split(order, ends[:-1])


class ListWeights(NamedTuple):
    """Documents' factors exp(H) and exp(-H) as integers.

    Attributes
    ----------
    up, down : int64 arrays of shape (m,)
        The factors, each in units of its group.
    up_units, down_units : float64 arrays of shape (G,)
        The units: so fine that nothing is lost beside the largest of a group, whatever the others.
    factors : float64 array of shape (Q,)
        What the products of a query weigh.
    """

    up: Exacts
    down: Exacts
    up_units: Reals
    down_units: Reals
    factors: Reals


def crossings(
    layout: Layout, weights: ListWeights, codes: Exacts, n_values: int
) -> tuple[Exacts, Exacts]:
    """Return what W- and W+ change by as the documents of each code cross the cut."""
    place = np.arange(len(layout.grades)) - layout.query_groups[layout.query_of_group]
    query = layout.query_of_group[layout.group_of]
    order = np.lexsort((-codes, query))
    order = order[codes[order] >= 0]
    query, width = query[order], len(layout.levels)
    sums = []
    sides = ((weights.up, weights.up_units), (weights.down, weights.down_units))
    for side, units in sides:
        whole = np.zeros((layout.n_queries, width), dtype=np.int64)
        np.add.at(whole, (layout.query_of_group[layout.group_of], place[layout.group_of]), side)
        steps = np.zeros((len(order), width), dtype=np.int64)
        steps[np.arange(len(order)), place[layout.group_of[order]]] = side[order]
        first = np.searchsorted(query, query)
        crossed = np.cumsum(steps, axis=0)
        crossed -= (crossed - steps)[first] if len(order) else 0
        scale = np.zeros((layout.n_queries, width))
        scale[layout.query_of_group, place] = units
        sums.append(((whole[query] - crossed) * scale[query], crossed * scale[query]))
    gaps = np.zeros((layout.n_queries, width))
    gaps[layout.query_of_group, place] = layout.steps
    (up_low, up_high), (down_low, down_high) = sums
    changes = []
    for lower, upper in ((up_low, down_high), (up_high, down_low)):
        product = _product(lower, upper, gaps[query], layout.by_difference)
        held = np.rint(weights.factors[query] * product).astype(np.int64)
        before = np.concatenate(([0], held[:-1]))
        before[np.flatnonzero(np.diff(query, prepend=-1))] = 0
        change = np.zeros(n_values + 1, dtype=np.int64)
        np.add.at(change, codes[order], held - before)
        changes.append(change)
    return changes[0], changes[1]


def _product(lower: Reals, upper: Reals, gaps: Reals, by_difference: bool) -> Reals:
    """Return the weighted sum over pairs of grades of `lower` times `upper` of the higher one."""
    total, below, product = (np.zeros(len(lower)) for _ in range(3))
    for g in range(1, lower.shape[1]):
        total = total + lower[:, g - 1]
        below = below + gaps[:, g] * total if by_difference else total
        product = product + upper[:, g] * below
    return product
