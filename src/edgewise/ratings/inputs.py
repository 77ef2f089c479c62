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
from edgewise.data import as_table
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn, take_rows
from edgewise.data.table import ColumnTable, Table, is_frame
from edgewise.io.frames import read_frame
from edgewise.io.tables import ARROW, check_kind, read_delimited, table_kind
from edgewise.io.text import SEPARATORS, DelimitedText, parse_number
from edgewise.ratings.ratings import Ratings
from edgewise.ratings.rows import pair_order

_LARGEST: Final = 1e100

_ROLES: Final = ("user", "item", "rating", "weight", "time")
Names = tuple[str, str, str | None, str | None, str | None]
_PARQUET: Final = b"PAR1"


class RatingColumns(NamedTuple):
    """Ratings, one per row: first as given, then as arrays with the indices of users and items."""

    users: Any
    items: Any
    ratings: Any = None
    weights: Any = None
    times: Any = None

    def take(self, rows: NDArray[np.intp]) -> "RatingColumns":
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
    """Check the columns and sort the ratings by user and item; `all` have ids without ratings."""
    one_of("duplicates", duplicates, DUPLICATES)
    users, items = as_ids("users", columns.users), as_ids("items", columns.items)
    if len(users) == 0:
        raise ValueError("ratings must hold at least one rating, got none")
    if len(items) != len(users):
        raise ValueError(f"items must be as long as users, {len(users)}, got {len(items)}")
    named = zip(("ratings", "weights", "times"), columns[2:], strict=True)
    arrays = [
        None if column is None else _finite(name, column, len(users)) for name, column in named
    ]
    for name, column in zip(("ratings", "weights"), arrays, strict=False):
        _check_moderate(name, column)
    if arrays[1] is not None and not arrays[1].min() > 0:
        raise ValueError(f"weights must be positive, got {arrays[1].min():g}")
    (users, user_rows), (items, item_rows) = _factorize_strings(users), _factorize_strings(items)
    user_ids = Ids.of("users", users if all_users is None else all_users)
    item_ids = Ids.of("items", items if all_items is None else all_items)
    user_ids, about_users = _attach_features("users", user_ids, user_features, user)
    item_ids, about_items = _attach_features("items", item_ids, item_features, item)
    indices = (
        user_ids.find("users", users, ROW)[user_rows],
        item_ids.find("items", items, ROW)[item_rows],
    )
    rows = _combine_duplicates(RatingColumns(*indices, *arrays), duplicates, user_ids, item_ids)
    return Ratings(user_ids, item_ids, *rows, about_users, about_items)


def _factorize_strings(ids: NDArray[Any]) -> tuple[NDArray[Any], Any]:
    """Return the different strings, and which of them each row has; integers stay as they are."""
    if ids.dtype.kind == "i":
        return ids, slice(None)
    firsts, rows = factorize(ids)
    return ids[firsts], rows


def _check_moderate(name: str, values: Reals | None) -> None:
    """Raise if sums of the squares and products of numbers could overflow."""
    if values is not None:
        largest = max(values.max(), -values.min())
        if largest > _LARGEST:
            raise ValueError(f"{name} must be at most {_LARGEST:g}, got {largest:g}")


def _combine_duplicates(
    given: RatingColumns, duplicates: str, user_ids: Ids, item_ids: Ids
) -> RatingColumns:
    """Return the ratings sorted by user and item, with duplicates combined."""
    starts, items, order = pair_order(given.users, given.items, len(user_ids), len(item_ids))
    users = np.repeat(np.arange(len(user_ids), dtype=ROW), np.diff(starts))
    new = np.ones(len(users), dtype=bool)
    new[1:] = (users[1:] != users[:-1]) | (items[1:] != items[:-1])
    if new.all():
        return _order_columns(given, users, items, order)
    if duplicates == "raise":
        first_again = int(np.argmin(new))
        pair = user_ids.values[users[first_again]], item_ids.values[items[first_again]]
        raise ArgumentError(
            "duplicates",
            duplicates,
            f"allows one rating a pair, but user {pair[0].item()!r} rated item {pair[1].item()!r} "
            f"more than once (duplicates in all: {int((~new).sum())}); use 'last', 'mean' or 'sum'",
        )
    # Floating-point sums depend on the order of the ratings of a pair: fix it.
    keys = (given.times,) if duplicates == "last" else (given.weights, given.times, given.ratings)
    several = np.flatnonzero(~(new & np.append(new[1:], True)))
    mixed = order[several]
    ranked = [key[mixed] for key in keys if key is not None]
    order[several] = mixed[np.lexsort((*ranked, np.cumsum(new)[several]))]
    rows = _order_columns(given, users, items, order)
    first = np.flatnonzero(new)
    kept = rows.take(np.append(first[1:], len(new)) - 1)
    if duplicates == "last":
        return kept
    weights = np.ones(len(new)) if rows.weights is None else rows.weights
    totals = np.add.reduceat(weights, first)
    if duplicates == "sum":
        values = np.add.reduceat(rows.ratings, first)
    else:
        values = np.add.reduceat(weights * rows.ratings, first) / totals
    return kept._replace(
        ratings=values,
        weights=None if rows.weights is None else totals,
        times=None if rows.times is None else np.maximum.reduceat(rows.times, first),
    )


def _order_columns(given: RatingColumns, users: Rows, items: Rows, order: Rows) -> RatingColumns:
    """Return the numbers in order beside the users and items; ratings of 1 if there are none."""
    values = np.ones(len(order)) if given.ratings is None else given.ratings[order]
    others = (None if column is None else column[order] for column in given[3:])
    return RatingColumns(users, items, values, *others)


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
        rows_or_missing = sparse.csr_array(matrix, copy=True)
        rows_or_missing.sum_duplicates()
        entries = rows_or_missing.tocoo()
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
    given = RatingColumns(users[rows], items[columns], entries.data)
    return build_ratings(given, all_users=users, all_items=items)


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


def _axis_ids(name: str, given: Any, size: int) -> NDArray[Any]:
    if given is None:
        return np.arange(size)
    ids = as_ids(name, given)
    if len(ids) != size:
        raise ValueError(f"{name} must be {size}, one for each place of matrix, got {len(ids)}")
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
    # Only an empty cell is no id: an item may be called "None".
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


def _finite(name: str, values: Any, size: int) -> Reals:
    array = numbers(name, values)
    if len(array) != size:
        raise ValueError(f"{name} must be as long as users, {size}, got {len(array)}")
    # Without an array of booleans for the usual case.
    if not np.isfinite([array.min(), array.max()]).all():
        position = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name} must be finite, but entry {position} is {array[position]}")
    return array


def _attach_features(side: str, ids: Ids, given: Any, key: str) -> tuple[Ids, ColumnTable | None]:
    """Return the ids of users or items with those of their features, and a row for each.

    Features are a frame with an id column `key`, or a pair ``(ids, X)``; ids without any get
    missing values.
    """
    if given is None:
        return ids, None
    name = f"{side[:-1]}_features"
    owners, columns = _ids_and_columns(name, given, key)
    owners = as_ids(f"the ids of {name}", owners)
    different = Ids.of(name, owners)
    if len(different) < len(owners):
        values, counts = np.unique(owners, return_counts=True)
        twice = values[int(counts.argmax())].item()
        raise ValueError(f"{name} must have each id once, but {twice!r} comes {counts.max()}x")
    try:
        table = as_table(columns, infinite="missing")
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error
    if table.n_rows != len(owners):
        raise ValueError(f"{name} must have one row for each id, {len(owners)}, got {table.n_rows}")
    ids = Ids.union(side, [ids, different])
    row_of = np.full(len(ids), -1, dtype=np.intp)
    row_of[ids.find(name, owners)] = np.arange(len(owners))
    return ids, rows_or_missing(table, row_of)


def rows_or_missing(table: Table, rows: NDArray[np.intp]) -> ColumnTable:
    """Return rows of a table; a row number of -1 gives missing values."""
    columns = [take_rows(column, rows) for column in table.columns()]
    return ColumnTable(columns, [table.name(j) for j in range(table.n_columns)], "missing")


def _ids_and_columns(name: str, given: Any, key: str) -> tuple[Any, Any]:
    if is_frame(given):
        import narwhals.stable.v1 as nw

        frame = nw.from_native(given, eager_only=True)
        if key not in frame.columns:
            raise ValueError(f"{name} must have a column {key!r} of ids, got {frame.columns}")
        if len(frame.columns) == 1:
            raise ValueError(f"{name} must have columns besides {key!r}")
        return frame[key], frame.drop(key).to_native()
    if isinstance(given, tuple) and len(given) == 2:
        return given
    raise TypeError(
        f"{name} must be a data frame with a column {key!r}, or a pair of ids and columns, got "
        f"{type(given).__name__}"
    )


def stack_tables(table: ColumnTable, more: ColumnTable) -> ColumnTable:
    """Return the rows of two tables with the same columns; new categories are missing values."""
    if table.names != more.names:
        raise ValueError(f"user_features must have the columns {table.names}, got {more.names}")
    columns: list[Column] = []
    for j in range(table.n_columns):
        first, second = table.column(j), more.column(j)
        if isinstance(first, CategoricalColumn) and isinstance(second, CategoricalColumn):
            codes = np.concatenate([first.codes, second.recode(first.categories).codes])
            columns.append(CategoricalColumn(codes, first.categories))
        elif isinstance(first, CategoricalColumn) or isinstance(second, CategoricalColumn):
            kind = "categories" if isinstance(first, CategoricalColumn) else "numbers"
            raise ValueError(f"user_features must hold {kind} in {table.name(j)!r}")
        else:
            columns.append(NumericColumn(np.concatenate([first.reals(), second.reals()])))
    return ColumnTable(columns, table.names, "missing")
