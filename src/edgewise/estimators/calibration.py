"""The temperature of probabilities, which held-out rows choose."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from edgewise.common.dtypes import Reals

# The logarithms of temperatures to choose from, and their precision.
_TEMPERATURES, _PRECISION = math.log(20.0), 1e-3

# The maximum change of the logarithm of a temperature per round.
_LARGEST_STEP = 1.0


def best_temperature(loss: Callable[[float], float], n_rows: int) -> float:
    """Return the temperature of the lowest mean log loss of some rows, near 1 for few rows.

    The logarithm of the temperature has a normal prior of mean 0 and deviation 1/2.

    Examples
    --------
    >>> from math import log
    >>> round(best_temperature(lambda t: log(t / 2) ** 2, 1_000_000), 2)
    2.0
    """

    def penalized_loss(logarithm: float) -> float:
        return n_rows * loss(math.exp(logarithm)) + 2.0 * logarithm**2

    low, high, ratio = -_TEMPERATURES, _TEMPERATURES, (math.sqrt(5) - 1) / 2
    points = [high - ratio * (high - low), low + ratio * (high - low)]
    values = [penalized_loss(point) for point in points]
    while high - low > _PRECISION:
        if values[0] <= values[1]:
            high, points[1], values[1] = points[1], points[0], values[0]
            points[0] = high - ratio * (high - low)
            values[0] = penalized_loss(points[0])
        else:
            low, points[0], values[0] = points[0], points[1], values[1]
            points[1] = low + ratio * (high - low)
            values[1] = penalized_loss(points[1])
    return math.exp((low + high) / 2)


class CalibratedLogLoss:
    """The log loss of rows at the temperature that suits them, as their scores move.

    From round to round the temperature moves by one Newton step of what `best_temperature`
    minimizes. `standard_error` belongs to the difference from the lowest loss so far.

    Examples
    --------
    >>> import numpy as np
    >>> loss = CalibratedLogLoss(np.array([1, 1, 0]), None, False)
    >>> [round(loss(np.array([[3.0], [3.0], [3.0]])), 3) for _ in range(4)]
    [0.828, 0.817, 0.817, 0.817]
    """

    def __init__(self, codes: NDArray[Any], weights: Reals | None, multilabel: bool) -> None:
        self._signs = np.where(codes > 0, 1.0, -1.0).reshape(len(codes), -1)
        self._true_class = None if multilabel else (np.arange(len(codes)), codes)
        self._shares = np.full(len(codes), 1.0 / len(codes))
        if weights is not None:
            self._shares = weights / weights.sum()
        self._sharpness = 0.0  # minus the logarithm of the temperature
        self._lowest, self._lowest_of_rows = math.inf, np.zeros(len(codes))
        self.standard_error = 0.0

    def __call__(self, log_odds: Reals) -> float:
        """Return the loss of the log-odds of shape (n, K), see `edgewise.model.scorer.log_odds`."""
        n, beta = len(log_odds), math.exp(self._sharpness)
        _, derivatives = self._at(beta, log_odds)
        # Not a product of matrices, whose last digits depend on the number of threads.
        slope, curve = (self._shares * derivatives).sum(axis=1).tolist()
        slope, curve = n * beta * slope, n * beta**2 * curve
        # The loss is convex in beta, not in its logarithm.
        step = (slope + 4.0 * self._sharpness) / (curve + max(slope, 0.0) + 4.0)
        moved = self._sharpness - min(max(step, -_LARGEST_STEP), _LARGEST_STEP)
        self._sharpness = min(max(moved, -_TEMPERATURES), _TEMPERATURES)
        of_rows, _ = self._at(math.exp(self._sharpness), log_odds)
        loss = float((self._shares * of_rows).sum())
        if loss < self._lowest:
            self._lowest, self._lowest_of_rows = loss, of_rows
        differences = of_rows - self._lowest_of_rows - (loss - self._lowest)
        self.standard_error = math.sqrt(np.square(self._shares * differences).sum())
        return loss

    def _at(self, beta: float, z: Reals) -> tuple[Reals, Reals]:
        """Return the rows' losses of log-odds times beta, and first two derivatives by beta."""
        if z.shape[1] == 1 or self._true_class is None:
            margins = self._signs * z
            wrong = expit(-beta * margins)
            loss = np.logaddexp(0.0, -beta * margins).sum(axis=1)
            slope = -(margins * wrong).sum(axis=1)
            curve = (margins**2 * wrong * (1.0 - wrong)).sum(axis=1)
        else:
            largest, true_class = z.max(axis=1, keepdims=True), z[self._true_class]
            shares = np.exp(beta * (z - largest))
            total = shares.sum(axis=1)
            mean, square = (shares * z).sum(axis=1) / total, (shares * z**2).sum(axis=1) / total
            loss = np.log(total) + beta * (largest[:, 0] - true_class)
            slope, curve = mean - true_class, square - mean**2
        return loss, np.stack([slope, np.maximum(curve, 0.0)])
