"""All rounds of RankBoost on a small table in NumPy: the same bits as `kernels.rankers_numba`."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import EXACT_SCALE, SEARCH_SCALE, log
from edgewise.common.dtypes import Exacts, Mask, Reals, Signs
from edgewise.objective.feedback import GradedLists


def boost(
    table: Any, lists: GradedLists, start: Reals, columns: tuple[Signs, Mask, Signs],
    learning_rate: float, stops: tuple[float, float, float], drawn_columns: Mask, cuts: Any,
) -> int:  # fmt: skip
    """Train a ranker; return its number of rounds.

    Reads the table (a `TrainingTable`), the pairs, start (scores), and stops (smallest energy,
    smoothing, widest span of scores); drawn_columns (rounds, columns) are repeated if there are
    more rounds. OUT columns (directions), cuts.
    """
    min_energy, smoothing, widest = stops
    directions, learns, _ = columns
    first_bins, scores, n_bins = table.first_bins, start, int(table.first_bins[-1])
    totals, limits = np.zeros((n_bins, 2)), np.full((n_bins, 2), -1, dtype=np.int64)
    energy, potentials = lists.weigh(scores)
    if not len(directions):
        return 0
    for t in range(len(cuts.steps)):
        if energy < min_energy or np.ptp(scores) > widest:
            return t
        scale = max(energy, 1e-300)
        quanta = np.rint(potentials / scale * SEARCH_SCALE).astype(np.int64)
        exact = np.rint(potentials / scale * EXACT_SCALE).astype(np.int64)
        # If no drawn column lowers the loss, look at all.
        for drawn in (drawn_columns[t % len(drawn_columns)], np.ones(len(directions), dtype=bool)):
            column, cut, missing, size = _find_best_cut(quanta, table, columns, limits, drawn)
            if size <= 0:
                continue
            signs = _cut_signs(table, column, cut, missing)
            edge = float((exact * signs).sum()) / EXACT_SCALE
            right, wrong = max((1 + edge) / 2, smoothing), max((1 - edge) / 2, smoothing)
            step = learning_rate * (0.5 * (0.5 * float(log(np.array(right / wrong)))))
            direction, side = int(directions[column]), 0 if missing > 0 else 1
            if cut > first_bins[column] and direction * step < 0:
                step = -direction * min(abs(step), max(direction * totals[cut, side], 0.0))
            moved = scores + step * signs
            weights = lists.weigh(moved)
            if weights.energy / energy < 1.0:
                break
        else:
            return t
        scores, (energy, potentials) = moved, weights
        if cut > first_bins[column]:
            if learns[column] and directions[column] == 0:
                directions[column] = 1 if step > 0 else -1
            totals[cut, side] += step
            limit = math.tanh(2.0 * abs(totals[cut, side]) / learning_rate) * SEARCH_SCALE
            limits[cut, side] = math.floor(limit)
        cuts.columns[t], cuts.firsts[t] = column, cut - first_bins[column]
        cuts.sides[t], cuts.steps[t] = missing, step
    return len(cuts.steps)


def _find_best_cut(
    quanta: Exacts, table: Any, columns: tuple[Signs, Mask, Signs], limits: Exacts, drawn: Mask
) -> tuple[int, int, int, int]:
    """Return the best cut: column, bin, side of missing values, |r|."""
    starts, bins, first_bins, has_missing = table
    directions, _, missing_sides = columns
    sizes = np.diff(first_bins)
    column_of_bin, is_first = np.repeat(np.arange(len(sizes)), sizes), np.zeros(len(limits), bool)
    is_first[first_bins[:-1]] = True
    # Sums of quanta are exact in double precision.
    by_bin = np.bincount(bins, np.repeat(quanta, np.diff(starts)), len(limits)).astype(np.int64)
    below = np.cumsum(by_bin) - by_bin
    below -= below[first_bins[column_of_bin]]
    total = quanta.sum()
    absent = (total - np.add.reduceat(by_bin, first_bins[:-1]))[column_of_bin]
    direction, side = directions[column_of_bin], missing_sides[column_of_bin]
    can_miss, other = has_missing[column_of_bin], np.where(side == 0, 0, -1)
    # The edges with missing values on the positive side, and elsewhere.
    edges = np.stack([total - 2 * below, total - 2 * below - (1 - other) * absent], axis=1)
    # At the first bin a cut separates present from missing values, which has no direction.
    allowed = (edges * direction[:, None] >= 0) | (np.abs(edges) <= limits)
    allowed |= ((direction == 0) | is_first)[:, None]
    allowed[:, 0] &= ~is_first & (~can_miss | (side > 0))
    allowed[:, 1] &= can_miss & (side != 1)
    allowed &= drawn[column_of_bin, None]
    best_sizes = np.where(allowed, np.abs(edges), -1).ravel()
    best = int(best_sizes.argmax())
    cut, at_other = divmod(best, 2)
    missing = int(other[cut]) if at_other else 1
    return int(column_of_bin[cut]), cut, missing, int(best_sizes[best])


def _cut_signs(table: Any, column: int, cut: int, missing: int) -> NDArray[np.int8]:
    """Return a cut's output for each row."""
    lo, hi = table.first_bins[column], table.first_bins[column + 1]
    entries = np.flatnonzero((table.bins >= lo) & (table.bins < hi))
    signs = np.full(len(table.starts) - 1, missing, dtype=np.int8)
    rows = np.searchsorted(table.starts, entries, side="right") - 1
    signs[rows] = np.where(table.bins[entries] >= cut, 1, -1)
    return signs
