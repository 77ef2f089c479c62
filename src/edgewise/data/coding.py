"""From typed columns to bins and codes, a column at a time and on several threads."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from edgewise.common.compiled import use_compiled
from edgewise.common.dtypes import CATEGORY_CODE, NARROW_CODE, WIDE_CODE, Codes, Exacts
from edgewise.common.threads import Threads
from edgewise.data.binned import BinnedTable, Coding, categories_of
from edgewise.data.bins import Bins, Categories, find_bins, sampled_rows
from edgewise.data.columns import (
    CategoricalColumn,
    Column,
    NumericColumn,
    SparseColumn,
    as_categorical,
    as_numbers,
)
from edgewise.data.filters import HaarFilters
from edgewise.data.partition import Partition
from edgewise.data.raw_rows import RawRows
from edgewise.data.storage import CodedColumn, Store, choose_storage, is_sparse
from edgewise.data.table import Table

# Sorting and coding a value of the table takes NumPy as long as this many entries of a histogram.
_VISITS_A_VALUE = 50.0


def encode(
    table: Table, bins: Sequence[Coding], storage: str = "auto", filters: HaarFilters | None = None
) -> BinnedTable:
    """Return a table's codes in the bins of another, which may have had no missing values."""
    most_codes = _widest(bins, False)
    return _encode_table(table, lambda j, *_: bins[j], most_codes, storage, False, filters, 1)


def fit_encode(
    table: Table,
    mass: Exacts | None,
    max_bins: int,
    least_share: float = 0.0,
    filters: HaarFilters | None = None,
    n_jobs: int = 1,
) -> BinnedTable:
    """Find the bins, or the categories, of every column of a training table, and its codes.

    Examples
    --------
    >>> from edgewise.data import as_table
    >>> binned = fit_encode(as_table([[1.0], [4.0], [2.0]]), None, 256)
    >>> binned.thresholds(0), binned.codes(0)
    (array([1.5, 3. ]), array([0, 2, 1], dtype=uint8))
    """
    partition = table.partition
    shared = None if partition.is_whole else partition
    sample = sampled_rows(partition.n_rows, max_bins)
    if sample is not None:
        sample = partition.local_rows(sample)

    def find_coding(j: int, column: Column, compiled: bool) -> Coding:
        name = table.name(j)
        if shared is not None:
            column = agree_on_kind(column, shared, name)
        if isinstance(column, CategoricalColumn):
            return Categories.of(name, column, shared)
        numbers = as_numbers(column)
        assert numbers is not None
        return find_bins(name, numbers, mass, max_bins, least_share, compiled, sample, shared)

    return _encode_table(table, find_coding, max_bins, "auto", True, filters, n_jobs)


def agree_on_kind(column: Column, partition: Partition, name: str) -> Column:
    """Return a column, categorical if any process has categories in it, else of numbers."""
    # A column without any value is of either kind.
    named, numbers = as_categorical(column), as_numbers(column)
    may_be = np.array([named is not None, numbers is not None], dtype=np.int64)
    may_be, categorical = partition.min(may_be), isinstance(column, CategoricalColumn)
    agreed = named if may_be[0] and (partition.any(categorical) or not may_be[1]) else numbers
    if not may_be.any() or agreed is None:
        raise ValueError(f"X has numbers in some, categories in other partitions of {name!r}")
    return agreed


def _encode_table(
    table: Table,
    coding: Callable[[int, Column, bool], Coding],
    most_codes: int,
    storage: str,
    training: bool,
    filters: HaarFilters | None,
    n_jobs: int,
) -> BinnedTable:
    """Return the codes of every column in the bins that `coding` gives it, reading each once."""
    dtype = NARROW_CODE if most_codes <= 256 else WIDE_CODE
    # Whether the table is worth compiled loops and threads.
    compiled = use_compiled(_VISITS_A_VALUE * table.n_rows * table.n_columns)

    shared = training and not table.partition.is_whole

    def read_columns() -> Iterator[tuple[int, Column, Coding | None]]:
        for j, column in enumerate(table.columns()):
            # Processes that find bins together must do so column by column.
            yield j, column, coding(j, column, compiled) if shared else None

    def code(item: tuple[int, Column, Coding | None]) -> tuple[Coding, CodedColumn | Codes]:
        j, column, found_by = item
        found_by = found_by or coding(j, column, compiled)
        return found_by, _encode_column(column, found_by, dtype, storage, compiled)

    store = Store(table.n_columns, table.n_rows, dtype)
    bins: list[Coding] = []
    # One thread reads the columns, only a few ahead of those that code them.
    with Threads(n_jobs if compiled else 1) as threads:
        for bins_of_column, coded in threads.stream(code, read_columns()):
            store.add(len(bins), coded)
            bins.append(bins_of_column)
    rows = RawRows(table, categories_of(bins), filters)
    codes = store.finish(_widest(bins, training) <= 256)
    return BinnedTable(bins, table.n_rows, *codes, rows, partition=table.partition)


def _widest(bins: Sequence[Coding], training: bool) -> int:
    """Return the most codes of a numeric column."""
    numeric = [b for b in bins if isinstance(b, Bins)]
    return max([b.n_codes if training else b.missing_code + 1 for b in numeric], default=1)


def _encode_column(
    column: Column, bins: Coding, dtype: type[np.unsignedinteger], storage: str, compiled: bool
) -> CodedColumn | Codes:
    """Return the codes of a column: as they are to be kept, or of all rows of a categorical one."""
    if isinstance(bins, Categories):
        named = as_categorical(column, bins.categories)
        if named is None:
            raise ValueError(f"X has categories in column {bins.name!r} in training, numbers now")
        narrow = WIDE_CODE if bins.missing_code < 2**16 else CATEGORY_CODE
        return bins.encode(named).astype(narrow)
    numbers = as_numbers(column)
    if numbers is None:
        raise ValueError(f"X has numbers in column {bins.name!r} in training, categories now")
    codes, counts = bins.encode_with_counts(numbers, dtype, compiled)
    if isinstance(numbers, NumericColumn):
        return choose_storage(codes, counts, storage)
    return _choose_sparse_storage(numbers, bins, codes, counts, storage)


def _choose_sparse_storage(
    column: SparseColumn, bins: Bins, codes: Codes, counts: np.ndarray, storage: str
) -> CodedColumn:
    zero = int(np.searchsorted(bins.thresholds, 0.0, side="right"))
    counts[zero] += column.n_rows - len(column.values)
    common = int(counts.argmax())
    if common == zero and is_sparse(int(counts[zero]), column.n_rows, storage):
        other = codes != common
        return CodedColumn(column.rows[other], codes[other], common)
    full = np.full(column.n_rows, zero, dtype=codes.dtype)
    full[column.rows] = codes
    return choose_storage(full, counts, storage)
