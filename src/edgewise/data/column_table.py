"""A table made of typed columns, for data that were read before."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgewise.data.columns import CategoricalColumn, Column, NumericColumn
from edgewise.data.table import Table


class ColumnTable(Table):
    """Typed columns of the same length, side by side.

    Examples
    --------
    >>> import numpy as np
    >>> table = ColumnTable([NumericColumn(np.array([1.0, 2.0]))], ["year"])
    >>> table.n_rows, table.name(0)
    (2, 'year')
    """

    def __init__(
        self, columns: Sequence[Column], names: Sequence[str] | None = None, infinite: str = "raise"
    ) -> None:
        super().__init__(names, infinite)
        self._columns = tuple(columns)
        self.n_rows, self.n_columns = len(columns[0]), len(columns)

    def _raw(self, j: int) -> Column:
        return self._columns[j]

    def _take(self, rows: NDArray[np.intp]) -> "ColumnTable":
        columns = [taken(column, rows) for column in self._columns]
        return ColumnTable(columns, self.names, self.infinite)


def taken(column: Column, rows: NDArray[np.intp]) -> NumericColumn | CategoricalColumn:
    """Return some rows of a column; a row number of -1 gives a missing value.

    Examples
    --------
    >>> import numpy as np
    >>> taken(NumericColumn(np.array([1, 2])), np.array([1, -1])).values
    array([ 2., nan])
    """
    absent = rows < 0
    if isinstance(column, CategoricalColumn):
        codes = column.codes[rows]
        codes[absent] = column.missing_code
        return CategoricalColumn(codes, column.categories)
    values = column.reals() if absent.any() or not isinstance(column, NumericColumn) else None
    if values is None:
        assert isinstance(column, NumericColumn)
        return NumericColumn(column.values[rows])
    return NumericColumn(np.where(absent, np.nan, values[rows]))
