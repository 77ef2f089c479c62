"""The backend in NumPy: what each computes, in the fewest words.

Small problems are trained with these, so that nothing is compiled; large ones with their compiled
twins, which return the same integers and so the same model.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.backend.arithmetic import ENERGY_SCALE, SEARCH_SCALE, exp, fixed
from edgewise.backend.base import (
    LEARN,
    Bounds,
    Candidates,
    Edges,
    InitialWeights,
    Part,
    Problem,
    RealStep,
    State,
    Step,
    Tally,
    gains,
)
from edgewise.common.dtypes import ROW, Columns, Exacts, Reals, Rows, Signs
from edgewise.data import BinnedTable
from edgewise.data.part import PartStore


class ReferenceBackend:
    """The backend of one training table, in NumPy."""

    name = "numpy"

    def __init__(self, table: BinnedTable) -> None:
        self.table = table
        sizes = [b.n_codes for b in table.bins]
        self.starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)
        self._plans: dict[bytes, _ScanPlan] = {}

    def histogram(self, columns: Columns, problem: Problem, mass: bool = False) -> Exacts:
        """Return the sums of S over the rows of each bin, for each score column.

        The bins of the columns follow each other; each column's missing bin comes last.
        """
        rows = self._plan(columns).bin_rows
        members = self._members if len(rows) == self.starts[-1] else self._members[rows]
        return members @ unpacked(problem, mass)

    def search(
        self,
        columns: Columns,
        problem: Problem,
        per_score: bool = False,
        score_edges: bool = False,
        constant: bool = True,
        absent: int = LEARN,
        gain: bool = False,
        bounds: Bounds | None = None,
    ) -> Candidates:
        """Return the best cut of each column, by edge or by gain."""
        plan = self._plan(columns)
        histogram = self.histogram(columns, problem, gain)
        totals = problem.signed_totals
        if gain:
            totals = np.append(totals, problem.signed_masses.sum())
            constant = False
        edges = plan.edges(histogram, totals, absent)
        if gain:
            sizes = _cut_gains(edges, totals)
            edges = edges[..., :-1]
        else:
            sizes = np.abs(edges) if per_score else np.abs(edges).sum(axis=-1)
        if bounds is not None:
            sizes = np.where(plan.within(edges[..., 0], bounds, absent), sizes, -1)
        best, place = plan.best(sizes, constant, absent)
        first, missing = plan.cut(place, absent)
        at_best = edges.reshape(-1, edges.shape[-1])[place] if score_edges else None
        return Candidates(columns, best, first, missing, at_best)

    def histograms(self, columns: Columns, problem: Problem, mass: bool = False) -> Exacts:
        """Return the sums of S over the rows of each value of some categorical columns.

        Of shape (values, K), with `mass` (values, K + 1); the values of the columns follow each
        other.
        """
        return self.histogram(columns, problem, mass)

    def flip(self, problem: Problem, signs: Signs) -> Problem:
        """Return the problem with each row's weights multiplied by its sign: virtual labels."""
        flipped = Problem(
            problem.signed * signs[None, :, None],
            problem.signed_totals,
            problem.signed_masses,
            mass_column=problem.mass_column,
        )
        rows = problem.rows if problem.rows is not None else np.flatnonzero(signs).astype(ROW)
        within = self.within(flipped, rows)
        return within if len(rows) < problem.n_rows else replace(within, rows=None)

    def within(self, problem: Problem, rows: Rows) -> Problem:
        """Return the problem on some of the rows."""
        part = Problem(problem.signed, problem.signed_totals, problem.signed_masses, rows)
        signed = unpacked(part)
        totals, masses = signed.sum(axis=0), np.abs(signed).sum(axis=0)
        return Problem(problem.signed, totals, masses, rows, mass_column=problem.mass_column)

    def cut_rows(self, rows: Rows | None, j: int, first: int, missing: int) -> None:
        """Nothing is quicker than to look at the cut of all rows."""

    def release(self, problem: Problem) -> None:
        """Nothing to take back: for symmetry with the compiled backend."""

    def over(self, table: BinnedTable) -> "ReferenceBackend":
        """Return the backend of another table with the same rows."""
        return ReferenceBackend(table)

    def restricted(self, rows: Rows) -> "ReferenceBackend":
        """Return the backend of some rows."""
        part = ReferenceBackend(PartStore(self.table).take(rows))
        part.__dict__["_members"] = self._members[:, rows]
        return part

    def row_masses(self, problem: Problem) -> Exacts:
        """Return the sum of the sizes of each row's signed weights."""
        return row_sizes(problem)

    def mass_from(self, problem: Problem, least: int) -> int:
        """Return the sum of the sizes of the signed weights that are at least so large."""
        heavy = problem.signed[heavy_entries(problem, least)]
        return int(np.abs(heavy.astype(np.int64)).sum())

    def part_of_rows(self, rows: Rows) -> Part:
        """Return the part of some rows."""
        return TwinPart(self.restricted(rows), rows)

    def part_of_entries(self, problem: Problem, least: int) -> Part:
        """Return the part of the entries whose signed weights are at least so large."""
        heavy = heavy_entries(problem, least)
        rows = np.flatnonzero(heavy.any(axis=(0, 2))).astype(ROW)
        return TwinPart(self.restricted(rows), rows, heavy[:, rows])

    def edges(self, state: State, signs: Signs) -> Edges:
        """Return the edges of a cut; `signs` has shape (1, n), or (K, n) with a cut for each."""
        exact = fixed(state.weights)
        edges = (exact * state.labels * signs).sum(axis=1)
        masses = (exact * (signs != 0)).sum(axis=1)
        return Edges(edges, masses, sum(exact.sum(axis=1).tolist()))

    def advance(self, state: State, signs: Signs, step: Step) -> Tally:
        """Take the step: update weights, scores and quantised weights; count errors."""
        pseudo = int(_pseudo_weights(state, step.votes).sum()) if len(signs) == 1 else -1
        agreement = state.labels * signs
        factors = np.where(agreement > 0, step.agree[:, None], step.against[:, None])
        factors[agreement == 0] = step.rest
        state.weights *= factors
        state.scores += signs * step.coefficients[:, None]
        _quantise(state)
        wrong = (state.scores > 0) != (state.labels > 0)
        by_label = [(wrong & (state.labels == y)) @ state.row_mass for y in (-1, 1)]
        wrong_rows = state.row_mass[_wrong_rows(state, wrong)].sum()
        return Tally(pseudo, int(wrong_rows), np.array(by_label))

    def reweigh(
        self, state: State, outputs: Signs | Reals, step: RealStep, initial: InitialWeights
    ) -> tuple[int, int]:
        """Move the scores and compute the weights from them, not yet normalised.

        Return the sums, in fixed point, of the weights and of ``| sum over l of w y v |`` before
        the step.
        """
        pseudo = int(_pseudo_weights(state, step.votes).sum())
        state.scores += outputs * step.coefficients[:, None]
        rows = initial.matrix if len(initial.matrix) else initial.rows
        low, high = initial.by_label[:, :, None]
        start = rows * np.where(state.labels > 0, high, low)
        margins = np.where(state.labels > 0, state.scores, -state.scores)
        if step.logistic:
            state.weights[:] = start / (1.0 + exp(margins))
        else:
            state.weights[:] = start * exp(step.shift - margins)
        return int(np.rint(state.weights * step.unit).astype(np.int64).sum()), pseudo

    def energy(self, state: State, outputs: Signs | Reals, coefficients: Reals) -> float:
        """Return Z of a real-valued base function: the sum of w exp(-y h)."""
        h = outputs * coefficients[:, None]
        grown = state.weights * exp(np.where(state.labels > 0, -h, h))
        return int(np.rint(grown * ENERGY_SCALE).astype(np.int64).sum()) / ENERGY_SCALE

    def spread(self, run: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        """Return what `run` gives for each part."""
        return [run(part) for part in parts]

    def row_parts(self, n_rows: int) -> int:
        """Return into how many parts so many rows are worth cutting."""
        return 1

    def close(self) -> None:
        """Nothing to end: for symmetry with the compiled backend."""

    @cached_property
    def _members(self) -> sparse.csr_matrix:
        """Return the 0/1 matrix of (bin, row) membership."""
        keys = [
            self.table.codes(j).astype(np.intp) + self.starts[j]
            for j in range(self.table.n_columns)
        ]
        n_columns, n_rows = self.table.n_columns, self.table.n_rows
        rows = np.tile(np.arange(n_rows), n_columns)
        ones = np.ones(n_rows * n_columns, dtype=np.int64)
        shape = (self.starts[-1], n_rows)
        return sparse.csr_matrix((ones, (np.concatenate(keys), rows)), shape=shape)

    def _plan(self, columns: Columns) -> "_ScanPlan":
        key = columns.tobytes()
        if key not in self._plans:
            if len(self._plans) > 1:
                self._plans.clear()
            self._plans[key] = _ScanPlan(self.table, columns, self.starts)
        return self._plans[key]


class _ScanPlan:
    """Where in the joined histogram of some columns each candidate cut stands."""

    def __init__(self, table: BinnedTable, columns: Columns, starts: Columns) -> None:
        bins = [table.bins[j] for j in columns]
        sizes = np.array([b.n_codes for b in bins], dtype=np.intp)
        self.offsets = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.intp)
        self.bin_rows = np.concatenate(
            [np.arange(starts[j], starts[j + 1]) for j in columns] or [np.empty(0, np.intp)]
        ).astype(np.intp)
        self.column_of = np.repeat(np.arange(len(bins)), sizes)
        self.first_of = np.arange(len(self.bin_rows)) - self.offsets[self.column_of]
        has_missing = np.array([b.has_missing for b in bins], dtype=bool)
        self.any_missing = bool(has_missing.any())
        self.missing_rows = (self.offsets + sizes - 1)[has_missing]
        self.missing_columns = np.flatnonzero(has_missing)
        self.cuts_missing = has_missing[self.column_of]
        # The missing bin itself is no place for a threshold.
        self.is_cut = np.ones(len(self.bin_rows), dtype=bool)
        self.is_cut[self.missing_rows] = False

    def edges(self, histogram: Exacts, totals: Exacts, absent: int) -> Exacts:
        """Return the score columns' edges of every cut, with missing values on either side.

        Shape (bins, 2, K): at [b, 0] the values below bin b are on the negative side; at [b, 1]
        the missing values are too. Where the side of missing values is given, shape (bins, 1, K).
        """
        below = np.cumsum(histogram, axis=0) - histogram
        below -= below[self.offsets][self.column_of]
        high = totals - 2 * below
        if not self.any_missing:
            return high[:, None, :]
        missing = np.zeros((len(self.offsets), histogram.shape[1]), dtype=histogram.dtype)
        missing[self.missing_columns] = histogram[self.missing_rows]
        if absent != LEARN:
            return (high - (1 - absent) * missing[self.column_of])[:, None, :]
        return np.stack([high, high - 2 * missing[self.column_of]], axis=1)

    def best(self, sizes: Exacts, constant: bool, absent: int) -> tuple[Exacts, Columns]:
        """Return each column's largest value and its place among the flattened cuts.

        `sizes` has shape (bins, sides) or (bins, sides, K). The lowest place wins a tie: the
        lowest threshold, then missing values on the positive side.
        """
        sides = sizes.shape[1]
        sizes = np.where(self._allowed(sides, sizes.ndim, constant, absent), sizes, -1)
        flat = sizes.reshape(-1, *sizes.shape[2:])
        best = np.maximum.reduceat(flat, self.offsets * sides, axis=0)
        owner = np.repeat(self.column_of, sides)
        place = np.arange(len(flat)).reshape(-1, *[1] * (flat.ndim - 1))
        place = np.where(flat == best[owner], place, len(flat))
        return best, np.minimum.reduceat(place, self.offsets * sides, axis=0).astype(np.intp)

    def within(self, edges: Exacts, bounds: Bounds, absent: int) -> NDArray[np.bool_]:
        """Return whether the edges of cuts, shape (bins, sides), have signs that they may have."""
        allowed = bounds.directions[self.column_of][:, None] * edges >= 0
        # At the first bin a cut tells present from missing values, which is no direction.
        allowed[self.first_of == 0] = True
        owner = np.repeat(np.arange(len(bounds.directions)), np.diff(bounds.starts))
        rows = self.offsets[owner] + bounds.firsts
        if edges.shape[1] == 2:
            sides, known = (1 - bounds.sides) // 2, bounds.sides != 0
        else:
            usual = 1 if absent == LEARN else absent
            expected = np.where(self.cuts_missing[rows], usual, 1)
            sides, known = np.zeros_like(rows), bounds.sides == expected
        at = (rows[known], sides[known])
        allowed[at] |= np.abs(edges[at]) <= bounds.limits[known]
        return allowed

    def cut(self, place: Columns, absent: int) -> tuple[Columns, Signs]:
        """Return the first bin on the positive side and the missing side at a place."""
        if absent != LEARN:
            side = np.where(self.cuts_missing[place], absent, 1).astype(np.int8)
            return self.first_of[place], side
        sides = 2 if self.any_missing else 1
        return self.first_of[place // sides], (1 - 2 * (place % sides)).astype(np.int8)

    def _allowed(self, sides: int, ndim: int, constant: bool, absent: int) -> NDArray[np.bool_]:
        allowed = np.repeat(self.is_cut[:, None], sides, axis=1)
        allowed[:, 0] &= constant | (self.first_of > 0) | (self.cuts_missing & (absent < 1))
        if sides == 2:
            allowed[:, 1] &= self.cuts_missing
        return allowed.reshape(*allowed.shape, *[1] * (ndim - 2))


def _cut_gains(edges: Exacts, totals: Exacts) -> Exacts:
    """Return the gains of cuts whose edges, and last of all that of the mass, are given.

    An edge is what is above the cut less what is below, so that half of the total and the edge is
    above. A cut with nothing on one side has no gain.
    """
    above, below = (totals + edges) // 2, (totals - edges) // 2
    both = (above[..., -1] > 0) & (below[..., -1] > 0)
    parts = [gains((part[..., :-1] ** 2).sum(axis=-1), part[..., -1]) for part in (above, below)]
    return np.where(both, parts[0] + parts[1], -1)


def unpacked(problem: Problem, mass: bool = False) -> Exacts:
    """Return S as an (n, K) matrix of int64, 0 in the rows that do not count.

    With `mass` the mass column comes last.
    """
    rows = problem.signed.transpose(1, 0, 2).reshape(problem.n_rows, -1)
    signed = rows[:, : problem.n_scores + mass].astype(np.int64)
    if problem.rows is None:
        return signed
    some = np.zeros_like(signed)
    some[problem.rows] = signed[problem.rows]
    return some


def _pseudo_weights(state: State, votes: Reals) -> Exacts:
    """Return | sum over l of w[i,l] y[i,l] v[l] | of each row."""
    pull = np.zeros(state.n_rows)
    for weights, labels, vote in zip(state.weights, state.labels, np.sign(votes), strict=True):
        pull += weights * (labels * vote)
    return fixed(np.abs(pull))


def _quantise(state: State) -> None:
    signed = np.rint(state.weights * SEARCH_SCALE).astype(np.int64) * state.labels
    state.signed_totals = signed.sum(axis=1)
    state.signed_masses = np.abs(signed).sum(axis=1)
    chunks, n, lanes = state.signed.shape
    padded = np.zeros((n, chunks * lanes), dtype=np.int64)
    padded[:, : state.n_scores] = signed.T
    if state.mass_column:
        padded[:, state.n_scores] = np.abs(signed).sum(axis=0)
    state.signed[:] = padded.reshape(n, chunks, lanes).transpose(1, 0, 2)


def _wrong_rows(state: State, wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if state.target[0] < 0:
        return np.asarray(wrong.any(axis=0))
    predicted: NDArray[np.intp] = state.scores.argmax(axis=0)
    return predicted != state.target


def score(values: Reals, thresholds: Reals, table: Reals, out: Reals) -> None:
    """Add to `out` the table row of each value; the table's last row is for missing values."""
    place = np.searchsorted(thresholds, values, side="right")
    place[np.isnan(values)] = len(thresholds) + 1
    out += table[place]


class TwinPart:
    """A part for the backend in NumPy.

    Parameters
    ----------
    backend : ReferenceBackend
        The backend of the part's table.
    rows : int32 array
        The part's rows.
    chosen : bool array of shape (chunks, rows, lanes) or None
        Which of their entries count; None is all.
    """

    def __init__(
        self, backend: "ReferenceBackend", rows: Rows, chosen: NDArray[np.bool_] | None = None
    ) -> None:
        self.backend = backend
        self.rows = rows
        self._chosen = chosen

    @property
    def size(self) -> int:
        """How many rows or entries there are."""
        return len(self.rows) if self._chosen is None else int(self._chosen.sum())

    def gather(self, problem: Problem) -> Problem:
        """Return the part's share of a problem of all rows, as it is now."""
        signed = problem.signed[:, self.rows]
        if self._chosen is not None:
            signed = np.where(self._chosen, signed, 0)
        by_row = signed.transpose(1, 0, 2).reshape(len(self.rows), -1)
        scores = by_row[:, : problem.n_scores].astype(np.int64)
        if self._chosen is not None and problem.mass_column:
            chunk, lane = divmod(problem.n_scores, signed.shape[2])
            signed[chunk, :, lane] = np.abs(scores).sum(axis=1)
        return Problem(
            signed,
            scores.sum(axis=0),
            np.abs(scores).sum(axis=0),
            mass_column=problem.mass_column,
        )


def heavy_entries(problem: Problem, least: int) -> NDArray[np.bool_]:
    """Return which entries of S are at least so large; those of the mass column never are."""
    heavy = np.abs(problem.signed) >= least
    if problem.mass_column:
        chunk, lane = divmod(problem.n_scores, problem.signed.shape[2])
        heavy[chunk, :, lane] = False
    return heavy


def row_sizes(problem: Problem) -> Exacts:
    """Return the sum of the sizes of each row's signed weights."""
    sizes = np.abs(problem.signed.astype(np.int64)).sum(axis=(0, 2))
    if problem.mass_column:
        chunk, lane = divmod(problem.n_scores, problem.signed.shape[2])
        sizes -= problem.signed[chunk, :, lane]
    return sizes
