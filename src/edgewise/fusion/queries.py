"""Rows grouped by query, and sums and ranks within a query that do not depend on row order."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import REAL, Columns, Reals


@dataclass(frozen=True, eq=False)
class Queries:
    """The rows of each query."""

    ids: NDArray[Any]
    """The ids, ascending."""
    codes: Columns
    """The index into `ids` of each row."""
    order: Columns
    """The rows, query by query."""
    starts: Columns
    """Where each query begins in `order`."""

    @classmethod
    def of(cls, qid: NDArray[Any]) -> "Queries":
        """Group the rows of these ids."""
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
        """Return the sums of each query without NaN, added in ascending order."""
        totals = np.zeros((len(self.ids), values.shape[1]), dtype=REAL)
        for j, column in enumerate(values.T):
            known = np.where(np.isnan(column), 0.0, column)
            ascending = known[np.lexsort((known, self.codes))]
            totals[:, j] = np.add.reduceat(ascending, self.starts)
        return totals

    def positions(self, values: Reals) -> Reals:
        """Rank each column within each query, the largest value at 1, ties at their mean position.

        NaN stays NaN.
        """
        result = np.empty(values.shape, dtype=REAL)
        for j, column in enumerate(values.T):
            rows = np.lexsort((-column, self.codes))  # NaN last
            codes, value = self.codes[rows], column[rows]
            new = np.append(True, (codes[1:] != codes[:-1]) | (value[1:] != value[:-1]))
            ties = np.flatnonzero(new)
            ends = np.append(ties[1:], len(rows))
            mean = (ties + 1 + ends) / 2.0 - self.starts[codes[ties]]
            result[rows, j] = np.repeat(mean, ends - ties)
        return np.where(np.isnan(values), np.nan, result)
