"""Where the first or the last relevant document of a list stands when ties break at random."""

from dataclasses import dataclass

import numpy as np

from edgewise.common.dtypes import Exacts, Reals
from edgewise.metrics.ranking.ranked import Ranked
from edgewise.metrics.ranking.relevance import Relevance
from edgewise.metrics.ranking.scans import running_sums

# Steps with less than exp(-_FAR) left are not followed: far below what doubles can tell apart.
_FAR = 60.0


@dataclass(frozen=True, eq=False)
class Extremes:
    """The tie groups that hold the first (or last) relevant document, one for each list with any.

    Attributes
    ----------
    query : ndarray
        The index of the query.
    before : ndarray
        R of Iyer 1999 eq. (5.2): how many documents of the list stand above the group.
    tied, relevant : ndarray
        Q and q of the same: how many documents the group has, and how many are relevant.
    """

    query: Exacts
    before: Exacts
    tied: Exacts
    relevant: Exacts


def extremes(ranked: Ranked, marks: Relevance, last: bool = False) -> Extremes:
    """Return the first (or last) tie group of each list with a relevant document in it."""
    counts = ranked.row_sums(marks.marks)
    hits = np.flatnonzero(counts)
    queries = ranked.group_query[hits]
    ends = np.ones(len(hits), dtype=bool)
    if last:
        np.not_equal(queries[1:], queries[:-1], out=ends[:-1])
    else:
        np.not_equal(queries[1:], queries[:-1], out=ends[1:])
    groups = hits[ends]
    return Extremes(
        queries[ends],
        ranked.group_before[groups],
        ranked.group_sizes[groups],
        counts[groups].astype(np.int64),
    )


@dataclass(frozen=True, eq=False)
class Steps:
    """Where in its tie group the first relevant document stands, with probabilities.

    Attributes
    ----------
    starts : ndarray of shape (n_groups,)
        Where the steps of each group begin in the other arrays.
    group : ndarray
        The index of the group of each step.
    step : ndarray
        1 for the group's first document, and so on, one group after another.
    probability : ndarray
        The probability that the first relevant document is there.
    """

    starts: Exacts
    group: Exacts
    step: Exacts
    probability: Reals

    def mean(self, values: Reals) -> Reals:
        """Return the expectation, by group, of values given by step."""
        return np.add.reduceat(self.probability * values, self.starts)


def steps(found: Extremes) -> Steps:
    """Return the distribution of the first relevant document over the places of its tie group.

    Iyer 1999 eq. (5.2) with j = 1 (its text misprints j = k - r as r - k): of q relevant among Q
    tied documents the first is at step l = 1, ..., Q - q + 1 with probability
    C(Q - l, q - 1) / C(Q, q). That is q / Q for l = 1, and each step has 1 - (q - 1) / (Q - l + 1)
    times the probability of the one before. By symmetry the last relevant document is at the l-th
    place from the group's end as often.

    Examples
    --------
    >>> import numpy as np
    >>> two_of_four = Extremes(np.array([0]), np.array([3]), np.array([4]), np.array([2]))
    >>> (6 * steps(two_of_four).probability).round(12)
    array([3., 2., 1.])
    """
    share = found.relevant / found.tied
    # No relevant document comes in the first l places with probability below exp(-l * q / Q).
    lengths = np.minimum(found.tied - found.relevant + 1, np.ceil(_FAR / share)).astype(np.int64)
    group = np.repeat(np.arange(len(lengths)), lengths)
    starts = np.cumsum(lengths) - lengths
    step = np.arange(1, len(group) + 1) - starts[group]
    ratio = (found.relevant - 1)[group] / ((found.tied + 1)[group] - step)
    logs = np.where(step > 1, np.log1p(-ratio), 0.0)
    return Steps(starts, group, step, share[group] * np.exp(running_sums(logs, step)))
