"""Runs of rows of the same column, joined to one column."""

from collections.abc import Sequence

import numpy as np

from edgewise.common.dtypes import CATEGORY_CODE, ROW
from edgewise.data.columns import (
    CategoricalColumn,
    Column,
    NumericColumn,
    SparseColumn,
    as_categorical,
    as_numbers,
)


def joined(parts: Sequence[Column], name: str) -> Column:
    """Return runs of rows as one column.

    A run without any value goes with those that have some, be they numbers or categories.

    Parameters
    ----------
    parts : sequence of columns
        The runs, at least one.
    name : str
        The column's name.

    Raises
    ------
    ValueError
        If some runs hold numbers and others categories.

    Examples
    --------
    >>> import numpy as np
    >>> runs = [CategoricalColumn(np.array([0, 1], np.uint32), ("b", "c")),
    ...         CategoricalColumn(np.array([0, 1], np.uint32), ("a",))]
    >>> joined(runs, "x")
    CategoricalColumn(codes=array([1, 2, 0, 3], dtype=uint32), categories=('a', 'b', 'c'))
    """
    if len(parts) == 1:
        return parts[0]
    if not any(isinstance(part, CategoricalColumn) for part in parts):
        return _numbers([part for part in parts if not isinstance(part, CategoricalColumn)])
    named = [as_categorical(part) for part in parts]
    if None not in named:
        return _values([part for part in named if part is not None])
    numbers = [as_numbers(part) for part in parts]
    if None in numbers:
        raise ValueError(f"pieces have numbers in some, categories in others of column {name!r}")
    return _numbers([part for part in numbers if part is not None])


def owned(column: Column) -> Column:
    """Return a column with memory of its own, so that the table it comes from can be let go."""
    if isinstance(column, CategoricalColumn):
        return column
    if isinstance(column, SparseColumn):
        return SparseColumn(column.rows.copy(), column.values.copy(), column.n_rows)
    return column if column.values.base is None else NumericColumn(column.values.copy())


def _numbers(parts: Sequence[NumericColumn | SparseColumn]) -> NumericColumn | SparseColumn:
    kept = [part for part in parts if isinstance(part, SparseColumn)]
    if len(kept) < len(parts):
        values = [part.reals() if isinstance(part, SparseColumn) else part.values for part in parts]
        return NumericColumn(np.concatenate(values))
    ends = np.cumsum([len(part) for part in kept])
    rows = [part.rows + ROW(end - len(part)) for part, end in zip(kept, ends, strict=True)]
    values = [part.values for part in kept]
    return SparseColumn(np.concatenate(rows), np.concatenate(values), int(ends[-1]))


def _values(parts: Sequence[CategoricalColumn]) -> CategoricalColumn:
    every = {value for part in parts for value in part.categories}
    categories = tuple(sorted(every))  # type: ignore[type-var]
    codes = [part.recode(categories).codes for part in parts]
    return CategoricalColumn(np.concatenate(codes).astype(CATEGORY_CODE), categories)
