"""Pairs of a list in the wrong order: disagreement, and the area under the ROC curve of each list.

A pair with equal scores counts one half. Pairs are counted, never listed.
"""

from dataclasses import dataclass

import numpy as np

from edgewise.common.dtypes import Exacts
from edgewise.metrics.lists import Lists, PerQuery, Ranked, RelevantOption, query_metric, relevance


@query_metric()
def disagreement(ranked: Ranked) -> PerQuery:
    """Disagreement: the share of a list's pairs of different grades that the scores misorder.

    Lower is better (Iyer 1999 section 5.2.4).

    Parameters
    ----------
    y, scores, qid, per_query
        As for :func:`mean_average_precision`.
    empty : float or "skip", default 0.0
        The value of a query whose documents all have one grade; "skip" leaves it out of the mean.

    Examples
    --------
    >>> disagreement([2, 1, 0], [1.0, 3.0, 2.0])  # (2, 1) and (2, 0) of three pairs
    0.6666666666666666
    """
    levels = ranked.lists.compute_once("levels", lambda: _levels(ranked.lists))
    wrong = _misordered_twice(ranked, levels)
    values = wrong / np.maximum(2 * levels.pairs, 1)
    return values, levels.pairs > 0


@query_metric(empty="skip")
def grouped_auc(ranked: Ranked, *, relevant: RelevantOption = None) -> PerQuery:
    """Area under the ROC curve of each list, averaged over queries (users): the grouped AUC.

    The area is the share of (relevant, other) pairs of a list in the right order; with two grades
    it is one minus :func:`disagreement`. Compare :func:`roc_auc`, the area over all rows at once.

    Parameters
    ----------
    y, scores, qid, relevant, per_query
        As for :func:`mean_average_precision`.
    empty : float or "skip", default "skip"
        The value of a query whose documents are all relevant, or all not.

    Examples
    --------
    >>> grouped_auc([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0])  # three of four pairs
    0.75
    """
    good = relevance(ranked.lists, relevant)
    sizes = ranked.lists.sizes
    # Documents that were not returned are tied below all others.
    inside = ranked.slot_sums(good.flags[ranked.order])
    others = ranked.group_sizes - inside
    # Twice the misordered pairs, a whole number: a tie counts one.
    wrong = ranked.list_sums(inside * (2.0 * ranked.sums_above(others) + others))
    pairs = good.counts * (sizes - good.counts)
    values = 1.0 - wrong / np.maximum(2.0 * pairs, 1.0)
    return values, pairs > 0


@dataclass(frozen=True, eq=False)
class _Levels:
    """Grades by row as levels of their list, 0 the highest; the bits they take; pairs by list."""

    levels: Exacts
    bits: int
    pairs: Exacts


def _levels(lists: Lists) -> _Levels:
    by_grade = lists.ideal()
    sizes, first = by_grade.group_sizes, by_grade.first_groups
    level = np.arange(len(sizes)) - first[by_grade.group_query]
    levels = np.empty(lists.n_rows, dtype=np.int64)
    levels[by_grade.order] = np.repeat(level, sizes)
    pairs = (lists.sizes**2 - np.add.reduceat(sizes**2, first)) // 2
    return _Levels(levels, int(level.max()).bit_length(), pairs)


def _misordered_twice(ranked: Ranked, grades: _Levels) -> Exacts:
    """Return, for each list, twice the number of misordered pairs, tied ones counting one half.

    Each pair is counted at the highest bit in which its two levels differ, among the documents that
    agree in all higher bits. Such documents stay together in a block, in the order of the scores,
    so a pair is misordered where the document with the bit set, the worse one, stands above.
    """
    lists = ranked.lists
    positions = np.arange(lists.n_rows)
    level = grades.levels[ranked.order]
    group = np.repeat(np.arange(len(ranked.group_sizes)), ranked.group_sizes)
    start, size = lists.starts[lists.query], lists.sizes[lists.query]
    total = np.zeros(lists.n_queries, dtype=np.int64)
    for shift in reversed(range(grades.bits)):
        bit = (level >> shift) & 1
        above = np.cumsum(bit) - bit
        runs = _runs(group, start, positions) if ranked.has_ties else positions
        worse = np.add.reduceat(bit, runs) if ranked.has_ties else bit
        better = np.diff(runs, append=len(positions)) - worse
        twice = better * (2 * (above[runs] - above[start[runs]]) + worse)
        total += np.add.reduceat(twice, np.searchsorted(runs, lists.starts))
        if shift == 0:
            break
        # Documents without the bit move to the front of their block, the others behind them.
        ones_above = above - above[start]
        end = start + size - 1
        zeros = size - (ones_above[end] + bit[end])
        target = start + np.where(bit == 1, zeros + ones_above, positions - start - ones_above)
        new_start = np.where(bit == 1, start + zeros, start)
        new_size = np.where(bit == 1, size - zeros, zeros)
        moved = np.empty_like(positions)
        moved[target] = positions
        level, group, start, size = level[moved], group[moved], new_start[moved], new_size[moved]
    return total


def _runs(group: Exacts, start: Exacts, slots: Exacts) -> Exacts:
    """Return the first slot of each run of documents of one tie group within one block."""
    begins = start == slots
    begins[1:] |= group[1:] != group[:-1]
    return np.flatnonzero(begins)
