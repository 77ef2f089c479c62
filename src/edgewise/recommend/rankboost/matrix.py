"""One binned matrix of items by reference users and item features, and a user's part of it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import NARROW_CODE, ROW, Codes, Columns, Mask, Reals, Rows
from edgewise.data import Table
from edgewise.data.bins import find_bins, midpoints
from edgewise.data.columns import CategoricalColumn, NumericColumn
from edgewise.ratings import Ratings
from edgewise.ratings.rows import entry_positions

MAX_CODES = 256
"""The most distinct values of a column that get codes of their own: codes are bytes."""


class ItemFeature(NamedTuple):
    """A column that is not a reference user: a numeric item feature, or one category of another."""

    name: str
    category: object = None


class CodeValues(NamedTuple):
    """The values that codes stand for, ascending; their lower bounds unless `exact`."""

    values: Reals
    exact: bool

    @staticmethod
    def of(values: Reals) -> "CodeValues":
        """Return the codes of some values, at most MAX_CODES."""
        distinct = np.unique(values)
        if len(distinct) <= MAX_CODES:
            return CodeValues(distinct, True)
        bins = find_bins("", NumericColumn(values), None, MAX_CODES)
        return CodeValues(np.concatenate(([-np.inf], bins.thresholds)), False)

    def encode(self, values: Reals) -> Codes:
        """Return the code of each value."""
        codes = np.searchsorted(self.values, values, side="right") - 1
        return codes.astype(NARROW_CODE)

    def thresholds(self, below: Columns, above: Columns) -> Reals:
        """Return thresholds half-way between pairs of codes."""
        if not self.exact:
            return self.values[(below + above + 1) // 2]
        pairs = np.stack([self.values[below], self.values[above]], axis=1).ravel()
        return midpoints(pairs, np.arange(0, len(pairs), 2))


class ItemMatrix(NamedTuple):
    """Codes of items by columns, reference users first; missing entries take no memory.

    Training reads rows, scoring reads columns, so there is a sparse matrix for each.
    """

    # The user of each reference user's column; the columns after them.
    references: Columns
    features: tuple[ItemFeature, ...]
    # What the codes of ratings stand for, and then of each feature column.
    values: tuple[CodeValues, ...]
    by_item: Any
    by_column: Any
    # Each column's first bin, if the codes of all columns are numbered through.
    first_bins: Columns

    @property
    def n_items(self) -> int:
        """The number of rows."""
        return int(self.by_item.shape[0])

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.by_item.shape[1])

    @property
    def n_references(self) -> int:
        """The number of columns that are reference users."""
        return len(self.references)

    def column_of(self, user: int) -> int:
        """Return the column of a user, or -1 for a user who is not a reference user."""
        at = int(np.searchsorted(self.references, user))
        return at if at < len(self.references) and self.references[at] == user else -1

    def values_of(self, column: int) -> CodeValues:
        """Return what the codes of a column stand for."""
        return self.values[max(0, column - self.n_references + 1)]

    def feature_of(self, column: int) -> ItemFeature | None:
        """Return the feature of a column, None for a reference user."""
        return self.features[column - self.n_references] if column >= self.n_references else None

    def by_values(self, columns: Rows | Columns) -> list[tuple[CodeValues, Columns]]:
        """Return the places of the given columns, grouped by what their codes stand for."""
        number = np.maximum(0, columns - self.n_references + 1)
        return [(self.values[k], np.flatnonzero(number == k)) for k in np.unique(number)]


def item_matrix(ratings: Ratings, references: Columns, side_features: bool) -> ItemMatrix:
    """Return the matrix of the reference users' ratings and the items' features."""
    number = np.full(ratings.n_users, -1, dtype=np.intp)
    number[references] = np.arange(len(references))
    counted = number[ratings.users] >= 0
    rated = ratings.values[counted]
    values = [CodeValues.of(rated) if len(rated) else CodeValues(np.zeros(1), True)]
    codes, items = [values[0].encode(rated)], [ratings.items[counted]]
    columns = [number[ratings.users[counted]]]
    features: list[ItemFeature] = []
    table = ratings.item_features if side_features else None
    for feature, rows, numbers in () if table is None else _feature_columns(table):
        columns.append(np.full(len(rows), len(references) + len(features)))
        items.append(rows.astype(ROW))
        values.append(CodeValues.of(numbers))
        codes.append(values[-1].encode(numbers))
        features.append(feature)
    pairs = np.concatenate(items), np.concatenate(columns)
    shape = ratings.n_items, len(references) + len(features)
    by_item = sparse.csr_array((np.concatenate(codes), pairs), shape=shape)
    widths = [len(values[0].values)] * len(references) + [
        len(values_of_column.values) for values_of_column in values[1:]
    ]
    return ItemMatrix(
        references.astype(np.intp), tuple(features), tuple(values), by_item, by_item.T.tocsr(),
        _starts(np.array(widths, dtype=np.intp)),
    )  # fmt: skip


def _starts(sizes: NDArray[Any]) -> Columns:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)


def _feature_columns(table: Table) -> Iterator[tuple[ItemFeature, Columns, Reals]]:
    """Yield the columns of item features with their items and numbers; categories one by one."""
    for name, column in table.named_columns():
        if isinstance(column, CategoricalColumn):
            order = np.argsort(column.codes, kind="stable")
            ends = np.searchsorted(column.codes[order], np.arange(len(column.categories) + 1))
            for category, low, high in zip(column.categories, ends[:-1], ends[1:], strict=True):
                if low < high:
                    yield ItemFeature(name, category), order[low:high], np.ones(high - low)
        else:
            numbers = column.reals()
            rows = np.flatnonzero(~np.isnan(numbers))
            if len(rows):
                yield ItemFeature(name), rows, numbers[rows]


class TrainingTable(NamedTuple):
    """The codes of a user's items, each column's codes numbered through as bins."""

    # The bins of row i are from starts[i] to starts[i + 1]; in a column they ascend by value.
    starts: Columns
    bins: Rows
    # The bins of column c are from first_bins[c] to first_bins[c + 1].
    first_bins: Columns
    has_missing: Mask


class UserMatrix(NamedTuple):
    """One user's rows of the matrix: only columns that tell them apart, only codes that occur."""

    table: TrainingTable
    # The columns of the item matrix, ascending.
    columns: Columns
    # The code of each bin.
    codes: Columns


def user_matrix(matrix: ItemMatrix, items: Columns, without: int) -> UserMatrix:
    """Return the rows of some items, without one column (-1: with all of them)."""
    # Indexing the sparse matrix would check what is known, for every user.
    rows = matrix.by_item
    positions = entry_positions(rows.indptr, items)
    columns = rows.indices[positions]
    bins = matrix.first_bins[columns] + rows.data[positions]
    counts = np.bincount(bins, minlength=matrix.first_bins[-1])
    present = np.bincount(columns, minlength=matrix.n_columns)
    occupied = np.add.reduceat(counts > 0, matrix.first_bins[:-1], dtype=np.intp)
    has_missing = present < len(items)
    # A cut of any other column would leave all rows on one side.
    useful = (occupied > 1) | ((occupied == 1) & has_missing)
    if without >= 0:
        useful[without] = False
    kept_bins = np.flatnonzero((counts > 0) & np.repeat(useful, np.diff(matrix.first_bins)))
    number = np.full(len(counts), -1, dtype=ROW)
    number[kept_bins] = np.arange(len(kept_bins))
    local = number[bins]
    starts = _starts(local >= 0)[_starts(np.diff(rows.indptr)[items])]
    chosen = np.flatnonzero(useful)
    codes = kept_bins - np.repeat(matrix.first_bins[chosen], occupied[chosen])
    table = TrainingTable(starts, local[local >= 0], _starts(occupied[chosen]), has_missing[chosen])
    return UserMatrix(table, chosen, codes)
