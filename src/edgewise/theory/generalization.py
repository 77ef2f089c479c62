"""Generalization bounds: from the training sample to new examples, with every constant explicit.

Each bound holds with probability at least 1 - delta over the draw of n independent examples, for
two classes (or one column of a label matrix at a time), and is not clipped at 1. Ranking bounds
assume bipartite feedback (Iyer 1999 section 4.4): each of the n instances of Y should rank above
each of the m instances of X. A tied pair counts as misordered.
"""

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.checks import between, integer, one_of, positive, up_to_one
from edgewise.common.dtypes import Reals
from edgewise.theory.margins import margin_cdf, sort_margins

_GRID = 64


def stump_vc_dimension(n_features: int) -> int:
    """VC dimension of decision stumps of either sign on real features.

    The largest m with C(m, m // 2) <= 2d (Leboeuf, LeBlanc and Marchand 2020). Stumps that abstain
    are not covered.

    Parameters
    ----------
    n_features : int
        Number of real features d.

    Examples
    --------
    >>> [stump_vc_dimension(d) for d in (1, 2, 10, 784)]
    [2, 3, 6, 12]
    """
    return largest_shattered(2 * integer("n_features", n_features, 1))


def largest_shattered(chains: int) -> int:
    """Return the largest m with C(m, m // 2) <= chains."""
    m = 1
    while math.comb(m + 1, (m + 1) // 2) <= chains:
        m += 1
    return m


def vote_vc_dimension(rounds: int, vc_dimension: int) -> float:
    """Upper bound on the VC dimension of the sign of a weighted vote of T base classifiers.

    2 (d + 1) (T + 1) log2(e (T + 1)) (Freund and Schapire 1997, theorem 8; it is stated for
    d >= 2, but its counting, of Baum and Haussler 1989, needs only d >= 1).

    Parameters
    ----------
    rounds : int
        Number of base classifiers T.
    vc_dimension : int
        VC dimension d of the base classifiers.

    Examples
    --------
    >>> round(vote_vc_dimension(rounds=10, vc_dimension=3), 1)
    431.4
    """
    units = integer("rounds", rounds, 1) + 1
    return 2.0 * (integer("vc_dimension", vc_dimension, 1) + 1) * units * math.log2(math.e * units)


class MarginBound(NamedTuple):
    """A bound on the error on new examples, and the margin at which it is attained."""

    value: float
    theta: float


def vc_bound(
    train_error: float, rounds: int, vc_dimension: int, n: int, delta: float = 0.05
) -> float:
    """Bound on the error of a vote from its training error and its number of rounds.

    Iyer 1999 eq. 3.5: train_error + 2 sqrt((D (ln(2n / D) + 1) + ln(9 / delta)) / n), where D is
    :func:`vote_vc_dimension`, at most 2n. The constants are Vapnik's (1982), as quoted by Freund
    and Schapire (1997, theorem 7).

    Parameters
    ----------
    train_error : float
        Share of misclassified training examples.
    rounds, vc_dimension
        As for :func:`vote_vc_dimension`.
    n : int
        Number of training examples.
    delta : float, default 0.05
        Probability that the bound fails, in (0, 1).

    Examples
    --------
    >>> round(vc_bound(0.0, rounds=10, vc_dimension=3, n=100_000), 3)
    0.351
    """
    error = between("train_error", train_error, 0.0, 1.0)
    size = integer("n", n, 1)
    fails = positive("delta", delta, below=1.0)
    return error + vapnik_deviation(vote_vc_dimension(rounds, vc_dimension), size, fails)


def vapnik_deviation(dimension: float, n: int, delta: float) -> float:
    """Return 2 sqrt((D (ln(2n / D) + 1) + ln(9 / delta)) / n) with D at most 2n."""
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

    P[margin <= theta] on the sample (Iyer 1999 section 3.4.2), plus
    (2 / theta) sqrt(2 d ln(e n / d) / n) + sqrt(ln(1 / delta) / (2n)), with the constants of
    Koltchinskii and Panchenko (2002), as Mohri, Rostamizadeh and Talwalkar give them for voted
    classifiers (Foundations of Machine Learning, chapter on boosting). The base class must be
    closed under negation, as stumps of either sign are.

    Parameters
    ----------
    margins : array-like of shape (n,)
        Two-class margins of the training examples, in [-1, 1].
    vc_dimension : int
        VC dimension d of the base classifiers.
    n : int, default None
        Number of training examples, by default the number of margins.
    theta : float, default None
        The margin, in (0, 1], fixed before seeing the data. None takes the best of a grid of 64
        values, and pays for the choice by a union bound: delta becomes delta / 64.
    delta : float, default 0.05
        Probability that the bound fails, in (0, 1).

    Examples
    --------
    >>> bound = margin_bound([0.5] * 9_900 + [-0.1] * 100, vc_dimension=3, theta=0.4)
    >>> round(bound.value, 3)
    0.392
    """
    dimension = integer("vc_dimension", vc_dimension, 1)
    size, fails = _sample_size(margins, n), positive("delta", delta, below=1.0)
    effective = min(dimension, size)
    complexity = 2.0 * math.sqrt(2.0 * effective * math.log(math.e * size / effective) / size)
    thetas = _theta_grid(theta, lowest=complexity)
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
    sqrt(ln(N (N + 1)^2 H^N / delta) / (2n)) with H the size of the class (Schapire, Freund,
    Bartlett and Lee 1998, proof of theorem 1). It holds for all N and theta at once, so both are
    optimized at no cost.

    Parameters
    ----------
    margins, n, theta, delta
        As for :func:`margin_bound`.
    class_size : int
        Number of base classifiers, negations included, fixed before seeing the data:
        2 * features * (bins - 1) + 2 for stumps on given bins.

    Examples
    --------
    >>> bound = finite_margin_bound([0.5] * 9_900 + [-0.1] * 100, class_size=512, theta=0.4)
    >>> round(bound.value, 3)
    0.298
    """
    hypotheses = integer("class_size", class_size, 1)
    size, fails = _sample_size(margins, n), positive("delta", delta, below=1.0)
    thetas = _theta_grid(theta, lowest=1.0 / math.sqrt(size))
    # Beyond this N the first term is below 1 / n at the smallest theta, and only the second grows.
    max_drawn = math.ceil(8.0 * math.log(2.0 * size) / thetas.min() ** 2)
    drawn = np.unique(np.geomspace(1, max_drawn, 512).round())[:, None]
    sampling = 2.0 * np.exp(-drawn * thetas**2 / 8.0)
    log_class = np.log(drawn) + 2.0 * np.log1p(drawn) + drawn * math.log(hypotheses)
    deviation = np.sqrt((log_class - math.log(fails)) / (2.0 * size))
    return _best(margin_cdf(margins, thetas) + (sampling + deviation).min(axis=0), thetas)


def _sample_size(margins: ArrayLike, n: int | None) -> int:
    """Return n, or the number of margins."""
    if np.ndim(margins) != 1:
        raise ValueError("margins must be 1-D: pass the margins of one column at a time")
    n_margins = len(sort_margins(margins))
    return n_margins if n is None else integer("n", n, 1)


def _theta_grid(theta: float | None, lowest: float) -> Reals:
    """Return theta alone, or a grid on (0, 1] that does not depend on the margins."""
    if theta is not None:
        return np.array([up_to_one("theta", theta)])
    return np.geomspace(min(lowest, 1.0), 1.0, _GRID)


def _best(values: Reals, thetas: Reals) -> MarginBound:
    """Return the smallest value and its theta."""
    best = int(np.argmin(values))
    return MarginBound(float(values[best]), float(thetas[best]))


def ranking_deviation(rounds: int, vc_dimension: int, m: int, n: int, delta: float = 0.05) -> float:
    """Bound on the distance between training and true ranking loss, for every vote at once.

    Iyer 1999 section 4.4.3: with probability 1 - delta all votes H of T weak rankers have

        | training loss - true loss | < 2 sqrt((D (ln(2m / D) + 1) + ln(18 / delta)) / m)
                                      + 2 sqrt((D (ln(2n / D) + 1) + ln(18 / delta)) / n)

    where D is :func:`vote_vc_dimension`, at most 2m or 2n as in :func:`vc_bound`.

    Parameters
    ----------
    rounds : int
        Number of rounds T.
    vc_dimension : int
        VC dimension d of the weak rankers with outputs 0 and 1; see :func:`ranker_vc_dimension`.
        The paper requires d >= 2; its counting needs only d >= 1.
    m, n : int
        Number of training instances to be ranked below, drawn independently from X, and above,
        drawn independently from Y.
    delta : float, default 0.05
        Probability that the bound fails, in (0, 1).

    Examples
    --------
    >>> round(ranking_deviation(rounds=10, vc_dimension=3, m=1_000_000, n=100_000), 3)
    0.479
    """
    below, above = integer("m", m, 1), integer("n", n, 1)
    half = positive("delta", delta, below=1.0) / 2.0
    dimension = vote_vc_dimension(rounds, vc_dimension)
    return vapnik_deviation(dimension, below, half) + vapnik_deviation(dimension, above, half)


def ranking_bound(
    train_loss: float, rounds: int, vc_dimension: int, m: int, n: int, delta: float = 0.05
) -> float:
    """Bound on the ranking loss on new pairs: the training loss plus :func:`ranking_deviation`.

    Parameters
    ----------
    train_loss : float
        Share of the m * n training pairs with H(x) >= H(y), ties counted in full.
    rounds, vc_dimension, m, n, delta
        As for :func:`ranking_deviation`.

    Examples
    --------
    >>> round(ranking_bound(0.1, rounds=10, vc_dimension=3, m=1_000_000, n=100_000), 3)
    0.579
    """
    loss = between("train_loss", train_loss, 0.0, 1.0)
    return loss + ranking_deviation(rounds, vc_dimension, m, n, delta)


def ranking_sample_size(epsilon: float, rounds: int, vc_dimension: int, delta: float = 0.05) -> int:
    """Smallest m = n for which :func:`ranking_deviation` is below epsilon.

    Parameters
    ----------
    epsilon : float
        The tolerated distance of the two losses, in (0, 1].
    rounds, vc_dimension, delta
        As for :func:`ranking_deviation`.

    Examples
    --------
    >>> ranking_sample_size(0.5, rounds=10, vc_dimension=3)
    219138
    """
    wanted = up_to_one("epsilon", epsilon)

    def is_enough(size: int) -> bool:
        return ranking_deviation(rounds, vc_dimension, size, size, delta) < wanted

    large = 1
    while not is_enough(large):
        large *= 2
    return bisect_left(range(large + 1), True, lo=(large + 1) // 2, key=is_enough)


def ranker_vc_dimension(n_features: int, *, default: str = "learned") -> int:
    """Upper bound on the VC dimension of weak rankers that threshold one ranking feature.

    A weak ranker is 1 where f(x) > theta, 0 where f(x) <= theta, and q where f leaves x unranked
    (Iyer 1999 eq. 4.9). The bound is the largest p with C(p, p // 2) <= N if q is given, and with
    C(p, p // 2) <= 2N if q is learned.

    Parameters
    ----------
    n_features : int
        Number of ranking features N.
    default : {"learned", "given"}, default "learned"
        Whether q is chosen together with the threshold, or fixed for all weak rankers. Use "given"
        also if every feature ranks every instance.

    Examples
    --------
    >>> [ranker_vc_dimension(n) for n in (1, 2, 21, 1000)]
    [2, 3, 7, 13]
    """
    features = integer("n_features", n_features, 1)
    one_of("default", default, ("learned", "given"))
    return largest_shattered(2 * features if default == "learned" else features)
