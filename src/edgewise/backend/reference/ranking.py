"""Sums over the pairs of graded lists, in NumPy.

`objective.feedback` explains the sums and describes the arguments.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import exp, log
from edgewise.backend.base import PairSums
from edgewise.common.dtypes import Columns, Exacts, Mask, Reals

# Pairs compared at a time.
_PAIRS_AT_ONCE = 1 << 21

PLACE_SCALE = 2.0**40
"""One unit of the value of a rank, so that sums do not depend on their order."""

SCORE_GAP_OFFSET = 0.01
"""A pair's weight is divided by the gap of its scores plus this, as in LightGBM."""

LN_2 = math.log(2.0)

LEAST_CURVATURE = 0.25
"""The least curvature of a pair, as a share of its pull: no step can be longer than its inverse."""


class TopSums(NamedTuple):
    """Sums over the pairs with one of the first documents of a query: see `objective.top`."""

    potentials: Reals  # (m,), half the pull of its pairs on each document
    curvatures: Reals  # (m,), half the curvature
    energies: Reals  # (Q,), the sum of the pulls
    bounds: Reals  # (Q,), upper bounds of the losses
    losses: Reals  # (Q,), what the metric of the query lacks to 1, times its weight


class GradedPairs(NamedTuple):
    """The pairs of graded lists as compiled code takes them: see `objective.feedback.Layout`."""

    query_groups: Columns
    group_starts: Columns
    steps: Reals
    by_difference: bool
    weights: Reals
    query_weights: Reals

    @staticmethod
    def of(lists: Any) -> "GradedPairs":
        """Return the pairs of `objective.feedback.GradedLists`."""
        layout = lists.layout
        return GradedPairs(
            layout.query_groups, layout.group_starts, layout.steps, layout.by_difference,
            layout.weights, lists.query_weights,
        )  # fmt: skip


class NumpyPairs(PairSums):
    """Sums over pairs in NumPy."""

    def weigh_pairs(self, lists: Any, scores: Reals) -> tuple[Reals, Reals]:
        layout, query_weights = lists.layout, lists.query_weights
        up, down = factors(layout, scores)
        ups, downs = (group_sums(side, layout.group_starts) for side in (up, down))
        below, above = sums_below(layout, ups), sums_above(layout, downs)
        energies = query_weights * by_query(layout, downs * below)
        half = (0.5 * query_weights)[layout.query_of_group]
        g = layout.group_of
        return energies, down * (half * below)[g] - up * (half * above)[g]

    def pair_moments(self, lists: Any, scores: Reals, outputs: Reals) -> Reals:
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
        layout = lists.layout
        first = layout.query_starts[layout.query_of_group[layout.group_of]]
        counts = layout.group_starts[layout.group_of] - first
        weights, weights_times_rises = layout.exact_weights
        # Of each document, the weights of the better ones that do not score higher.
        twice, twice_rises = np.zeros((2, len(scores)))
        ends = np.cumsum(counts)
        at = 0
        while at < len(scores):
            done = ends[at - 1] if at else 0
            stop = max(at + 1, int(np.searchsorted(ends, done + _PAIRS_AT_ONCE, side="right")))
            documents = np.arange(at, stop)
            better = np.repeat(documents, counts[documents])
            before = np.repeat(ends[documents] - counts[documents] - done, counts[documents])
            worse = first[better] + np.arange(len(better)) - before
            halves = 1.0 * (scores[worse] >= scores[better]) + (scores[worse] > scores[better])
            twice += np.bincount(worse, halves * weights[better], len(twice))
            if layout.by_difference:
                twice_rises += np.bincount(worse, halves * weights_times_rises[better], len(twice))
            at = stop
        if layout.by_difference:
            twice = twice_rises - layout.rises[layout.group_of] * twice
        losses = np.zeros(layout.n_queries)
        np.add.at(losses, layout.query_of_group[layout.group_of], 0.5 * weights * twice)
        return losses

    def crossing_pairs(
        self, lists: Any, weights: Any, codes: Exacts, n_values: int
    ) -> tuple[Exacts, Exacts]:
        layout = lists.layout
        grade_index = np.arange(len(layout.grades)) - layout.query_groups[layout.query_of_group]
        query = layout.query_of_group[layout.group_of]
        order = np.lexsort((-codes, query))
        order = order[codes[order] >= 0]
        query, width = query[order], len(layout.levels)
        sums = []
        sides = ((weights.up, weights.up_units), (weights.down, weights.down_units))
        for side, units in sides:
            sums_of_grades = np.zeros((layout.n_queries, width), dtype=np.int64)
            np.add.at(
                sums_of_grades,
                (layout.query_of_group[layout.group_of], grade_index[layout.group_of]),
                side,
            )
            steps = np.zeros((len(order), width), dtype=np.int64)
            steps[np.arange(len(order)), grade_index[layout.group_of[order]]] = side[order]
            first = np.searchsorted(query, query)
            crossed = np.cumsum(steps, axis=0)
            crossed -= (crossed - steps)[first] if len(order) else 0
            scale = np.zeros((layout.n_queries, width))
            scale[layout.query_of_group, grade_index] = units
            sums.append(((sums_of_grades[query] - crossed) * scale[query], crossed * scale[query]))
        gaps = np.zeros((layout.n_queries, width))
        gaps[layout.query_of_group, grade_index] = layout.steps
        (up_low, up_high), (down_low, down_high) = sums
        changes = []
        for lower, upper in ((up_low, down_high), (up_high, down_low)):
            product = _product(lower, upper, gaps[query], layout.by_difference)
            rounded = np.rint(weights.factors[query] * product).astype(np.int64)
            before = np.concatenate(([0], rounded[:-1]))
            before[np.flatnonzero(np.diff(query, prepend=-1))] = 0
            change = np.zeros(n_values + 1, dtype=np.int64)
            np.add.at(change, codes[order], rounded - before)
            changes.append(change)
        return changes[0], changes[1]

    def weigh_top(self, lists: Any, scores: Reals) -> TopSums:
        layout, gains, starts = lists.layout, lists.gains, lists.layout.query_starts
        query = layout.query_of_group[layout.group_of]
        order = np.lexsort((-scores, query))
        rank = np.arange(len(order)) - starts[query]
        above, below, value = (
            np.concatenate([[0], np.cumsum(values)])
            for values in rank_values(gains[order], rank, starts, lists.discounts, lists.precision)
        )
        # Documents of one score and gain share their places.
        score, gain, weights = scores[order], gains[order], layout.weights[order]
        is_new = (rank == 0) | (np.diff(score, prepend=np.nan) != 0)
        is_new |= np.diff(gain, prepend=np.nan) != 0
        firsts = np.flatnonzero(is_new)
        ends = np.append(firsts[1:], len(order))
        sizes, owner = ends - firsts, query[firsts]
        high, low = (
            (values[ends] - values[firsts]) / (PLACE_SCALE * sizes) for values in (above, below)
        )
        worth, gain = (value[ends] - value[firsts]) / PLACE_SCALE, gain[firsts]
        losses = lists.factors - np.zeros(layout.n_queries)
        np.subtract.at(losses, owner, gain * worth)
        mass = sizes.astype(np.float64)
        if not layout.has_unit_weights:
            mass = group_sums(weights, np.append(firsts, len(order)))
        middle = 0.5 * (score[starts[:-1]] + score[starts[1:] - 1])
        shift = score[firsts] - middle[owner]
        up = exp(shift)
        down = 1.0 / up
        a, b = _first_pairs(owner, rank[firsts] < len(lists.discounts))
        ratio = up[b] * down[a]
        share, is_right = 1.0 / (1.0 + ratio), gain[a] > gain[b]
        wrong = np.where(is_right, share * ratio, share)
        right = np.where(is_right, share, share * ratio)
        weight = (gain[a] - gain[b]) * np.maximum(high[a] - low[b], 0.0) * (mass[a] * mass[b])
        pulls = weight * wrong / (SCORE_GAP_OFFSET + (shift[a] - shift[b]))
        curves = np.abs(pulls) * np.maximum(right, LEAST_CURVATURE)
        # In the order of the compiled loops.
        both, n_runs = np.stack([a, b], axis=1).ravel(), len(firsts)
        signed = np.stack([pulls, -pulls], axis=1).ravel()
        pull = np.bincount(both, signed, minlength=n_runs)
        curve = np.bincount(both, np.repeat(curves, 2), minlength=n_runs)
        energies, bounds = (
            np.bincount(owner[a], np.abs(values), minlength=layout.n_queries).astype(np.float64)
            for values in (pulls, weight * wrong)
        )
        # Queries of many pairs count for more, but not in proportion.
        scales = np.zeros(layout.n_queries)
        has_pairs = energies > 0
        shares, positive = lists.factors[has_pairs], energies[has_pairs]
        scales[has_pairs] = shares * (log(1.0 + positive / shares) / LN_2) / positive
        potentials, curvatures = np.empty((2, len(order)))
        for of_runs, out in ((pull, potentials), (curve, curvatures)):
            out[order] = np.repeat(0.5 * scales[owner] * of_runs / mass, sizes) * weights
        return TopSums(potentials, curvatures, energies * scales, 2.0 * bounds, losses)


def _first_pairs(owner: Columns, is_first: Mask) -> tuple[Columns, Columns]:
    """Return the pairs of one of the first runs of each query, its owner, with a later one."""
    last = np.searchsorted(owner, owner, side="right")
    tops = np.flatnonzero(is_first)
    counts = last[tops] - tops - 1
    a = np.repeat(tops, counts)
    return a, a + 1 + np.arange(len(a)) - np.repeat(np.cumsum(counts) - counts, counts)


def _product(lower: Reals, upper: Reals, gaps: Reals, by_difference: bool) -> Reals:
    """Return the weighted sum over pairs of grades of `lower` times `upper` of the higher one."""
    total, below, product = (np.zeros(len(lower)) for _ in range(3))
    for g in range(1, lower.shape[1]):
        total = total + lower[:, g - 1]
        below = below + gaps[:, g] * total if by_difference else total
        product = product + upper[:, g] * below
    return product


def rank_values(
    gains: Reals, rank: Columns, starts: Columns, discounts: Exacts, by_precision: bool
) -> tuple[Exacts, Exacts, Exacts]:
    """Return the values of the ranks of documents in their order, in fixed point.

    Swapping the documents of two ranks changes the metric by the difference of their gains times
    the first value of the upper rank less the second of the lower one. The third, times the gain,
    is the document's contribution to the metric. For NDCG all are the discount of the rank. For
    average precision, with N relevant documents up to rank i and S the sum of 1 / i over those,
    they are (N + 1) / i - S, without the 1 where the document is relevant itself; N / i - S,
    without its own term of S; and N / i.
    """
    if not by_precision:
        padded = np.append(discounts, 0)
        worth = padded[np.minimum(rank, len(discounts))]
        return worth, worth, worth
    query = np.repeat(np.arange(len(starts) - 1), np.diff(starts))

    def up_to(values: Exacts) -> Exacts:
        sums = np.cumsum(values)
        return sums - (sums - values)[starts[:-1]][query]

    is_relevant = (gains > 0).astype(np.int64)
    number, inverse = up_to(is_relevant), np.rint(PLACE_SCALE / (rank + 1)).astype(np.int64)
    inverses = up_to(inverse * is_relevant)
    precision, swapped = (
        np.rint(PLACE_SCALE * count / (rank + 1)).astype(np.int64)
        for count in (number, number + 1 - is_relevant)
    )
    return swapped - inverses, precision - (inverses - inverse * is_relevant), precision


def factors(layout: Any, scores: Reals) -> tuple[Reals, Reals]:
    """Return exp(H) and exp(-H) of each document, H from the middle of its query's."""
    starts = layout.query_starts
    highest = np.maximum.reduceat(scores, starts[:-1])
    lowest = np.minimum.reduceat(scores, starts[:-1])
    middle = np.repeat(0.5 * (highest + lowest), np.diff(starts))
    grown = exp(scores - middle)
    if layout.has_unit_weights:
        return grown, 1.0 / grown
    return layout.weights * grown, layout.weights / grown


def sums_below(layout: Any, ups: Reals) -> Reals:
    """Return for each group the weighted sum of `ups` of the lower grades in its query.

    The groups are along the first axis of `ups`.
    """
    below, sums = np.zeros_like(ups), np.zeros_like(ups)
    for groups in layout.levels[1:]:
        sums[groups] = sums[groups - 1] + ups[groups - 1]
        if layout.by_difference:
            below[groups] = below[groups - 1] + (layout.steps[groups] * sums[groups].T).T
        else:
            below[groups] = sums[groups]
    return below


def sums_above(layout: Any, downs: Reals) -> Reals:
    """Return for each group the weighted sum of `downs` of the higher grades in its query."""
    above, sums = np.zeros_like(downs), np.zeros_like(downs)
    for groups in layout.levels[:0:-1]:
        lower = groups - 1
        sums[lower] = sums[groups] + downs[groups]
        if layout.by_difference:
            above[lower] = above[groups] + layout.steps[groups] * sums[lower]
        else:
            above[lower] = sums[lower]
    return above


def by_query(layout: Any, by_group: Reals) -> Reals:
    """Return sums over the groups of each query, in the groups' order."""
    total = np.zeros(layout.n_queries)
    for groups in layout.levels:
        total[layout.query_of_group[groups]] += by_group[groups]
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
