"""The fields of ratings in model files."""

from typing import Any

import numpy as np

from edgewise.common.dtypes import CATEGORY_CODE, ROW
from edgewise.common.fields import Array, Arrays, Field, Json, ListOf, OrNone, Record, Sizes, Value
from edgewise.common.ids import Ids, different
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn
from edgewise.data.table import ColumnTable
from edgewise.ratings.ratings import Ratings


class _IdsField(Field):
    """Ids: integers as an array, strings as JSON."""

    def __init__(self, word: str) -> None:
        self.word = word

    def pack(self, value: Ids, name: str, arrays: Arrays) -> Json:
        if value.values.dtype.kind == "i":
            arrays[name] = value.values
            return None
        return value.values.tolist()

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Ids:
        if saved is None:
            values = Array(self.word, np.int64).unpack(None, name, arrays, sizes)
        else:
            if not isinstance(saved, list) or not all(isinstance(one, str) for one in saved):
                raise ValueError(f"{name} must be a list of strings")
            values = np.array(saved, dtype=np.str_)
            sizes[self.word] = len(values)
        if len(different(values)) < len(values):
            raise ValueError(f"{name} must all be different")
        return Ids(values)


class _ColumnField(Field):
    """A column of a table of features: numbers, or codes and their categories."""

    def __init__(self, word: str) -> None:
        self.word = word

    def pack(self, value: Column, name: str, arrays: Arrays) -> Json:
        if isinstance(value, CategoricalColumn):
            arrays[name] = value.codes
            return list(value.categories)
        arrays[name] = value.reals()
        return None

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Column:
        if saved is None:
            numbers = Array(self.word, np.float64, finite=False)
            return NumericColumn(numbers.unpack(None, name, arrays, sizes))
        if not all(isinstance(value, (str, int, float)) for value in saved):
            raise ValueError(f"the categories of {name} must be strings or numbers")
        # The code after the last category stands for a missing value.
        codes = Array(self.word, CATEGORY_CODE, below="codes")
        bounded = {**sizes, "codes": len(saved) + 1}
        return CategoricalColumn(codes.unpack(None, name, arrays, bounded), tuple(saved))


def _table_field(word: str) -> Field:
    def make(names: list[str], columns: list[Column]) -> ColumnTable:
        if len(names) != len(columns):
            raise ValueError("every feature must have a name")
        return ColumnTable(columns, names, "missing")

    def take(table: ColumnTable, part: str) -> list[Any]:
        columns = list(table.columns())
        return columns if part == "columns" else [table.name(j) for j in range(len(columns))]

    fields = {"names": ListOf(Value(str)), "columns": ListOf(_ColumnField(word))}
    return OrNone(Record(fields, make, take))


def _ratings(**parts: Any) -> Ratings:
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
    _ratings,
)
"""Ratings; reading them tells how many users, items and ratings there are."""
