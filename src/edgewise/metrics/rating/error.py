"""How far predicted ratings are from the true ones: lower is better."""

import math

import numpy as np
from numpy.typing import ArrayLike

from edgewise.metrics.rating.values import compared, mean


def rmse(y: ArrayLike, predictions: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Root mean squared error: sqrt(mean of (prediction - rating)^2).

    Parameters
    ----------
    y : array-like of shape (n_ratings,)
        The true ratings.
    predictions : array-like of shape (n_ratings,)
        The predicted ones.
    sample_weight : array-like of shape (n_ratings,) or None, default None
        What each rating counts, not negative; None means the same.

    Returns
    -------
    float
        The error.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, is empty or holds NaN.

    Examples
    --------
    >>> from edgewise.metrics import rmse
    >>> rmse([5, 3, 4, 1], [4.0, 3.0, 4.0, 2.0])  # sqrt((1 + 0 + 0 + 1) / 4)
    0.7071067811865476
    """
    truth, guess = compared(y, predictions)
    return math.sqrt(mean((guess - truth) ** 2, sample_weight))


def mae(y: ArrayLike, predictions: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean absolute error: the mean of |prediction - rating|.

    Parameters
    ----------
    y, predictions, sample_weight
        As for :func:`rmse`.

    Returns
    -------
    float
        The error.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, is empty or holds NaN.

    Examples
    --------
    >>> from edgewise.metrics import mae
    >>> mae([5, 3, 4, 1], [4.0, 3.0, 4.0, 2.0])
    0.5
    """
    truth, guess = compared(y, predictions)
    return mean(np.abs(guess - truth), sample_weight)


rmse.larger_is_better = False  # type: ignore[attr-defined]
mae.larger_is_better = False  # type: ignore[attr-defined]
