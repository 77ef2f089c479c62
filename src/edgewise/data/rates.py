"""Rates of classes by category: numeric columns made of categorical ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Codes, Columns, Reals
from edgewise.data.columns import Column, NumericColumn
from edgewise.data.table import Table

if TYPE_CHECKING:
    from edgewise.data.raw_rows import RawRows


@dataclass(frozen=True, eq=False)
class CategoryRates:
    """Numeric columns that hold the rate of a class among the training rows of each category.

    They are numbered after the columns of the table. Rates are shrunken toward the rate of all rows
    (Micci-Barreca 2001), which unseen categories have.
    """

    columns: Columns  # (R,), the categorical column of each
    names: tuple[str, ...]
    starts: Columns  # (R + 1,), the bounds of each column's rates
    # By category; the last of a column is for missing and unseen ones.
    rates: Reals

    @staticmethod
    def of(
        columns: Sequence[int], names: Sequence[str], tables: Sequence[Reals]
    ) -> "CategoryRates":
        """Return the rates of some columns, given those of each category."""
        ends = np.cumsum([0, *map(len, tables)], dtype=np.intp)
        return CategoryRates(np.array(columns, np.intp), tuple(names), ends, np.concatenate(tables))

    def __len__(self) -> int:
        return len(self.columns)

    def name(self, r: int) -> str:
        """Return the name of column `r`, such as "rate of 'yes' by city"."""
        return self.names[r]

    def sources(self, r: int) -> Columns:
        """Return the column of the table that column `r` is made of."""
        return self.columns[r : r + 1]

    def table(self, r: int) -> Reals:
        """Return the rates of column `r` by category, the last for missing and unseen ones."""
        return self.rates[self.starts[r] : self.starts[r + 1]]

    def responses(self, r: int, codes: Codes) -> Reals:
        """Return the rate of each row, given the codes of its categories."""
        return self.table(r)[codes]

    def extend(self, rows: "RawRows") -> "ExtendedTable":
        """Return a table with these columns at its end; `rows` has the categories of training."""
        codes = {j: rows.codes(j) for j in np.unique(self.columns).tolist()}
        values = [self.responses(r, codes[j]) for r, j in enumerate(self.columns.tolist())]
        return ExtendedTable(rows.table, values, self.names)

    def fits(self, categories: Mapping[int, tuple[object, ...]]) -> bool:
        """Return whether there is a rate for every category of every column."""
        sizes = [1 + len(categories.get(j, ())) for j in self.columns.tolist()]
        n = len(self.columns)
        shaped = n > 0 and len(self.names) == n and len(self.starts) == n + 1
        return (
            shaped
            and all(j in categories for j in self.columns.tolist())
            and np.diff(self.starts).tolist() == sizes
            and self.starts[0] == 0
            and self.starts[-1] == len(self.rates)
        )

    def equals(self, other: "CategoryRates | None") -> bool:
        """Return whether both hold the same rates of the same columns."""
        if other is None or self.names != other.names:
            return False
        pairs = (
            (self.columns, other.columns),
            (self.starts, other.starts),
            (self.rates, other.rates),
        )
        return all(np.array_equal(mine, others) for mine, others in pairs)


class ExtendedTable(Table):
    """A table with more numeric columns at its end."""

    def __init__(self, base: Table, values: Sequence[Reals], names: Sequence[str]) -> None:
        base_names = [base.name(j) for j in range(base.n_columns)]
        super().__init__([*base_names, *names], base.infinite)
        self._base, self._columns = base, [NumericColumn(column) for column in values]
        self.categorical, self._partition = base.categorical, base._partition
        self.n_rows, self.n_columns = base.n_rows, base.n_columns + len(values)

    def _raw(self, j: int) -> Column:
        n_base = self._base.n_columns
        return self._base.column(j) if j < n_base else self._columns[j - n_base]

    def columns(self) -> Iterator[Column]:
        """Yield every column in turn, those of the table as it does."""
        yield from self._base.columns()
        yield from self._columns

    def _take(self, rows: NDArray[np.intp]) -> Table:
        values = [column.reals()[rows] for column in self._columns]
        names = (self.names or [])[self._base.n_columns :]
        base = self._base._take(rows)._replace(categorical=self._base.categorical)
        return ExtendedTable(base, values, names)
