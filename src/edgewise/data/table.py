"""Any input as a table of typed columns: arrays, lists, CSR/CSC, pandas, polars and Arrow."""

import mmap
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import ROW
from edgewise.data.columns import (
    DATES,
    CategoricalColumn,
    Column,
    NumericColumn,
    SparseColumn,
    as_numbers,
    categories_of_numbers,
    column_from_objects,
    column_from_series,
    take_rows,
)
from edgewise.data.partition import Partition

INFINITE_CHOICES = ("raise", "missing", "value")

# Columns of a row-major array are copied out a few at a time: one column alone would touch every
# cache line of the array for eight bytes of it. The most and the least columns of a block, and its
# bytes. Each block of a memory-mapped array takes one pass over the file.
_MOST, _LEAST = 64, 16
_BLOCK, _FILE_BLOCK = 1 << 24, 1 << 27

# Bytes of an array that are checked or copied at a time, and of a file.
_RUN, _FILE_RUN = 1 << 20, 1 << 25

# Selections of this many bytes and more are not copied.
_LARGE = 1 << 25

# scikit-learn's error for arrays that hold strings.
_STRINGS = ("could not convert string", "arrays of bytes/strings")


class Table(ABC):
    """Rows by typed columns, read column by column and never changed.

    An infinite number is an error, a missing value, or the largest or smallest value (`infinite`).
    Columns in `categorical` are categories whatever they hold, columns in `ignored` read as 0.
    `partition` locates these rows among the rows of all processes.
    """

    n_rows: int
    n_columns: int

    def __init__(self, names: Sequence[str] | None, infinite: str) -> None:
        self.names = list(names) if names is not None else None
        self.infinite = infinite
        self.categorical: frozenset[int] = frozenset()
        self.ignored: frozenset[int] = frozenset()
        self._partition: Partition | None = None

    @property
    def partition(self) -> Partition:
        """The rows here among all rows of the table."""
        return self._partition or Partition(self.n_rows)

    def with_categorical(self, columns: Iterable[int], ignored: Iterable[int] = ()) -> Self:
        """Return the table with these columns categorical, whatever they hold, others ignored."""
        return self._replace(categorical=frozenset(columns), ignored=frozenset(ignored))

    def with_partition(self, partition: Partition) -> Self:
        """Return the table as rows of a larger one."""
        return self._replace(_partition=partition)

    def _replace(self, **attributes: Any) -> Self:
        """Return a copy with other attributes, on the same data."""
        table = copy(self)
        vars(table).update(attributes)
        return table

    @abstractmethod
    def _raw(self, j: int) -> Column:
        """Return column `j` as it came."""

    def take(self, rows: NDArray[np.intp]) -> "Table":
        """Return a table of these rows, by their numbers among all."""
        table = self._take(self.partition.local_rows(rows))
        partition = self._partition and self._partition.take(rows)
        return table.with_categorical(self.categorical, self.ignored)._replace(_partition=partition)

    def _take(self, rows: NDArray[np.intp]) -> "Table":
        return SelectedRowsTable(self, rows)

    def __getitem__(self, rows: Any) -> "Table":
        """Return a table of some rows, as scikit-learn does for a fold."""
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]
        which = np.arange(self.n_rows)[rows]
        if which.ndim != 1:
            raise TypeError(f"rows must be a list of numbers, or of truth values, got {rows!r}")
        return self.take(which)

    def name(self, j: int) -> str:
        """Return the name of column `j`, or a made-up one (x0, x1, ...)."""
        return self.names[j] if self.names is not None else f"x{j}"

    def column(self, j: int) -> Column:
        """Return column `j`, with its infinite values handled."""
        return self._without_infinities(j, self._read(j))

    def with_numbers(self, j: int, column: Column) -> NumericColumn | SparseColumn:
        """Return `column`, which is column `j`, or raise if it holds no numbers."""
        numbers = as_numbers(column)
        if numbers is None:
            raise ValueError(
                f"X has categories in column {self.name(j)!r}, where training had numbers"
            )
        return numbers

    @property
    def holds_numbers(self) -> bool:
        """Whether it is known, without reading any column, that all hold numbers."""
        return False

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.n_rows, self.n_columns

    def columns(self) -> Iterator[Column]:
        """Yield every column in turn, with its infinite values handled."""
        for j, column in enumerate(self._raws()):
            yield self._without_infinities(j, column)

    def named_columns(self) -> Iterator[tuple[str, Column]]:
        """Yield the name of every column and the column."""
        for j, column in enumerate(self.columns()):
            yield self.name(j), column

    def _raws(self) -> Iterator[Column]:
        """Yield every column in turn as it came."""
        for j in range(self.n_columns):
            yield self._read(j)

    def _read(self, j: int) -> Column:
        """Return column `j` as it came, unless it is ignored."""
        return NumericColumn(np.zeros(self.n_rows)) if j in self.ignored else self._raw(j)

    def chunks(self) -> Iterator["Table"]:
        """Yield the rows as tables of fewer rows, where they come like that; else this table."""
        yield self

    def select_columns(self, wanted: Sequence[int]) -> Iterator[tuple[int, Column]]:
        """Yield the number and the column of some columns, ascending."""
        for j in wanted:
            yield j, self.column(j)

    def _without_infinities(self, j: int, column: Column) -> Column:
        """Return column `j`, with its infinite values handled, categorical if declared so."""
        if j in self.ignored:
            return NumericColumn(np.zeros(self.n_rows))
        if isinstance(column, CategoricalColumn):
            return column
        if self.infinite != "value" and column.values.dtype.kind == "f":
            infinite = np.isinf(column.values)
            if infinite.any():
                if self.infinite == "raise":
                    raise ValueError(
                        f"X has an infinite value in column {self.name(j)!r}; "
                        "handle_infinite='missing' treats it as missing, 'value' as the largest or "
                        "smallest value"
                    )
                column = replace(column, values=np.where(infinite, np.nan, column.values))
        return categories_of_numbers(column.reals()) if j in self.categorical else column


class ArrayTable(Table):
    """A two-dimensional NumPy array of numbers."""

    def __init__(
        self,
        values: NDArray[np.number],
        names: Sequence[str] | None = None,
        infinite: str = "raise",
    ) -> None:
        super().__init__(names, infinite)
        self.values = values
        self.n_rows, self.n_columns = values.shape

    @property
    def holds_numbers(self) -> bool:
        """True unless columns are declared categorical."""
        return not self.categorical

    def _raw(self, j: int) -> NumericColumn:
        return NumericColumn(np.ascontiguousarray(self.values[:, j]))

    def _raws(self) -> Iterator[Column]:
        for _, block in self._blocks(range(self.n_columns)):
            yield from map(NumericColumn, block)

    def select_columns(self, wanted: Sequence[int]) -> Iterator[tuple[int, Column]]:
        """Yield the number and the column of some columns, copied out by blocks."""
        for numbers, block in self._blocks(wanted):
            for j, values in zip(numbers, block, strict=True):
                yield j, self._without_infinities(j, NumericColumn(values))

    def _blocks(self, wanted: Sequence[int]) -> Iterator[tuple[Sequence[int], NDArray[np.number]]]:
        """Yield some columns at a time: their numbers, and their values, a column in each row.

        Blocks of a file are larger, as each takes one pass over it.
        """
        file = mapped_file(self.values)
        size = max(1, self.n_rows * self.values.itemsize)
        width = max(_LEAST, min(_MOST, _BLOCK // size))
        if file is not None:
            width = max(_MOST, _FILE_BLOCK // size)
        for start in range(0, len(wanted), width):
            numbers = wanted[start : start + width]
            span = range(numbers[0], numbers[-1] + 1)
            # Columns side by side are copied at once; a list of numbers takes each value apart.
            which = slice(span.start, span.stop) if len(span) == len(numbers) else list(numbers)
            if file is None and self.values.flags.f_contiguous:
                yield numbers, np.ascontiguousarray(self.values[:, which].T)
                continue
            block = np.empty((len(numbers), self.n_rows), dtype=self.values.dtype)
            for rows in self._runs(file):
                block[:, rows] = self.values[rows, which].T
            yield numbers, block

    def _runs(self, file: mmap.mmap | None) -> Iterator[slice]:
        """Yield runs of rows that fit into a cache; of a file larger ones, freed after use."""
        size = (_RUN if file is None else _FILE_RUN) // max(
            1, self.n_columns * self.values.itemsize
        )
        # By columns, a run of rows would be small pieces all over the file.
        size = self.n_rows if file is not None and self.values.flags.f_contiguous else max(1, size)
        for start in range(0, self.n_rows, size):
            yield slice(start, start + size)
            if file is not None:
                # It stays in the system's cache, but not in the memory of this process.
                file.madvise(mmap.MADV_DONTNEED)

    def block(self, columns: NDArray[np.intp], rows: slice) -> NDArray[np.float64]:
        """Return some rows in float64, infinities checked; given ascending columns, each a row."""
        values = self.values[rows]
        if len(columns) < self.n_columns:
            values = values.take(columns, axis=1)
        block = values.T.astype(np.float64, order="C")
        if self.infinite != "value" and self.values.dtype.kind == "f":
            infinite = np.isinf(block)
            if infinite.any():
                if self.infinite == "raise":
                    for j in columns.tolist():
                        self.column(j)
                block[infinite] = np.nan
        return block

    def has_no_infinities(self) -> bool:
        """Return whether the values can be used as they are, without infinite ones to handle."""
        if self.infinite == "value" or self.values.dtype.kind != "f":
            return True
        if mapped_file(self.values) is not None:
            return not any(
                np.isinf(block).any() for _, block in self._blocks(range(self.n_columns))
            )
        return not any(np.isinf(self.values[rows]).any() for rows in self._runs(None))

    def _take(self, rows: NDArray[np.intp]) -> Table:
        size = len(rows) * self.n_columns * self.values.itemsize
        if size > _LARGE or mapped_file(self.values) is not None:
            # A copy of most rows of a large table may not fit into memory.
            return SelectedRowsTable(self, rows)
        return ArrayTable(self.values[rows], self.names, self.infinite)


class SparseTable(Table):
    """A SciPy sparse matrix; what is not stored is 0."""

    def __init__(self, matrix: Any, names: Sequence[str] | None, infinite: str) -> None:
        super().__init__(names, infinite)
        self.matrix = matrix.tocsc()
        if not self.matrix.has_canonical_format:
            self.matrix = self.matrix.copy()
            self.matrix.sum_duplicates()
        self.n_rows, self.n_columns = matrix.shape

    @property
    def holds_numbers(self) -> bool:
        """True unless columns are declared categorical."""
        return not self.categorical

    def _raw(self, j: int) -> SparseColumn:
        span = slice(self.matrix.indptr[j], self.matrix.indptr[j + 1])
        rows = self.matrix.indices[span].astype(ROW, copy=False)
        return SparseColumn(rows, self.matrix.data[span].astype(np.float64), self.n_rows)

    def _take(self, rows: NDArray[np.intp]) -> "SparseTable":
        return SparseTable(self.matrix.tocsr()[rows], self.names, self.infinite)


class FrameTable(Table):
    """A pandas, polars or Arrow table, read through narwhals."""

    def __init__(self, frame: Any, infinite: str) -> None:
        # By its own name a column is found at once; by number some libraries copy the list of all.
        self._own_names = list(frame.columns)
        super().__init__([str(name) for name in self._own_names], infinite)
        self.frame = frame
        self.n_rows, self.n_columns = frame.shape

    def _raw(self, j: int) -> Column:
        return column_from_series(self.frame.get_column(self._own_names[j]), self.name(j))

    def _take(self, rows: NDArray[np.intp]) -> "FrameTable":
        return FrameTable(self.frame[rows.tolist(), :], self.infinite)


class ColumnTable(Table):
    """Typed columns of the same length, side by side."""

    def __init__(
        self, columns: Sequence[Column], names: Sequence[str] | None = None, infinite: str = "raise"
    ) -> None:
        super().__init__(names, infinite)
        self._columns = tuple(columns)
        self.n_rows, self.n_columns = len(columns[0]), len(columns)

    def _raw(self, j: int) -> Column:
        return self._columns[j]

    def _take(self, rows: NDArray[np.intp]) -> "ColumnTable":
        columns = [take_rows(column, rows) for column in self._columns]
        return ColumnTable(columns, self.names, self.infinite)


class SelectedRowsTable(Table):
    """Some rows of another table, taken out of its columns as they are read."""

    def __init__(self, table: Table, rows: NDArray[np.intp]) -> None:
        super().__init__(table.names, table.infinite)
        # The columns come as they are: infinities in other rows do not matter here.
        self._table = table._replace(infinite="value", categorical=frozenset())
        self._rows = rows
        self.n_rows, self.n_columns = len(rows), table.n_columns

    @property
    def holds_numbers(self) -> bool:
        """True where it is known of the other table."""
        return not self.categorical and self._table.holds_numbers

    def _raw(self, j: int) -> Column:
        return take_rows(self._table.column(j), self._rows)

    def _raws(self) -> Iterator[Column]:
        for column in self._table.columns():
            yield take_rows(column, self._rows)


def as_table(X: Any, infinite: str = "raise") -> Table:
    """Return an array, list of rows, sparse matrix or data frame as a table of typed columns.

    A list, or an array of objects, may have strings in some columns, which are categorical.

    Examples
    --------
    >>> table = as_table([[1.0, 2.0], [3.0, 4.0]])
    >>> table.n_rows, table.n_columns, table.column(1).values
    (2, 2, array([2., 4.]))
    """
    if isinstance(X, Table):
        table = X._replace(infinite=infinite)
    elif is_frame(X):
        import narwhals.stable.v1 as nw

        table = FrameTable(_frame(X, nw), infinite)
    else:
        from sklearn.utils.validation import check_array

        if np.ma.is_masked(X):
            X = np.ma.asarray(X, dtype=np.float64).filled(np.nan)
        try:
            values = check_array(
                X, accept_sparse=["csc", "csr"], dtype="numeric", ensure_all_finite=False,
                ensure_min_samples=0, ensure_min_features=0, input_name="X",
            )  # fmt: skip
        except OverflowError as error:
            raise ValueError(f"X holds a number that is too large: {error}") from error
        except ValueError as error:
            if not any(phrase in str(error) for phrase in _STRINGS):
                raise
            if np.ndim(X) != 2:
                raise ValueError(
                    f"Expected 2D array, got {np.ndim(X)}D array instead: X must hold rows; a "
                    "single row is a list, array or frame of one row"
                ) from error
            values = _objects(X)
        if values.dtype.kind in "mM":
            advice = f"; in a data frame, {DATES}" if values.dtype.kind == "M" else ""
            raise ValueError(
                f"X holds dates or times ({values.dtype}); columns must hold numbers{advice}"
            )
        if not isinstance(values, np.ndarray):
            table = SparseTable(values, None, infinite)
        elif values.dtype.kind == "O":
            columns = [
                column_from_objects(column.tolist(), f"x{j}") for j, column in enumerate(values.T)
            ]
            table = ColumnTable(columns, None, infinite)
        else:
            table = array_table(values, infinite)
    for size, noun in ((table.n_columns, "feature(s)"), (table.n_rows, "sample(s)")):
        if size == 0:
            raise ValueError(
                f"X has 0 {noun} (shape={table.shape}) while a minimum of 1 is required."
            )
    return table


def array_table(values: NDArray[Any], infinite: str = "raise") -> ArrayTable:
    """Return a two-dimensional array of numbers as a table."""
    plain = values.dtype.isnative and values.dtype.itemsize <= 8
    if values.dtype.kind not in "fiu" or values.dtype == np.float16 or not plain:
        values = values.astype(np.float64)
    return ArrayTable(values, None, infinite)


def repeat_for_values(
    columns: Sequence[Column], j: int, values: Column, names: Any, infinite: str
) -> ColumnTable:
    """Return rows, given as columns, once for each of some values of column `j`, value by value."""
    rows = np.tile(np.arange(len(columns[0])), len(values))
    made: list[Column] = [take_rows(column, rows) for column in columns]
    made[j] = take_rows(values, np.repeat(np.arange(len(values)), len(columns[0])))
    return ColumnTable(made, names, infinite)


def _frame(X: Any, nw: Any) -> Any:
    arrow = type(X).__module__.startswith("pyarrow")
    # The names of a lazy frame would have to be computed, and it is refused below.
    lazy = hasattr(X, "collect")
    names = [] if lazy else [str(name) for name in (X.schema.names if arrow else X.columns)]
    if len(set(names)) < len(names):
        twice = [name for name, count in sorted(Counter(names).items()) if count > 1]
        raise ValueError(f"X has several columns of the same name: {twice[0]!r}")
    try:
        return nw.from_native(X, eager_only=True)
    except TypeError as error:
        raise TypeError(
            f"X is a {type(X).__module__}.{type(X).__name__}, which is not a table in memory: "
            "collect or convert it to a data frame first"
        ) from error


def _objects(X: Any) -> NDArray[np.object_]:
    """Return rows that hold strings as an array of objects, as data frames often become one."""
    values = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if values.dtype.kind != "O":
        raise ValueError("X holds strings; put them into a data frame, whose columns have types")
    return values


def mapped_file(values: Any) -> mmap.mmap | None:
    """Return the file behind a read-only memory-mapped array, None for any other array."""
    if not hasattr(mmap, "MADV_DONTNEED"):
        return None
    is_file = False
    while values is not None:
        if isinstance(values, np.memmap):
            # Pages of a "copy on write" array may have been changed: they must stay.
            if values.mode != "r":
                return None
            is_file = True
        if isinstance(values, mmap.mmap):
            # Memory without a file behind it would be lost.
            return values if is_file else None
        values = getattr(values, "base", None)
    return None


def is_frame(X: Any) -> bool:
    """Return whether `X` is a data frame that narwhals reads, without importing its library."""
    home = type(X).__module__.split(".")[0]
    return home in ("pandas", "polars", "pyarrow", "modin", "cudf") and hasattr(type(X), "columns")
