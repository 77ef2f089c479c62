"""Normalized margins, their distribution, and a bound on its lower end."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import Values, between, positive, reals, signs
from edgewise.common.dtypes import Reals
from edgewise.theory.bounds import log_energies, to_float

# A sum of up to 1e5 rounded terms may exceed the total by a few rounding errors.
_ROUNDING = 1e-9


def margins(scores: ArrayLike, y: ArrayLike, total_vote: float) -> Reals:
    """Return the normalized margin of each example, in [-1, 1] (Iyer 1999 section 3.4.2).

    The shapes decide which margin; it is positive where the example (or entry) is right, no tie:

    - two classes, `scores` (n,) and `y` (n,) of +-1: y * f / total;
    - multi-class, `scores` (n, K) and `y` (n,) of class indices: (f_c - max of the others) /
      (2 * total), which for K = 2 and f_2 = -f_1 is the two-class margin of f_1;
    - multi-label, `scores` (n, K) and `y` (n, K) of +-1: y * f / total, entry by entry.

    Parameters
    ----------
    scores : array-like of shape (n,) or (n, K)
        The sum of the base classifiers on each example.
    y : array-like of shape (n,) or (n, K)
        Signs or class indices, as above.
    total_vote : float
        The largest possible absolute score: the sum over rounds of ``|alpha|`` for votes of +-1,
        or of the largest ``|alpha * v|`` for real votes.

    Examples
    --------
    >>> margins([1.5, -1.0], [1, 1], total_vote=2.0)
    array([ 0.75, -0.5 ])
    """
    f = reals("scores", scores, ndim=(1, 2))
    total = positive("total_vote", total_vote)
    largest = float(np.abs(f).max(initial=0.0))
    if largest > total * (1.0 + _ROUNDING):
        raise ValueError(
            f"total_vote must be at least the largest absolute score, {largest:g}, got {total:g}"
        )
    if f.ndim == 2 and np.ndim(y) == 1:
        result = _multiclass_margins(f, np.asarray(y)) / (2.0 * total)
    else:
        labels = signs("y", y, ndim=f.ndim)
        if labels.shape != f.shape:
            raise ValueError(f"y must have the shape of scores, {f.shape}, got {labels.shape}")
        result = labels * f / total
    return np.clip(result, -1.0, 1.0)


def _multiclass_margins(f: Reals, y: NDArray[np.generic]) -> Reals:
    """Return the score of the true class minus the best score of the others."""
    n, n_classes = f.shape
    if not np.issubdtype(y.dtype, np.integer):
        raise TypeError(f"y must hold integer class indices, got dtype {y.dtype}")
    if n_classes < 2:
        raise ValueError("scores must have at least 2 columns for class indices; pass one as 1-D")
    if y.shape != (n,):
        raise ValueError(f"y must have one class index per row of scores, {n}, got {y.shape[0]}")
    index = y.astype(np.intp)
    if ((index < 0) | (index >= n_classes)).any():
        raise ValueError(f"y must hold class indices from 0 to {n_classes - 1}")
    rows = np.arange(n)
    others = f.copy()
    others[rows, index] = -np.inf
    return f[rows, index] - others.max(axis=1)


def margin_distribution(margins: ArrayLike) -> tuple[Reals, Reals]:
    """Sorted margins, flattened, and the share of margins at or below each of them.

    Drawn as a step function (a value holds until the next margin, ``drawstyle="steps-post"``),
    it is the margin distribution graph of Iyer 1999, figure 3-2.

    Parameters
    ----------
    margins : array-like
        Margins, of any shape.

    Examples
    --------
    >>> margin_distribution([0.5, -0.5, 0.25, 0.5])
    (array([-0.5 ,  0.25,  0.5 ,  0.5 ]), array([0.25, 0.5 , 1.  , 1.  ]))
    """
    values = sort_margins(margins)
    return values, np.searchsorted(values, values, side="right") / len(values)


def margin_cdf(margins: ArrayLike, theta: float | Values) -> Any:
    """Share of margins at or below theta; at 0 the training error, ties counted as errors.

    Parameters
    ----------
    margins : array-like
        Margins, of any shape.
    theta : float or array-like
        Where to evaluate the distribution function.

    Examples
    --------
    >>> margin_cdf([-0.1, 0.0, 0.3, 0.8], 0.0)
    0.5
    """
    values = sort_margins(margins)
    counts = np.searchsorted(values, reals("theta", theta), side="right")
    return to_float(counts / len(values))


def margin_cdf_bound(energies: ArrayLike, alphas: ArrayLike, theta: float) -> Reals:
    """Upper bound on the share of margins at or below theta, after each round.

    prod Z exp(theta sum alpha) for any steps. With the best steps it decreases to zero for every
    theta below about half the smallest edge (Schapire, Freund, Bartlett and Lee 1998, theorem 5).
    In AdaBoost.MH it bounds the margins of entries, each counted with its initial weight.

    Parameters
    ----------
    energies : array-like of shape (n_rounds,)
        Z of each round, not negative.
    alphas : array-like of shape (n_rounds,)
        The base coefficient of each round, for votes of +-1.
    theta : float
        The margin, in [-1, 1]; at 0 this is :func:`training_loss_bound`.

    Examples
    --------
    >>> margin_cdf_bound([0.8, 0.8], [0.69, 0.69], theta=0.1).round(3)
    array([0.857, 0.735])
    """
    logs, steps = log_energies(energies), reals("alphas", alphas, ndim=(1,))
    level = between("theta", theta, -1.0, 1.0)
    if steps.shape != logs.shape:
        raise ValueError(f"alphas must have one value per energy, {len(logs)}, got {len(steps)}")
    return np.exp(np.cumsum(logs + level * steps))


def sort_margins(margins: ArrayLike) -> Reals:
    """Return the margins, at least one and all in [-1, 1], flattened and sorted."""
    values = np.sort(reals("margins", margins), axis=None)
    if not len(values):
        raise ValueError("margins must not be empty")
    if values[0] < -1 or values[-1] > 1:
        raise ValueError("margins must lie in [-1, 1]; divide the scores by the total vote first")
    return values
