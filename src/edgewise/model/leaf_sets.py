"""Small trees as sets of leaves, from which every test removes some.

A row loses the leaves below every threshold that it reaches, and below every subset that it is in,
and ends in the first leaf that is left (Lucchese et al. 2015). No test waits for another.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Columns, Reals

if TYPE_CHECKING:
    from edgewise.model.forest import Forest


@dataclass(frozen=True, eq=False)
class LeafSets:
    """T trees of L leaves, bits from left to right; all have M nodes, some of which lose none."""

    places: Columns  # (M, T), the column of each node, as its place in `Forest.columns`
    thresholds: Reals  # (M, T, 1)
    missing_high: NDArray[np.bool_]  # (M, T, 1), whether a missing value is above the threshold
    lost: NDArray[Any]  # (M, T, 1), the leaves below the threshold
    ends: Columns  # (T, L)
    third: NDArray[np.bool_]  # (U,), whether a missing value of the column goes another way
    rests: list[tuple[int, NDArray[np.bool_]]]  # columns, and the categories that go another way
    above: NDArray[np.bool_]  # whether each of `Forest.targets` is above
    target_starts: Columns  # (M, T)
    subsets: list[Columns]  # by node, the trees in which it tests a subset

    @staticmethod
    def of(forest: "Forest") -> "LeafSets":
        """Return the sets of a forest."""
        n_nodes = np.diff(forest.firsts)
        n_terms, most = len(n_nodes), int(n_nodes.max(initial=0))
        low, high, missing = forest.children
        # How many leaves are below each node, an end having one, and the first of them.
        count = np.ones(len(low) + 1, dtype=np.intp)
        first = np.zeros(len(low), dtype=np.intp)
        ends = np.zeros((n_terms, most + 1), dtype=np.intp)
        alone = np.flatnonzero(n_nodes == 0)
        ends[alone, 0] = -1 - forest.roots[alone]
        by_place = [forest.firsts[:-1][n_nodes > place] + place for place in range(most)]
        for nodes in reversed(by_place):
            count[nodes] = sum(count[np.maximum(side[nodes], -1)] for side in (low, high))
        term = np.repeat(np.arange(n_terms), n_nodes)
        for nodes in by_place:
            above = first[nodes] + count[np.maximum(low[nodes], -1)]
            for side, start in ((low[nodes], first[nodes]), (high[nodes], above)):
                inner = side >= 0
                first[side[inner]] = start[inner]
                ends[term[nodes[~inner]], start[~inner]] = -1 - side[~inner]
        bits = np.min_scalar_type((1 << (most + 1)) - 1)
        n_below = count[np.maximum(low, -1)].astype(np.uint64)
        lost = ((np.uint64(1) << n_below) - np.uint64(1)) << first.astype(np.uint64)
        third = np.zeros(len(forest.columns), dtype=bool)
        third[forest.places[(missing != low) & (missing != high)]] = True
        sizes = np.diff(forest.target_starts)
        of_target = np.repeat(np.arange(len(low)), sizes)
        above = forest.targets == high[of_target]
        other = ~above & (forest.targets != low[of_target])
        rests = []
        for place in np.unique(forest.places[of_target[other]]).tolist():
            mine = (forest.places == place) & (sizes > 0)
            rests.append((place, other[np.repeat(mine, sizes)].reshape(mine.sum(), -1).any(axis=0)))

        def table(values: NDArray[Any]) -> NDArray[Any]:
            full = np.zeros((most, n_terms), dtype=values.dtype)
            full[np.arange(len(term)) - forest.firsts[term], term] = values
            return full

        return LeafSets(
            table(forest.places),
            table(forest.thresholds)[..., None],
            table(missing == high)[..., None],
            table(lost.astype(bits))[..., None],
            ends,
            third,
            rests,
            above,
            table(forest.target_starts[:-1]),
            [np.flatnonzero(row) for row in table(sizes)],
        )

    @property
    def bits(self) -> np.dtype[Any]:
        """The type of the sets in the compiled walk."""
        return np.promote_types(self.lost.dtype, np.uint32)

    def covers(self, values: Reals) -> bool:
        """Return whether no value goes another way than below or above."""
        if (np.isnan(values).any(axis=1) & self.third).any():
            return False
        return not any(rests[values[place].astype(np.intp)].any() for place, rests in self.rests)

    def ends_of(self, values: Reals) -> Columns:
        """Return what `Forest.ends_of` does."""
        lost = np.zeros((len(self.ends), values.shape[1]), dtype=self.lost.dtype)
        missing = np.isnan(values)
        some_missing = bool(missing.any())
        nodes = zip(
            self.places,
            self.thresholds,
            self.missing_high,
            self.lost,
            self.target_starts,
            self.subsets,
            strict=True,
        )
        for places, thresholds, missing_high, below, starts, trees in nodes:
            reached = values.take(places, axis=0) >= thresholds
            if len(trees):
                codes = values.take(places[trees], axis=0).astype(np.intp)
                reached[trees] = self.above.take(starts[trees, None] + codes)
            if some_missing:
                reached |= missing.take(places, axis=0) & missing_high
            lost |= reached * below
        first = ~lost & (lost + lost.dtype.type(1))
        leaf = np.frexp(first.astype(np.float32))[1] - 1
        return self.ends.take(leaf + self.ends.shape[1] * np.arange(len(lost))[:, None])
