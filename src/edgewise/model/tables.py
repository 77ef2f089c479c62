"""Score tables: a model of stumps, collapsed to one table per column.

The sum of all stumps on a column is a step function of it, so prediction looks up one row of one
table per column, however many rounds there were.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.compiled import use_compiled
from edgewise.common.dtypes import Columns, Reals
from edgewise.common.threads import ROWS_PER_THREAD, Threads
from edgewise.data import ArrayTable, RawRows, Table
from edgewise.model.forest import sum_in_order
from edgewise.model.terms import StumpTerms

# How many numbers NumPy adds up at once.
_NUMBERS_AT_ONCE = 1 << 18

# Fewer rows search all columns at once instead of one after the other.
_MIN_ROWS_PER_SEARCH = 64


@dataclass(frozen=True, eq=False)
class ScoreTables:
    """One step function for each column that the model uses."""

    columns: Columns  # (U,), the columns in use, ascending
    starts: Columns  # (U + 1,), the bounds of each column's thresholds, which ascend
    thresholds: Reals
    # (thresholds + 2 U, K), for each column the scores below the first threshold, between
    # thresholds, above the last, and of a missing value
    tables: Reals
    bias: Reals  # (K,), the sum of the constant terms

    def of_column(self, u: int) -> tuple[Reals, Reals]:
        """Return the thresholds and the table of the u-th column in use."""
        low, high = int(self.starts[u]), int(self.starts[u + 1])
        return self.thresholds[low:high], self.tables[low + 2 * u : high + 2 * u + 2]

    def scores(self, table: Table, n_jobs: int = 1) -> Reals:
        """Return the scores of every row, shape (n, K)."""
        out = np.tile(self.bias, (table.n_rows, 1))
        visits = 30.0 * table.n_rows * len(self.columns)
        if isinstance(table, ArrayTable) and use_compiled(visits) and self._fits_kernel(table):
            kernels = import_module("edgewise.backend.numba.score")
            model = (table.values, self.columns, self.starts, self.thresholds, self.tables)
            with Threads(n_jobs if table.n_rows >= 2 * ROWS_PER_THREAD else 1) as threads:
                spans = threads.spans(table.n_rows)
                threads.map(lambda span: kernels.score(*model, *span, out), spans)
            return out
        rows = RawRows(table)
        if not rows.is_array:
            rows.read(self.columns.tolist())
        size = max(1, _NUMBERS_AT_ONCE // (out.shape[1] * (len(self.columns) + 1)))
        for start in range(0, table.n_rows, size):
            block = slice(start, start + size)
            out[block] = self.score_values(rows.block(self.columns, block))
        return out

    def score_values(self, values: Reals) -> Reals:
        """Return the scores of some rows, given the values of the columns in use, shape (U, n)."""
        first_rows = self.starts[:-1, None] + 2 * np.arange(len(self.columns))[:, None]
        summands = self.tables.take(first_rows + self._positions(values), axis=0)
        n_rows, width = values.shape[1], len(self.bias)
        summands = np.concatenate([np.tile(self.bias, (1, n_rows, 1)), summands])
        return sum_in_order(summands.reshape(len(summands), -1)).reshape(n_rows, width)

    def _positions(self, values: Reals) -> Columns:
        """Return the row of its column's table that each value selects, shape (U, n)."""
        sizes = np.diff(self.starts)[:, None]
        positions = np.zeros(values.shape, dtype=np.intp)
        if values.shape[1] >= _MIN_ROWS_PER_SEARCH:
            for u, column in enumerate(values):
                thresholds, _ = self.of_column(u)
                positions[u] = np.searchsorted(thresholds, column, side="right")
        else:
            step = 1 << int(sizes.max(initial=0)).bit_length()
            padded = np.append(self.thresholds, np.inf)
            while step := step // 2:
                ahead = positions + step
                threshold = padded.take(self.starts[:-1, None] + ahead - 1, mode="clip")
                positions += step * ((ahead <= sizes) & (threshold <= values))
        return np.where(np.isnan(values), sizes + 1, positions)

    def _fits_kernel(self, table: ArrayTable) -> bool:
        """Return whether the compiled kernel can read an array as it is, mostly columns in use."""
        uses_few = table.n_columns > 4 * len(self.columns)
        return not uses_few and table.values.flags.c_contiguous and table.has_no_infinities()


def collapse(terms: StumpTerms) -> ScoreTables:
    """Return the sum of all terms as one table for each column."""
    n_terms, n_scores = terms.votes.shape
    # One entry for each (term, score column): a cut, its score column and its coefficient.
    cuts: tuple[NDArray[Any], ...] = (terms.columns, terms.thresholds, terms.missing)
    column, threshold, missing = (
        np.broadcast_to(values, terms.votes.shape).ravel() for values in cuts
    )
    k = np.tile(np.arange(n_scores), n_terms)
    coefficient = terms.coefficients.ravel()

    bias = np.zeros(n_scores)
    constant = column < 0
    np.add.at(bias, k[constant], coefficient[constant])
    order = np.argsort(column, kind="stable")
    used, first = np.unique(column[order], return_index=True)
    ends = [*first[1:].tolist(), len(order)]
    groups = [order[a:b] for j, a, b in zip(used, first, ends, strict=False) if j >= 0]
    starts, thresholds, tables = [0], [np.empty(0)], [np.empty((0, n_scores))]
    for entries in groups:
        steps, position = np.unique(threshold[entries], return_inverse=True)
        # Extended precision keeps the running sums within the rounding of the final table.
        moves = coefficient[entries].astype(np.longdouble)
        jumps = np.zeros((len(steps) + 1, n_scores), dtype=np.longdouble)
        np.add.at(jumps, (position + 1, k[entries]), 2 * moves)
        np.add.at(jumps[0], k[entries], -moves)
        absent = np.zeros((1, n_scores), dtype=np.longdouble)
        np.add.at(absent[0], k[entries], missing[entries] * moves)
        starts.append(starts[-1] + len(steps))
        thresholds.append(steps)
        tables.append(np.concatenate([np.cumsum(jumps, axis=0), absent]).astype(np.float64))
    return ScoreTables(
        used[used >= 0].astype(np.intp),
        np.array(starts, dtype=np.intp),
        np.concatenate(thresholds),
        np.ascontiguousarray(np.concatenate(tables)),
        bias,
    )


def look_up(values: Reals, thresholds: Reals, table: Reals) -> Reals:
    """Return the table row of each value; the table's last row is for missing values."""
    position = np.searchsorted(thresholds, values, side="right")
    position[np.isnan(values)] = len(thresholds) + 1
    return table[position]
