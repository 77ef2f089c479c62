"""MovieLens: readers of its files, and the ratings with their published splits."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import REAL, Reals
from edgewise.data.columns import NumericColumn, categorical_column
from edgewise.data.table import ColumnTable
from edgewise.datasets.catalog import DatasetInfo, Entry
from edgewise.datasets.dataset import RatingsDataset
from edgewise.datasets.files import DatasetMismatchError, check_counts
from edgewise.ratings import Ids, Ratings
from edgewise.ratings.inputs import RatingColumns, build_ratings

_ENCODING: Final = "latin-1"
_YEAR: Final = re.compile(r"\((\d{4})\)")

GENRES: Final = (
    *("Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama"),
    *("Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller"),
    *("War", "Western"),
)
"""The genres of both sets, in their files' order."""

# The codes 0 to 20, from the README of ml-1m.
_OCCUPATIONS: Final = (
    *("other", "academic/educator", "artist", "clerical/admin", "college/grad student"),
    *("customer service", "doctor/health care", "executive/managerial", "farmer", "homemaker"),
    *("K-12 student", "lawyer", "programmer", "retired", "sales/marketing", "scientist"),
    *("self-employed", "technician/engineer", "tradesman/craftsman", "unemployed", "writer"),
)


class SideFeatures(NamedTuple):
    """Ids of users or items, a row of typed columns for each, and titles of items."""

    ids: NDArray[np.int64]
    columns: ColumnTable
    titles: Sequence[str] = ()


def triples(content: bytes, *, separator: bytes = b"\t") -> RatingColumns:
    """Read lines of user, item, rating and time, all of them integers."""
    # One scan for numbers is ten times as fast as reading line by line.
    numbers = np.fromstring(content.replace(separator, b" "), dtype=np.int64, sep=" ")
    n_lines = content.count(b"\n") + (not content.endswith(b"\n"))
    if len(numbers) != 4 * n_lines:
        raise ValueError(f"{n_lines} lines must have 4 integers each, got {len(numbers)} in all")
    users, items, ratings, times = np.ascontiguousarray(numbers.reshape(-1, 4).T)
    return RatingColumns(users, items, ratings, times=times)


def users_100k(content: bytes) -> SideFeatures:
    """Read ``u.user``: id, age, gender, occupation and a zip code, which is left out."""
    ids, ages, genders, occupations, _ = _split_fields(content, "|", 5)
    return _people(ids, ages, genders, occupations)


def users_1m(content: bytes) -> SideFeatures:
    r"""Read ``users.dat``: id, gender, age, a code of the occupation, and a zip code.

    The age is the lower end of its group: 1 for under 18, then 18, 25, 35, 45, 50 and 56.
    """
    ids, genders, ages, codes, _ = _split_fields(content, "::", 5)
    return _people(ids, ages, genders, [_OCCUPATIONS[int(code)] for code in codes])


def movies_100k(content: bytes) -> SideFeatures:
    """Read ``u.item``: id, title, two dates, an address, and a flag for each genre."""
    genres = ("unknown", *GENRES)
    ids, titles, *columns = _split_fields(content, "|", 5 + len(genres))
    return _movies(ids, titles, genres, np.array(columns[3:], dtype=REAL))


def movies_1m(content: bytes) -> SideFeatures:
    """Read ``movies.dat``: id, title, and the names of genres."""
    ids, titles, lists = _split_fields(content, "::", 3)
    flags = np.zeros((len(GENRES), len(ids)), dtype=REAL)
    for row, genres in enumerate(lists):
        flags[[GENRES.index(genre) for genre in genres.split("|")], row] = 1
    return _movies(ids, titles, GENRES, flags)


# Readers of ratings, users and items.
_READERS: Final[Mapping[str, tuple[Callable[[bytes], Any], ...]]] = {
    "ml-100k": (triples, users_100k, movies_100k),
    "ml-1m": (partial(triples, separator=b"::"), users_1m, movies_1m),
}


def read_ratings(entry: Entry, contents: Mapping[str, list[bytes]]) -> RatingsDataset:
    """Return the ratings of a set with their side features and published splits."""
    info = entry.info
    read_triples, read_users, read_items = _READERS[entry.format]
    readers = {"ratings": read_triples, "users": read_users, "items": read_items}
    tables: dict[str, list[Any]] = {}
    for role, files in contents.items():
        read = readers.get(role, read_triples)
        try:
            tables[role] = [read(content) for content in files]
        except ValueError as error:
            paths = " or ".join(file.path for file in entry.files[role])
            raise DatasetMismatchError(f"{paths}: {error}") from error
    (columns,), (users,), (items,) = tables["ratings"], tables["users"], tables["items"]
    try:
        Ids.of("users", users.ids).require("users of ratings", columns.users)
        Ids.of("items", items.ids).require("items of ratings", columns.items)
        ratings = build_ratings(columns, users[:2], items[:2])
    except ValueError as error:
        raise DatasetMismatchError(f"{info.name}: {error}") from error
    _check_ratings(info, ratings)
    titles = dict(zip(items.ids.tolist(), items.titles, strict=True))
    return RatingsDataset(info, ratings, titles, _held_out(info, ratings, tables.get("tests", [])))


def _split_fields(content: bytes, separator: str, n_fields: int) -> list[tuple[str, ...]]:
    """Split lines at the separator and return each field of all lines."""
    # Not splitlines, which takes some characters of latin-1 for line ends.
    lines = content.decode(_ENCODING).rstrip("\n").split("\n")
    rows = [line.split(separator) for line in lines]
    for number, row in enumerate(rows, start=1):
        if len(row) != n_fields:
            raise ValueError(f"line {number} must have {n_fields} fields, got {len(row)}")
    return list(zip(*rows, strict=True))


def _people(
    ids: Sequence[str], ages: Sequence[str], genders: Sequence[str], occupations: Sequence[str]
) -> SideFeatures:
    columns = (
        NumericColumn(np.array(ages, dtype=REAL)),
        categorical_column(genders),
        categorical_column(occupations),
    )
    table = ColumnTable(columns, ["age", "gender", "occupation"])
    return SideFeatures(np.array(ids, dtype=np.int64), table)


def _movies(
    ids: Sequence[str], titles: Sequence[str], genres: Sequence[str], flags: Reals
) -> SideFeatures:
    # The last year in brackets: a title may hold another.
    years = [(_YEAR.findall(title) or ["nan"])[-1] for title in titles]
    columns = [NumericColumn(row) for row in (np.array(years, dtype=REAL), *flags)]
    table = ColumnTable(columns, ["year", *genres])
    return SideFeatures(np.array(ids, dtype=np.int64), table, [title.strip() for title in titles])


def _check_ratings(info: DatasetInfo, ratings: Ratings) -> None:
    """Compare counts with the catalog: a guard against a wrong entry or reader."""
    counts = (
        ("users", ratings.n_users, info.n_users),
        ("items", ratings.n_items, info.n_items),
        ("rated items", len(np.unique(ratings.items)), info.n_rated),
        ("ratings", len(ratings), info.n_ratings),
    )
    check_counts(info.name, counts)
    if tuple(ratings.levels) != info.levels:
        raise DatasetMismatchError(
            f"{info.name}: expected ratings {list(info.levels)}, found {ratings.levels.tolist()}"
        )


def _held_out(
    info: DatasetInfo, ratings: Ratings, tests: list[RatingColumns]
) -> dict[str, NDArray[np.intp]]:
    """Return the indices of each split's test ratings; the folds must partition all ratings."""
    held_out = {}
    for split, test, n_test in zip(info.splits, tests, info.n_held_out, strict=True):
        check_counts(f"{info.name}, {split}", [("test ratings", len(test.users), n_test)])
        held_out[split] = _find_ratings(f"{info.name}, {split}", ratings, test)
    folds = list(held_out.values())[: info.n_folds]
    if folds and not np.array_equal(np.sort(np.concatenate(folds)), np.arange(len(ratings))):
        raise DatasetMismatchError(
            f"{info.name}: expected every rating in the test part of one fold and no other"
        )
    return held_out


def _find_ratings(source: str, ratings: Ratings, test: RatingColumns) -> NDArray[np.intp]:
    """Return the indices of test ratings, which must have the same values and times."""
    pairs = ratings.users.astype(np.int64) * ratings.n_items + ratings.items
    users = ratings.user_ids.find("users", test.users)
    items = ratings.item_ids.find("items", test.items)
    wanted = np.where((users < 0) | (items < 0), -1, users * ratings.n_items + items)
    indices = Ids(pairs).find("test ratings", wanted)
    assert ratings.times is not None
    same = (
        (indices >= 0)
        & (ratings.values[indices] == test.ratings)
        & (ratings.times[indices] == test.times)
    )
    if not same.all() or len(np.unique(indices)) < len(indices):
        raise DatasetMismatchError(f"{source}: expected test ratings that are among all ratings")
    return np.sort(indices)
