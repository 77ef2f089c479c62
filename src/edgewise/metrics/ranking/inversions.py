"""Count misordered pairs without listing them, in all lists at once."""

from dataclasses import dataclass

import numpy as np

from edgewise.common.dtypes import Exacts
from edgewise.metrics.ranking.lists import Lists
from edgewise.metrics.ranking.ranked import Ranked


@dataclass(frozen=True, eq=False)
class Graded:
    """The grades as levels of their list, by row, and how many pairs each list orders.

    Level 0 is the highest grade of the list; `bits` is how many bits the largest level has.
    """

    levels: Exacts
    bits: int
    pairs: Exacts


def graded(lists: Lists) -> Graded:
    """Return the levels of `lists`, worked out once.

    Examples
    --------
    >>> graded(Lists([1, 5, 1, 3])).levels
    array([2, 0, 2, 1])
    >>> graded(Lists([1, 5, 1, 3])).pairs
    array([5])
    """
    return lists.prepared("graded", lambda: _graded(lists))


def _graded(lists: Lists) -> Graded:
    by_grade = lists.rank(lists.grades)
    sizes, first = by_grade.group_sizes, by_grade.first_groups
    level = np.arange(len(sizes)) - first[by_grade.group_query]
    levels = np.empty(lists.n_rows, dtype=np.int64)
    levels[by_grade.order] = np.repeat(level, sizes)
    pairs = (lists.sizes**2 - np.add.reduceat(sizes**2, first)) // 2
    return Graded(levels, int(level.max()).bit_length(), pairs)


def misordered_twice(ranked: Ranked, grades: Graded) -> Exacts:
    """Return, for each list, twice the number of misordered pairs, tied ones counting one half.

    Two levels differ first in one of their bits, from the highest: each pair is counted at that
    bit, among the documents that agree in the bits above. These blocks are kept together, each in
    the order of the scores, so that a pair is misordered where the document with the bit set, the
    worse one, stands above one without it.

    Examples
    --------
    >>> lists = Lists([2, 1, 0, 0])
    >>> misordered_twice(lists.rank([1.0, 3.0, 2.0, 1.0]), graded(lists))  # 2 pairs and a tie
    array([5])
    """
    places = np.arange(ranked.lists.n_rows)
    level = grades.levels[ranked.order]
    group = np.repeat(np.arange(len(ranked.group_sizes)), ranked.group_sizes)
    start, size = ranked.lists.starts[ranked.query], ranked.lists.sizes[ranked.query]
    total = np.zeros(ranked.lists.n_queries, dtype=np.int64)
    for shift in reversed(range(grades.bits)):
        bit = (level >> shift) & 1
        above = np.cumsum(bit) - bit
        runs = _runs(group, start, places) if ranked.has_ties else places
        worse = np.add.reduceat(bit, runs) if ranked.has_ties else bit
        better = np.diff(runs, append=len(places)) - worse
        twice = better * (2 * (above[runs] - above[start[runs]]) + worse)
        total += np.add.reduceat(twice, np.searchsorted(runs, ranked.lists.starts))
        if shift == 0:
            break
        # Those without the bit move to the front of their block, the others behind them.
        ones_above = above - above[start]
        end = start + size - 1
        zeros = size - (ones_above[end] + bit[end])
        target = start + np.where(bit == 1, zeros + ones_above, places - start - ones_above)
        new_start = np.where(bit == 1, start + zeros, start)
        new_size = np.where(bit == 1, size - zeros, zeros)
        moved = np.empty_like(places)
        moved[target] = places
        level, group, start, size = level[moved], group[moved], new_start[moved], new_size[moved]
    return total


def _runs(group: Exacts, start: Exacts, places: Exacts) -> Exacts:
    """Return the first place of each run of documents of one tie group within one block."""
    begins = start == places
    begins[1:] |= group[1:] != group[:-1]
    return np.flatnonzero(begins)
