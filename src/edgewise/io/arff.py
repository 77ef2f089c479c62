"""ARFF files, dense and sparse, as Weka and Mulan write them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

Cell = float | str | None
Kind = str | tuple[str, ...]
"""The type of an attribute: "numeric", "string", "date", or the values of a nominal one."""

_NUMERIC: Final = ("numeric", "real", "integer")
_SHOWN: Final = 60

# Quoted and bare words; escapes.
_QUOTED: Final = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_NAME: Final = re.compile(rf"\s*({_QUOTED}|[^\s'\"]\S*)\s*(.*)", re.DOTALL)
_VALUE: Final = re.compile(rf"\s*((?:{_QUOTED})\s*|[^\s'\",][^,]*|)(?:,|$)")
_ENTRY: Final = re.compile(rf"\s*(\d{{1,9}})\s+((?:{_QUOTED})\s*|[^\s'\",][^,]*)(?:,|$)")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_CONTROL: Final = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True, eq=False)
class ArffData:
    """The attributes of an ARFF file and its rows; a missing value is None.

    The rows of a sparse file are dicts by attribute number. Absent values are 0, or the first value
    of a nominal attribute.
    """

    names: Sequence[str]
    kinds: Sequence[Kind]
    rows: list[Any]
    is_sparse: bool

    def column(self, j: int) -> list[Cell]:
        """Return the cells of an attribute: numbers, or strings."""
        if not self.is_sparse:
            return [row[j] for row in self.rows]
        kind = self.kinds[j]
        default: Cell = 0.0 if kind == "numeric" else None if isinstance(kind, str) else kind[0]
        return [row.get(j, default) for row in self.rows]


def parse_arff(content: bytes) -> ArffData:
    r"""Read the content of an ARFF file; errors name the line.

    Examples
    --------
    >>> data = parse_arff(b"@relation r\n@attribute size real\n@data\n0.5\n?\n")
    >>> data.names, data.rows
    (['size'], [[0.5], [None]])
    """
    names: list[str] = []
    kinds: list[Kind] = []
    lines = _lines(content.decode("utf-8-sig"))
    for number, line in lines:
        keyword, _, declaration = line.partition(" ")
        if keyword.lower() == "@data":
            break
        try:
            if keyword.lower() == "@attribute":
                name, kind = _parse_attribute(declaration)
                names.append(name)
                kinds.append(kind)
            elif keyword.lower() != "@relation":
                raise ValueError("expected @attribute or @data")
        except ValueError as error:
            raise _line_error(number, line, error) from None
    else:
        raise ValueError("it has no @data")
    if not names:
        raise ValueError("it has no @attribute")
    parsers = [_parser(kind) for kind in kinds]
    rows: list[Any] = []
    is_sparse = False
    for number, line in lines:
        is_sparse = is_sparse if rows else line.startswith("{")
        try:
            rows.append(_parse_entries(line, parsers) if is_sparse else _parse_row(line, parsers))
        except ValueError as error:
            raise _line_error(number, line, error) from None
    return ArffData(names, kinds, rows, is_sparse)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither empty nor comments, with their numbers."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if line and not line.startswith("%"):
            yield number, line.replace("\t", " ") if line.startswith("@") else line


def _line_error(number: int, line: str, error: ValueError) -> ValueError:
    return ValueError(f"line {number}: {line[:_SHOWN]!r}: {error}")


def _parse_attribute(declaration: str) -> tuple[str, Kind]:
    match = _NAME.fullmatch(declaration)
    if match is None:
        raise ValueError("an attribute needs a name and a type")
    name, kind = _unquote(match[1]), match[2].strip()
    if kind.startswith("{"):
        if not kind.endswith("}"):
            raise ValueError("the values of an attribute end with '}'")
        values = tuple(_unquote(value) for value in _split_cells(kind[1:-1]))
        if values in ((), ("",)):
            raise ValueError("an attribute has no values")
        return name, values
    type_name = kind.partition(" ")[0].lower()
    if type_name in _NUMERIC:
        return name, "numeric"
    if type_name not in ("string", "date"):
        raise ValueError(f"the type {type_name!r} is not supported")
    return name, type_name


def _parser(kind: Kind) -> Callable[[str], Cell]:
    """Return the parser of an attribute's cells."""
    if kind == "numeric":
        return float
    if isinstance(kind, str):
        return _unquote
    value_of = {value: value for value in kind}

    def find_value(cell: str) -> str:
        try:
            return value_of[_unquote(cell)]
        except KeyError:
            raise ValueError(f"{cell!r} is not a value of its attribute") from None

    return find_value


def _parse_row(line: str, parsers: Sequence[Callable[[str], Cell]]) -> list[Cell]:
    cells = _split_cells(line)
    if len(cells) != len(parsers):
        raise ValueError(f"expected {len(parsers)} values, got {len(cells)}")
    return [
        None if cell == "?" else parse(cell) for cell, parse in zip(cells, parsers, strict=True)
    ]


def _parse_entries(line: str, parsers: Sequence[Callable[[str], Cell]]) -> dict[int, Cell]:
    if not (line.startswith("{") and line.endswith("}")):
        raise ValueError("a sparse row is in braces")
    row: dict[int, Cell] = {}
    body, start = line[1:-1].strip(), 0
    while start < len(body):
        match = _ENTRY.match(body, start)
        if match is None or int(match[1]) >= len(parsers) or int(match[1]) in row:
            raise ValueError("expected the numbers of attributes, each once, with their values")
        j, cell = int(match[1]), match[2].rstrip()
        row[j] = None if cell == "?" else parsers[j](cell)
        start = match.end()
    return row


def _split_cells(line: str) -> list[str]:
    """Return the cells between commas outside of quotes, still quoted."""
    if "'" not in line and '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    cells, start = [], 0
    while True:
        match = _VALUE.match(line, start)
        if match is None:
            raise ValueError("a quote is not closed, or text follows it")
        cells.append(match[1].strip())
        start = match.end()
        if start == len(line) and not match[0].endswith(","):
            return cells


def _unquote(cell: str) -> str:
    if len(cell) < 2 or cell[0] not in "'\"" or cell[-1] != cell[0]:
        return cell
    return _ESCAPE.sub(lambda match: _CONTROL.get(match[1], match[1]), cell[1:-1])
