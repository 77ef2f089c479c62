"""The passes over all ratings that a round makes, compiled by Numba.

Each works on the ratings from start to stop; `twins` has the same in NumPy, to the same last bit.
"""

import numpy as np
from numba import njit

from edgewise.recommend.boosted.tangent import (
    A1,
    A3,
    A5,
    A7,
    A9,
    A11,
    A13,
    B0,
    B2,
    B4,
    B6,
    FARTHEST,
    LEAST_CHANCE,
)

# So many entries at a time, in buffers that stay in the nearest cache.
_TILE = 1024

# With NumPy's ways of division there is no test for 0, and loops take several entries at once.
_kernel = njit(nogil=True, cache=True, no_cfunc_wrapper=True, error_model="numpy")


@_kernel
def advance(  # type: ignore[no-untyped-def]
    start, stop, users, items, user_values, item_values, move, labels, gaps, low, one_hot, values,
    weights, weighted, scores, pulls, curves, sums,
):  # fmt: skip
    """Move the scores along a product, and compute from them what the next round needs.

    IN users, items, user_values, item_values and move (scores change by U Z times it), labels
    (n, L), gaps and low (the expected rating is low plus the gaps times the chances), one_hot
    (whether chances are made to add up to 1 first), values (the ratings), weights and weighted
    (whether some weight is not 1). OUT scores, pulls (minus the gradient of the logistic loss),
    curves (its second derivative), and sums (of the squared errors of the expected ratings).
    """
    width = scores.shape[1]
    size = max(1, _TILE // width)
    chances = np.empty(size * width, np.float32)
    one, half = np.float32(1.0), np.float32(0.5)
    squares = 0.0
    for at in range(start, stop, size):
        end = min(stop, at + size)
        for i in range(at, end):
            product = user_values[users[i]] * item_values[items[i]]
            for k in range(width):
                scores[i, k] += product * move[k]
        f, y = scores[at:end].reshape(-1), labels[at:end].reshape(-1)
        pull, curve = pulls[at:end].reshape(-1), curves[at:end].reshape(-1)
        for j in range((end - at) * width):
            # The hyperbolic tangent of half the margin: `tangent.tanh`, operation by operation.
            x = np.float32(f[j]) * y[j] * half
            x = x if x > -FARTHEST else -FARTHEST
            x = x if x < FARTHEST else FARTHEST
            q = x * x
            p = ((((((A13 * q + A11) * q + A9) * q + A7) * q + A5) * q + A3) * q + A1) * x
            t = p / (((B6 * q + B4) * q + B2) * q + B0)
            wrong = half * (one - t)
            chances[j] = half + y[j] * (half - wrong)
            pull[j] = y[j] * wrong
            curve[j] = half * (half * (one - t * t))
        for i in range(at, end):
            expected, weight = low, weights[i]
            for k in range(width):
                expected += gaps[k] * np.float64(chances[(i - at) * width + k])
                if weighted:
                    pulls[i, k] = np.float32(weight * np.float64(pulls[i, k]))
                    curves[i, k] = np.float32(weight * np.float64(curves[i, k]))
            if one_hot:
                total = 0.0
                for k in range(width):
                    total += np.float64(chances[(i - at) * width + k])
                expected = expected / max(total, LEAST_CHANCE)
            squares += weight * ((expected - values[i]) * (expected - values[i]))
    sums[0] = squares


@_kernel
def gather(  # type: ignore[no-untyped-def]
    start, stop, ones, others, other_values, pulls, curves, pull_sums, curve_sums
):
    """Sum the pulls and curves of each row, times the values at the other side.

    IN ones (the row of each rating), others, other_values, pulls, curves. OUT pull_sums and
    curve_sums (rows, L), which are added to.
    """
    width = pulls.shape[1]
    if width == 4:
        # Five levels, the commonest case, written out: all loads before all stores, so that the
        # compiler can take four columns at once.
        for i in range(start, stop):
            x = other_values[others[i]]
            square, row = x * x, ones[i]
            p0 = pull_sums[row, 0] + np.float64(pulls[i, 0]) * x
            p1 = pull_sums[row, 1] + np.float64(pulls[i, 1]) * x
            p2 = pull_sums[row, 2] + np.float64(pulls[i, 2]) * x
            p3 = pull_sums[row, 3] + np.float64(pulls[i, 3]) * x
            c0 = curve_sums[row, 0] + np.float64(curves[i, 0]) * square
            c1 = curve_sums[row, 1] + np.float64(curves[i, 1]) * square
            c2 = curve_sums[row, 2] + np.float64(curves[i, 2]) * square
            c3 = curve_sums[row, 3] + np.float64(curves[i, 3]) * square
            pull_sums[row, 0] = p0
            pull_sums[row, 1] = p1
            pull_sums[row, 2] = p2
            pull_sums[row, 3] = p3
            curve_sums[row, 0] = c0
            curve_sums[row, 1] = c1
            curve_sums[row, 2] = c2
            curve_sums[row, 3] = c3
        return
    for i in range(start, stop):
        x = other_values[others[i]]
        square, row = x * x, ones[i]
        for k in range(width):
            pull_sums[row, k] += np.float64(pulls[i, k]) * x
            curve_sums[row, k] += np.float64(curves[i, k]) * square
