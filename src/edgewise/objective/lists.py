"""Lists of graded documents: pairs that are never listed.

Within a query the weight of a pair is a factor of its worse document, exp(H(x0)), times one of its
better, exp(-H(x1)). So sums over pairs are sums over grades of products of sums over documents, and
take time and memory in proportion to the number of documents (Iyer 1999 section 4.2.3, beyond two
grades). The product form holds query by query: the queries' shares of the weight change.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import exp
from edgewise.common.dtypes import Columns, Exacts, Reals, Rows
from edgewise.objective.feedback import SIDE_SCALE, Feedback, Moments, Sides, Weighed

if TYPE_CHECKING:
    from edgewise.backend.base import Backend

# The NumPy twin of the ranking loss looks at so many pairs at a time.
_PAIRS_AT_ONCE = 1 << 21

# About what a group's integer factors sum to.
_UNIT = 2.0**40


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


class GradedLists(Feedback):
    """Documents of queries, each to be ranked above those of lower grade in the same query.

    Parameters
    ----------
    layout : Layout
        The documents.
    backend : Backend or None
        Compiled kernels are used where these are; None is NumPy.
    power : float
        The pairs of a query are divided by this power of what they total to.
    factors : float64 array of shape (Q,) or None
        What they are multiplied by then.
    """

    def __init__(
        self,
        layout: Layout,
        backend: "Backend | None" = None,
        power: float = 0.0,
        factors: Reals | None = None,
    ) -> None:
        self.layout = layout
        self.rows = layout.rows
        self._ones = bool((layout.weights == 1.0).all())
        self._order = np.arange(len(layout.rows))
        self.backend = backend if backend is not None and backend.name == "numba" else None
        self._totals = self._initial_totals()
        given = np.ones(len(self._totals)) if factors is None else factors
        shares = np.where(self._totals > 0, self._totals, 1.0) ** -power
        weights = given * shares
        self.query_weights = weights / _total(weights * self._totals)

    def _initial_totals(self) -> Reals:
        """Return the weight of the pairs of each query at the beginning, without its own factor."""
        sums = group_sums(self.layout.weights, self.layout.group_starts)
        return self._by_query(sums * self._below(sums))

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return self.layout.n_pairs

    def weigh(self, scores: Reals) -> Weighed:
        """Return the energy and the potentials at given scores."""
        if self.backend is not None:
            return self._weigh_compiled(scores)
        layout = self.layout
        up, down = self._factors(scores)
        ups, downs = (group_sums(side, layout.group_starts) for side in (up, down))
        below, above = self._below(ups), self._above(downs)
        energies = self.query_weights * self._by_query(downs * below)
        half = (0.5 * self.query_weights)[layout.query_of_group]
        g = layout.group_of
        potentials = down * (half * below)[g] - up * (half * above)[g]
        return Weighed(_total(energies), potentials)

    def _weigh_compiled(self, scores: Reals) -> Weighed:
        from edgewise.backend.numba import ranking as rank_update

        assert self.backend is not None
        layout = self.layout
        potentials = np.empty(len(scores))
        energies = np.zeros(layout.n_queries)

        def run(span: tuple[int, int]) -> None:
            rank_update.weigh(
                *span, layout.query_groups, layout.group_starts, layout.steps, layout.by_difference,
                layout.weights, self.query_weights, scores, potentials, energies,
            )  # fmt: skip

        self.backend.spread(run, self._spans)
        return Weighed(_total(energies), potentials)

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        """The queries that each thread takes."""
        assert self.backend is not None
        parts = self.backend.row_parts(len(self.rows))
        goals = np.linspace(0, len(self.rows), parts + 1)[1:-1]
        inner = np.searchsorted(self.layout.query_starts, goals).tolist()
        bounds = [0, *inner, self.layout.n_queries]
        return [(a, b) for a, b in pairwise(bounds) if a < b]

    def moments(self, scores: Reals, outputs: Reals, step: float) -> Moments:
        """Return the energy after a step along real-valued outputs, and its derivatives."""
        # From the middle of each query, so that little cancels; only differences count.
        starts = self.layout.query_starts
        middles = 0.5 * (
            np.maximum.reduceat(outputs, starts[:-1]) + np.minimum.reduceat(outputs, starts[:-1])
        )
        outputs = outputs - np.repeat(middles, np.diff(starts))
        products = np.zeros((3, 3, self.layout.n_queries))
        self._sum_moments(scores + step * outputs, outputs, products)
        sums = {(a, b): _total(products[a, b]) for a in range(3) for b in range(3 - a)}
        # (A B)' = A' B + A B' and (A B)'' = A'' B + 2 A' B' + A B'', A of exp(H), B of exp(-H).
        slope = sums[1, 0] + sums[0, 1]
        return Moments(sums[0, 0], slope, sums[2, 0] + 2 * sums[1, 1] + sums[0, 2])

    def _sum_moments(self, scores: Reals, outputs: Reals, products: Reals) -> None:
        """Fill in the sums over pairs of h(x0)^a (-h(x1))^b times their weight, by query."""
        layout, starts = self.layout, self.layout.group_starts
        if self.backend is not None:
            from edgewise.backend.numba import ranking as rank_update

            def run(span: tuple[int, int]) -> None:
                rank_update.sum_moments(
                    *span, layout.query_groups, starts, layout.steps, layout.by_difference,
                    layout.weights, self.query_weights, scores, outputs, products,
                )  # fmt: skip

            self.backend.spread(run, self._spans)
            return
        up, down = self._factors(scores)
        squares = outputs * outputs
        tops = [group_sums(side, starts) for side in (up, up * outputs, up * squares)]
        bottoms = [group_sums(side, starts) for side in (down, down * -outputs, down * squares)]
        for a, top in enumerate(tops):
            below = self._below(top)
            for b in range(3 - a):
                products[a, b] = self.query_weights * self._by_query(bottoms[b] * below)

    def sides(self, scores: Reals, high: NDArray[np.bool_]) -> tuple[float, float]:
        """Return W- and W+."""
        starts = self.layout.group_starts
        up, down = self._factors(scores)
        masses = []
        for lower, upper in ((~high, high), (high, ~high)):
            ups, downs = group_sums(up * lower, starts), group_sums(down * upper, starts)
            energies = self.query_weights * self._by_query(downs * self._below(ups))
            masses.append(_total(energies))
        return masses[0], masses[1]

    def integers(self, scores: Reals, rows: Rows | None = None) -> ListWeights:
        """Return the documents' factors as integers in units of their groups."""
        layout = self.layout
        up, down = self._factors(scores)
        if rows is not None:
            inside = np.isin(self.rows, rows)
            up, down = up * inside, down * inside
        ups, downs = (group_sums(side, layout.group_starts) for side in (up, down))
        energy = _total(self.query_weights * self._by_query(downs * self._below(ups)))
        up_units, down_units = (np.maximum(sums, 1e-300) / _UNIT for sums in (ups, downs))
        return ListWeights(
            np.rint(up / up_units[layout.group_of]).astype(np.int64),
            np.rint(down / down_units[layout.group_of]).astype(np.int64),
            up_units,
            down_units,
            self.query_weights * (SIDE_SCALE / energy if energy > 0 else 0.0),
        )

    def cut_sides(self, weights: ListWeights, codes: Exacts, n_values: int) -> Sides:
        """Return W- and W+ of every cut in one pass over the documents in the order of their codes.

        As a document crosses the cut, its query's part of W- and W+ is computed anew from sums over
        grades: O(documents x grades).
        """
        layout = self.layout
        if self.backend is not None:
            from edgewise.backend.numba import ranking as rank_search

            right, wrong = np.zeros((2, n_values + 1), dtype=np.int64)
            rank_search.sum_sides(
                codes, layout.query_groups, layout.group_of, layout.query_of_group, layout.steps,
                layout.by_difference, *weights, right, wrong,
            )  # fmt: skip
        else:
            right, wrong = crossings(layout, weights, codes, n_values)
        # A document that has crossed stays on the high side of all lower cuts.
        return Sides(*(np.cumsum(part[::-1])[::-1][:n_values] for part in (right, wrong)))

    def misordered(self, scores: Reals, moved: NDArray[np.bool_] | None = None) -> float:
        """Return the ranking loss."""
        if self.backend is None:
            return self._misordered_pairs(scores)
        from edgewise.backend.numba import ranking as rank_update

        layout = self.layout
        losses = np.zeros(layout.n_queries)
        shifted = moved if moved is not None else np.empty(0, dtype=bool)

        def run(span: tuple[int, int]) -> None:
            rank_update.misordered(
                *span, layout.query_groups, layout.group_starts, layout.grades, layout.group_of,
                layout.by_difference, layout.weights, self._ones, scores, shifted, self._order,
                losses,
            )  # fmt: skip

        self.backend.spread(run, self._spans)
        return self._loss(losses)

    def _misordered_pairs(self, scores: Reals) -> float:
        """Return the ranking loss by looking at all pairs, some at a time."""
        layout = self.layout
        first = layout.query_starts[layout.query_of_group[layout.group_of]]
        counts = layout.group_starts[layout.group_of] - first
        wrong = np.zeros(layout.n_queries)
        ends = np.cumsum(counts)
        at = 0
        while at < len(scores):
            done = ends[at - 1] if at else 0
            stop = max(at + 1, int(np.searchsorted(ends, done + _PAIRS_AT_ONCE, side="right")))
            mine = np.arange(at, stop)
            better = np.repeat(mine, counts[mine])
            before = np.repeat(ends[mine] - counts[mine] - done, counts[mine])
            worse = first[better] + np.arange(len(better)) - before
            share = 0.5 * (scores[worse] >= scores[better]) + 0.5 * (scores[worse] > scores[better])
            share *= layout.weights[worse] * layout.weights[better]
            if layout.by_difference:
                grades = layout.grades[layout.group_of]
                share *= grades[better] - grades[worse]
            queries = layout.query_of_group[layout.group_of[better]]
            wrong += np.bincount(queries, share, minlength=len(wrong))
            at = stop
        return self._loss(wrong)

    def _loss(self, by_query: Reals) -> float:
        return max(0.0, _total(self.query_weights * by_query))

    def span(self, scores: Reals) -> float:
        """Return how far apart the scores of a query are at most."""
        starts = self.layout.query_starts[:-1]
        spans = np.maximum.reduceat(scores, starts) - np.minimum.reduceat(scores, starts)
        return float(spans.max())

    def some(self, share: float, rng: np.random.Generator) -> Rows:
        """Return the rows, ascending, of a random share of the queries; of one query, of its rows.

        Only queries with pairs are drawn from.
        """
        starts = self.layout.query_starts
        if len(starts) == 2:
            size = max(2, round(share * len(self.rows)))
            return np.sort(rng.choice(self.rows, min(size, len(self.rows)), replace=False))
        alive = np.flatnonzero(self._totals > 0)
        size = max(1, round(share * len(alive)))
        chosen = np.sort(rng.choice(alive, size, replace=False))
        parts = [self.rows[starts[q] : starts[q + 1]] for q in chosen.tolist()]
        return np.sort(np.concatenate(parts))

    def _factors(self, scores: Reals) -> tuple[Reals, Reals]:
        """Return exp(H) and exp(-H) of each document, H from the middle of its query's."""
        starts = self.layout.query_starts
        highest = np.maximum.reduceat(scores, starts[:-1])
        lowest = np.minimum.reduceat(scores, starts[:-1])
        middle = np.repeat(0.5 * (highest + lowest), np.diff(starts))
        grown = exp(scores - middle)
        if self._ones:
            return grown, 1.0 / grown
        return self.layout.weights * grown, self.layout.weights / grown

    def _below(self, ups: Reals) -> Reals:
        """Return for each group the weighted sum of `ups` of the lower grades in its query."""
        below, sums = np.zeros_like(ups), np.zeros_like(ups)
        for mine in self.layout.levels[1:]:
            sums[mine] = sums[mine - 1] + ups[mine - 1]
            if self.layout.by_difference:
                below[mine] = below[mine - 1] + self.layout.steps[mine] * sums[mine]
            else:
                below[mine] = sums[mine]
        return below

    def _above(self, downs: Reals) -> Reals:
        """Return for each group the weighted sum of `downs` of the higher grades in its query."""
        above, sums = np.zeros_like(downs), np.zeros_like(downs)
        for mine in self.layout.levels[:0:-1]:
            lower = mine - 1
            sums[lower] = sums[mine] + downs[mine]
            if self.layout.by_difference:
                above[lower] = above[mine] + self.layout.steps[mine] * sums[lower]
            else:
                above[lower] = sums[lower]
        return above

    def _by_query(self, by_group: Reals) -> Reals:
        """Return sums over the groups of each query, in the groups' order."""
        total = np.zeros(self.layout.n_queries)
        for mine in self.layout.levels:
            total[self.layout.query_of_group[mine]] += by_group[mine]
        return total


def _total(values: Reals) -> float:
    """Return the sum, rounded once: the same for every order, and on any number of threads."""
    return math.fsum(values.tolist())


def group_sums(values: Reals, starts: Columns) -> Reals:
    """Return the sums of consecutive groups of values, the same for every order within a group.

    The values of a group are rounded to a common binary grid, so fine that nothing is lost beside
    the largest, and added as integers.

    Examples
    --------
    >>> import numpy as np
    >>> group_sums(np.array([0.1, 0.2, 0.7, 5.0]), np.array([0, 3, 4]))
    array([1., 5.])
    """
    largest = np.maximum.reduceat(np.abs(values), starts[:-1])
    sizes = np.diff(starts)
    shifts = 62 - np.frexp(sizes.astype(np.float64))[1] - np.frexp(largest)[1]
    scaled = np.rint(np.ldexp(values, np.repeat(shifts, sizes))).astype(np.int64)
    return np.ldexp(np.add.reduceat(scaled, starts[:-1]).astype(np.float64), -shifts)
