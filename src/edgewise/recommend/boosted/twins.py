"""The passes over all ratings that a round makes, in NumPy, for small problems.

Sums are added up in the order of the ratings, as in `compiled`, so that the bits are the same.
"""

import numpy as np

from edgewise.common.dtypes import Reals, Rows
from edgewise.recommend.boosted.tangent import LEAST_CHANCE, Singles, tanh

_ONE, _HALF = np.float32(1.0), np.float32(0.5)


def advance(
    start: int, stop: int, users: Rows, items: Rows, user_values: Reals, item_values: Reals,
    move: Reals, labels: Singles, gaps: Reals, low: float, one_hot: bool, values: Reals,
    weights: Reals, weighted: bool, scores: Reals, pulls: Singles, curves: Singles, sums: Reals,
) -> None:  # fmt: skip
    """Do as `compiled.advance`."""
    part = slice(start, stop)
    products = user_values[users[part]] * item_values[items[part]]
    scores[part] += products[:, None] * move
    y = labels[part]
    turned = tanh(scores[part].astype(np.float32) * y * _HALF)
    wrong = _HALF * (_ONE - turned)
    pulls[part] = y * wrong
    curves[part] = _HALF * (_HALF * (_ONE - turned * turned))
    chances = (_HALF + y * (_HALF - wrong)).astype(np.float64)
    if weighted:
        pulls[part] = weights[part, None] * pulls[part].astype(np.float64)
        curves[part] = weights[part, None] * curves[part].astype(np.float64)
    expected = np.full(stop - start, low)
    for k, gap in enumerate(gaps):
        expected += gap * chances[:, k]
    if one_hot:
        expected /= np.maximum(np.add.accumulate(chances, axis=1)[:, -1], LEAST_CHANCE)
    errors = expected - values[part]
    sums[0] = _in_order(weights[part] * (errors * errors))


def gather(
    start: int, stop: int, ones: Rows, others: Rows, other_values: Reals, pulls: Singles,
    curves: Singles, pull_sums: Reals, curve_sums: Reals,
) -> None:  # fmt: skip
    """Do as `compiled.gather`."""
    part = slice(start, stop)
    x = other_values[others[part]]
    square = x * x
    rows = ones[part]
    for k in range(pulls.shape[1]):
        size = len(pull_sums)
        pull_sums[:, k] += np.bincount(rows, pulls[part, k] * x, minlength=size)
        curve_sums[:, k] += np.bincount(rows, curves[part, k] * square, minlength=size)


def _in_order(values: Reals) -> float:
    """Return the sum of values, added up one after the other."""
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0
