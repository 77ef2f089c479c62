"""Some rows of a binned table, copied column by column when they are asked for."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from edgewise.common.dtypes import ROW, Codes, Columns, Rows
from edgewise.data.binned import BinnedTable
from edgewise.data.bins import Categories
from edgewise.data.storage import CategoricalCodes, DenseCodes, SparseCodes

Pick = Callable[[Rows, Codes, Rows, Rows, Codes], int]
"""Copies the stored entries of a sparse column that are among some rows: see `pick_rows`."""


def pick_rows(rows: Rows, codes: Codes, number: Rows, out_rows: Rows, out_codes: Codes) -> int:
    """Copy the entries of a sparse column whose row has a number; return how many there are.

    IN rows, codes (of the column), number (of each row of the table, -1 where it is left out). OUT
    out_rows (the numbers), out_codes.
    """
    numbers = number[rows]
    kept = np.flatnonzero(numbers >= 0)
    out_rows[: len(kept)], out_codes[: len(kept)] = numbers[kept], codes[kept]
    return len(kept)


def select_rows(table: BinnedTable, rows: Rows) -> BinnedTable:
    """Return some rows of a table, by their numbers among all, ascending, in the same bins."""
    selected = RowSubset(table).take(table.partition.local_rows(rows))
    selected.ready(np.arange(table.n_columns))
    return replace(selected, fill=None, partition=table.partition.take(rows))


class RowSubset:
    """Memory for some rows of a table; `take` fills it, and what was taken before is gone.

    `pick` copies sparse columns.
    """

    def __init__(self, table: BinnedTable, pick: Pick = pick_rows) -> None:
        self.table = table
        self._pick = pick
        self._columns = table.dense.columns
        # Pages of these arrays that no column is copied to are never touched.
        self._dense = np.empty(len(self._columns) * table.n_rows, table.dense.codes.dtype)
        n_stored = len(table.sparse.rows)
        self._rows = np.empty(n_stored, dtype=ROW)
        self._codes = np.empty(n_stored, dtype=table.sparse.codes.dtype)

    def take(self, rows: Rows) -> BinnedTable:
        """Return the table of some rows, ascending."""
        source, n_rows, stored = self.table, len(rows), self.table.sparse
        self._taken = rows.astype(np.intp)
        self._number = np.full(source.n_rows, -1, dtype=ROW)
        self._number[rows] = np.arange(n_rows, dtype=ROW)
        self._copied = np.zeros(source.n_columns, dtype=bool)
        dense = self._dense[: len(self._columns) * n_rows].reshape(len(self._columns), n_rows)
        self._stops = stored.starts[:-1].copy()
        self._part = BinnedTable(
            source.bins,
            n_rows,
            DenseCodes(self._columns, dense),
            SparseCodes(
                stored.columns, stored.starts, self._rows, self._codes, stored.common, self._stops
            ),
            CategoricalCodes(
                source.categorical.columns,
                [np.empty(n_rows, c.dtype) for c in source.categorical.codes],
            ),
            fill=self._fill,
        )
        return self._part

    def _fill(self, columns: Columns) -> None:
        """Copy the codes of columns that are about to be read."""
        # A part of a part may need columns that the larger part has not copied yet.
        self.table.ready(columns)
        for j in columns[~self._copied[columns]].tolist():
            self._copy(j)
            self._copied[j] = True

    def _copy(self, j: int) -> None:
        source, target = self.table, self._part
        if isinstance(source.bins[j], Categories):
            p = source.categorical.positions(np.array([j]))[0]
            source.categorical.codes[p].take(
                self._taken, out=target.categorical.codes[p], mode="clip"
            )
            return
        p = int(source.storage_index[j])
        if p >= 0:
            out = target.dense.codes[target.storage_index[j]]
            source.dense.codes[p].take(self._taken, out=out, mode="clip")
            return
        p = -1 - p
        start, end = int(source.sparse.starts[p]), int(source.sparse.ends[p])
        rows, codes = self._rows[start:end], self._codes[start:end]
        stored = source.sparse
        count = self._pick(
            stored.rows[start:end], stored.codes[start:end], self._number, rows, codes
        )
        self._stops[p] = start + count
