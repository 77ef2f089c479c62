"""The kernels compiled by Numba: the same integers as their NumPy twins, much faster.

Each function notes which arguments it reads (IN) and writes (OUT). All release the interpreter
lock, so that threads share the columns of a search and the rows of an update.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from edgewise.kernels.fixed_point import EXACT_SCALE, SEARCH_SCALE

# Rows are visited in blocks whose signed weights stay in a core's own cache while all columns of
# a batch pass over them.
_BLOCK_BYTES = 1 << 18


def _vector_at(context: Any, builder: Any, kind: Any, array: Any, index: Any, lanes: int) -> Any:
    """Return a pointer to `lanes` consecutive elements of a flat array."""
    data = context.make_array(kind)(context, builder, array).data
    element = ir.IntType(kind.dtype.bitwidth)
    pointer = builder.gep(data, [index])
    return builder.bitcast(pointer, ir.VectorType(element, lanes).as_pointer()), kind.dtype.bitwidth


def _emit_add(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit one vector load of the source and a load, add and store at every target."""
    histogram, signed, *_, width = signature.args
    lanes = len(width)
    source, bits = _vector_at(context, builder, signed, arguments[1], arguments[2], lanes)
    loaded = builder.load(source)
    loaded.align = bits // 8
    for index in arguments[3:-1]:
        target, _ = _vector_at(context, builder, histogram, arguments[0], index, lanes)
        held = builder.load(target)
        held.align = bits // 8
        stored = builder.store(builder.add(held, loaded), target)
        stored.align = bits // 8
    return context.get_dummy_value()


# Why intrinsics: written as a loop over lanes, the additions are guarded by an overlap check for
# every row, and the histogram takes three times as long. `width` is a tuple whose length is the
# number of lanes, so that the length is known when the code is compiled.


@intrinsic  # type: ignore[misc]
def _add(context: Any, histogram: Any, signed: Any, s: Any, a: Any, width: Any) -> Any:
    """Add the vector at ``signed[s]`` to the one at ``histogram[a]``."""
    index = types.intp
    return types.void(histogram, signed, index, index, width), _emit_add


@intrinsic  # type: ignore[misc]
def _add_4(
    context: Any, histogram: Any, signed: Any, s: Any, a: Any, b: Any, c: Any, d: Any, width: Any
) -> Any:
    """Add the vector at ``signed[s]`` to four vectors of the histogram."""
    index = types.intp
    return types.void(histogram, signed, index, index, index, index, index, width), _emit_add


@njit(nogil=True, cache=True)
def _sum_dense(codes, places, bases, n_codes, signed, n, chunks, width, histogram):  # type: ignore[no-untyped-def]
    """Add the signed weights of all rows to the bins of dense columns, four at a time."""
    lanes = len(width)
    block = max(256, _BLOCK_BYTES // (lanes * signed.itemsize))
    n_columns = len(places)
    for start in range(0, n, block):
        stop = min(n, start + block)
        for chunk in range(chunks):
            origin = chunk * n
            q = 0
            while q + 4 <= n_columns:
                code_a, code_b = codes[places[q]], codes[places[q + 1]]
                code_c, code_d = codes[places[q + 2]], codes[places[q + 3]]
                base_a = (bases[q] + chunk * n_codes[q]) * lanes
                base_b = (bases[q + 1] + chunk * n_codes[q + 1]) * lanes
                base_c = (bases[q + 2] + chunk * n_codes[q + 2]) * lanes
                base_d = (bases[q + 3] + chunk * n_codes[q + 3]) * lanes
                for i in range(start, stop):
                    _add_4(
                        histogram,
                        signed,
                        (origin + i) * lanes,
                        base_a + np.intp(code_a[i]) * lanes,
                        base_b + np.intp(code_b[i]) * lanes,
                        base_c + np.intp(code_c[i]) * lanes,
                        base_d + np.intp(code_d[i]) * lanes,
                        width,
                    )
                q += 4
            while q < n_columns:
                code_a = codes[places[q]]
                base_a = (bases[q] + chunk * n_codes[q]) * lanes
                for i in range(start, stop):
                    at = base_a + np.intp(code_a[i]) * lanes
                    _add(histogram, signed, (origin + i) * lanes, at, width)
                q += 1


@njit(nogil=True, cache=True)
def _sum_sparse(  # type: ignore[no-untyped-def]
    starts, rows, codes, common, places, bases, n_codes, signed, n, chunks, totals, width, histogram
):
    """Add the signed weights of the stored rows to their bins; the common bin is what is left."""
    lanes = len(width)
    block = max(256, _BLOCK_BYTES // (lanes * signed.itemsize))
    n_columns = len(places)
    cursor = np.empty(n_columns, dtype=np.intp)
    for chunk in range(chunks):
        origin = chunk * n
        for q in range(n_columns):
            cursor[q] = starts[places[q]]
        for stop in range(block, n + block, block):
            for q in range(n_columns):
                base = (bases[q] + chunk * n_codes[q]) * lanes
                at, end = cursor[q], starts[places[q] + 1]
                while at < end and rows[at] < stop:
                    to = base + np.intp(codes[at]) * lanes
                    _add(histogram, signed, (origin + np.intp(rows[at])) * lanes, to, width)
                    at += 1
                cursor[q] = at
        for q in range(n_columns):
            base = bases[q] + chunk * n_codes[q]
            left = (base + common[places[q]]) * lanes
            for k in range(len(width)):
                rest = totals[chunk * lanes + k]
                for code in range(n_codes[q]):
                    rest -= histogram[(base + code) * lanes + k]
                histogram[left + k] = rest


@njit(nogil=True, cache=True)
def _scan(histogram, base, n_codes, has_missing, constant, chunks, totals, width, edges):  # type: ignore[no-untyped-def]
    """Find a column's best cut for all score columns; return (edge, first bin, missing side).

    `edges` is scratch memory for the edges of the cut under consideration.
    """
    lanes = len(width)
    n_values = n_codes - 1 if has_missing else n_codes
    best, first, missing = np.int64(-1), 0, 1
    edges[:] = totals
    for t in range(n_values):
        size, other = np.int64(0), np.int64(0)
        for chunk in range(chunks):
            column = base + chunk * n_codes
            passed = (column + t - 1) * lanes
            absent = (column + n_codes - 1) * lanes
            at = chunk * lanes
            if t > 0:
                for k in range(len(width)):
                    edges[at + k] -= 2 * np.int64(histogram[passed + k])
            for k in range(len(width)):
                size += abs(edges[at + k])
            if has_missing:
                for k in range(len(width)):
                    other += abs(edges[at + k] - 2 * np.int64(histogram[absent + k]))
        if size > best and (t > 0 or constant):
            best, first, missing = size, t, 1
        if has_missing and other > best:
            best, first, missing = other, t, -1
    return best, first, missing


@njit(nogil=True, cache=True)
def _edges_at(histogram, base, n_codes, first, missing, chunks, totals, width, edges):  # type: ignore[no-untyped-def]
    """Fill `edges` (OUT) with the score columns' edges of one cut."""
    lanes = len(width)
    edges[:] = totals
    for chunk in range(chunks):
        column = base + chunk * n_codes
        for k in range(len(width)):
            for t in range(first):
                edges[chunk * lanes + k] -= 2 * np.int64(histogram[(column + t) * lanes + k])
            if missing < 0:
                absent = (column + n_codes - 1) * lanes + k
                edges[chunk * lanes + k] -= 2 * np.int64(histogram[absent])


@njit(nogil=True, cache=True)
def _scan_per_score(  # type: ignore[no-untyped-def]
    histogram, base, n_codes, has_missing, constant, totals, width, n_scores, best, first, missing
):
    """Find a column's best cut for each score column by itself."""
    lanes = len(width)
    n_values = n_codes - 1 if has_missing else n_codes
    for score in range(n_scores):
        column = base + (score // lanes) * n_codes
        k = score % lanes
        edge = totals[score]
        best[score], first[score], missing[score] = -1, 0, 1
        absent = np.int64(histogram[(column + n_codes - 1) * lanes + k])
        for t in range(n_values):
            if t > 0:
                edge -= 2 * np.int64(histogram[(column + t - 1) * lanes + k])
            if abs(edge) > best[score] and (t > 0 or constant):
                best[score], first[score], missing[score] = abs(edge), t, 1
            if has_missing and abs(edge - 2 * absent) > best[score]:
                best[score], first[score], missing[score] = abs(edge - 2 * absent), t, -1


@njit(nogil=True, cache=True)
def scan_all(  # type: ignore[no-untyped-def]
    histogram, bases, n_codes, has_missing, where, constant, chunks, totals, width, per_score, best,
    first, missing, score_edges,
):  # fmt: skip
    """Scan the histograms of a batch of columns.

    IN histogram, bases, n_codes, has_missing, where (each column's row in the output), constant
    (whether the constant may win), totals (padded to whole vectors), per_score. OUT best, first, missing of shape (columns, 1), or
    (columns, K) with per_score; score_edges of shape (columns, K), or (0, 0) where not wanted.
    """
    scratch = np.empty(len(totals), dtype=np.int64)
    for q in range(len(bases)):
        row = where[q]
        if per_score:
            _scan_per_score(
                histogram, bases[q], n_codes[q], has_missing[q], constant, totals, width,
                best.shape[1], best[row], first[row], missing[row],
            )  # fmt: skip
        else:
            best[row, 0], first[row, 0], missing[row, 0] = _scan(
                histogram, bases[q], n_codes[q], has_missing[q], constant, chunks, totals, width,
                scratch,
            )  # fmt: skip
            if len(score_edges) > 0:
                _edges_at(
                    histogram, bases[q], n_codes[q], first[row, 0], missing[row, 0], chunks, totals,
                    width, scratch,
                )  # fmt: skip
                score_edges[row] = scratch[: score_edges.shape[1]]


# Weights and scores are stored score column by score column, so that the loops below run over
# rows: long, contiguous and free of remainders for any number of classes.

_TILE = 256


@njit(nogil=True, cache=True)
def sum_edges(start, stop, weights, labels, signs, abstains, edges, masses, idle):  # type: ignore[no-untyped-def]
    """Sum the edges of a cut over the rows from start to stop, in 64-bit fixed point.

    IN weights, labels, signs, abstains (whether any sign is 0). OUT, for each score column, edges
    (the sum of sign w y), masses (of w), idle (of w where the sign is 0).
    """
    for k in range(weights.shape[0]):
        w, y = weights[k, start:stop], labels[k, start:stop]
        sign = signs[k if signs.shape[0] > 1 else 0, start:stop]
        edge, mass = np.int64(0), np.int64(0)
        for i in range(len(w)):
            exact = np.int64(np.rint(w[i] * EXACT_SCALE))
            edge += exact * np.int64(y[i] * sign[i])
            mass += exact
        edges[k], masses[k] = edge, mass
        if abstains:
            mass = np.int64(0)
            for i in range(len(w)):
                mass += np.int64(np.rint(w[i] * EXACT_SCALE)) if sign[i] == 0 else np.int64(0)
            idle[k] = mass


@njit(nogil=True, cache=True)
def _count_signs(f, y):  # type: ignore[no-untyped-def]
    """Return how many scores are positive, and how many of those have the label +1."""
    above, hits = np.int32(0), np.int32(0)
    for i in range(len(f)):
        above += np.int32(f[i] > 0.0)
        hits += np.int32(f[i] * y[i] > 0.0) & np.int32(y[i] > 0)
    return np.int64(above), np.int64(hits)


@njit(nogil=True, cache=True)
def _count_wrong(f, y, mass, wrong):  # type: ignore[no-untyped-def]
    """Count the wrong signs of each row; return the mass of those with label -1 and with +1."""
    too_high, too_low = np.int64(0), np.int64(0)
    for i in range(len(f)):
        above, positive = f[i] > 0.0, y[i] > 0
        wrong[i] += above != positive
        too_high += mass[i] if above and not positive else np.int64(0)
        too_low += mass[i] if positive and not above else np.int64(0)
    return too_high, too_low


@njit(nogil=True, cache=True)
def _loses(scores, row, target):  # type: ignore[no-untyped-def]
    """Return whether another class has the highest score; a tie goes to the lowest class."""
    top = scores[target, row]
    for k in range(scores.shape[0]):
        if scores[k, row] > top or (scores[k, row] == top and k < target):
            return True
    return False


@njit(nogil=True, cache=True)
def advance(  # type: ignore[no-untyped-def]
    start, stop, labels, n_positive, target, row_mass, equal_mass, signs, agree, against, rest,
    coefficients, votes, width, weights, scores, signed, signed_sums, wrong_entries,
):  # fmt: skip
    """Take one step on the rows from start to stop; return (pseudo, wrong rows).

    IN labels, n_positive (how many of these rows' labels are +1, by score column), target,
    row_mass, equal_mass (whether all rows weigh the same), signs, agree, against, rest,
    coefficients, votes. OUT weights, scores, signed, and these rows' share of signed_sums (of S
    and |S|) and wrong_entries, which start at 0.
    """
    n_scores, lanes = weights.shape[0], len(width)
    multi_class = target[start] >= 0
    quanta = np.empty((n_scores, _TILE), dtype=np.int32)
    pull = np.empty(_TILE, dtype=np.int32)
    own = np.zeros(_TILE)
    rivals = np.empty(_TILE, dtype=np.int32)
    wrong = np.empty(_TILE, dtype=np.int32)
    pseudo, wrong_rows = np.int64(0), np.int64(0)
    for at in range(start, stop, _TILE):
        end = min(stop, at + _TILE)
        pull[:], rivals[:], wrong[:] = 0, 0, 0
        if multi_class:
            for i in range(end - at):
                k = target[at + i]
                sign = signs[k if signs.shape[0] > 1 else 0, at + i]
                own[i] = scores[k, at + i] + np.float64(sign) * coefficients[k]
        for k in range(n_scores):
            w, f, y = weights[k, at:end], scores[k, at:end], labels[k, at:end]
            sign = signs[k if signs.shape[0] > 1 else 0, at:end]
            closer, farther, move, vote = agree[k], against[k], coefficients[k], np.int32(votes[k])
            # One loop does all that it can, so that every array passes through the core once.
            for i in range(end - at):
                label, cut, x = np.int32(y[i]), np.int32(sign[i]), w[i]
                pull[i] += np.int32(np.rint(x * SEARCH_SCALE)) * (label * vote)
                agreement = label * cut
                x *= closer if agreement > 0 else (farther if agreement < 0 else rest)
                w[i] = x
                quanta[k, i] = np.int32(np.rint(x * SEARCH_SCALE)) * label
                score = f[i] + np.float64(cut) * move
                f[i] = score
                rivals[i] += score >= own[i]
            total, mass = np.int64(0), np.int64(0)
            for i in range(end - at):
                total += quanta[k, i]
                mass += abs(quanta[k, i])
            signed_sums[0, k] += total
            signed_sums[1, k] += mass
            if equal_mass and multi_class:
                above, hits = _count_signs(f, y)
                wrong_entries[0, k] += (above - hits) * row_mass[0]
                wrong_entries[1, k] -= hits * row_mass[0]
            else:
                too_high, too_low = _count_wrong(f, y, row_mass[at:end], wrong)
                wrong_entries[0, k] += too_high
                wrong_entries[1, k] += too_low
        for i in range(end - at):
            for k in range(n_scores):
                signed[k // lanes, at + i, k % lanes] = quanta[k, i]
        for i in range(end - at):
            pseudo += abs(np.int64(pull[i]))
            if multi_class:
                # Its own score is one of those not below itself.
                lost = rivals[i] > 1 and _loses(scores, at + i, target[at + i])
            else:
                lost = wrong[i] > 0
            wrong_rows += row_mass[at + i] if lost else np.int64(0)
    if equal_mass and multi_class:
        for k in range(n_scores):
            wrong_entries[1, k] += n_positive[k] * row_mass[0]
    return pseudo, wrong_rows


@njit(nogil=True, cache=True)
def sum_dense(codes, places, bases, n_codes, signed, n, chunks, width, histogram):  # type: ignore[no-untyped-def]
    """Histogram a batch of dense columns. IN all but histogram (OUT)."""
    histogram[:] = 0
    _sum_dense(codes, places, bases, n_codes, signed, n, chunks, width, histogram)


@njit(nogil=True, cache=True)
def sum_sparse(  # type: ignore[no-untyped-def]
    starts, rows, codes, common, places, bases, n_codes, signed, n, chunks, totals, width, histogram
):
    """Histogram a batch of sparse columns. IN all but histogram (OUT)."""
    histogram[:] = 0
    _sum_sparse(
        starts, rows, codes, common, places, bases, n_codes, signed, n, chunks, totals, width,
        histogram,
    )  # fmt: skip


@njit(nogil=True, cache=True)
def score(values, columns, starts, thresholds, tables, start, stop, out):  # type: ignore[no-untyped-def]
    """Add the table rows of the values of several columns to the scores of some rows.

    IN values (n, columns of X), columns, thresholds (those of column f from starts[f] to
    starts[f + 1]), tables (two rows more than thresholds for each column: the last is for missing
    values). OUT out (n, K).
    """
    n_scores = out.shape[1]
    for i in range(start, stop):
        for f in range(len(columns)):
            value = np.float64(values[i, columns[f]])
            low, size = starts[f], starts[f + 1] - starts[f]
            if np.isnan(value):
                place = size + 1
            else:
                place = 0
                left = size
                while left > 0:
                    half = left // 2
                    if thresholds[low + place + half] <= value:
                        place += half + 1
                        left -= half + 1
                    else:
                        left = half
            row = low + 2 * f + place
            for k in range(n_scores):
                out[i, k] += tables[row, k]
