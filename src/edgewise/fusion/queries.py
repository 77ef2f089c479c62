"""Rows grouped by query: sums and ranks that do not depend on row order, and normal values."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import one_of
from edgewise.common.dtypes import REAL, Columns, Reals
from edgewise.common.ids import as_ids


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

    def reduce(self, ufunc: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Return a row for each query: its `values` reduced by a ufunc such as np.maximum."""
        return np.asarray(ufunc.reduceat(values[self.order], self.starts, axis=0))

    def extremes(self, values: Reals) -> tuple[Reals, Reals]:
        """Return the smallest and the largest value of each row's query, without NaN."""
        low, high = self.reduce(np.fmin, values), self.reduce(np.fmax, values)
        return low[self.codes], high[self.codes]

    def sums(self, values: Reals) -> Reals:
        """Return the sums of each query without NaN, added in ascending order."""
        totals = np.zeros((len(self.ids), values.shape[1]), dtype=REAL)
        for j, column in enumerate(values.T):
            numbers = np.where(np.isnan(column), 0.0, column)
            ascending = numbers[np.lexsort((numbers, self.codes))]
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


def normalize_by_query(X: Any, qid: Any, method: str = "min-max") -> Reals:
    """Bring the columns of documents to one scale within each query.

    Scores of different queries are rarely comparable; LETOR's data sets come in this form too.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        Numbers; missing values (NaN) stay missing.
    qid : array of shape (n_samples,)
        The query of each document.
    method : {"min-max", "sum", "zmuv", "rank"}, default "min-max"
        From 0 for the smallest value of the query to 1 for the largest; the same with a sum of 1;
        zero mean and unit variance; or the rank in ascending order, from 0 to 1, equal values at
        their mean rank. A column that does not vary in a query is 0 there.

    Examples
    --------
    >>> from edgewise import normalize_by_query
    >>> normalize_by_query([[1.0], [5.0], [2.0], [30.0], [20.0]], [1, 1, 1, 2, 2]).ravel()
    array([0.  , 1.  , 0.25, 1.  , 0.  ])
    """
    one_of("method", method, ("min-max", "sum", "zmuv", "rank"))
    values = np.asarray(X, dtype=REAL)
    if values.ndim != 2:
        raise ValueError(f"X must have rows and columns, got {values.ndim} dimension(s)")
    if np.isinf(values).any():
        raise ValueError("X must not hold infinities")
    queries = Queries.of(as_ids("qid", qid, len(values), floats=True))
    if method == "rank":
        values, method = -queries.positions(values), "min-max"
    low, high = queries.extremes(values)
    scaled = np.where(low == high, 0.0, scale_by_query(queries, values, method))
    return np.where(np.isnan(values), np.nan, scaled)


def scale_by_query(queries: Queries, values: Reals, method: str) -> Reals:
    """Return the columns of values on one scale within each query, as `normalized_scores` does."""
    codes = queries.codes
    low, high = queries.extremes(values)
    if method == "max":
        return _divide(values, high, otherwise=0.0)
    counts = np.maximum(queries.reduce(np.add, (~np.isnan(values)).astype(np.intp)), 1)
    if method == "zmuv":
        centered = values - (queries.sums(values) / counts)[codes]
        deviation = np.sqrt(queries.sums(centered**2) / counts)[codes]
        # The mean of equal numbers may be off in the last digit, so compare the extremes.
        return _divide(centered, np.where(high > low, deviation, 0.0), otherwise=0.0)
    if method == "sum":
        totals = queries.sums(values - low)[codes]
        return _divide(values - low, totals, otherwise=1.0 / counts[codes])
    return _divide(values - low, high - low, otherwise=1.0)


def _divide(top: Reals, bottom: Reals, otherwise: float | Reals) -> Reals:
    """Return top / bottom, or `otherwise` where bottom is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(bottom == 0, otherwise, top / bottom)
