"""Bounds for ranking: the training loss of RankBoost, and its loss on new instances.

The feedback behind the second is bipartite (Iyer 1999 section 4.4): every instance of Y, n of them,
should be ranked above every instance of X, m of them. A pair that is tied counts as misordered.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.theory._checks import check_count, check_delta, check_real
from edgewise.theory.bounds import exponential_loss_bound
from edgewise.theory.generalisation import vapnik_deviation
from edgewise.theory.vc_dimension import largest_shattered, vote_vc_dimension


def ranking_loss_bound(energies: ArrayLike) -> NDArray[np.float64]:
    """Upper bound on the ranking loss on the training pairs, after each round.

    The ranking loss is the share, under the initial distribution D, of the crucial pairs (x0, x1)
    with H(x1) <= H(x0). Each of them has exp(H(x0) - H(x1)) >= 1, and the sum of D times that is
    the product of the energies Z (Iyer 1999 theorem 1). A tie counted as half a misordering
    (Iyer 1999 eq. 5.1) only lowers the loss.

    Parameters
    ----------
    energies : array-like of shape (n_rounds,)
        The energy Z of each round, non-negative: under the distribution of the round, the sum over
        the pairs of D exp(alpha (h(x0) - h(x1))).

    Returns
    -------
    ndarray of shape (n_rounds,)
        The bound after each round; it has not been cut at 1.

    Raises
    ------
    ValueError
        If `energies` is not 1-D, or holds a negative or non-finite value.

    Examples
    --------
    >>> from edgewise.theory import ranking_loss_bound
    >>> ranking_loss_bound([0.9, 0.5])
    array([0.9 , 0.45])
    """
    return exponential_loss_bound(energies)


def ranking_deviation(rounds: int, vc_dimension: int, m: int, n: int, delta: float = 0.05) -> float:
    """Bound on the distance between training and true ranking loss, for every vote at once.

    Iyer 1999 section 4.4.3: with probability 1 - delta all votes H of T weak rankers have

        | training loss - true loss | < 2 sqrt((D (ln(2m / D) + 1) + ln(18 / delta)) / m)
                                      + 2 sqrt((D (ln(2n / D) + 1) + ln(18 / delta)) / n)

    where D is :func:`vote_vc_dimension`. The pairs are not independent, but the instances are: with
    y held fixed, "H misorders (x, y)" is a threshold on the vote of x, which is a classification
    problem over X with m examples; with x held fixed it is one over Y with n. Each of the two fails
    with probability delta / 2. Where D > 2m or D > 2n, D is replaced by that number, as in
    :func:`vc_bound`; the bound is far above 1 there.

    Parameters
    ----------
    rounds : int
        Number of rounds T.
    vc_dimension : int
        VC dimension d of the weak rankers, which have the outputs 0 and 1; see
        :func:`ranker_vc_dimension`. The paper asks for d >= 2; its counting needs only d >= 1.
    m : int
        Number of training instances to be ranked below, drawn independently from X.
    n : int
        Number of training instances to be ranked above, drawn independently from Y.
    delta : float, default=0.05
        Probability that the bound fails, in (0, 1).

    Returns
    -------
    float
        The bound on the distance; 1 or more says nothing.

    Raises
    ------
    TypeError
        If an argument is not a number of its kind.
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from edgewise.theory import ranking_deviation
    >>> round(ranking_deviation(rounds=10, vc_dimension=3, m=1_000_000, n=100_000), 3)
    0.479
    """
    below, above = check_count(m, "m"), check_count(n, "n")
    half = check_delta(delta) / 2.0
    dimension = vote_vc_dimension(rounds, vc_dimension)
    return vapnik_deviation(dimension, below, half) + vapnik_deviation(dimension, above, half)


def ranking_bound(
    train_loss: float, rounds: int, vc_dimension: int, m: int, n: int, delta: float = 0.05
) -> float:
    """Bound on the ranking loss on new pairs, from the training loss and the number of rounds.

    The training loss plus :func:`ranking_deviation`.

    Parameters
    ----------
    train_loss : float
        Share of the m * n training pairs with H(x) >= H(y), ties counted in full.
    rounds : int
        Number of rounds T.
    vc_dimension : int
        VC dimension d of the weak rankers; see :func:`ranker_vc_dimension`.
    m : int
        Number of training instances to be ranked below, drawn independently from X.
    n : int
        Number of training instances to be ranked above, drawn independently from Y.
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
    >>> from edgewise.theory import ranking_bound
    >>> round(ranking_bound(0.1, rounds=10, vc_dimension=3, m=1_000_000, n=100_000), 3)
    0.579
    """
    loss = check_real(train_loss, "train_loss", 0.0, 1.0)
    return loss + ranking_deviation(rounds, vc_dimension, m, n, delta)


def ranking_sample_size(epsilon: float, rounds: int, vc_dimension: int, delta: float = 0.05) -> int:
    """Least number of instances on each side for which the deviation is below epsilon.

    The bound falls as m or n grows, so with m and n both at least this number (they need not be
    equal) training and true ranking loss are less than epsilon apart.

    Parameters
    ----------
    epsilon : float
        How far the two losses may be apart, in (0, 1].
    rounds : int
        Number of rounds T.
    vc_dimension : int
        VC dimension d of the weak rankers; see :func:`ranker_vc_dimension`.
    delta : float, default=0.05
        Probability that the bound fails, in (0, 1).

    Returns
    -------
    int
        The smallest m = n with ``ranking_deviation(rounds, vc_dimension, m, n, delta) < epsilon``.

    Raises
    ------
    TypeError
        If an argument is not a number of its kind.
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from edgewise.theory import ranking_sample_size
    >>> ranking_sample_size(0.5, rounds=10, vc_dimension=3)
    219138
    """
    wanted = check_real(epsilon, "epsilon", 0.0, 1.0, open_low=True)

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
    """VC dimension of the weak rankers that put a threshold on one ranking feature.

    A weak ranker is 1 where f(x) > theta, 0 where f(x) <= theta, and q where f leaves x unranked
    (Iyer 1999 eq. 4.9). Count the sets of k = p // 2 out of p instances that it can mark with a 1.
    From the strictest theta to the loosest, the sets marked by one feature and one q only grow, so
    at most one of them has k members. All C(p, k) such sets are needed to shatter the instances.

    - q given (or nothing unranked): N features mark at most N sets of k members, and p instances
      can be shattered only if C(p, k) <= N. This is attained: all subsets of p instances fit into
      C(p, k) growing sequences (symmetric chains; de Bruijn, Tengbergen and Kruyswijk 1951), and
      an order of the instances is a feature that marks each set of one sequence.
    - q learned with each weak ranker: each feature marks two growing sequences, which gives
      C(p, k) <= 2N. It is the count of :func:`stump_vc_dimension`, taken as an upper bound.

    It grows like log2(N). The sign of alpha does not matter: it belongs to the vote.

    Parameters
    ----------
    n_features : int
        Number of ranking features N.
    default : {"learned", "given"}, default="learned"
        Whether q is chosen together with the threshold, or set beforehand for all weak rankers.
        Take "given" too where each feature ranks every instance.

    Returns
    -------
    int
        The VC dimension, at most.

    Raises
    ------
    TypeError
        If `n_features` is not an integer.
    ValueError
        If `n_features` is less than 1 or `default` is not one of the two.

    Examples
    --------
    >>> from edgewise.theory import ranker_vc_dimension
    >>> [ranker_vc_dimension(n) for n in (1, 2, 21, 1000)]
    [2, 3, 7, 13]
    >>> [ranker_vc_dimension(n, default="given") for n in (1, 2, 21, 1000)]
    [1, 2, 6, 12]
    """
    features = check_count(n_features, "n_features")
    if default not in ("learned", "given"):
        raise ValueError(f"default must be 'learned' or 'given', got {default!r}")
    return largest_shattered(2 * features if default == "learned" else features)
