"""Ratings read from text files and Parquet files."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from edgewise.common.files import PathLike, reading
from edgewise.ratings.inputs import RatingColumns, check_names, frame_columns

# Longest first.
_SEPARATORS: Final = ("::", "\t", ";", ",")
_PARQUET: Final = b"PAR1"

Names = tuple[str, str, str | None, str | None, str | None]
_ROLES: Final = ("user", "item", "rating", "weight", "time")


def file_columns(
    path: PathLike, names: Names, columns: Any, separator: str | None
) -> RatingColumns:
    """Return the columns of a file of ratings."""
    with Path(path).open("rb") as raw:
        is_parquet = raw.read(4) == _PARQUET
    if is_parquet:
        from edgewise.io.frames import read_table

        return frame_columns(read_table(path).X, *names)
    if columns is not None and (
        isinstance(columns, str) or not all(isinstance(name, str) for name in columns)
    ):
        raise TypeError(f"columns must be a list of names, got {columns!r}")
    if separator is not None and (not isinstance(separator, str) or not separator):
        raise TypeError(f"separator must be a string or None, got {separator!r}")
    with reading(path) as stream:
        data = stream.read()
    text = _text(path, data)
    rows = _cells(path, text, separator)
    header = [name.strip() for name in (rows.pop(0) if columns is None else columns)]
    check_names(dict(zip(_ROLES, names, strict=True)), header, f" of {path}")
    places = [None if name is None else header.index(name) for name in names]
    return _columns(path, rows, places, len(header), columns is None)


def _text(path: PathLike, data: bytes) -> str:
    if not data.strip():
        raise ValueError(f"{path} is empty")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a text file in UTF-8: {error}") from error


def _cells(path: PathLike, text: str, separator: str | None) -> list[list[str]]:
    """Return rows of cells, with quotes resolved."""
    text = text.lstrip("\r\n")
    first = text[: text.find("\n")] if "\n" in text else text
    if separator is None:
        separator = next((sign for sign in _SEPARATORS if sign in first), None)
        if separator is None:
            raise ValueError(f"{path} has one column only, or none of {_SEPARATORS} between them")
    if len(separator) > 1:
        # The csv module takes separators of one character only.
        text, separator = text.replace(separator, "\x1f"), "\x1f"
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        return [row for row in rows if row]
    except csv.Error as error:
        raise ValueError(f"{path} is not a readable text file: {error}") from error


def _columns(
    path: PathLike,
    cells: list[list[str]],
    places: Sequence[int | None],
    width: int,
    exact: bool,
) -> RatingColumns:
    """Return the columns; with a header in the file every row must be as long as it."""
    for number, row in enumerate(cells, 1):
        if len(row) < width or (exact and len(row) > width and any(row[width:])):
            raise ValueError(f"{path} has {len(row)} columns in row {number}, not {width}")
    users, items, *others = (
        None if place is None else [row[place] for row in cells] for place in places
    )
    assert users is not None
    assert items is not None
    found = [
        None if column is None else _reals(path, role, column)
        for role, column in zip(_ROLES[2:], others, strict=True)
    ]
    return RatingColumns(_ids(path, "user", users), _ids(path, "item", items), *found)


def _ids(path: PathLike, role: str, cells: list[str]) -> NDArray[Any]:
    """Return integers if every id is written as one, else strings."""
    words = [cell.strip() for cell in cells]
    if "" in words:
        raise ValueError(f"{path} has no {role} in row {words.index('') + 1}")
    if all(_is_integer(word) for word in set(words)):
        return np.array(words, dtype=object).astype(np.int64)
    return np.array(words, dtype=np.str_)


def _is_integer(word: str) -> bool:
    """Return whether a word is an integer in canonical form: not 007."""
    plain = word.removeprefix("-")
    return plain.isascii() and plain.isdigit() and len(plain) < 19 and str(int(word)) == word


def _reals(path: PathLike, role: str, cells: list[str]) -> NDArray[np.float64]:
    try:
        return np.array(cells, dtype=object).astype(np.float64)
    except ValueError as error:
        raise ValueError(f"{path} must hold numbers in the column of {role}s: {error}") from error
