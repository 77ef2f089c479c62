"""The scan of a column's histogram for its best cut, compiled."""

from typing import NamedTuple

import numpy as np

from edgewise.backend.arithmetic import GAIN_SCALE
from edgewise.backend.base import MISSING_AUTO, VALUE_SMOOTHING
from edgewise.backend.numba.vectors import (
    add,
    inner,
    kernel,
    move_bin,
    sort_stably,
    sum_squares,
    try_bin,
)
from edgewise.common.dtypes import Exacts

# Relative slack that covers the rounding of the test without divisions.
_ROUNDING_SLACK = 1.0 + 1e-9


class ColumnBins(NamedTuple):
    """The bins of a column: `n_codes` from vector `base` of a histogram on, chunk by chunk."""

    base: int
    n_codes: int
    has_missing: bool


class SplitQuery(NamedTuple):
    """The splits to find, as compiled code takes `base.ScanQuery` and `base.Growth`.

    Of `n_columns` columns of S the first `n_scores` are score columns. The sums after these are
    constraints: both sides of a split must hold at least `min_sums` of each.
    """

    n_scores: int
    n_columns: int
    by_gain: bool
    constant: bool
    missing: int
    min_sums: Exacts
    damping: float


@inner
def scan_edge(histogram, column, query, totals, allowed_cuts, width, edges):  # type: ignore[no-untyped-def]
    """Find a column's best cut for all score columns; return (edge, first bin, missing side).

    `totals` are the sums of all columns of S and of the constraints; `edges` is memory for as many.
    """
    base, n_codes, has_missing = column
    n_scores, constant, side, min_sums = (
        query.n_scores, query.constant, query.missing, query.min_sums,
    )  # fmt: skip
    n_sums = query.n_columns + len(min_sums)
    lanes = 1 << (width.ndim - 1)
    n_values = n_codes - 1 if has_missing else n_codes
    best, first, missing = np.int64(-1), 0, 1
    for k in range(len(edges)):
        edges[k] = totals[k] if k < n_sums else 0
    learns_side = has_missing and side == MISSING_AUTO
    default_side = side if has_missing and side != MISSING_AUTO else 1
    if default_side < 1:
        constant, missing = True, default_side
        for k in range(n_sums):
            column = base + (k // lanes) * n_codes + n_codes - 1
            edges[k] -= (1 - default_side) * np.int64(histogram[column * lanes + k % lanes])
    for t in range(n_values):
        size, other = np.int64(0), np.int64(0)
        for at in range(0, len(edges), lanes):
            column = base + (at // lanes) * n_codes
            if t > 0:
                size += move_bin(edges, at, histogram, (column + t - 1) * lanes, width)
            else:
                for k in range(lanes):
                    size += abs(edges[at + k])
            if learns_side:
                other += try_bin(edges, at, histogram, (column + n_codes - 1) * lanes, width)
        allowed, other_allowed = t > 0 or constant, learns_side
        for k in range(n_scores, n_sums):
            # Vectors are summed whole; what does not belong to a score column leaves again.
            size -= abs(edges[k])
            constraint = k - n_sums + len(min_sums)
            if constraint >= 0:
                allowed = allowed and totals[k] - abs(edges[k]) >= 2 * min_sums[constraint]
            if learns_side:
                at = (base + (k // lanes) * n_codes + n_codes - 1) * lanes + k % lanes
                turned = abs(edges[k] - 2 * np.int64(histogram[at]))
                other -= turned
                if constraint >= 0:
                    other_allowed = other_allowed and totals[k] - turned >= 2 * min_sums[constraint]
        if size > best and allowed and (len(allowed_cuts) == 0 or allowed_cuts[t, 0]):
            best, first, missing = size, t, default_side
        if other > best and other_allowed and (len(allowed_cuts) == 0 or allowed_cuts[t, 1]):
            best, first, missing = other, t, -1
    return best, first, missing


@inner
def scan_gain(histogram, column, query, totals, allowed_cuts, width, scratch, cuts):  # type: ignore[no-untyped-def]
    """Find a column's best cut by gain; return (gain, first bin, missing side).

    `totals` are the sums of the score columns, of the mass, and of the constraints. `scratch` has
    four rows for sums of the histogram's type, `cuts` is memory for the cuts.
    """
    base, n_codes, has_missing = column
    n_scores, min_sums, damping = query.n_scores, query.min_sums, query.damping
    learns_side = query.missing == MISSING_AUTO
    lanes = 1 << (width.ndim - 1)
    # A single score column is never in more than 4 lanes.
    if width.ndim < 4 and n_scores == 1 and len(allowed_cuts) == 0:
        return _scan_gain_of_one(histogram, column, query, totals, lanes, scratch[0], cuts)
    n_values = n_codes - 1 if has_missing else n_codes
    n_sums, size = n_scores + 1 + len(min_sums), scratch.shape[1]
    best, first, missing = np.int64(-1), 0, 1
    # The sums of what is below the cut, of missing values, and of all with and without those.
    present, missing_sums, all_total, present_total = scratch[0], scratch[1], scratch[2], scratch[3]
    for at in range(0, size, lanes):
        # The bins of a chunk of score columns follow those of the chunk before.
        last = (base + (at // lanes) * n_codes + n_codes - 1) * lanes
        for k in range(lanes):
            present[at + k] = 0
            missing_sums[at + k] = histogram[last + k] if has_missing else 0
            all_total[at + k] = totals[at + k]
            present_total[at + k] = totals[at + k] - missing_sums[at + k]
    # A cut after an empty bin is the cut before it. Listed first, since no processor could predict
    # which bins are empty. The first cut of all leaves no values below.
    n_cuts = 0
    if has_missing:
        cuts[0], n_cuts = 0, 1
    mass_at = (base + (n_scores // lanes) * n_codes) * lanes + n_scores % lanes
    for t in range(1, n_values):
        bin_sums = np.int64(histogram[mass_at + (t - 1) * lanes])
        for k in range(n_scores + 1, n_sums):
            bin_sums |= histogram[(base + (k // lanes) * n_codes + t - 1) * lanes + k % lanes]
        cuts[n_cuts] = t
        n_cuts += bin_sums != 0 or len(allowed_cuts) > 0
    for cut in range(n_cuts):
        t = cuts[cut]
        if t > 0:
            for at in range(0, size, lanes):
                moved = (base + (at // lanes) * n_codes + t - 1) * lanes
                add(present, histogram, moved, at, width)
        for side in range(2 if has_missing else 1):
            if has_missing and query.missing != MISSING_AUTO and query.missing != 1 - 2 * side:
                continue
            total = all_total if side == 0 else present_total
            # Where the query gives the side, its cuts are in the first column.
            allowed = len(allowed_cuts) == 0 or allowed_cuts[t, side * learns_side]
            beyond, beneath = np.int64(0), np.int64(0)
            for k in range(n_scores, n_sums):
                # Vectors are squared whole; what does not belong to a score column leaves here.
                low = np.int64(present[k]) + side * np.int64(missing_sums[k])
                high = np.int64(total[k]) - np.int64(present[k])
                min_sum = np.int64(1) if k == n_scores else min_sums[k - n_scores - 1]
                allowed = allowed and min(low, high) >= min_sum
                beneath -= low * low
                beyond -= high * high
            if not allowed:
                continue
            for at in range(0, size, lanes):
                beneath += sum_squares(present, missing_sums, at, np.int64(side), width)
                beyond += sum_squares(total, present, at, np.int64(-1), width)
            mass = np.int64(present[n_scores]) + side * np.int64(missing_sums[n_scores])
            gain = gain_of(beneath, mass, damping)
            gain += gain_of(
                beyond, np.int64(total[n_scores]) - np.int64(present[n_scores]), damping
            )
            if gain > best:
                best, first, missing = gain, t, 1 - 2 * side
    return best, first, missing


@inner
def _scan_gain_of_one(histogram, column, query, totals, lanes, low_sums, cuts):  # type: ignore[no-untyped-def]
    """Find a column's best cut by gain for one score column: all sums stay in registers.

    `low_sums` is memory for the constraints' sums below a cut, `cuts` for the cuts. Only cuts that
    may be the best need divisions.
    """
    base, n_codes, has_missing = column
    min_sums, damping = query.min_sums, query.damping
    best, first, missing = np.int64(-1), 0, 1
    total, mass, last = totals[0], totals[1], (base + n_codes - 1) * lanes
    low, low_mass, to_beat = np.int64(0), np.int64(0), -1.0
    for k in range(len(min_sums)):
        low_sums[k] = 0
        if totals[2 + k] < 2 * min_sums[k]:
            return best, first, missing
    # A cut after an empty bin is the cut before it. Listed first, since no processor could predict
    # which bins are empty. The first cut of all leaves no values below.
    n_values, n_cuts = n_codes - 1 if has_missing else n_codes, 0
    if has_missing:
        cuts[0], n_cuts = 0, 1
    for t in range(1, n_values):
        at = (base + t - 1) * lanes + 1
        bin_sum = histogram[at]
        for k in range(len(min_sums)):
            bin_sum |= histogram[at + 1 + k]
        cuts[n_cuts] = t
        n_cuts += bin_sum != 0
    for cut in range(n_cuts):
        t = cuts[cut]
        if t > 0:
            at = (base + t - 1) * lanes
            low += histogram[at]
            low_mass += histogram[at + 1]
            for k in range(len(min_sums)):
                low_sums[k] += histogram[at + 2 + k]
        for side in range(2 if has_missing else 1):
            if has_missing and query.missing != MISSING_AUTO and query.missing != 1 - 2 * side:
                continue
            below, under = low, low_mass
            if side == 1:
                below += histogram[last]
                under += histogram[last + 1]
            above, over = total - below, mass - under
            allowed = under > 0 and over > 0
            for k in range(len(min_sums)):
                bin_sum = np.int64(low_sums[k]) + (
                    np.int64(histogram[last + 2 + k]) if side == 1 else 0
                )
                allowed = allowed and min(bin_sum, totals[2 + k] - bin_sum) >= min_sums[k]
            if not allowed:
                continue
            b, u = np.float64(below), np.float64(under) + damping
            a, o = np.float64(above), np.float64(over) + damping
            if (b * b * o + a * a * u) * _ROUNDING_SLACK > to_beat * (u * o):
                gain = gain_of(below * below, under, damping)
                gain += gain_of(above * above, over, damping)
                if gain > best:
                    best, first, missing = gain, t, 1 - 2 * side
                    # The gain of either side is rounded by at most 1.
                    to_beat = np.float64(best - 2) / GAIN_SCALE
    return best, first, missing


@inner
def mark_rising(histogram, column, query, totals, direction, lanes, below, rising):  # type: ignore[no-untyped-def]
    """Mark the cuts with the larger mean of S on the side of a direction: `ScanPlan.rises`.

    `below` is memory for the sums below a cut. OUT rising, (codes, 2): for the side of missing
    values that is tried first, and for the other.
    """
    base, n_codes, has_missing = column
    n_scores, n_sums = query.n_scores, query.n_scores + query.by_gain
    learns_side = has_missing and query.missing == MISSING_AUTO
    for k in range(n_sums):
        below[k] = 0
    # The cut at the first bin separates present from missing values: it has no direction.
    rising[0, 0] = rising[0, 1] = True
    for t in range(1, n_codes):
        for k in range(n_sums):
            at = (base + (k // lanes) * n_codes + t - 1) * lanes + k % lanes
            below[k] += np.int64(histogram[at])
        for side in range(2):
            adds_missing = has_missing and (side == 1 if learns_side else query.missing == -1)
            low, edge, size, under = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
            total = np.int64(0)
            for k in range(n_sums):
                sum_below = below[k]
                if adds_missing:
                    at = (base + (k // lanes) * n_codes + n_codes - 1) * lanes + k % lanes
                    sum_below += np.int64(histogram[at])
                if k == n_scores:
                    under = sum_below
                else:
                    low += sum_below
                    total += totals[k]
                    edge += totals[k] - 2 * sum_below
                    size += abs(totals[k] - 2 * sum_below)
            rises = 2 * direction * edge > size
            if query.by_gain:
                over = np.float64(totals[n_scores] - under) + query.damping
                high, mass = np.float64(direction * (total - low)), np.float64(under)
                rises = high * (mass + query.damping) >= np.float64(direction * low) * over
            rising[t, side] = rises


@inner
def gain_of(squares, mass, damping):  # type: ignore[no-untyped-def]
    """Return the gain of one side of a cut: see `base.gains`."""
    return np.int64(np.rint(np.float64(squares) / (np.float64(mass) + damping) * GAIN_SCALE))


@inner
def _sort_values(histogram, column, query, direction, lanes, keys, orders):  # type: ignore[no-untyped-def]
    """Sort a column's values by their sums along a direction. OUT keys, orders (the first row)."""
    base, n_codes, _ = column
    n_scores = query.n_scores
    for code in range(n_codes):
        along = 0.0
        for k in range(n_scores):
            at = (base + (k // lanes) * n_codes + code) * lanes + k % lanes
            along += direction[k] * np.float64(histogram[at])
        if query.by_gain:
            at = (base + (n_scores // lanes) * n_codes + code) * lanes + n_scores % lanes
            along /= max(np.float64(histogram[at]), 1.0) + VALUE_SMOOTHING * query.damping
        keys[code] = along
    sort_stably(keys[:n_codes], orders[0, :n_codes], orders[1, :n_codes])


@inner
def _split_size(inside, totals, n_sums, query):  # type: ignore[no-untyped-def]
    """Return the edge or gain of a set of values, given the sums inside; -1 if not allowed."""
    n_scores, min_sums = query.n_scores, query.min_sums
    for k in range(n_sums - len(min_sums), n_sums):
        if min(inside[k], totals[k] - inside[k]) < min_sums[k - n_sums + len(min_sums)]:
            return np.int64(-1)
    size = np.int64(0)
    if not query.by_gain:
        for k in range(n_scores):
            size += abs(2 * inside[k] - totals[k])
        return size
    within, without = inside[n_scores], totals[n_scores] - inside[n_scores]
    if within <= 0 or without <= 0:
        return np.int64(-1)
    squares, others = np.int64(0), np.int64(0)
    for k in range(n_scores):
        squares += inside[k] * inside[k]
        others += (totals[k] - inside[k]) * (totals[k] - inside[k])
    return gain_of(squares, within, query.damping) + gain_of(others, without, query.damping)


@inner
def scan_values(histogram, column, query, directions, totals, lanes, inside, keys, orders, sides):  # type: ignore[no-untyped-def]
    """Find the best of a column's splits into two sets of values; return its edge or gain.

    One set are the first values in the order of their sums along one of the directions, see
    `base.split_directions`. `inside` is memory for sums, `keys` and `orders` for values. OUT sides:
    +1 for the first values, -1 for others.
    """
    base, n_codes, _ = column
    n_sums, best = query.n_columns + len(query.min_sums), np.int64(-1)
    for direction in range(len(directions)):
        _sort_values(histogram, column, query, directions[direction], lanes, keys, orders)
        for k in range(n_sums):
            inside[k] = 0
        better = -1
        for position in range(n_codes - 1):
            for k in range(n_sums):
                at = (base + (k // lanes) * n_codes + orders[0, position]) * lanes + k % lanes
                inside[k] += histogram[at]
            size = _split_size(inside, totals, n_sums, query)
            if size > best:
                best, better = size, position
        if better >= 0:
            for position in range(n_codes):
                sides[orders[0, position]] = 1 if position <= better else -1
    # Values that training did not see.
    sides[n_codes] = 0
    return best


@inner
def _edges_at(histogram, column, first, missing, totals, width, edges):  # type: ignore[no-untyped-def]
    """Fill `edges` (OUT) with the score columns' edges of one cut."""
    base, n_codes, _ = column
    lanes = 1 << (width.ndim - 1)
    for k in range(len(edges)):
        edges[k] = totals[k] if k < len(totals) else 0
    for score in range(len(totals)):
        at, k = base + (score // lanes) * n_codes, score % lanes
        for t in range(first):
            edges[score] -= 2 * np.int64(histogram[(at + t) * lanes + k])
        if missing < 1:
            missing_sum = np.int64(histogram[(at + n_codes - 1) * lanes + k])
            edges[score] -= missing_sum if missing == 0 else 2 * missing_sum


@inner
def _size(edge, direction):  # type: ignore[no-untyped-def]
    """Return the size of an edge, negative if its sign is against the direction."""
    return abs(edge) if direction == 0 else edge * direction


@inner
def _scan_single(  # type: ignore[no-untyped-def]
    bins, has_missing, constant, side, total, direction, exceptions, allowed_cuts
):
    """Find a column's best cut for one score column, among those with an allowed sign."""
    n_values = len(bins) - 1 if has_missing else len(bins)
    missing_sum = np.int64(bins[n_values]) if has_missing else np.int64(0)
    best, first, missing = np.int64(-1), 0, 1
    # The first side of missing values to try.
    default_side = side if has_missing and side != MISSING_AUTO else 1
    learns_side = has_missing and side == MISSING_AUTO
    edge = total - (1 - default_side) * missing_sum
    firsts, sides, limits = exceptions
    p, t = 0, 0
    while t < n_values:
        if t > 0:
            edge -= 2 * np.int64(bins[t - 1])
        limit, other_limit = np.int64(-1), np.int64(-1)
        while p < len(firsts) and firsts[p] == t:
            if sides[p] == default_side:
                limit = limits[p]
            elif learns_side and sides[p] == -1:
                other_limit = limits[p]
            p += 1
        # The cut at the first bin separates present from missing values: it has no direction.
        size = _size(edge, 0 if t == 0 or abs(edge) <= limit else direction)
        allowed = len(allowed_cuts) == 0 or allowed_cuts[t, 0]
        if size > best and (t > 0 or constant or default_side < 1) and allowed:
            best, first, missing = size, t, default_side
        turned = edge - 2 * missing_sum
        size = _size(turned, 0 if t == 0 or abs(turned) <= other_limit else direction)
        if learns_side and size > best and (len(allowed_cuts) == 0 or allowed_cuts[t, 1]):
            best, first, missing = size, t, -1
        start = t + 1
        t = min(firsts[p], n_values) if p < len(firsts) else n_values
        if len(allowed_cuts) > 0:
            t = start
        # Up to the next exception there are only signs to check, in a loop of few instructions.
        for u in range(start, t):
            edge -= 2 * np.int64(bins[np.uint64(u - 1)])
            size = _size(edge, direction)
            if size > best:
                best, first, missing = size, u, default_side
            if learns_side:
                size = _size(edge - 2 * missing_sum, direction)
                if size > best:
                    best, first, missing = size, u, -1
    return best, first, missing


@kernel
def scan_columns(  # type: ignore[no-untyped-def]
    histogram, columns, where, query, bounds, allowed_cuts, totals, mass, width, cuts
):
    """Find the best cut of each column of a batch, or of each for every score column.

    IN histogram, columns (as `plans.BatchColumns`), where (their rows in the output), query (as
    `SplitQuery`), bounds (`base.Bounds` or None), allowed_cuts (which cuts satisfy constraints,
    (bins, 2), or empty where all do, and where the bins of each column start), totals, mass (where
    cuts are compared by gain, or None: Numba then compiles no more than is needed). OUT cuts: edge
    or gain, first bin, missing side, and if not empty the edges of score columns.
    """
    _, bases, n_codes, has_missing = columns
    query = SplitQuery(*query)
    all_sides, bin_starts = allowed_cuts
    best, first, missing, score_edges = cuts
    lanes = 1 << (width.ndim - 1)
    scratch, n_scores = np.empty(-(-query.n_columns // lanes) * lanes, dtype=np.int64), len(totals)
    sums = np.empty(len(scratch), dtype=np.int64)
    scratch_rows = np.empty((4, len(sums)), dtype=histogram.dtype)
    for k in range(len(sums)):
        sums[k] = totals[k] if k < n_scores else 0
    if mass is not None:
        sums[n_scores] = mass
    no_exceptions = (
        np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int8), np.empty(0, dtype=np.int64),
    )  # fmt: skip
    for q in range(len(where)):
        row = where[q]
        column = ColumnBins(bases[q], n_codes[q], has_missing[q])
        sides = all_sides
        if len(all_sides) > 0:
            sides = all_sides[bin_starts[row] : bin_starts[row] + n_codes[q]]
        if mass is not None:
            best[row, 0], first[row, 0], missing[row, 0] = scan_gain(
                histogram, column, query, sums, sides, width, scratch_rows,
                np.empty(n_codes[q], dtype=np.intp),
            )  # fmt: skip
        elif best.shape[1] > 1 or n_scores == 1:
            direction, exceptions = np.int64(0), no_exceptions
            if bounds is not None:
                low, high = bounds.starts[row], bounds.starts[row + 1]
                direction = np.int64(bounds.directions[row])
                exceptions = (
                    bounds.firsts[low:high], bounds.sides[low:high], bounds.limits[low:high],
                )  # fmt: skip
            for score in range(n_scores):
                at = (bases[q] + (score // lanes) * n_codes[q]) * lanes + score % lanes
                best[row, score], first[row, score], missing[row, score] = _scan_single(
                    histogram[at : at + n_codes[q] * lanes : lanes], has_missing[q],
                    query.constant, query.missing, totals[score], direction, exceptions, sides,
                )  # fmt: skip
        else:
            best[row, 0], first[row, 0], missing[row, 0] = scan_edge(
                histogram, column, query, sums, sides, width, scratch
            )
        if len(score_edges) > 0:
            _edges_at(histogram, column, first[row, 0], missing[row, 0], totals, width, scratch)
            for k in range(score_edges.shape[1]):
                score_edges[row, k] = scratch[k]
