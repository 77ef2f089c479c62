"""Thompson sampling: search the columns with the largest rewards in a draw from posteriors."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from edgewise.common.checks import not_negative, up_to_one
from edgewise.common.dtypes import Columns, Reals
from edgewise.search.bandit import Bandit, Memory, largest

# Below this a spread is rounding error; where all rewards are equal, draws must still differ.
_MIN_VARIANCE = 1e-18

# Beliefs about rewards between 0 and 1 stay far below this.
_BONUS_OF_UNTRIED = 1e6

# A draw from all posteriors selects the columns for this many pulls, which draw again from the
# selected ones only. With thousands of columns, a draw from all would take as long as a stump.
_PULLS = 8


@dataclass(eq=False, repr=False)
class ThompsonSampling(Bandit):
    """Search the `k` columns with the largest rewards in a random draw from their posteriors.

    Rewards of column j are normal around an unknown mean, and the means normal around a common
    center (Thompson 1933; Agrawal and Goyal 2013). The center and the variance of the means
    (between) are estimated from the average rewards of all columns tried, the variance of the
    rewards (within) from their distances to their column's average. With n_j rewards that sum to
    s_j, the mean of column j has precision 1/between + n_j/within and expectation
    (center/between + s_j/within) over that. A reward seen in a node of a tree counts by the node's
    share of the weight. Rewards are discounted as in Raj and Kalyani 2017. Every
    column is searched once, in random order, before any is searched twice.

    Parameters
    ----------
    k : int, default 50
        The number of columns to search; all of them where there are fewer.
    reward : {"root", "log", "relative"}, default "root"
        The reward of a column, as for :class:`UCB`; its scale does not matter.
    discount : float, default 0.999
        The factor on earlier rewards in each round, above 0 and at most 1.
    exploration : float, default 1
        The factor on the spread of the draws; 0 is greedy. More makes columns change more often,
        as trees want them to.
    per_round : bool, default False
        Whether all terms of a product and all nodes of a tree search the same columns. A tree then
        rewards each column once, for what it gains at all nodes.

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
    per_round: bool = False

    def validate(self) -> None:
        super().validate()
        not_negative("exploration", self.exploration)
        up_to_one("discount", self.discount)

    def _initial_memory(self, n_arms: int) -> Memory:
        return {
            "counts": np.zeros(n_arms),
            "sums": np.zeros(n_arms),
            # Summed squares of the rewards' distances from their column's average, and a count.
            "noise": np.zeros(2),
            # The columns selected, for how many more pulls, and the priors when they were.
            "near": np.zeros(min(_PULLS * self.k, n_arms), dtype=np.int64),
            "left": np.zeros(1, dtype=np.int64),
            "prior": np.zeros(3),
        }

    def begin(self, t: int) -> Self:
        self._has_faded = False
        return super().begin(t)

    def _choose(self) -> Columns:
        memory = self.memory_
        near = memory["near"]
        if memory["left"][0] == 0:
            memory["prior"][:] = self._estimate_prior()
            values = self._draw_means(memory["counts"], memory["sums"])
            near[:] = largest(values, len(near))
            memory["left"][0] = _PULLS
            values = values[near]
        else:
            values = self._draw_means(memory["counts"][near], memory["sums"][near])
        memory["left"] -= 1
        return near[largest(values, self.k)]

    def _draw_means(self, counts: Reals, sums: Reals) -> Reals:
        """Return a draw from the posteriors; columns never tried come before all others."""
        means, deviations = self._posteriors(counts, sums)
        draws = self.rng_.standard_normal(len(counts), dtype=np.float32)
        return means + self.exploration * deviations * draws + _BONUS_OF_UNTRIED * (counts == 0.0)

    def _estimate_prior(self) -> tuple[float, float, float]:
        """Return the center and the variance of the means, and the variance of the rewards."""
        counts, sums = self.memory_["counts"], self.memory_["sums"]
        if not counts.all():
            tried = counts > 0.0
            counts, sums = counts[tried], sums[tried]
        if not len(counts):
            return 0.0, 1.0, 1.0
        averages = sums / counts
        between = max(float(averages.var()), _MIN_VARIANCE)
        squares, repeats = self.memory_["noise"].tolist()
        within = max(squares / repeats, _MIN_VARIANCE) if repeats > 0.0 else between
        return float(averages.mean()), between, within

    def _posteriors(self, counts: Reals, sums: Reals) -> tuple[Reals, Reals]:
        """Return the means and the standard deviations of posteriors."""
        center, between, within = self.memory_["prior"].tolist()
        precision = 1.0 / between + counts / within
        return (center / between + sums / within) / precision, 1.0 / np.sqrt(precision)

    def _learn(self, positions: Columns, rewards: Reals, weight: float) -> None:
        if not self._has_faded:
            for key in ("counts", "sums", "noise"):
                self.memory_[key] *= self.discount
            self._has_faded = True
        counts, sums = self.memory_["counts"][positions], self.memory_["sums"][positions]
        tried = counts > 0.0
        if tried.any():
            # A reward of weight w is off an average of weight c by the variance times 1/w + 1/c.
            off = rewards[tried] - sums[tried] / counts[tried]
            squares = (off**2 * (weight * counts[tried] / (counts[tried] + weight))).sum()
            self.memory_["noise"] += (squares, tried.sum())
        self.memory_["counts"][positions] = counts + weight
        self.memory_["sums"][positions] = sums + weight * rewards
