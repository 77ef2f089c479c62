"""Tables of columns that were typed before."""

import numpy as np
import pytest

from edgewise.data import CategoricalColumn, NumericColumn, SparseColumn, as_table
from edgewise.data.columns import take_rows
from edgewise.data.table import ColumnTable


@pytest.fixture
def table():
    return ColumnTable(
        [
            NumericColumn(np.array([1, 2, 3], dtype=np.uint8)),
            CategoricalColumn(np.array([1, 2, 0], dtype=np.uint32), ("red", "blue")),
            SparseColumn(np.array([2], dtype=np.int32), np.array([5.0]), 3),
        ],
        ["year", "color", "count"],
    )


def test_columns_by_place_and_name(table):
    assert (table.n_rows, table.n_columns) == (3, 3)
    assert [table.name(j) for j in range(3)] == ["year", "color", "count"]
    assert table.column(0).values.dtype == np.uint8
    assert table.column(1).categories == ("red", "blue")
    assert [type(column) for column in table.columns()] == [
        NumericColumn,
        CategoricalColumn,
        SparseColumn,
    ]


def test_names_are_made_up_where_there_are_none():
    assert ColumnTable([NumericColumn(np.zeros(2))]).name(0) == "x0"


def test_rows(table):
    part = table.take(np.array([2, 0]))
    assert isinstance(part, ColumnTable)
    assert part.n_rows == 2
    assert part.names == table.names
    assert part.column(0).values.tolist() == [3, 1]
    assert part.column(0).values.dtype == np.uint8
    assert part.column(1).codes.tolist() == [0, 1]
    assert part.column(2).reals().tolist() == [5.0, 0.0]
    assert table.column(0).values.tolist() == [1, 2, 3]


def test_columns_declared_categorical_stay_so(table):
    part = table.with_categorical([0]).take(np.array([2, 0]))
    assert isinstance(part.column(0), CategoricalColumn)


def test_infinite_values_are_dealt_with_as_in_any_table():
    column = NumericColumn(np.array([1.0, np.inf]))
    assert np.isnan(ColumnTable([column], infinite="missing").column(0).values[1])
    with pytest.raises(ValueError, match="infinite"):
        ColumnTable([column]).column(0)


def test_row_minus_one_is_missing(table):
    rows = np.array([1, -1, 0])
    numbers, colors, counts = (take_rows(column, rows) for column in table.columns())
    np.testing.assert_array_equal(numbers.values, [2, np.nan, 1])
    assert colors.codes.tolist() == [2, 2, 1]
    assert colors.missing_code == 2
    np.testing.assert_array_equal(counts.values, [0, np.nan, 0])
    assert table.column(1).codes.tolist() == [1, 2, 0]


def test_no_rows(table):
    for column in table.columns():
        assert len(take_rows(column, np.zeros(0, dtype=np.intp))) == 0


def test_tables_are_never_changed():
    table = as_table(np.array([[0.0, np.inf], [1.0, 2.0]]), "missing")
    declared = table.with_categorical([0])
    assert (table.categorical, declared.categorical) == (frozenset(), {0})
    assert as_table(declared, "value").infinite == "value"
    assert (declared.infinite, declared.take(np.array([0])).categorical) == ("missing", {0})
