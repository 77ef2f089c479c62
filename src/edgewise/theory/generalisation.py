"""Generalisation bounds: from the training sample to new examples, with every constant written out.

Each bound holds with probability at least 1 - delta over the draw of n independent examples, for
two classes (or one column of a label matrix at a time). None is cut at 1: a value of 1 or more
says nothing about the error.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.theory._checks import check_count, check_delta, check_real
from edgewise.theory.margins import margin_cdf, sorted_margins
from edgewise.theory.vc_dimension import vote_vc_dimension

_GRID = 64


class MarginBound(NamedTuple):
    """A bound on the error on new examples, and the margin at which it was taken."""

    value: float
    theta: float


def vc_bound(
    train_error: float, rounds: int, vc_dimension: int, n: int, delta: float = 0.05
) -> float:
    """Bound on the error of a vote from its training error and its number of rounds.

    Iyer 1999 eq. 3.5: train_error + 2 sqrt((D (ln(2n / D) + 1) + ln(9 / delta)) / n), where D is
    :func:`vote_vc_dimension`. The constants are those of Vapnik (1982) as quoted by Freund and
    Schapire (1997, theorem 7) and by Iyer 1999 in its proof for RankBoost. For D > 2n, where the
    growth function is just 2^(2n), D is replaced by 2n.

    Parameters
    ----------
    train_error : float
        Share of training examples classified wrongly.
    rounds : int
        Number of rounds T.
    vc_dimension : int
        VC dimension d of the base classifiers.
    n : int
        Number of training examples.
    delta : float, default=0.05
        Probability that the bound fails, in (0, 1).

    Returns
    -------
    float
        The bound; 1 or more says nothing.

    Raises
    ------
    TypeError
        If an argument is not a number of its kind.
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from edgewise.theory import vc_bound
    >>> round(vc_bound(0.0, rounds=10, vc_dimension=3, n=100_000), 3)
    0.351
    """
    error = check_real(train_error, "train_error", 0.0, 1.0)
    size = check_count(n, "n")
    fails = check_delta(delta)
    return error + vapnik_deviation(vote_vc_dimension(rounds, vc_dimension), size, fails)


def vapnik_deviation(dimension: float, n: int, delta: float) -> float:
    """Return 2 sqrt((D (ln(2n / D) + 1) + ln(9 / delta)) / n), D being the lesser of it and 2n."""
    effective = min(dimension, 2.0 * n)
    growth = effective * (math.log(2.0 * n / effective) + 1.0)
    return 2.0 * math.sqrt((growth + math.log(9.0 / delta)) / n)


def margin_bound(
    margins: ArrayLike,
    vc_dimension: int,
    n: int | None = None,
    theta: float | None = None,
    delta: float = 0.05,
) -> MarginBound:
    """Bound on the error of a vote from its training margins, whatever the number of rounds.

    The bound of Iyer 1999 section 3.4.2: P[margin <= theta] on the sample, plus
    (2 / theta) sqrt(2 d ln(e n / d) / n) + sqrt(ln(1 / delta) / (2n)). The order is that of
    Schapire, Freund, Bartlett and Lee (1998, theorem 2), less a factor of sqrt(ln n); the
    constants are those of Koltchinskii and Panchenko (2002) as given for voted classifiers by
    Mohri, Rostamizadeh and Talwalkar (Foundations of Machine Learning, the chapter on boosting).
    A vote has the Rademacher complexity of its base class, at most sqrt(2 ln(growth) / n); a ramp
    from 1 at margin 0 to 0 at theta costs 1 / theta, symmetrisation 2, concentration the last
    term. The base class must be closed under negation, as stumps of either sign are.

    Theta must be fixed before the data are seen. With ``theta=None`` the best of a grid is
    taken; the grid (64 values from where the bound can first be below 1, to 1) depends on n
    and d alone, and a union bound pays for the choice: delta becomes delta / 64.

    Parameters
    ----------
    margins : array-like of shape (n,)
        Two-class margins of the training examples, in [-1, 1].
    vc_dimension : int
        VC dimension d of the base classifiers.
    n : int, optional
        Number of training examples, by default the number of margins. A larger one asks what
        the same distribution of margins would prove on more examples.
    theta : float, optional
        The margin, in (0, 1]; by default the best of the grid.
    delta : float, default=0.05
        Probability that the bound fails, in (0, 1).

    Returns
    -------
    MarginBound
        The bound (`value`; 1 or more says nothing) and the `theta` it was taken at.

    Raises
    ------
    TypeError
        If an argument is not a number of its kind.
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from edgewise.theory import margin_bound
    >>> bound = margin_bound([0.5] * 9_900 + [-0.1] * 100, vc_dimension=3, theta=0.4)
    >>> round(bound.value, 3)
    0.392
    """
    dimension = check_count(vc_dimension, "vc_dimension")
    size, fails = _sample_size(margins, n), check_delta(delta)
    effective = min(dimension, size)
    complexity = 2.0 * math.sqrt(2.0 * effective * math.log(math.e * size / effective) / size)
    thetas = _thetas(theta, lowest=complexity)
    penalty = complexity / thetas + math.sqrt(math.log(len(thetas) / fails) / (2.0 * size))
    return _best(margin_cdf(margins, thetas) + penalty, thetas)


def finite_margin_bound(
    margins: ArrayLike,
    class_size: int,
    n: int | None = None,
    theta: float | None = None,
    delta: float = 0.05,
) -> MarginBound:
    """Bound on the error of a vote over a finite class from its training margins.

    P[margin <= theta] on the sample, plus 2 exp(-N theta^2 / 8) +
    sqrt(ln(N (N + 1)^2 H^N / delta) / (2n)), H being the size of the class: the last line but one
    of the proof of theorem 1 of Schapire, Freund, Bartlett and Lee (1998), where N base
    classifiers drawn from the vote stand in for it. It holds for every N and theta at once, so
    both are chosen freely here, and the choice costs nothing.

    Parameters
    ----------
    margins : array-like of shape (n,)
        Two-class margins of the training examples, in [-1, 1].
    class_size : int
        Number of base classifiers to choose from, each counted with its negation, fixed before
        the data are seen: 2 * features * (bins - 1) + 2 for stumps on given bins.
    n : int, optional
        Number of training examples, by default the number of margins.
    theta : float, optional
        The margin, in (0, 1]; by default the best of a grid.
    delta : float, default=0.05
        Probability that the bound fails, in (0, 1).

    Returns
    -------
    MarginBound
        The bound (`value`; 1 or more says nothing) and the `theta` it was taken at.

    Raises
    ------
    TypeError
        If an argument is not a number of its kind.
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from edgewise.theory import finite_margin_bound
    >>> bound = finite_margin_bound([0.5] * 9_900 + [-0.1] * 100, class_size=512, theta=0.4)
    >>> round(bound.value, 3)
    0.298
    """
    hypotheses = check_count(class_size, "class_size")
    size, fails = _sample_size(margins, n), check_delta(delta)
    thetas = _thetas(theta, lowest=1.0 / math.sqrt(size))
    # Past this N the first term is under 1/n at the smallest theta, and only the second grows.
    most = math.ceil(8.0 * math.log(2.0 * size) / thetas.min() ** 2)
    drawn = np.unique(np.geomspace(1, most, 512).round())[:, None]
    sampling = 2.0 * np.exp(-drawn * thetas**2 / 8.0)
    log_class = np.log(drawn) + 2.0 * np.log1p(drawn) + drawn * math.log(hypotheses)
    deviation = np.sqrt((log_class - math.log(fails)) / (2.0 * size))
    return _best(margin_cdf(margins, thetas) + (sampling + deviation).min(axis=0), thetas)


def _sample_size(margins: ArrayLike, n: int | None) -> int:
    """Return n, or the number of margins."""
    if np.ndim(margins) != 1:
        raise ValueError("margins must be 1-D: pass the margins of one column at a time")
    found = len(sorted_margins(margins))
    return found if n is None else check_count(n, "n")


def _thetas(theta: float | None, lowest: float) -> NDArray[np.float64]:
    """Return the given theta, or a grid on (0, 1] that no margin has had a say in."""
    if theta is not None:
        return np.array([check_real(theta, "theta", 0.0, 1.0, open_low=True)])
    return np.geomspace(min(lowest, 1.0), 1.0, _GRID)


def _best(values: NDArray[np.float64], thetas: NDArray[np.float64]) -> MarginBound:
    """Return the smallest value and its theta."""
    best = int(np.argmin(values))
    return MarginBound(float(values[best]), float(thetas[best]))
