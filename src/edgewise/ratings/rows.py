"""Ratings in compressed rows: by user, or by item."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import ROW, Reals, Rows


class RowRatings(NamedTuple):
    """The ratings of one user or item: indices of the other side, values, and weights or None."""

    others: NDArray[np.intp]
    values: Reals
    weights: Reals | None


@dataclass(frozen=True, eq=False)
class Grouped:
    """Ratings in compressed rows: row u holds the entries ``starts[u]:starts[u + 1]``.

    `others` is the index on the other side, ascending within a row: a user's items, an item's
    users. `rows` is the position of each entry in the ratings.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> view = Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 3, 4]).by_item
    >>> view.starts, view.others, view.values
    (array([0, 2, 3]), array([0, 1, 0], dtype=int32), array([5., 4., 3.]))
    >>> view.row_numbers, view.mass, view.means
    (array([0, 0, 1]), array([2., 1.]), array([4.5, 3. ]))
    """

    starts: NDArray[np.int64]
    others: Rows
    values: Reals
    weights: Reals | None
    rows: Rows

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of ratings in each row."""
        return np.diff(self.starts)

    @property
    def row_numbers(self) -> NDArray[np.intp]:
        """The row of each entry."""
        return np.repeat(np.arange(self.n_rows), self.sizes)

    @property
    def mass(self) -> Reals:
        """The sum of the weights of each row: the number of ratings without weights."""
        if self.weights is None:
            return self.sizes.astype(float)
        return np.bincount(self.row_numbers, self.weights, self.n_rows).astype(float)

    @property
    def means(self) -> Reals:
        """The unweighted mean rating of each row; 0 for an empty row."""
        sums = np.bincount(self.row_numbers, self.values, self.n_rows)
        return np.asarray(sums / np.maximum(self.sizes, 1))

    def span(self, row: int) -> slice:
        """Return where the entries of a row are."""
        return slice(int(self.starts[row]), int(self.starts[row + 1]))

    def row(self, row: int) -> RowRatings:
        """Return the ratings of a row."""
        span = self.span(row)
        weights = None if self.weights is None else self.weights[span]
        return RowRatings(self.others[span].astype(np.intp), self.values[span], weights)

    def entries(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the positions of the entries of some rows, row after row."""
        return entry_positions(self.starts, rows)

    def take(self, rows: NDArray[np.intp]) -> "Grouped":
        """Return some rows."""
        at, starts = self.entries(rows), np.concatenate([[0], np.cumsum(self.sizes[rows])])
        weights = None if self.weights is None else self.weights[at]
        return Grouped(starts, self.others[at], self.values[at], weights, self.rows[at])

    def last(self, n: int) -> "Grouped":
        """Return the last `n` rows."""
        return self.take(np.arange(self.n_rows - n, self.n_rows))


class PairOrder(NamedTuple):
    """Pairs sorted by their one side, then by their other side, equal ones in their first order.

    The pairs of row u are the entries ``starts[u]:starts[u + 1]`` of `others`; `rows` is the
    position that each had.
    """

    starts: NDArray[np.int64]
    others: Rows
    rows: Rows


def pair_order(ones: Rows, others: Rows, n_ones: int, n_others: int) -> PairOrder:
    """Return the order of pairs of indices, by counting: its time is linear."""
    n = len(ones)
    if _ascends(ones, others):
        starts = np.zeros(n_ones + 1, dtype=np.int64)
        np.cumsum(np.bincount(ones, minlength=n_ones), out=starts[1:])
        return PairOrder(starts, others, np.arange(n, dtype=ROW))
    if _ascends(others, ones):
        starts, rows = np.searchsorted(others, np.arange(n_others + 1)), np.arange(n, dtype=ROW)
    else:
        # To transpose a matrix in compressed rows is a counting sort: here of a row for each pair.
        each = np.zeros(n, dtype=bool), others, np.arange(n + 1, dtype=ROW)
        by_other = sparse.csr_array(each, shape=(n, n_others)).tocsc()
        starts, rows, ones = by_other.indptr, by_other.indices, ones[by_other.indices]
        del each, by_other
    matrix = sparse.csr_array((rows, ones, starts), shape=(n_others, n_ones)).tocsc()
    return PairOrder(
        matrix.indptr.astype(np.int64), matrix.indices.astype(ROW, copy=False), matrix.data
    )


def _ascends(ones: Rows, others: Rows) -> bool:
    """Return whether pairs are in order; ends early for most that are not."""
    step = 1 << 16
    for at in range(0, len(ones) - 1, step):
        key, other = ones[at : at + step + 1], others[at : at + step + 1]
        same = key[1:] == key[:-1]
        if not ((key[1:] > key[:-1]) | (same & (other[1:] >= other[:-1]))).all():
            return False
    return True


def group_ratings(
    ones: Rows, others: Rows, values: Reals, weights: Reals | None, n_rows: int, n_others: int
) -> Grouped:
    """Return ratings grouped by the index `ones`."""
    starts, held, rows = pair_order(ones, others, n_rows, n_others)
    ordered = None if weights is None else weights[rows]
    # Kernels are compiled for arrays that can be written, which the ratings' own cannot.
    return Grouped(starts, held.copy() if held is others else held, values[rows], ordered, rows)


def entry_positions(starts: NDArray[np.integer], rows: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the positions of the entries of some rows, given where each row starts."""
    low, sizes = starts[rows], starts[rows + 1] - starts[rows]
    before = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) + np.repeat(low - before, sizes)
