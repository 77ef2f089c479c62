"""The passes of boosted factorisation over the ratings from start to stop.

Its reference has the same functions in NumPy and gives the same bits.
"""

import numpy as np

from edgewise.backend.reference.factorization_boosting import EVEN, FARTHEST, LEAST_CHANCE, ODD
from edgewise.common.compiled import cached

# Entries at a time, in buffers that stay in the nearest cache.
_TILE = 1024

# NumPy's error model has no test for division by 0, so that loops take several entries at once.
_kernel = cached(nogil=True, no_cfunc_wrapper=True, error_model="numpy")


@_kernel
def advance(  # type: ignore[no-untyped-def]
    start, stop, users, items, user_values, item_values, move, labels, gaps, low, one_hot, values,
    weights, weighted, scores, gradients, hessians, sums,
):  # fmt: skip
    """Move the scores along a product; compute the gradient and hessian of the loss there.

    IN the arguments up to weighted: scores change by U Z times move; the expected rating is low
    plus the gaps times the chances, divided by their sum if one_hot. OUT scores, gradients
    (negative), hessians, sums (of the squared errors of the expected ratings).
    """
    width = scores.shape[1]
    size = max(1, _TILE // width)
    chances = np.empty(size * width, np.float32)
    one, half = np.float32(1.0), np.float32(0.5)
    A13, A11, A9, A7, A5, A3, A1 = ODD
    B6, B4, B2, B0 = EVEN
    squares = 0.0
    for at in range(start, stop, size):
        end = min(stop, at + size)
        for i in range(at, end):
            product = user_values[users[i]] * item_values[items[i]]
            for k in range(width):
                scores[i, k] += product * move[k]
        f, y = scores[at:end].reshape(-1), labels[at:end].reshape(-1)
        gradient, hessian = gradients[at:end].reshape(-1), hessians[at:end].reshape(-1)
        for j in range((end - at) * width):
            # `tanh` of half the margin, operation by operation as in the reference.
            x = np.float32(f[j]) * y[j] * half
            x = x if x > -FARTHEST else -FARTHEST
            x = x if x < FARTHEST else FARTHEST
            q = x * x
            p = ((((((A13 * q + A11) * q + A9) * q + A7) * q + A5) * q + A3) * q + A1) * x
            t = p / (((B6 * q + B4) * q + B2) * q + B0)
            wrong = half * (one - t)
            chances[j] = half + y[j] * (half - wrong)
            gradient[j] = y[j] * wrong
            hessian[j] = half * (half * (one - t * t))
        for i in range(at, end):
            expected, weight = low, weights[i]
            for k in range(width):
                expected += gaps[k] * np.float64(chances[(i - at) * width + k])
                if weighted:
                    gradients[i, k] = np.float32(weight * np.float64(gradients[i, k]))
                    hessians[i, k] = np.float32(weight * np.float64(hessians[i, k]))
            if one_hot:
                total = 0.0
                for k in range(width):
                    total += np.float64(chances[(i - at) * width + k])
                expected = expected / max(total, LEAST_CHANCE)
            squares += weight * ((expected - values[i]) * (expected - values[i]))
    sums[0] = squares


@_kernel
def gather(  # type: ignore[no-untyped-def]
    start, stop, ones, others, other_values, gradients, hessians, gradient_sums, hessian_sums
):
    """Add each row's gradients and hessians, times the other side's values, to OUT the sums."""
    width = gradients.shape[1]
    if width == 4:
        # Five levels, the commonest case, written out: all loads before all stores, so that the
        # compiler can take four columns at once.
        for i in range(start, stop):
            x = other_values[others[i]]
            square, row = x * x, ones[i]
            p0 = gradient_sums[row, 0] + np.float64(gradients[i, 0]) * x
            p1 = gradient_sums[row, 1] + np.float64(gradients[i, 1]) * x
            p2 = gradient_sums[row, 2] + np.float64(gradients[i, 2]) * x
            p3 = gradient_sums[row, 3] + np.float64(gradients[i, 3]) * x
            c0 = hessian_sums[row, 0] + np.float64(hessians[i, 0]) * square
            c1 = hessian_sums[row, 1] + np.float64(hessians[i, 1]) * square
            c2 = hessian_sums[row, 2] + np.float64(hessians[i, 2]) * square
            c3 = hessian_sums[row, 3] + np.float64(hessians[i, 3]) * square
            gradient_sums[row, 0] = p0
            gradient_sums[row, 1] = p1
            gradient_sums[row, 2] = p2
            gradient_sums[row, 3] = p3
            hessian_sums[row, 0] = c0
            hessian_sums[row, 1] = c1
            hessian_sums[row, 2] = c2
            hessian_sums[row, 3] = c3
        return
    for i in range(start, stop):
        x = other_values[others[i]]
        square, row = x * x, ones[i]
        for k in range(width):
            gradient_sums[row, k] += np.float64(gradients[i, k]) * x
            hessian_sums[row, k] += np.float64(hessians[i, k]) * square
