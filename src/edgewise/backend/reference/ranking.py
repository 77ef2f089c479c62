"""Sums over the pairs of graded lists, in NumPy.

`objective.lists` explains the sums and describes the arguments.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import exp
from edgewise.common.dtypes import Columns, Exacts, Reals

# Pairs compared at a time.
_PAIRS_AT_ONCE = 1 << 21


class PairSums:
    """A backend's sums over pairs, for lists of `objective.lists.WeightedLists`."""

    def weigh_pairs(self, lists: Any, scores: Reals) -> tuple[Reals, Reals]:
        """Return each query's energy and each document's potential."""
        layout, query_weights = lists.layout, lists.query_weights
        up, down = factors(layout, scores)
        ups, downs = (group_sums(side, layout.group_starts) for side in (up, down))
        below, above = sums_below(layout, ups), sums_above(layout, downs)
        energies = query_weights * by_query(layout, downs * below)
        half = (0.5 * query_weights)[layout.query_of_group]
        g = layout.group_of
        return energies, down * (half * below)[g] - up * (half * above)[g]

    def pair_moments(self, lists: Any, scores: Reals, outputs: Reals) -> Reals:
        """Return the sums over each query's pairs of h(x0)^a (-h(x1))^b times their weight."""
        layout, query_weights = lists.layout, lists.query_weights
        products = np.zeros((3, 3, layout.n_queries))
        up, down = factors(layout, scores)
        starts, squares = layout.group_starts, outputs * outputs
        tops = [group_sums(side, starts) for side in (up, up * outputs, up * squares)]
        bottoms = [group_sums(side, starts) for side in (down, down * -outputs, down * squares)]
        for a, top in enumerate(tops):
            below = sums_below(layout, top)
            for b in range(3 - a):
                products[a, b] = query_weights * by_query(layout, bottoms[b] * below)
        return products

    def misordered_pairs(self, lists: Any, scores: Reals, moved: NDArray[np.bool_] | None) -> Reals:
        """Return the weight of each query's misordered pairs, by comparing all pairs."""
        layout = lists.layout
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
        return wrong

    def crossing_pairs(
        self, lists: Any, weights: Any, codes: Exacts, n_values: int
    ) -> tuple[Exacts, Exacts]:
        """Return the changes of W- and W+ as the documents of each code cross the cut."""
        layout = lists.layout
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


def factors(layout: Any, scores: Reals) -> tuple[Reals, Reals]:
    """Return exp(H) and exp(-H) of each document, H from the middle of its query's."""
    starts = layout.query_starts
    highest = np.maximum.reduceat(scores, starts[:-1])
    lowest = np.minimum.reduceat(scores, starts[:-1])
    middle = np.repeat(0.5 * (highest + lowest), np.diff(starts))
    grown = exp(scores - middle)
    if layout.all_ones:
        return grown, 1.0 / grown
    return layout.weights * grown, layout.weights / grown


def sums_below(layout: Any, ups: Reals) -> Reals:
    """Return for each group the weighted sum of `ups` of the lower grades in its query."""
    below, sums = np.zeros_like(ups), np.zeros_like(ups)
    for mine in layout.levels[1:]:
        sums[mine] = sums[mine - 1] + ups[mine - 1]
        if layout.by_difference:
            below[mine] = below[mine - 1] + layout.steps[mine] * sums[mine]
        else:
            below[mine] = sums[mine]
    return below


def sums_above(layout: Any, downs: Reals) -> Reals:
    """Return for each group the weighted sum of `downs` of the higher grades in its query."""
    above, sums = np.zeros_like(downs), np.zeros_like(downs)
    for mine in layout.levels[:0:-1]:
        lower = mine - 1
        sums[lower] = sums[mine] + downs[mine]
        if layout.by_difference:
            above[lower] = above[mine] + layout.steps[mine] * sums[lower]
        else:
            above[lower] = sums[lower]
    return above


def by_query(layout: Any, by_group: Reals) -> Reals:
    """Return sums over the groups of each query, in the groups' order."""
    total = np.zeros(layout.n_queries)
    for mine in layout.levels:
        total[layout.query_of_group[mine]] += by_group[mine]
    return total


def group_sums(values: Reals, starts: Columns) -> Reals:
    """Return the sums of consecutive groups, independent of the order within a group.

    The values of a group are rounded to a common binary grid and added as integers.

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
