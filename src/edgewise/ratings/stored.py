"""Ratings as files hold them: plain values and arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import CATEGORY_CODE, ROW
from edgewise.common.ids import Ids, different
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn
from edgewise.data.table import ColumnTable
from edgewise.ratings.ratings import Ratings

Header = dict[str, Any]
Arrays = dict[str, NDArray]


def ratings_parts(ratings: Ratings) -> tuple[Header, Arrays]:
    """Return ratings as JSON and arrays can hold them."""
    arrays: Arrays = {"users": ratings.users, "items": ratings.items, "values": ratings.values}
    header: Header = {}
    for name in ("weights", "times"):
        if getattr(ratings, name) is not None:
            arrays[name] = getattr(ratings, name)
    for name, ids in (("user_ids", ratings.user_ids), ("item_ids", ratings.item_ids)):
        if ids.values.dtype.kind == "i":
            arrays[name] = ids.values
        else:
            header[name] = ids.values.tolist()
    for name in ("user_features", "item_features"):
        table = getattr(ratings, name)
        if table is not None:
            header[name], columns = _table_parts(table)
            arrays |= {f"{name}.{j}": column for j, column in enumerate(columns)}
    return header, arrays


def read_ratings(header: Header, arrays: Arrays) -> Ratings:
    """Return the ratings that `ratings_parts` gave, or raise if they do not fit together."""
    user_ids, item_ids = (_ids(name, header, arrays) for name in ("user_ids", "item_ids"))
    size = len(arrays["values"])
    users = _checked("users", arrays["users"], ROW, size, len(user_ids))
    items = _checked("items", arrays["items"], ROW, size, len(item_ids))
    parts = [
        None if name not in arrays else _checked(name, arrays[name], np.float64, size)
        for name in ("weights", "times")
    ]
    tables = [
        _table(name, header.get(name), arrays, len(ids))
        for name, ids in (("user_features", user_ids), ("item_features", item_ids))
    ]
    if parts[0] is not None and not (np.isfinite(parts[0]) & (parts[0] > 0)).all():
        raise ValueError("the weights must be positive")
    values = _checked("values", arrays["values"], np.float64, size)
    if not np.isfinite(values).all() or size == 0:
        raise ValueError("the ratings must be finite, and one at least")
    return Ratings(user_ids, item_ids, users, items, values, *parts, *tables)  # type: ignore[arg-type]


def _ids(name: str, header: Header, arrays: Arrays) -> Ids:
    if name in arrays:
        values = _checked(name, arrays[name], np.int64, len(arrays[name]))
    else:
        words = header[name]
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError(f"{name} must be a list of strings")
        values = np.array(words, dtype=np.str_)
    if len(different(values)) < len(values):
        raise ValueError(f"{name} must all be different")
    return Ids(values)


def _checked(name: str, array: NDArray, kind: Any, size: int, below: int | None = None) -> NDArray:
    if array.dtype != kind or array.shape != (size,):
        raise ValueError(f"{name} must be {size} numbers of type {np.dtype(kind)}")
    if below is not None and size and not (array.min() >= 0 and array.max() < below):
        raise ValueError(f"{name} must be from 0 to {below - 1}")
    return array


def _table_parts(table: ColumnTable) -> tuple[list[Header], list[NDArray]]:
    header: list[Header] = []
    columns: list[NDArray] = []
    for j, column in enumerate(table.columns()):
        categorical = isinstance(column, CategoricalColumn)
        values = list(column.categories) if isinstance(column, CategoricalColumn) else None
        header.append({"name": table.name(j), "categorical": categorical, "categories": values})
        columns.append(column.codes if isinstance(column, CategoricalColumn) else column.reals())
    return header, columns


def _table(name: str, saved: Any, arrays: Arrays, size: int) -> ColumnTable | None:
    if saved is None:
        return None
    columns: list[Column] = []
    for j, facts in enumerate(saved):
        array = arrays[f"{name}.{j}"]
        if facts["categorical"]:
            values = facts["categories"]
            if not all(isinstance(value, (str, int, float)) for value in values):
                raise ValueError(f"the categories of {name} must be strings or numbers")
            codes = _checked(name, array, CATEGORY_CODE, size, len(values) + 1)
            columns.append(CategoricalColumn(codes, tuple(values)))
        else:
            columns.append(NumericColumn(_checked(name, array, np.float64, size)))
    return ColumnTable(columns, [str(facts["name"]) for facts in saved], "missing")
