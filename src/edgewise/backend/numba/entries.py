"""Histograms of single entries of the signed weights, and the choice of heavy ones, compiled."""

import numpy as np

from edgewise.backend.numba.vectors import add_sums, flip_vector, kernel


@kernel
def sum_entries(codes, places, bases, n_codes, entries, chunks, width, histogram):  # type: ignore[no-untyped-def]
    """Sum entries of S in each bin of a batch of dense columns.

    IN entries (starts, rows, lanes, values: see host.Entries); the rest as in histogram.sum_dense.
    """
    histogram[:] = 0
    starts, rows, lane_of, values = entries
    # Unsigned numbers need no check for places counted from the end.
    lanes = np.uint64(1 << (width.ndim - 1))
    n_columns = len(places)
    for chunk in range(chunks):
        q = 0
        while q + 4 <= n_columns:
            code_a, code_b = codes[places[q]], codes[places[q + 1]]
            code_c, code_d = codes[places[q + 2]], codes[places[q + 3]]
            base_a = np.uint64(bases[q] + chunk * n_codes[q])
            base_b = np.uint64(bases[q + 1] + chunk * n_codes[q + 1])
            base_c = np.uint64(bases[q + 2] + chunk * n_codes[q + 2])
            base_d = np.uint64(bases[q + 3] + chunk * n_codes[q + 3])
            for e in range(starts[chunk], starts[chunk + 1]):
                row, lane, value = np.uint64(rows[e]), np.uint64(lane_of[e]), values[e]
                histogram[(base_a + np.uint64(code_a[row])) * lanes + lane] += value
                histogram[(base_b + np.uint64(code_b[row])) * lanes + lane] += value
                histogram[(base_c + np.uint64(code_c[row])) * lanes + lane] += value
                histogram[(base_d + np.uint64(code_d[row])) * lanes + lane] += value
            q += 4
        while q < n_columns:
            code_a, base_a = codes[places[q]], np.uint64(bases[q] + chunk * n_codes[q])
            for e in range(starts[chunk], starts[chunk + 1]):
                row, lane = np.uint64(rows[e]), np.uint64(lane_of[e])
                histogram[(base_a + np.uint64(code_a[row])) * lanes + lane] += values[e]
            q += 1


@kernel
def flip_entries(entries, signs, width, out, totals):  # type: ignore[no-untyped-def]
    """Multiply entries by their rows' signs. IN entries, signs. OUT out, totals (lane by lane)."""
    starts, rows, lane_of, values = entries
    lanes = 1 << (width.ndim - 1)
    for chunk in range(len(starts) - 1):
        for e in range(starts[chunk], starts[chunk + 1]):
            value = values[e] * signs[rows[e]]
            out[e] = value
            totals[chunk * lanes + np.intp(lane_of[e])] += value


@kernel
def gather_entries(signed, at, starts, lane_of, width, out, totals, masses):  # type: ignore[no-untyped-def]
    """Copy entries out of S and sum them.

    IN signed (flat), at (where in it the entries are), starts, lane_of. OUT out, totals and masses
    (lane by lane).
    """
    lanes = 1 << (width.ndim - 1)
    for chunk in range(len(starts) - 1):
        for e in range(starts[chunk], starts[chunk + 1]):
            value, k = signed[at[e]], chunk * lanes + np.intp(lane_of[e])
            out[e] = value
            totals[k] += value
            masses[k] += abs(value)


@kernel
def gather_rows(signed, rows, n, chunks, width, out, unused, totals, masses):  # type: ignore[no-untyped-def]
    """Copy rows of S and sum them.

    IN signed (flat), rows. OUT out (flat), totals and masses (lane by lane); unused is scratch.
    """
    lanes = 1 << (width.ndim - 1)
    for chunk in range(chunks):
        for p in range(len(rows)):
            at = (chunk * n + np.intp(rows[p])) * lanes
            to = (chunk * len(rows) + p) * lanes
            flip_vector(out, to, signed, at, np.int64(1), unused, chunk * lanes, width)
            add_sums(totals, masses, chunk * lanes, signed, at, width)


@kernel
def row_masses(signed, n, chunks, width, n_scores, out):  # type: ignore[no-untyped-def]
    """Sum the sizes of each row's signed weights. IN signed (flat). OUT out."""
    lanes = 1 << (width.ndim - 1)
    for chunk in range(chunks):
        used = min(lanes, n_scores - chunk * lanes)
        for i in range(n):
            at = (chunk * n + i) * lanes
            mass = np.int64(0)
            for k in range(used):
                mass += abs(signed[at + k])
            out[i] += mass


@kernel
def mass_from(signed, least, n, width, n_scores):  # type: ignore[no-untyped-def]
    """Return the sum of the sizes of the entries of S that are at least so large."""
    lanes = 1 << (width.ndim - 1)
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
def count_entries(signed, least, n, chunks, width, n_scores, counts):  # type: ignore[no-untyped-def]
    """Count the entries of each chunk that are at least so large. IN signed. OUT counts."""
    lanes = 1 << (width.ndim - 1)
    for chunk in range(chunks):
        used = min(lanes, n_scores - chunk * lanes)
        count = np.int64(0)
        for i in range(n):
            at = (chunk * n + i) * lanes
            for k in range(used):
                count += abs(signed[at + k]) >= least
        counts[chunk] = count


@kernel
def list_entries(signed, least, n, chunks, width, n_scores, at_entry, rows, lane_of):  # type: ignore[no-untyped-def]
    """List the entries that are at least so large. IN signed. OUT at_entry, rows, lane_of."""
    lanes = 1 << (width.ndim - 1)
    e = 0
    for chunk in range(chunks):
        used = min(lanes, n_scores - chunk * lanes)
        for i in range(n):
            at = (chunk * n + i) * lanes
            for k in range(used):
                if abs(signed[at + k]) >= least:
                    at_entry[e], rows[e], lane_of[e] = at + k, i, k
                    e += 1


@kernel
def pick_rows(rows, codes, number, out_rows, out_codes):  # type: ignore[no-untyped-def]
    """Copy the entries of a sparse column whose row has a number: see data.part.pick_rows."""
    count = 0
    for at in range(len(rows)):
        place = number[rows[at]]
        if place >= 0:
            out_rows[count], out_codes[count] = place, codes[at]
            count += 1
    return count
