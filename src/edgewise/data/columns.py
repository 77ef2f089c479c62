"""Typed columns: what every kind of input becomes before it is binned."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import CATEGORY_CODE, ROW, Codes, Reals, Rows
from edgewise.common.ids import is_missing

DATES = "edgewise.io.Schema makes numbers of dates"


@dataclass(frozen=True)
class NumericColumn:
    """Numbers, one a row; NaN marks a missing value.

    The values keep their own dtype (uint8 pixels stay uint8) until they are compared with a
    threshold, which is done in float64.
    """

    values: NDArray[np.number]

    def __len__(self) -> int:
        return len(self.values)

    def reals(self) -> Reals:
        """Return the values as float64, a view where they are already."""
        return np.asarray(self.values, dtype=np.float64)


@dataclass(frozen=True)
class SparseColumn:
    """Numbers of which only those stored can differ from 0; NaN marks a missing value."""

    rows: Rows
    values: Reals
    n_rows: int

    def __len__(self) -> int:
        return self.n_rows

    def reals(self) -> Reals:
        """Return all rows' values as float64, zeros included."""
        dense = np.zeros(self.n_rows)
        dense[self.rows] = self.values
        return dense

    def part(self, part: slice) -> Reals:
        """Return the values of some rows next to each other; those stored must ascend by row."""
        start, stop, _ = part.indices(self.n_rows)
        here = slice(*np.searchsorted(self.rows, (start, stop)))
        dense = np.zeros(stop - start)
        dense[self.rows[here] - start] = self.values[here]
        return dense


@dataclass(frozen=True)
class CategoricalColumn:
    """Codes into `categories`, one a row; the code ``len(categories)`` marks a missing value."""

    codes: Codes
    categories: tuple[object, ...]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing_code(self) -> int:
        """The code of a missing value."""
        return len(self.categories)

    def recode(self, categories: tuple[object, ...]) -> "CategoricalColumn":
        """Return the column in terms of other categories; a value not among them is missing."""
        code_of = {category: code for code, category in enumerate(categories)}
        unseen = len(categories)
        table = [code_of.get(category, unseen) for category in self.categories]
        codes = np.array([*table, unseen], dtype=np.uint32)[self.codes]
        return CategoricalColumn(codes, categories)


Column = NumericColumn | SparseColumn | CategoricalColumn


def as_numbers(column: Column) -> NumericColumn | SparseColumn | None:
    """Return a column as one of numbers, or None; one without any value has no kind of its own."""
    if not isinstance(column, CategoricalColumn):
        return column
    return None if column.categories else NumericColumn(np.full(len(column), np.nan))


def as_categorical(column: Column, trained: tuple[object, ...] = ()) -> CategoricalColumn | None:
    """Return a column as a categorical one, or None; one without any value has no kind.

    Numbers are categories where the values in training were: a pandas category of 1, 2 and 3 comes
    back from a file, or from a request, as numbers.
    """
    if isinstance(column, CategoricalColumn):
        return column
    if len(column.values) == len(column) and np.isnan(column.reals()).all():
        return CategoricalColumn(np.zeros(len(column), dtype=np.uint32), ())
    if trained and all(isinstance(category, str) and _is_number(category) for category in trained):
        numbers = categories_of_numbers(column.reals())
        return CategoricalColumn(numbers.codes, tuple(map(_category_name, numbers.categories)))
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


def concatenate_columns(parts: Sequence[Column], name: str) -> Column:
    """Return runs of rows as one column; a run without any value goes with those that have some."""
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(run, CategoricalColumn) for run in parts):
        named = [run for run in map(as_categorical, parts) if run is not None]
        if len(named) == len(parts):
            return _concatenate_categories(named)
    numbers = [run for run in map(as_numbers, parts) if run is not None]
    if len(numbers) < len(parts):
        raise ValueError(f"pieces have numbers in some, categories in others of column {name!r}")
    return _concatenate_numbers(numbers)


def copy_column(column: Column) -> Column:
    """Return a column with memory of its own, so that the table it comes from can be let go."""
    if isinstance(column, CategoricalColumn):
        return column
    if isinstance(column, SparseColumn):
        return SparseColumn(column.rows.copy(), column.values.copy(), column.n_rows)
    return column if column.values.base is None else NumericColumn(column.values.copy())


def _concatenate_numbers(
    parts: Sequence[NumericColumn | SparseColumn],
) -> NumericColumn | SparseColumn:
    kept = [run for run in parts if isinstance(run, SparseColumn)]
    if len(kept) < len(parts):
        values = [run.reals() if isinstance(run, SparseColumn) else run.values for run in parts]
        return NumericColumn(np.concatenate(values))
    ends = np.cumsum([len(run) for run in kept])
    rows = [run.rows + ROW(end - len(run)) for run, end in zip(kept, ends, strict=True)]
    values = [run.values for run in kept]
    return SparseColumn(np.concatenate(rows), np.concatenate(values), int(ends[-1]))


def _concatenate_categories(parts: Sequence[CategoricalColumn]) -> CategoricalColumn:
    every = {value for run in parts for value in run.categories}
    categories = tuple(sorted(every))  # type: ignore[type-var]
    codes = [run.recode(categories).codes for run in parts]
    return CategoricalColumn(np.concatenate(codes).astype(CATEGORY_CODE), categories)


def column_from_series(series: Any, name: str) -> Column:
    """Return a narwhals series as a typed column."""
    import narwhals.stable.v1 as nw

    dtype, native_dtype = series.dtype, getattr(series.to_native(), "dtype", None)
    if type(native_dtype).__name__ == "SparseDtype":
        return _from_sparse(series.to_native().array, name)
    # Many versions of narwhals do not know half precision.
    if dtype.is_numeric() or dtype == nw.Boolean or native_dtype == np.float16:
        # A yes/no column is the numbers 0 and 1: a threshold on it is the same rule as a test of
        # its value, and every learner for numbers can use it.
        return NumericColumn(_numbers(series, nw))
    coded = _native_codes(series, dtype, nw)
    if coded is not None:
        return coded
    if dtype in (nw.Categorical, nw.Enum, nw.String):
        # Missing values are asked for before the cast, which may turn them into words.
        missing = series.is_null().to_list()
        strings = series.cast(nw.String).to_list()
        return categorical_column(
            [None if gone else string for string, gone in zip(strings, missing, strict=True)]
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
    """Return a sparse column of pandas, which stores all values but one."""
    if array.dtype.subtype.kind not in "fiub":
        raise ValueError(f"X has column {name!r} of type {array.dtype}; it must hold numbers")
    if array.fill_value != 0:
        return NumericColumn(np.asarray(array, dtype=np.float64))
    rows = array.sp_index.to_int_index().indices.astype(ROW)
    return SparseColumn(rows, array.sp_values.astype(np.float64), len(array))


def _native_codes(series: Any, dtype: Any, nw: Any) -> CategoricalColumn | None:
    """Return a column of pandas or polars by its own codes, which is fast; None for others."""
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
    categories = sorted(set(strings))
    rank = {string: place for place, string in enumerate(categories)}
    table = np.array([*(rank[string] for string in strings), len(categories)], dtype=CATEGORY_CODE)
    return CategoricalColumn(table[codes], tuple(categories))


def _category_name(value: Any) -> str:
    """Return the name of a category; 3 and 3.0 are the same, as in a column with missing values."""
    is_whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if is_whole else str(value)


def _is_number(word: str) -> bool:
    """Return whether a category is the name of a number."""
    try:
        return _category_name(float(word)) == word
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
    """Type a column of Python objects by what it really holds."""
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
    """Return numbers as a categorical column: each different number is a value."""
    missing = np.isnan(values)
    distinct, indices = np.unique(values[~missing], return_inverse=True)
    codes = np.full(len(values), len(distinct), dtype=CATEGORY_CODE)
    codes[~missing] = indices
    return CategoricalColumn(codes, tuple(distinct.tolist()))


def categorical_column(given: Sequence[Any]) -> CategoricalColumn:
    """Return strings as a categorical column; categories are sorted."""
    values = [None if is_missing(value) else value for value in given]
    categories = tuple(sorted({value for value in values if value is not None}))
    code_of: dict[str | None, int] = {category: code for code, category in enumerate(categories)}
    code_of[None] = len(categories)
    codes = np.fromiter((code_of[value] for value in values), CATEGORY_CODE, len(values))
    return CategoricalColumn(codes, categories)
