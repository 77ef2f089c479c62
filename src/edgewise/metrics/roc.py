"""The area under the ROC curve of a classifier."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals

# All bits but the sign: flipping them makes the bits of negative numbers ascend with the numbers.
_BELOW_SIGN = np.int64(0x7FFF_FFFF_FFFF_FFFF)
# Larger scores than this are not scaled: the smallest might underflow.
_LARGEST = 2.0**64


def roc_auc(y: Any, scores: Any, sample_weight: Any = None) -> float:
    """Return the area under the ROC curve: larger is better, 1/2 is chance.

    It is the share of (positive, negative) pairs of rows in which the positive row has the larger
    score; ties count one half. It equals scikit-learn's ``roc_auc_score``, and is fast enough to
    compute in every round. A column without positive or without negative rows raises ValueError.

    Parameters
    ----------
    y : array of shape (n,) or (n, K)
        0 or 1 with one column of scores; classes from 0 to K - 1 with K columns; or a 0/1 matrix
        of labels.
    scores : array of shape (n,) or (n, K)
        Scores that grow with the probability of the label. With more than two classes use
        probabilities, since each column ranks the rows of its class against the rest; the result
        is the mean over the columns ("macro", "ovr").
    sample_weight : array of shape (n,) or None, default None
        Weights of the rows; the weight of a pair is their product.

    Examples
    --------
    >>> roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    y, scores = _check_shapes(np.asarray(y), np.asarray(scores, dtype=np.float64))
    mass = None if sample_weight is None else _check_weights(sample_weight, len(y))
    n_scores = scores.shape[1]
    if n_scores == 1:
        return _area(_has_label(y.reshape(len(y))), scores[:, 0], mass, 0)
    areas = []
    for k in range(n_scores):
        positive = _has_label(y[:, k]) if y.ndim == 2 else y == k
        areas.append(_area(positive, scores[:, k], mass, k))
    return float(np.mean(areas))


def _check_shapes(y: NDArray, scores: Reals) -> tuple[NDArray, Reals]:
    """Return matching targets and scores, the scores of shape (n, K)."""
    if scores.ndim == 1:
        scores = scores[:, None]
    if scores.ndim != 2 or y.ndim not in (1, 2) or len(y) != len(scores):
        raise ValueError(
            f"y and scores must have a row for each other, got shapes {y.shape} and {scores.shape}"
        )
    if y.ndim == 2 and y.shape != scores.shape:
        raise ValueError(
            f"scores must have a column for each of the {y.shape[1]} labels, got {scores.shape[1]}"
        )
    if len(y) == 0:
        raise ValueError("roc_auc needs at least two rows, got none")
    if y.ndim == 1 and scores.shape[1] > 1 and not np.isin(y, np.arange(scores.shape[1])).all():
        raise ValueError(f"y must hold classes from 0 to {scores.shape[1] - 1}, a column each")
    return y, scores


def _has_label(y: NDArray) -> NDArray[np.bool_]:
    if y.dtype == bool:
        return y
    positive = y == 1
    if not (positive | (y == 0)).all():
        raise ValueError("y must hold only 0 and 1 with one column of scores")
    return positive


def _check_weights(sample_weight: Any, n_rows: int) -> NDArray:
    mass = np.asarray(sample_weight)
    # Integers stay integers: their sums are exact.
    mass = mass if mass.dtype == np.int64 else mass.astype(np.float64)
    if mass.shape != (n_rows,) or not (np.isfinite(mass).all() and (mass >= 0).all()):
        raise ValueError(f"sample_weight must have {n_rows} finite, non-negative numbers")
    return mass


def _area(positive: NDArray[np.bool_], scores: Reals, mass: NDArray | None, k: int) -> float:
    low, high = float(scores.min()), float(scores.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError("scores must be finite numbers")
    counted = positive if mass is None else positive[mass > 0]
    if not counted.any() or counted.all():
        raise ValueError(
            f"roc_auc is not defined where all rows are of one kind: column {k} of the scores "
            f"needs rows with its label and rows without, got {len(counted)} rows "
            f"{'with' if len(counted) and counted[0] else 'without'} it"
        )
    largest = max(high, -low)
    if mass is None and largest < _LARGEST:
        return _area_of_rows(positive, scores, largest)
    every = np.ones(len(positive), dtype=np.int64)
    return _area_of_masses(positive, scores, every if mass is None else mass)


def _area_of_rows(positive: NDArray[np.bool_], scores: Reals, largest: float) -> float:
    """Return the area where all rows have equal weights.

    Sorting integers is many times faster than sorting scores and carrying labels along. A double
    below 2 leaves one of its 64 bits free: scores are scaled below 2 by a power of two, which
    preserves their order, and the label takes the free bit.
    """
    scale = 2.0 ** (1 - int(np.frexp(largest)[1])) if largest >= 2.0 else 1.0
    scaled = scores * scale
    scaled += 0.0  # makes -0.0 the same as 0.0
    keys = scaled.view(np.int64)
    # Buffers are reused: new memory pages cost more than the arithmetic.
    spare = keys >> 63
    spare &= _BELOW_SIGN
    keys ^= spare
    keys <<= 1
    keys |= positive
    keys.sort()
    np.bitwise_and(keys, 1, out=spare)
    below = np.cumsum(spare, out=spare)
    n_rows, n_positive = len(keys), int(below[-1])
    # Ordered pairs, ties included: labeled rows come last among equal scores.
    n_ordered = n_rows * n_positive - int(below.sum())
    twice = 2 * (n_ordered - n_positive * (n_positive - 1) // 2) - _tied_pairs(keys, spare)
    return twice / (2 * n_positive * (n_rows - n_positive))


def _tied_pairs(keys: NDArray[np.int64], spare: NDArray[np.int64]) -> int:
    """Return the number of (positive, negative) pairs with equal scores."""
    changes = np.bitwise_xor(keys[1:], keys[:-1], out=spare[1:])
    if not (changes == 1).any():
        return 0
    # The ends of runs of equal keys. Two runs that differ only in the label have tied scores.
    ends = np.append(np.flatnonzero(changes != 0), len(keys) - 1)
    tied = np.flatnonzero(changes[ends[:-1]] == 1)
    here = ends[tied]
    before = np.where(tied > 0, ends[tied - 1], -1)
    return int(((here - before) * (ends[tied + 1] - here)).sum())


def _area_of_masses(positive: NDArray[np.bool_], scores: Reals, mass: NDArray) -> float:
    """Return the area where the weight of a pair is the product of two masses."""
    order = np.argsort(scores)
    ascending, masses = scores[order], mass[order]
    last = np.flatnonzero(np.append(ascending[1:] != ascending[:-1], True))
    up_to = np.cumsum(masses)[last]
    having = np.cumsum(np.where(positive[order], masses, 0))[last]
    without = (up_to - having).astype(np.float64)
    # Only the sums over equal scores enter, so the order of rows does not matter.
    steps = np.diff(having, prepend=having.dtype.type(0)).astype(np.float64)
    middles = without - 0.5 * np.diff(without, prepend=0.0)
    return float((steps * middles).sum() / (float(having[-1]) * without[-1]))
