"""A table as bin codes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import NARROW_CODE, Codes, Columns, Reals, Rows, Signs
from edgewise.data.bins import Bins, Categories
from edgewise.data.partition import Partition
from edgewise.data.raw_rows import CONSTANT, RawRows
from edgewise.data.storage import CategoricalCodes, DenseCodes, SparseCodes, Store

Coding = Bins | Categories
"""How a column is coded: by bins of numbers, or by values."""


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """Codes of every column; numeric columns are in one of two storages.

    With a `fill`, codes are copied on demand: call ``ready`` before reading them.
    """

    bins: Sequence[Coding]
    n_rows: int
    dense: DenseCodes
    sparse: SparseCodes
    categorical: CategoricalCodes
    raw_rows: RawRows | None = None
    fill: Callable[[Columns], None] | None = None
    partition: Partition = None  # type: ignore[assignment]  # all rows are here

    def __post_init__(self) -> None:
        if self.partition is None:
            object.__setattr__(self, "partition", Partition(self.n_rows))  # type: ignore[unreachable]

    def ready(self, columns: Columns) -> None:
        """Make the codes of columns readable."""
        if self.fill is not None:
            self.fill(columns)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.bins)

    @cached_property
    def storage_index(self) -> Columns:
        """Where each numeric column is stored: its dense row, or ``-1 - p`` for sparse `p`."""
        position = np.zeros(self.n_columns, dtype=np.intp)
        position[self.sparse.columns] = -1 - np.arange(len(self.sparse.columns))
        # A column that is stored both ways is read from its dense row.
        position[self.dense.columns] = np.arange(len(self.dense.columns))
        return position

    @cached_property
    def splittable(self) -> Columns:
        """The numeric columns that separate any two rows."""
        return self._splittable(Bins)

    @cached_property
    def splittable_categorical(self) -> Columns:
        """The categorical columns that separate any two rows."""
        return self._splittable(Categories)

    def _splittable(self, kind: type) -> Columns:
        chosen = [j for j, b in enumerate(self.bins) if isinstance(b, kind) and b.can_split]
        return np.array(chosen, dtype=np.intp)

    def codes(self, j: int) -> Codes:
        """Return the codes of all rows in column `j`."""
        self.ready(np.array([j]))
        if isinstance(self.bins[j], Categories):
            return self.categorical.codes[self.categorical.positions(np.array([j]))[0]]
        position = int(self.storage_index[j])
        if position >= 0:
            return self.dense.codes[position]
        rows, codes, common = self._sparse_column(-1 - position)
        full = np.full(self.n_rows, common, dtype=self.sparse.codes.dtype)
        full[rows] = codes
        return full

    def code_type(self, j: int) -> np.dtype[Any]:
        """Return the type of the codes of column `j`."""
        if isinstance(self.bins[j], Categories):
            return self.categorical.codes[self.categorical.positions(np.array([j]))[0]].dtype
        return (self.dense if self.storage_index[j] >= 0 else self.sparse).codes.dtype

    def cut(self, j: int, first: int, missing: int) -> Signs:
        """Return +1 for the rows of column `j` with a code of at least `first`, else -1.

        Missing values give `missing` instead. A negative `j` is the constant: +1 everywhere.
        """
        if j < 0:
            return np.ones(self.n_rows, dtype=np.int8)
        if self.fill is not None:
            self.fill(np.array([j]))
        position = int(self.storage_index[j])
        if position >= 0:
            return cut_codes(self.dense.codes[position], first, missing, self.bins[j].missing_code)
        rows, codes, common = self._sparse_column(-1 - position)
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
        """Return +1 where column `j` is at or above a threshold, else -1.

        Thresholds inside a bin, and image filters, need the rows themselves.
        """
        if j == CONSTANT:
            return np.ones(self.n_rows, dtype=np.int8)
        if j < self.n_columns:
            first, thresholds = self.first(j, threshold), self.thresholds(j)
            if threshold == -np.inf or (first > 0 and thresholds[first - 1] == threshold):
                return self.cut(j, first, missing)
        assert self.raw_rows is not None
        return self.raw_rows.threshold_signs(j, threshold, missing)

    def first(self, j: int, threshold: float) -> int:
        """Return the first bin of numeric column `j` that is at or above one of its thresholds."""
        bins = self.bins[j]
        assert isinstance(bins, Bins)
        return bins.first(threshold)

    def subset_values(self, j: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return ``values[category]`` for each row; the last entry is for missing values."""
        return values[self.codes(j)]

    def numbers(self, j: int) -> Reals:
        """Return the raw values of numeric column `j`."""
        assert self.raw_rows is not None
        return self.raw_rows.numbers(j)

    def block(self, columns: Columns, rows: slice) -> Reals:
        """Return some rows of some columns in float64, a column in each row; categories as codes.

        Numbers are the thresholds at or below them, or minus infinity; responses of image filters
        are computed.
        """
        first, stop, _ = rows.indices(self.n_rows)
        block = np.empty((len(columns), stop - first))
        for i, j in enumerate(columns.tolist()):
            if j >= self.n_columns:
                assert self.raw_rows is not None
                block[i] = self.raw_rows.block(columns[i : i + 1], rows)[0]
                continue
            bins = self.bins[j]
            if isinstance(bins, Categories):
                block[i] = self.codes(j)[rows]
                continue
            values = np.concatenate([[-np.inf], bins.thresholds, [np.nan]])
            position = int(self.storage_index[j])
            if position >= 0:
                block[i] = values[self.codes(j)[rows]]
                continue
            stored, codes, common = self._sparse_column(-1 - position)
            low, high = np.searchsorted(stored, [first, stop]).tolist()
            block[i] = values[common]
            block[i, stored[low:high] - first] = values[codes[low:high]]
        return block

    def _sparse_column(self, p: int) -> tuple[Rows, Codes, int]:
        span = slice(self.sparse.starts[p], self.sparse.ends[p])
        return self.sparse.rows[span], self.sparse.codes[span], int(self.sparse.common[p])


_ONE, _TWO = np.int8(1), np.int8(2)


def cut_codes(codes: Codes, first: int, missing: int, missing_code: int) -> Signs:
    """Return the signs of a cut: +1 from code `first` on, -1 below, `missing` where missing."""
    signs = (codes >= first).view(np.int8) * _TWO
    signs -= _ONE
    if missing != 1:
        signs[codes == missing_code] = missing
    return signs


def dense_table(bins: Sequence[Bins], codes: Codes) -> BinnedTable:
    """Return a table of columns that are coded already, row p of `codes` for ``bins[p]``."""
    _, sparse, categorical = Store(0, 0, NARROW_CODE).finish(narrow=True)
    dense = DenseCodes(np.arange(len(bins)), codes)
    return BinnedTable(bins, codes.shape[1], dense, sparse, categorical)


def categories_of(bins: Sequence[Coding]) -> dict[int, tuple[object, ...]]:
    """Return the values of each categorical column."""
    return {j: b.categories for j, b in enumerate(bins) if isinstance(b, Categories)}
