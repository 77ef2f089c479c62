"""Feedback: which instances should be ranked above which (Iyer 1999 section 4.1).

A pair (x0, x1) with x1 to be ranked above x0 has the weight D(x0, x1) exp(H(x0) - H(x1)). Boosting
needs sums over all pairs, and every feedback provides the same ones. Rows are numbered in the
feedback's own order; `rows` maps them to the table.

The pairs of graded lists need not be enumerated. Within a query the weight of a pair is a factor of
its worse document, exp(H(x0)), times one of its better, exp(-H(x1)). So sums over pairs are sums
over grades of products of sums over documents, and take time and memory in proportion to the number
of documents (Iyer 1999 section 4.2.3, for any number of grades). The product form holds query by
query, because the queries' shares of the weight change.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import EXACT_SCALE, exact_sum, exp
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


class PairWeights(NamedTuple):
    """The weights of all pairs at given scores."""

    # The sum over pairs of D(x0, x1) exp(H(x0) - H(x1)): the product of all Z so far, and so the
    # bound of theorem 1.
    energy: float
    # (m,), half of pi(x) of Iyer 1999 eq. 4.10: the weight of the pairs in which x is better, minus
    # the weight of those in which it is worse, over two.
    potentials: Reals


class Moments(NamedTuple):
    """The energy after a step of size c along h, and its derivatives by c."""

    energy: float
    slope: float
    curvature: float


class RuleOutputs(NamedTuple):
    """The outputs of several rules, less the middle of their query, and their squares: (m, R)."""

    values: Reals
    squares: Reals


# A step is accurate enough if the next would change it by less than this, absolute or relative.
_ACCURACY = 1e-10
_MAX_STEPS = 200

SIDE_SCALE = 2.0**50
"""One unit of weight in the sums of pairs on either side of cuts."""


class Sides(NamedTuple):
    """W- and W+ of every cut of a column, in fixed point: int64 arrays of shape (values,).

    At index b, rows with a code of at least b are high. `right` weighs the pairs with only the
    better row high, `wrong` the pairs with only the worse row high.
    """

    right: Exacts
    wrong: Exacts


class Feedback(ABC):
    """Weighted pairs of rows."""

    rows: Rows

    @property
    def n_rows(self) -> int:
        """The number of rows that pairs may use."""
        return len(self.rows)

    def use(self, pairs: PairSums) -> None:
        """Sum over pairs with a backend's sums from now on, where they are needed."""
        return

    @abstractmethod
    def weigh(self, scores: Reals) -> PairWeights:
        """Return the energy and the potentials at given scores."""

    @abstractmethod
    def moments(self, scores: Reals, outputs: Reals, step: float) -> Moments:
        """Return the energy after a step along real-valued outputs, and its derivatives."""

    def prepare(self, outputs: Sequence[Reals]) -> RuleOutputs | None:
        """Return the outputs of rules as `curvatures` needs them; None if it is not supported."""
        return None

    def curvatures(self, scores: Reals, rules: RuleOutputs) -> Reals | None:
        """Return the curvatures of `moments` along several rules at once, by plain sums."""
        return None

    @abstractmethod
    def sides(self, scores: Reals, high: NDArray[np.bool_]) -> tuple[float, float]:
        """Return W- and W+ of Iyer 1999 section 4.2.2, not divided by the energy.

        W- is the weight of the pairs with only the better row in `high`, W+ with only the worse.
        """

    @abstractmethod
    def quantize(self, scores: Reals, rows: Rows | None = None) -> Any:
        """Return integer weights for `cut_sides`; with `rows`, of pairs within these rows only."""

    @abstractmethod
    def cut_sides(self, weights: Any, codes: Exacts, n_values: int) -> Sides:
        """Return W- and W+ of every cut of a column, given the rows' codes.

        A code of -1 is below every cut, a code of `n_values` above.
        """

    @abstractmethod
    def ranking_loss(self, scores: Reals, moved: NDArray[np.bool_] | None = None) -> float:
        """Return the ranking loss (Iyer 1999 eq. 5.1); a tie counts one half.

        `moved` marks the rows that the last step moved, all by the same amount: within the moved
        rows and within the others the order is still valid, so nothing needs sorting again.
        """

    @abstractmethod
    def score_span(self, scores: Reals) -> float:
        """Return the largest difference between scores that are compared."""

    def sample_rows(self, fraction: float, rng: np.random.Generator) -> Rows:
        """Return a random fraction of the rows, or the rows of a fraction of the queries."""
        size = max(2, round(fraction * self.n_rows))
        return np.sort(rng.choice(self.rows, min(size, self.n_rows), replace=False))


class PairList(Feedback):
    """Any list of weighted pairs: O(pairs) per round (Iyer 1999 section 4.2.1).

    The pairs (x0, x1) are indices into `rows`, the table rows that occur in them: `better` has x1,
    to be ranked above x0 in `worse`. `weights` are D(x0, x1), positive; they need not sum to 1.
    """

    def __init__(
        self, rows: Rows, worse: NDArray[np.intp], better: NDArray[np.intp], weights: Reals
    ) -> None:
        self.rows = rows
        self.worse, self.better = worse, better
        self.weights = weights / exact_sum(weights)

    def weigh(self, scores: Reals) -> PairWeights:
        weights_now = self.pair_weights(scores)
        energy = exact_sum(weights_now)
        potentials = np.zeros(self.n_rows, dtype=np.int64)
        if energy > 0:
            shares = np.rint(weights_now * (0.5 * EXACT_SCALE / energy)).astype(np.int64)
            np.add.at(potentials, self.better, shares)
            np.subtract.at(potentials, self.worse, shares)
        return PairWeights(energy, potentials.astype(np.float64) * (energy / EXACT_SCALE))

    def pair_weights(self, scores: Reals) -> Reals:
        """Return D(x0, x1) exp(H(x0) - H(x1)) of each pair."""
        return self.weights * exp(scores[self.worse] - scores[self.better])

    def moments(self, scores: Reals, outputs: Reals, step: float) -> Moments:
        apart = outputs[self.worse] - outputs[self.better]
        weights_now = self.pair_weights(scores + step * outputs)
        slopes = weights_now * apart
        slope = exact_sum(np.maximum(slopes, 0.0)) - exact_sum(np.maximum(-slopes, 0.0))
        return Moments(exact_sum(weights_now), slope, exact_sum(weights_now * apart**2))

    def sides(self, scores: Reals, high: NDArray[np.bool_]) -> tuple[float, float]:
        weights_now = self.pair_weights(scores)
        low_better = high[self.better] & ~high[self.worse]
        high_worse = high[self.worse] & ~high[self.better]
        return exact_sum(weights_now * low_better), exact_sum(weights_now * high_worse)

    def quantize(self, scores: Reals, rows: Rows | None = None) -> Exacts:
        """Return each pair's share of the weight as an integer."""
        weights_now = self.pair_weights(scores)
        if rows is not None:
            inside = np.isin(self.rows, rows)
            weights_now = weights_now * (inside[self.worse] & inside[self.better])
        energy = exact_sum(weights_now)
        return np.rint(weights_now * (SIDE_SCALE / energy if energy > 0 else 0.0)).astype(np.int64)

    def cut_sides(self, weights: Exacts, codes: Exacts, n_values: int) -> Sides:
        """Return W- and W+: a pair counts in the cuts between its two codes."""
        worse, better = codes[self.worse], codes[self.better]
        sides = []
        for low, high in ((worse, better), (better, worse)):
            apart = np.flatnonzero(low < high)
            jumps = np.zeros(n_values + 2, dtype=np.int64)
            np.add.at(jumps, low[apart] + 1, weights[apart])
            np.subtract.at(jumps, high[apart] + 1, weights[apart])
            sides.append(np.cumsum(jumps)[:n_values])
        return Sides(*sides)

    def ranking_loss(self, scores: Reals, moved: NDArray[np.bool_] | None = None) -> float:
        worse, better = scores[self.worse], scores[self.better]
        shares = 0.5 * (worse >= better) + 0.5 * (worse > better)
        return exact_sum(self.weights * shares)

    def score_span(self, scores: Reals) -> float:
        return float(np.abs(scores[self.worse] - scores[self.better]).max())


# With more grades than this in a query, NumPy takes too long.
_MAX_LEVELS = 32

# About what a group's integer factors sum to.
_UNIT = 2.0**40

# Twice a sum of numbers of so many bits is exact in float64.
_SUM_BITS = 51


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
    def has_unit_weights(self) -> bool:
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
    def exact_weights(self) -> Reals:
        """The weights, shape (2, m), and these times how far a grade is above the query's lowest.

        They are rounded so that a sum over documents of a query is the same in any order.
        """
        if not len(self.rows):
            return np.zeros((2, 0))
        starts = self.query_starts[:-1]
        weights = np.stack([self.weights, self.weights * self.rises[self.group_of]])
        exponents = np.frexp(np.add.reduceat(weights, starts, axis=1))[1]
        shifts = _SUM_BITS - np.repeat(exponents, np.diff(self.query_starts), axis=1)
        return np.ldexp(np.rint(np.ldexp(weights, shifts)), -shifts)

    @cached_property
    def rises(self) -> Reals:
        """The difference of each group's grade to the lowest of the query."""
        return self.grades - self.grades[self.query_groups[:-1]][self.query_of_group]

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

    def rows_of(self, queries: Columns) -> Rows:
        """Return the table rows of some queries, ascending."""
        starts = self.query_starts
        rows = [self.rows[starts[q] : starts[q + 1]] for q in queries.tolist()]
        return np.sort(np.concatenate([self.rows[:0], *rows]))

    def middles(self, values: Reals) -> Reals:
        """Return for each document the midpoint of the range of its query."""
        starts = self.query_starts
        highest, lowest = (
            extreme.reduceat(values, starts[:-1]) for extreme in (np.maximum, np.minimum)
        )
        return np.repeat(0.5 * (highest + lowest), np.diff(starts))

    @cached_property
    def levels(self) -> list[Columns]:
        """The groups that are the first of their query, the second, and so on."""
        level = np.arange(len(self.grades)) - self.query_groups[self.query_of_group]
        order = np.argsort(level, kind="stable")
        ends = np.cumsum(np.bincount(level))
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
        weights = np.where(self._totals > 0, self._totals, 1.0) ** -power
        if factors is not None:
            weights = factors * weights
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
        indices = [(a, b) for a in range(3) for b in range(3 - a)]
        totals = self.partition.fsums([products[a, b] for a, b in indices])
        sums = dict(zip(indices, totals, strict=True))
        # (A B)' = A' B + A B' and (A B)'' = A'' B + 2 A' B' + A B'', A of exp(H), B of exp(-H).
        slope = sums[1, 0] + sums[0, 1]
        return Moments(sums[0, 0], slope, sums[2, 0] + 2 * sums[1, 1] + sums[0, 2])

    def prepare(self, outputs: Sequence[Reals]) -> RuleOutputs:
        values = np.stack([h - self.layout.middles(h) for h in outputs], axis=1)
        return RuleOutputs(values, values * values)

    def curvatures(self, scores: Reals, rules: RuleOutputs) -> Reals | None:
        from scipy.sparse import csr_array

        layout = self.layout
        if len(layout.levels) > _MAX_LEVELS:
            return None
        up, down = factors_of(layout, scores)
        starts, rows, g = layout.group_starts, np.arange(len(scores)), layout.group_of
        # Sums by group of exp(H) and exp(-H), and of these times outputs.
        sums = [csr_array((side, rows, starts)) for side in (up, down)]
        ups, downs = (side.sum(axis=1) for side in sums)
        weights = self.query_weights[layout.query_of_group]
        below, above = weights * sums_below(layout, ups), weights * sums_above(layout, downs)
        squares = (down * below[g] + up * above[g]) @ rules.squares
        ups, downs = (side @ rules.values for side in sums)
        return squares - 2.0 * weights @ (downs * sums_below(layout, ups))

    def sides(self, scores: Reals, high: NDArray[np.bool_]) -> tuple[float, float]:
        layout = self.layout
        up, down = factors_of(layout, scores)
        energies = []
        for lower, upper in ((~high, high), (high, ~high)):
            ups = group_sums(up * lower, layout.group_starts)
            downs = group_sums(down * upper, layout.group_starts)
            energies.append(self.query_weights * by_query(layout, downs * sums_below(layout, ups)))
        lower_energy, upper_energy = self.partition.fsums(energies)
        return lower_energy, upper_energy

    def quantize(self, scores: Reals, rows: Rows | None = None) -> ListWeights:
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
        changes = self.pairs.crossing_pairs(self.lists, weights, codes, n_values)
        crossed = self.queries.sum(np.stack(changes))
        # A document that has crossed stays on the high side of all lower cuts.
        return Sides(*(np.cumsum(pairs[::-1])[::-1][:n_values] for pairs in crossed))

    def ranking_loss(self, scores: Reals, moved: NDArray[np.bool_] | None = None) -> float:
        wrong = self.pairs.misordered_pairs(self.lists, scores, moved)
        return max(0.0, self._total(self.query_weights * wrong))

    def score_span(self, scores: Reals) -> float:
        starts = self.layout.query_starts[:-1]
        spans = np.maximum.reduceat(scores, starts) - np.minimum.reduceat(scores, starts)
        return float(self.partition.max(float(spans.max(initial=0.0))))

    def sample_rows(self, fraction: float, rng: np.random.Generator) -> Rows:
        """Return the rows of a random fraction of the queries, or of the only query's rows."""
        if self.queries.n_rows == 1:
            return super().sample_rows(fraction, rng)
        has_pairs = np.flatnonzero(self.queries.allgather_rows(self._totals > 0))
        size = max(1, round(fraction * len(has_pairs)))
        chosen = self.queries.local_rows(np.sort(rng.choice(has_pairs, size, replace=False)))
        return self.layout.rows_of(chosen)

    def _total(self, values: Reals) -> float:
        """Return the sum, rounded once: the same for every order, threads and processes."""
        return self.partition.fsum(values)


def best_step(moments: Callable[[float], Moments], largest: float) -> float:
    """Return the c in [-largest, largest] that minimizes the energy Z(c) (Iyer 1999, first method).

    `moments` returns Z, Z' and Z'' at c. Z is a sum of terms a exp(c d) with a > 0, hence convex,
    and strictly convex unless it is constant (then 0 is returned). A Newton step is accepted if it
    stays inside the bracket and the last step halved the bracket or |Z'|; otherwise the bracket is
    halved. So either the bracket or |Z'| shrinks to 0, and near the minimum steps are Newton's.

    Examples
    --------
    >>> import math
    >>> def moments(c):  # W- = 0.6, W+ = 0.2
    ...     down, up = 0.6 * math.exp(-c), 0.2 * math.exp(c)
    ...     return Moments(0.2 + down + up, up - down, up + down)
    >>> round(best_step(moments, 10.0), 6) == round(0.5 * math.log(0.6 / 0.2), 6)
    True
    """
    low, high = -largest, largest
    c, last_slope, last_width = 0.0, math.inf, math.inf
    for _ in range(_MAX_STEPS):
        _, slope, curvature = moments(c)
        if slope == 0.0:
            return c
        low, high = (c, high) if slope < 0 else (low, c)
        width = high - low
        step = c - slope / curvature if curvature > 0 else math.nan
        halved = width <= 0.5 * last_width or abs(slope) <= 0.5 * last_slope
        if not (low < step < high and halved):
            step = 0.5 * (low + high)
        last_slope, last_width = abs(slope), width
        if abs(step - c) <= _ACCURACY * max(1.0, abs(c)) or width <= _ACCURACY * largest:
            return step
        c = step
    return c
