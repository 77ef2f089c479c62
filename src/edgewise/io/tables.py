"""Files of tables as columns, read some rows at a time: CSV, TSV, Parquet, Arrow and ARFF.

Cells of text files are read as text. A column is numeric if all its cells are numbers, a column of
dates if they are ISO 8601 and hardly any repeats, and categorical otherwise; each string is kept
once, so a file needs little more memory than the numbers in it.
"""

import ctypes
import re
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import CATEGORY_CODE
from edgewise.common.files import PathLike, open_input
from edgewise.common.ids import is_missing
from edgewise.common.lazy import import_optional
from edgewise.data.columns import (
    CategoricalColumn,
    NumericColumn,
    SparseColumn,
    column_from_series,
)
from edgewise.data.table import as_table, is_frame
from edgewise.io import text
from edgewise.io.arff import parse_arff
from edgewise.io.text import NA_VALUES, DelimitedText, parse_number, with_decimal_point

SEPARATED: Final = (".csv", ".tsv", ".tab")
ARROW: Final = (".parquet", ".feather", ".arrow")
SUFFIXES: Final = (*SEPARATED, *ARROW, ".arff")
"""Endings of table files; text files may add .gz."""

MAX_CATEGORIES: Final = 100_000
"""The number of distinct strings of a column beyond which they are not kept."""

# Files of more chunks than this leave memory behind that is worth giving back.
_MANY_CHUNKS: Final = 25
# The fraction of numbers from which a column with too many distinct strings is numeric.
_MOSTLY: Final = 0.9
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


def check_kind(path: PathLike) -> str:
    """Return the ending of a table file's name, or raise."""
    kind = table_kind(path)
    if kind is None:
        listed = ", ".join(SUFFIXES)
        raise ValueError(
            f"path must end in {listed} (.csv, .tsv and .arff may be gzipped), got {str(path)!r}"
        )
    return kind


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
        columns = _read_arrow(path, kind, words)
    table = RawTable(columns, len(next(iter(columns.values()))))
    if not table.n_rows:
        raise ValueError(f"{path} is empty: it has column names and no rows")
    return table


def raw_table(X: Any) -> RawTable:
    """Return a data frame or array as columns; one that was read from a file stays as it is."""
    if isinstance(X, RawTable):
        return X
    if not is_frame(X):
        table = as_table(X, "value")
        columns: dict[str, RawColumn] = {
            table.name(j): _dense(column) for j, column in enumerate(table.columns())
        }
        return RawTable(columns, table.n_rows)
    import narwhals.stable.v1 as nw

    frame = nw.from_native(X, eager_only=True)
    check_names("X", [str(name) for name in frame.columns])
    raw: dict[str, RawColumn] = {}
    for name in frame.columns:
        series = frame.get_column(name)
        if series.dtype in (nw.Datetime, nw.Date):
            if getattr(series.dtype, "time_zone", None) is not None:
                series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
            column: RawColumn | None = DateColumn(
                _to_seconds(series.cast(nw.Datetime("us")).to_numpy())
            )
        else:
            column = date_column(series.to_list()) if series.dtype == nw.Object else None
        if column is None:
            column = _without_na_values(_dense(column_from_series(series, str(name))))
        raw[str(name)] = column
    kinds = (nw.Categorical, nw.Enum)
    declared = frozenset(str(name) for name, kind in frame.schema.items() if kind in kinds)
    return RawTable(raw, len(frame), declared)


def date_column(values: Sequence[Any]) -> DateColumn | None:
    """Return dates of Python or NumPy as a column, in UTC; None if any value is not a date."""
    present = [value for value in values if not is_missing(value)]
    if not present or not all(isinstance(value, (date, np.datetime64)) for value in present):
        return None
    times = [None if is_missing(value) else to_utc(value) for value in values]
    return DateColumn(np.array(times, dtype="datetime64[s]"))


def to_utc(time: Any) -> Any:
    """Return a time in UTC, without its time zone."""
    aware = getattr(time, "tzinfo", None) is not None
    return time.astimezone(UTC).replace(tzinfo=None) if aware else time


def check_names(owner: object, names: Sequence[str]) -> None:
    """Raise if there are no names of columns, or two are the same."""
    if not names:
        raise ValueError(f"{owner} is empty: it has no column names")
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise ValueError(f"{owner} has several columns of the same name: {repeated[0]!r}")


def _dense(column: Any) -> NumericColumn | CategoricalColumn:
    return NumericColumn(column.reals()) if isinstance(column, SparseColumn) else column


def _without_na_values(
    column: NumericColumn | CategoricalColumn,
) -> NumericColumn | CategoricalColumn:
    """Return a column in which strings such as NA are missing values."""
    if isinstance(column, NumericColumn):
        return column
    strings = [str(string).strip() for string in column.categories]
    kept = tuple(sorted({string for string in strings if string not in NA_VALUES}))
    code_of = {string: code for code, string in enumerate(kept)}
    codes = [code_of.get(string, len(kept)) for string in strings]
    table = np.array([*codes, len(kept)], dtype=CATEGORY_CODE)
    return CategoricalColumn(table[column.codes], kept)


def _to_seconds(values: Any) -> NDArray[np.datetime64]:
    return np.asarray(values, dtype="datetime64[s]")


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
    n_chunks = Path(file.path).stat().st_size / text._CHUNK_BYTES
    make = partial(_ColumnBuilder, decimal_comma=file.decimal_comma, keep_all=keep_all)
    modes = dict[str, str]()
    while True:
        builders = [
            make(name, as_words=True, na_values=na_values)
            if name in words
            else make(name, modes.get(name, ""))
            for name in columns
        ]
        try:
            for chunk in file.chunks(indices):
                for builder, cells in zip(builders, chunk, strict=True):
                    if not builder.expected and not isinstance(cells, tuple):
                        builder.expected = int(1.05 * n_chunks * len(cells))
                    builder.add(cells)
        except _WrongModeError as wrong:
            # The first rows did not show all of the column: read the file again.
            modes[wrong.name] = wrong.mode
            continue
        built = {builder.name: builder.finish() for builder in builders}
        if n_chunks > _MANY_CHUNKS:
            _release_memory()
        return built


def _release_memory() -> None:
    """Give freed memory back to the system, which the C library would keep (glibc)."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


class _WrongModeError(Exception):
    """A column must be read in another mode from the start."""

    def __init__(self, name: str, mode: str) -> None:
        super().__init__(name, mode)
        self.name, self.mode = name, mode


class _ColumnBuilder:
    """A column of a text file that grows with each run of rows.

    `mode` is "numbers", "words", "dates", "mostly" (numbers; other cells are missing) or "many"
    (too many distinct strings to keep). An empty mode is detected: numbers, or else words. With
    `as_words` the column is read as strings, as they are written.
    """

    def __init__(
        self,
        name: str,
        mode: str = "",
        *,
        as_words: bool = False,
        decimal_comma: bool = False,
        keep_all: bool = False,
        na_values: Collection[str] = NA_VALUES,
    ) -> None:
        self.name, self.mode = name, "words" if as_words else mode
        self.decimal_comma = decimal_comma and not as_words
        self.keep_all, self.na_values = keep_all or as_words, na_values
        self.values: NDArray[Any] | None = None
        self.expected = 0
        """How many rows there may be; memory that is not used costs nothing."""
        self.codes: dict[str, int] = {}
        self.n_rows = self.n_missing = self.n_kept = 0

    def add(self, cells: Any) -> None:
        """Add the cells of a run of rows."""
        cells = _trim(cells, self.na_values)
        self.n_rows += len(cells)
        if self.mode in ("", "numbers"):
            numbers = self._parse_numbers(cells)
            if numbers is not None:
                # A run of missing values decides nothing.
                self.mode = self.mode or ("" if np.isnan(numbers).all() else "numbers")
                self._append(_compact(numbers))
                return
            if self.n_kept:
                raise _WrongModeError(self.name, "words")
            self.mode = "words"
        if self.mode == "words":
            self._add_words(cells)
            return
        listed = cells if isinstance(cells, list) else cells.to_pylist()
        if self.mode == "dates":
            try:
                self._append(np.array([cell or "NaT" for cell in listed], dtype="datetime64[s]"))
            except ValueError:
                raise _WrongModeError(self.name, "many") from None
        elif self.mode == "mostly":
            parsed = [
                None if cell is None else parse_number(self._to_decimal_point(cell))
                for cell in listed
            ]
            self._append(np.array([np.nan if number is None else number for number in parsed]))
        else:
            self.n_missing += listed.count(None)
            if not self.codes:
                self.codes = {cell: 0 for cell in listed[:1000] if cell is not None}

    def finish(self) -> RawColumn:
        """Return the column."""
        if self.mode == "many":
            return HighCardinalityColumn(tuple(self.codes), self.n_rows, self.n_missing)
        if self.values is None:
            return NumericColumn(np.empty(0))  # of a file without rows
        values = self.values[: self.n_kept]
        if self.mode == "dates":
            return DateColumn(values)
        if self.mode != "words":
            return NumericColumn(values)
        categories = sorted(self.codes)
        table = np.empty(len(categories) + 1, dtype=CATEGORY_CODE)
        for code, string in enumerate(categories):
            table[self.codes[string]] = code
        table[-1] = len(categories)
        return CategoricalColumn(table[values], tuple(categories))

    def _append(self, run: NDArray[Any]) -> None:
        """Add values to one array: many small ones would fragment the memory."""
        size = self.n_kept + len(run)
        dtype = run.dtype if self.values is None else np.promote_types(self.values.dtype, run.dtype)
        if self.values is None or size > len(self.values) or dtype != self.values.dtype:
            grown = np.empty(max(size, 2 * self.n_kept, self.expected), dtype=dtype)
            if self.values is not None:
                grown[: self.n_kept] = self.values[: self.n_kept]
            self.values = grown
        self.values[self.n_kept : size] = run
        self.n_kept = size

    def _to_decimal_point(self, word: str) -> str:
        return with_decimal_point(word) if self.decimal_comma else word

    def _parse_numbers(self, cells: Any) -> NDArray[np.float64] | None:
        """Return the numbers of cells, or None if any is not a number."""
        if isinstance(cells, list):
            if self.decimal_comma:
                cells = [None if cell is None else cell.replace(",", ".") for cell in cells]
            strings = {cell for cell in cells if cell is not None}
            if not all(map(text._NUMBER.fullmatch, strings)):
                return None
            return np.array([np.nan if cell is None else float(cell) for cell in cells])
        arrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
        if self.decimal_comma:
            cells = compute.replace_substring(cells, ",", ".")
        try:
            return np.asarray(cells.cast(arrow.float64()).to_numpy(zero_copy_only=False))
        except arrow.ArrowInvalid:
            return None

    def _add_words(self, cells: Any) -> None:
        if isinstance(cells, list):
            strings = list(dict.fromkeys(cell for cell in cells if cell is not None))
            code_of = {string: code for code, string in enumerate(strings)}
            run = (-1 if cell is None else code_of[cell] for cell in cells)
            codes = np.fromiter(run, np.intp, len(cells))
        else:
            encoded = cells.dictionary_encode()
            strings = encoded.dictionary.to_pylist()
            codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        table = [
            self.codes.setdefault(self._to_decimal_point(string), len(self.codes))
            for string in strings
        ]
        # The last entry is for missing values, whose code is -1.
        self._append(np.array([*table, -1], dtype=np.int32)[codes])
        if len(self.codes) > MAX_CATEGORIES and not self.keep_all:
            raise _WrongModeError(self.name, self._mode_of_many())

    def _mode_of_many(self) -> str:
        if all(map(_ISO.fullmatch, self.codes)):
            return "dates"
        n_numbers = sum(parse_number(string) is not None for string in self.codes)
        return "mostly" if n_numbers >= _MOSTLY * len(self.codes) else "many"


def _trim(cells: Any, na_values: Collection[str]) -> Any:
    """Return cells without white space around them; missing ones are None, or null."""
    if isinstance(cells, (list, tuple)):
        strings = (None if cell is None else cell.strip() for cell in cells)
        return [None if string is None or string in na_values else string for string in strings]
    arrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    trimmed = compute.utf8_trim_whitespace(cells)
    missing = compute.is_in(trimmed, value_set=arrow.array(sorted(na_values)))
    return compute.if_else(missing, arrow.scalar(None, arrow.string()), trimmed)


def _compact(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Return numbers in half the bytes where that loses nothing."""
    with np.errstate(over="ignore", invalid="ignore"):
        for dtype in (np.int32, np.float32):
            small = numbers.astype(dtype)
            if np.array_equal(small, numbers, equal_nan=True):
                return small
    return numbers


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
            # Arrow takes the offsets of strings from the file as they are: a damaged one would
            # read and write beyond its memory.
            table.validate(full=True)
        except Exception as error:
            name = "Parquet" if kind == ".parquet" else "Arrow"
            raise ValueError(f"{path} is not a readable {name} file: {error}") from error
    # An index of pandas without a name only numbers the rows.
    table = table.select(
        [name for name in table.column_names if not name.startswith("__index_level_")]
    )
    check_names(path, table.column_names)
    return table


def _read_arrow(path: PathLike, kind: str, words: Collection[str]) -> dict[str, RawColumn]:
    table = read_arrow_table(path, kind)
    names = table.column_names
    return {name: _from_arrow(path, name, table[name], name in words) for name in names}


def _from_arrow(path: PathLike, name: str, column: Any, as_words: bool) -> RawColumn:
    arrow = import_module("pyarrow")
    kind, types = column.type, arrow.types
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_date(kind) or types.is_timestamp(kind):
        naive = column.cast(arrow.timestamp("s"), safe=False)
        return DateColumn(_to_seconds(naive.to_numpy()))
    if types.is_boolean(kind):
        column, kind = column.cast(arrow.int8()), arrow.int8()
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if number and not as_words:
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
    return _from_runs(name, strings.chunks, as_words)


def _from_runs(name: str, runs: Sequence[Any], as_words: bool) -> RawColumn:
    """Return the column of some runs of cells."""
    mode = ""
    while True:
        builder = _ColumnBuilder(name, mode, as_words=as_words)
        try:
            for cells in runs:
                builder.add(cells)
            return builder.finish()
        except _WrongModeError as wrong:
            mode = wrong.mode


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
            numbers = np.array([np.nan if cell is None else cell for cell in cells], dtype=float)
            columns[name] = NumericColumn(_compact(numbers))
            continue
        if kind == "numeric":
            cells = [None if cell is None else f"{cell:g}" for cell in cells]
        # The values of a nominal attribute are categories even where they are numbers.
        columns[name] = _from_runs(name, [cells], name in words or kind != "string")
    return columns
