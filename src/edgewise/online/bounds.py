"""Worst-case bounds for online learners, over all sequences of rounds.

Mistakes of weighted majority: Littlestone and Warmuth 1994, with the constants of the theorems that
Shi 2025 lists. Losses of Hedge: Freund and Schapire 1997.
"""

import math

from edgewise.common.checks import flag, integer, not_negative, positive, up_to_one


def mistake_bound(
    n_experts: int, mistakes: float, beta: float = 0.5, *, k: int = 1, total: bool = False
) -> float:
    """Bound on the mistakes of weighted majority, from the mistakes m of its best k experts.

        M <= (ln(N / k) + m ln(1 / beta)) / ln(2 / (1 + beta))

    with m / k in place of m if m is the sum over the k experts (the three theorems of Shi 2025:
    k = 1, each of k, and k in total).

    Parameters
    ----------
    n_experts : int
        The number N of experts.
    mistakes : float
        The maximum number of mistakes of the `k` experts, or with `total` the sum.
    beta : float, default 0.5
        The factor for the weight of an expert that was wrong, above 0 and below 1.
    k : int, default 1
        The number of experts that `mistakes` refers to.
    total : bool, default False
        Whether `mistakes` is the sum over the `k` experts.

    Examples
    --------
    >>> round(mistake_bound(n_experts=10, mistakes=3, k=5), 2)
    9.64
    """
    n_experts = integer("n_experts", n_experts, 1)
    k = integer("k", k, 1, n_experts)
    n_mistakes = not_negative("mistakes", mistakes)
    rate = -math.log(positive("beta", beta, below=1.0))
    if flag("total", total):
        n_mistakes /= k
    return (math.log(n_experts / k) + n_mistakes * rate) / log_decrease(beta)


def log_decrease(beta: float) -> float:
    """Return ln(2 / (1 + beta)), by which a mistake at least decreases the log total weight."""
    return -math.log1p((beta - 1.0) / 2.0)


def loss_bound(
    n_experts: int, loss: float, beta: float = 0.5, *, k: int = 1, prior: float | None = None
) -> float:
    """Bound on the loss of Hedge, from the loss of its best expert or its best k.

    If each expert of a set has a total loss of at most L, and the set has the share p of the
    initial weight (Freund and Schapire 1997, theorem 2),

        L_Hedge <= (L ln(1 / beta) + ln(1 / p)) / (1 - beta).

    Parameters
    ----------
    n_experts : int
        The number N of experts.
    loss : float
        The total loss of the expert, or the largest in the set.
    beta : float, default 0.5
        The factor for the weight of an expert with a loss of 1, above 0 and below 1.
    k : int, default 1
        The number of experts in the set; ignored if `prior` is given.
    prior : float or None, default None
        The set's share of the initial weight, above 0 and at most 1; None for k / N.

    Examples
    --------
    >>> round(loss_bound(n_experts=10, loss=3.0), 2)
    8.76
    """
    n_experts = integer("n_experts", n_experts, 1)
    share = integer("k", k, 1, n_experts) / n_experts
    if prior is not None:
        share = up_to_one("prior", prior)
    total_loss = not_negative("loss", loss)
    beta = positive("beta", beta, below=1.0)
    return (-total_loss * math.log(beta) - math.log(share)) / (1.0 - beta)


def tuned_beta(n_experts: int, horizon: float) -> float:
    """Return the beta of Hedge for a known horizon: 1 / (1 + sqrt(2 ln N / horizon)).

    Freund and Schapire 1997, lemma 4; :func:`tuned_loss_bound` is its guarantee.

    Parameters
    ----------
    n_experts : int
        The number N of experts, at least 2.
    horizon : float
        An upper bound on the best expert's total loss, such as the number of rounds.

    Examples
    --------
    >>> round(tuned_beta(n_experts=10, horizon=1000), 4)
    0.9365
    """
    n_experts = integer("n_experts", n_experts, 2)
    return 1.0 / (1.0 + math.sqrt(2.0 * math.log(n_experts) / positive("horizon", horizon)))


def tuned_loss_bound(n_experts: int, loss: float, horizon: float) -> float:
    """Bound on the loss of Hedge with :func:`tuned_beta`: L + sqrt(2 horizon ln N) + ln N.

    Takes the parameters of :func:`tuned_beta`, and the total loss L of the best expert, at most
    `horizon`.

    Examples
    --------
    >>> round(tuned_loss_bound(n_experts=10, loss=100.0, horizon=1000), 2)
    170.16
    """
    n_experts = integer("n_experts", n_experts, 1)
    horizon = positive("horizon", horizon)
    best_loss = not_negative("loss", loss)
    if best_loss > horizon:
        raise ValueError(f"loss must be at most the horizon {horizon:g}, got {loss!r}")
    spread = math.log(n_experts)
    return best_loss + math.sqrt(2.0 * horizon * spread) + spread
