"""Upper confidence bounds: search the columns with the largest possible rewards."""

import math
from dataclasses import dataclass

import numpy as np

from edgewise.common.checks import between, not_negative, positive
from edgewise.common.dtypes import Columns, Reals
from edgewise.search.bandit import Bandit, Memory, largest

# The smallest count of a column that was tried.
_MIN_COUNT = 1e-3


@dataclass(eq=False, repr=False)
class UCB(Bandit):
    """Search the `k` columns with the largest upper confidence bounds.

    Kégl and Busa-Fekete 2009b, section 3: UCB1 of Auer, Cesa-Bianchi and Fischer 2002, with the
    discounting of Garivier and Moulines 2011. After t pulls, T_j of them of column j with an
    average reward of r_j, the bound is::

        r_j + exploration * sqrt(2 ln t / T_j)

    With a `memory`, earlier pulls count less in T_j and in the sum of rewards, though not in t.
    Where T_j falls below 1 it counts as 1 in both terms. Every column is searched once before any
    is searched twice; ties go to the lowest column.

    Parameters
    ----------
    k : int, default 50
        The number of columns to search; all of them where there are fewer.
    reward : {"relative", "root", "log"}, default "relative"
        The reward of a column: "root" is the paper's 1 - sqrt(1 - edge^2), "log" its
        -1/2 ln(1 - edge^2), at most 1, and "relative" is "root" as a share of the best of recent
        pulls, which fades as columns are searched: to 1/e while all are searched twice.
    exploration : float, default 0.05
        The weight of the confidence term; the paper has 1.
    memory : float or None, default 10.0
        How long rewards count: they fade by 1 - k / (memory * columns) at every pull, and so last
        for about as many pulls as it takes to search all columns `memory` times. None never
        forgets, as in the paper.
    random : float, default 0.0
        The share of the k columns to draw at random from all others, so that the search does not
        get stuck on a few columns where most are informative.

    Examples
    --------
    >>> import numpy as np
    >>> search = UCB(k=2).start(np.arange(4), seed=0)
    >>> for _ in range(3):
    ...     columns = search.pull()
    ...     search.update(columns, np.array([0.0, 0.3, 0.1, 0.2])[columns])
    >>> columns
    array([1, 3])
    """

    k: int = 50
    reward: str = "relative"
    exploration: float = 0.05
    memory: float | None = 10.0
    random: float = 0.0

    def validate(self) -> None:
        super().validate()
        not_negative("exploration", self.exploration)
        if self.memory is not None:
            positive("memory", self.memory)
        between("random", self.random, 0, 1)

    def _initial_memory(self, n_arms: int) -> Memory:
        return {
            "counts": np.zeros(n_arms),
            "sums": np.zeros(n_arms),
            "pulls": np.zeros(1, dtype=np.int64),
        }

    def _choose(self) -> Columns:
        n_random = round(self.k * self.random)
        best = self._find_best(self.k - n_random)
        if n_random == 0:
            return best
        others = np.setdiff1d(np.arange(len(self.columns_)), best, assume_unique=True)
        random = self.rng_.choice(others, size=n_random, replace=False)
        return np.sort(np.concatenate((best, random)))

    def _find_best(self, n: int) -> Columns:
        """Return the positions with the largest bounds, ascending."""
        counts, sums = self.memory_["counts"], self.memory_["sums"]
        pulls = max(int(self.memory_["pulls"][0]), 1)
        tried = np.maximum(counts, 1.0)
        bounds = sums / tried + self.exploration * np.sqrt(2.0 * math.log(pulls) / tried)
        bounds[counts == 0.0] = np.inf
        return largest(bounds, n)

    def _learn(self, positions: Columns, rewards: Reals, weight: float) -> None:
        if self.memory is not None:
            counts = self.memory_["counts"]
            factor = max(0.0, 1.0 - self.k / (self.memory * len(counts)))
            self.memory_["sums"] *= factor
            # However long ago, a tried column stays distinct from an untried one.
            self.memory_["counts"] = np.where(
                counts > 0.0, np.maximum(factor * counts, _MIN_COUNT), 0.0
            )
        self.memory_["counts"][positions] += 1.0
        self.memory_["sums"][positions] += rewards
        self.memory_["pulls"] += 1
