"""Expected reciprocal rank: a reader stops at a document, the likelier the higher its grade."""

import numpy as np

from edgewise.common.checks import positive
from edgewise.common.dtypes import Reals
from edgewise.metrics.lists import Cutoffs, PerQuery, Ranked, cutoff, query_metric, running_sums


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
        The highest grade of the scale; 4 is that of TREC's gdeval, and so of ir_measures.
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
