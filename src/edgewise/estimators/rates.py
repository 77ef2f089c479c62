"""Rates of classes by category, estimated without the label of the row that gets them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import draw_key, splitmix64
from edgewise.common.dtypes import CATEGORY_CODE, Codes, Columns, Exacts, Reals
from edgewise.data import CategoricalColumn, Categories, Table
from edgewise.data.coding import agree_on_kind
from edgewise.data.partition import Partition
from edgewise.data.rates import CategoryRates, ExtendedTable
from edgewise.estimators.pairs import choose_pairs
from edgewise.estimators.targets import LabeledRows, Labels

MAX_SUBSET_VALUES = 10
"""Columns of more values have rates instead of subsets of values."""

MAX_RATE_SCORES = 32
"""With more score columns, columns of categories have subsets only."""

# A row's rates come from the rows of the other folds. With more folds, the rates of training rows
# carry more of the labels of held-out rows, which then choose worse.
_FOLDS = 4

# The number of the hash's stream, beyond all rounds.
_STREAM = 1 << 40

# The evidence that the rates of categories differ, in standard deviations. A column of random
# values, such as an id, would only be one more chance to fit noise.
_MIN_EVIDENCE = 4.0


class _Grouping(NamedTuple):
    """The rows by category of a column, or by combination of the categories of two."""

    columns: tuple[int, ...]
    codes: NDArray[np.integer]  # of the rows here
    n_codes: int
    combinations: Codes = np.empty((0, 2), CATEGORY_CODE)  # the categories of each but the last
    strengths: list[float] | None = None  # of the priors by score column, where known


class _FoldCounts(NamedTuple):
    """Rows by fold and category, counted in whole numbers that add up over processes."""

    fold: Columns  # of the rows here
    mass: Exacts | None  # of the rows here; None counts every row once
    scale: float  # the mean mass
    partition: Partition

    def of(
        self,
        codes: NDArray[np.integer],
        n_codes: int,
        is_counted: NDArray[np.bool_] | None = None,
    ) -> Reals:
        """Return the number of rows, or of some of them, shape (folds, codes)."""
        cell, mass = self.fold * n_codes + codes, self.mass
        if is_counted is not None:
            cell, mass = cell[is_counted], None if mass is None else mass[is_counted]
        size = _FOLDS * n_codes
        if mass is None:
            counts = np.bincount(cell, minlength=size)
        else:
            counts = np.zeros(size, dtype=np.int64)
            np.add.at(counts, cell, mass)
        counts = self.partition.sum(counts.astype(np.int64))
        return counts.reshape(_FOLDS, -1) / self.scale

    def take(self, rows: Columns) -> "_FoldCounts":
        """Return the counts of some of the rows."""
        local = self.partition.local_rows(rows)
        mass = None if self.mass is None else self.mass[local]
        return _FoldCounts(self.fold[local], mass, self.scale, self.partition.take(rows))


class _Source(NamedTuple):
    """The source of a column of rates."""

    codes: NDArray[np.integer]  # of the rows here
    n_codes: int
    is_class: NDArray[np.bool_]
    strength: float  # of the prior, in rows


@dataclass(frozen=True, eq=False)
class TrainingRates:
    """The rates of training rows, each without the labels of its fold."""

    table: Table  # without rates
    names: Sequence[str]
    sources: Sequence[_Source]
    counts: _FoldCounts

    def take(self, rows: Columns) -> "TrainingRates":
        """Return the rates of some of the rows, counted on theirs alone."""
        local = self.counts.partition.local_rows(rows)
        sources = [
            source._replace(codes=source.codes[local], is_class=source.is_class[local])
            for source in self.sources
        ]
        return TrainingRates(self.table.take(rows), self.names, sources, self.counts.take(rows))

    def extend(self) -> ExtendedTable:
        """Return the table with the rates of its rows."""
        values = [self._rates(s)[0][self.counts.fold, s.codes] for s in self.sources]
        return ExtendedTable(self.table, values, self.names)

    def extend_new(self, new: "TrainingRates") -> ExtendedTable:
        """Return the table of new rows with the rates that they have from these rows."""
        pairs = zip(self.sources, new.sources, strict=True)
        values = [self._rates(source)[1][of_new.codes] for source, of_new in pairs]
        return ExtendedTable(new.table, values, self.names)

    def _rates(self, source: _Source) -> tuple[Reals, Reals]:
        n_hits = self.counts.of(source.codes, source.n_codes, source.is_class)
        return shrink_rates(n_hits, self.counts.of(source.codes, source.n_codes), source.strength)


def shrink_rates(n_hits: Reals, n_rows: Reals, strength: float) -> tuple[Reals, Reals]:
    """Return the rates by code from the other folds, shape (folds, codes), and from all."""
    all_hits, all_rows = n_hits.sum(axis=0), n_rows.sum(axis=0)
    hits = strength * (all_hits.sum() / all_rows.sum())
    by_fold = (all_hits - n_hits + hits) / (all_rows - n_rows + strength)
    return by_fold, (all_hits + hits) / (all_rows + strength)


def fit_rates(rows: LabeledRows, seed: int) -> tuple[CategoryRates, TrainingRates] | None:
    """Return the rates of classes by category, and the training rows' rates from other folds.

    Pairs of columns whose combinations tell more than both columns have rates by combination, too.
    Folds are drawn by a hash of the row number. None where no column has rates that differ.
    """
    table, partition = rows.table, rows.partition
    if partition.all(table.holds_numbers):
        return None
    hashes = _hash_rows(partition, table.n_rows, seed)
    fold = (hashes % np.uint64(_FOLDS)).astype(np.intp)
    mass = rows.bin_mass(weighted=False)
    scale = 1.0 if mass is None else int(partition.sum(int(mass.sum()))) / partition.n_rows
    counts = _FoldCounts(fold, mass, scale, partition)
    columns: list[tuple[int, ...]] = []
    names: list[str] = []
    tables: list[Reals] = []
    combinations: list[Codes] = []
    sources: list[_Source] = []
    for grouping in _group_rows(rows, hashes):
        codes, n_codes = grouping.codes, grouping.n_codes
        n_rows = counts.of(codes, n_codes)
        by = " and ".join(table.name(j) for j in grouping.columns)
        for k, (name, is_class) in enumerate(_targets(rows.labels)):
            n_hits = counts.of(codes, n_codes, is_class)
            if grouping.strengths is None:
                strength = prior_strength(n_hits.sum(axis=0), n_rows.sum(axis=0))
            else:
                strength = grouping.strengths[k]
            if math.isinf(strength):
                continue
            columns.append(grouping.columns)
            names.append(f"rate of {name} by {by}")
            tables.append(shrink_rates(n_hits, n_rows, strength)[1])
            combinations.append(grouping.combinations)
            sources.append(_Source(codes, n_codes, is_class, strength))
    if not columns:
        return None
    rates = CategoryRates.of(columns, names, tables, combinations)
    return rates, TrainingRates(table, names, sources, counts)


def _hash_rows(partition: Partition, n_rows: int, seed: int) -> NDArray[np.uint64]:
    """Return a hash of the number of each row here, which no round of training draws from."""
    numbers = partition.global_rows(np.arange(n_rows))
    return splitmix64(draw_key(seed, _STREAM), (numbers + 1).astype(np.uint64))


def _group_rows(rows: LabeledRows, hashes: NDArray[np.uint64]) -> Iterator[_Grouping]:
    """Yield the columns of many values, and the pairs of columns that tell more than both alone."""
    partition = rows.partition
    columns = [*_categorical_columns(rows.table, partition)]
    yield from (column for column in columns if column.n_codes > MAX_SUBSET_VALUES + 1)
    codes, sizes = [column.codes for column in columns], [column.n_codes for column in columns]
    targets = [is_class for _, is_class in _targets(rows.labels)]
    for pair in choose_pairs(codes, sizes, targets, MAX_SUBSET_VALUES, hashes, partition):
        yield _combine(columns[pair.first], columns[pair.second], pair.strengths, partition)


def _categorical_columns(table: Table, partition: Partition) -> Iterator[_Grouping]:
    """Yield the rows by each categorical column."""
    shared = None if partition.is_whole else partition
    for j, column in enumerate(table.columns()):
        if shared is not None:
            column = agree_on_kind(column, shared, table.name(j))
        if isinstance(column, CategoricalColumn):
            coding = Categories.of(table.name(j), column, shared)
            yield _Grouping((j,), coding.encode(column), coding.missing_code + 1)


def _combine(
    first: _Grouping, second: _Grouping, strengths: list[float], partition: Partition
) -> _Grouping:
    """Return the rows by the combinations of two columns that occur in any process."""
    codes = first.codes.astype(np.int64) * second.n_codes + second.codes
    occurring = np.unique(np.concatenate(partition.collective.gather(np.unique(codes))))
    combinations = np.stack(np.divmod(occurring, second.n_codes), axis=1).astype(CATEGORY_CODE)
    numbers = np.searchsorted(occurring, codes)
    columns = first.columns + second.columns
    return _Grouping(columns, numbers, len(occurring) + 1, combinations, strengths)


def _targets(labels: Labels) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield the name of each score column's class, and which rows are of it."""
    if labels.n_scores == 1:
        yield str(labels.classes[1]), labels.codes == 1
        return
    for k, name in enumerate(labels.classes.tolist()):
        yield str(name), labels.codes[:, k] > 0 if labels.multilabel else labels.codes == k


def prior_strength(n_hits: Reals, n_rows: Reals) -> float:
    """Return the number of rows that the rate of all rows counts for, as the data suggest.

    The variance of the rates between categories is estimated by the method of moments: the
    strength is the variance within categories, over it. Infinite where there is no evidence that
    the rates differ.

    Examples
    --------
    >>> import numpy as np
    >>> round(prior_strength(np.array([90.0, 10.0, 80.0, 20.0]), np.full(4, 100.0)), 2)
    1.52
    >>> prior_strength(np.array([50.0, 40.0, 60.0, 50.0]), np.full(4, 100.0))
    inf
    """
    occurs = n_rows > 0
    n_hits, n_rows = n_hits[occurs], n_rows[occurs]
    total = math.fsum(n_rows.tolist())
    prior = math.fsum(n_hits.tolist()) / total
    within = prior * (1 - prior)
    if within <= 0:
        return math.inf
    squares = np.square(n_hits - n_rows * prior) / (n_rows * within)
    excess = math.fsum(squares.tolist()) - (len(n_rows) - 1)
    # The variance of the squares of binomial counts.
    variance = math.fsum((2 + (1 - 6 * within) / (n_rows * within)).tolist())
    if excess <= _MIN_EVIDENCE * math.sqrt(max(variance, 1.0)):
        return math.inf
    return (total - math.fsum((np.square(n_rows) / total).tolist())) / excess
