"""Delimited text: one list of missing values, one guess of the separator, one reader of rows."""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Final, TextIO

from edgewise.common.files import PathLike, open_input

NA_VALUES: Final = frozenset({"", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None"})
"""Cells that stand for a missing value."""

SEPARATORS: Final = ("::", "\t", ",", ";", "|")
"""Separators that are detected; a reader may add blanks."""

# Cells rarely contain these, so a line that has one is separated by it.
_UNMISTAKABLE: Final = ("::", "\t")
# The csv module takes separators of one character only.
_UNIT: Final = "\x1f"
# Bytes of text, or rows, per chunk.
_CHUNK_BYTES: Final = 1 << 22
_CHUNK_ROWS: Final = 20_000

# No two groups may match the same characters, so that a cell of a million digits takes no time.
NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|Infinity)")
# An amount of money or a percentage, with or without commas between thousands; 0,123 has a decimal
# comma.
_AMOUNT: Final = re.compile(
    r"([-+]?)[$€£]?\s?([-+]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?)\s?[%$€£]?"
)
# The same with a decimal comma, and points between thousands.
_COMMA_AMOUNT: Final = re.compile(
    r"[-+]?[$€£]?\s?[-+]?(?:\d{1,3}(?:\.\d{3})+|\d*),\d+(?:[eE][+-]?\d+)?\s?[%$€£]?"
)


def parse_number(cell: str) -> float | None:
    """Return the number that a cell stands for, such as 12, 1.5e3, $1,200.50 or 45%, or None."""
    if NUMBER.fullmatch(cell):
        return float(cell)
    money = _AMOUNT.fullmatch(cell)
    if money is None or (money[1] and money[2][0] in "+-"):
        return None
    return float((money[1] + money[2]).replace(",", ""))


def with_decimal_point(cell: str) -> str:
    """Return a number with a decimal comma as one with a point; other cells stay as they are."""
    if "," not in cell or not _COMMA_AMOUNT.fullmatch(cell):
        return cell
    return cell.replace(".", "").replace(",", ".")


def rank_separators(line: str, separators: Sequence[str] = SEPARATORS) -> list[str]:
    """Return the separators that a line has outside of quotes, the most likely one first.

    Examples
    --------
    >>> rank_separators("1::Up, or down;::Drama|Comedy")
    ['::', ',', ';', '|']
    >>> rank_separators('"last, first";city;zip')
    [';']
    """
    bare = re.sub(r'"[^"]*"', "", line)
    present = [separator for separator in separators if separator in bare]
    return sorted(present, key=lambda sign: (sign not in _UNMISTAKABLE, -bare.count(sign)))


def read_lines(path: PathLike, fallback: str | None = None) -> list[str]:
    """Return the lines of a text file in UTF-8, or in the encoding `fallback` if it is not."""
    with open_input(path) as stream:
        data = stream.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if fallback is None:
            raise unreadable(path, error) from error
        text = data.decode(fallback)
    return io.StringIO(text, newline="").readlines()


def split_rows(lines: Iterable[str], separator: str, quotes: bool = True) -> Iterator[list[str]]:
    """Yield the cells of each row that is not empty.

    The separator " " is any run of blanks. With `quotes`, a cell in double quotes may contain
    separators and line ends.
    """
    if separator == " ":
        lines = (f"{line.strip()}\n" for line in lines)
    rows = csv.reader(
        lines if len(separator) == 1 else (line.replace(separator, _UNIT) for line in lines),
        delimiter=separator if len(separator) == 1 else _UNIT,
        quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
        strict=quotes,
        skipinitialspace=separator == " ",
    )
    try:
        yield from filter(None, rows)
    except csv.Error as error:
        raise ValueError(f"line {rows.line_num}: {error}") from error


@dataclass(frozen=True)
class DelimitedText:
    """A text file of rows of cells, read in chunks.

    Parameters
    ----------
    names : sequence of str
        The names of the columns.
    n_skipped : int
        The number of lines before the first row: empty ones and the header.
    n_columns : int
        The number of cells per row; columns after the named ones are ignored.
    """

    path: PathLike
    names: Sequence[str]
    separator: str
    n_skipped: int
    n_columns: int

    @classmethod
    def open(
        cls,
        path: PathLike,
        separator: str | None = None,
        names: Sequence[str] | None = None,
        separators: Sequence[str] = SEPARATORS,
    ) -> "DelimitedText":
        """Read the header of a plain or gzipped file, or raise if it is not text in UTF-8.

        A separator of None is detected among `separators`; `names` are the columns if it has no
        header.
        """
        n_skipped, line = _first_line(path)
        if separator is None:
            separator = next(iter(rank_separators(line, separators)), None)
        if separator is None:
            separator = " " if " " in separators and len(line.split()) > 1 else ","
        try:
            cells = next(split_rows([line], separator), [])
        except ValueError as error:
            raise unreadable(path, error) from error
        if names is None:
            names = [cell.strip() or f"column {j}" for j, cell in enumerate(cells, 1)]
            n_skipped += 1
        return cls(path, list(names), separator, n_skipped, max(len(cells), len(names)))

    @property
    def decimal_comma(self) -> bool:
        """Whether numbers may have a decimal comma: only between semicolons."""
        return self.separator == ";"

    def chunks(self, columns: Sequence[int]) -> Iterator[Sequence[Any]]:
        """Yield the cells of some columns in chunks of rows.

        They are Arrow arrays where pyarrow is installed and supports the separator, else tuples.
        """
        if len(self.separator) > 1 or self.separator == " ":
            return self._plain_chunks(columns)
        try:
            return self._arrow_chunks(import_module("pyarrow.csv"), columns)
        except ImportError:
            return self._plain_chunks(columns)

    def _arrow_chunks(self, arrow_csv: Any, columns: Sequence[int]) -> Iterator[Sequence[Any]]:
        arrow = import_module("pyarrow")
        names = list(map(str, range(self.n_columns)))
        read = arrow_csv.ReadOptions(
            block_size=_CHUNK_BYTES, column_names=names, skip_rows=self.n_skipped
        )
        parse = arrow_csv.ParseOptions(delimiter=self.separator, newlines_in_values=True)
        convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, arrow.string()),
            include_columns=[*(names[j] for j in columns), names[-1]],
        )
        last_cell = ""
        with open_input(self.path) as stream:
            try:
                for batch in arrow_csv.open_csv(stream, read, parse, convert):
                    yield batch.columns[:-1]
                    last_cell = str(batch.column(-1)[-1]) if len(batch) else last_cell
            except arrow.ArrowException as error:
                if "Empty CSV" in str(error):
                    return
                raise unreadable(self.path, error) from error
        # A quote that is not closed extends its cell to the end of the file.
        if last_cell.endswith("\n"):
            raise unreadable(self.path, "a quote is not closed")
        arrow.default_memory_pool().release_unused()

    def _plain_chunks(self, columns: Sequence[int]) -> Iterator[Sequence[Any]]:
        with open_input(self.path) as stream:
            text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
            try:
                rows = split_rows(islice(text, self.n_skipped, None), self.separator)
                while chunk := list(islice(rows, _CHUNK_ROWS)):
                    for row in chunk:
                        if len(row) < self.n_columns or any(row[self.n_columns :]):
                            expected = f"expected {self.n_columns} columns, got {len(row)}"
                            raise ValueError(f"{expected}: {row}")
                    yield [tuple(row[j] for row in chunk) for j in columns]
            except ValueError as error:
                raise unreadable(self.path, error) from error
            finally:
                text.detach()


def _first_line(path: PathLike) -> tuple[int, str]:
    """Return the first line with text, and how many lines come before it."""
    with open_input(path) as stream:
        start = stream.read(1 << 16)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise ValueError(f"{path} is UTF-16 text; save it as UTF-8")
        if b"\0" in start:
            raise ValueError(f"{path} is not a text file")
        lines = io.BytesIO(start + stream.readline())
        text: TextIO = io.TextIOWrapper(lines, "utf-8-sig", newline="")
        try:
            for number, line in enumerate(text):
                if line.strip():
                    return number, line
        except UnicodeDecodeError as error:
            raise unreadable(path, error) from error
    raise ValueError(f"{path} is empty: it has no header")


def unreadable(path: PathLike, error: object) -> ValueError:
    """Return the error for a file that is not a table."""
    advice = "; save it as UTF-8" if "utf" in str(error).lower() else ""
    return ValueError(f"{Path(path)} is not a readable table: {error}{advice}")
