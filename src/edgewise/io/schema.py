"""Schemas: the kinds of a table's columns, and the features that a model gets from them."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import ArgumentError, one_of
from edgewise.common.choices import TASKS
from edgewise.common.dtypes import Reals
from edgewise.common.text import pluralize, quote_names
from edgewise.data.columns import (
    CategoricalColumn,
    Column,
    NumericColumn,
    recode,
    strings_of_numbers,
)
from edgewise.data.table import ColumnTable, Table
from edgewise.io.tables import (
    MOSTLY,
    DateColumn,
    HighCardinalityColumn,
    RawColumn,
    RawTable,
    raw_table,
    to_utc,
)
from edgewise.io.text import parse_number

USED: Final = ("number", "category", "date")
KINDS: Final = (*USED, "id", "constant", "dropped")
"""Kinds of columns; a model uses those in `USED`."""

# In tables with fewer rows, distinct values do not make a column of ids.
_MIN_ROWS_FOR_IDS: Final = 20
# The fraction of distinct values from which a column identifies rows.
_NEARLY_ALL: Final = 0.9
# The mean number of words per cell from which a column is free text.
_TEXT_LENGTH: Final = 4.0
# The maximum number of distinct integers that may be classes.
_MAX_CLASSES: Final = 200
# The number of rows in which distinct numbers are counted.
_COUNTED_ROWS: Final = 1_000_000
# The maximum number of names that an error lists.
_LISTED: Final = 60
_NAMED_ID: Final = re.compile(r"(.*[_\W])?(id|uuid|guid|key|index|no|nr|number)|.*(Id|ID)")
BOOLEANS: Final = ("false", "true")
"""Booleans in text files, in lower case; in frames they are 0 and 1."""
_TRUTH: Final = {"1": 1, "0": 0, "true": 1, "false": 0, "yes": 1, "no": 0, "y": 1, "n": 0}

_ISO: Final = "ISO 8601"
_FORMATS: Final = (
    *(
        f"{day}{time}"
        for day in ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d")
        for time in ("", " %H:%M", " %H:%M:%S")
    ),
    *("%m/%d/%Y %I:%M %p", "%m/%d/%Y %I:%M:%S %p", "%d.%m.%y", "%m/%d/%y", "%d/%m/%y"),
    *("%d-%m-%Y", "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
_DAY: Final = 86_400

_PARTS: dict[str, Callable[[NDArray[np.datetime64]], NDArray[Any]]] = {
    "year": lambda times: times.astype("datetime64[Y]").astype(np.int64) + 1970,
    "month": lambda times: times.astype("datetime64[M]").astype(np.int64) % 12 + 1,
    "weekday": lambda times: (times.astype("datetime64[D]").astype(np.int64) + 3) % 7,
    "hour": lambda times: times.astype(np.int64) // 3600 % 24,
    "days": lambda times: times.astype(np.int64) / _DAY,
}
"""The features of a date: Monday is weekday 0; days count from 1 January 1970."""


@dataclass(frozen=True)
class ColumnSchema:
    """One column of a table: its kind and its features."""

    name: str
    kind: str
    """"number", "category" or "date", which a model uses, or "id", "constant" or "dropped"."""
    n_distinct: int
    """Distinct values in the first million rows of training."""
    n_missing: int
    note: str = ""
    """Why the column is left out, or how its cells are read."""
    categories: tuple[str, ...] = ()
    """The categories; other values are missing."""
    parts: tuple[str, ...] = ()
    """The features of a date."""
    date_format: str = ""
    lenient: bool = False
    """Whether strings among numbers or dates are missing values instead of an error."""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the column's features in a model."""
        if self.kind == "date":
            return tuple(f"{self.name}.{part}" for part in self.parts)
        return (self.name,) if self.kind in USED else ()

    @property
    def use(self) -> str:
        """The use of the column, for people."""
        uses = {"number": "used", "category": "used", "date": ", ".join(self.parts)}
        return "; ".join(filter(None, (uses.get(self.kind, "left out"), self.note)))


@dataclass(frozen=True)
class Schema:
    """The kinds of a table's columns, inferred once and applied to every later table.

    Numbers and categories are used as they are. A date becomes a few numbers, if they vary: year,
    month, weekday, hour and days since 1970. Columns of ids and constant columns are left out. Free
    text is an error.

    Later tables may have their columns in any order, and additional ones. An unseen category is a
    missing value; an absent column is an error.

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
        """Infer the kinds of the columns of a table.

        Parameters
        ----------
        X : data frame, array, or what :func:`read_columns` returns
            The table.
        target : str or sequence of str, default ()
            The column with classes or grades, or the columns with 0/1 labels.
        query, doc, weight : str or None, default None
            The columns with query ids, document ids and weights of rows.
        task : {"classes", "labels", "grades"} or None, default None
            The kind of target; None is "labels" for several targets, "grades" with `query`, and
            "classes" otherwise.
        drop, categorical, numeric : str or sequence of str, default ()
            Columns to leave out, or to use as categories or as numbers.
        """
        table = raw_table(X)
        targets = (target,) if isinstance(target, str) else tuple(target)
        roles = {"query": query, "doc": doc, "weight": weight}
        requested = {
            key: (names,) if isinstance(names, str) else tuple(names)
            for key, names in (("drop", drop), ("categorical", categorical), ("numeric", numeric))
        }
        _check_roles(table, targets, roles, requested)
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
            default = "categorical" if name in table.declared else ""
            kind = next((key for key, names in requested.items() if name in names), default)
            columns.append(_infer_column(name, column, kind))
        if not any(column.features for column in columns):
            listed = "; ".join(f"{column.name!r} is {column.use}" for column in columns[:_LISTED])
            raise ValueError(f"no column is left to learn from: {listed or 'X has no others'}")
        return cls(tuple(columns), targets, task, query, doc, weight)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features of a model."""
        return tuple(name for column in self.columns for name in column.features)

    @property
    def words(self) -> tuple[str, ...]:
        """The columns that :func:`read_columns` must read as strings."""
        kinds = ("category", "id")
        names = [column.name for column in self.columns if column.kind in kinds]
        return (*names, *(name for name in (self.query, self.doc) if name is not None))

    def transform(self, X: Any) -> Table:
        """Return the features of a table, for a model's `fit` and `predict`.

        Parameters
        ----------
        X : data frame, array, or what :func:`read_columns` returns
            The table.
        """
        table = raw_table(X)
        used = [column for column in self.columns if column.features]
        missing = [column.name for column in used if column.name not in table.columns]
        if missing:
            columns = "column" if len(missing) == 1 else "columns"
            listed = quote_names(missing)
            raise ValueError(f"the table lacks the {columns} {listed}, which training had")
        features = [f for column in used for f in _features(column, table.columns[column.name])]
        return ColumnTable(features, self.feature_names)

    def extra(self, X: Any) -> list[str]:
        """Return the names of a table's columns that training did not have."""
        trained = {column.name for column in self.columns}
        trained |= {*self.target, *(name for name in (self.query, self.doc, self.weight) if name)}
        return [name for name in raw_table(X).columns if name not in trained]

    def new_categories(self, X: Any) -> dict[str, list[str]]:
        """Return the categories of a table that training did not have, by column."""
        table, unseen = raw_table(X), {}
        for column in self.columns:
            if column.kind == "category" and column.name in table.columns:
                trained = set(column.categories)
                raw = _categories_as_trained(table.columns[column.name], column)
                unseen[column.name] = [str(name) for name in raw.categories if name not in trained]
        return {name: categories for name, categories in unseen.items() if categories}

    def labels(self, X: Any) -> NDArray[Any]:
        """Return the classes, the 0/1 labels (a column per target) or the grades of a table.

        Missing values are None for classes, and NaN for labels and grades.
        """
        table = raw_table(X)
        columns = [_column(table, "target", name) for name in self.target]
        if self.task == "labels":
            return np.stack(list(map(_labels, self.target, columns)), axis=1)
        if self.task == "grades":
            return _grades(self.target[0], columns[0])
        codes, classes = _class_codes(self.target[0], columns[0])
        if (codes < 0).any():
            classes = np.array([*classes.tolist(), None], dtype=object)
        return classes[codes]

    def class_codes(self, X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the class of each row as an index, -1 if missing, and the sorted classes."""
        (name,) = self.target
        return _class_codes(name, _column(raw_table(X), "target", name))

    def role(self, X: Any, name: str) -> NDArray[Any]:
        """Return the column "query" or "doc" of a table as strings, or "weight" as numbers."""
        column = getattr(self, name)
        raw = _column(raw_table(X), name, column)
        if name == "weight":
            return _weights(column, raw)
        strings = _as_strings(raw, column).astype(np.str_)
        missing = strings == ""
        if missing.any():
            raise ArgumentError(name, column, f"has no value in row {int(missing.argmax()) + 1}")
        return strings

    def ids(self, X: Any) -> dict[str, NDArray[Any]]:
        """Return the columns of ids that a table has, as strings: "" where one is missing."""
        raws = raw_table(X).columns
        names = [column.name for column in self.columns if column.kind == "id"]
        return {
            name: _as_strings(raws[name], name)
            for name in names
            if name in raws and not isinstance(raws[name], HighCardinalityColumn)
        }

    def to_json(self) -> dict[str, Any]:
        """Return the schema in types of JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, saved: Any) -> Self:
        """Return the schema of :meth:`to_json`, or raise if it is damaged."""
        columns = tuple(map(_column_from_json, saved["columns"]))
        roles = {name: saved[name] for name in ("query", "doc", "weight")}
        names = [name for name in roles.values() if name is not None]
        if not all(isinstance(name, str) for name in (*names, *saved["target"])):
            raise TypeError("names of columns must be strings")
        return cls(columns, tuple(saved["target"]), one_of("task", saved["task"], TASKS), **roles)


def _column_from_json(saved: dict[str, Any]) -> ColumnSchema:
    column = ColumnSchema(**saved)
    column = replace(column, categories=tuple(saved["categories"]), parts=tuple(saved["parts"]))
    one_of("kind", column.kind, KINDS)
    for part in column.parts:
        one_of("part", part, tuple(_PARTS))
    if column.date_format not in ("", _ISO, *_FORMATS):
        raise ValueError(f"unknown date format {column.date_format!r}")
    strings = (column.name, column.note, *column.categories)
    if not all(isinstance(string, str) for string in strings):
        raise TypeError("names and categories must be strings")
    return column


def _check_roles(
    table: RawTable,
    targets: Sequence[str],
    roles: dict[str, str | None],
    requested: dict[str, tuple[str, ...]],
) -> None:
    role_of: dict[str, str] = {}
    pairs = [("target", name) for name in targets]
    pairs += [(role, name) for role, name in roles.items() if name is not None]
    pairs += [(key, name) for key, names in requested.items() for name in names]
    for role, name in pairs:
        _column(table, role, name)
        if name in role_of:
            raise ArgumentError(role, name, f"is the column of {role_of[name]} already")
        role_of[name] = role


def _column(table: RawTable, role: str, name: str) -> RawColumn:
    """Return a column of a table, or raise an error that names the role."""
    if name not in table.columns:
        raise ArgumentError(role, name, f"must be a column: {quote_names(table.columns)}")
    return table.columns[name]


# Kinds


def _infer_column(name: str, column: RawColumn, requested: str) -> ColumnSchema:
    """Return the schema of a column, of the kind that is requested, or else of the inferred one."""
    if isinstance(column, NumericColumn) and requested == "categorical":
        column = _as_categorical(column, name)
    n_missing = _count_missing(column)
    schema = ColumnSchema(name, "number", _count_distinct(column), n_missing)
    if requested == "drop":
        return replace(schema, kind="dropped", note="as requested")
    if n_missing == len(column):
        return replace(schema, kind="constant", n_distinct=0, note="no value in any row")
    if isinstance(column, HighCardinalityColumn):
        if requested:
            raise ArgumentError(requested, name, "has too many distinct values: leave it out")
        _check_text(name, column.examples, np.ones(len(column.examples), dtype=np.int64))
        return replace(schema, kind="id", note="almost all values unique")
    if schema.n_distinct == 1 and not n_missing:
        return replace(schema, kind="constant", note="the same in every row")
    if isinstance(column, DateColumn):
        return _infer_dates(schema, column.values, _ISO)
    if isinstance(column, NumericColumn):
        if not requested and _numbers_rows(name, column):
            return replace(schema, kind="id", note="distinct in every row")
        return schema
    return _infer_strings(schema, column, requested)


def _infer_strings(schema: ColumnSchema, column: CategoricalColumn, requested: str) -> ColumnSchema:
    strings = [str(string) for string in column.categories]
    counts = np.bincount(column.codes, minlength=len(strings) + 1)[: len(strings)]
    n_present = int(counts.sum())
    is_number = np.array([parse_number(string) is not None for string in strings])
    fraction = float(counts[is_number].sum()) / n_present
    if requested == "numeric" or (not requested and fraction >= MOSTLY):
        if not is_number.any():
            raise ArgumentError("numeric", schema.name, f"holds no number, but {strings[0]!r}")
        return _mark_unparsed(schema, strings, counts, is_number)
    if not requested and (date_format := _find_date_format(strings, counts)):
        times = _parse_dates(strings, date_format)
        schema = _mark_unparsed(schema, strings, counts, ~np.isnat(times))
        return _infer_dates(schema, times[column.codes[column.codes < len(strings)]], date_format)
    categories = replace(schema, kind="category", categories=tuple(strings))
    unique = len(strings) / n_present
    if requested or n_present < _MIN_ROWS_FOR_IDS or unique < _NEARLY_ALL / 2:
        return categories
    _check_text(schema.name, strings, counts)
    if unique < _NEARLY_ALL:
        return categories
    note = "distinct in every row" if unique == 1 else "almost all values unique"
    return replace(schema, kind="id", note=note)


def _mark_unparsed(
    schema: ColumnSchema, words: Sequence[str], counts: NDArray[Any], is_parsed: NDArray[np.bool_]
) -> ColumnSchema:
    """Return the schema of a column in which strings that cannot be parsed are missing."""
    if is_parsed.all():
        return schema
    odd, n_odd = words[int(is_parsed.argmin())], int(counts[~is_parsed].sum())
    note = f"{pluralize(n_odd, 'cells')} such as {odd!r} missing"
    return replace(schema, note=note, lenient=True)


def _check_text(name: str, words: Sequence[str], counts: NDArray[Any]) -> None:
    """Raise if a column holds free text."""
    lengths = np.array([len(string.split()) for string in words])
    length = float((lengths * counts).sum()) / max(1, int(counts.sum()))
    if length >= _TEXT_LENGTH:
        raise ValueError(
            f"column {name!r} holds free text, {length:.0f} words per cell on average: drop it, or "
            "turn it into numbers or categories first"
        )


def _numbers_rows(name: str, column: NumericColumn) -> bool:
    """Return whether a column numbers the rows: distinct integers, without gaps or named as ids."""
    values, n_rows = column.reals(), len(column)
    if n_rows < _MIN_ROWS_FOR_IDS or not np.array_equal(values, np.floor(values)):
        return False
    span = float(values.max()) - float(values.min()) + 1
    if span < n_rows or (span > n_rows and not _NAMED_ID.fullmatch(name)):
        return False
    return len(np.unique(column.values)) == n_rows


def _infer_dates(
    schema: ColumnSchema, times: NDArray[np.datetime64], date_format: str
) -> ColumnSchema:
    present = times[~np.isnat(times)]
    values = {part: convert(present) for part, convert in _PARTS.items()}
    parts = tuple(part for part, numbers in values.items() if numbers.min() < numbers.max())
    if not parts:
        return replace(schema, kind="constant", note="the same in every row")
    read = f"read as {_describe_format(date_format)}" if date_format != _ISO else ""
    note = ", ".join(filter(None, [read, schema.note]))
    return replace(schema, kind="date", parts=parts, date_format=date_format, note=note)


def _find_date_format(strings: Sequence[str], counts: NDArray[Any]) -> str:
    """Return the format in which most cells are dates, or an empty string."""
    best, n_best = "", MOSTLY * counts.sum()
    for date_format in (_ISO, *_FORMATS):
        is_date = ~np.isnat(_parse_dates(strings[:50], date_format))
        if is_date.mean() < MOSTLY / 2:
            continue
        n_dates = counts[~np.isnat(_parse_dates(strings, date_format))].sum()
        # Day and month of 3/4 may be swapped: a later format must read more cells.
        if n_dates >= n_best and (not best or n_dates > n_best):
            best, n_best = date_format, n_dates
    return best


def _describe_format(date_format: str) -> str:
    """Return a date format for people: day.month.year."""
    units = {"d": "day", "m": "month", "b": "month", "B": "month", "y": "year", "Y": "year"}
    day = re.sub(" %[HI].*", "", date_format)
    return re.sub("%(.)", lambda match: units[match[1]], day)


def _parse_dates(strings: Iterable[str], date_format: str) -> NDArray[np.datetime64]:
    """Return strings as dates, NaT for those that are not."""

    def parse(string: str) -> Any:
        if date_format != _ISO:
            return datetime.strptime(string, date_format)
        if string[4:5] != "-":
            return None
        return datetime.fromisoformat(f"{string}-01" if len(string) == 7 else string)

    times: list[Any] = []
    for string in strings:
        try:
            times.append(to_utc(parse(string)))
        except (ValueError, OverflowError):
            times.append(None)
    return np.array(times, dtype="datetime64[s]")


def _count_missing(column: RawColumn) -> int:
    if isinstance(column, HighCardinalityColumn):
        return column.n_missing
    if isinstance(column, CategoricalColumn):
        return int((column.codes == column.missing_code).sum())
    # A missing value, NaN or NaT, differs from itself.
    return int((column.values != column.values).sum())


def _count_distinct(column: RawColumn) -> int:
    if isinstance(column, HighCardinalityColumn):
        return column.n_rows - column.n_missing
    if isinstance(column, CategoricalColumn):
        return len(column.categories)
    values, lower_bound = column.values, 0
    if len(values) > _COUNTED_ROWS and np.nanmin(values) < np.nanmax(values):
        # In a sorted file the first rows may all be the same.
        values, lower_bound = values[:_COUNTED_ROWS], 2
    return max(lower_bound, len(np.unique(values[values == values])))


# Values


def _features(schema: ColumnSchema, raw: RawColumn) -> list[Column]:
    if isinstance(raw, HighCardinalityColumn):
        problem = f"has too many distinct values such as {raw.examples[0]!r}"
        raise ValueError(f"column {schema.name!r} {problem}: it was a {schema.kind} in training")
    if schema.kind == "number":
        return [_as_numeric(schema, raw)]
    if schema.kind == "category":
        return [_categories_as_trained(raw, schema).recode(schema.categories)]
    times = _as_dates(schema, raw)
    missing = np.isnat(times)
    features: list[Column] = []
    for part in schema.parts:
        values = _PARTS[part](np.where(missing, np.datetime64(0, "s"), times))
        if part != "days":
            values = values.astype(np.float32 if missing.any() else np.int16)
        if missing.any():
            values[missing] = np.nan
        features.append(NumericColumn(values))
    return features


def _as_numeric(schema: ColumnSchema, raw: RawColumn) -> NumericColumn:
    if isinstance(raw, NumericColumn):
        return raw
    if not isinstance(raw, CategoricalColumn):
        raise ValueError(f"column {schema.name!r} holds dates, where training had numbers")
    strings = [str(string) for string in raw.categories]
    numbers: list[float | None] = [parse_number(string) for string in strings]
    if {string.lower() for string in strings} <= {*BOOLEANS}:
        numbers = [float(BOOLEANS.index(string.lower())) for string in strings]
    if not schema.lenient and None in numbers:
        odd = raw.categories[numbers.index(None)]
        raise ValueError(f"column {schema.name!r} holds {odd!r}, where training had numbers")
    return NumericColumn(np.array([*numbers, None], dtype=float)[raw.codes])


def _categories_as_trained(raw: RawColumn, schema: ColumnSchema) -> CategoricalColumn:
    """Return a column of categories; booleans have the names that training had for them.

    They are 0 and 1 in frames and Arrow files, and words in text.
    """
    column = _as_categorical(raw, schema.name)
    names = sorted(schema.categories[:3], key=str.lower)
    if tuple(map(str.lower, names)) != BOOLEANS:
        return column
    name_of = dict(zip(("0", "1", *BOOLEANS), names * 2, strict=True))
    values = [str(category) for category in column.categories]
    return recode(column.codes, [name_of.get(value.lower(), value) for value in values])


def _as_categorical(raw: RawColumn, name: str) -> CategoricalColumn:
    """Return a column of strings, or of numbers as strings, with sorted categories."""
    if isinstance(raw, CategoricalColumn):
        return raw
    if not isinstance(raw, NumericColumn):
        raise ValueError(f"column {name!r} must hold strings or numbers")
    return strings_of_numbers(raw.reals())


def _as_strings(raw: RawColumn, name: str) -> NDArray[Any]:
    """Return the values of a column as strings, "" where one is missing."""
    column = _as_categorical(raw, name)
    return np.array([*column.categories, ""], dtype=object)[column.codes]


def _as_dates(schema: ColumnSchema, raw: RawColumn) -> NDArray[np.datetime64]:
    if isinstance(raw, DateColumn):
        return raw.values
    if isinstance(raw, NumericColumn) and np.isnan(raw.reals()).all():
        return np.full(len(raw), "NaT", dtype="datetime64[s]")
    if isinstance(raw, CategoricalColumn):
        times = _parse_dates([str(string) for string in raw.categories], schema.date_format)
        if schema.lenient or not np.isnat(times).any():
            return np.append(times, np.datetime64("NaT"))[raw.codes]
    date_format = schema.date_format
    text = date_format if date_format == _ISO else _describe_format(date_format)
    raise ValueError(f"column {schema.name!r} holds values that are not dates ({text})")


# Targets and weights


def _class_codes(name: str, raw: RawColumn) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the class of each row as an index, -1 if missing, and the sorted classes.

    Classes are integers if all values are, otherwise strings.
    """
    column = _as_categorical(raw, name)
    values: list[Any] = list(column.categories)
    if isinstance(raw, NumericColumn) and all(string.lstrip("-").isdigit() for string in values):
        values = [int(string) for string in values]
    classes, indices = np.unique(np.array(values), return_inverse=True)
    dtype = np.min_scalar_type(-len(values) - 1)
    return np.array([*indices, -1], dtype=dtype)[column.codes], classes


def _check_classes(name: str, raw: RawColumn) -> None:
    """Raise if a target does not look like classes."""
    n_distinct = _count_distinct(raw)
    if isinstance(raw, NumericColumn):
        values = raw.reals()
        are_integers = np.array_equal(values, np.floor(values), equal_nan=True)
        if n_distinct > (_MAX_CLASSES if are_integers else _MAX_CLASSES / 10):
            problem = (
                f"holds {n_distinct:,} distinct numbers, and edgewise does not do regression: bin "
                "the target, or pass query= to rank"
            )
            raise ArgumentError("target", name, problem)
    elif (
        isinstance(raw, (HighCardinalityColumn, DateColumn))
        or n_distinct > len(raw) / 2 > _MIN_ROWS_FOR_IDS
    ):
        problem = f"holds {n_distinct:,} distinct values: too many for classes"
        raise ArgumentError("target", name, problem)


def _labels(name: str, raw: RawColumn) -> Reals:
    """Return 0/1 labels; NaN where one is missing."""
    column = _as_categorical(raw, name)
    labels = [_TRUTH.get(str(string).lower()) for string in column.categories]
    if None in labels:
        odd = column.categories[labels.index(None)]
        raise ArgumentError("target", name, f"must hold 0 and 1 (or no and yes), got {odd!r}")
    return np.array([*labels, None], dtype=float)[column.codes]


def _grades(name: str, raw: RawColumn, role: str = "target") -> Reals:
    try:
        return _as_numeric(ColumnSchema(name, "number", 0, 0), raw).reals()
    except ValueError:
        odd = f", got {raw.categories[0]!r}" if isinstance(raw, CategoricalColumn) else ""
        raise ArgumentError(role, name, f"must hold numbers{odd}") from None


def _weights(name: str, raw: RawColumn) -> Reals:
    weights = _grades(name, raw, "weight")
    invalid = ~(weights >= 0) | np.isinf(weights)
    if invalid.any():
        row = int(invalid.argmax())
        problem = f"must hold numbers of at least 0, got {weights[row]:g} in row {row + 1}"
        raise ArgumentError("weight", name, problem)
    if not weights.any():
        raise ArgumentError("weight", name, "is 0 in every row")
    return weights
