"""Ratings from arrays, frames, matrices, mappings and files, checked and put in order."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.checks import ArgumentError, numbers, one_of
from edgewise.common.choices import DUPLICATES
from edgewise.common.dtypes import ROW, Reals, Rows
from edgewise.common.files import PathLike
from edgewise.common.ids import Ids, as_ids, factorize, text_array
from edgewise.data.columns import NumericColumn
from edgewise.data.table import ColumnTable, is_frame
from edgewise.io.frames import read_frame
from edgewise.io.tables import ARROW, check_kind, read_delimited, table_kind
from edgewise.io.text import SEPARATORS, DelimitedText, parse_number
from edgewise.ratings.features import attach_features
from edgewise.ratings.ratings import Ratings
from edgewise.ratings.rows import pair_order

# The squares and products of ratings and weights up to this have sums that do not overflow.
_LARGEST: Final = 1e100
_ROLES: Final = ("user", "item", "rating", "weight", "time")
Names = tuple[str, str, str | None, str | None, str | None]
_PARQUET: Final = b"PAR1"


class RatingColumns(NamedTuple):
    """Ratings, one per row: ids or indices of users and items, and numbers."""

    users: Any
    items: Any
    ratings: Any = None
    weights: Any = None
    times: Any = None

    def take(self, rows: NDArray[Any]) -> "RatingColumns":
        """Return some rows."""
        return RatingColumns(*(None if column is None else column[rows] for column in self))


def build_ratings(
    columns: RatingColumns,
    user_features: Any = None,
    item_features: Any = None,
    user: str = "user",
    item: str = "item",
    duplicates: str = "raise",
    all_users: Any = None,
    all_items: Any = None,
) -> Ratings:
    """Check the columns and sort the ratings by user and item.

    `all_users` and `all_items` include ids without ratings.
    """
    one_of("duplicates", duplicates, DUPLICATES)
    users, items = as_ids("users", columns.users), as_ids("items", columns.items)
    n = len(users)
    if n == 0:
        raise ValueError("ratings must hold at least one rating, got none")
    if len(items) != n:
        raise ValueError(f"items must be as long as users, {n}, got {len(items)}")
    values = None if columns.ratings is None else _finite("ratings", columns.ratings, n, _LARGEST)
    weights = None if columns.weights is None else _finite("weights", columns.weights, n, _LARGEST)
    times = None if columns.times is None else _finite("times", columns.times, n)
    if weights is not None and not weights.min() > 0:
        raise ValueError(f"weights must be positive, got {weights.min():g}")
    user_ids, user_indices, about_users = _index_ids("users", users, all_users, user_features, user)
    item_ids, item_indices, about_items = _index_ids("items", items, all_items, item_features, item)
    indexed = RatingColumns(user_indices, item_indices, values, weights, times)
    rows = _combine_duplicates(indexed, duplicates, user_ids, item_ids)
    return Ratings(user_ids, item_ids, *rows, about_users, about_items)


def _index_ids(
    side: str, ids: NDArray[Any], all_ids: Any, features: Any, key: str
) -> tuple[Ids, Rows, ColumnTable | None]:
    """Return the catalog of users or items, the index of each id in it, and the features."""
    rows: Any = slice(None)
    if ids.dtype.kind != "i":
        firsts, rows = factorize(ids)
        ids = ids[firsts]
    catalog = Ids.of(side, ids if all_ids is None else all_ids)
    catalog, table = attach_features(side, catalog, features, key)
    return catalog, catalog.find(side, ids, ROW)[rows], table


def _finite(name: str, values: Any, size: int, largest: float = np.inf) -> Reals:
    """Return `values` as finite numbers, at most `largest` in magnitude, or raise."""
    array = numbers(name, values)
    if len(array) != size:
        raise ValueError(f"{name} must be as long as users, {size}, got {len(array)}")
    low, high = array.min(), array.max()
    if not np.isfinite([low, high]).all():
        position = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name} must be finite, but entry {position} is {array[position]}")
    if max(high, -low) > largest:
        raise ValueError(f"{name} must be at most {largest:g}, got {max(high, -low):g}")
    return array


def _combine_duplicates(
    columns: RatingColumns, duplicates: str, user_ids: Ids, item_ids: Ids
) -> RatingColumns:
    """Return the ratings sorted by user and item, with duplicates combined."""
    starts, items, order = pair_order(columns.users, columns.items, len(user_ids), len(item_ids))
    users = np.repeat(np.arange(len(user_ids), dtype=ROW), np.diff(starts))
    is_first = np.ones(len(users), dtype=bool)
    is_first[1:] = (users[1:] != users[:-1]) | (items[1:] != items[:-1])
    n_duplicates = len(users) - int(is_first.sum())
    if columns.ratings is None:
        columns = columns._replace(ratings=np.ones(len(users)))
    if n_duplicates and duplicates == "raise":
        row = int(np.argmin(is_first))
        user, item = user_ids.values[users[row]].item(), item_ids.values[items[row]].item()
        raise ArgumentError(
            "duplicates",
            duplicates,
            f"allows one rating per pair, but user {user!r} rated item {item!r} more than once "
            f"({n_duplicates} duplicates); use 'last', 'mean' or 'sum'",
        )
    if n_duplicates:
        _sort_duplicates(order, is_first, columns, duplicates)
    rows = columns._replace(users=None, items=None).take(order)._replace(users=users, items=items)
    if not n_duplicates:
        return rows
    first = np.flatnonzero(is_first)
    last = rows.take(np.append(first[1:], len(users)) - 1)
    if duplicates == "last":
        return last
    weights = np.ones(len(users)) if rows.weights is None else rows.weights
    totals = np.add.reduceat(weights, first)
    if duplicates == "sum":
        values = np.add.reduceat(rows.ratings, first)
    else:
        values = np.add.reduceat(weights * rows.ratings, first) / totals
    return last._replace(
        ratings=values,
        weights=None if rows.weights is None else totals,
        times=None if rows.times is None else np.maximum.reduceat(rows.times, first),
    )


def _sort_duplicates(
    order: Rows, is_first: NDArray[np.bool_], columns: RatingColumns, duplicates: str
) -> None:
    """Sort the ratings of each pair in `order`, in place: by time, or else by their numbers.

    So floating-point sums do not depend on the order of the input.
    """
    times, weights = columns.times, columns.weights
    keys = (times,) if duplicates == "last" else (weights, times, columns.ratings)
    several = np.flatnonzero(~(is_first & np.append(is_first[1:], True)))
    rows = order[several]
    ranked = [key[rows] for key in keys if key is not None]
    order[several] = rows[np.lexsort((*ranked, np.cumsum(is_first)[several]))]


def frame_columns(frame: Any, names: Names) -> RatingColumns:
    """Return the columns of a data frame."""
    if not is_frame(frame):
        raise TypeError(f"frame must be a data frame, got {type(frame).__name__}")
    import narwhals.stable.v1 as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise TypeError(f"frame must be a data frame in memory: {error}") from error
    _check_names(names, table.columns)
    pairs = zip(_ROLES, names, strict=True)
    return RatingColumns(
        *(None if name is None else _series(role, table[name], nw) for role, name in pairs)
    )


def _check_names(names: Names, columns: Any, of: str = "") -> None:
    """Raise if a named column is missing or named twice."""
    for role, name in zip(_ROLES, names, strict=True):
        if name is None and role not in ("user", "item"):
            continue
        if not isinstance(name, str):
            raise TypeError(f"{role} must be the name of a column, got {name!r}")
        if list(columns).count(name) != 1:
            listed = ", ".join(repr(column) for column in columns)
            raise ArgumentError(role, name, f"must be one of the columns{of}: there are {listed}")
    named = [name for name in names if name is not None]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise ValueError(
            f"user, item and the others must be different columns, got {twice!r} twice"
        )


def _series(role: str, series: Any, nw: Any) -> NDArray[Any]:
    """Return the ids or the numbers of a column."""
    if series.is_null().any():
        row = int(np.argmax(series.is_null().to_numpy()))
        raise ValueError(f"{role}={series.name!r} must not be missing, but row {row} is")
    if role in ("user", "item"):
        is_integer = series.dtype.is_integer()
        return as_ids(role, np.asarray(series.to_numpy()) if is_integer else series.to_native())
    if series.dtype in (nw.Datetime, nw.Date) and role == "time":
        return np.asarray(series.to_numpy()).astype("datetime64[ns]").astype(np.int64) / 1e9
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        raise TypeError(f"{role}={series.name!r} must hold numbers, got {series.dtype}")
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def build_matrix(matrix: Any, user_ids: Any, item_ids: Any, missing: float) -> Ratings:
    """Return the ratings in a matrix of users by items."""
    if is_frame(matrix):
        raise TypeError(
            "matrix must be an array or a sparse matrix, got a data frame: give its values, with "
            "user_ids and item_ids, or use from_frame for a frame of one rating a row"
        )
    if sparse.issparse(matrix):
        if matrix.ndim != 2:
            raise ValueError(f"matrix must have two dimensions, got shape {matrix.shape}")
        merged = sparse.csr_array(matrix, copy=True)
        merged.sum_duplicates()
        entries = merged.tocoo()
    else:
        unrated = np.ma.getmaskarray(matrix) if np.ma.is_masked(matrix) else False
        dense = _dense(matrix)
        if isinstance(missing, bool) or not isinstance(missing, (int, float)):
            raise TypeError(f"missing must be a number, got {missing!r}")
        rated = ~(np.isnan(dense) | (dense == missing) | unrated)
        entries = sparse.coo_array((dense[rated], np.nonzero(rated)), shape=dense.shape)
    rows, columns = entries.coords if hasattr(entries, "coords") else (entries.row, entries.col)
    users = _axis_ids("user_ids", user_ids, entries.shape[0])
    items = _axis_ids("item_ids", item_ids, entries.shape[1])
    ratings = RatingColumns(users[rows], items[columns], entries.data)
    return build_ratings(ratings, all_users=users, all_items=items)


def _dense(matrix: Any) -> Reals:
    try:
        array = np.asarray(matrix)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"got an array of {array.dtype}")
        dense = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"matrix must hold numbers, one row for each user: {error}") from error
    if dense.ndim != 2:
        raise ValueError(f"matrix must have two dimensions, got shape {dense.shape}")
    return dense


def build_dict(ratings: Any) -> Ratings:
    """Return the ratings in a mapping of mappings; users without ratings join the catalog."""
    if not isinstance(ratings, Mapping):
        raise TypeError(
            f"ratings must be a mapping of users to mappings, got {type(ratings).__name__}"
        )
    users, items, values = [], [], []
    for user, rated in ratings.items():
        if not isinstance(rated, Mapping):
            raise TypeError(f"the ratings of {user!r} must map items to ratings, got {rated!r}")
        users += [user] * len(rated)
        items += list(rated)
        values += list(rated.values())
    columns = RatingColumns(_objects(users), _objects(items), np.asarray(values))
    return build_ratings(columns, all_users=_objects(list(ratings)))


def _axis_ids(name: str, values: Any, size: int) -> NDArray[Any]:
    if values is None:
        return np.arange(size)
    ids = as_ids(name, values)
    if len(ids) != size:
        raise ValueError(
            f"{name} must be {size}, one for each row or column of matrix, got {len(ids)}"
        )
    if len(Ids.of(name, ids)) < size:
        raise ValueError(f"{name} must all be different")
    return ids


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def read_ratings(
    path: PathLike, names: Names, columns: Any, separator: str | None
) -> RatingColumns:
    """Return the columns of a file of ratings."""
    with Path(path).open("rb") as stream:
        is_parquet = stream.read(4) == _PARQUET
    if is_parquet or table_kind(path) in (*ARROW, ".arff"):
        kind = ".parquet" if is_parquet else check_kind(path)
        return frame_columns(read_frame(path, kind), names)
    if columns is not None and (
        isinstance(columns, str) or not all(isinstance(name, str) for name in columns)
    ):
        raise TypeError(f"columns must be a list of names, got {columns!r}")
    if separator is not None and (not isinstance(separator, str) or not separator):
        raise TypeError(f"separator must be a string or None, got {separator!r}")
    file = DelimitedText.open(path, separator, columns, (*SEPARATORS, " "))
    _check_names(names, file.names, f" of {path}")
    used = [name for name in names if name is not None]
    # Only an empty cell is missing: an item may be called "None".
    raw = read_delimited(file, used, names[:2], na_values=("",))
    pairs = zip(_ROLES, names, strict=True)
    return RatingColumns(
        *(None if name is None else _from_raw(path, role, raw[name]) for role, name in pairs)
    )


def _from_raw(path: PathLike, role: str, column: Any) -> NDArray[Any]:
    """Return the ids or the numbers of a column of a file."""
    if role not in ("user", "item"):
        if isinstance(column, NumericColumn):
            return column.reals()
        odd = next((string for string in column.categories if parse_number(string) is None), None)
        raise ValueError(f"{path} must hold numbers in the column of {role}s, got {odd!r}")
    if not len(column):
        return np.empty(0, dtype=np.int64)
    missing = column.codes == column.missing_code
    if missing.any():
        raise ValueError(f"{path} has no {role} in row {int(missing.argmax()) + 1}")
    strings = column.categories
    if all(map(_is_integer, strings)):
        return np.array(strings, dtype=object).astype(np.int64)[column.codes]
    return text_array(f"{path}: the ids of {role}s", strings)[column.codes]


def _is_integer(word: str) -> bool:
    """Return whether a word is an integer in canonical form: not 007."""
    digits = word.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19 and str(int(word)) == word
