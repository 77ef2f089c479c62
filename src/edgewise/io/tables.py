"""Files of tables as columns, read piece by piece: CSV, TSV, Parquet, Arrow and ARFF.

Cells of text files are read as text. A column is one of numbers if all its cells are, one of dates
if they are written as ISO 8601 says and hardly repeat, and otherwise one of words, of which each
is kept once: a file needs little more memory than the numbers in it.
"""

import codecs
import csv
import ctypes
import io
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import CATEGORY_CODE
from edgewise.common.files import PathLike, open_input
from edgewise.common.ids import is_missing
from edgewise.common.lazy import import_optional
from edgewise.data.columns import CategoricalColumn, NumericColumn, SparseColumn, column_from_series
from edgewise.data.table import as_table, is_frame

SEPARATED: Final = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
SUFFIXES: Final = (*SEPARATED, ".parquet", ".feather", ".arrow", ".arff")
"""Endings of table files; text files may add .gz."""

GAPS: Final = frozenset({"", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None"})
"""What stands for a missing value."""

MOST_WORDS: Final = 100_000
"""The most different words of a column to keep."""

# Bytes of text, and rows, that are read at a time.
_BLOCK: Final = 1 << 22
_ROWS: Final = 20_000
_MANY_BLOCKS: Final = 25
# The share of the words of a column that must be numbers, where too many differ to keep all.
_MOSTLY: Final = 0.9
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|Infinity)")
# An amount of money or a percentage, with or without commas between thousands.
_AMOUNT: Final = re.compile(
    r"([-+]?)[$€£]?\s?([-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s?[%$€£]?"
)
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?")

Cells = Sequence[str | None]


@dataclass(frozen=True, eq=False)
class DateColumn:
    """Dates and times, to the second; NaT marks a missing value."""

    values: NDArray[np.datetime64]

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class ManyWords:
    """Words of which too many differ to number them: some of them, and counts."""

    some: tuple[str, ...]
    n_rows: int
    n_missing: int
    values: NDArray[Any] | None = None
    """All of them, "" where one is missing; where they were asked for."""

    def __len__(self) -> int:
        return self.n_rows


Raw = NumericColumn | CategoricalColumn | DateColumn | ManyWords


@dataclass(frozen=True, eq=False)
class RawTable:
    """The columns of a file or a data frame, as they come."""

    columns: dict[str, Raw]
    n_rows: int
    declared: frozenset[str] = frozenset()
    """Columns that a data frame declares categorical."""

    def __len__(self) -> int:
        return self.n_rows


def table_kind(path: PathLike) -> str | None:
    """Return the ending of a table file's name, without .gz; None if it is no table."""
    name = Path(path).name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix not in SUFFIXES or (name.endswith(".gz") and suffix not in {*SEPARATED, ".arff"}):
        return None
    return suffix


def read_columns(path: PathLike, words: Collection[str] = ()) -> RawTable:
    r"""Read a table into columns of numbers, dates and words; see :class:`Schema` for their use.

    Parameters
    ----------
    path : str or path-like
        A file whose name ends in .csv, .tsv, .tab or .arff, plain or gzipped, or in .parquet,
        .feather or .arrow. Semicolons and tabs between the cells of a .csv file are found out.
    words : collection of str, default ()
        Columns that hold words even where all of them are numbers, such as 007.

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
    kind = table_kind(path)
    if kind is None:
        listed = ", ".join(SUFFIXES)
        raise ValueError(
            f"path must end in {listed} (.csv, .tsv and .arff may be gzipped), got {str(path)!r}"
        )
    if kind in SEPARATED:
        table = _read_separated(path, SEPARATED[kind], words)
    elif kind == ".arff":
        table = _read_arff(path, words)
    else:
        table = _read_arrow(path, kind, words)
    if not table.n_rows:
        raise ValueError(f"{path} is empty: it has column names and no rows")
    return table


def raw_table(X: Any) -> RawTable:
    """Return a data frame or array as columns; one that was read from a file stays as it is."""
    if isinstance(X, RawTable):
        return X
    if not is_frame(X):
        table = as_table(X, "value")
        columns: dict[str, Raw] = {
            table.name(j): _dense(column) for j, column in enumerate(table.columns())
        }
        return RawTable(columns, table.n_rows)
    import narwhals.stable.v1 as nw

    frame = nw.from_native(X, eager_only=True)
    check_names("X", [str(name) for name in frame.columns])
    found: dict[str, Raw] = {}
    for name in frame.columns:
        series = frame.get_column(name)
        if series.dtype in (nw.Datetime, nw.Date):
            if getattr(series.dtype, "time_zone", None) is not None:
                series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
            column: Raw | None = DateColumn(_seconds(series.cast(nw.Datetime("us")).to_numpy()))
        else:
            column = dates(series.to_list()) if series.dtype == nw.Object else None
        if column is None:
            column = _without_gaps(_dense(column_from_series(series, str(name))))
        found[str(name)] = column
    kinds = (nw.Categorical, nw.Enum)
    declared = frozenset(str(name) for name, kind in frame.schema.items() if kind in kinds)
    return RawTable(found, len(frame), declared)


def dates(values: Sequence[Any]) -> DateColumn | None:
    """Return dates of Python or NumPy as a column, in UTC; None if anything else is among them."""
    present = [value for value in values if not is_missing(value)]
    if not present or not all(isinstance(value, (date, np.datetime64)) for value in present):
        return None
    times = [None if is_missing(value) else naive(value) for value in values]
    return DateColumn(np.array(times, dtype="datetime64[s]"))


def naive(time: Any) -> Any:
    """Return a time in UTC, without its time zone."""
    aware = getattr(time, "tzinfo", None) is not None
    return time.astimezone(UTC).replace(tzinfo=None) if aware else time


def as_number(word: str) -> float | None:
    """Return the number that a word stands for: 12, 1.5e3, $1,200.50, 45%; None for others."""
    if _NUMBER.fullmatch(word):
        return float(word)
    amount = _AMOUNT.fullmatch(word)
    if amount is None or (amount[1] and amount[2][0] in "+-"):
        return None
    return float((amount[1] + amount[2]).replace(",", ""))


def check_names(owner: object, names: Sequence[str]) -> None:
    """Raise if there are no names of columns, or two are the same."""
    if not names:
        raise ValueError(f"{owner} is empty: it has no column names")
    twice = [name for name, count in sorted(Counter(names).items()) if count > 1]
    if twice:
        raise ValueError(f"{owner} has several columns of the same name: {twice[0]!r}")


def _dense(column: Any) -> NumericColumn | CategoricalColumn:
    return NumericColumn(column.reals()) if isinstance(column, SparseColumn) else column


def _without_gaps(column: NumericColumn | CategoricalColumn) -> NumericColumn | CategoricalColumn:
    """Return a column in which words such as NA are missing values."""
    if isinstance(column, NumericColumn):
        return column
    words = [str(word).strip() for word in column.categories]
    kept = tuple(sorted({word for word in words if word not in GAPS}))
    place = {word: code for code, word in enumerate(kept)}
    codes = [place.get(word, len(kept)) for word in words]
    table = np.array([*codes, len(kept)], dtype=CATEGORY_CODE)
    return CategoricalColumn(table[column.codes], kept)


def _seconds(values: Any) -> NDArray[np.datetime64]:
    return np.asarray(values, dtype="datetime64[s]")


# Text files


def _read_separated(path: PathLike, separator: str, words: Collection[str]) -> RawTable:
    names, separator = _header(path, separator)
    n_blocks = Path(path).stat().st_size / _BLOCK
    modes = dict.fromkeys(words, "words")
    while True:
        columns = [
            _Growing(name, modes.get(name, ""), separator == ";", name in words) for name in names
        ]
        try:
            for block in _blocks(path, names, separator):
                for column, cells in zip(columns, block, strict=True):
                    if not column.expected and not isinstance(cells, tuple):
                        column.expected = int(1.05 * n_blocks * len(cells))
                    column.add(cells)
        except _OtherModeError as other:
            # What the first rows showed is not all of it: read again, now knowing better.
            modes[other.name] = other.mode
            continue
        found = {column.name: column.finished() for column in columns}
        if n_blocks > _MANY_BLOCKS:
            _give_back_memory()
        return RawTable(found, len(next(iter(found.values()))))


def _give_back_memory() -> None:
    """Give freed memory back to the system, where the C library would keep it for later (glibc)."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _header(path: PathLike, separator: str) -> tuple[list[str], str]:
    """Return the names of the columns and what separates them."""
    with open_input(path) as stream:
        start = stream.read(1 << 16)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise ValueError(f"{path} is UTF-16 text; save it as UTF-8")
        if b"\0" in start:
            raise ValueError(f"{path} is not a text file")
        text = io.TextIOWrapper(io.BytesIO(start + stream.readline()), "utf-8-sig", newline="")
        try:
            line = next(iter(text), "")
            if separator == ",":
                separator = max(",;\t", key=lambda sign: (line.count(sign), sign == ","))
            names = [name.strip() for name in next(csv.reader([line], delimiter=separator), [])]
        except (UnicodeDecodeError, csv.Error) as error:
            raise _unreadable(path, error) from error
    named = [name or f"column {place}" for place, name in enumerate(names, 1)]
    check_names(path, named)
    return named, separator


def _blocks(path: PathLike, names: list[str], separator: str) -> Iterator[Sequence[Any]]:
    """Yield the cells of a run of rows at a time, by columns: Arrow's where there is Arrow."""
    try:
        arrow_csv = import_module("pyarrow.csv")
    except ImportError:
        yield from _plain_blocks(path, len(names), separator)
        return
    string = import_module("pyarrow").string()
    with open_input(path) as stream:
        try:
            batches = arrow_csv.open_csv(
                stream,
                arrow_csv.ReadOptions(block_size=_BLOCK, column_names=names, skip_rows=1),
                arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, string)),
            )
            for batch in batches:
                yield batch.columns
            import_module("pyarrow").default_memory_pool().release_unused()
        except _OtherModeError:
            raise
        except Exception as error:
            if "Empty CSV" in str(error):
                return
            raise _unreadable(path, error) from error


def _plain_blocks(path: PathLike, width: int, separator: str) -> Iterator[list[Cells]]:
    with open_input(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
        rows = csv.reader(text, delimiter=separator)
        try:
            next(rows)
            while block := [row for row in islice(rows, _ROWS) if row]:
                wrong = next((row for row in block if len(row) != width), None)
                if wrong is not None:
                    raise ValueError(f"expected {width} columns, got {len(wrong)}: {wrong}")
                yield list(zip(*block, strict=True))
        except (ValueError, csv.Error) as error:
            raise _unreadable(path, error) from error
        finally:
            text.detach()


def _unreadable(path: PathLike, error: Exception) -> ValueError:
    advice = "; save it as UTF-8" if "utf" in str(error).lower() else ""
    return ValueError(f"{path} is not a readable table: {error}{advice}")


class _OtherModeError(Exception):
    """A column must be read in another mode from the start."""

    def __init__(self, name: str, mode: str) -> None:
        super().__init__(name, mode)
        self.name, self.mode = name, mode


class _Growing:
    """A column of a text file that grows with each run of rows.

    `mode` is "numbers", "words", "dates", "mostly" (numbers; other words are missing) or "many"
    (too many words to number). An empty one is found out: numbers, or else words. Words that are
    `wanted` are kept, however many there are.
    """

    def __init__(
        self, name: str, mode: str, decimal_comma: bool = False, wanted: bool = False
    ) -> None:
        self.name, self.mode = name, mode
        self.decimal_comma, self.wanted = decimal_comma, wanted
        self.values: NDArray[Any] | None = None
        self.expected = 0
        """How many rows there may be; memory that is not used costs nothing."""
        self.place: dict[str, int] = {}
        self.n_rows = self.n_missing = self.n_kept = 0

    def add(self, cells: Any) -> None:
        """Add the cells of a run of rows."""
        cells = _trimmed(cells)
        self.n_rows += len(cells)
        if self.mode in ("", "numbers"):
            numbers = self._numbers(cells)
            if numbers is not None:
                # A run of missing values decides nothing.
                self.mode = self.mode or ("" if np.isnan(numbers).all() else "numbers")
                self._keep(_compact(numbers))
                return
            if self.n_kept:
                raise _OtherModeError(self.name, "words")
            self.mode = "words"
        if self.mode == "words":
            self._add_words(cells)
            return
        listed = cells if isinstance(cells, list) else cells.to_pylist()
        if self.mode == "dates":
            try:
                values = np.array([cell or "NaT" for cell in listed], dtype="datetime64[s]")
            except ValueError:
                raise _OtherModeError(self.name, "many") from None
            self._keep(values)
        elif self.mode == "mostly":
            found = [None if cell is None else as_number(cell) for cell in listed]
            self._keep(np.array([np.nan if x is None else x for x in found]))
        else:
            self.n_missing += listed.count(None)
            if self.wanted:
                self._keep(np.array([cell or "" for cell in listed], dtype=object))
            if not self.place:
                self.place = {cell: 0 for cell in listed[:1000] if cell is not None}

    def finished(self) -> Raw:
        """Return the column."""
        if self.mode == "many":
            kept = self.values[: self.n_kept] if self.values is not None else None
            return ManyWords(tuple(self.place), self.n_rows, self.n_missing, kept)
        if self.values is None:
            return NumericColumn(np.empty(0))  # of a file without rows
        values = self.values[: self.n_kept]
        if self.mode == "dates":
            return DateColumn(values)
        if self.mode != "words":
            return NumericColumn(values)
        categories = sorted(self.place)
        table = np.empty(len(categories) + 1, dtype=CATEGORY_CODE)
        for code, word in enumerate(categories):
            table[self.place[word]] = code
        table[-1] = len(categories)
        return CategoricalColumn(table[values], tuple(categories))

    def _keep(self, part: NDArray[Any]) -> None:
        """Add values to those kept, in one array: many small ones would leave gaps in memory."""
        size = self.n_kept + len(part)
        kind = (
            part.dtype if self.values is None else np.promote_types(self.values.dtype, part.dtype)
        )
        if self.values is None or size > len(self.values) or kind != self.values.dtype:
            grown = np.empty(max(size, 2 * self.n_kept, self.expected), dtype=kind)
            if self.values is not None:
                grown[: self.n_kept] = self.values[: self.n_kept]
            self.values = grown
        self.values[self.n_kept : size] = part
        self.n_kept = size

    def _numbers(self, cells: Any) -> NDArray[np.float64] | None:
        """Return the numbers of cells, or None if one is no number."""
        if isinstance(cells, list):
            if self.decimal_comma:
                cells = [None if cell is None else cell.replace(",", ".") for cell in cells]
            words = {cell for cell in cells if cell is not None}
            if not all(map(_NUMBER.fullmatch, words)):
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
            words = list(dict.fromkeys(cell for cell in cells if cell is not None))
            own = {word: code for code, word in enumerate(words)}
            codes = np.array([-1 if cell is None else own[cell] for cell in cells], dtype=np.intp)
        else:
            encoded = cells.dictionary_encode()
            words = encoded.dictionary.to_pylist()
            codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        places = [self.place.setdefault(word, len(self.place)) for word in words]
        # The last entry is for missing values, whose code is -1.
        self._keep(np.array([*places, -1], dtype=np.int32)[codes])
        if len(self.place) > MOST_WORDS:
            raise _OtherModeError(self.name, "many" if self.wanted else self._mode_of_many())

    def _mode_of_many(self) -> str:
        if all(map(_ISO.fullmatch, self.place)):
            return "dates"
        n_numbers = sum(as_number(word) is not None for word in self.place)
        return "mostly" if n_numbers >= _MOSTLY * len(self.place) else "many"


def _trimmed(cells: Any) -> Any:
    """Return cells without white space around them, and without what stands for missing values."""
    if isinstance(cells, (list, tuple)):
        words = (None if cell is None else cell.strip() for cell in cells)
        return [None if word is None or word in GAPS else word for word in words]
    arrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    trimmed = compute.utf8_trim_whitespace(cells)
    gaps = compute.is_in(trimmed, value_set=arrow.array(sorted(GAPS)))
    return compute.if_else(gaps, arrow.scalar(None, arrow.string()), trimmed)


def _compact(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Return numbers in half the bytes where that loses nothing."""
    with np.errstate(over="ignore", invalid="ignore"):
        for kind in (np.int32, np.float32):
            small = numbers.astype(kind)
            if np.array_equal(small, numbers, equal_nan=True):
                return small
    return numbers


# Other files


def _read_arrow(path: PathLike, kind: str, words: Collection[str]) -> RawTable:
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
            # Arrow takes the places of strings from the file as they are: a damaged one would read
            # and write beyond its memory.
            table.validate(full=True)
        except Exception as error:
            name = "Parquet" if kind == ".parquet" else "Arrow"
            raise ValueError(f"{path} is not a readable {name} file: {error}") from error
    names = [name for name in table.column_names if not name.startswith("__index_level_")]
    check_names(path, names)
    found = {name: _arrow_column(path, name, table[name], arrow, name in words) for name in names}
    return RawTable(found, table.num_rows)


def _arrow_column(path: PathLike, name: str, column: Any, arrow: Any, words: bool) -> Raw:
    kind, types = column.type, arrow.types
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_date(kind) or types.is_timestamp(kind):
        naive = column.cast(arrow.timestamp("s"), safe=False)
        return DateColumn(_seconds(naive.to_numpy()))
    if types.is_boolean(kind):
        column, kind = column.cast(arrow.int8()), arrow.int8()
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if number and not words:
        whole = types.is_integer(kind) and not column.null_count
        values = column if whole else column.cast(arrow.float64(), safe=False)
        return NumericColumn(np.asarray(values.to_numpy()))
    if types.is_null(kind):
        return NumericColumn(np.full(len(column), np.nan))
    try:
        text = column.cast(arrow.string())
    except arrow.ArrowException:
        raise ValueError(
            f"{path} has the column {name!r} of type {kind}, which is no number, word or date"
        ) from None
    return _from_text(name, text.chunks, "words" if words else "", words)


def _from_text(name: str, runs: Sequence[Any], mode: str, wanted: bool = False) -> Raw:
    """Return the column of some runs of cells."""
    while True:
        column = _Growing(name, mode, wanted=wanted)
        try:
            for cells in runs:
                column.add(cells)
            return column.finished()
        except _OtherModeError as other:
            mode = other.mode


def _read_arff(path: PathLike, words: Collection[str]) -> RawTable:
    with open_input(path) as stream:
        content = stream.read()
    try:
        attributes, rows, is_sparse = parsed_arff(content)
    except ValueError as error:
        raise ValueError(f"{path} is not a readable ARFF file: {error}") from error
    check_names(path, [name for name, _ in attributes])
    columns: dict[str, Raw] = {}
    for j, (name, kind) in enumerate(attributes):
        absent = 0.0 if isinstance(kind, str) else kind[0]
        cells = [row.get(j, absent) for row in rows] if is_sparse else [row[j] for row in rows]
        if isinstance(kind, str) and kind.upper() in ("NUMERIC", "REAL", "INTEGER"):
            numbers = np.array([np.nan if cell is None else float(cell) for cell in cells])
            if name not in words:
                columns[name] = NumericColumn(_compact(numbers))
                continue
            cells = [None if cell is None else f"{cell:g}" for cell in cells]
        texts = [None if cell is None else str(cell) for cell in cells]
        # The values of a nominal attribute are words even where they are numbers.
        columns[name] = _from_text(name, [texts], "" if kind == "STRING" else "words")
    return RawTable(columns, len(rows))


def parsed_arff(content: bytes) -> tuple[list[tuple[str, Any]], list[Any], bool]:
    """Return the attributes and rows of an ARFF file, and whether the rows are dicts by place."""
    arff = import_optional("arff", ".arff files need liac-arff", "data")
    _, _, body = content.lower().partition(b"@data")
    is_sparse = body.lstrip().startswith(b"{")
    try:
        found = arff.loads(content.decode(), return_type=arff.LOD if is_sparse else arff.DENSE)
    except (arff.ArffException, ValueError, TypeError, IndexError) as error:
        try:
            # An index out of range: of the values between empty braces.
            nothing = "an attribute has no values"
            said = nothing if isinstance(error, IndexError) else str(error)
        except (TypeError, ValueError):  # its own words hold a per cent sign
            said = type(error).__name__
        raise ValueError(said) from error
    return found["attributes"], found["data"], is_sparse
