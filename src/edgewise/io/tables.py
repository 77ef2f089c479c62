"""Files of tables as columns, read in chunks: CSV, TSV, Parquet, Arrow and ARFF.

A column of a text file is numeric if all its cells are numbers, and categorical otherwise. Beyond
:data:`MAX_CATEGORIES` distinct strings it holds ISO 8601 dates, or numbers among which other cells
are missing, or too many distinct strings to keep. Each string is kept once, so a file needs little
more memory than its numbers.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from edgewise.common.files import PathLike, open_input
from edgewise.common.ids import factorize_list, is_missing
from edgewise.common.lazy import import_optional
from edgewise.data.columns import (
    CategoricalColumn,
    NumericColumn,
    SparseColumn,
    column_from_series,
    recode,
)
from edgewise.data.table import as_table, is_frame
from edgewise.io.arff import parse_arff
from edgewise.io.text import NA_VALUES, NUMBER, DelimitedText, parse_number, with_decimal_point

SEPARATED: Final = (".csv", ".tsv", ".tab")
ARROW: Final = (".parquet", ".feather", ".arrow")
SUFFIXES: Final = (*SEPARATED, *ARROW, ".arff")
"""Endings of table files; text files may add .gz."""

MAX_CATEGORIES: Final = 100_000
"""The number of distinct strings of a column beyond which they are not kept."""

MOSTLY: Final = 0.9
"""The fraction of numbers from which the other cells of a column count as missing."""

_N_EXAMPLES: Final = 1000
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?")


@dataclass(frozen=True, eq=False)
class DateColumn:
    """Dates and times, to the second; NaT marks a missing value."""

    values: NDArray[np.datetime64]

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class HighCardinalityColumn:
    """A column of too many distinct strings to keep: some of them, and counts."""

    examples: tuple[str, ...]
    n_rows: int
    n_missing: int

    def __len__(self) -> int:
        return self.n_rows


RawColumn = NumericColumn | CategoricalColumn | DateColumn | HighCardinalityColumn


@dataclass(frozen=True, eq=False)
class RawTable:
    """The columns of a file or a data frame, before a schema is applied."""

    columns: dict[str, RawColumn]
    n_rows: int
    declared: frozenset[str] = frozenset()
    """Columns that a data frame declares categorical."""

    def __len__(self) -> int:
        return self.n_rows


def table_kind(path: PathLike) -> str | None:
    """Return the ending of a table file's name, without .gz; None if it is not a table."""
    name = Path(path).name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix not in SUFFIXES or (name.endswith(".gz") and suffix in ARROW):
        return None
    return suffix


def check_kind(path: PathLike) -> str:
    """Return the ending of a table file's name, or raise."""
    kind = table_kind(path)
    if kind is None:
        listed = ", ".join(SUFFIXES)
        raise ValueError(
            f"path must end in {listed} (.csv, .tsv and .arff may be gzipped), got {str(path)!r}"
        )
    return kind


def read_columns(path: PathLike, words: Collection[str] = ()) -> RawTable:
    r"""Read a table into columns of numbers, dates and strings; see :class:`Schema` for their use.

    Empty cells, ``?``, ``NA``, ``N/A``, ``#N/A``, ``NaN``, ``nan``, ``NULL``, ``null`` and ``None``
    are missing values. The separator of a .csv file is detected; between semicolons, numbers may
    have a decimal comma.

    Parameters
    ----------
    path : str or path-like
        A file whose name ends in .csv, .tsv, .tab or .arff, plain or gzipped, or in .parquet,
        .feather or .arrow.
    words : collection of str, default ()
        Columns to read as strings even where all of them are numbers, such as 007.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgewise.io import read_columns
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age,city\n31,Rome\n?,Oslo\n")
    >>> table = read_columns(path)
    >>> table.columns["age"].values, table.columns["city"].categories
    (array([31., nan], dtype=float32), ('Oslo', 'Rome'))
    """
    return read_raw_table(path, check_kind(path), words)


def read_raw_table(
    path: PathLike, kind: str, words: Collection[str] = (), keep_all: bool = False
) -> RawTable:
    """Read a table of a kind; with `keep_all`, all strings of all columns."""
    if kind in SEPARATED:
        file = DelimitedText.open(path, None if kind == ".csv" else "\t")
        check_names(path, file.names)
        columns = read_delimited(file, file.names, words, keep_all=keep_all)
    elif kind == ".arff":
        columns = _read_arff(path, words)
    else:
        table = read_arrow_table(path, kind)
        columns = {
            name: _from_arrow(path, name, table[name], name in words) for name in table.column_names
        }
    n_rows = len(next(iter(columns.values())))
    if not n_rows:
        raise ValueError(f"{path} is empty: it has column names and no rows")
    return RawTable(columns, n_rows)


def raw_table(X: Any) -> RawTable:
    """Return a data frame or an array as columns; a RawTable is returned as it is."""
    if isinstance(X, RawTable):
        return X
    if not is_frame(X):
        table = as_table(X, "value")
        columns = {name: _dense(column) for name, column in table.named_columns()}
        return RawTable({**columns}, table.n_rows)
    import narwhals.stable.v1 as nw

    frame = nw.from_native(X, eager_only=True)
    check_names("X", [str(name) for name in frame.columns])
    raw = {str(name): _from_series(frame.get_column(name), nw) for name in frame.columns}
    kinds = (nw.Categorical, nw.Enum)
    declared = frozenset(str(name) for name, kind in frame.schema.items() if kind in kinds)
    return RawTable(raw, len(frame), declared)


def _from_series(series: Any, nw: Any) -> RawColumn:
    """Return a column of a data frame, in which strings such as NA are missing values."""
    if series.dtype in (nw.Datetime, nw.Date):
        if getattr(series.dtype, "time_zone", None) is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        times = series.cast(nw.Datetime("us")).to_numpy()
        return DateColumn(np.asarray(times, dtype="datetime64[s]"))
    dates = date_column(series.to_list()) if series.dtype == nw.Object else None
    if dates is not None:
        return dates
    column = _dense(column_from_series(series, str(series.name)))
    if isinstance(column, NumericColumn):
        return column
    return recode(column.codes, [_strip(str(name), NA_VALUES) for name in column.categories])


def _dense(column: Any) -> NumericColumn | CategoricalColumn:
    return NumericColumn(column.reals()) if isinstance(column, SparseColumn) else column


def date_column(values: Sequence[Any]) -> DateColumn | None:
    """Return dates of Python or NumPy as a column, in UTC; None if any value is not a date."""
    present = [value for value in values if not is_missing(value)]
    if not present or not all(isinstance(value, (date, np.datetime64)) for value in present):
        return None
    times = [None if is_missing(value) else to_utc(value) for value in values]
    return DateColumn(np.array(times, dtype="datetime64[s]"))


def to_utc(time: Any) -> Any:
    """Return a time in UTC, without its time zone."""
    is_aware = getattr(time, "tzinfo", None) is not None
    return time.astimezone(UTC).replace(tzinfo=None) if is_aware else time


def check_names(owner: object, names: Sequence[str]) -> None:
    """Raise unless there are column names, all different."""
    if not names:
        raise ValueError(f"{owner} is empty: it has no column names")
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise ValueError(f"{owner} has several columns of the same name: {repeated[0]!r}")


# Text files


def read_delimited(
    file: DelimitedText,
    columns: Sequence[str],
    words: Collection[str] = (),
    *,
    keep_all: bool = False,
    na_values: Collection[str] = NA_VALUES,
) -> dict[str, RawColumn]:
    """Read some columns of a text file.

    Columns in `words` are strings, whose missing values are `na_values`; with `keep_all`, no other
    column becomes a :class:`HighCardinalityColumn` either.
    """
    indices = [list(file.names).index(name) for name in columns]

    def make_builder(name: str, kind: str) -> _ColumnBuilder:
        if name in words:
            return _ColumnBuilder(name, "strings", keep_all=True, na_values=na_values)
        return _ColumnBuilder(name, kind, keep_all=keep_all, decimal_comma=file.decimal_comma)

    return _build_columns(columns, lambda: file.chunks(indices), make_builder)


def _build_columns(
    names: Sequence[str],
    read_chunks: Callable[[], Iterable[Sequence[Any]]],
    make_builder: "Callable[[str, str], _ColumnBuilder]",
) -> dict[str, RawColumn]:
    """Return columns, given their cells in chunks, which are read again if a column's kind changes.

    The first rows do not show the kind of every column.
    """
    kinds = dict.fromkeys(names, "")
    while True:
        builders = [make_builder(name, kind) for name, kind in kinds.items()]
        try:
            for chunk in read_chunks():
                for builder, cells in zip(builders, chunk, strict=True):
                    builder.add(cells)
            return {builder.name: builder.finish() for builder in builders}
        except _WrongKindError as error:
            kinds[error.name] = error.kind


class _WrongKindError(Exception):
    """A column must be read again, as another kind."""

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(name, kind)
        self.name, self.kind = name, kind


class _ColumnBuilder:
    """A column that grows chunk by chunk; cells are a sequence of str or None, or an Arrow array.

    `kind` is "numbers", "strings", "dates", "mostly numbers" or "many strings"; an empty kind is
    detected: numbers or else strings.
    """

    def __init__(
        self,
        name: str,
        kind: str = "",
        *,
        keep_all: bool = False,
        na_values: Collection[str] = NA_VALUES,
        decimal_comma: bool = False,
    ) -> None:
        self.name, self.kind = name, kind
        self.keep_all, self.na_values, self.decimal_comma = keep_all, na_values, decimal_comma
        self.chunks: list[NDArray[Any]] = []
        """Numbers, dates or codes of strings."""
        self.code_of: dict[str, int] = {}
        self.n_rows = self.n_missing = 0

    def add(self, cells: Any) -> None:
        """Add the cells of a chunk."""
        if self.kind in ("", "numbers"):
            numbers = self._parse_numbers(cells)
            if numbers is not None:
                self.chunks.append(_compact(numbers))
                if not np.isnan(numbers).all():
                    self.kind = "numbers"
                return
            if self.chunks:
                raise _WrongKindError(self.name, "strings")
            self.kind = "strings"
        strings, codes = _encode_cells(cells, self.na_values)
        if self.decimal_comma:
            strings = [string and with_decimal_point(string) for string in strings]
        if self.kind == "strings":
            self._add_strings(strings, codes)
        elif self.kind == "dates":
            try:
                times = np.array([string or "NaT" for string in strings], dtype="datetime64[s]")
            except ValueError:
                raise _WrongKindError(self.name, "many strings") from None
            self.chunks.append(times[codes])
        elif self.kind == "mostly numbers":
            parsed = [None if string is None else parse_number(string) for string in strings]
            self.chunks.append(np.array(parsed, dtype=float)[codes])
        else:
            self.n_rows += len(codes)
            self.n_missing += int(np.array([string is None for string in strings])[codes].sum())
            if not self.code_of:
                examples = [string for string in strings[:_N_EXAMPLES] if string is not None]
                self.code_of = dict.fromkeys(examples, 0)

    def finish(self) -> RawColumn:
        """Return the column."""
        if self.kind == "many strings":
            return HighCardinalityColumn(tuple(self.code_of), self.n_rows, self.n_missing)
        values: NDArray[Any] = np.concatenate(self.chunks) if self.chunks else np.empty(0)
        self.chunks.clear()
        if self.kind == "strings" and len(values):
            return recode(values, list(self.code_of))
        return DateColumn(values) if self.kind == "dates" else NumericColumn(values)

    def _parse_numbers(self, cells: Any) -> NDArray[np.float64] | None:
        """Return the numbers of cells, or None if any is not a number."""
        if not isinstance(cells, (list, tuple)):
            return _parse_arrow_numbers(cells, self.na_values, self.decimal_comma)
        strings, codes = _encode_cells(cells, self.na_values)
        if self.decimal_comma:
            strings = [string and string.replace(",", ".") for string in strings]
        if not all(string is None or NUMBER.fullmatch(string) for string in strings):
            return None
        return np.array(strings, dtype=float)[codes]

    def _add_strings(self, strings: Sequence[str | None], codes: NDArray[np.intp]) -> None:
        table = [
            -1 if string is None else self.code_of.setdefault(string, len(self.code_of))
            for string in strings
        ]
        self.chunks.append(np.array(table, dtype=np.int32)[codes])
        if len(self.code_of) <= MAX_CATEGORIES or self.keep_all:
            return
        if all(map(_ISO.fullmatch, self.code_of)):
            raise _WrongKindError(self.name, "dates")
        n_numbers = sum(parse_number(string) is not None for string in self.code_of)
        is_mostly = n_numbers >= MOSTLY * len(self.code_of)
        raise _WrongKindError(self.name, "mostly numbers" if is_mostly else "many strings")


def _strip(string: str, na_values: Collection[str]) -> str | None:
    stripped = string.strip()
    return None if stripped in na_values else stripped


def _encode_cells(
    cells: Any, na_values: Collection[str]
) -> tuple[list[str | None], NDArray[np.intp]]:
    """Return distinct strings, None for missing values, and the index of the string of each cell.

    White space around strings is dropped.
    """
    if isinstance(cells, (list, tuple)):
        strings, codes = factorize_list(cells)
    else:
        encoded = cells.dictionary_encode()
        strings = [*encoded.dictionary.to_pylist(), None]
        codes = encoded.indices.fill_null(len(strings) - 1).to_numpy(zero_copy_only=False)
    return [None if string is None else _strip(string, na_values) for string in strings], codes


def _parse_arrow_numbers(
    cells: Any, na_values: Collection[str], decimal_comma: bool
) -> NDArray[np.float64] | None:
    """Return the numbers of an Arrow array of strings, or None if any is not a number."""
    arrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    trimmed = compute.utf8_trim_whitespace(cells)
    is_na = compute.is_in(trimmed, value_set=arrow.array(sorted(na_values)))
    trimmed = compute.if_else(is_na, arrow.scalar(None, arrow.string()), trimmed)
    if decimal_comma:
        trimmed = compute.replace_substring(trimmed, ",", ".")
    try:
        return np.asarray(trimmed.cast(arrow.float64()).to_numpy(zero_copy_only=False))
    except arrow.ArrowInvalid:
        return None


def _compact(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Return numbers in half the bytes where that loses nothing."""
    with np.errstate(over="ignore", invalid="ignore"):
        for dtype in (np.int32, np.float32):
            small = numbers.astype(dtype)
            if np.array_equal(small, numbers, equal_nan=True):
                return small
    return numbers


def _from_chunks(name: str, chunks: Sequence[Any], as_strings: bool) -> RawColumn:
    def make_builder(name: str, kind: str) -> _ColumnBuilder:
        return _ColumnBuilder(name, "strings" if as_strings else kind, keep_all=as_strings)

    return _build_columns([name], lambda: ([cells] for cells in chunks), make_builder)[name]


# Other files


def read_arrow_table(path: PathLike, kind: str) -> Any:
    """Return a Parquet, Feather or Arrow file as a table of pyarrow."""
    for module in ("pyarrow.parquet", "pyarrow.feather", "pyarrow"):
        arrow = import_optional(module, f"{kind} files need pyarrow", "frames")
    with Path(path).open("rb") as stream:
        try:
            if kind == ".parquet":
                table = arrow.parquet.ParquetFile(stream).read()
            elif kind == ".arrow" and stream.peek(6)[:6] != b"ARROW1":
                table = arrow.ipc.open_stream(stream).read_all()
            else:
                table = arrow.feather.read_table(stream)
            # Arrow trusts the offsets of strings in a file: damaged ones would read and write
            # beyond its memory.
            table.validate(full=True)
        except Exception as error:
            name = "Parquet" if kind == ".parquet" else "Arrow"
            raise ValueError(f"{path} is not a readable {name} file: {error}") from error
    # An unnamed index of pandas only numbers the rows.
    names = [name for name in table.column_names if not name.startswith("__index_level_")]
    check_names(path, names)
    return table.select(names)


def _from_arrow(path: PathLike, name: str, column: Any, as_strings: bool) -> RawColumn:
    arrow = import_module("pyarrow")
    types = arrow.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_boolean(column.type):
        column = column.cast(arrow.int8())
    kind = column.type
    if types.is_date(kind) or types.is_timestamp(kind):
        times = column.cast(arrow.timestamp("s"), safe=False).to_numpy()
        return DateColumn(np.asarray(times, dtype="datetime64[s]"))
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if is_number and not as_strings:
        are_integers = types.is_integer(kind) and not column.null_count
        values = column if are_integers else column.cast(arrow.float64(), safe=False)
        return NumericColumn(np.asarray(values.to_numpy()))
    if types.is_null(kind):
        return NumericColumn(np.full(len(column), np.nan))
    try:
        strings = column.cast(arrow.string())
    except arrow.ArrowException:
        raise ValueError(
            f"{path} has the column {name!r} of type {kind}: columns must hold numbers, strings or "
            "dates"
        ) from None
    return _from_chunks(name, strings.chunks, as_strings)


def _read_arff(path: PathLike, words: Collection[str]) -> dict[str, RawColumn]:
    with open_input(path) as stream:
        content = stream.read()
    try:
        data = parse_arff(content)
    except ValueError as error:
        raise ValueError(f"{path} is not a readable ARFF file: {error}") from error
    check_names(path, data.names)
    columns: dict[str, RawColumn] = {}
    for j, (name, kind) in enumerate(zip(data.names, data.kinds, strict=True)):
        cells = data.column(j)
        if kind == "numeric" and name not in words:
            columns[name] = NumericColumn(_compact(np.array(cells, dtype=float)))
            continue
        if kind == "numeric":
            cells = [None if cell is None else f"{cell:g}" for cell in cells]
        # The values of a nominal attribute are categories even where they are numbers.
        columns[name] = _from_chunks(name, [cells], name in words or kind != "string")
    return columns
