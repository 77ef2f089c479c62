"""Parts of the signed weights: some rows, or some (row, score column) entries, compiled."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgewise.backend.base import Part
from edgewise.backend.host import Entries, SignedProblem, aligned_zeros
from edgewise.backend.numba.vectors import add_sums, flip_vector, kernel
from edgewise.backend.reference.engine import constraints_of, summed
from edgewise.common.dtypes import ROW, Columns, Integers, Reals, Rows, Signs

if TYPE_CHECKING:
    from edgewise.backend.numba.engine import NumbaBackend


class RowPart(Part[SignedProblem]):
    """Some rows: their vectors of signed weights, one after the other."""

    _signed: Integers | None = None

    def gather(self, problem: SignedProblem, factors: Reals | None = None) -> SignedProblem:
        chunks, n, lanes = problem.shape
        if self._signed is None:
            shape = (chunks, len(self.rows), lanes)
            self._signed = aligned_zeros(shape, problem.signed.dtype.type)
        signed = self._signed
        sums = np.zeros((3, chunks * lanes), dtype=np.int64)
        gather_rows(
            problem.flat_signed, self.rows, n, chunks, problem.width, signed.reshape(-1), *sums
        )
        totals, masses = sums[1:, : problem.n_scores]
        weights = constraints_of(problem, self.rows)
        if factors is not None:
            return summed(signed, problem, weights, factors)
        return SignedProblem.of(signed, totals, masses, None, problem.mass_column, weights)


class EntryPart(Part[SignedProblem]):
    """Some entries, listed by row, lane and signed weight.

    `rows` are the rows that have any, `at` their places in S (flat), `entries` their layout. All
    columns of the backend are dense.
    """

    def __init__(self, backend: "NumbaBackend", rows: Rows, at: Columns, entries: Entries) -> None:
        super().__init__(backend, rows, len(at))
        self._at = at
        self._entries = entries

    def gather(self, problem: SignedProblem, factors: Reals | None = None) -> SignedProblem:
        chunks, _, lanes = problem.shape
        form = self._entries
        values = np.empty(len(form.rows), dtype=problem.signed.dtype)
        sums = np.zeros((2, chunks * lanes), dtype=np.int64)
        gather_entries(problem.flat_signed, self._at, form.starts, form.lanes, lanes, values, *sums)
        totals, masses = sums[:, : problem.n_scores]
        if problem.mass_column:
            form = _with_masses(form, values, problem.n_scores)
            values = form.values
        entries = Entries(form.shape, form.starts, form.rows, form.lanes, values)
        n_rows = form.shape[1]
        return SignedProblem(
            n_rows, n_rows, totals, masses, problem.mass_column,
            constraints_of(problem, self.rows), signed=values, entries=entries,
        )  # fmt: skip


def select_entries(backend: "NumbaBackend", problem: SignedProblem, least: int) -> EntryPart:
    """Return the part of the entries of S that are at least `least`."""
    chunks, n, lanes = problem.shape
    place = (n, chunks, lanes, problem.n_scores)
    counts = np.zeros(chunks, dtype=np.int64)
    count_entries(problem.flat_signed, least, *place, counts)
    size = int(counts.sum())
    at, rows = np.empty(size, dtype=np.int64), np.empty(size, dtype=ROW)
    lane_of = np.empty(size, dtype=np.uint8)
    list_entries(problem.flat_signed, least, *place, at, rows, lane_of)
    chosen = np.zeros(n, dtype=bool)
    chosen[rows] = True
    taken = np.flatnonzero(chosen).astype(ROW)
    number = np.zeros(n, dtype=ROW)
    number[taken] = np.arange(len(taken), dtype=ROW)
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.intp)
    shape = (chunks, len(taken), lanes)
    nothing = np.empty(0, dtype=problem.signed.dtype)
    entries = Entries(shape, starts, number[rows], lane_of, nothing)
    return EntryPart(backend.restricted(taken, all_dense=True), taken, at, entries)


def flip_entries(problem: SignedProblem, signs: Signs) -> SignedProblem:
    """Return the problem with each entry multiplied by its row's sign."""
    form = problem.entries
    assert form is not None
    chunks, _, lanes = problem.shape
    values, totals = np.empty_like(form.values), np.zeros(chunks * lanes, dtype=np.int64)
    multiply_entries(form.arrays, signs, lanes, values, totals)
    entries = replace(form, values=values)
    masses = problem.signed_masses
    if not signs.all():
        masses = entries.sums(problem.n_scores)[1]
    return replace(
        problem,
        signed=values,
        signed_totals=totals[: problem.n_scores],
        signed_masses=masses,
        entries=entries,
        kept=None,
        split_from=None,
    )


def entries_within(backend: "NumbaBackend", problem: SignedProblem, rows: Rows) -> SignedProblem:
    """Return the problem of some of the rows."""
    assert problem.entries is not None
    entries, weights = problem.entries.of_rows(rows), problem.constraints
    totals, masses = entries.sums(problem.n_scores)
    return replace(
        problem,
        size=len(rows),
        signed=entries.values,
        signed_totals=totals,
        signed_masses=masses,
        constraints=None if weights is None else backend.within(weights, rows),  # type: ignore[arg-type]
        rows=rows,
        entries=entries,
        kept=None,
        split_from=None,
    )


def _with_masses(entries: Entries, values: np.ndarray, n_scores: int) -> Entries:
    """Return the entries with one more for each row, its mass."""
    _, n_rows, lanes = entries.shape
    masses = np.zeros(n_rows, dtype=np.int64)
    np.add.at(masses, entries.rows, np.abs(values))
    # The mass column is in the last chunk, whose entries it follows.
    rows = np.concatenate([entries.rows, np.arange(n_rows, dtype=ROW)])
    lane = np.full(n_rows, n_scores % lanes, dtype=np.uint8)
    starts = entries.starts.copy()
    starts[-1] += n_rows
    return Entries(
        entries.shape,
        starts,
        rows,
        np.concatenate([entries.lanes, lane]),
        np.concatenate([values, masses.astype(values.dtype)]),
    )


@kernel
def sum_entries(codes, places, bases, n_codes, entries, chunks, lanes, histogram):  # type: ignore[no-untyped-def]
    """Sum entries (see host.Entries) in each bin of a batch of dense columns. OUT histogram."""
    histogram[:] = 0
    starts, rows, lane_of, values = entries
    # Unsigned numbers need no check for places counted from the end.
    wide = np.uint64(lanes)
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
                histogram[(base_a + np.uint64(code_a[row])) * wide + lane] += value
                histogram[(base_b + np.uint64(code_b[row])) * wide + lane] += value
                histogram[(base_c + np.uint64(code_c[row])) * wide + lane] += value
                histogram[(base_d + np.uint64(code_d[row])) * wide + lane] += value
            q += 4
        while q < n_columns:
            code_a, base_a = codes[places[q]], np.uint64(bases[q] + chunk * n_codes[q])
            for e in range(starts[chunk], starts[chunk + 1]):
                row, lane = np.uint64(rows[e]), np.uint64(lane_of[e])
                histogram[(base_a + np.uint64(code_a[row])) * wide + lane] += values[e]
            q += 1


@kernel
def multiply_entries(entries, signs, lanes, out, totals):  # type: ignore[no-untyped-def]
    """Multiply entries by their rows' signs. IN entries, signs. OUT out, totals (lane by lane)."""
    starts, rows, lane_of, values = entries
    for chunk in range(len(starts) - 1):
        for e in range(starts[chunk], starts[chunk + 1]):
            value = values[e] * signs[rows[e]]
            out[e] = value
            totals[chunk * lanes + np.intp(lane_of[e])] += value


@kernel
def gather_entries(signed, at, starts, lane_of, lanes, out, totals, masses):  # type: ignore[no-untyped-def]
    """Copy entries of S and sum them. IN signed, at, starts, lane_of. OUT out, totals, masses."""
    for chunk in range(len(starts) - 1):
        for e in range(starts[chunk], starts[chunk + 1]):
            value, k = signed[at[e]], chunk * lanes + np.intp(lane_of[e])
            out[e] = value
            totals[k] += value
            masses[k] += abs(value)


@kernel
def gather_rows(signed, rows, n, chunks, width, out, unused, totals, masses):  # type: ignore[no-untyped-def]
    """Copy rows of S and sum them. IN signed, rows. OUT out, totals, masses; unused is scratch."""
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
def count_entries(signed, least, n, chunks, lanes, n_scores, counts):  # type: ignore[no-untyped-def]
    """Count the entries of each chunk that are at least `least`. IN signed. OUT counts."""
    for chunk in range(chunks):
        used = min(lanes, n_scores - chunk * lanes)
        count = np.int64(0)
        for i in range(n):
            at = (chunk * n + i) * lanes
            for k in range(used):
                count += abs(signed[at + k]) >= least
        counts[chunk] = count


@kernel
def list_entries(signed, least, n, chunks, lanes, n_scores, at_entry, rows, lane_of):  # type: ignore[no-untyped-def]
    """List the entries that are at least `least`. IN signed. OUT at_entry, rows, lane_of."""
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
