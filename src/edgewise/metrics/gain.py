"""Graded documents: normalized discounted cumulative gain and the expected reciprocal rank."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from edgewise.common.checks import one_of, positive
from edgewise.common.choices import GAINS, Gain
from edgewise.common.dtypes import Exacts, Reals
from edgewise.metrics.lists import (
    Cutoffs,
    Lists,
    PerQuery,
    Ranked,
    cutoff,
    query_metric,
    running_sums,
)

Rule = Literal["standard", "letor"]


@query_metric()
def ndcg(
    ranked: Ranked, *, k: Cutoffs | None = None, gain: Gain = "exponential", rule: Rule = "standard"
) -> PerQuery:
    """Return NDCG: the discounted gain of a list, divided by the gain of the ideal order.

    With the standard rule DCG@k is the sum of gain_i / log2(1 + i) over the top k positions i, and
    is divided by the DCG@k of the list sorted by grade.

    Rule "letor" is the evaluation script of LETOR 4.0, for comparison with published results. It
    does not discount the first two positions: DCG@k is gain_1 plus the sum of gain_i / log2(i) for
    i from 2 to k. A list of fewer than k documents scores 0. Without k the result is the script's
    MeanNDCG, the mean of NDCG@1, ..., NDCG@n over all n positions of the list.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or Lists
        The grade of each document, not negative; or lists prepared once for many evaluations.
    scores, qid, per_query
        As for :func:`mean_average_precision`.
    k : int, sequence of int or None, default None
        The cutoff, or several; None for the whole list.
    gain : {"exponential", "linear"}, default "exponential"
        The gain of grade g: 2^g - 1 (as in the LETOR script), or g (as in trec_eval).
    rule : {"standard", "letor"}, default "standard"
        The discount, and the value of short lists.
    empty : float or "skip", default 0.0
        The value of a query with only zero gains; "skip" leaves it out of the mean.

    Examples
    --------
    >>> round(ndcg([0, 2], [2.0, 1.0]), 4)  # (3 / log2(3)) / 3
    0.6309
    >>> ndcg([0, 2], [2.0, 1.0], rule="letor")  # mean of NDCG@1 = 0 and NDCG@2 = 1
    0.5
    """
    k = cutoff(k)
    gain_name, rule_name = one_of("gain", gain, GAINS), one_of("rule", rule, _DISCOUNTS)
    lists = ranked.lists
    gains, weights, best, defined = lists.compute_once(
        ("ndcg", k, gain_name, rule_name), lambda: _weights(lists, k, gain_name, rule_name)
    )
    return ranked.weighted_sums(gains, weights) / best, defined


_GAINS: dict[str, Callable[[Reals], Reals]] = {
    "exponential": lambda grades: np.exp2(grades) - 1.0,
    "linear": lambda grades: grades,
}
_DISCOUNTS: dict[str, Callable[[Exacts], Reals]] = {
    "standard": lambda position: 1.0 / np.log2(position + 1),
    "letor": lambda position: 1.0 / np.log2(np.maximum(position, 2)),
}


def _weights(
    lists: Lists, k: int | None, gain: str, rule: str
) -> tuple[Reals, Reals, Reals, np.ndarray]:
    """Return gains by row, weights by slot, divisors, and which lists have any gain."""
    if lists.grades.min() < 0:
        raise ValueError(
            f"y must not hold negative grades for ndcg, whose gains would be negative too, "
            f"got {lists.grades.min():g}"
        )
    with np.errstate(over="ignore"):
        gains = _GAINS[gain](lists.grades)
    if not np.isfinite(gains).all():
        raise ValueError(
            f"y is too large for gain='exponential', got a grade of {lists.grades.max():g}: "
            "gain='linear' would do"
        )
    weights = _DISCOUNTS[rule](lists.position)
    if k is not None:
        weights = np.where(lists.position <= k, weights, 0.0)
    ideal = gains[lists.ideal().order] * weights
    best = np.add.reduceat(ideal, lists.starts)
    defined = best > 0
    best[~defined] = 1.0
    if rule == "letor" and k is not None:
        weights = np.where(lists.sizes[lists.query] >= k, weights, 0.0)
    elif rule == "letor":
        weights = _mean_weights(lists, ideal, weights)
        best = np.ones(lists.n_queries)
    return gains, weights, best, defined


def _mean_weights(lists: Lists, ideal: Reals, discounts: Reals) -> Reals:
    """Return the weights of slots in the mean over n of DCG@n / ideal DCG@n.

    The gain at position i is in DCG@n for every n >= i, so its weight is its discount times the
    sum of 1 / ideal DCG@n over those n, divided by their number.
    """
    running = running_sums(ideal, lists.position)
    inverse = np.divide(1.0, running, out=np.zeros(lists.n_rows), where=running > 0)
    size = lists.sizes[lists.query]
    from_end = size + 1 - lists.position
    return discounts * running_sums(inverse[::-1], from_end[::-1])[::-1] / size


@query_metric()
def expected_reciprocal_rank(
    ranked: Ranked, *, k: Cutoffs | None = None, max_grade: float = 4.0
) -> PerQuery:
    """ERR, the expected reciprocal rank of the document at which a reader is satisfied.

    A reader goes down the list and stops at a document of grade g with probability
    (2^g - 1) / 2^max_grade (Chapelle et al. 2009). With ties it is an expectation too: the chance
    to pass the first s of n tied documents is the mean, over all sets of s of them, of the product
    of the chances to pass each.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or Lists
        The grade of each document, from 0 to `max_grade`.
    scores, qid, k, per_query
        As for :func:`mean_average_precision`.
    max_grade : float, default 4
        The highest grade of the scale; 4 as in TREC's gdeval and ir_measures.
    empty : float or "skip", default 0.0
        The value of a query with grades of 0 only; "skip" leaves it out of the mean.

    Examples
    --------
    >>> expected_reciprocal_rank([0, 1], [2.0, 1.0], max_grade=1)  # stops at the second: 1/2 * 1/2
    0.25
    """
    k, max_grade = cutoff(k), positive("max_grade", max_grade)
    lists = ranked.lists
    low, high = lists.grades.min(), lists.grades.max()
    if low < 0 or high > max_grade:
        raise ValueError(
            f"y must have grades from 0 to max_grade={max_grade:g} for the expected reciprocal "
            f"rank, got {low if low < 0 else high:g}"
        )
    stops = lists.compute_once(
        ("stops", max_grade), lambda: (np.exp2(lists.grades) - 1) / np.exp2(max_grade)
    )
    passes = 1.0 - ranked.by_slot(stops)
    # The chance to come to each tie group, in whose product the order does not count.
    with np.errstate(divide="ignore"):
        logs = running_sums(np.log(passes), lists.position)
    first = ranked.group_starts
    reach = np.where(ranked.group_before > 0, np.exp(logs[first - 1]), 1.0)
    ends = np.repeat(reach, ranked.group_sizes) * _stopping(ranked, passes, k)
    weights = lists.compute_once(("inverse", k), lambda: lists.in_top(k) / lists.position)
    values = np.add.reduceat(ends * weights, lists.starts)
    return values, np.maximum.reduceat(lists.grades[lists.ideal().order], lists.starts) > 0


def _stopping(ranked: Ranked, passes: Reals, k: int | None) -> Reals:
    """Return the chance, by slot, to stop there once its tie group is reached."""
    ends = 1.0 - passes
    sizes, starts = ranked.group_sizes, ranked.group_starts
    mixed = np.flatnonzero((sizes > 1) & (ranked.slot_sums(ends) > 0))
    for size in np.unique(sizes[mixed]).tolist():
        groups = mixed[sizes[mixed] == size]
        positions = starts[groups][:, None] + np.arange(size)
        # Documents that everybody passes come first: they change nothing until others follow.
        chances = -np.sort(-passes[positions], axis=1)
        depth = size if k is None else min(size, max(0, k - int(ranked.group_before[groups].min())))
        drawn = np.arange(depth + 1)
        mean = np.ones((len(groups), depth + 1))
        for n, chance in enumerate(chances.T, 1):
            if (chance < 1).any():
                # A set of s of n documents has the n-th with probability s / n.
                share = np.minimum(drawn / n, 1.0)
                mean[:, 1:] = (1 - share[1:]) * mean[:, 1:] + share[1:] * (
                    chance[:, None] * mean[:, :-1]
                )
        ends[positions[:, :depth]] = mean[:, :-1] - mean[:, 1:]
    return ends
