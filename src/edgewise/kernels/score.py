"""Prediction by tables, compiled."""

import numpy as np

from edgewise.kernels.vectors import kernel


@kernel
def score(values, columns, starts, thresholds, tables, start, stop, out):  # type: ignore[no-untyped-def]
    """Add the table rows of the values of several columns to the scores of some rows.

    IN values (n, columns of X), columns, thresholds (those of column f from starts[f] to
    starts[f + 1]), tables (two rows more than thresholds for each column: the last is for missing
    values). OUT out (n, K).
    """
    n_scores = out.shape[1]
    for i in range(start, stop):
        for f in range(len(columns)):
            value = np.float64(values[i, columns[f]])
            low, size = starts[f], starts[f + 1] - starts[f]
            if np.isnan(value):
                place = size + 1
            else:
                place = 0
                left = size
                while left > 0:
                    half = left // 2
                    if thresholds[low + place + half] <= value:
                        place += half + 1
                        left -= half + 1
                    else:
                        left = half
            row = low + 2 * f + place
            for k in range(n_scores):
                out[i, k] += tables[row, k]
