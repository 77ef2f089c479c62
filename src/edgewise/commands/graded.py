"""The files that ``edgewise rank`` and ``apply`` read: documents, by the columns of training."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from edgewise.commands.errors import CommandError, in_one_line
from edgewise.common.text import counted
from edgewise.data import as_table
from edgewise.io import RankingData, read_letor, read_table
from edgewise.metrics import Lists

if TYPE_CHECKING:
    from edgewise.estimators import RankBoost

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
class Documents:
    """The documents of a file.

    Attributes
    ----------
    path : str
        The file.
    data : RankingData
        What it holds.
    """

    path: str
    data: RankingData

    def __str__(self) -> str:
        counts = counted(self.n_queries, "queries"), counted(len(self.data), "documents")
        return ", ".join(counts)

    @property
    def n_queries(self) -> int:
        """The number of queries; documents without any are those of one."""
        return 1 if self.data.qid is None else self.data.n_queries


@dataclass(frozen=True)
class Graded(Documents):
    """Documents with grades.

    Attributes
    ----------
    lists : Lists
        The grades by query.
    """

    lists: Lists

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return self.lists.n_queries


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


def read_for_model(path: str, roles: Roles, model: "RankBoost", name: str) -> Documents:
    """Read documents as a model takes them.

    Parameters
    ----------
    path : str
        A file of the kind that the model was trained on.
    roles : Roles
        Which columns of a table are no features.
    model : RankBoost
        Whose columns are read. A file of LETOR may leave out the last of them, which are 0 then.
    name : str
        The file of the model.

    Returns
    -------
    Documents
        They are `Graded` if the file is one of LETOR, or `roles` says which column holds grades.

    Raises
    ------
    CommandError
        If the file cannot be read, is of another kind, has a value that the model does not take,
        lacks a column of the model, or has more features if it is one of LETOR.
    """
    names = getattr(model, "feature_names_in_", None)
    _check_kind(path, name, named=names is not None)
    with in_one_line():
        if names is not None:
            _check_roles(roles, names.tolist(), name)
            part = read_table(path, roles.target, roles.query, roles.doc)
            part = _with_columns(part, path, names.tolist(), name)
        else:
            part = _of_width(read_letor(path, sparse=True), path, model.n_features_in_, name)
    if part.y is not None:
        return _graded(path, part, model.infinite)
    _check_values(path, part, model.infinite)
    return Documents(path, part)


def _check_kind(path: str, model: str, *, named: bool) -> None:
    if is_table(path) and not named:
        raise CommandError(
            f"{path} is a table and {model} knows its features by numbers: give a LETOR file"
        )
    if named and not is_table(path):
        raise CommandError(
            f"{path} is a LETOR file and {model} knows its features by names: give a table "
            f"({', '.join(TABLES)})"
        )


def _check_roles(roles: Roles, columns: list[str], model: str) -> None:
    for role, name in vars(roles).items():
        if name in columns:
            raise CommandError(f"--{role}: {model} has the column {name!r} for a feature")


def _with_columns_of_first(parts: list[RankingData], paths: Sequence[str]) -> list[RankingData]:
    columns = list(parts[0].X.columns)
    return [
        _with_columns(part, path, columns, paths[0])
        for part, path in zip(parts, paths, strict=True)
    ]


def _with_columns(part: RankingData, path: str, columns: list[str], whose: str) -> RankingData:
    there = set(part.X.columns)
    missing = [name for name in columns if name not in there]
    if missing:
        raise CommandError(f"{path} lacks the column {missing[0]!r}, which {whose} has")
    return RankingData(part.X[columns], part.y, part.qid, part.docs)


def _equally_wide(parts: list[RankingData]) -> list[RankingData]:
    """Return the parts with as many columns as the widest: what a line leaves out is 0."""
    width = max(part.X.shape[1] for part in parts)
    few = _is_sparse(parts[0].X, width)
    return [_widened(part, width, few) for part in parts]


def _of_width(part: RankingData, path: str, width: int, model: str) -> RankingData:
    n_features = part.X.shape[1]
    if n_features > width:
        raise CommandError(
            f"{path} has {n_features} features, more than {model}, which has {width}"
        )
    return _widened(part, width, _is_sparse(part.X, width))


def _is_sparse(X: Any, width: int) -> bool:
    return bool(X.nnz < _FEW * X.shape[0] * width)


def _widened(part: RankingData, width: int, few: bool) -> RankingData:
    X = part.X
    wide = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
    return RankingData(wide if few else wide.toarray(), part.y, part.qid, part.docs)


def _graded(path: str, data: RankingData, infinite: str = "raise") -> Graded:
    _check_values(path, data, infinite)
    with in_one_line(path):
        return Graded(path, data, Lists(np.asarray(data.y), data.qid))


def _check_values(path: str, data: RankingData, infinite: str) -> None:
    """Look at the values column by column: wrong ones are found now, not after training."""
    with in_one_line(path):
        for _ in as_table(data.X, infinite).columns():
            pass
