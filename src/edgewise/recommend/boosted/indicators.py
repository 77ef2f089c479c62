"""Indicator features of users and items: the ratings they have, and their own features."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import Reals
from edgewise.data import CategoricalColumn
from edgewise.data.table import ColumnTable
from edgewise.ratings.rows import Grouped

# A numeric feature is cut into this many parts of about as many rows each.
_PARTS = 10


def indicators_of(
    view: Grouped, n_others: int, features: ColumnTable | None, rated: bool, n_trained: int
) -> Any:
    """Return the indicator features of users or items as a sparse matrix; None if there are none.

    In each row all are one over the root of their number. Numeric features are cut by the first
    `n_trained` rows.
    """
    parts = []
    if rated:
        shape = (len(view.starts) - 1, n_others)
        parts.append(sparse.csr_array((np.ones(len(view.others)), view.others, view.starts), shape))
    if features is not None:
        parts.append(feature_indicators(features, n_trained))
    return row_scaled(sparse.csr_array(sparse.hstack(parts, format="csr"))) if parts else None


def row_scaled(indicators: Any) -> Any:
    """Return indicators that are one over the root of their number in a row."""
    sizes = np.diff(indicators.indptr)
    indicators.data = np.repeat(1.0 / np.sqrt(np.maximum(sizes, 1)), sizes)
    return indicators


def feature_indicators(features: ColumnTable, n_trained: int) -> Any:
    """Return a column of ones for each category and each part of a numeric feature."""
    blocks = [_one_hot(*_coded(column, n_trained)[:2]) for column in features.columns()]
    return sparse.csr_array(sparse.hstack(blocks, format="csr"))


def indicator_names(features: ColumnTable, n_trained: int) -> list[str]:
    """Return the names of the columns of `feature_indicators`."""
    names = []
    for j, column in enumerate(features.columns()):
        name = features.name(j)
        if isinstance(column, CategoricalColumn):
            names += [f"{name} = {value}" for value in column.categories]
            continue
        *_, cuts = _coded(column, n_trained)
        ends = [None, *cuts.tolist(), None] if cuts is not None else [None, None]
        names += [_span(name, low, high) for low, high in pairwise(ends)]
    return names


def _span(name: str, low: float | None, high: float | None) -> str:
    if low is None:
        return name if high is None else f"{name} < {high:g}"
    return f"{name} >= {low:g}" if high is None else f"{low:g} <= {name} < {high:g}"


def _coded(column: Any, n_trained: int) -> tuple[NDArray[np.intp], int, Reals | None]:
    """Return the code of each row (-1: none), the number of codes, and where numbers are cut."""
    if isinstance(column, CategoricalColumn):
        codes = column.codes.astype(np.intp)
        return np.where(codes == column.missing_code, -1, codes), len(column.categories), None
    numbers = column.reals()
    seen = numbers[:n_trained][~np.isnan(numbers[:n_trained])]
    if np.isin(seen, (0.0, 1.0)).all():
        # Only a yes is an indicator: two people who are no poets have little in common.
        return np.where(numbers == 1.0, 0, -1), 1, None
    cuts = np.unique(np.quantile(seen, np.arange(1, _PARTS) / _PARTS))
    codes = np.searchsorted(cuts, numbers, side="right")
    return np.where(np.isnan(numbers), -1, codes), len(cuts) + 1, cuts


def _one_hot(codes: NDArray[np.intp], width: int) -> Any:
    rows = np.flatnonzero(codes >= 0)
    return sparse.csr_array((np.ones(len(rows)), (rows, codes[rows])), shape=(len(codes), width))
