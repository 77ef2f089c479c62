"""The compiled kernels of one training table: batches of columns and threads around them."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from queue import SimpleQueue
from typing import Any

import numpy as np

from edgewise.backend.arithmetic import ENERGY_SCALE
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
    aligned_zeros,
)
from edgewise.backend.numba import entries as on_entries
from edgewise.backend.numba import histogram as on_rows
from edgewise.backend.numba import step as updates
from edgewise.backend.numba.parts import RowPart, entries_within, flip_entries, heavy_entries
from edgewise.backend.numba.plans import Batch, Plan, Shapes
from edgewise.common.dtypes import ROW, Columns, Exacts, Integers, Reals, Rows, Signs
from edgewise.data import BinnedTable
from edgewise.data.part import PartStore

# Fewer rows than this a thread are not worth handing over.
_ROWS_A_THREAD = 4096

# Histograms larger than this are summed again rather than kept for a subtraction.
_KEPT_BYTES = 1 << 25

# How compiled code is told that no row is left out.
_ALL_ROWS = np.empty(0, dtype=ROW)


class NumbaBackend:
    """The backend of one training table, compiled, on up to `n_jobs` threads."""

    name = "numba"

    def __init__(self, table: BinnedTable, n_jobs: int = 1, shapes: Shapes | None = None) -> None:
        self.table = table
        self.n_jobs = n_jobs
        self._pool = ThreadPoolExecutor(n_jobs) if n_jobs > 1 else None
        self._shapes = Shapes(table) if shapes is None else shapes.of(table)
        self._parts: dict[int, list[tuple[int, int]]] = {}
        self._plans: dict[tuple[Any, ...], Plan] = {}
        self._spare: dict[int, list[Integers]] = {}
        self._flipped: list[Integers] = []
        self._histograms: list[Integers] = []
        self._stores: dict[bool, PartStore] = {}

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
        """Return the best cut of each column."""
        self.table.ready(columns)
        plan = self._plan(columns, problem, per_score, score_edges)
        kept, other = self._kept(problem, plan)
        mass = int(problem.signed_masses.sum()) if gain else -int(problem.mass_column)
        asked = (constant, absent, mass)
        found = (plan.best, plan.first, plan.missing, plan.score_edges)

        def run(batch: Batch) -> None:
            memory = plan.histograms.get() if kept is None else kept[batch.start :]
            histogram = memory[: batch.size]
            chunks, n, _ = problem.shape
            shape = (batch.bases, batch.n_codes, batch.has_missing, batch.where, asked, bounds)
            sums = (chunks, problem.signed_totals, problem.width, per_score, histogram, *found)
            if other is not None:
                part = other[batch.start : batch.start + batch.size]
                on_rows.search_rest(part, *shape, *sums)
            elif problem.entries is not None:
                stored = (*batch.codes, batch.places)
                on_entries.search_entries(*stored, *shape, problem.entries.arrays, *sums)
            elif batch.sparse:
                stored = (*batch.codes, problem.column_totals, batch.places)
                signed = (problem.flat_signed, n, problem.member)
                on_rows.search_sparse(*stored, *shape, *signed, *sums)
            elif problem.rows is not None:
                stored = (*batch.codes, batch.places)
                on_rows.search_rows(*stored, *shape, problem.flat_signed, n, problem.rows, *sums)
            else:
                stored = (*batch.codes, batch.places)
                on_rows.search_dense(*stored, *shape, problem.flat_signed, n, *sums)
            if kept is None:
                plan.histograms.put(memory)

        if any(batch.sparse for batch in plan.batches) and other is None:
            _ = problem.member  # made once, before the threads ask for it
        self.spread(run, plan.batches)
        return plan.candidates

    def _kept(self, problem: Problem, plan: Plan) -> tuple[Integers | None, Integers | None]:
        """Return the memory for histograms to keep, and the histograms to subtract from it.

        Where the other part's are known, the memory is that of the whole, which is used up.
        """
        if problem.kept is None or plan.size * problem.signed.itemsize > _KEPT_BYTES:
            return None, None
        other = None
        if problem.split_from is not None:
            whole, part = problem.split_from
            if whole.kept and part.kept and plan.key in whole.kept and plan.key in part.kept:
                other = part.kept[plan.key]
                problem.kept[plan.key] = whole.kept.pop(plan.key)
        if other is None:
            spare = self._spare.setdefault(plan.size, [])
            problem.kept[plan.key] = (
                spare.pop() if spare else aligned_zeros((plan.size,), problem.signed.dtype.type)
            )
        return problem.kept[plan.key], other

    def release(self, problem: Problem) -> None:
        """Take back the memory of a problem that is no longer needed."""
        for histograms in (problem.kept or {}).values():
            self._spare.setdefault(len(histograms), []).append(histograms)
        problem.kept = None
        if problem.borrowed:
            self._flipped.append(problem.signed)
            problem.borrowed = False

    def histograms(self, columns: Columns, problem: Problem, mass: bool = False) -> Exacts:
        """Return the sums of S over the rows of each value of some categorical columns.

        Of shape (values, K), with `mass` (values, K + 1); the values of the columns follow each
        other.
        """
        self.table.ready(columns)
        chunks, n, lanes = problem.shape
        rows = problem.rows if problem.rows is not None else _ALL_ROWS
        sizes = [self.table.bins[j].n_codes for j in columns]
        flat = [np.zeros(chunks * size * lanes, dtype=problem.signed.dtype) for size in sizes]
        places = self.table.categorical.place(columns)

        def run(q: int) -> None:
            if problem.rows is not None and len(problem.rows) == 0:
                return
            codes = self.table.categorical.codes[places[q]]
            if problem.entries is not None:
                entries = problem.entries.arrays
                on_entries.sum_code_entries(
                    codes, entries, chunks, problem.width, sizes[q], flat[q]
                )
                return
            on_rows.sum_codes(
                codes, rows, problem.flat_signed, n, chunks, problem.width, sizes[q], flat[q]
            )

        self.spread(run, range(len(sizes)))
        shaped = [part.reshape(chunks, size, lanes) for part, size in zip(flat, sizes, strict=True)]
        by_value = [part.transpose(1, 0, 2).reshape(part.shape[1], -1) for part in shaped]
        return np.concatenate(by_value)[:, : problem.n_scores + mass].astype(np.int64)

    def flip(self, problem: Problem, signs: Signs) -> Problem:
        """Return the problem with each row's weights multiplied by its sign: virtual labels."""
        if problem.entries is not None:
            return flip_entries(problem, signs)
        chunks, n, lanes = problem.signed.shape
        out = (
            self._flipped.pop()
            if self._flipped
            else aligned_zeros(problem.signed.shape, problem.signed.dtype.type)
        )
        spans = self._spans(n)
        sums = np.zeros((len(spans), chunks * lanes), dtype=np.int64)

        def run(part: int) -> None:
            on_rows.flip(
                *spans[part], problem.flat_signed, signs, n, chunks, problem.width,
                out.reshape(-1), sums[part],
            )  # fmt: skip

        self.spread(run, range(len(spans)))
        totals = _total(sums)[: problem.n_scores]
        flipped = Problem(out, totals, problem.signed_masses, mass_column=problem.mass_column)
        if problem.rows is not None or not signs.all():
            rows = problem.rows if problem.rows is not None else np.flatnonzero(signs).astype(ROW)
            flipped = self.within(flipped, rows)
        flipped.borrowed = True
        return flipped

    def within(self, problem: Problem, rows: Rows) -> Problem:
        """Return the problem on some of the rows."""
        if problem.entries is not None:
            return entries_within(problem, rows)
        chunks, n, lanes = problem.signed.shape
        sums = np.zeros((2, chunks * lanes), dtype=np.int64)
        on_rows.sum_rows(problem.flat_signed, rows, n, chunks, problem.width, sums[0], sums[1])
        totals, masses = sums[:, : problem.n_scores]
        return Problem(problem.signed, totals, masses, rows, mass_column=problem.mass_column)

    def over(self, table: BinnedTable, shapes: Shapes | None = None) -> "NumbaBackend":
        """Return the backend of another table, on the same threads."""
        other = NumbaBackend(table, 1, shapes)
        other.n_jobs, other._pool = self.n_jobs, self._pool
        other._histograms = self._histograms
        return other

    def restricted(self, rows: Rows, all_dense: bool = False) -> "NumbaBackend":
        """Return the backend of some rows; those that were returned before are gone."""
        if all_dense not in self._stores:
            self._stores = {all_dense: PartStore(self.table, on_entries.pick_rows, all_dense)}
        return self.over(self._stores[all_dense].take(rows), self._shapes)

    def row_masses(self, problem: Problem) -> Exacts:
        """Return the sum of the sizes of each row's signed weights."""
        chunks, n, _ = problem.shape
        masses = np.zeros(n, dtype=np.int64)
        on_entries.row_masses(
            problem.flat_signed, n, chunks, problem.width, problem.n_scores, masses
        )
        return masses

    def mass_from(self, problem: Problem, least: int) -> int:
        """Return the sum of the sizes of the signed weights that are at least so large."""
        _, n, _ = problem.shape
        return int(
            on_entries.mass_from(problem.flat_signed, least, n, problem.width, problem.n_scores)
        )

    def part_of_rows(self, rows: Rows) -> Part:
        """Return the part of some rows."""
        return RowPart(self.restricted(rows), rows)

    def part_of_entries(self, problem: Problem, least: int) -> Part:
        """Return the part of the entries whose signed weights are at least so large."""
        return heavy_entries(self, problem, least)

    def cut_rows(
        self, rows: Rows | None, j: int, first: int, missing: int
    ) -> tuple[Rows, Rows] | None:
        """Return those of some rows that are below a cut of column `j`, and those above."""
        self.table.ready(np.array([j]))
        place = int(self.table.place[j])
        if place < 0:
            return None
        if rows is None:
            rows = np.arange(self.table.n_rows, dtype=ROW)
        codes, gone = self.table.dense.codes[place], self.table.bins[j].missing_code
        low, high = np.empty_like(rows), np.empty_like(rows)
        n_low, n_high = on_rows.cut_rows(codes, rows, first, missing, gone, low, high)
        return low[:n_low], high[:n_high]

    def edges(self, state: State, signs: Signs) -> Edges:
        """Return the edges of a cut; `signs` has shape (1, n), or (K, n) with a cut for each."""
        spans = self._spans(state.n_rows)
        sums = np.empty((len(spans), 3, state.n_scores), dtype=np.int64)

        def run(part: int) -> None:
            updates.sum_edges(*spans[part], state.weights, state.labels, signs, sums[part])

        self.spread(run, range(len(spans)))
        edges, masses, idle = _total(sums)
        return Edges(edges, masses - idle, sum(masses.tolist()))

    def advance(self, state: State, signs: Signs, step: Step) -> Tally:
        """Take the step: update weights, scores and quantised weights; count errors."""
        spans = self._spans(state.n_rows)
        sums = np.zeros((len(spans), 4, state.n_scores), dtype=np.int64)

        def run(part: int) -> tuple[int, int]:
            return updates.advance(
                *spans[part], state.labels, state.target, state.row_mass, state.equal_mass, signs,
                step.agree, step.against, step.rest, step.coefficients, step.votes, state.width,
                state.mass_column, state.weights, state.scores, state.flat_signed, sums[part],
            )  # fmt: skip

        counts = self.spread(run, range(len(spans)))
        total = _total(sums)
        state.signed_totals, state.signed_masses = total[0], total[1]
        pseudo = sum(count[0] for count in counts) if len(signs) == 1 else -1
        return Tally(pseudo, sum(count[1] for count in counts), total[2:])

    def reweigh(
        self, state: State, outputs: Signs | Reals, step: RealStep, initial: InitialWeights
    ) -> tuple[int, int]:
        """Move the scores and compute the weights from them, not yet normalised.

        Return the sums, in fixed point, of the weights and of ``| sum over l of w y v |`` before
        the step.
        """
        spans = self._spans(state.n_rows)

        def run(part: int) -> tuple[int, int]:
            return updates.reweigh(
                *spans[part], state.labels, outputs, step.coefficients, step.votes, *initial,
                step.logistic, step.shift, step.unit, state.weights, state.scores,
            )  # fmt: skip

        sums = self.spread(run, range(len(spans)))
        return sum(part[0] for part in sums), sum(part[1] for part in sums)

    def energy(self, state: State, outputs: Signs | Reals, coefficients: Reals) -> float:
        """Return Z of a real-valued base function: the sum of w exp(-y h)."""
        spans = self._spans(state.n_rows)

        def run(part: int) -> int:
            return updates.sum_energy(
                *spans[part], state.weights, state.labels, outputs, coefficients
            )

        return sum(self.spread(run, range(len(spans)))) / ENERGY_SCALE

    def row_parts(self, n_rows: int) -> int:
        """Return into how many parts so many rows are worth cutting."""
        return len(self._spans(n_rows))

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def _spans(self, n_rows: int) -> list[tuple[int, int]]:
        """Return the rows that each thread takes."""
        if n_rows not in self._parts:
            parts = max(1, min(self.n_jobs, n_rows // _ROWS_A_THREAD))
            bounds = np.linspace(0, n_rows, parts + 1).astype(int).tolist()
            self._parts[n_rows] = list(pairwise(bounds))
        return self._parts[n_rows]

    def spread(self, run: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        """Return what `run` gives for each part, on as many threads as there are."""
        if len(parts) == 1:
            return [run(parts[0])]
        if self._pool is None:
            return [run(part) for part in parts]
        return list(self._pool.map(run, parts))

    def _plan(self, columns: Columns, problem: Problem, per_score: bool, score_edges: bool) -> Plan:
        key = (columns.tobytes(), problem.shape[::2], per_score, score_edges)
        if key not in self._plans:
            self._plans.clear()
            batches = self._shapes.batches(columns, problem, self.n_jobs)
            largest = max(batch.size for batch in batches)
            histograms: SimpleQueue[Integers] = SimpleQueue()
            for memory in self._scratch(largest, min(self.n_jobs, len(batches)), problem):
                histograms.put(memory)
            self._plans[key] = Plan(
                key, columns, problem.n_scores, per_score, score_edges, batches, histograms
            )
        return self._plans[key]

    def _scratch(self, size: int, count: int, problem: Problem) -> list[Integers]:
        """Return memory for histograms, one for each thread; the same for every plan."""
        held, dtype = self._histograms, problem.signed.dtype
        if held and (held[0].dtype != dtype or len(held[0]) < size):
            held.clear()
        while len(held) < count:
            held.append(aligned_zeros((max([size, *map(len, held)]),), dtype.type))
        return held[:count]


def _total(sums: Exacts) -> Exacts:
    """Return the sum over the threads' parts."""
    return sums[0] if len(sums) == 1 else sums.sum(axis=0)
