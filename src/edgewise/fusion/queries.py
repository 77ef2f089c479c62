"""Rows grouped by query, and sums and ranks within a query that do not depend on row order."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import REAL, Columns, Reals


@dataclass(frozen=True, eq=False)
class Queries:
    """The rows of each query, in any order.

    Attributes
    ----------
    ids : ndarray of shape (n_queries,)
        The ids, ascending.
    codes : ndarray of shape (n_rows,)
        Index into `ids` for each row.
    order : ndarray of shape (n_rows,)
        The rows, query by query.
    starts : ndarray of shape (n_queries,)
        Where each query begins in `order`.
    """

    ids: NDArray[Any]
    codes: Columns
    order: Columns
    starts: Columns

    @classmethod
    def of(cls, qid: NDArray[Any]) -> "Queries":
        """Group the rows of these ids.

        Examples
        --------
        >>> import numpy as np
        >>> queries = Queries.of(np.array(["b", "a", "b"]))
        >>> queries.codes, queries.order, queries.starts
        (array([1, 0, 1]), array([1, 0, 2]), array([0, 1]))
        """
        ids, inverse, counts = np.unique(qid, return_inverse=True, return_counts=True)
        codes = inverse.astype(np.intp, copy=False)
        starts = (np.cumsum(counts) - counts).astype(np.intp, copy=False)
        return cls(ids, codes, np.argsort(codes, kind="stable"), starts)

    def sizes(self) -> Columns:
        """Return the number of rows of each query."""
        return np.diff(self.starts, append=len(self.codes))

    def reduce(self, how: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Return one row a query: its rows of `values` reduced by a ufunc such as np.maximum."""
        return np.asarray(how.reduceat(values[self.order], self.starts, axis=0))

    def sums(self, values: Reals) -> Reals:
        """Return the sums of each query without NaN.

        Values are added in ascending order, which fixes the last digit.
        """
        totals = np.zeros((len(self.ids), values.shape[1]), dtype=REAL)
        for j, column in enumerate(values.T):
            known = np.where(np.isnan(column), 0.0, column)
            ascending = known[np.lexsort((known, self.codes))]
            totals[:, j] = np.add.reduceat(ascending, self.starts)
        return totals

    def positions(self, values: Reals) -> Reals:
        """Rank each column within each query, the largest value at 1; NaN stays NaN.

        Equal values get the mean of their positions.

        Examples
        --------
        >>> import numpy as np
        >>> queries = Queries.of(np.array([7, 7, 7, 8]))
        >>> queries.positions(np.array([[0.1], [0.5], [0.5], [np.nan]])).T
        array([[3. , 1.5, 1.5, nan]])
        """
        result = np.full(values.shape, np.nan, dtype=REAL)
        for j, column in enumerate(values.T):
            rows = np.flatnonzero(~np.isnan(column))
            if not len(rows):
                continue
            rows = rows[np.lexsort((-column[rows], self.codes[rows]))]
            codes, value = self.codes[rows], column[rows]
            new_query = np.append(True, codes[1:] != codes[:-1])
            new_value = new_query | np.append(True, value[1:] != value[:-1])
            ties = np.flatnonzero(new_value)
            ends = np.append(ties[1:], len(rows))
            offset = np.flatnonzero(new_query)[np.cumsum(new_query)[ties] - 1]
            mean = (ties + 1 + ends) / 2.0 - offset
            result[rows, j] = np.repeat(mean, ends - ties)
        return result
