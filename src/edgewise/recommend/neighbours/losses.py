"""The ranking losses of many viewers with respect to one target, by counting levels.

Pairs are never listed: how many pairs a viewer misorders follows from how many of the target's
items have each pair of levels, the target's and the viewer's (Iyer 1999 section 5.2.3).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals

# So many counts are in memory at once.
_COUNTS = 1 << 23


class Losses(NamedTuple):
    """How well each viewer orders a target's items.

    Attributes
    ----------
    losses : float64 array of shape (viewers,)
        The ranking loss, with the best default; 0 where the target has no pairs.
    defaults : intp array of shape (viewers,)
        The level that items get that the viewer did not rate; -1 if it rated them all.
    common : int64 array of shape (viewers,)
        The number of items that both rated.
    """

    losses: Reals
    defaults: NDArray[np.intp]
    common: NDArray[np.int64]


def viewer_losses(
    grades: NDArray[np.intp],
    viewers: NDArray[np.integer],
    places: NDArray[np.integer],
    levels: NDArray[np.integer],
    n_viewers: int,
    n_levels: int,
    weights: Reals | None = None,
) -> Losses:
    """Return the ranking loss (Eq. 5.1) of each viewer's scores, for its best default score.

    Parameters
    ----------
    grades : intp array of shape (m,)
        The target's items: the codes of their ratings, from 0 on without gaps.
    viewers, places, levels : arrays of shape (n,)
        The viewers' ratings of these items: whose, of which item, and the code of the rating.
    n_viewers, n_levels : int
        How many there are.
    weights : float64 array of shape (m,) or None
        The items' weights; a pair has the product of two.

    Examples
    --------
    >>> import numpy as np
    >>> found = viewer_losses(np.array([0, 1, 1]), np.array([0, 0]), np.array([0, 1]),
    ...                       np.array([1, 1]), 1, 3)
    >>> found.losses, found.defaults
    (array([0.25]), array([2]))
    """
    n_grades = int(grades.max(initial=0)) + 1
    masses = np.ones(len(grades)) if weights is None else weights
    totals = np.asarray(np.bincount(grades, masses, n_grades), dtype=np.float64)
    n_pairs = _pairs(totals[None])[0]
    common = np.bincount(viewers, minlength=n_viewers)
    losses, defaults = np.zeros(n_viewers), np.full(n_viewers, -1, dtype=np.intp)
    cell = (viewers.astype(np.int64) * n_grades + grades[places]) * n_levels + levels
    step = max(1, _COUNTS // (n_grades * n_levels))
    for start in range(0, n_viewers, step):
        stop = min(start + step, n_viewers)
        mine = np.flatnonzero((viewers >= start) & (viewers < stop))
        shape = (stop - start, n_grades, n_levels)
        first = start * n_grades * n_levels
        filled = np.bincount(cell[mine] - first, masses[places[mine]], int(np.prod(shape)))
        counts = np.asarray(filled, dtype=np.float64).reshape(shape)
        doubled = _doubled(counts, totals)
        partial = common[start:stop] < len(grades)
        best = np.where(partial, doubled.argmin(axis=1), 0)
        losses[start:stop] = doubled[np.arange(len(best)), best] / (2 * n_pairs or 1.0)
        defaults[start:stop] = np.where(partial, best, -1)
    return Losses(losses, defaults, common)


def _doubled(counts: Reals, totals: Reals) -> Reals:
    """Return twice the misordered pairs, ties counting half, of each viewer and default level.

    `counts` is how many items have each grade of the target and each level of the viewer.
    """
    unrated = totals - counts.sum(axis=2)
    # Below each grade: what has a lower one, by level.
    below = np.cumsum(counts, axis=1) - counts
    unrated_below = np.cumsum(unrated, axis=1) - unrated
    # What an item of this grade would misorder at each level, twice: lower grades above or level.
    above = 2 * (below.sum(axis=2, keepdims=True) - np.cumsum(below, axis=2)) + below
    # What an item of a lower grade would misorder at each level, twice.
    under = 2 * np.cumsum(counts, axis=2) - counts
    among = (counts * above).sum(axis=(1, 2)) + _pairs(unrated)
    crossed = (unrated[:, :, None] * above + unrated_below[:, :, None] * under).sum(axis=1)
    return among[:, None] + crossed


def _pairs(masses: Reals) -> Reals:
    """Return the mass of pairs of different columns, row by row."""
    return ((np.cumsum(masses, axis=1) - masses) * masses).sum(axis=1)
