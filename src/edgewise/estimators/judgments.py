"""Graded documents and pairs as users give them, and the feedback they make."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import Backend
from edgewise.common.checks import finite_numbers
from edgewise.common.choices import QUERY_WEIGHTS
from edgewise.common.dtypes import ROW, Exacts, Reals
from edgewise.common.ids import LONGEST_LIST, looks_like_queries
from edgewise.data import Table
from edgewise.data.partition import Partition
from edgewise.estimators.fitting import EvalSet, HeldOut
from edgewise.estimators.targets import read_row_weights
from edgewise.metrics import Lists
from edgewise.objective.feedback import Feedback, PairList
from edgewise.objective.lists import GradedLists, Layout
from edgewise.objective.top import TopLists, TopSettings

LARGEST_GRADE = 31
"""The gain of a grade is a power of 2, and sums of gains must be precise."""

logger = logging.getLogger("edgewise")


def query_ids(qid: Any, group: Any, n_rows: int) -> Any:
    """Return query ids, made of the sizes of consecutive queries if these are given instead."""
    if group is None:
        return qid
    if qid is not None:
        raise ValueError("give qid or group, not both")
    sizes = np.asarray(group)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
        raise ValueError(f"group must be the sizes of the queries, whole numbers, got {group!r}")
    if sizes.sum() != n_rows:
        raise ValueError(
            f"group must add up to the {n_rows} rows of X, got {len(sizes)} sizes of {sizes.sum()} "
            "rows in all"
        )
    return np.repeat(np.arange(len(sizes)), sizes)


def warn_of_one_list(table: Table) -> None:
    """Warn that all documents form one list; refuse a column that looks like their query ids."""
    for name in table.names or ():
        if looks_like_queries(name):
            raise ValueError(
                f"qid is not given, and X has the column {name!r}, which looks like query ids: "
                f"give it as qid and leave it out of X, or rename it"
            )
    if table.n_rows > LONGEST_LIST:
        logger.warning(
            "qid is not given: all %d documents are compared with each other, as one list. Give "
            "the query of each, as in fit(X, y, qid=qid); cross_validate(model, X, y, qid) passes "
            "it on, cross_val_score does not. If one list is meant, give equal ids",
            table.n_rows,
        )


def with_queries(sets: list[EvalSet], eval_qid: Any, eval_group: Any) -> list[EvalSet]:
    """Return validation sets with their query ids, which may be given apart, or as sizes."""
    if eval_qid is None and eval_group is None:
        return sets
    if eval_qid is not None and eval_group is not None:
        raise ValueError("give eval_qid or eval_group, not both")
    argument, given = ("eval_qid", eval_qid) if eval_group is None else ("eval_group", eval_group)
    if not sets:
        raise ValueError(f"{argument} is for eval_set, which is None")
    listed = [given] if len(sets) == 1 and not _is_nested(given) else list(given)
    if len(listed) != len(sets):
        raise ValueError(f"{argument} has {len(listed)} parts, and eval_set {len(sets)}")
    found = []
    for one, ids in zip(sets, listed, strict=True):
        if not isinstance(one.given, tuple) or len(one.given) != 2:
            raise ValueError(f"{argument} needs {one.argument} to be a tuple (X, y)")
        if argument == "eval_group":
            ids = query_ids(None, ids, len(one.given[1]))
        found.append(one._replace(given=(*one.given, ids)))
    return found


def _is_nested(given: Any) -> bool:
    """Return whether query ids or sizes are those of several sets, in a list."""
    return isinstance(given, (list, tuple)) and bool(given) and np.ndim(given[0]) > 0


@dataclass(frozen=True)
class JudgedRows:
    """Documents with grades, of queries that have at least two grades."""

    table: Table
    grades: Reals
    query: Exacts  # the number of each document's query
    weights: Reals | None  # of the documents, all positive
    query_factors: Reals  # the weights of the queries
    queries: Partition  # which of all queries these are: each is at one process

    @property
    def partition(self) -> Partition:
        """The rows here among all."""
        return self.table.partition

    def take(self, rows: NDArray[np.intp]) -> "JudgedRows":
        """Return some of the rows, by their numbers among all."""
        own = self.partition.local_rows(rows)
        kept, codes = np.unique(self.query[own], return_inverse=True)
        stays = np.isin(np.arange(len(self.query_factors)), kept)
        return JudgedRows(
            self.table.take(rows),
            self.grades[own],
            codes.astype(np.int64),
            None if self.weights is None else self.weights[own],
            self.query_factors[kept],
            self.queries.take(np.flatnonzero(self.queries.allgather_rows(stays))),
        )

    def layout(self, pair_weight: str) -> Layout:
        """Return the documents in the order of query and grade."""
        rows, given = np.arange(len(self.grades)), (pair_weight, self.weights, self.partition)
        return graded_layout(rows, self.grades, self.query, *given)

    def feedback(self, layout: Layout | None, backend: Backend, query_weight: str) -> Feedback:
        """Return the pairs of all documents of different grades in the same query."""
        assert layout is not None
        power = QUERY_WEIGHTS[query_weight]
        return GradedLists(layout, backend, power, self.query_factors, self.queries)

    def lists(self, layout: Layout, settings: TopSettings) -> TopLists:
        """Return the documents with what their places are worth."""
        metric, grades = settings.metric, self.grades[layout.rows]
        lowest, highest = self.grade_range
        if metric == "ndcg" and (lowest < 0 or highest > LARGEST_GRADE):
            raise ValueError(
                "objective='ndcg' gives a document the gain 2^grade - 1: y must be from 0 to "
                f"{LARGEST_GRADE}, got {lowest:g} to {highest:g}"
            )
        if metric == "map" and (highest <= 0 or lowest > 0):
            raise ValueError(
                "objective='map' takes documents with grades above 0 as relevant: y must have "
                "some, and others"
            )
        return TopLists.of(layout, grades, self.query_factors, metric, settings.k, self.queries)

    @property
    def has_queries(self) -> bool:
        """Whether there is more than one query."""
        return self.queries.n_rows > 1

    def split(self, fraction: float, seed: int) -> tuple["JudgedRows", HeldOut]:
        """Set a random share of the queries aside; of a single query, of its documents."""
        units = self.partition.global_rows(np.arange(len(self.grades)))
        n_units = self.partition.n_rows
        if self.has_queries:
            units, n_units = self.queries.global_rows(self.query), self.queries.n_rows
        size = round(fraction * n_units)
        if not 0 < size < n_units:
            raise ValueError(
                f"validation_fraction={fraction} of {n_units} queries leaves {n_units - size} to "
                f"train on and {size} to validate on"
            )
        drawn = np.random.default_rng(seed).permutation(n_units)[:size]
        kept, aside = self.parted(np.isin(units, drawn))
        training = self.take(kept)
        lowest, highest = training.grade_range
        if lowest == highest:
            raise ValueError(f"validation_fraction={fraction} leaves no pairs to train on")
        return training, HeldOut(self.table.take(aside), self.lists_of(aside))

    def folds(self, n_folds: int, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Deal the queries out to folds; return the rows outside and inside each."""
        numbers = self.queries.global_rows(self.query)
        drawn = np.random.default_rng(seed).permutation(self.queries.n_rows)
        return [self.parted(np.isin(numbers, part)) for part in np.array_split(drawn, n_folds)]

    def parted(self, aside: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows to keep and those to set aside, by their numbers among all."""
        every = self.partition.allgather_rows(aside)
        return np.flatnonzero(~every), np.flatnonzero(every)

    def lists_of(self, rows: NDArray[np.intp]) -> Lists:
        """Return the lists of some rows, by their numbers among all, wherever they are."""
        query = self.queries.global_rows(self.query).astype(np.int64)
        return Lists(
            self.partition.allgather_rows(self.grades)[rows],
            self.partition.allgather_rows(query)[rows],
        )

    @property
    def grade_range(self) -> tuple[float, float]:
        """The lowest and the highest grade at all processes."""
        grades, partition = self.grades, self.partition
        lowest, highest = float(grades.min(initial=np.inf)), float(grades.max(initial=-np.inf))
        return partition.min(lowest), partition.max(highest)


def graded_layout(
    rows: NDArray[np.intp],
    grades: Reals,
    query: Exacts,
    pair_weight: str = "equal",
    weights: Reals | None = None,
    partition: Partition | None = None,
) -> Layout:
    """Return graded documents, any rows of a table, in the order of query and grade.

    `query` numbers the documents' queries from 0 on without gaps; `weights` of documents multiply
    the weights of their pairs, which are 1 or ("difference") the difference of their grades.
    """
    # Only differences count, up to a common factor.
    grades = _scaled(grades, partition)
    order = np.lexsort((grades, query))
    sorted_query, sorted_grades = query[order], grades[order]
    new_query = np.diff(sorted_query, prepend=-1) != 0
    new_group = new_query | (np.diff(sorted_grades, prepend=np.nan) != 0)
    starts = np.flatnonzero(new_group)
    return Layout(
        rows[order].astype(ROW),
        np.append(starts, len(order)).astype(np.intp),
        np.append(np.flatnonzero(new_query[starts]), len(starts)).astype(np.intp),
        sorted_grades[starts],
        np.ones(len(order)) if weights is None else weights[order],
        pair_weight == "difference",
    )


def read_judged(
    table: Table, y: Any, qid: Any, sample_weight: Any, propensity: Any = None
) -> JudgedRows:
    """Return the training documents: those that are in any pair.

    Queries with one grade have no pairs, and rows of weight 0 count as absent. Documents with a
    grade above 0 weigh one over their propensity.
    """
    partition = table.partition
    if qid is None and not partition.is_whole:
        raise ValueError("qid must be given: the documents of a query must be at one process")
    lists = Lists(y, qid)
    if lists.n_rows != table.n_rows:
        raise ValueError(
            "X and y must have the same number of rows, got inconsistent numbers of samples: "
            f"{[table.n_rows, lists.n_rows]}"
        )
    weights, factors = read_weights(sample_weight, lists)
    if propensity is not None:
        seen = finite_numbers("propensity", propensity, lists.n_rows)
        if (seen <= 0).any() or (seen > 1).any():
            raise ValueError("propensity must have probabilities, above 0 and up to 1")
        factor = np.where(lists.grades > 0, 1.0 / seen, 1.0)
        weights = factor if weights is None else weights * factor
    weights = None if weights is None else _scaled(weights, partition)
    factors = _scaled(factors, partition)
    counts = np.ones(lists.n_rows, dtype=bool) if weights is None else weights > 0
    counts &= factors[lists.row_query] > 0
    alive = _has_pairs(lists, counts)
    if not partition.any(alive.any()):
        raise ValueError(
            "y has no two documents of different grades in the same query "
            f"(n_samples = {lists.n_rows}): there are no pairs to learn from"
        )
    meant = np.bincount(lists.row_query[counts], minlength=lists.n_queries) > 0
    left_out, queries = partition.sum(np.array([(meant & ~alive).sum(), meant.sum()]))
    if left_out and partition.is_root:
        logger.warning(
            "%d of %d queries have documents of one grade only, and so no pairs: they are left out",
            left_out,
            queries,
        )
    counted = partition.allgather_rows(counts & alive[lists.row_query])
    shared = _shared_queries(lists, partition)
    judged = JudgedRows(table, lists.grades, lists.row_query, weights, factors, shared)
    return judged if counted.all() else judged.take(np.flatnonzero(counted))


def _shared_queries(lists: Lists, partition: Partition) -> Partition:
    """Return which of all queries are here; the documents of each must be at one process."""
    if partition.is_whole:
        return Partition(lists.n_queries)
    every = partition.collective.gather(lists.queries.tolist())
    order = sorted(query for own in every for query in own)
    twice = [a for a, b in pairwise(order) if a == b]
    if twice:
        raise ValueError(
            f"qid: the documents of query {twice[0]!r} are at several processes; bring those of a "
            "query together, in one partition"
        )
    number = {query: place for place, query in enumerate(order)}
    numbers = np.array([number[query] for query in lists.queries.tolist()], dtype=np.int64)
    return Partition(len(order), numbers, partition.collective)


def whole_lists(lists: Lists, partition: Partition) -> Lists:
    """Return the lists of all processes, whose documents may be anywhere."""
    if partition.is_whole:
        return lists
    every = partition.collective.gather(lists.queries.tolist())
    queries = sorted({query for own in every for query in own})
    number = {query: place for place, query in enumerate(queries)}
    codes = np.array([number[query] for query in lists.queries.tolist()], dtype=np.int64)
    found = partition.allgather_rows(codes[lists.row_query])
    return Lists(partition.allgather_rows(lists.grades), np.array(queries)[found])


def _scaled(weights: Reals, partition: Partition | None = None) -> Reals:
    """Return numbers times a power of 2, which rounds nothing, the largest being about 1."""
    largest = float(np.abs(weights).max(initial=0.0))
    if partition is not None:
        largest = partition.max(largest)
    return np.ldexp(weights, -int(np.frexp(largest)[1]))


def _has_pairs(lists: Lists, counts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which queries have rows that count of at least two grades."""
    highest = np.full(lists.n_queries, -np.inf)
    lowest = np.full(lists.n_queries, np.inf)
    np.maximum.at(highest, lists.row_query[counts], lists.grades[counts])
    np.minimum.at(lowest, lists.row_query[counts], lists.grades[counts])
    return lowest < highest


def read_weights(sample_weight: Any, lists: Lists) -> tuple[Reals | None, Reals]:
    """Return the weights of the rows and of the queries."""
    by_query = isinstance(sample_weight, Mapping)
    if by_query:
        missing = [query for query in lists.queries.tolist() if query not in sample_weight]
        if missing:
            raise ValueError(f"sample_weight has no weight for the query {missing[0]!r}")
        sample_weight = [sample_weight[query] for query in lists.queries.tolist()]
    elif sample_weight is not None and lists.n_queries != lists.n_rows:
        shape = np.asarray(sample_weight).shape
        by_query = shape == (lists.n_queries,)
        if not by_query and shape not in ((), (lists.n_rows,)):
            raise ValueError(
                f"sample_weight has {shape} weights, expected one for each of the {lists.n_rows} "
                f"rows or of the {lists.n_queries} queries"
            )
    weights = read_row_weights(sample_weight, lists.n_queries if by_query else lists.n_rows)
    if by_query and weights is not None:
        return None, weights
    return weights, np.ones(lists.n_queries)


@dataclass(frozen=True)
class JudgedPairs:
    """Pairs of rows: ``better[p]`` is to be ranked above ``worse[p]``, with a positive weight."""

    table: Table
    worse: NDArray[np.intp]
    better: NDArray[np.intp]
    weights: Reals

    has_queries = False

    def layout(self, pair_weight: str) -> None:
        """Return no order: pairs have no grades."""

    def split(self, fraction: float, seed: int) -> tuple["JudgedPairs", HeldOut]:
        """Refuse: validation needs grades."""
        raise ValueError("validation_fraction needs grades: give fit_pairs an eval_set")

    def feedback(self, layout: Layout | None, backend: Backend, query_weight: str) -> Feedback:
        """Return the pairs as feedback."""
        rows, places = np.unique(np.concatenate([self.worse, self.better]), return_inverse=True)
        worse, better = np.split(places.astype(np.intp), 2)
        return PairList(rows.astype(ROW), worse, better, self.weights)


def read_pairs(table: Table, pairs: Any, weights: Any) -> JudgedPairs:
    """Return the feedback Phi that pairs and their weights add up to.

    Each pair (x0, x1) adds its weight to Phi(x0, x1) and takes it from Phi(x1, x0); where the sum
    is negative the pair counts the other way round, where it is 0 not at all.
    """
    listed = np.asarray(pairs)
    if listed.size == 0:
        raise ValueError("pairs must have at least one pair of rows, got none")
    if listed.ndim != 2 or listed.shape[1] != 2 or listed.dtype.kind not in "iu":
        raise ValueError(
            "pairs must be an array of integers of shape (n_pairs, 2): the worse row and the "
            f"better row; got shape {listed.shape} of {listed.dtype}"
        )
    if listed.min() < 0 or listed.max() >= table.n_rows:
        raise ValueError(f"pairs must name rows of X, from 0 to {table.n_rows - 1}")
    if (listed[:, 0] == listed[:, 1]).any():
        raise ValueError("pairs must be of two different rows")
    given = np.ones(len(listed))
    if weights is not None:
        given = finite_numbers("weights", weights, len(listed), "pairs")
    low, high = listed.min(axis=1).astype(np.int64), listed.max(axis=1).astype(np.int64)
    keys, place = np.unique(low * table.n_rows + high, return_inverse=True)
    given = _scaled(given)
    order = np.lexsort((given, place))
    signed = np.where(listed[:, 1] == high, given, -given)[order]
    sums, sizes = np.zeros(len(keys)), np.zeros(len(keys))
    np.add.at(sums, place[order], signed)
    np.add.at(sizes, place[order], np.abs(signed))
    # Weights that cancel but for rounding express no preference.
    kept = np.flatnonzero(np.abs(sums) > 1e-12 * sizes)
    if len(kept) == 0:
        raise ValueError("pairs: the weights of all pairs cancel, there is nothing to learn from")
    low, high, sums = keys[kept] // table.n_rows, keys[kept] % table.n_rows, sums[kept]
    worse, better = np.where(sums > 0, [low, high], [high, low])
    return JudgedPairs(table, worse.astype(np.intp), better.astype(np.intp), np.abs(sums))
