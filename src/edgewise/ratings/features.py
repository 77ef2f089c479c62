"""Features of users and items: a row of typed columns for each id of the catalog."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.ids import Ids, as_ids
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn, take_rows
from edgewise.data.table import ColumnTable, Table, as_table, is_frame


def attach_features(side: str, ids: Ids, features: Any, key: str) -> tuple[Ids, ColumnTable | None]:
    """Return the ids of users or items, with those that only have features, and a row for each.

    Features are a frame with an id column `key`, or a pair ``(ids, X)``; other ids get missing
    values.
    """
    if features is None:
        return ids, None
    name = f"{side[:-1]}_features"
    owners, columns = _ids_and_columns(name, features, key)
    owners = as_ids(f"the ids of {name}", owners)
    distinct, counts = np.unique(owners, return_counts=True)
    if len(distinct) < len(owners):
        twice = distinct[int(counts.argmax())].item()
        raise ValueError(f"{name} must have each id once, got {twice!r} {counts.max()} times")
    try:
        table = as_table(columns, infinite="missing")
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error
    if table.n_rows != len(owners):
        raise ValueError(f"{name} must have one row for each id, {len(owners)}, got {table.n_rows}")
    ids = Ids.union(side, [ids, Ids(distinct)])
    row_of = np.full(len(ids), -1, dtype=np.intp)
    row_of[ids.find(name, owners)] = np.arange(len(owners))
    return ids, rows_or_missing(table, row_of)


def _ids_and_columns(name: str, features: Any, key: str) -> tuple[Any, Any]:
    if isinstance(features, tuple) and len(features) == 2:
        return features
    if not is_frame(features):
        raise TypeError(
            f"{name} must be a data frame with a column {key!r}, or a pair of ids and columns, got "
            f"{type(features).__name__}"
        )
    import narwhals.stable.v1 as nw

    frame = nw.from_native(features, eager_only=True)
    if key not in frame.columns:
        raise ValueError(f"{name} must have a column {key!r} of ids, got {frame.columns}")
    if len(frame.columns) == 1:
        raise ValueError(f"{name} must have columns besides {key!r}")
    return frame[key], frame.drop(key).to_native()


def append_rows(
    table: ColumnTable | None, more: ColumnTable | None, rows: NDArray[np.intp]
) -> ColumnTable | None:
    """Return a table with some rows of another, or with missing values without another.

    Categories that the table does not have become missing values.
    """
    if table is None:
        return None
    if more is None:
        return rows_or_missing(table, np.append(np.arange(table.n_rows), np.full(len(rows), -1)))
    if table.names != more.names:
        raise ValueError(f"user_features must have the columns {table.names}, got {more.names}")
    columns: list[Column] = []
    for j in range(table.n_columns):
        first, second = table.column(j), take_rows(more.column(j), rows)
        if isinstance(first, CategoricalColumn) and isinstance(second, CategoricalColumn):
            codes = np.concatenate([first.codes, second.recode(first.categories).codes])
            columns.append(CategoricalColumn(codes, first.categories))
        elif isinstance(first, CategoricalColumn) or isinstance(second, CategoricalColumn):
            kind = "categories" if isinstance(first, CategoricalColumn) else "numbers"
            raise ValueError(f"user_features must hold {kind} in {table.name(j)!r}")
        else:
            columns.append(NumericColumn(np.concatenate([first.reals(), second.reals()])))
    return ColumnTable(columns, table.names, "missing")


def rows_or_missing(table: Table, rows: NDArray[np.intp]) -> ColumnTable:
    """Return rows of a table; a row number of -1 gives missing values."""
    columns = [take_rows(column, rows) for column in table.columns()]
    return ColumnTable(columns, [table.name(j) for j in range(table.n_columns)], "missing")
