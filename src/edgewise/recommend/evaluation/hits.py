"""Where the relevant items of many users stand in their rankings; ties count by expectation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Exacts, Reals


@dataclass(frozen=True, eq=False)
class Hits:
    """Groups of items with equal scores that hold a relevant one.

    Attributes
    ----------
    row : intp array
        The row (user) of each group; ascending.
    above : int64 array
        How many items of the row stand above the group.
    tied : int64 array
        How many items the group has: each is as likely at any of its places.
    relevant : int64 array
        How many of them are relevant.
    before : int64 array
        How many relevant ones stand above the group.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.2, 0.9, 0.2, -np.inf]])
    >>> hits = find_hits(scores, np.array([0, 0]), np.array([0, 1]))
    >>> hits.above.tolist(), hits.tied.tolist(), hits.before.tolist()
    ([0, 1], [1, 2], [0, 1])
    """

    row: NDArray[np.intp]
    above: Exacts
    tied: Exacts
    relevant: Exacts
    before: Exacts

    def sums(self, n_rows: int, values: Reals) -> Reals:
        """Return the sums of values of groups over rows."""
        sums: Reals = np.bincount(self.row, values, minlength=n_rows).astype(np.float64)
        return sums

    def gains(self, weights: Reals) -> Reals:
        """Return the expected sum of each group's weights of places; ``weights[0]`` is the top."""
        ends = np.concatenate([[0.0], np.cumsum(weights)])
        last = len(weights)
        high = ends[np.minimum(self.above + self.tied, last)]
        return self.relevant / self.tied * (high - ends[np.minimum(self.above, last)])

    def precisions(self) -> Reals:
        """Return the expected sum of the precisions of each group's relevant items.

        Of r relevant among n tied items, below R relevant ones, the p-th place has
        R + 1 + (p - 1)(r - 1) / (n - 1) relevant items down to itself, if it holds one: see
        :func:`edgewise.metrics.mean_average_precision`.
        """
        if not len(self.row):
            return np.zeros(0)
        starts = np.cumsum(self.tied) - self.tied
        group = np.repeat(np.arange(len(self.tied)), self.tied)
        step = np.arange(len(group)) - starts[group]
        slope = (self.relevant - 1) / np.maximum(self.tied - 1, 1)
        inside = (self.before + 1)[group] + step * slope[group]
        return (
            self.relevant
            / self.tied
            * np.add.reduceat(inside / (self.above[group] + step + 1), starts)
        )

    def wrong_pairs(self) -> Reals:
        """Return, for each group, its (relevant, other) pairs in the wrong order; ties half."""
        return self.relevant * (self.above - self.before + (self.tied - self.relevant) / 2.0)


def find_hits(scores: Reals, rows: NDArray[np.intp], items: NDArray[np.intp]) -> Hits:
    """Return where relevant items stand: `rows`, ascending, and `items` are theirs in `scores`."""
    if not len(rows):
        nothing = np.zeros(0, dtype=np.int64)
        return Hits(rows, nothing, nothing, nothing, nothing)
    ranked = np.sort(scores[np.unique(rows)], axis=1)
    width = scores.shape[1]
    values = scores[rows, items]
    above, tied = np.empty((2, len(rows)), dtype=np.int64)
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    for line, span in enumerate(zip(starts, [*starts[1:], len(rows)], strict=True)):
        own = slice(*span)
        right = np.searchsorted(ranked[line], values[own], side="right")
        above[own] = width - right
        tied[own] = right - np.searchsorted(ranked[line], values[own])
    return _grouped(rows, above, tied)


def _grouped(rows: NDArray[np.intp], above: Exacts, tied: Exacts) -> Hits:
    order = np.lexsort((above, rows))
    rows, above, tied = rows[order], above[order], tied[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]) | (above[1:] != above[:-1])
    first = np.flatnonzero(new)
    relevant = np.diff(first, append=len(rows))
    row = rows[first]
    begun = np.flatnonzero(np.diff(row, prepend=-1))
    before = first - np.repeat(first[begun], np.diff(begun, append=len(row)))
    return Hits(row, above[first], tied[first], relevant, before)
