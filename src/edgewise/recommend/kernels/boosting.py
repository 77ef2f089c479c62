"""The passes of boosted factorization over the ratings from start to stop, in NumPy.

Sums are taken in the order of the ratings, as in the compiled kernels, so that the bits agree.
"""

import numpy as np

from edgewise.common.dtypes import Reals, Rows, Singles

# From here on the hyperbolic tangent is 1 in single precision.
FARTHEST = np.float32(7.9)

WIDTH = 8
"""Products at a time: their values fill one vector register."""

# The curvature of the squared error of standardized ratings, which makes a rating weigh as much as
# the columns of five levels do together: one regularization suits both.
CURVATURE = np.float32(0.5)

# The least sum that chances of one-hot columns are divided by: in single precision all may be 0.
LEAST_CHANCE = 1e-8

# The coefficients of powers 13, 11, ..., 1 in the numerator, and of 6, 4, 2, 0 in the denominator.
ODD = tuple(map(np.float32, (
    -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
    1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03,
)))  # fmt: skip
EVEN = tuple(map(np.float32, (
    1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03,
)))  # fmt: skip


def tanh(x: Singles) -> Singles:
    """Return the hyperbolic tangent in single precision, within 3e-7.

    A ratio of polynomials, which a processor evaluates for several numbers at once, and which gives
    the same bits in NumPy and in compiled code. The gradient of the logistic loss follows from it:
    ``1 / (1 + exp(m))`` is ``(1 - tanh(m / 2)) / 2``.

    Examples
    --------
    >>> import numpy as np
    >>> tanh(np.array([0.0, 0.5, -20.0], dtype=np.float32)).round(4)
    array([ 0.    ,  0.4621, -1.    ], dtype=float32)
    """
    A13, A11, A9, A7, A5, A3, A1 = ODD
    B6, B4, B2, B0 = EVEN
    x = np.minimum(np.maximum(x, -FARTHEST), FARTHEST)
    q = x * x
    p = ((((((A13 * q + A11) * q + A9) * q + A7) * q + A5) * q + A3) * q + A1) * x
    return np.divide(p, ((B6 * q + B4) * q + B2) * q + B0, dtype=np.float32)


_ONE, _HALF = np.float32(1.0), np.float32(0.5)


def advance(
    start: int, stop: int, users: Rows, items: Rows, user_values: Singles, item_values: Singles,
    move: Singles, direction: Singles, codes: Rows, above: Rows, upto: Rows, gaps: Reals,
    low: float, one_hot: bool, squared: bool, values: Reals, weights: Reals, weighted: bool,
    scores: Singles, gradients: Singles, hessians: Singles, sums: Reals,
) -> None:  # fmt: skip
    """Move the scores along a sum of products; compute the slopes of the loss along a direction."""
    part = slice(start, stop)
    p = user_values[users[part]] * item_values[items[part]]
    even, odd = p[:, 0:4:2] + p[:, 4:8:2], p[:, 1:4:2] + p[:, 5:8:2]
    product = (even[:, 0] + even[:, 1]) + (odd[:, 0] + odd[:, 1])
    gradient, hessian = np.zeros_like(product), np.zeros_like(product)
    expected, total = np.zeros_like(product), np.zeros_like(product)
    for k in range(len(scores)):
        scores[k, part] += product * move[k]
        slope, bend, chance = slopes(
            part, scores[k], codes, above[k], upto[k], values, low, gaps[k], squared
        )
        gradient += direction[k] * slope
        hessian += (direction[k] * direction[k]) * bend
        expected += np.float32(gaps[k]) * chance
        total += chance
    means = low + expected.astype(np.float64)
    if one_hot:
        means /= np.maximum(total.astype(np.float64), LEAST_CHANCE)
    if weighted:
        gradient = (weights[part] * gradient.astype(np.float64)).astype(np.float32)
        hessian = (weights[part] * hessian.astype(np.float64)).astype(np.float32)
    gradients[part], hessians[part] = gradient, hessian
    errors = means - values[part]
    sums[0] = _in_order(weights[part] * (errors * errors))


def slopes(
    part: slice, scores: Singles, codes: Rows, above: int, upto: int, values: Reals, low: float,
    gap: float, squared: bool,
) -> tuple[Singles, Singles, Singles]:  # fmt: skip
    """Return the negative gradient and the hessian of a column, and the chance of a yes.

    A level above one and up to another is a yes. With `squared` the score is the rating itself,
    standardized, in place of a chance.
    """
    f = scores[part]
    if squared:
        wanted = ((values[part] - low) / gap).astype(np.float32)
        return CURVATURE * (wanted - f), np.full_like(f, CURVATURE), f
    yes = (codes[part] > above) & (codes[part] <= upto)
    t = tanh(f * _HALF)
    slope = np.where(yes, _HALF, -_HALF) - _HALF * t
    return slope, _HALF * (_HALF * (_ONE - t * t)), _HALF + _HALF * t


def gather(
    start: int, stop: int, ones: Rows, others: Rows, other_values: Singles, gradients: Singles,
    hessians: Singles, sums: Reals,
) -> None:  # fmt: skip
    """Add up the gradients and hessians of each row, times the values of the other side."""
    part = slice(start, stop)
    rows, x = ones[part], other_values[others[part]]
    for k in range(WIDTH):
        z = x[:, k]
        sums[:, k] += np.bincount(rows, gradients[part] * z, len(sums))
        sums[:, WIDTH + k] += np.bincount(rows, hessians[part] * (z * z), len(sums))


def gather_columns(
    start: int, stop: int, ones: Rows, codes: Rows, above: Rows, upto: Rows, gaps: Reals,
    low: float, squared: bool, values: Reals, weights: Reals, scores: Singles, gradient_sums: Reals,
    hessian_sums: Reals,
) -> None:  # fmt: skip
    """Add up the gradients and hessians of each row in every column."""
    part = slice(start, stop)
    rows, weight, size = ones[part], weights[part], len(gradient_sums)
    for k in range(len(scores)):
        slope, bend, _ = slopes(
            part, scores[k], codes, above[k], upto[k], values, low, gaps[k], squared
        )
        gradient_sums[:, k] += np.bincount(rows, weight * slope.astype(np.float64), size)
        hessian_sums[:, k] += np.bincount(rows, weight * bend.astype(np.float64), size)


def _in_order(values: Reals) -> float:
    """Return the sum of values, added one after the other."""
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0
