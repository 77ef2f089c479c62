"""How the compiled backend lays out histograms: batches of columns of one storage."""

from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import Histogram
from edgewise.backend.host import SignedProblem, width_of
from edgewise.common.dtypes import Codes, Columns, Exacts, Integers
from edgewise.data import BinnedTable
from edgewise.data.bins import Categories

# A batch's histograms stay in a core's own cache beside a block of signed weights.
_BATCH_BYTES = 1 << 20


class BatchColumns(NamedTuple):
    """Columns of one storage as compiled code takes them."""

    positions: Columns  # where their codes are stored
    bases: Columns  # the vector of the batch's histograms at which the bins of each begin
    n_codes: Columns
    has_missing: NDArray[np.bool_]


class Batch(NamedTuple):
    """Some columns of one storage, and the memory of their histograms."""

    where: Columns  # among the columns of the layout
    columns: BatchColumns
    codes: (
        Codes | tuple[NDArray[Any], ...]
    )  # of sparse columns as `histogram.sum_sparse` takes them
    start: int
    size: int

    @property
    def is_sparse(self) -> bool:
        """Whether the columns are sparse."""
        return isinstance(self.codes, tuple)


class ColumnShapes:
    """How many codes the columns of a table have, and which are missing or categorical."""

    def __init__(self, table: BinnedTable) -> None:
        self._table = table
        self._n_codes = np.array([b.n_codes for b in table.bins], dtype=np.intp)
        self._has_missing = np.array([b.has_missing for b in table.bins], dtype=bool)
        self._categorical = np.array([isinstance(b, Categories) for b in table.bins], dtype=bool)
        self._max_codes = int(self._n_codes.max(initial=1))

    def of_rows(self, table: BinnedTable) -> "ColumnShapes":
        """Return the shapes of the same columns of other rows."""
        other = copy(self)
        other._table = table
        return other

    def batches(self, columns: Columns, problem: SignedProblem, n_jobs: int) -> list[Batch]:
        """Return batches of the columns: work for every thread, histograms that stay in cache."""
        chunks, _, lanes = problem.shape
        bin_bytes = chunks * lanes * problem.signed.itemsize
        batches: list[Batch] = []
        start = 0
        for where in self._split_columns(columns, bin_bytes, n_jobs):
            codes, positions = self._codes_of(columns[where])
            n_codes, has_missing = self._n_codes[columns[where]], self._has_missing[columns[where]]
            ends = np.cumsum(n_codes * chunks)
            of_batch = BatchColumns(positions, ends - n_codes * chunks, n_codes, has_missing)
            size = int(ends[-1]) * lanes
            batches.append(Batch(where, of_batch, codes, start, size))
            start += size
        return batches

    def _split_columns(self, columns: Columns, bin_bytes: int, n_jobs: int) -> list[Columns]:
        """Return the positions of the columns of each batch."""
        all_columns = np.arange(len(columns))
        if self._categorical[columns[0]]:
            return list(all_columns[:, None])
        is_sparse = self._table.storage_index[columns] < 0
        fits = len(columns) * self._max_codes * bin_bytes <= _BATCH_BYTES
        if fits and n_jobs == 1 and not is_sparse.any():
            return [all_columns]
        groups: list[Columns] = []
        for where in (all_columns[~is_sparse], all_columns[is_sparse]):
            if len(where):
                # Whole fours, since histograms are summed four columns at a time.
                per_thread = -(-len(where) // (4 * n_jobs)) * 4
                n_fitting = _BATCH_BYTES // (int(self._n_codes[columns[where]].max()) * bin_bytes)
                size = 1 if n_fitting == 0 else min(per_thread, max(4, n_fitting // 4 * 4))
                groups += [where[at : at + size] for at in range(0, len(where), size)]
        return groups

    def _codes_of(self, columns: Columns) -> tuple[Codes | tuple[NDArray[Any], ...], Columns]:
        """Return the codes of columns of one storage, and where each column is in them."""
        if self._categorical[columns[0]]:
            (position,) = self._table.categorical.positions(columns)
            return self._table.categorical.codes[position][None], np.zeros(1, dtype=np.intp)
        positions, stored = self._table.storage_index[columns], self._table.sparse
        if positions[0] >= 0:
            return self._table.dense.codes, positions
        codes = (stored.starts, stored.ends, stored.rows, stored.codes, stored.common)
        return codes, -1 - positions


class HistogramLayout:
    """How some columns are summed and scanned; kept for the next round."""

    def __init__(
        self, columns: Columns, shape: tuple[int, int], dtype: Any, batches: list[Batch]
    ) -> None:
        self.columns = columns
        self.chunks, self.lanes = shape
        self.width = width_of(self.lanes)
        self.dtype = dtype
        self.batches = batches
        self.size = batches[-1].start + batches[-1].size
        self.largest = max(batch.size for batch in batches)
        self.has_sparse = any(batch.is_sparse for batch in batches)

    @cached_property
    def starts(self) -> Columns:
        """The first bin of each column among the bins of all columns."""
        sizes = np.empty(len(self.columns), dtype=np.intp)
        for batch in self.batches:
            sizes[batch.where] = batch.columns.n_codes
        return np.cumsum(sizes) - sizes

    def values(self, flat: Integers, n_columns: int) -> Exacts:
        """Return histograms as an array of shape (bins, n_columns)."""
        if self.chunks == 1 and len(self.batches) == 1:
            return flat[: self.size].reshape(-1, self.lanes)[:, :n_columns].astype(np.int64, "C")
        blocks: list[Exacts] = [np.empty((0, 0), dtype=np.int64)] * len(self.columns)
        for batch in self.batches:
            columns = batch.columns
            for q, base, n_codes in zip(batch.where, columns.bases, columns.n_codes, strict=True):
                start = batch.start + int(base) * self.lanes
                block = flat[start : start + self.chunks * int(n_codes) * self.lanes]
                shaped = block.reshape(self.chunks, int(n_codes), self.lanes).transpose(1, 0, 2)
                by_bin = shaped.reshape(int(n_codes), -1)[:, :n_columns]
                blocks[q] = by_bin.astype(np.int64, order="C")
        return np.concatenate(blocks)


class Lease:
    """Memory that returns to its owner when nothing refers to it any more."""

    def __init__(self, array: NDArray[Any], owner: list[NDArray[Any]]) -> None:
        self.array = array
        self._owner = owner

    def __del__(self) -> None:
        self._owner.append(self.array)


class LaneHistogram(Histogram):
    """Histograms as vectors of lanes, summed when they are needed.

    A scan sums and scans batch by batch, so that a batch's histograms stay in cache; they are kept
    only where there is a `lease` for them, or where somebody needs the values or a difference.
    """

    def __init__(
        self, layout: HistogramLayout, problem: SignedProblem, fill: Any, lease: Lease | None = None
    ) -> None:
        self.columns = layout.columns
        self.totals, self._masses = problem.signed_totals, problem.signed_masses
        self.layout = layout
        self.mass_column = problem.mass_column
        # Until the sums are there: a node keeps its histograms, and a cycle of references would
        # keep the memory from returning.
        self.problem: SignedProblem | None = problem
        self.lease = lease
        # Subtracted from the memory before it is read.
        self.subtrahend: Integers | None = None
        self.is_summed = False
        self._fill = fill

    @property
    def mass(self) -> int:  # type: ignore[override]
        """The sum of ``|S|``."""
        return int(self._masses.sum())

    @property
    def flat(self) -> Integers | None:
        """The memory, where there is any."""
        return None if self.lease is None else self.lease.array

    def sums(self) -> Integers:
        """Return the sums of all batches."""
        if self.lease is None:
            self.lease = Lease(np.empty(self.layout.size, dtype=self.layout.dtype), [])
        if not self.is_summed:
            for batch in self.layout.batches:
                self._fill(self, batch, self.lease.array[batch.start : batch.start + batch.size])
            self.mark_summed()
        return self.lease.array

    def mark_summed(self) -> None:
        """Note that the memory holds the sums."""
        self.is_summed, self.subtrahend, self.problem = True, None, None

    @property
    def values(self) -> Exacts:
        return self.layout.values(self.sums(), len(self.totals) + self.mass_column)

    def __sub__(self, other: "LaneHistogram") -> "LaneHistogram":
        self.sums()
        difference = copy(self)
        difference.totals, difference._masses = (
            self.totals - other.totals,
            self._masses - other._masses,
        )
        difference.is_summed, difference.subtrahend = False, other.sums()
        return difference
