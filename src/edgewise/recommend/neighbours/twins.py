"""The neighbourhood kernels in NumPy: what each computes, in the fewest words."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import ROW, Reals, Rows
from edgewise.recommend.neighbours.matrix import Criteria, Matrix, Nearest

# So many numbers of a block of similarities, or of looked-up ratings, are in memory at once.
_BLOCK = 1 << 18


def nearest(matrix: Matrix, targets: NDArray[np.intp], criteria: Criteria) -> Nearest:
    """Return the most similar rows of some rows; the lower number wins a tie."""
    shape = (matrix.n_rows, matrix.n_columns)
    values = _csr(matrix.values, matrix.others, matrix.starts, shape)[targets]
    columns = (matrix.column_values, matrix.column_others, matrix.column_starts)
    turned = _csr(*columns, shape[::-1])
    ones, turned_ones = _ones(values), _ones(turned)
    found = np.full((len(targets), criteria.n), -1, dtype=ROW)
    similarities = np.zeros((len(targets), criteria.n))
    step = max(1, _BLOCK // max(1, matrix.n_rows))
    for start in range(0, len(targets), step):
        part = slice(start, start + step)
        dots = (values[part] @ turned).toarray()
        common = (ones[part] @ turned_ones).toarray()
        near = _similarities(dots, common, matrix.norms, targets[part], criteria)
        _keep_largest(near, found[part], similarities[part])
    return Nearest(found, similarities)


def _csr(
    values: Reals, others: Rows, starts: NDArray[np.int64], shape: tuple[int, int]
) -> sparse.csr_array:
    # SciPy multiplies faster where all indices have 32 bits.
    kind = np.int32 if len(values) < 2**31 else np.int64
    return sparse.csr_array((values, others, starts.astype(kind)), shape=shape)


def _ones(matrix: sparse.csr_array) -> sparse.csr_array:
    ones = np.ones(len(matrix.data), dtype=np.int32)
    return sparse.csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape)


def _similarities(
    dots: Reals, common: Rows, norms: Reals, targets: NDArray[np.intp], criteria: Criteria
) -> Reals:
    lengths = norms[targets][:, None] * norms
    # Where a row is zero so are its products.
    near = dots / np.where(lengths > 0, lengths, 1.0)
    if criteria.shrinkage > 0:
        counts = np.arange(common.max(initial=0) + 1)
        near *= (counts / (counts + criteria.shrinkage))[common]
    if criteria.min_support > 1:
        near[common < criteria.min_support] = 0.0
    near[np.arange(len(targets)), targets] = 0.0
    near[:, criteria.limit :] = 0.0
    return near


def _keep_largest(near: Reals, found: Rows, similarities: Reals) -> None:
    n = min(found.shape[1], near.shape[1])
    least = np.partition(near, near.shape[1] - n, axis=1)[:, [near.shape[1] - n]]
    above, level = near > least, near == least
    # As many of those that are level with the last one as there is room for, lowest number first.
    room = n - above.sum(axis=1, keepdims=True)
    above |= level & (np.cumsum(level, axis=1, dtype=np.int32) <= room)
    kept = np.nonzero(above)[1].reshape(len(near), n)
    values = np.take_along_axis(near, kept, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    largest = np.take_along_axis(values, order, axis=1)
    found[:, :n] = np.where(largest > 0, np.take_along_axis(kept, order, axis=1), -1)
    similarities[:, :n] = np.maximum(largest, 0.0)


def averages(
    near: Nearest,
    starts: NDArray[np.int64],
    others: Rows,
    values: Reals,
    weights: Reals,
    targets: NDArray[np.intp],
    columns: NDArray[np.intp],
    k: int,
) -> tuple[Reals, Reals]:
    """Return, for pairs of a row and a column, the sums over the row's neighbours in the column.

    Of the neighbours that have a value there the `k` most similar count. The sums are those of
    similarity times weight times value, and of similarity times weight.
    """
    totals, masses = np.zeros(len(targets)), np.zeros(len(targets))
    n_rows = int(max(len(near.others), others.max(initial=0) + 1))
    step = max(1, _BLOCK // max(n_rows, near.others.shape[1]))
    for start in range(0, len(targets), step):
        part = slice(start, start + step)
        present, place = np.unique(columns[part], return_inverse=True)
        entries = entries_of(starts, present)
        # The last column is where neighbour -1, none, is looked up.
        held = np.full((len(present), n_rows + 1), -1, dtype=np.int64)
        held[np.repeat(np.arange(len(present)), np.diff(starts)[present]), others[entries]] = (
            entries
        )
        at = held[place[:, None], near.others[targets[part]]]
        pair, rank = _first(at >= 0, k)
        found = at[pair, rank]
        shares = near.similarities[targets[part][pair], rank] * weights[found]
        # Counts with weights add from left to right, as the compiled twin does.
        totals[part] = np.bincount(pair, shares * values[found], len(place))
        masses[part] = np.bincount(pair, shares, len(place))
    return totals, masses


def _first(present: NDArray[np.bool_], k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the row and column of the first `k` in each row that are true."""
    rows, columns = np.nonzero(present)
    counts = np.bincount(rows, minlength=len(present))
    order = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows[order < k], columns[order < k]


def entries_of(starts: NDArray[np.int64], rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the places of the entries of some rows, one row after the other."""
    sizes = np.diff(starts)[rows]
    before = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) + np.repeat(starts[rows] - before, sizes)
