"""Graded documents and pairs as users give them, and the feedback they make."""

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
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
from edgewise.estimators.rows import (
    EvalSet,
    Fold,
    TrainingRows,
    ValidationSet,
    bin_mass,
    read_row_weights,
    scale_to_one,
)
from edgewise.metrics import Lists
from edgewise.objective.feedback import Feedback, GradedLists, Layout, PairList
from edgewise.objective.top import TopLists, TopSettings

MAX_GRADE = 31
"""The gain of a grade is a power of 2, and sums of gains must be precise."""

# Held-out queries choose the rounds in this many folds; of many documents, half of them do.
_FOLDS, MANY_DOCUMENTS = 4, 20_000

logger = logging.getLogger("edgewise")


def query_ids(qid: Any, group: Any, n_rows: int) -> Any:
    """Return query ids, made of the sizes of consecutive queries if these are given instead."""
    if group is None:
        return qid
    if qid is not None:
        raise ValueError("give qid or group, not both")
    sizes = np.asarray(group)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
        raise ValueError(f"group must be the sizes of the queries, integers, got {group!r}")
    if sizes.sum() != n_rows:
        raise ValueError(f"group must add up to the {n_rows} rows of X, got {sizes.sum()}")
    return np.repeat(np.arange(len(sizes)), sizes)


def warn_of_one_list(table: Table) -> None:
    """Warn that all documents form one list; refuse a column that looks like their query ids."""
    for name in table.names or ():
        if looks_like_queries(name):
            raise ValueError(
                f"qid is missing, and the column {name!r} of X looks like query ids: pass it as "
                "qid instead, or rename it"
            )
    if table.n_rows > LONGEST_LIST:
        logger.warning(
            "qid is not given: all %d documents are compared with each other, as one list. Pass "
            "fit(X, y, qid=qid), and cross_validate(model, X, y, qid) instead of cross_val_score; "
            "or equal ids, if one list is meant",
            table.n_rows,
        )


def add_query_ids(sets: list[EvalSet], eval_qid: Any, eval_group: Any) -> list[EvalSet]:
    """Return validation sets with their query ids, which may be given apart, or as sizes."""
    if eval_qid is None and eval_group is None:
        return sets
    if eval_qid is not None and eval_group is not None:
        raise ValueError("give eval_qid or eval_group, not both")
    argument, values = ("eval_qid", eval_qid) if eval_group is None else ("eval_group", eval_group)
    is_nested = isinstance(values, (list, tuple)) and len(values) > 0 and np.ndim(values[0]) > 0
    values = [values] if len(sets) == 1 and not is_nested else list(values)
    if len(values) != len(sets):
        raise ValueError(f"{argument} must have one entry for each eval_set, got {len(values)}")
    sets_with_ids = []
    for eval_set, ids in zip(sets, values, strict=True):
        if not isinstance(eval_set.value, tuple) or len(eval_set.value) != 2:
            raise ValueError(f"{eval_set.argument} must be a tuple (X, y) if {argument} is given")
        if eval_qid is None:
            ids = query_ids(None, ids, len(eval_set.value[1]))
        sets_with_ids.append(eval_set._replace(value=(*eval_set.value, ids)))
    return sets_with_ids


class RankingRows(TrainingRows):
    """The rows that a ranker trains on."""

    @property
    def has_queries(self) -> bool:
        """Whether there is more than one query."""
        return False

    @property
    def layout(self) -> Layout | None:
        """The documents in the order of query and grade; None for pairs."""
        return None

    def feedback(self, backend: Backend, query_weight: str) -> Feedback:
        """Return the weighted pairs to learn from."""
        raise NotImplementedError

    def read_eval_set(self, eval_set: EvalSet) -> ValidationSet:
        """Return the documents and grades of an eval set, in the queries of all processes."""
        argument = eval_set.argument
        table, targets = self.read_validation_rows(eval_set, "(X, y)", "(X, y, qid)")
        if self.has_queries and (len(targets) == 1 or targets[1] is None):
            raise ValueError(f"{argument} must be a tuple (X, y, qid) if training has queries")
        try:
            lists = Lists(*targets)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{argument}: {error}") from error
        if lists.n_rows != table.n_rows:
            raise ValueError(f"{argument} has {table.n_rows} rows and {lists.n_rows} grades")
        partition = table.partition
        if not partition.is_whole:
            ids = sorted({*_gather_queries(lists, partition)})
            codes = partition.allgather_rows(_query_numbers(lists, ids)[lists.row_query])
            lists = Lists(partition.allgather_rows(lists.grades), np.array(ids)[codes])
        return ValidationSet(lists, table, name=eval_set.name)


@dataclass(frozen=True, eq=False)
class JudgedRows(RankingRows):
    """Documents with grades, of queries that have at least two grades."""

    grades: Reals
    query: Exacts  # the number of each document's query
    weights: Reals | None  # of the documents, all positive
    query_factors: Reals  # the weights of the queries
    queries: Partition  # the queries of this process among all: each is at one process
    pair_weight: str = "difference"

    @property
    def has_queries(self) -> bool:
        return self.queries.n_rows > 1

    def take(self, rows: NDArray[np.intp]) -> "JudgedRows":
        local = self.partition.local_rows(rows)
        kept, codes = np.unique(self.query[local], return_inverse=True)
        stays = np.isin(np.arange(len(self.query_factors)), kept)
        return replace(
            self,
            table=self.table.take(rows),
            grades=self.grades[local],
            query=codes.astype(np.int64),
            weights=None if self.weights is None else self.weights[local],
            query_factors=self.query_factors[kept],
            queries=self.queries.take(np.flatnonzero(self.queries.allgather_rows(stays))),
        )

    def bin_mass(self, weighted: bool) -> Exacts | None:
        return bin_mass(self.weights, self.partition)

    @cached_property
    def layout(self) -> Layout:
        """The documents in the order of query and grade."""
        rows = np.arange(len(self.grades))
        weighting = self.pair_weight, self.weights, self.partition
        return graded_layout(rows, self.grades, self.query, *weighting)

    def feedback(self, backend: Backend, query_weight: str) -> Feedback:
        power = QUERY_WEIGHTS[query_weight]
        return GradedLists(self.layout, backend, power, self.query_factors, self.queries)

    def lists(self, settings: TopSettings) -> TopLists:
        """Return the documents with the gains of their ranks."""
        metric, layout = settings.metric, self.layout
        lowest, highest = self.grade_range
        if metric == "ndcg" and (lowest < 0 or highest > MAX_GRADE):
            raise ValueError(
                f"y must be from 0 to {MAX_GRADE} for objective='ndcg', whose gain is 2^grade - 1, "
                f"got {lowest:g} to {highest:g}"
            )
        if metric == "map" and (highest <= 0 or lowest > 0):
            raise ValueError("y must have grades above 0 and others for objective='map'")
        grades = self.grades[layout.rows]
        return TopLists.of(layout, grades, self.query_factors, metric, settings.k, self.queries)

    def hold_out(self, fraction: float, seed: int) -> tuple["JudgedRows", ValidationSet]:
        """Split off a random fraction of the queries; of a single query, of its documents."""
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
        kept, held_out = self._split_rows(np.isin(units, drawn))
        training = self.take(kept)
        lowest, highest = training.grade_range
        if lowest == highest:
            raise ValueError(f"validation_fraction={fraction} leaves no pairs to train on")
        return training, self.fold_targets(held_out)._replace(table=self.table.take(held_out))

    def folds(self, seed: int) -> list[Fold]:
        n_used = _FOLDS // 2 if self.partition.n_rows >= MANY_DOCUMENTS else _FOLDS
        return self.deal(_FOLDS, seed)[:n_used]

    def deal(self, n_folds: int, seed: int) -> list[Fold]:
        queries = self.queries.global_rows(self.query)
        drawn = np.random.default_rng(seed).permutation(self.queries.n_rows)
        folds = np.array_split(drawn, min(n_folds, len(drawn)))
        return [self._split_rows(np.isin(queries, fold)) for fold in folds]

    def _split_rows(self, is_inside: NDArray[np.bool_]) -> Fold:
        every = self.partition.allgather_rows(is_inside)
        return np.flatnonzero(~every), np.flatnonzero(every)

    def fold_targets(self, rows: NDArray[np.intp]) -> ValidationSet:
        query = self.queries.global_rows(self.query).astype(np.int64)
        grades = self.partition.allgather_rows(self.grades)[rows]
        return ValidationSet(Lists(grades, self.partition.allgather_rows(query)[rows]))

    @property
    def grade_range(self) -> tuple[float, float]:
        """The lowest and the highest grade at all processes."""
        grades, partition = self.grades, self.partition
        lowest, highest = float(grades.min(initial=np.inf)), float(grades.max(initial=-np.inf))
        return partition.min(lowest), partition.max(highest)

    @property
    def is_graded(self) -> bool:
        """Whether there are more than two grades at all processes."""
        lowest, highest = self.grade_range
        between = (self.grades > lowest) & (self.grades < highest)
        return self.partition.any(between.any())

    def sample(self, fraction: float, seed: int) -> NDArray[np.intp]:
        """Draw the documents of a fraction of the queries."""
        n_queries = self.queries.n_rows
        drawn = np.random.default_rng([seed, 4]).permutation(n_queries)
        drawn = drawn[: math.ceil(fraction * n_queries)]
        return self._split_rows(np.isin(self.queries.global_rows(self.query), drawn))[1]


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
    grades = scale_to_one(grades, partition)
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
    table: Table,
    y: Any,
    qid: Any,
    sample_weight: Any,
    propensity: Any = None,
    pair_weight: str = "difference",
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
    weights, factors = _read_weights(sample_weight, lists)
    if propensity is not None:
        probabilities = finite_numbers("propensity", propensity, lists.n_rows)
        if (probabilities <= 0).any() or (probabilities > 1).any():
            raise ValueError("propensity must hold probabilities, above 0 and at most 1")
        factor = np.where(lists.grades > 0, 1.0 / probabilities, 1.0)
        weights = factor if weights is None else weights * factor
    weights = None if weights is None else scale_to_one(weights, partition)
    factors = scale_to_one(factors, partition)
    has_weight = factors[lists.row_query] > 0
    if weights is not None:
        has_weight &= weights > 0
    in_pairs = has_weight & _have_pairs(lists, has_weight, partition)[lists.row_query]
    queries = _partition_queries(lists, partition)
    judged = JudgedRows(
        table, lists.grades, lists.row_query, weights, factors, queries, pair_weight
    )
    kept = partition.allgather_rows(in_pairs)
    return judged if kept.all() else judged.take(np.flatnonzero(kept))


def _have_pairs(
    lists: Lists, has_weight: NDArray[np.bool_], partition: Partition
) -> NDArray[np.bool_]:
    """Return whether each query has rows with weight of at least two grades, or warn and raise."""
    query, grades = lists.row_query[has_weight], lists.grades[has_weight]
    highest = np.full(lists.n_queries, -np.inf)
    lowest = np.full(lists.n_queries, np.inf)
    np.maximum.at(highest, query, grades)
    np.minimum.at(lowest, query, grades)
    have_pairs = lowest < highest
    if not partition.any(have_pairs.any()):
        raise ValueError(
            "y must have two documents of different grades in the same query, got no such pair "
            f"(n_samples = {lists.n_rows})"
        )
    have_rows = np.isfinite(highest)
    counts = np.array([(have_rows & ~have_pairs).sum(), have_rows.sum()])
    n_without, n_queries = partition.sum(counts)
    if n_without and partition.is_root:
        logger.warning(
            "%d of %d queries have documents of a single grade, so no pairs, and are ignored",
            n_without,
            n_queries,
        )
    return have_pairs


def _partition_queries(lists: Lists, partition: Partition) -> Partition:
    """Return the queries of this process among all; the documents of each must be at one."""
    if partition.is_whole:
        return Partition(lists.n_queries)
    ids = sorted(_gather_queries(lists, partition))
    repeated = next((a for a, b in pairwise(ids) if a == b), None)
    if repeated is not None:
        raise ValueError(
            f"qid: the documents of query {repeated!r} are at several processes; move them to one "
            "partition"
        )
    return Partition(len(ids), _query_numbers(lists, ids), partition.collective)


def _gather_queries(lists: Lists, partition: Partition) -> list[Any]:
    every = partition.collective.gather(lists.queries.tolist())
    return [query for queries in every for query in queries]


def _query_numbers(lists: Lists, ids: list[Any]) -> NDArray[np.int64]:
    """Return the positions of the queries of this process among all ids."""
    number = {query: i for i, query in enumerate(ids)}
    return np.array([number[query] for query in lists.queries.tolist()], dtype=np.int64)


def _read_weights(sample_weight: Any, lists: Lists) -> tuple[Reals | None, Reals]:
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
                f"sample_weight must have one weight for each of the {lists.n_rows} rows or "
                f"{lists.n_queries} queries, got the shape {shape}"
            )
    weights = read_row_weights(sample_weight, lists.n_queries if by_query else lists.n_rows)
    if by_query and weights is not None:
        return None, weights
    return weights, np.ones(lists.n_queries)


@dataclass(frozen=True, eq=False)
class JudgedPairs(RankingRows):
    """Pairs of rows: ``better[p]`` is to be ranked above ``worse[p]``, with a positive weight."""

    worse: NDArray[np.intp]
    better: NDArray[np.intp]
    weights: Reals

    def bin_mass(self, weighted: bool) -> None:
        """Return no weights: rows count equally."""

    def deal(self, n_folds: int, seed: int) -> list[Fold]:
        return []

    def hold_out(self, fraction: float, seed: int) -> Any:
        raise ValueError("validation_fraction needs grades: give fit_pairs an eval_set")

    def feedback(self, backend: Backend, query_weight: str) -> Feedback:
        rows, indices = np.unique(np.concatenate([self.worse, self.better]), return_inverse=True)
        worse, better = np.split(indices.astype(np.intp), 2)
        return PairList(rows.astype(ROW), worse, better, self.weights)


def read_pairs(table: Table, pairs: Any, weights: Any) -> JudgedPairs:
    """Return the feedback Phi that pairs and their weights add up to.

    Each pair (x0, x1) adds its weight to Phi(x0, x1) and takes it from Phi(x1, x0); where the sum
    is negative the pair counts the other way round, where it is 0 not at all.
    """
    pairs = np.asarray(pairs)
    if pairs.size == 0:
        raise ValueError("pairs must have at least one pair of rows, got none")
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            "pairs must be integers of shape (n_pairs, 2), the worse row and the better row, got "
            f"{pairs.dtype} of shape {pairs.shape}"
        )
    if pairs.min() < 0 or pairs.max() >= table.n_rows:
        raise ValueError(f"pairs must be rows of X, from 0 to {table.n_rows - 1}")
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise ValueError("pairs must be of two different rows")
    signed = np.ones(len(pairs))
    if weights is not None:
        signed = finite_numbers("weights", weights, len(pairs), "pairs")
    low, high = pairs.min(axis=1).astype(np.int64), pairs.max(axis=1).astype(np.int64)
    keys, index = np.unique(low * table.n_rows + high, return_inverse=True)
    signed = scale_to_one(signed)
    order = np.lexsort((signed, index))
    signed = np.where(pairs[:, 1] == high, signed, -signed)[order]
    sums, sizes = np.zeros(len(keys)), np.zeros(len(keys))
    np.add.at(sums, index[order], signed)
    np.add.at(sizes, index[order], np.abs(signed))
    # Weights that cancel up to rounding express no preference.
    kept = np.flatnonzero(np.abs(sums) > 1e-12 * sizes)
    if len(kept) == 0:
        raise ValueError("pairs: all weights cancel, nothing to learn from")
    low, high, sums = keys[kept] // table.n_rows, keys[kept] % table.n_rows, sums[kept]
    worse, better = np.where(sums > 0, [low, high], [high, low])
    return JudgedPairs(table, worse.astype(np.intp), better.astype(np.intp), np.abs(sums))
