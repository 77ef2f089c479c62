"""Raw rows, with the kinds of columns and the categories of the training rows."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Codes, Columns, Reals, Signs
from edgewise.data.chunks import Chunks
from edgewise.data.columns import Column, SparseColumn, as_categorical, copy_column
from edgewise.data.filters import HaarFilters, Images
from edgewise.data.rates import CategoryRates
from edgewise.data.table import ArrayTable, Table, mapped_file

CONSTANT = -1
"""The column number of the constant."""

DerivedColumns = HaarFilters | CategoryRates
"""Columns that are computed from those of a table, and numbered after them."""


def cut_numbers(numbers: NDArray[np.number], threshold: float, missing: int) -> Signs:
    """Return the signs of a cut: +1 at or above a threshold, -1 below, `missing` where NaN."""
    values = np.asarray(numbers, dtype=np.float64)
    signs = np.where(values >= threshold, np.int8(1), np.int8(-1))
    signs[np.isnan(values)] = missing
    return signs


class RawRows:
    """The rows of a table on which rules are evaluated.

    `categories` has the values of each categorical column in training.
    """

    def __init__(
        self,
        table: Table,
        categories: dict[int, tuple[object, ...]] | None = None,
        derived: DerivedColumns | None = None,
    ) -> None:
        self.table, self.n_rows = table, table.n_rows
        self.categories = categories or {}
        self.derived = derived
        self.filters = derived if isinstance(derived, HaarFilters) else None
        self._stored: dict[int, NDArray[Any] | SparseColumn] = {}

    @cached_property
    def images(self) -> Images:
        """The rows as images."""
        assert self.filters is not None
        if isinstance(self.table, ArrayTable) and self.table.has_no_infinities():
            pixels = self.table.values
        else:
            columns = enumerate(self.table.columns())
            pixels = np.stack(
                [self.table.with_numbers(*numbered).reals() for numbered in columns], axis=1
            )
        return Images(pixels, self.filters, self.table.partition)

    def threshold_signs(self, j: int, threshold: float, missing: int) -> Signs:
        """Return +1 where column `j` is at or above a threshold, else -1; `missing` where NaN."""
        if j == CONSTANT:
            return np.ones(self.n_rows, dtype=np.int8)
        return cut_numbers(self.column_values(j), threshold, missing)

    def subset_values(self, j: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return ``values[category]`` for each row; the last entry is for missing values."""
        return values[self.codes(j)]

    def numbers(self, j: int) -> Reals:
        """Return the values of numeric column `j`, or the responses of an image filter."""
        return np.asarray(self.column_values(j), dtype=np.float64)

    def codes(self, j: int) -> Codes:
        """Return the codes of categorical column `j` as training numbered its values."""
        return self.column_values(j)

    def column_values(self, j: int) -> NDArray[Any]:
        """Return column `j`, numbers in their own type or codes; or a derived column."""
        if j >= self.table.n_columns:
            return self._derive(j - self.table.n_columns, slice(None))
        if j not in self._stored:
            self.read([j])
        column = self._stored[j]
        if isinstance(column, SparseColumn):
            column = self._stored[j] = column.reals()
        return column

    def block(self, columns: Columns, rows: slice) -> Reals:
        """Return some rows of some columns in float64, a column in each row; categories as codes.

        Rows of an array of numbers are taken out of it, other columns are read as a whole first;
        sparse ones stay sparse.
        """
        if self.is_array:
            return self.table.block(columns, rows)  # type: ignore[attr-defined]
        n_columns = self.table.n_columns
        block = np.empty((len(columns), len(range(self.n_rows)[rows])))
        for i, j in enumerate(columns.tolist()):
            column = self._stored.get(j)
            if isinstance(column, SparseColumn):
                block[i] = column.values_of(rows)
            elif j < n_columns:
                block[i] = self.column_values(j)[rows]
            else:
                block[i] = self._derive(j - n_columns, rows)
        return block

    def _derive(self, number: int, rows: slice) -> Reals:
        """Return some rows of a derived column."""
        if isinstance(self.derived, CategoryRates):
            codes = [self.codes(j)[rows] for j in self.derived.sources(number).tolist()]
            return self.derived.responses(number, codes)
        return self.images.responses(number, rows)

    @cached_property
    def is_array(self) -> bool:
        """Whether the rows are an array of numbers in memory, and all columns are read from it."""
        if not isinstance(self.table, ArrayTable) or self.categories or self.filters:
            return False
        return mapped_file(self.table.values) is None

    def read(self, columns: Iterable[int]) -> None:
        """Read the given columns in one pass over the table."""
        # A view of one column would keep its whole block in memory.
        detach = copy_column if isinstance(self.table, Chunks) else lambda column: column
        n_columns, wanted = self.table.n_columns, set[int]()
        for j in columns:
            if 0 <= j < n_columns:
                wanted.add(j)
            elif j >= n_columns and isinstance(self.derived, CategoryRates):
                wanted.update(self.derived.sources(j - n_columns).tolist())
        for j, column in self.table.select_columns(sorted(wanted - self._stored.keys())):
            self._stored[j] = self._align_column(j, detach(column))

    def _align_column(self, j: int, column: Column) -> NDArray[Any] | SparseColumn:
        if j not in self.categories:
            numbers = self.table.with_numbers(j, column)
            if not isinstance(numbers, SparseColumn):
                return numbers.values
            return numbers if (np.diff(numbers.rows) > 0).all() else numbers.reals()
        categorical = as_categorical(column, self.categories[j])
        if categorical is None:
            raise ValueError(
                f"X has numbers in column {self.table.name(j)!r}, where training had categories"
            )
        return categorical.recode(self.categories[j]).codes
