"""The files that ``edgewise rank`` reads: graded documents, with the same columns in all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from edgewise.commands.errors import CommandError, in_one_line
from edgewise.commands.screen import counted
from edgewise.data import as_table
from edgewise.io import RankingData, read_letor, read_table
from edgewise.metrics import Lists

TABLES = (".csv", ".csv.gz", ".parquet")
"""How the names of tables end; other files are those of LETOR."""

# Where less than this share of the values is there, a sparse matrix is the smaller one.
_FEW = 1 / 3


@dataclass(frozen=True)
class Roles:
    """Which columns of a table hold grades, queries and names of documents."""

    target: str | None = None
    query: str | None = None
    doc: str | None = None


@dataclass(frozen=True)
class Graded:
    """The documents of a file.

    Attributes
    ----------
    path : str
        The file.
    data : RankingData
        What it holds.
    lists : Lists
        Its grades by query.
    """

    path: str
    data: RankingData
    lists: Lists

    def __str__(self) -> str:
        counts = counted(self.lists.n_queries, "queries"), counted(len(self.data), "documents")
        return ", ".join(counts)


def is_table(path: str) -> bool:
    """Tell whether a file is a table, by its name.

    Examples
    --------
    >>> is_table("clicks.csv.gz"), is_table("S1.txt.gz")
    (True, False)
    """
    return path.lower().endswith(TABLES)


def read_graded(paths: Sequence[str], roles: Roles) -> list[Graded]:
    """Read files of graded documents; the first says which columns there are.

    Parameters
    ----------
    paths : sequence of str
        The files: all tables, or all of LETOR.
    roles : Roles
        Which columns of tables are no features.

    Raises
    ------
    CommandError
        If a file cannot be read, its grades are no numbers, a value is infinite, or it lacks a
        column that the first file has.
    """
    with in_one_line():
        if is_table(paths[0]):
            named = (roles.target, roles.query, roles.doc)
            parts = [read_table(path, *named) for path in paths]
            parts = _with_columns_of_first(parts, paths)
        else:
            parts = _equally_wide([read_letor(path, sparse=True) for path in paths])
    return [_graded(path, part) for path, part in zip(paths, parts, strict=True)]


def _with_columns_of_first(parts: list[RankingData], paths: Sequence[str]) -> list[RankingData]:
    columns = list(parts[0].X.columns)
    for part, path in zip(parts, paths, strict=True):
        missing = [name for name in columns if name not in list(part.X.columns)]
        if missing:
            raise CommandError(f"{path} lacks the column {missing[0]!r}, which {paths[0]} has")
    return [RankingData(part.X[columns], part.y, part.qid, part.docs) for part in parts]


def _equally_wide(parts: list[RankingData]) -> list[RankingData]:
    """Return the parts with as many columns as the widest: what a line leaves out is 0."""
    width = max(part.X.shape[1] for part in parts)
    first = parts[0].X
    few = first.nnz < _FEW * first.shape[0] * width
    return [RankingData(_as_wide(p.X, width, few), p.y, p.qid, p.docs) for p in parts]


def _as_wide(X: Any, width: int, few: bool) -> Any:
    wide = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
    return wide if few else wide.toarray()


def _graded(path: str, data: RankingData) -> Graded:
    with in_one_line(path):
        for _ in as_table(data.X, "raise").columns():
            # Values are looked at column by column: wrong ones are found now, not after training.
            pass
        return Graded(path, data, Lists(np.asarray(data.y), data.qid))
