"""Any input as a table of typed columns: arrays, lists, CSR/CSC, pandas, polars and Arrow."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.data.columns import (
    Column,
    NominalColumn,
    NumericColumn,
    SparseColumn,
    as_numbers,
)
from edgewise.dtypes import CATEGORY_CODE, ROW

INFINITE_CHOICES = ("raise", "missing", "value")

# Columns of a row-major array are copied out this many at a time: one column alone would touch
# every cache line of the array for eight bytes of it.
_BLOCK = 64


class Table(ABC):
    """Rows by typed columns, read column by column and never changed.

    Parameters
    ----------
    names : sequence of str or None
        Names of the columns, where the input has them.
    infinite : {"raise", "missing", "value"}
        What an infinite number means: an error, a missing value, or the largest or smallest value.
    """

    n_rows: int
    n_columns: int

    def __init__(self, names: Sequence[str] | None, infinite: str) -> None:
        self.names = list(names) if names is not None else None
        self.infinite = infinite
        self.nominal: frozenset[int] = frozenset()

    def declare(self, nominal: Sequence[int]) -> "Table":
        """Say that some columns are nominal, whatever they hold; return the table."""
        self.nominal = frozenset(nominal)
        return self

    @abstractmethod
    def _raw(self, j: int) -> Column:
        """Return column `j` as it came."""

    @abstractmethod
    def _take(self, rows: NDArray[np.intp]) -> "Table":
        """Return a table of these rows."""

    def take(self, rows: NDArray[np.intp]) -> "Table":
        """Return a table of these rows."""
        return self._take(rows).declare(list(self.nominal))

    def name(self, j: int) -> str:
        """Return the name of column `j`, or a made-up one (x0, x1, ...)."""
        return self.names[j] if self.names is not None else f"x{j}"

    def column(self, j: int) -> Column:
        """Return column `j`, its infinite values dealt with."""
        return self._declared(j, self._settle(j, self._raw(j)))

    def numbers(self, j: int) -> NumericColumn | SparseColumn:
        """Return column `j`, which must hold numbers as it did in training."""
        column = as_numbers(self.column(j))
        if column is None:
            raise ValueError(
                f"X has categories in column {self.name(j)!r}, where training had numbers"
            )
        return column

    def columns(self) -> Iterator[Column]:
        """Yield every column in turn."""
        for j in range(self.n_columns):
            yield self.column(j)

    def _settle(self, j: int, column: Column) -> Column:
        if isinstance(column, NominalColumn) or column.values.dtype.kind != "f":
            return column
        if self.infinite == "value":
            return column
        infinite = np.isinf(column.values)
        if not infinite.any():
            return column
        if self.infinite == "raise":
            raise ValueError(
                f"X has an infinite value in column {self.name(j)!r}; "
                "infinite='missing' treats it as missing, infinite='value' as the largest "
                "or smallest value"
            )
        settled = np.where(infinite, np.nan, column.values)
        if isinstance(column, SparseColumn):
            return SparseColumn(column.rows, settled, column.n_rows)
        return NumericColumn(settled)

    def _declared(self, j: int, column: Column) -> Column:
        if j not in self.nominal or isinstance(column, NominalColumn):
            return column
        return numbers_as_values(column.reals())


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

    def _raw(self, j: int) -> NumericColumn:
        return NumericColumn(np.ascontiguousarray(self.values[:, j]))

    def columns(self) -> Iterator[Column]:
        """Yield every column in turn, copied out of a row-major array by blocks."""
        for start in range(0, self.n_columns, _BLOCK):
            block = np.ascontiguousarray(self.values[:, start : start + _BLOCK].T)
            for offset, values in enumerate(block):
                j = start + offset
                yield self._declared(j, self._settle(j, NumericColumn(values)))

    def is_settled(self) -> bool:
        """Return whether the values can be used as they are: no infinite ones to deal with."""
        if self.infinite == "value" or self.values.dtype.kind != "f":
            return True
        return not np.isinf(self.values).any()

    def _take(self, rows: NDArray[np.intp]) -> "ArrayTable":
        return ArrayTable(self.values[rows], self.names, self.infinite)


class SparseTable(Table):
    """A SciPy sparse matrix; what is not stored is 0."""

    def __init__(
        self, matrix: Any, names: Sequence[str] | None = None, infinite: str = "raise"
    ) -> None:
        super().__init__(names, infinite)
        self.matrix = matrix.tocsc()
        if not self.matrix.has_canonical_format:
            self.matrix = self.matrix.copy()
            self.matrix.sum_duplicates()
        self.n_rows, self.n_columns = matrix.shape

    def _raw(self, j: int) -> SparseColumn:
        span = slice(self.matrix.indptr[j], self.matrix.indptr[j + 1])
        rows = self.matrix.indices[span].astype(ROW, copy=False)
        return SparseColumn(rows, self.matrix.data[span].astype(np.float64), self.n_rows)

    def _take(self, rows: NDArray[np.intp]) -> "SparseTable":
        return SparseTable(self.matrix.tocsr()[rows], self.names, self.infinite)


class FrameTable(Table):
    """A pandas, polars or Arrow table, read through narwhals."""

    def __init__(self, frame: Any, infinite: str = "raise") -> None:
        super().__init__([str(name) for name in frame.columns], infinite)
        self.frame = frame
        self.n_rows, self.n_columns = frame.shape

    def _raw(self, j: int) -> Column:
        return _typed(self.frame[:, j], self.name(j))

    def _take(self, rows: NDArray[np.intp]) -> "FrameTable":
        return FrameTable(self.frame[rows.tolist(), :], self.infinite)


def as_table(X: Any, infinite: str = "raise") -> Table:
    """Return `X` as a table of typed columns.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        A NumPy array, a list of rows, a SciPy sparse matrix, or a pandas, polars or Arrow table.
    infinite : {"raise", "missing", "value"}, default "raise"
        What an infinite number means.

    Raises
    ------
    ValueError
        If `X` is empty, not two-dimensional, or has columns of mixed or unknown types.

    Examples
    --------
    >>> table = as_table([[1.0, 2.0], [3.0, 4.0]])
    >>> table.n_rows, table.n_columns, table.column(1).values
    (2, 2, array([2., 4.]))
    """
    if is_frame(X):
        import narwhals.stable.v1 as nw

        table: Table = FrameTable(_frame(X, nw), infinite)
    else:
        from sklearn.utils.validation import check_array

        try:
            values = check_array(
                X, accept_sparse=["csc", "csr"], dtype="numeric", ensure_all_finite=False,
                ensure_min_samples=0, ensure_min_features=0, input_name="X",
            )  # fmt: skip
        except ValueError as error:
            raise _naming_the_column(X, error) from error
        if values.dtype.kind in "mM":
            raise ValueError(f"X holds dates or times ({values.dtype}); columns must hold numbers")
        if sparse.issparse(values):
            table = SparseTable(values, None, infinite)
        else:
            plain = values.dtype.isnative and values.dtype.itemsize <= 8
            if values.dtype.kind not in "fiu" or values.dtype == np.float16 or not plain:
                values = values.astype(np.float64)
            table = ArrayTable(values, None, infinite)
    if table.n_columns == 0:
        raise ValueError(
            f"X has 0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 1 is required."
        )
    if table.n_rows == 0:
        raise ValueError(
            f"X has 0 sample(s) (shape=(0, {table.n_columns})) while a minimum of 1 is required."
        )
    return table


def _frame(X: Any, nw: Any) -> Any:
    names = [str(name) for name in getattr(X, "columns", [])]
    if type(X).__module__.startswith("pandas") and len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"X has several columns of the same name: {twice[0]!r}")
    try:
        return nw.from_native(X, eager_only=True)
    except TypeError as error:
        raise TypeError(
            f"X is a {type(X).__module__}.{type(X).__name__}, which is not a table in memory: "
            "collect or convert it to a data frame first"
        ) from error


def _naming_the_column(X: Any, error: ValueError) -> ValueError:
    """Return an error that names the first column that does not hold numbers, if that is why."""
    if not str(error).startswith("could not convert"):
        return error
    plain = np.array(X, dtype=object)
    if plain.ndim == 2:
        for j, column in enumerate(plain.T):
            try:
                column.astype(np.float64)
            except (TypeError, ValueError):
                return ValueError(f"X has a column that does not hold numbers, 'x{j}': {error}")
    return error


def is_frame(X: Any) -> bool:
    """Return whether `X` is a data frame that narwhals reads, without importing its library."""
    home = type(X).__module__.split(".")[0]
    return home in ("pandas", "polars", "pyarrow", "modin", "cudf") and hasattr(X, "columns")


def _typed(series: Any, name: str) -> Column:
    """Return a narwhals series as a typed column."""
    import narwhals.stable.v1 as nw

    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        # A yes/no column is the numbers 0 and 1: a threshold on it is the same rule as a test of
        # its value, and every learner for numbers can use it.
        return NumericColumn(_numbers(series, nw))
    coded = _native_codes(series, dtype, nw)
    if coded is not None:
        return coded
    if dtype in (nw.Categorical, nw.Enum, nw.String):
        # Missing values are asked for before the cast, which may turn them into words.
        missing = series.is_null().to_list()
        words = series.cast(nw.String).to_list()
        return _nominal([None if gone else word for word, gone in zip(words, missing, strict=True)])
    if dtype == nw.Unknown and series.is_null().all():
        return NumericColumn(np.full(len(series), np.nan))
    if dtype == nw.Object:
        return _from_objects(series.to_list(), name)
    raise ValueError(
        f"X has column {name!r} of type {dtype}; columns must hold numbers, booleans or categories"
    )


def _native_codes(series: Any, dtype: Any, nw: Any) -> NominalColumn | None:
    """Return a column of pandas or polars by the library's own codes; None for other columns.

    That is some fifty times faster than a loop over the values.
    """
    native, home = series.to_native(), type(series.to_native()).__module__.split(".")[0]
    if home == "pandas" and dtype in (nw.Categorical, nw.String):
        import pandas

        places, found = pandas.factorize(native)
        words = [_word(value) for value in found]
    elif home == "polars" and dtype in (nw.Categorical, nw.Enum, nw.String):
        import polars

        words = native.drop_nulls().unique().cast(polars.String).to_list()
        order = polars.Series(words, dtype=polars.String)
        code = polars.Series(range(len(words)), dtype=polars.Int64)
        given = native.cast(polars.String)
        places = given.replace_strict(order, code, default=None).fill_null(-1).to_numpy()
    else:
        return None
    categories = sorted(set(words))
    rank = {word: place for place, word in enumerate(categories)}
    table = np.array([*(rank[word] for word in words), len(categories)], dtype=CATEGORY_CODE)
    return NominalColumn(table[places], tuple(categories))


def _word(value: Any) -> str:
    """Return the name of a category; 3 and 3.0 are the same.

    A column of whole numbers becomes one of floats as soon as one of them is missing.
    """
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def _numbers(series: Any, nw: Any) -> NDArray[np.number]:
    plain = series.dtype.is_integer() or series.dtype.is_float()
    if plain and not series.is_null().any():
        values = series.to_numpy()
        if values.dtype.kind in "fiu" and values.dtype.itemsize <= 8:
            return np.asarray(values)
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _from_objects(values: list[Any], name: str) -> Column:
    """Type a column of Python objects by what it really holds."""
    present = [value for value in values if not _is_missing(value)]
    if not present:
        return NumericColumn(np.full(len(values), np.nan))
    if all(isinstance(value, str) for value in present):
        return _nominal(values)
    if all(isinstance(value, (int, float, np.number, np.bool_)) for value in present):
        numbers = [np.nan if _is_missing(value) else float(value) for value in values]
        return NumericColumn(np.array(numbers))
    kinds = sorted({type(value).__name__ for value in present})
    raise ValueError(
        f"X has column {name!r} of mixed types ({', '.join(kinds)}); "
        "a column must hold numbers only or strings only"
    )


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def numbers_as_values(values: NDArray[np.float64]) -> NominalColumn:
    """Return numbers as a nominal column: each different number is a value.

    Examples
    --------
    >>> import numpy as np
    >>> numbers_as_values(np.array([7.0, 3.0, np.nan, 7.0]))
    NominalColumn(codes=array([1, 0, 2, 1], dtype=uint32), categories=(3.0, 7.0))
    """
    missing = np.isnan(values)
    distinct, places = np.unique(values[~missing], return_inverse=True)
    codes = np.full(len(values), len(distinct), dtype=CATEGORY_CODE)
    codes[~missing] = places
    return NominalColumn(codes, tuple(distinct.tolist()))


def _nominal(given: list[Any]) -> NominalColumn:
    values = [None if _is_missing(value) else value for value in given]
    categories = tuple(sorted({value for value in values if value is not None}))
    place: dict[str | None, int] = {category: code for code, category in enumerate(categories)}
    place[None] = len(categories)
    codes = np.fromiter((place[value] for value in values), CATEGORY_CODE, len(values))
    return NominalColumn(codes, categories)
