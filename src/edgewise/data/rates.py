"""Rates of classes by category: numeric columns made of categorical ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Codes, Columns, Exacts, Reals
from edgewise.data.columns import Column, NumericColumn
from edgewise.data.table import Table

if TYPE_CHECKING:
    from edgewise.data.raw_rows import RawRows


@dataclass(frozen=True, eq=False)
class CategoryRates:
    """Numeric columns that hold the rate of a class among the training rows of each category.

    They are numbered after the columns of the table. Rates are shrunken toward the rate of all rows
    (Micci-Barreca 2001), which unseen categories have. A column may also hold the rates of the
    combinations of two categorical columns.
    """

    columns: Columns  # (R, 2), the one or two categorical columns of each; -1: a single column
    names: tuple[str, ...]
    starts: Columns  # (R + 1,), the bounds of each column's rates
    # By category, the last of a column for missing and unseen ones; or by combination, the last for
    # unseen ones.
    rates: Reals
    combination_starts: Columns  # (R + 1,), the bounds of each column's combinations, if any
    combinations: Codes  # (M, 2), the codes of the categories of each, ascending

    @staticmethod
    def of(
        columns: Sequence[tuple[int, ...]],
        names: Sequence[str],
        tables: Sequence[Reals],
        combinations: Sequence[Codes],
    ) -> "CategoryRates":
        """Return the rates of one or two columns each, given the rates by category.

        For two columns, `combinations` has the codes of the categories of each rate but the last.
        """
        return CategoryRates(
            np.array([(*js, -1)[:2] for js in columns], dtype=np.intp),
            tuple(names),
            _bounds(tables),
            np.concatenate(tables),
            _bounds(combinations),
            np.concatenate(combinations),
        )

    def __len__(self) -> int:
        return len(self.columns)

    def name(self, r: int) -> str:
        """Return the name of column `r`, such as "rate of yes by city"."""
        return self.names[r]

    def sources(self, r: int) -> Columns:
        """Return the columns of the table that column `r` is made of."""
        return self.columns[r][self.columns[r] >= 0]

    def table(self, r: int) -> Reals:
        """Return the rates of column `r` by category or combination, the last for unseen ones."""
        return self.rates[self.starts[r] : self.starts[r + 1]]

    def combinations_of(self, r: int) -> Codes:
        """Return the codes of the categories of each combination; none for a single column."""
        return self.combinations[self.combination_starts[r] : self.combination_starts[r + 1]]

    def responses(self, r: int, codes: Sequence[Codes]) -> Reals:
        """Return the rate of each row, given the codes of its categories in each source."""
        if len(codes) == 1:
            return self.table(r)[codes[0]]
        return self.table(r)[find_combinations(codes, self.combinations_of(r))]

    def extend(self, rows: "RawRows") -> "ExtendedTable":
        """Return a table with these columns at its end; `rows` has the categories of training."""
        values = [
            self.responses(r, [rows.codes(j) for j in self.sources(r).tolist()])
            for r in range(len(self))
        ]
        return ExtendedTable(rows.table, values, self.names)

    def fits(self, categories: Mapping[int, tuple[object, ...]]) -> bool:
        """Return whether there is a rate for every category of every column."""
        n = len(self.columns)
        shaped = (
            n > 0
            and len(self.names) == n
            and _are_bounds(self.starts, n, len(self.rates))
            and _are_bounds(self.combination_starts, n, len(self.combinations))
        )
        return shaped and all(self._fits(r, categories) for r in range(n))

    def _fits(self, r: int, categories: Mapping[int, tuple[object, ...]]) -> bool:
        sources, combinations = self.columns[r].tolist(), self.combinations_of(r)
        if sources[1] == -1:
            size = len(categories.get(sources[0], ()))
            return sources[0] in categories and len(self.table(r)) == size + 1
        if not all(j in categories for j in sources) or len(self.table(r)) != len(combinations) + 1:
            return False
        largest = [len(categories[j]) for j in sources]
        keys = _keys(*combinations.T)
        return bool((combinations <= largest).all() and (keys[1:] > keys[:-1]).all())

    def equals(self, other: "CategoryRates | None") -> bool:
        """Return whether both hold the same rates of the same columns."""
        if other is None or self.names != other.names:
            return False
        names = ("columns", "starts", "rates", "combination_starts", "combinations")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)


def find_combinations(codes: Sequence[Codes], combinations: Codes) -> Columns:
    """Return the number of each row's combination; unseen ones have the number after the last."""
    keys, known = _keys(*codes), _keys(*combinations.T)
    numbers = np.searchsorted(known, keys)
    is_known = numbers < len(known)
    is_known[is_known] = known[numbers[is_known]] == keys[is_known]
    return np.where(is_known, numbers, len(known))


def _keys(first: Codes, second: Codes) -> Exacts:
    """Return a number for each combination of two codes, in the order of the codes."""
    # CATEGORY_CODE has 32 bits.
    return first.astype(np.int64) << 32 | second.astype(np.int64)


def _bounds(arrays: Sequence[NDArray[Any]]) -> Columns:
    return np.cumsum([0, *map(len, arrays)], dtype=np.intp)


def _are_bounds(bounds: Columns, n: int, total: int) -> bool:
    ascend = len(bounds) == n + 1 and (np.diff(bounds) >= 0).all()
    return bool(ascend and bounds[0] == 0 and bounds[-1] == total)


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
        base = self._base._take(rows).with_categorical(self._base.categorical, self._base.ignored)
        return ExtendedTable(base, values, names)
