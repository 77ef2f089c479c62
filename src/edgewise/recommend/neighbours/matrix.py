"""A sparse matrix whose rows are compared, and the table of each row's nearest ones."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals, Rows
from edgewise.ratings.rows import Grouped


@dataclass(frozen=True, eq=False)
class Matrix:
    """Values by row and by column, and the lengths of the rows.

    Attributes
    ----------
    starts, others, values : int64, int32 and float64 arrays
        Compressed rows, columns ascending.
    column_starts, column_others, column_values : arrays
        The same by column, rows ascending.
    norms : float64 array
        The Euclidean length of each row.
    """

    starts: NDArray[np.int64]
    others: Rows
    values: Reals
    column_starts: NDArray[np.int64]
    column_others: Rows
    column_values: Reals
    norms: Reals

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.column_starts) - 1

    @property
    def visits(self) -> float:
        """How many products of two values all pairs of rows take."""
        return float((np.diff(self.column_starts).astype(np.float64) ** 2).sum())


def matrix_of(rows: Grouped, columns: Grouped, values: Reals) -> Matrix:
    """Return a matrix from ratings by either side, with a value for each rating as they stand."""
    by_row = values[rows.rows]
    squares = np.bincount(_row_numbers(rows), by_row**2, len(rows.starts) - 1)
    return Matrix(
        rows.starts,
        rows.others,
        by_row,
        columns.starts,
        columns.others,
        values[columns.rows],
        np.sqrt(squares),
    )


def row_means(rows: Grouped) -> Reals:
    """Return the mean rating of each row; 0 where there is none."""
    sums = np.bincount(_row_numbers(rows), rows.values, len(rows.starts) - 1)
    return np.asarray(sums / np.maximum(rows.sizes, 1))


def _row_numbers(rows: Grouped) -> NDArray[np.intp]:
    return np.repeat(np.arange(len(rows.starts) - 1), rows.sizes)


@dataclass(frozen=True, eq=False)
class Nearest:
    """The most similar rows of each row, most similar first.

    Attributes
    ----------
    others : int32 array of shape (rows, n)
        Their numbers; -1 where there are fewer than n.
    similarities : float64 array of shape (rows, n)
        How similar they are, above 0; 0 where there are fewer.
    """

    others: Rows
    similarities: Reals


@dataclass(frozen=True)
class Criteria:
    """Which rows count as near.

    Attributes
    ----------
    n : int
        How many are kept.
    shrinkage : float
        A similarity from m common columns counts ``m / (m + shrinkage)`` of itself.
    min_support : int
        The fewest common columns.
    limit : int
        Only rows below this number are candidates.
    """

    n: int
    shrinkage: float
    min_support: int
    limit: int
