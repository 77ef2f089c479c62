"""What the columns of a table are, and what a model makes of them."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import ArgumentError, one_of
from edgewise.common.choices import TASKS
from edgewise.common.dtypes import CATEGORY_CODE
from edgewise.common.text import pluralize
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn
from edgewise.data.table import ColumnTable, Table
from edgewise.io.tables import DateColumn, ManyWords, Raw, RawTable, as_number, naive, raw_table

USED: Final = ("number", "category", "date")
KINDS: Final = (*USED, "id", "text", "constant", "dropped")
"""Kinds of columns; a model has those in `USED`."""

# With fewer rows, a column that never repeats a value is no id.
_LEAST_ROWS: Final = 20
# From this share of different words on, they tell rows apart and nothing else.
_NEARLY_ALL: Final = 0.9
# A column with this many words in a cell, on average, is text.
_LONG: Final = 4.0
# If this share of the cells are numbers, the others count as missing.
_MOSTLY: Final = 0.9
# The most different integers that may be classes.
_MOST_CLASSES: Final = 200
# Rows in which different numbers are counted.
_COUNTED: Final = 1_000_000
# Names listed in an error.
_LISTED: Final = 60
_NAMED_ID: Final = re.compile(r"(.*[_\W])?(id|uuid|guid|key|index|no|nr|number)|.*(Id|ID)")
_TRUTH: Final = {"1": 1, "0": 0, "true": 1, "false": 0, "yes": 1, "no": 0, "y": 1, "n": 0}

_ISO: Final = "ISO 8601"
_FORMATS: Final = {
    "%d.%m.%Y": "day.month.year",
    "%d.%m.%Y %H:%M": "day.month.year",
    "%d.%m.%Y %H:%M:%S": "day.month.year",
    "%m/%d/%Y": "month/day/year",
    "%m/%d/%Y %H:%M": "month/day/year",
    "%m/%d/%Y %H:%M:%S": "month/day/year",
    "%d/%m/%Y": "day/month/year",
    "%d/%m/%Y %H:%M": "day/month/year",
    "%d/%m/%Y %H:%M:%S": "day/month/year",
    "%m/%d/%Y %I:%M %p": "month/day/year",
    "%m/%d/%Y %I:%M:%S %p": "month/day/year",
    "%d.%m.%y": "day.month.year",
    "%m/%d/%y": "month/day/year",
    "%d/%m/%y": "day/month/year",
    "%Y/%m/%d": "year/month/day",
    "%Y/%m/%d %H:%M": "year/month/day",
    "%Y/%m/%d %H:%M:%S": "year/month/day",
    "%d-%m-%Y": "day-month-year",
    "%d-%b-%Y": "day-month-year",
    "%d %b %Y": "day month year",
    "%d %B %Y": "day month year",
    "%b %d, %Y": "month day, year",
    "%B %d, %Y": "month day, year",
}
_DAY: Final = 86_400

_PARTS: dict[str, Callable[[NDArray[np.datetime64]], NDArray[Any]]] = {
    "year": lambda times: times.astype("datetime64[Y]").astype(np.int64) + 1970,
    "month": lambda times: times.astype("datetime64[M]").astype(np.int64) % 12 + 1,
    "weekday": lambda times: (times.astype("datetime64[D]").astype(np.int64) + 3) % 7,
    "hour": lambda times: times.astype(np.int64) // 3600 % 24,
    "days": lambda times: times.astype(np.int64) / _DAY,
}
"""Numbers that a date becomes: Monday is weekday 0; days count from 1 January 1970."""


@dataclass(frozen=True)
class ColumnSchema:
    """One column of a table: its kind, and what becomes of it."""

    name: str
    kind: str
    """One of "number", "category" and "date", which a model has, and "id", "text", "constant" and
    "dropped", which it has not."""
    n_distinct: int
    """Different values in training; of more than a million rows, in the first million."""
    n_missing: int
    note: str = ""
    """Why the column is left out, or how its cells are read."""
    categories: tuple[str, ...] = ()
    """The values of a category; others are missing."""
    parts: tuple[str, ...] = ()
    """The numbers that a date becomes."""
    date_format: str = ""
    lenient: bool = False
    """Whether words among numbers or dates are missing values, and no error."""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns that a model has of it."""
        if self.kind == "date":
            return tuple(f"{self.name}.{part}" for part in self.parts)
        return (self.name,) if self.kind in USED else ()

    @property
    def use(self) -> str:
        """What becomes of the column, in words."""
        words = {"number": "used", "category": "used", "date": ", ".join(self.parts)}
        return "; ".join(word for word in (words.get(self.kind, "left out"), self.note) if word)


@dataclass(frozen=True)
class Schema:
    """What the columns of a table are: inferred once, then the same for every later table.

    Numbers and categories are used as they are. A date becomes a few numbers: year, month, weekday,
    hour and days since 1970, as far as they vary. Columns of ids and columns that never vary are
    left out. Free text is an error, which says what to do.

    Later tables may have their columns in any order, and more of them. A category that the first
    table did not have is a missing value; a column that is not there is an error.

    Examples
    --------
    >>> import pandas as pd
    >>> from edgewise import AdaBoostMH
    >>> from edgewise.io import Schema
    >>> people = pd.DataFrame({
    ...     "joined": ["2021-03-01", "2022-07-15", "2022-01-09", "2023-05-30"],
    ...     "city": ["Rome", "Oslo", "Rome", None],
    ...     "stays": ["no", "yes", "yes", "no"],
    ... })
    >>> schema = Schema.fit(people, target="stays")
    >>> schema.feature_names
    ('joined.year', 'joined.month', 'joined.weekday', 'joined.days', 'city')
    >>> y = schema.labels(people)
    >>> model = AdaBoostMH("stump", n_rounds=3).fit(schema.transform(people), y)
    >>> later = pd.DataFrame({"city": ["Bonn"], "joined": ["2022-11-11"]})
    >>> model.predict(schema.transform(later))
    array(['yes'], dtype='<U3')
    """

    columns: tuple[ColumnSchema, ...]
    target: tuple[str, ...] = ()
    """The columns with the classes, labels or grades."""
    task: str = "classes"
    query: str | None = None
    """The column with query ids."""
    doc: str | None = None
    """The column with document ids."""
    weight: str | None = None
    """The column with weights of the rows."""

    @classmethod
    def fit(
        cls,
        X: Any,
        target: str | Sequence[str] = (),
        *,
        query: str | None = None,
        doc: str | None = None,
        weight: str | None = None,
        task: str | None = None,
        drop: str | Sequence[str] = (),
        categorical: str | Sequence[str] = (),
        numeric: str | Sequence[str] = (),
    ) -> Self:
        """Infer what the columns of a table are.

        Parameters
        ----------
        X : data frame, array, or what :func:`read_columns` returns
            The table.
        target : str or sequence of str, default ()
            The column with classes or grades, or the columns with 0/1 labels.
        query, doc, weight : str or None, default None
            The columns with query ids, document ids and weights of rows.
        task : {"classes", "labels", "grades"} or None, default None
            What to learn; None is "labels" for several targets, "grades" with `query`, and else
            "classes".
        drop, categorical, numeric : str or sequence of str, default ()
            Columns to leave out, or to take as categories or numbers whatever they look like.
        """
        table = raw_table(X)
        targets = (target,) if isinstance(target, str) else tuple(target)
        roles = {"query": query, "doc": doc, "weight": weight}
        given = {"drop": drop, "categorical": categorical, "numeric": numeric}
        chosen = {key: (one,) if isinstance(one, str) else tuple(one) for key, one in given.items()}
        _check_roles(table, targets, roles, chosen)
        if task is None:
            task = "labels" if len(targets) > 1 else "classes" if query is None else "grades"
        one_of("task", task, TASKS)
        if task != "labels" and len(targets) > 1:
            raise ArgumentError("task", task, f"has one target, got {len(targets)}")
        if task == "classes" and targets:
            _check_classes(targets[0], table.columns[targets[0]])
        columns = []
        for name, column in table.columns.items():
            if name in (*targets, *roles.values()):
                continue
            usual = "categorical" if name in table.declared else ""
            wanted = next((key for key, names in chosen.items() if name in names), usual)
            columns.append(_judged(name, column, wanted))
        if not any(column.features for column in columns):
            listed = "; ".join(f"{column.name!r} is {column.use}" for column in columns[:_LISTED])
            raise ValueError(f"no column is left to learn from: {listed or 'there is no other'}")
        return cls(tuple(columns), targets, task, query, doc, weight)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns that a model has."""
        return tuple(name for column in self.columns for name in column.features)

    @property
    def words(self) -> tuple[str, ...]:
        """The columns that hold words whatever they look like, for :func:`read_columns`."""
        kinds = ("category", "id")
        found = [column.name for column in self.columns if column.kind in kinds]
        return (*found, *(name for name in (self.query, self.doc) if name is not None))

    def transform(self, X: Any) -> Table:
        """Return a table as the columns that a model has, for its `fit` and `predict`.

        Parameters
        ----------
        X : data frame, array, or what :func:`read_columns` returns
            The table.
        """
        table = raw_table(X)
        used = [column for column in self.columns if column.features]
        missing = [column.name for column in used if column.name not in table.columns]
        if missing:
            listed = ", ".join(map(repr, missing[:_LISTED]))
            plural = "s" if len(missing) > 1 else ""
            raise ValueError(f"the table lacks the column{plural} {listed}, which training had")
        made = [part for one in used for part in _columns(one, table.columns[one.name])]
        return ColumnTable(made, self.feature_names)

    def extra(self, X: Any) -> list[str]:
        """Return the names of a table's columns that training did not have."""
        known = {column.name for column in self.columns}
        known |= {*self.target, *(name for name in (self.query, self.doc, self.weight) if name)}
        return [name for name in raw_table(X).columns if name not in known]

    def new_categories(self, X: Any) -> dict[str, list[str]]:
        """Return the categories of a table that training did not have, by column."""
        found, table = {}, raw_table(X)
        for column in self.columns:
            raw = table.columns.get(column.name)
            if column.kind == "category" and raw is not None:
                known = set(column.categories)
                new = [word for word in _as_words(raw, column.name).categories if word not in known]
                if new:
                    found[column.name] = [str(word) for word in new]
        return found

    def labels(self, X: Any) -> NDArray[Any]:
        """Return the classes, the 0/1 labels (a column for each target) or the grades of a table.

        Missing values are None for classes, and NaN for labels and grades.
        """
        table = raw_table(X)
        absent = [name for name in self.target if name not in table.columns]
        if absent:
            raise ArgumentError("target", absent[0], f"must be a column: {_names(table)}")
        if self.task == "labels":
            return np.stack([_truths(name, table.columns[name]) for name in self.target], axis=1)
        (name,) = self.target
        raw = table.columns[name]
        return _grades(name, raw) if self.task == "grades" else _classes(name, raw)

    def class_codes(self, X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return classes as places in a sorted array, -1 for a missing one, and the array."""
        (name,) = self.target
        table = raw_table(X)
        if name not in table.columns:
            raise ArgumentError("target", name, f"must be a column: {_names(table)}")
        return _class_codes(name, table.columns[name])

    def role(self, X: Any, name: str) -> NDArray[Any]:
        """Return the column "query" or "doc" of a table as strings, or "weight" as numbers."""
        table, column = raw_table(X), getattr(self, name)
        if column not in table.columns:
            raise ArgumentError(name, column, f"must be a column: {_names(table)}")
        raw = table.columns[column]
        if name == "weight":
            return _weights(column, raw)
        if isinstance(raw, ManyWords) and raw.values is not None:
            found = raw.values.astype(np.str_)
        else:
            words = _as_words(raw, column)
            found = np.array([*words.categories, ""], dtype=np.str_)[words.codes]
        gone = found == ""
        if gone.any():
            raise ArgumentError(name, column, f"has no value in row {int(gone.argmax()) + 1}")
        return found

    def ids(self, X: Any) -> dict[str, NDArray[Any]]:
        """Return the columns of ids that a table has, as strings: "" where one is missing."""
        table, found = raw_table(X), {}
        for column in self.columns:
            raw = table.columns.get(column.name)
            if column.kind != "id" or raw is None:
                continue
            if not isinstance(raw, ManyWords):
                words = _as_words(raw, column.name)
                found[column.name] = np.array([*words.categories, ""], dtype=object)[words.codes]
            elif raw.values is not None:
                found[column.name] = raw.values
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the schema as what JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, saved: Any) -> Self:
        """Return the schema that :meth:`to_json` gave, or raise if it is damaged."""
        columns = tuple(_column_from(one) for one in saved["columns"])
        roles = {name: saved[name] for name in ("query", "doc", "weight")}
        given = {name for name in roles.values() if name is not None}
        if not all(isinstance(name, str) for name in (*given, *saved["target"])):
            raise TypeError("names of columns must be strings")
        return cls(columns, tuple(saved["target"]), one_of("task", saved["task"], TASKS), **roles)


def _column_from(saved: dict[str, Any]) -> ColumnSchema:
    column = ColumnSchema(**saved)
    column = replace(column, categories=tuple(saved["categories"]), parts=tuple(saved["parts"]))
    one_of("kind", column.kind, KINDS)
    for part in column.parts:
        one_of("part", part, tuple(_PARTS))
    if column.date_format not in ("", _ISO, *_FORMATS):
        raise ValueError(f"unknown date format {column.date_format!r}")
    words = (column.name, column.note, *column.categories)
    if not all(isinstance(word, str) for word in words):
        raise TypeError("names and categories must be strings")
    return column


def _check_roles(
    table: RawTable,
    targets: Sequence[str],
    roles: dict[str, str | None],
    chosen: dict[str, tuple[str, ...]],
) -> None:
    named: dict[str, str] = {}
    single = [("target", name) for name in targets]
    single += [(role, name) for role, name in roles.items() if name is not None]
    several = [(key, name) for key, names in chosen.items() for name in names]
    for role, name in (*single, *several):
        if name not in table.columns:
            raise ArgumentError(role, name, f"must be a column: {_names(table)}")
        if name in named:
            raise ArgumentError(role, name, f"is the column of {named[name]} already")
        named[name] = role


def _names(table: RawTable) -> str:
    names = list(table.columns)
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(map(repr, names[:_LISTED])) + more


# Kinds


def _judged(name: str, column: Raw, wanted: str) -> ColumnSchema:
    """Return what a column is, as it looks or as the user wants it."""
    n_missing, n_rows = _n_missing(column), len(column)
    if wanted == "drop":
        return ColumnSchema(name, "dropped", _n_distinct(column), n_missing, "as you asked")
    if n_missing == n_rows:
        return ColumnSchema(name, "constant", 0, n_missing, "no value in any row")
    if isinstance(column, NumericColumn) and wanted == "categorical":
        column = _as_words(column, name)
    if isinstance(column, ManyWords):
        return _many(name, column, wanted)
    n_distinct = _n_distinct(column)
    known = ColumnSchema(name, "number", n_distinct, n_missing)
    if n_distinct == 1 and not n_missing:
        return replace(known, kind="constant", note="the same in every row")
    if isinstance(column, DateColumn):
        return _dated(known, column.values, _ISO)
    if isinstance(column, NumericColumn):
        if not wanted and _is_numbered(name, column):
            return replace(known, kind="id", note="another number in every row")
        return known
    return _worded(known, column, wanted)


def _worded(known: ColumnSchema, column: CategoricalColumn, wanted: str) -> ColumnSchema:
    """Return what a column of words is."""
    words = [str(word) for word in column.categories]
    counts = np.bincount(column.codes, minlength=len(words) + 1)[: len(words)]
    n_present = int(counts.sum())
    numbers = np.array([as_number(word) is not None for word in words])
    share = float(counts[numbers].sum()) / n_present
    if wanted == "numeric" or (not wanted and share >= _MOSTLY):
        if not numbers.any():
            raise ArgumentError("numeric", known.name, f"holds no number, but {words[0]!r}")
        return _without(known, words, counts, numbers)
    if not wanted and (found := _date_format(words, counts)):
        times = _parsed(words, found)
        known = _without(known, words, counts, ~np.isnat(times))
        return _dated(known, times[column.codes[column.codes < len(words)]], found)
    categories = replace(known, kind="category", categories=tuple(words))
    if wanted:
        return categories
    length = float((np.array([len(word.split()) for word in words]) * counts).sum()) / n_present
    unique = len(words) / n_present
    if n_present < _LEAST_ROWS or unique < _NEARLY_ALL / 2:
        return categories
    if length >= _LONG:
        raise _text_error(known.name, length)
    if unique >= _NEARLY_ALL:
        every = "another value in every row" if unique == 1 else "hardly a value comes twice"
        return replace(known, kind="id", note=every)
    return categories


def _without(
    known: ColumnSchema, words: Sequence[str], counts: NDArray[Any], read: NDArray[np.bool_]
) -> ColumnSchema:
    """Return a column in which words that could not be read are missing values."""
    if read.all():
        return known
    odd, n_odd = words[int(read.argmin())], int(counts[~read].sum())
    note = f"{pluralize(n_odd, 'cells')} such as {odd!r} missing"
    return replace(known, note=note, lenient=True)


def _many(name: str, column: ManyWords, wanted: str) -> ColumnSchema:
    """Return what a column with too many different words to keep is."""
    if wanted:
        raise ArgumentError(wanted, name, "has too many different values: leave it out")
    length = sum(len(word.split()) for word in column.some) / max(1, len(column.some))
    if length >= _LONG:
        raise _text_error(name, length)
    n_distinct = _n_distinct(column)
    return ColumnSchema(name, "id", n_distinct, column.n_missing, "hardly a value comes twice")


def _text_error(name: str, length: float) -> ValueError:
    return ValueError(
        f"the column {name!r} holds free text, {length:.0f} words in a cell on average: drop it "
        f"(--drop {name} on the command line), or turn it into numbers or categories first"
    )


def _is_numbered(name: str, column: NumericColumn) -> bool:
    """Return whether a column numbers the rows."""
    values, n_rows = column.values, len(column)
    if n_rows < _LEAST_ROWS or np.isnan(column.reals()).any():
        return False
    if values.dtype.kind == "f" and not np.array_equal(values, np.floor(values)):
        return False
    span = float(values.max()) - float(values.min()) + 1
    if span < n_rows or (span > n_rows and not _NAMED_ID.fullmatch(name)):
        return False
    return len(np.unique(values)) == n_rows


def _dated(known: ColumnSchema, times: NDArray[np.datetime64], found: str) -> ColumnSchema:
    present = times[~np.isnat(times)]
    parts = []
    for part, number in _PARTS.items():
        values = number(present)
        if values.min() < values.max():
            parts.append(part)
    if not parts:
        return replace(known, kind="constant", note="the same in every row")
    read = f"read as {_FORMATS[found]}" if found in _FORMATS else ""
    note = ", ".join(filter(None, [read, known.note]))
    return replace(known, kind="date", parts=tuple(parts), date_format=found, note=note)


def _date_format(words: Sequence[str], counts: NDArray[Any]) -> str:
    """Return the format in which most cells are dates; an empty one if there is none."""
    best, most = "", _MOSTLY * counts.sum()
    for found in (_ISO, *_FORMATS):
        few = ~np.isnat(_parsed(words[:50], found))
        if few.mean() < _MOSTLY / 2:
            continue
        n_read = counts[~np.isnat(_parsed(words, found))].sum()
        # Days up to 12 are months as well: a later format must read more.
        if n_read >= most and (not best or n_read > most):
            best, most = found, n_read
    return best


def _parsed(words: Iterable[str], found: str) -> NDArray[np.datetime64]:
    """Return words as dates, NaT for those that are none."""
    times: list[Any] = []
    for word in words:
        try:
            if found != _ISO:
                times.append(naive(datetime.strptime(word, found)))
            elif word[4:5] == "-":
                whole = f"{word}-01" if len(word) == 7 else word
                times.append(naive(datetime.fromisoformat(whole)))
            else:
                times.append(None)
        except (ValueError, OverflowError):
            times.append(None)
    return np.array(times, dtype="datetime64[s]")


def _n_missing(column: Raw) -> int:
    if isinstance(column, ManyWords):
        return column.n_missing
    if isinstance(column, CategoricalColumn):
        return int((column.codes == column.missing_code).sum())
    if isinstance(column, DateColumn):
        return int(np.isnat(column.values).sum())
    return int(np.isnan(column.values).sum()) if column.values.dtype.kind == "f" else 0


def _n_distinct(column: Raw) -> int:
    if isinstance(column, ManyWords):
        return column.n_rows - column.n_missing
    if isinstance(column, CategoricalColumn):
        return len(column.categories)
    values, least = column.values, 0
    if len(values) > _COUNTED and np.nanmin(values) < np.nanmax(values):
        # In a sorted file the first rows may all be the same.
        values, least = values[:_COUNTED], 2
    # A missing value differs from itself.
    return max(least, len(np.unique(values[values == values])))


# Values


def _columns(known: ColumnSchema, raw: Raw) -> list[Column]:
    """Return what a model has of a column."""
    if isinstance(raw, ManyWords):
        problem = f"holds too many words such as {raw.some[0]!r}"
        raise ValueError(f"the column {known.name!r} {problem}: it was a {known.kind} in training")
    if known.kind == "number":
        return [_as_numbers(known, raw)]
    if known.kind == "category":
        return [_as_words(raw, known.name).recode(known.categories)]
    times = _as_dates(known, raw)
    gone = np.isnat(times)
    found: list[Column] = []
    for part in known.parts:
        values = _PARTS[part](np.where(gone, np.datetime64(0, "s"), times))
        if part != "days":
            values = values.astype(np.float32 if gone.any() else np.int16)
        if gone.any():
            values[gone] = np.nan
        found.append(NumericColumn(values))
    return found


def _as_numbers(known: ColumnSchema, raw: Raw) -> NumericColumn:
    if isinstance(raw, NumericColumn):
        return raw
    if not isinstance(raw, CategoricalColumn):
        raise ValueError(f"the column {known.name!r} holds dates, where training had numbers")
    numbers = [as_number(str(word)) for word in raw.categories]
    if not known.lenient and None in numbers:
        odd = raw.categories[numbers.index(None)]
        raise ValueError(f"the column {known.name!r} holds {odd!r}, where training had numbers")
    table = np.array([*(np.nan if x is None else x for x in numbers), np.nan])
    return NumericColumn(table[raw.codes])


def _as_words(raw: Raw, name: str) -> CategoricalColumn:
    if isinstance(raw, CategoricalColumn):
        return raw
    if not isinstance(raw, NumericColumn):
        raise ValueError(f"the column {name!r} must hold words or numbers")
    values = raw.reals()
    missing = np.isnan(values)
    distinct, places = np.unique(values[~missing], return_inverse=True)
    words = [str(int(one)) if one.is_integer() else repr(one) for one in distinct.tolist()]
    order = np.argsort(np.array(words, dtype=object), kind="stable")
    rank = np.empty(len(words), dtype=np.int64)
    rank[order] = np.arange(len(words))
    codes = np.full(len(values), len(words), dtype=CATEGORY_CODE)
    codes[~missing] = rank[places]
    return CategoricalColumn(codes, tuple(words[place] for place in order.tolist()))


def _as_dates(known: ColumnSchema, raw: Raw) -> NDArray[np.datetime64]:
    if isinstance(raw, DateColumn):
        return raw.values
    if isinstance(raw, NumericColumn) and np.isnan(raw.reals()).all():
        return np.full(len(raw), "NaT", dtype="datetime64[s]")
    if isinstance(raw, CategoricalColumn):
        times = _parsed([str(word) for word in raw.categories], known.date_format)
        if known.lenient or not np.isnat(times).any():
            return np.concatenate([times, np.array(["NaT"], "datetime64[s]")])[raw.codes]
    how = known.date_format if known.date_format == _ISO else _FORMATS[known.date_format]
    raise ValueError(f"the column {known.name!r} holds other things than dates ({how})")


def _class_codes(name: str, raw: Raw) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the place of each row's class among the sorted classes, -1 for none, and the classes.

    They are integers where all are, otherwise words.
    """
    words = _as_words(raw, name)
    table: list[Any] = list(words.categories)
    if isinstance(raw, NumericColumn) and all(word.lstrip("-").isdigit() for word in table):
        table = [int(word) for word in table]
    classes, places = np.unique(np.array(table), return_inverse=True)
    small = np.min_scalar_type(-len(table) - 1)
    return np.array([*places, -1], dtype=small)[words.codes], classes


def _classes(name: str, raw: Raw) -> NDArray[Any]:
    codes, classes = _class_codes(name, raw)
    if (codes >= 0).all():
        return classes[codes]
    return np.array([*classes.tolist(), None], dtype=object)[codes]


def _check_classes(name: str, raw: Raw) -> None:
    """Raise if a target does not look like classes."""
    n_distinct = _n_distinct(raw)
    if isinstance(raw, NumericColumn):
        values = raw.reals()
        whole = np.array_equal(values, np.floor(values), equal_nan=True)
        if n_distinct > (_MOST_CLASSES if whole else _MOST_CLASSES / 10):
            raise ArgumentError(
                "target",
                name,
                f"holds {n_distinct:,} different numbers: edgewise learns classes, and grades to "
                "rank by (with query), but not numbers; cut them into a few classes first",
            )
    elif isinstance(raw, (ManyWords, DateColumn)) or n_distinct > len(raw) / 2 > _LEAST_ROWS:
        raise ArgumentError(
            "target", name, f"holds {n_distinct:,} different values: too many for classes"
        )


def _truths(name: str, raw: Raw) -> NDArray[np.float64]:
    """Return 0/1 labels; NaN where there is none."""
    words = _as_words(raw, name)
    truths = [_TRUTH.get(str(word).lower()) for word in words.categories]
    if None in truths:
        odd = words.categories[truths.index(None)]
        raise ArgumentError("target", name, f"must hold 0 and 1 (or no and yes), got {odd!r}")
    return np.array([*truths, np.nan], dtype=np.float64)[words.codes]


def _grades(name: str, raw: Raw, role: str = "target") -> NDArray[np.float64]:
    try:
        column = _as_numbers(ColumnSchema(name, "number", 0, 0), raw)
    except ValueError:
        odd = f", got {raw.categories[0]!r}" if isinstance(raw, CategoricalColumn) else ""
        raise ArgumentError(role, name, f"must hold numbers{odd}") from None
    return np.asarray(column.reals())


def _weights(name: str, raw: Raw) -> NDArray[np.float64]:
    weights = _grades(name, raw, "weight")
    wrong = ~(weights >= 0) | np.isinf(weights)
    if wrong.any():
        row = int(wrong.argmax())
        problem = f"must hold numbers of at least 0, got {weights[row]:g} in row {row + 1}"
        raise ArgumentError("weight", name, problem)
    if not weights.any():
        raise ArgumentError("weight", name, "is 0 in every row")
    return weights
