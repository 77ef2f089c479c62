"""Features of users and items as numbers: for regression, and as indicators."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import Mask, Reals
from edgewise.data import CategoricalColumn, Table
from edgewise.data.table import ColumnTable
from edgewise.ratings import Grouped

# The number of intervals of a numeric feature, with about equally many rows each.
_INTERVALS = 10


def has_features(table: Table) -> Mask:
    """Return which rows of a table have a value in some column."""
    has_value = np.zeros(table.n_rows, dtype=bool)
    for column in table.columns():
        if isinstance(column, CategoricalColumn):
            has_value |= column.codes != column.missing_code
        else:
            has_value |= ~np.isnan(column.reals())
    return has_value


def encode_features(table: Table) -> tuple[Reals, list[str]]:
    """Return a table as numbers, and the names of their columns.

    Numeric columns get mean 0 and variance 1, or range 1 if they have two values; a category
    becomes a centered one-hot column. Missing values are 0.
    """
    columns: list[Reals] = []
    names: list[str] = []
    for name, column in table.named_columns():
        if isinstance(column, CategoricalColumn):
            present = column.codes != column.missing_code
            for code, category in enumerate(column.categories):
                columns.append(_center((column.codes == code).astype(np.float64), present))
                names.append(f"{name}={category}")
        else:
            values = column.reals()
            present = ~np.isnan(values)
            scale = _scale(values[present])
            columns.append(_center(np.where(present, values, 0.0), present) / scale)
            names.append(name)
    return np.stack(columns, axis=1), names


def _scale(values: Reals) -> float:
    """Return the standard deviation; of two distinct values, their difference."""
    distinct = np.unique(values)
    if len(distinct) < 2:
        return 1.0
    return float(np.ptp(distinct) if len(distinct) == 2 else values.std())


def _center(values: Reals, present: Mask) -> Reals:
    """Return the values minus their mean, and 0 for missing ones."""
    mean = values[present].mean() if present.any() else 0.0
    return np.where(present, values - mean, 0.0)


def build_indicators(
    view: Grouped, n_others: int, features: ColumnTable | None, rated: bool, n_trained: int
) -> Any:
    """Return the indicators of users or items as a sparse matrix; None without any.

    Indicators are the rated items or users of the other side (with `rated`), and the features,
    numeric ones cut at quantiles of the first `n_trained` rows. Each row has length 1.
    """
    blocks = []
    if rated:
        shape = (view.n_rows, n_others)
        ones = np.ones(len(view.others))
        blocks.append(sparse.csr_array((ones, view.others, view.starts), shape))
    for codes, names in () if features is None else _encode_columns(features, n_trained):
        rows, shape = np.flatnonzero(codes >= 0), (len(codes), len(names))
        blocks.append(sparse.csr_array((np.ones(len(rows)), (rows, codes[rows])), shape=shape))
    if not blocks:
        return None
    indicators = sparse.csr_array(sparse.hstack(blocks, format="csr"))
    sizes = np.diff(indicators.indptr)
    indicators.data = np.repeat(1.0 / np.sqrt(np.maximum(sizes, 1)), sizes)
    return indicators


def indicator_names(features: ColumnTable, n_trained: int) -> list[str]:
    """Return the names of the indicators of features."""
    return [name for _, names in _encode_columns(features, n_trained) for name in names]


def _encode_columns(
    features: ColumnTable, n_trained: int
) -> Iterator[tuple[NDArray[np.intp], list[str]]]:
    """Yield the code of each row in each column, -1 if missing, and the names of the codes."""
    for name, column in features.named_columns():
        if isinstance(column, CategoricalColumn):
            codes = column.codes.astype(np.intp)
            codes = np.where(codes == column.missing_code, -1, codes)
            yield codes, [f"{name} = {value}" for value in column.categories]
            continue
        numbers = column.reals()
        trained = numbers[:n_trained][~np.isnan(numbers[:n_trained])]
        if np.isin(trained, (0.0, 1.0)).all():
            # Only 1 is an indicator: two people who are not poets have little in common.
            yield np.where(numbers == 1.0, 0, -1), [name]
            continue
        cuts = np.unique(np.quantile(trained, np.arange(1, _INTERVALS) / _INTERVALS))
        codes = np.searchsorted(cuts, numbers, side="right")
        low, high, inner = cuts[0], cuts[-1], pairwise(cuts.tolist())
        names = [f"{a:g} <= {name} < {b:g}" for a, b in inner]
        names = [f"{name} < {low:g}", *names, f"{name} >= {high:g}"]
        yield np.where(np.isnan(numbers), -1, codes), names
