"""A table as bin codes: dense columns, and sparse ones where one bin holds most rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.data.aligned import CONSTANT, Aligned
from edgewise.data.bins import Bins, find_bins
from edgewise.data.categories import Categories
from edgewise.data.columns import NominalColumn, NumericColumn, SparseColumn, as_nominal, as_numbers
from edgewise.data.filters import Filters
from edgewise.data.table import Table
from edgewise.dtypes import (
    CATEGORY_CODE,
    NARROW_CODE,
    ROW,
    WIDE_CODE,
    Codes,
    Columns,
    Exacts,
    Reals,
    Rows,
    Signs,
)

Coding = Bins | Categories
"""How a column is coded: by bins of numbers, or by values."""

# A sparse entry costs about twice a dense one (its row is looked up), so a column is stored
# sparsely where its commonest bin holds more than half of the rows. Measured on MNIST: the two
# cost the same at a share of 0.45.
SPARSE_SHARE = 0.5


@dataclass(frozen=True)
class DenseCodes:
    """Codes of some columns: row `p` of `codes` is the column numbered ``columns[p]``."""

    columns: Columns
    codes: Codes


@dataclass(frozen=True)
class SparseCodes:
    """The rows of some columns that are not in the column's commonest bin.

    Entries ``starts[p]`` to ``starts[p + 1]`` of `rows` (ascending) and `codes` belong to the
    column numbered ``columns[p]``; every other row has the code ``common[p]``.
    """

    columns: Columns
    starts: Columns
    rows: Rows
    codes: Codes
    common: Columns


@dataclass(frozen=True)
class NominalCodes:
    """Codes of the nominal columns: ``codes[p]`` is the column numbered ``columns[p]``."""

    columns: Columns
    codes: list[Codes]

    def place(self, columns: Columns) -> list[int]:
        """Return where some columns are stored."""
        return np.searchsorted(self.columns, columns).tolist()


@dataclass(frozen=True)
class BinnedTable:
    """Codes of every column; numeric columns are in one of two storages."""

    bins: Sequence[Coding]
    n_rows: int
    dense: DenseCodes
    sparse: SparseCodes
    nominal: NominalCodes
    aligned: Aligned | None = None

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.bins)

    @cached_property
    def place(self) -> Columns:
        """Where each numeric column is stored: its dense row, or ``-1 - p`` for sparse `p`."""
        place = np.zeros(self.n_columns, dtype=np.intp)
        place[self.dense.columns] = np.arange(len(self.dense.columns))
        place[self.sparse.columns] = -1 - np.arange(len(self.sparse.columns))
        return place

    @cached_property
    def splittable(self) -> Columns:
        """The numbers of the numeric columns that tell any two rows apart."""
        return self._splittable(Bins)

    @cached_property
    def splittable_nominal(self) -> Columns:
        """The numbers of the nominal columns that tell any two rows apart."""
        return self._splittable(Categories)

    def _splittable(self, kind: type) -> Columns:
        chosen = [j for j, b in enumerate(self.bins) if isinstance(b, kind) and b.can_split]
        return np.array(chosen, dtype=np.intp)

    @property
    def n_bytes(self) -> int:
        """The memory that the codes take."""
        arrays = (self.dense.codes, self.sparse.rows, self.sparse.codes, *self.nominal.codes)
        return sum(array.nbytes for array in arrays)

    def codes(self, j: int) -> Codes:
        """Return the codes of all rows in column `j`."""
        if isinstance(self.bins[j], Categories):
            return self.nominal.codes[self.nominal.place(np.array([j]))[0]]
        place = int(self.place[j])
        if place >= 0:
            return self.dense.codes[place]
        rows, codes, common = self._sparse_column(-1 - place)
        full = np.full(self.n_rows, common, dtype=self.sparse.codes.dtype)
        full[rows] = codes
        return full

    def cut(self, j: int, first: int, missing: int) -> Signs:
        """Return +1 for the rows of column `j` with a code of at least `first`, else -1.

        Missing values give `missing` instead. A negative `j` is the constant: +1 everywhere.
        """
        if j < 0:
            return np.ones(self.n_rows, dtype=np.int8)
        place = int(self.place[j])
        if place >= 0:
            return cut_codes(self.dense.codes[place], first, missing, self.bins[j].missing_code)
        rows, codes, common = self._sparse_column(-1 - place)
        code = self.bins[j].missing_code
        usual = missing if common == code else (1 if common >= first else -1)
        signs = np.full(self.n_rows, usual, dtype=np.int8)
        signs[rows] = cut_codes(codes, first, missing, code)
        return signs

    def thresholds(self, j: int) -> Reals:
        """Return the thresholds of numeric column `j`."""
        bins = self.bins[j]
        assert isinstance(bins, Bins)
        return bins.thresholds

    def threshold_signs(self, j: int, threshold: float, missing: int) -> Signs:
        """Return +1 where column `j` is at or above one of its thresholds, else -1."""
        if j >= self.n_columns:
            assert self.aligned is not None
            return self.aligned.threshold_signs(j, threshold, missing)
        if j == CONSTANT:
            return np.ones(self.n_rows, dtype=np.int8)
        bins = self.bins[j]
        assert isinstance(bins, Bins)
        return self.cut(j, bins.first(threshold), missing)

    def subset_values(self, j: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return for each row what `values` says of its category; the last entry is for missing."""
        return values[self.codes(j)]

    def numbers(self, j: int) -> Reals:
        """Return the values of numeric column `j` as they came."""
        assert self.aligned is not None
        return self.aligned.numbers(j)

    def _sparse_column(self, p: int) -> tuple[Rows, Codes, int]:
        span = slice(self.sparse.starts[p], self.sparse.starts[p + 1])
        return self.sparse.rows[span], self.sparse.codes[span], int(self.sparse.common[p])


def cut_codes(codes: Codes, first: int, missing: int, missing_code: int) -> Signs:
    """Return the signs of a cut: +1 from code `first` on, -1 below, `missing` where missing."""
    signs = (codes >= first).view(np.int8) * np.int8(2)
    signs -= np.int8(1)
    if missing != 1:
        signs[codes == missing_code] = missing
    return signs


def fit_bins(
    table: Table, mass: Exacts | None, max_bins: int, least_share: float = 0.0
) -> list[Coding]:
    """Find the bins, or the categories, of every column of a training table.

    Parameters
    ----------
    table : Table
        The training rows.
    mass : array of int64 or None
        The rows' weights in fixed point; None counts every row once.
    max_bins : int
        The most bins of a numeric column.
    least_share : float
        The share of the rows' weight that each side of a threshold must have.
    """
    found: list[Coding] = []
    for j, column in enumerate(table.columns()):
        if isinstance(column, NominalColumn):
            found.append(Categories.of(table.name(j), column))
        else:
            found.append(find_bins(table.name(j), column, mass, max_bins, least_share))
    return found


def encode(
    table: Table,
    bins: Sequence[Coding],
    storage: str = "auto",
    training: bool = True,
    filters: Filters | None = None,
) -> BinnedTable:
    """Return the table's codes in the given bins and categories.

    Parameters
    ----------
    table : Table
        The rows to encode.
    bins : sequence of Bins and Categories
        The coding of every column.
    storage : {"auto", "dense", "sparse"}
        How numeric columns are stored; "auto" takes sparse storage where one bin holds most rows.
    training : bool
        Whether the bins were found on this very table. Other tables may have missing values
        where the training table had none, and one code more.
    filters : Filters or None
        Image filters, which are columns that are computed when asked for.
    """
    numeric = [b for b in bins if isinstance(b, Bins)]
    widest = max([b.n_codes if training else b.missing_code + 1 for b in numeric], default=1)
    dtype = NARROW_CODE if widest <= 256 else WIDE_CODE
    # Pages of this array that no dense column ends up in are never touched.
    dense = np.empty((len(numeric), table.n_rows), dtype=dtype)
    dense_columns: list[int] = []
    sparse_columns: list[int] = []
    sparse: list[tuple[Rows, Codes, int]] = []
    nominal: dict[int, Codes] = {}
    for j, (column, b) in enumerate(zip(table.columns(), bins, strict=True)):
        if isinstance(b, Categories):
            named = as_nominal(column)
            if named is None:
                raise ValueError(f"X has categories in column {b.name!r} in training, numbers now")
            narrow = WIDE_CODE if b.missing_code < 2**16 else CATEGORY_CODE
            nominal[j] = b.encode(named).astype(narrow)
            continue
        numbers = as_numbers(column)
        if numbers is None:
            raise ValueError(f"X has numbers in column {b.name!r} in training, categories now")
        rows, codes, common = _coded(numbers, b)
        if storage == "sparse" or (
            storage == "auto" and 1 - len(rows) / table.n_rows > SPARSE_SHARE
        ):
            sparse_columns.append(j)
            sparse.append((rows, codes.astype(dtype), common))
        else:
            row = dense[len(dense_columns)]
            row[:] = common
            row[rows] = codes
            dense_columns.append(j)
    return BinnedTable(
        list(bins),
        table.n_rows,
        DenseCodes(np.array(dense_columns, dtype=np.intp), dense[: len(dense_columns)]),
        _join(sparse_columns, sparse, dtype),
        NominalCodes(np.array(list(nominal), dtype=np.intp), list(nominal.values())),
        Aligned(table, categories_of(bins), filters),
    )


def dense_table(bins: Sequence[Bins], codes: Codes) -> BinnedTable:
    """Return a table of columns that are coded already, row p of `codes` for ``bins[p]``."""
    columns = np.arange(len(bins))
    nothing = _join([], [], NARROW_CODE)
    nominal = NominalCodes(np.empty(0, dtype=np.intp), [])
    return BinnedTable(bins, codes.shape[1], DenseCodes(columns, codes), nothing, nominal)


def categories_of(bins: Sequence[Coding]) -> dict[int, tuple[object, ...]]:
    """Return the values of each nominal column."""
    return {j: b.categories for j, b in enumerate(bins) if isinstance(b, Categories)}


def _coded(column: NumericColumn | SparseColumn, bins: Bins) -> tuple[Rows, NDArray[np.intp], int]:
    """Return the rows that are not in the commonest bin, their codes, and that bin's code."""
    codes = bins.encode(column)
    counts = np.bincount(codes, minlength=bins.missing_code + 1)
    if isinstance(column, NumericColumn):
        common = int(counts.argmax())
        rows = np.flatnonzero(codes != common)
        return rows.astype(ROW), codes[rows], common
    zero = int(np.searchsorted(bins.thresholds, 0.0, side="right"))
    counts[zero] += column.n_rows - len(column.values)
    common = int(counts.argmax())
    if common == zero:
        other = codes != common
        return column.rows[other], codes[other], common
    full = np.full(column.n_rows, zero, dtype=np.intp)
    full[column.rows] = codes
    rows = np.flatnonzero(full != common)
    return rows.astype(ROW), full[rows], common


def _join(
    columns: list[int], parts: list[tuple[Rows, Codes, int]], dtype: type[np.unsignedinteger]
) -> SparseCodes:
    sizes = [len(rows) for rows, _, _ in parts]
    return SparseCodes(
        np.array(columns, dtype=np.intp),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.intp),
        np.concatenate([np.empty(0, ROW), *(rows for rows, _, _ in parts)]),
        np.concatenate([np.empty(0, dtype), *(codes for _, codes, _ in parts)]),
        np.array([common for _, _, common in parts], dtype=np.intp),
    )
