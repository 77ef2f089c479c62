"""VC dimensions: of decision stumps, and of a weighted vote of base classifiers."""

import math

from edgewise.theory._checks import check_count


def stump_vc_dimension(n_features: int) -> int:
    """VC dimension of decision stumps of either sign on real features.

    On m points one feature, read from either end, cuts off exactly one set of m // 2 points, so
    d features cut off at most 2d such sets. All C(m, m // 2) of them are needed to shatter the
    points: the largest m with C(m, m // 2) <= 2d is an upper bound. It is attained (Leboeuf,
    LeBlanc and Marchand 2020), and it is never above what counting all 2d(m - 1) + 2 labelings
    against 2^m gives. It grows like log2(d). Stumps that abstain are not covered.

    Parameters
    ----------
    n_features : int
        Number of real features d.

    Returns
    -------
    int
        The VC dimension.

    Raises
    ------
    TypeError
        If `n_features` is not an integer.
    ValueError
        If `n_features` is less than 1.

    Examples
    --------
    >>> from edgewise.theory import stump_vc_dimension
    >>> [stump_vc_dimension(d) for d in (1, 2, 10, 784)]
    [2, 3, 6, 12]
    """
    return largest_shattered(2 * check_count(n_features, "n_features"))


def largest_shattered(chains: int) -> int:
    """Return the largest m with C(m, m // 2) <= chains.

    A chain of growing sets has at most one of m // 2 members, so no more points can be shattered
    by sets that lie on that many chains.
    """
    m = 1
    while math.comb(m + 1, (m + 1) // 2) <= chains:
        m += 1
    return m


def vote_vc_dimension(rounds: int, vc_dimension: int) -> float:
    """VC dimension, at most, of the sign of a weighted vote of T base classifiers.

    2 (d + 1) (T + 1) log2(e (T + 1)) (Freund and Schapire 1997, theorem 8, by the counting of
    Baum and Haussler 1989). The theorem is stated for d >= 2; the counting needs only d >= 1:
    with W = Td + T + 1 the T + 1 units give at most (e m (T + 1) / W)^W labelings of m points,
    which is below 2^m at m = 2 W log2(e (T + 1)).

    Parameters
    ----------
    rounds : int
        Number of base classifiers T.
    vc_dimension : int
        VC dimension d of the base classifiers.

    Returns
    -------
    float
        The bound on the VC dimension.

    Raises
    ------
    TypeError
        If an argument is not an integer.
    ValueError
        If an argument is less than 1.

    Examples
    --------
    >>> from edgewise.theory import vote_vc_dimension
    >>> round(vote_vc_dimension(rounds=10, vc_dimension=3), 1)
    431.4
    """
    units = check_count(rounds, "rounds") + 1
    return 2.0 * (check_count(vc_dimension, "vc_dimension") + 1) * units * math.log2(math.e * units)
