"""The passes of boosted factorisation over the ratings from start to stop, in NumPy.

Sums are taken in the order of the ratings, as in the compiled kernels, so that the bits agree.
"""

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals, Rows

Singles = NDArray[np.float32]

# From here on the hyperbolic tangent is 1 in single precision.
FARTHEST = np.float32(7.9)

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
    start: int, stop: int, users: Rows, items: Rows, user_values: Reals, item_values: Reals,
    move: Reals, labels: Singles, gaps: Reals, low: float, one_hot: bool, values: Reals,
    weights: Reals, weighted: bool, scores: Reals, gradients: Singles, hessians: Singles,
    sums: Reals,
) -> None:  # fmt: skip
    """Move the scores along a product; compute the gradient and hessian of the loss there."""
    part = slice(start, stop)
    products = user_values[users[part]] * item_values[items[part]]
    scores[part] += products[:, None] * move
    y = labels[part]
    turned = tanh(scores[part].astype(np.float32) * y * _HALF)
    wrong = _HALF * (_ONE - turned)
    gradients[part] = y * wrong
    hessians[part] = _HALF * (_HALF * (_ONE - turned * turned))
    chances = (_HALF + y * (_HALF - wrong)).astype(np.float64)
    if weighted:
        gradients[part] = weights[part, None] * gradients[part].astype(np.float64)
        hessians[part] = weights[part, None] * hessians[part].astype(np.float64)
    expected = np.full(stop - start, low)
    for k, gap in enumerate(gaps):
        expected += gap * chances[:, k]
    if one_hot:
        expected /= np.maximum(np.add.accumulate(chances, axis=1)[:, -1], LEAST_CHANCE)
    errors = expected - values[part]
    sums[0] = _in_order(weights[part] * (errors * errors))


def gather(
    start: int, stop: int, ones: Rows, others: Rows, other_values: Reals, gradients: Singles,
    hessians: Singles, gradient_sums: Reals, hessian_sums: Reals,
) -> None:  # fmt: skip
    """Add up the gradients and hessians of each row, times the values of the other side."""
    part = slice(start, stop)
    x = other_values[others[part]]
    square = x * x
    rows = ones[part]
    for k in range(gradients.shape[1]):
        size = len(gradient_sums)
        gradient_sums[:, k] += np.bincount(rows, gradients[part, k] * x, minlength=size)
        hessian_sums[:, k] += np.bincount(rows, hessians[part, k] * square, minlength=size)


def _in_order(values: Reals) -> float:
    """Return the sum of values, added one after the other."""
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0
