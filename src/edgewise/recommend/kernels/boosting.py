"""The passes of boosted factorization over the ratings from start to stop, in NumPy.

Sums are taken in the order of the ratings, as in the compiled kernels, so that the bits agree.
"""

from typing import NamedTuple

import numpy as np

from edgewise.common.dtypes import Reals, Rows, Singles

# From here on the hyperbolic tangent is 1 in single precision.
FARTHEST = np.float32(7.9)

WIDTH = 8
"""Products at a time: their values fill one vector register."""

# The curvature of the squared error of standardized ratings, which makes a rating weigh as much as
# the columns of five levels do together: one regularization suits both.
CURVATURE = np.float32(0.5)

# The smallest divisor of the probabilities of one-hot columns: in single precision all may be 0.
MIN_PROBABILITY = 1e-8

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


class FactorPairs(NamedTuple):
    """The pairs of ratings, and the values of users and of items in each product."""

    users: Rows
    items: Rows
    user_values: Singles
    item_values: Singles


class RatingTargets(NamedTuple):
    """The ratings and what the score columns predict of them.

    The label of column k is positive if the level, `codes`, is in ``(above[k], upto[k]]``. The
    expected rating is `low` plus the `gaps` times the probabilities of positive labels, divided by
    their sum if `is_one_hot`. With `is_value` the score is the rating itself, standardized.
    """

    codes: Rows
    above: Rows
    upto: Rows
    gaps: Reals
    low: float
    is_one_hot: bool
    is_value: bool
    values: Reals
    weights: Reals
    is_weighted: bool


class Slopes(NamedTuple):
    """The scores by column, and the negative gradients and hessians along a direction."""

    scores: Singles
    gradients: Singles
    hessians: Singles


def advance(
    start: int, stop: int, pairs: FactorPairs, move: Singles, direction: Singles,
    targets: RatingTargets, slopes: Slopes, sums: Reals,
) -> None:  # fmt: skip
    """Move the scores along a sum of products; compute the slopes of the loss along a direction.

    The scores of column k change by ``move[k]`` times the sum of the products. OUT slopes, and sums
    of the squared errors of the expected ratings.
    """
    rows, scores, weights = slice(start, stop), slopes.scores, targets.weights
    p = pairs.user_values[pairs.users[rows]] * pairs.item_values[pairs.items[rows]]
    even, odd = p[:, 0:4:2] + p[:, 4:8:2], p[:, 1:4:2] + p[:, 5:8:2]
    product = (even[:, 0] + even[:, 1]) + (odd[:, 0] + odd[:, 1])
    gradient, hessian = np.zeros_like(product), np.zeros_like(product)
    expected, total = np.zeros_like(product), np.zeros_like(product)
    for k in range(len(scores)):
        scores[k, rows] += product * move[k]
        slope, curvature, probability = column_slopes(rows, k, scores[k], targets)
        gradient += direction[k] * slope
        hessian += (direction[k] * direction[k]) * curvature
        expected += np.float32(targets.gaps[k]) * probability
        total += probability
    means = targets.low + expected.astype(np.float64)
    if targets.is_one_hot:
        means /= np.maximum(total.astype(np.float64), MIN_PROBABILITY)
    if targets.is_weighted:
        gradient = (weights[rows] * gradient.astype(np.float64)).astype(np.float32)
        hessian = (weights[rows] * hessian.astype(np.float64)).astype(np.float32)
    slopes.gradients[rows], slopes.hessians[rows] = gradient, hessian
    errors = means - targets.values[rows]
    # Squared errors are added one after the other.
    sums[0] = np.add.accumulate(weights[rows] * (errors * errors))[-1] if stop > start else 0.0


def column_slopes(
    rows: slice, k: int, scores: Singles, targets: RatingTargets
) -> tuple[Singles, Singles, Singles]:
    """Return the negative gradient and hessian of a column, and the probability of its label."""
    f = scores[rows]
    if targets.is_value:
        target = ((targets.values[rows] - targets.low) / targets.gaps[k]).astype(np.float32)
        return CURVATURE * (target - f), np.full_like(f, CURVATURE), f
    codes = targets.codes[rows]
    is_positive = (codes > targets.above[k]) & (codes <= targets.upto[k])
    t = tanh(f * _HALF)
    slope = np.where(is_positive, _HALF, -_HALF) - _HALF * t
    return slope, _HALF * (_HALF * (_ONE - t * t)), _HALF + _HALF * t


def gather(
    start: int, stop: int, rows: Rows, others: Rows, other_values: Singles, slopes: Slopes,
    sums: Reals,
) -> None:  # fmt: skip
    """Add the gradients and hessians of each row, times the other side's values, to OUT sums."""
    some = slice(start, stop)
    row, x = rows[some], other_values[others[some]]
    for k in range(WIDTH):
        z = x[:, k]
        sums[:, k] += np.bincount(row, slopes.gradients[some] * z, len(sums))
        sums[:, WIDTH + k] += np.bincount(row, slopes.hessians[some] * (z * z), len(sums))


def gather_columns(
    start: int, stop: int, rows: Rows, targets: RatingTargets, scores: Singles,
    gradient_sums: Reals, hessian_sums: Reals,
) -> None:  # fmt: skip
    """Add the gradients and hessians of each row in every column to OUT the sums."""
    some = slice(start, stop)
    row, weight, size = rows[some], targets.weights[some], len(gradient_sums)
    for k in range(len(scores)):
        slope, curvature, _ = column_slopes(some, k, scores[k], targets)
        gradient_sums[:, k] += np.bincount(row, weight * slope.astype(np.float64), size)
        hessian_sums[:, k] += np.bincount(row, weight * curvature.astype(np.float64), size)
