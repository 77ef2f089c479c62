"""The catalog: facts, files and checksums of every data set, read from catalog.toml."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any, Final

from edgewise.common.checks import one_of

KINDS: Final = ("classification", "ranking", "ratings")


@dataclass(frozen=True)
class DataFile:
    """A publisher's file."""

    # Below a data folder, without the suffix of a compressed copy.
    path: str
    sha256: str
    # URLs to try in turn; "#..." names a member of a zip or tar archive.
    addresses: tuple[str, ...] = ()
    # What the hash is of: "content", the bytes; "lines", the bytes with any line ends; "rows", the
    # sorted lines; "values", the sorted rows of numbers, rounded to `decimals`.
    hash: str = "content"
    decimals: int = 0
    delimiter: str | None = ","
    replace: tuple[tuple[str, str], ...] = ()
    # How to get a file that has no address.
    by_hand: str = ""


@dataclass(frozen=True)
class DatasetInfo:
    """The facts of a data set; sizes that do not apply to its kind are 0 or empty.

    Attributes
    ----------
    name, title : str
        The name that :func:`load` takes, and the publisher's.
    kind : {"classification", "ranking", "ratings"}
        The kind of problem.
    description : str
        Rows, columns and splits in a few sentences.
    license, citation, source : str
        The terms of use as the publisher states them, the paper to cite, and the publisher's page.
    n_features, n_categorical : int
        Number of columns of ``X``, and of categorical ones: with any, ``X`` is a pandas data frame.
    n_train, n_test : int
        Rows of the standard split. Without a published split all rows train and `n_test` is 0.
    n_classes : int
        Number of classes, or of labels where a row may have several.
    multilabel : bool
        Whether ``y`` is an indicator matrix.
    n_rows, n_queries : tuple of int
        Documents and queries of each part of a ranking set.
    n_grades : int
        Number of relevance grades, from 0.
    n_users, n_items, n_rated, n_ratings : int
        Users, items, items with at least one rating, and ratings.
    levels : tuple of float
        The values of ratings, ascending.
    splits, n_held_out : tuple of str, tuple of int
        Names of the published splits of ratings, folds first, and their numbers of test ratings.
    n_folds : int
        Number of published folds.

    Examples
    --------
    >>> from edgewise import datasets
    >>> letter = datasets.info("letter")
    >>> letter.n_train, letter.n_test, letter.n_features, letter.n_classes
    (16000, 4000, 16, 26)
    """

    name: str
    kind: str
    title: str
    description: str
    license: str
    citation: str
    source: str
    n_features: int = 0
    n_train: int = 0
    n_test: int = 0
    n_classes: int = 0
    n_categorical: int = 0
    multilabel: bool = False
    n_rows: tuple[int, ...] = ()
    n_queries: tuple[int, ...] = ()
    n_grades: int = 0
    n_users: int = 0
    n_items: int = 0
    n_rated: int = 0
    n_ratings: int = 0
    levels: tuple[float, ...] = ()
    splits: tuple[str, ...] = ()
    n_held_out: tuple[int, ...] = ()
    n_folds: int = 0

    def __repr__(self) -> str:
        facts = ((field.name, getattr(self, field.name)) for field in fields(self))
        shown = ", ".join(f"{name}={fact!r}" for name, fact in facts if fact)
        return f"DatasetInfo({shown})"


@dataclass(frozen=True)
class Entry:
    """A data set as the catalog describes it; `files` are by role, `format` names the reader."""

    info: DatasetInfo
    files: Mapping[str, tuple[DataFile, ...]]
    format: str = ""
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    class_first: bool = False
    header: bool = False
    # The part, from 0, that the training rows of fold 1 begin with.
    first: int = 0

    @property
    def all_files(self) -> tuple[DataFile, ...]:
        """The files of all roles."""
        return tuple(file for files in self.files.values() for file in files)


@cache
def entries() -> dict[str, Entry]:
    """Return the entries of the catalog by name."""
    text = resources.files("edgewise.datasets").joinpath("catalog.toml").read_text("utf-8")
    return parse(text)


def parse(text: str) -> dict[str, Entry]:
    """Read a catalog in the format of catalog.toml."""
    tables = tomllib.loads(text)
    shared = tables.pop("shared", {})
    return {
        name: _make_entry(name, shared.get(table.pop("like", ""), {}) | table)
        for name, table in tables.items()
    }


def find_entry(name: str) -> Entry:
    """Return the entry of a data set, or raise."""
    return entries()[one_of("name", name, entries())]


def names(kind: str | None = None) -> tuple[str, ...]:
    """List the data sets: the names that :func:`load` takes.

    Parameters
    ----------
    kind : {"classification", "ranking", "ratings"} or None, default None
        List only the sets of this kind.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.names("ranking")
    ('mq2008', 'mq2008-agg', 'mq2007-agg', 'ohsumed')
    """
    if kind is not None:
        one_of("kind", kind, KINDS)
    return tuple(name for name, entry in entries().items() if kind in (None, entry.info.kind))


def info(name: str) -> DatasetInfo:
    """Return sizes, license, citation and source of a data set, without touching its files.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("pendigits").license
    'CC BY 4.0, as stated by the UCI Machine Learning Repository'
    """
    return find_entry(name).info


def _make_entry(name: str, table: dict[str, Any]) -> Entry:
    columns = _name_columns(table.get("columns", ()), table.get("n_features", 0))
    facts = {
        "name": name,
        "n_classes": len(table.get("classes", ())),
        **_select_fields(DatasetInfo, table),
    }
    if table.get("format") in ("mixed", "flights"):
        facts["n_categorical"] = len(columns) - len(table.get("numeric", ()))
    if table["kind"] == "ranking":
        facts["n_folds"] = len(table["n_rows"])
    files = {role: _make_files(table, hashes) for role, hashes in table["files"].items()}
    settings = _select_fields(Entry, table) | {"files": files, "columns": columns}
    return Entry(DatasetInfo(**facts), **settings)


def _make_files(table: dict[str, Any], hashes: dict[str, str]) -> tuple[DataFile, ...]:
    settings = _select_fields(DataFile, table) | {
        "delimiter": table.get("delimiter", ",").strip() or None,
        "replace": tuple(table.get("replace", {}).items()),
    }
    files = []
    for path, sha256 in hashes.items():
        name = path.rpartition("/")[2]
        urls = (url.format(path=path, name=name) for url in table.get("addresses", ()))
        files.append(DataFile(path, sha256, **settings | {"addresses": tuple(urls)}))
    return tuple(files)


def _select_fields(kind: type[Any], table: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a class that a table has; lists become tuples."""
    names = [field.name for field in fields(kind) if field.name in table]
    values = [table[name] for name in names]
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in zip(names, values, strict=True)
    }


def _name_columns(names: list[str] | str, n_features: int) -> tuple[str, ...]:
    """Return column names; a pattern may have their number, or the row and column of a pixel."""
    if not isinstance(names, str):
        return tuple(names)
    side = max(math.isqrt(n_features), 1)
    return tuple(
        names.format(number=j + 1, row=j // side, column=j % side) for j in range(n_features)
    )
