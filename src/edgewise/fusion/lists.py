"""Ranked lists of documents, from several searches for the same queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import finite_numbers, flag, numbers, one_of
from edgewise.common.dtypes import REAL, Columns, Reals
from edgewise.common.ids import as_ids
from edgewise.common.text import id_text
from edgewise.data.table import is_frame
from edgewise.fusion.queries import Queries
from edgewise.io.trec import Run, positions_by, sorted_codes
from edgewise.metrics.runs import query_document_values


@dataclass(frozen=True, eq=False, repr=False)
class RankedLists:
    """Positions of documents on several lists, for many queries.

    A row is a document for a query, a column is a list. Rows may be in any order, and documents on
    no list. All arrays are read-only.

    Parameters
    ----------
    positions : array-like or data frame of shape (n_rows, n_lists)
        Position of the document on the list, 1 at the top; NaN where the list does not return it
        ("unranked", Iyer 1999 section 5.1). Gaps and shared positions are allowed.
    qid : array-like of shape (n_rows,)
        Query id of each row: integers or strings.
    scores : array-like or data frame of shape (n_rows, n_lists), or None, default None
        Scores that the lists are sorted by, larger is better; NaN where `positions` is.
    docs : array-like of shape (n_rows,) or None, default None
        Document id of each row, different within a query.
    names : sequence of str, default ()
        Names of the lists; by default the columns of the frame, or list0, list1, ...

    Examples
    --------
    >>> from edgewise.fusion import RankedLists
    >>> lists = RankedLists([[1, 2], [2, 1], [3, None]], qid=[7, 7, 7])
    >>> lists
    RankedLists(n_rows=3, n_queries=1, names=('list0', 'list1'))
    >>> lists.features
    array([[-1., -2.],
           [-2., -1.],
           [-3., nan]])
    """

    positions: Reals
    qid: NDArray[Any]
    scores: Reals | None = None
    docs: NDArray[Any] | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        positions, columns = _matrix(self.positions, "positions")
        if (positions < 1).any():
            smallest = positions[positions < 1].min()
            raise ValueError(f"positions must be at least 1, the top of a list, got {smallest:g}")
        self._set("positions", positions)
        self._set("qid", as_ids("qid", self.qid, len(positions), floats=True))
        if self.scores is not None:
            self._set("scores", _matching_scores(self.scores, positions))
        if self.docs is not None:
            self._set("docs", as_ids("docs", self.docs, len(positions), floats=True))
            repeated = _find_repeat(_pair_numbers(self.qid, self.docs))
            if repeated is not None:
                raise ValueError(
                    f"docs must be different within a query, got {self.docs[repeated]} twice for "
                    f"query {self.qid[repeated]}"
                )
        object.__setattr__(self, "names", _names(self.names, columns, positions.shape[1]))

    def __repr__(self) -> str:
        n_queries = len(self.queries.ids)
        return f"RankedLists(n_rows={len(self)}, n_queries={n_queries}, names={self.names!r})"

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def n_lists(self) -> int:
        """Number of lists."""
        return self.positions.shape[1]

    @property
    def features(self) -> Reals:
        """Ranking features of Iyer 1999 section 5.1: minus the position, NaN where unranked."""
        return -self.positions

    @cached_property
    def returned(self) -> NDArray[np.bool_]:
        """Whether each list returns each document, of shape (n_rows, n_lists)."""
        return ~np.isnan(self.positions)

    @cached_property
    def queries(self) -> Queries:
        """The rows grouped by query: ids (ascending), codes, order and starts."""
        return Queries.of(self.qid)

    def n_returned(self) -> Columns:
        """Count the documents that each list returns for each query of ``queries.ids``."""
        return self.queries.reduce(np.add, self.returned.astype(np.intp))

    def lengths(self) -> Reals:
        """Return the number of documents of each list for each query, or its last position."""
        # The larger, as a list may have gaps.
        last = self.queries.reduce(np.maximum, np.where(self.returned, self.positions, 0.0))
        return np.maximum(last, self.n_returned())

    def take(self, rows: Sequence[int] | NDArray[Any]) -> "RankedLists":
        """Return the lists of some rows, by number or by a mask; positions stay as they are."""
        index = np.asarray(rows)
        scores = None if self.scores is None else self.scores[index]
        docs = None if self.docs is None else self.docs[index]
        return RankedLists(self.positions[index], self.qid[index], scores, docs, self.names)

    @classmethod
    def from_frames(
        cls,
        frames: Any,
        *,
        query: str = "query",
        doc: str = "doc",
        list: str = "list",
        rank: str = "rank",
        score: str = "score",
    ) -> "RankedLists":
        """Read lists from one long frame, or from one frame per list.

        Without a column of ranks, documents are ranked by score, with ties at their mean position.
        A missing rank (or score) means that the list does not return the document. The result has
        one row per query and document, sorted by both.

        Parameters
        ----------
        frames : data frame, or mapping of str to data frame
            pandas, polars or Arrow; the keys of a mapping are the names of the lists.
        query, doc, list : str
            Columns with query ids, document ids and names of lists. Lists are sorted by name.
        rank, score : str
            Columns with ranks and scores, larger is better; one of them may be absent.

        Examples
        --------
        >>> import pandas as pd
        >>> from edgewise.fusion import RankedLists
        >>> frame = pd.DataFrame(
        ...     [("q", "x", "A", 1), ("q", "y", "A", 2), ("q", "y", "B", 1)],
        ...     columns=["query", "doc", "list", "rank"],
        ... )
        >>> RankedLists.from_frames(frame).positions
        array([[ 1., nan],
               [ 2.,  1.]])
        """
        if isinstance(frames, Mapping):
            tables = {
                str(name): _read_frame(frame, f"frames[{str(name)!r}]", query, doc)
                for name, frame in frames.items()
            }
        else:
            table = _read_frame(frames, "frames", list, query, doc)
            ids = as_ids(f"frames[{list!r}]", table[list].to_list(), floats=True)
            tables = {str(name): table.filter((ids == name).tolist()) for name in np.unique(ids)}
        if not tables:
            raise ValueError("frames must not be empty, got a mapping without lists")
        entries = {
            name: _frame_entries(table, name, query, doc, rank, score)
            for name, table in tables.items()
        }
        without = [name for name in entries if entries[name].scores is None]
        if without and len(without) < len(entries):
            raise ValueError(
                f"frames must all have a column {score!r} or none of them, "
                f"but frames[{without[0]!r}] has none"
            )
        return cls(**_join_entries(entries, "frames"))

    @classmethod
    def from_runs(cls, runs: Mapping[str, Run], *, order: str = "score") -> "RankedLists":
        """Read lists from TREC runs: objects with arrays queries, docs, ranks and scores.

        Documents are sorted as trec_eval does, by descending score and among equal scores by
        descending id (as text). The result has one row for each query and document, sorted by both.

        Parameters
        ----------
        runs : mapping of str to run
            The runs by the names of their lists.
        order : {"score", "rank"}, default "score"
            With "rank", documents are sorted by rank instead (trec_eval ignores it). Ranks may
            start at 0 and have gaps.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> from edgewise.fusion import RankedLists
        >>> run = SimpleNamespace(
        ...     queries=["q"] * 3, docs=["x", "y", "z"], ranks=[0, 1, 2], scores=[5.0, 2.0, 5.0]
        ... )
        >>> RankedLists.from_runs({"bm25": run}).positions.T     # z before x: the larger id
        array([[2., 3., 1.]])
        >>> RankedLists.from_runs({"bm25": run}, order="rank").positions.T
        array([[1., 2., 3.]])
        """
        if not isinstance(runs, Mapping) or not runs:
            raise ValueError(f"runs must be a mapping of names to runs, got {runs!r}")
        one_of("order", order, ("score", "rank"))
        entries = {str(name): _run_entries(run, name, order) for name, run in runs.items()}
        return cls(**_join_entries(entries, "runs"))

    @classmethod
    def from_scores(
        cls,
        X: Any,
        qid: Any,
        docs: Any = None,
        names: Sequence[str] | None = None,
        larger_is_better: bool = True,
    ) -> "RankedLists":
        """Rank the documents of each query by each column of a matrix.

        Equal values get the mean of their positions, so the order of the rows does not matter.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_lists)
            Scores, or ranks, or distances; NaN where a list does not return a document.
        qid, docs, names :
            As in the class.
        larger_is_better : bool, default True
            Whether larger values are better. If not, `X` holds ranks or distances: only their
            order counts, and the result has no scores. To keep ranks with gaps, pass them to the
            class as `positions`.

        Examples
        --------
        >>> RankedLists.from_scores([[0.9], [0.3], [0.3], [None]], qid=[1, 1, 1, 1]).positions.T
        array([[1. , 2.5, 2.5, nan]])
        """
        values, columns = _matrix(X, "X")
        ids = as_ids("qid", qid, len(values), floats=True)
        upward = flag("larger_is_better", larger_is_better)
        positions = Queries.of(ids).positions(values if upward else -values)
        known = _names(names, columns, values.shape[1])
        return cls(positions, ids, values if upward else None, docs, known)

    def _set(self, name: str, array: NDArray[Any]) -> None:
        """Store a read-only view; the caller's array stays writable."""
        view = array.view()
        view.flags.writeable = False
        object.__setattr__(self, name, view)


class ListEntries(NamedTuple):
    """Entries of lists; a position of NaN means that the list does not return the document."""

    queries: NDArray[Any]
    docs: NDArray[Any]
    positions: Reals
    scores: Reals | None


def _run_entries(run: Run, name: str, order: str) -> ListEntries:
    name = f"runs[{name!r}]"
    for attribute in ("queries", "docs", "ranks", "scores"):
        if not hasattr(run, attribute):
            raise TypeError(f"{name} must have queries, docs, ranks and scores; no {attribute}")
    queries = as_ids(f"{name}.queries", run.queries, floats=True)
    if not len(queries):
        raise ValueError(f"{name} must not be empty")
    docs = as_ids(f"{name}.docs", run.docs, floats=True)
    scores = finite_numbers(f"{name}.scores", run.scores)
    keys = -scores if order == "score" else finite_numbers(f"{name}.ranks", run.ranks)
    if not len(queries) == len(docs) == len(scores) == len(keys):
        raise ValueError(f"{name} must have arrays of the same length")
    positions = positions_by(queries, -sorted_codes(docs.astype(np.str_)), keys)
    return ListEntries(queries, docs, positions.astype(REAL), scores)


def _read_frame(frame: Any, name: str, *columns: str) -> Any:
    """Return a data frame through narwhals, or raise if it is empty or lacks one of the columns."""
    import narwhals.stable.v1 as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TypeError(
            f"{name} must be a data frame in memory (pandas, polars or Arrow), "
            f"got {type(frame).__name__}"
        ) from None
    if not len(table):
        raise ValueError(f"{name} must not be empty")
    for column in columns:
        if column not in table.columns:
            raise ValueError(f"{name} must have a column {column!r}, got {list(table.columns)}")
    return table


def _frame_entries(
    table: Any, list_name: str, query: str, doc: str, rank: str, score: str
) -> ListEntries:
    def label(column: str) -> str:
        return f"frames[{list_name!r}][{column!r}]"

    queries = as_ids(label(query), table[query].to_list(), floats=True)
    docs = as_ids(label(doc), table[doc].to_list(), floats=True)
    scores = _as_reals(table[score], label(score)) if score in table.columns else None
    if scores is not None and np.isinf(scores).any():
        raise ValueError(f"{label(score)} must be finite")
    if rank not in table.columns:
        if scores is None:
            raise ValueError(
                f"frames[{list_name!r}] must have a column {rank!r} or {score!r}, got "
                f"{table.columns}"
            )
        positions = Queries.of(queries).positions(scores[:, None])[:, 0]
        return ListEntries(queries, docs, positions, scores)
    positions = _as_reals(table[rank], label(rank))
    low = positions[(positions < 1) | np.isinf(positions)]
    if len(low):
        raise ValueError(f"{label(rank)} must be at least 1, the top of a list, got {low[0]:g}")
    if scores is not None:
        if (np.isnan(scores) & ~np.isnan(positions)).any():
            raise ValueError(f"{label(score)} must not be missing where there is a rank")
        scores = np.where(np.isnan(positions), np.nan, scores)
    return ListEntries(queries, docs, positions, scores)


def _join_entries(entries: Mapping[str, ListEntries], argument: str) -> dict[str, Any]:
    """Return the arguments of `RankedLists`, with one row per query and document."""
    names, lists = list(entries), list(entries.values())
    for name in ("queries", "docs"):
        if len({getattr(entry, name).dtype.kind for entry in lists}) > 1:
            raise ValueError(f"{argument}: {name} must be all numbers or all strings, got both")
    queries = np.concatenate([entry.queries for entry in lists])
    docs = np.concatenate([entry.docs for entry in lists])
    codes = np.repeat(np.arange(len(lists)), [len(entry.queries) for entry in lists])
    _, first, rows = np.unique(_pair_numbers(queries, docs), return_index=True, return_inverse=True)
    repeated = _find_repeat(rows * len(lists) + codes)
    if repeated is not None:
        raise ValueError(
            f"{argument}: list {names[codes[repeated]]!r} must have a document once, got "
            f"{docs[repeated]} twice for query {queries[repeated]}"
        )

    def tabulate(columns: list[Reals]) -> Reals:
        matrix = np.full((len(first), len(lists)), np.nan, dtype=REAL)
        matrix[rows, codes] = np.concatenate(columns)
        return matrix

    scores = [entry.scores for entry in lists if entry.scores is not None]
    return {
        "positions": tabulate([entry.positions for entry in lists]),
        "qid": queries[first],
        "scores": tabulate(scores) if scores else None,
        "docs": docs[first],
        "names": names,
    }


def _pair_numbers(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.int64]:
    """Return one number for each different pair."""
    right = sorted_codes(second)
    return sorted_codes(first) * (int(right.max(initial=0)) + 1) + right


def _find_repeat(keys: NDArray[Any]) -> int | None:
    """Return the index of a key that occurs before it, None if all are different."""
    order = np.argsort(keys, kind="stable")
    twice = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    return int(order[twice[0] + 1]) if len(twice) else None


def _as_reals(series: Any, name: str) -> Reals:
    """Return a narwhals series of numbers as float64, missing values as NaN."""
    import narwhals.stable.v1 as nw

    try:
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=REAL)
    except Exception as error:  # each library of frames has its own
        raise TypeError(f"{name} must hold numbers: {error}") from None


def _matrix(values: Any, name: str) -> tuple[Reals, tuple[str, ...]]:
    """Return a matrix of finite numbers and NaN, and the names of its columns if it is a frame."""
    names: tuple[str, ...] = ()
    if is_frame(values):
        import narwhals.stable.v1 as nw

        frame = nw.from_native(values, eager_only=True)
        names = tuple(str(column) for column in frame.columns)
        columns = [_as_reals(frame[column], f"{name}[{column!r}]") for column in frame.columns]
        matrix = np.column_stack(columns) if columns else np.empty((len(frame), 0))
    else:
        try:
            matrix = np.asarray(values, dtype=REAL)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must be a matrix of numbers: {error}") from None
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(
            f"{name} must be a matrix of rows by lists, not empty, got the shape {matrix.shape}"
        )
    if np.isinf(matrix).any():
        raise ValueError(f"{name} must be finite, or NaN where a list does not return a document")
    return matrix, names


def _matching_scores(scores: Any, positions: Reals) -> Reals:
    """Return scores that are NaN just where the positions are, or raise."""
    matrix, _ = _matrix(scores, "scores")
    if matrix.shape != positions.shape:
        raise ValueError(
            f"scores must have the shape of positions, {positions.shape}, got {matrix.shape}"
        )
    differs = np.isnan(matrix) != np.isnan(positions)
    if differs.any():
        row, column = np.argwhere(differs)[0]
        raise ValueError(
            f"scores must be NaN exactly where positions are; row {row} of list {column} differs"
        )
    return matrix


def _names(names: Sequence[str] | None, columns: tuple[str, ...], n_lists: int) -> tuple[str, ...]:
    """Return the names of the lists, by default the columns of a frame or numbers."""
    if isinstance(names, str):
        raise TypeError(f"names must be a sequence of names, got the string {names!r}")
    resolved = () if names is None else tuple(str(name) for name in names)
    resolved = resolved or columns or tuple(f"list{j}" for j in range(n_lists))
    if len(resolved) != n_lists:
        raise ValueError(f"names must have one name per list, {n_lists}, got {len(resolved)}")
    if len(set(resolved)) < n_lists:
        raise ValueError(f"names must be different, got {resolved}")
    return resolved


def grades_of(lists: RankedLists, judgments: Any) -> Reals:
    """Return the grade of each row of lists.

    Parameters
    ----------
    lists : RankedLists
        The lists.
    judgments : array-like of shape (n_rows,), Qrels, path, dict or data frame
        A grade for each row; or judgments by query and document, in any form that
        :func:`edgewise.metrics.evaluate` takes. Documents without a judgment, or with a grade below
        0, have grade 0.

    Examples
    --------
    >>> from edgewise.fusion import RankedLists, grades_of
    >>> lists = RankedLists([[1], [2]], qid=["q", "q"], docs=["x", "y"])
    >>> grades_of(lists, {"q": {"y": 2, "z": 1}})
    array([0., 2.])
    """
    is_path_or_dict = isinstance(judgments, (str, PathLike, Mapping))
    if is_path_or_dict or hasattr(judgments, "grades") or is_frame(judgments):
        if lists.docs is None:
            raise ValueError("lists must have docs, to look up their judgments")
        queries, docs, values = query_document_values(judgments, "judgments", "grade")
        pairs = zip(queries.tolist(), docs.tolist(), strict=True)
        grade_of = dict(zip(pairs, np.maximum(values, 0.0).tolist(), strict=True))
        rows = list(
            zip(map(id_text, lists.qid.tolist()), map(id_text, lists.docs.tolist()), strict=True)
        )
        if grade_of.keys().isdisjoint(rows):
            raise ValueError("judgments name none of the documents of the lists")
        return np.array([grade_of.get(row, 0.0) for row in rows])
    return numbers("judgments", judgments, len(lists))
