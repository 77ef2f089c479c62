"""Rates of classes by category, estimated without the label of the row that gets them."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import draw_key, splitmix64
from edgewise.common.dtypes import Columns, Exacts, Reals
from edgewise.data import CategoricalColumn, Categories, Table
from edgewise.data.coding import agree_on_kind
from edgewise.data.partition import Partition
from edgewise.data.rates import CategoryRates, ExtendedTable
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


class _Counts(NamedTuple):
    """Rows by fold and category, as whole numbers that add up over processes."""

    cell: Columns  # fold and category of each row here, as one number
    n_categories: int
    mass: Exacts | None  # of each row here; None counts every row once
    scale: float  # the mean mass
    partition: Partition

    def of(self, is_counted: NDArray[np.bool_] | None = None) -> Reals:
        """Return the number of rows, or of some of them, shape (folds, categories)."""
        cell, mass = self.cell, self.mass
        if is_counted is not None:
            cell, mass = cell[is_counted], None if mass is None else mass[is_counted]
        size = _FOLDS * self.n_categories
        if mass is None:
            counts = np.bincount(cell, minlength=size)
        else:
            counts = np.zeros(size, dtype=np.int64)
            np.add.at(counts, cell, mass)
        counts = self.partition.sum(counts.astype(np.int64))
        return counts.reshape(_FOLDS, -1) / self.scale


def fit_rates(rows: LabeledRows, seed: int) -> tuple[CategoryRates, Table] | None:
    """Return the rates of classes by category, and the training rows with rates from other folds.

    Folds are drawn by a hash of the row number. None where no column has rates that differ.
    """
    table, partition = rows.table, rows.partition
    if partition.all(table.holds_numbers):
        return None
    fold = _draw_folds(partition, table.n_rows, seed)
    mass = rows.bin_mass(weighted=False)
    scale = 1.0 if mass is None else int(partition.sum(int(mass.sum()))) / partition.n_rows
    columns: list[int] = []
    names: list[str] = []
    tables: list[Reals] = []
    values: list[Reals] = []
    for j, codes, n_categories in _columns_of_many_values(table, partition):
        counts = _Counts(fold * n_categories + codes, n_categories, mass, scale, partition)
        n_rows = counts.of()
        all_rows = n_rows.sum(axis=0)
        for name, is_class in _targets(rows.labels):
            n_hits = counts.of(is_class)
            all_hits = n_hits.sum(axis=0)
            strength = prior_strength(all_hits, all_rows)
            if math.isinf(strength):
                continue
            hits = strength * (all_hits.sum() / all_rows.sum())
            others = (all_hits - n_hits + hits) / (all_rows - n_rows + strength)
            columns.append(j)
            names.append(f"rate of {name} by {table.name(j)}")
            tables.append((all_hits + hits) / (all_rows + strength))
            values.append(others[fold, codes])
    if not columns:
        return None
    return CategoryRates.of(columns, names, tables), ExtendedTable(table, values, names)


def _draw_folds(partition: Partition, n_rows: int, seed: int) -> Columns:
    """Return the fold of each row here, by a hash that no round of training draws from."""
    numbers = partition.global_rows(np.arange(n_rows))
    hashes = splitmix64(draw_key(seed, _STREAM), (numbers + 1).astype(np.uint64))
    return (hashes % np.uint64(_FOLDS)).astype(np.intp)


def _columns_of_many_values(
    table: Table, partition: Partition
) -> Iterator[tuple[int, Columns, int]]:
    """Yield the columns of many values: their numbers, their codes, and the number of codes."""
    shared = None if partition.is_whole else partition
    for j, column in enumerate(table.columns()):
        if shared is not None:
            column = agree_on_kind(column, shared, table.name(j))
        if isinstance(column, CategoricalColumn):
            coding = Categories.of(table.name(j), column, shared)
            if len(coding.categories) > MAX_SUBSET_VALUES:
                yield j, coding.encode(column).astype(np.intp), coding.missing_code + 1


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
