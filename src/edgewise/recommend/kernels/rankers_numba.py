"""All rounds of RankBoost on one small table in one call, for thousands of small rankers.

The engine (objective `Ranking`, learner `Stump`, `boosting.boost`) finds the same rules and steps,
bit for bit, with more work around each round: it is the reference of this kernel.
"""

import math

import numpy as np

from edgewise.backend.arithmetic import EXACT_SCALE, SEARCH_SCALE
from edgewise.backend.numba.ranking import weigh
from edgewise.backend.numba.step import log
from edgewise.backend.numba.vectors import inner, kernel


@inner
def _best_cut(quanta, starts, bins, first_bins, gaps, absent, directions, limits, drawn, sums):  # type: ignore[no-untyped-def]
    """Return the best cut: column, bin, side of missing values, |r|; OUT sums is scratch memory."""
    sums[:] = 0
    total = np.int64(0)
    for i in range(len(quanta)):
        q = quanta[i]
        total += q
        for e in range(starts[i], starts[i + 1]):
            sums[bins[e]] += q
    best, column, place, missing = np.int64(-1), 0, 0, 1
    for c in range(len(gaps)):
        if not drawn[c]:
            continue
        lo, hi = first_bins[c], first_bins[c + 1]
        gone = total
        for b in range(lo, hi):
            gone -= sums[b]
        direction, gap, side, edge = directions[c], gaps[c], absent[c], total
        other = 0 if side == 0 else -1
        for b in range(lo, hi):
            if b > lo:
                edge -= 2 * sums[b - 1]
            # At the first bin a cut tells present from missing values, which is no direction.
            free = direction == 0 or b == lo
            size = abs(edge)
            allowed = free or edge * direction >= 0 or size <= limits[b, 0]
            if size > best and allowed and b > lo and (not gap or side > 0):
                best, column, place, missing = size, c, b, 1
            if gap and side != 1:
                turned = edge - (1 - other) * gone
                size = abs(turned)
                if size > best and (free or turned * direction >= 0 or size <= limits[b, 1]):
                    best, column, place, missing = size, c, b, other
    return column, place, missing, best


@inner
def _fill_signs(starts, bins, lo, hi, place, missing, signs):  # type: ignore[no-untyped-def]
    """Fill in a cut's output for each row (OUT signs). A row's bins ascend, as its columns do."""
    for i in range(len(signs)):
        low, high = starts[i], starts[i + 1]
        while low < high:
            middle = (low + high) // 2
            if bins[middle] < lo:
                low = middle + 1
            else:
                high = middle
        sign = missing
        if low < starts[i + 1] and bins[low] < hi:
            sign = 1 if bins[low] >= place else -1
        signs[i] = sign


@inner
def _edge(potentials, energy, signs):  # type: ignore[no-untyped-def]
    """Return r of a cut: the sum of its outputs times the potentials, as shares of the energy."""
    total = np.int64(0)
    for i in range(len(signs)):
        exact = np.int64(np.rint(potentials[i] / energy * EXACT_SCALE))
        total += exact * np.int64(signs[i])
    return np.float64(total) / EXACT_SCALE


@kernel
def boost(  # type: ignore[no-untyped-def]
    starts, bins, first_bins, gaps, group_starts, query_groups, gaps_of_grades, by_difference,
    weights, query_weights, start, directions, learn, absent, learning_rate, stops, drawn_columns,
    columns, firsts, sides, steps,
):  # fmt: skip
    """Train a ranker; return its number of rounds.

    IN the table (starts, bins, first_bins, gaps), the pairs (as in objective.lists.Layout), start
    (scores), settings, stops (least energy, smoothing, widest span of scores), drawn_columns
    (rounds, columns), repeated if there are more rounds. IN, OUT directions. OUT columns, firsts,
    sides, steps.
    """
    least_energy, smoothing, widest = stops
    n, n_bins = len(starts) - 1, first_bins[-1]
    scores, moved, potentials, trial = start.copy(), np.empty(n), np.empty(n), np.empty(n)
    energies, quanta = np.zeros(1), np.empty(n, dtype=np.int64)
    signs, sums = np.empty(n, dtype=np.int8), np.empty(n_bins, dtype=np.int64)
    held, limits = np.zeros((n_bins, 2)), np.full((n_bins, 2), -1, dtype=np.int64)
    everything = np.ones(len(gaps), dtype=np.bool_)
    weigh(
        0, 1, query_groups, group_starts, gaps_of_grades, by_difference, weights, query_weights,
        scores, potentials, energies,
    )  # fmt: skip
    energy, reach = energies[0], start.max() - start.min()
    for t in range(len(steps)):
        if energy < least_energy or (reach > widest and scores.max() - scores.min() > widest):
            return t
        whole = max(energy, 1e-300)
        for i in range(n):
            quanta[i] = np.int64(np.rint(potentials[i] / whole * SEARCH_SCALE))
        lowers, column, place, missing, step = False, 0, 0, 1, 0.0
        # If no drawn column lowers the loss, look at all.
        for attempt in range(2):
            drawn = drawn_columns[t % len(drawn_columns)] if attempt == 0 else everything
            column, place, missing, size = _best_cut(
                quanta, starts, bins, first_bins, gaps, absent, directions, limits, drawn, sums
            )
            if size <= 0:
                continue
            lo = first_bins[column]
            _fill_signs(starts, bins, lo, first_bins[column + 1], place, missing, signs)
            edge = _edge(potentials, whole, signs)
            right, wrong = max((1 + edge) / 2, smoothing), max((1 - edge) / 2, smoothing)
            step = learning_rate * (0.5 * (0.5 * log(right / wrong)))
            direction, side = directions[column], 0 if missing > 0 else 1
            if place > lo and direction * step < 0:
                step = -direction * min(abs(step), max(direction * held[place, side], 0.0))
            for i in range(n):
                moved[i] = scores[i] + step * signs[i]
            weigh(
                0, 1, query_groups, group_starts, gaps_of_grades, by_difference, weights,
                query_weights, moved, trial, energies,
            )  # fmt: skip
            if energies[0] / energy < 1.0:
                lowers = True
                break
        if not lowers:
            return t
        energy = energies[0]
        scores, moved, potentials, trial = moved, scores, trial, potentials
        reach += abs(step) * (signs.max() - signs.min())
        lo, side = first_bins[column], 0 if missing > 0 else 1
        if place > lo:
            if learn[column] and directions[column] == 0:
                directions[column] = 1 if step > 0 else -1
            held[place, side] += step
            limit = math.tanh(2.0 * abs(held[place, side]) / learning_rate) * SEARCH_SCALE
            limits[place, side] = np.int64(math.floor(limit))
        columns[t], firsts[t], sides[t], steps[t] = column, place - lo, missing, step
    return len(steps)
