"""From scores to probabilities: the links of the losses, and the temperature of held-out rows."""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import expit, log_expit, logsumexp, softmax

from edgewise.common.dtypes import Reals

# The logarithms of temperatures to choose from, and their precision.
_TEMPERATURES, _PRECISION = math.log(20.0), 1e-3


def best_temperature(loss: Callable[[float], float], n_rows: int) -> float:
    """Return the temperature of the lowest mean log loss of some rows, near 1 for few rows.

    The logarithm of the temperature has a normal prior of mean 0 and deviation 1/2.

    Examples
    --------
    >>> from math import log
    >>> round(best_temperature(lambda t: log(t / 2) ** 2, 1_000_000), 2)
    2.0
    """

    def penalised(logarithm: float) -> float:
        return n_rows * loss(math.exp(logarithm)) + 2.0 * logarithm**2

    low, high, ratio = -_TEMPERATURES, _TEMPERATURES, (math.sqrt(5) - 1) / 2
    points = [high - ratio * (high - low), low + ratio * (high - low)]
    values = [penalised(point) for point in points]
    while high - low > _PRECISION:
        if values[0] <= values[1]:
            high, points[1], values[1] = points[1], points[0], values[0]
            points[0] = high - ratio * (high - low)
            values[0] = penalised(points[0])
        else:
            low, points[0], values[0] = points[0], points[1], values[1]
            points[1] = low + ratio * (high - low)
            values[1] = penalised(points[1])
    return math.exp((low + high) / 2)


def probabilities(
    scores: Reals,
    offsets: Reals,
    multilabel: bool,
    loss: str = "exponential",
    temperature: float = 1.0,
) -> Reals:
    """Return probabilities for scores of shape (n, K).

    `offsets` are the log-odds that the initial weights add to each column; the log-odds without
    them are divided by the temperature. Classes sum to 1; labels of a multi-label problem do not.
    The softmax loss of several classes has the softmax of scores. With other losses, a temperature
    of 1 is none and normalises the probability of each class (Iyer 1999, eq. 3.6). Any other stands
    for the softmax of log-odds, which calibrates better: for two classes, log-odds of z and -z are
    2z apart, so they count (K - 1) / K.

    Examples
    --------
    >>> import numpy as np
    >>> probabilities(np.array([[0.0], [1.0]]), np.zeros(1), False).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """
    if loss == "softmax" and scores.shape[1] > 1 and not multilabel:
        return np.asarray(softmax(scores / temperature, axis=1))
    log_odds = (2.0 if loss == "exponential" else 1.0) * scores - offsets
    if temperature != 1.0:
        log_odds /= temperature
    if multilabel:
        return expit(log_odds)
    if scores.shape[1] == 1:
        positive = expit(log_odds)
        return np.hstack([1 - positive, positive])
    if temperature != 1.0:
        n_classes = scores.shape[1]
        return np.asarray(softmax(log_odds * ((n_classes - 1) / n_classes), axis=1))
    # In logarithms, so that rows far from every class still have probabilities.
    logs = log_expit(log_odds)
    return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
