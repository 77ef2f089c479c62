"""Bounds for ranking: the training loss of RankBoost, and its loss on new instances.

The second assumes bipartite feedback (Iyer 1999 section 4.4): each of the n instances of Y should
be ranked above each of the m instances of X. A tied pair counts as misordered.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import between, integer, one_of, positive, up_to_one
from edgewise.theory.bounds import exponential_loss_bound
from edgewise.theory.generalization import largest_shattered, vapnik_deviation, vote_vc_dimension


def ranking_loss_bound(energies: ArrayLike) -> NDArray[np.float64]:
    """Upper bound on the ranking loss on the training pairs, after each round, not clipped at 1.

    The ranking loss is the share, under the initial distribution D, of the crucial pairs (x0, x1)
    with H(x1) <= H(x0). Each of them has exp(H(x0) - H(x1)) >= 1, and the D-weighted sum of these
    is the product of the energies Z (Iyer 1999 theorem 1). Counting a tie as half a misordering
    (Iyer 1999 eq. 5.1) only lowers the loss.

    Parameters
    ----------
    energies : array-like of shape (n_rounds,)
        The energy Z of each round, non-negative: the sum over the pairs of
        D exp(alpha (h(x0) - h(x1))) under the distribution D of the round.

    Examples
    --------
    >>> ranking_loss_bound([0.9, 0.5])
    array([0.9 , 0.45])
    """
    return exponential_loss_bound(energies)


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
    delta : float, default=0.05
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

    def enough(size: int) -> bool:
        return ranking_deviation(rounds, vc_dimension, size, size, delta) < wanted

    many = 1
    while not enough(many):
        many *= 2
    few = many // 2
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if enough(middle) else (middle, many)
    return many


def ranker_vc_dimension(n_features: int, *, default: str = "learned") -> int:
    """Upper bound on the VC dimension of weak rankers that threshold one ranking feature.

    A weak ranker is 1 where f(x) > theta, 0 where f(x) <= theta, and q where f leaves x unranked
    (Iyer 1999 eq. 4.9). With q given, the sets on which rankers of one feature are 1 are nested, so
    p instances can be shattered only if C(p, p // 2) <= N; this is attained (symmetric chains; de
    Bruijn, Tengbergen and Kruyswijk 1951). With q learned each feature has two nested sequences,
    which gives C(p, p // 2) <= 2N, as for :func:`stump_vc_dimension`.

    Parameters
    ----------
    n_features : int
        Number of ranking features N.
    default : {"learned", "given"}, default="learned"
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
