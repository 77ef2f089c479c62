"""TREC files: runs, which are ranked lists, and qrels, which are relevance judgments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import numbers, one_of
from edgewise.common.dtypes import REAL
from edgewise.common.files import PathLike, as_words, read_line_batches, replace_file
from edgewise.io.lines import LineError, as_integer, as_number, as_text, quote_word

_ORDERS: Final = ("score", "rank")


@dataclass(frozen=True, eq=False, repr=False)
class _QueryDocuments:
    """Rows of queries and documents."""

    queries: NDArray[np.str_]
    docs: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        name, n_queries = type(self).__name__, len(np.unique(self.queries))
        return f"{name}({len(self)} rows, {n_queries} queries)"


@dataclass(frozen=True, eq=False, repr=False)
class Run(_QueryDocuments):
    """The ranked lists of a system: one row per query and document, in file order.

    Attributes
    ----------
    queries, docs : ndarray of str
        The query id and document id of each row.
    ranks : ndarray of int
        The ranks in the file.
    scores : ndarray of float
        The scores; larger is better.
    tags : ndarray of str
        The name of the system.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.io import Run
    >>> q, d, tag = np.array(["q1", "q1"]), np.array(["a", "b"]), np.array(["me", "me"])
    >>> run = Run(q, d, np.array([1, 2]), np.array([0.5, 0.5]), tag)
    >>> run
    Run(2 rows, 1 queries)
    >>> run.positions(), run.positions(order="rank")
    (array([2, 1]), array([1, 2]))
    """

    ranks: NDArray[np.int64]
    scores: NDArray[np.float64]
    tags: NDArray[np.str_]

    def positions(self, order: str = "score") -> NDArray[np.int64]:
        """Return the position of each row in the list of its query, from 1.

        Parameters
        ----------
        order : {"score", "rank"}, default "score"
            With ``"score"``, rows are sorted as trec_eval sorts them: larger scores first and,
            among equal scores, larger document ids first. With ``"rank"``, they are sorted by the
            ranks in the file, equal ranks in file order.
        """
        one_of("order", order, _ORDERS)
        if order == "rank":
            return positions_by(self.queries, self.ranks)
        return positions_by(self.queries, -sorted_codes(self.docs), -self.scores)


@dataclass(frozen=True, eq=False, repr=False)
class Qrels(_QueryDocuments):
    """Relevance judgments: one row per query and document, in file order.

    Attributes
    ----------
    queries, docs : ndarray of str
        The query id and document id of each row.
    grades : ndarray of int
        The relevance grades; larger is better, below 0 means not judged.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.io import Qrels
    >>> Qrels(np.array(["q1"]), np.array(["a"]), np.array([2]))
    Qrels(1 rows, 1 queries)
    """

    grades: NDArray[np.int64]


def read_run(path: PathLike) -> Run:
    r"""Read a run: lines of ``query Q0 document rank score tag``.

    Empty lines and lines that start with ``#`` are ignored. A wrong line, or a document that a
    query has twice, raises ValueError, which names file and line.

    Parameters
    ----------
    path : str or path-like
        A file, plain or gzipped.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgewise.io import read_run
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "bm25.run"
    >>> _ = path.write_text("7 Q0 GX1 1 9.5 bm25\n7 Q0 GX2 2 8.25 bm25\n")
    >>> run = read_run(path)
    >>> run.docs, run.scores
    (array(['GX1', 'GX2'], dtype='<U3'), array([9.5 , 8.25]))
    """
    return Run(*_read_rows(path, _RUN, "line of a run"))


def write_run(
    path: PathLike, qid: ArrayLike, docs: ArrayLike, scores: ArrayLike, tag: str = "edgewise"
) -> None:
    r"""Write a run: queries in the order of their first rows, best documents first.

    Ranks start at 1 and are trec_eval's: among equal scores, larger document ids come first.

    Parameters
    ----------
    path : str or path-like
        Where to write; gzipped if it ends in ``.gz``.
    qid, docs : array-like of shape (n,)
        The query id and document id of each row: words or integers.
    scores : array-like of shape (n,)
        Larger is better.
    tag : str, default "edgewise"
        The name of the system.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgewise.io import write_run
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mine.run"
    >>> write_run(path, [7, 7], ["GX1", "GX2"], [0.5, 2], tag="mine")
    >>> path.read_text()
    '7 Q0 GX2 1 2.0 mine\n7 Q0 GX1 2 0.5 mine\n'
    """
    values = _numbers("scores", scores)
    queries, names = check_run(qid, docs, len(values))
    (label,) = as_words("tag", [tag]).tolist()
    _, first, codes = np.unique(queries, return_index=True, return_inverse=True)
    ranks = positions_by(queries, -sorted_codes(names), -values)
    with replace_file(path) as stream:
        for row in np.lexsort((ranks, first[codes])):
            score = repr(float(values[row]))
            line = f"{queries[row]} Q0 {names[row]} {ranks[row]} {score} {label}\n"
            stream.write(line.encode())


def read_qrels(path: PathLike) -> Qrels:
    r"""Read judgments: lines of ``query 0 document grade``, by the rules of :func:`read_run`.

    Parameters
    ----------
    path : str or path-like
        A file, plain or gzipped.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgewise.io import read_qrels
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "qrels.txt"
    >>> _ = path.write_text("7 0 GX1 2\n7 0 GX2 0\n")
    >>> read_qrels(path).grades
    array([2, 0])
    """
    return Qrels(*_read_rows(path, _QRELS, "judgment"))


def write_qrels(path: PathLike, qid: ArrayLike, docs: ArrayLike, grades: ArrayLike) -> None:
    r"""Write judgments, row by row.

    Parameters
    ----------
    path, qid, docs :
        As in :func:`write_run`.
    grades : array-like of shape (n,)
        Integers; larger is better.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgewise.io import write_qrels
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "qrels.txt"
    >>> write_qrels(path, [7, 7], ["GX1", "GX2"], [2, 0])
    >>> path.read_text()
    '7 0 GX1 2\n7 0 GX2 0\n'
    """
    values = _numbers("grades", grades)
    if not (np.isfinite(values).all() and (values % 1 == 0).all()):
        raise ValueError("grades must be integers")
    queries, names = check_run(qid, docs, len(values))
    with replace_file(path) as stream:
        for query, doc, grade in zip(
            queries.tolist(), names.tolist(), values.tolist(), strict=True
        ):
            stream.write(f"{query} 0 {doc} {int(grade)}\n".encode())


def _as_score(number: int, label: str, token: bytes) -> float:
    score = as_number(number, label, token)
    if score != score:
        raise LineError(number, "the score is NaN")
    return score


# The parser of each column and the type of its array; None ignores a column.
_Columns = dict[str, tuple[Callable[[int, str, bytes], Any], type] | None]
_RUN: Final[_Columns] = {
    "query": (as_text, np.str_),
    "Q0": None,
    "document": (as_text, np.str_),
    "rank": (as_integer, np.int64),
    "score": (_as_score, REAL),
    "tag": (as_text, np.str_),
}
_QRELS: Final[_Columns] = {
    "query": (as_text, np.str_),
    "0": None,
    "document": (as_text, np.str_),
    "grade": (as_integer, np.int64),
}


def _read_rows(path: PathLike, columns: _Columns, noun: str) -> list[NDArray[Any]]:
    """Return the parsed columns, or raise if a query has a document twice."""
    parsers = [(j, name, parser[0]) for j, (name, parser) in enumerate(columns.items()) if parser]
    cells: list[list[Any]] = [[] for _ in parsers]
    seen: set[tuple[bytes, bytes]] = set()
    try:
        for first, batch in read_line_batches(path):
            for number, line in enumerate(batch, first):
                fields = line.split()
                if not fields or fields[0].startswith(b"#"):
                    continue
                if len(fields) != len(columns):
                    expected = f"{len(columns)} ({' '.join(columns)})"
                    raise LineError(number, f"it has {len(fields)} columns, not {expected}")
                query, doc = pair = fields[0], fields[2]
                if pair in seen:
                    fault = f"document {quote_word(doc)} comes again for query {quote_word(query)}"
                    raise LineError(number, fault)
                seen.add(pair)
                for values, (j, name, parse) in zip(cells, parsers, strict=True):
                    values.append(parse(number, name, fields[j]))
    except LineError as error:
        raise ValueError(f"{path}, {error}") from None
    if not seen:
        raise ValueError(f"{path} is empty: it holds no {noun}")
    dtypes = [parser[1] for parser in columns.values() if parser]
    return [np.array(values, dtype) for values, dtype in zip(cells, dtypes, strict=True)]


def _numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = numbers(name, values)
    if not len(array):
        raise ValueError(f"{name} must not be empty")
    if np.isnan(array).any():
        raise ValueError(f"{name} must not be NaN, got one in row {int(np.isnan(array).argmax())}")
    return array


def check_run(
    qid: ArrayLike, docs: ArrayLike, n_rows: int | None = None
) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    """Return query and document ids as text, or raise if a run or qrels file cannot hold them."""
    n_rows = np.size(qid) if n_rows is None else n_rows
    queries = as_words("qid", qid, n_rows, without="#")
    names = as_words("docs", docs, n_rows)
    seen: set[tuple[str, str]] = set()
    for pair in zip(queries.tolist(), names.tolist(), strict=True):
        if pair in seen:
            raise ValueError(
                f"docs must be different for a query, got {pair[1]!r} twice for {pair[0]!r}"
            )
        seen.add(pair)
    return queries, names


def sorted_codes(values: NDArray[np.str_]) -> NDArray[np.int64]:
    """Return the index of each value among the sorted ones."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def positions_by(queries: NDArray[np.str_], *keys: NDArray) -> NDArray[np.int64]:
    """Return the position of each row within its query, from 1; the last key counts most."""
    codes = sorted_codes(queries)
    order = np.lexsort((*keys, codes))
    starts = np.searchsorted(codes[order], codes[order])
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = np.arange(len(order)) - starts + 1
    return positions
