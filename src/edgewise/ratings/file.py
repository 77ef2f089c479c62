"""Ratings in model files: the fields of their ids, columns and features."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise.common.dtypes import CATEGORY_CODE, ROW
from edgewise.common.fields import (
    Array,
    Arrays,
    Converted,
    Field,
    Json,
    ListOf,
    OrNone,
    Record,
    Sizes,
    Value,
)
from edgewise.common.ids import Ids, sorted_unique, text_array
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn
from edgewise.data.table import ColumnTable
from edgewise.ratings.ratings import Ratings


@dataclass(frozen=True)
class _IdsField(Field):
    """Ids: integers as an array, strings as JSON."""

    size: str

    def pack(self, value: Ids, name: str, arrays: Arrays) -> Json:
        if value.kind == "integers":
            arrays[name] = value.values
            return None
        return value.values.tolist()

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Ids:
        if saved is None:
            values = Array(self.size, np.int64).unpack(None, name, arrays, sizes)
        else:
            strings = ListOf(Value(str)).unpack(saved, name, arrays, sizes)
            values = text_array(name, strings)
            sizes[self.size] = len(values)
        if len(sorted_unique(values)) < len(values):
            raise ValueError(f"{name} must all be different")
        return Ids(values)


@dataclass(frozen=True)
class _ColumnField(Field):
    """A column of a table of features: numbers, or codes and their categories."""

    size: str

    def pack(self, value: Column, name: str, arrays: Arrays) -> Json:
        if isinstance(value, CategoricalColumn):
            arrays[name] = value.codes
            return list(value.categories)
        arrays[name] = value.reals()
        return None

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Column:
        if saved is None:
            numbers = Array(self.size, np.float64, finite=False)
            return NumericColumn(numbers.unpack(None, name, arrays, sizes))
        if not all(isinstance(value, (str, int, float)) for value in saved):
            raise ValueError(f"the categories of {name} must be strings or numbers")
        # The code after the last category stands for a missing value.
        codes = Array(self.size, CATEGORY_CODE, below="codes")
        bounded = {**sizes, "codes": len(saved) + 1}
        return CategoricalColumn(codes.unpack(None, name, arrays, bounded), tuple(saved))


def _table_field(size: str) -> Field:
    def to_record(table: ColumnTable) -> dict[str, Any]:
        columns = list(table.columns())
        return {"names": [table.name(j) for j in range(len(columns))], "columns": columns}

    def from_record(saved: dict[str, Any]) -> ColumnTable:
        if len(saved["names"]) != len(saved["columns"]):
            raise ValueError("every feature must have a name")
        return ColumnTable(saved["columns"], saved["names"], "missing")

    fields = {"names": ListOf(Value(str)), "columns": ListOf(_ColumnField(size))}
    return OrNone(Converted(Record(fields, take=dict.__getitem__), to_record, from_record))


def _make_ratings(**parts: Any) -> Ratings:
    if len(parts["values"]) == 0:
        raise ValueError("there must be at least one rating")
    if parts["weights"] is not None and not (parts["weights"] > 0).all():
        raise ValueError("the weights must be positive")
    return Ratings(**parts)


RATINGS = Record(
    {
        "user_ids": _IdsField("users"),
        "item_ids": _IdsField("items"),
        "values": Array("ratings", np.float64),
        "users": Array("ratings", ROW, below="users"),
        "items": Array("ratings", ROW, below="items"),
        "weights": OrNone(Array("ratings", np.float64)),
        "times": OrNone(Array("ratings", np.float64, finite=False)),
        "user_features": _table_field("users"),
        "item_features": _table_field("items"),
    },
    _make_ratings,
)
"""Ratings; reading them sets the sizes "users", "items" and "ratings"."""
