"""The part of the weights that a round searches: the heaviest, or a random sample of the rows."""

import numpy as np

from edgewise.backend.arithmetic import SEARCH_SCALE
from edgewise.backend.base import Backend, Part, Problem
from edgewise.backend.host import lanes_for
from edgewise.common.dtypes import ROW, Exacts, Rows

# A part that costs more than this share of the whole does not repay its copies.
_LARGEST_SHARE = 0.7

# Rounds between attempts to leave the whole for a part.
_TRY_EVERY = 16

# Rounds until a part is chosen again: weight gathers on ever fewer entries, and copying their codes
# takes as long as a round or two.
_RENEW_EVERY = 64

# The cost of searching one row of S, a base and a share for each lane, in units of one entry.
_ROW_COST, _LANE_COST = 0.6, 0.035

# With fewer lanes, rows are always as fast as entries.
_ENTRIES_FROM = 32

# The least weight of a part is found to within this factor.
_STEP = 1.06


class HeaviestWeights:
    """The rows, or the (row, score column) entries, that hold at least a share of the weight.

    A part starts with half of the remaining weight to spare, and stays until it holds less than
    `least` or its time is up. It depends on the weights alone: all that reach a threshold. `share`
    is the cost of searching the last part, as a share of searching everything.
    """

    def __init__(self, least: float) -> None:
        self._least = least
        self._target = (1.0 + least) / 2
        self._part: Part | None = None
        self._gathered: Problem | None = None
        self.share = 1.0

    def follow(self, backend: Backend, problem: Problem, t: int) -> None:
        """Gather the part's weights at the start of a round, replayed rounds included.

        Choose again if they are too light or it is time.
        """
        if self._part is None:
            due = t % _TRY_EVERY == 0
        else:
            self._gathered = self._part.gather(problem)
            due = self._gathered.mass < self._least * problem.mass or t % _RENEW_EVERY == 0
        if due:
            self._choose(backend, problem)

    def part(self, backend: Backend, problem: Problem, t: int) -> tuple[Backend, Problem]:
        """Return the problem of the heaviest weights, or the whole one."""
        if self._part is None or self._gathered is None:
            return backend, problem
        return self._part.backend, self._gathered

    def _choose(self, backend: Backend, problem: Problem) -> None:
        self._part = self._gathered = None
        self.share = 1.0
        wanted = self._target * problem.mass
        chunks, lanes = lanes_for(problem.n_scores + problem.mass_column)
        row_cost = chunks * (_ROW_COST + _LANE_COST * lanes)
        partition = backend.table.partition
        masses = partition.allgather_rows(backend.row_weight_sums(problem))
        rows = heaviest_rows(masses, wanted)
        costs = {"rows": len(rows) * row_cost}
        entries = None
        if chunks * lanes >= _ENTRIES_FROM:
            entries = backend.select_heavy(problem, self._least_entry(backend, problem, wanted))
        if entries is not None:
            costs["entries"] = float(entries.size)
        cheapest = min(costs, key=lambda name: costs[name])
        self.share = costs[cheapest] / (problem.n_rows * row_cost)
        if self.share > _LARGEST_SHARE:
            self.share = 1.0
            return
        own = partition.local_rows(rows)
        self._part = entries if cheapest == "entries" else backend.select(own)
        assert self._part is not None
        self._gathered = self._part.gather(problem)

    def _least_entry(self, backend: Backend, problem: Problem, wanted: float) -> int:
        """Return the largest threshold whose entries hold enough of the weight."""
        low, high = 1, 1 << 62
        while high > max(low + 1, int(low * _STEP)):
            middle = max(low + 1, int(np.sqrt(float(low) * float(high))))
            if backend.sum_heavy(problem, middle) >= wanted:
                low = middle
            else:
                high = middle
        return low


class SampledRows:
    """Rows drawn by weight with replacement, each draw of the same weight.

    `share` is the number of draws as a share of the rows (Kégl and Busa-Fekete 2009b).
    """

    def __init__(self, share: float, seed: int) -> None:
        self._seed = seed
        self.share = share

    def part(self, backend: Backend, problem: Problem, t: int) -> tuple[Backend, Problem]:
        """Return the problem of the rows drawn this round."""
        partition = backend.table.partition
        masses = partition.allgather_rows(backend.row_weight_sums(problem))
        ends = np.cumsum(masses)
        n_draws = max(1, round(self.share * len(masses)))
        rng = np.random.default_rng([self._seed, t, 1])
        drawn = np.searchsorted(ends, rng.integers(int(ends[-1]), size=n_draws), side="right")
        counts = np.bincount(drawn, minlength=len(masses))
        rows = np.flatnonzero(counts).astype(ROW)
        factors = counts * (SEARCH_SCALE / n_draws) / np.maximum(masses, 1)
        own = partition.local_rows(rows)
        part = backend.select(own)
        return part.backend, part.gather(problem, factors[partition.global_rows(own)])


def heaviest_rows(masses: Exacts, wanted: float) -> Rows:
    """Return the heaviest rows that together reach the weight wanted, ascending.

    Examples
    --------
    >>> heaviest_rows(np.array([5, 1, 3, 1]), 8).tolist()
    [0, 2]
    """
    order = np.sort(masses)[::-1]
    enough = min(int(np.searchsorted(np.cumsum(order), wanted)), len(order) - 1)
    return np.flatnonzero(masses >= order[enough]).astype(ROW)
