"""Thompson sampling: search the columns with the largest rewards in a draw from posteriors."""

from dataclasses import dataclass

import numpy as np

from edgewise.common.checks import not_negative, up_to_one
from edgewise.common.dtypes import Columns, Reals
from edgewise.search.bandit import Bandit, Memory, largest

# Below this a spread is rounding error; where all rewards are equal, draws must still differ.
_LEAST_VARIANCE = 1e-18

# Beliefs about rewards between 0 and 1 stay far below this.
_UNTRIED = 1e6


@dataclass(eq=False, repr=False)
class ThompsonSampling(Bandit):
    """Search the `k` columns with the largest rewards in a random draw from their posteriors.

    Rewards of column j are normal around an unknown mean, and the means normal around a common
    centre (Thompson 1933; Agrawal and Goyal 2013). The centre and the variance of the means
    (between) are estimated from the average rewards of all columns tried, the variance of the
    rewards (within) from their distances to their column's average. With n_j rewards that sum to
    s_j, the mean of column j has precision 1/between + n_j/within and expectation
    (centre/between + s_j/within) over that. Rewards are discounted as in Raj and Kalyani 2017.
    Every column is searched once, in random order, before any is searched twice.

    Parameters
    ----------
    k : int, default 50
        The number of columns to search; all of them where there are fewer.
    reward : {"root", "log", "relative"}, default "root"
        The reward of a column, as for :class:`UCB`; its scale does not matter.
    discount : float, default 0.999
        The factor on earlier rewards after each pull, above 0 and at most 1.
    exploration : float, default 1
        The factor on the spread of the draws; 0 is greedy.

    Examples
    --------
    >>> import numpy as np
    >>> reward = np.linspace(0.0, 1.0, 100)
    >>> search = ThompsonSampling(k=3).start(np.arange(100), seed=0)
    >>> for t in range(200):
    ...     columns = search.begin(t).pull()
    ...     search.update(columns, reward[columns])
    >>> columns
    array([97, 98, 99])
    """

    k: int = 50
    reward: str = "root"
    discount: float = 0.999
    exploration: float = 1.0

    def validate(self) -> None:
        super().validate()
        not_negative("exploration", self.exploration)
        up_to_one("discount", self.discount)

    def _nothing(self, n_arms: int) -> Memory:
        # noise: summed squares of the rewards' distances from their column's average, and a count.
        return {"counts": np.zeros(n_arms), "sums": np.zeros(n_arms), "noise": np.zeros(2)}

    def _choose(self, n: int) -> Columns:
        means, deviations = self._beliefs()
        draws = self.rng_.standard_normal(len(means))
        values = means + self.exploration * deviations * draws
        values[self.memory_["counts"] == 0.0] += _UNTRIED
        return largest(values, n)

    def _beliefs(self) -> tuple[Reals, Reals]:
        """Return the means and the standard deviations of all columns' posteriors."""
        counts, sums = self.memory_["counts"], self.memory_["sums"]
        tried = counts > 0.0
        if not tried.any():
            return np.zeros(len(counts)), np.ones(len(counts))
        averages = sums[tried] / counts[tried]
        centre = averages.mean()
        between = max(float(averages.var()), _LEAST_VARIANCE)
        squares, repeats = self.memory_["noise"]
        within = max(squares / repeats, _LEAST_VARIANCE) if repeats > 0.0 else between
        precision = 1.0 / between + counts / within
        return (centre / between + sums / within) / precision, 1.0 / np.sqrt(precision)

    def _learn(self, places: Columns, rewards: Reals) -> None:
        for old in self.memory_.values():
            old *= self.discount
        counts, sums = self.memory_["counts"][places], self.memory_["sums"][places]
        again = counts > 0.0
        if again.any():
            # A reward is off an average of c rewards by the variance times (c + 1) / c.
            off = rewards[again] - sums[again] / counts[again]
            squares = (off**2 * (counts[again] / (counts[again] + 1.0))).sum()
            self.memory_["noise"] += (squares, again.sum())
        self.memory_["counts"][places] = counts + 1.0
        self.memory_["sums"][places] = sums + rewards
