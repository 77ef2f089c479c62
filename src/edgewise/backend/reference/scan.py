"""Histograms as plain arrays, and the scan for each column's best cut, in NumPy."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import MISSING_AUTO, Bounds, Candidates, Histogram, ScanQuery, gains
from edgewise.common.dtypes import Columns, Exacts, Signs
from edgewise.data import BinnedTable


class ArrayHistogram(Histogram):
    """A histogram as one array of shape (K, bins), or (K + 1, bins) with a mass column."""

    def __init__(self, columns: Columns, values: Exacts, totals: Exacts, mass: int) -> None:
        self.columns = columns
        self.totals = totals
        self.mass = mass
        self._values = values

    @property
    def values(self) -> Exacts:
        # In the memory order of other backends, on which sums of floats depend.
        return np.ascontiguousarray(self._values.T)

    @property
    def by_score(self) -> Exacts:
        return self._values

    def __sub__(self, other: "ArrayHistogram") -> "ArrayHistogram":
        differences = self._values - other._values, self.totals - other.totals
        return ArrayHistogram(self.columns, *differences, self.mass - other.mass)


def scan(plan: "ScanPlan", histogram: Histogram, query: ScanQuery) -> Candidates:
    """Return the best cut of each column."""
    criterion, constant, missing, wants_edges, bounds, constraints, min_sums, damping, _ = query
    edges, totals = plan.edges_of(histogram, query)
    allowed = plan.allowed_cuts(constant and criterion != "gain", missing)
    if query.directions is not None:
        allowed = allowed & plan.rises(edges, totals, query)
    if criterion == "gain":
        sizes = cut_gains(edges, totals, damping)
        edges = edges[:-1]
    else:
        sizes = np.abs(edges) if criterion == "score" else np.abs(edges).sum(axis=0)
    if bounds is not None:
        within = [plan.within(edges_of_score, bounds, missing) for edges_of_score in edges]
        allowed = allowed & (np.stack(within) if criterion == "score" else within[0])
    if constraints is not None:
        allowed = allowed & plan.satisfies(constraints, missing, min_sums)[: len(edges[0])]
    sizes = np.where(allowed, sizes, -1)
    if criterion == "score":
        bests = [plan.best(sizes_of_score, missing) for sizes_of_score in sizes]
        best, cut_index, first, side = (np.stack(each, axis=1) for each in zip(*bests, strict=True))
    else:
        best, cut_index, first, side = plan.best(sizes, missing)
    at_best = None
    if wants_edges:
        at_best = np.ascontiguousarray(edges.reshape(len(edges), -1)[:, cut_index].T)
    return Candidates(histogram.columns, best, first, side, at_best)


class ScanPlan:
    """The candidate cuts of some columns, by their position in the joined histogram.

    Cuts have the shape (sides, bins): at [0, b] the values below bin b are negative; at [1, b], if
    the side of missing values is learned, the missing values are too.
    """

    def __init__(self, table: BinnedTable, columns: Columns) -> None:
        bins = [table.bins[j] for j in columns]
        self._table, self._columns = table, columns
        self._sizes = np.array([b.n_codes for b in bins], dtype=np.intp)
        self.n_bins = int(self._sizes.sum())
        self._offsets = np.concatenate(([0], np.cumsum(self._sizes)[:-1])).astype(np.intp)
        self._first_of = np.arange(self.n_bins) - np.repeat(self._offsets, self._sizes)
        has_missing = np.array([b.has_missing for b in bins], dtype=bool)
        self._any_missing = bool(has_missing.any())
        self._missing_rows = (self._offsets + self._sizes - 1)[has_missing]
        self._missing_columns = np.flatnonzero(has_missing)
        self._cuts_missing = np.repeat(has_missing, self._sizes)
        self._allowed: dict[tuple[bool, int], NDArray[np.bool_]] = {}

    @cached_property
    def keys(self) -> NDArray[np.int32]:
        """The bins of every row, shape (n, columns)."""
        keys = np.empty((self._table.n_rows, len(self._columns)), dtype=np.int32)
        for position, j in enumerate(self._columns.tolist()):
            keys[:, position] = self._table.codes(j)
        keys += self._offsets.astype(np.int32)
        return keys

    def edges_of(self, histogram: Histogram, query: ScanQuery) -> tuple[Exacts, Exacts]:
        """Return the edges of every cut and the totals, for gains with the mass last."""
        totals = histogram.totals
        if query.criterion == "gain":
            totals = np.append(totals, histogram.mass)
        return self.edges(histogram.by_score[: len(totals)], totals, query.missing), totals

    def edges(self, histogram: Exacts, totals: Exacts, missing: int) -> Exacts:
        """Return the score columns' edges of every cut, shape (K, sides, bins)."""
        high = totals[:, None] - 2 * self._below(histogram)
        if not self._any_missing:
            return high[:, None]
        missing_sums = self._missing_sums(histogram)
        if missing != MISSING_AUTO:
            return (high - (1 - missing) * missing_sums)[:, None]
        return np.stack([high, high - 2 * missing_sums], axis=1)

    def _below(self, histogram: Exacts) -> Exacts:
        """Return the sums of the bins of a column below each."""
        below = np.cumsum(histogram, axis=1) - histogram
        below -= np.repeat(below[:, self._offsets], self._sizes, axis=1)
        return below

    def _missing_sums(self, histogram: Exacts) -> Exacts:
        """Return the sum of the missing values of each bin's column."""
        missing_sums = np.zeros((len(histogram), len(self._offsets)), dtype=histogram.dtype)
        missing_sums[:, self._missing_columns] = histogram[:, self._missing_rows]
        return np.repeat(missing_sums, self._sizes, axis=1)

    def best(self, sizes: Exacts, missing: int) -> tuple[Exacts, Columns, Columns, Signs]:
        """Return each column's largest value, its place among the flattened cuts, and the cut.

        A cut is the first bin on the positive side and the side of missing values. In a tie the
        lowest threshold wins, then missing values on the positive side.
        """
        largest = sizes[0] if len(sizes) == 1 else sizes.max(axis=0)
        best = np.maximum.reduceat(largest, self._offsets)
        ties = np.flatnonzero(largest == np.repeat(best, self._sizes))
        cut_index = ties[np.searchsorted(ties, self._offsets)]
        is_second = sizes[0, cut_index] < best
        if missing == MISSING_AUTO:
            side = np.where(is_second, -1, 1).astype(np.int8)
        else:
            side = np.where(self._cuts_missing[cut_index], missing, 1).astype(np.int8)
        return best, cut_index + is_second * self.n_bins, self._first_of[cut_index], side

    def within(self, edges: Exacts, bounds: Bounds, missing: int) -> NDArray[np.bool_]:
        """Return which edges, shape (sides, bins), have an allowed sign."""
        allowed = np.repeat(bounds.directions, self._sizes) * edges >= 0
        # The cut at the first bin separates present from missing values: it has no direction.
        allowed[:, self._first_of == 0] = True
        owner = np.repeat(np.arange(len(bounds.directions)), np.diff(bounds.starts))
        rows = self._offsets[owner] + bounds.firsts
        if len(edges) == 2:
            sides, applies = (1 - bounds.sides) // 2, bounds.sides != 0
        else:
            default_side = 1 if missing == MISSING_AUTO else missing
            expected = np.where(self._cuts_missing[rows], default_side, 1)
            sides, applies = np.zeros_like(rows), bounds.sides == expected
        at = (sides[applies], rows[applies])
        allowed[at] |= np.abs(edges[at]) <= bounds.limits[applies]
        return allowed

    def rises(self, edges: Exacts, totals: Exacts, query: ScanQuery) -> NDArray[np.bool_]:
        """Return which cuts have the larger mean of S on the side of their column's direction.

        Edges and totals have the mass last where cuts are compared by gain.
        """
        assert query.directions is not None
        directions = np.repeat(query.directions, self._sizes)
        if query.criterion == "gain":
            sums = edges[:-1].sum(axis=0), totals[:-1].sum()
            high, low = ((sums[1] + sign * sums[0]) >> 1 for sign in (1, -1))
            over, under = (
                ((totals[-1] + sign * edges[-1]) >> 1) + query.damping for sign in (1, -1)
            )
            is_free = directions * (high * under - low * over) >= 0
        else:
            # Votes of the other sign are lost: of the score columns' edges, at most a quarter.
            is_free = 2 * directions * edges.sum(axis=0) > np.abs(edges).sum(axis=0)
        return np.asarray(is_free | (directions == 0) | (self._first_of == 0))

    def find_rising(self, histogram: Histogram, query: ScanQuery) -> NDArray[np.bool_]:
        """Return which cuts, on two sides, keep to the directions of their columns."""
        rises = self.rises(*self.edges_of(histogram, query), query)
        return np.stack([rises[0], rises[-1]])

    def satisfies(
        self, constraints: Histogram, missing: int, min_sums: tuple[int, ...]
    ) -> NDArray[np.bool_]:
        """Return which cuts, on two sides, hold `min_sums` on both sides, or are constant."""
        values, totals = constraints.by_score, constraints.totals[:, None]
        minimum = np.array(min_sums)[:, None]
        below = self._below(values)
        default_side = 1 if missing == MISSING_AUTO else missing
        if not self._any_missing:
            first = second = np.all((below >= minimum) & (totals - below >= minimum), axis=0)
        else:
            missing_sums = self._missing_sums(values)
            low = below + missing_sums * (default_side < 0)
            high = totals - below - missing_sums * (default_side < 1)
            first = np.all((low >= minimum) & (high >= minimum), axis=0)
            low = below + missing_sums
            second = np.all((low >= minimum) & (totals - low >= minimum), axis=0)
        is_constant = (self._first_of == 0) & ((default_side == 1) | ~self._cuts_missing)
        return np.stack([first | is_constant, second])

    def allowed_cuts(self, constant: bool, missing: int) -> NDArray[np.bool_]:
        """Return which cuts there are."""
        if (constant, missing) not in self._allowed:
            # A cut is before a bin of values, not before the missing bin.
            is_cut = np.ones(self.n_bins, dtype=bool)
            is_cut[self._missing_rows] = False
            first = constant | (self._first_of > 0) | (self._cuts_missing & (missing < 1))
            sides = [is_cut & first]
            if self._any_missing and missing == MISSING_AUTO:
                sides.append(is_cut & self._cuts_missing)
            self._allowed[constant, missing] = np.stack(sides)
        return self._allowed[constant, missing]


def cut_gains(edges: Exacts, totals: Exacts, damping: float) -> Exacts:
    """Return the gains of cuts, given their edges with the mass's last; -1 for one-sided cuts.

    An edge is the sum above the cut minus the sum below.
    """
    all_totals = totals[:, None, None]
    sides = np.stack([all_totals + edges, all_totals - edges], axis=1) >> 1
    gained = gains((sides[:-1] ** 2).sum(axis=0), sides[-1], damping)
    return np.where((sides[-1] > 0).all(axis=0), gained.sum(axis=0), -1)
