"""Tables of which only some columns are in memory at a time, and some rows of them."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from edgewise.data.column_table import taken
from edgewise.data.columns import Column
from edgewise.data.table import Table


class BlockTable(Table):
    """Columns in blocks that are read, or made, when they are asked for.

    A derived class has `_load`. Only the block that was read last is kept.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    widths : sequence of int
        How many columns each block has.
    names : sequence of str or None
        The names of all columns.
    infinite : {"raise", "missing", "value"}
        What an infinite number means.
    """

    def __init__(
        self,
        n_rows: int,
        widths: Sequence[int],
        names: Sequence[str] | None = None,
        infinite: str = "raise",
    ) -> None:
        super().__init__(names, infinite)
        self._starts = np.concatenate(([0], np.cumsum(widths))).astype(int)
        self.n_rows, self.n_columns = n_rows, int(self._starts[-1])
        self._kept: tuple[int, Table] | None = None

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return len(self._starts) - 1

    @abstractmethod
    def _load(self, block: int) -> Table:
        """Return the columns of a block, infinite values as they are."""

    def _raw(self, j: int) -> Column:
        block = int(np.searchsorted(self._starts, j, side="right")) - 1
        if self._kept is None or self._kept[0] != block:
            self._kept = None
            self._kept = block, self._load(block)
        return self._kept[1].column(j - int(self._starts[block]))

    def _raws(self) -> Iterator[Column]:
        self._kept = None
        for block in range(self.n_blocks):
            yield from self._load(block).columns()

    def _take(self, rows: NDArray[np.intp]) -> "TakenTable":
        return TakenTable(self, rows)


class TakenTable(Table):
    """Some rows of another table, taken out of its columns as they are read.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.data import as_table
    >>> part = TakenTable(as_table([[1.0], [2.0], [3.0]]), np.array([2, 0]))
    >>> part.column(0).values
    array([3., 1.])
    """

    def __init__(self, whole: Table, rows: NDArray[np.intp]) -> None:
        super().__init__(whole.names, whole.infinite)
        # The columns come as they are: what is infinite in other rows is no concern of these.
        self._whole = copy(whole)
        self._whole.infinite = "value"
        self._whole.categorical = frozenset()
        self._rows = rows
        self.n_rows, self.n_columns = len(rows), whole.n_columns

    def _raw(self, j: int) -> Column:
        return taken(self._whole.column(j), self._rows)

    def _raws(self) -> Iterator[Column]:
        for column in self._whole.columns():
            yield taken(column, self._rows)

    def _take(self, rows: NDArray[np.intp]) -> "TakenTable":
        fewer = TakenTable(self._whole, self._rows[rows])
        fewer.infinite = self.infinite
        return fewer
