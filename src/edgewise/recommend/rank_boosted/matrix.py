"""The matrix that all rankers share: items by viewers and side features, binned once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from edgewise.common.dtypes import NARROW_CODE, ROW, Codes, Columns, Reals, Rows
from edgewise.data import Table
from edgewise.data.bins import find_bins, midpoints
from edgewise.data.columns import CategoricalColumn, NumericColumn
from edgewise.ratings import Ratings

MOST_CODES = 256
"""The most different values of a column that are told apart: codes are bytes."""


@dataclass(frozen=True)
class Side:
    """A column that is not a viewer: an item feature, or one value of a categorical one.

    Attributes
    ----------
    name : str
        The name of the feature.
    category : object
        The value that this column is about, None for a column of numbers.
    """

    name: str
    category: object = None


@dataclass(frozen=True)
class Levels:
    """The values that codes stand for.

    Attributes
    ----------
    values : float64 array
        Rising: the value of each code where there is a code for each, else the least value of each.
    exact : bool
        Whether there is a code for each value.
    """

    values: Reals
    exact: bool

    @staticmethod
    def of(values: Reals) -> "Levels":
        """Return the levels of some values: all of them, or as many as there are codes for."""
        distinct = np.unique(values)
        if len(distinct) <= MOST_CODES:
            return Levels(distinct, True)
        bins = find_bins("", NumericColumn(values), None, MOST_CODES)
        return Levels(np.concatenate(([-np.inf], bins.thresholds)), False)

    def encode(self, values: Reals) -> Codes:
        """Return the code of each value."""
        codes = np.searchsorted(self.values, values, side="right") - 1
        return codes.astype(NARROW_CODE)

    def thresholds(self, below: Columns, above: Columns) -> Reals:
        """Return thresholds half-way between pairs of codes, of which the first is the lower."""
        if not self.exact:
            return self.values[(below + above + 1) // 2]
        pairs = np.stack([self.values[below], self.values[above]], axis=1).ravel()
        return midpoints(pairs, np.arange(0, len(pairs), 2))


@dataclass(frozen=True)
class Matrix:
    """Items by columns; what is missing takes no memory. A rating takes 10 bytes.

    The viewers' columns come first. Rows are read when rankers are trained, columns when items are
    scored.

    Attributes
    ----------
    viewers : intp array
        The user of each viewer's column.
    sides : tuple of Side
        What the columns after those are.
    levels : tuple of Levels
        Those of ratings, and then of each side column.
    starts, columns, codes : arrays
        The entries of item i are from ``starts[i]`` to ``starts[i + 1]``, columns rising.
    column_starts, column_items, column_codes : arrays
        The same by columns.
    """

    viewers: Columns
    sides: tuple[Side, ...]
    levels: tuple[Levels, ...]
    starts: Columns
    columns: Rows
    codes: Codes
    column_starts: Columns
    column_items: Rows
    column_codes: Codes
    first_bins: Columns

    @property
    def n_items(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.column_starts) - 1

    @property
    def n_viewers(self) -> int:
        """The number of columns that are viewers."""
        return len(self.viewers)

    def column_of(self, user: int) -> int:
        """Return the column of a user, or -1 for a user who is no viewer."""
        at = int(np.searchsorted(self.viewers, user))
        return at if at < len(self.viewers) and self.viewers[at] == user else -1

    @staticmethod
    def of(ratings: Ratings, viewers: Columns, side_features: bool) -> "Matrix":
        """Return the matrix of some users' ratings, and of the items' own features."""
        number = np.full(ratings.n_users, -1, dtype=np.intp)
        number[viewers] = np.arange(len(viewers))
        counted = number[ratings.users] >= 0
        values = ratings.values[counted]
        levels = [Levels.of(values) if len(values) else Levels(np.zeros(1), True)]
        items, codes = [ratings.items[counted]], [levels[0].encode(values)]
        sizes_of = [np.bincount(number[ratings.users[counted]], minlength=len(viewers))]
        sides = []
        table = ratings.item_features if side_features else None
        for side, rows, numbers in _side_columns(table):
            sides.append(side)
            levels.append(Levels.of(numbers))
            items.append(rows.astype(ROW))
            codes.append(levels[-1].encode(numbers))
            sizes_of.append(np.array([len(rows)]))
        counts = np.concatenate(sizes_of).astype(np.intp)
        return _both_ways(
            viewers.astype(np.intp), tuple(sides), tuple(levels), counts, np.concatenate(items),
            np.concatenate(codes), ratings.n_items,
        )  # fmt: skip


def _both_ways(
    viewers: Columns,
    sides: tuple[Side, ...],
    levels: tuple[Levels, ...],
    counts: Columns,
    items: Rows,
    codes: Codes,
    n_items: int,
) -> Matrix:
    """Return the matrix of entries that are in the order of their columns."""
    columns = np.repeat(np.arange(len(counts), dtype=ROW), counts)
    order = np.argsort(items, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(items, minlength=n_items))))
    widths = [len(levels[0].values)] * len(viewers) + [len(own.values) for own in levels[1:]]
    return Matrix(
        viewers,
        sides,
        levels,
        starts.astype(np.intp),
        columns[order],
        codes[order],
        np.concatenate(([0], np.cumsum(counts))).astype(np.intp),
        items,
        codes,
        np.concatenate(([0], np.cumsum(widths))).astype(np.intp),
    )


def _side_columns(table: Table | None) -> Iterator[tuple[Side, Columns, Reals]]:
    """Yield the columns of item features: what each is, its items, and their numbers.

    A categorical column is one for each of its values, which only its items have.
    """
    for j in range(0 if table is None else table.n_columns):
        assert table is not None
        column, name = table.column(j), table.name(j)
        if isinstance(column, CategoricalColumn):
            order = np.argsort(column.codes, kind="stable")
            ends = np.searchsorted(column.codes[order], np.arange(len(column.categories) + 1))
            for category, low, high in zip(column.categories, ends[:-1], ends[1:], strict=True):
                if low < high:
                    yield Side(name, category), order[low:high], np.ones(high - low)
        else:
            numbers = column.reals()
            rows = np.flatnonzero(~np.isnan(numbers))
            if len(rows):
                yield Side(name), rows, numbers[rows]
