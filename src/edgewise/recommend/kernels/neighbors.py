"""Nearest neighbors in NumPy and SciPy: the same bits as `kernels.neighbors_numba`."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import Reals, Rows

RELEASES_GIL = False

# Blocks of similarities, or of looked-up ratings, hold at most this many numbers.
_BLOCK = 1 << 18


def nearest(
    starts: NDArray[np.int64], others: Rows, values: Reals, column_starts: NDArray[np.int64],
    column_others: Rows, column_values: Reals, norms: Reals, targets: NDArray[np.intp],
    shrinkage: float, min_support: int, limit: int, found: Rows, similarities: Reals,
) -> None:  # fmt: skip
    """Find the most similar rows of some rows; ties go to the lower number.

    IN a sparse matrix by rows and by columns, the lengths of its rows, targets. A similarity from
    m common columns counts ``m / (m + shrinkage)`` of itself, and not at all if m is below
    `min_support`; only rows below `limit` are candidates. OUT found, similarities: the nearest
    rows of each target, most similar first; initially -1 and 0.
    """
    n_rows, n_columns = len(starts) - 1, len(column_starts) - 1
    rows = _csr(values, others, starts, (n_rows, n_columns))[targets]
    turned = _csr(column_values, column_others, column_starts, (n_columns, n_rows))
    ones, turned_ones = _ones(rows), _ones(turned)
    step = max(1, _BLOCK // max(1, n_rows))
    for start in range(0, len(targets), step):
        part = slice(start, start + step)
        here = targets[part]
        dots = (rows[part] @ turned).toarray()
        common = (ones[part] @ turned_ones).toarray()
        lengths = norms[here][:, None] * norms
        # A zero row has zero products.
        near = dots / np.where(lengths > 0, lengths, 1.0)
        if shrinkage > 0:
            counts = np.arange(common.max(initial=0) + 1)
            near *= (counts / (counts + shrinkage))[common]
        if min_support > 1:
            near[common < min_support] = 0.0
        near[np.arange(len(here)), here] = 0.0
        near[:, limit:] = 0.0
        _keep_largest(near, found[part], similarities[part])


def _csr(
    values: Reals, others: Rows, starts: NDArray[np.int64], shape: tuple[int, int]
) -> sparse.csr_array:
    # SciPy multiplies faster where all indices have 32 bits.
    kind = np.int32 if len(values) < 2**31 else np.int64
    return sparse.csr_array((values, others, starts.astype(kind)), shape=shape)


def _ones(matrix: sparse.csr_array) -> sparse.csr_array:
    ones = np.ones(len(matrix.data), dtype=np.int32)
    return sparse.csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape)


def _keep_largest(near: Reals, found: Rows, similarities: Reals) -> None:
    n = min(found.shape[1], near.shape[1])
    least = np.partition(near, near.shape[1] - n, axis=1)[:, [near.shape[1] - n]]
    above, level = near > least, near == least
    # Of the ties for the last places, the lowest numbers fill the room.
    room = n - above.sum(axis=1, keepdims=True)
    above |= level & (np.cumsum(level, axis=1, dtype=np.int32) <= room)
    kept = np.nonzero(above)[1].reshape(len(near), n)
    values = np.take_along_axis(near, kept, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    largest = np.take_along_axis(values, order, axis=1)
    found[:, :n] = np.where(largest > 0, np.take_along_axis(kept, order, axis=1), -1)
    similarities[:, :n] = np.maximum(largest, 0.0)


def averages(
    near: Rows, similarities: Reals, starts: NDArray[np.int64], others: Rows, values: Reals,
    weights: Reals, targets: NDArray[np.intp], columns: NDArray[np.intp], k: int, totals: Reals,
    masses: Reals,
) -> None:  # fmt: skip
    """Sum over the neighbors of a row that have a value in a column, for pairs of the two.

    IN near, similarities: the neighbors of each row; a matrix by columns, with weights; targets,
    columns: the pairs, best ordered by column; k: the most neighbors that count. OUT totals: the
    sums of similarity times weight times value; masses: of similarity times weight.
    """
    n_rows = int(max(len(near), others.max(initial=0) + 1))
    step = max(1, _BLOCK // max(n_rows, near.shape[1]))
    for start in range(0, len(targets), step):
        part = slice(start, start + step)
        present, place = np.unique(columns[part], return_inverse=True)
        sizes = np.diff(starts)[present]
        first = np.cumsum(sizes) - sizes
        entries = np.arange(sizes.sum()) + np.repeat(starts[present] - first, sizes)
        # The last column is where neighbor -1, none, is looked up.
        held = np.full((len(present), n_rows + 1), -1, dtype=np.int64)
        held[np.repeat(np.arange(len(present)), sizes), others[entries]] = entries
        at = held[place[:, None], near[targets[part]]]
        pair, rank = _first(at >= 0, k)
        found = at[pair, rank]
        shares = similarities[targets[part][pair], rank] * weights[found]
        # bincount adds from left to right, as the compiled kernel does.
        totals[part] = np.bincount(pair, shares * values[found], len(place))
        masses[part] = np.bincount(pair, shares, len(place))


def _first(present: NDArray[np.bool_], k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the row and column of the first `k` true entries of each row."""
    rows, columns = np.nonzero(present)
    counts = np.bincount(rows, minlength=len(present))
    order = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows[order < k], columns[order < k]


def spread(
    source_starts: NDArray[np.int64], sources: Rows, amounts: Reals, shares: Reals,
    starts: NDArray[np.int64], others: Rows, values: Reals, weights: Reals, limit: int,
    totals: Reals, masses: Reals, counts: Rows,
) -> None:  # fmt: skip
    """Add the rows of a matrix that are the sources of each row.

    IN the sources of each row, each with an amount and a share; a sparse matrix by rows, with two
    numbers for each entry. OUT totals: the sums of amounts times values; masses: of shares times
    weights; counts: how many entries there were, of which the first `limit` count. Initially all
    are 0; without columns in `counts`, totals are all that is wanted, without a limit.
    """
    width = totals.shape[1]
    sizes = starts[sources + 1] - starts[sources]
    entries = np.arange(sizes.sum()) + np.repeat(
        starts[sources] - (np.cumsum(sizes) - sizes), sizes
    )
    source = np.repeat(np.arange(len(sources)), sizes)
    row = np.repeat(np.arange(len(totals)), np.diff(source_starts))[source]
    places = row * width + others[entries]
    if counts.shape[1]:
        counts.ravel()[:] = np.bincount(places, minlength=totals.size)
        if counts.max(initial=0) > limit:
            order = np.argsort(places, kind="stable")
            ends = np.cumsum(counts.ravel())
            turn = np.arange(len(order)) - (ends - counts.ravel())[places[order]]
            kept = np.sort(order[turn < limit])
            entries, source, places = entries[kept], source[kept], places[kept]
        added = shares[source] * weights[entries]
        masses.ravel()[:] = np.bincount(places, added, totals.size)
    added = amounts[source] * values[entries]
    totals.ravel()[:] = np.bincount(places, added, totals.size)
