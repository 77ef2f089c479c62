"""The passes of boosted factorization over the ratings from start to stop.

Its reference has the same functions in NumPy and gives the same bits.
"""

import numpy as np
from numba import njit

from edgewise.common.compiled import compile_cached
from edgewise.recommend.kernels.boosting import (
    CURVATURE,
    EVEN,
    FARTHEST,
    LEAST_CHANCE,
    ODD,
    WIDTH,
)

# Ratings at a time, in buffers that stay in the nearest cache.
_TILE = 1024

# NumPy's error model has no test for division by 0, so that loops take several entries at once.
_kernel = compile_cached(nogil=True, no_cfunc_wrapper=True, error_model="numpy")

_ONE, _HALF, _ZERO = np.float32(1.0), np.float32(0.5), np.float32(0.0)


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _slopes(scores, codes, above, upto, values, low, gap, squared, slope, bend, chance):  # type: ignore[no-untyped-def]
    """OUT the negative gradient, the hessian and the chance of each score of a column."""
    A13, A11, A9, A7, A5, A3, A1 = ODD
    B6, B4, B2, B0 = EVEN
    if squared:
        for i in range(len(scores)):
            wanted = np.float32((values[i] - low) / gap)
            slope[i] = CURVATURE * (wanted - scores[i])
            bend[i] = CURVATURE
            chance[i] = scores[i]
        return
    for i in range(len(scores)):
        # `tanh` of half the score, operation by operation as in the reference.
        x = scores[i] * _HALF
        x = x if x > -FARTHEST else -FARTHEST
        x = x if x < FARTHEST else FARTHEST
        q = x * x
        p = ((((((A13 * q + A11) * q + A9) * q + A7) * q + A5) * q + A3) * q + A1) * x
        t = p / (((B6 * q + B4) * q + B2) * q + B0)
        yes = (codes[i] > above) & (codes[i] <= upto)
        slope[i] = (_HALF if yes else -_HALF) - _HALF * t
        bend[i] = _HALF * (_HALF * (_ONE - t * t))
        chance[i] = _HALF + _HALF * t


@_kernel
def advance(  # type: ignore[no-untyped-def]
    start, stop, users, items, user_values, item_values, move, direction, codes, above, upto, gaps,
    low, one_hot, squared, values, weights, weighted, scores, gradients, hessians, sums,
):  # fmt: skip
    """Move the scores along a sum of products; compute the slopes of the loss along a direction.

    IN the arguments up to weighted: the scores of column k change by move[k] times the sum of the
    products; a level in (above[k], upto[k]] is a yes there; the expected rating is low plus the
    gaps times the chances, divided by their sum if one_hot. OUT scores (by column), gradients
    (negative) and hessians along the direction, sums (of the squared errors of the expected
    ratings).
    """
    n_columns = len(scores)
    product = np.empty(_TILE, np.float32)
    slope, bend, chance = np.empty_like(product), np.empty_like(product), np.empty_like(product)
    expected, total = np.empty_like(product), np.empty_like(product)
    squares = 0.0
    for at in range(start, stop, _TILE):
        end = min(stop, at + _TILE)
        size = end - at
        for i in range(size):
            u, z = user_values[users[at + i]], item_values[items[at + i]]
            even = (u[0] * z[0] + u[4] * z[4]) + (u[2] * z[2] + u[6] * z[6])
            odd = (u[1] * z[1] + u[5] * z[5]) + (u[3] * z[3] + u[7] * z[7])
            product[i] = even + odd
            expected[i], total[i] = _ZERO, _ZERO
        gradient, hessian = gradients[at:end], hessians[at:end]
        gradient[:], hessian[:] = _ZERO, _ZERO
        for k in range(n_columns):
            f, length, along, gap = scores[k, at:end], move[k], direction[k], np.float32(gaps[k])
            for i in range(size):
                f[i] += product[i] * length
            _slopes(
                f, codes[at:end], above[k], upto[k], values[at:end], low, gaps[k], squared, slope,
                bend, chance,
            )  # fmt: skip
            square = along * along
            for i in range(size):
                gradient[i] += along * slope[i]
                hessian[i] += square * bend[i]
                expected[i] += gap * chance[i]
                total[i] += chance[i]
        for i in range(size):
            mean, weight = low + np.float64(expected[i]), weights[at + i]
            if one_hot:
                mean = mean / max(np.float64(total[i]), LEAST_CHANCE)
            if weighted:
                gradient[i] = np.float32(weight * np.float64(gradient[i]))
                hessian[i] = np.float32(weight * np.float64(hessian[i]))
            error = mean - values[at + i]
            squares += weight * (error * error)
    sums[0] = squares


@_kernel
def gather(  # type: ignore[no-untyped-def]
    start, stop, ones, others, other_values, gradients, hessians, sums
):
    """Add each row's gradients and hessians, times the other side's values, to OUT the sums."""
    for i in range(start, stop):
        row, other = ones[i], others[i]
        gradient, hessian = gradients[i], hessians[i]
        for k in range(WIDTH):
            x = other_values[other, k]
            square = x * x
            sums[row, k] += np.float64(gradient * x)
            sums[row, WIDTH + k] += np.float64(hessian * square)


@_kernel
def gather_columns(  # type: ignore[no-untyped-def]
    start, stop, ones, codes, above, upto, gaps, low, squared, values, weights, scores,
    gradient_sums, hessian_sums,
):  # fmt: skip
    """Add each row's gradients and hessians in every column to OUT the sums."""
    slope = np.empty(_TILE, np.float32)
    bend, chance = np.empty_like(slope), np.empty_like(slope)
    for at in range(start, stop, _TILE):
        end = min(stop, at + _TILE)
        for k in range(len(scores)):
            _slopes(
                scores[k, at:end], codes[at:end], above[k], upto[k], values[at:end], low, gaps[k],
                squared, slope, bend, chance,
            )  # fmt: skip
            for i in range(end - at):
                row, weight = ones[at + i], weights[at + i]
                gradient_sums[row, k] += weight * np.float64(slope[i])
                hessian_sums[row, k] += weight * np.float64(bend[i])
