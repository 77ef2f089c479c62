"""The binary problem inside a factorized multi-class round, and the sum of its weights.

For given votes v the multi-class edge is a two-class edge, sum_i phi(x_i) * s_i with
s_i = sum_l w_il v_l y_il. The sign of s_i is the pseudo-label of example i and its absolute value
the pseudo-weight (Kégl 2014b, above eq. 14). An edge of delta' on every weighting that sums to one
guarantees only delta' * w'_Sigma here, where w'_Sigma is the sum of the pseudo-weights; how small
it can become is the open problem of Kégl 2014b.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import reals
from edgewise.common.checks import signs as check_signs
from edgewise.common.dtypes import SIGN


def pseudo_labels(weights: ArrayLike, signs: ArrayLike, votes: ArrayLike) -> NDArray[np.int8]:
    """Label of each example in the binary problem that the votes define, -1 or +1.

    The sign of sum_l w_il v_l y_il; +1 where the sum is zero, since the weight is then zero too.

    Parameters
    ----------
    weights : array-like of shape (n, K)
        Weights of the round, non-negative.
    signs : array-like of shape (n, K)
        Labels y of +-1.
    votes : array-like of shape (K,)
        Votes v of +-1, or 0 where a class abstains.

    Examples
    --------
    >>> pseudo_labels([[0.25, 0.125, 0.125]], [[1, -1, -1]], [-1, 1, -1])
    array([-1], dtype=int8)
    """
    return np.where(_signed_sums(weights, signs, votes) < 0, -1, 1).astype(SIGN)


def pseudo_weights(weights: ArrayLike, signs: ArrayLike, votes: ArrayLike) -> NDArray[np.float64]:
    """Weight of each example in the binary problem of the votes: ``| sum_l w_il v_l y_il |``.

    Takes the parameters of :func:`pseudo_labels`.

    Examples
    --------
    >>> pseudo_weights([[0.25, 0.125, 0.125]], [[1, -1, -1]], [-1, 1, -1])
    array([0.25])
    """
    return np.abs(_signed_sums(weights, signs, votes))


def pseudo_weight_sum(weights: ArrayLike, signs: ArrayLike, votes: ArrayLike) -> float:
    """Sum of the pseudo-weights, w'_Sigma (Kégl 2014b eq. 14).

    It is at most the sum of the weights, and at least the edge of any classifier with these
    votes. With two classes (y_1 = -y_2 and v_1 = -v_2) nothing cancels and it is the sum of the
    weights, 1 (Kégl 2014b remark 1).

    Takes the parameters of :func:`pseudo_labels`.

    Examples
    --------
    >>> pseudo_weight_sum([[0.5, 0.25, 0.25]], [[1, -1, -1]], [-1, 1, -1])
    0.5
    """
    return float(np.abs(_signed_sums(weights, signs, votes)).sum())


def _signed_sums(weights: ArrayLike, signs: ArrayLike, votes: ArrayLike) -> NDArray[np.float64]:
    """Check the arguments and return sum_l w_il v_l y_il."""
    w = reals("weights", weights, ndim=(2,))
    y = check_signs("signs", signs, ndim=2)
    v = check_signs("votes", votes, ndim=1, zero=True)
    if (w < 0).any():
        raise ValueError(f"weights must not be negative, got {w.min():g}")
    if y.shape != w.shape:
        raise ValueError(f"signs must have the shape of weights, {w.shape}, got {y.shape}")
    if len(v) != w.shape[1]:
        raise ValueError(
            f"votes must have one entry a column of weights, {w.shape[1]}, got {len(v)}"
        )
    sums: NDArray[np.float64] = (w * y) @ v
    return sums
