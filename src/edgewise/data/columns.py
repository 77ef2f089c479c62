"""Typed columns: what every kind of input becomes before it is binned."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Codes, Reals, Rows


@dataclass(frozen=True)
class NumericColumn:
    """Numbers, one a row; NaN marks a missing value.

    The values keep their own dtype (uint8 pixels stay uint8) until they are compared with a
    threshold, which is done in float64.
    """

    values: NDArray[np.number]

    def __len__(self) -> int:
        return len(self.values)

    def reals(self) -> Reals:
        """Return the values as float64, a view where they are already."""
        return np.asarray(self.values, dtype=np.float64)


@dataclass(frozen=True)
class SparseColumn:
    """Numbers of which only those stored can differ from 0; NaN marks a missing value."""

    rows: Rows
    values: Reals
    n_rows: int

    def __len__(self) -> int:
        return self.n_rows

    def reals(self) -> Reals:
        """Return all rows' values as float64, zeros included."""
        dense = np.zeros(self.n_rows)
        dense[self.rows] = self.values
        return dense


@dataclass(frozen=True)
class CategoricalColumn:
    """Codes into `categories`, one a row; the code ``len(categories)`` marks a missing value."""

    codes: Codes
    categories: tuple[object, ...]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing_code(self) -> int:
        """The code of a missing value."""
        return len(self.categories)

    def recode(self, categories: tuple[object, ...]) -> "CategoricalColumn":
        """Return the column in terms of other categories; a value not among them is missing.

        Examples
        --------
        >>> import numpy as np
        >>> seen = CategoricalColumn(np.array([0, 1, 0], np.uint32), ("red", "blue"))
        >>> seen.recode(("blue", "green")).codes
        array([2, 0, 2], dtype=uint32)
        """
        place = {category: code for code, category in enumerate(categories)}
        unseen = len(categories)
        table = [place.get(category, unseen) for category in self.categories]
        codes = np.array([*table, unseen], dtype=np.uint32)[self.codes]
        return CategoricalColumn(codes, categories)


Column = NumericColumn | SparseColumn | CategoricalColumn


def as_numbers(column: Column) -> NumericColumn | SparseColumn | None:
    """Return a column as one of numbers, or None if it holds categories.

    A column without any value has no kind of its own: all of it is missing.
    """
    if not isinstance(column, CategoricalColumn):
        return column
    return None if column.categories else NumericColumn(np.full(len(column), np.nan))


def as_categorical(column: Column) -> CategoricalColumn | None:
    """Return a column as a categorical one, or None if it holds numbers.

    A column without any value has no kind of its own: all of it is missing.
    """
    if isinstance(column, CategoricalColumn):
        return column
    if len(column.values) == len(column) and np.isnan(column.reals()).all():
        return CategoricalColumn(np.zeros(len(column), dtype=np.uint32), ())
    return None
