"""The weights to search in one round: the heaviest, or the weights of random rows."""

import numpy as np

from edgewise.backend.arithmetic import SEARCH_SCALE
from edgewise.backend.base import Backend, Part, Problem
from edgewise.backend.host import lanes_for
from edgewise.common.dtypes import ROW, Exacts, Rows

# A selection that costs more than this share of a full search does not repay its copies.
_MAX_COST = 0.7

# Rounds between attempts to select, while all weights are searched.
_TRY_EVERY = 16

# Rounds until a new selection: weight concentrates on ever fewer entries, but copying their codes
# takes as long as one or two rounds.
_RENEW_EVERY = 64

# The cost of searching one row of S, a base and a share for each lane, in units of one entry.
_ROW_COST, _LANE_COST = 0.6, 0.035

# With fewer lanes, rows are always as fast as entries.
_MIN_LANES_FOR_ENTRIES = 32

# The smallest weight of an entry is found to within this factor.
_THRESHOLD_RATIO = 1.06


class HeaviestWeights:
    """The rows, or the (row, score column) entries, that hold at least `trim` of the weight.

    A selection covers (1 + trim) / 2 of the weight, and stays until its coverage drops below `trim`
    or its time is up. It depends on the weights alone: all that reach a threshold. `cost` is that
    of searching the selection, as a share of searching everything.
    """

    def __init__(self, trim: float) -> None:
        self._trim = trim
        self._part: Part | None = None
        self._selected: Problem | None = None
        self.cost = 1.0

    def begin_round(self, backend: Backend, problem: Problem, t: int) -> None:
        """Gather the selected weights for round `t`; select again if they are too light or old."""
        if self._part is None:
            is_due = t % _TRY_EVERY == 0
        else:
            self._selected = self._part.gather(problem)
            is_due = self._selected.mass < self._trim * problem.mass or t % _RENEW_EVERY == 0
        if is_due:
            self._choose(backend, problem)

    def select(self, backend: Backend, problem: Problem, t: int) -> tuple[Backend, Problem]:
        """Return the problem of the selected weights, or of all."""
        if self._part is None or self._selected is None:
            return backend, problem
        return self._part.backend, self._selected

    def _choose(self, backend: Backend, problem: Problem) -> None:
        self._part = self._selected = None
        self.cost = 1.0
        target = (1.0 + self._trim) / 2 * problem.mass
        chunks, lanes = lanes_for(problem.n_scores + problem.mass_column)
        row_cost = chunks * (_ROW_COST + _LANE_COST * lanes)
        partition = backend.table.partition
        masses = partition.allgather_rows(backend.row_weight_sums(problem))
        rows = heaviest_rows(masses, target)
        costs = {"rows": len(rows) * row_cost}
        entries = None
        if chunks * lanes >= _MIN_LANES_FOR_ENTRIES:
            entries = backend.select_heavy(problem, self._entry_threshold(backend, problem, target))
        if entries is not None:
            costs["entries"] = float(entries.size)
        cheapest = min(costs, key=lambda name: costs[name])
        self.cost = costs[cheapest] / (problem.n_rows * row_cost)
        if self.cost > _MAX_COST:
            self.cost = 1.0
            return
        selection = entries if cheapest == "entries" else backend.select(partition.local_rows(rows))
        self._part = selection
        assert self._part is not None
        self._selected = self._part.gather(problem)

    def _entry_threshold(self, backend: Backend, problem: Problem, target: float) -> int:
        """Return the largest threshold whose entries hold enough of the weight."""
        low, high = 1, 1 << 62
        while high > max(low + 1, int(low * _THRESHOLD_RATIO)):
            middle = max(low + 1, int(np.sqrt(float(low) * float(high))))
            if backend.sum_heavy(problem, middle) >= target:
                low = middle
            else:
                high = middle
        return low


class SampledRows:
    """Rows drawn by weight with replacement, each draw of the same weight.

    `cost` is the number of draws as a share of the rows (Kégl and Busa-Fekete 2009b).
    """

    def __init__(self, cost: float, seed: int) -> None:
        self._seed = seed
        self.cost = cost

    def select(self, backend: Backend, problem: Problem, t: int) -> tuple[Backend, Problem]:
        """Return the problem of the rows drawn this round."""
        partition = backend.table.partition
        masses = partition.allgather_rows(backend.row_weight_sums(problem))
        ends = np.cumsum(masses)
        n_draws = max(1, round(self.cost * len(masses)))
        rng = np.random.default_rng([self._seed, t, 1])
        drawn = np.searchsorted(ends, rng.integers(int(ends[-1]), size=n_draws), side="right")
        counts = np.bincount(drawn, minlength=len(masses))
        rows = np.flatnonzero(counts).astype(ROW)
        factors = counts * (SEARCH_SCALE / n_draws) / np.maximum(masses, 1)
        local = partition.local_rows(rows)
        sample = backend.select(local)
        return sample.backend, sample.gather(problem, factors[partition.global_rows(local)])


def heaviest_rows(masses: Exacts, target: float) -> Rows:
    """Return the heaviest rows that together reach the target weight, ascending.

    Examples
    --------
    >>> heaviest_rows(np.array([5, 1, 3, 1]), 8).tolist()
    [0, 2]
    """
    order = np.sort(masses)[::-1]
    last = min(int(np.searchsorted(np.cumsum(order), target)), len(order) - 1)
    return np.flatnonzero(masses >= order[last]).astype(ROW)
