"""Codes on the device, and histograms of them."""

from functools import cached_property
from typing import Any

import numpy as np

from edgewise.backend.base import Histogram
from edgewise.backend.cuda.device import Device, most_shared_bins
from edgewise.backend.host import SignedProblem
from edgewise.common.dtypes import Columns, Exacts
from edgewise.data import BinnedTable, Categories

# Blocks that sum histograms, for each multiprocessor, and the fewest rows for one.
_BLOCKS_A_PROCESSOR, _ROWS_A_BLOCK = 16, 2048


def form_of(problem: SignedProblem) -> tuple[int, bool]:
    """Return the lanes of a problem, and whether its sums are wide: the form of its kernels."""
    return problem.signed.shape[2], problem.signed.dtype.itemsize == 8


class DeviceColumns:
    """The codes of a table, copied to the device when a search first asks for them."""

    def __init__(self, table: BinnedTable, device: Device) -> None:
        self.table, self.device = table, device
        self._categorical: dict[int, Any] = {}

    @cached_property
    def dense(self) -> Any:
        """The codes of dense columns, (columns, n)."""
        self.table.ready(np.arange(self.table.n_columns))
        return self.device.upload(self.table.dense.codes)

    @cached_property
    def sparse(self) -> tuple[Any, Any, Any, Any, Any]:
        """Starts and ends of sparse columns, the rows and codes of their entries, common bins."""
        stored, up = self.table.sparse, self.device.upload
        self.table.ready(np.arange(self.table.n_columns))
        n = len(stored.common)
        return (
            up(stored.starts[:n], np.int64), up(stored.ends, np.int64), up(stored.rows),
            up(stored.codes), up(stored.common, np.int32),
        )  # fmt: skip

    def categorical(self, j: int) -> Any:
        """Return the codes of a categorical column."""
        if j not in self._categorical:
            self._categorical[j] = self.device.upload(self.table.codes(j))
        return self._categorical[j]

    def cut(self, j: int, first: int, missing: int) -> Any:
        """Return the signs of a cut of a numeric column on all rows, on the device."""
        n, device = self.table.n_rows, self.device
        stored_at, missing_code = int(self.table.storage_index[j]), self.table.bins[j].missing_code
        signs = device.xp.empty(n, dtype=np.int8)
        if stored_at >= 0:
            codes, rows, count = self.dense[stored_at], None, n
        else:
            at, end = (
                int(edge[-1 - stored_at])
                for edge in (self.table.sparse.starts, self.table.sparse.ends)
            )
            codes, rows, count = self.sparse[3][at:end], self.sparse[2][at:end], end - at
            common = int(self.table.sparse.common[-1 - stored_at])
            signs[:] = missing if common == missing_code else (1 if common >= first else -1)
        if count:
            arguments = (
                np.int64(count),
                codes,
                codes.dtype.itemsize,
                rows,
                first,
                missing,
                missing_code,
                signs,
            )
            device.launch("cut_codes", device.blocks(count), arguments)
        return signs


class DevicePlan:
    """How some columns, all of one kind, are summed; kept for the next round."""

    def __init__(self, columns: Columns, held: DeviceColumns) -> None:
        self.columns, self._held = columns, held
        table, device = held.table, held.device
        bins = [table.bins[j] for j in columns.tolist()]
        sizes = np.array([array.n_codes for array in bins], dtype=np.int32)
        starts = np.cumsum(sizes) - sizes
        self.n_bins, self.most_codes = int(sizes.sum()), int(sizes.max())
        self.bases, self.n_codes = device.upload(starts, np.int32), device.upload(sizes)
        self.has_missing = device.upload(
            np.array([array.has_missing for array in bins], dtype=np.uint8)
        )
        self._is_categorical = isinstance(bins[0], Categories)
        stored_at = table.storage_index[columns]
        # Where columns are stored, and their bins: of dense ones, of sparse ones.
        self._stored: list[tuple[Any, Any, Any, int]] = []
        for is_stored in (stored_at >= 0, stored_at < 0):
            where = np.flatnonzero(is_stored)
            positions = np.where(stored_at >= 0, stored_at, -1 - stored_at)[where]
            arrays = (
                device.upload(array, np.int32) for array in (positions, starts[where], sizes[where])
            )
            self._stored.append((*arrays, len(where)))

    def sum_bins(self, problem: SignedProblem, member: Any) -> Any:
        """Return the sums of S in each bin, (chunks, bins, lanes)."""
        chunks, _, lanes = problem.shape
        device, dtype = self._held.device, problem.signed.dtype
        out = device.xp.zeros((chunks, self.n_bins, lanes), dtype=dtype)
        if self._is_categorical:
            self._sum_categorical(problem, out)
            return out
        dense, sparse = self._stored
        if dense[3]:
            self._sum_dense(problem, self._held.dense, dense, out)
        if sparse[3]:
            starts, ends, rows, codes, common = self._held.sparse
            n_entries = len(rows) // max(len(self._held.table.sparse.common), 1) + 1
            n_blocks = self._parts(sparse[3] * chunks, n_entries)
            max_bins, shared = self._shared_memory(problem)
            arguments = (
                starts, ends, rows, codes, codes.dtype.itemsize, np.int64(problem.n_rows),
                *sparse[:3], problem.signed, member, n_blocks, max_bins, np.int64(self.n_bins), out,
            )  # fmt: skip
            like = form_of(problem)
            device.launch("sum_sparse", (sparse[3] * n_blocks, chunks), arguments, like, shared)
            totals = np.zeros(chunks * lanes, dtype=np.int64)
            totals[: len(problem.column_totals)] = problem.column_totals
            arguments_ = (common, *sparse[:3], device.upload(totals), np.int64(self.n_bins), out)
            device.launch("fill_common", (sparse[3], chunks), arguments_, like, 8 * lanes)
        return out

    def _sum_categorical(self, problem: SignedProblem, out: Any) -> None:
        zero = self._held.device.upload(np.zeros(1, dtype=np.int32))
        for q, j in enumerate(self.columns.tolist()):
            column = (zero, self.bases[q : q + 1], self.n_codes[q : q + 1], 1)
            self._sum_dense(problem, self._held.categorical(j), column, out)

    def _sum_dense(
        self, problem: SignedProblem, codes: Any, stored: tuple[Any, Any, Any, int], out: Any
    ) -> None:
        chunks, device = problem.shape[0], self._held.device
        n_blocks = self._parts(stored[3] * chunks, problem.size)
        max_bins, shared = self._shared_memory(problem)
        arguments = (
            codes, codes.dtype.itemsize, np.int64(problem.n_rows), *stored[:3], problem.signed,
            problem.rows, np.int64(problem.size), n_blocks, max_bins, np.int64(self.n_bins), out,
        )  # fmt: skip
        blocks = (stored[3] * n_blocks, chunks)
        device.launch("sum_dense", blocks, arguments, form_of(problem), shared)

    def _parts(self, n_columns: int, n_rows: int) -> int:
        """Return the number of blocks that share a column."""
        n_blocks = _BLOCKS_A_PROCESSOR * self._held.device.n_processors // n_columns
        return max(1, min(n_blocks, n_rows // _ROWS_A_BLOCK))

    def _shared_memory(self, problem: SignedProblem) -> tuple[int, int]:
        """Return the most bins that a block sums in shared memory, and its bytes."""
        lanes, itemsize = problem.signed.shape[2], problem.signed.dtype.itemsize
        max_bins = min(most_shared_bins(lanes, itemsize), self.most_codes)
        return max_bins, max_bins * lanes * itemsize


class DeviceHistogram(Histogram):
    """A histogram on the device, shape (chunks, bins, lanes)."""

    def __init__(
        self, plan: DevicePlan, sums: Any, totals: Exacts, mass: int, massed: bool
    ) -> None:
        self.plan, self.columns, self.sums = plan, plan.columns, sums
        self.totals, self.mass, self.mass_column = totals, mass, massed

    @property
    def column_totals(self) -> Exacts:
        """The sums of all columns of S, the mass column included."""
        return np.append(self.totals, self.mass) if self.mass_column else self.totals

    @property
    def values(self) -> Exacts:
        host = self.plan._held.device.download(self.sums)
        chunks, n_bins, lanes = host.shape
        by_bin = host.transpose(1, 0, 2).reshape(n_bins, chunks * lanes)
        return by_bin[:, : len(self.totals) + self.mass_column].astype(np.int64, order="C")

    def __sub__(self, other: "DeviceHistogram") -> "DeviceHistogram":
        totals, mass = self.totals - other.totals, self.mass - other.mass
        return DeviceHistogram(self.plan, self.sums - other.sums, totals, mass, self.mass_column)
