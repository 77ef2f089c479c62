"""Upper confidence bounds: look at the columns that may be worth the most."""

import math

import numpy as np

from edgewise.dtypes import Columns, Reals
from edgewise.search.bandit import Bandit, Memory, largest
from edgewise.validation import not_negative


class UCB(Bandit):
    """Look at the `k` columns with the largest upper confidence bounds (seed 004, section 3).

    After t pulls, T_j of them of column j with an average reward of r_j, the bound is::

        r_j + exploration * sqrt(2 ln t / T_j)

    Every column is looked at once before any is looked at twice. Nothing here is random; ties go
    to the lowest column.

    Parameters
    ----------
    k : int, default 50
        How many columns to look at; all of them where there are fewer.
    reward : {"relative", "root", "log"}, default "relative"
        What a column is worth: "root" is the paper's 1 - sqrt(1 - edge^2), and "log" its
        -1/2 ln(1 - edge^2), at most 1. "relative" is the first of these as a share of the best of
        the pull, which does not shrink as edges do while boosting goes on, and measured better.
    exploration : float, default 0.2
        The weight of the confidence term. The paper's is 1, for rewards of any size between 0 and
        1. Those of boosting are small, and with "root" and 1 the average rewards hardly count.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer. Finite-time analysis of the multiarmed bandit problem.
    Machine Learning 47:235-256, 2002 (UCB1).

    Examples
    --------
    >>> import numpy as np
    >>> search = UCB(k=2).start(np.arange(4), seed=0)
    >>> for _ in range(3):
    ...     columns = search.pull()
    ...     search.update(columns, np.array([0.0, 0.3, 0.1, 0.2])[columns])
    ...     print(columns)
    [0 1]
    [2 3]
    [1 3]
    """

    def __init__(self, k: int = 50, reward: str = "relative", exploration: float = 0.2) -> None:
        self.k = k
        self.reward = reward
        self.exploration = exploration

    def validate(self) -> None:
        """Raise if a setting is wrong."""
        super().validate()
        not_negative("exploration", self.exploration)

    def _nothing(self, n_arms: int) -> Memory:
        return {
            "counts": np.zeros(n_arms),
            "sums": np.zeros(n_arms),
            "pulls": np.zeros(1, dtype=np.int64),
        }

    def _choose(self, n: int) -> Columns:
        counts, sums = self.memory_["counts"], self.memory_["sums"]
        pulls = max(int(self.memory_["pulls"][0]), 1)
        tried = np.maximum(counts, 1.0)
        bounds = sums / tried + self.exploration * np.sqrt(2.0 * math.log(pulls) / tried)
        bounds[counts == 0.0] = np.inf
        return largest(bounds, n)

    def _learn(self, places: Columns, rewards: Reals) -> None:
        self.memory_["counts"][places] += 1.0
        self.memory_["sums"][places] += rewards
        self.memory_["pulls"] += 1
