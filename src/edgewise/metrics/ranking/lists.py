"""Graded documents grouped by query: prepared once, ranked by any number of score vectors."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import numbers
from edgewise.common.dtypes import Exacts, Reals
from edgewise.common.ids import is_missing
from edgewise.metrics.ranking.ranked import Ranked

T = TypeVar("T")

# What metrics derive from the grades alone is kept between evaluations, but not without limit:
# each entry may hold a few numbers a row.
_MOST_PREPARED = 16


class Lists:
    """The grades of documents, grouped by query.

    All lists are written one after another, in the order of the sorted query ids; an index into
    that sequence is called a place. Which query a place belongs to, and its position in that
    query's list, depend on the sizes of the lists alone: scores only say which row stands there.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The grade of each document, a finite number; larger is more relevant.
    qid : array-like of shape (n_rows,) or None, default None
        The query of each document: integers, strings or anything else that can be sorted, in any
        order. None means that all rows are one list.

    Attributes
    ----------
    queries : ndarray of shape (n_queries,)
        The query ids, sorted: the order of all results per query.
    n_queries, n_rows : int
        How many lists and how many documents there are.
    grades, row_query : ndarray of shape (n_rows,)
        By row: the grade, and the index of the query in `queries`.
    sizes, starts : ndarray of shape (n_queries,)
        How many documents each list has, and its first place.
    query, position : ndarray of shape (n_rows,)
        By place: the index of the query, and the position in its list, from 1.

    Raises
    ------
    TypeError, ValueError
        If `y` or `qid` is not as described.

    Examples
    --------
    >>> from edgewise.metrics import Lists, average_precision
    >>> lists = Lists([1, 0, 0, 2, 0], qid=["b", "a", "b", "a", "a"])
    >>> lists
    Lists(n_rows=5, n_queries=2)
    >>> lists.queries.tolist()
    ['a', 'b']
    >>> average_precision(lists, [0.1, 0.9, 0.8, 0.7, 0.3], per_query=True)
    array([0.5, 0.5])
    """

    def __init__(self, y: ArrayLike, qid: ArrayLike | None = None) -> None:
        self.grades: Reals = numbers("y", y)
        self.n_rows = len(self.grades)
        if self.n_rows == 0:
            raise ValueError("y must hold at least one grade, got an empty array")
        if not np.isfinite(self.grades).all():
            raise ValueError("y must hold finite numbers, got NaN or infinity")
        self.queries, self.row_query = _coded(qid, self.n_rows)
        self.n_queries = len(self.queries)
        self.sizes: Exacts = np.bincount(self.row_query, minlength=self.n_queries)
        self.starts: Exacts = np.cumsum(self.sizes) - self.sizes
        self.query: Exacts = np.repeat(np.arange(self.n_queries), self.sizes)
        self.position: Exacts = np.arange(1, self.n_rows + 1) - self.starts[self.query]
        self._code_parts = _halves(self.row_query, self.n_queries)
        self._prepared: dict[Hashable, Any] = {}

    def __repr__(self) -> str:
        return f"Lists(n_rows={self.n_rows}, n_queries={self.n_queries})"

    def rank(self, scores: ArrayLike) -> Ranked:
        """List the documents of every query by falling score.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
            A score for each row, in the order of `y`; infinities are allowed, NaN is not.

        Returns
        -------
        Ranked
            The ranked lists, with the groups of documents whose scores are equal.

        Raises
        ------
        TypeError, ValueError
            If `scores` has the wrong length, or is not made of real numbers.

        Examples
        --------
        >>> from edgewise.metrics import Lists
        >>> ranked = Lists([1, 0, 2], qid=[7, 7, 3]).rank([0.5, 0.9, 0.1])
        >>> ranked.order.tolist(), ranked.position.tolist()
        ([2, 1, 0], [1, 1, 2])
        """
        values = numbers("scores", scores)
        if len(values) != self.n_rows:
            raise ValueError(
                f"scores must have a value for each of the {self.n_rows} rows, got {len(values)}"
            )
        if np.isnan(values).any():
            raise ValueError("scores must not hold NaN: a document without a score has no rank")
        order = np.argsort(-values)
        for part in self._code_parts:
            order = order[np.argsort(part[order], kind="stable")]
        return Ranked(self, order, values[order])

    def prepared(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` makes of these lists, made once for each `key`."""
        if key not in self._prepared:
            while len(self._prepared) >= _MOST_PREPARED:
                self._prepared.pop(next(iter(self._prepared)), None)
            self._prepared[key] = make()
        found: T = self._prepared[key]
        return found


def ranked_lists(y: ArrayLike | Lists, scores: ArrayLike, qid: ArrayLike | None) -> Ranked:
    """Return the lists of `y` and `qid` (or prepared ones, as `y`) ranked by `scores`."""
    if not isinstance(y, Lists):
        return Lists(y, qid).rank(scores)
    if qid is not None:
        raise ValueError("qid must be None where y is a Lists object, which has its queries")
    return y.rank(scores)


def _coded(qid: ArrayLike | None, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted query ids and, for each row, the index of its own."""
    if qid is None:
        return np.zeros(1, dtype=np.int64), np.zeros(n_rows, dtype=np.intp)
    # A list of words with a NaN among them would otherwise become the word "nan".
    values = np.array(qid, dtype=object) if isinstance(qid, list | tuple) else np.asarray(qid)
    if values.ndim != 1:
        raise ValueError(f"qid must be 1-D, got an array of shape {values.shape}")
    if len(values) != n_rows:
        raise ValueError(f"qid must have an id for each of the {n_rows} rows, got {len(values)}")
    if any(map(is_missing, values)) if values.dtype.kind == "O" else (values != values).any():
        raise ValueError("qid must not have missing values: every row belongs to a query")
    if values.dtype.kind != "O":
        return np.unique(values, return_inverse=True)
    try:
        seen: dict[Any, int] = {}
        codes = np.fromiter((seen.setdefault(v, len(seen)) for v in values), np.intp, n_rows)
        ids = sorted(seen)
    except TypeError as error:
        raise TypeError(f"qid must hold ids that can be sorted: {error}") from None
    new_code = np.empty(len(ids), dtype=np.intp)
    new_code[[seen[v] for v in ids]] = np.arange(len(ids))
    return np.array(ids), new_code[codes]


def _halves(codes: NDArray[np.intp], n_queries: int) -> tuple[NDArray[np.unsignedinteger], ...]:
    """Split query indices into 16-bit parts, lowest first: NumPy sorts those by radix, in O(n)."""
    if n_queries == 1:
        return ()
    if n_queries <= 1 << 8:
        return (codes.astype(np.uint8),)
    parts = []
    while True:
        parts.append((codes & 0xFFFF).astype(np.uint16))
        codes, n_queries = codes >> 16, ((n_queries - 1) >> 16) + 1
        if n_queries == 1:
            return tuple(parts)
