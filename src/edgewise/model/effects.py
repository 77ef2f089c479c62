"""Effects: a model's mean output as a function of one column (partial dependence)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.data import Column, Table
from edgewise.data.table import repeat_for_values


def mean_outputs(
    output: Callable[[Table], Any], rows: Table, columns: Sequence[Column], j: int, values: Column
) -> Reals:
    """Return a model's mean output over rows, shape (V, K), with each of V values in column `j`.

    `columns` are the columns of `rows`, which are read once for all effects.
    """
    table = repeat_for_values(columns, j, values, rows.names, rows.infinite)
    outputs = np.asarray(output(table), dtype=np.float64)
    return outputs.reshape(len(values), len(columns[0]), -1).mean(axis=1)


def most_frequent(codes: NDArray[Any], n_categories: int, n: int) -> NDArray[np.intp]:
    """Return at most `n` codes below `n_categories` that occur, the most frequent first."""
    counts = np.bincount(codes, minlength=n_categories + 1)[:n_categories]
    frequent = np.argsort(-counts, kind="stable")[:n]
    return frequent[counts[frequent] > 0]
