"""Categorical columns: values with codes, declared ones, and values that training did not see."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from edgewise.data import (
    Bins,
    CategoricalColumn,
    Categories,
    NumericColumn,
    RawRows,
    as_table,
    categories_of,
    encode,
    fit_encode,
)

COLORS = ["red", "blue", None, "red", "green"]
words = st.lists(st.sampled_from("abcdef") | st.none(), min_size=1, max_size=30)


def binned(frame, **settings):
    table = as_table(frame)
    return encode(table, fit_encode(table, None, 256).bins, **settings)


def decoded(table, j):
    names = [*table.bins[j].categories, None]
    return [names[code] for code in table.codes(j)]


def column_of(values):
    return as_table(pl.DataFrame({"c": pl.Series(values, dtype=pl.String)})).column(0)


# Values and codes


def test_a_table_of_both_kinds():
    table = binned(pl.DataFrame({"size": [3.0, 1.0, 2.0, 1.0, 3.0], "color": COLORS}))
    size, color = table.bins
    assert isinstance(size, Bins)
    assert color == Categories("color", ("blue", "green", "red"), True)
    assert decoded(table, 1) == COLORS
    assert table.codes(0).tolist() == [2, 0, 1, 0, 2]
    assert (table.n_rows, table.n_columns) == (5, 2)
    assert table.splittable.tolist() == [0]
    assert table.splittable_categorical.tolist() == [1]
    assert table.categorical.columns.tolist() == [1]
    assert categories_of(table.bins) == {1: ("blue", "green", "red")}


def test_numeric_columns_keep_their_places_beside_categorical_ones():
    rng = np.random.default_rng(0)
    numbers = rng.integers(5, size=(60, 3)).astype(float)
    numbers[:45, 1] = 7.0  # stored sparsely
    frame = pl.DataFrame(
        {"a": rng.choice(list("xyz"), 60), "b": numbers[:, 0], "c": rng.choice(list("uv"), 60),
         "d": numbers[:, 1], "e": numbers[:, 2]}
    )  # fmt: skip
    table, alone = binned(frame), binned(frame[["b", "d", "e"]])
    assert (len(table.dense.columns), len(table.sparse.columns)) == (2, 1)
    for j, place in ((1, 0), (3, 1), (4, 2)):
        assert np.array_equal(table.codes(j), alone.codes(place))
        for first in range(table.bins[j].n_values):
            assert np.array_equal(table.cut(j, first, 0), alone.cut(place, first, 0))
    assert table.categorical.positions(np.array([0, 2])) == [0, 1]
    assert decoded(table, 0) == frame["a"].to_list()
    assert decoded(table, 2) == frame["c"].to_list()


@given(words)
def test_categories_are_the_values_that_training_saw(values):
    categories = Categories.of("c", column_of(values))
    present = sorted({value for value in values if value is not None})
    assert categories.categories == tuple(present)
    assert categories.has_missing == (None in values)
    assert categories.missing_code == len(present)
    assert categories.n_codes == len(present) + (None in values)
    assert categories.can_split == (len(set(values)) > 1)
    codes = categories.encode(column_of(values))
    assert [[*present, None][code] for code in codes] == values


@given(words, words)
def test_values_that_training_did_not_see_count_as_missing(seen, later):
    categories = Categories.of("c", column_of(seen))
    codes = categories.encode(column_of(later))
    names = [*categories.categories, None]
    known = set(categories.categories)
    assert [names[code] for code in codes] == [value if value in known else None for value in later]


def test_categories_that_no_row_has_are_none():
    frame = pd.DataFrame({"c": pd.Categorical(["u", "v"], categories=["t", "u", "v", "w"])})
    table = as_table(frame)
    assert fit_encode(table, None, 256).bins[0].categories == ("u", "v")


def test_a_column_of_one_value_or_of_none_tells_no_rows_apart():
    frame = pl.DataFrame(
        {
            "one": ["u"] * 3,
            "none": pl.Series([None] * 3, dtype=pl.String),
            "some": ["u", None, "u"],
            "two": ["u", "v", "v"],
        }
    )
    assert binned(frame).splittable_categorical.tolist() == [2, 3]


def test_rows_with_unseen_and_missing_values_are_coded_alike_everywhere():
    bins = fit_encode(as_table(pl.DataFrame({"c": ["u", "v", "u"]})), None, 256).bins
    later = as_table(pl.DataFrame({"c": ["w", "v", None, "u"]}))
    coded = encode(later, bins)
    assert coded.codes(0).tolist() == [2, 1, 2, 0]
    aligned = RawRows(later, categories_of(bins))
    assert aligned.codes(0).tolist() == [2, 1, 2, 0]
    outputs = np.array([1, -1, 0], dtype=np.int8)
    for source in (coded, aligned):
        assert source.subset_values(0, outputs).tolist() == [0, -1, 0, 1]
        assert source.subset_values(0, outputs / 2).tolist() == [0, -0.5, 0, 0.5]


@given(words, words)
def test_raw_rows_and_coded_rows_give_the_same_values(seen, later):
    frames = [pl.DataFrame({"c": pl.Series(v, dtype=pl.String)}) for v in (seen, later)]
    bins = fit_encode(as_table(frames[0]), None, 256).bins
    values = np.arange(bins[0].missing_code + 1)
    coded = encode(as_table(frames[1]), bins)
    aligned = RawRows(as_table(frames[1]), categories_of(bins))
    assert np.array_equal(coded.subset_values(0, values), aligned.subset_values(0, values))


@pytest.mark.parametrize("n_values", [65_535, 65_536, 70_000])
def test_any_number_of_values_has_codes(n_values):
    names = [f"{number:06d}" for number in range(n_values)]
    order = np.random.default_rng(0).permutation(n_values)
    table = binned(pl.DataFrame({"c": [names[i] for i in order]}))
    assert table.codes(0).dtype == (np.uint16 if n_values < 2**16 else np.uint32)
    assert np.array_equal(table.codes(0), order)
    # The code of unseen values fits as well.
    later = as_table(pl.DataFrame({"c": ["unseen"]}))
    assert encode(later, table.bins).codes(0).tolist() == [n_values]


def test_a_code_of_few_values_takes_two_bytes():
    frame = pl.DataFrame({"c": ["u", "v"] * 50})
    assert fit_encode(as_table(frame), None, 256).categorical.codes[0].nbytes == 100 * 2


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_rows_are_taken_with_their_values(make):
    table = as_table(make({"c": ["u", "v", None, "w"], "n": [1.0, 2.0, 3.0, 4.0]}))
    taken = table.take(np.array([3, 0, 3]))
    bins = fit_encode(taken, None, 256).bins
    assert bins[0].categories == ("u", "w")
    assert decoded(encode(taken, bins), 0) == ["w", "u", "w"]


def test_kinds_that_change_after_training_are_errors_that_name_the_column():
    numbers, names = pl.DataFrame({"c": [1.0, 2.0]}), pl.DataFrame({"c": ["u", "v"]})
    bins = fit_encode(as_table(names), None, 256).bins
    with pytest.raises(ValueError, match="categories in column 'c' in training, numbers now"):
        encode(as_table(numbers), bins)
    with pytest.raises(ValueError, match="numbers in column 'c', where training had categories"):
        RawRows(as_table(numbers), categories_of(bins)).codes(0)
    bins = fit_encode(as_table(numbers), None, 256).bins
    with pytest.raises(ValueError, match="numbers in column 'c' in training, categories now"):
        encode(as_table(names), bins)
    with pytest.raises(ValueError, match="categories in column 'c', where training had numbers"):
        RawRows(as_table(names)).threshold_signs(0, 1.5, 0)


@pytest.mark.parametrize("values", [[3, 1, 2, 1], [0.5, 2.0, -1.0, 2.0]], ids=str)
def test_numbers_are_the_categories_that_training_had_as_numbers(values):
    """A pandas category of numbers comes back from a file, or from a request, as numbers."""
    trained = pd.DataFrame({"c": pd.Categorical(values)})
    bins = fit_encode(as_table(trained), None, 256).bins
    expected = encode(as_table(trained), bins).categorical.codes[0]
    for now in (pd.DataFrame({"c": values}), pl.DataFrame({"c": np.array(values, dtype=float)})):
        assert (encode(as_table(now), bins).categorical.codes[0] == expected).all()
        assert (RawRows(as_table(now), categories_of(bins)).codes(0) == expected).all()
    other = RawRows(as_table(pd.DataFrame({"c": [7.0, np.nan]})), categories_of(bins)).codes(0)
    assert (other == bins[0].missing_code).all()


# Numbers that are names


KINDS = {
    "array": np.asarray,
    "ints": lambda X: np.nan_to_num(X, nan=-7).astype(np.int16),
    "csr": sparse.csr_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=["a", "b"]),
    "polars": lambda X: pl.DataFrame(X, schema=["a", "b"]),
    "arrow": lambda X: pa.table({"a": X[:, 0], "b": X[:, 1]}),
}
NUMBERS = np.array([[5.0, 0.0], [0.0, 12.0], [5.0, np.nan], [-2.0, 12.0]])


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_can_be_declared_categorical(kind):
    X = np.nan_to_num(NUMBERS, nan=-7) if kind == "ints" else NUMBERS
    table = as_table(KINDS[kind](X)).with_categorical([1])
    assert not isinstance(table.column(0), CategoricalColumn)
    column = table.column(1)
    assert isinstance(column, CategoricalColumn)
    names = [*column.categories, None]
    expected = [None if value != value else value for value in X[:, 1].tolist()]
    assert [names[code] for code in column.codes] == expected
    assert list(column.categories) == sorted(set(expected) - {None})
    # Read one by one or all together, and some of the rows.
    assert np.array_equal(list(table.columns())[1].codes, column.codes)
    taken = table.take(np.array([3, 0]))
    assert taken.categorical == {1}
    assert taken.column(1).categories == (0.0, 12.0)
    assert isinstance(taken.column(0), type(table.column(0)))


def test_declared_columns_are_coded_and_unseen_numbers_count_as_missing():
    table = as_table(NUMBERS).with_categorical([0, 1])
    bins = fit_encode(table, None, 256).bins
    assert bins[0] == Categories("x0", (-2.0, 0.0, 5.0), False)
    assert bins[1] == Categories("x1", (0.0, 12.0), True)
    later = as_table([[5.0, 12.0], [4.0, np.nan], [-2.0, 1.0]]).with_categorical([0, 1])
    coded = encode(later, bins)
    assert coded.codes(0).tolist() == [2, 3, 0]
    assert coded.codes(1).tolist() == [1, 2, 2]


def test_bins_are_not_limited_where_numbers_are_names():
    table = as_table(np.arange(300.0)[:, None]).with_categorical([0])
    (bins,) = fit_encode(table, None, 16).bins
    assert len(bins.categories) == 300


def test_categorical_columns_can_be_declared_too():
    table = as_table(pl.DataFrame({"c": COLORS})).with_categorical([0])
    assert table.column(0).categories == ("blue", "green", "red")


def test_zero_has_one_name():
    column = as_table(np.array([[0.0], [-0.0], [1.0]])).with_categorical([0]).column(0)
    assert column.categories == (0.0, 1.0)
    assert column.codes.tolist() == [0, 0, 1]


def test_booleans_can_be_declared():
    table = as_table(pl.DataFrame({"b": [True, False, None]})).with_categorical([0])
    column = table.column(0)
    assert column.categories == (0.0, 1.0)
    assert column.codes.tolist() == [1, 0, 2]


@pytest.mark.parametrize("infinite", ["raise", "missing", "value"])
def test_infinite_numbers_in_declared_columns(infinite):
    table = as_table([[np.inf], [1.0]], infinite=infinite).with_categorical([0])
    if infinite == "raise":
        with pytest.raises(ValueError, match="infinite value in column 'x0'"):
            table.column(0)
    else:
        column = table.column(0)
        assert column.categories == ((1.0,) if infinite == "missing" else (1.0, np.inf))
        assert column.codes.tolist() == [1, 0]


# Cuts of numeric columns by real thresholds


def test_thresholds_cut_raw_and_coded_rows_alike():
    rng = np.random.default_rng(1)
    X = rng.integers(6, size=(50, 2)) / 2.0
    X[rng.random((50, 2)) < 0.2] = np.nan
    X[:35, 1] = 1.0
    table = as_table(X)
    for storage in ("dense", "sparse"):
        coded = encode(table, fit_encode(table, None, 256).bins, storage)
        for j, b in enumerate(coded.bins):
            for threshold in (-np.inf, *b.thresholds.tolist()):
                for missing in (-1, 0, 1):
                    signs = np.where(X[:, j] >= threshold, 1, -1)
                    signs[np.isnan(X[:, j])] = missing
                    for source in (coded, RawRows(table)):
                        result = source.threshold_signs(j, threshold, missing)
                        assert result.dtype == np.int8
                        assert np.array_equal(result, signs)


def test_the_constant_is_the_same_of_raw_and_coded_rows():
    table = as_table([[1.0], [np.nan]])
    for source in (RawRows(table), fit_encode(table, None, 256)):
        assert source.threshold_signs(-1, -np.inf, 1).tolist() == [1, 1]


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=20, unique=True))
def test_the_first_bin_at_or_above_a_threshold(values):
    column = NumericColumn(np.array(values))
    (bins,) = fit_encode(as_table(np.array(values)[:, None]), None, 256).bins
    assert bins.first(-np.inf) == 0
    for place, threshold in enumerate(bins.thresholds.tolist(), start=1):
        assert bins.first(threshold) == place
        above = bins.encode(column) >= bins.first(threshold)
        assert np.array_equal(above, column.values >= threshold)
