"""Histograms as plain arrays, and the scan for each column's best cut, in NumPy."""

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import LEARN, Bounds, Candidates, Histogram, Question, gains
from edgewise.common.dtypes import Columns, Exacts, Signs
from edgewise.data import BinnedTable


class ArrayHistogram(Histogram):
    """A histogram as one array of shape (bins, K), or (bins, K + 1) with a mass column."""

    def __init__(self, columns: Columns, values: Exacts, totals: Exacts, mass: int) -> None:
        self.columns = columns
        self.totals = totals
        self.mass = mass
        self._values = values

    @property
    def values(self) -> Exacts:
        return self._values

    def __add__(self, other: "ArrayHistogram") -> "ArrayHistogram":
        sums = self._values + other._values, self.totals + other.totals
        return ArrayHistogram(self.columns, *sums, self.mass + other.mass)

    def __sub__(self, other: "ArrayHistogram") -> "ArrayHistogram":
        rest = self._values - other._values, self.totals - other.totals
        return ArrayHistogram(self.columns, *rest, self.mass - other.mass)


def scan(plan: "ScanPlan", histogram: Histogram, question: Question) -> Candidates:
    """Return the best cut of each column."""
    criterion, constant, missing, wanted, bounds, masses, least, damping = question
    values, totals = histogram.values, histogram.totals
    if criterion == "gain":
        totals, constant = np.append(totals, histogram.mass), False
    edges = plan.edges(values[:, : len(totals)], totals, missing)
    if criterion == "gain":
        sizes = cut_gains(edges, totals, damping)
        edges = edges[..., :-1]
    else:
        sizes = np.abs(edges) if criterion == "score" else np.abs(edges).sum(axis=-1)
    if bounds is not None:
        sizes = np.where(plan.within(edges[..., 0], bounds, missing), sizes, -1)
    if masses is not None:
        heavy = plan.heavy(masses, missing, least)[:, : sizes.shape[1]]
        sizes = np.where(heavy.reshape(*heavy.shape, *[1] * (sizes.ndim - 2)), sizes, -1)
    best, place = plan.best(sizes, constant, missing)
    first, side = plan.cut(place, missing)
    at_best = edges.reshape(-1, edges.shape[-1])[place] if wanted else None
    return Candidates(histogram.columns, best, first, side, at_best)


class ScanPlan:
    """Where in the joined histogram of some columns each candidate cut stands."""

    def __init__(self, table: BinnedTable, columns: Columns, starts: Columns) -> None:
        bins = [table.bins[j] for j in columns]
        sizes = np.array([b.n_codes for b in bins], dtype=np.intp)
        self.offsets = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.intp)
        self.bin_rows = np.concatenate(
            [np.arange(starts[j], starts[j + 1]) for j in columns] or [np.empty(0, np.intp)]
        ).astype(np.intp)
        self.column_of = np.repeat(np.arange(len(bins)), sizes)
        self.first_of = np.arange(len(self.bin_rows)) - self.offsets[self.column_of]
        has_missing = np.array([b.has_missing for b in bins], dtype=bool)
        self.any_missing = bool(has_missing.any())
        self.missing_rows = (self.offsets + sizes - 1)[has_missing]
        self.missing_columns = np.flatnonzero(has_missing)
        self.cuts_missing = has_missing[self.column_of]
        # The missing bin itself is no place for a threshold.
        self.is_cut = np.ones(len(self.bin_rows), dtype=bool)
        self.is_cut[self.missing_rows] = False

    def edges(self, histogram: Exacts, totals: Exacts, absent: int) -> Exacts:
        """Return the score columns' edges of every cut, shape (bins, sides, K).

        At [b, 0] the values below bin b are negative; at [b, 1], if the side of missing values is
        learned, the missing values are too.
        """
        below = np.cumsum(histogram, axis=0) - histogram
        below -= below[self.offsets][self.column_of]
        high = totals - 2 * below
        if not self.any_missing:
            return high[:, None, :]
        missing = np.zeros((len(self.offsets), histogram.shape[1]), dtype=histogram.dtype)
        missing[self.missing_columns] = histogram[self.missing_rows]
        if absent != LEARN:
            return (high - (1 - absent) * missing[self.column_of])[:, None, :]
        return np.stack([high, high - 2 * missing[self.column_of]], axis=1)

    def best(self, sizes: Exacts, constant: bool, absent: int) -> tuple[Exacts, Columns]:
        """Return each column's largest value and its place among the flattened cuts.

        The lowest place wins a tie: the lowest threshold, then missing values on the positive side.
        """
        sides = sizes.shape[1]
        sizes = np.where(self._allowed(sides, sizes.ndim, constant, absent), sizes, -1)
        flat = sizes.reshape(-1, *sizes.shape[2:])
        best = np.maximum.reduceat(flat, self.offsets * sides, axis=0)
        owner = np.repeat(self.column_of, sides)
        place = np.arange(len(flat)).reshape(-1, *[1] * (flat.ndim - 1))
        place = np.where(flat == best[owner], place, len(flat))
        return best, np.minimum.reduceat(place, self.offsets * sides, axis=0).astype(np.intp)

    def within(self, edges: Exacts, bounds: Bounds, absent: int) -> NDArray[np.bool_]:
        """Return which edges, shape (bins, sides), have an allowed sign."""
        allowed = bounds.directions[self.column_of][:, None] * edges >= 0
        # At the first bin a cut tells present from missing values, which is no direction.
        allowed[self.first_of == 0] = True
        owner = np.repeat(np.arange(len(bounds.directions)), np.diff(bounds.starts))
        rows = self.offsets[owner] + bounds.firsts
        if edges.shape[1] == 2:
            sides, known = (1 - bounds.sides) // 2, bounds.sides != 0
        else:
            usual = 1 if absent == LEARN else absent
            expected = np.where(self.cuts_missing[rows], usual, 1)
            sides, known = np.zeros_like(rows), bounds.sides == expected
        at = (rows[known], sides[known])
        allowed[at] |= np.abs(edges[at]) <= bounds.limits[known]
        return allowed

    def heavy(self, masses: Histogram, absent: int, least: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return which cuts, shape (bins, 2), hold `least` on both sides, or are constant."""
        values, totals = masses.values, masses.totals
        below = np.cumsum(values, axis=0) - values
        below -= below[self.offsets][self.column_of]
        gone = np.zeros((len(self.offsets), len(totals)), dtype=np.int64)
        gone[self.missing_columns] = values[self.missing_rows]
        gone = gone[self.column_of]
        usual = 1 if absent == LEARN else absent
        low = np.stack([below + (gone if usual < 0 else 0), below + gone], axis=1)
        high = totals - np.stack([below + (gone if usual < 1 else 0), below + gone], axis=1)
        allowed: NDArray[np.bool_] = np.all((low >= least) & (high >= least), axis=2)
        allowed[(self.first_of == 0) & ((usual == 1) | ~self.cuts_missing), 0] = True
        return allowed

    def cut(self, place: Columns, absent: int) -> tuple[Columns, Signs]:
        """Return the first bin on the positive side and the missing side at a place."""
        if absent != LEARN:
            side = np.where(self.cuts_missing[place], absent, 1).astype(np.int8)
            return self.first_of[place], side
        sides = 2 if self.any_missing else 1
        return self.first_of[place // sides], (1 - 2 * (place % sides)).astype(np.int8)

    def _allowed(self, sides: int, ndim: int, constant: bool, absent: int) -> NDArray[np.bool_]:
        allowed = np.repeat(self.is_cut[:, None], sides, axis=1)
        allowed[:, 0] &= constant | (self.first_of > 0) | (self.cuts_missing & (absent < 1))
        if sides == 2:
            allowed[:, 1] &= self.cuts_missing
        return allowed.reshape(*allowed.shape, *[1] * (ndim - 2))


def cut_gains(edges: Exacts, totals: Exacts, damping: float = 0.0) -> Exacts:
    """Return the gains of cuts, given their edges with the mass's last; -1 for one-sided cuts.

    An edge is the sum above the cut minus the sum below.
    """
    above, below = (totals + edges) // 2, (totals - edges) // 2
    both = (above[..., -1] > 0) & (below[..., -1] > 0)
    parts = [
        gains((part[..., :-1] ** 2).sum(axis=-1), part[..., -1], damping) for part in (above, below)
    ]
    return np.where(both, parts[0] + parts[1], -1)
