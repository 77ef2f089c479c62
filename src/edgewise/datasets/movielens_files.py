"""Readers of the MovieLens files: ratings, users with their columns, movies with theirs."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import CATEGORY_CODE, REAL
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn
from edgewise.data.table import ColumnTable

_ENCODING: Final = "latin-1"
_YEAR: Final = re.compile(r"\((\d{4})\)")

GENRES: Final = (
    *("Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama"),
    *("Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller"),
    *("War", "Western"),
)
"""The genres of both sets, in their files' order."""

# What the README of ml-1m says of the codes 0 to 20.
_OCCUPATIONS: Final = (
    *("other", "academic/educator", "artist", "clerical/admin", "college/grad student"),
    *("customer service", "doctor/health care", "executive/managerial", "farmer", "homemaker"),
    *("K-12 student", "lawyer", "programmer", "retired", "sales/marketing", "scientist"),
    *("self-employed", "technician/engineer", "tradesman/craftsman", "unemployed", "writer"),
)


@dataclass(frozen=True, eq=False)
class Rated:
    """The columns of a file of ratings."""

    users: NDArray[np.int64]
    items: NDArray[np.int64]
    values: NDArray[np.int64]
    times: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Side:
    """Ids of users or items, typed columns with a row for each of them, and titles of items."""

    ids: NDArray[np.int64]
    columns: ColumnTable
    titles: tuple[str, ...] = ()


def rated(content: bytes, *, separator: bytes = b"\t") -> Rated:
    r"""Read lines of user, item, rating and time, all of them integers.

    Examples
    --------
    >>> rated(b"196\t242\t3\t881250949\n").values
    array([3])
    >>> rated(b"1::1193::5::978300760\n", separator=b"::").items
    array([1193])
    """
    # A scan for numbers is ten times as fast as reading the text line by line.
    numbers = np.fromstring(content.replace(separator, b" "), dtype=np.int64, sep=" ")
    n_lines = content.count(b"\n") + (not content.endswith(b"\n"))
    if len(numbers) != 4 * n_lines:
        raise ValueError(f"{n_lines} lines must have 4 integers each, got {len(numbers)} in all")
    return Rated(*np.ascontiguousarray(numbers.reshape(-1, 4).T))


def users_100k(content: bytes) -> Side:
    r"""Read ``u.user``: id, age, gender, occupation and a zip code, which is left out.

    Examples
    --------
    >>> users_100k(b"1|24|M|technician|85711\n").columns.names
    ['age', 'gender', 'occupation']
    """
    ids, ages, genders, occupations, _ = _fields(content, "|", 5)
    return _people(ids, ages, genders, occupations)


def users_1m(content: bytes) -> Side:
    r"""Read ``users.dat``: id, gender, age, a code of the occupation, and a zip code.

    The age is the least one of its group: 1 for under 18, then 18, 25, 35, 45, 50 and 56.

    Examples
    --------
    >>> users_1m(b"1::F::1::10::48067\n").columns.column(2).categories
    ('K-12 student',)
    """
    ids, genders, ages, codes, _ = _fields(content, "::", 5)
    return _people(ids, ages, genders, [_OCCUPATIONS[int(code)] for code in codes])


def movies_100k(content: bytes) -> Side:
    r"""Read ``u.item``: id, title, two dates, an address, and a flag for each genre.

    Examples
    --------
    >>> movies = movies_100k(b"1|Toy Story (1995)|01-Jan-1995|||0|0|0|1|1|1" + 13 * b"|0")
    >>> movies.titles, movies.columns.name(4), movies.columns.column(4).values
    (('Toy Story (1995)',), 'Animation', array([1.]))
    """
    genres = ("unknown", *GENRES)
    ids, titles, *rest = _fields(content, "|", 5 + len(genres))
    return _movies(ids, titles, genres, np.array(rest[3:], dtype=REAL))


def movies_1m(content: bytes) -> Side:
    r"""Read ``movies.dat``: id, title, and the names of genres.

    Examples
    --------
    >>> movies = movies_1m(b"1::Toy Story (1995)::Animation|Comedy\n")
    >>> movies.columns.n_columns, movies.columns.name(5), movies.columns.column(5).values
    (19, 'Comedy', array([1.]))
    """
    ids, titles, lists = _fields(content, "::", 3)
    flags = np.zeros((len(GENRES), len(ids)), dtype=REAL)
    for row, genres in enumerate(lists):
        flags[[GENRES.index(genre) for genre in genres.split("|")], row] = 1
    return _movies(ids, titles, GENRES, flags)


def _fields(content: bytes, separator: str, n_fields: int) -> list[tuple[str, ...]]:
    """Split lines at the separator and return the fields, each for all lines."""
    # Not splitlines, which takes some characters of latin-1 for ends of lines.
    lines = content.decode(_ENCODING).rstrip("\n").split("\n")
    rows = [line.split(separator) for line in lines]
    for number, row in enumerate(rows, start=1):
        if len(row) != n_fields:
            raise ValueError(f"line {number} must have {n_fields} fields, got {len(row)}")
    return list(zip(*rows, strict=True))


def _people(
    ids: Sequence[str], ages: Sequence[str], genders: Sequence[str], occupations: Sequence[str]
) -> Side:
    columns: list[Column] = [
        _numeric(map(float, ages)),
        _categorical(genders),
        _categorical(occupations),
    ]
    return Side(_whole(ids), ColumnTable(columns, ["age", "gender", "occupation"]))


def _movies(
    ids: Sequence[str], titles: Sequence[str], genres: Sequence[str], flags: NDArray[np.float64]
) -> Side:
    columns: list[Column] = [_numeric(map(_year, titles))]
    columns.extend(NumericColumn(row) for row in flags)
    table = ColumnTable(columns, ["year", *genres])
    return Side(_whole(ids), table, tuple(title.strip() for title in titles))


def _year(title: str) -> float:
    """Return the last year in brackets, NaN where there is none."""
    years = _YEAR.findall(title)
    return float(years[-1]) if years else np.nan


def _whole(texts: Sequence[str]) -> NDArray[np.int64]:
    return np.array([int(text) for text in texts], dtype=np.int64)


def _numeric(values: Iterable[float]) -> NumericColumn:
    return NumericColumn(np.fromiter(values, dtype=REAL))


def _categorical(values: Sequence[str]) -> CategoricalColumn:
    categories = tuple(sorted(set(values)))
    place = {category: code for code, category in enumerate(categories)}
    codes = np.fromiter((place[value] for value in values), dtype=CATEGORY_CODE)
    return CategoricalColumn(codes, categories)
