"""How compiled kernels search some columns: in batches of one storage, with memory for results."""

from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import Candidates, Problem
from edgewise.common.dtypes import Columns, Integers
from edgewise.data import BinnedTable

# A batch's histograms stay in a core's own cache beside a block of signed weights.
_BATCH_BYTES = 1 << 20


class Shapes:
    """What is known of a table's columns before any of them are searched.

    Attributes
    ----------
    n_codes : intp array
        The number of codes of each column.
    has_missing : bool array
        Whether one of them stands for missing values.
    """

    def __init__(self, table: BinnedTable) -> None:
        self.table = table
        self.n_codes = np.array([b.n_codes for b in table.bins], dtype=np.intp)
        self.has_missing = np.array([b.has_missing for b in table.bins], dtype=bool)
        self._most_codes = int(self.n_codes.max(initial=1))
        self._all_dense = len(table.sparse.columns) == 0

    def of(self, table: BinnedTable) -> "Shapes":
        """Return the same for some rows of the table, whose columns are coded alike."""
        other = object.__new__(Shapes)
        other.__dict__.update(self.__dict__, table=table)
        other._all_dense = not (table.place < 0).any()
        return other

    def batches(self, columns: Columns, problem: Problem, n_jobs: int) -> list["Batch"]:
        """Return batches of the columns: work for every thread, histograms that stay in cache."""
        chunks, _, lanes = problem.shape
        bin_bytes = chunks * lanes * problem.signed.itemsize
        place = self.table.place[columns]
        if (
            self._all_dense
            and n_jobs == 1
            and len(columns) * self._most_codes * bin_bytes <= _BATCH_BYTES
        ):
            everything = np.arange(len(columns))
            return [Batch(self, everything, columns, place, problem)]
        batches = []
        for is_sparse in (False, True):
            stored = np.flatnonzero((place < 0) == is_sparse)
            if len(stored) == 0:
                continue
            # Whole fours, since histograms are summed four columns at a time.
            share = -(-len(stored) // (4 * n_jobs)) * 4
            largest = int(self.n_codes[columns[stored]].max()) * bin_bytes
            fitting = _BATCH_BYTES // largest
            size = 1 if fitting == 0 else min(share, max(4, fitting // 4 * 4))
            for start in range(0, len(stored), size):
                where = stored[start : start + size]
                batches.append(Batch(self, where, columns[where], place[where], problem))
        at = 0
        for batch in batches:
            batch.start = at
            at += -(-batch.size // lanes) * lanes
        return batches


class Batch:
    """Some columns of one storage, and how their histograms are laid out."""

    def __init__(
        self, shapes: Shapes, where: Columns, columns: Columns, places: Columns, problem: Problem
    ) -> None:
        chunks, _, lanes = problem.shape
        table = shapes.table
        self.start = 0
        self.where = where
        self.sparse = bool(places[0] < 0)
        self.places = -1 - places if self.sparse else places
        stored = table.sparse
        self.codes: tuple[NDArray, ...] = (
            (stored.starts, stored.ends, stored.rows, stored.codes, stored.common)
            if self.sparse
            else (table.dense.codes,)
        )
        self.n_codes = shapes.n_codes[columns]
        self.has_missing = shapes.has_missing[columns]
        ends = np.cumsum(self.n_codes) * chunks
        self.bases = ends - self.n_codes * chunks
        self.size = int(ends[-1]) * lanes


class Plan:
    """How some columns are searched, and the memory for what is found; kept for the next round."""

    def __init__(
        self,
        key: tuple[Any, ...],
        columns: Columns,
        n_scores: int,
        per_score: bool,
        score_edges: bool,
        batches: list[Batch],
        histograms: SimpleQueue[Integers],
    ) -> None:
        shape = (len(columns), n_scores if per_score else 1)
        self.key = key
        self.size = batches[-1].start + batches[-1].size
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
