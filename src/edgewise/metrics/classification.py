"""Errors, losses and accuracies of classifiers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals

_LEAST_PROBABILITY = 1e-15

# True targets are coded as in the estimators: class indices of shape (n,) with K score columns,
# 0/1 of shape (n,) with one column, or a 0/1 matrix of shape (n, K).


def predict_targets(scores: Reals, multilabel: bool = False) -> np.ndarray:
    """Return the predicted targets for scores of shape (n, K)."""
    if multilabel:
        return (scores > 0).astype(np.int64)
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.int64)
    return scores.argmax(axis=1)


def error(y: Any, scores: Reals, sample_weight: Any = None) -> float:
    """Return the share of misclassified rows; a multi-label row must have every label right.

    `sample_weight` has the weights of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> error(np.array([1, 0]), np.array([[0.5], [0.5]]))
    0.5
    """
    y = np.asarray(y)
    wrong = predict_targets(scores, y.ndim == 2) != y
    return _mean(wrong.any(axis=1) if y.ndim == 2 else wrong, sample_weight)


def hamming_loss(y: Any, scores: Reals) -> float:
    """Return the share of (row, score column) entries with the wrong sign.

    Examples
    --------
    >>> import numpy as np
    >>> hamming_loss(np.array([[1, 0], [0, 0]]), np.array([[0.5, 0.5], [-1.0, -1.0]]))
    0.25
    """
    y = np.asarray(y)
    if y.ndim == 1:
        columns = np.arange(scores.shape[1]) if scores.shape[1] > 1 else np.array([1])
        y = y[:, None] == columns
    return float(((scores > 0) != (y > 0)).mean())


def log_loss(y: Any, probabilities: Reals, sample_weight: Any = None) -> float:
    """Return the mean negative log-likelihood of probabilities of shape (n, K).

    `sample_weight` has the weights of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> round(log_loss(np.array([1, 0]), np.array([[0.2, 0.8], [0.5, 0.5]])), 4)
    0.4581
    """
    y = np.asarray(y)
    if y.ndim == 1:
        p = np.maximum(probabilities[np.arange(len(y)), y], _LEAST_PROBABILITY)
        return -_mean(np.log(p), sample_weight)
    p = np.where(y > 0, probabilities, 1.0 - probabilities)
    return -_mean(np.log(np.maximum(p, _LEAST_PROBABILITY)).sum(axis=1), sample_weight)


def balanced_accuracy(y: Any, scores: Reals, sample_weight: Any = None) -> float:
    """Return the mean recall over the classes that have rows, or over labels as two-class problems.

    Larger is better; a constant prediction scores one over the number of classes.

    Parameters
    ----------
    y : array of shape (n,) or (n, K)
        Class numbers, 0/1 with one column of scores, or a 0/1 matrix of labels.
    scores : array of shape (n, K)
        The scores.
    sample_weight : array of shape (n,) or None, default None
        Weights of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> balanced_accuracy(np.array([1, 0, 0, 0]), np.array([[-0.5], [-0.5], [-0.1], [0.1]]))
    0.333...
    """
    y = np.asarray(y)
    guessed = predict_targets(scores, y.ndim == 2)
    if y.ndim == 2:
        labels = range(y.shape[1])
        return float(np.mean([_mean_recall(y[:, k], guessed[:, k], sample_weight) for k in labels]))
    return _mean_recall(y, guessed, sample_weight)


def reliability(
    probabilities: Reals, outcomes: NDArray[np.bool_], n_bins: int
) -> tuple[Reals, Reals, NDArray[np.intp]]:
    """Return the mean probability, the observed frequency and the number of rows of each bin.

    The bins have equal widths; those without rows are left out.

    Examples
    --------
    >>> import numpy as np
    >>> reliability(np.array([0.1, 0.3, 0.9]), np.array([False, True, True]), n_bins=2)
    (array([0.2, 0.9]), array([0.5, 1. ]), array([2, 1]))
    """
    bins = np.minimum((probabilities * n_bins).astype(np.intp), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    used = counts > 0
    means, frequencies = (
        np.bincount(bins, values, n_bins)[used] / counts[used]
        for values in (probabilities, outcomes)
    )
    return means, frequencies, counts[used]


def _mean(values: np.ndarray, weights: Any) -> float:
    return float(values.mean() if weights is None else np.average(values, weights=weights))


def _mean_recall(y: np.ndarray, guessed: np.ndarray, weights: Any) -> float:
    codes = y.astype(np.intp)
    totals = np.bincount(codes, weights)
    rights = np.bincount(codes, (guessed == y) if weights is None else (guessed == y) * weights)
    return float((rights[totals > 0] / totals[totals > 0]).mean())
