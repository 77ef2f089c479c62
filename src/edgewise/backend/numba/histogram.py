"""Histograms of signed weights, and the passes that prepare them, compiled."""

import numpy as np

from edgewise.backend.numba.vectors import (
    add,
    add_4,
    add_sums,
    flip_vector,
    inner,
    kernel,
    prefetch,
)

# Rows are visited in blocks whose signed weights stay in a core's own cache while all columns of
# a batch pass over them.
_BLOCK_BYTES = 1 << 18

# Rows that are fetched before their turn.
_AHEAD = 12


@inner
def _row(rows, p):  # type: ignore[no-untyped-def]
    """Return the p-th row that counts; `rows` is None if all do."""
    return p if rows is None else np.intp(rows[p])


@kernel
def sum_dense(codes, columns, weights, rows, histogram):  # type: ignore[no-untyped-def]
    """Sum the signed weights of the rows in each bin of a batch of dense columns.

    IN codes, columns (`plans.BatchColumns`), weights (`host.SignedVectors`), rows (None for all).
    OUT histogram (flat).
    """
    positions, bases, n_codes, _ = columns
    signed, n, chunks, width = weights
    histogram[:] = 0
    lanes = 1 << (width.ndim - 1)
    block = max(256, _BLOCK_BYTES // (lanes * signed.itemsize))
    n_columns = len(positions)
    n_rows = n if rows is None else len(rows)
    for start in range(0, n_rows, block):
        stop = min(n_rows, start + block)
        for chunk in range(chunks):
            origin = chunk * n
            q = 0
            while q + 4 <= n_columns:
                code_a, code_b = codes[positions[q]], codes[positions[q + 1]]
                code_c, code_d = codes[positions[q + 2]], codes[positions[q + 3]]
                base_a = (bases[q] + chunk * n_codes[q]) * lanes
                base_b = (bases[q + 1] + chunk * n_codes[q + 1]) * lanes
                base_c = (bases[q + 2] + chunk * n_codes[q + 2]) * lanes
                base_d = (bases[q + 3] + chunk * n_codes[q + 3]) * lanes
                for p in range(start, stop):
                    i = _row(rows, p)
                    add_4(
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
                code_a = codes[positions[q]]
                base_a = (bases[q] + chunk * n_codes[q]) * lanes
                for p in range(start, stop):
                    i = _row(rows, p)
                    at = base_a + np.intp(code_a[i]) * lanes
                    add(histogram, signed, (origin + i) * lanes, at, width)
                q += 1


@inner
def sum_few(codes, first, columns, weights, rows, histogram):  # type: ignore[no-untyped-def]
    """Do the same for few of many rows, from codes by row, and for columns side by side.

    By column, each code of rows that are far apart would take a cache line of its own. IN codes
    (n, columns), first (column).
    """
    bases, n_codes = columns[1:3]
    signed, n, chunks, width = weights
    histogram[:] = 0
    lanes = 1 << (width.ndim - 1)
    n_rows, n_columns, stride = len(rows), len(bases), codes.shape[1]
    flat = codes.reshape(-1)
    for chunk in range(chunks):
        origin = chunk * n
        for p in range(n_rows):
            if p + _AHEAD < n_rows:
                later = np.intp(rows[p + _AHEAD])
                prefetch(signed, (origin + later) * lanes)
                for q in range(first, first + n_columns, 64):
                    prefetch(flat, later * stride + q)
                prefetch(flat, later * stride + first + n_columns - 1)
            i = np.intp(rows[p])
            at, s = i * stride + first, (origin + i) * lanes
            for q in range(n_columns):
                to = (bases[q] + chunk * n_codes[q] + np.intp(flat[at + q])) * lanes
                add(histogram, signed, s, to, width)


@inner
def _sum_stored(stored, columns, weights, histogram):  # type: ignore[no-untyped-def]
    """Add the signed weights of the stored rows to their bins."""
    starts, ends, rows, codes, _ = stored
    positions, bases, n_codes, _ = columns
    signed, n, chunks, width = weights
    lanes = 1 << (width.ndim - 1)
    block = max(256, _BLOCK_BYTES // (lanes * signed.itemsize))
    n_columns = len(positions)
    cursor = np.empty(n_columns, dtype=np.intp)
    for chunk in range(chunks):
        origin = chunk * n
        for q in range(n_columns):
            cursor[q] = starts[positions[q]]
        for stop in range(block, n + block, block):
            for q in range(n_columns):
                base = (bases[q] + chunk * n_codes[q]) * lanes
                at, end = cursor[q], ends[positions[q]]
                while at < end and rows[at] < stop:
                    to = base + np.intp(codes[at]) * lanes
                    add(histogram, signed, (origin + np.intp(rows[at])) * lanes, to, width)
                    at += 1
                cursor[q] = at


@inner
def _fill_common(common, columns, weights, totals, histogram):  # type: ignore[no-untyped-def]
    """Give the commonest bin of each column the remainder of the totals."""
    positions, bases, n_codes, _ = columns
    _, _, chunks, width = weights
    lanes = 1 << (width.ndim - 1)
    remainder = np.empty(lanes, dtype=np.int64)
    for chunk in range(chunks):
        for q in range(len(positions)):
            base = bases[q] + chunk * n_codes[q]
            for k in range(lanes):
                score = chunk * lanes + k
                remainder[k] = totals[score] if score < len(totals) else np.int64(0)
            for code in range(n_codes[q]):
                for k in range(lanes):
                    remainder[k] -= histogram[(base + code) * lanes + k]
            left = (base + common[positions[q]]) * lanes
            for k in range(lanes):
                histogram[left + k] = remainder[k]


@inner
def _sum_members(stored, columns, weights, member, histogram):  # type: ignore[no-untyped-def]
    """Add the signed weights of the stored rows that count to their bins."""
    starts, ends, rows, codes, _ = stored
    positions, bases, n_codes, _ = columns
    signed, n, chunks, width = weights
    lanes = 1 << (width.ndim - 1)
    for chunk in range(chunks):
        origin = chunk * n
        for q in range(len(positions)):
            base = (bases[q] + chunk * n_codes[q]) * lanes
            for at in range(starts[positions[q]], ends[positions[q]]):
                row = np.intp(rows[at])
                if member[row]:
                    to = base + np.intp(codes[at]) * lanes
                    add(histogram, signed, (origin + row) * lanes, to, width)


@kernel
def sum_sparse(stored, columns, weights, member, totals, histogram):  # type: ignore[no-untyped-def]
    """Sum the signed weights of the rows in each bin of a batch of sparse columns.

    IN stored (starts, ends, rows, codes and common codes as in `data.storage`), member (None if all
    rows count), totals (of all columns of S); the others as in sum_dense. OUT histogram.
    """
    histogram[:] = 0
    if member is None:
        _sum_stored(stored, columns, weights, histogram)
    else:
        _sum_members(stored, columns, weights, member, histogram)
    _fill_common(stored[4], columns, weights, totals, histogram)


@kernel
def flip(start, stop, weights, signs, out, totals):  # type: ignore[no-untyped-def]
    """Multiply S by each row's sign. IN weights, signs. OUT out, totals (by lane)."""
    signed, n, chunks, width = weights
    lanes = 1 << (width.ndim - 1)
    for chunk in range(chunks):
        for i in range(start, stop):
            at = (chunk * n + i) * lanes
            flip_vector(out, at, signed, at, np.int64(signs[i]), totals, chunk * lanes, width)


@inner
def hash_number(seed, n):  # type: ignore[no-untyped-def]
    """Return the n-th output of splitmix64, see `arithmetic.splitmix64`."""
    z = seed + np.uint64(n) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def draw_rows(key, limit, rows):  # type: ignore[no-untyped-def]
    """Draw rows by their hash, see `arithmetic.draw_rows`. OUT rows; return their number."""
    n_drawn = 0
    for row in range(len(rows)):
        rows[n_drawn] = row
        n_drawn += hash_number(key, row + 1) < limit
    return n_drawn


@kernel
def sum_rows(weights, rows, totals, masses):  # type: ignore[no-untyped-def]
    """Sum S and |S| of some rows. IN weights, rows. OUT totals, masses (by lane)."""
    signed, n, chunks, width = weights
    lanes = 1 << (width.ndim - 1)
    for chunk in range(chunks):
        for p in range(len(rows)):
            at = (chunk * n + np.intp(rows[p])) * lanes
            add_sums(totals, masses, chunk * lanes, signed, at, width)


@kernel
def cut_rows(codes, rows, first, missing, missing_code, low, high):  # type: ignore[no-untyped-def]
    """Split rows by a cut of a dense column. OUT low, high; return their sizes."""
    n_low, n_high = 0, 0
    for p in range(len(rows)):
        row = rows[p]
        code = np.intp(codes[row])
        side = missing if code == missing_code else (1 if code >= first else -1)
        low[n_low], high[n_high] = row, row
        n_low += side < 0
        n_high += side > 0
    return n_low, n_high


@kernel
def gather_rows(weights, rows, out, unused, totals, masses):  # type: ignore[no-untyped-def]
    """Copy rows of S and sum them. IN weights, rows. OUT out, totals, masses; unused is scratch."""
    signed, n, chunks, width = weights
    lanes = 1 << (width.ndim - 1)
    for chunk in range(chunks):
        for p in range(len(rows)):
            at = (chunk * n + np.intp(rows[p])) * lanes
            to = (chunk * len(rows) + p) * lanes
            flip_vector(out, to, signed, at, np.int64(1), unused, chunk * lanes, width)
            add_sums(totals, masses, chunk * lanes, signed, at, width)


@kernel
def row_weight_sums(signed, n, chunks, lanes, n_scores, out):  # type: ignore[no-untyped-def]
    """Sum the sizes of each row's signed weights. IN signed (flat). OUT out."""
    for chunk in range(chunks):
        used = min(lanes, n_scores - chunk * lanes)
        for i in range(n):
            at = (chunk * n + i) * lanes
            mass = np.int64(0)
            for k in range(used):
                mass += abs(signed[at + k])
            out[i] += mass


@kernel
def sum_heavy(signed, least, n, lanes, n_scores):  # type: ignore[no-untyped-def]
    """Return the sum of the |S| that are at least `least`."""
    mass = np.int64(0)
    for at in range(len(signed)):
        size = abs(signed[at])
        mass += size if size >= least else 0
    # What is after the last score column is the mass column, or nothing but zeros.
    chunk, lane = n_scores // lanes, n_scores % lanes
    if chunk * n * lanes < len(signed):
        for i in range(n):
            size = abs(signed[(chunk * n + i) * lanes + lane])
            mass -= size if size >= least else 0
    return mass


@kernel
def pick_rows(rows, codes, number, out_rows, out_codes):  # type: ignore[no-untyped-def]
    """Copy the entries of a sparse column whose row has a number: see data.part.pick_rows."""
    count = 0
    for at in range(len(rows)):
        position = number[rows[at]]
        if position >= 0:
            out_rows[count], out_codes[count] = position, codes[at]
            count += 1
    return count
