"""Histograms of signed weights and the scan for the best cut, compiled."""

import numpy as np

from edgewise.kernels.fixed_point import GAIN_SCALE
from edgewise.kernels.vectors import (
    add,
    add_4,
    add_sums,
    flip_vector,
    inner,
    kernel,
    move_bin,
    try_bin,
)

# Rows are visited in blocks whose signed weights stay in a core's own cache while all columns of
# a batch pass over them.
_BLOCK_BYTES = 1 << 18


@inner
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
                code_a = codes[places[q]]
                base_a = (bases[q] + chunk * n_codes[q]) * lanes
                for i in range(start, stop):
                    at = base_a + np.intp(code_a[i]) * lanes
                    add(histogram, signed, (origin + i) * lanes, at, width)
                q += 1


@inner
def _sum_rows(codes, places, bases, n_codes, signed, n, rows, chunks, width, histogram):  # type: ignore[no-untyped-def]
    """Add the signed weights of some rows to the bins of dense columns, four at a time."""
    lanes = 1 << (width.ndim - 1)
    block = max(256, _BLOCK_BYTES // (lanes * signed.itemsize))
    n_columns = len(places)
    for start in range(0, len(rows), block):
        stop = min(len(rows), start + block)
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
                for p in range(start, stop):
                    i = np.intp(rows[p])
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
                code_a = codes[places[q]]
                base_a = (bases[q] + chunk * n_codes[q]) * lanes
                for p in range(start, stop):
                    i = np.intp(rows[p])
                    at = base_a + np.intp(code_a[i]) * lanes
                    add(histogram, signed, (origin + i) * lanes, at, width)
                q += 1


@inner
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
                    add(histogram, signed, (origin + np.intp(rows[at])) * lanes, to, width)
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


@inner
def _scan(  # type: ignore[no-untyped-def]
    histogram, base, n_codes, has_missing, constant, abstain, massed, chunks, totals, width, edges
):
    """Find a column's best cut for all score columns; return (edge, first bin, missing side).

    `edges` is scratch memory for the edges of the cut under consideration. Where there is a mass
    column (`massed`) its share is taken back.
    """
    lanes = 1 << (width.ndim - 1)
    n_values = n_codes - 1 if has_missing else n_codes
    best, first, missing = np.int64(-1), 0, 1
    for k in range(len(edges)):
        edges[k] = totals[k] if k < len(totals) else 0
    if has_missing and abstain:
        constant, missing = True, 0
        for score in range(len(totals)):
            column = base + (score // lanes) * n_codes + n_codes - 1
            edges[score] -= histogram[column * lanes + score % lanes]
    for t in range(n_values):
        size, other = np.int64(0), np.int64(0)
        for chunk in range(chunks):
            column, at = base + chunk * n_codes, chunk * lanes
            if t > 0:
                size += move_bin(edges, at, histogram, (column + t - 1) * lanes, width)
            else:
                for k in range(lanes):
                    size += abs(edges[at + k])
            if has_missing and not abstain:
                other += try_bin(edges, at, histogram, (column + n_codes - 1) * lanes, width)
        if massed:
            k = len(totals)
            size -= abs(edges[k])
            if has_missing and not abstain:
                at = (base + (k // lanes) * n_codes + n_codes - 1) * lanes + k % lanes
                other -= abs(edges[k] - 2 * np.int64(histogram[at]))
        if size > best and (t > 0 or constant):
            best, first, missing = size, t, 0 if has_missing and abstain else 1
        if has_missing and not abstain and other > best:
            best, first, missing = other, t, -1
    return best, first, missing


@inner
def _scan_gain(histogram, base, n_codes, has_missing, chunks, totals, mass, width, low):  # type: ignore[no-untyped-def]
    """Find a column's best cut by gain; return (gain, first bin, missing side).

    On either side of a cut the gain is the sum of the squared edges over the mass, which is in the
    column of the histogram after the last score column. `low` is scratch memory for the sums below
    the cut.
    """
    lanes = 1 << (width.ndim - 1)
    n_scores = len(totals)
    n_values = n_codes - 1 if has_missing else n_codes
    best, first, missing = np.int64(-1), 0, 1
    low[:] = 0
    for t in range(n_values):
        if t > 0:
            for score in range(n_scores + 1):
                column = base + (score // lanes) * n_codes
                low[score] += histogram[(column + t - 1) * lanes + score % lanes]
        for side in range(2 if has_missing else 1):
            if side == 1:
                for score in range(n_scores + 1):
                    column = base + (score // lanes) * n_codes + n_codes - 1
                    low[score] += histogram[column * lanes + score % lanes]
            below, above = np.int64(0), np.int64(0)
            for score in range(n_scores):
                below += low[score] * low[score]
                above += (totals[score] - low[score]) * (totals[score] - low[score])
            under, over = low[n_scores], mass - low[n_scores]
            if under > 0 and over > 0:
                gain = np.int64(np.rint(np.float64(below) / np.float64(under) * GAIN_SCALE))
                gain += np.int64(np.rint(np.float64(above) / np.float64(over) * GAIN_SCALE))
                if gain > best:
                    best, first, missing = gain, t, 1 - 2 * side
            if side == 1:
                for score in range(n_scores + 1):
                    column = base + (score // lanes) * n_codes + n_codes - 1
                    low[score] -= histogram[column * lanes + score % lanes]
    return best, first, missing


@inner
def _edges_at(histogram, base, n_codes, first, missing, totals, width, edges):  # type: ignore[no-untyped-def]
    """Fill `edges` (OUT) with the score columns' edges of one cut."""
    lanes = 1 << (width.ndim - 1)
    for k in range(len(edges)):
        edges[k] = totals[k] if k < len(totals) else 0
    for score in range(len(totals)):
        column, k = base + (score // lanes) * n_codes, score % lanes
        for t in range(first):
            edges[score] -= 2 * np.int64(histogram[(column + t) * lanes + k])
        if missing < 1:
            absent = np.int64(histogram[(column + n_codes - 1) * lanes + k])
            edges[score] -= absent if missing == 0 else 2 * absent


@inner
def _scan_per_score(  # type: ignore[no-untyped-def]
    histogram, base, n_codes, has_missing, constant, abstain, totals, width, n_scores, best, first,
    missing,
):  # fmt: skip
    """Find a column's best cut for each score column by itself."""
    lanes = 1 << (width.ndim - 1)
    n_values = n_codes - 1 if has_missing else n_codes
    for score in range(n_scores):
        column = base + (score // lanes) * n_codes
        k = score % lanes
        edge = totals[score]
        best[score], first[score], missing[score] = -1, 0, 1
        absent = np.int64(histogram[(column + n_codes - 1) * lanes + k])
        usual = 1
        if has_missing and abstain:
            usual, edge = 0, edge - absent
        for t in range(n_values):
            if t > 0:
                edge -= 2 * np.int64(histogram[(column + t - 1) * lanes + k])
            if abs(edge) > best[score] and (t > 0 or constant or usual == 0):
                best[score], first[score], missing[score] = abs(edge), t, usual
            if has_missing and usual != 0 and abs(edge - 2 * absent) > best[score]:
                best[score], first[score], missing[score] = abs(edge - 2 * absent), t, -1


@inner
def _scan_all(  # type: ignore[no-untyped-def]
    histogram, bases, n_codes, has_missing, where, constant, abstain, mass, chunks, totals, width,
    per_score, best, first, missing, score_edges,
):  # fmt: skip
    """Scan the histograms of a batch of columns.

    IN histogram, bases, n_codes, has_missing, where (each column's row in the output), constant
    (whether the constant may win), abstain (whether missing values are left out), mass (of all
    rows, in a search by gain; else -1 where there is a mass column, 0 where not), totals,
    per_score. OUT best, first, missing of shape (columns, 1), or (columns, K) with per_score;
    score_edges of shape (columns, K), or (0, 0) where not wanted.
    """
    scratch = np.empty(chunks << (width.ndim - 1), dtype=np.int64)
    for q in range(len(bases)):
        row = where[q]
        if per_score:
            _scan_per_score(
                histogram, bases[q], n_codes[q], has_missing[q], constant, abstain, totals, width,
                best.shape[1], best[row], first[row], missing[row],
            )  # fmt: skip
        else:
            if mass > 0:
                best[row, 0], first[row, 0], missing[row, 0] = _scan_gain(
                    histogram, bases[q], n_codes[q], has_missing[q], chunks, totals, mass, width,
                    scratch,
                )  # fmt: skip
            else:
                best[row, 0], first[row, 0], missing[row, 0] = _scan(
                histogram, bases[q], n_codes[q], has_missing[q], constant, abstain, mass < 0,
                chunks, totals, width, scratch,
            )  # fmt: skip
            if len(score_edges) > 0:
                _edges_at(
                    histogram, bases[q], n_codes[q], first[row, 0], missing[row, 0], totals, width,
                    scratch,
                )  # fmt: skip
                for k in range(score_edges.shape[1]):
                    score_edges[row, k] = scratch[k]


@kernel
def search_dense(  # type: ignore[no-untyped-def]
    codes, places, bases, n_codes, has_missing, where, constant, abstain, mass, signed, n, chunks,
    totals, width, per_score, histogram, best, first, missing, score_edges,
):  # fmt: skip
    """Find the best cuts of a batch of dense columns.

    IN codes, places (the columns' rows in codes), signed (flat), totals; the rest as in _scan_all.
    OUT histogram, best, first, missing, score_edges.
    """
    histogram[:] = 0
    _sum_dense(codes, places, bases, n_codes, signed, n, chunks, width, histogram)
    _scan_all(
        histogram, bases, n_codes, has_missing, where, constant, abstain, mass, chunks, totals,
        width, per_score, best, first, missing, score_edges,
    )  # fmt: skip


@kernel
def search_rows(  # type: ignore[no-untyped-def]
    codes, places, bases, n_codes, has_missing, where, constant, abstain, mass, signed, n, rows,
    chunks, totals, width, per_score, histogram, best, first, missing, score_edges,
):  # fmt: skip
    """Find the best cuts of a batch of dense columns on some rows; arguments as in search_dense."""
    histogram[:] = 0
    _sum_rows(codes, places, bases, n_codes, signed, n, rows, chunks, width, histogram)
    _scan_all(
        histogram, bases, n_codes, has_missing, where, constant, abstain, mass, chunks, totals,
        width, per_score, best, first, missing, score_edges,
    )  # fmt: skip


@kernel
def search_sparse(  # type: ignore[no-untyped-def]
    starts, rows, codes, common, column_totals, places, bases, n_codes, has_missing, where,
    constant, abstain, mass, signed, n, chunks, totals, width, per_score, histogram, best, first,
    missing, score_edges,
):  # fmt: skip
    """Find the best cuts of a batch of sparse columns; arguments as in search_dense.

    IN column_totals: the sums of all columns of S, the mass column included.
    """
    histogram[:] = 0
    _sum_sparse(
        starts, rows, codes, common, places, bases, n_codes, signed, n, chunks, column_totals,
        width, histogram,
    )  # fmt: skip
    _scan_all(
        histogram, bases, n_codes, has_missing, where, constant, abstain, mass, chunks, totals,
        width, per_score, best, first, missing, score_edges,
    )  # fmt: skip


@kernel
def search_rest(  # type: ignore[no-untyped-def]
    other, bases, n_codes, has_missing, where, constant, abstain, mass, chunks, totals, width,
    per_score, histogram, best, first, missing, score_edges,
):  # fmt: skip
    """Find the best cuts on the rows of a histogram that are not in another, by subtraction.

    IN other, and as in _scan_all. OUT histogram (which first holds all rows), best, first, missing,
    score_edges.
    """
    for at in range(len(histogram)):
        histogram[at] -= other[at]
    _scan_all(
        histogram, bases, n_codes, has_missing, where, constant, abstain, mass, chunks, totals,
        width, per_score, best, first, missing, score_edges,
    )  # fmt: skip


@kernel
def sum_codes(codes, rows, signed, n, chunks, width, n_codes, histogram):  # type: ignore[no-untyped-def]
    """Add the signed weights of all rows, or of some, to the values of one nominal column.

    IN codes, rows (empty for all), signed (flat). OUT histogram (flat; chunks, values, lanes).
    """
    lanes = 1 << (width.ndim - 1)
    for chunk in range(chunks):
        origin, base = chunk * n, chunk * n_codes * lanes
        if len(rows) == 0:
            for i in range(n):
                at = base + np.intp(codes[i]) * lanes
                add(histogram, signed, (origin + i) * lanes, at, width)
        else:
            for p in range(len(rows)):
                row = np.intp(rows[p])
                at = base + np.intp(codes[row]) * lanes
                add(histogram, signed, (origin + row) * lanes, at, width)


@kernel
def flip(start, stop, signed, signs, n, chunks, width, out, totals):  # type: ignore[no-untyped-def]
    """Multiply the signed weights of the rows from start to stop by each row's sign.

    IN signed (flat), signs. OUT out (flat), totals (int64, lane by lane, starting at 0).
    """
    lanes = 1 << (width.ndim - 1)
    for chunk in range(chunks):
        for i in range(start, stop):
            at = (chunk * n + i) * lanes
            flip_vector(out, at, signed, at, np.int64(signs[i]), totals, chunk * lanes, width)


@kernel
def sum_rows(signed, rows, n, chunks, width, totals, masses):  # type: ignore[no-untyped-def]
    """Sum the signed weights of some rows, and their sizes.

    IN signed (flat), rows. OUT totals, masses (int64, lane by lane, starting at 0).
    """
    lanes = 1 << (width.ndim - 1)
    for chunk in range(chunks):
        for p in range(len(rows)):
            at = (chunk * n + np.intp(rows[p])) * lanes
            add_sums(totals, masses, chunk * lanes, signed, at, width)
