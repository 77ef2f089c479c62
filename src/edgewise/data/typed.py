"""A column of a data frame, whatever its library and type, as a typed column."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import CATEGORY_CODE
from edgewise.common.ids import is_missing
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn


def typed(series: Any, name: str) -> Column:
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
        return _categorical(
            [None if gone else word for word, gone in zip(words, missing, strict=True)]
        )
    if dtype == nw.Unknown and series.is_null().all():
        return NumericColumn(np.full(len(series), np.nan))
    if dtype == nw.Object:
        return _from_objects(series.to_list(), name)
    raise ValueError(
        f"X has column {name!r} of type {dtype}; columns must hold numbers, booleans or categories"
    )


def _native_codes(series: Any, dtype: Any, nw: Any) -> CategoricalColumn | None:
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
    return CategoricalColumn(table[places], tuple(categories))


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
    present = [value for value in values if not is_missing(value)]
    if not present:
        return NumericColumn(np.full(len(values), np.nan))
    if all(isinstance(value, str) for value in present):
        return _categorical(values)
    if all(isinstance(value, (int, float, np.number, np.bool_)) for value in present):
        numbers = [np.nan if is_missing(value) else float(value) for value in values]
        return NumericColumn(np.array(numbers))
    kinds = sorted({type(value).__name__ for value in present})
    raise ValueError(
        f"X has column {name!r} of mixed types ({', '.join(kinds)}); "
        "a column must hold numbers only or strings only"
    )


def numbers_as_values(values: NDArray[np.float64]) -> CategoricalColumn:
    """Return numbers as a categorical column: each different number is a value.

    Examples
    --------
    >>> import numpy as np
    >>> numbers_as_values(np.array([7.0, 3.0, np.nan, 7.0]))
    CategoricalColumn(codes=array([1, 0, 2, 1], dtype=uint32), categories=(3.0, 7.0))
    """
    missing = np.isnan(values)
    distinct, places = np.unique(values[~missing], return_inverse=True)
    codes = np.full(len(values), len(distinct), dtype=CATEGORY_CODE)
    codes[~missing] = places
    return CategoricalColumn(codes, tuple(distinct.tolist()))


def _categorical(given: list[Any]) -> CategoricalColumn:
    values = [None if is_missing(value) else value for value in given]
    categories = tuple(sorted({value for value in values if value is not None}))
    place: dict[str | None, int] = {category: code for code, category in enumerate(categories)}
    place[None] = len(categories)
    codes = np.fromiter((place[value] for value in values), CATEGORY_CODE, len(values))
    return CategoricalColumn(codes, categories)
