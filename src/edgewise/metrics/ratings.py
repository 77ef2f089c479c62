"""Errors of predicted ratings, on real numbers and on a scale of levels: lower is better."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.checks import finite_numbers
from edgewise.common.dtypes import Reals


def rmse(y: ArrayLike, predictions: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Root mean squared error: sqrt(mean of (prediction - rating)^2).

    Parameters
    ----------
    y : array-like of shape (n_ratings,)
        The true ratings.
    predictions : array-like of shape (n_ratings,)
        The predicted ones.
    sample_weight : array-like of shape (n_ratings,) or None, default None
        The weight of each rating, not negative; None for equal weights.

    Examples
    --------
    >>> rmse([5, 3, 4, 1], [4.0, 3.0, 4.0, 2.0])  # sqrt((1 + 0 + 0 + 1) / 4)
    0.7071067811865476
    """
    truth, guess = _check_pairs(y, predictions)
    return math.sqrt(_mean((guess - truth) ** 2, sample_weight))


def mae(y: ArrayLike, predictions: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean absolute error: the mean of ``|prediction - rating|``.

    Takes the parameters of :func:`rmse`.

    Examples
    --------
    >>> mae([5, 3, 4, 1], [4.0, 3.0, 4.0, 2.0])
    0.5
    """
    truth, guess = _check_pairs(y, predictions)
    return _mean(np.abs(guess - truth), sample_weight)


def nearest_level(predictions: ArrayLike, levels: ArrayLike) -> Reals:
    """Return the level nearest to each prediction; halfway between two, the higher one.

    Parameters
    ----------
    predictions : array-like of shape (n_ratings,)
        Predicted ratings; beyond the scale they become its end.
    levels : array-like of shape (n_levels,)
        The possible ratings, two or more, in any order.

    Examples
    --------
    >>> nearest_level([0.2, 2.4, 2.5, 7.0], levels=range(1, 6))
    array([1., 2., 3., 5.])
    """
    guess, scale = finite_numbers("predictions", predictions), _scale(levels)
    middles = scale[:-1] + np.diff(scale) / 2.0
    return scale[np.searchsorted(middles, guess, side="right")]


def nmae(
    y: ArrayLike,
    predictions: ArrayLike,
    *,
    levels: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the normalized mean absolute error: 1 is as good as random guessing.

    The error is divided by its expectation where guess and rating are drawn uniformly and
    independently from the K levels l_1, ..., l_K,

        E|X - Y| = (1 / K^2) sum_a sum_b |l_a - l_b|,

    which is (K^2 - 1) / (3 K) for levels 1, ..., K. Marlin (2004), and Rennie and Srebro (2005),
    compare data sets with different scales by it; their predictions are levels, as
    :func:`nearest_level` returns.

    Parameters
    ----------
    y, predictions, sample_weight
        As for :func:`rmse`; all of `y` must be levels, and predictions are not rounded.
    levels : array-like of shape (n_levels,)
        The possible ratings, two or more, in any order.

    Examples
    --------
    >>> nmae([5, 3, 4, 1], [4, 3, 4, 2], levels=[1, 2, 3, 4, 5])  # 0.5 / 1.6
    0.3125
    """
    truth, guess, scale = _on_scale(y, predictions, levels)
    n = len(scale)
    # In the sum over pairs the level of rank a has a plus sign a - 1 times and a minus sign n - a
    # times, so no matrix of all pairs is needed.
    signs = 2.0 * np.arange(1, n + 1) - n - 1.0
    expected = float(2.0 * (scale @ signs) / n**2)
    return _mean(np.abs(guess - truth), sample_weight) / expected


def one_zero_error(
    y: ArrayLike,
    predictions: ArrayLike,
    *,
    levels: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    """One-zero error: the share of ratings whose predicted level is not the true one.

    Takes the parameters of :func:`nmae`; predictions are rounded by :func:`nearest_level` first.

    Examples
    --------
    >>> one_zero_error([5, 3, 4, 1], [4.4, 3.3, 4.0, 0.2], levels=[1, 2, 3, 4, 5])
    0.25
    """
    truth, guess, scale = _on_scale(y, predictions, levels)
    return _mean((nearest_level(guess, scale) != truth).astype(np.float64), sample_weight)


def _scale(levels: Any) -> Reals:
    """Return the levels in ascending order."""
    scale = np.unique(finite_numbers("levels", levels))
    if len(scale) < 2:
        raise ValueError(f"levels must hold two or more different ratings, got {levels!r}")
    return scale


def _on_scale(y: Any, predictions: Any, levels: Any) -> tuple[Reals, Reals, Reals]:
    """Return true and predicted ratings and the levels."""
    truth, guess = _check_pairs(y, predictions)
    scale = _scale(levels)
    outside = ~np.isin(truth, scale)
    if outside.any():
        raise ValueError(
            f"y must hold only the levels {scale.tolist()}, got {float(truth[outside][0])!r}"
        )
    return truth, guess, scale


def _check_pairs(y: Any, predictions: Any) -> tuple[Reals, Reals]:
    """Return true and predicted ratings of equal length."""
    truth = finite_numbers("y", y)
    return truth, finite_numbers("predictions", predictions, len(truth), "ratings")


def _mean(values: Reals, sample_weight: Any) -> float:
    if sample_weight is None:
        return float(values.mean())
    weights = finite_numbers("sample_weight", sample_weight, len(values), "ratings")
    if (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must not be negative, nor 0 everywhere")
    return float(np.average(values, weights=weights))
