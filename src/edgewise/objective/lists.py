"""Lists of graded documents: pairs that are never listed.

Within a query the weight of a pair is a factor of its worse document, exp(H(x0)), times one of its
better, exp(-H(x1)). So sums over pairs are sums over grades of products of sums over documents, and
take time and memory in proportion to the number of documents (Iyer 1999 section 4.2.3, beyond two
grades). The product form holds query by query: the queries' shares of the weight change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import Backend, PairSums
from edgewise.backend.reference.ranking import (
    NumpyPairs,
    by_query,
    group_sums,
    sums_above,
    sums_below,
)
from edgewise.backend.reference.ranking import factors as factors_of
from edgewise.common.dtypes import Columns, Exacts, Reals, Rows
from edgewise.data.partition import Partition
from edgewise.objective.feedback import SIDE_SCALE, Feedback, Lines, Moments, PairWeights, Sides

# With more grades than this in a query, NumPy takes too long.
_MOST_LEVELS = 32

# About what a group's integer factors sum to.
_UNIT = 2.0**40


@dataclass(frozen=True)
class Layout:
    """Documents in the order of their query and, within it, of their grade."""

    rows: Rows  # (m,), the table row of each document
    group_starts: Columns  # group g, the documents of one query and grade, starts here
    query_groups: Columns  # the groups of query q are from query_groups[q] to query_groups[q + 1]
    grades: Reals  # by group, ascending within a query
    weights: Reals  # (m,), the weights of the documents, which multiply the weights of their pairs
    by_difference: bool  # whether the difference of its grades multiplies the weight of a pair

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.query_groups) - 1

    @cached_property
    def all_ones(self) -> bool:
        """Whether all documents have a weight of 1."""
        return bool((self.weights == 1.0).all())

    @cached_property
    def n_pairs(self) -> int:
        """The number of pairs."""
        sizes = np.diff(self.group_starts)
        before = np.cumsum(sizes) - sizes
        first = before[self.query_groups[:-1]][self.query_of_group]
        return int((sizes * (before - first)).sum())

    @cached_property
    def steps(self) -> Reals:
        """The difference of each group's grade to the one before; 0 for the first of a query."""
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

    def middles(self, values: Reals) -> Reals:
        """Return for each document the middle between the least and the largest of its query."""
        starts = self.query_starts
        highest, lowest = (
            extreme.reduceat(values, starts[:-1]) for extreme in (np.maximum, np.minimum)
        )
        return np.repeat(0.5 * (highest + lowest), np.diff(starts))

    @cached_property
    def levels(self) -> list[Columns]:
        """The groups that are the first of their query, the second, and so on."""
        place = np.arange(len(self.grades)) - self.query_groups[self.query_of_group]
        order = np.argsort(place, kind="stable")
        ends = np.cumsum(np.bincount(place))
        return np.split(order, ends[:-1])


class ListWeights(NamedTuple):
    """Documents' factors exp(H) and exp(-H) as integers, each in units of its group.

    The units, float64 arrays of shape (G,), are fine enough that nothing is lost beside the largest
    of a group. `factors`, shape (Q,), weigh the products of each query.
    """

    up: Exacts
    down: Exacts
    up_units: Reals
    down_units: Reals
    factors: Reals


@dataclass(frozen=True)
class WeightedLists:
    """The input of a backend's sums over pairs: documents and the weights of their queries.

    `order` is memory for the documents sorted by score within their query, from round to round.
    """

    layout: Layout
    query_weights: Reals
    order: Columns


class GradedLists(Feedback):
    """Documents of queries, each to be ranked above the documents of lower grade in its query.

    The backend sums the pairs; without one, NumPy does. The weights of the pairs of a query are
    divided by this `power` of their sum, then multiplied by the query's entry of `factors` (Q,).
    Other processes may have other `queries`.
    """

    def __init__(
        self,
        layout: Layout,
        backend: Backend | None = None,
        power: float = 0.0,
        factors: Reals | None = None,
        queries: Partition | None = None,
    ) -> None:
        self.layout = layout
        self.queries = Partition(layout.n_queries) if queries is None else queries
        self.rows = layout.rows
        self.pairs = NumpyPairs() if backend is None else backend.pairs
        self.partition = Partition(len(layout.rows)) if backend is None else backend.table.partition
        sums = group_sums(layout.weights, layout.group_starts)
        # The weight of the pairs of each query at the beginning, without its own factor.
        self._totals = by_query(layout, sums * sums_below(layout, sums))
        given = np.ones(len(self._totals)) if factors is None else factors
        shares = np.where(self._totals > 0, self._totals, 1.0) ** -power
        weights = given * shares
        query_weights = weights / self._total(weights * self._totals)
        self.lists = WeightedLists(layout, query_weights, np.arange(len(layout.rows)))

    @property
    def query_weights(self) -> Reals:
        """The weights of the queries; all pairs together weigh 1."""
        return self.lists.query_weights

    def use(self, pairs: PairSums) -> None:
        self.pairs = pairs

    def weigh(self, scores: Reals) -> PairWeights:
        energies, potentials = self.pairs.weigh_pairs(self.lists, scores)
        return PairWeights(self._total(energies), potentials)

    def moments(self, scores: Reals, outputs: Reals, step: float) -> Moments:
        # From the middle of each query, so that little cancels; only differences count.
        outputs = outputs - self.layout.middles(outputs)
        products = self.pairs.pair_moments(self.lists, scores + step * outputs, outputs)
        sums = {(a, b): self._total(products[a, b]) for a in range(3) for b in range(3 - a)}
        # (A B)' = A' B + A B' and (A B)'' = A'' B + 2 A' B' + A B'', A of exp(H), B of exp(-H).
        slope = sums[1, 0] + sums[0, 1]
        return Moments(sums[0, 0], slope, sums[2, 0] + 2 * sums[1, 1] + sums[0, 2])

    def lines(self, outputs: Sequence[Reals]) -> Lines:
        values = np.stack([one - self.layout.middles(one) for one in outputs], axis=1)
        return Lines(values, values * values)

    def curvatures(self, scores: Reals, lines: Lines) -> Reals | None:
        from scipy.sparse import csr_array

        layout = self.layout
        if len(layout.levels) > _MOST_LEVELS:
            return None
        up, down = factors_of(layout, scores)
        starts, place, g = layout.group_starts, np.arange(len(scores)), layout.group_of
        # Sums by group of exp(H) and exp(-H), and of these times outputs.
        sums = [csr_array((side, place, starts)) for side in (up, down)]
        ups, downs = (one.sum(axis=1) for one in sums)
        weights = self.query_weights[layout.query_of_group]
        below, above = weights * sums_below(layout, ups), weights * sums_above(layout, downs)
        squares = (down * below[g] + up * above[g]) @ lines.squares
        ups, downs = (one @ lines.values for one in sums)
        return squares - 2.0 * weights @ (downs * sums_below(layout, ups))

    def sides(self, scores: Reals, high: NDArray[np.bool_]) -> tuple[float, float]:
        layout = self.layout
        up, down = factors_of(layout, scores)
        masses = []
        for lower, upper in ((~high, high), (high, ~high)):
            ups = group_sums(up * lower, layout.group_starts)
            downs = group_sums(down * upper, layout.group_starts)
            energies = self.query_weights * by_query(layout, downs * sums_below(layout, ups))
            masses.append(self._total(energies))
        return masses[0], masses[1]

    def integers(self, scores: Reals, rows: Rows | None = None) -> ListWeights:
        layout = self.layout
        up, down = factors_of(layout, scores)
        if rows is not None:
            inside = np.isin(self.rows, rows)
            up, down = up * inside, down * inside
        ups, downs = (group_sums(side, layout.group_starts) for side in (up, down))
        energies = self.query_weights * by_query(layout, downs * sums_below(layout, ups))
        energy = self._total(energies)
        up_units, down_units = (np.maximum(sums, 1e-300) / _UNIT for sums in (ups, downs))
        return ListWeights(
            np.rint(up / up_units[layout.group_of]).astype(np.int64),
            np.rint(down / down_units[layout.group_of]).astype(np.int64),
            up_units,
            down_units,
            self.query_weights * (SIDE_SCALE / energy if energy > 0 else 0.0),
        )

    def cut_sides(self, weights: ListWeights, codes: Exacts, n_values: int) -> Sides:
        """Return W- and W+ of every cut in one pass over the codes: O(documents x grades)."""
        crossed = self.pairs.crossing_pairs(self.lists, weights, codes, n_values)
        # A document that has crossed stays on the high side of all lower cuts.
        return Sides(*(np.cumsum(part[::-1])[::-1][:n_values] for part in crossed))

    def misordered(self, scores: Reals, moved: NDArray[np.bool_] | None = None) -> float:
        wrong = self.pairs.misordered_pairs(self.lists, scores, moved)
        return max(0.0, self._total(self.query_weights * wrong))

    def span(self, scores: Reals) -> float:
        starts = self.layout.query_starts[:-1]
        spans = np.maximum.reduceat(scores, starts) - np.minimum.reduceat(scores, starts)
        return float(self.partition.max(float(spans.max(initial=0.0))))

    def some(self, share: float, rng: np.random.Generator) -> Rows:
        """Return the rows of a random share of the queries, or of the only query's rows."""
        starts = self.layout.query_starts
        if self.queries.n_rows == 1:
            return super().some(share, rng)
        alive = np.flatnonzero(self.queries.allgather_rows(self._totals > 0))
        size = max(1, round(share * len(alive)))
        chosen = self.queries.local_rows(np.sort(rng.choice(alive, size, replace=False)))
        parts = [self.rows[starts[q] : starts[q + 1]] for q in chosen.tolist()]
        return np.sort(np.concatenate([self.rows[:0], *parts]))

    def _total(self, values: Reals) -> float:
        """Return the sum, rounded once: the same for every order, threads and processes."""
        return self.partition.fsum(values)
