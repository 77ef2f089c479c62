"""Ranked lists of documents: what several searches returned for the same queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import flag, one_of
from edgewise.common.dtypes import Columns, Reals
from edgewise.fusion.checks import as_ids, as_matrix, as_names, check_docs, matching_scores
from edgewise.fusion.entries import ListedRun, from_frame, from_frame_mapping, from_run, gather
from edgewise.fusion.queries import Queries


@dataclass(frozen=True, eq=False, repr=False)
class RankedLists:
    """Positions of documents on several lists, for many queries.

    A row is a document for a query, a column is a list. The rows may be in any order, and a query
    may have documents that no list returns. All arrays are read-only.

    Parameters
    ----------
    positions : array-like or data frame of shape (n_rows, n_lists)
        Place of the document on the list, 1 at the top; NaN where the list does not return it
        ("unranked", Iyer 1999 section 5.1). They are kept as they are: lists of which only some
        documents are at hand have gaps, documents that are tied share a position.
    qid : array-like of shape (n_rows,)
        Id of the query of each row: integers or strings.
    scores : array-like or data frame of shape (n_rows, n_lists), optional
        What the lists were sorted by, larger being better; NaN where `positions` is.
    docs : array-like of shape (n_rows,), optional
        Id of the document of each row, different within a query.
    names : sequence of str, optional
        Names of the lists; by default the columns of the frame, or list0, list1, ...

    Raises
    ------
    TypeError, ValueError
        If an argument is empty, of a wrong shape or type, or has values that it cannot have.

    Examples
    --------
    Two lists; the second does not return the last document:

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
        positions, columns = as_matrix(self.positions, "positions")
        if (positions < 1).any():
            least = positions[positions < 1].min()
            raise ValueError(f"positions must be at least 1, the top of a list, got {least:g}")
        self._set("positions", positions)
        self._set("qid", as_ids(self.qid, "qid", len(positions)))
        if self.scores is not None:
            self._set("scores", matching_scores(self.scores, positions))
        if self.docs is not None:
            self._set("docs", as_ids(self.docs, "docs", len(positions)))
            check_docs(self.docs, self.qid, self.queries.codes)
        object.__setattr__(self, "names", as_names(self.names, columns, positions.shape[1]))

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
        """Count the documents that each list returns for each query.

        Returns
        -------
        ndarray of shape (n_queries, n_lists)
            The counts, in the order of ``queries.ids``; ``[lists.queries.codes]`` spreads them
            over the rows.

        Examples
        --------
        >>> RankedLists([[1, None], [2, 1], [1, None]], qid=["a", "a", "b"]).n_returned()
        array([[2, 1],
               [1, 0]])
        """
        return self.queries.reduce(np.add, self.returned.astype(np.intp))

    def lengths(self) -> Reals:
        """Tell how long each list is for each query, as far as its rows show.

        That is the number of documents that it returns, or its last position where that is more:
        a list of which only some documents are at hand has gaps.

        Returns
        -------
        ndarray of shape (n_queries, n_lists)
            The lengths, 0 where a list returns nothing.

        Examples
        --------
        >>> RankedLists([[1, 17], [2, 40], [3, None]], qid=[1, 1, 1]).lengths()
        array([[ 3., 40.]])
        """
        last = self.queries.reduce(np.maximum, np.where(self.returned, self.positions, 0.0))
        return np.maximum(last, self.n_returned())

    def take(self, rows: Sequence[int] | NDArray[Any]) -> "RankedLists":
        """Return the lists of some rows, by number or by a mask; positions stay as they are.

        Examples
        --------
        >>> lists = RankedLists([[1], [2], [1]], qid=["a", "a", "b"])
        >>> lists.take(lists.qid == "a")
        RankedLists(n_rows=2, n_queries=1, names=('list0',))
        """
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
        """Read lists from a long frame, or from one frame a list: one row for each entry.

        Where there is a column of ranks, they are the positions; where there is none, documents
        are ranked by their scores, ties at the mean of their positions. A missing rank (or score,
        without ranks) means that the list does not return the document. The result has one row for
        each query and document of any list, sorted by both.

        Parameters
        ----------
        frames : data frame, or mapping of str to data frame
            pandas, polars or Arrow. One frame needs a column that says which list an entry is of;
            in a mapping the keys are the names of the lists.
        query, doc, list : str
            Columns of the ids. Lists of one frame are in the order of their names.
        rank, score : str
            Columns of the ranks and of the scores, larger being better; one of them may be absent.

        Raises
        ------
        TypeError, ValueError
            If a column or an id is missing, a rank is below 1, or a list has a document twice for
            the same query.

        Examples
        --------
        >>> import pandas as pd
        >>> from edgewise.fusion import RankedLists
        >>> frame = pd.DataFrame(
        ...     [("q", "x", "A", 1), ("q", "y", "A", 2), ("q", "y", "B", 1)],
        ...     columns=["query", "doc", "list", "rank"],
        ... )
        >>> lists = RankedLists.from_frames(frame)
        >>> lists.names, lists.docs
        (('A', 'B'), array(['x', 'y'], dtype='<U1'))
        >>> lists.positions
        array([[ 1., nan],
               [ 2.,  1.]])
        """
        if isinstance(frames, Mapping):
            entries = from_frame_mapping(frames, query, doc, rank, score)
        else:
            entries = from_frame(frames, query, doc, list, rank, score)
        return cls(**gather(entries, "frames"))

    @classmethod
    def from_runs(cls, runs: Mapping[str, ListedRun], *, order: str = "score") -> "RankedLists":
        """Read lists from TREC runs: objects with arrays queries, docs, ranks and scores.

        Within a query documents are sorted as trec_eval does, by descending score and among equal
        scores by descending id (as text); their positions are 1, 2, 3, ... The result has one row
        for each query and document of any run, sorted by both.

        Parameters
        ----------
        runs : mapping of str to run
            The runs by the names of their lists.
        order : {"score", "rank"}, default "score"
            With "rank", documents are sorted by ascending rank in place of the score (trec_eval
            never looks at it). The ranks may begin at 0 and have gaps.

        Raises
        ------
        TypeError, ValueError
            If a run is empty or lacks a value, or has a document twice for the same query.

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
        return cls(**gather({str(n): from_run(r, str(n), order) for n, r in runs.items()}, "runs"))

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

        Values that are equal get the mean of the positions that they take together, so that the
        order of the rows does not matter.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_lists)
            Scores, or ranks, or distances; NaN where a list does not return a document.
        qid, docs, names : see the class
            Ids of queries and documents, and names of the lists.
        larger_is_better : bool, default True
            Whether a large value belongs at the top. If not, `X` holds ranks or the like: only
            their order is used, and the result carries no scores. To keep ranks with gaps as they
            are, pass them to the class as `positions`.

        Raises
        ------
        TypeError, ValueError
            If an argument is empty, of a wrong shape or type, or has values that it cannot have.

        Examples
        --------
        >>> RankedLists.from_scores([[0.9], [0.3], [0.3], [None]], qid=[1, 1, 1, 1]).positions.T
        array([[1. , 2.5, 2.5, nan]])
        """
        values, columns = as_matrix(X, "X")
        ids = as_ids(qid, "qid", len(values))
        upward = flag("larger_is_better", larger_is_better)
        positions = Queries.of(ids).positions(values if upward else -values)
        known = as_names(names, columns, values.shape[1])
        return cls(positions, ids, values if upward else None, docs, known)

    def _set(self, name: str, array: NDArray[Any]) -> None:
        """Store a read-only view, which leaves the caller's own array as it is."""
        view = array.view()
        view.flags.writeable = False
        object.__setattr__(self, name, view)
