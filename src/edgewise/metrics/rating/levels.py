"""Errors on a scale of levels, such as one to five stars: lower is better."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.dtypes import Reals
from edgewise.metrics.rating.values import compared, finite, mean


def nearest_level(predictions: ArrayLike, levels: ArrayLike) -> Reals:
    """Return the level nearest to each prediction; halfway between two, the higher one.

    Parameters
    ----------
    predictions : array-like of shape (n_ratings,)
        Predicted ratings; those outside the scale get its end.
    levels : array-like of shape (n_levels,)
        The ratings there are, two or more, in any order.

    Returns
    -------
    ndarray of shape (n_ratings,)
        One of `levels` for each prediction.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, is empty or holds NaN.

    Examples
    --------
    >>> from edgewise.metrics import nearest_level
    >>> nearest_level([0.2, 2.4, 2.5, 7.0], levels=range(1, 6))
    array([1., 2., 3., 5.])
    """
    guess, scale = finite("predictions", predictions), _scale(levels)
    return _rounded(guess, scale)


def nmae(
    y: ArrayLike,
    predictions: ArrayLike,
    *,
    levels: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Normalised mean absolute error: the mean absolute error divided by that of blind guesses.

    A blind guess is a level drawn uniformly, for a rating that is uniform too and independent of
    it: over the K levels l_1, ..., l_K its expected error is

        E|X - Y| = (1 / K^2) sum_a sum_b |l_a - l_b|,

    which is (K^2 - 1) / (3 K) where they are 1, ..., K: 1.6 for five levels and 35/18, about 1.94,
    for six. So 1 is as good as guessing. Marlin (2004), and Rennie and Srebro for max-margin matrix
    factorisation (2005), use it to compare data sets with different scales; their predictions are
    levels, which :func:`nearest_level` makes of others.

    Parameters
    ----------
    y : array-like of shape (n_ratings,)
        The true ratings, all of them among the levels.
    predictions : array-like of shape (n_ratings,)
        The predicted ratings, taken as they are.
    levels : array-like of shape (n_levels,)
        The ratings there are, two or more, in any order.
    sample_weight : array-like of shape (n_ratings,) or None, default None
        What each rating counts, not negative; None means the same.

    Returns
    -------
    float
        The normalised error.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, is empty or holds NaN.

    Examples
    --------
    >>> from edgewise.metrics import nmae
    >>> nmae([5, 3, 4, 1], [4, 3, 4, 2], levels=[1, 2, 3, 4, 5])  # 0.5 / 1.6
    0.3125
    """
    truth, guess, scale = _on_scale(y, predictions, levels)
    return mean(np.abs(guess - truth), sample_weight) / _blind_error(scale)


def one_zero_error(
    y: ArrayLike,
    predictions: ArrayLike,
    *,
    levels: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    """One-zero error: the share of ratings whose predicted level is not the true one.

    Predictions are rounded by :func:`nearest_level` first.

    Parameters
    ----------
    y, predictions, levels, sample_weight
        As for :func:`nmae`.

    Returns
    -------
    float
        The share, from 0 to 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, is empty or holds NaN.

    Examples
    --------
    >>> from edgewise.metrics import one_zero_error
    >>> one_zero_error([5, 3, 4, 1], [4.4, 3.3, 4.0, 0.2], levels=[1, 2, 3, 4, 5])
    0.25
    """
    truth, guess, scale = _on_scale(y, predictions, levels)
    return mean((_rounded(guess, scale) != truth).astype(np.float64), sample_weight)


def _scale(levels: Any) -> Reals:
    """Return the levels in rising order, or raise."""
    scale = np.unique(finite("levels", levels))
    if len(scale) < 2:
        raise ValueError(f"levels must hold two or more different ratings, got {levels!r}")
    return scale


def _on_scale(y: Any, predictions: Any, levels: Any) -> tuple[Reals, Reals, Reals]:
    """Return the ratings, true and predicted, and the levels, or raise."""
    truth, guess = compared(y, predictions)
    scale = _scale(levels)
    outside = ~np.isin(truth, scale)
    if outside.any():
        raise ValueError(
            f"y must hold only the levels {scale.tolist()}, got {float(truth[outside][0])!r}"
        )
    return truth, guess, scale


def _blind_error(scale: Reals) -> float:
    """Return the mean distance of two levels, each drawn from all; they come in rising order."""
    n = len(scale)
    # In the sum over pairs the level of rank a comes a - 1 times with a plus and n - a with a
    # minus: no matrix of all pairs is needed.
    signs = 2.0 * np.arange(1, n + 1) - n - 1.0
    return float(2.0 * (scale @ signs) / n**2)


def _rounded(guess: Reals, scale: Reals) -> Reals:
    middles = scale[:-1] + np.diff(scale) / 2.0
    return scale[np.searchsorted(middles, guess, side="right")]


nmae.larger_is_better = False  # type: ignore[attr-defined]
one_zero_error.larger_is_better = False  # type: ignore[attr-defined]
