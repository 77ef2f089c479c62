"""Every kind of input becomes the same typed columns."""

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from edgewise.data import (
    CategoricalColumn,
    NumericColumn,
    SparseColumn,
    as_table,
    encode,
    fit_encode,
)

NAMES = ["first", "second", "third"]


def arrow(X, kind=None):
    return pa.table({name: pa.array(x.tolist(), kind) for name, x in zip(NAMES, X.T, strict=True)})


def with_nulls(X):
    """Return the columns as lists, NaN as None."""
    return {
        name: [None if np.isnan(value) else value for value in x]
        for name, x in zip(NAMES, X.T.tolist(), strict=True)
    }


COMPLETE = {
    "float64": lambda X: X,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "longdouble": lambda X: X.astype(np.longdouble),
    "int64": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "uint8": lambda X: X.astype(np.uint8),
    "uint64": lambda X: X.astype(np.uint64),
    "object": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "csr array": sparse.csr_array,
    "coo": sparse.coo_matrix,
    "csr of ints": lambda X: sparse.csr_matrix(X.astype(np.int32)),
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas ints": lambda X: pd.DataFrame(X.astype(np.int16), columns=NAMES),
    "pandas nullable": lambda X: pd.DataFrame(X, columns=NAMES).astype("Int64"),
    "pandas objects": lambda X: pd.DataFrame(X, columns=NAMES).astype(object),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "polars ints": lambda X: pl.DataFrame(X.astype(np.uint8), schema=NAMES),
    "arrow": arrow,
    "arrow ints": lambda X: arrow(X.astype(np.int64), pa.uint16()),
}

WITH_MISSING = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "objects": lambda X: np.where(np.isnan(X), None, X),
    "lists": lambda X: np.where(np.isnan(X), None, X).tolist(),
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas nullable": lambda X: pd.DataFrame(X, columns=NAMES).astype("Int64"),
    "pandas objects": lambda X: pd.DataFrame(with_nulls(X), dtype=object),
    "polars nulls": lambda X: pl.DataFrame(with_nulls(X)),
    "polars NaN": lambda X: pl.DataFrame(X, schema=NAMES),
    "arrow": lambda X: pa.table(with_nulls(X)),
    "arrow ints": lambda X: pa.table(
        {name: pa.array(x, pa.int32()) for name, x in with_nulls(X).items()}
    ),
}


def counts(missing=False):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 9, size=(50, 3)).astype(np.float64)
    X[rng.random(X.shape) < 0.4] = 0
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X


def thresholds_and_codes(data, **settings):
    table = as_table(data, **settings)
    bins = fit_encode(table, None, 256).bins
    binned = encode(table, bins)
    return (
        [b.thresholds.tolist() for b in bins],
        [b.has_missing for b in bins],
        [binned.codes(j).tolist() for j in range(table.n_columns)],
    )


@pytest.mark.parametrize("kind", COMPLETE)
def test_complete_inputs_of_every_kind_give_the_same_values_and_bins(kind):
    X = counts()
    table = as_table(COMPLETE[kind](X))
    assert (table.n_rows, table.n_columns) == X.shape
    for j, column in enumerate(table.columns()):
        assert isinstance(column, NumericColumn | SparseColumn)
        assert np.array_equal(column.reals(), X[:, j])
        assert np.array_equal(table.column(j).reals(), X[:, j])
    assert thresholds_and_codes(COMPLETE[kind](X)) == thresholds_and_codes(X)


@pytest.mark.parametrize("kind", WITH_MISSING)
def test_missing_values_of_every_kind_give_the_same_values_and_bins(kind):
    X = counts(missing=True)
    table = as_table(WITH_MISSING[kind](X))
    for j, column in enumerate(table.columns()):
        assert np.array_equal(column.reals(), X[:, j], equal_nan=True)
    assert thresholds_and_codes(WITH_MISSING[kind](X)) == thresholds_and_codes(X)


@pytest.mark.parametrize(
    "make",
    [
        lambda B: B,
        lambda B: B.tolist(),
        lambda B: pd.DataFrame(B, columns=NAMES),
        lambda B: pd.DataFrame(B, columns=NAMES).astype("boolean"),
        lambda B: pl.DataFrame(B, schema=NAMES),
        lambda B: arrow(B),
        lambda B: sparse.csr_matrix(B),
    ],
)
def test_booleans_are_the_numbers_0_and_1(make):
    B = counts() > 3
    assert thresholds_and_codes(make(B)) == thresholds_and_codes(B.astype(np.float64))


def test_small_integers_keep_their_type():
    assert as_table(np.zeros((2, 1), np.uint8)).column(0).values.dtype == np.uint8


def test_every_row_of_a_wide_row_major_array_is_read():
    X = np.random.default_rng(0).normal(size=(5, 200))
    table = as_table(X)
    read = np.stack([column.values for column in table.columns()], axis=1)
    assert np.array_equal(read, X)
    assert np.array_equal(table.column(199).values, X[:, 199])


@pytest.mark.parametrize("kind", WITH_MISSING)
def test_take_returns_the_rows_asked_for(kind):
    X = counts(missing=True)
    rows = np.array([7, 0, 7, 31])
    taken = as_table(WITH_MISSING[kind](X)).take(rows)
    assert taken.n_rows == 4
    for j, column in enumerate(taken.columns()):
        assert np.array_equal(column.reals(), X[rows, j], equal_nan=True)


@pytest.mark.parametrize("kind", ["pandas", "polars nulls", "arrow"])
def test_frames_name_their_columns(kind):
    table = as_table(WITH_MISSING[kind](counts(missing=True)))
    assert [table.name(j) for j in range(3)] == NAMES


def test_arrays_get_made_up_names():
    assert as_table(np.zeros((2, 2))).name(1) == "x1"


# Categorical columns

COLORS = ["red", None, "blue", "red", "green", None]

CATEGORICAL = {
    "pandas objects": lambda values: pd.DataFrame({"c": pd.Series(values, dtype=object)}),
    "pandas default": lambda values: pd.DataFrame({"c": values}),
    "pandas string": lambda values: pd.DataFrame({"c": pd.Series(values, dtype="string")}),
    "pandas category": lambda values: pd.DataFrame({"c": pd.Series(values, dtype="category")}),
    "polars": lambda values: pl.DataFrame({"c": values}),
    "polars category": lambda values: pl.DataFrame({"c": pl.Series(values, dtype=pl.Categorical)}),
    "polars enum": lambda values: pl.DataFrame(
        {"c": pl.Series(values, dtype=pl.Enum(["red", "green", "blue"]))}
    ),
    "arrow": lambda values: pa.table({"c": values}),
    "arrow dictionary": lambda values: pa.table({"c": pa.array(values).dictionary_encode()}),
}


def decoded(column):
    names = [*column.categories, None]
    return [names[code] for code in column.codes]


@pytest.mark.parametrize("kind", CATEGORICAL)
def test_strings_and_categories_are_coded(kind):
    values = [value or "blue" for value in COLORS]
    column = as_table(CATEGORICAL[kind](values)).column(0)
    assert isinstance(column, CategoricalColumn)
    assert decoded(column) == values
    assert sorted(column.categories) == ["blue", "green", "red"]


@pytest.mark.parametrize("kind", CATEGORICAL)
def test_strings_and_categories_with_none_have_a_missing_code(kind):
    column = as_table(CATEGORICAL[kind](COLORS)).column(0)
    assert decoded(column) == COLORS
    assert column.missing_code == 3
    assert np.flatnonzero(column.codes == column.missing_code).tolist() == [1, 5]


@given(
    st.lists(st.sampled_from("abcdef") | st.none(), min_size=1),
    st.lists(st.sampled_from("abcdef"), unique=True),
)
def test_recode_keeps_known_categories_and_makes_the_others_missing(values, categories):
    column = as_table(pl.DataFrame({"c": pl.Series(values, dtype=pl.String)})).column(0)
    recoded = column.recode(tuple(categories))
    assert recoded.categories == tuple(categories)
    assert decoded(recoded) == [value if value in categories else None for value in values]


def test_categories_where_training_had_numbers_are_an_error_that_names_the_column():
    bins = fit_encode(as_table(pl.DataFrame({"size": [1.0, 2.0]})), None, 256).bins
    with pytest.raises(ValueError, match="'size'"):
        encode(as_table(pl.DataFrame({"size": ["big", "small"]})), bins)


# What is refused


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"good": [1.0, 2.0], "mixture": pd.Series([1, "two"], dtype=object)}),
        pl.DataFrame({"good": [1.0, 2.0], "mixture": pl.Series([1, "two"], dtype=pl.Object)}),
    ],
)
def test_a_column_of_mixed_types_is_an_error_that_names_it(frame):
    with pytest.raises(ValueError, match="'mixture'"):
        fit_encode(as_table(frame), None, 256)


DAY = datetime.date(2020, 2, 29)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"when": pd.to_datetime(["2020-02-29", "2021-01-01"])}),
        pd.DataFrame({"when": [DAY, DAY]}),
        pl.DataFrame({"when": [DAY, DAY]}),
        pl.DataFrame({"when": [datetime.datetime(2020, 2, 29)] * 2}),
        pa.table({"when": [DAY, DAY]}),
    ],
)
def test_a_column_of_dates_is_an_error_that_names_it(frame):
    with pytest.raises(ValueError, match=r"'when'.*edgewise\.io\.Schema"):
        fit_encode(as_table(frame), None, 256)


def test_a_column_of_durations_is_an_error_that_names_it():
    with pytest.raises(ValueError, match="'when' of type Duration"):
        fit_encode(as_table(pd.DataFrame({"when": pd.to_timedelta([1, 2], unit="s")})), None, 256)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_decimals_are_numbers(make):
    """As databases return them."""
    values = [Decimal("1.25"), None, Decimal("-3"), Decimal("0.5")]
    column = as_table(make({"price": values})).column(0)
    np.testing.assert_array_equal(column.reals(), [1.25, np.nan, -3.0, 0.5])


def test_a_lazy_frame_is_refused_before_it_computes_anything():
    frame = pl.DataFrame({"a": [1.0, 2.0]}).lazy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match="collect or convert it"):
            as_table(frame)


def test_an_array_of_dates_is_an_error():
    with pytest.raises(ValueError, match=r"edgewise\.io\.Schema"):
        as_table(np.array([["2020-02-29"], ["2021-01-01"]], dtype="datetime64[D]"))


@pytest.mark.parametrize(
    "empty",
    [
        np.empty((0, 3)),
        np.empty((3, 0)),
        sparse.csr_matrix((0, 3)),
        pd.DataFrame({"a": pd.Series([], dtype=float)}),
        pd.DataFrame(),
        pl.DataFrame({"a": pl.Series([], dtype=pl.Float64)}),
        pa.table({"a": pa.array([], pa.float64())}),
        [],
    ],
)
def test_empty_input_is_an_error(empty):
    with pytest.raises(ValueError, match=r"0 (sample|feature)|2D"):
        as_table(empty)


def test_a_flat_array_is_an_error():
    with pytest.raises(ValueError, match="2D"):
        as_table([1.0, 2.0])


def test_an_array_of_strings_is_an_error():
    with pytest.raises(ValueError, match="put them into a data frame"):
        as_table(np.array([["a"], ["b"]]))


# Infinite values

INFINITE = np.array([[1.0, 2.0, 0.0], [4.0, np.inf, 3.0], [0.0, -np.inf, 0.0], [9.0, 0.5, 3.0]])
KINDS = {
    "array": (lambda X: X, "x1"),
    "csr": (sparse.csr_matrix, "x1"),
    "pandas": (lambda X: pd.DataFrame(X, columns=NAMES), "second"),
    "polars": (lambda X: pl.DataFrame(X, schema=NAMES), "second"),
    "arrow": (arrow, "second"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_infinite_raise_names_the_column(kind):
    make, name = KINDS[kind]
    with pytest.raises(ValueError, match=f"infinite value in column '{name}'"):
        fit_encode(as_table(make(INFINITE)), None, 256)


@pytest.mark.parametrize("kind", KINDS)
def test_infinite_missing_equals_nan(kind):
    make, _ = KINDS[kind]
    as_nan = np.where(np.isinf(INFINITE), np.nan, INFINITE)
    expected = thresholds_and_codes(make(as_nan))
    assert expected[1] == [False, True, False]
    assert thresholds_and_codes(make(INFINITE), infinite="missing") == expected


@pytest.mark.parametrize("kind", KINDS)
def test_infinite_value_is_the_largest_or_smallest_value(kind):
    make, _ = KINDS[kind]
    _, has_missing, codes = thresholds_and_codes(make(INFINITE), infinite="value")
    assert not any(has_missing)
    # -inf < 0.5 < 2 < inf
    assert codes[1] == [2, 3, 0, 1]


def test_half_precision_is_widened():
    frame = pd.DataFrame({"a": np.array([0.5, np.nan, 2.0], dtype=np.float16)})
    values = next(iter(as_table(frame).columns())).values
    assert values.dtype == np.float64
    assert np.array_equal(values, [0.5, np.nan, 2.0], equal_nan=True)


@pytest.mark.parametrize("X", [[[10**400], [1]], np.array([[10**400], [1]], dtype=object)])
def test_an_integer_beyond_all_floats_is_refused(X):
    with pytest.raises(ValueError, match="too large"):
        as_table(X)
