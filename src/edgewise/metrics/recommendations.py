"""Recommended lists beyond accuracy: coverage of the catalog, evenness, novelty and diversity."""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import finite_numbers, flag, integer
from edgewise.common.dtypes import REAL, Exacts, Reals
from edgewise.metrics.lists import over_queries

# Lists are summed in blocks of at most this many numbers, as vectors may be very long.
_BLOCK = 1 << 22

ItemLists: TypeAlias = Any
"""Lists of item indices: a sequence of sequences of any lengths, or a 2-D integer array."""


@dataclass(frozen=True, eq=False)
class _FlatLists:
    """The items of all lists, one list after another, and the length of each list."""

    items: NDArray[np.intp]
    sizes: Exacts

    def sums(self, values: Reals) -> Reals:
        """Sum values given by item over each list."""
        owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return np.bincount(owner, values[self.items], len(self.sizes)).astype(REAL, copy=False)


def catalog_coverage(lists: ItemLists, n_items: int) -> float:
    """Catalog coverage: the share of all items that are on at least one list.

    Parameters
    ----------
    lists : sequence of sequences of int, or 2-D integer array
        The recommended items of each user, as indices from 0; the lists may differ in length.
    n_items : int
        The number of items.

    Examples
    --------
    >>> catalog_coverage([[0, 1], [0, 2], [0]], n_items=4)
    0.75
    """
    n_items = integer("n_items", n_items, 1)
    return len(np.unique(_flatten_lists(lists, n_items).items)) / n_items


def gini(lists: ItemLists, n_items: int) -> float:
    """Gini index of exposure: how unevenly the recommendations are spread over the items.

    With c_1 <= ... <= c_n the number of lists that hold each of the n items, it is
    sum_i (2 i - n - 1) c_i / (n sum_i c_i): 0 where all counts are equal, 1 - 1/n where one item is
    the only recommendation.

    Takes the parameters of :func:`catalog_coverage`.

    Examples
    --------
    >>> gini([[0], [0], [0]], n_items=4)
    0.75
    """
    n_items = integer("n_items", n_items, 1)
    counts = np.sort(np.bincount(_flatten_lists(lists, n_items).items, minlength=n_items))
    ranks = 2.0 * np.arange(1, n_items + 1) - n_items - 1
    return float(ranks @ counts / (n_items * counts.sum()))


def novelty(
    lists: ItemLists, counts: ArrayLike, n_users: int, *, per_list: bool = False
) -> float | Reals:
    """Novelty: the mean self-information of the recommended items, in bits.

    An item known to `count` users has -log2(count / n_users) bits; one that nobody knows counts as
    known to one user. The mean is over the items of a list, then over the lists that are not empty.

    Parameters
    ----------
    lists
        As for :func:`catalog_coverage`.
    counts : array-like of shape (n_items,)
        The number of users who know (have rated) each item.
    n_users : int
        The number of users.
    per_list : bool, default False
        Return one value for each list, NaN for an empty one.

    Examples
    --------
    >>> novelty([[0, 1], [2]], counts=[8, 4, 1], n_users=8)  # ((0 + 1) / 2 + 3) / 2
    1.75
    """
    known, n_users = _counts(counts, n_users)
    return _item_means(lists, -np.log2(np.maximum(known, 1.0) / n_users), per_list)


def average_popularity(
    lists: ItemLists, counts: ArrayLike, n_users: int, *, per_list: bool = False
) -> float | Reals:
    """Average popularity: the mean share of all users who know (have rated) a recommended item.

    Lists that favor what is popular have more than other lists; the mean is over the items of a
    list, then over the lists that are not empty. Takes the parameters of :func:`novelty`.

    Examples
    --------
    >>> average_popularity([[0, 1], [2]], counts=[8, 4, 1], n_users=8)  # (0.75 + 0.125) / 2
    0.4375
    """
    known, n_users = _counts(counts, n_users)
    return _item_means(lists, known / n_users, per_list)


def _counts(counts: ArrayLike, n_users: int) -> tuple[Reals, int]:
    n_users = integer("n_users", n_users, 1)
    known = finite_numbers("counts", counts)
    wrong = (known < 0) | (known > n_users)
    if wrong.any():
        raise ValueError(f"counts must lie from 0 to n_users={n_users}, got {known[wrong][0]:g}")
    return known, n_users


def _item_means(lists: ItemLists, values: Reals, per_list: bool) -> float | Reals:
    """Return the mean over lists, or each list's, of the mean of values given by item."""
    flat = _flatten_lists(lists, len(values))
    means = flat.sums(values) / np.maximum(flat.sizes, 1)
    return over_queries(means, flat.sizes > 0, math.nan, flag("per_list", per_list))


def diversity(lists: ItemLists, vectors: Any, *, per_list: bool = False) -> float | Reals:
    """Diversity: the mean of 1 - cosine over all pairs of items on a list.

    It is 0 where all items of a list point the same way, 1 where they are orthogonal, at most 2;
    a vector of zeros has cosine 0 with every other. The mean is over the pairs of a list, then over
    the lists that have a pair.

    Parameters
    ----------
    lists
        As for :func:`catalog_coverage`.
    vectors : array-like or SciPy sparse matrix of shape (n_items, n_components)
        A vector for each item: features, factors or its column of ratings.
    per_list : bool, default False
        Return one value for each list, NaN for one of fewer than two items.

    Examples
    --------
    >>> vectors = [[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]
    >>> diversity([[0, 1], [0, 2]], vectors)  # (1 + 0) / 2
    0.5
    """
    units, lengths = _units(vectors)
    flat = _flatten_lists(lists, units.shape[0])
    defined = flat.sizes > 1
    if not defined.any():
        raise ValueError(
            "lists must include one with at least two items: shorter ones have no pairs"
        )
    pairs = np.maximum(flat.sizes * (flat.sizes - 1), 1)
    # The cosines of all pairs of n unit vectors add up to (|sum of the vectors|^2 - n) / 2.
    cosine = (_squared_sums(flat, units) - flat.sums(lengths)) / pairs
    means = np.clip(1.0 - cosine, 0.0, 2.0)
    return over_queries(means, defined, math.nan, flag("per_list", per_list))


def _units(vectors: Any) -> tuple[Any, Reals]:
    """Return the vectors divided by their lengths, and the new lengths (1 or 0)."""
    table = _table(vectors)
    # By the largest entry first: squares of very large or small entries would not be finite.
    table = _divide_rows(table, _largest(table))
    squares = _squares(table)
    return _divide_rows(table, np.sqrt(squares)), (squares > 0).astype(REAL)


def _table(vectors: Any) -> Any:
    """Return the vectors as a float64 array or CSR matrix."""
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


def _divide_rows(table: Any, by: Reals) -> Any:
    """Divide each row by its number; 0 leaves a row as it is."""
    from scipy import sparse

    by = np.where(by > 0, by, 1.0)
    if sparse.issparse(table):
        data = table.data / np.repeat(by, np.diff(table.indptr))
        return sparse.csr_array((data, table.indices, table.indptr), shape=table.shape)
    return table / by[:, None]


def _largest(table: Any) -> Reals:
    largest = abs(table).max(axis=1)
    return np.asarray(
        largest.todense() if hasattr(largest, "todense") else largest, dtype=REAL
    ).ravel()


def _squares(table: Any) -> Reals:
    return np.asarray((table * table).sum(axis=1), dtype=REAL).ravel()


def _squared_sums(found: _FlatLists, units: Any) -> Reals:
    """Return the squared length of the sum of each list's vectors."""
    from scipy import sparse

    starts, n_lists = np.append(0, np.cumsum(found.sizes)), len(found.sizes)
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


def _flatten_lists(lists: ItemLists, n_items: int) -> _FlatLists:
    """Return lists of indices below `n_items`, one after another."""
    if isinstance(lists, np.ndarray) and lists.ndim == 2:
        sizes = np.full(len(lists), lists.shape[1], dtype=np.int64)
        items = _indices(lists.ravel())
    else:
        try:
            lists_of_items = [_indices(items_of_list) for items_of_list in lists]
        except TypeError as error:
            raise TypeError(f"lists must be lists of item indices: {error}") from None
        sizes = np.array([len(items_of_list) for items_of_list in lists_of_items], dtype=np.int64)
        items = np.concatenate(lists_of_items) if lists_of_items else np.empty(0, dtype=np.intp)
    if len(items) == 0:
        raise ValueError("lists must recommend at least one item, got none")
    wrong = (items < 0) | (items >= n_items)
    if wrong.any():
        raise ValueError(
            f"lists must hold item indices from 0 to {n_items - 1}, got {items[wrong][0]}"
        )
    return _FlatLists(items, sizes)


def _indices(part: ArrayLike) -> NDArray[np.intp]:
    array = np.asarray(part)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(f"got {part!r} for one of them")
    return array.astype(np.intp)
