"""The compiled kernels of one training table: batches of columns and threads around them."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

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
        self._batches: dict[tuple[bytes, int], list[_Batch]] = {}

    def search(
        self,
        columns: Columns,
        state: State,
        per_score: bool = False,
        score_edges: bool = False,
        constant: bool = True,
    ) -> Candidates:
        """Return the best cut of each column."""
        n_scores = state.n_scores
        shape = (len(columns), n_scores if per_score else 1)
        best = np.empty(shape, dtype=np.int64)
        first = np.empty(shape, dtype=np.intp)
        missing = np.empty(shape, dtype=np.int8)
        at_best = np.empty((len(columns), n_scores) if score_edges else (0, 0), dtype=np.int64)
        totals = np.zeros(state.signed.shape[0] * state.signed.shape[2], dtype=np.int64)
        totals[:n_scores] = state.signed_totals

        def run(batch: "_Batch") -> None:
            self._sum(batch, state, totals)
            compiled.scan_all(
                batch.histogram, batch.bases, batch.n_codes, batch.has_missing, batch.where,
                constant, state.signed.shape[0], totals, state.width, per_score, best, first,
                missing, at_best,
            )  # fmt: skip

        self._map(run, self._batches_of(columns, state))
        if not per_score:
            best, first, missing = best[:, 0], first[:, 0], missing[:, 0]
        return Candidates(columns, best, first, missing, at_best if score_edges else None)

    def edges(self, state: State, signs: Signs) -> Edges:
        """Return the edges of a cut; `signs` has shape (1, n), or (K, n) with a cut for each."""
        spans = self._spans(state.n_rows)
        sums = np.empty((len(spans), 3, state.n_scores), dtype=np.int64)

        def run(part: int) -> None:
            compiled.sum_edges(*spans[part], state.weights, state.labels, signs, sums[part])

        self._map(run, range(len(spans)))
        edges, masses, idle = _total(sums)
        return Edges(edges, masses - idle, int(masses.sum()))

    def advance(self, state: State, signs: Signs, step: Step) -> Tally:
        """Take the step: update weights, scores and quantised weights; count errors."""
        spans = self._spans(state.n_rows)
        sums = np.zeros((len(spans), 4, state.n_scores), dtype=np.int64)

        def run(part: int) -> tuple[int, int]:
            return compiled.advance(
                *spans[part], state.labels, state.target, state.row_mass, state.equal_mass, signs,
                step.agree, step.against, step.rest, step.coefficients, step.signs, state.width,
                state.weights, state.scores, state.flat_signed, sums[part],
            )  # fmt: skip

        counts = self._map(run, range(len(spans)))
        total = _total(sums)
        state.signed_totals[:], state.signed_masses[:] = total[0], total[1]
        pseudo = sum(count[0] for count in counts) if len(signs) == 1 else -1
        return Tally(pseudo, sum(count[1] for count in counts), total[2:])

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def _sum(self, batch: "_Batch", state: State, totals: Exacts) -> None:
        flat, chunks = state.flat_signed, state.signed.shape[0]
        shared = (batch.bases, batch.n_codes, flat, state.n_rows, chunks)
        if batch.sparse:
            stored = self.table.sparse
            compiled.sum_sparse(
                stored.starts, stored.rows, stored.codes, stored.common, batch.places, *shared,
                totals, state.width, batch.histogram,
            )  # fmt: skip
        else:
            codes = self.table.dense.codes
            compiled.sum_dense(codes, batch.places, *shared, state.width, batch.histogram)

    def _spans(self, n_rows: int) -> list[tuple[int, int]]:
        """Return the rows that each thread takes."""
        if n_rows not in self._parts:
            parts = max(1, min(self.n_jobs, n_rows // _ROWS_A_THREAD))
            bounds = np.linspace(0, n_rows, parts + 1).astype(int).tolist()
            self._parts[n_rows] = list(pairwise(bounds))
        return self._parts[n_rows]

    def _map(self, run: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        if self._pool is None or len(parts) == 1:
            return [run(part) for part in parts]
        return list(self._pool.map(run, parts))

    def _batches_of(self, columns: Columns, state: State) -> list["_Batch"]:
        key = (columns.tobytes(), state.signed.shape[0] * state.signed.shape[2])
        if key not in self._batches:
            self._batches.clear()
            self._batches[key] = self._make_batches(columns, state)
        return self._batches[key]

    def _make_batches(self, columns: Columns, state: State) -> list["_Batch"]:
        chunks, _, lanes = state.signed.shape
        bin_bytes = chunks * lanes * state.signed.itemsize
        place = self.table.place[columns]
        batches = []
        for is_sparse in (False, True):
            stored = np.flatnonzero((place < 0) == is_sparse)
            if len(stored) == 0:
                continue
            # Whole fours of columns, and work for every thread.
            share = -(-len(stored) // (4 * self.n_jobs)) * 4
            largest = int(self._n_codes[columns[stored]].max()) * bin_bytes
            size = max(1, min(share, max(4, _BATCH_BYTES // largest)))
            if _BATCH_BYTES // largest < 1:
                size = 1
            for start in range(0, len(stored), size):
                where = stored[start : start + size]
                numbers = columns[where]
                places = place[where]
                batches.append(
                    _Batch(
                        where,
                        -1 - places if is_sparse else places,
                        self._n_codes[numbers],
                        self._has_missing[numbers],
                        is_sparse,
                        state,
                    )
                )
        return batches


class _Batch:
    """Some columns of one storage, and the memory for their histograms."""

    def __init__(
        self,
        where: Columns,
        places: Columns,
        n_codes: Columns,
        has_missing: np.ndarray,
        sparse: bool,
        state: State,
    ) -> None:
        chunks, _, lanes = state.signed.shape
        self.where = where
        self.places = places
        self.n_codes = n_codes
        self.has_missing = has_missing
        self.sparse = sparse
        ends = np.cumsum(n_codes * chunks)
        self.bases = (ends - n_codes * chunks).astype(np.intp)
        self.histogram: Integers = aligned_zeros((int(ends[-1]) * lanes,), state.signed.dtype.type)


def _total(sums: Exacts) -> Exacts:
    """Return the sum over the threads' parts."""
    return sums[0] if len(sums) == 1 else sums.sum(axis=0)
