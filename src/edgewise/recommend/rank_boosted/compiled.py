"""All rounds of one small ranker in one call, compiled: the twin of `rounds.boost`."""

import math

import numpy as np

from edgewise.backend.arithmetic import EXACT_SCALE, SEARCH_SCALE
from edgewise.backend.numba.ranking import weigh
from edgewise.backend.numba.vectors import inner, kernel
from edgewise.objective.ranking import LEAST_ENERGY, SMOOTHING, WIDEST
from edgewise.recommend.rank_boosted.problem import Settings, Target
from edgewise.recommend.rank_boosted.rounds import Cuts, absent_of, directions_of, looked_at


@inner
def _best_cut(quanta, starts, bins, first_bins, gaps, absent, directions, limits, looked, sums):  # type: ignore[no-untyped-def]
    """Return the best cut: its column, its bin, the side of missing values and its |r|.

    IN quanta (each row's signed weight), the part of problem.Part, absent, directions, limits,
    looked (at which columns to look). OUT sums is scratch memory for the histogram.
    """
    sums[:] = 0
    total = np.int64(0)
    for i in range(len(quanta)):
        q = quanta[i]
        total += q
        for e in range(starts[i], starts[i + 1]):
            sums[bins[e]] += q
    best, column, place, missing = np.int64(-1), 0, 0, 1
    for c in range(len(gaps)):
        if not looked[c]:
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
    """Fill in what a cut says of each row (OUT signs). A row's bins rise, as its columns do."""
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
    """Return r of a cut, the sum of the signs times the potentials as shares of the energy."""
    total = np.int64(0)
    for i in range(len(signs)):
        exact = np.int64(np.rint(potentials[i] / energy * EXACT_SCALE))
        total += exact * np.int64(signs[i])
    return np.float64(total) / EXACT_SCALE


@kernel
def _boost(  # type: ignore[no-untyped-def]
    starts, bins, first_bins, gaps, group_starts, query_groups, gaps_of_grades, by_difference,
    weights, query_weights, start, directions, learn, absent, learning_rate, looked, columns,
    firsts, sides, steps,
):  # fmt: skip
    """Train a ranker; return how many rounds it has.

    IN the part, the layout of the pairs, start (scores), settings, looked (of shape (rounds,
    columns), repeated where there are more rounds). IN, OUT directions. OUT columns, firsts, sides,
    steps (of each round).
    """
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
        if energy < LEAST_ENERGY or (reach > WIDEST and scores.max() - scores.min() > WIDEST):
            return t
        whole = max(energy, 1e-300)
        for i in range(n):
            quanta[i] = np.int64(np.rint(potentials[i] / whole * SEARCH_SCALE))
        lowers, column, place, missing, step = False, 0, 0, 1, 0.0
        # Where no column that was drawn lowers the loss, all are looked at.
        for attempt in range(2):
            drawn = looked[t % len(looked)] if attempt == 0 else everything
            column, place, missing, size = _best_cut(
                quanta, starts, bins, first_bins, gaps, absent, directions, limits, drawn, sums
            )
            if size <= 0:
                continue
            lo = first_bins[column]
            _fill_signs(starts, bins, lo, first_bins[column + 1], place, missing, signs)
            edge = _edge(potentials, whole, signs)
            right, wrong = max((1 + edge) / 2, SMOOTHING), max((1 - edge) / 2, SMOOTHING)
            step = learning_rate * (0.5 * (0.5 * math.log(right / wrong)))
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


def boost(target: Target, settings: Settings, n_viewers: int) -> Cuts:
    """Return the rules of a target's ranker."""
    part, layout, rounds = target.part, target.layout, settings.n_rounds
    directions, learn = directions_of(part, settings.monotonic_cst, n_viewers)
    columns, firsts = np.empty(rounds, dtype=np.intp), np.empty(rounds, dtype=np.intp)
    sides, steps = np.empty(rounds, dtype=np.int8), np.empty(rounds)
    n = _boost(
        part.starts, part.bins, part.first_bins, part.gaps, layout.group_starts,
        layout.query_groups, layout.steps, layout.by_difference, layout.weights,
        target.lists.query_weights, target.start, directions, learn,
        absent_of(part, settings.q_def, n_viewers), float(settings.learning_rate),
        looked_at(part, settings), columns, firsts, sides, steps,
    )  # fmt: skip
    return Cuts(columns[:n], firsts[:n], sides[:n], steps[:n])
