"""Raw rows, read as training read its own: same kinds of columns, same categories."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Codes, Reals, Signs
from edgewise.data.chunks import Chunks
from edgewise.data.columns import Column, SparseColumn, as_categorical, owned
from edgewise.data.filters import Filters
from edgewise.data.images import Images
from edgewise.data.table import ArrayTable, Table

CONSTANT = -1
"""The column number of the constant."""


class Aligned:
    """The rows of a table, on which a model's rules are evaluated.

    Parameters
    ----------
    table : Table
        The rows.
    categories : dict from int to tuple
        The values of each categorical column in training.
    filters : Filters or None
        Image filters, numbered after the columns.
    """

    def __init__(
        self,
        table: Table,
        categories: dict[int, tuple[object, ...]] | None = None,
        filters: Filters | None = None,
    ) -> None:
        self.table = table
        self.categories = categories or {}
        self.filters = filters
        self._values: dict[int, NDArray[np.number]] = {}
        self._codes: dict[int, Codes] = {}

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.table.n_rows

    @cached_property
    def images(self) -> Images:
        """The rows as images."""
        assert self.filters is not None
        if isinstance(self.table, ArrayTable) and self.table.is_settled():
            pixels = self.table.values
        else:
            columns = [self.table.numbers(j).reals() for j in range(self.table.n_columns)]
            pixels = np.stack(columns, axis=1)
        return Images(pixels, self.filters)

    def numbers(self, j: int) -> Reals:
        """Return column `j`, or the responses of an image filter."""
        if j >= self.table.n_columns:
            return self.images.responses(j - self.table.n_columns)
        return np.asarray(self._stored(j), dtype=np.float64)

    def span(self, j: int, rows: slice) -> Reals:
        """Return some rows of column `j`, or of the responses of an image filter."""
        if j >= self.table.n_columns:
            return self.numbers(j)[rows]
        return np.asarray(self._stored(j)[rows], dtype=np.float64)

    def _stored(self, j: int) -> NDArray[np.number]:
        """Return column `j` in its own type, which may take less memory."""
        if j not in self._values:
            self._keep_numbers(j, self.table.column(j))
        return self._values[j]

    def codes(self, j: int) -> Codes:
        """Return the codes of categorical column `j` as training numbered its values."""
        if j not in self._codes:
            self._keep_codes(j, self.table.column(j))
        return self._codes[j]

    def read(self, columns: Iterable[int]) -> None:
        """Read the given columns in one pass over the table."""
        # A view of one column would keep its whole block in memory.
        own = owned if isinstance(self.table, Chunks) else lambda column: column
        there = range(self.table.n_columns)
        wanted = sorted({j for j in columns if j in there} - {*self._values, *self._codes})
        for j, column in self.table.chosen(wanted):
            (self._keep_codes if j in self.categories else self._keep_numbers)(j, own(column))

    def _keep_numbers(self, j: int, column: Column) -> None:
        numbers = self.table.with_numbers(j, column)
        sparse = isinstance(numbers, SparseColumn)
        self._values[j] = numbers.reals() if sparse else numbers.values

    def _keep_codes(self, j: int, column: Column) -> None:
        categorical = as_categorical(column)
        if categorical is None:
            raise ValueError(
                f"X has numbers in column {self.table.name(j)!r}, where training had categories"
            )
        self._codes[j] = categorical.recode(self.categories[j]).codes

    def part(self, start: int, stop: int) -> "AlignedPart":
        """Return a range of the rows, sharing the columns read so far."""
        return AlignedPart(self, start, stop)

    def threshold_signs(self, j: int, threshold: float, missing: int) -> Signs:
        """Return +1 where column `j` is at or above a threshold, else -1; `missing` where NaN."""
        return self.part(0, self.n_rows).threshold_signs(j, threshold, missing)

    def subset_values(self, j: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return ``values[category]`` for each row; the last entry is for missing values."""
        return self.part(0, self.n_rows).subset_values(j, values)


class AlignedPart:
    """Some consecutive rows of a table."""

    def __init__(self, whole: Aligned, start: int, stop: int) -> None:
        self._whole = whole
        self._span = slice(start, min(stop, whole.n_rows))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self._span.stop - self._span.start

    def threshold_signs(self, j: int, threshold: float, missing: int) -> Signs:
        """Return +1 where column `j` is at or above a threshold, else -1; `missing` where NaN."""
        if j == CONSTANT:
            return np.ones(self.n_rows, dtype=np.int8)
        values = self.numbers(j)
        signs = np.where(values >= threshold, np.int8(1), np.int8(-1))
        signs[np.isnan(values)] = missing
        return signs

    def subset_values(self, j: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return ``values[category]`` for each row; the last entry is for missing values."""
        return values[self._whole.codes(j)[self._span]]

    def numbers(self, j: int) -> Reals:
        """Return the values of numeric column `j`."""
        return self._whole.span(j, self._span)
