"""Nearest neighbors in NumPy and SciPy: the same bits as `kernels.neighbors_numba`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import Reals, Rows
from edgewise.ratings.rows import entry_positions
from edgewise.recommend.arrays import iter_blocks

# Blocks of similarities, or of looked-up ratings, hold at most this many numbers.
_BLOCK = 1 << 18


class Entries(NamedTuple):
    """A matrix in compressed rows, with one or two numbers per entry."""

    starts: NDArray[np.int64]
    others: Rows
    values: Reals
    weights: Reals


class Neighbors(NamedTuple):
    """The most similar rows of each row, most similar first; -1 and 0 past the last."""

    others: Rows
    similarities: Reals

    def entries(self) -> tuple[NDArray[np.int64], Rows, Reals]:
        """Return the neighbors in compressed rows: starts, numbers and similarities."""
        present = self.others >= 0
        starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        return starts, self.others[present], self.similarities[present]


def nearest(
    rows: Entries, columns: Entries, norms: Reals, targets: NDArray[np.intp],
    damping: tuple[float, int], limit: int, near: Neighbors,
) -> None:  # fmt: skip
    """Find the most similar rows of the targets; ties go to the lower number.

    A similarity from m common columns is multiplied by ``m / (m + shrinkage)``, and is 0 if m is
    below min_support: `damping` has both; only rows below `limit` are candidates. `norms` are the
    lengths of the rows, `columns` the transpose. OUT near: initially -1 and 0.
    """
    shrinkage, min_support = damping
    n_rows, n_columns = len(rows.starts) - 1, len(columns.starts) - 1
    by_row = _csr(rows, (n_rows, n_columns))[targets]
    by_column = _csr(columns, (n_columns, n_rows))
    row_ones, column_ones = _ones(by_row), _ones(by_column)
    for block in iter_blocks(len(targets), n_rows, _BLOCK):
        targets_of_block = targets[block]
        dots = (by_row[block] @ by_column).toarray()
        common = (row_ones[block] @ column_ones).toarray()
        lengths = norms[targets_of_block][:, None] * norms
        # A zero row has zero products.
        similarities = dots / np.where(lengths > 0, lengths, 1.0)
        if shrinkage > 0:
            counts = np.arange(common.max(initial=0) + 1)
            similarities *= (counts / (counts + shrinkage))[common]
        if min_support > 1:
            similarities[common < min_support] = 0.0
        similarities[np.arange(len(targets_of_block)), targets_of_block] = 0.0
        similarities[:, limit:] = 0.0
        _keep_largest(similarities, near.others[block], near.similarities[block])


def _csr(entries: Entries, shape: tuple[int, int]) -> sparse.csr_array:
    # SciPy multiplies faster where all indices have 32 bits.
    dtype = np.int32 if len(entries.values) < 2**31 else np.int64
    arrays = entries.values, entries.others, entries.starts.astype(dtype)
    return sparse.csr_array(arrays, shape=shape)


def _ones(matrix: sparse.csr_array) -> sparse.csr_array:
    ones = np.ones(len(matrix.data), dtype=np.int32)
    return sparse.csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape)


def _keep_largest(table: Reals, others: Rows, similarities: Reals) -> None:
    n = min(others.shape[1], table.shape[1])
    nth = np.partition(table, table.shape[1] - n, axis=1)[:, [table.shape[1] - n]]
    kept, ties = table > nth, table == nth
    # Of the ties for the last entries, the lowest numbers are kept.
    room = n - kept.sum(axis=1, keepdims=True)
    kept |= ties & (np.cumsum(ties, axis=1, dtype=np.int32) <= room)
    columns = np.nonzero(kept)[1].reshape(len(table), n)
    values = np.take_along_axis(table, columns, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    largest = np.take_along_axis(values, order, axis=1)
    others[:, :n] = np.where(largest > 0, np.take_along_axis(columns, order, axis=1), -1)
    similarities[:, :n] = np.maximum(largest, 0.0)


def averages(
    near: Neighbors, entries: Entries, targets: NDArray[np.intp], columns: NDArray[np.intp], k: int,
    totals: Reals, masses: Reals,
) -> None:  # fmt: skip
    """Sum over the neighbors of a row that have a value in a column, for pairs of the two.

    `entries` are the matrix by columns. The pairs of `targets` and `columns` are fastest in the
    order of the columns; at most `k` neighbors count. OUT totals: the sums of similarity times
    weight times value; masses: of similarity times weight.
    """
    starts, others, values, weights = entries
    n_rows = int(max(len(near.others), others.max(initial=0) + 1))
    for block in iter_blocks(len(targets), max(n_rows, near.others.shape[1]), _BLOCK):
        present, column_number = np.unique(columns[block], return_inverse=True)
        sizes = np.diff(starts)[present]
        positions = entry_positions(starts, present)
        # The last column is where neighbor -1, none, is looked up.
        table = np.full((len(present), n_rows + 1), -1, dtype=np.int64)
        table[np.repeat(np.arange(len(present)), sizes), others[positions]] = positions
        at = table[column_number[:, None], near.others[targets[block]]]
        pair, rank = _find_first(at >= 0, k)
        entry = at[pair, rank]
        shares = near.similarities[targets[block][pair], rank] * weights[entry]
        # bincount adds from left to right, as the compiled kernel does.
        totals[block] = np.bincount(pair, shares * values[entry], len(column_number))
        masses[block] = np.bincount(pair, shares, len(column_number))


def _find_first(present: NDArray[np.bool_], k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the row and column of the first `k` true entries of each row."""
    rows, columns = np.nonzero(present)
    counts = np.bincount(rows, minlength=len(present))
    order = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows[order < k], columns[order < k]


def spread(
    sources: Entries, entries: Entries, limit: int, totals: Reals, masses: Reals, counts: Rows
) -> None:
    """Add the rows of a matrix that are the sources of each row.

    Each source has an amount and a share. OUT totals: the sums of
    amounts times values; masses: of shares times weights; counts: how many entries there were, of
    which the first `limit` count. Initially all are 0; without columns in `counts`, totals are all
    that is computed, without a limit.
    """
    width = totals.shape[1]
    sizes = np.diff(entries.starts)[sources.others]
    positions = entry_positions(entries.starts, sources.others)
    source = np.repeat(np.arange(len(sources.others)), sizes)
    row = np.repeat(np.arange(len(totals)), np.diff(sources.starts))[source]
    cells = row * width + entries.others[positions]
    if counts.shape[1]:
        counts.ravel()[:] = np.bincount(cells, minlength=totals.size)
        if counts.max(initial=0) > limit:
            order = np.argsort(cells, kind="stable")
            ends = np.cumsum(counts.ravel())
            rank = np.arange(len(order)) - (ends - counts.ravel())[cells[order]]
            kept = np.sort(order[rank < limit])
            positions, source, cells = positions[kept], source[kept], cells[kept]
        added = sources.weights[source] * entries.weights[positions]
        masses.ravel()[:] = np.bincount(cells, added, totals.size)
    added = sources.values[source] * entries.values[positions]
    totals.ravel()[:] = np.bincount(cells, added, totals.size)
