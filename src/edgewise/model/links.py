"""From scores to probabilities: the links of the losses.

In NumPy alone, so that a model has the same probabilities wherever it predicts.
"""

import numpy as np

from edgewise.common.dtypes import Reals


def log_odds(scores: Reals, offsets: Reals, multilabel: bool, loss: str) -> Reals:
    """Return what a temperature divides: log-odds whose softmax are probabilities.

    For labels, and two classes, it is the logistic function of the single column. For two classes,
    log-odds of z and -z are 2z apart, so they count (K - 1) / K where each column has its own.
    """
    n_scores = scores.shape[1]
    several = n_scores > 1 and not multilabel
    if loss == "softmax" and several:
        return scores
    found: Reals = (2.0 if loss == "exponential" else 1.0) * scores - offsets
    return found * ((n_scores - 1) / n_scores) if several else found


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
    of 1 is none and normalizes the probability of each class (Iyer 1999, eq. 3.6). Any other stands
    for the softmax of log-odds, which calibrates better.

    Examples
    --------
    >>> import numpy as np
    >>> probabilities(np.array([[0.0], [1.0]]), np.zeros(1), False).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """
    several = scores.shape[1] > 1 and not multilabel
    z = log_odds(scores, offsets, multilabel, loss) / temperature
    if several and (loss == "softmax" or temperature != 1.0):
        return _softmax(z)
    if multilabel:
        return _logistic(z)
    if not several:
        positive = _logistic(z)
        return np.hstack([1 - positive, positive])
    # In logarithms, so that rows far from every class still have probabilities.
    z = (2.0 if loss == "exponential" else 1.0) * scores - offsets
    return _softmax(np.minimum(z, 0.0) - np.log1p(np.exp(-np.abs(z))))


def _logistic(z: Reals) -> Reals:
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-z))


def _softmax(z: Reals) -> Reals:
    shares = np.exp(z - z.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
