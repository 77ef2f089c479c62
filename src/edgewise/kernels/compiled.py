"""The kernels compiled by Numba: the same integers as their NumPy twins, much faster.

Each function notes which arguments it reads (IN) and writes (OUT). All release the interpreter
lock, so that threads share the columns of a search and the rows of an update.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic

from edgewise.kernels.fixed_point import EXACT_SCALE, SEARCH_SCALE

# Rows are visited in blocks whose signed weights stay in a core's own cache while all columns of
# a batch pass over them.
_BLOCK_BYTES = 1 << 18


# Inner functions are called from compiled code only and need no way in from Python, which would
# take most of their compile time; what calls them is cached with them.
_inner = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
_kernel = njit(nogil=True, cache=True, no_cfunc_wrapper=True)


def _vector_at(context: Any, builder: Any, kind: Any, array: Any, index: Any, lanes: int) -> Any:
    """Return a pointer to `lanes` consecutive elements of a flat array."""
    data = context.make_array(kind)(context, builder, array).data
    element = ir.IntType(kind.dtype.bitwidth)
    pointer = builder.gep(data, [index])
    return builder.bitcast(pointer, ir.VectorType(element, lanes).as_pointer()), kind.dtype.bitwidth


def _emit_add(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit one vector load of the source and a load, add and store at every target."""
    histogram, signed, *_, width = signature.args
    lanes = 1 << (width.ndim - 1)
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
# every row, and the histogram takes three times as long. `width` is an empty array of d dimensions
# that stands for 2**(d - 1) lanes: part of its type, and so known when the code is compiled.


@intrinsic
def _add(context: Any, histogram: Any, signed: Any, s: Any, a: Any, width: Any) -> Any:
    """Add the vector at ``signed[s]`` to the one at ``histogram[a]``."""
    index = types.intp
    return types.void(histogram, signed, index, index, width), _emit_add


@intrinsic
def _add_4(
    context: Any, histogram: Any, signed: Any, s: Any, a: Any, b: Any, c: Any, d: Any, width: Any
) -> Any:
    """Add the vector at ``signed[s]`` to four vectors of the histogram."""
    index = types.intp
    return types.void(histogram, signed, index, index, index, index, index, width), _emit_add


def _emit_cut(context: Any, builder: Any, signature: Any, arguments: Any, move: bool) -> Any:
    """Emit edges - 2 * bin as one vector, its store if the bin moves, and the sum of its sizes."""
    edges_kind, _, histogram_kind, _, width = signature.args
    edges, e, histogram, h, _ = arguments
    lanes = 1 << (width.ndim - 1)
    wide = ir.VectorType(ir.IntType(64), lanes)
    held_at, _ = _vector_at(context, builder, edges_kind, edges, e, lanes)
    bin_at, bits = _vector_at(context, builder, histogram_kind, histogram, h, lanes)
    held, moved = builder.load(held_at), builder.load(bin_at)
    held.align, moved.align = 8, bits // 8
    if bits < 64:
        moved = builder.sext(moved, wide)
    left = builder.sub(held, builder.add(moved, moved))
    if move:
        builder.store(left, held_at).align = 8
    zero = ir.Constant(wide, [0] * lanes)
    sizes = builder.select(builder.icmp_signed(">", left, zero), left, builder.sub(zero, left))
    name = f"llvm.vector.reduce.add.v{lanes}i64"
    summed = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ir.IntType(64), [wide]), name
    )
    return builder.call(summed, [sizes])


def _emit_moved_cut(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _emit_cut(context, builder, signature, arguments, move=True)


def _emit_trial_cut(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _emit_cut(context, builder, signature, arguments, move=False)


@intrinsic
def _move_bin(context: Any, edges: Any, e: Any, histogram: Any, h: Any, width: Any) -> Any:
    """Move a bin to the negative side of the cut; return the sum of the edges' sizes."""
    index = types.intp
    return types.int64(edges, index, histogram, index, width), _emit_moved_cut


@intrinsic
def _try_bin(context: Any, edges: Any, e: Any, histogram: Any, h: Any, width: Any) -> Any:
    """Return what `_move_bin` would, and move nothing."""
    index = types.intp
    return types.int64(edges, index, histogram, index, width), _emit_trial_cut


# Which elements of two vectors of eight, joined, make the next ones when an 8 x 8 block is
# transposed: first single elements change places, then pairs, then fours.
_INTERLEAVE = {
    1: ([0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]),
    2: ([0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]),
    4: ([0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]),
}


def _emit_transpose(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit eight loads, three rounds of shuffles and eight stores."""
    source_kind, _, _, target_kind, _, _ = signature.args
    source, s, s_stride, target, t, t_stride = arguments
    index = ir.IntType(64)
    rows = []
    for row in range(8):
        at = builder.add(s, builder.mul(s_stride, ir.Constant(index, row)))
        pointer, bits = _vector_at(context, builder, source_kind, source, at, 8)
        loaded = builder.load(pointer)
        loaded.align = bits // 8
        rows.append(loaded)
    mask_type = ir.VectorType(ir.IntType(32), 8)
    for span in (1, 2, 4):
        swapped = list(rows)
        for row in range(8):
            if row & span == 0:
                for place, mask in zip((row, row | span), _INTERLEAVE[span], strict=True):
                    order = ir.Constant(mask_type, mask)
                    swapped[place] = builder.shuffle_vector(rows[row], rows[row | span], order)
        rows = swapped
    for row in range(8):
        at = builder.add(t, builder.mul(t_stride, ir.Constant(index, _COLUMN_OF[row])))
        pointer, bits = _vector_at(context, builder, target_kind, target, at, 8)
        stored = builder.store(rows[row], pointer)
        stored.align = bits // 8
    return context.get_dummy_value()


# Which column of the block each vector holds after the shuffles.
_COLUMN_OF = (0, 2, 1, 3, 4, 6, 5, 7)


@intrinsic
def _transpose_8(
    context: Any, source: Any, s: Any, s_stride: Any, target: Any, t: Any, t_stride: Any
) -> Any:
    """Write the 8 x 8 block of a flat array at ``source[s]`` transposed to ``target[t]``."""
    index = types.intp
    return types.void(source, index, index, target, index, index), _emit_transpose


@_inner
def _sum_dense(codes, places, bases, n_codes, signed, n, chunks, width, histogram):  # type: ignore[no-untyped-def]
    """Add the signed weights of all rows to the bins of dense columns, four at a time."""
    lanes = 1 << (width.ndim - 1)
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


@_inner
def _sum_sparse(  # type: ignore[no-untyped-def]
    starts, rows, codes, common, places, bases, n_codes, signed, n, chunks, totals, width, histogram
):
    """Add the signed weights of the stored rows to their bins; the common bin is what is left."""
    lanes = 1 << (width.ndim - 1)
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
            for k in range(1 << (width.ndim - 1)):
                score = chunk * lanes + k
                rest = totals[score] if score < len(totals) else np.int64(0)
                for code in range(n_codes[q]):
                    rest -= histogram[(base + code) * lanes + k]
                histogram[left + k] = rest


@_inner
def _scan(histogram, base, n_codes, has_missing, constant, chunks, totals, width, edges):  # type: ignore[no-untyped-def]
    """Find a column's best cut for all score columns; return (edge, first bin, missing side).

    `edges` is scratch memory for the edges of the cut under consideration.
    """
    lanes = 1 << (width.ndim - 1)
    n_values = n_codes - 1 if has_missing else n_codes
    best, first, missing = np.int64(-1), 0, 1
    for k in range(len(edges)):
        edges[k] = totals[k] if k < len(totals) else 0
    for t in range(n_values):
        size, other = np.int64(0), np.int64(0)
        for chunk in range(chunks):
            column, at = base + chunk * n_codes, chunk * lanes
            if t > 0:
                size += _move_bin(edges, at, histogram, (column + t - 1) * lanes, width)
            else:
                for k in range(lanes):
                    size += abs(edges[at + k])
            if has_missing:
                other += _try_bin(edges, at, histogram, (column + n_codes - 1) * lanes, width)
        if size > best and (t > 0 or constant):
            best, first, missing = size, t, 1
        if has_missing and other > best:
            best, first, missing = other, t, -1
    return best, first, missing


@_inner
def _edges_at(histogram, base, n_codes, first, missing, totals, width, edges):  # type: ignore[no-untyped-def]
    """Fill `edges` (OUT) with the score columns' edges of one cut."""
    lanes = 1 << (width.ndim - 1)
    for k in range(len(edges)):
        edges[k] = totals[k] if k < len(totals) else 0
    for score in range(len(totals)):
        column, k = base + (score // lanes) * n_codes, score % lanes
        for t in range(first):
            edges[score] -= 2 * np.int64(histogram[(column + t) * lanes + k])
        if missing < 0:
            edges[score] -= 2 * np.int64(histogram[(column + n_codes - 1) * lanes + k])


@_inner
def _scan_per_score(  # type: ignore[no-untyped-def]
    histogram, base, n_codes, has_missing, constant, totals, width, n_scores, best, first, missing
):
    """Find a column's best cut for each score column by itself."""
    lanes = 1 << (width.ndim - 1)
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


@_inner
def _scan_all(  # type: ignore[no-untyped-def]
    histogram, bases, n_codes, has_missing, where, constant, chunks, totals, width, per_score, best,
    first, missing, score_edges,
):  # fmt: skip
    """Scan the histograms of a batch of columns.

    IN histogram, bases, n_codes, has_missing, where (each column's row in the output), constant
    (whether the constant may win), totals, per_score. OUT best, first,
    missing of shape (columns, 1), or (columns, K) with per_score; score_edges of shape
    (columns, K), or (0, 0) where not wanted.
    """
    scratch = np.empty(chunks << (width.ndim - 1), dtype=np.int64)
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
                    histogram, bases[q], n_codes[q], first[row, 0], missing[row, 0], totals, width,
                    scratch,
                )  # fmt: skip
                for k in range(score_edges.shape[1]):
                    score_edges[row, k] = scratch[k]


# Weights and scores are stored score column by score column, so that the inner loops run over
# rows: long, contiguous and free of remainders for any number of classes. Scratch arrays are made
# inside the functions, where the compiler knows that they overlap nothing.

_TILE = 512


@_kernel
def sum_edges(start, stop, weights, labels, signs, sums):  # type: ignore[no-untyped-def]
    """Sum the edges of a cut over the rows from start to stop, in 64-bit fixed point.

    IN weights, labels, signs. OUT sums: for each score column the edge (the sum of sign w y), the
    mass (of w) and what is idle (w where the sign is 0).
    """
    for k in range(weights.shape[0]):
        w, y = weights[k, start:stop], labels[k, start:stop]
        sign = signs[k if signs.shape[0] > 1 else 0, start:stop]
        mass, right, zeros = np.int64(0), np.int64(0), np.int64(0)
        for i in range(len(w)):
            exact = np.int64(np.rint(w[i] * EXACT_SCALE))
            mass += exact
            right += exact if y[i] == sign[i] else np.int64(0)
        for i in range(len(w)):
            zeros += sign[i] == 0
        idle = np.int64(0)
        if zeros > 0:
            for i in range(len(w)):
                idle += np.int64(np.rint(w[i] * EXACT_SCALE)) if sign[i] == 0 else np.int64(0)
        sums[0, k], sums[1, k], sums[2, k] = 2 * right + idle - mass, mass, idle


@_inner
def _wrong_mass(f, y, mass):  # type: ignore[no-untyped-def]
    """Return the mass of the wrong signs among labels of -1 and of +1."""
    too_high, too_low = np.int64(0), np.int64(0)
    for i in range(len(f)):
        above, positive = f[i] > 0.0, y[i] > 0
        too_high += mass[i] if above and not positive else np.int64(0)
        too_low += mass[i] if positive and not above else np.int64(0)
    return too_high, too_low


@_inner
def _write_rows(quanta, size, at, n, width, signed):  # type: ignore[no-untyped-def]
    """Write a tile of quanta, score column by score column, as rows of signed weights.

    IN quanta (padded score columns, _TILE), size (rows in the tile), at (the first of n). OUT
    signed (flat).
    """
    lanes = 1 << (width.ndim - 1)
    flat = quanta.reshape(-1)
    blocks = size - size % 8 if lanes >= 8 else 0
    for low in range(0, len(quanta), lanes):
        origin = ((low // lanes) * n + at) * lanes
        for i in range(0, blocks, 8):
            for k in range(0, lanes, 8):
                _transpose_8(
                    flat, (low + k) * _TILE + i, _TILE, signed, origin + i * lanes + k, lanes
                )
        for i in range(blocks, size):
            for k in range(lanes):
                signed[origin + i * lanes + k] = quanta[low + k, i]


@_kernel
def advance(  # type: ignore[no-untyped-def]
    start, stop, labels, target, row_mass, equal_mass, signs, agree, against, rest, coefficients,
    votes, width, weights, scores, signed, sums,
):  # fmt: skip
    """Take one step on the rows from start to stop; return (pseudo, wrong rows).

    IN labels, target, row_mass, equal_mass (whether all rows weigh the same), signs, agree,
    against, rest, coefficients, votes. OUT weights, scores, signed (flat), and these
    rows' share of sums, which start at 0: of S, of |S|, and of the mass of wrong entries with label
    -1 and with +1.
    """
    n_scores, n = weights.shape
    lanes = 1 << (width.ndim - 1)
    quanta = np.zeros((-(-n_scores // lanes) * lanes, _TILE), dtype=signed.dtype)
    cut, pull, top, winner = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    pseudo, wrong_rows = np.int64(0), np.int64(0)
    for at in range(start, stop, _TILE):
        end = min(stop, at + _TILE)
        multi_class = target[at] >= 0
        pull[:], top[:], winner[:] = 0.0, -np.inf if multi_class else 0.0, 0.0
        for k in range(n_scores):
            w, f, y = weights[k, at:end], scores[k, at:end], labels[k, at:end]
            near, far, move, vote = agree[k], against[k], coefficients[k], np.sign(votes[k])
            if k == 0 or signs.shape[0] > 1:
                for i in range(end - at):
                    cut[i] = signs[k, at + i]
            total, mass = np.int64(0), np.int64(0)
            # One loop does all that it can, so that every array passes through the core once.
            for i in range(end - at):
                side, x, positive = cut[i], w[i], y[i] > 0
                pull[i] += x * vote if positive else -x * vote
                agreement = side if positive else -side
                x *= near if agreement > 0.0 else (far if agreement < 0.0 else rest)
                quantum = np.int32(np.rint(x * SEARCH_SCALE))
                w[i], f[i] = x, f[i] + side * move
                quanta[k, i] = quantum if positive else -quantum
                mass += quantum
                total += quantum if positive else -quantum
            sums[0, k] += total
            sums[1, k] += mass
            if equal_mass:
                high, low = np.int64(0), np.int64(0)
                for i in range(end - at):
                    high += (f[i] > 0.0) & (y[i] < 0)
                    low += (f[i] <= 0.0) & (y[i] > 0)
                sums[2, k] += high * row_mass[0]
                sums[3, k] += low * row_mass[0]
            else:
                too_high, too_low = _wrong_mass(f, y, row_mass[at:end])
                sums[2, k] += too_high
                sums[3, k] += too_low
            if multi_class:
                for i in range(end - at):
                    winner[i] = k if f[i] > top[i] else winner[i]
                    top[i] = f[i] if f[i] > top[i] else top[i]
            else:
                for i in range(end - at):
                    top[i] += (f[i] > 0.0) != (y[i] > 0)
        for i in range(end - at):
            pseudo += np.int64(np.rint(abs(pull[i]) * EXACT_SCALE))
            lost = winner[i] != target[at + i] if multi_class else top[i] > 0.0
            wrong_rows += row_mass[at + i] if lost else np.int64(0)
        _write_rows(quanta, end - at, at, n, width, signed)
    return pseudo, wrong_rows


@_kernel
def search_dense(  # type: ignore[no-untyped-def]
    codes, places, bases, n_codes, has_missing, where, constant, signed, n, chunks, totals, width,
    per_score, histogram, best, first, missing, score_edges,
):  # fmt: skip
    """Find the best cuts of a batch of dense columns.

    IN codes, places (the columns' rows in codes), signed (flat), totals; the rest as in _scan_all.
    OUT histogram (scratch), best, first, missing, score_edges.
    """
    histogram[:] = 0
    _sum_dense(codes, places, bases, n_codes, signed, n, chunks, width, histogram)
    _scan_all(
        histogram, bases, n_codes, has_missing, where, constant, chunks, totals, width, per_score,
        best, first, missing, score_edges,
    )  # fmt: skip


@_kernel
def search_sparse(  # type: ignore[no-untyped-def]
    starts, rows, codes, common, places, bases, n_codes, has_missing, where, constant, signed, n,
    chunks, totals, width, per_score, histogram, best, first, missing, score_edges,
):  # fmt: skip
    """Find the best cuts of a batch of sparse columns; arguments as in search_dense."""
    histogram[:] = 0
    _sum_sparse(
        starts, rows, codes, common, places, bases, n_codes, signed, n, chunks, totals, width,
        histogram,
    )  # fmt: skip
    _scan_all(
        histogram, bases, n_codes, has_missing, where, constant, chunks, totals, width, per_score,
        best, first, missing, score_edges,
    )  # fmt: skip


@_kernel
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
