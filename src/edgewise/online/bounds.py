"""What online learners can lose at most, whatever the sequence of rounds.

Mistakes of weighted majority: Littlestone and Warmuth, "The weighted majority algorithm" (1994;
Shi 2025 lists its theorems as orders of growth, here they have their constants). Losses of Hedge:
Freund and Schapire, "A decision-theoretic generalization of on-line learning" (1997).
"""

import math

from edgewise.common.checks import flag, integer, not_negative, positive


def mistake_bound(
    n_experts: int, mistakes: float, beta: float = 0.5, *, k: int = 1, total: bool = False
) -> float:
    """Bound on the mistakes of weighted majority, from those of some of its experts.

    Every mistake of the majority multiplies the sum of all weights, N at first, by at most
    (1 + beta) / 2. At the end the k experts still hold k beta^m of it where each has made at most m
    mistakes, and at least k beta^(m/k) where they have made m in total. So

        M <= (ln(N / k) + m ln(1 / beta)) / ln(2 / (1 + beta))

    with m / k in place of m in the second case (the three theorems in Shi 2025: k = 1, each of k,
    and k in total).

    Parameters
    ----------
    n_experts : int
        The number N of experts.
    mistakes : float
        The most mistakes that each of the `k` experts has made, or with `total` the sum of theirs.
    beta : float, default 0.5
        What the weight of an expert that was wrong is multiplied by, above 0 and below 1.
    k : int, default 1
        How many experts `mistakes` speaks of.
    total : bool, default False
        Whether `mistakes` is the sum over the `k` experts.

    Returns
    -------
    float
        The bound; the number of mistakes is an integer, so that its floor holds too.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Examples
    --------
    >>> from edgewise.online import mistake_bound
    >>> round(mistake_bound(n_experts=10, mistakes=3), 2)
    15.23
    >>> round(mistake_bound(n_experts=10, mistakes=3, k=5), 2)
    9.64
    >>> round(mistake_bound(n_experts=10, mistakes=10, k=5, total=True), 2)
    7.23
    """
    n_experts = integer("n_experts", n_experts, 1)
    k = integer("k", k, 1, n_experts)
    made = not_negative("mistakes", mistakes)
    shrunk = -math.log(positive("beta", beta, below=1.0))
    if flag("total", total):
        made /= k
    return (math.log(n_experts / k) + made * shrunk) / halving(beta)


def halving(beta: float) -> float:
    """Return ln(2 / (1 + beta)), which a mistake takes at least from the logarithm of all weight.

    Examples
    --------
    >>> round(halving(0.5), 4)
    0.2877
    """
    return -math.log1p((beta - 1.0) / 2.0)


def loss_bound(
    n_experts: int, loss: float, beta: float = 0.5, *, k: int = 1, prior: float | None = None
) -> float:
    """Bound on the loss of Hedge, from that of its best expert or of its best k.

    Freund and Schapire's theorem 2: where each expert of a set has lost at most L in total, and the
    set has the share p of the initial weight,

        L_Hedge <= (L ln(1 / beta) + ln(1 / p)) / (1 - beta).

    With equal initial weights p is k / N, and ln(1 / p) of a single expert is ln N.

    Parameters
    ----------
    n_experts : int
        The number N of experts.
    loss : float
        The total loss of the expert, or the largest among the set.
    beta : float, default 0.5
        What the weight of an expert with a loss of 1 is multiplied by, above 0 and below 1.
    k : int, default 1
        How many experts there are in the set; not looked at where `prior` is given.
    prior : float or None, default None
        The share of the initial weight that the set has, above 0 and at most 1; None is k / N.

    Returns
    -------
    float
        The bound on the total loss of the mixture.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Examples
    --------
    >>> from edgewise.online import loss_bound
    >>> round(loss_bound(n_experts=10, loss=3.0), 2)
    8.76
    >>> round(loss_bound(n_experts=10, loss=3.0, prior=0.5), 2)
    5.55
    """
    n_experts = integer("n_experts", n_experts, 1)
    share = integer("k", k, 1, n_experts) / n_experts
    if prior is not None:
        share = positive("prior", prior)
        if share > 1.0:
            raise ValueError(f"prior must be a share of at most 1, got {prior!r}")
    lost = not_negative("loss", loss)
    beta = positive("beta", beta, below=1.0)
    return (-lost * math.log(beta) - math.log(share)) / (1.0 - beta)


def tuned_beta(n_experts: int, horizon: float) -> float:
    """Return the beta of Hedge for a known horizon: 1 / (1 + sqrt(2 ln N / horizon)).

    Freund and Schapire's lemma 4; see :func:`tuned_loss_bound` for what it promises.

    Parameters
    ----------
    n_experts : int
        The number N of experts, at least 2.
    horizon : float
        What the best expert will lose at most; the number of rounds always is.

    Returns
    -------
    float
        The beta.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Examples
    --------
    >>> from edgewise.online import tuned_beta
    >>> round(tuned_beta(n_experts=10, horizon=1000), 4)
    0.9365
    """
    n_experts = integer("n_experts", n_experts, 2)
    return 1.0 / (1.0 + math.sqrt(2.0 * math.log(n_experts) / positive("horizon", horizon)))


def tuned_loss_bound(n_experts: int, loss: float, horizon: float) -> float:
    """Bound on the loss of Hedge with :func:`tuned_beta`: L + sqrt(2 horizon ln N) + ln N.

    Over T rounds the mixture loses, per round, at most sqrt(2 ln N / T) + ln N / T more than the
    best expert: next to nothing in the long run.

    Parameters
    ----------
    n_experts : int
        The number N of experts.
    loss : float
        The total loss L of the best expert, at most `horizon`.
    horizon : float
        The horizon that beta was chosen for.

    Returns
    -------
    float
        The bound on the total loss of the mixture.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Examples
    --------
    >>> from edgewise.online import tuned_loss_bound
    >>> round(tuned_loss_bound(n_experts=10, loss=100.0, horizon=1000), 2)
    170.16
    """
    n_experts = integer("n_experts", n_experts, 1)
    lost = not_negative("loss", loss)
    limit = positive("horizon", horizon)
    if lost > limit:
        raise ValueError(f"loss must be at most the horizon {limit:g}, got {loss!r}")
    spread = math.log(n_experts)
    return lost + math.sqrt(2.0 * limit * spread) + spread
