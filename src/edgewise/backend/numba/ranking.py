"""Sums over the pairs of graded lists, compiled: weights, potentials and the ranking loss."""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import PairSums
from edgewise.backend.numba.step import exp, log
from edgewise.backend.numba.vectors import (
    in_lanes,
    inlined,
    inner,
    kernel,
    power_of_two,
    sort_stably,
)
from edgewise.backend.reference.ranking import (
    LEAST_CURVATURE,
    LN_2,
    PLACE_SCALE,
    SCORE_GAP_OFFSET,
    GradedPairs,
    TopSums,
)
from edgewise.common.dtypes import Columns, Exacts, Reals
from edgewise.common.threads import Threads

# Up to this length, comparing all pairs of a list takes less time than sorting it.
_SHORT = 256


class TopDocuments(NamedTuple):
    """Documents and the discounts of ranks, as compiled code takes `objective.top.TopLists`."""

    query_starts: Columns
    gains: Reals
    weights: Reals
    has_unit_weights: bool
    discounts: Exacts
    by_precision: bool
    factors: Reals


@inner
def _group_sum(values, lo, hi):  # type: ignore[no-untyped-def]
    """Return the sum of values[lo:hi] in any order: see reference.ranking.group_sums."""
    if hi - lo == 1:
        return values[lo]
    largest = 0.0
    for i in range(lo, hi):
        largest = max(largest, abs(values[i]))
    bits = 0
    while (hi - lo) >> bits:
        bits += 1
    # In two factors: one alone could leave the range of a double.
    shift = 62 - bits - math.frexp(largest)[1]
    half = np.int64(shift // 2)
    scale, other_scale = power_of_two(half), power_of_two(np.int64(shift) - half)
    total = np.int64(0)
    for i in range(lo, hi):
        total += np.int64(np.rint(values[i] * scale * other_scale))
    return np.float64(total) * power_of_two(-half) * power_of_two(half - np.int64(shift))


@inner
def _factors(first, last, pairs, scores):  # type: ignore[no-untyped-def]
    """Return exp(H) and exp(-H) of the documents of some queries, H from the middle of each."""
    query_groups, group_starts, _, _, weights, _ = pairs
    origin, end = group_starts[query_groups[first]], group_starts[query_groups[last]]
    shifted, up, down = np.empty(end - origin), np.empty(end - origin), np.empty(end - origin)
    for q in range(first, last):
        start, stop = group_starts[query_groups[q]], group_starts[query_groups[q + 1]]
        highest, lowest = scores[start], scores[start]
        for i in range(start, stop):
            highest, lowest = max(highest, scores[i]), min(lowest, scores[i])
        middle = 0.5 * (highest + lowest)
        for i in range(start, stop):
            shifted[i - origin] = scores[i] - middle
    # All exponentials in one long loop, however short the lists are.
    weights_here = weights[origin:end]
    for i in range(len(weights_here)):
        up[i] = exp(shifted[i])
    for i in range(len(weights_here)):
        down[i] = weights_here[i] / up[i]
        up[i] = weights_here[i] * up[i]
    return up, down


@kernel
def weigh(first, last, pairs, scores, potentials, energies):  # type: ignore[no-untyped-def]
    """Weigh the pairs (`GradedPairs`) of queries from first to last. OUT potentials, energies."""
    query_groups, group_starts, steps, by_difference, _, query_weights = pairs
    up, down = _factors(first, last, pairs, scores)
    origin, max_groups = group_starts[query_groups[first]], 0
    for q in range(first, last):
        max_groups = max(max_groups, query_groups[q + 1] - query_groups[q])
    ups, downs = np.empty(max_groups), np.empty(max_groups)
    below, above = np.empty(max_groups), np.empty(max_groups)
    for q in range(first, last):
        g0, n_groups = query_groups[q], query_groups[q + 1] - query_groups[q]
        for g in range(n_groups):
            lo, hi = group_starts[g0 + g] - origin, group_starts[g0 + g + 1] - origin
            ups[g], downs[g] = _group_sum(up, lo, hi), _group_sum(down, lo, hi)
        below[0], total = 0.0, 0.0
        for g in range(1, n_groups):
            total = total + ups[g - 1]
            below[g] = below[g - 1] + steps[g0 + g] * total if by_difference else total
        above[n_groups - 1], total = 0.0, 0.0
        for g in range(n_groups - 2, -1, -1):
            total = total + downs[g + 1]
            above[g] = above[g + 1] + steps[g0 + g + 1] * total if by_difference else total
        energy, half = 0.0, 0.5 * query_weights[q]
        for g in range(n_groups):
            energy = energy + downs[g] * below[g]
            lower, upper = half * below[g], half * above[g]
            for i in range(group_starts[g0 + g], group_starts[g0 + g + 1]):
                potentials[i] = down[i - origin] * lower - up[i - origin] * upper
        energies[q] = query_weights[q] * energy


@kernel
def sum_moments(first, last, pairs, scores, outputs, products):  # type: ignore[no-untyped-def]
    """Sum h(x0)^a (-h(x1))^b times the weight of each pair, by query.

    OUT products of shape (3, 3, queries).
    """
    query_groups, group_starts, steps, by_difference, _, query_weights = pairs
    up, down = _factors(first, last, pairs, scores)
    origin, max_groups = group_starts[query_groups[first]], 0
    for q in range(first, last):
        max_groups = max(max_groups, query_groups[q + 1] - query_groups[q])
    tops, bottoms = np.empty((3, len(up))), np.empty((3, len(up)))
    for i in range(len(up)):
        h = outputs[origin + i]
        tops[0, i], tops[1, i], tops[2, i] = up[i], up[i] * h, up[i] * (h * h)
        bottoms[0, i], bottoms[1, i], bottoms[2, i] = down[i], down[i] * -h, down[i] * (h * h)
    ups, downs = np.empty((3, max_groups)), np.empty((3, max_groups))
    for q in range(first, last):
        g0, n_groups = query_groups[q], query_groups[q + 1] - query_groups[q]
        for g in range(n_groups):
            lo, hi = group_starts[g0 + g] - origin, group_starts[g0 + g + 1] - origin
            for a in range(3):
                ups[a, g] = _group_sum(tops[a], lo, hi)
                downs[a, g] = _group_sum(bottoms[a], lo, hi)
        for a in range(3):
            for b in range(3 - a):
                total, below, product = 0.0, 0.0, 0.0
                for g in range(1, n_groups):
                    total = total + ups[a, g - 1]
                    below = below + steps[g0 + g] * total if by_difference else total
                    product = product + downs[b, g] * below
                products[a, b, q] = query_weights[q] * product


@inner
def _merge(scores, moved, order, start, stop, spare):  # type: ignore[no-untyped-def]
    """Sort order[start:stop], in which moved documents and the others are each in order."""
    count = 0
    at = start
    for p in range(start, stop):
        if moved[order[p]]:
            spare[count] = order[p]
            count += 1
        else:
            order[at] = order[p]
            at += 1
    # From the end, so that nothing is overwritten before it is read.
    a, b, to = at - 1, count - 1, stop - 1
    while b >= 0:
        if a >= start and scores[order[a]] > scores[spare[b]]:
            order[to] = order[a]
            a -= 1
        else:
            order[to] = spare[b]
            b -= 1
        to -= 1


@inner
def _misordered_short(scores, g0, n_groups, pairs, rises, exact_weights, all_ones, twice):  # type: ignore[no-untyped-def]
    """Compare all pairs of a short list; see `sum_misordered`."""
    group_starts, by_difference = pairs.group_starts, pairs.by_difference
    start = group_starts[g0]
    for g in range(g0, g0 + n_groups):
        for i in range(group_starts[g], group_starts[g + 1]):
            score, total, rising = scores[i], 0.0, 0.0
            for higher in range(g + 1, g0 + n_groups):
                lo, hi = group_starts[higher], group_starts[higher + 1]
                better, weights = scores[lo:hi], exact_weights[0, lo:hi]
                if all_ones:
                    count = np.int64(0)
                    for j in range(len(better)):
                        count += np.int64(better[j] <= score) + np.int64(better[j] < score)
                    total += count
                    rising += count * exact_weights[1, lo]
                else:
                    for j in range(len(better)):
                        count = np.int64(better[j] <= score) + np.int64(better[j] < score)
                        total += count * weights[j]
                        rising += count * exact_weights[1, lo + j]
            twice[i - start] = rising - rises[g] * total if by_difference else total


@inner
def _misordered_long(  # type: ignore[no-untyped-def]
    scores, order, g0, n, pairs, rises, exact_weights, group_of, sums, products, twice, spare
):
    """Visit the documents of a list in the order of their scores; see `sum_misordered`.

    `sums` and `products` are Fenwick trees over its n groups, from g0 on, initially 0.
    """
    start, stop = pairs.group_starts[g0], pairs.group_starts[g0 + n]
    p = start
    while p < stop:
        score = scores[order[p]]
        end = p + 1
        while end < stop and scores[order[end]] == score:
            end += 1
        # Ties are misordered by half: they count before and after they are added, by half each.
        for half in range(2):
            for r in range(p, end):
                i = order[r]
                total, rising, at = 0.0, 0.0, n - 1 - (group_of[i] - g0)
                while at > 0:
                    total += sums[at]
                    rising += products[at]
                    at -= at & -at
                if half == 0:
                    twice[i - start], spare[i - start] = total, rising
                    continue
                total, rising = total + twice[i - start], rising + spare[i - start]
                is_difference = pairs.by_difference
                twice[i - start] = rising - rises[group_of[i]] * total if is_difference else total
            if half == 0:
                for r in range(p, end):
                    i = order[r]
                    at = n - (group_of[i] - g0)
                    while at <= n:
                        sums[at] += exact_weights[0, i]
                        products[at] += exact_weights[1, i]
                        at += at & -at
        p = end


@kernel
def sum_misordered(  # type: ignore[no-untyped-def]
    first, last, pairs, rises, exact_weights, group_of, all_ones, scores, moved, order, losses
):
    """Sum the weights of misordered pairs of the queries from first to last, ties by half.

    The better documents that do not score higher are summed for each document, exactly, and then
    the documents of a query in their order.

    IN moved (which documents the last step moved, all by the same amount; empty if unknown). IN,
    OUT order (documents sorted by score within their query). OUT losses (of every query).
    """
    query_groups, group_starts = pairs.query_groups, pairs.group_starts
    longest, max_groups = 0, 0
    for q in range(first, last):
        longest = max(longest, group_starts[query_groups[q + 1]] - group_starts[query_groups[q]])
        max_groups = max(max_groups, query_groups[q + 1] - query_groups[q])
    spare = np.empty(longest, dtype=np.int64)
    # Of each document, twice the weight of its misordered pairs, and what is rising with them.
    twice, rising = np.empty(longest), np.empty(longest)
    sums, products = np.empty(max_groups + 1), np.empty(max_groups + 1)
    for q in range(first, last):
        g0, n_groups = query_groups[q], query_groups[q + 1] - query_groups[q]
        start, stop = group_starts[g0], group_starts[query_groups[q + 1]]
        if stop - start <= _SHORT:
            _misordered_short(scores, g0, n_groups, pairs, rises, exact_weights, all_ones, twice)
        else:
            if len(moved) > 0:
                _merge(scores, moved, order, start, stop, spare)
            else:
                fresh = np.argsort(scores[start:stop], kind="mergesort")
                for p in range(start, stop):
                    order[p] = start + fresh[p - start]
            for g in range(n_groups + 1):
                sums[g], products[g] = 0.0, 0.0
            _misordered_long(
                scores, order, g0, n_groups, pairs, rises, exact_weights, group_of, sums, products,
                twice, rising,
            )  # fmt: skip
        wrong = 0.0
        for i in range(start, stop):
            wrong += exact_weights[0, i] * twice[i - start]
        losses[q] = 0.5 * wrong


@inner
def _product(lower, lower_units, upper, upper_units, g0, n_groups, pairs):  # type: ignore[no-untyped-def]
    """Return the weighted sum over pairs of grades of `lower` times `upper` of the higher one."""
    steps, by_difference = pairs.steps, pairs.by_difference
    total, below, product = 0.0, 0.0, 0.0
    for g in range(g0 + 1, g0 + n_groups):
        total = total + lower[g - 1] * lower_units[g - 1]
        below = below + steps[g] * total if by_difference else total
        product = product + upper[g] * upper_units[g] * below
    return product


@kernel
def sum_sides(codes, pairs, group_of, query_of_group, weights, right, wrong):  # type: ignore[no-untyped-def]
    """Sum the changes of W- and W+ as the documents of each code cross the cut, from above.

    IN codes (-1 never crosses), weights (`objective.feedback.ListWeights`). OUT right, wrong (by
    code).
    """
    up, down, up_units, down_units, factors = weights
    query_groups, n, n_codes, n_groups = (
        pairs.query_groups, len(codes), len(right), len(pairs.steps),
    )  # fmt: skip
    # Documents in the order of their codes: a counting sort.
    ends = np.zeros(n_codes + 1, dtype=np.int64)
    for i in range(n):
        if codes[i] >= 0:
            ends[codes[i] + 1] += 1
    for code in range(n_codes):
        ends[code + 1] += ends[code]
    order = np.empty(ends[n_codes], dtype=np.int64)
    at = ends.copy()
    for i in range(n):
        if codes[i] >= 0:
            order[at[codes[i]]] = i
            at[codes[i]] += 1
    up_low, down_low = np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    up_high, down_high = np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    for i in range(n):
        up_low[group_of[i]] += up[i]
        down_low[group_of[i]] += down[i]
    held_right = np.zeros(len(factors), dtype=np.int64)
    held_wrong = np.zeros(len(factors), dtype=np.int64)
    for p in range(len(order) - 1, -1, -1):
        i = order[p]
        g = group_of[i]
        q = query_of_group[g]
        up_low[g] -= up[i]
        down_low[g] -= down[i]
        up_high[g] += up[i]
        down_high[g] += down[i]
        g0, width = query_groups[q], query_groups[q + 1] - query_groups[q]
        if width == 1:
            continue
        right_sum = _product(up_low, up_units, down_high, down_units, g0, width, pairs)
        wrong_sum = _product(up_high, up_units, down_low, down_units, g0, width, pairs)
        new_right = np.int64(np.rint(factors[q] * right_sum))
        new_wrong = np.int64(np.rint(factors[q] * wrong_sum))
        right[codes[i]] += new_right - held_right[q]
        wrong[codes[i]] += new_wrong - held_wrong[q]
        held_right[q], held_wrong[q] = new_right, new_wrong


@inner
def _sort(scores, order, start, stop, keys, spare):  # type: ignore[no-untyped-def]
    """Sort order[start:stop], in any order before, by falling score; ties as documents are."""
    if stop - start <= _SHORT:
        # After a small step nearly everything is in its place.
        for p in range(start + 1, stop):
            i, to = order[p], p
            while to > start and (
                scores[order[to - 1]] < scores[i]
                or (scores[order[to - 1]] == scores[i] and order[to - 1] > i)
            ):
                order[to] = order[to - 1]
                to -= 1
            order[to] = i
        return
    for i in range(start, stop):
        keys[i - start] = -scores[i]
    sort_stably(keys[: stop - start], order[start:stop], spare[: stop - start])
    for p in range(start, stop):
        order[p] += start


@inner
def _sum_rank_values(documents, order, start, stop, above, below, value):  # type: ignore[no-untyped-def]
    """Sum the values of ranks from the first on: see reference.ranking.rank_values."""
    gains, discounts = documents.gains, documents.discounts
    relevant, inverses = np.int64(0), np.int64(0)
    above[0] = below[0] = value[0] = 0
    for at in range(stop - start):
        if documents.by_precision:
            is_relevant, before = gains[order[start + at]] > 0.0, inverses
            if is_relevant:
                relevant += 1
                inverses += np.int64(np.rint(PLACE_SCALE / (at + 1)))
            precision = np.int64(np.rint(PLACE_SCALE * relevant / (at + 1)))
            swapped = precision
            if not is_relevant:
                swapped = np.int64(np.rint(PLACE_SCALE * (relevant + 1) / (at + 1)))
            upper, lower, worth = swapped - inverses, precision - before, precision
        else:
            upper = discounts[at] if at < len(discounts) else np.int64(0)
            lower = worth = upper
        above[at + 1] = above[at] + upper
        below[at + 1] = below[at] + lower
        value[at + 1] = value[at] + worth


# The rows of an array of runs of documents: gain, exp(score), mass, value of the ranks, score.
_OF_RUNS = 5


@inlined
def _make_runs(q, documents, scores, order, rank_values, memory, starts, of_runs, high):  # type: ignore[no-untyped-def]
    """Cut a query into runs of documents of one score and gain, which share their ranks.

    IN order (by score), rank_values (sums for upper and lower documents, and of the metric). OUT
    memory; starts, of_runs, high (of runs; the last start is the end). Return their number, and the
    loss.
    """
    gains, weights, loss = documents.gains, documents.weights, documents.factors[q]
    start, stop = documents.query_starts[q], documents.query_starts[q + 1]
    above, below, value = rank_values
    gain, mass, low, shift = of_runs[0], of_runs[2], of_runs[3], of_runs[4]
    middle = 0.5 * (scores[order[start]] + scores[order[stop - 1]])
    n_runs, p = 0, start
    while p < stop:
        i, end = order[p], p + 1
        while end < stop and scores[order[end]] == scores[i] and gains[order[end]] == gains[i]:
            end += 1
        size, r = end - p, n_runs
        starts[r], gain[r], shift[r] = p - start, gains[i], scores[i] - middle
        high[r] = (above[end - start] - above[p - start]) / (PLACE_SCALE * size)
        low[r] = (below[end - start] - below[p - start]) / (PLACE_SCALE * size)
        loss = loss - gain[r] * ((value[end - start] - value[p - start]) / PLACE_SCALE)
        mass[r] = size
        if not documents.has_unit_weights:
            for other in range(p, end):
                memory[other - p] = weights[order[other]]
            mass[r] = _group_sum(memory, 0, size)
        n_runs += 1
        p = end
    starts[n_runs] = stop - start
    for r in range(n_runs):
        of_runs[1, r] = exp(shift[r])
    return n_runs, loss


@inlined
def _pick_better(of_runs, n_runs, better, of_better):  # type: ignore[no-untyped-def]
    """Copy the runs that are not of the least gain; return how many there are, and that gain.

    Pairs of equal gain weigh nothing: most are of two documents of the least. OUT better (numbers
    of these runs), of_better.
    """
    gain, n_better = of_runs[0], 0
    lowest_gain = gain[0]
    for r in range(n_runs):
        lowest_gain = min(lowest_gain, gain[r])
    for r in range(n_runs):
        if gain[r] > lowest_gain:
            better[n_better] = r
            for quantity in range(_OF_RUNS):
                of_better[quantity, n_better] = of_runs[quantity, r]
            n_better += 1
    return n_better, lowest_gain


@in_lanes
def _pull_pairs(gain, down, mass, place, shift, start, stop, of_others, found):  # type: ignore[no-untyped-def]
    """Weigh the pairs of a run with the others from start to stop, which stand below it.

    OUT found: weights times the chance of the wrong order, pulls, curvatures, and memory.
    """
    n = stop - start
    gains, ups = of_others[0, start:stop], of_others[1, start:stop]
    masses, lows = of_others[2, start:stop], of_others[3, start:stop]
    shifts = of_others[4, start:stop]
    weighed, pulls, curves, slopes = found[0, :n], found[1, :n], found[2, :n], found[3, :n]
    # Short loops with few arrays: LLVM makes vector instructions of each.
    for b in range(n):
        ratio = ups[b] * down
        share = 1.0 / (1.0 + ratio)
        is_right = gain > gains[b]
        right = share if is_right else share * ratio
        weighed[b] = share * ratio if is_right else share
        slopes[b] = right if right > LEAST_CURVATURE else LEAST_CURVATURE
    for b in range(n):
        change = place - lows[b]
        weight = (gain - gains[b]) * (change if change > 0.0 else 0.0) * (mass * masses[b])
        weighed[b] = weight * weighed[b]
    for b in range(n):
        pulls[b] = weighed[b] / (SCORE_GAP_OFFSET + (shift - shifts[b]))
    for b in range(n):
        curves[b] = abs(pulls[b]) * slopes[b]
    return n


@kernel
def weigh_top(first, last, documents, scores, order, sums):  # type: ignore[no-untyped-def]
    """Weigh the pairs with one of the first documents of each query from first to last.

    IN documents (`TopDocuments`). IN, OUT order (memory). OUT sums (`reference.ranking.TopSums`).
    """
    potentials, curvatures, energies, bounds, losses = sums
    query_starts, weights, factors = documents.query_starts, documents.weights, documents.factors
    longest, n_first = 0, len(documents.discounts)
    for q in range(first, last):
        longest = max(longest, query_starts[q + 1] - query_starts[q])
    keys, spare = np.empty(longest), np.empty(longest, dtype=np.int64)
    above = np.empty(longest + 1, dtype=np.int64)
    below, value = np.empty_like(above), np.empty_like(above)
    starts = np.empty(longest + 1, dtype=np.int64)
    high, pull, curve = np.empty(longest), np.empty(longest), np.empty(longest)
    of_runs, of_better = np.empty((_OF_RUNS, longest)), np.empty((_OF_RUNS, longest))
    gain, up, mass, shift = of_runs[0], of_runs[1], of_runs[2], of_runs[4]
    better, pair_sums = np.empty(longest, dtype=np.int64), np.empty((4, longest))
    weighed, pulls, curves = pair_sums[0], pair_sums[1], pair_sums[2]
    for q in range(first, last):
        start, stop = query_starts[q], query_starts[q + 1]
        _sort(scores, order, start, stop, keys, spare)
        _sum_rank_values(documents, order, start, stop, above, below, value)
        n_runs, losses[q] = _make_runs(
            q, documents, scores, order, (above, below, value), keys, starts, of_runs, high
        )
        n_better, lowest_gain = _pick_better(of_runs, n_runs, better, of_better)
        for r in range(n_runs):
            pull[r], curve[r] = 0.0, 0.0
        energy, wrong_weight, passed = 0.0, 0.0, 0
        for a in range(n_runs):
            if starts[a] >= n_first:
                break
            run = (gain[a], 1.0 / up[a], mass[a], high[a], shift[a])
            if gain[a] > lowest_gain:
                passed += 1
                n_others = _pull_pairs(*run, a + 1, n_runs, of_runs, pair_sums)
                later_pull, later_curve = pull[a + 1 : n_runs], curve[a + 1 : n_runs]
                for b in range(n_others):
                    later_pull[b] -= pulls[b]
                for b in range(n_others):
                    later_curve[b] += curves[b]
            else:
                n_others = _pull_pairs(*run, passed, n_better, of_better, pair_sums)
                for b in range(n_others):
                    pull[better[passed + b]] -= pulls[b]
                    curve[better[passed + b]] += curves[b]
            up_pull, up_curve = pull[a], curve[a]
            for b in range(n_others):
                up_pull += pulls[b]
                up_curve += curves[b]
                energy += abs(pulls[b])
                wrong_weight += abs(weighed[b])
            pull[a], curve[a] = up_pull, up_curve
        # Queries of many pairs count for more, but not in proportion.
        scale = 0.0
        if energy > 0.0:
            scale = factors[q] * (log(1.0 + energy / factors[q]) / LN_2) / energy
        energies[q], bounds[q] = energy * scale, 2.0 * wrong_weight
        half = 0.5 * scale
        for r in range(n_runs):
            half_pull, half_curve = half * pull[r] / mass[r], half * curve[r] / mass[r]
            for at in range(starts[r], starts[r + 1]):
                i = order[start + at]
                potentials[i] = half_pull * weights[i]
                curvatures[i] = half_curve * weights[i]


class NumbaPairs(PairSums):
    """Sums over pairs, on several threads."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._sorted: Columns | None = None

    def weigh_pairs(self, lists: Any, scores: Reals) -> tuple[Reals, Reals]:
        energies, potentials = np.zeros(lists.layout.n_queries), np.empty(len(scores))
        pairs = GradedPairs.of(lists)
        self._map_queries(weigh, lists.layout, pairs, scores, potentials, energies)
        return energies, potentials

    def pair_moments(self, lists: Any, scores: Reals, outputs: Reals) -> Reals:
        products = np.zeros((3, 3, lists.layout.n_queries))
        pairs = GradedPairs.of(lists)
        self._map_queries(sum_moments, lists.layout, pairs, scores, outputs, products)
        return products

    def weigh_top(self, lists: Any, scores: Reals) -> TopSums:
        layout = lists.layout
        n, n_queries = len(scores), layout.n_queries
        sums = TopSums(*(np.empty(n) for _ in range(2)), *(np.empty(n_queries) for _ in range(3)))
        documents = TopDocuments(
            layout.query_starts, lists.gains, layout.weights, layout.has_unit_weights,
            lists.discounts, lists.precision, lists.factors,
        )  # fmt: skip
        self._map_queries(weigh_top, layout, documents, scores, lists.order, sums)
        return sums

    def misordered_pairs(self, lists: Any, scores: Reals, moved: NDArray[np.bool_] | None) -> Reals:
        layout = lists.layout
        losses = np.zeros(layout.n_queries)
        # What moved is of use only where this backend has sorted the documents before.
        has_sorted = self._sorted is not None and self._sorted is lists.order
        moved_documents = moved if moved is not None and has_sorted else np.empty(0, dtype=bool)
        self._sorted = lists.order
        self._map_queries(
            sum_misordered, layout, GradedPairs.of(lists), layout.rises, layout.exact_weights,
            layout.group_of, layout.has_unit_weights, scores, moved_documents, lists.order, losses,
        )  # fmt: skip
        return losses

    def crossing_pairs(
        self, lists: Any, weights: Any, codes: Exacts, n_values: int
    ) -> tuple[Exacts, Exacts]:
        layout = lists.layout
        right, wrong = np.zeros((2, n_values + 1), dtype=np.int64)
        pairs = GradedPairs.of(lists)
        sum_sides(codes, pairs, layout.group_of, layout.query_of_group, weights, right, wrong)
        return right, wrong

    def _map_queries(self, kernel: Any, layout: Any, *arguments: Any) -> None:
        """Call a kernel on the queries of each thread."""
        self._threads.map(lambda span: kernel(*span, *arguments), self._query_spans(layout))

    def _query_spans(self, layout: Any) -> list[tuple[int, int]]:
        """Return the queries that each thread takes: about as many documents for each."""
        stops = [stop for _, stop in self._threads.spans(len(layout.rows))[:-1]]
        if not stops:
            return [(0, layout.n_queries)]
        bounds = [0, *np.searchsorted(layout.query_starts, stops).tolist(), layout.n_queries]
        return [(a, b) for a, b in pairwise(bounds) if a < b]
