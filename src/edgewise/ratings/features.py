"""Side features of users and items: columns for each id."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.ids import Ids, as_ids
from edgewise.data import as_table
from edgewise.data.column_table import ColumnTable, taken
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn
from edgewise.data.table import Table, is_frame


class Features:
    """Columns for some ids, before these have indices.

    Parameters
    ----------
    name : str
        What errors call them.
    given : data frame, or pair of ids and columns
        A frame with a column of ids, or a pair ``(ids, X)``.
    key : str
        The name of the frame's column of ids.
    """

    def __init__(self, name: str, given: Any, key: str) -> None:
        ids, columns = _parts(name, given, key)
        self.name = name
        self.given = as_ids(f"the ids of {name}", ids)
        self.ids = Ids.of(name, self.given)
        if len(self.ids) < len(self.given):
            values, counts = np.unique(self.given, return_counts=True)
            twice = values[int(counts.argmax())].item()
            raise ValueError(f"{name} must have each id once, but {twice!r} comes {counts.max()}x")
        try:
            self.table: Table = as_table(columns, infinite="missing")
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from error
        if self.table.n_rows != len(self.given):
            raise ValueError(
                f"{name} must have one row for each id, {len(self.given)}, got {self.table.n_rows}"
            )

    def aligned(self, ids: Ids) -> ColumnTable:
        """Return a row for each of `ids`, with missing values where there are no features."""
        places = np.full(len(ids), -1, dtype=np.intp)
        places[ids.find(self.name, self.given)] = np.arange(len(self.given))
        return rows_of(self.table, places)


def rows_of(table: Table, rows: NDArray[np.intp]) -> ColumnTable:
    """Return rows of a table; a row number of -1 gives missing values."""
    columns = [taken(column, rows) for column in table.columns()]
    return ColumnTable(columns, [table.name(j) for j in range(table.n_columns)], "missing")


def _parts(name: str, given: Any, key: str) -> tuple[Any, Any]:
    if is_frame(given):
        import narwhals.stable.v1 as nw

        frame = nw.from_native(given, eager_only=True)
        if key not in frame.columns:
            raise ValueError(f"{name} must have a column {key!r} of ids, got {frame.columns}")
        if len(frame.columns) == 1:
            raise ValueError(f"{name} must have columns beside {key!r}")
        return frame[key], frame.drop(key).to_native()
    if isinstance(given, tuple) and len(given) == 2:
        return given
    raise TypeError(
        f"{name} must be a data frame with a column {key!r}, or a pair of ids and columns, got "
        f"{type(given).__name__}"
    )


def joined(table: ColumnTable, more: ColumnTable) -> ColumnTable:
    """Return the rows of two tables of the same columns, one after the other."""
    if table.names != more.names:
        raise ValueError(f"user_features must have the columns {table.names}, got {more.names}")
    columns: list[Column] = []
    for j in range(table.n_columns):
        first, second = table.column(j), more.column(j)
        if isinstance(first, CategoricalColumn):
            if not isinstance(second, CategoricalColumn):
                raise ValueError(f"user_features must hold categories in {table.name(j)!r}")
            codes = np.concatenate([first.codes, second.recode(first.categories).codes])
            columns.append(CategoricalColumn(codes, first.categories))
        else:
            if isinstance(second, CategoricalColumn):
                raise ValueError(f"user_features must hold numbers in {table.name(j)!r}")
            columns.append(NumericColumn(np.concatenate([first.reals(), second.reals()])))
    return ColumnTable(columns, table.names, "missing")
