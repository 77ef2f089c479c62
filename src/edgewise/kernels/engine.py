"""The compiled kernels of one training table: batches of columns and threads around them."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.data import BinnedTable
from edgewise.dtypes import Columns, Exacts, Integers, Signs
from edgewise.kernels import compiled
from edgewise.kernels.state import Candidates, Edges, State, Step, Tally, aligned_zeros

# A batch's histograms stay in a core's own cache beside a block of signed weights.
_BATCH_BYTES = 1 << 20

# Fewer rows than this a thread are not worth handing over.
_ROWS_A_THREAD = 4096


class CompiledKernels:
    """The kernels of one training table, compiled, on up to `n_jobs` threads."""

    name = "numba"

    def __init__(self, table: BinnedTable, n_jobs: int = 1) -> None:
        self.table = table
        self.n_jobs = n_jobs
        self._pool = ThreadPoolExecutor(n_jobs) if n_jobs > 1 else None
        self._n_codes = np.array([b.n_codes for b in table.bins], dtype=np.intp)
        self._has_missing = np.array([b.has_missing for b in table.bins], dtype=bool)
        self._parts: dict[int, list[tuple[int, int]]] = {}
        self._plans: dict[tuple[Any, ...], _Plan] = {}

    def search(
        self,
        columns: Columns,
        state: State,
        per_score: bool = False,
        score_edges: bool = False,
        constant: bool = True,
    ) -> Candidates:
        """Return the best cut of each column."""
        plan = self._plan(columns, state, per_score, score_edges)

        def run(batch: "_Batch") -> None:
            search = compiled.search_sparse if batch.sparse else compiled.search_dense
            histogram = plan.histograms.get()
            search(
                *batch.codes, batch.places, batch.bases, batch.n_codes, batch.has_missing,
                batch.where, constant, state.flat_signed, state.n_rows, state.signed.shape[0],
                state.signed_totals, state.width, per_score, histogram[: batch.size], plan.best,
                plan.first, plan.missing, plan.score_edges,
            )  # fmt: skip
            plan.histograms.put(histogram)

        self._map(run, plan.batches)
        return plan.candidates

    def edges(self, state: State, signs: Signs) -> Edges:
        """Return the edges of a cut; `signs` has shape (1, n), or (K, n) with a cut for each."""
        spans = self._spans(state.n_rows)
        sums = np.empty((len(spans), 3, state.n_scores), dtype=np.int64)

        def run(part: int) -> None:
            compiled.sum_edges(*spans[part], state.weights, state.labels, signs, sums[part])

        self._map(run, range(len(spans)))
        edges, masses, idle = _total(sums)
        return Edges(edges, masses - idle, sum(masses.tolist()))

    def advance(self, state: State, signs: Signs, step: Step) -> Tally:
        """Take the step: update weights, scores and quantised weights; count errors."""
        spans = self._spans(state.n_rows)
        sums = np.zeros((len(spans), 4, state.n_scores), dtype=np.int64)

        def run(part: int) -> tuple[int, int]:
            return compiled.advance(
                *spans[part], state.labels, state.target, state.row_mass, state.equal_mass, signs,
                step.agree, step.against, step.rest, step.coefficients, step.votes, state.width,
                state.weights, state.scores, state.flat_signed, sums[part],
            )  # fmt: skip

        counts = self._map(run, range(len(spans)))
        total = _total(sums)
        state.signed_totals, state.signed_masses = total[0], total[1]
        pseudo = sum(count[0] for count in counts) if len(signs) == 1 else -1
        return Tally(pseudo, sum(count[1] for count in counts), total[2:])

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

    def _map(self, run: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        if len(parts) == 1:
            return [run(parts[0])]
        if self._pool is None:
            return [run(part) for part in parts]
        return list(self._pool.map(run, parts))

    def _plan(self, columns: Columns, state: State, per_score: bool, score_edges: bool) -> "_Plan":
        key = (columns.tobytes(), state.signed.shape[::2], per_score, score_edges)
        if key not in self._plans:
            self._plans.clear()
            batches = self._batches(columns, state)
            histograms: SimpleQueue[Integers] = SimpleQueue()
            for _ in range(min(self.n_jobs, len(batches))):
                largest = max(batch.size for batch in batches)
                histograms.put(aligned_zeros((largest,), state.signed.dtype.type))
            self._plans[key] = _Plan(
                columns, state.n_scores, per_score, score_edges, batches, histograms
            )
        return self._plans[key]

    def _batches(self, columns: Columns, state: State) -> list["_Batch"]:
        chunks, _, lanes = state.signed.shape
        bin_bytes = chunks * lanes * state.signed.itemsize
        place = self.table.place[columns]
        batches = []
        for is_sparse in (False, True):
            stored = np.flatnonzero((place < 0) == is_sparse)
            if len(stored) == 0:
                continue
            # Whole fours of columns, work for every thread, and histograms that stay in cache.
            share = -(-len(stored) // (4 * self.n_jobs)) * 4
            largest = int(self._n_codes[columns[stored]].max()) * bin_bytes
            fitting = _BATCH_BYTES // largest
            size = 1 if fitting == 0 else min(share, max(4, fitting // 4 * 4))
            for start in range(0, len(stored), size):
                where = stored[start : start + size]
                numbers = columns[where]
                batches.append(
                    _Batch(
                        self.table,
                        where,
                        place[where],
                        self._n_codes[numbers],
                        self._has_missing[numbers],
                        state,
                    )
                )
        return batches


class _Batch:
    """Some columns of one storage, and how their histograms are laid out."""

    def __init__(
        self,
        table: BinnedTable,
        where: Columns,
        places: Columns,
        n_codes: Columns,
        has_missing: NDArray[np.bool_],
        state: State,
    ) -> None:
        chunks, _, lanes = state.signed.shape
        self.where = where
        self.sparse = bool(places[0] < 0)
        self.places = -1 - places if self.sparse else places
        stored = table.sparse
        self.codes: tuple[NDArray, ...] = (
            (stored.starts, stored.rows, stored.codes, stored.common)
            if self.sparse
            else (table.dense.codes,)
        )
        self.n_codes = n_codes
        self.has_missing = has_missing
        ends = np.cumsum(n_codes * chunks)
        self.bases = (ends - n_codes * chunks).astype(np.intp)
        self.size = int(ends[-1]) * lanes


class _Plan:
    """How some columns are searched, and the memory for what is found; kept for the next round."""

    def __init__(
        self,
        columns: Columns,
        n_scores: int,
        per_score: bool,
        score_edges: bool,
        batches: list[_Batch],
        histograms: SimpleQueue[Integers],
    ) -> None:
        shape = (len(columns), n_scores if per_score else 1)
        self.batches = batches
        # One for each thread; a batch takes any that is free.
        self.histograms = histograms
        self.best = np.empty(shape, dtype=np.int64)
        self.first = np.empty(shape, dtype=np.intp)
        self.missing = np.empty(shape, dtype=np.int8)
        wanted = (len(columns), n_scores) if score_edges else (0, 0)
        self.score_edges = np.empty(wanted, dtype=np.int64)
        which = np.s_[:, :] if per_score else np.s_[:, 0]
        self.candidates = Candidates(
            columns,
            self.best[which],
            self.first[which],
            self.missing[which],
            self.score_edges if score_edges else None,
        )


def _total(sums: Exacts) -> Exacts:
    """Return the sum over the threads' parts."""
    return sums[0] if len(sums) == 1 else sums.sum(axis=0)
