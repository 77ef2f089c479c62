"""How alike, or how different, the items of a list are."""

from typing import Any

import numpy as np

from edgewise.common.dtypes import REAL, Reals
from edgewise.metrics.rating.recommended import (
    ItemLists,
    Recommended,
    over_lists,
    recommended,
)

# Lists are summed in blocks with at most so many numbers, as vectors may be as long as users.
_BLOCK = 1 << 22


def diversity(lists: ItemLists, vectors: Any, *, per_list: bool = False) -> float | Reals:
    """Diversity: the mean of 1 - cosine over all pairs of items on a list.

    Cosines are those of the items' vectors: features, factors, or columns of ratings. An item whose
    vector is all zeros has the cosine 0 with every other. The mean is over the pairs of a list,
    then over the lists that have a pair. It takes time linear in the length of the lists: the
    cosines of all pairs add up to half of |sum of unit vectors|^2 - number of them.

    Parameters
    ----------
    lists : sequence of sequences of int, or 2-D integer array
        The recommended items of each user, as indices from 0; the lists may differ in length.
    vectors : array-like or SciPy sparse matrix of shape (n_items, n_components)
        A vector for each item.
    per_list : bool, default False
        Return one value for each list, NaN for one of fewer than two items.

    Returns
    -------
    float or ndarray of shape (n_lists,)
        The mean over lists, or the value of each: 0 where all items of a list point the same way,
        1 where they have nothing in common, at most 2.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, or if no list has two items.

    Examples
    --------
    >>> from edgewise.metrics import diversity
    >>> vectors = [[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]
    >>> diversity([[0, 1], [0, 2]], vectors)  # (1 + 0) / 2
    0.5
    """
    units, lengths = _units(vectors)
    found = recommended(lists, units.shape[0])
    defined = found.sizes > 1
    if not defined.any():
        raise ValueError("lists must have one with two items or more: others have no pairs")
    owner = np.repeat(np.arange(len(found.sizes)), found.sizes)
    alone = np.bincount(owner, weights=lengths[found.items], minlength=len(found.sizes))
    pairs = np.maximum(found.sizes * (found.sizes - 1), 1)
    cosine = (_squared_sums(found, units) - alone) / pairs
    return over_lists(np.clip(1.0 - cosine, 0.0, 2.0), defined, per_list)


def _units(vectors: Any) -> tuple[Any, Reals]:
    """Return the vectors divided by their lengths, as they are stored, and the new lengths."""
    table = _table(vectors)
    # By the largest entry first: squares of the very large or small would not be finite.
    table = _divided(table, _largest(table))
    squares = _squares(table)
    return _divided(table, np.sqrt(squares)), (squares > 0).astype(REAL)


def _table(vectors: Any) -> Any:
    """Return the vectors as a float64 array or CSR matrix, or raise."""
    from scipy import sparse

    if sparse.issparse(vectors):
        table = sparse.csr_array(vectors, dtype=REAL)
        if not table.has_canonical_format:
            table = table.copy()
            table.sum_duplicates()
    else:
        table = np.asarray(vectors)
        if table.dtype.kind not in "biuf" or table.ndim != 2:
            raise TypeError(
                "vectors must be a 2-D array of real numbers or a sparse matrix, got an array of "
                f"{table.dtype} and shape {table.shape}"
            )
        table = table.astype(REAL, copy=False)
    if table.shape[1] == 0:
        raise ValueError("vectors must have at least one component, got none")
    if not np.isfinite(table.data if sparse.issparse(table) else table).all():
        raise ValueError("vectors must hold finite numbers, got NaN or infinity")
    return table


def _divided(table: Any, by: Reals) -> Any:
    """Return the rows divided by numbers of their own; 0 leaves a row as it is."""
    from scipy import sparse

    by = np.where(by > 0, by, 1.0)
    if sparse.issparse(table):
        data = table.data / np.repeat(by, np.diff(table.indptr))
        return sparse.csr_array((data, table.indices, table.indptr), shape=table.shape)
    return table / by[:, None]


def _largest(table: Any) -> Reals:
    most = abs(table).max(axis=1)
    return np.asarray(most.todense() if hasattr(most, "todense") else most, dtype=REAL).ravel()


def _squares(table: Any) -> Reals:
    return np.asarray((table * table).sum(axis=1), dtype=REAL).ravel()


def _squared_sums(found: Recommended, units: Any) -> Reals:
    """Return the squared length of the sum of each list's vectors."""
    from scipy import sparse

    starts, n_lists = found.starts, len(found.sizes)
    squares = np.empty(n_lists)
    step = max(1, _BLOCK // max(1, units.shape[1]))
    for first in range(0, n_lists, step):
        last = min(first + step, n_lists)
        items = found.items[starts[first] : starts[last]]
        chosen = sparse.csr_array(
            (np.ones(len(items)), items, starts[first : last + 1] - starts[first]),
            shape=(last - first, units.shape[0]),
        )
        squares[first:last] = _squares(chosen @ units)
    return squares


diversity.larger_is_better = True  # type: ignore[attr-defined]
