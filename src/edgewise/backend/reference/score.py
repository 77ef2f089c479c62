"""Prediction by tables, in NumPy."""

import numpy as np

from edgewise.common.dtypes import Reals


def score(values: Reals, thresholds: Reals, table: Reals, out: Reals) -> None:
    """Add to `out` the table row of each value; the table's last row is for missing values."""
    place = np.searchsorted(thresholds, values, side="right")
    place[np.isnan(values)] = len(thresholds) + 1
    out += table[place]
