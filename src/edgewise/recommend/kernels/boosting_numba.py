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
    MIN_PROBABILITY,
    ODD,
    WIDTH,
)

# Ratings at a time, in buffers that stay in the nearest cache.
_TILE = 1024

# NumPy's error model has no test for division by 0, so that loops take several entries at once.
_kernel = compile_cached(nogil=True, no_cfunc_wrapper=True, error_model="numpy")

_ONE, _HALF, _ZERO = np.float32(1.0), np.float32(0.5), np.float32(0.0)


@njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _slopes(scores, k, rows, targets, slope, curvature, probability):  # type: ignore[no-untyped-def]
    """OUT the negative gradient, the hessian and the probability of each score of a column."""
    A13, A11, A9, A7, A5, A3, A1 = ODD
    B6, B4, B2, B0 = EVEN
    start, stop = rows
    codes, values = targets.codes[start:stop], targets.values[start:stop]
    above, upto = targets.above[k], targets.upto[k]
    low, gap = targets.low, targets.gaps[k]
    if targets.is_value:
        for i in range(len(scores)):
            target = np.float32((values[i] - low) / gap)
            slope[i] = CURVATURE * (target - scores[i])
            curvature[i] = CURVATURE
            probability[i] = scores[i]
        return
    for i in range(len(scores)):
        # `tanh` of half the score, operation by operation as in the reference.
        x = scores[i] * _HALF
        x = x if x > -FARTHEST else -FARTHEST
        x = x if x < FARTHEST else FARTHEST
        q = x * x
        p = ((((((A13 * q + A11) * q + A9) * q + A7) * q + A5) * q + A3) * q + A1) * x
        t = p / (((B6 * q + B4) * q + B2) * q + B0)
        is_positive = (codes[i] > above) & (codes[i] <= upto)
        slope[i] = (_HALF if is_positive else -_HALF) - _HALF * t
        curvature[i] = _HALF * (_HALF * (_ONE - t * t))
        probability[i] = _HALF + _HALF * t


@_kernel
def advance(  # type: ignore[no-untyped-def]
    start, stop, pairs, move, direction, targets, slopes, sums
):
    """Move the scores, and compute the slopes of the loss: see the reference. OUT slopes, sums."""
    users, items, user_values, item_values = pairs
    scores, gradients, hessians = slopes
    low, gaps, values, weights = targets.low, targets.gaps, targets.values, targets.weights
    product = np.empty(_TILE, np.float32)
    slope, curvature = np.empty_like(product), np.empty_like(product)
    probability = np.empty_like(product)
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
        for k in range(len(scores)):
            f, length, along, gap = scores[k, at:end], move[k], direction[k], np.float32(gaps[k])
            for i in range(size):
                f[i] += product[i] * length
            _slopes(f, k, (at, end), targets, slope, curvature, probability)
            square = along * along
            for i in range(size):
                gradient[i] += along * slope[i]
                hessian[i] += square * curvature[i]
                expected[i] += gap * probability[i]
                total[i] += probability[i]
        for i in range(size):
            mean, weight = low + np.float64(expected[i]), weights[at + i]
            if targets.is_one_hot:
                mean = mean / max(np.float64(total[i]), MIN_PROBABILITY)
            if targets.is_weighted:
                gradient[i] = np.float32(weight * np.float64(gradient[i]))
                hessian[i] = np.float32(weight * np.float64(hessian[i]))
            error = mean - values[at + i]
            squares += weight * (error * error)
    sums[0] = squares


@_kernel
def gather(start, stop, rows, others, other_values, slopes, sums):  # type: ignore[no-untyped-def]
    """Add each row's gradients and hessians, times the other side's values, to OUT sums."""
    _, gradients, hessians = slopes
    for i in range(start, stop):
        row, other = rows[i], others[i]
        gradient, hessian = gradients[i], hessians[i]
        for k in range(WIDTH):
            x = other_values[other, k]
            square = x * x
            sums[row, k] += np.float64(gradient * x)
            sums[row, WIDTH + k] += np.float64(hessian * square)


@_kernel
def gather_columns(  # type: ignore[no-untyped-def]
    start, stop, rows, targets, scores, gradient_sums, hessian_sums
):
    """Add each row's gradients and hessians in every column to OUT the sums."""
    weights = targets.weights
    slope = np.empty(_TILE, np.float32)
    curvature, probability = np.empty_like(slope), np.empty_like(slope)
    for at in range(start, stop, _TILE):
        end = min(stop, at + _TILE)
        for k in range(len(scores)):
            _slopes(scores[k, at:end], k, (at, end), targets, slope, curvature, probability)
            for i in range(end - at):
                row, weight = rows[at + i], weights[at + i]
                gradient_sums[row, k] += weight * np.float64(slope[i])
                hessian_sums[row, k] += weight * np.float64(curvature[i])
