"""Prediction by tables, compiled."""

import numpy as np

from edgewise.backend.numba.vectors import kernel


@kernel
def score(values, columns, starts, thresholds, tables, start, stop, out):  # type: ignore[no-untyped-def]
    """Add the table rows of the values of several columns to the scores of some rows.

    IN values (n, columns of X), columns, starts and thresholds (by column), tables (two rows more
    than thresholds for each column, the last for missing values). OUT out (n, K).
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


@kernel
def score_rules(  # type: ignore[no-untyped-def]
    cuts, firsts, starts, factors, low, high, rest, outputs, coefficients, out
):
    """Add the terms of a model of rules to the scores of some rows.

    IN cuts (distinct cuts, rows), firsts (the first node of each term), starts and factors (the
    cuts whose product is a node's test), low, high and rest (the next node on -1, +1 and 0, or -1 -
    a leaf; low is -1 at the root of a term that is no tree), outputs (leaves, 1 or K), coefficients
    (T, K). OUT out (K, rows).
    """
    n_rows, n_scores = cuts.shape[1], out.shape[0]
    sign = np.empty(n_rows, dtype=cuts.dtype)
    side = np.empty(n_rows)
    leaf = np.empty(n_rows, dtype=np.int32)
    for t in range(len(coefficients)):
        root = firsts[t]
        if low[root] == -1:
            sign[:] = 1
            for p in range(starts[root], starts[root + 1]):
                cut = cuts[factors[p]]
                for i in range(n_rows):
                    sign[i] *= cut[i]
            for i in range(n_rows):
                side[i] = sign[i]
        else:
            for i in range(n_rows):
                node = root
                while node >= 0:
                    test = 1.0
                    for p in range(starts[node], starts[node + 1]):
                        test *= cuts[factors[p], i]
                    node = high[node] if test > 0 else (low[node] if test < 0 else rest[node])
                leaf[i] = -1 - node
                side[i] = outputs[leaf[i], 0]
        for k in range(n_scores):
            move = coefficients[t, k]
            if low[root] == -1 or outputs.shape[1] == 1:
                for i in range(n_rows):
                    out[k, i] += side[i] * move
            else:
                for i in range(n_rows):
                    out[k, i] += outputs[leaf[i], k] * move
