"""Storage of codes: dense columns, sparse ones (one bin holds most rows), categorical ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import NARROW_CODE, ROW, WIDE_CODE, Codes, Columns, Rows

# A sparse entry costs about twice a dense one (its row is looked up), so a column is stored
# sparsely where its commonest bin holds more than half of the rows. Measured on MNIST: the two
# cost the same at a share of 0.45.
SPARSE_SHARE = 0.5

# A growing array grows by this share of itself, which bounds the memory left unused.
_GROWTH = 0.125


@dataclass(frozen=True)
class DenseCodes:
    """Codes of some columns: row `p` of `codes` is the column numbered ``columns[p]``."""

    columns: Columns
    codes: Codes


@dataclass(frozen=True)
class SparseCodes:
    """The rows of some columns that are not in the column's commonest bin.

    Entries ``starts[p]`` to ``starts[p + 1]`` of `rows` (ascending) and `codes` belong to the
    column numbered ``columns[p]``; every other row has the code ``common[p]``. Where there are
    `stops`, a column's entries end there and not where the next one's start.
    """

    columns: Columns
    starts: Columns
    rows: Rows
    codes: Codes
    common: Columns
    stops: Columns | None = None

    @property
    def ends(self) -> Columns:
        """Where the entries of each column end."""
        return self.starts[1:] if self.stops is None else self.stops


@dataclass(frozen=True)
class CategoricalCodes:
    """Codes of the categorical columns: ``codes[p]`` is the column numbered ``columns[p]``."""

    columns: Columns
    codes: list[Codes]

    def positions(self, columns: Columns) -> list[int]:
        """Return where some columns are stored."""
        return np.searchsorted(self.columns, columns).tolist()


@dataclass(frozen=True)
class CodedColumn:
    """The codes of a numeric column: of all rows, or of the rows outside of the commonest bin."""

    rows: Rows | None
    codes: Codes
    common: int


class Store:
    """Collects coded columns, one after the other; `n_columns` bounds the dense ones."""

    def __init__(self, n_columns: int, n_rows: int, dtype: type[np.unsignedinteger]) -> None:
        # Pages of this array that no dense column ends up in are never touched.
        self._dense = np.empty((n_columns, n_rows), dtype=dtype)
        self._dense_columns: list[int] = []
        self._sparse_columns: list[int] = []
        self._ends, self._common = [0], list[int]()
        self._rows, self._codes = GrowingArray(ROW), GrowingArray(dtype)
        self._categorical: dict[int, Codes] = {}

    def add(self, j: int, coded: CodedColumn | Codes) -> None:
        """Keep column `j`; a categorical one has codes of all rows."""
        if not isinstance(coded, CodedColumn):
            self._categorical[j] = coded
            return
        if coded.rows is None:
            self._dense[len(self._dense_columns)] = coded.codes
            self._dense_columns.append(j)
            return
        self._rows.extend(coded.rows)
        self._codes.extend(coded.codes)
        self._ends.append(self._ends[-1] + len(coded.rows))
        self._common.append(coded.common)
        self._sparse_columns.append(j)

    def finish(self, narrow: bool) -> tuple[DenseCodes, SparseCodes, CategoricalCodes]:
        """Return what was kept, in the narrow type of codes if they all fit into it."""
        dtype = NARROW_CODE if narrow else WIDE_CODE
        dense: Codes = self._dense[: len(self._dense_columns)].astype(dtype, copy=False)
        sparse = SparseCodes(
            np.array(self._sparse_columns, dtype=np.intp),
            np.array(self._ends, dtype=np.intp),
            self._rows.finish(),
            self._codes.finish().astype(dtype, copy=False),
            np.array(self._common, dtype=np.intp),
        )
        categorical = CategoricalCodes(
            np.array(list(self._categorical), dtype=np.intp), list(self._categorical.values())
        )
        return DenseCodes(np.array(self._dense_columns, dtype=np.intp), dense), sparse, categorical


class GrowingArray:
    """An array that grows at its end, in place where the system can do that."""

    def __init__(self, dtype: Any) -> None:
        self._array: NDArray[Any] = np.empty(0, dtype=dtype)
        self._size = 0

    def extend(self, more: NDArray[Any]) -> None:
        """Add to the end."""
        size = self._size + len(more)
        if size > len(self._array):
            # Joining parts at the end would take twice the memory.
            self._array.resize(size + int(_GROWTH * size), refcheck=False)
        self._array[self._size : size] = more
        self._size = size

    def finish(self) -> NDArray[Any]:
        """Return the array, without its spare capacity."""
        self._array.resize(self._size, refcheck=False)
        return self._array


def choose_storage(codes: Codes, counts: Columns, storage: str) -> CodedColumn:
    """Return the codes of all rows of a column as they are to be kept."""
    common = int(counts.argmax())
    if not is_sparse(int(counts[common]), len(codes), storage):
        return CodedColumn(None, codes, common)
    rows = np.flatnonzero(codes != common)
    return CodedColumn(rows.astype(ROW), codes[rows], common)


def is_sparse(n_common: int, n_rows: int, storage: str) -> bool:
    """Return whether a column is stored sparsely, given the rows in its commonest bin."""
    mostly = n_rows > 0 and n_common / n_rows > SPARSE_SHARE
    return storage == "sparse" or (storage == "auto" and mostly)
