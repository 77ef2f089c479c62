"""Parts of the signed weights for the compiled backend."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgewise.backend.base import Part
from edgewise.backend.host import Entries, SignedProblem, aligned_zeros
from edgewise.backend.numba import entries as compiled
from edgewise.backend.reference.engine import row_masses_of, summed
from edgewise.common.dtypes import ROW, Columns, Integers, Reals, Rows, Signs

if TYPE_CHECKING:
    from edgewise.backend.numba.engine import NumbaBackend


class RowPart(Part[SignedProblem]):
    """Some rows: their vectors of signed weights, one after the other."""

    def __init__(self, backend: "NumbaBackend", rows: Rows) -> None:
        self.backend = backend
        self.rows = rows
        self.size = len(rows)
        self._signed: Integers | None = None

    def gather(self, problem: SignedProblem, factors: Reals | None = None) -> SignedProblem:
        """Return the part's share of a problem of all rows, as it is now."""
        chunks, n, lanes = problem.shape
        if self._signed is None:
            shape = (chunks, len(self.rows), lanes)
            self._signed = aligned_zeros(shape, problem.signed.dtype.type)
        signed = self._signed
        sums = np.zeros((3, chunks * lanes), dtype=np.int64)
        compiled.gather_rows(
            problem.flat_signed, self.rows, n, chunks, problem.width, signed.reshape(-1), *sums
        )
        totals, masses = sums[1:, : problem.n_scores]
        weights = row_masses_of(problem, self.rows)
        if factors is not None:
            return summed(signed, problem, weights, factors)
        return SignedProblem.of(signed, totals, masses, None, problem.mass_column, weights)


class EntryPart(Part[SignedProblem]):
    """Some entries: a list of rows, score columns and signed weights.

    Parameters
    ----------
    backend : NumbaBackend
        The backend of these rows, all of whose columns are dense.
    rows : int32 array
        The rows that have any of the entries.
    at : int64 array
        Where in S the entries are, as a flat array.
    entries : Entries
        The entries, without their values.
    """

    def __init__(self, backend: "NumbaBackend", rows: Rows, at: Columns, entries: Entries) -> None:
        self.backend = backend
        self.rows = rows
        self.size = len(at)
        self._at = at
        self._entries = entries

    def gather(self, problem: SignedProblem, factors: Reals | None = None) -> SignedProblem:
        """Return the part's share of a problem of all rows, as it is now."""
        chunks, _, lanes = problem.shape
        form = self._entries
        values = np.empty(len(form.rows), dtype=problem.signed.dtype)
        sums = np.zeros((2, chunks * lanes), dtype=np.int64)
        compiled.gather_entries(
            problem.flat_signed, self._at, form.starts, form.lanes, problem.width, values, *sums
        )
        totals, masses = sums[:, : problem.n_scores]
        if problem.mass_column:
            form = _with_masses(form, values, problem.n_scores)
            values = form.values
        entries = Entries(form.shape, form.starts, form.rows, form.lanes, values)
        n_rows = form.shape[1]
        return SignedProblem(
            n_rows, n_rows, totals, masses, problem.mass_column,
            row_masses_of(problem, self.rows), signed=values, entries=entries,
        )  # fmt: skip


def heavy_entries(backend: "NumbaBackend", problem: SignedProblem, least: int) -> EntryPart:
    """Return the part of the entries of S that are at least so large."""
    chunks, n, lanes = problem.shape
    place = (n, chunks, problem.width, problem.n_scores)
    counts = np.zeros(chunks, dtype=np.int64)
    compiled.count_entries(problem.flat_signed, least, *place, counts)
    size = int(counts.sum())
    at, rows = np.empty(size, dtype=np.int64), np.empty(size, dtype=ROW)
    lane_of = np.empty(size, dtype=np.uint8)
    compiled.list_entries(problem.flat_signed, least, *place, at, rows, lane_of)
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
    compiled.flip_entries(form.arrays, signs, problem.width, values, totals)
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
    entries, weights = problem.entries.of_rows(rows), problem.row_masses
    totals, masses = entries.sums(problem.n_scores)
    return replace(
        problem,
        size=len(rows),
        signed=entries.values,
        signed_totals=totals,
        signed_masses=masses,
        row_masses=None if weights is None else backend.within(weights, rows),  # type: ignore[arg-type]
        rows=rows,
        entries=entries,
        kept=None,
        split_from=None,
    )


def _with_masses(entries: Entries, values: np.ndarray, n_scores: int) -> Entries:
    """Return the entries with one more for each row, in the mass column: the sum of its sizes."""
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
