"""Typed columns: numbers, sparse numbers or categories, one type for any kind of input."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import CATEGORY_CODE, ROW, Codes, Reals, Rows
from edgewise.common.ids import factorize_list, is_missing

DATES = "edgewise.io.Schema turns dates into numbers"


@dataclass(frozen=True)
class NumericColumn:
    """Numbers, one per row; NaN marks a missing value.

    The values keep their dtype (uint8 pixels stay uint8); thresholds are compared in float64.
    """

    values: NDArray[np.number]

    def __len__(self) -> int:
        return len(self.values)

    def reals(self) -> Reals:
        """Return the values as float64, without a copy if they are float64."""
        return np.asarray(self.values, dtype=np.float64)


@dataclass(frozen=True)
class SparseColumn:
    """Numbers that are 0 except in the stored rows; NaN marks a missing value."""

    rows: Rows
    values: Reals
    n_rows: int

    def __len__(self) -> int:
        return self.n_rows

    def reals(self) -> Reals:
        """Return the values of all rows as float64."""
        dense = np.zeros(self.n_rows)
        dense[self.rows] = self.values
        return dense

    def values_of(self, rows: slice) -> Reals:
        """Return the values of a range of rows; the stored rows must ascend."""
        start, stop, _ = rows.indices(self.n_rows)
        stored = slice(*np.searchsorted(self.rows, (start, stop)))
        dense = np.zeros(stop - start)
        dense[self.rows[stored] - start] = self.values[stored]
        return dense


@dataclass(frozen=True)
class CategoricalColumn:
    """Codes into `categories`, one per row; ``len(categories)`` marks a missing value."""

    codes: Codes
    categories: tuple[object, ...]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing_code(self) -> int:
        """The code of a missing value."""
        return len(self.categories)

    def recode(self, categories: tuple[object, ...]) -> "CategoricalColumn":
        """Return the column coded by other categories; values outside of them are missing."""
        return recode(self.codes, self.categories, categories)


Column = NumericColumn | SparseColumn | CategoricalColumn


def recode(
    codes: NDArray[np.integer], values: Sequence[Any], categories: Sequence[Any] | None = None
) -> CategoricalColumn:
    """Return the values ``values[code]`` as a column with the given or with sorted categories.

    The codes -1 and ``len(values)``, the value None and values outside of the categories are
    missing.
    """
    if categories is None:
        categories = sorted({value for value in values if value is not None})
    code_of = {category: code for code, category in enumerate(categories)}
    missing = len(categories)
    table = [*(code_of.get(value, missing) for value in values), missing]
    return CategoricalColumn(np.array(table, dtype=CATEGORY_CODE)[codes], tuple(categories))


def as_numbers(column: Column) -> NumericColumn | SparseColumn | None:
    """Return a column of numbers, or None; a column without values is of either kind."""
    if not isinstance(column, CategoricalColumn):
        return column
    return None if column.categories else NumericColumn(np.full(len(column), np.nan))


def as_categorical(column: Column, trained: tuple[object, ...] = ()) -> CategoricalColumn | None:
    """Return a categorical column, or None; a column without values is of either kind.

    Numbers are categories if they were in training: a pandas category of 1, 2 and 3 is read back
    from a file, or from a request, as numbers.
    """
    if isinstance(column, CategoricalColumn):
        return column
    if len(column.values) == len(column) and np.isnan(column.reals()).all():
        return CategoricalColumn(np.zeros(len(column), dtype=CATEGORY_CODE), ())
    if trained and all(isinstance(category, str) and _is_number(category) for category in trained):
        return strings_of_numbers(column.reals())
    return None


def take_rows(column: Column, rows: NDArray[np.intp]) -> NumericColumn | CategoricalColumn:
    """Return some rows of a column; a row number of -1 gives a missing value."""
    absent = rows < 0
    if isinstance(column, CategoricalColumn):
        codes = column.codes[rows]
        codes[absent] = column.missing_code
        return CategoricalColumn(codes, column.categories)
    if isinstance(column, NumericColumn) and not absent.any():
        return NumericColumn(column.values[rows])
    return NumericColumn(np.where(absent, np.nan, column.reals()[rows]))


def concatenate_columns(runs: Sequence[Column], name: str) -> Column:
    """Return runs of rows as one column; a run without values adopts the kind of the others."""
    if len(runs) == 1:
        return runs[0]
    if any(isinstance(run, CategoricalColumn) for run in runs):
        categorical = [run for run in map(as_categorical, runs) if run is not None]
        if len(categorical) == len(runs):
            values = {value for run in categorical for value in run.categories}
            categories = tuple(sorted(values))  # type: ignore[type-var]
            codes = [run.recode(categories).codes for run in categorical]
            return CategoricalColumn(np.concatenate(codes), categories)
    numbers = [run for run in map(as_numbers, runs) if run is not None]
    if len(numbers) < len(runs):
        raise ValueError(f"pieces have numbers in some, categories in others of column {name!r}")
    return _concatenate_numbers(numbers)


def copy_column(column: Column) -> Column:
    """Return a column that shares no memory with its table, so that the table can be freed."""
    if isinstance(column, CategoricalColumn):
        return column
    if isinstance(column, SparseColumn):
        return SparseColumn(column.rows.copy(), column.values.copy(), column.n_rows)
    return column if column.values.base is None else NumericColumn(column.values.copy())


def _concatenate_numbers(
    runs: Sequence[NumericColumn | SparseColumn],
) -> NumericColumn | SparseColumn:
    sparse_runs = [run for run in runs if isinstance(run, SparseColumn)]
    if len(sparse_runs) < len(runs):
        values = [run.reals() if isinstance(run, SparseColumn) else run.values for run in runs]
        return NumericColumn(np.concatenate(values))
    ends = np.cumsum([len(run) for run in sparse_runs])
    rows = [run.rows + ROW(end - len(run)) for run, end in zip(sparse_runs, ends, strict=True)]
    values = [run.values for run in sparse_runs]
    return SparseColumn(np.concatenate(rows), np.concatenate(values), int(ends[-1]))


def column_from_series(series: Any, name: str) -> Column:
    """Return a narwhals series as a typed column."""
    import narwhals.stable.v1 as nw

    dtype, native_dtype = series.dtype, getattr(series.to_native(), "dtype", None)
    if type(native_dtype).__name__ == "SparseDtype":
        return _from_sparse(series.to_native().array, name)
    # Many versions of narwhals do not support half precision. Booleans are the numbers 0 and 1:
    # a threshold tests their value.
    if dtype.is_numeric() or dtype == nw.Boolean or native_dtype == np.float16:
        return NumericColumn(_numbers(series, nw))
    coded = _native_codes(series, dtype, nw)
    if coded is not None:
        return coded
    if dtype in (nw.Categorical, nw.Enum, nw.String):
        # Before the cast, which may turn missing values into strings.
        missing = series.is_null().to_list()
        strings = series.cast(nw.String).to_list()
        return categorical_column(
            [None if is_null else string for string, is_null in zip(strings, missing, strict=True)]
        )
    if dtype == nw.Unknown and series.is_null().all():
        return NumericColumn(np.full(len(series), np.nan))
    if dtype == nw.Object:
        return column_from_objects(series.to_list(), name)
    dates = dtype in (nw.Date, nw.Datetime)
    kind = native_dtype if dtype == nw.Unknown else dtype
    raise ValueError(
        f"X has column {name!r} of type {kind}; columns must hold numbers, booleans or categories"
        + (f"; {DATES}" if dates else "")
    )


def _from_sparse(array: Any, name: str) -> Column:
    """Return a sparse column of pandas, which stores all values except `fill_value`."""
    if array.dtype.subtype.kind not in "fiub":
        raise ValueError(f"X has column {name!r} of type {array.dtype}; it must hold numbers")
    if array.fill_value != 0:
        return NumericColumn(np.asarray(array, dtype=np.float64))
    rows = array.sp_index.to_int_index().indices.astype(ROW)
    return SparseColumn(rows, array.sp_values.astype(np.float64), len(array))


def _native_codes(series: Any, dtype: Any, nw: Any) -> CategoricalColumn | None:
    """Return a column of pandas or polars from its own codes, which is fast; None for others."""
    native, home = series.to_native(), type(series.to_native()).__module__.split(".")[0]
    if home == "pandas" and dtype in (nw.Categorical, nw.String):
        import pandas

        codes, uniques = pandas.factorize(native)
        strings = [_category_name(value) for value in uniques]
    elif home == "polars" and dtype in (nw.Categorical, nw.Enum, nw.String):
        import polars

        strings = native.drop_nulls().unique().cast(polars.String).to_list()
        order = polars.Series(strings, dtype=polars.String)
        code = polars.Series(range(len(strings)), dtype=polars.Int64)
        as_text = native.cast(polars.String)
        codes = as_text.replace_strict(order, code, default=None).fill_null(-1).to_numpy()
    else:
        return None
    return recode(codes, strings)


def _category_name(value: Any) -> str:
    """Return the name of a category: "3" for 3 and for the 3.0 of a column with missing values."""
    is_whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if is_whole else str(value)


def _is_number(name: str) -> bool:
    """Return whether a category is the name of a number."""
    try:
        return _category_name(float(name)) == name
    except ValueError:
        return False


def _numbers(series: Any, nw: Any) -> NDArray[np.number]:
    native = series.to_native()
    native_dtype = getattr(native, "dtype", None)
    if isinstance(native_dtype, np.dtype) and _is_stored(native_dtype):
        return np.asarray(native)
    plain = series.dtype.is_integer() or series.dtype.is_float()
    if plain and not series.is_null().any():
        values = series.to_numpy()
        if _is_stored(values.dtype):
            return np.asarray(values)
    values = series.cast(nw.Float64).to_numpy()
    if values.dtype.kind == "O":
        # Older versions of pandas hand over missing values of Arrow as objects.
        values = [np.nan if is_missing(value) else value for value in values]
    return np.asarray(values, dtype=np.float64)


def _is_stored(dtype: np.dtype[Any]) -> bool:
    """Return whether numbers of a type are kept as they are."""
    return dtype.kind in "iu" or (dtype.kind == "f" and dtype.itemsize in (4, 8))


def column_from_objects(values: list[Any], name: str) -> Column:
    """Return Python objects as a typed column."""
    present = [value for value in values if not is_missing(value)]
    if not present:
        return NumericColumn(np.full(len(values), np.nan))
    if all(isinstance(value, str) for value in present):
        return categorical_column(values)
    if all(isinstance(value, (int, float, Decimal, np.number, np.bool_)) for value in present):
        try:
            numbers = [np.nan if is_missing(value) else float(value) for value in values]
        except OverflowError as error:
            raise ValueError(f"X has column {name!r} with a number too large: {error}") from error
        return NumericColumn(np.array(numbers))
    kinds = sorted({type(value).__name__ for value in present})
    example = next((f", among them {value!r}" for value in present if isinstance(value, str)), "")
    kind = f"type {kinds[0]}" if len(kinds) == 1 else f"mixed types ({', '.join(kinds)}){example}"
    advice = f"; {DATES}" if any(isinstance(value, date) for value in present) else ""
    raise ValueError(
        f"X has column {name!r} of {kind}; a column must hold numbers only or strings only{advice}"
    )


def categories_of_numbers(values: NDArray[np.float64]) -> CategoricalColumn:
    """Return numbers as a categorical column: each distinct number is a category."""
    missing = np.isnan(values)
    distinct, indices = np.unique(values[~missing], return_inverse=True)
    codes = np.full(len(values), len(distinct), dtype=CATEGORY_CODE)
    codes[~missing] = indices
    return CategoricalColumn(codes, tuple(distinct.tolist()))


def strings_of_numbers(values: Reals) -> CategoricalColumn:
    """Return numbers as a categorical column of strings: 3.0 is "3"."""
    numbers = categories_of_numbers(values)
    return recode(numbers.codes, [_category_name(number) for number in numbers.categories])


def categorical_column(values: Sequence[Any]) -> CategoricalColumn:
    """Return strings and missing values as a categorical column."""
    strings, codes = factorize_list([None if is_missing(value) else value for value in values])
    return recode(codes, strings)
