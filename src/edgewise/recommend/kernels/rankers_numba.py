"""All rounds of RankBoost on one small table in one call, for thousands of small rankers.

The rules and steps are those of :class:`edgewise.RankBoost`, bit for bit, as in `kernels.rankers`.
"""

import math

import numpy as np

from edgewise.backend.arithmetic import EXACT_SCALE, SEARCH_SCALE
from edgewise.backend.numba.ranking import weigh
from edgewise.backend.numba.step import log
from edgewise.backend.numba.vectors import inner, kernel


@inner
def _best_cut(quanta, table, columns, limits, drawn, sums):  # type: ignore[no-untyped-def]
    """Return the best cut: column, bin, side of missing values, |r|; OUT sums is scratch memory."""
    starts, bins, first_bins, has_missing = table
    directions, _, missing_sides = columns
    sums[:] = 0
    total = np.int64(0)
    for i in range(len(quanta)):
        q = quanta[i]
        total += q
        for e in range(starts[i], starts[i + 1]):
            sums[bins[e]] += q
    best, column, cut, missing = np.int64(-1), 0, 0, 1
    for c in range(len(has_missing)):
        if not drawn[c]:
            continue
        lo, hi = first_bins[c], first_bins[c + 1]
        absent = total
        for b in range(lo, hi):
            absent -= sums[b]
        direction, can_miss, side, edge = directions[c], has_missing[c], missing_sides[c], total
        other = 0 if side == 0 else -1
        for b in range(lo, hi):
            if b > lo:
                edge -= 2 * sums[b - 1]
            # At the first bin a cut separates present from missing values, which has no direction.
            free = direction == 0 or b == lo
            size = abs(edge)
            allowed = free or edge * direction >= 0 or size <= limits[b, 0]
            if size > best and allowed and b > lo and (not can_miss or side > 0):
                best, column, cut, missing = size, c, b, 1
            if can_miss and side != 1:
                turned = edge - (1 - other) * absent
                size = abs(turned)
                if size > best and (free or turned * direction >= 0 or size <= limits[b, 1]):
                    best, column, cut, missing = size, c, b, other
    return column, cut, missing, best


@inner
def _fill_signs(table, column, cut, missing, signs):  # type: ignore[no-untyped-def]
    """Fill in a cut's output for each row (OUT signs). A row's bins ascend, as its columns do."""
    starts, bins, first_bins, _ = table
    lo, hi = first_bins[column], first_bins[column + 1]
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
            sign = 1 if bins[low] >= cut else -1
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
    table, pairs, start, columns, learning_rate, stops, drawn_columns, cuts
):
    """Train a ranker; return its number of rounds: see the reference. OUT columns, cuts."""
    min_energy, smoothing, widest = stops
    directions, learns, _ = columns
    first_bins, steps = table.first_bins, cuts.steps
    n, n_bins, n_columns = len(table.starts) - 1, first_bins[-1], len(directions)
    scores, moved, potentials, trial = start.copy(), np.empty(n), np.empty(n), np.empty(n)
    energies, quanta = np.zeros(1), np.empty(n, dtype=np.int64)
    signs, sums = np.empty(n, dtype=np.int8), np.empty(n_bins, dtype=np.int64)
    totals, limits = np.zeros((n_bins, 2)), np.full((n_bins, 2), -1, dtype=np.int64)
    all_columns = np.ones(n_columns, dtype=np.bool_)
    weigh(0, 1, pairs, scores, potentials, energies)
    energy, reach = energies[0], start.max() - start.min()
    for t in range(len(steps)):
        if energy < min_energy or (reach > widest and scores.max() - scores.min() > widest):
            return t
        scale = max(energy, 1e-300)
        for i in range(n):
            quanta[i] = np.int64(np.rint(potentials[i] / scale * SEARCH_SCALE))
        lowers, column, cut, missing, step = False, 0, 0, 1, 0.0
        # If no drawn column lowers the loss, look at all.
        for attempt in range(2):
            drawn = drawn_columns[t % len(drawn_columns)] if attempt == 0 else all_columns
            column, cut, missing, size = _best_cut(quanta, table, columns, limits, drawn, sums)
            if size <= 0:
                continue
            _fill_signs(table, column, cut, missing, signs)
            edge = _edge(potentials, scale, signs)
            right, wrong = max((1 + edge) / 2, smoothing), max((1 - edge) / 2, smoothing)
            step = learning_rate * (0.5 * (0.5 * log(right / wrong)))
            direction, side = directions[column], 0 if missing > 0 else 1
            if cut > first_bins[column] and direction * step < 0:
                step = -direction * min(abs(step), max(direction * totals[cut, side], 0.0))
            for i in range(n):
                moved[i] = scores[i] + step * signs[i]
            weigh(0, 1, pairs, moved, trial, energies)
            if energies[0] / energy < 1.0:
                lowers = True
                break
        if not lowers:
            return t
        energy = energies[0]
        scores, moved, potentials, trial = moved, scores, trial, potentials
        reach += abs(step) * (signs.max() - signs.min())
        lo, side = first_bins[column], 0 if missing > 0 else 1
        if cut > lo:
            if learns[column] and directions[column] == 0:
                directions[column] = 1 if step > 0 else -1
            totals[cut, side] += step
            limit = math.tanh(2.0 * abs(totals[cut, side]) / learning_rate) * SEARCH_SCALE
            limits[cut, side] = np.int64(math.floor(limit))
        cuts.columns[t], cuts.firsts[t] = column, cut - lo
        cuts.sides[t], steps[t] = missing, step
    return len(steps)
