"""Exp3.P: draw columns with probabilities that a bad run of rewards cannot fool."""

import math
from dataclasses import dataclass

import numpy as np

from edgewise.backend.arithmetic import exp
from edgewise.common.checks import integer, not_negative, up_to_one
from edgewise.common.dtypes import Columns, Reals
from edgewise.search.bandit import Bandit, Memory, largest
from edgewise.search.base import Search

_FIRST_HORIZON = 1024


@dataclass(eq=False, repr=False)
class Exp3P(Bandit):
    """Draw `k` columns with probabilities that grow with their rewards.

    The adversarial bandit of Busa-Fekete and Kégl 2010: its regret is small whatever the rewards
    are. Column j of M is drawn with probability q_j. After the pull the weights behind the q_j are
    multiplied by::

        exp(gamma / (3 N) * (r_j / q_j + alpha / (q_j sqrt(N T))))

    where N = M / k, T is the horizon, and the reward r_j counts as 0 for columns not drawn. For
    k = 1 this is Exp3.P (Auer, Cesa-Bianchi, Freund and Schapire 2002):
    q_j = (1 - gamma) w_j / sum(w) + gamma / M. For more columns q_j is k times that; weights so
    large that it would exceed 1 are capped and, for that pull, not changed, as in Exp3.M (Uchiya,
    Nakamura and Kudo 2010). All weights start equal; the paper's initial value cancels.

    Parameters
    ----------
    k : int, default 50
        The number of columns to search; all of them where there are fewer.
    reward : {"log", "root", "relative"}, default "log"
        The reward of a column, as for :class:`UCB`.
    gamma : float, default 0.1
        The share of uniform draws, above 0 and at most 1; also the learning rate.
    alpha : float, default 0.4
        The weight of the confidence term.
    horizon : int or None, default None
        The number of pulls that the confidence term is set for. None starts with 1,024 and doubles
        it each time that many pulls have passed.

    Examples
    --------
    >>> import numpy as np
    >>> reward = np.array([0.0, 0.0, 0.9, 0.0])
    >>> search = Exp3P(k=1, gamma=0.3).start(np.arange(4), seed=0)
    >>> for t in range(400):
    ...     columns = search.begin(t).pull()
    ...     search.update(columns, reward[columns])
    >>> search.probabilities().round(3)
    array([0.075, 0.075, 0.775, 0.075])
    """

    k: int = 50
    reward: str = "log"
    gamma: float = 0.1
    alpha: float = 0.4
    horizon: int | None = None

    def validate(self) -> None:
        super().validate()
        up_to_one("gamma", self.gamma)
        not_negative("alpha", self.alpha)
        if self.horizon is not None:
            integer("horizon", self.horizon, 1)

    def probabilities(self) -> Reals:
        """Return each column's probability to be in the next pull."""
        size = min(self.k, len(self.columns_))
        if size == len(self.columns_):
            return np.ones(size)
        logs, floor = self.memory_["log_weights"], self.gamma / len(self.columns_)
        if self.gamma == 1.0:
            return np.full(len(logs), size * floor)
        cap = (1.0 / size - floor) / (1.0 - self.gamma)
        shares = capped_shares(logs, size, cap)
        chances = size * ((1.0 - self.gamma) * shares + floor)
        # Capped columns are certain, up to rounding.
        return np.where(shares < cap, np.minimum(chances, 1.0), 1.0)

    def start(self, columns: Columns, seed: int) -> Search:
        self._chances, self._pulled_columns = np.ones(len(columns)), columns
        return super().start(columns, seed)

    def pull(self) -> Columns:
        self._chances = np.ones(len(self.columns_))
        self._pulled_columns = super().pull()
        return self._pulled_columns

    def _choose(self) -> Columns:
        self._chances = self.probabilities()
        return draw(self._chances, self.k, self.rng_)

    def update(self, columns: Columns, rewards: Reals, weight: float = 1.0) -> None:
        # Columns that a learner searched in addition were not chosen by chance.
        pulled = np.isin(columns, self._pulled_columns)
        super().update(columns[pulled], np.asarray(rewards)[pulled], weight)

    def _initial_memory(self, n_arms: int) -> Memory:
        return {"log_weights": np.zeros(n_arms), "pulls": np.zeros(1, dtype=np.int64)}

    def _learn(self, positions: Columns, rewards: Reals, weight: float) -> None:
        chances, logs = self._chances, self.memory_["log_weights"]
        ratio = len(logs) / len(self._pulled_columns)
        gains = self.alpha / (chances * math.sqrt(ratio * self._horizon()))
        gains[positions] += rewards / chances[positions]
        # Capped weights do not change: they are drawn anyway.
        gains[chances == 1.0] = 0.0
        logs += self.gamma / (3.0 * ratio) * gains
        logs -= logs.max()
        self.memory_["pulls"] += 1

    def _horizon(self) -> int:
        if self.horizon is not None:
            return self.horizon
        return max(_FIRST_HORIZON, 1 << int(self.memory_["pulls"][0]).bit_length())


def capped_shares(log_weights: Reals, n: int, cap: float) -> Reals:
    """Return the weights as shares of their sum, capped at `cap`.

    The excess goes to the others in proportion to their weights (Exp3.M). `most` is above 1 / n,
    so fewer than `n` weights are capped.
    """
    weights = exp(log_weights - log_weights.max())
    shares = weights / weights.sum()
    if shares.max() <= cap:
        return shares
    # Only the n largest can be cut. `sums[i]` is the logarithm of the sum of all but the first i:
    # relative to a weight that is cut the others may be too small for a double.
    top = largest(log_weights, n)
    top = top[np.argsort(-log_weights[top], kind="stable")]
    others = np.ones(len(log_weights), dtype=bool)
    others[top] = False
    smallest = log_weights[top[-1]]
    tail = smallest + np.log(exp(log_weights[others] - smallest).sum())
    sums = np.logaddexp.accumulate(np.append(tail, log_weights[top[::-1]]))[:0:-1]
    remaining = 1.0 - cap * np.arange(n)
    fits = remaining * np.exp(log_weights[top] - sums) <= cap
    n_cut = int(fits.argmax()) if fits.any() else n - 1
    shares = remaining[n_cut] * exp(np.minimum(log_weights - sums[n_cut], 0.0))
    shares[top[:n_cut]] = cap
    return shares


def draw(chances: Reals, n: int, rng: np.random.Generator) -> Columns:
    """Return `n` distinct positions, ascending, drawn with probabilities that sum to `n`.

    Systematic sampling: laid end to end in random order, they are hit by u, u + 1, u + 2, ...
    """
    # For a single draw the order does not matter.
    order = rng.permutation(len(chances)) if n > 1 else np.arange(len(chances))
    ends = np.cumsum(chances[order])
    points = (rng.random() + np.arange(n)) * (ends[-1] / n)
    hits = np.minimum(np.searchsorted(ends, points, side="right"), len(ends) - 1)
    drawn = np.unique(order[hits])
    if len(drawn) < n:
        # Two points hit one position by a rounding error.
        spare = np.setdiff1d(np.arange(len(chances)), drawn)[: n - len(drawn)]
        drawn = np.union1d(drawn, spare)
    return drawn
