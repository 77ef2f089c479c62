"""Graded documents grouped by query, their rankings with ties, and which of them are relevant."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from inspect import Parameter, signature
from numbers import Real
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import finite_numbers, flag, integer, numbers
from edgewise.common.dtypes import Exacts, Reals
from edgewise.common.ids import is_missing

T = TypeVar("T")
RelevantOption: TypeAlias = float | Literal["top"] | None
EmptyOption: TypeAlias = float | Literal["skip"]
Cutoffs: TypeAlias = int | Sequence[int]
"""One cutoff or several; a metric's own function sees one."""
PerQuery: TypeAlias = tuple[Reals, NDArray[np.bool_]]
"""The value of each query, and which of them are defined."""

# Each cached entry may hold a few numbers a row, so only the latest are kept.
_MAX_CACHED = 16


class Lists:
    """The grades of documents, grouped by query.

    All lists are written one after another, in the order of the sorted query ids; an index into
    that sequence is called a slot. The query of a slot and its position in that query's list
    depend on the sizes of the lists alone; scores determine the row at each slot.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The grade of each document, a finite number; larger is more relevant.
    qid : array-like of shape (n_rows,) or None, default None
        The query of each document: integers, strings or anything else that can be sorted, in any
        order. None puts all rows into one list.
    returned : bool array of shape (n_rows,) or None, default None
        False for a document that the ranker did not return. It has no rank and adds nothing to a
        metric, but still counts as a document that should have been returned. None: all True.
    judged : bool array of shape (n_rows,) or None, default None
        False for a document that nobody judged, whose grade counts as 0; only :func:`bpref` treats
        it unlike a document that was judged not relevant. None: all True.

    Attributes
    ----------
    queries : ndarray of shape (n_queries,)
        The sorted query ids: the order of all results per query.
    grades, row_query : ndarray of shape (n_rows,)
        By row: the grade, and the index of the query in `queries`.
    sizes, starts : ndarray of shape (n_queries,)
        The number of documents of each list, and its first slot.
    query, position : ndarray of shape (n_rows,)
        By slot: the index of the query, and the position in its list, from 1.

    Examples
    --------
    >>> from edgewise.metrics import Lists, mean_average_precision
    >>> lists = Lists([1, 0, 0, 2, 0], qid=["b", "a", "b", "a", "a"])
    >>> lists.queries.tolist()
    ['a', 'b']
    >>> mean_average_precision(lists, [0.1, 0.9, 0.8, 0.7, 0.3], per_query=True)
    array([0.5, 0.5])
    """

    def __init__(
        self,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        returned: NDArray[np.bool_] | None = None,
        judged: NDArray[np.bool_] | None = None,
    ) -> None:
        self.grades: Reals = finite_numbers("y", y)
        self.n_rows = len(self.grades)
        self.queries, self.row_query = _encode_queries(qid, self.n_rows)
        self.returned = _flags("returned", returned, self.n_rows)
        self.judged = _flags("judged", judged, self.n_rows)
        self.n_queries = len(self.queries)
        self.sizes: Exacts = np.bincount(self.row_query, minlength=self.n_queries)
        self.starts: Exacts = np.cumsum(self.sizes) - self.sizes
        self.query: Exacts = np.repeat(np.arange(self.n_queries), self.sizes)
        self.position: Exacts = np.arange(1, self.n_rows + 1) - self.starts[self.query]
        self._code_digits = _split_digits(self.row_query, self.n_queries)
        self._cache: dict[Hashable, Any] = {}

    def __repr__(self) -> str:
        return f"Lists(n_rows={self.n_rows}, n_queries={self.n_queries})"

    def rank(self, scores: ArrayLike) -> Ranked:
        """Sort the documents of every query by descending score, which must not be NaN."""
        values = numbers("scores", scores, self.n_rows)
        if np.isnan(values).any():
            raise ValueError("scores must not hold NaN: a document without a score has no rank")
        return self._sort(values, self.returned)

    def ideal(self) -> Ranked:
        """Sort the documents of every query by grade, whether they were returned or not."""
        return self._sort(self.grades, None)

    def _sort(self, values: Reals, returned: NDArray[np.bool_] | None) -> Ranked:
        if returned is not None:
            values = np.where(returned, values, -np.inf)
        order = np.argsort(-values)
        if returned is not None:
            order = order[np.argsort(~returned[order], kind="stable")]
        for code_digits in self._code_digits:
            order = order[np.argsort(code_digits[order], kind="stable")]
        return Ranked(self, order, values[order], None if returned is None else returned[order])

    def in_top(self, k: int | None) -> Reals:
        """Return, by slot, 1 down to position `k` and 0 below; None is the whole list."""
        return (self.position <= (self.n_rows if k is None else k)).astype(np.float64)

    def compute_once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` derives from these lists, computed once for each `key`."""
        if key not in self._cache:
            while len(self._cache) >= _MAX_CACHED:
                self._cache.pop(next(iter(self._cache)), None)
            self._cache[key] = make()
        value: T = self._cache[key]
        return value


@dataclass(eq=False, repr=False)
class Ranked:
    """The documents of every list by descending score, as :meth:`Lists.rank` returns them.

    Documents with equal scores form a tie group and stand in it in an arbitrary order; metrics
    take the expectation over all orders of the group. `order`, `scores` and `returned` have the row
    at each slot, its score, and whether it was returned; documents not returned end their lists.

    Examples
    --------
    >>> from edgewise.metrics import Lists
    >>> ranked = Lists([1, 0, 2, 0]).rank([0.5, 0.9, 0.5, 0.1])
    >>> ranked.group_starts.tolist(), ranked.group_sizes.tolist(), ranked.has_ties
    ([0, 1, 3], [1, 2, 1], True)
    """

    lists: Lists
    order: NDArray[np.intp]
    scores: Reals
    returned: NDArray[np.bool_] | None = None

    @cached_property
    def group_starts(self) -> NDArray[np.intp]:
        """The first slot of each tie group; an untied document is a group of its own."""
        begins = np.empty(len(self.scores), dtype=bool)
        np.not_equal(self.scores[1:], self.scores[:-1], out=begins[1:])
        if self.returned is not None:
            begins[1:] |= self.returned[1:] != self.returned[:-1]
        begins[self.lists.starts] = True
        return np.flatnonzero(begins)

    @property
    def has_ties(self) -> bool:
        """Whether any two documents of a list have the same score."""
        return len(self.group_starts) < len(self.scores)

    @cached_property
    def group_sizes(self) -> Exacts:
        """The number of documents of each tie group."""
        return np.diff(self.group_starts, append=len(self.scores))

    @cached_property
    def group_query(self) -> Exacts:
        """The index of each tie group's query."""
        return self.lists.query[self.group_starts]

    @cached_property
    def group_before(self) -> Exacts:
        """The number of documents of its list that stand above each tie group."""
        return self.lists.position[self.group_starts] - 1

    @cached_property
    def first_groups(self) -> NDArray[np.intp]:
        """The first tie group of each list."""
        return np.searchsorted(self.group_starts, self.lists.starts)

    def by_slot(self, values: Reals) -> Reals:
        """Return values given by row in the order of slots, 0 for documents not returned."""
        ordered = values[self.order]
        return ordered if self.returned is None else np.where(self.returned, ordered, 0.0)

    def row_sums(self, values: Reals) -> Reals:
        """Sum values given by row over each tie group."""
        return self.slot_sums(self.by_slot(values))

    def slot_sums(self, values: Reals) -> Reals:
        """Sum values given by slot over each tie group."""
        return np.add.reduceat(values, self.group_starts) if self.has_ties else values

    def list_sums(self, values: Reals) -> Reals:
        """Sum values given by tie group over each list."""
        return np.add.reduceat(values, self.first_groups)

    def sums_above(self, counts: Reals) -> Reals:
        """Sum whole numbers given by tie group over the groups of the list that stand above."""
        above = np.cumsum(counts) - counts
        return above - above[self.first_groups][self.group_query]

    def weighted_sums(self, values: Reals, weights: Reals) -> Reals:
        """Return the expected sum, by list, of values by row times weights by slot.

        Every document of a tie group is equally likely at each of its slots, so every slot has
        the mean value of the group.
        """
        if not self.has_ties:
            return self.list_sums(self.by_slot(values) * weights)
        sums = self.row_sums(values) * self.slot_sums(weights)
        return self.list_sums(sums / self.group_sizes)


class QueryMetric(Protocol):
    """A metric of rankings: the mean over queries, or one value for each."""

    def __call__(
        self,
        y: ArrayLike | Lists,
        scores: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        empty: EmptyOption = ...,
        per_query: bool = False,
        **options: Any,
    ) -> float | Reals:
        """Return the metric of documents with the grades `y`, ranked by `scores`."""


def query_metric(empty: EmptyOption = 0.0) -> Callable[[Callable[..., PerQuery]], QueryMetric]:
    """Make a metric of a function that takes ranked lists and options, and returns `PerQuery`.

    The metric takes `y`, `scores` and `qid` instead of the lists, and two options more: `empty`,
    by default as given here, and `per_query`. Where the function has a cutoff `k`, the metric
    takes several too, and then returns an array with a last axis of cutoffs.
    """
    usual = empty

    def decorate(function: Callable[..., PerQuery]) -> QueryMetric:
        @wraps(function, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
        def metric(
            y: ArrayLike | Lists,
            scores: ArrayLike,
            qid: ArrayLike | None = None,
            *,
            empty: EmptyOption = usual,
            per_query: bool = False,
            **options: Any,
        ) -> float | Reals:
            fill = empty_value(empty)
            ranked = ranked_lists(y, scores, qid)
            cuts = options.get("k")
            if not isinstance(cuts, (list, tuple, np.ndarray)):
                return over_queries(*function(ranked, **options), fill, per_query)
            if len(cuts) == 0:
                raise ValueError("k must have at least one cutoff, got none")
            results = [function(ranked, **{**options, "k": k}) for k in cuts]
            return np.stack([over_queries(*result, fill, per_query) for result in results], axis=-1)

        shared = signature(metric, follow_wrapped=False)
        *common, own_empty, own_per_query, _ = shared.parameters.values()
        options = [*signature(function).parameters.values()][1:]
        together: list[Parameter] = [*common, *options, own_empty, own_per_query]
        metric.__signature__ = shared.replace(parameters=together)  # type: ignore[attr-defined]
        return metric

    return decorate


def _flags(name: str, values: Any, n_rows: int) -> NDArray[np.bool_] | None:
    if values is None:
        return None
    flags = np.asarray(values)
    if flags.dtype != bool or flags.shape != (n_rows,):
        raise ValueError(f"{name} must have True or False for each of {n_rows} rows")
    return flags


def ranked_lists(y: ArrayLike | Lists, scores: ArrayLike, qid: ArrayLike | None) -> Ranked:
    """Return the lists of `y` and `qid` (or prepared ones, as `y`) ranked by `scores`."""
    if not isinstance(y, Lists):
        return Lists(y, qid).rank(scores)
    if qid is not None:
        raise ValueError("qid must be None where y is a Lists object, which has its queries")
    return y.rank(scores)


@dataclass(frozen=True, eq=False)
class Relevance:
    """An indicator of relevant documents, by row, and their number in each list."""

    flags: Reals
    counts: Reals

    @property
    def has_relevant(self) -> np.ndarray:
        """Whether each list has a relevant document."""
        return self.counts > 0


def relevance(lists: Lists, relevant: Any) -> Relevance:
    """Return the relevant documents of `lists`."""
    named = relevant is None or (isinstance(relevant, str) and relevant == "top")
    if not named and not _is_number(relevant):
        raise ValueError(f"relevant must be None, 'top' or a least grade, got {relevant!r}")
    option = relevant if named else float(relevant)
    return lists.compute_once(("relevance", option), lambda: _find_relevant(lists, option))


def _find_relevant(lists: Lists, option: RelevantOption) -> Relevance:
    if option is None:
        chosen = lists.grades > 0
    elif option == "top":
        by_grade = lists.ideal()
        best = by_grade.scores[lists.starts]
        # A list of one grade prefers nothing, so none of its documents is relevant.
        best[best == by_grade.scores[lists.starts + lists.sizes - 1]] = np.inf
        chosen = np.empty(lists.n_rows, dtype=bool)
        chosen[by_grade.order] = by_grade.scores == best[lists.query]
    else:
        chosen = lists.grades >= option
    flags = chosen.astype(np.float64)
    counts: Reals = np.zeros(lists.n_queries)
    np.add.at(counts, lists.row_query, flags)
    return Relevance(flags, counts)


def cutoff(k: Any) -> int | None:
    """Return a cutoff, checked; None for the whole list."""
    return None if k is None else integer("k", k, 1)


def empty_value(empty: Any) -> float:
    """Return the value of a query for which the metric is undefined; NaN for "skip"."""
    if isinstance(empty, str) and empty == "skip":
        return math.nan
    if not _is_number(empty):
        raise ValueError(f"empty must be a number or 'skip', got {empty!r}")
    return float(empty)


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and not math.isnan(value)


def over_queries(values: Reals, defined: np.ndarray, fill: float, per_query: bool) -> float | Reals:
    """Return the values per query or their mean, with `fill` where they are undefined."""
    per_query = flag("per_query", per_query)
    if not defined.all():
        values = np.where(defined, values, fill)
        if math.isnan(fill) and not per_query:
            values = values[defined]
            if len(values) == 0:
                raise ValueError(
                    "empty='skip' leaves no query: the metric is undefined for all of them"
                )
    return values if per_query else float(values.mean())


def running_sums(values: Reals, position: Exacts) -> Reals:
    """Return the running sums of each list; `position` numbers its slots from 1.

    Sums of 1, 2, 4, ... neighbors are doubled up: unlike differences of one running sum over all
    lists, these lose no digits to earlier lists.
    """
    sums = values.copy()
    width, longest = 1, int(position.max(initial=0))
    while width < longest:
        sums[width:] += np.where(position[width:] > width, sums[:-width], 0.0)
        width *= 2
    return sums


def _encode_queries(qid: ArrayLike | None, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted query ids and the index of each row's id among them."""
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


def _split_digits(
    codes: NDArray[np.intp], n_queries: int
) -> tuple[NDArray[np.unsignedinteger], ...]:
    """Split query indices into 16-bit parts, lowest first: NumPy sorts those by radix, in O(n)."""
    if n_queries == 1:
        return ()
    if n_queries <= 1 << 8:
        return (codes.astype(np.uint8),)
    digits = []
    while True:
        digits.append((codes & 0xFFFF).astype(np.uint16))
        codes, n_queries = codes >> 16, ((n_queries - 1) >> 16) + 1
        if n_queries == 1:
            return tuple(digits)
